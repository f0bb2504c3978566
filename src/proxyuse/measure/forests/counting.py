"""Counting rows of a forest, block by block.

A `Block` is some rows as whole numbers. What is counted of a block are arrays that add up over
blocks, in any order and in any process: a plan and a block are plain arrays, so both can be
pickled. Weights are masses in fixed point (`proxyuse.measure.masses`), so sums do not depend on
the order in which they are added.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from proxyuse.lang.evaluate import Array
from proxyuse.measure.forests.plan import ForestPlan
from proxyuse.measure.masses import TOTAL_BITS

BLOCK = 1 << 13
_LIMB = 11  # bits of a mass that can be multiplied with others and added up in 63 bits


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Some rows.

    Attributes
    ----------
    codes : of each row on each column of the plan.
    masses : of each row, a whole number.
    attributes : the value of each protected attribute, as a number for each row.
    """

    codes: Array
    masses: Array
    attributes: Array

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


def product(first: Array, second: Array) -> int:
    """The sum of the products of two columns of masses, exactly."""
    if float(first.sum()) * float(second.max(initial=0)) < 2.0**62:
        return int(np.dot(first, second))
    limbs = range(0, TOTAL_BITS + 1, _LIMB)
    mask = (1 << _LIMB) - 1
    return sum(int(np.dot(first, second >> low & mask)) << low for low in limbs)


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
    low, high, span, tree_span = plan.extremes
    loops.bound_singles(
        forest.then, forest.spans.parent, forest.spans.leaf_parent, span, low, high, tree_span,
        plan.decision.scores, plan.directed, standing.leads, standing.ends, standing.room,
        block.masses, near,
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
        number, forest.spans.parent, forest.spans.leaf_parent, plan.extremes.span, trees,
        standing.ends, standing.room, block.masses, *meeting,
    )  # fmt: skip
    return meeting


class Hole(NamedTuple):
    """Some nodes whose tests look at something else.

    Attributes
    ----------
    mask, trees : which nodes these are, and the trees they are in.
    first, down, up : for each leaf; see `hole_loops.find_first_holes`.
    """

    mask: Array
    trees: Array
    first: Array
    down: Array
    up: Array

    @classmethod
    def at(cls, plan: ForestPlan, nodes: Array, *, opposite: bool = False) -> Hole:
        """A hole at some nodes; `opposite` if all its tests are to give the other answer.

        Linear in the nodes of its trees.
        """
        from proxyuse.measure.forests import hole_loops  # loads numba

        forest = plan.forest
        mask = np.zeros(len(forest.test), dtype=np.uint8)
        mask[nodes] = 1
        leaves = len(forest.leaves)
        hole = cls(
            mask,
            np.unique(plan.tree_of[nodes]),
            np.full(leaves, -1, dtype=np.int32),
            np.zeros(leaves, dtype=np.int64),
            np.zeros(leaves, dtype=np.int64),
        )
        low, high, span, _ = plan.extremes
        hole_loops.find_first_holes(
            mask, hole.trees, forest.first_node, forest.then, forest.otherwise,
            forest.spans.parent, low, high, span, plan.decision.scores, plan.directed, opposite,
            *hole[2:],
        )  # fmt: skip
        return hole


def movable_rows(standing: Standing, hole: Hole) -> tuple[Array, Array]:
    """Which rows pass a hole, and which of them it might change."""
    from proxyuse.measure.forests import hole_loops  # loads numba

    met, movable = (np.zeros(len(standing.room), dtype=np.bool_) for _ in range(2))
    hole_loops.find_movable(
        hole.first, hole.down, hole.up, hole.trees, standing.ends, standing.leads, standing.room,
        met, movable,
    )  # fmt: skip
    return met, np.flatnonzero(movable)


def count_reach(
    plan: ForestPlan, block: Block, standing: Standing, bits: Array, count: int
) -> Array:
    """The mass that passes a node of each of some computations.

    For each node and 64 computations at a time, `bits` says which of them stand there.
    O(rows x trees) for each 64, and a pass over the nodes for each block.
    """
    from proxyuse.measure.forests import hole_loops  # loads numba

    forest = plan.forest
    reach = np.zeros(len(bits) * 64, dtype=np.int64)
    for index, own in enumerate(bits):
        hole_loops.add_reach(
            own, forest.first_node, forest.then, forest.otherwise, forest.spans.parent,
            standing.ends, block.masses, reach[64 * index : 64 * (index + 1)],
        )  # fmt: skip
    return reach[:count]


