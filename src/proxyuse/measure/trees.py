"""Decision trees, all decompositions at once.

From the counts of a tree (`tree_counts`) and of the cells of its variables (`cells`), with |.|
for the mass of rows and N for that of all rows:

- a test is evaluated by all rows and matters in the rows of S, which reach it, where its branches
  differ: influence is ``|S & G & (L ^ R)| * |not G| + |S & not G & (L ^ R)| * |G|`` over N^2;
- a subtree is the output where it is reached: ``sum over classes c of |S & (V = c)| * |V != c|``;
- a variable in one test has that test's influence;
- a variable in all its tests at once is one walk: tests of other variables narrow the rows, its
  own tests narrow the cells in which its new value may lie, and where no more of its tests
  follow, the rows there whose subtree says something else than the tree did are multiplied by the
  mass of the cells.

Everything is counted in whole numbers, so the results are the naive engine's exactly. Weights
that are not whole, several outputs, and other programs are left to the contexts of `fast`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from proxyuse.lang.evaluate import Array, constant
from proxyuse.lang.nodes import Term, Var
from proxyuse.lang.positions import Spot
from proxyuse.measure.association import Association, associations_of
from proxyuse.measure.cells import Cells, cells_of
from proxyuse.measure.fast import FastEngine
from proxyuse.measure.influence import QuantitativeInputInfluence
from proxyuse.measure.support import Support
from proxyuse.measure.tables import JointTable
from proxyuse.measure.tree_counts import TreeCounts, count_tree
from proxyuse.measure.tree_plan import TreePlan, tree_plan

MOST_WEIGHT = 2**16  # as many binary digits are counted one by one
MOST_MASS = 2**31  # so that pairs of rows are counted in 64 bits


class TreeEngine(FastEngine):
    """The fast engine, with the counts of a decision tree where the program is one."""

    @cached_property
    def _plan(self) -> TreePlan | None:
        exact = self._pairs is None and isinstance(self._loss, QuantitativeInputInfluence)
        whole = self.population.whole_weights and self.weights.max() < MOST_WEIGHT
        counted = whole and self.total < MOST_MASS
        return tree_plan(self.program) if exact and counted else None

    @cached_property
    def _cells(self) -> list[Cells]:
        """Each variable cut into the cells that its tests tell apart, by its distinct values."""
        plan = self._plan
        assert plan is not None
        columns = []
        for variable, name in enumerate(plan.variables):
            tests = [plan.tests[i] for i in np.flatnonzero(plan.variable_of == variable)]
            support = self.support(Var(name))
            cells = cells_of(support.values, tests, self.vocabulary)
            columns.append(Cells(cells.codes[support.codes], cells.truth))
        return columns

    @cached_property
    def _counts(self) -> TreeCounts:
        assert self._plan is not None
        return count_tree(self._plan, self._cells, [z for _, z in self.protected], self.weights)

    @cached_property
    def _cell_tables(self) -> list[list[Array]]:
        """For each variable and protected attribute the masses by cell and protected value."""
        tables = []
        for cells in self._cells:
            wide = cells.codes.astype(np.intp)
            tables.append([self._cell_table(wide, cells.count, z) for _, z in self.protected])
        return tables

    def _cell_table(self, codes: Array, count: int, z: Support) -> Array:
        flat = np.bincount(codes * len(z) + z.codes, self.weights, minlength=count * len(z))
        return flat.reshape(count, len(z))

    @cached_property
    def _test_tables(self) -> list[Array]:
        """For each protected attribute the masses by test, whether it holds, and value."""
        plan = self._plan
        assert plan is not None
        tables = [np.empty((len(plan.tests), 2, len(z))) for _, z in self.protected]
        for variable, cells in enumerate(self._cells):
            own = plan.variable_of == variable
            for table, by_cell in zip(tables, self._cell_tables[variable], strict=True):
                table[own, 1] = cells.truth @ by_cell
                table[own, 0] = by_cell.sum(axis=0) - table[own, 1]
        return tables

    @cached_property
    def _subtree_tables(self) -> list[Array]:
        """For each protected attribute the masses by node, class and value."""
        tables = []
        for counts, (_, z) in zip(self._counts.said_with, self.protected, strict=True):
            nodes, classes, values = counts.shape
            table = np.empty((nodes, classes + 1, values + 1))
            table[:, 1:, 1:] = counts
            table[:, 1:, 0] = self._counts.said - counts.sum(axis=2)
            table[:, 0, :] = z.masses(self.weights) - table[:, 1:, :].sum(axis=1)
            tables.append(table)
        return tables

    @cached_property
    def _by_point(self) -> tuple[dict[int, float], dict[int, float]]:
        """Influence and reach of what stands at each point of the tree."""
        plan, counts, total = self._plan, self._counts, int(self.total)
        assert plan is not None
        mass = self._test_tables[0][:, 1].sum(axis=1).astype(np.int64)[plan.test_of]
        tests = counts.holding * (total - mass) + counts.failing * mass
        first = counts.reach - counts.said_reached.sum(axis=1)
        subtrees = (counts.said_reached * (total - counts.said)).sum(axis=1)
        subtrees += first * counts.said.sum(axis=1)
        points = np.concatenate([plan.points, plan.points + 1, plan.points + 2]).tolist()
        changes = np.concatenate([subtrees, tests, tests])  # of a test, and its variable
        influence = (changes / (total * total)).tolist()
        reach = (np.tile(counts.reach, 3) / total).tolist()
        return dict(zip(points, influence, strict=True)), dict(zip(points, reach, strict=True))

    def influences(self, spots: Sequence[Spot]) -> list[float]:
        """The influence of what stands at each position, through that position alone."""
        if self._plan is None:
            return super().influences(spots)
        self._tick()
        known = self._by_point[0]
        return [known[spot.point] for spot in spots]

    def reaches(self, spots: Sequence[Spot]) -> list[float]:
        """The share of rows that evaluate each position."""
        if self._plan is None:
            return super().reaches(spots)
        known = self._by_point[1]
        return [known[spot.point] for spot in spots]

    def influence(self, spots: Sequence[Spot]) -> float:
        """The influence of one computation through disjoint positions at which it stands."""
        if self._plan is None:
            return super().influence(spots)
        if len(spots) == 1:
            return self._by_point[0][spots[0].point]
        variable = self._whole_variable(spots)
        if variable is None:
            return super().influence(spots)
        ends = self._plan.walk([cells.truth for cells in self._cells]).ends[variable]
        masses = ends.allowed @ self._cell_tables[variable][0].sum(axis=1)
        changes = np.dot(self._counts.ends[variable], masses.astype(np.int64))
        return int(changes) / (self.total * self.total)

    def _whole_variable(self, spots: Sequence[Spot]) -> int | None:
        """The variable whose occurrences these are, if they are all of one."""
        term = self.points.terms[spots[0].point]
        if self._plan is None or not isinstance(term, Var):
            return None
        variable = self._plan.variables.index(term.name)
        return variable if len(self._plan.readers(variable)) == len(spots) else None

    def reach(self, spots: Sequence[Spot]) -> float:
        """The share of rows that evaluate at least one of the positions."""
        if self._plan is None:
            return super().reach(spots)
        if len(spots) == 1:
            return self._by_point[1][spots[0].point]
        variable = self._whole_variable(spots)
        if variable is None:
            return super().reach(spots)
        return int(self._counts.variable_reach[variable]) / self.total

    def associations(self, terms: Sequence[Term], measure: Association) -> Array:
        """The association of each computation with each protected attribute."""
        plan = self._plan
        if plan is None:
            return super().associations(terms, measure)
        found = np.empty((len(terms), len(self._names)))
        tests = np.stack([associations_of(measure, t) for t in self._test_tables], axis=1)
        subtrees = np.stack([associations_of(measure, t) for t in self._subtree_tables], axis=1)
        others = []
        for place, term in enumerate(terms):
            if term.digest in plan.test_of_term:
                found[place] = tests[plan.test_of_term[term.digest]]
            elif term.digest in plan.node_of_term:
                found[place] = subtrees[plan.node_of_term[term.digest]]
            else:
                others.append(place)
        found[others] = super().associations([terms[place] for place in others], measure)
        return found

    def tables(self, term: Term) -> list[JointTable]:
        """The joint table with each protected attribute; long numbers are cut into bins."""
        plan = self._plan
        if plan is not None and term.digest in plan.test_of_term:
            place = plan.test_of_term[term.digest]
            both = np.array([False, True])
            return [self._table(i, t[place], both) for i, t in enumerate(self._test_tables)]
        if plan is not None and term.digest in plan.node_of_term:
            place = plan.node_of_term[term.digest]
            said = np.concatenate([constant(v, self.vocabulary) for v in plan.classes])
            return [self._table(i, t[place], said) for i, t in enumerate(self._subtree_tables)]
        return super().tables(term)

    def _table(self, protected: int, masses: Array, values: Array) -> JointTable:
        name, columns = self._names[protected]
        present = masses.sum(axis=1) > 0
        support = Support(np.empty(0, dtype=np.intp), values[present])
        return JointTable(masses[present], name, columns, support, self.vocabulary)
