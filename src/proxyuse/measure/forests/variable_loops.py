"""Compiled loops that try every value of a variable at the intervened tests in one walk.

The walk carries a set of values. At each intervened test the set splits: the values that pass the
test follow one branch, the others the other branch. A leaf adds its scores to the leads of all
values that end there. One walk costs about as much as the tree has nodes that some value reaches,
instead of one walk per value.

Importing this module loads numba.
"""

from __future__ import annotations

import numpy as np

from proxyuse.lang.compiled import bits_of, called, compiled
from proxyuse.lang.evaluate import Array
from proxyuse.measure.forests.decision import Sums
from proxyuse.measure.forests.intervention_loops import leaf_after_intervention
from proxyuse.measure.forests.loops import UNSURE, changes, exactly_changes


@called
def lowest_bit(word: int) -> int:
    """Return the index of the lowest set bit."""
    return int(bits_of(~word & (word - np.uint64(1))))


@called
def changes_exactly(
    nodes: Array, codes: Array, row: int, others: Array, other: int, intervened: Array,
    trees: Array, starts: Array, sums: Sums, ends: Array, actual: int, total: float, new: Array,
) -> bool:  # fmt: skip
    """Return whether another row's codes change a row's output, by the program's own sums."""
    same = True
    for tree in range(len(new)):
        new[tree] = ends[tree, row]
    for tree in trees:
        new[tree] = leaf_after_intervention(
            nodes, codes, row, others, other, intervened, starts[tree]
        )
        same = same and new[tree] == ends[tree, row]
    return not same and exactly_changes(sums, new, actual, total)


@compiled
def try_value_sets(
    nodes: Array, codes: Array, rows: Array, intervened: Array, first: Array, trees: Array,
    starts: Array, slot: Array, holds: Array, others: Array, masses: Array, sums: Sums,
    scores: Array, slack: int, ends: Array, leads: Array, classes: Array, totals: Array,
    weights: Array, by_row: Array, by_class: Array,
) -> None:  # fmt: skip
    """Count the changes of output with each of up to 64 classes of values.

    A set of classes is one 64-bit word. ``holds[slot[node]]`` is the set of classes that pass the
    test of a node. `others` has one row of codes per class, and `masses` the mass of each class.
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
                        if intervened[node]:
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
                        nodes, codes, row, others, kind, intervened, trees, starts, sums, ends,
                        classes[row], totals[row, 0], new,
                    )  # fmt: skip
                if outcome == 1:
                    by_row[row] += masses[kind]
                    by_class[kind] += weights[row]


@compiled
def try_value_ranges(
    nodes: Array, codes: Array, rows: Array, intervened: Array, first: Array, trees: Array,
    starts: Array, column: int, cell_of: Array, cells: Array, upto: Array, sums: Sums,
    scores: Array, slack: int, ends: Array, leads: Array, classes: Array, totals: Array,
    weights: Array, by_row: Array, turns: Array,
) -> None:  # fmt: skip
    """Count the changes of output with the value of a column in each of its cells.

    A cell is a code that occurs. `cells` holds these codes in ascending order, `cell_of` the number
    of cells below each code (from -1 on), and `upto` the mass of the cells before each one. The
    cells that end at a leaf are a range, so a leaf adds its scores at the ends of that range. The
    output is the same between two such ends and is computed once. The mass of the cells that change
    a row's output is added to `by_row`. The mass of the rows that a cell changes is the sum of
    `turns` up to that cell.
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
                    while node >= 0 and not intervened[node]:
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
                            nodes, codes, row, held, 0, intervened, trees, starts, sums, ends,
                            classes[row], totals[row, 0], new,
                        )  # fmt: skip
                    else:
                        changed = outcome == 1
            if changed:
                by_row[row] += upto[count] - upto[since]
                turns[since] += weights[row]
                turns[count] -= weights[row]
