"""Loops that try every value of a variable in a hole at once; importing this loads numba.

One walk splits the values at each test of the hole: those for which it holds go on to one side, the
others to the other. What a leaf adds to the leads goes to all values that end there.
"""

from __future__ import annotations

import numpy as np

from proxyuse.lang.compiled import bits_of, called, compiled
from proxyuse.lang.evaluate import Array
from proxyuse.measure.forests.decision import Sums
from proxyuse.measure.forests.hole_loops import held_leaf
from proxyuse.measure.forests.loops import UNSURE, changes, exactly_changes


@called
def lowest_bit(word: int) -> int:
    """The number of the lowest bit that is set."""
    return int(bits_of(~word & (word - np.uint64(1))))


@called
def changes_exactly(
    nodes: Array, codes: Array, row: int, others: Array, other: int, hole: Array, trees: Array,
    starts: Array, sums: Sums, ends: Array, said: int, total: float, new: Array,
) -> bool:  # fmt: skip
    """Whether a row's output changes by the program's own sums, with another row's codes."""
    same = True
    for tree in range(len(new)):
        new[tree] = ends[tree, row]
    for tree in trees:
        new[tree] = held_leaf(nodes, codes, row, others, other, hole, starts[tree])
        same = same and new[tree] == ends[tree, row]
    return not same and exactly_changes(sums, new, said, total)


