"""The nearest measured computation that contains each computation.

Sub-terms are ranges of program points that are nested or disjoint. The computations around a point
therefore form a stack with the widest at the bottom. One sweep over the points with a binary search
in the stack finds the nearest one that contains all positions of a computation. For a subset of the
operands of an operator, a listed subset with one more operand comes first. For N computations at
one or a few positions this takes O(N log N) at any depth of the program.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from proxyuse.lang.nodes import Associative
from proxyuse.lang.positions import Points, Site

Operands = tuple[int, tuple[int, ...]]
"""An operator's point, and some of its operands."""


def parents(points: Points, sites: Sequence[Sequence[Site]]) -> list[int]:
    """For each computation the index of the nearest one that contains it, or -1.

    Parameters
    ----------
    points : the program.
    sites : the positions of each computation.

    Examples
    --------
    >>> from proxyuse.lang.parse import parse_term
    >>> points = Points(parse_term("ite(a + b + c <= 3, 1, 0)"))
    >>> [str(term) for term in points.terms[:4]]
    ['ite(a + b + c <= 3, 1, 0)', 'a + b + c <= 3', 'a + b + c', 'a']
    >>> parents(points, [(Site(0),), (Site(2),), (Site(3),), (Site(2, (0, 1)),), (Site(4),)])
    [-1, 0, 3, 1, 3]
    """
    ranges = _Ranges(points)
    nearest = _around(points, sites, [ranges.hull(some) for some in sites])
    for index, subset in _wider_sets(points, ranges, sites).items():
        nearest[index] = subset
    return nearest


class _Ranges:
    """The ranges of points that sites cover. The operands of an operator are looked up once."""

    def __init__(self, points: Points) -> None:
        self._points = points
        self._below: dict[int, list[int]] = {}

    def below(self, point: int) -> list[int]:
        """The points of the operands."""
        if point not in self._below:
            self._below[point] = self._points.below(point)
        return self._below[point]

    def hull(self, sites: Sequence[Site]) -> tuple[int, int]:
        """From the first covered point to one past the last.

        All sites have equal terms, so whole terms have the same number of points.
        """
        if not any(site.operands for site in sites):
            first, last = min(sites).point, max(sites).point
            return first, self._points.end(last)
        starts, ends = [], []
        for site in sites:
            first = last = site.point
            if site.operands:
                below = self.below(site.point)
                first, last = below[site.operands[0]], below[site.operands[-1]]
            starts.append(first)
            ends.append(self._points.end(last))
        return min(starts), max(ends)


def _around(
    points: Points, sites: Sequence[Sequence[Site]], hulls: Sequence[tuple[int, int]]
) -> list[int]:
    """The nearest computation with one position, a whole sub-term, around each hull."""
    whole = {
        some[0].point: index
        for index, some in enumerate(sites)
        if len(some) == 1 and not some[0].operands
    }
    nearest = [-1] * len(sites)
    order = sorted(range(len(sites)), key=lambda index: hulls[index])
    starts = sorted(whole)
    stack: list[int] = []  # computations around the current point, the widest first
    ends: list[int] = []  # where each ends, negated, so that it ascends
    entered = 0
    for index in order:
        start, end = hulls[index]
        while entered < len(starts) and starts[entered] <= start:
            point = starts[entered]
            entered += 1
            _leave(stack, ends, point)
            stack.append(whole[point])
            ends.append(-points.end(point))
        _leave(stack, ends, start)
        depth = bisect_right(ends, -end) - 1  # the innermost that ends at `end` or later
        while depth >= 0 and stack[depth] == index:
            depth -= 1
        nearest[index] = stack[depth] if depth >= 0 else -1
    return nearest


def _leave(stack: list[int], ends: list[int], point: int) -> None:
    """Pop what ends at or before a point."""
    while ends and -ends[-1] <= point:
        ends.pop()
        stack.pop()


def _wider_sets(points: Points, ranges: _Ranges, sites: Sequence[Sequence[Site]]) -> dict[int, int]:
    """For operands and subsets of operands, the first listed subset with one more operand."""
    sets: dict[Operands, int] = {}
    for index, some in enumerate(sites):
        if len(some) != 1:
            continue
        point, operands = some[0]
        if operands:
            sets[point, operands] = index
    alone = {
        some[0].point: index
        for index, some in enumerate(sites)
        if len(some) == 1 and not some[0].operands and _is_operand(points, some[0].point)
    }
    wider: dict[int, int] = {}
    for (point, operands), index in sets.items():
        for omitted in range(len(operands)):
            rest = operands[:omitted] + operands[omitted + 1 :]
            if len(rest) > 1:
                inner = sets.get((point, rest))
            else:
                inner = alone.get(ranges.below(point)[rest[0]])
            if inner is not None:
                wider.setdefault(inner, index)
    return wider


def _is_operand(points: Points, point: int) -> bool:
    above = points.parents[point]
    return above >= 0 and isinstance(points.terms[above], Associative)
