"""Trials inside a tree, all at once.

What the program says if the tree says a constant is found once for each constant and all rows;
then what a leaf in place of any node would be worth is a sum over the rows that reach the node,
and what is left of a witness in the tree follows from the numbers of the constants alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property

import numpy as np

from proxyuse.lang.evaluate import Array, constant
from proxyuse.lang.nodes import Add, Const, Value
from proxyuse.lang.positions import Site
from proxyuse.measure.association.protocol import Association
from proxyuse.measure.contexts.path_evaluation import PathEvaluator
from proxyuse.measure.engine import Measurement
from proxyuse.measure.influence import differ
from proxyuse.repairing.region import Region
from proxyuse.repairing.utility import Utility, continuous

MOST_OUTCOMES = 1 << 25  # constants times rows
BEST = 2  # constants a node that are tried


class RegionTrials:
    """The trials in one region of a program."""

    def __init__(self, region: Region, measurement: Measurement, utility: Utility) -> None:
        self.region, self.utility = region, utility
        self.joint, self.sample = measurement.joint, measurement.sample
        self.points = region.points
        self._outcomes: list[Array] = []
        self._gains: list[Array] = []

    @property
    def small(self) -> bool:
        """Whether there is room for what each constant leads to in each row."""
        return len(self.region.constants) * self.region.rows <= MOST_OUTCOMES

    def node_of(self, site: Site) -> int | None:
        """The node that a site is, or whose guard it is; None for others."""
        if site.operands:
            return None
        if site.point in self.region.below:
            return site.point
        above = self.points.parents[site.point]
        guard = above in self.region.below and self.region.below[above][0] == site.point
        return above if guard else None

    @cached_property
    def _reached(self) -> Array:
        return np.flatnonzero(self.sample.reached(self.region.root))

    @cached_property
    def _outcome(self) -> Callable[[Value], Array]:
        """What the program says of the rows that reach the region if it says a value."""
        sample, root, rows = self.sample, self.region.root, self._reached
        ascent = sample.shared(PathEvaluator)
        above = self.points.parents[root]
        vocabulary = sample.vocabulary
        if above >= 0 and isinstance(self.points.terms[above], Add):
            own = sample.values(self.points.terms[root])
            rest = (sample.values(self.points.terms[above]) - own)[rows]
            site = Site(above)
            return lambda value: ascent.outcome(site, rows, rest + constant(value, vocabulary))

        def outcome(value: Value) -> Array:
            said = constant(value, vocabulary)
            return ascent.outcome(
                Site(root), rows, np.broadcast_to(said, (len(rows), *said.shape[1:]))
            )

        return outcome

    def _prepare(self) -> None:
        """Find what constants lead to that are new."""
        for number in range(len(self._outcomes), len(self.region.constants)):
            outcome = self._outcome(self.region.constants[number])
            self._outcomes.append(outcome)
            self._gains.append(self.utility.gains(outcome, self._reached))

    @cached_property
    def _now(self) -> Array:
        """What each row that reaches the region adds to the utility."""
        self._prepare()
        codes = self.region.said[self.region.root][self._reached]
        return np.stack(self._gains)[codes, np.arange(len(codes))]

    # What changes are worth

    def changes(self, site: Site) -> Iterator[tuple[dict[Site, Const], float]]:
        """Changes inside what stands at a site, or beside it if that is a guard; and their gains.

        A node is a candidate for a constant and its guard for true and false.
        """
        self._prepare()
        node = self.node_of(site)
        assert node is not None
        gains = np.stack(self._gains)
        now = self._now
        where: dict[int, Array] = {node: self._coming(node)}
        for point in self.region.inside(node):
            rows = where.pop(point)
            guard, then, otherwise = self.region.below[point]
            holds = self.region.truth(self.points.terms[guard])[self._reached[rows]]
            where[then], where[otherwise] = rows[holds], rows[~holds]
            before = now[rows].sum()
            if point != site.point or site.point == node:
                worth = gains[:, rows].sum(axis=1)
                for number in np.argsort(-worth, kind="stable")[:BEST].tolist():
                    value = Const(self.region.constants[number])
                    yield {Site(point): value}, float(worth[number] - before)
                yield from self._means(point, rows, float(before))
            for truth, branch in ((True, then), (False, otherwise)):
                codes = self.region.codes(branch)[self._reached[rows]]
                worth_there = gains[codes, rows].sum() - before
                yield {Site(guard): Const(truth)}, float(worth_there)

    def _coming(self, node: int) -> Array:
        there = self.region.coming(self.region.root, node)
        return np.flatnonzero(there[self._reached])

    def _means(
        self, point: int, rows: Array, before: float
    ) -> Iterator[tuple[dict[Site, Const], float]]:
        """The mean of what rows say that come to a node of numbers.

        In a program that is one tree of numbers, the mean of what would be right there.
        """
        constants = self.region.constants
        kinds = {type(value) for value in constants}
        if kinds not in ({float}, {tuple}) or len(rows) == 0:
            return
        if self.region.root == 0:
            weights = self.utility.weights[rows]
            broken = kinds == {float} and continuous(np.array(constants))
            if self.utility.squares and broken and weights.sum() > 0:
                best = float(np.average(self.utility.right[rows], weights=weights))
                gains = self.utility.gains(np.full(len(rows), best), rows)
                yield {Site(point): Const(best)}, float(gains.sum() - before)
            return
        numbers = np.array(constants, dtype=np.float64)
        codes = self.region.said[point][self._reached[rows]]
        weights = self.sample.weights[self._reached[rows]]
        mean = np.average(numbers[codes], axis=0, weights=weights)
        value: Value = tuple(mean.tolist()) if mean.ndim else float(mean)
        outcome = self._outcome(value)[rows]
        gains = self.utility.gains(outcome, self._reached[rows])
        yield {Site(point): Const(value)}, float(gains.sum() - before)

    # What they leave of a witness

    def left(
        self, site: Site, new: dict[Site, Const], association: Association, protected: int
    ) -> tuple[float, float] | None:
        """The association and the influence of what stands at a site after a change inside it.

        Of a guard, after a change beside it. None where that is not said by a change of one node.
        """
        if len(new) != 1:
            return None
        self._prepare()
        ((place, value),) = new.items()
        node, mine = self.node_of(place), self.node_of(site)
        if node is None or mine is None or not mine <= node < self.points.end(mine):
            return None
        if site.point != mine:
            return self._guard_left(site, mine, node, place, value, association, protected)
        codes = self._codes_after(mine, node, place, value)
        found = self.joint.association_of(self._values(codes), association)[protected]
        return float(found), self._influence(mine, codes)

    def _codes_after(self, start: int, node: int, place: Site, value: Const) -> Array:
        """What rows say that start at a node, after a change of a node inside it."""
        there = self.region.coming(start, node)
        if place.point == node:
            new: Array | int = self.region.number(value.value)
            self._prepare()
        else:
            branch = self.region.below[node][1 if value.value is True else 2]
            new = self.region.codes(branch)
        return np.where(there, new, self.region.codes(start))

    def _values(self, codes: Array) -> Array:
        if not all(type(value) is float for value in self.region.constants):
            return codes.astype(np.int32)
        return np.array(self.region.constants, dtype=np.float64)[codes]

    def _influence(self, node: int, codes: Array) -> float:
        """The influence of numbers of constants at a node."""
        weights = self.sample.weights
        masses = np.bincount(codes, weights, minlength=len(self._outcomes))
        rows = self._coming(node)
        at = self._reached[rows]
        outcomes = np.stack([outcome[rows] for outcome in self._outcomes])
        own = outcomes[codes[at], np.arange(len(rows))]
        changed = 0.0
        for number in np.flatnonzero(masses):
            moved = differ(own, outcomes[number])
            changed += masses[number] * float(np.dot(moved, weights[at]))
        return changed / (self.sample.total * self.sample.total)

    def _guard_left(
        self,
        site: Site,
        mine: int,
        node: int,
        place: Site,
        value: Const,
        association: Association,
        protected: int,
    ) -> tuple[float, float] | None:
        """Of the guard of a node, after a change in one of its branches."""
        holds = self.region.truth(self.points.terms[site.point])
        if node == mine:
            return None
        rows = self._coming(mine)
        at = self._reached[rows]
        outcomes = []
        for branch in self.region.below[mine][1:]:
            inside = branch <= node < self.points.end(branch)
            codes = (
                self._codes_after(branch, node, place, value)
                if inside
                else self.region.codes(branch)
            )
            outcomes.append(np.stack(self._outcomes)[codes[at], rows])
        moved = differ(*outcomes)
        weights = self.sample.weights
        true = float(np.dot(holds, weights))
        changed = np.dot(moved & holds[at], weights[at]) * (self.sample.total - true)
        changed += np.dot(moved & ~holds[at], weights[at]) * true
        found = self.joint.association_of(holds, association)[protected]
        return float(found), float(changed) / (self.sample.total * self.sample.total)
