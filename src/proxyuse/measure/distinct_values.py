"""The engine that tries each distinct value, and answers every question.

For each distinct value of a computation p1, the program is evaluated with this value at p1's
positions. The mass of the value times the mass of the rows whose output then changes, summed over
the values, is the mass of all pairs that change the output. That takes k evaluations for k
distinct values, each restricted to the nodes above the positions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import ClassVar

import numpy as np

from proxyuse.lang.evaluate import Array, Values, apply, evaluate
from proxyuse.lang.nodes import Compare, Const, Member, Term, children
from proxyuse.lang.positions import Spot
from proxyuse.measure.contexts.ascent import Ascent
from proxyuse.measure.contexts.descent import Descent
from proxyuse.measure.effects import Effects, Tries, effects_of
from proxyuse.measure.influence import differ
from proxyuse.measure.movable import Movable
from proxyuse.measure.sample import Sample
from proxyuse.measure.support import Support, support_of

FEW_KINDS = 64
"""Kinds of values that are tried for effects, whatever it costs."""

MOST_WORK = 2**31
"""Values that may be computed for the effects of one computation; a few seconds."""


OVERHEAD = 1000
"""Rows that take as long as the fixed cost of one evaluation."""


class DistinctValues:
    """Influence by trying each distinct value; reach and bounds from the values of all nodes.

    Declines sampled influence only. It is the last engine to be asked.

    Examples
    --------
    >>> from proxyuse.population import Population
    >>> from proxyuse.program import Program
    >>> people = Population.build({"x": [1, 2, 3, 4], "z": list("aabb")}, protected="z")
    >>> engine = DistinctValues(Sample(Program.parse("ite(x <= 1, 0, 1)"), people))
    >>> engine.influence([Spot(1)]), engine.reach([Spot(1)])
    (0.375, 1.0)
    """

    method: ClassVar[str] = "by trying each distinct value"
    compiled: ClassVar[bool] = False

    def __init__(self, sample: Sample) -> None:
        self.sample = sample

    @classmethod
    def of(cls, sample: Sample) -> DistinctValues:
        """The engine; it has an answer for every program."""
        return cls(sample)

    # Influence

    def influence(self, spots: Sequence[Spot]) -> float | None:
        """The influence of one computation through disjoint positions."""
        return self.influence_of(spots, self.sample.values(self.sample.points.term_at(spots[0])))

    def influence_of(self, spots: Sequence[Spot], values: Array) -> float | None:
        """The influence that other values, one per row, would have at some disjoint positions."""
        sample = self.sample
        if sample.pairs is not None:
            return None
        scale = sample.scale  # may raise, so it comes first
        if scale == 0:
            return 0.0
        with np.errstate(all="ignore"):
            pairs = self._tries(spots, values).pairs(sample.weights)
        return pairs / (sample.total * sample.total) / scale

    def influences(self, spots: Sequence[Spot]) -> list[float | None]:
        """The influence through each position alone."""
        result = []
        for spot in spots:
            result.append(self.influence([spot]))
            self.sample.tick(1)
        return result

    def effects(self, spots: Sequence[Spot]) -> Effects | None:
        """The influence of one computation, row by row.

        Declines if more than `FEW_KINDS` kinds of values have to be tried and this means
        computing more than `MOST_WORK` values.
        """
        sample = self.sample
        if not sample.counts_changes:
            return None
        sample.tick(0)
        with np.errstate(all="ignore"):
            tries = self._tries(spots, sample.values(sample.points.term_at(spots[0])))
            work = len(tries.masses) * len(tries.rows) * _operands_above(sample, spots)
            if len(tries.masses) > FEW_KINDS and work > MOST_WORK:
                return None
            return effects_of(tries, sample.weights, sample.total)

    def _tries(self, spots: Sequence[Spot], values: Array) -> Tries:
        """One value of each kind at the positions, and the loss it causes."""
        if len(spots) == 1 and self.sample.counts_changes:
            return self._tries_at(spots[0], values)
        sample = self.sample
        support, kinds, first = self._kinds(spots, values)
        context = sample.points.replace(dict.fromkeys(spots, sample.hole))
        known = sample.inside(context)
        actual = self._output(context, known, values)

        def losses(value: int) -> Array:
            sample.tick(0)
            changed = self._output(context, known, support.values[value : value + 1])
            with np.errstate(all="ignore"):
                return np.broadcast_to(sample.loss.loss(actual, changed), (sample.n_rows,))

        masses = np.bincount(kinds, support.masses(sample.weights))
        return Tries(np.arange(sample.n_rows), kinds[support.codes], masses, map(losses, first))

    def _kinds(self, spots: Sequence[Spot], values: Array) -> tuple[Support, Array, Array]:
        """The distinct values, the kind of each, and the first value of each kind."""
        support = support_of(values, self.sample.n_rows, signed_zero=True)
        kinds = kinds_of_value(self.sample, spots, support)
        return support, kinds, np.unique(kinds, return_index=True)[1]

    def _output(self, context: Term, known: Values, values: Array) -> Array:
        sample = self.sample
        columns = {**sample.frame.arrays, sample.hole.name: values}
        return sample.full(evaluate(context, columns, sample.vocabulary, known))

    def _tries_at(self, spot: Spot, values: Array) -> Tries:
        """Each distinct value at one position, in the rows whose output can depend on it."""
        sample, ascent = self.sample, self.sample.shared(Ascent)
        rows = np.flatnonzero(sample.shared(Descent).context(spot).rows)
        support = support_of(values, sample.n_rows, signed_zero=True)
        actual = ascent.outcome(spot, rows, values[rows])

        def losses(value: int) -> Array:
            sample.tick(0)
            new = support.values[value : value + 1]
            new = np.broadcast_to(new, (len(rows), *new.shape[1:]))
            return differ(actual, ascent.outcome(spot, rows, new))

        masses = support.masses(sample.weights)
        return Tries(rows, support.codes, masses, map(losses, range(len(support))))

    # Reach

    def reach(self, spots: Sequence[Spot]) -> float:
        """The share of rows that evaluate at least one of the positions."""
        sample = self.sample
        reached = np.zeros(sample.n_rows, dtype=np.bool_)
        for spot in spots:
            reached = reached | sample.reached(spot.point)
        return float(sample.weights[reached].sum() / sample.total)

    def reaches(self, spots: Sequence[Spot]) -> list[float | None]:
        """The share of rows that evaluate each position."""
        return [self.reach([spot]) for spot in spots]

    # Bounds

    @cached_property
    def _movable(self) -> Movable:
        return Movable.of(self.sample)

    def occurrence_bound(self, spots: Sequence[Spot]) -> float:
        """An upper bound on the influence through any set of these disjoint positions."""
        sample = self.sample
        values = sample.values(sample.points.term_at(spots[0]))
        support, kinds, first = self._kinds(spots, values)
        masses = np.bincount(kinds, support.masses(sample.weights))
        moved = self._movable.pairs(spots, values, support.values[first], masses, sample.tick)
        return self._bound(moved / (sample.total * sample.total))

    def operands_bound(self, operator: int, operands: Sequence[int]) -> float:
        """An upper bound on the influence of any subset of some operands of one operator."""
        sample = self.sample
        values = [sample.values(part) for part in children(sample.points.terms[operator])]
        return self._bound(self._movable.rows(operator, operands, values) / sample.total)

    def _bound(self, movable: float) -> float:
        """What the share of movable pairs or rows implies: for a loss beyond 1, 0 or nothing."""
        return movable if self.sample.loss.bounded or movable == 0 else math.inf


def exact_work(sample: Sample, spots: Sequence[Spot]) -> int:
    """About how many values are computed to try each distinct value at some positions.

    An evaluation costs as much as `OVERHEAD` rows even if there are few.
    """
    support = support_of(
        sample.values(sample.points.term_at(spots[0])), sample.n_rows, signed_zero=True
    )
    kinds = len(support)
    if len(spots) > 1:
        kinds = len(np.unique(kinds_of_value(sample, spots, support)))
    return kinds * (sample.n_rows + OVERHEAD) * _operands_above(sample, spots)


def _operands_above(sample: Sample, spots: Sequence[Spot]) -> int:
    """How many operands are combined for one row, from some positions up to the root."""
    points = sample.points
    above: set[int] = set()
    for spot in spots:
        point = spot.point if spot.operands else points.parents[spot.point]
        while point >= 0 and point not in above:
            above.add(point)
            point = points.parents[point]
    return sum(len(children(points.terms[point])) for point in above)


def kinds_of_value(sample: Sample, spots: Sequence[Spot], support: Support) -> Array:
    """A number for each distinct value; values with equal numbers act alike at the positions.

    If each position is one side of a test against a constant, values with the same outcomes in
    all these tests act alike. Otherwise every value is of its own kind.
    """
    points, outcomes = sample.points, []
    for spot in spots:
        parent = points.parents[spot.point]
        term = points.terms[parent] if parent >= 0 and not spot.operands else None
        if not isinstance(term, Compare | Member):
            return np.arange(len(support))
        index = points.steps[spot.point]
        siblings = [part for step, part in enumerate(children(term)) if step != index]
        if not all(isinstance(part, Const) for part in siblings):
            return np.arange(len(support))
        parts = [sample.value(part) for part in siblings]
        parts.insert(index, support.values)
        outcomes.append(apply(term, parts, {}, sample.vocabulary))
    return np.asarray(np.unique(np.array(outcomes), axis=1, return_inverse=True)[1]).ravel()
