"""The engine for partial sums of trees: some trees of a sum take their value from another row.

A partial sum acts through what its trees add to the leads (`decision`). With one lead, whose sign
decides, a row keeps its output for all sums on one side of a threshold, so sorting the sums counts
all pairs, in O(n log n) for n rows. Leads are integers; for the pairs in which rounding may decide,
the program's own sums do. Votes have many such pairs: ties. If there are too many, and if there are
several leads, pairs are drawn until the influence is clearly above or below the threshold of the
audit (see `pair_sampling`). Without such a threshold, the engine declines.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import ClassVar, Literal, NamedTuple

import numpy as np

from proxyuse.lang.evaluate import Array
from proxyuse.lang.nodes import Add
from proxyuse.lang.positions import Site
from proxyuse.measure.forests.engine import Counted, ForestEngine
from proxyuse.measure.pair_sampling import DrawnInfluence, draw_until_settled
from proxyuse.measure.row_effects import RowEffects
from proxyuse.measure.sample import Sample

MAX_UNSURE = 1 << 25
"""The number of pairs that the program's own sums decide, at most, if all pairs are counted."""

MAX_PAIRS = 1 << 20
"""The number of pairs after which an estimate may stay unsettled."""


class TreeSums:
    """Influence of partial sums of the trees of one sum.

    Declines everything else. Decisions only: the output must be one of some classes.

    Attributes
    ----------
    drawn : the influences that were estimated, by their sites.
    """

    method: ClassVar[str] = "from sums of trees"
    compiled: ClassVar[bool] = True

    def __init__(self, engine: ForestEngine) -> None:
        self.engine, self.sample = engine, engine.sample
        self.drawn: dict[tuple[Site, ...], DrawnInfluence] = {}

    @classmethod
    def of(cls, sample: Sample) -> TreeSums | None:
        """Return an engine if the program is a decision by one sum of trees, else None."""
        engine = ForestEngine.of(sample)
        if engine is None or not sample.counts_changes or engine.plan.decision.is_number:
            return None
        form = engine.plan.form
        is_sum = len(form.sums) == 1 and len(form.sums[0][1]) > 2
        return cls(engine) if is_sum and len(engine.plan.decision.sums.columns) else None

    def trees(self, sites: Sequence[Site]) -> Array | None:
        """Return the trees of a partial sum at one position, or None for anything else."""
        points = self.sample.points
        if len(sites) != 1 or not sites[0].operands:
            return None
        point = sites[0].point
        if not isinstance(points.terms[point], Add):
            return None
        below, tree_at = points.below(point), self.tree_at
        trees = [tree_at.get(below[step], -1) for step in sites[0].operands]
        return np.array(trees) if min(trees) >= 0 else None

    @cached_property
    def tree_at(self) -> dict[int, int]:
        """The trees by their points."""
        return dict(zip(*self.engine.plan.by_point, strict=True))

    def values(self, tree: int) -> Array:
        """Return the value of a tree in each row: a number, or a vector."""
        plan = self.engine.plan
        leaves: Array = plan.forest.leaves[self.engine.ends[tree]]
        return leaves

    # Rows

    @cached_property
    def _leads(self) -> Array:
        return np.concatenate([outcomes.leads[:, 0] for _, outcomes in self.engine.blocks])

    @cached_property
    def _scores(self) -> Array:
        return np.ascontiguousarray(self.engine.plan.decision.scores[:, 0])

    def _split(self, trees: Array, rows: Array) -> _Split | None:
        """Add up some trees, and for some rows all other operands, in the order of the program."""
        sums, ends = self.engine.plan.decision.sums, self.engine.ends
        chosen = set(trees.tolist())
        every = ends.shape[1]
        rest, part = np.zeros((every, len(sums.columns))), np.zeros((every, len(sums.columns)))
        all_rows = len(rows) == every
        for index, column in enumerate(sums.columns.tolist()):
            values = np.ascontiguousarray(sums.values[:, column])
            own = slice(int(sums.firsts[index]), int(sums.firsts[index + 1]))
            begun: list[Array | None] = [None, None]
            pairs = zip(sums.operands[own].tolist(), sums.constants[own].tolist(), strict=True)
            for tree, constant in pairs:
                inside = tree in chosen
                if tree < 0:
                    value = np.full(len(rows), constant)
                else:
                    leaves = ends[tree] if inside or all_rows else ends[tree, rows]
                    value = values[leaves]
                total = begun[inside]
                if total is None:
                    begun[inside] = value
                else:
                    total += value
            if begun[0] is None or begun[1] is None:
                return None
            rest[rows, index], part[:, index] = begun[0], begun[1]
        split = _Split(rest, part, np.zeros(every, dtype=np.int64))
        classes = np.empty(len(rows), dtype=np.int64)
        self._decide(split, rows, rows, classes)
        split.actual[rows] = classes
        return split

    def _decide(self, split: _Split, rows: Array, others: Array, classes: Array) -> None:
        from proxyuse.measure.forests import sum_loops  # loads numba

        sums = self.engine.plan.decision.sums
        sum_loops.decide_pairs(sums, split.rest, split.part, rows, others, classes)

    def _changes(self, split: _Split, rows: Array, others: Array) -> int:
        """Return how many of some pairs of rows change the output."""
        outputs = self.engine.plan.decision.sums.outputs
        classes = np.empty(len(rows), dtype=np.int64)
        self._decide(split, rows, others, classes)
        return int(np.count_nonzero(outputs[classes] != outputs[split.actual[rows]]))

    # Questions

    def influence(self, sites: Sequence[Site]) -> float | None:
        """Return the influence of a partial sum, exact or drawn."""
        known = self.drawn.get(tuple(sites))
        if known is not None:
            return known.influence
        trees = self.trees(sites)
        if trees is None:
            return None
        counted = self._count(trees, by_value=False)
        if counted is not None:
            return self.engine.share_of(counted)
        if self.sample.settle_at is None:
            return None
        split = self._split(trees, np.arange(len(self.engine.masses)))
        if split is None:
            return None
        drawn = self.drawn[tuple(sites)] = draw_until_settled(
            self.sample,
            lambda rows, others: self._changes(split, rows, others),
            self.sample.settle_at,
            MAX_PAIRS,
        )
        return drawn.influence

    def influences(self, sites: Sequence[Site]) -> list[float | None]:
        """Return the influence through each site alone."""
        return [self.influence([site]) for site in sites]

    def effects(self, sites: Sequence[Site]) -> RowEffects | None:
        """Return the influence row by row; None if pairs were drawn."""
        trees = self.trees(sites)
        counted = None if trees is None else self._count(trees)
        if counted is None:
            return None
        return RowEffects(counted.by_row / self.engine.total, counted.by_value / self.engine.total)

    def _count(self, trees: Array, by_value: bool = True) -> Counted | None:
        """Count all pairs; None if there are several leads or if rounding may decide too many.

        Without `by_value`, that part of the result is zero.
        """
        engine, decision = self.engine, self.engine.plan.decision
        masses = engine.masses
        reached = np.ones(len(masses), dtype=np.bool_)
        if not engine.plan.directed or len(decision.sums.outputs) != 2:
            return None
        if decision.sums.outputs[0] == decision.sums.outputs[1]:
            none = np.zeros(len(masses), dtype=np.int64)
            return Counted(none, none, reached)
        self.sample.tick(0)
        own = np.zeros(len(masses), dtype=np.int64)
        for tree in trees.tolist():
            own += self._scores[engine.ends[tree]]
        order = np.argsort(own)
        sides = _Sides.of(own[order], own - self._leads, decision.slack)
        unsure = sides.end > sides.start
        unsure_rows = np.flatnonzero(unsure | (np.abs(self._leads) <= decision.slack))
        if int((sides.end - sides.start).sum()) > MAX_UNSURE:
            return None
        low = self._leads <= 0  # these rows change with every sum from `end` on
        split = None
        if len(unsure_rows):
            split = self._split(trees, unsure_rows)
            if split is None:
                return None
            low[unsure_rows] = split.actual[unsure_rows] == 0
        upto = np.concatenate([[0], np.cumsum(masses[order])])
        by_row = np.where(low, upto[-1] - upto[sides.end], upto[sides.start])
        changing = np.zeros(len(masses), dtype=np.int64)
        if by_value:
            steps = _summed(sides.end[low], masses[low], len(masses) + 1)
            steps -= _summed(sides.start[~low], masses[~low], len(masses) + 1)
            steps[0] += masses[~low].sum()
            changing[order] = np.cumsum(steps)[:-1]
        if split is not None:
            from proxyuse.measure.forests import sum_loops  # loads numba

            split.actual[~unsure] = low[~unsure] == 0
            sum_loops.count_unsure(
                decision.sums, split.rest, split.part, split.actual, masses, order, *sides,
                by_row, changing,
            )  # fmt: skip
        return Counted(by_row, changing, reached)

    def reach(self, sites: Sequence[Site]) -> float | None:
        """Return 1 for a partial sum: no branch is above the trees."""
        return None if self.trees(sites) is None else 1.0

    def reaches(self, sites: Sequence[Site]) -> list[float | None]:
        """Return the share of rows that evaluate each site."""
        return [self.reach([site]) for site in sites]

    def occurrence_bound(self, sites: Sequence[Site]) -> float | None:
        """Decline."""
        return None

    def operands_bound(self, operator: int, operands: Sequence[int]) -> float | None:
        """Decline: the engine of the trees knows."""
        return None


