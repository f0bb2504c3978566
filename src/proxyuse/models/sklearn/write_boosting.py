"""scikit-learn's gradient boosting, plain and by histograms, gets the trees a program has left.

Plain boosting multiplies what a tree says by the learning rate: a leaf gets the number whose
product is the program's constant, or the nearest there is. Its start comes from an estimator that
knows the shares of the classes in the training rows; it stays, and the first tree makes up for it
where a whole sum became a constant. Histogram boosting has its start as a number of its own.

Trees of a class stand in the order of the program's sum, what is gone behind the others, so that
the sums are the same to the last bit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import deepcopy
from typing import Any

import numpy as np

from proxyuse.lang.evaluate import Array
from proxyuse.lang.nodes import Value
from proxyuse.models.remaining_trees import CannotWriteBack, RemainingTree
from proxyuse.models.sklearn.write_trees import Row, class_place, depths, edited_tree
from proxyuse.models.term_transforms import one_hot
from proxyuse.models.translation import labels
from proxyuse.models.write_boosted import (
    finite,
    logarithm,
    remaining_children,
    trees_to_write,
)
from proxyuse.program import Program

SURE = 40.0
"""A score at which a probability is 1 but for rounding."""


def sure_scores(label: Value, classes: Sequence[Value]) -> list[float]:
    """Scores with which a model is sure of a class: one for two classes, else one for each."""
    place = class_place(label, classes)
    if len(classes) <= 2:
        return [SURE if place else -SURE]
    return list(one_hot(place, len(classes), SURE, -SURE))


def write_gradient_boosting(model: Any, program: Program, step: str) -> Any:
    """A GradientBoostingClassifier or GradientBoostingRegressor that says what a program does."""
    estimators = model.estimators_.ravel().tolist()
    starts = _starts(model)
    rate = model.learning_rate

    def scores(value: Value) -> list[float]:
        targets = _targets(model, value)
        return [target - start for target, start in zip(targets, starts, strict=True)]

    def says(tree: Any, node: int, value: Value | None) -> Row:
        return [_divided(finite(value), rate, float(tree.value[node, 0, 0]))]

    width = len(starts)
    owners = [number % width for number in range(len(estimators))]
    trees = trees_to_write(
        program, step, owners, scores, lambda owner, value: finite(value) - starts[owner]
    )
    memo = {
        id(estimator.tree_): edited_tree(estimator.tree_, left, says)
        for estimator, left in zip(estimators, trees, strict=True)
    }
    new = deepcopy(model, memo)
    ordered = _in_order(program, new.estimators_.ravel().tolist(), trees, width)
    for stage, row in enumerate(ordered):
        for owner, estimator in enumerate(row):
            new.estimators_[stage, owner] = estimator
    return new


def write_hist(model: Any, program: Program, step: str) -> Any:
    """A HistGradientBoostingClassifier or -Regressor that says what a program does."""
    predictors = [predictor for stage in model._predictors for predictor in stage]
    starts = model._baseline_prediction.ravel().tolist()
    width = len(starts)
    totals: dict[int, float] = {}

    def scores(value: Value) -> list[float]:
        totals.update(enumerate(_targets(model, value)))
        return [0.0] * width

    def score(owner: int, value: Value) -> float:
        totals[owner] = finite(value)
        return 0.0

    owners = [number % width for number in range(len(predictors))]
    trees = trees_to_write(program, step, owners, scores, score)
    memo = {
        id(predictor): _edited_predictor(predictor, left)
        for predictor, left in zip(predictors, trees, strict=True)
    }
    new = deepcopy(model, memo)
    flat = [predictor for stage in new._predictors for predictor in stage]
    new._predictors = _in_order(program, flat, trees, width)
    for owner, total in totals.items():
        new._baseline_prediction.flat[owner] = total
    return new


def _targets(model: Any, value: Value) -> list[float]:
    """The sums of a model that always says the same."""
    if hasattr(model, "classes_"):
        return sure_scores(value, labels(model.classes_))
    link = type(model._loss.link).__name__
    return [logarithm(value) if link == "LogLink" else finite(value)]


def _starts(model: Any) -> list[float]:
    """What each sum starts with, if that is the same for every row."""
    init = model.init_
    if not isinstance(init, str) and not type(init).__name__.startswith("Dummy"):
        raise CannotWriteBack(
            f"the sums start with what a {type(init).__name__} says; only constant starts are "
            "written back"
        )
    nothing = np.zeros((1, model.n_features_in_), dtype=np.float32)
    found: list[float] = model._raw_predict_init(nothing).ravel().tolist()
    return found


def _divided(product: float, factor: float, own: float) -> float:
    """The number that gives a product with a factor, or the nearest; the old one if it does."""
    if factor * own == product:
        return own
    if factor == 0:
        raise CannotWriteBack("with a learning rate of 0 no leaf has a say")
    near = product / factor
    beside = (near, math.nextafter(near, -math.inf), math.nextafter(near, math.inf))
    return min(beside, key=lambda number: abs(factor * number - product))


def _in_order(
    program: Program, parts: Sequence[Any], trees: Sequence[RemainingTree], width: int
) -> list[list[Any]]:
    """Parts by stage and class, those of a class in the order of their trees in the program.

    No tree of a sum is the whole program, so one that stands at its root is not in it.
    """
    written = program.points.written

    def place(number: int) -> int:
        point = trees[number].point
        return written[point] if point else len(written)

    columns = [sorted(range(owner, len(parts), width), key=place) for owner in range(width)]
    return [[parts[number] for number in stage] for stage in zip(*columns, strict=True)]


def _edited_predictor(predictor: Any, left: RemainingTree) -> Any:
    """The predictor of the nodes that are left of one; its sets of categories stay as they are."""
    old = predictor.nodes
    leaf = old["is_leaf"].astype(np.bool_)
    lefts, rights = (np.where(leaf, -1, old[side].astype(np.int64)) for side in ("left", "right"))
    order, pairs = remaining_children(left, lefts.tolist(), rights.tolist())
    nodes: Array = old[[left.node[place] for place in order]]
    for new, (place, pair) in enumerate(zip(order, pairs, strict=True)):
        is_leaf = pair[0] < 0
        nodes["is_leaf"][new] = is_leaf
        nodes["left"][new], nodes["right"][new] = (0, 0) if is_leaf else pair
        if is_leaf:
            nodes["value"][new] = finite(left.value[place])
            nodes["is_categorical"][new] = 0
    nodes["depth"] = depths(pairs)
    return deepcopy(predictor, {id(old): nodes})
