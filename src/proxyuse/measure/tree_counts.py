"""Counting a decision tree on bitsets, a block of rows at a time.

A set of rows is n/64 machine words. Three kinds of bitset say everything about a tree: G, the
rows for which a test holds; V, what a subtree says (a bit a row, or a few for several classes);
S, the rows that reach a node. V follows from the leaves up, ``V = R ^ ((L ^ R) & G)``, S from the
root down. Every count is a number of bits in some combination of them, and counts of blocks of
rows add up, so memory is bounded by the block.

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
from proxyuse.measure.tree_plan import TreePlan, Walk

BLOCK = 1 << 16  # rows; a multiple of 64


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
        self.pack(rows, words)
        return words

    def pack(self, rows: Array, words: Array) -> None:
        """Write a boolean array into words that are zero."""
        packed = np.packbits(rows, bitorder="little")
        words.view(np.uint8)[: len(packed)] = packed

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


def count_tree(
    plan: TreePlan, columns: Sequence[Cells], protected: Sequence[Support], weights: Array
) -> TreeCounts:
    """Count all rows, block by block."""
    walk = plan.walk([cells.truth for cells in columns])
    total: TreeCounts | None = None
    for start in range(0, len(weights), BLOCK):
        rows = slice(start, start + BLOCK)
        counted = _count_block(
            plan,
            walk,
            [Cells(cells.codes[rows], cells.truth) for cells in columns],
            [(z.codes[rows], len(z)) for z in protected],
            RowSets(weights[rows]),
        )
        if total is None:
            total = counted
        else:
            total += counted
    assert total is not None
    return total


def _count_block(
    plan: TreePlan,
    walk: Walk,
    columns: Sequence[Cells],
    protected: Sequence[tuple[Array, int]],
    rows: RowSets,
) -> TreeCounts:
    holds = _test_sets(plan, columns, rows)
    at_node = holds[plan.test_of]
    says = _subtree_sets(plan, at_node, rows)
    reached = _reach_sets(plan, at_node, rows)

    apart = np.zeros_like(reached)
    for digit in says:
        apart |= digit[plan.left] ^ digit[plan.right]
    apart &= reached
    different = rows.masses(apart)
    apart &= at_node
    holding = rows.masses(apart)

    classes = list(_class_sets(plan, says))
    said_with = []
    for codes, count in protected:
        values = [rows.packed(codes == code) for code in range(1, count)]
        table = np.zeros((len(plan.points), len(classes), count - 1), dtype=np.int64)
        for (c, said), (v, value) in product(enumerate(classes), enumerate(values)):
            table[:, c, v] = rows.masses(said & value)
        said_with.append(table)
    return TreeCounts(
        reach=rows.masses(reached),
        holding=holding,
        failing=different - holding,
        said=np.stack([rows.masses(said) for said in classes], axis=1),
        said_reached=np.stack([rows.masses(said & reached) for said in classes], axis=1),
        said_with=said_with,
        ends=_end_counts(walk, holds, says, rows),
        variable_reach=np.array(
            [
                rows.masses(np.bitwise_or.reduce(reached[plan.readers(variable)], axis=0))
                for variable in range(len(plan.variables))
            ],
            dtype=np.int64,
        ),
    )


def _test_sets(plan: TreePlan, columns: Sequence[Cells], rows: RowSets) -> Array:
    """G: for each test the rows for which it holds."""
    sets = np.zeros((len(plan.tests), rows.words), dtype=np.uint64)
    for variable, cells in enumerate(columns):
        own = np.flatnonzero(plan.variable_of == variable)
        for test, holds in zip(own, cells.truth, strict=True):
            count = int(holds.sum())
            lowest = bool(holds[:count].all())  # most tests hold in the lowest few cells
            rows.pack(cells.codes < count if lowest else holds[cells.codes], sets[test])
    return sets


def _subtree_sets(plan: TreePlan, at_node: Array, rows: RowSets) -> Array:
    """V: for each node, and each class as a leaf, what it says, a binary digit at a time."""
    nodes = len(plan.points)
    digits = (len(plan.classes) - 1).bit_length()
    says = np.zeros((digits, nodes + len(plan.classes), rows.words), dtype=np.uint64)
    for place, c in product(range(digits), range(len(plan.classes))):
        if c >> place & 1:
            says[place, nodes + c] = rows.everything
    for level in reversed(plan.depths):
        left, right, holds = plan.left[level], plan.right[level], at_node[level]
        for digit in says:
            other = digit[right]
            digit[level] = other ^ ((digit[left] ^ other) & holds)
    return says


def _reach_sets(plan: TreePlan, at_node: Array, rows: RowSets) -> Array:
    """S: for each node the rows that reach it."""
    nodes = len(plan.points)
    reached = np.empty((nodes, rows.words), dtype=np.uint64)
    reached[0] = rows.everything
    for level in plan.depths:
        here = reached[level]
        inside = here & at_node[level]
        for children, sets in ((plan.left[level], inside), (plan.right[level], here ^ inside)):
            inner = children < nodes
            reached[children[inner]] = sets[inner]
    return reached


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


def _end_counts(walk: Walk, holds: Array, says: Array, rows: RowSets) -> list[Array]:
    """For each variable and end of its walk the rows there that say something else than before."""
    sets = np.empty((walk.slots, rows.words), dtype=np.uint64)
    sets[0] = rows.everything
    for level in walk.levels:
        here = sets[level.parents]
        inside = here & holds[level.tests]
        sets[level.inside] = inside
        sets[level.outside] = here ^ inside
    counts = []
    for ends in walk.ends:
        apart = np.zeros((len(ends.nodes), rows.words), dtype=np.uint64)
        for digit in says:
            apart |= digit[ends.nodes] ^ digit[0]
        apart &= sets[ends.slots]
        counts.append(rows.masses(apart))
    return counts
