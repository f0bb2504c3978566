"""Compiled loops over rows and trees.

Rows are codes (`lang.walking`). A node is five integers: its column, the first code that goes to
the first child, the number of such codes, and the two children. Leaf l is stored as ``-1 - l``.
Masses are integers, so sums do not depend on the order of rows or blocks.

Importing this module loads numba.
"""

from __future__ import annotations

import numpy as np

from proxyuse.lang.compiled import called, compiled
from proxyuse.lang.evaluate import Array
from proxyuse.measure.forests.decision import Sums

UNSURE = -1


@compiled
def find_all_leaves(nodes: Array, codes: Array, starts: Array, ends: Array) -> None:
    """Find the leaf of each row in each tree (trees x rows).

    All rows take one step before any row takes the next one, so that memory accesses overlap.
    """
    rows = len(codes)
    active = np.empty(rows, dtype=np.int32)
    at = np.empty(rows, dtype=np.int32)
    for tree in range(len(starts)):
        if starts[tree] < 0:
            ends[tree, :] = -1 - starts[tree]
            continue
        for row in range(rows):
            active[row] = row
            at[row] = starts[tree]
        count = rows
        while count > 0:
            remaining = 0
            for i in range(count):
                row, node = active[i], at[i]
                code = codes[row, nodes[node, 0]] - nodes[node, 1]
                node = (
                    nodes[node, 3]
                    if np.uint32(code) < np.uint32(nodes[node, 2])
                    else nodes[node, 4]
                )
                active[remaining] = row
                at[remaining] = node
                if node < 0:
                    ends[tree, row] = -1 - node
                else:
                    remaining += 1
            count = remaining


@called
def total_of(sums: Sums, ends: Array, index: int) -> float:
    """Return one of the program's own sums, added in its order and not yet divided."""
    total = 0.0
    for operand in range(sums.firsts[index], sums.firsts[index + 1]):
        tree = sums.operands[operand]
        value = sums.constants[operand]
        if tree >= 0:
            value = sums.values[ends[tree], sums.columns[index]]
        total = value if operand == sums.firsts[index] else total + value
    return total


@called
def quotient_of(sums: Sums, ends: Array, index: int) -> float:
    """Return one of the program's own sums, divided as the program does."""
    return float(total_of(sums, ends, index) / sums.divisors[index])


@called
def edge_of(sums: Sums, lead: int) -> int:
    """Return how far the lead of a number can move without counting; 0 if every change counts."""
    return int(min(sums.tolerance + sums.share * abs(lead), 2.0**61))


@called
def exact_class(sums: Sums, ends: Array) -> int:
    """Return the class that the program's own sums choose."""
    if len(sums.columns) == 0:
        return int(sums.values[ends[0], 0])
    if sums.threshold == sums.threshold:
        return 1 if total_of(sums, ends, 0) >= sums.threshold else 0
    best, largest = 0, quotient_of(sums, ends, 0)
    for index in range(1, len(sums.columns)):
        total = quotient_of(sums, ends, index)
        if total > largest:
            best, largest = index, total
    return best


@called
def sure_class(leads: Array, slack: int) -> int:
    """Return the class with the largest lead, the first if tied; UNSURE if rounding may decide."""
    best, largest = 0, 0
    for index in range(len(leads)):
        if leads[index] > largest:
            best, largest = index + 1, leads[index]
    if slack > 0:
        if best > 0 and largest <= slack:
            return UNSURE
        for index in range(len(leads)):
            if index + 1 != best and largest - leads[index] <= slack:
                return UNSURE
    return best


@called
def class_of(sums: Sums, totals: Array) -> int:
    """Return the class that the program's own sums choose, given these sums."""
    if sums.threshold == sums.threshold:
        return 1 if totals[0] >= sums.threshold else 0
    best, largest = 0, totals[0] / sums.divisors[0]
    for index in range(1, len(sums.columns)):
        total = totals[index] / sums.divisors[index]
        if total > largest:
            best, largest = index, total
    return best


@compiled
def decide_rows(
    sums: Sums, scores: Array, base: Array, slack: int, ends: Array,
    leads: Array, classes: Array, totals: Array, margin: Array,
) -> None:  # fmt: skip
    """Compute the leads, class, sums and margin (at least 1) of each row.

    If the output is a number, the class is 0, and the margin is the largest move that is too small.
    """
    rows = ends.shape[1]
    for index in range(len(base)):
        leads[:, index] = base[index]
    for tree in range(len(ends)):
        for row in range(rows):
            leaf = ends[tree, row]
            for index in range(len(base)):
                leads[row, index] += scores[leaf, index]
    for index in range(totals.shape[1]):
        for operand in range(sums.firsts[index], sums.firsts[index + 1]):
            first = operand == sums.firsts[index]
            tree, column = sums.operands[operand], sums.columns[index]
            value = sums.constants[operand]
            for row in range(rows):
                if tree >= 0:
                    value = sums.values[ends[tree, row], column]
                totals[row, index] = value if first else totals[row, index] + value
    for row in range(rows):
        margin[row] = 1
        if len(sums.outputs) == 0:
            classes[row] = 0
            margin[row] = max(1, edge_of(sums, leads[row, 0]) - slack)
            continue
        if len(sums.columns) == 0:
            best = int(sums.values[ends[0, row], 0])
        else:
            best = class_of(sums, totals[row])
        classes[row] = best
        largest = 0 if best == 0 else leads[row, best - 1]
        nearest = 2**62
        for other in range(len(base) + 1):
            if sums.outputs[other] != sums.outputs[best]:
                lead = 0 if other == 0 else leads[row, other - 1]
                gap = largest - lead - slack
                if other > best:  # a tie goes to the first class
                    gap += 1
                nearest = min(nearest, gap)
        margin[row] = max(nearest, 1)


