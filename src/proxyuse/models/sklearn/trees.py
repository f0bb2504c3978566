"""scikit-learn's decision trees, and code shared by all models that consist of them.

A tree compares a feature, rounded to float32, with a float64 threshold. Each node has a direction
for missing values. A leaf predicts the class with the largest probability; ties go to the first.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from proxyuse.lang.evaluate import Array
from proxyuse.lang.nodes import Const, Precision, Term
from proxyuse.lang.packed import PackedIte
from proxyuse.models.features import Inputs
from proxyuse.models.registry import check_fitted
from proxyuse.models.translation import Origins, Translation, labels
from proxyuse.models.tree_table import TreeTable, packed_trees
from proxyuse.program import Origin


def translate_tree(model: Any, inputs: Inputs) -> Translation:
    """Translate a DecisionTreeClassifier or DecisionTreeRegressor."""
    check_fitted(model, "tree_", inputs)
    tree = model.tree_
    origin = origin_of(model, inputs)
    if not hasattr(model, "classes_"):
        (term,), origins = tree_terms([tree], [leaf_numbers(tree)], inputs, origin)
        return Translation(term, origins=origins)
    classes = labels(model.classes_)
    (probabilities,), origins = tree_terms([tree], [leaf_shares(tree)], inputs, origin)
    if isinstance(probabilities, PackedIte):
        forest = probabilities.forest
        best = forest.with_leaves(np.argmax(forest.leaves, axis=1), classes)
        return Translation(best.tree(0), classes, probabilities, origins=origins)
    term = Const(classes[int(np.argmax(tree.value[0, 0, :]))])
    return Translation(
        term, classes, probabilities, origins=origins | {id(term): origins[id(probabilities)]}
    )


def origin_of(model: Any, inputs: Inputs, **numbers: int) -> Origin:
    """The origin of the parts of a model: its step in a pipeline, or its class name."""
    return Origin(inputs.step or type(model).__name__, **numbers)


def leaf_shares(tree: Any) -> Array:
    """The share of each class, for each node."""
    return np.asarray(tree.value[:, 0, :], dtype=np.float64)


def leaf_numbers(tree: Any) -> Array:
    """The prediction of a regressor, for each node."""
    return np.asarray(tree.value[:, 0, 0], dtype=np.float64)


def tree_terms(
    trees: Sequence[Any],
    leaves: Iterable[Array],
    inputs: Inputs,
    origin: Origin,
    *,
    missing: bool = True,
) -> tuple[list[Term], Origins]:
    """Fitted `tree_` objects as terms with values `leaves`, and the origins of constants.

    `missing` is whether the model accepts missing values; nodes have a direction for them anyway.
    """
    tables = []
    for tree, values in zip(trees, leaves, strict=True):
        left = np.asarray(tree.children_left)
        never = np.zeros(len(left), dtype=np.bool_)
        table = TreeTable(
            left=left,
            right=np.asarray(tree.children_right),
            feature=np.asarray(tree.feature),
            threshold=np.asarray(tree.threshold),
            missing_left=np.asarray(tree.missing_go_to_left) if missing else never,
            leaves=values,
            precision=Precision.FLOAT32,
        )
        table.check(len(inputs.features))
        tables.append(table)
    return packed_trees(tables, inputs.features, origin.step, range(len(tables)))
