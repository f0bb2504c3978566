"""Sets of operands of one operator: their values, positions and measures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from proxyuse.detect.occurrences import Arrangement
from proxyuse.detect.operators import Operator, PartialSum, disjoint_copies
from proxyuse.lang.evaluate import Array, truth_of
from proxyuse.lang.nodes import Add, And, Mul, Or, Term, children
from proxyuse.lang.positions import Site
from proxyuse.measure.association.protocol import Association
from proxyuse.measure.bounds.screen import SLACK, Screen
from proxyuse.measure.engine import Measurement
from proxyuse.measure.forests.partial_sums import TreeSums

MAX_BYTES = 1 << 27
"""Memory for the values of trees."""

Operands = tuple[int, ...]
"""Operands of one operator, numbered in written order: the order in which they are combined."""


class OperandSets:
    """Measures of sets of operands of one operator.

    Attributes
    ----------
    steps, parts : the step of each operand in canonical order, and its term.
    count : the number of operands.
    screen : the screen; None if no screen applies to the operands.
    seen : the measures of the requested sets; None for those that a screen excludes.
    exact : the number of sets measured exactly.
    work : the number of operand values combined.
    """

    def __init__(
        self,
        engine: Measurement,
        operator: Operator,
        measure: Association,
        epsilon: float,
        delta: float,
        screen: Screen | None,
        singles: Mapping[int, tuple[Array, float]],
        elsewhere: Callable[[Term], Sequence[Site]],
        tick: Callable[[int], None],
    ) -> None:
        self.engine, self.operator, self.measure = engine, operator, measure
        self.epsilon, self.delta = epsilon, delta
        self.tick = tick
        order = operator.term._order
        self.steps = sorted(operator.steps, key=lambda step: order[step])
        parts = children(operator.term)
        self.parts = [parts[order[step]] for step in self.steps]
        self.count = len(self.steps)
        self.attributes = range(len(engine.protected))
        self._trees = _trees_of(engine, operator, self.steps)
        self.screen = screen if screen is not None and self.numeric else None
        self.seen: dict[Operands, PartialSum | None] = {}
        self.exact = self.work = 0
        self._values: dict[int, Array] = {}
        self._singles = singles
        self._elsewhere = elsewhere
        self.keys = self._keys()
        earlier: dict[bytes | int, int] = {}
        self.previous_equal = [-1] * self.count  # the last equal operand before each operand
        for index, key in enumerate(self.keys):
            self.previous_equal[index] = earlier.get(key, -1)
            earlier[key] = index

    def on(self, engine: Measurement) -> OperandSets:
        """The same operands on other rows, without screens."""
        return OperandSets(
            engine, self.operator, self.measure, self.epsilon, self.delta, None, {},
            self._elsewhere, self.tick,
        )  # fmt: skip

    def _keys(self) -> Sequence[bytes | int]:
        """A number or text for each operand; equal operands share it.

        The digest of a large tree is slow, and its group is known.
        """
        if self._trees is None:
            return [part.digest for part in self.parts]
        sums, trees = self._trees
        roots = sums.engine.plan.forest.starts[trees]
        if (roots < 0).any():
            return [part.digest for part in self.parts]
        groups: list[int] = sums.engine.equal_subtrees[roots].tolist()
        return groups

    @property
    def numeric(self) -> bool:
        """Whether the operands are one number or boolean per row."""
        if self._trees is not None:
            return self._trees[0].engine.plan.forest.leaves.ndim == 1
        return all(self.engine.values(part).ndim == 1 for part in self.parts)

    def values(self, index: int) -> Array:
        """The values of one operand on all rows as numbers, cached. False is 0, true is 1."""
        if index in self._values:
            return self._values[index]
        if self._trees is not None:
            sums, trees = self._trees
            values = sums.values(trees[index])
            if self.count * values.nbytes <= MAX_BYTES:
                self._values[index] = values
            return values
        values = self.engine.values(self.parts[index])
        if isinstance(self.operator.term, And | Or):
            values = truth_of(values)
        shape = (self.engine.n_rows, *values.shape[1:])
        self._values[index] = np.broadcast_to(np.asarray(values, dtype=np.float64), shape)
        return self._values[index]

    def combined(self, subset: Operands) -> Array:
        """The operator applied to some operands, in the order of the program."""
        self.work += len(subset) * self.engine.n_rows
        combine = {Add: np.add, And: np.minimum, Or: np.maximum, Mul: np.multiply}
        operation = combine[type(self.operator.term)]
        total = np.array(self.values(subset[0]))
        with np.errstate(all="ignore"):
            for index in subset[1:]:
                operation(total, self.values(index), out=total)
        return total

    def is_first_of_equals(self, subset: Operands) -> bool:
        """Whether a set has the first of equal operands. Other sets are the same term again."""
        previous = self.previous_equal
        return all(previous[index] < 0 or previous[index] in subset for index in subset)

    def single(self, index: int) -> tuple[Array, float]:
        """The associations and the influence of one operand at this operator.

        The influence may be 0 or NaN if the associations are below epsilon.
        """
        known = self._singles.get(self.steps[index])
        if known is not None:
            return known
        self.tick(0)
        associations = self.engine.associations((self.parts[index],), self.measure)[0]
        if associations.max(initial=0.0) < self.epsilon:
            return associations, 0.0
        below = [self.engine.points.below(p)[self.steps[index]] for p in self.operator.points]
        sets: list[tuple[Site, ...]] = [(Site(point),) for point in below]
        if len(below) > 1:
            sets.append(tuple(Site(point) for point in below))
        return associations, max(self.engine.influence(sites) for sites in sets)

    def alone(self, index: int, attribute: int) -> bool:
        """Whether a single operand is a witness; bounds on trees come first."""
        if self._trees is not None:
            sums, trees = self._trees
            engine = sums.engine
            root = int(engine.plan.forest.starts[trees[index]])
            if root >= 0 and float(engine.passing[1][root, 0]) <= self.delta * engine.total:
                return False
        associations, influence = self.single(index)
        return bool(associations[attribute] >= self.epsilon and influence > self.delta)

    def passes(self, subset: PartialSum, attribute: int) -> bool:
        """Whether a set is a witness."""
        associated = subset.associations[attribute] >= self.epsilon
        return bool(associated and subset.influence > self.delta)

    def witness(self, subset: Operands, attribute: int) -> PartialSum | None:
        """The measures of a set if it is a witness. Screens first, and measures each set once."""
        subset = tuple(sorted(subset))
        if subset not in self.seen:
            self.tick(0)
            excluded = self.screen is not None and self._screened_out(self.screen, subset)
            self.seen[subset] = None if excluded else self.measured(subset)
        measures = self.seen[subset]
        return measures if measures is not None and self.passes(measures, attribute) else None

    def _screened_out(self, screen: Screen, subset: Operands) -> bool:
        return bool(screen.bounds(self.combined(subset), self.epsilon).max() < self.epsilon - SLACK)

    def measured(self, subset: Operands, every: bool = False) -> PartialSum:
        """Measure a set. Skips the influence if no association reaches epsilon, unless `every`."""
        self.tick(1)
        self.exact += 1
        engine, points = self.engine, self.operator.points
        steps = tuple(sorted(self.steps[index] for index in subset))
        term = engine.points.term_at(Site(points[0], steps))
        if isinstance(self.operator.term, Add):
            associations = engine.joint.association_of(self.combined(subset), self.measure)
        else:
            associations = engine.associations((term,), self.measure)[0]
        if not every and associations.max(initial=0.0) < self.epsilon:
            return PartialSum(steps, term, associations, (), ())
        own = [Site(point, steps) for point in points]
        wanted = Counter(self.keys[index] for index in subset)
        copies = disjoint_copies(wanted, zip(self.steps, self.keys, strict=True))
        more = [Site(point, copy) for point in points for copy in copies]
        sites = list(dict.fromkeys([*own, *more, *self._elsewhere(term)]))
        sets: list[tuple[Site, ...]] = [(site,) for site in own]
        if len(sites) > 1:
            together = Arrangement.of(engine.points, sites).together
            sets += [together] if len(together) > 1 else []
        influences = tuple(self._influence(sites) for sites in sets)
        return PartialSum(steps, term, associations, tuple(sets), influences)

    def _influence(self, sites: tuple[Site, ...]) -> float:
        """An influence; of an estimate that is too close to delta, the lower end."""
        influence = self.engine.influence(sites)
        drawn = self.engine.drawn.get(sites)
        if drawn is None or drawn.settled:
            return influence
        return max(0.0, influence - drawn.error)


def _trees_of(
    engine: Measurement, operator: Operator, steps: Sequence[int]
) -> tuple[TreeSums, Array] | None:
    """The engine of sums of trees, and the tree of each operand, if all operands are trees."""
    sums = next((e for e in engine.engines if isinstance(e, TreeSums)), None)
    if sums is None or len(operator.points) > 1:
        return None
    trees = sums.trees([Site(operator.points[0], tuple(steps))])
    return None if trees is None else (sums, trees)
