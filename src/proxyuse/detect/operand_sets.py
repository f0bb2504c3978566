"""One set of operands of an operator: its values, its positions, its measures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from proxyuse.detect.occurrences import Arrangement
from proxyuse.detect.operators import Operator, PartialSum
from proxyuse.lang.evaluate import Array, truth_of
from proxyuse.lang.nodes import Add, And, Mul, Or, Term, children
from proxyuse.lang.positions import Site
from proxyuse.measure.association.protocol import Association
from proxyuse.measure.bounds.screen import SLACK, Screen
from proxyuse.measure.engine import Measurement

Operands = tuple[int, ...]
"""Operands of one operator, numbered in written order, in which the program combines them."""


class OperandSets:
    """Measures of sets of operands of one operator.

    Attributes
    ----------
    steps, parts : of each operand, its step in canonical order, and its term.
    count : how many operands there are.
    screen : None where no screen applies to the operands.
    seen : the sets that were asked for, with their measures unless a screen excludes them.
    exact : how many sets were measured exactly.
    work : how many values of operands were combined.
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
        self.screen = screen if screen is not None and self.numeric else None
        self.seen: dict[Operands, PartialSum | None] = {}
        self.exact = self.work = 0
        self._values: dict[int, Array] = {}
        self._singles = singles
        self._elsewhere = elsewhere
        earlier: dict[bytes, int] = {}
        self.twins = [-1] * self.count  # the operand before it that is equal
        for index, part in enumerate(self.parts):
            self.twins[index] = earlier.get(part.digest, -1)
            earlier[part.digest] = index

    @property
    def numeric(self) -> bool:
        """Whether the operands are one number or truth value per row."""
        return all(self.engine.values(part).ndim == 1 for part in self.parts)

    def values(self, index: int) -> Array:
        """The values of one operand on all rows: numbers, or truth values as numbers; kept."""
        if index not in self._values:
            values = self.engine.values(self.parts[index])
            if isinstance(self.operator.term, And | Or):
                values = truth_of(values)
            shape = (self.engine.n_rows, *values.shape[1:])
            self._values[index] = np.broadcast_to(np.asarray(values, dtype=np.float64), shape)
        return self._values[index]

    def combined(self, subset: Operands) -> Array:
        """The operator over some operands, combined as the program does it."""
        self.work += len(subset) * self.engine.n_rows
        combine = {Add: np.add, And: np.minimum, Or: np.maximum, Mul: np.multiply}
        operation = combine[type(self.operator.term)]
        total = np.array(self.values(subset[0]))
        with np.errstate(all="ignore"):
            for index in subset[1:]:
                operation(total, self.values(index), out=total)
        return total

    def first_of_equals(self, subset: Operands) -> bool:
        """Whether a set takes the first ones among equal operands; others are the same term."""
        return all(self.twins[index] < 0 or self.twins[index] in subset for index in subset)

    def single(self, index: int) -> tuple[Array, float]:
        """The associations and the influence of one operand at this operator.

        The influence of an operand whose associations are too small to matter may be 0 or NaN.
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

    def passes(self, found: PartialSum, attribute: int) -> bool:
        """Whether a set is a witness."""
        return bool(found.associations[attribute] >= self.epsilon and found.influence > self.delta)

    def witness(self, subset: Operands, attribute: int) -> PartialSum | None:
        """The measures of a set if it is a witness. Screens it first; measures each set once."""
        subset = tuple(sorted(subset))
        if subset not in self.seen:
            self.tick(0)
            excluded = self.screen is not None and self._screened_out(self.screen, subset)
            self.seen[subset] = None if excluded else self.measured(subset)
        found = self.seen[subset]
        return found if found is not None and self.passes(found, attribute) else None

    def _screened_out(self, screen: Screen, subset: Operands) -> bool:
        return bool(screen.bounds(self.combined(subset), self.epsilon).max() < self.epsilon - SLACK)

    def measured(self, subset: Operands, every: bool = False) -> PartialSum:
        """Measure a set; influences only where an association reaches epsilon, or for `every`."""
        self.tick(1)
        self.exact += 1
        engine, points = self.engine, self.operator.points
        steps = tuple(sorted(self.steps[index] for index in subset))
        term = engine.points.term_at(Site(points[0], steps))
        associations = engine.associations((term,), self.measure)[0]
        if not every and associations.max(initial=0.0) < self.epsilon:
            return PartialSum(steps, term, associations, (), ())
        own = [Site(point, steps) for point in points]
        more = [Site(point, equal) for point in points for equal in self._equal_sets(subset)]
        sites = list(dict.fromkeys([*own, *more, *self._elsewhere(term)]))
        sets: list[tuple[Site, ...]] = [(site,) for site in own]
        if len(sites) > 1:
            together = Arrangement.of(engine.points, sites).together
            sets += [together] if len(together) > 1 else []
        influences = tuple(engine.influence(sites) for sites in sets)
        return PartialSum(steps, term, associations, tuple(sets), influences)

    def _equal_sets(self, subset: Operands) -> Iterator[tuple[int, ...]]:
        """Disjoint sets of operands that equal a set, itself included, as steps."""
        wanted = Counter(self.parts[index].digest for index in subset)
        copies: dict[bytes, list[int]] = {digest: [] for digest in wanted}
        for step, part in zip(self.steps, self.parts, strict=True):
            if part.digest in copies:
                copies[part.digest].append(step)
        for turn in range(min(len(copies[digest]) // n for digest, n in wanted.items())):
            chosen = (copies[digest][turn * n : (turn + 1) * n] for digest, n in wanted.items())
            yield tuple(sorted(step for some in chosen for step in some))
