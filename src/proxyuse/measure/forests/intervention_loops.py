"""Compiled loops for an intervention: some nodes whose tests read other values.

In each tree, a row that passes no intervened node keeps its leaf. A row that passes one can leave
its path at the *first* intervened node, and then ends somewhere below it. An intervention is
therefore summarized by a few numbers per leaf: the first intervened node above the leaf, and how
far the leads of a row that ends there can move.

Importing this module loads numba.
"""

from __future__ import annotations

import numpy as np

from proxyuse.lang.compiled import called, compiled
from proxyuse.lang.evaluate import Array
from proxyuse.measure.forests.decision import Sums
from proxyuse.measure.forests.loops import UNSURE, changes, exactly_changes


@compiled
def find_first_intervened(
    intervened: Array, trees: Array, first_node: Array, then: Array, otherwise: Array,
    parent: Array, low: Array, high: Array, span: Array, scores: Array, directed: bool,
    opposite: bool, first: Array, down: Array, up: Array,
) -> None:  # fmt: skip
    """Find the first intervened node above each leaf, and how far leads can move.

    `first` is -1 for a leaf with no intervened node above it. If leads are `directed`, there is a
    single lead and it must cross zero: `down` and `up` are how far it can fall and rise.
    Otherwise both are how far any lead can move. Both are at least 1, because different leaf
    values can be equal in this unit. With `opposite`, every intervened test gives the opposite
    answer, so a row ends on the other side of the first one.

    Linear in the number of nodes.
    """
    for tree in trees:
        begin, end = first_node[tree], first_node[tree + 1]
        top = np.empty(end - begin, dtype=np.int32)
        side = np.zeros(end - begin, dtype=np.int8)
        for node in range(begin, end):
            above = parent[node]
            own = top[above - begin] if above >= 0 else -1
            if own >= 0:
                branch = side[above - begin]
                if own == above:
                    branch = 0 if then[above] == node else 1
                side[node - begin] = branch
            elif intervened[node]:
                own = node
            top[node - begin] = own
            for part in range(2):
                child = then[node] if part == 0 else otherwise[node]
                if child >= 0 or own < 0:
                    continue
                leaf = -1 - child
                first[leaf] = own
                if directed:
                    other = 2
                    if opposite:
                        other = 1 - (part if own == node else side[node - begin])
                    down[leaf] = max(1, scores[leaf, 0] - low[own, other])
                    up[leaf] = max(1, high[own, other] - scores[leaf, 0])
                else:
                    down[leaf] = up[leaf] = span[own]


@compiled
def find_changeable(
    first: Array, down: Array, up: Array, trees: Array, ends: Array, leads: Array, margin: Array,
    met: Array, changeable: Array,
) -> None:  # fmt: skip
    """Mark the rows that pass an intervened node, and those it can move beyond their margin."""
    moves = np.zeros(len(met), dtype=np.int64)
    for tree in trees:
        for row in range(len(met)):
            leaf = ends[tree, row]
            if first[leaf] >= 0:
                met[row] = True
                moves[row] += down[leaf] if leads[row, 0] > 0 else up[leaf]
    for row in range(len(met)):
        changeable[row] = met[row] and moves[row] >= margin[row]


@compiled
def add_reach(
    bits: Array, first_node: Array, then: Array, otherwise: Array, parent: Array, ends: Array,
    masses: Array, reach: Array,
) -> None:  # fmt: skip
    """Add up the mass that passes a node with each of up to 64 bits.

    `bits` holds the bits of each node. The bits on the path to a leaf are combined once per leaf,
    not once per row.
    """
    met = np.zeros(len(masses), dtype=np.uint64)
    for tree in range(len(ends)):
        begin, end = first_node[tree], first_node[tree + 1]
        if begin == end:
            continue
        seen = np.empty(end - begin, dtype=np.uint64)
        lowest = -1  # the first leaf of the tree
        for node in range(begin, end):
            if lowest < 0 and then[node] < 0:
                lowest = -1 - then[node]
        below = np.zeros(end - begin + 1, dtype=np.uint64)
        for node in range(begin, end):
            above = parent[node]
            own = bits[node] | (seen[above - begin] if above >= 0 else np.uint64(0))
            seen[node - begin] = own
            if then[node] < 0:
                below[-1 - then[node] - lowest] = own
            if otherwise[node] < 0:
                below[-1 - otherwise[node] - lowest] = own
        for row in range(len(masses)):
            met[row] |= below[ends[tree, row] - lowest]
    for row in range(len(masses)):
        for index in range(len(reach)):
            if met[row] >> np.uint64(index) & np.uint64(1):
                reach[index] += masses[row]


@called
def leaf_after_intervention(
    nodes: Array, codes: Array, row: int, others: Array, other: int, intervened: Array, node: int
) -> int:
    """Find the leaf of a row if the intervened tests read the codes of another row."""
    while node >= 0:
        column = nodes[node, 0]
        code = others[other, column] if intervened[node] else codes[row, column]
        code -= nodes[node, 1]
        inside = np.uint32(code) < np.uint32(nodes[node, 2])
        node = nodes[node, 3] if inside else nodes[node, 4]
    return -1 - node


@compiled
def count_intervened(
    nodes: Array, codes: Array, rows: Array, others: Array, chosen: Array, intervened: Array,
    first: Array, trees: Array, starts: Array, sums: Sums, scores: Array, slack: int,
    ends: Array, leads: Array, classes: Array, totals: Array, changed: Array,
) -> None:  # fmt: skip
    """Mark the rows whose output changes if the intervened tests read other rows' codes.

    Pair i is row ``rows[i]`` with row ``chosen[i]`` of `others`. In each tree all pairs take one
    step before any pair takes the next one, so that their memory accesses overlap.
    """
    width, count = leads.shape[1], len(rows)
    moved = np.empty((count, width), dtype=np.int64)
    same = np.ones(count, dtype=np.bool_)
    for i in range(count):
        for index in range(width):
            moved[i, index] = leads[rows[i], index]
    active = np.empty(count, dtype=np.int32)
    at = np.empty(count, dtype=np.int32)
    for tree in trees:
        waiting = 0
        for i in range(count):
            start = first[ends[tree, rows[i]]]
            if start >= 0:
                active[waiting], at[waiting] = i, start
                waiting += 1
        while waiting > 0:
            remaining = 0
            for k in range(waiting):
                i, node = active[k], at[k]
                column = nodes[node, 0]
                code = others[chosen[i], column] if intervened[node] else codes[rows[i], column]
                code -= nodes[node, 1]
                inside = np.uint32(code) < np.uint32(nodes[node, 2])
                node = nodes[node, 3] if inside else nodes[node, 4]
                if node >= 0:
                    active[remaining], at[remaining] = i, node
                    remaining += 1
                    continue
                own = ends[tree, rows[i]]
                if -1 - node != own:
                    same[i] = False
                    for index in range(width):
                        moved[i, index] += scores[-1 - node, index] - scores[own, index]
            waiting = remaining
    new = ends[:, 0].copy()
    for i in range(count):
        row = rows[i]
        changed[i] = False
        if same[i]:
            continue
        outcome = changes(sums, scores, slack, leads[row], moved[i], classes[row])
        if outcome == UNSURE:
            for tree in range(len(new)):
                new[tree] = ends[tree, row]
            for tree in trees:
                new[tree] = leaf_after_intervention(
                    nodes, codes, row, others, chosen[i], intervened, starts[tree]
                )
            changed[i] = exactly_changes(sums, new, classes[row], totals[row, 0])
        else:
            changed[i] = outcome == 1
