"""From a position up to the root, with the program's own operations."""

from __future__ import annotations

import numpy as np

from proxyuse.lang.evaluate import Array, apply
from proxyuse.lang.nodes import Const, Ite, Term, children
from proxyuse.lang.positions import Points, Spot
from proxyuse.measure.counting import Rows


class Ascent:
    """Evaluates the program for some rows with other values at one position.

    Costs one operation for each operand of the nodes on the path, for the chosen rows only. If
    these are all rows in order, no values are copied.
    """

    def __init__(self, sample: Rows) -> None:
        self.sample = sample
        self._rest: tuple[Spot, list[Array]] | None = None

    def outcome(self, spot: Spot, rows: Array, values: Array) -> Array:
        """The output of some rows, which reach the position, with these values there."""
        return self.up_to(0, spot, rows, values)

    def up_to(self, top: int, spot: Spot, rows: Array, values: Array) -> Array:
        """The value at a point above the position."""
        points, vocabulary = self.sample.points, self.sample.vocabulary
        point = spot.point
        count = self.sample.n_rows
        chosen = None if len(rows) == count and (rows == np.arange(count)).all() else rows
        with np.errstate(all="ignore"):
            if spot.operands:
                rest = self._other_operands(spot)
                parts = [*(_picked(part, chosen) for part in rest), values]
                values = apply(points.terms[point], parts, {}, vocabulary)
            while point != top:
                parent = points.parents[point]
                term = points.terms[parent]
                index = term._order[points.steps[point]]
                if not isinstance(term, Ite) or index == 0:  # a branch passes its value on
                    parts = [
                        values if i == index else _picked(self.sample.value(part), chosen)
                        for i, part in enumerate(children(term))
                    ]
                    values = apply(term, parts, {}, vocabulary)
                point = parent
        return np.broadcast_to(values, (len(rows), *values.shape[1:]))

    def _other_operands(self, spot: Spot) -> list[Array]:
        """The result of the operands that a subset leaves, from left to right; the last is kept.

        The subset comes after them, so the result does not depend on it.
        """
        if self._rest is None or self._rest[0] != spot:
            sample = self.sample
            parts = [sample.value(part) for part in others_of(sample.points, spot)]
            if len(parts) > 1:
                parts = [apply(sample.points.terms[spot.point], parts, {}, sample.vocabulary)]
            self._rest = spot, parts
        return self._rest[1]


def _picked(values: Array, rows: Array | None) -> Array:
    """The values of some rows, of all if None; a constant stays one value."""
    return values if rows is None or len(values) == 1 else np.asarray(values[rows])


def funnel(points: Points, spot: Spot) -> Spot:
    """The highest position above this one with only constants beside the path to it.

    The output depends on this position only through that one, so both have the same influence.
    """
    if spot.operands:
        return spot  # a changed subset is added last, which may round in another way
    point = spot.point
    while point:
        parent = points.parents[point]
        term = points.terms[parent]
        if isinstance(term, Ite):  # a branch already has the form of the whole
            break
        index = term._order[points.steps[point]]
        beside = (part for i, part in enumerate(children(term)) if i != index)
        if not all(isinstance(part, Const) for part in beside):
            break
        point = parent
    return Spot(point)


def others_of(points: Points, spot: Spot) -> list[Term]:
    """The operands that a subset leaves, as written."""
    term = points.terms[spot.point]
    chosen = {term._order[i] for i in spot.operands}
    return [part for i, part in enumerate(children(term)) if i not in chosen]


def only_constants_beside(points: Points, spot: Spot) -> bool:
    """Whether only constants stand beside a position on its path to the root."""
    beside = others_of(points, spot) if spot.operands else []
    point = spot.point
    while point:
        parent = points.parents[point]
        index = points.terms[parent]._order[points.steps[point]]
        beside += [part for i, part in enumerate(children(points.terms[parent])) if i != index]
        point = parent
    return all(isinstance(part, Const) for part in beside)
