"""Count the rows of a forest, block by block.

A `Block` holds some rows as integers. The counts of a block are arrays that add up over blocks, in
any order and in any process. A plan and a block are plain arrays, so both can be pickled. Weights
become masses in fixed point (`proxyuse.measure.fixed_point`), so sums do not depend on the order of
addition.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from proxyuse.lang.evaluate import Array
from proxyuse.measure.fixed_point import TOTAL_BITS
from proxyuse.measure.forests.plan import ForestPlan

BLOCK = 1 << 13
_LIMB = 11  # bits of a mass that can be multiplied with others and added up in 63 bits


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Some rows of the population, as integers.

    Attributes
    ----------
    codes : the code of each row in each column of the plan.
    masses : the mass of each row.
    attributes : for each protected attribute, the code of each row's value.
    """

    codes: Array
    masses: Array
    attributes: Array

    def __len__(self) -> int:
        return len(self.masses)


class RowOutcomes(NamedTuple):
    """The leaves, scores and outputs of the rows of a block.

    Attributes
    ----------
    ends : the leaf of each row in each tree (trees x rows).
    leads : the lead of each class over the first class, by row.
    classes : the class of each row; 0 if the output is a number.
    totals : the program's own sums, by row.
    margin : the smallest change of leads that can change the row's output.
    """

    ends: Array
    leads: Array
    classes: Array
    totals: Array
    margin: Array


def product(first: Array, second: Array) -> int:
    """Return the exact dot product of two columns of masses."""
    if float(first.sum()) * float(second.max(initial=0)) < 2.0**62:
        return int(np.dot(first, second))
    limbs = range(0, TOTAL_BITS + 1, _LIMB)
    mask = (1 << _LIMB) - 1
    return sum(int(np.dot(first, second >> low & mask)) << low for low in limbs)


def decide_rows(plan: ForestPlan, block: Block) -> RowOutcomes:
    """Walk the rows of a block through all trees, in O(rows x trees x depth)."""
    from proxyuse.measure.forests import loops  # loads numba

    forest, decision, rows = plan.forest, plan.decision, len(block)
    ends = np.empty((len(forest.starts), rows), dtype=np.int32)
    loops.find_all_leaves(plan.code_ranges.nodes, block.codes, forest.starts, ends)
    outcomes = RowOutcomes(
        ends,
        np.empty((rows, len(decision.base)), dtype=np.int64),
        np.empty(rows, dtype=np.int64),
        np.empty((rows, len(decision.sums.columns))),
        np.empty(rows, dtype=np.int64),
    )
    loops.decide_rows(
        decision.sums, decision.scores, decision.base, decision.slack, ends, *outcomes[1:]
    )
    return outcomes


class Passing(NamedTuple):
    """The mass that ends at each leaf, and the mass at each node whose output it might change."""

    by_leaf: Array
    near: Array


def count_passing(plan: ForestPlan, block: Block, outcomes: RowOutcomes) -> Passing:
    """Count the mass at each leaf and bound what each single node can change.

    O(rows x trees x depth).
    """
    from proxyuse.measure.forests import loops  # loads numba

    forest = plan.forest
    by_leaf = np.zeros(len(forest.leaves), dtype=np.int64)
    loops.add_by_leaf(outcomes.ends, block.masses, by_leaf)
    near = np.zeros((len(forest.test), 2), dtype=np.int64)
    low, high, span, tree_span = plan.extremes
    loops.bound_singles(
        forest.then, forest.spans.parent, forest.spans.leaf_parent, span, low, high, tree_span,
        plan.decision.scores, plan.directed, outcomes.leads, outcomes.ends, outcomes.margin,
        block.masses, near,
    )  # fmt: skip
    return Passing(by_leaf, near)


class Meeting(NamedTuple):
    """For computations at several nodes: the mass they might change, and the mass they reach."""

    near: Array
    reach: Array


