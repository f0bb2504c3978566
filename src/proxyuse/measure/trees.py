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

from collections.abc import Collection, Iterator, Sequence
from functools import cached_property
from typing import Protocol

import numpy as np

from proxyuse.lang.evaluate import Array, constant
from proxyuse.lang.nodes import Term, Var
from proxyuse.lang.positions import Spot
from proxyuse.measure.association import Association, associations_of, needs_values
from proxyuse.measure.cells import Test
from proxyuse.measure.engine import Way
from proxyuse.measure.fast import FastEngine
from proxyuse.measure.parallel import mapped, worth_compiling
from proxyuse.measure.places import Asked, Places
from proxyuse.measure.row_sets import RowSets, packed, packed_tests
from proxyuse.measure.support import Support
from proxyuse.measure.tables import JointTable
from proxyuse.measure.tally import NO_CODES, Loops, Tally, tally_column
from proxyuse.measure.tree_counts import TreeCounts, count_tree, numpy_seconds
from proxyuse.measure.tree_plan import TreePlan, Walk, tree_plan

MOST_WEIGHT = 2**16  # as many binary digits are counted one by one
MOST_MASS = 2**31  # so that pairs of rows are counted in 64 bits
SECONDS_A_VALUE = 1e-8  # that NumPy takes to count one row of one variable, about