@compiled
def sweep_sets(
    nodes: Array, codes: Array, rows: Array, hole: Array, first: Array, trees: Array,
    starts: Array, slot: Array, holds: Array, others: Array, masses: Array, sums: Sums,
    scores: Array, slack: int, ends: Array, leads: Array, classes: Array, totals: Array,
    weights: Array, by_row: Array, by_kind: Array,
) -> None:  # fmt: skip
    """What rows say with each of up to 64 kinds of values, at the tests of a hole.

    A set of kinds is a word. ``holds[slot[node]]`` has the kinds for which the test of a node
    holds, `others` a row of codes of each kind, `masses` the mass of each.
    """
    count, width = len(masses), leads.shape[1]
    size = max(1, min(len(rows), 2**16 // (count * width)))
    steps = np.zeros((size, count, width), dtype=np.int64)
    touched = np.zeros(size, dtype=np.uint64)
    waiting_nodes = np.empty(64, dtype=np.int32)
    waiting_sets = np.empty(64, dtype=np.uint64)
    every = ~np.uint64(0) >> np.uint64(64 - count)
    new = ends[:, 0].copy()
    moved = leads[0].copy()
    for begin_row in range(0, len(rows), size):
        some = min(size, len(rows) - begin_row)
        for tree in trees:
            for i in range(some):
                row = rows[begin_row + i]
                leaf = ends[tree, row]
                if first[leaf] < 0:
                    continue
                waiting_nodes[0], waiting_sets[0] = first[leaf], every
                waiting = 1
                while waiting > 0:
                    waiting -= 1
                    node, current = waiting_nodes[waiting], waiting_sets[waiting]
                    while node >= 0:
                        if hole[node]:
                            within = current & holds[slot[node]]
                            if within == current:
                                node = nodes[node, 3]
                            elif within == 0:
                                node = nodes[node, 4]
                            else:
                                if waiting == len(waiting_nodes):
                                    waiting_nodes = np.concatenate((waiting_nodes, waiting_nodes))
                                    waiting_sets = np.concatenate((waiting_sets, waiting_sets))
                                waiting_nodes[waiting] = nodes[node, 4]
                                waiting_sets[waiting] = current & ~within
                                waiting += 1
                                current = within
                                node = nodes[node, 3]
                        else:
                            code = codes[row, nodes[node, 0]] - nodes[node, 1]
                            inside = np.uint32(code) < np.uint32(nodes[node, 2])
                            node = nodes[node, 3] if inside else nodes[node, 4]
                    if -1 - node == leaf:
                        continue
                    touched[i] |= current
                    while current != 0:
                        kind = lowest_bit(current)
                        current &= current - np.uint64(1)
                        for index in range(width):
                            step = scores[-1 - node, index] - scores[leaf, index]
                            steps[i, kind, index] += step
        for i in range(some):
            row = rows[begin_row + i]
            current = touched[i]
            touched[i] = 0
            while current != 0:
                kind = lowest_bit(current)
                current &= current - np.uint64(1)
                for index in range(width):
                    moved[index] = leads[row, index] + steps[i, kind, index]
                    steps[i, kind, index] = 0
                outcome = changes(sums, scores, slack, leads[row], moved, classes[row])
                if outcome == UNSURE:
                    outcome = changes_exactly(
                        nodes, codes, row, others, kind, hole, trees, starts, sums, ends,
                        classes[row], totals[row, 0], new,
                    )  # fmt: skip
                if outcome == 1:
                    by_row[row] += masses[kind]
                    by_kind[kind] += weights[row]


@compiled
def sweep_ranges(
    nodes: Array, codes: Array, rows: Array, hole: Array, first: Array, trees: Array,
    starts: Array, column: int, cell_of: Array, cells: Array, upto: Array, sums: Sums,
    scores: Array, slack: int, ends: Array, leads: Array, classes: Array, totals: Array,
    weights: Array, by_row: Array, turns: Array,
) -> None:  # fmt: skip
    """What rows say with a column's value in each of its cells, at the tests of a hole.

    A cell is a code that occurs: `cells` are the codes, ascending, `cell_of` says for each code
    (from -1 on) how many cells are below it, and `upto` has the mass of the cells before each one.
    A leaf adds to a range of cells. Between two ends of ranges the output is the same, so it is
    found once. For each row the mass of the cells that change its output is added to `by_row`.
    The mass of the rows that a cell changes is the sum of `turns` up to the cell.
    """
    count, width = len(cells), leads.shape[1]
    words = (count >> 6) + 1
    size = max(1, min(len(rows), 2**17 // ((count + 1) * width)))
    steps = np.zeros((size, count + 1, width), dtype=np.int64)
    ends_of_ranges = np.zeros((size, words), dtype=np.uint64)
    new = ends[:, 0].copy()
    moved = leads[0].copy()
    stack = np.empty((64, 3), dtype=np.int64)
    held = codes[:1].copy()
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
                    while node >= 0 and not hole[node]:
                        code = codes[row, nodes[node, 0]] - nodes[node, 1]
                        inside = np.uint32(code) < np.uint32(nodes[node, 2])
                        node = nodes[node, 3] if inside else nodes[node, 4]
                    if node < 0:
                        if -1 - node != leaf:
                            for end in (low, high):
                                ends_of_ranges[i, end >> 6] |= np.uint64(1) << np.uint64(end & 63)
                            for index in range(width):
                                step = scores[-1 - node, index] - scores[leaf, index]
                                steps[i, low, index] += step
                                steps[i, high, index] -= step
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
            for index in range(width):
                moved[index] = leads[row, index]
            changed, since = False, 0
            for word in range(words):
                rest = ends_of_ranges[i, word]
                ends_of_ranges[i, word] = 0
                while rest != 0:
                    cell = 64 * word + lowest_bit(rest)
                    rest &= rest - np.uint64(1)
                    if changed:
                        by_row[row] += upto[cell] - upto[since]
                        turns[since] += weights[row]
                        turns[cell] -= weights[row]
                    since = cell
                    for index in range(width):
                        moved[index] += steps[i, cell, index]
                        steps[i, cell, index] = 0
                    changed = False
                    if cell == count:
                        continue
                    outcome = changes(sums, scores, slack, leads[row], moved, classes[row])
                    if outcome == UNSURE:
                        held[0, column] = cells[cell]
                        changed = changes_exactly(
                            nodes, codes, row, held, 0, hole, trees, starts, sums, ends,
                            classes[row], totals[row, 0], new,
                        )  # fmt: skip
                    else:
                        changed = outcome == 1
            if changed:
                by_row[row] += upto[count] - upto[since]
                turns[since] += weights[row]
                turns[count] -= weights[row]
