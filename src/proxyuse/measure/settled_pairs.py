"""The engine that settles an influence from drawn pairs where the exact one is out of reach.

It answers only if the sample names a threshold (`Sample.settle_at`) and trying each distinct value
would take too long: the first `EXACT_WORK` of an audit are spent on exact answers, no more than an
eighth of what remains on any one of them. What it draws is kept in `drawn`, with its error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

import numpy as np

from proxyuse.lang.evaluate import Array, evaluate
from proxyuse.lang.positions import Site
from proxyuse.measure.bounds.changeable_rows import ChangeableRows
from proxyuse.measure.contexts.path_evaluation import PathEvaluator
from proxyuse.measure.distinct_values import exact_work
from proxyuse.measure.drawing import DrawnInfluence, draw_until_settled
from proxyuse.measure.influence import differ
from proxyuse.measure.row_effects import RowEffects
from proxyuse.measure.sample import Sample

EXACT_WORK = 1 << 31
"""Work (see `exact_work`) that an audit spends on exact influences; several seconds."""

LARGEST_WORK = 1 << 34
"""Work up to which an influence that stays close to the threshold is computed exactly anyway."""

MAX_PAIRS = 1 << 22

BLOCK = 1 << 16
"""Pairs that are evaluated at a time."""


class SettledPairs:
    """Influence from drawn pairs of rows, where trying each distinct value takes too long.

    Attributes
    ----------
    drawn : what was estimated, by the sites.
    """

    method: ClassVar[str] = "from drawn pairs of rows"
    compiled: ClassVar[bool] = False

    def __init__(self, sample: Sample, threshold: float) -> None:
        self.sample, self.threshold = sample, threshold
        self.drawn: dict[tuple[Site, ...], DrawnInfluence] = {}
        self._remaining = EXACT_WORK

    @classmethod
    def of(cls, sample: Sample) -> SettledPairs | None:
        """The engine, or None if influence has to be exact or is sampled anyway."""
        if sample.settle_at is None or sample.pairs is not None or not sample.counts_changes:
            return None
        return cls(sample, sample.settle_at)

    def influence(self, sites: Sequence[Site]) -> float | None:
        """The influence of one computation through disjoint positions; declines cheap questions."""
        known = self.drawn.get(tuple(sites))
        if known is not None:
            return known.influence
        work = exact_work(self.sample, sites)
        if work <= self._remaining / 8:
            self._remaining -= work
            return None
        drawn = draw_until_settled(self.sample, self._counter(sites), self.threshold, MAX_PAIRS)
        if not drawn.settled and work <= LARGEST_WORK:
            return None
        self.drawn[tuple(sites)] = drawn
        return drawn.influence

    def _counter(self, sites: Sequence[Site]) -> Callable[[Array, Array], int]:
        """A function that counts how many pairs of rows change the output."""
        values = self.sample.values(self.sample.points.term_at(sites[0]))
        changed = self._through_one(sites[0]) if len(sites) == 1 else self._through_all(sites)

        def count(rows: Array, others: Array) -> int:
            total = 0
            for start in range(0, len(rows), BLOCK):
                self.sample.tick(0)
                part = slice(start, start + BLOCK)
                with np.errstate(all="ignore"):
                    flags = changed(rows[part], values[rows[part]], values[others[part]])
                total += int(np.count_nonzero(flags))
            return total

        return count

    def _through_one(self, site: Site) -> Callable[[Array, Array, Array], Array]:
        """Through one position only the path above it is evaluated, for rows that reach it."""
        path, reached = self.sample.shared(PathEvaluator), self.sample.reached(site.point)

        def changed(rows: Array, before: Array, after: Array) -> Array:
            there = reached[rows]
            rows = rows[there]
            outcome = path.outcome(site, rows, before[there])
            return differ(outcome, path.outcome(site, rows, after[there]))

        return changed

    def _through_all(self, sites: Sequence[Site]) -> Callable[[Array, Array, Array], Array]:
        """Through several positions at once the program is evaluated on the pairs."""
        sample = self.sample
        context = sample.points.replace(dict.fromkeys(sites, sample.hole))

        def changed(rows: Array, before: Array, after: Array) -> Array:
            columns = {name: column[rows] for name, column in sample.frame.arrays.items()}

            def output(hole: Array) -> Array:
                result = evaluate(context, {**columns, sample.hole.name: hole}, sample.vocabulary)
                return np.broadcast_to(result, (len(rows), *result.shape[1:]))

            return differ(output(before), output(after))

        return changed

    def influences(self, sites: Sequence[Site]) -> list[float | None]:
        """The influence through each position alone."""
        return [self.influence([site]) for site in sites]

    def effects(self, sites: Sequence[Site]) -> RowEffects | None:
        """Decline: a few pairs say little about each row."""
        return None

    def reach(self, sites: Sequence[Site]) -> float | None:
        """Decline."""
        return None

    def reaches(self, sites: Sequence[Site]) -> list[float | None]:
        """Decline."""
        return [None] * len(sites)

    def occurrence_bound(self, sites: Sequence[Site]) -> float | None:
        """The share of rows whose output some choice of observed values at the positions changes.

        Answers where trying each distinct value takes too long. Costs one evaluation of the
        program on intervals.
        """
        values = self.sample.values(self.sample.points.term_at(sites[0]))
        if values.dtype != np.float64 or exact_work(self.sample, sites) <= self._remaining / 8:
            return None
        changeable = ChangeableRows.of(self.sample)
        return changeable.rows_at(sites, values) / self.sample.total

    def operands_bound(self, operator: int, operands: Sequence[int]) -> float | None:
        """Decline."""
        return None
