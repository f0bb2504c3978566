"""Compiled loops over the subtrees of a forest. Importing this module loads numba."""

from __future__ import annotations

from typing import Any

import numpy as np

from proxyuse.lang.compiled import called, compiled
from proxyuse.lang.evaluate import Array
from proxyuse.measure.forests.decision import Sums
from proxyuse.measure.forests.loops import UNSURE, changes, edge_of, exactly_changes


@compiled
def count_subtree_tables(
    nodes: Array, codes: Array, roots: Array, slot: Array, first_leaf: Array, offsets: Array,
    cells: Array, bases: Array, attributes: Array, columns: Array, masses: Array, counts: Array,
) -> None:  # fmt: skip
    """Count the joint table of each subtree's value with each attribute.

    `roots` holds the subtrees, inner ones first. `slot` holds the index of the subtree that begins
    at a node, or -1. All rows start at each root. When a row enters a subtree that is already done,
    its leaf is known. Leaf l of subtree s, counted from its first leaf, belongs to the table row
    ``bases[s] + cells[offsets[s] + l]``. The table columns of attribute a begin at ``columns[a]``.
    """
    rows = len(masses)
    ends = np.empty((len(roots), rows), dtype=np.int32)
    active = np.empty(rows, dtype=np.int32)
    at = np.empty(rows, dtype=np.int32)
    for number in range(len(roots)):
        root = roots[number]
        column, start, size = nodes[root, 0], nodes[root, 1], np.uint32(nodes[root, 2])
        first_child, second_child = nodes[root, 3], nodes[root, 4]
        count = 0
        for row in range(rows):
            inside = np.uint32(codes[row, column] - start) < size
            node = first_child if inside else second_child
            if node < 0:
                ends[number, row] = -1 - node
            elif slot[node] >= 0:
                ends[number, row] = ends[slot[node], row]
            else:
                active[count], at[count] = row, node
                count += 1
        while count > 0:
            remaining = 0
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
                    active[remaining], at[remaining] = row, node
                    remaining += 1
            count = remaining
        shift, base = offsets[number] - first_leaf[root], bases[number]
        if len(columns) == 1:
            for row in range(rows):
                cell = base + cells[shift + ends[number, row]]
                counts[cell, attributes[0, row]] += masses[row]
        else:
            for row in range(rows):
                cell = base + cells[shift + ends[number, row]]
                for index in range(len(columns)):
                    counts[cell, columns[index] + attributes[index, row]] += masses[row]


@called
def mixed(word: Any, more: Any) -> Any:
    """Combine a hash and a word into a 64-bit hash."""
    word ^= more
    word *= np.uint64(0x9E3779B97F4A7C15)
    word ^= word >> np.uint64(29)
    word *= np.uint64(0xBF58476D1CE4E5B9)
    word ^= word >> np.uint64(32)
    return word


@compiled
def hash_subtrees(test: Array, then: Array, otherwise: Array, leaves: Array, hashes: Array) -> None:
    """Hash each subtree from its test and its children; `leaves` holds rows of words."""
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


@compiled
def number_groups(hashes: Array, groups: Array) -> int:
    """Number hashes in order of first appearance, and return how many are distinct."""
    size = 1024
    while size < 2 * len(hashes):
        size *= 2
    mask = np.uint64(size - 1)
    table = np.full(size, -1, dtype=np.int32)  # the first node with a hash
    count = 0
    for node in range(len(hashes)):
        slot = (hashes[node] ^ (hashes[node] >> np.uint64(32))) & mask
        while table[slot] >= 0 and hashes[table[slot]] != hashes[node]:
            slot = (slot + np.uint64(1)) & mask
        if table[slot] < 0:
            table[slot] = node
            groups[node] = count
            count += 1
        else:
            groups[node] = groups[table[slot]]
    return count


@called
def leaf_changes_exactly(
    leaf: int, row: int, inside: Array, trees: Array, shifts: Array, sums: Sums, ends: Array,
    actual: int, total: float, new: Array,
) -> bool:  # fmt: skip
    """Return whether a leaf of the subtree changes a row's output, by the program's own sums."""
    for tree in range(len(new)):
        new[tree] = ends[tree, row]
    for k in range(len(trees)):
        if inside[k]:
            new[trees[k]] = leaf + shifts[k]
    return bool(exactly_changes(sums, new, actual, total))


