"""Leaf values of LightGBM's trees, computed as LightGBM computes them.

`Booster.refit` starts at a score of 0, but the first tree contains the average of the labels, so
the leaf values are computed here: tree by tree, each leaf by one Newton step from the gradients of
the rows that reach it. Tests do not change. A leaf that no row reaches keeps its value.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from proxyuse.lang.evaluate import Array
from proxyuse.models.write_boosted import with_booster

UNSUPPORTED = (
    "max_delta_step", "path_smooth", "linear_tree", "monotone_constraints", "is_unbalance",
    "unbalance", "use_quantized_grad", "boost_from_average", "sigmoid",
)  # fmt: skip
"""Options that change how leaves are computed."""

SMALLEST = 1e-15


def refit_lightgbm(model: Any, X: Any, y: Any, weights: Array) -> Any | None:
    """A copy of a scikit-learn wrapper of LightGBM with new leaf values, or None."""
    loss = LOSSES.get(model.objective_) if isinstance(model.objective_, str) else None
    options = model.get_params()
    if loss is None or options["boosting_type"] not in ("gbdt", "goss"):
        return None
    if any(options.get(name) for name in UNSUPPORTED):
        return None
    booster = model.booster_
    targets, weights = _targets(model, options, y, weights)
    written = type(booster)(model_str=booster.model_to_string(num_iteration=-1))
    for name in ("best_iteration", "best_score", "pandas_categorical"):
        setattr(written, name, copy.deepcopy(getattr(booster, name)))
    leaves = booster.predict(X, pred_leaf=True, num_iteration=-1).astype(np.int64)
    leaves = leaves.reshape(len(targets), -1)
    width = booster.num_model_per_iteration()
    start = loss.start(targets, weights)
    scores = np.tile(start, (len(targets), 1))
    penalty = options["reg_lambda"], options["reg_alpha"]
    for tree in range(leaves.shape[1]):
        owner = tree % width
        if owner == 0:
            gradients, curvatures = loss.derivatives(scores, targets, weights)
        steps, reached = _steps(leaves[:, tree], gradients[:, owner], curvatures[:, owner], penalty)
        steps *= options["learning_rate"]
        offset = start[owner] if tree < width else 0.0
        for leaf in np.flatnonzero(reached).tolist():
            written.set_leaf_output(tree, leaf, float(steps[leaf] + offset))
        scores[:, owner] += steps[leaves[:, tree]]
    return with_booster(model, booster, written)


def _targets(model: Any, options: Any, y: Any, weights: Array) -> tuple[Array, Array]:
    """The numbers to learn, one column per class, and the weights with class weights."""
    if not hasattr(model, "classes_"):
        return np.asarray(y, dtype=np.float64).reshape(-1, 1), weights
    from sklearn.utils.class_weight import compute_sample_weight

    if options["class_weight"] is not None:
        weights = weights * compute_sample_weight(options["class_weight"], y)
    classes = model.classes_
    indices = np.searchsorted(classes, np.asarray(y).astype(classes.dtype))
    if model.objective_ == "binary":
        positive = indices.astype(np.float64).reshape(-1, 1)
        scale = float(options.get("scale_pos_weight") or 1.0)
        return positive, weights * np.where(indices == 1, scale, 1.0)
    return np.eye(len(classes))[indices], weights


def _steps(
    leaves: Array, gradients: Array, curvatures: Array, penalty: tuple[float, float]
) -> tuple[Array, Array]:
    """The Newton step of each leaf, and which leaves are reached."""
    counts = np.bincount(leaves)
    slopes, curves = np.bincount(leaves, gradients), np.bincount(leaves, curvatures)
    l2, l1 = penalty
    slopes = np.sign(slopes) * np.maximum(np.abs(slopes) - l1, 0.0)
    reached = (counts > 0) & (curves > 0)
    return np.where(reached, -slopes / np.where(reached, curves + l2, 1.0), 0.0), reached


# Losses


@dataclass(frozen=True, slots=True)
class Loss:
    """A loss: the scores before the first tree, and the derivatives by the scores of each row."""

    start: Callable[[Array, Array], Array]
    derivatives: Callable[[Array, Array, Array], tuple[Array, Array]]


def _shares(targets: Array, weights: Array) -> Array:
    return np.asarray(weights @ targets / weights.sum())


def _logit(targets: Array, weights: Array) -> Array:
    share = np.clip(_shares(targets, weights), SMALLEST, 1 - SMALLEST)
    return np.asarray(np.log(share / (1 - share)))


def _logarithm(targets: Array, weights: Array) -> Array:
    return np.asarray(np.log(np.maximum(_shares(targets, weights), SMALLEST)))


def _squared(scores: Array, targets: Array, weights: Array) -> tuple[Array, Array]:
    column = weights[:, None]
    return (scores - targets) * column, np.ones_like(scores) * column


def _logistic(scores: Array, targets: Array, weights: Array) -> tuple[Array, Array]:
    column, shares = weights[:, None], 1 / (1 + np.exp(-scores))
    return (shares - targets) * column, shares * (1 - shares) * column


def _softmax(scores: Array, targets: Array, weights: Array) -> tuple[Array, Array]:
    column = weights[:, None]
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    shares = powers / powers.sum(axis=1, keepdims=True)
    classes = scores.shape[1]
    factor = classes / (classes - 1)
    return (shares - targets) * column, factor * shares * (1 - shares) * column


LOSSES = {
    "regression": Loss(_shares, _squared),
    "binary": Loss(_logit, _logistic),
    "multiclass": Loss(_logarithm, _softmax),
}
