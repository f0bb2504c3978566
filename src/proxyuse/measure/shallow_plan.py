"""Trees with few leaves, laid out for finding a row's leaf from every node of a tree at once.

From the last node of a tree to the first, the leaf of a node is that of the child to which the
row goes: one comparison and one choice, for many rows at a time. For each node and each leaf there
is a slot with one place a row; the leaves' slots come first and are the same for all trees, since
leaves are counted from each tree's first.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from proxyuse.lang.evaluate import Array
from proxyuse.measure.forest_plan import ForestPlan
from proxyuse.measure.forest_wiring import Wiring

MOST_LEAVES = 400  # of a tree; from about there on, walking where it matters takes less time
ROWS = 32  # that are worked on at a time


class Slots(NamedTuple):
    """Trees whose nodes know their children's slots.

    Attributes
    ----------
    nodes : for each node, where its column of codes begins, the cut below which a row goes to the
        left, and where the slots of the children to the left and to the right begin.
    first_node, first_leaf : where each tree's nodes and leaves begin, and the end of the last.
    leaves, total : how many slots are leaves, and how many there are.
    tree_of, leaf_from, leaf_to : of each node, its tree and the leaves below it.
    unit, scores : the leaves' scores in units and rounded down, so that what all nodes on all
        paths of a row add fits into 30 bits.
    """

    nodes: Array
    first_node: Array
    first_leaf: Array
    leaves: int
    total: int
    tree_of: Array
    leaf_from: Array
    leaf_to: Array
    unit: int
    scores: Array


def slots_of(plan: ForestPlan, wiring: Wiring) -> Slots | None:
    """The slots of trees that all have few leaves, else None."""
    leaves, nodes = (int(np.diff(first).max()) for first in (plan.first_leaf, plan.first_node))
    if leaves > MOST_LEAVES:
        return None
    inner, leaf = plan.first_node[plan.tree_of, None], plan.first_leaf[plan.tree_of, None]
    children = wiring.nodes[:, 2:]
    slot = np.where(children >= 0, leaves + children - inner, -1 - children - leaf)
    table = np.column_stack([wiring.nodes[:, 0] * ROWS, wiring.nodes[:, 1], slot * ROWS])
    ends = plan.first_leaf[:-1]
    spans = [f.reduceat(plan.scores[:, 0], ends) for f in (np.maximum, np.minimum)]
    heights = int(np.diff(plan.pairs.first).max())
    most = heights * (int((spans[0] - spans[1]).sum()) + 1)
    unit = 1 << max(0, most.bit_length() - 30)
    return Slots(
        nodes=table.astype(np.int32),
        first_node=plan.first_node.astype(np.int32),
        first_leaf=plan.first_leaf.astype(np.int32),
        leaves=leaves,
        total=leaves + nodes,
        tree_of=plan.tree_of,
        leaf_from=plan.leaf_from,
        leaf_to=plan.leaf_to,
        unit=unit,
        scores=plan.scores[:, 0] // unit,
    )


def paths(plan: ForestPlan, slots: Slots, holes: Array) -> tuple[Array, Array, Array]:
    """For each leaf, where its steps begin; there is one for each node of a hole above it.

    Of each step the hole, and where the slot of the node's child on the other side begins.
    """
    hole = holes[plan.pairs.node]
    chosen = np.flatnonzero(hole >= 0)
    node, leaf = plan.pairs.node[chosen], plan.pairs.leaf[chosen]
    first = np.searchsorted(leaf, np.arange(len(plan.leaves) + 1))
    # A leaf's own child of a node is the next node above the leaf, or the leaf itself.
    below = np.append(plan.pairs.node[1:], -1)[chosen]
    last = chosen == plan.pairs.first[leaf + 1] - 1
    tree = plan.tree_of[node]
    own = np.where(last, leaf - plan.first_leaf[tree], slots.leaves + below - plan.first_node[tree])
    other = np.where(slots.nodes[node, 2] == own * ROWS, slots.nodes[node, 3], slots.nodes[node, 2])
    return first.astype(np.int32), hole[chosen].astype(np.int32), other.astype(np.int32)
