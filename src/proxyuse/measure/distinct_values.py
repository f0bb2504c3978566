"""The engine that tries each distinct value, and answers every question.

For each distinct value of a computation p1, the program is evaluated with this value at p1's
positions. The mass of the value is multiplied by the mass of the rows whose output changes. The sum
over all values is the mass of the pairs that change the output. This takes k evaluations for k
distinct values, each restricted to the nodes above the positions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import ClassVar

import numpy as np

from proxyuse.lang.evaluate import Array, Evaluator, apply
from proxyuse.lang.nodes import Compare, Const, Member, children
from proxyuse.lang.positions import Site
from proxyuse.measure.association.support import Support, support_of
from proxyuse.measure.bounds.changeable_rows import ChangeableRows
from proxyuse.measure.contexts.context_analysis import ContextAnalysis
from proxyuse.measure.contexts.path_evaluation import PathEvaluator
from proxyuse.measure.row_effects import RowEffects, TriedValues
from proxyuse.measure.sample import Sample

FEW_CLASSES = 64
"""Effects always try up to this many classes of values, regardless of cost."""

MAX_WORK = 2**31
"""Limit on the values computed for the effects of one computation: a few seconds."""

OVERHEAD = 1000
"""The fixed cost of one evaluation, as a number of rows."""


class DistinctValues:
    """Influence by trying each distinct value; reach and bounds from the values of all nodes.

    Declines only sampled influence. It is the last engine in `ENGINES`.

    Examples
    --------
    >>> from proxyuse.data.population import Population
    >>> from proxyuse.program import Program
    >>> people = Population.build({"x": [1, 2, 3, 4], "z": list("aabb")}, protected="z")
    >>> engine = DistinctValues(Sample(Program.parse("ite(x <= 1, 0, 1)"), people))
    >>> engine.influence([Site(1)]), engine.reach([Site(1)])
    (0.375, 1.0)
    """

    method: ClassVar[str] = "by trying each distinct value"
    compiled: ClassVar[bool] = False

    def __init__(self, sample: Sample) -> None:
        self.sample = sample

    @classmethod
    def of(cls, sample: Sample) -> DistinctValues:
        """Return the engine; it fits every program."""
        return cls(sample)

    # Influence

    def influence(self, sites: Sequence[Site]) -> float | None:
        """Return the influence of one computation through disjoint positions."""
        return self.influence_of(sites, self.sample.values(self.sample.points.term_at(sites[0])))

    def influence_of(self, sites: Sequence[Site], values: Array) -> float | None:
        """Return the influence of other values, one per row, at some disjoint positions."""
        sample = self.sample
        if sample.pairs is not None:
            return None
        scale = sample.scale  # may raise, so it comes first
        if scale == 0:
            return 0.0
        with np.errstate(all="ignore"):
            pairs = self._tried(sites, values).pairs(sample.weights)
        return pairs / (sample.total * sample.total) / scale

    def influences(self, sites: Sequence[Site]) -> list[float | None]:
        """Return the influence through each position alone."""
        result = []
        for site in sites:
            result.append(self.influence([site]))
            self.sample.tick(1)
        return result

    def effects(self, sites: Sequence[Site]) -> RowEffects | None:
        """Return the influence of one computation, row by row.

        Declines if this takes more than `FEW_CLASSES` classes of values and more than `MAX_WORK`
        computed values.
        """
        sample = self.sample
        if sample.pairs is not None:
            return None
        sample.tick(0)
        with np.errstate(all="ignore"):
            tried = self._tried(sites, sample.values(sample.points.term_at(sites[0])))
            work = len(tried.masses) * len(tried.rows) * _operands_above(sample, sites)
            if len(tried.masses) > FEW_CLASSES and work > MAX_WORK:
                return None
            return tried.effects(sample.weights, sample.total)

    def _tried(self, sites: Sequence[Site], values: Array) -> TriedValues:
        """Try one value of each class at the positions, and return the loss it causes."""
        if len(sites) == 1 and self.sample.counts_pairs:
            return self._tried_at(sites[0], values)
        sample = self.sample
        support, classes, first = self._classes(sites, values)
        context = sample.points.replace(dict.fromkeys(sites, sample.hole))
        evaluator = Evaluator(context, sample.inside(context))
        actual = self._output(evaluator, values)

        def losses(value: int) -> Array:
            sample.tick(0)
            changed = self._output(evaluator, support.values[value : value + 1])
            with np.errstate(all="ignore"):
                return np.broadcast_to(sample.loss.loss(actual, changed), (sample.n_rows,))

        masses = np.bincount(classes, support.masses(sample.weights))
        rows = np.arange(sample.n_rows)
        return TriedValues(rows, classes[support.codes], masses, map(losses, first))

    def _classes(self, sites: Sequence[Site], values: Array) -> tuple[Support, Array, Array]:
        """Return the distinct values, the class of each, and the first value of each class."""
        support = support_of(values, self.sample.n_rows, signed_zero=True)
        classes = value_classes(self.sample, sites, support)
        return support, classes, np.unique(classes, return_index=True)[1]

    def _output(self, evaluator: Evaluator, values: Array) -> Array:
        sample = self.sample
        columns = {**sample.frame.arrays, sample.hole.name: values}
        return sample.full(evaluator(columns, sample.vocabulary))

    def _tried_at(self, site: Site, values: Array) -> TriedValues:
        """Try each distinct value at one position, in the rows whose output can depend on it."""
        sample, path = self.sample, self.sample.shared(PathEvaluator)
        rows = np.flatnonzero(sample.shared(ContextAnalysis).context(site).rows)
        support = support_of(values, sample.n_rows, signed_zero=True)
        actual = path.outcome(site, rows, values[rows])

        def losses(value: int) -> Array:
            sample.tick(0)
            new = support.values[value : value + 1]
            new = np.broadcast_to(new, (len(rows), *new.shape[1:]))
            return sample.loss.loss(actual, path.outcome(site, rows, new))

        masses = support.masses(sample.weights)
        return TriedValues(rows, support.codes, masses, map(losses, range(len(support))))

    # Reach

    def reach(self, sites: Sequence[Site]) -> float:
        """Return the share of rows that evaluate at least one of the positions."""
        sample = self.sample
        reached = np.zeros(sample.n_rows, dtype=np.bool_)
        for site in sites:
            reached = reached | sample.reached(site.point)
        return float(sample.weights[reached].sum() / sample.total)

    def reaches(self, sites: Sequence[Site]) -> list[float | None]:
        """Return the share of rows that evaluate each position."""
        return [self.reach([site]) for site in sites]

    # Bounds

    @cached_property
    def _changeable(self) -> ChangeableRows:
        return ChangeableRows.of(self.sample)

    def occurrence_bound(self, sites: Sequence[Site]) -> float:
        """Return an upper bound on the influence through any subset of some disjoint positions."""
        sample = self.sample
        values = sample.values(sample.points.term_at(sites[0]))
        support, classes, first = self._classes(sites, values)
        masses = np.bincount(classes, support.masses(sample.weights))
        pairs = self._changeable.pairs(sites, values, support.values[first], masses, sample.tick)
        return self._bound(pairs / (sample.total * sample.total))

    def operands_bound(self, operator: int, operands: Sequence[int]) -> float:
        """Return an upper bound on the influence of any subset of some operands of one operator."""
        sample = self.sample
        values = [sample.values(part) for part in children(sample.points.terms[operator])]
        return self._bound(self._changeable.rows(operator, operands, values) / sample.total)

    def _bound(self, changeable: float) -> float:
        """Turn a share of changeable pairs or rows into a bound on the mean loss."""
        return changeable if self.sample.loss.bounded or changeable == 0 else math.inf


def exact_work(sample: Sample, sites: Sequence[Site]) -> int:
    """Estimate how many values are computed to try each distinct value at some positions.

    Every evaluation adds `OVERHEAD` rows.
    """
    support = support_of(
        sample.values(sample.points.term_at(sites[0])), sample.n_rows, signed_zero=True
    )
    classes = len(support)
    if len(sites) > 1:
        classes = len(np.unique(value_classes(sample, sites, support)))
    return classes * (sample.n_rows + OVERHEAD) * _operands_above(sample, sites)


def _operands_above(sample: Sample, sites: Sequence[Site]) -> int:
    """Return the number of operands combined per row, from some positions up to the root."""
    points = sample.points
    above: set[int] = set()
    for site in sites:
        point = site.point if site.operands else points.parents[site.point]
        while point >= 0 and point not in above:
            above.add(point)
            point = points.parents[point]
    return sum(len(children(points.terms[point])) for point in above)


def value_classes(sample: Sample, sites: Sequence[Site], support: Support) -> Array:
    """Group the distinct values into classes that act alike at the positions.

    If each position is one side of a test against a constant, values with the same outcomes in
    all these tests form a class. Otherwise every value is a class of its own.
    """
    points, outcomes = sample.points, []
    for site in sites:
        parent = points.parents[site.point]
        term = points.terms[parent] if parent >= 0 and not site.operands else None
        if not isinstance(term, Compare | Member):
            return np.arange(len(support))
        index = points.steps[site.point]
        siblings = [part for step, part in enumerate(children(term)) if step != index]
        if not all(isinstance(part, Const) for part in siblings):
            return np.arange(len(support))
        parts = [sample.value(part) for part in siblings]
        parts.insert(index, support.values)
        outcomes.append(apply(term, parts, {}, sample.vocabulary))
    return np.asarray(np.unique(np.array(outcomes), axis=1, return_inverse=True)[1]).ravel()
