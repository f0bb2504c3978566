"""Evaluate the program from one position up to the root, with the program's own operations."""

from __future__ import annotations

import numpy as np

from proxyuse.lang.evaluate import Array, apply
from proxyuse.lang.nodes import Const, Ite, Term, children
from proxyuse.lang.positions import Points, Site
from proxyuse.measure.counting import Rows


class PathEvaluator:
    """Evaluate the program on some rows with other values at one position.

    Costs one array operation per operand of the nodes on the path, on the chosen rows only. If
    these are all the rows in order, no values are copied.
    """

    def __init__(self, sample: Rows) -> None:
        self.sample = sample
        self._rest: tuple[Site, list[Array]] | None = None
        self._steps: tuple[tuple[int, int], list[tuple[Term, int]]] | None = None

    def outcome(self, site: Site, rows: Array, values: Array) -> Array:
        """Return the output of rows that reach the position, with these values there."""
        return self.up_to(0, site, rows, values)

    def up_to(self, top: int, site: Site, rows: Array, values: Array) -> Array:
        """Return the value at a point above the position."""
        vocabulary = self.sample.vocabulary
        count = self.sample.n_rows
        chosen = None if len(rows) == count and (rows == np.arange(count)).all() else rows
        with np.errstate(all="ignore"):
            if site.operands:
                rest = self._other_operands(site)
                parts = [*(_picked(part, chosen) for part in rest), values]
                values = apply(self.sample.points.terms[site.point], parts, {}, vocabulary)
            for term, index in self._steps_between(top, site.point):
                parts = [
                    values if i == index else _picked(self.sample.value(part), chosen)
                    for i, part in enumerate(children(term))
                ]
                values = apply(term, parts, {}, vocabulary)
        return np.broadcast_to(values, (len(rows), *values.shape[1:]))

    def _steps_between(self, top: int, point: int) -> list[tuple[Term, int]]:
        """List the terms from a point up to another, and which child the path comes from.

        Branches are left out, because they pass their value on. The last list is cached.
        """
        known = self._steps
        if known is None or known[0] != (top, point):
            known = (top, point), []
            points = self.sample.points
            while point != top:
                parent = points.parents[point]
                term = points.terms[parent]
                index = term._order[points.steps[point]]
                if not isinstance(term, Ite) or index == 0:
                    known[1].append((term, index))
                point = parent
            self._steps = known
        return known[1]

    def _other_operands(self, site: Site) -> list[Array]:
        """Combine the operands outside a subset, from left to right; the last result is cached.

        They are combined before the subset, so the result does not depend on it.
        """
        if self._rest is None or self._rest[0] != site:
            sample = self.sample
            parts = [sample.value(part) for part in others_of(sample.points, site)]
            if len(parts) > 1:
                parts = [apply(sample.points.terms[site.point], parts, {}, sample.vocabulary)]
            self._rest = site, parts
        return self._rest[1]


def _picked(values: Array, rows: Array | None) -> Array:
    """Return the values of some rows, or of all rows if None; a constant stays one value."""
    return values if rows is None or len(values) == 1 else np.asarray(values[rows])


def highest_equivalent(points: Points, site: Site) -> Site:
    """Return the highest position above this one with only constants beside the path to it.

    The output depends on this position only through that one, so both have the same influence.
    """
    if site.operands:
        return site  # a changed subset is added last, which can round differently
    point, path = site.point, []
    highest = points.highest  # of the points that were asked about before
    while point and point not in highest:
        path.append(point)
        parent = points.parents[point]
        term = points.terms[parent]
        if isinstance(term, Ite):  # a branch already has the form of the whole term
            break
        own = isinstance(points.terms[point], Const)
        if points.constants_below(parent) - own < len(children(term)) - 1:
            break
        point = parent
    top = highest.get(point, point)
    highest.update(dict.fromkeys(path, top))
    return Site(top)


def others_of(points: Points, site: Site) -> list[Term]:
    """Return the operands that are not in a subset, in written order."""
    term = points.terms[site.point]
    chosen = {term._order[i] for i in site.operands}
    return [part for i, part in enumerate(children(term)) if i not in chosen]


def only_constants_beside(points: Points, site: Site) -> bool:
    """Return whether all siblings on the path from a position to the root are constants."""
    beside = others_of(points, site) if site.operands else []
    point = site.point
    while point:
        parent = points.parents[point]
        index = points.terms[parent]._order[points.steps[point]]
        beside += [part for i, part in enumerate(children(points.terms[parent])) if i != index]
        point = parent
    return all(isinstance(part, Const) for part in beside)
