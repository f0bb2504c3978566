"""A computation that stands at several places: which set of them matters most?

Every set of disjoint occurrences is a decomposition of its own, all with the same association.
Listed are each occurrence, all of them together, and the strongest set if it is another one.

The strongest set needs no enumeration of all 2^k where occurrences lie in one ite. Take an ite
with all of them inside it, and fix which ones in its guard are chosen. A pair of row and new
value then takes a branch that the occurrences in the branches have no say in, so what is chosen
in one branch does not matter for the pairs that take the other: influence is a sum of a part
that depends on the choice in one branch and a part that depends on the choice in the other.
Each branch is maximised by itself, for each choice in the guard. For a variable that stands
once in each guard of a full tree of depth d that is 4^d sets in place of 2^(2^d). Occurrences
that meet elsewhere (in a sum, a conjunction) are enumerated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import combinations

from proxyuse.lang.nodes import Ite
from proxyuse.lang.positions import Points, Spot
from proxyuse.measure.engine import Engine

SpotSet = frozenset[Spot]


@dataclass(slots=True)
class Measured:
    """Sets of occurrences with their influence.

    Attributes
    ----------
    influences : by the spots of the set, sorted.
    unmeasured : how many sets may still pass the threshold without having been measured.
    """

    influences: dict[tuple[Spot, ...], float] = field(default_factory=dict)
    unmeasured: int = 0


def measure_occurrences(
    engine: Engine, spots: list[Spot], *, delta: float, settle: bool, all_sets: bool, budget: int
) -> Measured:
    """Measure the sets of occurrences that are listed, and settle the others if asked to.

    Parameters
    ----------
    settle : whether it matters if some set has more influence than `delta`; then the strongest
        set is looked for.
    all_sets : measure every set.
    budget : how many sets may be measured beyond the listed ones.

    Notes
    -----
    Costs one influence for each occurrence, one for all together, and at most about `budget`
    more, and one bound.
    """
    points = engine.points
    known: dict[SpotSet, float] = {frozenset(): 0.0}

    def influence(chosen: SpotSet) -> float:
        if chosen not in known:
            known[chosen] = engine.influence(sorted(chosen))
        return known[chosen]

    listed = {frozenset([spot]) for spot in spots}
    if len(spots) > 1:
        listed.add(_together(points, spots))
    for chosen in listed:
        influence(chosen)

    result = Measured()
    if len(spots) > 1 and (settle or all_sets):
        disjoint = len(_together(points, spots)) == len(spots)
        if all_sets:
            count = 2 ** len(spots) - 1
            if count <= budget:
                listed.update(_disjoint_sets(points, spots))
            else:
                result.unmeasured = count - len(listed)
        if settle and (not all_sets or result.unmeasured):
            strongest, exact = _strongest(points, spots, influence, budget, disjoint)
            if influence(strongest) > max(map(influence, listed)):
                listed.add(strongest)
            passed = max(known.values()) > delta
            if exact or passed or (disjoint and engine.occurrence_bound(spots) <= delta):
                result.unmeasured = 0
            else:
                result.unmeasured = 2 ** len(spots) - len(known)
    result.influences = {tuple(sorted(s)): influence(s) for s in listed if s}
    return result


def _together(points: Points, spots: Iterable[Spot]) -> SpotSet:
    """All spots; where some overlap, the first of them in order that do not."""
    chosen: list[Spot] = []
    for spot in sorted(spots):
        if all(points.disjoint(spot, other) for other in chosen):
            chosen.append(spot)
    return frozenset(chosen)


def _disjoint_sets(points: Points, spots: list[Spot]) -> Iterator[SpotSet]:
    for size in range(1, len(spots) + 1):
        for chosen in combinations(spots, size):
            if all(points.disjoint(a, b) for a, b in combinations(chosen, 2)):
                yield frozenset(chosen)


def _strongest(
    points: Points,
    spots: list[Spot],
    influence: Callable[[SpotSet], float],
    budget: int,
    disjoint: bool,
) -> tuple[SpotSet, bool]:
    """The set with the largest influence, and whether it is so for certain."""
    if disjoint:
        plan = _plan(points, tuple(sorted(spots)))
        if plan.cost <= budget:
            return _best(plan, frozenset(), influence), True
    elif 2 ** len(spots) - 1 <= budget:
        return max(_disjoint_sets(points, spots), key=influence), True
    return _climb(points, spots, influence, budget), False


def _climb(
    points: Points, spots: list[Spot], influence: Callable[[SpotSet], float], budget: int
) -> SpotSet:
    """Add or take out one occurrence at a time while that raises influence."""
    best = max([_together(points, spots), *(frozenset([s]) for s in spots)], key=influence)
    while budget > 0:
        steps = [best ^ {spot} for spot in spots]
        fitting = [s for s in steps if s and len(_together(points, s)) == len(s)]
        budget -= len(fitting)
        better = max(fitting, key=influence, default=best)
        if influence(better) <= influence(best):
            break
        best = better
    return best


@dataclass(frozen=True, slots=True)
class _Plan:
    """How to maximise over some occurrences.

    `guard` is enumerated; for each choice there, each of `branches` is maximised by itself.
    """

    guard: tuple[Spot, ...]
    branches: tuple[_Plan, ...]
    cost: int


def _plan(points: Points, spots: tuple[Spot, ...]) -> _Plan:
    """Split at the lowest point that has all spots below it, if that is an ite."""
    meeting = _lowest_common(points, spots)
    if len(spots) > 1 and isinstance(points.terms[meeting], Ite):
        guard, then, otherwise = (
            tuple(s for s in spots if child <= s.point < points.end(child))
            for child in points.below(meeting)
        )
        if len(guard) < len(spots):
            branches = tuple(_plan(points, side) for side in (then, otherwise) if side)
            cost = 2 ** len(guard) * (1 + sum(branch.cost for branch in branches))
            return _Plan(guard, branches, cost)
    return _Plan(spots, (), 2 ** len(spots))


def _lowest_common(points: Points, spots: tuple[Spot, ...]) -> int:
    first, last = spots[0].point, spots[-1].point
    while not first <= last < points.end(first):
        first = points.parents[first]
    return first


def _best(plan: _Plan, fixed: SpotSet, influence: Callable[[SpotSet], float]) -> SpotSet:
    """The choice among the plan's occurrences that is strongest beside the fixed ones."""
    best: SpotSet = frozenset()
    value = -1.0
    for size in range(len(plan.guard) + 1):
        for guard in combinations(plan.guard, size):
            chosen = frozenset(guard)
            for branch in plan.branches:
                chosen |= _best(branch, fixed | frozenset(guard), influence)
            found = influence(fixed | chosen)
            if found > value:
                best, value = chosen, found
    return best
