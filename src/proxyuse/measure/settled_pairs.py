"""The engine that estimates an influence from random pairs if computing it takes too long.

It answers only if the sample has a threshold (`Sample.settle_at`) and trying each distinct value
takes too long. An audit has a budget of `EXACT_WORK` for exact answers; a single answer may use an
eighth of what remains. Estimates are kept in `drawn`, with their errors.
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
from proxyuse.measure.pair_sampling import DrawnInfluence, draw_until_settled
from proxyuse.measure.row_effects import RowEffects
from proxyuse.measure.sample import Sample

EXACT_WORK = 1 << 31
"""The budget of an audit for exact influences (see `exact_work`): several seconds."""

LARGEST_WORK = 1 << 34
"""The limit of work for an exact influence whose estimate stays close to the threshold."""

MAX_PAIRS = 1 << 22

BLOCK = 1 << 16
"""The number of pairs evaluated at a time."""


class SettledPairs:
    """Influence from random pairs of rows, if trying each distinct value takes too long.

    Attributes
    ----------
    drawn : the estimates, by sites.
    """

    method: ClassVar[str] = "from random pairs of rows"
    compiled: ClassVar[bool] = False

    def __init__(self, sample: Sample, threshold: float) -> None:
        self.sample, self.threshold = sample, threshold
        self.drawn: dict[tuple[Site, ...], DrawnInfluence] = {}
        self._remaining = EXACT_WORK

    @classmethod
    def of(cls, sample: Sample) -> SettledPairs | None:
        """Return the engine, or None if influence must be exact or is sampled in any case."""
        if sample.settle_at is None or sample.pairs is not None or not sample.counts_pairs:
            return None
        return cls(sample, sample.settle_at)

    def influence(self, sites: Sequence[Site]) -> float | None:
        """Return the influence through disjoint positions; decline if it is cheap to compute."""
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
        """Return a function that counts the pairs of rows that change the output."""
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
        """Handle one position: evaluate the path above it, for the rows that reach it."""
        path, reached = self.sample.shared(PathEvaluator), self.sample.reached(site.point)
        loss = self.sample.loss.loss

        def changed(rows: Array, before: Array, after: Array) -> Array:
            reaching = reached[rows]
            rows = rows[reaching]
            outcome = path.outcome(site, rows, before[reaching])
            return loss(outcome, path.outcome(site, rows, after[reaching]))

        return changed

    def _through_all(self, sites: Sequence[Site]) -> Callable[[Array, Array, Array], Array]:
        """Handle several positions: evaluate the program on the pairs."""
        sample = self.sample
        context = sample.points.replace(dict.fromkeys(sites, sample.hole))

        def changed(rows: Array, before: Array, after: Array) -> Array:
            columns = {name: column[rows] for name, column in sample.frame.arrays.items()}

            def output(hole: Array) -> Array:
                result = evaluate(context, {**columns, sample.hole.name: hole}, sample.vocabulary)
                return np.broadcast_to(result, (len(rows), *result.shape[1:]))

            return sample.loss.loss(output(before), output(after))

        return changed

    def influences(self, sites: Sequence[Site]) -> list[float | None]:
        """Return the influence through each position alone."""
        return [self.influence([site]) for site in sites]

    def effects(self, sites: Sequence[Site]) -> RowEffects | None:
        """Decline: a sample of pairs says little about each row."""
        return None

    def reach(self, sites: Sequence[Site]) -> float | None:
        """Decline."""
        return None

    def reaches(self, sites: Sequence[Site]) -> list[float | None]:
        """Decline."""
        return [None] * len(sites)

    def occurrence_bound(self, sites: Sequence[Site]) -> float | None:
        """Return the share of rows that observed values at the positions can change.

        Answers if trying each distinct value takes too long. Costs one interval analysis of the
        program.
        """
        values = self.sample.values(self.sample.points.term_at(sites[0]))
        if values.dtype != np.float64 or exact_work(self.sample, sites) <= self._remaining / 8:
            return None
        changeable = ChangeableRows.of(self.sample)
        return changeable.rows_at(sites, values) / self.sample.total

    def operands_bound(self, operator: int, operands: Sequence[int]) -> float | None:
        """Decline."""
        return None
