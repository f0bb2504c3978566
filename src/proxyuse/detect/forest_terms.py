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
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from proxyuse.detect.bounded import Bounded
from proxyuse.detect.decompositions import Measures
from proxyuse.detect.inside_tests import InnerTerm, terms_inside_tests
from proxyuse.lang.evaluate import Array
from proxyuse.lang.nodes import Compare, Member, Term, Var
from proxyuse.lang.positions import SiteColumn
from proxyuse.measure.association.protocol import Association
from proxyuse.measure.engine import Measurement
from proxyuse.measure.forests.engine import ForestEngine, Target
from proxyuse.measure.forests.pair_sampling import drawn_influence
from proxyuse.measure.forests.split_associations import split_associations
from proxyuse.measure.forests.subtrees import equal_subtrees
from proxyuse.measure.pair_sampling import DrawnInfluence

EXACT_WORK = 1 << 29
"""Rows times nodes up to which the influence of a variable is counted, not drawn."""


@dataclass(slots=True, eq=False)
class Row:
    """One measured computation: where it was measured, and what was found there."""

    term: Term
    associations: Array
    sites: list[SiteColumn] = field(default_factory=list)
    influences: list[float] = field(default_factory=list)
    reaches: list[float] = field(default_factory=list)
    errors: list[float] = field(default_factory=list)

    def add(self, sites: SiteColumn, influence: float, reach: float, error: float = 0) -> None:
        """Note the influence through some positions."""
        self.sites.append(sites)
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

    def columns(self) -> Measures:
        """The measured computations in columns."""
        rows = [row for row in self.rows if row.sites]
        counts = [len(row.sites) for row in rows]
        return Measures(
            tuple(row.term for row in rows),
            np.array([row.associations for row in rows]),
            np.repeat(np.arange(len(rows)), counts),
            [sites for row in rows for sites in row.sites],
            np.array([value for row in rows for value in row.influences]),
            np.array([value for row in rows for value in row.reaches]),
            np.array([value for row in rows for value in row.errors]),
        )


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
        self.limit = delta * engine.total * (1 - 1e-12)  # rounding must not exclude a witness
        self.min_margin = engine.min_margin(self.limit)
        self.passed, near = engine.passing
        self.near_subtree, self.near_test = near.T
        self.rows: dict[tuple[str, int], Row] = {}
        self.single_tests: dict[int, tuple[float, float]] = {}  # influence and reach by node
        self.drawn: list[tuple[Term, DrawnInfluence]] = []
        self.open: list[tuple[Term, int, float]] = []
        sample = measurement.sample
        self.by_test = split_associations(
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

    def _sites(self, kind: str, nodes: Array) -> SiteColumn:
        past = {"subtree": 0, "test": 1, "variable": 2}[kind]
        return SiteColumn(np.sort(self.plan.points_of(nodes)) + past)

    def _influence(self, target: Target) -> tuple[float, float]:
        """Influence and reach of a computation at some nodes.

        At one node, a variable acts as its test does, and is not counted again.
        """
        self.tick(0)
        self.measurement.methods[self.engine.method] += 1
        single = int(target.nodes[0]) if len(target.nodes) == 1 else -1
        if single < 0 or target.kind == "subtree":
            return self._counted(target)
        if single not in self.single_tests:
            self.single_tests[single] = self._counted(target)
        return self.single_tests[single]

    def _counted(self, target: Target) -> tuple[float, float]:
        counted = self.engine.count(target)
        return self.engine.share_of(counted), self.engine.share(counted.reached)

    # Tests, and variables through one test

    def _tests(self) -> None:
        forest = self.plan.forest
        nodes = np.flatnonzero((self.near_test > self.limit) & self.suspicious[forest.test])
        for node in nodes.tolist():
            influence, reach = self._influence(Target("test", np.array([node])))
            test = int(forest.test[node])
            row = self._row("test", test, forest.tests.term(test), self.by_test[test])
            row.add(self._sites("test", np.array([node])), influence, reach)
        several = self._repeated_tests()
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
            row.add(self._sites("test", at), influence, share)
            self._leave_sets(row, len(at), int(near[index]) / self.engine.total)

    def _repeated_tests(self) -> Array:
        """The tests at several nodes that are associated and not settled by the simplest bounds.

        Spread over several nodes, a test may matter although it does at none of them: a row
        counts at each, and in each tree leads move by as much as they can below one node.
        """
        forest = self.plan.forest
        counts = np.bincount(forest.test, minlength=len(forest.tests))
        met = np.bincount(forest.test, self.passed, minlength=len(forest.tests))
        several = (counts > 1) & self.suspicious & (met > self.limit)
        nodes = np.flatnonzero(several[forest.test])
        trees = len(forest.starts)
        keys = forest.test[nodes].astype(np.int64) * trees + self.plan.tree_of[nodes]
        order = np.argsort(keys, kind="stable")
        first = np.flatnonzero(np.diff(keys[order], prepend=-1))
        moves = np.zeros(len(forest.tests))
        if len(first):
            largest = np.maximum.reduceat(self.plan.extremes.span[nodes[order]], first)
            np.add.at(moves, keys[order[first]] // trees, largest.astype(np.float64))
        return np.flatnonzero(several & (moves >= self.min_margin))

    # Inside tests

    def _inside_tests(self) -> None:
        inner = [item for item in self.inner if self.variables or not isinstance(item.term, Var)]
        if not inner:
            return
        terms = [item.term for item in inner]
        associations = self.measurement.associations(terms, self.association)
        reaches = self.engine.reaches_of([item.nodes for item in inner]).tolist()
        for number, item in enumerate(inner):
            row = Row(item.term, associations[number])
            if associations[number].max() >= self.epsilon:
                near = self.engine.bound_of(np.unique(item.nodes))
                if near > self.delta and item.plain:
                    self._variable(row, item.nodes, near, reaches[number])
                elif near > self.delta:
                    self._inner_term(row, item, near)
            if not row.sites:  # what is inside tests is listed, measured or not
                row.add(SiteColumn(item.points), math.nan, reaches[number])
            self.rows["inner", number] = row

    def _variable(self, row: Row, nodes: Array, bound: float, reach: float) -> None:
        """Measure a variable that no bound excludes."""
        for node in nodes[self.near_test[nodes] > self.limit].tolist():
            alone = np.array([node])
            row.add(self._sites("variable", alone), *self._influence(Target("variable", alone)))
        if len(nodes) == 1:
            return
        sites = self._sites("variable", nodes)
        drawn = None
        if not self.exact and len(nodes) * self.measurement.n_rows > EXACT_WORK:
            drawn = drawn_influence(self.engine, nodes, self.delta)
        if drawn is None:
            row.add(sites, *self._influence(Target("variable", nodes)))
        else:
            self.drawn.append((row.term, drawn))
            row.add(sites, drawn.influence, reach, drawn.error)
        self._leave_sets(row, len(nodes), bound)

    def _inner_term(self, row: Row, item: InnerTerm, bound: float) -> None:
        """Measure a part of an expression that tests look at; it acts through these tests."""
        measurement = self.measurement
        for point in item.points[self.near_test[item.nodes] > self.limit].tolist():
            self.tick(0)
            alone = SiteColumn(np.array([point]))
            row.add(alone, measurement.influence(alone), measurement.reach(alone))
        if len(item.points) > 1:
            self.tick(0)
            together = SiteColumn(item.points)
            row.add(together, measurement.influence(together), measurement.reach(together))
            self._leave_sets(row, len(item.points), bound)

    def _leave_sets(self, row: Row, positions: int, bound: float) -> None:
        """Note that sets between one and all positions may be witnesses, if they may."""
        if positions > 2 and max(row.influences) <= self.delta < bound:
            self.open.append((row.term, positions, bound))

    # Subtrees

    def _subtrees(self) -> None:
        groups = self.engine.equal_subtrees
        # Where a subtree stands once, its own bound settles it; where it stands more often, it may
        # matter although it does at none of its places.
        counts = np.bincount(groups)
        most = np.where(
            counts == 1, np.bincount(groups, self.near_subtree), np.bincount(groups, self.passed)
        )
        moves = np.bincount(groups, self.plan.extremes.span)
        chosen = (most > self.limit) & ((counts == 1) | (moves >= self.min_margin))
        nodes = np.flatnonzero(chosen[groups])
        nodes = nodes[np.argsort(groups[nodes], kind="stable")]
        starts = np.flatnonzero(np.diff(groups[nodes], prepend=-1))
        same: list[Array] = []
        for part in np.split(nodes, starts)[1:]:
            if len(part) == 1:
                same.append(part)
            elif self.engine.bound_of(part) > self.delta:
                same += equal_subtrees(self.plan, part)
        first = np.array([nodes[0] for nodes in same], dtype=np.int64)
        associations = self.engine.subtree_associations(first, self.association, self.epsilon)
        for nodes in sorted(same, key=lambda nodes: int(nodes[0])):
            found = associations[int(nodes[0])]
            if found.max() >= self.epsilon:
                self._subtree(nodes, found)

    def _subtree(self, nodes: Array, associations: Array) -> None:
        term = self.plan.forest.term(int(nodes[0]))
        row = Row(term, associations)
        for node in nodes[self.near_subtree[nodes] > self.limit].tolist():
            influence, reach = self._influence(Target("subtree", np.array([node])))
            row.add(self._sites("subtree", np.array([node])), influence, reach)
        if len(nodes) > 1:
            influence, reach = self._influence(Target("subtree", nodes))
            row.add(self._sites("subtree", nodes), influence, reach)
            self._leave_sets(row, len(nodes), self.engine.bound_of(nodes))
        self.rows["subtree", int(nodes[0])] = row