def count_meeting(
    plan: ForestPlan, block: Block, outcomes: RowOutcomes, number: Array, count: int
) -> Meeting:
    """Bound what computations at several nodes can change.

    `number` holds the index of the computation at each node, or -1.
    """
    from proxyuse.measure.forests import loops  # loads numba

    forest = plan.forest
    meeting = Meeting(np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64))
    trees = np.unique(plan.tree_of[number >= 0])
    loops.bound_together(
        number, forest.spans.parent, forest.spans.leaf_parent, plan.extremes.span, trees,
        outcomes.ends, outcomes.margin, block.masses, *meeting,
    )  # fmt: skip
    return meeting


class Intervention(NamedTuple):
    """An intervention: the tests at some nodes read other values than the row's own.

    Attributes
    ----------
    mask : whether each node is intervened on.
    trees : the trees with such nodes.
    first, down, up : see `intervention_loops.find_first_intervened`.
    """

    mask: Array
    trees: Array
    first: Array
    down: Array
    up: Array

    @property
    def bytes(self) -> int:
        """The memory of the arrays."""
        return sum(array.nbytes for array in self)

    @classmethod
    def at(cls, plan: ForestPlan, nodes: Array, *, opposite: bool = False) -> Intervention:
        """Intervene at some nodes; with `opposite`, all their tests give the opposite answer.

        Linear in the number of nodes of the affected trees.
        """
        from proxyuse.measure.forests import intervention_loops  # loads numba

        forest = plan.forest
        mask = np.zeros(len(forest.test), dtype=np.uint8)
        mask[nodes] = 1
        leaves = len(forest.leaves)
        intervention = cls(
            mask,
            np.unique(plan.tree_of[nodes]),
            np.full(leaves, -1, dtype=np.int32),
            np.zeros(leaves, dtype=np.int64),
            np.zeros(leaves, dtype=np.int64),
        )
        low, high, span, _ = plan.extremes
        intervention_loops.find_first_intervened(
            mask, intervention.trees, forest.first_node, forest.then, forest.otherwise,
            forest.spans.parent, low, high, span, plan.decision.scores, plan.directed, opposite,
            *intervention[2:],
        )  # fmt: skip
        return intervention


def changeable_rows(outcomes: RowOutcomes, intervention: Intervention) -> tuple[Array, Array]:
    """Return a mask of the rows that an intervention reaches, and the rows it might change."""
    from proxyuse.measure.forests import intervention_loops  # loads numba

    met, changeable = (np.zeros(len(outcomes.margin), dtype=np.bool_) for _ in range(2))
    intervention_loops.find_changeable(
        intervention.first, intervention.down, intervention.up, intervention.trees,
        outcomes.ends, outcomes.leads, outcomes.margin, met, changeable,
    )  # fmt: skip
    return met, np.flatnonzero(changeable)


def count_reach(
    plan: ForestPlan, block: Block, outcomes: RowOutcomes, bits: Array, count: int
) -> Array:
    """Return the mass that reaches each of some computations.

    `bits` has one row per 64 computations, with a bit set at each node of a computation. The cost
    per 64 computations is O(rows x trees), plus one pass over the nodes.
    """
    from proxyuse.measure.forests import intervention_loops  # loads numba

    forest = plan.forest
    reach = np.zeros(len(bits) * 64, dtype=np.int64)
    for index, own in enumerate(bits):
        intervention_loops.add_reach(
            own, forest.first_node, forest.then, forest.otherwise, forest.spans.parent,
            outcomes.ends, block.masses, reach[64 * index : 64 * (index + 1)],
        )  # fmt: skip
    return reach[:count]


def count_intervened(
    plan: ForestPlan, block: Block, outcomes: RowOutcomes, intervention: Intervention,
    rows: Array, others: Array, chosen: Array,
) -> Array:  # fmt: skip
    """Return whether rows change their output if the intervened tests read other rows' codes."""
    from proxyuse.measure.forests import intervention_loops  # loads numba

    decision = plan.decision
    changed = np.zeros(len(rows), dtype=np.bool_)
    intervention_loops.count_intervened(
        plan.code_ranges.nodes, block.codes, rows, others, chosen, intervention.mask,
        intervention.first, intervention.trees, plan.forest.starts, decision.sums,
        decision.scores, decision.slack, outcomes.ends, outcomes.leads, outcomes.classes,
        first_totals(outcomes), changed,
    )  # fmt: skip
    return changed


