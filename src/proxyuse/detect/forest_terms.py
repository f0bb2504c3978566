"""Terms of a forest: bound all of them, measure those that can be a witness.

A fully grown forest has millions of decompositions, and next to none of them can be a witness. The
cheapest reasons come first:

1. *Reach and margin.* A position changes no more rows than pass it, and of those only rows whose
   leads it can move far enough (one pass over the rows, for all positions).
2. *Association.* Tests, and variables and other parts of tests, that are below epsilon are no
   witnesses, wherever they stand.
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
from proxyuse.lang.evaluate import Array
from proxyuse.lang.nodes import Term, Var
from proxyuse.lang.positions import SpotColumn
from proxyuse.measure.association import Association
from proxyuse.measure.engine import Measurement
from proxyuse.measure.forests.drawing import DrawnInfluence, drawn_influence
from proxyuse.measure.forests.engine import ForestEngine, Target
from proxyuse.measure.forests.plan import Part
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
        self.suspicious = self.by_test.max(axis=1) >= epsilon
        assert self.plan.parts is not None
        self.parts = self.plan.parts
        for part in self.parts:  # which are tests as well
            self.suspicious[self.plan.forest.test[part.nodes[part.offsets == 1]]] = False

    def measured(self) -> ForestTerms:
        self._tests()
        self._test_parts()
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
        past = {"subtree": 0, "test": 1}[kind]
        return SpotColumn(np.sort(self.plan.points_of(nodes)) + past)

    def _influence(self, target: Target) -> tuple[float, float]:
        """Influence and reach of a computation at some nodes."""
        self.tick(0)
        self.measurement.methods[self.engine.method] += 1
        counted = self.engine.count(target)
        return self.engine.share_of(counted), self.engine.share(counted.reached)

    # Tests

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
            bound = int(near[index]) / self.engine.total
            if len(at) > 2 and max(row.influences) <= self.delta < bound:
                self.open.append((row.term, len(at), bound))

    # Parts of tests, variables among them

    def _test_parts(self) -> None:
        parts = [p for p in self.parts if self.variables or not isinstance(p.term, Var)]
        if not parts:
            return
        terms = [part.term for part in parts]
        associations = self.measurement.associations(terms, self.association)
        for number, part in enumerate(parts):
            row = self._row("part", number, part.term, associations[number])
            self._part(row, part, bool(associations[number].max() >= self.epsilon))

    def _part(self, row: Row, part: Part, suspicious: bool) -> None:
        if suspicious:
            for index in np.flatnonzero(self.near_test[part.nodes] > self.limit).tolist():
                alone = part._replace(
                    nodes=part.nodes[index : index + 1], offsets=part.offsets[index : index + 1]
                )
                row.add(self._part_spots(alone), *self._part_influence(alone))
        nodes = np.unique(part.nodes)
        spots = self._part_spots(part)
        if len(spots) == 1:
            if not row.spots:
                row.add(spots, math.nan, self.engine.reach_of(nodes))
            return
        bound = self.engine.bound_of(nodes) if suspicious else 0.0
        if bound <= self.delta:
            row.add(spots, math.nan, self.engine.reach_of(nodes))
            return
        drawn = None
        if not self.exact and part.decides and len(nodes) * self.measurement.n_rows > EXACT_WORK:
            drawn = drawn_influence(self.engine, nodes, self.delta, self.tick)
        if drawn is None:
            row.add(spots, *self._part_influence(part))
        else:
            self.drawn.append((row.term, drawn))
            row.add(spots, drawn.influence, self.engine.reach_of(nodes), drawn.error)
        if max(row.influences) <= self.delta and len(spots) > 2:
            self.open.append((row.term, len(spots), bound))

    def _part_spots(self, part: Part) -> SpotColumn:
        return SpotColumn(np.sort(self.plan.points_of(part.nodes) + part.offsets))

    def _part_influence(self, part: Part) -> tuple[float, float]:
        if part.decides:
            return self._influence(Target("part", part.nodes))
        self.tick(0)
        spots = list(self._part_spots(part))
        return self.measurement.influence(spots), self.engine.reach_of(np.unique(part.nodes))

    # Subtrees

    def _subtrees(self) -> None:
        groups = self.engine.equal_subtrees
        alone = np.bincount(groups) == 1
        near = np.zeros(len(alone))
        np.maximum.at(near, groups, self.near_subtree)
        # As with tests: together they may matter although none of them does alone.
        several = np.flatnonzero(~alone & (np.bincount(groups, self.passed) > self.limit))
        if len(several):
            number = np.full(len(alone), -1, dtype=np.int64)
            number[several] = np.arange(len(several))
            near[several] = self.engine.together(number[groups], len(several))[0]
        chosen = np.flatnonzero(near > self.limit)
        order = np.argsort(groups, kind="stable")
        starts = np.searchsorted(groups[order], chosen)
        ends = np.searchsorted(groups[order], chosen, side="right")
        for group, start, end in zip(chosen.tolist(), starts, ends, strict=True):
            nodes = order[start:end]
            parts = [nodes] if alone[group] else self._told_apart(nodes)
            for same in parts:
                self._subtree(np.sort(same))

    def _told_apart(self, nodes: Array) -> list[Array]:
        """Nodes with one hash, by the subtree that stands there."""
        by_digest: dict[bytes, list[int]] = defaultdict(list)
        for node in nodes.tolist():
            by_digest[self.plan.forest.digest(node)].append(node)
        return [np.array(same) for same in by_digest.values()]

    def _subtree(self, nodes: Array) -> None:
        several = len(nodes) > 1
        bound = self.engine.bound_of(nodes) if several else math.inf
        if bound <= self.delta:
            return
        self.tick(0)
        associations = self.engine.subtree_associations(int(nodes[0]), self.association)
        if associations.max() < self.epsilon:
            return
        term = self.plan.forest.term(int(nodes[0]))
        row = Row(term, associations)
        for node in nodes[self.near_subtree[nodes] > self.limit].tolist():
            influence, reach = self._influence(Target("subtree", np.array([node])))
            row.add(self._spots("subtree", np.array([node])), influence, reach)
        if several:
            influence, reach = self._influence(Target("subtree", nodes))
            row.add(self._spots("subtree", nodes), influence, reach)
            if max(row.influences) <= self.delta and len(nodes) > 2:
                self.open.append((term, len(nodes), bound))
        self.rows["subtree", int(nodes[0])] = row
