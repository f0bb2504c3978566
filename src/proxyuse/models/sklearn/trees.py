"""scikit-learn's decision trees.

They compare a feature rounded to float32 with a float64 threshold, send missing values the way
each node says, and predict the class with the largest share in the leaf (the first on a tie).
What all models made of such trees share stands here too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from proxyuse.lang.evaluate import Array
from proxyuse.lang.nodes import Const, Precision, Term
from proxyuse.lang.packed import PackedIte
from proxyuse.models.features import Inputs
from proxyuse.models.model_terms import ModelTerms, Origins, labels
from proxyuse.models.registry import check_fitted
from proxyuse.models.tree_table import TreeTable, packed_trees
from proxyuse.program import Origin


def translate_tree(model: Any, inputs: Inputs) -> ModelTerms:
    """Translate a DecisionTreeClassifier or DecisionTreeRegressor."""
    check_fitted(model, "tree_", inputs)
    tree = model.tree_
    origin = origin_of(model, inputs)
    if not hasattr(model, "classes_"):
        (term,), origins = tree_terms([tree], [leaf_numbers(tree)], inputs, origin)
        return ModelTerms(term, origins=origins)
    classes = labels(model.classes_)
    (shares,), origins = tree_terms([tree], [leaf_shares(tree)], inputs, origin)
    if isinstance(shares, PackedIte):
        forest = shares.forest
        best = forest.with_leaves(np.argmax(forest.leaves, axis=1), classes)
        return ModelTerms(best.tree(0), classes, shares, origins=origins)
    term = Const(classes[int(np.argmax(tree.value[0, 0, :]))])
    return ModelTerms(term, classes, shares, origins=origins | {id(term): origins[id(shares)]})


def origin_of(model: Any, inputs: Inputs, **numbers: int) -> Origin:
    """Where the parts of a model come from: its step, or its class where it has none."""
    return Origin(inputs.step or type(model).__name__, **numbers)


def leaf_shares(tree: Any) -> Array:
    """For each node the share of each class."""
    return np.asarray(tree.value[:, 0, :], dtype=np.float64)


def leaf_numbers(tree: Any) -> Array:
    """For each node the number a regressor says."""
    return np.asarray(tree.value[:, 0, 0], dtype=np.float64)


def tree_terms(
    trees: Sequence[Any],
    leaves: Iterable[Array],
    inputs: Inputs,
    origin: Origin,
    *,
    missing: bool = True,
) -> tuple[list[Term], Origins]:
    """Fitted `tree_`s as terms, their nodes saying `leaves`, with the origins of constants.

    `missing` is whether the model takes missing values; its nodes have ways for them anyway.
    """
    tables = []
    for tree, said in zip(trees, leaves, strict=True):
        left = np.asarray(tree.children_left)
        nowhere = np.zeros(len(left), dtype=np.bool_)
        table = TreeTable(
            left=left,
            right=np.asarray(tree.children_right),
            feature=np.asarray(tree.feature),
            threshold=np.asarray(tree.threshold),
            missing_left=np.asarray(tree.missing_go_to_left) if missing else nowhere,
            leaves=said,
            precision=Precision.FLOAT32,
        )
        table.check(len(inputs.features))
        tables.append(table)
    return packed_trees(tables, inputs.features, origin.step, range(len(tables)))
