"""Compiled loops over packed trees; importing this module loads numba."""

from __future__ import annotations

import numpy as np

from proxyuse.lang.compiled import compiled
from proxyuse.lang.evaluate import Array

ALWAYS_TRUE = -2
"""The code of a test that every row passes. Any other negative number: no row passes."""


@compiled
def lay_out(
    left: Array, right: Array, test: Array, opposite: Array, roots: Array,
    new_test: Array, then: Array, otherwise: Array, source: Array, leaf_source: Array,
    starts: Array, first_node: Array, first_leaf: Array,
) -> None:  # fmt: skip
    """Number inner nodes and leaves tree by tree in preorder, the branch of a true test first.

    `left` and `right` are -1 at a leaf. Nodes whose test is constant are skipped. The results are
    written to `new_test` and the arrays after it; `starts` gets each tree's root, or -1 - leaf.
    Linear in the number of nodes.
    """
    stack = [(0, 0, 0)]
    nodes = leaves = 0
    for tree in range(len(roots)):
        first_node[tree], first_leaf[tree] = nodes, leaves
        stack.clear()
        stack.append((roots[tree], -1, 0))
        while len(stack) > 0:
            old, parent, side = stack.pop()
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
            if parent < 0:
                starts[tree] = new
            elif side == 0:
                then[parent] = new
            else:
                otherwise[parent] = new
    first_node[len(roots)], first_leaf[len(roots)] = nodes, leaves


@compiled
def measure_subtrees(
    then: Array, otherwise: Array, first_leaf: Array, last_leaf: Array, end: Array, parent: Array,
    leaf_parent: Array,
) -> None:  # fmt: skip
    """Write the leaves, the end and the parent of the subtree at each node (see `Spans`)."""
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
    """Find the leaf that each row reaches from a node (see `CodeRanges.nodes`).

    All rows take a step before any takes the next one, so that their memory accesses overlap.
    """
    rows = len(codes)
    active = np.arange(rows).astype(np.int32)
    current = np.full(rows, start, dtype=np.int32)
    count = rows if start >= 0 else 0
    if start < 0:
        leaves[:] = -1 - start
    while count > 0:
        remaining = 0
        for i in range(count):
            row, node = active[i], current[i]
            code = codes[row, nodes[node, 0]] - nodes[node, 1]
            inside = np.uint32(code) < np.uint32(nodes[node, 2])
            node = nodes[node, 3] if inside else nodes[node, 4]
            active[remaining] = row
            current[remaining] = node
            if node < 0:
                leaves[row] = -1 - node
            else:
                remaining += 1
        count = remaining