class Tested(Protocol):
    """What plans of trees have in common: distinct tests, each of one variable."""

    @property
    def tests(self) -> tuple[Test, ...]:
        """The distinct tests."""
        ...

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables they read."""
        ...

    @property
    def variable_of(self) -> Array:
        """Which variable each test reads."""
        ...

    @property
    def tests_of(self) -> tuple[tuple[Test, ...], ...]:
        """The tests of each variable."""
        ...


class TreeEngine(FastEngine):
    """The fast engine, with the counts of a decision tree where the program is one."""

    @cached_property
    def _plan(self) -> TreePlan | None:
        whole = self.population.whole_weights and self.weights.max() < MOST_WEIGHT
        counted = whole and self.total < MOST_MASS
        plan = tree_plan(self.program) if self._counts_changes and counted else None
        if plan is None or isinstance(plan.classes[0], float) is False:
            return plan
        return plan if len(plan.classes) <= self._max_support else None

    @property
    def _tree(self) -> TreePlan:
        assert self._plan is not None
        return self._plan

    @property
    def _tested(self) -> Tested:
        """Whichever plan the program has: its tests and variables."""
        return self._tree

    @property
    def _places(self) -> Places | None:
        """Where tests and subtrees stand in whichever plan the program has, if it has one."""
        return None if self._plan is None else self._plan.places

    @cached_property
    def _compiles(self) -> bool:
        if self._compiled is not None:
            return self._compiled
        values = sum(len(z) for _, z in self.protected)
        seconds = numpy_seconds(self._tree, self.n_rows, values)
        seconds += SECONDS_A_VALUE * self.n_rows * len(self._tree.variables)
        return worth_compiling(seconds, "tree_kernel")

    @cached_property
    def _values_of_z(self) -> list[Support]:
        """The protected attributes, with codes that take as little memory as they can."""
        return [
            Support(z.codes.astype(np.min_scalar_type(len(z))), z.values) for _, z in self.protected
        ]

    @cached_property
    def _tallies(self) -> list[Tally]:
        """Each variable counted, in as many threads as there may be."""
        plan = self._tested
        loops = Loops()
        if self._compiles:
            from proxyuse.measure.tally_kernel import CompiledLoops  # loads numba

            loops = CompiledLoops()
        weights = None if self._rows_count_once else self.weights
        protected = self._values_of_z

        def count(variable: int) -> Tally:
            values = self.frame.arrays[plan.variables[variable]]
            return tally_column(
                values, plan.tests_of[variable], self.vocabulary, protected, weights,
                self._bins, self._max_support, loops,
            )  # fmt: skip

        # Variables with many tests tend to take longest; started last, one thread would be idle.
        order = sorted(range(len(plan.variables)), key=lambda v: -len(plan.tests_of[v]))
        found = dict(zip(order, mapped(count, order, self.threads), strict=True))
        return [found[variable] for variable in range(len(order))]

    @cached_property
    def _walk(self) -> Walk:
        return self._tree.walk([tally.cells.truth for tally in self._tallies])

    @cached_property
    def _counts(self) -> TreeCounts:
        cells = [tally.cells for tally in self._tallies]
        return count_tree(
            self._tree,
            cells,
            self._values_of_z,
            self.weights,
            threads=self.threads,
            compiled=self._compiles,
        )

    @cached_property
    def _test_tables(self) -> list[Array]:
        """For each protected attribute the masses by test, whether it holds, and value."""
        plan = self._tested
        tables = [np.empty((len(plan.tests), 2, len(z))) for _, z in self.protected]
        for variable, tally in enumerate(self._tallies):
            own = plan.variable_of == variable
            for table, by_cell in zip(tables, tally.cell_tables, strict=True):
                holding = tally.cells.truth @ by_cell
                table[own, 1] = holding
                table[own, 0] = ~tally.cells.truth @ by_cell
        return tables

    @cached_property
    def _subtree_tables(self) -> list[Array]:
        """For each protected attribute the masses by node, class and value."""
        tables = []
        said = self._counts.said
        first = 1
        for i, (_, z) in enumerate(self.protected):
            counts = said[:, :, first : first + len(z) - 1]
            table = np.empty((len(said), len(self._tree.classes), len(z)))
            table[:, 1:, 1:] = counts
            table[:, 1:, 0] = said[:, :, 0] - counts.sum(axis=2)
            masses = self._tallies[0].cell_tables[i].sum(axis=0)
            table[:, 0, :] = masses - table[:, 1:, :].sum(axis=1)
            tables.append(table)
            first += len(z) - 1
        return tables

    @cached_property
    def _by_point(self) -> tuple[list[float], list[float]]:
        """Influence and reach of what stands at each point of the tree; 0 for constants."""
        plan, counts, total = self._tree, self._counts, int(self.total)
        mass = self._test_tables[0][:, 1].sum(axis=1).astype(np.int64)[plan.test_of]
        tests = counts.holding * (total - mass) + counts.failing * mass
        said = np.concatenate(
            [total - counts.said[:, :, 0].sum(axis=1, keepdims=True), counts.said[:, :, 0]], axis=1
        )
        subtrees = (counts.said_where_reached(plan) * (total - said)).sum(axis=1)
        influence, reach = np.zeros(len(self.points)), np.zeros(len(self.points))
        for beyond, changes in enumerate((subtrees, tests, tests)):  # of a test, and its variable
            influence[plan.points + beyond] = changes / (total * total)
            reach[plan.points + beyond] = counts.reach / total
        return influence.tolist(), reach.tolist()

    def influences(self, spots: Sequence[Spot]) -> list[float]:
        """The influence of what stands at each position, through that position alone."""
        if self._plan is None:
            return super().influences(spots)
        self._tick(0)
        self.ways[Way.TREE] += len(spots)
        known = self._by_point[0]
        return [known[point] for point, _ in spots]

    def reaches(self, spots: Sequence[Spot]) -> list[float]:
        """The share of rows that evaluate each position."""
        if self._plan is None:
            return super().reaches(spots)
        known = self._by_point[1]
        return [known[point] for point, _ in spots]

    def influence(self, spots: Sequence[Spot]) -> float:
        """The influence of one computation through disjoint positions at which it stands."""
        if self._plan is None:
            return super().influence(spots)
        variable = self._whole_variable(spots)
        if len(spots) > 1 and variable is None:
            return super().influence(spots)
        self.ways[Way.TREE] += 1
        if len(spots) == 1:
            return self._by_point[0][spots[0].point]
        assert variable is not None
        masses = self._walk.allowed[variable] @ self._tallies[variable].cell_tables[0].sum(axis=1)
        ends = self._counts.ends[self._walk.ends_of(variable)]
        return int(np.dot(ends, masses.astype(np.int64))) / (self.total * self.total)

    def _whole_variable(self, spots: Sequence[Spot]) -> int | None:
        """The variable whose occurrences these are, if they are all of one."""
        term = self.points.terms[spots[0].point]
        if self._plan is None or not isinstance(term, Var):
            return None
        variable = self._plan.variables.index(term.name)
        return variable if self._plan.readers[variable] == len(spots) else None

    def reach(self, spots: Sequence[Spot]) -> float:
        """The share of rows that evaluate at least one of the positions."""
        if self._plan is None:
            return super().reach(spots)
        if len(spots) == 1:
            return self._by_point[1][spots[0].point]
        variable = self._whole_variable(spots)
        if variable is None:
            return super().reach(spots)
        return int(self._counts.reach[self._walk.entries[variable]].sum()) / self.total

    def associations(self, terms: Sequence[Term], measure: Association) -> Array:
        """The association of each computation with each protected attribute."""
        places = self._places
        if places is None or needs_values(measure):
            return super().associations(terms, measure)
        found = np.empty((len(terms), len(self._names)))
        asked = places.asked(terms)
        if len(asked.at_test):
            found[asked.at_test] = self._each(self._test_tables, measure)[asked.tests]
        if len(asked.at_node):
            found[asked.at_node] = self._subtree_associations(measure)[asked.nodes]
        others = np.union1d(asked.others, asked.at_node[found[asked.at_node, 0] < 0])
        found[others] = super().associations([terms[i] for i in others], measure)
        return found

    def _subtree_associations(self, measure: Association) -> Array:
        """The association of each subtree; -1 where it has too many values to take them raw."""
        return self._each(self._subtree_tables, measure)

    def valued(self, term: Term) -> tuple[Array, Sequence[Array]]:
        """A term's values, not cut, and their masses with each protected attribute."""
        places = self._places
        if places is None or not (term.digest in places.tests or term.digest in places.nodes):
            return super().valued(term)
        tables = self.tables(term)
        return tables[0].support.values, [table.masses for table in tables]

    def _each(self, tables: list[Array], measure: Association) -> Array:
        """The association in each of many tables with each protected attribute."""
        return np.stack([associations_of(measure, table) for table in tables], axis=1)

    def masses(self, terms: Sequence[Term]) -> list[list[Array]]:
        """For each computation the masses by value, or bin, with each protected attribute."""
        places = self._places
        if places is None:
            return super().masses(terms)
        asked = places.asked(terms)
        found: list[list[Array]] = [[] for _ in terms]
        if len(asked.at_test):
            self._take(found, asked.at_test, asked.tests, self._test_tables)
        if len(asked.at_node):
            self._put_subtrees(found, asked)
        others = [place for place, tables in enumerate(found) if not tables]
        rest = super().masses([terms[i] for i in others])
        for place, tables in zip(others, rest, strict=True):
            found[place] = tables
        return found

    def _put_subtrees(self, found: list[list[Array]], asked: Asked) -> None:
        """Put the tables of subtrees in their places, but for those to be cut into bins."""
        self._take(found, asked.at_node, asked.nodes, self._subtree_tables)

    def _take(
        self, found: list[list[Array]], places: Array, chosen: Array, tables: list[Array]
    ) -> None:
        """Put some of many tables in their places, without rows that do not occur."""
        present = tables[0].sum(axis=2) > 0
        every = present.all(axis=1).tolist()
        for place, number in zip(places.tolist(), chosen.tolist(), strict=True):
            kept = slice(None) if every[number] else present[number]
            found[place] = [table[number][kept] for table in tables]

    def row_sets(self, terms: Sequence[Term]) -> Iterator[tuple[int, RowSets]]:
        """Which rows have which value, or bin, of each computation, with its place."""
        places = self._places
        if places is None:
            yield from super().row_sets(terms)
            return
        asked = places.asked(terms)
        wanted: dict[int, list[int]] = {}
        for place, node in zip(asked.at_node.tolist(), asked.nodes.tolist(), strict=True):
            wanted.setdefault(node, []).append(place)
        others = asked.others.tolist()
        if len(others) < len(terms):
            tests = self._packed_tests
            for place, test in zip(asked.at_test.tolist(), asked.tests.tolist(), strict=True):
                yield place, RowSets(2, tests[[test]])
            for node, sets in self._subtree_sets(frozenset(wanted), tests):
                for place in wanted.pop(node):
                    yield place, sets
        others += [place for left in wanted.values() for place in left]
        for number, sets in super().row_sets([terms[i] for i in others]):
            yield others[number], sets

    def _subtree_sets(self, wanted: Collection[int], tests: Array) -> Iterator[tuple[int, RowSets]]:
        """The row sets of some nodes' subtrees, but for those to be cut into bins.

        They are V of `tree_counts`, from the leaves up; one is let go of once its parent has it.
        """
        plan = self._tree
        nodes, classes = len(plan.points), len(plan.classes)
        leaves = np.zeros((classes, classes - 1, tests.shape[1]), dtype=np.uint64)
        leaves[np.arange(1, classes), np.arange(classes - 1)] = ~np.uint64(0)
        says: dict[int, Array] = {nodes + c: leaf for c, leaf in enumerate(leaves)}
        for node in range(nodes - 1, -1, -1) if wanted else ():
            sides = plan.left[node], plan.right[node]
            left, right = (says.pop(s) if s < nodes else says[s] for s in map(int, sides))
            says[node] = right ^ ((left ^ right) & tests[plan.test_of[node]])
            if node in wanted:
                yield node, RowSets(classes, says[node] & self._all_rows)

    @cached_property
    def _all_rows(self) -> Array:
        """All rows, as words."""
        return packed(np.ones(self.n_rows, dtype=np.bool_))

    @property
    def _packed_tests(self) -> Array:
        """For each test the rows for which it holds, as words."""
        cells = [tally.cells for tally in self._tallies]
        return packed_tests(cells, self._tested.variable_of, self.n_rows)

    def tables(self, term: Term) -> list[JointTable]:
        """The joint table with each protected attribute; long numbers are cut into bins."""
        places = self._places
        if places is None:
            return super().tables(term)
        if isinstance(term, Var) and term.name in self._tested.variables:
            tally = self._tallies[self._tested.variables.index(term.name)]
            return self._tables_of(term, tally.support, tally.tables)
        if (test := places.tests.get(term.digest)) is not None:
            both = np.array([False, True])
            return [self._table(i, t[test], both) for i, t in enumerate(self._test_tables)]
        node = places.nodes.get(term.digest)
        if self._plan is not None and node is not None:
            said = np.concatenate([constant(v, self.vocabulary) for v in self._plan.classes])
            return [self._table(i, t[node], said) for i, t in enumerate(self._subtree_tables)]
        return super().tables(term)

    def _table(self, protected: int, masses: Array, values: Array) -> JointTable:
        name, columns = self._names[protected]
        present = masses.sum(axis=1) > 0
        support = Support(NO_CODES, values[present])
        return JointTable(masses[present], name, columns, support, self.vocabulary)