@compiled
def add_by_leaf(ends: Array, masses: Array, by_leaf: Array) -> None:
    """Add the mass of each row to the leaves at which it ends."""
    for tree in range(len(ends)):
        for row in range(len(masses)):
            by_leaf[ends[tree, row]] += masses[row]


@compiled
def bound_singles(
    then: Array, parent: Array, leaf_parent: Array, span: Array, low: Array, high: Array,
    tree_span: Array, scores: Array, directed: bool, leads: Array, ends: Array, margin: Array,
    masses: Array, near: Array,
) -> None:  # fmt: skip
    """Add up, for each node, the rows that pass it and whose output it might change.

    The first column is for the subtree, the second for its test. If leads are `directed`, there is
    a single lead and it must cross zero: `low` and `high` are the smallest and largest score in
    each branch of a node, and in both. Otherwise `span` is how far any lead can move.
    """
    for tree in range(len(ends)):
        for row in range(len(masses)):
            if margin[row] > tree_span[tree]:
                continue
            leaf = ends[tree, row]
            child, node = -1 - leaf, leaf_parent[leaf]
            own = scores[leaf, 0]
            down = leads[row, 0] > 0
            while node >= 0:
                if span[node] >= margin[row]:
                    test = move = span[node]
                    if directed:
                        other = 1 if then[node] == child else 0
                        if down:
                            move = own - low[node, 2]
                            test = own - low[node, other]
                        else:
                            move = high[node, 2] - own
                            test = high[node, other] - own
                    if max(move, 1) >= margin[row]:
                        near[node, 0] += masses[row]
                    if max(test, 1) >= margin[row]:
                        near[node, 1] += masses[row]
                child, node = node, parent[node]


@compiled
def bound_together(
    number: Array, parent: Array, leaf_parent: Array, span: Array, trees: Array,
    ends: Array, margin: Array, masses: Array, near: Array, reach: Array,
) -> None:  # fmt: skip
    """Add up the rows that computations at several nodes might change.

    `number` holds the index of the computation at each node, or -1. A row's leads move by at most
    the sum of the spans of the nodes that it passes. Rows are processed in small batches, tree by
    tree, so that a tree stays in the cache.
    """
    count = len(near)
    size = max(1, min(1024, 2**20 // max(1, count)))
    moved = np.zeros((size, count), dtype=np.int64)
    for begin in range(0, len(masses), size):
        end = min(begin + size, len(masses))
        moved[:] = -1
        for tree in trees:
            for row in range(begin, end):
                node = leaf_parent[ends[tree, row]]
                while node >= 0:
                    own = number[node]
                    if own >= 0:
                        moved[row - begin, own] = max(moved[row - begin, own], 0) + span[node]
                    node = parent[node]
        for row in range(begin, end):
            for own in range(count):
                if moved[row - begin, own] >= 0:
                    reach[own] += masses[row]
                    if moved[row - begin, own] >= margin[row]:
                        near[own] += masses[row]


@called
def changes(sums: Sums, scores: Array, slack: int, leads: Array, moved: Array, actual: int) -> int:
    """Return 1 if other leads change the output, 0 if not, UNSURE if rounding decides."""
    if len(sums.outputs) == 0:
        step, edge = abs(moved[0] - leads[0]), edge_of(sums, leads[0])
        if step > edge + slack:
            return 1
        return 0 if step < edge - slack else UNSURE
    best = sure_class(moved, slack)
    if best == UNSURE:
        return UNSURE
    return 1 if sums.outputs[best] != sums.outputs[actual] else 0


@called
def exactly_changes(sums: Sums, new: Array, actual: int, total: float) -> bool:
    """Return whether the output changes, by the program's own sums at these leaves."""
    if len(sums.outputs) == 0:
        old = total / sums.divisors[0]
        return bool(abs(quotient_of(sums, new, 0) - old) > sums.by + sums.share * abs(old))
    return bool(sums.outputs[exact_class(sums, new)] != sums.outputs[actual])


@compiled
def find_extremes(
    then: Array, otherwise: Array, scores: Array, low: Array, high: Array, span: Array
) -> None:
    """Find the smallest and largest first score in each branch of a node, and in both.

    `span` is the largest range of any score below the node. One pass from the leaves up.
    """
    width = scores.shape[1]
    least = np.empty((len(then), width), dtype=np.int64)
    most = np.empty((len(then), width), dtype=np.int64)
    for node in range(len(then) - 1, -1, -1):
        for side in range(2):
            child = then[node] if side == 0 else otherwise[node]
            for index in range(width):
                if child >= 0:
                    small, large = least[child, index], most[child, index]
                else:
                    small = large = scores[-1 - child, index]
                if side == 0 or small < least[node, index]:
                    least[node, index] = small
                if side == 0 or large > most[node, index]:
                    most[node, index] = large
                if index == 0:
                    low[node, side], high[node, side] = small, large
        low[node, 2], high[node, 2] = least[node, 0], most[node, 0]
        span[node] = 0
        for index in range(width):
            span[node] = max(span[node], most[node, index] - least[node, index])
