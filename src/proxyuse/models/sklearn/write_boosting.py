"""Writes repaired programs back to scikit-learn's gradient boosting, plain and histogram-based.

Plain boosting multiplies the output of each tree by the learning rate. A leaf therefore gets the
number whose product is the program's constant, or comes closest to it. The initial scores come from
an estimator that stores the class frequencies of the training rows. They stay unchanged. If a whole
sum became a constant, the first tree makes up the difference. Histogram boosting stores the initial
scores as plain numbers.

The trees of a class follow the order of the program's sum, and removed trees come last, so the sums
are equal to the last bit.
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
from proxyuse.models.sklearn.write_trees import Row, class_index, depths, edited_tree
from proxyuse.models.term_transforms import one_hot
from proxyuse.models.translation import labels
from proxyuse.models.write_boosted import (
    finite,
    logarithm,
    remaining_children,
    share_scores,
    trees_to_write,
)
from proxyuse.program import Program

CERTAIN = 40.0
"""A score whose probability rounds to 1."""


def constant_scores(value: Value, classes: Sequence[Value], scale: float = 1.0) -> list[float]:
    """Scores of a constant classifier: one for two classes, else one per class.

    A vector holds the probabilities of the classes, which the model computes by the logistic
    function of `scale` times the score, or by softmax. For a label, the model is certain.
    """
    sums = 1 if len(classes) <= 2 else len(classes)
    if isinstance(value, tuple):
        return [score / scale for score in share_scores(value, sums)]
    index = class_index(value, classes)
    if sums == 1:
        return [CERTAIN if index else -CERTAIN]
    return list(one_hot(index, len(classes), CERTAIN, -CERTAIN))


def write_gradient_boosting(model: Any, program: Program, step: str) -> Any:
    """A GradientBoostingClassifier or GradientBoostingRegressor that computes a program."""
    estimators = model.estimators_.ravel().tolist()
    starts = _starts(model)
    rate = model.learning_rate

    def scores(value: Value) -> list[float]:
        targets = _targets(model, value)
        return [target - start for target, start in zip(targets, starts, strict=True)]

    def leaf_values(tree: Any, node: int, value: Value | None) -> Row:
        return [_divided(finite(value), rate, float(tree.value[node, 0, 0]))]

    width = len(starts)
    owners = [number % width for number in range(len(estimators))]
    trees = trees_to_write(
        program, step, owners, scores, lambda owner, value: finite(value) - starts[owner]
    )
    memo = {
        id(estimator.tree_): edited_tree(estimator.tree_, remaining, leaf_values)
        for estimator, remaining in zip(estimators, trees, strict=True)
    }
    new = deepcopy(model, memo)
    ordered = _in_order(program, new.estimators_.ravel().tolist(), trees, width)
    for stage, row in enumerate(ordered):
        for owner, estimator in enumerate(row):
            new.estimators_[stage, owner] = estimator
    return new


def write_hist(model: Any, program: Program, step: str) -> Any:
    """A HistGradientBoostingClassifier or -Regressor that computes a program."""
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
        id(predictor): _edited_predictor(predictor, remaining)
        for predictor, remaining in zip(predictors, trees, strict=True)
    }
    new = deepcopy(model, memo)
    flat = [predictor for stage in new._predictors for predictor in stage]
    new._predictors = _in_order(program, flat, trees, width)
    for owner, total in totals.items():
        new._baseline_prediction.flat[owner] = total
    return new


def _targets(model: Any, value: Value) -> list[float]:
    """The sums of a model with a constant prediction."""
    if hasattr(model, "classes_"):
        scale = 2.0 if getattr(model, "loss", "") == "exponential" else 1.0
        return constant_scores(value, labels(model.classes_), scale)
    link = type(model._loss.link).__name__
    return [logarithm(value) if link == "LogLink" else finite(value)]


def _starts(model: Any) -> list[float]:
    """The initial score of each sum, if it is the same for every row."""
    init = model.init_
    if not isinstance(init, str) and not type(init).__name__.startswith("Dummy"):
        raise CannotWriteBack(
            f"the initial scores are predictions of a {type(init).__name__}; only constant initial "
            "scores can be written back"
        )
    any_row = np.zeros((1, model.n_features_in_), dtype=np.float32)
    starts: list[float] = model._raw_predict_init(any_row).ravel().tolist()
    return starts


def _divided(product: float, factor: float, own: float) -> float:
    """The number whose product with a factor is closest to `product`; `own` if it is exact."""
    if factor * own == product:
        return own
    if factor == 0:
        raise CannotWriteBack("the learning rate is 0, so no leaf has an effect")
    quotient = product / factor
    neighbors = (math.nextafter(quotient, -math.inf), math.nextafter(quotient, math.inf))
    return min((quotient, *neighbors), key=lambda number: abs(factor * number - product))


def _in_order(
    program: Program, parts: Sequence[Any], trees: Sequence[RemainingTree], width: int
) -> list[list[Any]]:
    """Parts by stage and class; within a class, in the order of their trees in the program.

    No tree of a sum is the whole program, so a tree at the root was removed.
    """
    written = program.points.written

    def position(number: int) -> int:
        point = trees[number].point
        return written[point] if point else len(written)

    columns = [sorted(range(owner, len(parts), width), key=position) for owner in range(width)]
    return [[parts[number] for number in stage] for stage in zip(*columns, strict=True)]


def _edited_predictor(predictor: Any, remaining: RemainingTree) -> Any:
    """A predictor of the remaining nodes of a tree; its category sets stay unchanged."""
    old = predictor.nodes
    leaf = old["is_leaf"].astype(np.bool_)
    lefts, rights = (np.where(leaf, -1, old[side].astype(np.int64)) for side in ("left", "right"))
    order, pairs = remaining_children(remaining, lefts.tolist(), rights.tolist())
    nodes: Array = old[[remaining.node[index] for index in order]]
    for new, (index, pair) in enumerate(zip(order, pairs, strict=True)):
        is_leaf = pair[0] < 0
        nodes["is_leaf"][new] = is_leaf
        nodes["left"][new], nodes["right"][new] = (0, 0) if is_leaf else pair
        if is_leaf:
            nodes["value"][new] = finite(remaining.value[index])
            nodes["is_categorical"][new] = 0
    nodes["depth"] = depths(pairs)
    return deepcopy(predictor, {id(old): nodes})
