"""Counting a decision tree on bitsets, a block of rows at a time.

A set of rows is n/64 machine words. Three kinds of bitset say everything about a tree: G, the
rows for which a test holds; V, what a subtree says (a bit a row, or a few for several classes);
S, the rows that reach a node. V follows from the leaves up, ``V = R ^ ((L ^ R) & G)``, S from the
root down. Every count is a number of bits in some combination of them, and counts of blocks of
rows add up, so the memory that row sets need is that of one block.

Cost: O(m n / 64) word operations for m inner nodes, and as many for the walks of the variables as
they have row sets. Whole-number weights count through their binary digits, once for each.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from proxyuse.lang.evaluate import Array
from proxyuse.measure.cells import Cells
from proxyuse.measure.support import Support
from proxyuse.measure.tree_plan import Ends, TreePlan, Walk

BLOCK = 1 << 14  # rows; a multiple of 64


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


@dataclass(slots=True, eq=False)
class TreeCounts:
    """Masses of rows, which add up over blocks.

    Attributes
    ----------
    reach : by node, of the rows that reach it.
    holding, failing : by node, of the rows that reach it and whose branches differ, where its
        test holds and where it does not.
    said : by node and class but the first, of all rows.
    said_reached : the same, of the rows that reach the node.
    said_with : for each protected attribute, by node, class and value but the first ones.
    ends : for each variable, by end of its walk, of the rows whose output there is another one.
    variable_reach : by variable, of the rows that evaluate one of its tests.
    """

    reach: Array
    holding: Array
    failing: Array
    said: Array
    said_reached: Array
    said_with: list[Array]
    ends: list[Array]
    variable_reach: Array

    def __iadd__(self, other: TreeCounts) -> TreeCounts:
        self.reach += other.reach
        self.holding += other.holding
        self.failing += other.failing
        self.said += other.said
        self.said_reached += other.said_reached
        self.variable_reach += other.variable_reach
        for mine, theirs in zip(self.said_with, other.said_with, strict=True):
            mine += theirs
        for mine, theirs in zip(self.ends, other.ends, strict=True):
            mine += theirs
        return self


class Workspace:
    """Arrays for one size of block, used again for each: fresh memory costs more than counting.

    Attributes
    ----------
    holds : G, for each test the rows for which it holds.
    at_node : the same for each node.
    says : V, for each node, and each class as a leaf, what it says, a binary digit at a time.
    reached : S, for each node the rows that reach it.
    walked : the row sets of the variables' walks.
    """

    def __init__(self, plan: TreePlan, walk: Walk, words: int) -> None:
        nodes, classes = len(plan.points), len(plan.classes)
        self.words = words
        self.holds = np.zeros((len(plan.tests), words), dtype=np.uint64)
        self.at_node = np.empty((nodes, words), dtype=np.uint64)
        digits = (classes - 1).bit_length()
        self.says = np.zeros((digits, nodes + classes, words), dtype=np.uint64)
        self.reached = np.empty((nodes, words), dtype=np.uint64)
        self.walked = np.empty((walk.slots, words), dtype=np.uint64)

    def fill(self, plan: TreePlan, walk: Walk, columns: Sequence[Cells], rows: RowSets) -> None:
        """Compute all row sets of a block."""
        self._fill_tests(plan, columns)
        self._fill_subtrees(plan, rows)
        self._fill_reached(plan, rows)
        self._fill_walked(walk, rows)

    def _fill_tests(self, plan: TreePlan, columns: Sequence[Cells]) -> None:
        for variable, cells in enumerate(columns):
            own = np.flatnonzero(plan.variable_of == variable)
            counts = cells.truth.sum(axis=1)
            # Most tests hold in the lowest few cells, and are settled by a comparison.
            lowest = (np.arange(cells.count) < counts[:, None]) == cells.truth
            rows = cells.codes < counts.astype(cells.codes.dtype)[:, None]
            for test in np.flatnonzero(~lowest.all(axis=1)):
                rows[test] = cells.truth[test][cells.codes]
            packed = np.packbits(rows, axis=1, bitorder="little")
            self.holds.view(np.uint8)[own, : packed.shape[1]] = packed
        np.take(self.holds, plan.test_of, axis=0, out=self.at_node)

    def _fill_subtrees(self, plan: TreePlan, rows: RowSets) -> None:
        """From the leaves up: ``V = R ^ ((L ^ R) & G)``."""
        nodes = len(plan.points)
        for (place, digit), c in product(enumerate(self.says), range(len(plan.classes))):
            if c >> place & 1:
                digit[nodes + c] = rows.everything
        for level in reversed(plan.depths):
            left, right, holds = plan.left[level], plan.right[level], self.at_node[level]
            for digit in self.says:
                other = digit[right]
                digit[level] = other ^ ((digit[left] ^ other) & holds)

    def _fill_reached(self, plan: TreePlan, rows: RowSets) -> None:
        """From the root down."""
        nodes = len(plan.points)
        self.reached[0] = rows.everything
        for level in plan.depths:
            here = self.reached[level]
            inside = here & self.at_node[level]
            for children, sets in ((plan.left[level], inside), (plan.right[level], here ^ inside)):
                inner = children < nodes
                self.reached[children[inner]] = sets[inner]

    def _fill_walked(self, walk: Walk, rows: RowSets) -> None:
        self.walked[0] = rows.everything
        for level in walk.levels:
            here = self.walked[level.parents]
            inside = here & self.holds[level.tests]
            self.walked[level.inside] = inside
            self.walked[level.outside] = here ^ inside


def count_tree(
    plan: TreePlan,
    columns: Sequence[Cells],
    protected: Sequence[Support],
    weights: Array,
    block_rows: int = BLOCK,
) -> TreeCounts:
    """Count all rows, a block of them (a multiple of 64) at a time."""
    walk = plan.walk([cells.truth for cells in columns])
    total: TreeCounts | None = None
    space: Workspace | None = None
    for start in range(0, len(weights), block_rows):
        block = slice(start, start + block_rows)
        rows = RowSets(weights[block])
        if space is None or space.words != rows.words:
            space = Workspace(plan, walk, rows.words)
        space.fill(plan, walk, [Cells(c.codes[block], c.truth) for c in columns], rows)
        values = [[rows.packed(z.codes[block] == v) for v in range(1, len(z))] for z in protected]
        counted = _counts(plan, walk, space, rows, values)
        if total is None:
            total = counted
        else:
            total += counted
    assert total is not None
    return total


def _counts(
    plan: TreePlan, walk: Walk, space: Workspace, rows: RowSets, values: list[list[Array]]
) -> TreeCounts:
    """The masses of all row sets of a block; `values` are those of the protected values."""
    reached = space.reached
    apart = np.zeros_like(reached)
    for digit in space.says:
        apart |= digit[plan.left] ^ digit[plan.right]
    apart &= reached
    different = rows.masses(apart)
    apart &= space.at_node
    holding = rows.masses(apart)
    classes = list(_class_sets(plan, space.says))
    said_with = []
    for sets in values:
        table = np.zeros((len(plan.points), len(classes), len(sets)), dtype=np.int64)
        for (c, said), (v, value) in product(enumerate(classes), enumerate(sets)):
            table[:, c, v] = rows.masses(said & value)
        said_with.append(table)
    readers = [plan.readers(variable) for variable in range(len(plan.variables))]
    read = np.stack([np.bitwise_or.reduce(reached[nodes], axis=0) for nodes in readers])
    return TreeCounts(
        reach=rows.masses(reached),
        holding=holding,
        failing=different - holding,
        said=np.stack([rows.masses(said) for said in classes], axis=1),
        said_reached=np.stack([rows.masses(said & reached) for said in classes], axis=1),
        said_with=said_with,
        ends=[_end_counts(ends, space, rows) for ends in walk.ends],
        variable_reach=rows.masses(read),
    )


def _class_sets(plan: TreePlan, says: Array) -> Iterator[Array]:
    """For each class but the first the rows of which each node says it."""
    digits = [digit[: len(plan.points)] for digit in says]
    for c in range(1, len(plan.classes)):
        first = c.bit_length() - 1  # a digit that is 1 in this class
        rows = digits[first]
        for place, digit in enumerate(digits):
            if place != first:
                rows = rows & (digit if c >> place & 1 else ~digit)
        yield rows


def _end_counts(ends: Ends, space: Workspace, rows: RowSets) -> Array:
    """For each end of a walk the rows there that say something else than before."""
    apart = np.zeros((len(ends.nodes), rows.words), dtype=np.uint64)
    for digit in space.says:
        apart |= digit[ends.nodes] ^ digit[0]
    apart &= space.walked[ends.slots]
    return rows.masses(apart)