class _Split(NamedTuple):
    """The program's own sums: of the other operands, and of the partial sum.

    Attributes
    ----------
    rest, part : by row and sum.
    actual : the class of each row with its own partial sum.
    """

    rest: Array
    part: Array
    actual: Array


class _Sides(NamedTuple):
    """For each row, the sorted sums below `start` choose class 0, and those from `end` on class 1.

    Between them, the program's own sums decide.
    """

    start: Array
    end: Array

    @classmethod
    def of(cls, ordered: Array, thresholds: Array, slack: int) -> _Sides:
        """A sum is on the upper side if it is above the threshold of the row."""
        if slack == 0:
            edge = _places(ordered, thresholds, "right")
            return cls(edge, edge)
        return cls(
            _places(ordered, thresholds - slack, "left"),
            _places(ordered, thresholds + slack, "right"),
        )


def _summed(places: Array, masses: Array, size: int) -> Array:
    """Add up integer masses by place."""
    sums = np.zeros(size, dtype=np.int64)
    np.add.at(sums, places, masses)
    return sums


def _places(ordered: Array, thresholds: Array, side: Literal["left", "right"]) -> Array:
    """Return how many of the sorted sums are below each threshold, or also equal to it.

    Sorted thresholds touch memory in order, which is several times faster.
    """
    order = np.argsort(thresholds)
    result = np.empty(len(thresholds), dtype=np.intp)
    result[order] = np.searchsorted(ordered, thresholds[order], side)
    return result
