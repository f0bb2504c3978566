"""The engine that counts influence from contexts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, reduce
from operator import add
from typing import Any, ClassVar, TypeVar

import numpy as np

from proxyuse.lang.evaluate import Array
from proxyuse.lang.positions import Site
from proxyuse.measure.contexts.context_analysis import ContextAnalysis
from proxyuse.measure.contexts.counting import (
    Distinct,
    EquivalentValues,
    PositionPlan,
    boundaries,
    changing,
    distinct,
    located,
)
from proxyuse.measure.contexts.path_evaluation import PathEvaluator, highest_equivalent
from proxyuse.measure.contexts.row_views import RowView, row_views
from proxyuse.measure.contexts.squared import SquaredShifts
from proxyuse.measure.contexts.unchanged_ranges import pairs_across
from proxyuse.measure.counting import followed
from proxyuse.measure.parallel import mapped
from proxyuse.measure.row_effects import RowEffects
from proxyuse.measure.sample import Sample

T = TypeVar("T")


class Contexts:
    """Influence through one position, from the form in which the output depends on it.

    Uses the plans of `counting`, with one block of rows per thread. Long columns of numbers under
    a threshold with unit weights are counted as a whole, which is faster and gives the same number.

    A position with only constants beside it acts through the one above, so the position above is
    measured instead. A category that a table turns into numbers therefore costs as much as the
    numbers, at any number of levels.

    Declines several positions at once, most positions of the form OTHER, and every loss except
    quantitative input influence and `Moved` over all pairs. `SquaredShifts` answers for squared
    change.

    Examples
    --------
    >>> from proxyuse.data.population import Population
    >>> from proxyuse.program import Program
    >>> people = Population.build({"x": [1, 2, 3, 4], "z": list("aabb")}, protected="z")
    >>> Contexts(Sample(Program.parse("ite(x <= 1, 0, 1)"), people)).influence([Site(1)])
    0.375
    """

    method: ClassVar[str] = "from thresholds and branches"
    compiled: ClassVar[bool] = False

    def __init__(self, sample: Sample) -> None:
        self.sample = sample
        self._contexts = sample.shared(ContextAnalysis)
        self._measured: dict[Site, float | None] = {}

    @classmethod
    def of(cls, sample: Sample) -> Contexts | SquaredShifts | None:
        """Return the engine for the sample's loss, or None for sampled influence."""
        return cls(sample) if sample.counts_pairs else SquaredShifts.of(sample)

    def influence(self, sites: Sequence[Site]) -> float | None:
        """Return the influence through one position, in O(n log n) for n rows."""
        if len(sites) > 1:
            return None
        points = self.sample.points
        site = highest_equivalent(points, sites[0])
        if site not in self._measured:
            self._measured[site] = self._influence(site, self.sample.values(points.term_at(site)))
        return self._measured[site]

    def influence_of(self, sites: Sequence[Site], values: Array) -> float | None:
        """Return the influence of other values, one per row, at a position."""
        if len(sites) > 1:
            return None
        sample, site = self.sample, highest_equivalent(self.sample.points, sites[0])
        if site != sites[0]:
            path, rows = sample.shared(PathEvaluator), np.arange(sample.n_rows)
            values = path.up_to(site.point, sites[0], rows, values)
        return self._influence(site, values)

    def _influence(self, site: Site, values: Array) -> float | None:
        sample = self.sample
        sample.tick(0)
        sample.loss.scale(sample.outputs()[:1], sample.weights[:1])  # raises if it is undefined
        with np.errstate(all="ignore"):
            pairs = self._pairs_across(site, values)
            if pairs is not None:
                return pairs / (sample.n_rows * sample.n_rows)
            plan, own = self._plan(site), self._distinct(values)
            measures = followed(plan, lambda step: self._counts(step, own))
        return None if measures is None else measures.influence

    def _plan(self, site: Site) -> PositionPlan:
        return PositionPlan(self.sample.program, site, influence=self.sample.loss)

    def _pairs_across(self, site: Site, values: Array) -> int | None:
        """Return the number of pairs that change the output, or None if no shortcut applies."""
        sample = self.sample
        numbers = values.dtype == np.float64 and values.ndim == 1
        if not (numbers and sample.many_rows and sample.unit_weights):
            return None
        context = self._contexts.context(site)
        return pairs_across(sample, site, context, context.acting(values))

    # Rows, in blocks

    @cached_property
    def _views(self) -> list[tuple[RowView, Array]]:
        """One view of the rows per thread, with the masses of its rows."""
        masses = self.sample.masses
        return [(view, masses[view.slice]) for view in row_views(self.sample)]

    def _map(
        self, function: Callable[[RowView, Array, T], Any], items: Sequence[T]
    ) -> Iterator[Any]:
        """Call a function on each block of rows with the item for that block."""
        pairs = list(zip(self._views, items, strict=True))
        return mapped(lambda pair: function(*pair[0], pair[1]), pairs, self.sample.threads)

    def _distinct(self, values: Array) -> list[Distinct]:
        """Return the distinct values in each block."""
        vocabulary = self.sample.vocabulary
        parts = [values[view.slice] for view, _ in self._views]
        return list(self._map(lambda view, masses, part: distinct(part, vocabulary), parts))

    def _counts(self, plan: Any, own: Sequence[Distinct]) -> Iterator[Any]:
        return self._map(lambda view, masses, part: plan.count_rows(view, masses, part), own)

    def influences(self, sites: Sequence[Site]) -> list[float | None]:
        """Return the influence through each position alone.

        Positions are measured in preorder, so that the context of each parent is cached.
        """
        result: dict[Site, float | None] = {}
        for site in sorted(set(sites)):
            result[site] = self.influence([site])
            self.sample.tick(int(result[site] is not None))
        return [result[site] for site in sites]

    def effects(self, sites: Sequence[Site]) -> RowEffects | None:
        """Return the influence through one position, row by row, at the cost of `influence`."""
        if len(sites) > 1:
            return None
        sample, site = self.sample, highest_equivalent(self.sample.points, sites[0])
        sample.tick(0)
        with np.errstate(all="ignore"):
            plan = self._plan(site)
            own = self._distinct(sample.values(sample.points.term_at(site)))
            counts = reduce(add, self._counts(plan, own))
            settled = plan.settled(counts)
            if settled is None:
                return None
            if isinstance(settled, EquivalentValues):
                return self._effects_of_classes(site, settled, own)
            blocks = list(self._map(lambda view, _, part: settled.ranges(view, part), own))
            parts = self._map(lambda view, masses, r: boundaries(r, masses[r.rows]), blocks)
            begin, end, missing = (sum(part) for part in zip(*parts, strict=True))
            by_number = changing(begin, end, missing)
            changed = []
            for ranges in blocks:
                by_row = np.zeros(len(ranges.codes), dtype=np.int64)
                by_row[ranges.rows] = settled.changed(ranges)
                changed.append(by_row)
            by_value = by_number[np.concatenate([ranges.codes for ranges in blocks])]
            total = int(counts.masses.sum())
            return RowEffects(np.concatenate(changed) / total, by_value / total)

    def _effects_of_classes(
        self, site: Site, values: EquivalentValues, own: Sequence[Distinct]
    ) -> RowEffects:
        keys, classes = values.counts.keys, values.classes
        codes = np.concatenate([classes[located(keys, part.keys)][part.codes] for part in own])
        rows = [view.shared(ContextAnalysis).context(site).rows for view, _ in self._views]
        changed = np.where(np.concatenate(rows), values.changed[codes], 0)
        total = int(values.counts.masses.sum())
        return RowEffects(changed / total, values.changing[codes] / total)

    def reach(self, sites: Sequence[Site]) -> float | None:
        """Decline: contexts do not determine reach."""
        return None

    def reaches(self, sites: Sequence[Site]) -> list[float | None]:
        """Decline."""
        return [None] * len(sites)

    def occurrence_bound(self, sites: Sequence[Site]) -> float | None:
        """Decline: contexts describe single positions."""
        return None

    def operands_bound(self, operator: int, operands: Sequence[int]) -> float | None:
        """Decline."""
        return None