@compiled
def swap(
    rows: Array, inside: Array, trees: Array, shifts: Array, first_leaf: int, value_of: Array,
    leaf_of: Array, masses: Array, sums: Sums, scores: Array, slack: int, ends: Array,
    leads: Array, classes: Array, totals: Array, weights: Array, by_row: Array, by_value: Array,
) -> None:  # fmt: skip
    """Count the changes of output with each value of a subtree, at all its occurrences.

    The subtree occurs in `trees`; its leaves there are `shifts` after those of the first
    occurrence. `inside` marks the occurrences that each of `rows` reaches. `leaf_of` holds one leaf
    per distinct value, `value_of` the value of each leaf.
    """
    new = ends[:, 0].copy()
    moved, without = leads[0].copy(), leads[0].copy()
    for i in range(len(rows)):
        row = rows[i]
        here = -1
        for index in range(len(without)):
            without[index] = leads[row, index]
        for k in range(len(trees)):
            if inside[k, i]:
                own = ends[trees[k], row]
                here = value_of[own - shifts[k] - first_leaf]
                for index in range(len(without)):
                    without[index] -= scores[own, index]
        for value in range(len(leaf_of)):
            if masses[value] == 0 or value == here:
                continue
            for index in range(len(without)):
                moved[index] = without[index]
            for k in range(len(trees)):
                if inside[k, i]:
                    for index in range(len(without)):
                        moved[index] += scores[leaf_of[value] + shifts[k], index]
            outcome = changes(sums, scores, slack, leads[row], moved, classes[row])
            if outcome == UNSURE:
                outcome = leaf_changes_exactly(
                    leaf_of[value], row, inside[:, i], trees, shifts, sums, ends, classes[row],
                    totals[row, 0], new,
                )  # fmt: skip
            if outcome == 1:
                by_row[row] += masses[value]
                by_value[value] += weights[row]


@compiled
def swap_sorted(
    rows: Array, inside: Array, trees: Array, shifts: Array, first_leaf: int, value_of: Array,
    leaf_of: Array, order: Array, upto: Array, masses: Array, sums: Sums, scores: Array,
    slack: int, ends: Array, leads: Array, classes: Array, totals: Array, weights: Array,
    by_row: Array, steps: Array, by_value: Array,
) -> None:  # fmt: skip
    """Count the same for a single lead: all values on one side of a threshold at once.

    `order` sorts the values by score, and `upto` is the mass before each index of that order.
    Ranges of values are counted as differences in `steps`; their cumulative sum is the count by
    index of the order.
    """
    new = ends[:, 0].copy()
    moved = leads[0].copy()
    count = len(order)
    number = len(sums.outputs) == 0
    for i in range(len(rows)):
        row = rows[i]
        here, times, without = -1, 0, leads[row, 0]
        for k in range(len(trees)):
            if inside[k, i]:
                own = ends[trees[k], row]
                here = value_of[own - shifts[k] - first_leaf]
                without -= scores[own, 0]
                times += 1
        # Values before `low` and from `high` on are decided; those between are tried one by one,
        # except that values from `near` to `far` move a number too little to count.
        center = leads[row, 0] if number else 0
        edge = edge_of(sums, center) if number else 0
        low = first_at_least(scores, leaf_of, order, without, times, center - edge - slack)
        high = first_at_least(scores, leaf_of, order, without, times, center + edge + slack + 1)
        near, far = high, high
        if edge > slack:
            least = center - edge + slack + 1
            near = first_at_least(scores, leaf_of, order, without, times, least)
            far = first_at_least(scores, leaf_of, order, without, times, center + edge - slack)
        if not number and slack == 0:
            low = high
        below, above = number, number
        if not number:
            below = sums.outputs[0] != sums.outputs[classes[row]]
            above = sums.outputs[1] != sums.outputs[classes[row]]
        if below:
            by_row[row] += upto[low]
            steps[0] += weights[row]
            steps[low] -= weights[row]
        if above:
            by_row[row] += upto[count] - upto[high]
            steps[high] += weights[row]
            steps[count] -= weights[row]
        index = low - 1
        while index + 1 < high:
            index += 1
            if near <= index < far:
                index = far - 1
                continue
            value = order[index]
            if masses[value] == 0 or value == here:
                continue
            moved[0] = without + times * scores[leaf_of[value], 0]
            outcome = changes(sums, scores, slack, leads[row], moved, classes[row])
            if outcome == UNSURE:
                outcome = leaf_changes_exactly(
                    leaf_of[value], row, inside[:, i], trees, shifts, sums, ends, classes[row],
                    totals[row, 0], new,
                )  # fmt: skip
            if outcome == 1:
                by_row[row] += masses[value]
                by_value[value] += weights[row]


@called
def first_at_least(
    scores: Array, leaf_of: Array, order: Array, without: int, times: int, least: int
) -> int:
    """Find the first value, in sorted order, whose lead is at least `least`."""
    low, high = 0, len(order)
    while low < high:
        middle = (low + high) // 2
        if without + times * scores[leaf_of[order[middle]], 0] < least:
            low = middle + 1
        else:
            high = middle
    return low
