"""Loops over rows and trees, compiled when they are first called; importing this loads numba.

Rows come as codes (`lang.walking`), a node as five whole numbers: its column, the first code that
goes to the first child, how many codes do, and the children. A leaf is ``-1 - leaf``. Masses are
whole numbers, so sums do not depend on the order of rows or blocks.
"""

from __future__ import annotations

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
    active, at = [0] * rows, [0] * rows
    for tree in range(len(starts)):
        count = 0
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
                node = nodes[node, 3] if 0 <= code < nodes[node, 2] else nodes[node, 4]
                if node < 0:
                    ends[tree, row] = -1 - node
                else:
                    active[kept] = row
                    at[kept] = node
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
    return total_of(sums, ends, index) / sums.divisors[index]


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


@compiled
def stand(
    sums: Sums, scores: Array, base: Array, slack: int, ends: Array,
    leads: Array, classes: Array, totals: Array, room: Array,
) -> None:  # fmt: skip
    """Of each row: its leads, its class, its sums, and by how much leads must change (at least 1).

    For numbers the class is 0 and the room 1.
    """
    own = ends[:, 0].copy()
    for row in range(ends.shape[1]):
        for index in range(len(base)):
            leads[row, index] = base[index]
        for tree in range(len(ends)):
            own[tree] = ends[tree, row]
            for index in range(len(base)):
                leads[row, index] += scores[own[tree], index]
        for index in range(totals.shape[1]):
            totals[row, index] = total_of(sums, own, index)
        room[row] = 1
        if len(sums.outputs) == 0:
            classes[row] = 0
            continue
        best = exact_class(sums, own)
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
    nodes: Array, parent: Array, leaf_parent: Array, span: Array, sides: Array, tree_span: Array,
    ends: Array, room: Array, masses: Array, near: Array,
) -> None:  # fmt: skip
    """Add up, for each node, the rows that pass it and whose output it might change.

    The first column is for the subtree, the second for its test. `span` is how far leads can move
    when a row ends elsewhere below a node, `sides` for each of its sides.
    """
    for tree in range(len(ends)):
        for row in range(len(masses)):
            if room[row] > tree_span[tree]:
                continue
            leaf = ends[tree, row]
            child, node = -1 - leaf, leaf_parent[leaf]
            while node >= 0:
                if span[node] >= room[row]:
                    near[node, 0] += masses[row]
                    if sides[node] >= room[row]:
                        near[node, 1] += masses[row]
                child, node = node, parent[node]


@compiled
def bound_together(
    number: Array, parent: Array, leaf_parent: Array, span: Array, trees: Array,
    ends: Array, room: Array, masses: Array, near: Array, reach: Array,
) -> None:  # fmt: skip
    """Add up, for each of some computations at several nodes, the rows they might change.

    `number` says which computation stands at a node, -1 for none. A row's leads move by no more
    than the sum of what they can at each node that it passes.
    """
    moved = near * 0
    met = [0] * len(near)
    for row in range(len(masses)):
        count = 0
        for tree in trees:
            leaf = ends[tree, row]
            node = leaf_parent[leaf]
            while node >= 0:
                own = number[node]
                if own >= 0:
                    if moved[own] == 0:
                        met[count] = own
                        count += 1
                        moved[own] = 1  # counts as met, and is taken off below
                    moved[own] += span[node]
                node = parent[node]
        for i in range(count):
            own = met[i]
            reach[own] += masses[row]
            if moved[own] - 1 >= room[row]:
                near[own] += masses[row]
            moved[own] = 0


@called
def held_leaf(
    nodes: Array, codes: Array, row: int, others: Array, other: int, hole: Array, node: int
) -> int:
    """Where a row ends if the tests in a hole look at another row's codes."""
    while node >= 0:
        column = nodes[node, 0]
        code = others[other, column] if hole[node] else codes[row, column]
        code -= nodes[node, 1]
        node = nodes[node, 3] if 0 <= code < nodes[node, 2] else nodes[node, 4]
    return -1 - node


@called
def differs(
    sums: Sums, scores: Array, slack: int, own: Array, new: Array, trees: Array, leads: Array,
    moved: Array, said: int, total: float,
) -> bool:  # fmt: skip
    """Whether the output is another one with new leaves in some trees; `moved` is scratch."""
    same = True
    for index in range(len(leads)):
        moved[index] = leads[index]
    for i in range(len(trees)):
        tree = trees[i]
        if new[tree] != own[tree]:
            same = False
            for index in range(len(leads)):
                moved[index] += scores[new[tree], index] - scores[own[tree], index]
    if same:
        return False
    if len(sums.outputs) == 0:
        step = moved[0] - leads[0]
        if step > slack or -step > slack:
            return True
        return bool(quotient_of(sums, new, 0) != total / sums.divisors[0])
    best = sure_class(moved, slack)
    if best == UNSURE:
        best = exact_class(sums, new)
    return bool(sums.outputs[best] != sums.outputs[said])


