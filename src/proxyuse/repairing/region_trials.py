"""All trials inside a tree at once.

For each constant, the output of the program is computed once per row, as if the tree returned this
constant. The value of a leaf in place of any node is then a sum over the rows that reach the node.
The remaining association and influence of a witness follow from the codes of the constants.
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
from proxyuse.repairing.region import Region
from proxyuse.repairing.utility import Utility, continuous

MOST_OUTCOMES = 1 << 25  # constants times rows
BEST = 2  # constants tried per node


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
        """Whether the outcome of each constant in each row fits the memory limit."""
        return len(self.region.constants) * self.region.rows <= MOST_OUTCOMES

    def node_of(self, site: Site) -> int | None:
        """The node at a site, or the node whose guard is at the site; None for other sites."""
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
        """Returns the output of the rows that reach the region, if the region has a given value."""
        sample, root, rows = self.sample, self.region.root, self._reached
        evaluator = sample.shared(PathEvaluator)
        above = self.points.parents[root]
        vocabulary = sample.vocabulary
        if above >= 0 and isinstance(self.points.terms[above], Add):
            own = sample.values(self.points.terms[root])
            rest = (sample.values(self.points.terms[above]) - own)[rows]
            site = Site(above)
            return lambda value: evaluator.outcome(site, rows, rest + constant(value, vocabulary))

        def outcome(value: Value) -> Array:
            values = constant(value, vocabulary)
            repeated = np.broadcast_to(values, (len(rows), *values.shape[1:]))
            return evaluator.outcome(Site(root), rows, repeated)

        return outcome

    def _prepare(self) -> None:
        """Compute the outcomes of constants that are new."""
        for code in range(len(self._outcomes), len(self.region.constants)):
            outcome = self._outcome(self.region.constants[code])
            self._outcomes.append(outcome)
            self._gains.append(self.utility.gains(outcome, self._reached))

    @cached_property
    def _current_gains(self) -> Array:
        """The contribution to the utility of each row that reaches the region."""
        self._prepare()
        codes = self.region.node_codes[self.region.root][self._reached]
        return np.stack(self._gains)[codes, np.arange(len(codes))]

    # The gain of a change

    def changes(self, site: Site) -> Iterator[tuple[dict[Site, Const], float]]:
        """Changes inside the term at a site, or inside the branches if it is a guard.

        Tries constants at each node, and true and false at its guard. Yields each change with its
        gain.
        """
        self._prepare()
        node = self.node_of(site)
        assert node is not None
        gains = np.stack(self._gains)
        current = self._current_gains
        rows_at: dict[int, Array] = {node: self._reaching(node)}
        for point in self.region.inside(node):
            rows = rows_at.pop(point)
            guard, then, otherwise = self.region.below[point]
            holds = self.region.truth(self.points.terms[guard])[self._reached[rows]]
            rows_at[then], rows_at[otherwise] = rows[holds], rows[~holds]
            before = current[rows].sum()
            if point != site.point or site.point == node:
                after = gains[:, rows].sum(axis=1)
                for code in np.argsort(-after, kind="stable")[:BEST].tolist():
                    value = Const(self.region.constants[code])
                    yield {Site(point): value}, float(after[code] - before)
                yield from self._means(point, rows, float(before))
            for truth, branch in ((True, then), (False, otherwise)):
                codes = self.region.codes(branch)[self._reached[rows]]
                gain = gains[codes, rows].sum() - before
                yield {Site(guard): Const(truth)}, float(gain)

    def _reaching(self, node: int) -> Array:
        """The rows that reach a node, as indices into the rows that reach the region."""
        reach = self.region.reaching(self.region.root, node)
        return np.flatnonzero(reach[self._reached])

    def _means(
        self, point: int, rows: Array, before: float
    ) -> Iterator[tuple[dict[Site, Const], float]]:
        """The mean value of the rows at a numeric node, as a change of this node.

        In a program that is one numeric tree, the mean of the correct answers there.
        """
        constants = self.region.constants
        kinds = {type(value) for value in constants}
        if kinds not in ({float}, {tuple}) or len(rows) == 0:
            return
        if self.region.root == 0:
            weights = self.utility.weights[rows]
            quantity = kinds == {float} and continuous(np.array(constants))
            if self.utility.squares and quantity and weights.sum() > 0:
                best = float(np.average(self.utility.right[rows], weights=weights))
                gains = self.utility.gains(np.full(len(rows), best), rows)
                yield {Site(point): Const(best)}, float(gains.sum() - before)
            return
        numbers = np.array(constants, dtype=np.float64)
        codes = self.region.node_codes[point][self._reached[rows]]
        weights = self.sample.weights[self._reached[rows]]
        mean = np.average(numbers[codes], axis=0, weights=weights)
        value: Value = tuple(mean.tolist()) if mean.ndim else float(mean)
        outcome = self._outcome(value)[rows]
        gains = self.utility.gains(outcome, self._reached[rows])
        yield {Site(point): Const(value)}, float(gains.sum() - before)

    # The rest of a witness after a change

    def remaining(
        self, site: Site, new: dict[Site, Const], association: Association, protected: int
    ) -> tuple[float, float] | None:
        """The association and influence of the term at a site after a change inside it.

        For a guard, after a change in its branches. None unless the change is at one node inside.
        """
        if len(new) != 1:
            return None
        self._prepare()
        ((changed, value),) = new.items()
        node, own = self.node_of(changed), self.node_of(site)
        if node is None or own is None or not own <= node < self.points.end(own):
            return None
        if site.point != own:
            return self._guard_remaining(site, own, node, changed, value, association, protected)
        codes = self._codes_after(own, node, changed, value)
        associations = self.joint.association_of(self._values(codes), association)
        return float(associations[protected]), self._influence(own, codes)

    def _codes_after(self, start: int, node: int, changed: Site, value: Const) -> Array:
        """The codes of all rows started at a node, after a change at a node inside it."""
        reach = self.region.reaching(start, node)
        if changed.point == node:
            new: Array | int = self.region.code(value.value)
            self._prepare()
        else:
            branch = self.region.below[node][1 if value.value is True else 2]
            new = self.region.codes(branch)
        return np.where(reach, new, self.region.codes(start))

    def _values(self, codes: Array) -> Array:
        vocabulary = self.sample.vocabulary
        values = [constant(value, vocabulary) for value in self.region.constants]
        return np.concatenate(values)[codes]

    def _influence(self, node: int, codes: Array) -> float:
        """The influence of the codes of all rows at a node."""
        weights = self.sample.weights
        masses = np.bincount(codes, weights, minlength=len(self._outcomes))
        rows = self._reaching(node)
        at = self._reached[rows]
        outcomes = np.stack([outcome[rows] for outcome in self._outcomes])
        own = outcomes[codes[at], np.arange(len(rows))]
        changed = 0.0
        for code in np.flatnonzero(masses):
            losses = self.sample.loss.loss(own, outcomes[code])
            changed += masses[code] * float(np.dot(losses, weights[at]))
        return changed / (self.sample.total * self.sample.total) / self.sample.scale

    def _guard_remaining(
        self,
        site: Site,
        own: int,
        node: int,
        changed: Site,
        value: Const,
        association: Association,
        protected: int,
    ) -> tuple[float, float] | None:
        """The measures of the guard of a node after a change in one of its branches."""
        holds = self.region.truth(self.points.terms[site.point])
        if node == own:
            return None
        rows = self._reaching(own)
        at = self._reached[rows]
        outcomes = []
        for branch in self.region.below[own][1:]:
            inside = branch <= node < self.points.end(branch)
            codes = (
                self._codes_after(branch, node, changed, value)
                if inside
                else self.region.codes(branch)
            )
            outcomes.append(np.stack(self._outcomes)[codes[at], rows])
        own_branch, other = (np.where(holds[at], *pair) for pair in (outcomes, outcomes[::-1]))
        weights = self.sample.weights
        losses = self.sample.loss.loss(own_branch, other) * weights[at]
        true = float(np.dot(holds, weights))
        pairs = float(losses[holds[at]].sum()) * (self.sample.total - true)
        pairs += float(losses[~holds[at]].sum()) * true
        associations = self.joint.association_of(holds, association)
        influence = pairs / (self.sample.total * self.sample.total) / self.sample.scale
        return float(associations[protected]), influence
