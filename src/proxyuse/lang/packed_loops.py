"""Loops over packed trees, compiled when they are first called; importing this loads numba."""

from __future__ import annotations

import numpy as np

from proxyuse.lang.compiled import compiled
from proxyuse.lang.evaluate import Array

ALWAYS_TRUE = -2
"""In place of a test: every row leaves the node to the same side. Other negative numbers: false."""


@compiled
def lay_out(
    left: Array, right: Array, test: Array, opposite: Array, roots: Array,
    new_test: Array, then: Array, otherwise: Array, source: Array, leaf_source: Array,
    starts: Array, first_node: Array, first_leaf: Array,
) -> None:  # fmt: skip
    """Number inner nodes and leaves tree by tree in preorder, the branch of a true test first.

    `left` and `right` are -1 at a leaf. Nodes that decide nothing are skipped. The results are
    written to the arrays from `new_test` on; `starts` gets each tree's first node, or -1 - leaf.
    """
    stack = [(0, 0, 0)]
    nodes = leaves = 0
    for tree in range(len(roots)):
        first_node[tree], first_leaf[tree] = nodes, leaves
        stack.clear()
        stack.append((roots[tree], -1, 0))
        while len(stack) > 0:
            old, above, side = stack.pop()
            while left[old] >= 0 and test[old] < 0:
                taken = (test[old] == ALWAYS_TRUE) != opposite[old]
                old = left[old] if taken else right[old]
            if left[old] < 0:
                new = -1 - leaves
                leaf_source[leaves] = old
                leaves += 1
            else:
                new = nodes
                source[nodes], new_test[nodes] = old, test[old]
                nodes += 1
                if opposite[old]:
                    stack.append((left[old], new, 1))
                    stack.append((right[old], new, 0))
                else:
                    stack.append((right[old], new, 1))
                    stack.append((left[old], new, 0))
            if above < 0:
                starts[tree] = new
            elif side == 0:
                then[above] = new
            else:
                otherwise[above] = new
    first_node[len(roots)], first_leaf[len(roots)] = nodes, leaves


@compiled
def measure_subtrees(
    then: Array, otherwise: Array, first_leaf: Array, last_leaf: Array, end: Array, parent: Array,
    leaf_parent: Array,
) -> None:  # fmt: skip
    """For each node the leaves below it, the node after its subtree, and the node above it."""
    for node in range(len(then) - 1, -1, -1):
        a, b = then[node], otherwise[node]
        end[node] = node + 1
        if a >= 0:
            first_leaf[node], end[node], parent[a] = first_leaf[a], end[a], node
        else:
            first_leaf[node], leaf_parent[-1 - a] = -1 - a, node
        if b >= 0:
            last_leaf[node], end[node], parent[b] = last_leaf[b], end[b], node
        else:
            last_leaf[node], leaf_parent[-1 - b] = -b, node


@compiled
def find_leaves(nodes: Array, codes: Array, start: int, leaves: Array) -> None:
    """The leaf at which each row ends that starts at a node.

    A row of `nodes` holds a column of codes, the first code for which the test holds, how many
    codes that are, and the two children. All rows take a step before any takes the next one, so
    that memory is waited for once.
    """
    rows = len(codes)
    active = np.arange(rows).astype(np.int32)
    at = np.full(rows, start, dtype=np.int32)
    count = rows if start >= 0 else 0
    if start < 0:
        leaves[:] = -1 - start
    while count > 0:
        kept = 0
        for i in range(count):
            row, node = active[i], at[i]
            code = codes[row, nodes[node, 0]] - nodes[node, 1]
            inside = np.uint32(code) < np.uint32(nodes[node, 2])
            node = nodes[node, 3] if inside else nodes[node, 4]
            active[kept] = row
            at[kept] = node
            if node < 0:
                leaves[row] = -1 - node
            else:
                kept += 1
        count = kept
