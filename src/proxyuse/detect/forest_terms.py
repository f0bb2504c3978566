"""Terms of a forest: bounds all of them, and measures those that can be witnesses.

A fully grown forest has millions of decompositions, and hardly any of them can be a witness. The
cheapest checks come first:

1. *Reach and margin.* A position can change only rows that pass it, and only if it can overcome
   their margin (one pass over the rows, for all positions).
2. *Association.* Tests and variables below epsilon are not witnesses at any position.
3. *Margins of several positions.* A test at many nodes can change only rows that meet it in enough
   trees (one more pass, for all remaining tests).
4. *Association of subtrees*, for the few that remain.
5. *Influence*, for the rest.

Every witness is measured; everything else keeps the bound that settled it (`Bounded`). Equal
subtrees are grouped by a 64-bit hash. Different subtrees with the same hash are bounded together,
which is still correct, and are separated before they are measured.
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
"""Rows times nodes up to which the influence of a variable is exact rather than sampled."""


@dataclass(slots=True, eq=False)
class Row:
    """One measured computation, with the measures of each set of positions."""

    term: Term
    associations: Array
    sites: list[SiteColumn] = field(default_factory=list)
    influences: list[float] = field(default_factory=list)
    reaches: list[float] = field(default_factory=list)
    errors: list[float] = field(default_factory=list)

    def add(self, sites: SiteColumn, influence: float, reach: float, error: float = 0) -> None:
        """Add the measures of a set of positions."""
        self.sites.append(sites)
        self.influences.append(influence)
        self.reaches.append(reach)
        self.errors.append(error)


@dataclass(slots=True, eq=False)
class ForestTerms:
    """The measured and bounded terms of a forest.

    Attributes
    ----------
    rows : the measured computations.
    bounded : all others, with the bounds that settle them.
    drawn : influences that were sampled instead of computed exactly, with their term.
    open : terms with sets of some, but not all, positions that no bound excludes, with the number
        of positions and the bound.
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
    """Measure every term of a forest that can be a witness, at each position and at all together.

    Takes two or three passes of all rows through all trees. Each remaining computation takes a pass
    of the rows it can change through the trees that contain it.
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
        self._measure_tests_that_can_be_missing()
        self.suspicious = self.by_test.max(axis=1) >= epsilon
        self.inner = terms_inside_tests(self.plan)
        for item in self.inner:
            if item.test >= 0:  # measured with its other positions
                self.suspicious[item.test] = False

    def _measure_tests_that_can_be_missing(self) -> None:
        """Measure the associations of tests with a third value from their values.

        A comparison is true or false. A variable or a combination of tests can also be missing.
        A missing value takes the same branch as false, but is a different value.
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
        """The influence and reach of a computation at some nodes.

        At one node, a variable has the same effect as its test, so it is computed once.
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
            self._record_open_sets(row, len(at), float(near[index]) / self.engine.total)

    def _repeated_tests(self) -> Array:
        """The associated tests at several nodes that the simplest bounds do not settle.

        A test at several nodes may be influential even if no single node is: a row can meet it at
        each of them, and each tree can move the row's margin by as much as its widest node.
        """
        forest = self.plan.forest
        counts = np.bincount(forest.test, minlength=len(forest.tests))
        met = self._at_several(forest.test, self.near_test, len(forest.tests))
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

    def _at_several(self, groups: Array, near: Array, count: int) -> Array:
        """Bound the mass that computations at several nodes change; `groups` has theirs by node.

        A row counts once, wherever it changes. A square of K moves is at most K times the sum of
        their squares.
        """
        if self.engine.squares is None:
            return np.bincount(groups, self.passed, minlength=count)
        return np.bincount(groups, minlength=count) * np.bincount(groups, near, minlength=count)

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
            if not row.sites:  # computations inside tests are always listed
                row.add(SiteColumn(item.points), math.nan, reaches[number])
            self.rows["inner", number] = row

    def _variable(self, row: Row, nodes: Array, bound: float, reach: float) -> None:
        """Measure a variable that no bound excludes."""
        for node in nodes[self.near_test[nodes] > self.limit].tolist():
            single = np.array([node])
            row.add(self._sites("variable", single), *self._influence(Target("variable", single)))
        if len(nodes) == 1:
            return
        sites = self._sites("variable", nodes)
        drawn = None
        counts = self.engine.squares is None
        if counts and not self.exact and len(nodes) * self.measurement.n_rows > EXACT_WORK:
            drawn = drawn_influence(self.engine, nodes, self.delta)
        if drawn is None:
            row.add(sites, *self._influence(Target("variable", nodes)))
        else:
            self.drawn.append((row.term, drawn))
            row.add(sites, drawn.influence, reach, drawn.error)
        self._record_open_sets(row, len(nodes), bound)

    def _inner_term(self, row: Row, item: InnerTerm, bound: float) -> None:
        """Measure part of an expression inside tests, which has its influence through them."""
        measurement = self.measurement
        for point in item.points[self.near_test[item.nodes] > self.limit].tolist():
            self.tick(0)
            single = SiteColumn(np.array([point]))
            row.add(single, measurement.influence(single), measurement.reach(single))
        if len(item.points) > 1:
            self.tick(0)
            together = SiteColumn(item.points)
            row.add(together, measurement.influence(together), measurement.reach(together))
            self._record_open_sets(row, len(item.points), bound)

    def _record_open_sets(self, row: Row, positions: int, bound: float) -> None:
        """Record the term if a set of some, but not all, positions may be a witness."""
        if positions > 2 and max(row.influences) <= self.delta < bound:
            self.open.append((row.term, positions, bound))

    # Subtrees

    def _subtrees(self) -> None:
        groups = self.engine.equal_subtrees
        # The bound of a single position settles a subtree with one position. Several positions
        # together may be influential even if none is alone.
        counts = np.bincount(groups)
        alone = np.bincount(groups, self.near_subtree)
        several = self._at_several(groups, self.near_subtree, len(counts))
        bounds = np.where(counts == 1, alone, several)
        moves = np.bincount(groups, self.plan.extremes.span)
        chosen = (bounds > self.limit) & ((counts == 1) | (moves >= self.min_margin))
        nodes = np.flatnonzero(chosen[groups])
        nodes = nodes[np.argsort(groups[nodes], kind="stable")]
        starts = np.flatnonzero(np.diff(groups[nodes], prepend=-1))
        equal: list[Array] = []
        for part in np.split(nodes, starts)[1:]:
            if len(part) == 1:
                equal.append(part)
            elif self.engine.bound_of(part) > self.delta:
                equal += equal_subtrees(self.plan, part)
        first = np.array([nodes[0] for nodes in equal], dtype=np.int64)
        associations = self.engine.subtree_associations(first, self.association, self.epsilon)
        for nodes in sorted(equal, key=lambda nodes: int(nodes[0])):
            own = associations[int(nodes[0])]
            if own.max() >= self.epsilon:
                self._subtree(nodes, own)

    def _subtree(self, nodes: Array, associations: Array) -> None:
        term = self.plan.forest.term(int(nodes[0]))
        row = Row(term, associations)
        for node in nodes[self.near_subtree[nodes] > self.limit].tolist():
            influence, reach = self._influence(Target("subtree", np.array([node])))
            row.add(self._sites("subtree", np.array([node])), influence, reach)
        if len(nodes) > 1:
            influence, reach = self._influence(Target("subtree", nodes))
            row.add(self._sites("subtree", nodes), influence, reach)
            self._record_open_sets(row, len(nodes), self.engine.bound_of(nodes))
        self.rows["subtree", int(nodes[0])] = row
