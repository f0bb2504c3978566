"""Counting rows of a forest, block by block.

A `Block` is some rows as whole numbers. What is counted of a block are arrays that add up over
blocks, in any order and in any process: a plan and a block are plain arrays, so both can be
pickled. Weights are masses in fixed point: whole weights stay as they are, others are multiples
of a small unit, so sums do not depend on the order in which they are added.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from proxyuse.lang.evaluate import Array
from proxyuse.measure.forests.plan import ForestPlan

BLOCK = 1 << 13
TOTAL_BITS = 40  # of all masses together, so that products of two can be added in two parts
_LOW = 20


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Some rows.

    Attributes
    ----------
    codes : of each row on each column of the plan.
    masses : of each row, a whole number.
    """

    codes: Array
    masses: Array

    def __len__(self) -> int:
        return len(self.masses)


class Standing(NamedTuple):
    """Where the rows of a block stand.

    Attributes
    ----------
    ends : the leaf at which each row ends, by tree.
    leads : by row and class.
    classes : the class of each row, 0 where the output is a number.
    totals : the program's own sums.
    room : by how much leads must change, at least, before the output does.
    """

    ends: Array
    leads: Array
    classes: Array
    totals: Array
    room: Array


def whole_masses(weights: Array) -> tuple[Array, int]:
    """Weights as whole numbers, and their sum.

    Whole weights are kept if they add up to less than ``2 ** TOTAL_BITS``. Others are rounded to
    multiples of a unit of which that many make the total: each share is off by less than
    ``n * 2 ** -TOTAL_BITS`` for n rows.
    """
    whole = np.rint(weights)
    if not np.array_equal(whole, weights) or weights.sum() >= 2.0**TOTAL_BITS:
        whole = np.rint(weights * (2.0**TOTAL_BITS / weights.sum()))
    masses = whole.astype(np.int64)
    return masses, int(masses.sum())


def product(first: Array, second: Array) -> int:
    """The sum of the products of two columns of masses, exactly."""
    high, low = second >> _LOW, second & ((1 << _LOW) - 1)
    return (int(np.dot(first, high)) << _LOW) + int(np.dot(first, low))


def stand(plan: ForestPlan, block: Block) -> Standing:
    """Let the rows of a block walk through all trees. O(rows x trees x depth)."""
    from proxyuse.measure.forests import loops  # loads numba

    forest, decision, rows = plan.forest, plan.decision, len(block)
    ends = np.empty((len(forest.starts), rows), dtype=np.int32)
    loops.find_all_leaves(plan.wiring.nodes, block.codes, forest.starts, ends)
    standing = Standing(
        ends,
        np.empty((rows, len(decision.base)), dtype=np.int64),
        np.empty(rows, dtype=np.int64),
        np.empty((rows, len(decision.sums.columns))),
        np.empty(rows, dtype=np.int64),
    )
    loops.stand(decision.sums, decision.scores, decision.base, decision.slack, ends, *standing[1:])
    return standing


class Passing(NamedTuple):
    """How much mass ends at each leaf, and passes each node near enough to another output."""

    by_leaf: Array
    near: Array


def count_passing(plan: ForestPlan, block: Block, standing: Standing) -> Passing:
    """Count where rows pass and what single positions might change. O(rows x trees x depth)."""
    from proxyuse.measure.forests import loops  # loads numba

    forest = plan.forest
    by_leaf = np.zeros(len(forest.leaves), dtype=np.int64)
    loops.add_by_leaf(standing.ends, block.masses, by_leaf)
    near = np.zeros((len(forest.test), 2), dtype=np.int64)
    below, trees = plan.spans
    loops.bound_singles(
        forest.then, forest.spans.parent, forest.spans.leaf_parent, below, *plan.extremes, trees,
        plan.decision.scores, plan.decision.is_number, plan.decision.slack, standing.classes,
        standing.ends, standing.room, block.masses, near,
    )  # fmt: skip
    return Passing(by_leaf, near)


class Meeting(NamedTuple):
    """Of computations at several nodes: the mass they might change, and that meets one of them."""

    near: Array
    reach: Array


