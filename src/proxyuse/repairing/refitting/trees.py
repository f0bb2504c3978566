"""Leaf values of scikit-learn's trees, forests and bagged trees, from the rows that reach them.

The tests of a tree do not change. A classification leaf gets the shares of the classes, a
regression leaf the mean (or the median, if the tree was grown for absolute errors). Every tree of
a forest uses all rows, not a random sample of them. A leaf that no row reaches keeps its value.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from proxyuse.lang.evaluate import Array
from proxyuse.repairing.recipes.nesting import copied

MEANS = "squared_error", "friedman_mse", "poisson"
TREES = "sklearn.tree._classes.BaseDecisionTree"
FORESTS = "sklearn.ensemble._forest.BaseForest"
BAGGING = "sklearn.ensemble._bagging.BaseBagging"


def refit_trees(model: Any, X: Any, y: Any, weights: Array) -> Any | None:
    """A copy of a tree or of an ensemble of trees with new leaf values, or None."""
    members = [model] if hasattr(model, "tree_") else list(model.estimators_)
    if not all(hasattr(member, "tree_") and _refittable(member) for member in members):
        return None
    targets, weights = _targets(model, y, weights)
    features = getattr(model, "estimators_features_", None)
    memo: dict[int, Any] = {}
    for number, member in enumerate(members):
        leaves = member.tree_.apply(_rows(X, None if features is None else features[number]))
        memo[id(member.tree_)] = _refitted(member, leaves, targets, weights)
    return copied(model, memo)


def _rows(X: Any, features: Array | None) -> Any:
    """Some features as a tree reads them."""
    if hasattr(X, "tocsr"):
        rows = X.tocsr().astype(np.float32)
        return rows if features is None else rows[:, features]
    rows = np.asarray(X) if features is None else np.asarray(X)[:, features]
    return np.ascontiguousarray(rows, dtype=np.float32)


def _refittable(tree: Any) -> bool:
    """Whether new leaf values fit the tree: one output, no monotonic constraints."""
    known = hasattr(tree, "classes_") or tree.criterion in (*MEANS, "absolute_error")
    return tree.n_outputs_ == 1 and tree.monotonic_cst is None and known


def _targets(model: Any, y: Any, weights: Array) -> tuple[Array, Array]:
    """The numbers that leaves average, one column per class, and the weights with class weights."""
    if not hasattr(model, "classes_"):
        return np.asarray(y, dtype=np.float64).reshape(-1, 1), weights
    from sklearn.utils.class_weight import compute_sample_weight

    classes = model.classes_
    indices = np.searchsorted(classes, np.asarray(y).astype(classes.dtype))
    option = getattr(model, "class_weight", None)
    if option is not None:
        option = "balanced" if option == "balanced_subsample" else option
        weights = weights * compute_sample_weight(option, y)
    return np.eye(len(classes))[indices], weights


def _refitted(member: Any, leaves: Array, targets: Array, weights: Array) -> Any:
    """The same tree with new values at its nodes."""
    tree = member.tree_
    make, arguments, state = tree.__reduce__()
    values = state["values"].copy()
    if not hasattr(member, "classes_") and member.criterion == "absolute_error":
        for leaf in np.unique(leaves[weights > 0]):
            rows = leaves == leaf
            values[leaf, 0, 0] = _median(targets[rows, 0], weights[rows])
    else:
        masses, sums = _by_node(tree, leaves, targets, weights)
        reached = masses > 0
        values[reached, 0] = sums[reached] / masses[reached, None]
    edited = make(*arguments)
    edited.__setstate__(state | {"values": values})
    return edited


def _by_node(tree: Any, leaves: Array, targets: Array, weights: Array) -> tuple[Array, Array]:
    """The mass of the rows that reach each node, and the weighted sums of their targets."""
    masses = np.bincount(leaves, weights, minlength=tree.node_count)
    sums = np.stack(
        [np.bincount(leaves, weights * t, minlength=tree.node_count) for t in targets.T], axis=1
    )
    for node in range(tree.node_count - 1, -1, -1):  # children have larger numbers
        for child in (tree.children_left[node], tree.children_right[node]):
            if child >= 0:
                masses[node] += masses[child]
                sums[node] += sums[child]
    return masses, sums


def _median(values: Array, weights: Array) -> float:
    """The weighted median."""
    order = np.argsort(values, kind="stable")
    below = np.cumsum(weights[order])
    half = below[-1] / 2
    first = int(np.searchsorted(below, half))
    if below[first] == half and first + 1 < len(values):
        return float(values[order[first]] + values[order[first + 1]]) / 2
    return float(values[order[first]])
