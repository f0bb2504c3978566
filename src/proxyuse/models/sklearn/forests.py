"""scikit-learn's forests: the mean of what their trees say.

A classifier adds the class shares of the leaves in float64, tree by tree, divides by the number
of trees and takes the first largest; a regressor adds and divides numbers. The program does the
same operations in the same order, the division included: two sums next to each other can have
one quotient, and the tie then goes to the first class. Neither the sums themselves nor a product
with 1/n have the same ties.

The order is that of one job. With several, scikit-learn adds the trees as they come, and which
class wins a tie may change from call to call.
"""

from __future__ import annotations

from typing import Any

from proxyuse.models.features import Inputs
from proxyuse.models.members import divided_sum
from proxyuse.models.model_terms import ModelTerms, labels, largest
from proxyuse.models.registry import check_fitted
from proxyuse.models.sklearn.trees import leaf_numbers, leaf_shares, origin_of, tree_terms


def translate_forest(model: Any, inputs: Inputs) -> ModelTerms:
    """Translate a forest of trees, random or extremely random, classifier or regressor."""
    check_fitted(model, "estimators_", inputs)
    votes = hasattr(model, "classes_")
    leaves = leaf_shares if votes else leaf_numbers
    fitted = [estimator.tree_ for estimator in model.estimators_]
    trees, origins = tree_terms(fitted, map(leaves, fitted), inputs, origin_of(model, inputs))
    mean = divided_sum(trees, len(trees))
    origins.setdefault(id(mean), origin_of(model, inputs))
    if not votes:
        return ModelTerms(mean, origins=origins)
    classes = labels(model.classes_)
    vote = largest(mean, classes)
    origins[id(vote)] = origin_of(model, inputs)
    return ModelTerms(vote, classes, mean, origins=origins)
