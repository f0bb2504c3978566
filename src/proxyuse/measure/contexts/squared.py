"""The engine for the squared change of an operand of a sum, from means and variances.

If the output is ``a(row) + s(row) * value``, replacing the value v of a row by another value u
changes it by ``s (u - v)``. The mean square over all u is ``s^2 (Var u + (v - mean u)^2)``: O(n)
for n rows, however many distinct values there are. Between the position and the root there may be
sums, products, divisions by other numbers, ``fill`` and branches.

Both terms are squares, so nothing cancels. The definition subtracts rounded outputs. If the changes
are small compared with the numbers that are added, the two results would differ in more than the
last digits. The engine declines in that case, and if a number is missing or infinite.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

import numpy as np

from proxyuse.lang.evaluate import Array, truth_of
from proxyuse.lang.nodes import Add, Call, Function, Ite, Mul, Term, children
from proxyuse.lang.positions import Site
from proxyuse.measure.contexts.path_evaluation import highest_equivalent, others_of
from proxyuse.measure.influence import SquaredChange
from proxyuse.measure.row_effects import RowEffects
from proxyuse.measure.sample import Sample

MIN_CHANGE = 2.0**-10
"""The smallest root mean squared change, relative to the numbers that are added."""

MAX_NUMBER = 2.0**300
"""Squares and products of larger numbers can overflow."""


class _Line(NamedTuple):
    """The output as a linear function of a position.

    Attributes
    ----------
    slope : the slope for each row.
    size : the sum of the magnitudes of the numbers that are added.
    """

    slope: Array
    size: Array


class SquaredShifts:
    """Squared change through one position, if the output is a linear function of it.

    Declines everything else.

    Examples
    --------
    >>> from proxyuse.data.population import Population
    >>> from proxyuse.program import Program
    >>> people = Population.build({"x": [0, 1], "y": [0, 1], "z": list("ab")}, protected="z")
    >>> sample = Sample(Program.parse("2 * x + y"), people, influence=SquaredChange())
    >>> SquaredShifts(sample).influence([Site(1)])
    0.4444444444444444
    """

    method: ClassVar[str] = "from means and variances"
    compiled: ClassVar[bool] = False

    def __init__(self, sample: Sample) -> None:
        self.sample = sample

    @classmethod
    def of(cls, sample: Sample) -> SquaredShifts | None:
        """Return the engine, or None unless the loss is squared change over all pairs."""
        exact = sample.pairs is None and type(sample.loss) is SquaredChange
        return cls(sample) if exact else None

    def influence(self, sites: Sequence[Site]) -> float | None:
        """Return the influence through one position, in O(n) per operand above it for n rows."""
        points = self.sample.points
        above = [highest_equivalent(points, site) for site in sites]
        return self.influence_of(above, self.sample.values(points.term_at(above[0])))

    def influence_of(self, sites: Sequence[Site], values: Array) -> float | None:
        """Return the influence of other values, one per row, at a position."""
        sample = self.sample
        scale = sample.scale  # may raise, so it comes first
        changed = self._changed(sites, values)
        if changed is None or scale == 0:
            return None
        return float(np.dot(changed, sample.weights)) / sample.total / scale

    def _changed(self, sites: Sequence[Site], values: Array) -> Array | None:
        """Return the mean square of each row's change; None to decline."""
        sample = self.sample
        if len(sites) > 1 or values.ndim != 1 or values.dtype == np.int32:
            return None
        sample.tick(0)
        with np.errstate(all="ignore"):
            line = self._line(sites[0])
            if line is None:
                return None
            return _mean_squares(values.astype(np.float64), line, sample.weights)

    def influences(self, sites: Sequence[Site]) -> list[float | None]:
        """Return the influence through each position alone."""
        result = []
        for site in sites:
            result.append(self.influence([site]))
            self.sample.tick(int(result[-1] is not None))
        return result

    def _line(self, site: Site) -> _Line | None:
        """Follow a position up to the root; None if a step is not linear."""
        points, sample = self.sample.points, self.sample
        line: _Line | None = _Line(np.ones(sample.n_rows), np.zeros(sample.n_rows))
        point = site.point
        if site.operands and line is not None:
            line = self._above(line, points.terms[point], others_of(points, site), 0)
        while line is not None and point:
            parent = points.parents[point]
            term = points.terms[parent]
            index = term._order[points.steps[point]]
            others = [part for i, part in enumerate(children(term)) if i != index]
            line = self._above(line, term, others, index)
            point = parent
        return line

    def _above(self, line: _Line, term: Term, others: list[Term], index: int) -> _Line | None:
        """Return the line of a term, given that of one of its children."""
        value = self.sample.value
        match term:
            case Ite() if index > 0:
                guard = truth_of(value(term.guard))
                taken = guard if index == 1 else ~guard
                return _Line(*(np.where(taken, part, 0.0) for part in line))
            case Call(Function.FILL) if index == 0:
                return line
            case Add() | Mul() | Call(Function.DIV) if index == 0 or not isinstance(term, Call):
                slope, size = line
                for number in map(value, others):
                    if number.ndim != 1:
                        return None
                    if isinstance(term, Add):
                        size = size + np.abs(number)
                    else:
                        factor = number if isinstance(term, Mul) else 1 / number
                        slope, size = slope * factor, size * np.abs(factor)
                return _Line(slope, size)
            case _:
                return None

    def effects(self, sites: Sequence[Site]) -> RowEffects | None:
        """Return the mean square through one position, row by row, at the cost of `influence`.

        The value u changes the rows with slope s and value v by ``s (u - v)``. The mean square
        over these rows follows from the mean and variance of v, weighted by ``s^2``.
        """
        sample, points = self.sample, self.sample.points
        above = [highest_equivalent(points, site) for site in sites]
        values = sample.values(points.term_at(above[0]))
        changed = self._changed(above, values)
        if changed is None:
            return None
        line = self._line(above[0])
        assert line is not None
        values, squares = values.astype(np.float64), line.slope**2 * sample.weights
        total = squares.sum()
        mean = np.dot(squares, values) / total
        around = np.dot(squares, (values - mean) ** 2) / total
        changing = total / sample.total * ((values - mean) ** 2 + around)
        return RowEffects(changed, changing)

    def reach(self, sites: Sequence[Site]) -> float | None:
        """Decline."""
        return None

    def reaches(self, sites: Sequence[Site]) -> list[float | None]:
        """Decline."""
        return [None] * len(sites)

    def occurrence_bound(self, sites: Sequence[Site]) -> float | None:
        """Decline."""
        return None

    def operands_bound(self, operator: int, operands: Sequence[int]) -> float | None:
        """Decline."""
        return None


def _mean_squares(values: Array, line: _Line, weights: Array) -> Array | None:
    """Return the mean square of each row's change; None if rounding could matter."""
    largest = float(np.max(np.abs(values)))
    size = float(np.max(line.size + np.abs(line.slope) * largest))
    if not (largest < MAX_NUMBER and size < MAX_NUMBER):  # or missing
        return None
    total = weights.sum()
    squares = (values - np.dot(values, weights) / total) ** 2
    variance = np.dot(squares, weights) / total
    means: Array = line.slope**2 * (variance + squares)
    mean = float(np.dot(means, weights) / total)
    return means if np.sqrt(mean) >= MIN_CHANGE * size and mean > 0 else None
