"""Loops over rows and trees, compiled when they are first called; importing this loads numba.

Rows come as codes (`lang.walking`), a node as five whole numbers: its column, the first code that
goes to the first child, how many codes do, and the children. A leaf is ``-1 - leaf``. Masses are
whole numbers, so sums do not depend on the order of rows or blocks.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from proxyuse.lang.compiled import called, compiled
from proxyuse.lang.evaluate import Array
from proxyuse.measure.forests.decision import Sums

UNSURE = -1


@compiled
def find_all_leaves(nodes: Array, codes: Array, starts: Array, ends: Array) -> None:
    """The leaf at which each row ends in each tree (trees x rows).

    All rows take a step before any takes the next one, so that memory is waited for once.
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
            kept = 0
            for i in range(count):
                row, node = active[i], at[i]
                code = codes[row, nodes[node, 0]] - nodes[node, 1]
                node = (
                    nodes[node, 3]
                    if np.uint32(code) < np.uint32(nodes[node, 2])
                    else nodes[node, 4]
                )
                active[kept] = row
                at[kept] = node
                if node < 0:
                    ends[tree, row] = -1 - node
                else:
                    kept += 1
            count = kept


@called
def total_of(sums: Sums, ends: Array, index: int) -> float:
    """One of the program's own sums, added in its order and not divided yet."""
    total = 0.0
    for place in range(sums.firsts[index], sums.firsts[index + 1]):
        tree = sums.operands[place]
        value = sums.constants[place]
        if tree >= 0:
            value = sums.values[ends[tree], sums.columns[index]]
        total = value if place == sums.firsts[index] else total + value
    return total


@called
def quotient_of(sums: Sums, ends: Array, index: int) -> float:
    """One of the program's own sums, divided as the program does."""
    return float(total_of(sums, ends, index) / sums.divisors[index])


@called
def exact_class(sums: Sums, ends: Array) -> int:
    """The class that the program's own sums choose."""
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
    """The class with the largest lead, the first one on a tie; UNSURE if rounding may decide."""
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
    """The class that the program's own sums choose, given these sums."""
    if sums.threshold == sums.threshold:
        return 1 if totals[0] >= sums.threshold else 0
    best, largest = 0, totals[0] / sums.divisors[0]
    for index in range(1, len(sums.columns)):
        total = totals[index] / sums.divisors[index]
        if total > largest:
            best, largest = index, total
    return best


@compiled
def stand(
    sums: Sums, scores: Array, base: Array, slack: int, ends: Array,
    leads: Array, classes: Array, totals: Array, room: Array,
) -> None:  # fmt: skip
    """Of each row: its leads, its class, its sums, and by how much leads must change (at least 1).

    For numbers the class is 0 and the room 1.
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
        for place in range(sums.firsts[index], sums.firsts[index + 1]):
            first = place == sums.firsts[index]
            tree, column = sums.operands[place], sums.columns[index]
            value = sums.constants[place]
            for row in range(rows):
                if tree >= 0:
                    value = sums.values[ends[tree, row], column]
                totals[row, index] = value if first else totals[row, index] + value
    for row in range(rows):
        room[row] = 1
        if len(sums.outputs) == 0:
            classes[row] = 0
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
                if other > best:  # a tie keeps the first
                    gap += 1
                nearest = min(nearest, gap)
        room[row] = max(nearest, 1)


@compiled
def add_by_leaf(ends: Array, masses: Array, by_leaf: Array) -> None:
    """Add the mass of each row to the leaves at which it ends."""
    for tree in range(len(ends)):
        for row in range(len(masses)):
            by_leaf[ends[tree, row]] += masses[row]


@compiled
def bound_singles(
    then: Array, parent: Array, leaf_parent: Array, span: Array, low: Array, high: Array,
    tree_span: Array, scores: Array, is_number: bool, slack: int, classes: Array, ends: Array,
    room: Array, masses: Array, near: Array,
) -> None:  # fmt: skip
    """Add up, for each node, the rows that pass it and whose output it might change.

    The first column is for the subtree, the second for its test. With one lead, it must move
    towards the other class: `low` and `high` are the smallest and largest score below each node,
    and below each of its sides. A number may move either way. With several leads, `span` is how far
    any of them can move. Where sums are rounded, so are scores, and leaves may differ by less than
    a unit.
    """
    single = scores.shape[1] == 1
    rounding = 1 if slack > 0 else 0
    for tree in range(len(ends)):
        for row in range(len(masses)):
            if room[row] > tree_span[tree]:
                continue
            leaf = ends[tree, row]
            child, node = -1 - leaf, leaf_parent[leaf]
            own = scores[leaf, 0]
            # The program's own sums decide the class; close to a tie the lead may say another.
            down, up = is_number or classes[row] == 1, is_number or classes[row] == 0
            while node >= 0:
                if span[node] >= room[row]:
                    test = move = span[node]
                    if single:
                        other = 1 if then[node] == child else 0
                        move = test = 0
                        if down:
                            move = own - low[node, 2]
                            test = own - low[node, other]
                        if up:
                            move = max(move, high[node, 2] - own)
                            test = max(test, high[node, other] - own)
                        move += rounding
                        test += rounding
                    if move >= room[row]:
                        near[node, 0] += masses[row]
                    if test >= room[row]:
                        near[node, 1] += masses[row]
                child, node = node, parent[node]


@compiled
def bound_together(
    number: Array, parent: Array, leaf_parent: Array, span: Array, trees: Array,
    ends: Array, room: Array, masses: Array, near: Array, reach: Array,
) -> None:  # fmt: skip
    """Add up, for each of some computations at several nodes, the rows they might change.

    `number` says which computation stands at a node, -1 for none. A row's leads move by no more
    than the sum of what they can at each node that it passes. Tree by tree for some rows at a
    time, so that a tree is in the cache while they pass.
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
                    if moved[row - begin, own] >= room[row]:
                        near[own] += masses[row]


