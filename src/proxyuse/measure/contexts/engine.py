"""The engine that counts from contexts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, reduce
from operator import add
from typing import Any, ClassVar, TypeVar

import numpy as np

from proxyuse.lang.evaluate import Array
from proxyuse.lang.positions import Spot
from proxyuse.measure.contexts.ascent import Ascent, funnel
from proxyuse.measure.contexts.counting import (
    Alike,
    Distinct,
    PositionPlan,
    boundaries,
    changing,
    distinct,
    located,
)
from proxyuse.measure.contexts.descent import Descent
from proxyuse.measure.contexts.shapes import pairs_across
from proxyuse.measure.contexts.squared import SquaredShifts
from proxyuse.measure.contexts.views import View, views_of
from proxyuse.measure.counting import followed
from proxyuse.measure.effects import Effects
from proxyuse.measure.parallel import mapped
from proxyuse.measure.sample import Sample

T = TypeVar("T")


class Contexts:
    """Influence through one position, from the form in which the output depends on it.

    Counts by the plans of `counting`, one block of rows per thread. Long columns of numbers under a
    threshold, with unit weights, are counted as a whole, which gives the same number sooner.

    A position with only constants beside it acts through the one above, so the position above is
    measured instead, once: the levels of a category that a table turns into numbers are not tried
    one by one.

    Declines several positions at once, positions of the form OTHER, and every loss but
    quantitative input influence over all pairs. `SquaredShifts` answers for squared change.

    Examples
    --------
    >>> from proxyuse.population import Population
    >>> from proxyuse.program import Program
    >>> people = Population.build({"x": [1, 2, 3, 4], "z": list("aabb")}, protected="z")
    >>> Contexts(Sample(Program.parse("ite(x <= 1, 0, 1)"), people)).influence([Spot(1)])
    0.375
    """

    method: ClassVar[str] = "from thresholds and branches"
    compiled: ClassVar[bool] = False

    def __init__(self, sample: Sample) -> None:
        self.sample = sample
        self._descent = sample.shared(Descent)
        self._measured: dict[Spot, float | None] = {}

    @classmethod
    def of(cls, sample: Sample) -> Contexts | SquaredShifts | None:
        """The engine for the sample's loss, or None for sampled influence."""
        return cls(sample) if sample.counts_changes else SquaredShifts.of(sample)

    def influence(self, spots: Sequence[Spot]) -> float | None:
        """The influence through one position. O(n log n) for n rows."""
        if len(spots) > 1:
            return None
        points = self.sample.points
        spot = funnel(points, spots[0])
        if spot not in self._measured:
            self._measured[spot] = self._influence(spot, self.sample.values(points.term_at(spot)))
        return self._measured[spot]

    def influence_of(self, spots: Sequence[Spot], values: Array) -> float | None:
        """The influence that other values, one per row, would have at a position."""
        if len(spots) > 1:
            return None
        sample, spot = self.sample, funnel(self.sample.points, spots[0])
        if spot != spots[0]:
            ascent, rows = sample.shared(Ascent), np.arange(sample.n_rows)
            values = ascent.up_to(spot.point, spots[0], rows, values)
        return self._influence(spot, values)

    def _influence(self, spot: Spot, values: Array) -> float | None:
        sample = self.sample
        sample.tick(0)
        with np.errstate(all="ignore"):
            pairs = self._pairs_across(spot, values)
            if pairs is not None:
                return pairs / (sample.n_rows * sample.n_rows)
            plan, own = PositionPlan(sample.program, spot), self._distinct(values)
            measures = followed(plan, lambda step: self._counts(step, own))
        return None if measures is None else measures.influence

    def _pairs_across(self, spot: Spot, values: Array) -> int | None:
        """The number of pairs that change the output, if whole columns can be counted at once."""
        sample = self.sample
        numbers = values.dtype == np.float64 and values.ndim == 1
        if not (numbers and sample.many_rows and sample.unit_weights):
            return None
        context = self._descent.context(spot)
        return pairs_across(sample, spot, context, context.acting(values))

    # Rows, in blocks

    @cached_property
    def _views(self) -> list[tuple[View, Array]]:
        """The rows in as many blocks as there may be threads, with their masses."""
        masses = self.sample.masses
        return [(view, masses[view.slice]) for view in views_of(self.sample)]

    def _map(self, function: Callable[[View, Array, T], Any], items: Sequence[T]) -> Iterator[Any]:
        """Call a function on each block and an item for it."""
        pairs = list(zip(self._views, items, strict=True))
        return mapped(lambda pair: function(*pair[0], pair[1]), pairs, self.sample.threads)

    def _distinct(self, values: Array) -> list[Distinct]:
        """The distinct values in each block."""
        vocabulary = self.sample.vocabulary
        parts = [values[view.slice] for view, _ in self._views]
        return list(self._map(lambda view, masses, part: distinct(part, vocabulary), parts))

    def _counts(self, plan: Any, own: Sequence[Distinct]) -> Iterator[Any]:
        return self._map(lambda view, masses, part: plan.count_rows(view, masses, part), own)

    def influences(self, spots: Sequence[Spot]) -> list[float | None]:
        """The influence through each position alone.

        Positions are measured in preorder, so that each one's parent has its context kept.
        """
        result: dict[Spot, float | None] = {}
        for spot in sorted(set(spots)):
            result[spot] = self.influence([spot])
            self.sample.tick(int(result[spot] is not None))
        return [result[spot] for spot in spots]

    def effects(self, spots: Sequence[Spot]) -> Effects | None:
        """The influence through one position, row by row; it costs what influence does."""
        if len(spots) > 1:
            return None
        sample, spot = self.sample, funnel(self.sample.points, spots[0])
        sample.tick(0)
        with np.errstate(all="ignore"):
            plan = PositionPlan(sample.program, spot)
            own = self._distinct(sample.values(sample.points.term_at(spot)))
            values = reduce(add, self._counts(plan, own))
            settled = plan.settled(values)
            if settled is None:
                return None
            if isinstance(settled, Alike):
                return self._effects_alike(spot, settled, own)
            found = list(self._map(lambda view, _, part: settled.ranges(view, part), own))
            parts = self._map(lambda view, masses, r: boundaries(r, masses[r.rows]), found)
            begin, end, lost = (sum(part) for part in zip(*parts, strict=True))
            by_number = changing(begin, end, lost)
            changed = []
            for ranges in found:
                by_row = np.zeros(len(ranges.codes), dtype=np.int64)
                by_row[ranges.rows] = settled.changed(ranges)
                changed.append(by_row)
            by_value = by_number[np.concatenate([ranges.codes for ranges in found])]
            total = int(values.masses.sum())
            return Effects(np.concatenate(changed) / total, by_value / total)

    def _effects_alike(self, spot: Spot, alike: Alike, own: Sequence[Distinct]) -> Effects:
        keys, classes = alike.values.keys, alike.classes
        codes = np.concatenate([classes[located(keys, part.keys)][part.codes] for part in own])
        rows = [view.shared(Descent).context(spot).rows for view, _ in self._views]
        changed = np.where(np.concatenate(rows), alike.changed[codes], 0)
        total = int(alike.values.masses.sum())
        return Effects(changed / total, alike.changing[codes] / total)

    def reach(self, spots: Sequence[Spot]) -> float | None:
        """Decline: contexts know nothing about reach."""
        return None

    def reaches(self, spots: Sequence[Spot]) -> list[float | None]:
        """Decline."""
        return [None] * len(spots)

    def occurrence_bound(self, spots: Sequence[Spot]) -> float | None:
        """Decline: contexts are about single positions."""
        return None

    def operands_bound(self, operator: int, operands: Sequence[int]) -> float | None:
        """Decline."""
        return None