def count_meeting(
    plan: ForestPlan, block: Block, standing: Standing, number: Array, count: int
) -> Meeting:
    """Bound what computations at several nodes change; `number` says which stands at a node."""
    from proxyuse.measure.forests import loops  # loads numba

    forest = plan.forest
    meeting = Meeting(np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64))
    trees = np.unique(plan.tree_of[number >= 0])
    loops.bound_together(
        number, forest.spans.parent, forest.spans.leaf_parent, plan.spans[0], trees,
        standing.ends, standing.room, block.masses, *meeting,
    )  # fmt: skip
    return meeting


class Hole(NamedTuple):
    """Some nodes whose tests are to look at something else: a mask, and the trees they are in."""

    nodes: Array
    mask: Array
    trees: Array

    @classmethod
    def at(cls, plan: ForestPlan, nodes: Array) -> Hole:
        """A hole at some nodes."""
        mask = np.zeros(len(plan.forest.test), dtype=np.uint8)
        mask[nodes] = 1
        return cls(nodes, mask, np.unique(plan.tree_of[nodes]))


def met_rows(plan: ForestPlan, standing: Standing, hole: Hole) -> Array:
    """Which rows meet a hole."""
    from proxyuse.measure.forests import loops  # loads numba

    spans = plan.forest.spans
    met = np.zeros(standing.ends.shape[1], dtype=np.bool_)
    loops.meet(hole.mask, spans.parent, spans.leaf_parent, hole.trees, standing.ends, met)
    return met


def movable_rows(plan: ForestPlan, standing: Standing, hole: Hole) -> tuple[Array, Array]:
    """Which rows meet a hole, and which of them it might change."""
    from proxyuse.measure.forests import loops  # loads numba

    spans, span = plan.forest.spans, plan.spans[0]
    moves = np.full(standing.ends.shape[1], -1, dtype=np.int64)
    if len(hole.nodes) == 1:
        node = int(hole.nodes[0])
        ends = standing.ends[plan.tree_of[node]]
        moves[(ends >= spans.first_leaf[node]) & (ends < spans.last_leaf[node])] = span[node]
        return moves >= 0, np.flatnonzero(moves >= standing.room)
    loops.potential(
        hole.mask, spans.parent, spans.leaf_parent, span, hole.trees, standing.ends, moves
    )
    return moves >= 0, np.flatnonzero(moves >= standing.room)


def count_held(
    plan: ForestPlan, block: Block, standing: Standing, hole: Hole, rows: Array, others: Array,
    chosen: Array,
) -> Array:  # fmt: skip
    """Whether rows change their output if the tests in a hole look at other rows' codes."""
    from proxyuse.measure.forests import loops  # loads numba

    decision = plan.decision
    changed = np.zeros(len(rows), dtype=np.bool_)
    loops.count_held(
        plan.wiring.nodes, block.codes, rows, others, chosen, hole.mask, hole.trees,
        plan.forest.starts, decision.sums, decision.scores, decision.slack, standing.ends,
        standing.leads, standing.classes, _first_totals(standing), changed,
    )  # fmt: skip
    return changed


def _first_totals(standing: Standing) -> Array:
    """The sums, with one column at least."""
    totals = standing.totals
    return totals if totals.shape[1] else np.zeros((len(totals), 1))


class Cells(NamedTuple):
    """The codes of a column that occur, with their masses, and how many are below each code."""

    codes: Array
    masses: Array
    below: Array

    @classmethod
    def of(cls, codes: Array, masses: Array, count: int) -> Cells:
        """From the codes of all rows on one column; `count` codes there may be, from 0 on."""
        by_code = np.bincount(codes + 1, masses, minlength=count + 1).astype(np.int64)
        occur = np.bincount(codes + 1, minlength=count + 1) > 0
        below = np.concatenate([[0], np.cumsum(occur)]).astype(np.int64)
        at = np.flatnonzero(occur)
        return cls((at - 1).astype(np.int32), by_code[at], below)


