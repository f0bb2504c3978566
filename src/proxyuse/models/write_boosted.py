"""What the writers for XGBoost and LightGBM share: sums of trees, one sum per class.

A tree that is no longer in the program becomes a single leaf of 0. Other trees keep their
remaining nodes. If a sum has no trees left, it is a constant, and its first tree becomes a leaf
with that constant. If the whole program is a constant, the inverse of the objective gives the
scores. If that constant is a label, or true or false, the scores only need to let the right class
win, here by `LEAD`.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from proxyuse.lang.nodes import Add, Const, Value, Vector
from proxyuse.models.remaining_trees import (
    CannotWriteBack,
    RemainingTree,
    descendants,
    remaining_trees,
)
from proxyuse.program import Program

LEAD = 10.0
"""The lead of a class over the others if the program only states its label."""

SATURATED = 1000.0
"""A score at which exponentials and sigmoids are saturated."""


def trees_to_write(
    program: Program,
    step: str,
    owners: Sequence[int],
    scores: Callable[[Value], Sequence[float]],
    score: Callable[[int, Value], float],
) -> list[RemainingTree]:
    """The replacement for each tree of a booster.

    Parameters
    ----------
    program : the repaired program.
    step : the model's name in the origins of the program.
    owners : the class of each tree.
    scores : the sums of the trees of each class, for a constant program.
    score : the sum of the trees of one class, for a constant sum.
    """
    if isinstance(program.term, Const):
        origin = program.origins.get(0)
        if origin is not None and origin.step != step:
            raise CannotWriteBack(f"the program no longer uses the step {step!r}")
        trees: dict[int, RemainingTree] = {}
        totals = dict(enumerate(scores(program.term.value)))
    else:
        trees = remaining_trees(program, step)
        _check_sums(program, step, trees.values())
        constants = _constant_sums(program, trees, owners)
        totals = {owner: score(owner, value) for owner, value in constants.items()}
    firsts: dict[int, float] = {}
    for owner, total in totals.items():
        if owner in owners:
            firsts[owners.index(owner)] = total
        elif total != 0:
            raise CannotWriteBack("the model has no tree that could hold the constant")
    return [trees.get(tree) or _leaf(firsts.get(tree, 0.0)) for tree in range(len(owners))]


def _leaf(number: float) -> RemainingTree:
    return RemainingTree(0, [0], [-1], [-1], [number])


def _check_sums(program: Program, step: str, trees: Collection[RemainingTree]) -> None:
    """Raise an error if trees are added to parts of other models."""
    if not trees:
        raise CannotWriteBack(f"the program no longer has trees of the step {step!r}")
    points = program.points
    for above in {points.parents[tree.point] for tree in trees}:
        if above >= 0 and isinstance(points.terms[above], Add):
            while above > 0 and points.written[above] not in program.origins:
                above = points.parents[above]
            origin = program.origins.get(points.written[above])
            if origin is None or origin.step != step:
                raise CannotWriteBack(f"the trees of the step {step!r} are added to other terms")


def _constant_sums(
    program: Program, trees: Mapping[int, RemainingTree], owners: Sequence[int]
) -> dict[int, Value]:
    """The constant sum of each class that has no trees left."""
    constant_classes = set(owners) - {owners[tree] for tree in trees}
    if not constant_classes:
        return {}
    points = program.points
    point = next(iter(trees.values())).point
    while point >= 0:
        match points.terms[point]:
            case Vector(items) if len(items) > max(owners):
                constants = {owner: items[owner] for owner in constant_classes}
                break
        point = points.parents[point]
    else:
        raise CannotWriteBack("the sums of the classes no longer form a vector")
    if not all(isinstance(item, Const) for item in constants.values()):
        raise CannotWriteBack("a class has neither trees nor a constant")
    return {owner: item.value for owner, item in constants.items() if isinstance(item, Const)}


def remaining_children(
    tree: RemainingTree, lefts: Sequence[int], rights: Sequence[int]
) -> tuple[list[int], list[tuple[int, int]]]:
    """The remaining nodes of a tree, and the indices of each node's left and right child.

    The root comes first, then the nodes in the order of their numbers, so an unchanged tree keeps
    its order. The children of a leaf are -1.
    """
    order = sorted(range(len(tree.node)), key=lambda index: (index > 0, tree.node[index]))
    new_index = {old: new for new, old in enumerate(order)} | {-1: -1}
    spans = descendants(lefts, rights)
    pairs: list[tuple[int, int]] = []
    for old in order:
        then, otherwise = tree.then[old], tree.otherwise[old]
        if then >= 0:
            met, done = spans[lefts[tree.node[old]]]
            if not met <= spans[tree.node[then]][0] < done:
                then, otherwise = otherwise, then
        pairs.append((new_index[then], new_index[otherwise]))
    return order, pairs


# Numbers


def finite(value: Value | None) -> float:
    """A constant, checked to be a valid leaf value."""
    if type(value) is not float or not math.isfinite(value):
        raise CannotWriteBack(f"a leaf needs a finite number, got {value!r}")
    return value


def scores_for(label: int, sums: int) -> list[float]:
    """Scores for which a class wins; a single sum is the score of the second class."""
    if sums == 1:
        return [LEAD if label else -LEAD]
    return [LEAD * (number == label) for number in range(sums)]


def share_scores(shares: Value, sums: int) -> list[float]:
    """Scores with some class probabilities; a single sum is the score of the second class."""
    if sums == 1:
        return [logit(entries(shares, 2)[1])]
    return [logarithm(number) for number in entries(shares, sums)]


def logit(value: Value) -> float:
    """The score whose sigmoid is a number."""
    probability = finite(value)
    if not 0 <= probability <= 1:
        raise CannotWriteBack(f"the model predicts probabilities, and {probability!r} is not one")
    if probability in (0, 1):
        return SATURATED if probability else -SATURATED
    return math.log(probability) - math.log1p(-probability)


def logarithm(value: Value) -> float:
    """The score whose exponential is a number."""
    number = finite(value)
    if number < 0:
        raise CannotWriteBack(f"the model predicts positive numbers, and {number!r} is not one")
    return math.log(number) if number else -SATURATED


def entries(value: Value, count: int) -> tuple[Value, ...]:
    """The entries of a vector with one number per class."""
    if not isinstance(value, tuple) or len(value) != count:
        raise CannotWriteBack(f"the model predicts {count} numbers, got {value!r}")
    return value


def with_booster(model: Any, booster: object, written: object) -> Any:
    """The new booster, or a copy of its scikit-learn wrapper with the new booster in it."""
    if booster is model:
        return written
    return copy.deepcopy(model, {id(booster): written})
