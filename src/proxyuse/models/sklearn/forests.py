"""scikit-learn's forests: the mean of the trees.

A classifier adds the class shares of the leaves in float64, tree by tree, divides by the number
of trees, and predicts the class with the largest mean. A regressor adds and divides numbers. The
program performs the same operations in the same order, including the division: adjacent sums can
have equal quotients, and ties go to the first class. Comparing sums, or products with 1/n, would
break ties differently.

The order is that of one job. With several jobs, scikit-learn adds the trees in the order they
finish, so the winner of a tie may change from call to call.
"""

from __future__ import annotations

from typing import Any

from proxyuse.models.composite import divided_sum
from proxyuse.models.features import Inputs
from proxyuse.models.registry import check_fitted
from proxyuse.models.sklearn.trees import leaf_numbers, leaf_shares, origin_of, tree_terms
from proxyuse.models.translation import Translation, labels, largest


def translate_forest(model: Any, inputs: Inputs) -> Translation:
    """Translate a random forest or extra-trees model, classifier or regressor."""
    check_fitted(model, "estimators_", inputs)
    votes = hasattr(model, "classes_")
    leaves = leaf_shares if votes else leaf_numbers
    fitted = [estimator.tree_ for estimator in model.estimators_]
    trees, origins = tree_terms(fitted, map(leaves, fitted), inputs, origin_of(model, inputs))
    mean = divided_sum(trees, len(trees))
    origins.setdefault(id(mean), origin_of(model, inputs))
    if not votes:
        return Translation(mean, origins=origins)
    classes = labels(model.classes_)
    vote = largest(mean, classes)
    origins[id(vote)] = origin_of(model, inputs)
    return Translation(vote, classes, mean, origins=origins)
