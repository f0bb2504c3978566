"""What is written back alike to XGBoost and LightGBM: sums of trees, one a class.

A tree that is gone from the program becomes a single leaf of 0, and one that is left keeps its
nodes that are. A sum without trees is a constant: its first tree says what it says. Where the
whole program is a constant, the booster's objective, turned round, tells the scores for it; where
that constant is a label, any scores do in which its class is ahead, here by `AHEAD`; so where it
is true or false, as where what is decided is whether a probability passes a threshold.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence

from proxyuse.lang.nodes import Add, Const, Value, Vector
from proxyuse.models.remaining_trees import CannotWriteBack, TreeLeft, descendants, trees_left
from proxyuse.program import Program

AHEAD = 10.0
"""By how much a class is ahead of the others where nothing but its label is known."""

FURTHEST = 1000.0
"""A score of which every exponential and sigmoid is at its end."""


def trees_to_write(
    program: Program,
    step: str,
    owners: Sequence[int],
    scores: Callable[[Value], Sequence[float]],
    score: Callable[[int, Value], float],
) -> list[TreeLeft]:
    """What takes the place of each tree of a booster.

    Parameters
    ----------
    owners : for each tree the class whose sum it is in.
    scores : what the trees of each class add up to where the program is a constant.
    score : what those of one class add up to where that class alone is.
    """
    if isinstance(program.term, Const):
        origin = program.origins.get(0)
        if origin is not None and origin.step != step:
            raise CannotWriteBack(f"nothing of the step {step!r} is left in the program")
        left: dict[int, TreeLeft] = {}
        totals = dict(enumerate(scores(program.term.value)))
    else:
        left = trees_left(program, step)
        _check_sums(program, step, left.values())
        said = _constant_sums(program, left, owners)
        totals = {owner: score(owner, value) for owner, value in said.items()}
    firsts: dict[int, float] = {}
    for owner, total in totals.items():
        if owner in owners:
            firsts[owners.index(owner)] = total
        elif total != 0:
            raise CannotWriteBack("the model has no tree that could say the constant")
    return [left.get(tree) or _leaf(firsts.get(tree, 0.0)) for tree in range(len(owners))]


def _leaf(number: float) -> TreeLeft:
    return TreeLeft(0, [0], [-1], [-1], [number])


def _check_sums(program: Program, step: str, trees: Collection[TreeLeft]) -> None:
    """Refuse trees that stand in a sum with parts of other models."""
    if not trees:
        raise CannotWriteBack(f"no tree of the step {step!r} is left in the program")
    points = program.points
    for above in {points.parents[tree.point] for tree in trees}:
        if above >= 0 and isinstance(points.terms[above], Add):
            while above > 0 and points.written[above] not in program.origins:
                above = points.parents[above]
            origin = program.origins.get(points.written[above])
            if origin is None or origin.step != step:
                raise CannotWriteBack(f"the trees of the step {step!r} stand in a sum with others")


def _constant_sums(
    program: Program, left: Mapping[int, TreeLeft], owners: Sequence[int]
) -> dict[int, Value]:
    """For each class that has no tree any more the constant in place of its sum."""
    gone = set(owners) - {owners[tree] for tree in left}
    if not gone:
        return {}
    points = program.points
    point = next(iter(left.values())).point
    while point >= 0:
        match points.terms[point]:
            case Vector(items) if len(items) > max(owners):
                said = {owner: items[owner] for owner in gone}
                break
        point = points.parents[point]
    else:
        raise CannotWriteBack("the sums of the classes do not stand side by side any more")
    if not all(isinstance(item, Const) for item in said.values()):
        raise CannotWriteBack("a class has neither trees nor a constant")
    return {owner: item.value for owner, item in said.items() if isinstance(item, Const)}


def children_left(
    tree: TreeLeft, lefts: Sequence[int], rights: Sequence[int]
) -> tuple[list[int], list[tuple[int, int]]]:
    """The nodes of a tree that are left, and for each the places of its left and right child.

    The root comes first and then the nodes in the order of their numbers, so that an untouched
    tree keeps them; a leaf has the children -1.
    """
    order = sorted(range(len(tree.node)), key=lambda place: (place > 0, tree.node[place]))
    place_of = {old: new for new, old in enumerate(order)} | {-1: -1}
    spans = descendants(lefts, rights)
    pairs: list[tuple[int, int]] = []
    for old in order:
        then, otherwise = tree.then[old], tree.otherwise[old]
        if then >= 0:
            met, done = spans[lefts[tree.node[old]]]
            if not met <= spans[tree.node[then]][0] < done:
                then, otherwise = otherwise, then
        pairs.append((place_of[then], place_of[otherwise]))
    return order, pairs


# Numbers


def finite(value: Value | None) -> float:
    """A constant that can stand at a leaf."""
    if type(value) is not float or not math.isfinite(value):
        raise CannotWriteBack(f"a leaf cannot say {value!r}; it takes a finite number")
    return value


def scores_for(label: int, sums: int) -> list[float]:
    """Scores with which a class is chosen: one sum speaks for the second of two classes."""
    if sums == 1:
        return [AHEAD if label else -AHEAD]
    return [AHEAD * (number == label) for number in range(sums)]


def logit(value: Value) -> float:
    """The score whose sigmoid is a number."""
    share = finite(value)
    if not 0 <= share <= 1:
        raise CannotWriteBack(f"the model predicts probabilities, which {share!r} is none of")
    if share in (0, 1):
        return FURTHEST if share else -FURTHEST
    return math.log(share) - math.log1p(-share)


def logarithm(value: Value) -> float:
    """The score whose exponential is a number."""
    number = finite(value)
    if number < 0:
        raise CannotWriteBack(f"the model predicts numbers above 0, which {number!r} is none of")
    return math.log(number) if number else -FURTHEST


def entries(value: Value, count: int) -> tuple[Value, ...]:
    """The entries of a vector of one number a class."""
    if not isinstance(value, tuple) or len(value) != count:
        raise CannotWriteBack(f"the model predicts {count} numbers, which {value!r} is not")
    return value
