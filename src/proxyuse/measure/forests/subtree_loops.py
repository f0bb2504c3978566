"""Loops over the subtrees of a forest, compiled when they are first called; loads numba."""

from __future__ import annotations

from typing import Any

import numpy as np

from proxyuse.lang.compiled import called, compiled
from proxyuse.lang.evaluate import Array


@compiled
def tally_subtrees(
    nodes: Array, codes: Array, roots: Array, slot: Array, first_leaf: Array, offsets: Array,
    cells: Array, attributes: Array, columns: Array, masses: Array, tally: Array,
) -> None:  # fmt: skip
    """Add up, for each subtree, the mass of the rows by its value and by each attribute.

    `roots` are the subtrees, inner ones first; `slot` says for a node which subtree begins there,
    or -1. All rows start at each root; once they meet a subtree that was done before, they end
    where they ended there. Leaf l of subtree s has the table row ``cells[offsets[s] + l]``, counted
    from its first leaf; attribute a has the table columns from ``columns[a]`` on.
    """
    rows = len(masses)
    ends = np.empty((len(roots), rows), dtype=np.int32)
    active = np.empty(rows, dtype=np.int32)
    at = np.empty(rows, dtype=np.int32)
    for number in range(len(roots)):
        root = roots[number]
        for row in range(rows):
            active[row] = row
            at[row] = root
        count = rows
        while count > 0:
            kept = 0
            for i in range(count):
                row, node = active[i], at[i]
                code = codes[row, nodes[node, 0]] - nodes[node, 1]
                inside = np.uint32(code) < np.uint32(nodes[node, 2])
                node = nodes[node, 3] if inside else nodes[node, 4]
                if node < 0:
                    ends[number, row] = -1 - node
                elif slot[node] >= 0:
                    ends[number, row] = ends[slot[node], row]
                else:
                    active[kept] = row
                    at[kept] = node
                    kept += 1
            count = kept
        shift = offsets[number] - first_leaf[root]
        for row in range(rows):
            cell = cells[shift + ends[number, row]]
            for index in range(len(columns)):
                tally[cell, columns[index] + attributes[index, row]] += masses[row]


@called
def mixed(word: Any, more: Any) -> Any:
    """A 64-bit hash of a hash and a word."""
    word ^= more
    word *= np.uint64(0x9E3779B97F4A7C15)
    word ^= word >> np.uint64(29)
    word *= np.uint64(0xBF58476D1CE4E5B9)
    word ^= word >> np.uint64(32)
    return word


@compiled
def hash_subtrees(test: Array, then: Array, otherwise: Array, leaves: Array, hashes: Array) -> None:
    """A hash for each subtree, from its test and the hashes below; `leaves` are rows of words."""
    for node in range(len(test) - 1, -1, -1):
        word = mixed(np.uint64(7), np.uint64(test[node]))
        for side in range(2):
            child = then[node] if side == 0 else otherwise[node]
            below = np.uint64(13)
            if child >= 0:
                below = hashes[child]
            else:
                for index in range(leaves.shape[1]):
                    below = mixed(below, leaves[-1 - child, index])
            word = mixed(word, below + np.uint64(side))
        hashes[node] = word