@compiled
def count_held(
    nodes: Array, codes: Array, rows: Array, others: Array, chosen: Array, hole: Array,
    trees: Array, starts: Array, sums: Sums, scores: Array, slack: int, ends: Array,
    leads: Array, classes: Array, totals: Array, changed: Array,
) -> None:  # fmt: skip
    """Whether rows change their output if the tests in a hole look at other rows' codes.

    Pair i is row ``rows[i]`` with row ``chosen[i]`` of `others`.
    """
    own = ends[:, 0].copy()
    new = ends[:, 0].copy()
    moved = leads[0].copy() if len(leads) else leads[:0].sum(axis=0)
    for i in range(len(rows)):
        row = rows[i]
        for tree in range(len(own)):
            own[tree] = ends[tree, row]
            new[tree] = own[tree]
        for tree in trees:
            new[tree] = held_leaf(nodes, codes, row, others, chosen[i], hole, starts[tree])
        changed[i] = differs(
            sums, scores, slack, own, new, trees, leads[row], moved, classes[row], totals[row, 0]
        )


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
    steps = leads[:1].repeat(count + 1).reshape(-1, width) * 0 if width else leads
    own = ends[:, 0].copy()
    new = ends[:, 0].copy()
    moved = leads[0].copy()
    stack = [(0, 0, 0)]
    held = codes[:1].copy()
    for i in range(len(rows)):
        row = rows[i]
        steps[:] = 0
        for tree in range(len(own)):
            own[tree] = ends[tree, row]
        touched = False
        for tree in trees:
            leaf = own[tree]
            stack.clear()
            stack.append((starts[tree], 0, count))
            while len(stack) > 0:
                node, low, high = stack.pop()
                while node >= 0 and not hole[node]:
                    code = codes[row, nodes[node, 0]] - nodes[node, 1]
                    node = nodes[node, 3] if 0 <= code < nodes[node, 2] else nodes[node, 4]
                if node < 0:
                    if -1 - node != leaf:
                        touched = True
                        for index in range(width):
                            step = scores[-1 - node, index] - scores[leaf, index]
                            steps[low, index] += step
                            steps[high, index] -= step
                    continue
                first, last = nodes[node, 1], nodes[node, 1] + nodes[node, 2]
                begin = min(max(cell_of[first + 1], low), high)
                end = min(max(cell_of[min(last + 1, len(cell_of) - 1)], begin), high)
                if begin < end:
                    stack.append((nodes[node, 3], begin, end))
                if low < begin:
                    stack.append((nodes[node, 4], low, begin))
                if end < high:
                    stack.append((nodes[node, 4], end, high))
        if not touched:
            continue
        for index in range(width):
            moved[index] = leads[row, index]
        output = sums.outputs[classes[row]] if len(sums.outputs) > 0 else 0
        for cell in range(count):
            for index in range(width):
                moved[index] += steps[cell, index]
            if masses[cell] == 0 or cells[cell] == codes[row, column]:
                continue
            changes = False
            unsure = False
            if len(sums.outputs) == 0:
                step = moved[0] - leads[row, 0]
                changes = step > slack or -step > slack
                unsure = not changes
            else:
                best = sure_class(moved, slack)
                unsure = best == UNSURE
                changes = not unsure and sums.outputs[best] != output
            if unsure:
                held[0, column] = cells[cell]
                for tree in range(len(own)):
                    new[tree] = own[tree]
                for tree in trees:
                    new[tree] = held_leaf(nodes, codes, row, held, 0, hole, starts[tree])
                if len(sums.outputs) == 0:
                    changes = quotient_of(sums, new, 0) != totals[row, 0] / sums.divisors[0]
                else:
                    changes = sums.outputs[exact_class(sums, new)] != output
            if changes:
                by_row[row] += masses[cell]
                by_cell[cell] += weights[row]


@compiled
def graft(
    rows: Array, inside: Array, trees: Array, distinct: Array, shifts: Array, first_leaf: int,
    value_of: Array, leaf_of: Array, masses: Array, sums: Sums, scores: Array, slack: int, ends: Array,
    leads: Array, classes: Array, totals: Array, weights: Array, by_row: Array, by_value: Array,
) -> None:  # fmt: skip
    """What rows say with each value of a subtree in the places where it stands.

    The subtree stands in `trees`, its leaves there `shifts` further than in the first; `inside`
    says in which of them each of `rows` comes to it; `distinct` has each tree once. `leaf_of` has a leaf for each distinct value,
    values ascending by score if there is one score, `value_of` the value of each leaf.
    """
    own = ends[:, 0].copy()
    new = ends[:, 0].copy()
    moved = leads[0].copy()
    number = len(sums.outputs) == 0
    for i in range(len(rows)):
        row = rows[i]
        here = -1
        for tree in range(len(own)):
            own[tree] = ends[tree, row]
            new[tree] = own[tree]
        for k in range(len(trees)):
            if inside[k, i]:
                here = value_of[own[trees[k]] - shifts[k] - first_leaf]
        for value in range(len(leaf_of)):
            if masses[value] == 0 or value == here:
                continue
            for k in range(len(trees)):
                if inside[k, i]:
                    new[trees[k]] = leaf_of[value] + shifts[k]
            changes = differs(
                sums, scores, slack, own, new, distinct, leads[row], moved, classes[row],
                totals[row, 0],
            )
            if changes:
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
def mixed(word: int, more: int) -> int:
    """A 64-bit hash of a hash and a word."""
    word ^= more
    word *= np.uint64(0x9E3779B97F4A7C15)
    word ^= word >> np.uint64(29)
    word *= np.uint64(0xBF58476D1CE4E5B9)
    word ^= word >> np.uint64(32)
    return word


@compiled
def hash_subtrees(
    test: Array, then: Array, otherwise: Array, leaves: Array, hashes: Array
) -> None:
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
