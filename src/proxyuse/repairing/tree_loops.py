"""Compiled loops for the repair of collections of tests in trees.

Tests are ranked, and a collection of a size has the tests of the ranks below it. A test that was
replaced with a constant has the same child on both sides (`lang.walking` describes the nodes), so
the loops walk a partly repaired forest without building it.

Importing this module loads numba.
"""

from __future__ import annotations

import numpy as np

from proxyuse.lang.compiled import called, compiled
from proxyuse.lang.evaluate import Array
from proxyuse.measure.forests.decision import Sums
from proxyuse.measure.forests.loops import changes


@called
def next_node(nodes: Array, codes: Array, row: int, node: int) -> int:
    """Take one step of a row through a tree."""
    code = codes[row, nodes[node, 0]] - nodes[node, 1]
    inside = np.uint32(code) < np.uint32(nodes[node, 2])
    return int(nodes[node, 3] if inside else nodes[node, 4])


@called
def leaf_of(
    nodes: Array, codes: Array, row: int, other: int, rank: Array, size: int, node: int
) -> int:
    """Find the leaf of a row if the tests of a collection read the codes of another row."""
    while node >= 0:
        reads_other = 0 <= rank[node] < size
        node = next_node(nodes, codes, other if reads_other else row, node)
    return int(-1 - node)


@compiled
def find_leads(
    nodes: Array, codes: Array, rows: Array, others: Array, rank: Array, size: int, first: Array,
    ends: Array, scores: Array, leads: Array,
) -> None:  # fmt: skip
    """Add to the leads of rows what changes if the tests of a collection read other rows.

    `ends` holds the leaf of each row in each tree, and `first` the first test of a collection on
    the path to each leaf, or -1.
    """
    for tree in range(len(ends)):
        for i in range(len(rows)):
            own = ends[tree, rows[i]]
            if first[own] < 0:
                continue
            leaf = leaf_of(nodes, codes, rows[i], others[i], rank, size, first[own])
            for index in range(leads.shape[1]):
                leads[i, index] += scores[leaf, index] - scores[own, index]


@compiled
def count_changed(
    nodes: Array, codes: Array, rows: Array, others: Array, masses: Array, rank: Array,
    first: Array, ends: Array, sums: Sums, scores: Array, slack: int, leads: Array, classes: Array,
    changed: Array,
) -> None:  # fmt: skip
    """Add up, for the collection of each size, the mass of the pairs whose output changes.

    In one walk for all sizes: at a test of rank r at which the two rows differ, the collections of
    more than r tests go one way, and the others go the other way. `leads` and `classes` are those
    of the row of each pair. A pair for which rounding decides counts as changed.
    """
    sizes, width = len(changed), leads.shape[1]
    moves = np.zeros((sizes + 1, width), dtype=np.int64)
    moved = np.empty(width, dtype=np.int64)
    stack = [(0, 0, 0)]
    for i in range(len(rows)):
        row, other = rows[i], others[i]
        moves[:] = 0
        differs = False
        for tree in range(len(ends)):
            start = int(first[ends[tree, row]])
            if start < 0:
                continue
            stack.clear()
            stack.append((start, 0, sizes))
            while len(stack) > 0:
                node, low, high = stack.pop()
                if node < 0:
                    if low == 0 and high == sizes and len(stack) == 0:
                        continue  # all sizes end at the row's own leaf
                    for index in range(width):
                        moves[low, index] += scores[-1 - node, index]
                        moves[high, index] -= scores[-1 - node, index]
                    continue
                own = next_node(nodes, codes, row, node)
                if rank[node] < 0 or rank[node] + 1 >= high:
                    stack.append((own, low, high))
                    continue
                new = next_node(nodes, codes, other, node)
                if own == new:
                    stack.append((own, low, high))
                    continue
                differs = True
                cut = rank[node] + 1
                if low < cut:
                    stack.append((own, low, min(high, cut)))
                stack.append((new, max(low, cut), high))
        if not differs:
            continue
        # Size 0 has the leads of the row itself, so later sizes are relative to it.
        for index in range(width):
            moved[index] = leads[i, index]
        outcome = 0
        for size in range(1, sizes):
            same = True
            for index in range(width):
                if moves[size, index] != 0:
                    moved[index] += moves[size, index]
                    same = False
            if not same:
                outcome = changes(sums, scores, slack, leads[i], moved, classes[i])
            if outcome != 0:
                changed[size] += masses[i]


@compiled
def add_effects(
    nodes: Array, codes: Array, rows: Array, others: Array, rank: Array, size: int, reads: int,
    first: Array, ends: Array, then: Array, scores: Array, gradient: Array, effect: Array,
) -> None:  # fmt: skip
    """Add up what constants in place of the tests of a collection change, to first order.

    `gradient` holds the derivative by the leads of each pair. Column 1 of `effect` is for the
    constant true, column 0 for false. The tests of the first `reads` ranks read the other row.
    """
    width = scores.shape[1]
    for tree in range(len(ends)):
        for i in range(len(rows)):
            node = int(first[ends[tree, rows[i]]])
            if node < 0:
                continue
            leaf = leaf_of(nodes, codes, rows[i], others[i], rank, reads, node)
            while node >= 0:
                reads_other = 0 <= rank[node] < reads
                child = next_node(nodes, codes, others[i] if reads_other else rows[i], node)
                left, right = int(nodes[node, 3]), int(nodes[node, 4])
                if left != right and 0 <= rank[node] < size:
                    otherwise = left if child == right else right
                    end = leaf_of(nodes, codes, rows[i], others[i], rank, reads, otherwise)
                    change = 0.0
                    for index in range(width):
                        change += gradient[i, index] * (scores[end, index] - scores[leaf, index])
                    effect[node, 1 if otherwise == then[node] else 0] += change
                node = child