@called
def held_leaf(
    nodes: Array, codes: Array, row: int, others: Array, other: int, hole: Array, node: int
) -> int:
    """Where a row ends if the tests in a hole look at another row's codes."""
    while node >= 0:
        column = nodes[node, 0]
        code = others[other, column] if hole[node] else codes[row, column]
        code -= nodes[node, 1]
        inside = np.uint32(code) < np.uint32(nodes[node, 2])
        node = nodes[node, 3] if inside else nodes[node, 4]
    return -1 - node


@called
def changes(sums: Sums, scores: Array, slack: int, leads: Array, moved: Array, said: int) -> int:
    """Whether the output is another one with other leads: 1, 0, or UNSURE if rounding decides."""
    if len(sums.outputs) == 0:
        step = moved[0] - leads[0]
        return 1 if step > slack or -step > slack else UNSURE
    best = sure_class(moved, slack)
    if best == UNSURE:
        return UNSURE
    return 1 if sums.outputs[best] != sums.outputs[said] else 0


@called
def exactly_changes(sums: Sums, new: Array, said: int, total: float) -> bool:
    """The same by the program's own sums, given the leaves in all trees."""
    if len(sums.outputs) == 0:
        return bool(quotient_of(sums, new, 0) != total / sums.divisors[0])
    return bool(sums.outputs[exact_class(sums, new)] != sums.outputs[said])


@compiled
def count_held(
    nodes: Array, codes: Array, rows: Array, others: Array, chosen: Array, hole: Array,
    trees: Array, starts: Array, sums: Sums, scores: Array, slack: int, ends: Array,
    leads: Array, classes: Array, totals: Array, changed: Array,
) -> None:  # fmt: skip
    """Whether rows change their output if the tests in a hole look at other rows' codes.

    Pair i is row ``rows[i]`` with row ``chosen[i]`` of `others`. Tree by tree.
    """
    width = leads.shape[1]
    moved = np.empty((len(rows), width), dtype=np.int64)
    same = np.ones(len(rows), dtype=np.bool_)
    for i in range(len(rows)):
        for index in range(width):
            moved[i, index] = leads[rows[i], index]
    for tree in trees:
        for i in range(len(rows)):
            own = ends[tree, rows[i]]
            leaf = held_leaf(nodes, codes, rows[i], others, chosen[i], hole, starts[tree])
            if leaf != own:
                same[i] = False
                for index in range(width):
                    moved[i, index] += scores[leaf, index] - scores[own, index]
    new = ends[:, 0].copy()
    for i in range(len(rows)):
        row = rows[i]
        changed[i] = False
        if same[i]:
            continue
        outcome = changes(sums, scores, slack, leads[row], moved[i], classes[row])
        if outcome == UNSURE:
            for tree in range(len(new)):
                new[tree] = ends[tree, row]
            for tree in trees:
                new[tree] = held_leaf(nodes, codes, row, others, chosen[i], hole, starts[tree])
            changed[i] = exactly_changes(sums, new, classes[row], totals[row, 0])
        else:
            changed[i] = outcome == 1