def first_totals(outcomes: RowOutcomes) -> Array:
    """Return the program's sums with at least one column, as the compiled loops expect."""
    totals = outcomes.totals
    return totals if totals.shape[1] else np.zeros((len(totals), 1))


def cells_between(codes: Array, ranges: Array) -> Array:
    """Group codes so that codes in one group lie in the same ranges.

    Each range is given by its first code and its length. Codes outside all ranges are group 0.
    """
    firsts, ends = np.sort(ranges[:, 0]), np.sort(ranges.sum(axis=1))
    edges = np.unique(np.concatenate([firsts, ends]))
    holding = np.searchsorted(firsts, edges, "right") - np.searchsorted(ends, edges, "right")
    numbers = np.where(holding > 0, np.arange(1, len(edges) + 1), 0)
    return np.append(numbers, 0)[np.searchsorted(edges, codes, "right") - 1]


class SubtreeSwap(NamedTuple):
    """An intervention that replaces the value of one subtree, wherever it occurs.

    Attributes
    ----------
    nodes, trees : the roots of the occurrences, and their trees.
    shifts : for each occurrence, the offset of its leaves from those of the first occurrence.
    value_of : for each leaf of the first occurrence, the index of its distinct value.
    leaf_of : for each distinct value, one leaf of the first occurrence.
    order : the values sorted by score, if there is a single lead and all occurrences add the same
        to it; otherwise empty.
    """

    nodes: Array
    trees: Array
    shifts: Array
    value_of: Array
    leaf_of: Array
    order: Array

    @classmethod
    def at(cls, plan: ForestPlan, nodes: Array) -> SubtreeSwap:
        """Describe the subtree that occurs at all of these nodes."""
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


def count_values(plan: ForestPlan, block: Block, swap: SubtreeSwap) -> Array:
    """Return the index of the subtree's value for each row, including rows that do not reach it."""
    from proxyuse.lang import packed_loops  # loads numba

    leaves = np.empty(len(block), dtype=np.int32)
    node = int(swap.nodes[0])
    packed_loops.find_leaves(plan.code_ranges.nodes, block.codes, node, leaves)
    return np.asarray(swap.value_of[leaves - plan.forest.spans.first_leaf[node]])


def count_swap(
    plan: ForestPlan, block: Block, outcomes: RowOutcomes, swap: SubtreeSwap, masses: Array
) -> tuple[Array, Array, Array]:
    """Count what every value of a subtree changes.

    `masses` holds the masses of the values in the whole population.

    Returns
    -------
    The mass of the values that change each row's output, the mass of the rows that each value
    changes, and whether each row reaches the subtree.
    """
    from proxyuse.measure.forests import subtree_loops  # loads numba

    spans, decision = plan.forest.spans, plan.decision
    ends = outcomes.ends[swap.trees]
    low, high = (side[swap.nodes, None] for side in (spans.first_leaf, spans.last_leaf))
    inside = (ends >= low) & (ends < high)
    reached = np.asarray(inside.any(axis=0))
    span = int(plan.extremes.span[swap.nodes].sum())
    rows = np.flatnonzero(reached & (outcomes.margin <= span))
    by_row = np.zeros(len(block), dtype=np.int64)
    by_value = np.zeros(len(masses), dtype=np.int64)
    values = (
        rows, np.ascontiguousarray(inside[:, rows]), swap.trees, swap.shifts,
        int(spans.first_leaf[swap.nodes[0]]), swap.value_of, swap.leaf_of,
    )  # fmt: skip
    where = (
        masses, decision.sums, decision.scores, decision.slack, outcomes.ends, outcomes.leads,
        outcomes.classes, first_totals(outcomes), block.masses, by_row,
    )  # fmt: skip
    if len(swap.order):
        upto = np.concatenate([[0], np.cumsum(masses[swap.order])])
        steps = np.zeros(len(upto), dtype=np.int64)
        subtree_loops.swap_sorted(*values, swap.order, upto, *where, steps, by_value)
        by_value[swap.order] += np.cumsum(steps)[:-1]
    else:
        subtree_loops.swap(*values, *where, by_value)
    return by_row, by_value, reached
