"""Computations with several positions: finds the most influential set of positions.

Every set of disjoint occurrences is a decomposition, and all have the same association. The listed
sets are each occurrence, all of them together, and the strongest set if it is a different one. The
search for the strongest set runs only if the association reaches epsilon. It uses the full budget
if no listed set is a witness, and a small one otherwise.

Where all occurrences are inside one ite, the strongest set does not need all 2^k sets. Fix the
chosen occurrences in the guard. Which branch a pair of row and new value takes then no longer
depends on the branches, so the choice in one branch does not affect the pairs that take the other:
influence is a sum of one part per branch. Each branch is maximized separately, for each choice in
the guard. For a variable that is once in each guard of a full tree of depth d, that is 4^d sets
instead of 2^(2^d). Occurrences that meet elsewhere (in a sum or a conjunction) are enumerated.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations, pairwise

from proxyuse.lang.nodes import Ite
from proxyuse.lang.positions import Points, Site
from proxyuse.measure.engine import Measurement

BUDGET_WITH_WITNESS = 32
SiteSet = frozenset[Site]


@dataclass(frozen=True, slots=True)
class Arrangement:
    """How the occurrences of a computation relate to each other. Depends only on the program.

    Attributes
    ----------
    sites : the occurrences.
    together : all occurrences, sorted. Of overlapping ones, only the first.
    apart : whether any two occurrences are in different branches of an ite, so that no row reaches
        both. Influences and reaches then add up, and the strongest set is all of them.
    """

    sites: tuple[Site, ...]
    together: tuple[Site, ...]
    apart: bool

    @classmethod
    def of(cls, points: Points, sites: Sequence[Site]) -> Arrangement:
        """The arrangement of some sites."""
        together = tuple(sorted(_together(points, sites)))
        disjoint = len(together) == len(sites)
        return cls(tuple(sites), together, disjoint and _in_different_branches(points, together))

    @property
    def disjoint(self) -> bool:
        """Whether no two occurrences overlap."""
        return len(self.together) == len(self.sites)


@dataclass(slots=True)
class Measured:
    """Sets of several occurrences with their influence.

    Attributes
    ----------
    influences : the influence of each set, keyed by its sorted sites.
    unmeasured : the number of sets that were not measured and may exceed delta.
    all_listed : whether every set of disjoint occurrences is among the influences.
    """

    influences: dict[tuple[Site, ...], float] = field(default_factory=dict)
    unmeasured: int = 0
    all_listed: bool = False


def measure_occurrences(
    engine: Measurement,
    arrangement: Arrangement,
    singles: Sequence[float],
    *,
    delta: float,
    settle: bool,
    all_sets: bool,
    budget: int,
    needed: bool = True,
    expect: Callable[[int], None] = lambda sets: None,
) -> Measured:
    """Measure the listed sets of occurrences, and settle the others if requested.

    Parameters
    ----------
    singles : the influence of each occurrence alone.
    settle : whether to find out if some set has an influence above `delta`.
    all_sets : measure every set.
    budget : the number of sets that may be measured beyond the listed ones.
    needed : whether to compute expensive influences. Otherwise an influence may be NaN.
    expect : called with the number of sets that are about to be measured. Each of them ticks once.

    Notes
    -----
    Takes one influence for all occurrences together, about `budget` more at most, and one bound.
    If the occurrences are in different branches, their influences add up at no cost.
    """
    points, sites, apart = engine.points, arrangement.sites, arrangement.apart
    alone = dict(zip(sites, singles, strict=True))
    known: dict[SiteSet, float] = {}
    measure = engine.influence if needed else engine.influence_if_cheap

    def influence(chosen: SiteSet) -> float:
        if len(chosen) < 2:
            return sum(alone[site] for site in chosen)
        if chosen not in known:
            ordered = sorted(chosen)
            total = math.fsum(alone[site] for site in ordered) if apart else math.nan
            exact = not apart or near(total, delta)
            known[chosen] = measure(ordered) if exact else total
            engine.sample.tick(1)
        return known[chosen]

    together = frozenset(arrangement.together)
    expect(1)
    listed = {together: influence(together)}
    result = Measured()
    if all_sets and _set_count(len(sites)) <= budget:
        expect(_set_count(len(sites)) - len(sites))
        listed |= {chosen: influence(chosen) for chosen in _disjoint_sets(points, sites)}
        result.all_listed = True
    elif settle and not apart and not _excluded(engine, arrangement, listed, singles, delta):
        largest = max(*singles, *listed.values())
        allowed = min(budget, BUDGET_WITH_WITNESS) if largest > delta else budget
        strongest, exact = _strongest(points, arrangement, influence, allowed, expect)
        if influence(strongest) > largest:
            listed[strongest] = influence(strongest)
        if not exact and influence(strongest) <= delta:
            result.unmeasured = _set_count(len(sites)) - len(sites) - len(known)
    result.influences = {tuple(sorted(s)): i for s, i in listed.items() if len(s) > 1}
    return result


def _excluded(
    engine: Measurement,
    arrangement: Arrangement,
    listed: dict[SiteSet, float],
    singles: Sequence[float],
    delta: float,
) -> bool:
    """Whether a bound shows that no set can be a witness.

    The bound costs as much as a few influences, so few sets are measured instead.
    """
    few = len(arrangement.sites) <= 3
    if few or not arrangement.disjoint or max(*singles, *listed.values()) > delta:
        return False
    return engine.occurrence_bound(arrangement.sites) <= delta


def near(total: float, delta: float) -> bool:
    """Whether a sum of influences is too close to the threshold to be trusted.

    Rounding in the sum could put it on the wrong side.
    """
    return abs(total - delta) < 1e-9


def _in_different_branches(points: Points, ordered: Sequence[Site]) -> bool:
    for first, second in pairwise(ordered):
        meeting = _lowest_common(points, (first, second))
        if not isinstance(points.terms[meeting], Ite) or first.point <= meeting:
            return False
        guard = points.below(meeting)[0]
        if first.point < points.end(guard):
            return False
    return True


def _set_count(sites: int) -> int:
    """The number of non-empty sets."""
    return (1 << sites) - 1


def _together(points: Points, sites: Iterable[Site]) -> SiteSet:
    """All sites. Of overlapping sites, only the first in order.

    Points of one term never overlap, because a term is not inside itself.
    """
    subsets = [site for site in sites if site.operands]
    if not subsets:
        return frozenset(sites)
    chosen: list[Site] = []
    for site in sorted(sites):
        rivals = chosen if site.operands else [other for other in chosen if other.operands]
        if not subsets or all(points.disjoint(site, other) for other in rivals):
            chosen.append(site)
    return frozenset(chosen)


def _disjoint_sets(points: Points, sites: Sequence[Site]) -> Iterator[SiteSet]:
    for size in range(1, len(sites) + 1):
        for chosen in combinations(sites, size):
            if len(_together(points, chosen)) == size:
                yield frozenset(chosen)


def _strongest(
    points: Points,
    arrangement: Arrangement,
    influence: Callable[[SiteSet], float],
    budget: int,
    expect: Callable[[int], None],
) -> tuple[SiteSet, bool]:
    """The set with the largest influence, and whether that is certain."""
    sites, disjoint = arrangement.sites, arrangement.disjoint
    if disjoint and 2 * len(sites) <= budget:  # any plan costs at least as much
        plan = _plan(points, arrangement.together)
        if plan.cost <= budget:
            expect(plan.cost)
            return _best(plan, frozenset(), influence), True
    if not disjoint and _set_count(len(sites)) <= budget:
        expect(_set_count(len(sites)))
        return max(_disjoint_sets(points, sites), key=influence), True
    expect(max(0, budget))
    return _climb(points, arrangement, influence, budget), False


def _climb(
    points: Points,
    arrangement: Arrangement,
    influence: Callable[[SiteSet], float],
    budget: int,
) -> SiteSet:
    """Hill climbing: add or remove one occurrence at a time while that raises the influence."""
    sites = arrangement.sites
    together = frozenset(arrangement.together)
    best = max([together, *(frozenset([site]) for site in sites)], key=influence)
    while budget >= len(sites):
        budget -= len(sites)
        steps = [best ^ {site} for site in sites]
        disjoint = [s for s in steps if s and len(_together(points, s)) == len(s)]
        better = max(disjoint, key=influence, default=best)
        if influence(better) <= influence(best):
            break
        best = better
    return best


@dataclass(frozen=True, slots=True)
class _Plan:
    """A plan for maximizing over some occurrences; its depth is at most their number.

    Enumerates the sets in `guard`. For each, maximizes each of `branches` separately.
    """

    guard: tuple[Site, ...]
    branches: tuple[_Plan, ...]
    cost: int


def _plan(points: Points, sites: tuple[Site, ...]) -> _Plan:
    """Split at the lowest common point of all sites, if it is an ite."""
    meeting = _lowest_common(points, sites)
    if len(sites) > 1 and isinstance(points.terms[meeting], Ite):
        guard, then, otherwise = (
            tuple(s for s in sites if child <= s.point < points.end(child))
            for child in points.below(meeting)
        )
        if len(guard) < len(sites):
            branches = tuple(_plan(points, side) for side in (then, otherwise) if side)
            cost = 2 ** len(guard) * (1 + sum(branch.cost for branch in branches))
            return _Plan(guard, branches, cost)
    return _Plan(sites, (), 2 ** len(sites))


def _lowest_common(points: Points, sites: tuple[Site, ...]) -> int:
    first, last = sites[0].point, sites[-1].point
    while not first <= last < points.end(first):
        first = points.parents[first]
    return first


def _best(plan: _Plan, fixed: SiteSet, influence: Callable[[SiteSet], float]) -> SiteSet:
    """The plan's occurrences that have the most influence together with the fixed ones."""
    best: SiteSet = frozenset()
    value = -1.0
    for size in range(len(plan.guard) + 1):
        for guard in combinations(plan.guard, size):
            chosen = frozenset(guard)
            for branch in plan.branches:
                chosen |= _best(branch, fixed | frozenset(guard), influence)
            candidate = influence(fixed | chosen)
            if candidate > value:
                best, value = chosen, candidate
    return best