@compiled
def sweep(
    nodes: Array, codes: Array, rows: Array, hole: Array, trees: Array, starts: Array,
    column: int, cell_of: Array, cells: Array, masses: Array, sums: Sums, scores: Array,
    slack: int, ends: Array, leads: Array, classes: Array, totals: Array, weights: Array,
    by_row: Array, by_cell: Array,
) -> None:  # fmt: skip
    """What rows say with a column's value in each of its cells, at the tests of a hole.

    A cell is a code that occurs: `cells` are the codes, ascending, `cell_of` says for each code
    (from -1 on) how many cells are below it. For each row the mass of the cells that change its
    output is added to `by_row`, for each cell the mass of the rows to `by_cell`. A walk splits the
    range of cells at the tests of the hole; what a leaf adds goes to its range at once.
    """
    count, width = len(cells), leads.shape[1]
    size = max(1, min(len(rows), 2**17 // ((count + 1) * width)))
    steps = np.zeros((size, count + 1, width), dtype=np.int64)
    touched = np.zeros(size, dtype=np.bool_)
    new = ends[:, 0].copy()
    moved = leads[0].copy()
    stack = np.empty((64, 3), dtype=np.int64)
    held = codes[:1].copy()
    for begin_row in range(0, len(rows), size):
        some = min(size, len(rows) - begin_row)
        steps[:] = 0
        touched[:] = False
        for tree in trees:
            for i in range(some):
                row = rows[begin_row + i]
                leaf = ends[tree, row]
                stack[0, 0], stack[0, 1], stack[0, 2] = starts[tree], 0, count
                waiting = 1
                while waiting > 0:
                    waiting -= 1
                    node, low, high = stack[waiting, 0], stack[waiting, 1], stack[waiting, 2]
                    while node >= 0 and not hole[node]:
                        code = codes[row, nodes[node, 0]] - nodes[node, 1]
                        node = nodes[node, 3] if 0 <= code < nodes[node, 2] else nodes[node, 4]
                    if node < 0:
                        if -1 - node != leaf:
                            touched[i] = True
                            for index in range(width):
                                step = scores[-1 - node, index] - scores[leaf, index]
                                steps[i, low, index] += step
                                steps[i, high, index] -= step
                        continue
                    first, last = nodes[node, 1], nodes[node, 1] + nodes[node, 2]
                    begin = min(max(cell_of[first + 1], low), high)
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
            if not touched[i]:
                continue
            row = rows[begin_row + i]
            for index in range(width):
                moved[index] = leads[row, index]
            for cell in range(count):
                for index in range(width):
                    moved[index] += steps[i, cell, index]
                if masses[cell] == 0 or cells[cell] == codes[row, column]:
                    continue
                outcome = changes(sums, scores, slack, leads[row], moved, classes[row])
                if outcome == UNSURE:
                    held[0, column] = cells[cell]
                    same = True
                    for tree in range(len(new)):
                        new[tree] = ends[tree, row]
                    for tree in trees:
                        new[tree] = held_leaf(nodes, codes, row, held, 0, hole, starts[tree])
                        same = same and new[tree] == ends[tree, row]
                    if same:
                        continue
                    outcome = exactly_changes(sums, new, classes[row], totals[row, 0])
                if outcome == 1:
                    by_row[row] += masses[cell]
                    by_cell[cell] += weights[row]


@compiled
def graft(
    rows: Array, inside: Array, trees: Array, shifts: Array, first_leaf: int, value_of: Array,
    leaf_of: Array, masses: Array, sums: Sums, scores: Array, slack: int, ends: Array,
    leads: Array, classes: Array, totals: Array, weights: Array, by_row: Array, by_value: Array,
) -> None:  # fmt: skip
    """What rows say with each value of a subtree in the places where it stands.

    The subtree stands in `trees`, its leaves there `shifts` further than in the first; `inside`
    says in which of them each of `rows` comes to it. `leaf_of` has a leaf for each distinct value,
    `value_of` the value of each leaf.
    """
    new = ends[:, 0].copy()
    moved, kept = leads[0].copy(), leads[0].copy()
    for i in range(len(rows)):
        row = rows[i]
        here = -1
        for index in range(len(kept)):
            kept[index] = leads[row, index]
        for k in range(len(trees)):
            if inside[k, i]:
                own = ends[trees[k], row]
                here = value_of[own - shifts[k] - first_leaf]
                for index in range(len(kept)):
                    kept[index] -= scores[own, index]
        for value in range(len(leaf_of)):
            if masses[value] == 0 or value == here:
                continue
            for index in range(len(kept)):
                moved[index] = kept[index]
            for k in range(len(trees)):
                if inside[k, i]:
                    for index in range(len(kept)):
                        moved[index] += scores[leaf_of[value] + shifts[k], index]
            outcome = changes(sums, scores, slack, leads[row], moved, classes[row])
            if outcome == UNSURE:
                for tree in range(len(new)):
                    new[tree] = ends[tree, row]
                for k in range(len(trees)):
                    if inside[k, i]:
                        new[trees[k]] = leaf_of[value] + shifts[k]
                outcome = exactly_changes(sums, new, classes[row], totals[row, 0])
            if outcome == 1:
                by_row[row] += masses[value]
                by_value[value] += weights[row]


@compiled
def potential(
    hole: Array, parent: Array, leaf_parent: Array, span: Array, trees: Array, ends: Array,
    moves: Array,
) -> None:  # fmt: skip
    """How far each row's leads can move at most through some nodes; -1 if it passes none."""
    for tree in trees:
        for row in range(len(moves)):
            node = leaf_parent[ends[tree, row]]
            while node >= 0:
                if hole[node]:
                    moves[row] = max(moves[row], 0) + span[node]
                node = parent[node]


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


@compiled
def meet(
    hole: Array, parent: Array, leaf_parent: Array, trees: Array, ends: Array, met: Array
) -> None:
    """Which rows pass one of some nodes; rows that have are not looked at again."""
    waiting = np.arange(len(met))
    for tree in trees:
        kept = 0
        for i in range(len(waiting)):
            row = waiting[i]
            node = leaf_parent[ends[tree, row]]
            while node >= 0 and not hole[node]:
                node = parent[node]
            if node >= 0:
                met[row] = True
            else:
                waiting[kept] = row
                kept += 1
        waiting = waiting[:kept]