def sweep(
    plan: ForestPlan, block: Block, standing: Standing, hole: Hole, rows: Array, column: int,
    cells: Cells,
) -> tuple[Array, Array]:  # fmt: skip
    """By row, the mass of a column's cells that change its output; by cell, that of the rows."""
    from proxyuse.measure.forests import loops  # loads numba

    decision = plan.decision
    by_row = np.zeros(len(block), dtype=np.int64)
    by_cell = np.zeros(len(cells.codes), dtype=np.int64)
    loops.sweep(
        plan.wiring.nodes, block.codes, rows, hole.mask, hole.trees, plan.forest.starts, column,
        cells.below, cells.codes, cells.masses, decision.sums, decision.scores, decision.slack,
        standing.ends, standing.leads, standing.classes, _first_totals(standing), block.masses,
        by_row, by_cell,
    )  # fmt: skip
    return by_row, by_cell


class Graft(NamedTuple):
    """One subtree at some nodes, and the values that it can take.

    Attributes
    ----------
    nodes, trees : where it stands.
    shifts : how much higher the same leaf's number is at each node than at the first.
    value_of : of all leaves of the first node, which distinct value each has.
    leaf_of : a leaf of the first node for each distinct value.
    """

    nodes: Array
    trees: Array
    shifts: Array
    value_of: Array
    leaf_of: Array

    @classmethod
    def at(cls, plan: ForestPlan, nodes: Array) -> Graft:
        """A subtree at all nodes where it stands."""
        spans = plan.forest.spans
        begin, end = int(spans.first_leaf[nodes[0]]), int(spans.last_leaf[nodes[0]])
        _, first, value_of = np.unique(
            plan.decision.sums.values[begin:end], axis=0, return_index=True, return_inverse=True
        )
        return cls(
            nodes,
            plan.tree_of[nodes],
            (spans.first_leaf[nodes] - begin).astype(np.int64),
            value_of.ravel().astype(np.int64),
            (begin + first).astype(np.int64),
        )


def count_values(plan: ForestPlan, block: Block, graft: Graft) -> Array:
    """Which of a subtree's values each row of a block has, whether it comes there or not."""
    from proxyuse.lang import packed_loops  # loads numba

    leaves = np.empty(len(block), dtype=np.int32)
    node = int(graft.nodes[0])
    packed_loops.find_leaves(plan.wiring.nodes, block.codes, node, leaves)
    return np.asarray(graft.value_of[leaves - plan.forest.spans.first_leaf[node]])


def count_graft(
    plan: ForestPlan, block: Block, standing: Standing, graft: Graft, masses: Array
) -> tuple[Array, Array, Array]:
    """By row, the mass of the values that change its output; by value, that of the rows.

    `masses` are those of the values in the whole population. With them, which rows come there.
    """
    from proxyuse.measure.forests import loops  # loads numba

    spans, decision = plan.forest.spans, plan.decision
    ends = standing.ends[graft.trees]
    low, high = (side[graft.nodes, None] for side in (spans.first_leaf, spans.last_leaf))
    inside = (ends >= low) & (ends < high)
    reached = np.asarray(inside.any(axis=0))
    span = int(plan.spans[0][graft.nodes].sum())
    rows = np.flatnonzero(reached & (standing.room <= span))
    by_row = np.zeros(len(block), dtype=np.int64)
    by_value = np.zeros(len(masses), dtype=np.int64)
    loops.graft(
        rows, np.ascontiguousarray(inside[:, rows]), graft.trees.astype(np.int64), graft.shifts,
        int(spans.first_leaf[graft.nodes[0]]), graft.value_of, graft.leaf_of, masses,
        decision.sums, decision.scores, decision.slack, standing.ends, standing.leads,
        standing.classes, _first_totals(standing), block.masses, by_row, by_value,
    )  # fmt: skip
    return by_row, by_value, reached


def subtree_groups(plan: ForestPlan) -> Array:
    """A number for each node; equal subtrees have the same one, different ones nearly always not.

    Subtrees are told apart by a 64-bit hash of their tests and leaf values.
    """
    from proxyuse.measure.forests import loops  # loads numba

    forest = plan.forest
    values = np.ascontiguousarray(plan.decision.sums.values + 0.0)  # no -0
    bits = values.view(np.uint64)
    hashes = np.empty(len(forest.test), dtype=np.uint64)
    loops.hash_subtrees(forest.test, forest.then, forest.otherwise, bits, hashes)
    return np.unique(hashes, return_inverse=True)[1]
