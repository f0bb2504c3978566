"""Counting a decision tree on bitsets, a block of rows at a time.

A set of rows is n/64 machine words. Three kinds of bitset say everything about a tree: G, the
rows for which a test holds; V, for each class but the first the rows for which a subtree says it;
S, the rows that reach a node. V follows from the leaves up, ``V = R ^ ((L ^ R) & G)``, S from the
root down. Every count is a number of bits in some combination of them, and counts of blocks of
rows add up, so the memory that row sets need is that of one block, and blocks can be counted in
several threads.

Whole-number weights count through their binary digits: what starts at the root are the rows
whose weight has the digit, for each digit in turn, and what is counted is worth 1, 2, 4, ...

Cost: O(m n / 64) word operations for m inner nodes, and as many for the walks of the variables as
they have row sets. Where that is much, and numba is there, compiled loops count the same several
times faster (`tree_kernel`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields

import numpy as np

from proxyuse.lang.evaluate import Array
from proxyuse.measure.cells import Cells
from proxyuse.measure.parallel import mapped
from proxyuse.measure.row_sets import packed
from proxyuse.measure.support import Support
from proxyuse.measure.tree_plan import TreePlan, Walk

BLOCK = 1 << 13  # rows that NumPy counts at a time
COMPILED_BLOCK = 1 << 16  # rows whose codes compiled loops are handed at a time
SECONDS_A_WORD = 2e-9  # that NumPy takes for one word of one row set, about


@dataclass(slots=True, eq=False)
class TreeCounts:
    """Masses of rows, which add up over blocks.

    Attributes
    ----------
    reach : by node, of the rows that reach it.
    taken : by node, of those of them for which its test holds.
    holding, failing : by node, of the rows that reach it and whose branches differ, where its
        test holds and where it does not.
    said : by node, class but the first, and set of rows: all, and then for each protected
        attribute each value but the first.
    ends : by end of the variables' walks, of the rows whose output there is another one.
    """

    reach: Array
    taken: Array
    holding: Array
    failing: Array
    said: Array
    ends: Array

    @classmethod
    def nothing(cls, plan: TreePlan, walk: Walk, values: int) -> TreeCounts:
        """Counts of no rows."""
        nodes = len(plan.points)
        reach, taken, holding, failing = np.zeros((4, nodes), dtype=np.int64)
        said = np.zeros((nodes, len(plan.classes) - 1, 1 + values), dtype=np.int64)
        ends = np.zeros(len(walk.end_nodes), dtype=np.int64)
        return cls(reach, taken, holding, failing, said, ends)

    def __iadd__(self, other: TreeCounts) -> TreeCounts:
        for field in fields(self):
            mine = getattr(self, field.name)
            mine += getattr(other, field.name)
        return self

    def said_where_reached(self, plan: TreePlan) -> Array:
        """By node and class the mass of the rows that reach it and of which it says the class.

        These are the rows that reach a leaf of the class inside it, and nodes are in preorder.
        """
        nodes = len(plan.points)
        leaves = np.zeros((nodes + 1, len(plan.classes)), dtype=np.int64)
        for children, masses in (
            (plan.left, self.taken),
            (plan.right, self.reach - self.taken),
        ):
            parents = np.flatnonzero(children >= nodes)
            leaves[parents + 1, children[parents] - nodes] += masses[parents]
        before = np.cumsum(leaves, axis=0)
        return np.asarray(before[plan.after] - before[:nodes])


@dataclass(frozen=True, slots=True, eq=False)
class CellSets:
    """Sets of rows that are told by the cells of one column: tests, and protected values.

    A row is in a set if its cell is below an odd number of the set's edges. (Most tests hold in
    the lowest few cells and have one edge.)

    Attributes
    ----------
    columns : the cells of each column.
    column_of : the column of each set.
    edges, starts : the edges of all sets, and where those of each set begin.
    """

    columns: list[Array]
    column_of: Array
    edges: Array
    starts: Array

    @classmethod
    def of(cls, plan: TreePlan, cells: Sequence[Cells], protected: Sequence[Support]) -> CellSets:
        """The sets of the tests, and after them those of the protected values but the first."""
        columns = [column.codes for column in cells] + [z.codes for z in protected]
        truths = [column.truth for column in cells]
        truths += [np.eye(len(z), dtype=np.bool_)[1:] for z in protected]
        values = np.repeat(np.arange(len(cells), len(columns)), [len(z) - 1 for z in protected])
        column_of = np.concatenate([plan.variable_of, values]).astype(np.intp)
        owners, edges = [], []
        for column, truth in enumerate(truths):
            beyond = np.zeros((len(truth), 1), dtype=np.bool_)
            own, cell = np.nonzero(truth != np.concatenate([truth[:, 1:], beyond], axis=1))
            owners.append(np.flatnonzero(column_of == column)[own])
            edges.append(cell + 1)
        owner = np.concatenate(owners)
        order = np.argsort(owner, kind="stable")
        starts = np.searchsorted(owner[order], np.arange(len(column_of) + 1))
        return cls(columns, column_of, np.concatenate(edges)[order], starts)

    def __len__(self) -> int:
        return len(self.column_of)

    def packed(self, block: slice, out: Array) -> None:
        """The sets of a block of rows, as words."""
        lengths = np.diff(self.starts)
        edge_columns = np.repeat(self.column_of, lengths)
        by_edge = np.zeros((len(self.edges), out.shape[1]), dtype=np.uint64)
        for number, codes in enumerate(self.columns):
            own = np.flatnonzero(edge_columns == number)
            rows = codes[block] < self.edges[own].astype(codes.dtype)[:, None]
            words = packed(rows)
            by_edge[own, : words.shape[1]] = words
        out[lengths == 0] = 0
        some = np.flatnonzero(lengths)
        out[some] = np.bitwise_xor.reduceat(by_edge, self.starts[some], axis=0)


def digits_of(weights: Array) -> Array:
    """For each binary digit of whole weights the rows that have it, as words."""
    whole = weights.astype(np.int64)
    places = np.arange(int(whole.max()).bit_length())
    return packed((whole >> places[:, None]) & 1 == 1)


def count_tree(
    plan: TreePlan,
    cells: Sequence[Cells],
    protected: Sequence[Support],
    weights: Array,
    *,
    threads: int = 1,
    block_rows: int | None = None,
    compiled: bool = False,
) -> TreeCounts:
    """Count all rows, a block of them (a multiple of 64) at a time, by compiled loops if told."""
    walk = plan.walk([column.truth for column in cells])
    sets = CellSets.of(plan, cells, protected)
    if compiled:
        from proxyuse.measure.tree_kernel import Kernel  # loads numba

        counter: type[Kernel | Workspace] = Kernel
    else:
        counter = Workspace
    size = block_rows or (COMPILED_BLOCK if compiled else BLOCK)
    starts = range(0, len(weights), size)

    def count(run: Iterable[int]) -> TreeCounts:
        space = counter(plan, walk, sets)
        for start in run:
            block = slice(start, min(start + size, len(weights)))
            space.count(block, weights[block])
        return space.counts

    total = TreeCounts.nothing(plan, walk, len(sets) - len(plan.tests))
    runs = min(threads, len(starts))
    for counts in mapped(count, [starts[i::runs] for i in range(runs)], runs):
        total += counts
    return total


def numpy_seconds(plan: TreePlan, rows: int, values: int) -> float:
    """How long NumPy counts, about, for so many rows and protected values."""
    row_sets = len(plan.points) * (17 + (len(plan.classes) - 1) * (values + 2))
    return SECONDS_A_WORD * row_sets * rows / 64


class Workspace:
    """Row sets of a block, in arrays that are used again for each: fresh memory is dear.

    Attributes
    ----------
    counts : what was counted so far.
    sets : G, for each test the rows for which it holds; then those of the protected values.
    says : V, by class but the first, for each node, and each class as a leaf.
    rows : S, for each node the rows that reach it; then those of the variables' walks.
    """

    def __init__(self, plan: TreePlan, walk: Walk, sets: CellSets) -> None:
        self.plan = plan
        self.walk = walk
        self.cell_sets = sets
        self.counts = TreeCounts.nothing(plan, walk, len(sets) - len(plan.tests))
        self._allocate(0)

    def _allocate(self, words: int) -> None:
        nodes, classes = len(self.plan.points), len(self.plan.classes)
        self.words = words
        self.sets = np.empty((len(self.cell_sets), words), dtype=np.uint64)
        self.at_node = np.empty((nodes, words), dtype=np.uint64)
        self.says = np.zeros((classes - 1, nodes + classes, words), dtype=np.uint64)
        for c, says in enumerate(self.says):
            says[nodes + c + 1] = ~np.uint64(0)
        self.rows = np.empty((self.walk.size, words), dtype=np.uint64)

    def count(self, block: slice, weights: Array) -> None:
        """Count a block of rows."""
        digits = digits_of(weights)
        if digits.shape[1] != self.words:
            self._allocate(digits.shape[1])
        self.cell_sets.packed(block, self.sets)
        np.take(self.sets, self.plan.test_of, axis=0, out=self.at_node)
        self._fill_subtrees()
        for place, rows in enumerate(digits):
            self._fill_reached(rows)
            self._fill_walked()
            self._add_nodes(place)
            self._add_subtrees(place, rows)
            self._add_ends(place)

    def _fill_subtrees(self) -> None:
        """From the leaves up: ``V = R ^ ((L ^ R) & G)``."""
        plan = self.plan
        for level in reversed(plan.depths):
            left, right, holds = plan.left[level], plan.right[level], self.at_node[level]
            for says in self.says:
                other = says[right]
                here = says[left]
                here ^= other
                here &= holds
                here ^= other
                says[level] = here

    def _fill_reached(self, everything: Array) -> None:
        """From the root down."""
        plan = self.plan
        self.rows[0] = everything
        for level in plan.depths:
            here = self.rows[level]
            inside = here & self.at_node[level]
            here ^= inside
            self.rows[plan.left[level]] = inside
            self.rows[plan.right[level]] = here

    def _fill_walked(self) -> None:
        for level in self.walk.levels:
            here = self.rows[level.parents]
            inside = self.sets[level.tests]
            inside &= here
            here ^= inside
            self.rows[level.inside] = inside
            self.rows[level.outside] = here

    def _add_nodes(self, place: int) -> None:
        plan, counts = self.plan, self.counts
        reached = self.rows[: len(plan.points)]
        counts.reach += _bits(reached) << place
        counts.taken += _bits(reached & self.at_node) << place
        apart = self._differing(plan.left, plan.right)
        apart &= reached
        different = _bits(apart)
        apart &= self.at_node
        holding = _bits(apart)
        counts.holding += holding << place
        counts.failing += (different - holding) << place

    def _add_subtrees(self, place: int, everything: Array) -> None:
        nodes, tests = len(self.plan.points), len(self.plan.tests)
        values = [everything, *(rows & everything for rows in self.sets[tests:])]
        for c, says in enumerate(self.says):
            for v, rows in enumerate(values):
                self.counts.said[:, c, v] += _bits(says[:nodes] & rows) << place

    def _add_ends(self, place: int) -> None:
        """For each end of a walk the rows there that say something else than before."""
        apart = self._differing(self.walk.end_nodes, np.zeros(1, dtype=np.intp))
        apart &= self.rows[self.walk.end_rows]
        self.counts.ends += _bits(apart) << place

    def _differing(self, nodes: Array, others: Array) -> Array:
        """The rows of which two nodes do not say the same."""
        first, *more = self.says
        apart = first[nodes] ^ first[others]
        for says in more:
            apart |= says[nodes] ^ says[others]
        return apart


def _bits(sets: Array) -> Array:
    """How many rows each set has."""
    return np.asarray(np.bitwise_count(sets).sum(axis=-1, dtype=np.int64))
