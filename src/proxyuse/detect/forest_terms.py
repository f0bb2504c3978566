"""Terms of a forest: bound all of them, measure those that can be a witness.

A fully grown forest has millions of decompositions, and next to none of them can be a witness. The
cheapest reasons come first:

1. *Reach and margin.* A position changes no more rows than pass it, and of those only rows whose
   leads it can move far enough (one pass over the rows, for all positions).
2. *Association.* Tests and variables below epsilon are no witnesses, wherever they stand.
3. *Margins of several positions.* A test at many nodes changes no more rows than those it meets in
   enough trees (one more pass, for all tests that are left).
4. *Association of subtrees*, for the few that are left.
5. *Influence*, for what is left.

Everything that is a witness is measured; everything else keeps the bound that settled it
(`Bounded`). Equal subtrees are grouped by a 64-bit hash. Two different subtrees with one hash would
be bounded together, which is no error, and are told apart before they are measured.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from proxyuse.detect.bounded import Bounded
from proxyuse.detect.inside_tests import InnerTerm, terms_inside_tests
from proxyuse.lang.evaluate import Array
from proxyuse.lang.nodes import Compare, Member, Term, Var
from proxyuse.lang.positions import SpotColumn
from proxyuse.measure.association import Association
from proxyuse.measure.engine import Measurement
from proxyuse.measure.forests.drawing import DrawnInfluence, drawn_influence
from proxyuse.measure.forests.engine import ForestEngine, Target
from proxyuse.measure.forests.tests_tables import test_associations

EXACT_WORK = 1 << 27
"""Rows times nodes up to which the influence of a variable is counted, not drawn."""


@dataclass(slots=True, eq=False)
class Row:
    """One measured computation: where it was measured, and what was found there."""

    term: Term
    associations: Array
    spots: list[SpotColumn] = field(default_factory=list)
    influences: list[float] = field(default_factory=list)
    reaches: list[float] = field(default_factory=list)
    errors: list[float] = field(default_factory=list)

    def add(self, spots: SpotColumn, influence: float, reach: float, error: float = 0) -> None:
        """Note the influence through some positions."""
        self.spots.append(spots)
        self.influences.append(influence)
        self.reaches.append(reach)
        self.errors.append(error)


@dataclass(slots=True, eq=False)
class ForestTerms:
    """What was measured of the terms of a forest.

    Attributes
    ----------
    rows : the measured computations.
    bounded : all others, with the bounds that settle them.
    drawn : influences that were drawn instead of counted, with their term.
    open : occurrence sets between one and all positions that no bound excludes, by term.
    """

    rows: list[Row]
    bounded: Bounded
    drawn: list[tuple[Term, DrawnInfluence]] = field(default_factory=list)
    open: list[tuple[Term, int, float]] = field(default_factory=list)


def measure_forest(
    measurement: Measurement,
    engine: ForestEngine,
    association: Association,
    *,
    epsilon: float,
    delta: float,
    variables: bool = True,
    exact: bool = False,
    tick: Callable[[int], None] = lambda steps: None,
) -> ForestTerms:
    """Measure every term of a forest that can be a witness, at each position and at all of them.

    Costs two or three passes of all rows through all trees, and for each computation that is left
    a pass of the rows it can change through the trees it stands in.
    """
    return _Forest(
        measurement, engine, association, epsilon, delta, variables, exact, tick
    ).measured()


class _Forest:
    def __init__(
        self,
        measurement: Measurement,
        engine: ForestEngine,
        association: Association,
        epsilon: float,
        delta: float,
        variables: bool,
        exact: bool,
        tick: Callable[[int], None],
    ) -> None:
        self.measurement, self.engine, self.plan = measurement, engine, engine.plan
        self.association, self.epsilon, self.delta = association, epsilon, delta
        self.variables, self.exact, self.tick = variables, exact, tick
        self.limit = delta * engine.total
        self.passed, near = engine.passing
        self.near_subtree, self.near_test = near.T
        self.rows: dict[tuple[str, int], Row] = {}
        self.drawn: list[tuple[Term, DrawnInfluence]] = []
        self.open: list[tuple[Term, int, float]] = []
        sample = measurement.sample
        self.by_test = test_associations(
            self.plan, engine.codes, sample.weights, sample.attributes, association
        )
        self._tests_that_can_be_missing()
        self.suspicious = self.by_test.max(axis=1) >= epsilon
        self.inner = terms_inside_tests(self.plan)
        for item in self.inner:
            if item.test >= 0:  # measured with its other positions
                self.suspicious[item.test] = False

    def _tests_that_can_be_missing(self) -> None:
        """Take the associations of tests that have a third value from their values.

        A comparison holds or not. A variable or a combination of tests may also be missing, which
        acts as false and yet is another value.
        """
        tests = self.plan.forest.tests
        others = [n for n, s in enumerate(tests.shapes) if not isinstance(s, Compare | Member)]
        numbers = np.flatnonzero(np.isin(tests.shape, others))
        if len(numbers):
            terms = [tests.term(number) for number in numbers.tolist()]
            self.by_test[numbers] = self.measurement.associations(terms, self.association)

    def measured(self) -> ForestTerms:
        self._tests()
        self._inside_tests()
        self._subtrees()
        bounded = Bounded(
            self.measurement.program,
            self.plan,
            self.passed / self.engine.total,
            self.near_subtree / self.engine.total,
            self.near_test / self.engine.total,
            self.by_test,
        )
        return ForestTerms(list(self.rows.values()), bounded, self.drawn, self.open)

    def _row(self, kind: str, number: int, term: Term, associations: Array) -> Row:
        return self.rows.setdefault((kind, number), Row(term, associations))

    def _spots(self, kind: str, nodes: Array) -> SpotColumn:
        past = {"subtree": 0, "test": 1, "variable": 2}[kind]
        return SpotColumn(np.sort(self.plan.points_of(nodes)) + past)

    def _influence(self, target: Target) -> tuple[float, float]:
        """Influence and reach of a computation at some nodes."""
        self.tick(0)
        counted = self.engine.count(target)
        self.measurement.methods[self.engine.method] += 1
        return self.engine.share_of(counted), self.engine.share(counted.reached)

    # Tests, and variables through one test

    def _tests(self) -> None:
        forest = self.plan.forest
        nodes = np.flatnonzero((self.near_test > self.limit) & self.suspicious[forest.test])
        for node in nodes.tolist():
            influence, reach = self._influence(Target("test", np.array([node])))
            test = int(forest.test[node])
            row = self._row("test", test, forest.tests.term(test), self.by_test[test])
            row.add(self._spots("test", np.array([node])), influence, reach)
        counts = np.bincount(forest.test, minlength=len(forest.tests))
        # Spread over several nodes, a test may matter although it does at none of them: a row
        # counts at each, and leads move by the sum.
        met = np.bincount(forest.test, self.passed, minlength=len(forest.tests))
        several = np.flatnonzero((counts > 1) & self.suspicious & (met > self.limit))
        if len(several) == 0:
            return
        number = np.full(len(forest.tests), -1, dtype=np.int64)
        number[several] = np.arange(len(several))
        near, _ = self.engine.together(number[forest.test], len(several))
        for index in np.flatnonzero(near > self.limit).tolist():
            test = int(several[index])
            at = self.plan.nodes_of_test(test)
            influence, share = self._influence(Target("test", at))
            row = self._row("test", test, forest.tests.term(test), self.by_test[test])
            row.add(self._spots("test", at), influence, share)
            self._leave_sets(row, len(at), int(near[index]) / self.engine.total)

    # Inside tests

    def _inside_tests(self) -> None:
        inner = [item for item in self.inner if self.variables or not isinstance(item.term, Var)]
        if not inner:
            return
        terms = [item.term for item in inner]
        associations = self.measurement.associations(terms, self.association)
        for number, item in enumerate(inner):
            row = Row(item.term, associations[number])
            suspicious = bool(associations[number].max() >= self.epsilon)
            if item.plain:
                self._variable(row, item.nodes, suspicious)
            elif suspicious:
                self._inner_term(row, item)
            if not row.spots:  # what is inside tests is listed, measured or not
                reach = self.engine.reach_of(np.unique(item.nodes))
                row.add(SpotColumn(item.points), math.nan, reach)
            self.rows["inner", number] = row

    def _variable(self, row: Row, nodes: Array, suspicious: bool) -> None:
        if not suspicious:
            return
        for node in nodes[self.near_test[nodes] > self.limit].tolist():
            alone = np.array([node])
            row.add(self._spots("variable", alone), *self._influence(Target("variable", alone)))
        if len(nodes) == 1:
            return
        spots = self._spots("variable", nodes)
        bound = self.engine.bound(Target("variable", nodes))
        if bound <= self.delta:
            row.add(spots, math.nan, self.engine.reach_of(nodes))
            return
        if not self.exact and len(nodes) * self.measurement.n_rows > EXACT_WORK:
            drawn = drawn_influence(self.engine, nodes, self.delta, self.tick)
            if drawn is not None:
                self.drawn.append((row.term, drawn))
                row.add(spots, drawn.influence, self.engine.reach_of(nodes), drawn.error)
                self._leave_sets(row, len(nodes), bound)
                return
        row.add(spots, *self._influence(Target("variable", nodes)))
        self._leave_sets(row, len(nodes), bound)

    def _inner_term(self, row: Row, item: InnerTerm) -> None:
        """Measure a part of an expression that tests look at; it acts through these tests."""
        measurement = self.measurement
        for point in item.points[self.near_test[item.nodes] > self.limit].tolist():
            self.tick(0)
            alone = SpotColumn(np.array([point]))
            row.add(alone, measurement.influence(alone), measurement.reach(alone))
        bound = self.engine.share(self.engine.movable(np.unique(item.nodes)))
        if len(item.points) > 1 and bound > self.delta:
            self.tick(0)
            together = SpotColumn(item.points)
            row.add(together, measurement.influence(together), measurement.reach(together))
            self._leave_sets(row, len(item.points), bound)

    def _leave_sets(self, row: Row, positions: int, bound: float) -> None:
        """Note that sets between one and all positions may be witnesses, if they may."""
        if positions > 2 and max(row.influences) <= self.delta < bound:
            self.open.append((row.term, positions, bound))

    # Subtrees

    def _subtrees(self) -> None:
        groups = self.engine.equal_subtrees
        counts = np.bincount(groups)
        near = np.bincount(groups, self.near_subtree)
        # As with tests, equal subtrees may matter together although none does by itself.
        met = np.bincount(groups, self.passed)
        several = np.flatnonzero((counts > 1) & (met > self.limit))
        if len(several):
            number = np.full(len(counts), -1, dtype=np.int64)
            number[several] = np.arange(len(several))
            together, _ = self.engine.together(number[groups], len(several))
            near[several] = np.maximum(near[several], together)
        chosen = np.flatnonzero(near > self.limit)
        order = np.argsort(groups, kind="stable")
        starts = np.searchsorted(groups[order], chosen)
        ends = np.searchsorted(groups[order], chosen, side="right")
        for group, start, end in zip(chosen.tolist(), starts, ends, strict=True):
            nodes = order[start:end]
            parts = [nodes] if counts[group] == 1 else self._told_apart(nodes)
            for same in parts:
                self._subtree(np.sort(same))

    def _told_apart(self, nodes: Array) -> list[Array]:
        """Nodes with one hash, by the subtree that stands there."""
        by_digest: dict[bytes, list[int]] = defaultdict(list)
        for node in nodes.tolist():
            by_digest[self.plan.forest.digest(node)].append(node)
        return [np.array(same) for same in by_digest.values()]

    def _subtree(self, nodes: Array) -> None:
        self.tick(0)
        associations = self.engine.subtree_associations(int(nodes[0]), self.association)
        if associations.max() < self.epsilon:
            return
        row = Row(self.plan.forest.term(int(nodes[0])), associations)
        for node in nodes[self.near_subtree[nodes] > self.limit].tolist():
            alone = np.array([node])
            row.add(self._spots("subtree", alone), *self._influence(Target("subtree", alone)))
        if len(nodes) > 1:
            bound = self.engine.bound(Target("subtree", nodes))
            if bound > self.delta:
                influence, reach = self._influence(Target("subtree", nodes))
                row.add(self._spots("subtree", nodes), influence, reach)
                self._leave_sets(row, len(nodes), bound)
        if row.spots:
            self.rows["subtree", int(nodes[0])] = row
