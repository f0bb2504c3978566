"""Compiled loops for the squared change of a sum of trees.

They follow the loops for changed decisions (`loops`, `intervention_loops`, `variable_loops`), but
add squares of moves of the only lead instead of masses. Squares need no sorted cases: every move
counts, and rounding does not decide anything.

Importing this module loads numba.
"""

from __future__ import annotations

import numpy as np

from proxyuse.lang.compiled import compiled
from proxyuse.lang.evaluate import Array
from proxyuse.measure.forests.variable_loops import lowest_bit


@compiled
def bound_singles(
    then: Array, parent: Array, leaf_parent: Array, low: Array, high: Array, scores: Array,
    ends: Array, masses: Array, near: Array,
) -> None:  # fmt: skip
    """Add up, for each node, the largest squared moves of the rows that pass it.

    The first column is for the subtree, the second for its test. `low` and `high` are the smallest
    and largest score in each branch of a node, and in both.
    """
    for tree in range(len(ends)):
        for row in range(len(masses)):
            leaf = ends[tree, row]
            child, node = -1 - leaf, leaf_parent[leaf]
            own = scores[leaf, 0]
            while node >= 0:
                other = 1 if then[node] == child else 0
                move = float(max(own - low[node, 2], high[node, 2] - own))
                test = float(max(own - low[node, other], high[node, other] - own))
                near[node, 0] += masses[row] * move * move
                near[node, 1] += masses[row] * test * test
                child, node = node, parent[node]


@compiled
def bound_together(
    number: Array, parent: Array, leaf_parent: Array, span: Array, trees: Array,
    ends: Array, masses: Array, near: Array, reach: Array,
) -> None:  # fmt: skip
    """Add up the largest squared moves by computations at several nodes.

    `number` holds the index of the computation at each node, or -1. A row moves by at most the sum
    of the spans of the nodes that it passes.
    """
    count = len(near)
    size = max(1, min(1024, 2**20 // max(1, count)))
    moved = np.zeros((size, count))
    for begin in range(0, len(masses), size):
        end = min(begin + size, len(masses))
        moved[:] = -1.0
        for tree in trees:
            for row in range(begin, end):
                node = leaf_parent[ends[tree, row]]
                while node >= 0:
                    own = number[node]
                    if own >= 0:
                        moved[row - begin, own] = max(moved[row - begin, own], 0.0) + span[node]
                    node = parent[node]
        for row in range(begin, end):
            for own in range(count):
                move = moved[row - begin, own]
                if move >= 0:
                    reach[own] += masses[row]
                    near[own] += masses[row] * move * move


@compiled
def find_steps(
    nodes: Array, codes: Array, rows: Array, others: Array, chosen: Array, intervened: Array,
    first: Array, trees: Array, scores: Array, ends: Array, steps: Array,
) -> None:  # fmt: skip
    """Find how far the lead of rows moves if the intervened tests read other rows' codes.

    Pair i is row ``rows[i]`` with row ``chosen[i]`` of `others`.
    """
    for tree in trees:
        for i in range(len(rows)):
            own = ends[tree, rows[i]]
            node = first[own]
            if node < 0:
                continue
            while node >= 0:
                column = nodes[node, 0]
                code = others[chosen[i], column] if intervened[node] else codes[rows[i], column]
                code -= nodes[node, 1]
                inside = np.uint32(code) < np.uint32(nodes[node, 2])
                node = nodes[node, 3] if inside else nodes[node, 4]
            steps[i] += scores[-1 - node, 0] - scores[own, 0]


@compiled
def try_value_ranges(
    nodes: Array, codes: Array, rows: Array, intervened: Array, first: Array, trees: Array,
    cell_of: Array, upto: Array, scores: Array, ends: Array, weights: Array, by_row: Array,
    turns: Array,
) -> None:  # fmt: skip
    """Add up the squared moves with the value of a column in each of its cells.

    See `variable_loops.try_value_ranges`. The squares of a row, times the mass of the cells, are
    added to `by_row`. The squares of a cell, times the mass of the rows, are the sum of `turns` up
    to that cell.
    """
    count = len(upto) - 1
    words = (count >> 6) + 1
    size = max(1, min(len(rows), 2**17 // (count + 1)))
    steps = np.zeros((size, count + 1), dtype=np.int64)
    ends_of_ranges = np.zeros((size, words), dtype=np.uint64)
    stack = np.empty((64, 3), dtype=np.int64)
    for begin_row in range(0, len(rows), size):
        some = min(size, len(rows) - begin_row)
        for tree in trees:
            for i in range(some):
                row = rows[begin_row + i]
                leaf = ends[tree, row]
                if first[leaf] < 0:
                    continue
                stack[0, 0], stack[0, 1], stack[0, 2] = first[leaf], 0, count
                waiting = 1
                while waiting > 0:
                    waiting -= 1
                    node, low, high = stack[waiting, 0], stack[waiting, 1], stack[waiting, 2]
                    while node >= 0 and not intervened[node]:
                        code = codes[row, nodes[node, 0]] - nodes[node, 1]
                        inside = np.uint32(code) < np.uint32(nodes[node, 2])
                        node = nodes[node, 3] if inside else nodes[node, 4]
                    if node < 0:
                        if -1 - node != leaf:
                            for end in (low, high):
                                ends_of_ranges[i, end >> 6] |= np.uint64(1) << np.uint64(end & 63)
                            step = scores[-1 - node, 0] - scores[leaf, 0]
                            steps[i, low] += step
                            steps[i, high] -= step
                        continue
                    start, last = nodes[node, 1], nodes[node, 1] + nodes[node, 2]
                    begin = min(max(cell_of[start + 1], low), high)
                    end = min(max(cell_of[min(last + 1, len(cell_of) - 1)], begin), high)
                    for part in range(3):
                        child = nodes[node, 3] if part == 0 else nodes[node, 4]
                        from_cell = low if part == 1 else begin if part == 0 else end
                        to_cell = end if part == 0 else begin if part == 1 else high
                        if from_cell < to_cell:
                            if waiting == len(stack):
                                stack = np.concatenate((stack, stack))
                            stack[waiting, 0] = child
                            stack[waiting, 1] = from_cell
                            stack[waiting, 2] = to_cell
                            waiting += 1
        for i in range(some):
            row = rows[begin_row + i]
            moved, since, square = np.int64(0), 0, 0.0
            for word in range(words):
                rest = ends_of_ranges[i, word]
                ends_of_ranges[i, word] = 0
                while rest != 0:
                    cell = 64 * word + lowest_bit(rest)
                    rest &= rest - np.uint64(1)
                    by_row[row] += (upto[cell] - upto[since]) * square
                    turns[since] += weights[row] * square
                    turns[cell] -= weights[row] * square
                    since = cell
                    moved += steps[i, cell]
                    steps[i, cell] = 0
                    square = float(moved) * float(moved)
            by_row[row] += (upto[count] - upto[since]) * square
            turns[since] += weights[row] * square
            turns[count] -= weights[row] * square