def count_held(
    plan: ForestPlan, block: Block, standing: Standing, hole: Hole, rows: Array, others: Array,
    chosen: Array,
) -> Array:  # fmt: skip
    """Whether rows change their output if the tests in a hole look at other rows' codes."""
    from proxyuse.measure.forests import hole_loops  # loads numba

    decision = plan.decision
    changed = np.zeros(len(rows), dtype=np.bool_)
    hole_loops.count_held(
        plan.wiring.nodes, block.codes, rows, others, chosen, hole.mask, hole.first, hole.trees,
        plan.forest.starts, decision.sums, decision.scores, decision.slack, standing.ends,
        standing.leads, standing.classes, first_totals(standing), changed,
    )  # fmt: skip
    return changed


def first_totals(standing: Standing) -> Array:
    """The sums, with one column at least."""
    totals = standing.totals
    return totals if totals.shape[1] else np.zeros((len(totals), 1))


def cells_between(codes: Array, ranges: Array) -> Array:
    """A number for each code; codes with the same number are in the same of some ranges.

    Each range is its first code and how many there are. Codes in none of them have the number 0.
    """
    firsts, ends = np.sort(ranges[:, 0]), np.sort(ranges.sum(axis=1))
    edges = np.unique(np.concatenate([firsts, ends]))
    holding = np.searchsorted(firsts, edges, "right") - np.searchsorted(ends, edges, "right")
    numbers = np.where(holding > 0, np.arange(1, len(edges) + 1), 0)
    return np.append(numbers, 0)[np.searchsorted(edges, codes, "right") - 1]


class Graft(NamedTuple):
    """One subtree at some nodes, and the values that it can take.

    Attributes
    ----------
    nodes, trees : where it stands.
    shifts : how much higher the same leaf's number is at each node than at the first.
    value_of : of all leaves of the first node, which distinct value each has.
    leaf_of : a leaf of the first node for each distinct value.
    order : the values sorted by their score, if there is one lead to which the subtree adds the
        same wherever it stands; else empty.
    """

    nodes: Array
    trees: Array
    shifts: Array
    value_of: Array
    leaf_of: Array
    order: Array

    @classmethod
    def at(cls, plan: ForestPlan, nodes: Array) -> Graft:
        """A subtree at all nodes where it stands."""
        spans = plan.forest.spans
        begin, end = int(spans.first_leaf[nodes[0]]), int(spans.last_leaf[nodes[0]])
        _, first, value_of = np.unique(
            plan.decision.sums.values[begin:end], axis=0, return_index=True, return_inverse=True
        )
        scores, shifts = plan.decision.scores, (spans.first_leaf[nodes] - begin).astype(np.int64)
        own = scores[begin:end]
        same = all(np.array_equal(scores[begin + s : end + s], own) for s in shifts[1:].tolist())
        order = np.empty(0, dtype=np.int64)
        if scores.shape[1] == 1 and same:
            order = np.argsort(scores[begin + first, 0], kind="stable")
        return cls(
            nodes,
            plan.tree_of[nodes].astype(np.int64),
            shifts,
            value_of.ravel().astype(np.int64),
            (begin + first).astype(np.int64),
            order,
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
    from proxyuse.measure.forests import subtree_loops  # loads numba

    spans, decision = plan.forest.spans, plan.decision
    ends = standing.ends[graft.trees]
    low, high = (side[graft.nodes, None] for side in (spans.first_leaf, spans.last_leaf))
    inside = (ends >= low) & (ends < high)
    reached = np.asarray(inside.any(axis=0))
    span = int(plan.extremes.span[graft.nodes].sum())
    rows = np.flatnonzero(reached & (standing.room <= span))
    by_row = np.zeros(len(block), dtype=np.int64)
    by_value = np.zeros(len(masses), dtype=np.int64)
    values = (
        rows, np.ascontiguousarray(inside[:, rows]), graft.trees, graft.shifts,
        int(spans.first_leaf[graft.nodes[0]]), graft.value_of, graft.leaf_of,
    )  # fmt: skip
    where = (
        masses, decision.sums, decision.scores, decision.slack, standing.ends, standing.leads,
        standing.classes, first_totals(standing), block.masses, by_row,
    )  # fmt: skip
    if len(graft.order):
        upto = np.concatenate([[0], np.cumsum(masses[graft.order])])
        steps = np.zeros(len(upto), dtype=np.int64)
        subtree_loops.graft_line(*values, graft.order, upto, *where, steps, by_value)
        by_value[graft.order] += np.cumsum(steps)[:-1]
    else:
        subtree_loops.graft(*values, *where, by_value)
    return by_row, by_value, reached
