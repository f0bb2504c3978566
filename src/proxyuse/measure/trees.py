"""Decision trees, all decompositions at once, on bitsets.

The idea. A set of rows is n/64 machine words. For a tree of nested ites over tests of single
variables, with constant leaves, three kinds of bitset say everything: G, the rows for which a
test holds; V, what a subtree says (a bit a row, or a few for several classes); S, the rows that
reach a node. V follows from the leaves up, ``V = R ^ ((L ^ R) & G)``, S from the root down. Then,
writing |.| for the number (or mass) of rows and N for that of all rows:

- a test is evaluated by all rows and matters in the rows of S where its branches differ:
  influence is ``|S & G & (L ^ R)| * |not G| + |S & not G & (L ^ R)| * |G|`` over N^2;
- a subtree is the output where it is reached: ``sum over classes c of |S & (V = c)| * |V != c|``;
- a variable in one test has that test's influence;
- a variable in all its tests at once is one walk: tests of other variables narrow the rows, its
  own tests narrow the cells in which its new value may lie, and where no more of its tests
  follow, the rows there whose subtree says something else than the tree did are multiplied by the
  mass of the cells.

Counts of a test come from the cells of its variable (see `cells`), without looking at rows again.

Cost: for m inner nodes O(m n / 64) word operations and O(n log m) for the cells; the walk visits,
for each variable, the nodes above its tests. Whole-number weights are masked bit by bit of their
binary digits; other weights are left to the contexts of `fast`. Everything is counted in whole
numbers, so the results are the naive engine's exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import product

import numpy as np

from proxyuse.lang.evaluate import Array, constant
from proxyuse.lang.nodes import Const, Ite, Term, Value, Var, sorted_values
from proxyuse.lang.positions import Spot
from proxyuse.measure.association import Association, associations_of
from proxyuse.measure.cells import Cells, Test, cells_of, tested_variable
from proxyuse.measure.fast import FastEngine
from proxyuse.measure.influence import QuantitativeInputInfluence
from proxyuse.measure.support import Support
from proxyuse.measure.tables import JointTable
from proxyuse.program import Program

MOST_CLASSES = 16
MOST_WEIGHT = 2**16


@dataclass(frozen=True, slots=True, eq=False)
class TreePlan:
    """A program that is one decision tree, as arrays over its inner nodes in preorder.

    Attributes
    ----------
    points : the program point of each inner node; its test is the next point.
    tests, test_of : the distinct tests, and which one each node has.
    variables, variable_of : the variables, and which one each test reads.
    left, right : children; from len(points) on, leaves by class.
    classes : the constants at the leaves.
    node_at : for the points of an inner node, its test and the tested variable, the node.
    node_of_term, test_of_term : places by digest.
    """

    points: Array
    tests: tuple[Test, ...]
    test_of: Array
    variables: tuple[str, ...]
    variable_of: Array
    left: Array
    right: Array
    classes: tuple[Value, ...]
    node_at: dict[int, int]
    node_of_term: dict[bytes, int]
    test_of_term: dict[bytes, int]


@lru_cache(maxsize=8)
def tree_plan(program: Program) -> TreePlan | None:
    """The plan of a program that is a decision tree over a few classes, else None."""
    points = program.points
    inner = [p for p, term in enumerate(points.terms) if isinstance(term, Ite)]
    node_at = {point: node for node, point in enumerate(inner)}
    tests: dict[bytes, tuple[int, Test]] = {}
    leaves: list[Value] = []
    children: list[tuple[int, int]] = []
    test_of: list[int] = []
    for point in inner:
        guard, then, otherwise = points.below(point)
        test = points.terms[guard]
        if tested_variable(test) is None:
            return None
        found = tests.setdefault(test.digest, (len(tests), test))  # type: ignore[arg-type]
        test_of.append(found[0])
        for branch in (then, otherwise):
            term = points.terms[branch]
            if isinstance(term, Const):
                leaves.append(term.value)
            elif not isinstance(term, Ite):
                return None
        children.append((then, otherwise))
    classes = tuple(sorted_values(leaves))
    kinds = {type(value) for value in classes}
    if not inner or inner[0] != 0 or not 2 <= len(classes) <= MOST_CLASSES or len(kinds) > 1:
        return None
    if kinds == {tuple}:
        return None
    place = {Const(value).digest: len(inner) + c for c, value in enumerate(classes)}
    ends = [
        [node_at[p] if p in node_at else place[points.terms[p].digest] for p in pair]
        for pair in children
    ]
    names = tuple(dict.fromkeys(str(tested_variable(test)) for _, test in tests.values()))
    ordered = tuple(test for _, test in tests.values())
    return TreePlan(
        points=np.array(inner),
        tests=ordered,
        test_of=np.array(test_of),
        variables=names,
        variable_of=np.array([names.index(str(tested_variable(test))) for test in ordered]),
        left=np.array([end[0] for end in ends]),
        right=np.array([end[1] for end in ends]),
        classes=classes,
        node_at={p + i: node for node, p in enumerate(inner) for i in range(3)},
        node_of_term={points.terms[p].digest: node for node, p in enumerate(inner)},
        test_of_term={test.digest: i for i, test in enumerate(ordered)},
    )


class RowSets:
    """Sets of rows as words of bits, and their masses."""

    def __init__(self, weights: Array) -> None:
        self.n_rows = len(weights)
        self.words = (self.n_rows + 63) // 64
        self.everything = self.packed(np.ones(self.n_rows, dtype=np.bool_))
        whole = weights.astype(np.int64)
        digits = int(whole.max()).bit_length()
        self._digits: list[Array] | None = None
        if digits > 1:
            self._digits = [self.packed((whole >> d) & 1 == 1) for d in range(digits)]

    def packed(self, rows: Array) -> Array:
        """A boolean array as words."""
        words = np.zeros(self.words, dtype=np.uint64)
        packed = np.packbits(rows, bitorder="little")
        words.view(np.uint8)[: len(packed)] = packed
        return words

    def masses(self, sets: Array) -> Array:
        """The mass of each set (the last axis holds its words)."""
        if self._digits is None:
            return np.asarray(np.bitwise_count(sets).sum(axis=-1, dtype=np.int64))
        total = np.zeros(sets.shape[:-1], dtype=np.int64)
        for place, digit in enumerate(self._digits):
            counts = np.bitwise_count(sets & digit).sum(axis=-1, dtype=np.int64)
            total += counts << place
        return total


class TreeCounts:
    """All counts of one tree on one population."""

    def __init__(
        self,
        plan: TreePlan,
        columns: Sequence[Cells],
        protected: Sequence[Support],
        weights: Array,
    ) -> None:
        self.plan = plan
        self.columns = columns
        self.protected = protected
        self.weights = weights
        self.rows = RowSets(weights)
        self.total = int(weights.sum())
        self._tests = self._test_sets()
        self._says = self._subtree_sets()
        self._reached = self._reach_sets()

    def _test_sets(self) -> Array:
        """G: for each test the rows for which it holds."""
        sets = np.zeros((len(self.plan.tests), self.rows.words), dtype=np.uint64)
        first = np.zeros(len(self.plan.variables), dtype=np.intp)
        for test, variable in enumerate(self.plan.variable_of):
            cells = self.columns[variable]
            sets[test] = self._in_cells(cells, cells.truth[first[variable]])
            first[variable] += 1
        return sets

    def _in_cells(self, cells: Cells, holds: Array) -> Array:
        """The rows in the cells where something holds; most often the lowest few cells."""
        count = int(holds.sum())
        if holds[:count].all():
            return (
                self.rows.packed(cells.codes < count)
                if count < cells.count
                else (self.rows.everything)
            )
        return self.rows.packed(holds[cells.codes])

    def _subtree_sets(self) -> Array:
        """V: for each node, and each class as a leaf, what it says, a digit at a time."""
        plan = self.plan
        nodes = len(plan.points)
        digits = max(1, (len(plan.classes) - 1).bit_length())
        says = np.zeros((digits, nodes + len(plan.classes), self.rows.words), dtype=np.uint64)
        for place, c in product(range(digits), range(len(plan.classes))):
            if c >> place & 1:
                says[place, nodes + c] = self.rows.everything
        left, right, tests = plan.left.tolist(), plan.right.tolist(), plan.test_of.tolist()
        for digit in says:
            for node in range(nodes - 1, -1, -1):
                other = digit[right[node]]
                np.bitwise_xor(digit[left[node]], other, out=digit[node])
                digit[node] &= self._tests[tests[node]]
                digit[node] ^= other
        return says

    def _reach_sets(self) -> Array:
        """S: for each node the rows that reach it."""
        plan = self.plan
        nodes = len(plan.points)
        reached = np.empty((nodes, self.rows.words), dtype=np.uint64)
        reached[0] = self.rows.everything
        left, right, tests = plan.left.tolist(), plan.right.tolist(), plan.test_of.tolist()
        for node in range(nodes):
            a, b, here = left[node], right[node], reached[node]
            if a < nodes:
                np.bitwise_and(here, self._tests[tests[node]], out=reached[a])
            if b < nodes:
                np.bitwise_and(here, ~self._tests[tests[node]], out=reached[b])
        return reached

    @cached_property
    def reach(self) -> Array:
        """For each node the mass of the rows that reach it."""
        return self.rows.masses(self._reached)

    @cached_property
    def _cell_tables(self) -> list[list[Array]]:
        """For each variable and protected attribute the masses by cell and protected value."""
        tables = []
        for cells in self.columns:
            wide = cells.codes.astype(np.intp)
            tables.append(
                [
                    np.bincount(
                        wide * len(z) + z.codes, self.weights, minlength=cells.count * len(z)
                    ).reshape(cells.count, len(z))
                    for z in self.protected
                ]
            )
        return tables

    @cached_property
    def test_tables(self) -> list[Array]:
        """For each protected attribute the masses by test, whether it holds, and value."""
        tables = [np.empty((len(self.plan.tests), 2, len(z))) for z in self.protected]
        for variable, cells in enumerate(self.columns):
            own = self.plan.variable_of == variable
            for table, by_cell in zip(tables, self._cell_tables[variable], strict=True):
                holding = cells.truth @ by_cell
                table[own, 1] = holding
                table[own, 0] = by_cell.sum(axis=0) - holding
        return tables

    @cached_property
    def _test_masses(self) -> Array:
        """For each test the mass of the rows for which it holds."""
        return np.asarray(self.test_tables[0][:, 1].sum(axis=1).astype(np.int64))

    @cached_property
    def test_changes(self) -> Array:
        """For each node the mass of pairs of rows for which its test changes the output."""
        plan = self.plan
        apart = np.zeros_like(self._reached)
        for digit in self._says:
            apart |= digit[plan.left] ^ digit[plan.right]
        apart &= self._reached
        holding = self.rows.masses(apart & self._tests[plan.test_of])
        failing = self.rows.masses(apart) - holding
        mass = self._test_masses[plan.test_of]
        return np.asarray(holding * (self.total - mass) + failing * mass)

    @cached_property
    def _class_sets(self) -> list[Array]:
        """For each class the rows of which each node says it."""
        sets = []
        nodes = len(self.plan.points)
        for c in range(len(self.plan.classes)):
            rows = np.broadcast_to(self.rows.everything, self._reached.shape)
            for place, digit in enumerate(self._says):
                rows = rows & (digit[:nodes] if c >> place & 1 else ~digit[:nodes])
            sets.append(rows)
        return sets

    @cached_property
    def subtree_tables(self) -> list[Array]:
        """For each protected attribute the masses by node, class and protected value."""
        tables = []
        for z in self.protected:
            values = [self.rows.packed(z.codes == code) for code in range(len(z))]
            shape = (len(self.plan.points), len(self.plan.classes), len(z))
            table = np.empty(shape, dtype=np.float64)
            column = z.masses(self.weights)
            for c, code in product(range(shape[1] - 1), range(shape[2])):
                table[:, c, code] = self.rows.masses(self._class_sets[c] & values[code])
            table[:, -1, :] = column - table[:, :-1, :].sum(axis=1)
            tables.append(table)
        return tables

    @cached_property
    def subtree_changes(self) -> Array:
        """For each node the mass of pairs of rows for which the subtree changes the output."""
        said = self.subtree_tables[0].sum(axis=2).astype(np.int64)
        changes = np.zeros(len(self.plan.points), dtype=np.int64)
        for c, rows in enumerate(self._class_sets):
            changes += self.rows.masses(rows & self._reached) * (self.total - said[:, c])
        return changes

    @cached_property
    def _reads(self) -> Array:
        """For each variable and node whether the subtree tests the variable."""
        plan = self.plan
        nodes = len(plan.points)
        reads = np.zeros((len(plan.variables), nodes + len(plan.classes)), dtype=np.bool_)
        for node in range(nodes - 1, -1, -1):
            reads[:, node] = reads[:, plan.left[node]] | reads[:, plan.right[node]]
            reads[plan.variable_of[plan.test_of[node]], node] = True
        return reads

    def variable_changes(self, variable: int) -> int:
        """The mass of pairs for which a variable, in all its tests at once, changes the output."""
        plan = self.plan
        cells = self.columns[variable]
        own = np.flatnonzero(plan.variable_of == variable)
        truth = dict(zip(own.tolist(), cells.truth, strict=True))
        mass = self._cell_tables[variable][0].sum(axis=1).astype(np.int64)
        reads = self._reads[variable].tolist()
        left, right, tests = plan.left.tolist(), plan.right.tolist(), plan.test_of.tolist()
        ends: list[tuple[int, int, Array]] = []  # a subtree, the mass of cells, the rows
        stack = [(0, np.ones(cells.count, dtype=np.bool_), self.rows.everything)]
        while stack:
            node, allowed, rows = stack.pop()
            if not reads[node]:
                ends.append((node, int(mass[allowed].sum()), rows))
                continue
            test = tests[node]
            if test in truth:
                for child, kept in (
                    (left[node], allowed & truth[test]),
                    (right[node], allowed & ~truth[test]),
                ):
                    if mass[kept].any():
                        stack.append((child, kept, rows))
            else:
                inside = rows & self._tests[test]
                stack.append((left[node], allowed, inside))
                stack.append((right[node], allowed, rows ^ inside))
        nodes = np.array([end[0] for end in ends])
        apart = np.zeros((len(ends), self.rows.words), dtype=np.uint64)
        for digit in self._says:
            apart |= digit[nodes] ^ digit[0]
        apart &= np.stack([end[2] for end in ends])
        masses = np.array([end[1] for end in ends], dtype=np.int64)
        return int(np.dot(self.rows.masses(apart), masses))

    def joint_reach(self, nodes: Sequence[int]) -> int:
        """The mass of the rows that reach one of the nodes."""
        return int(self.rows.masses(np.bitwise_or.reduce(self._reached[list(nodes)], axis=0)))


class TreeEngine(FastEngine):
    """The fast engine, with the counts of a decision tree where the program is one."""

    @cached_property
    def _plan(self) -> TreePlan | None:
        exact = self._pairs is None and isinstance(self._loss, QuantitativeInputInfluence)
        counted = self.population.whole_weights and self.weights.max() < MOST_WEIGHT
        return tree_plan(self.program) if exact and counted else None

    @cached_property
    def _counts(self) -> TreeCounts:
        plan = self._plan
        assert plan is not None
        columns = []
        for variable, name in enumerate(plan.variables):
            tests = [plan.tests[i] for i in np.flatnonzero(plan.variable_of == variable)]
            columns.append(cells_of(self.frame.arrays[name], tests, self.vocabulary))
        return TreeCounts(plan, columns, [z for _, z in self.protected], self.weights)

    @cached_property
    def _by_point(self) -> tuple[dict[int, float], dict[int, float]]:
        """Influence and reach of what stands at each point of the tree."""
        plan = self._plan
        if plan is None:
            return {}, {}
        counts = self._counts
        points = np.concatenate([plan.points, plan.points + 1, plan.points + 2]).tolist()
        tests = counts.test_changes  # of a test, and of the variable in it
        changes = np.concatenate([counts.subtree_changes, tests, tests])
        influence = (changes / (self.total * self.total)).tolist()
        reach = (np.tile(counts.reach, 3) / self.total).tolist()
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
        if variable is not None:
            return self._counts.variable_changes(variable) / (self.total * self.total)
        return super().influence(spots)

    def _whole_variable(self, spots: Sequence[Spot]) -> int | None:
        """The variable whose occurrences these are, if they are all of one."""
        term = self.points.terms[spots[0].point]
        if self._plan is None or not isinstance(term, Var):
            return None
        variable = self._plan.variables.index(term.name)
        readers = self._plan.variable_of[self._plan.test_of] == variable
        return variable if np.count_nonzero(readers) == len(spots) else None

    def reach(self, spots: Sequence[Spot]) -> float:
        """The share of rows that evaluate at least one of the positions."""
        if self._plan is None:
            return super().reach(spots)
        if len(spots) == 1:
            return self._by_point[1][spots[0].point]
        nodes = [self._plan.node_at[spot.point] for spot in spots]
        return self._counts.joint_reach(nodes) / self.total

    def associations(self, terms: Sequence[Term], measure: Association) -> Array:
        """The association of each computation with each protected attribute."""
        plan = self._plan
        if plan is None:
            return super().associations(terms, measure)
        found = np.empty((len(terms), len(self._names)))
        tests = [associations_of(measure, table) for table in self._counts.test_tables]
        subtrees = [associations_of(measure, table) for table in self._counts.subtree_tables]
        others = []
        for place, term in enumerate(terms):
            if term.digest in plan.test_of_term:
                test = plan.test_of_term[term.digest]
                found[place] = [column[test] for column in tests]
            elif term.digest in plan.node_of_term:
                node = plan.node_of_term[term.digest]
                found[place] = [column[node] for column in subtrees]
            else:
                others.append(place)
        found[others] = super().associations([terms[place] for place in others], measure)
        return found

    def tables(self, term: Term) -> list[JointTable]:
        """The joint table with each protected attribute; long numbers are cut into bins."""
        plan = self._plan
        if plan is not None and term.digest in plan.test_of_term:
            place = plan.test_of_term[term.digest]
            both, tables = np.array([False, True]), self._counts.test_tables
            return [self._table(i, table[place], both) for i, table in enumerate(tables)]
        if plan is not None and term.digest in plan.node_of_term:
            place = plan.node_of_term[term.digest]
            said = np.concatenate([constant(v, self.vocabulary) for v in plan.classes])
            tables = self._counts.subtree_tables
            return [self._table(i, table[place], said) for i, table in enumerate(tables)]
        return super().tables(term)

    def _table(self, protected: int, masses: Array, values: Array) -> JointTable:
        name, columns = self._names[protected]
        present = masses.sum(axis=1) > 0
        support = Support(np.empty(0, dtype=np.intp), values[present])
        return JointTable(masses[present], name, columns, support, self.vocabulary)
