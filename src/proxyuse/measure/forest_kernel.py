"""Compiled loops over the rows of a forest; see `forests` for what they count and why.

Importing this module loads numba. What it compiles is kept on disk. Helpers are inlined and take
arrays, not tuples of arrays: taking an array out of a tuple counts references in every step.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from proxyuse.lang.evaluate import Array
from proxyuse.lang.compiled import bits_of, called, compiled, inlined
from proxyuse.measure.forest_wiring import Wiring


@inlined
def next_of(nodes: Array, cells: Array, node: int) -> int:
    """The child to which a row with these cells goes; without a branch, which would be a guess."""
    below: int = nodes[node, 2 + np.int64(cells[nodes[node, 0]] >= nodes[node, 1])]
    return below


@called
def _exact_winner(wiring: Wiring, leaves: Array) -> int:
    """The class that wins by the program's own sums."""
    best, winner = 0.0, -1
    for number in range(len(wiring.columns)):
        column = wiring.columns[number]
        total = 0.0
        for place in range(wiring.firsts[number], wiring.firsts[number + 1]):
            tree = wiring.operands[place]
            part = wiring.constants[place]
            if tree >= 0:
                part = wiring.values[leaves[tree], column]
            total = part if place == wiring.firsts[number] else total + part
        total = total / wiring.divisors[number]
        if wiring.threshold == wiring.threshold:
            return 1 if total >= wiring.threshold else 0
        if winner < 0 or total > best:
            best, winner = total, number
    return winner


@inlined
def _winner(leads: Array, slack: int) -> int:
    """The class with the largest lead, or -1 if another one is too close to tell."""
    best, winner = np.int64(0), 0
    for c in range(len(leads)):
        if leads[c] > best:
            best, winner = leads[c], c + 1
    if slack > 0:
        if winner != 0 and best <= slack:
            return -1
        for c in range(len(leads)):
            if c + 1 != winner and best - leads[c] <= slack:
                return -1
    return winner


@inlined
def room_of(outputs: Array, leads: Array, slack: int, said: int) -> Any:
    """By how much the leads must at least change before the output does."""
    best = np.int64(0)
    for c in range(len(leads)):
        best = max(best, leads[c])
    room = np.int64(1) << 62
    if outputs[0] != said:
        room = min(room, best)
    for c in range(len(leads)):
        if outputs[c + 1] != said:
            room = min(room, best - leads[c])
    return room - slack


@inlined
def _rooms(wiring: Wiring, leads: Array, said: Array, start: int, stop: int) -> Any:
    """The room of each row of a block, and whether its output changes as the lead rises."""
    room = np.empty(stop - start, dtype=np.int64)
    rises = np.empty(stop - start, dtype=np.bool_)
    for row in range(start, stop):
        room[row - start] = room_of(wiring.outputs, leads[row], wiring.slack, said[row])
        rises[row - start] = leads.shape[1] > 1 or leads[row, 0] <= 0
    return room, rises


@compiled
def find_leaves(wiring: Wiring, begin: Array, leaves: Array, start: int, stop: int) -> None:
    """Fill in at which leaf each row ends from some nodes on (nodes x rows).

    Four rows at a time: each waits for memory, but not for the others.
    """
    nodes, codes = wiring.nodes, wiring.codes
    for row in range(start, stop, 4):
        last = min(row + 4, stop) - 1
        first, second, third, fourth = row, min(row + 1, last), min(row + 2, last), last
        for place in range(len(begin)):
            a, b, c, d = begin[place], begin[place], begin[place], begin[place]
            while a >= 0 or b >= 0 or c >= 0 or d >= 0:
                if a >= 0:
                    a = next_of(nodes, codes[first], a)
                if b >= 0:
                    b = next_of(nodes, codes[second], b)
                if c >= 0:
                    c = next_of(nodes, codes[third], c)
                if d >= 0:
                    d = next_of(nodes, codes[fourth], d)
            leaves[place, first], leaves[place, second] = -1 - a, -1 - b
            leaves[place, third], leaves[place, fourth] = -1 - c, -1 - d


@inlined
def decide(wiring: Wiring, ends: Array, leads: Array, said: Array, start: int, stop: int) -> None:
    """Fill in the outputs that go with leads."""
    for row in range(start, stop):
        winner = _winner(leads[row], wiring.slack)
        if winner < 0:
            winner = _exact_winner(wiring, ends[:, row])
        said[row] = wiring.outputs[winner]


@compiled
def stand(wiring: Wiring, ends: Array, leads: Array, said: Array, start: int, stop: int) -> None:
    """Fill in the leaf of each row in each tree, its leads and its output."""
    find_leaves(wiring, wiring.roots, ends, start, stop)
    scores = wiring.scores
    leads[start:stop] = wiring.base
    for tree in range(len(ends)):
        for row in range(start, stop):
            for c in range(leads.shape[1]):
                leads[row, c] += scores[ends[tree, row], c]
    decide(wiring, ends, leads, said, start, stop)


@called
def _changed_exactly(
    wiring: Wiring, ends: Array, row: int, tree: int, leaf: int, said: int
) -> bool:
    """Whether a row's output is another one with some leaf of a tree, by the program's own sums."""
    leaves = ends[:, row].copy()
    leaves[tree] = leaf
    changed: bool = wiring.outputs[_exact_winner(wiring, leaves)] != said
    return changed


@inlined
def _change_by_leaf(wiring: Wiring, ends: Array, row: int, lead: Array, said: int, tree: int,
                    first: int, last: int, tried: Array, changed: Array) -> None:  # fmt: skip
    """Fill in whether a row's output is another one with each leaf of a tree."""
    scores, outputs, slack = wiring.scores, wiring.outputs, wiring.slack
    own = ends[tree, row]
    if len(lead) == 1:  # most often; without a branch for each leaf
        rest = lead[0] - scores[own, 0]
        below, above = outputs[0] != said, outputs[1] != said
        unsure = np.int64(0)
        for leaf in range(first, last):
            total = rest + scores[leaf, 0]
            changed[leaf - first] = above if total > 0 else below
            unsure += (slack > 0) & (abs(total) <= slack)
        if unsure > 0:
            for leaf in range(first, last):
                if abs(rest + scores[leaf, 0]) <= slack:
                    changed[leaf - first] = _changed_exactly(wiring, ends, row, tree, leaf, said)
        return
    for leaf in range(first, last):
        for c in range(len(lead)):
            tried[c] = lead[c] - scores[own, c] + scores[leaf, c]
        winner = _winner(tried, slack)
        if winner >= 0:
            changed[leaf - first] = outputs[winner] != said
        else:
            changed[leaf - first] = _changed_exactly(wiring, ends, row, tree, leaf, said)


@compiled
def count_singles(
    wiring: Wiring, ends: Array, leads: Array, said: Array, first_leaf: Array, leaf_from: Array,
    leaf_to: Array, lowest: Array, highest: Array, first_mass: Array, leaf_masses: Array,
    weights: Array, flips: Array, changes: Array, start: int, stop: int,
) -> None:  # fmt: skip
    """Count for each node what its test and its subtree change, one at a time.

    lowest, highest : as in `count_variables`; with them most rows are left out of most trees.
    first_mass, leaf_masses : for each node, the masses of the leaves below from there on.
    flips : nodes x 2, the mass of rows that come from the left, the right and would then end in
        another output on the other side.
    changes : by node, the mass of pairs of rows in which the subtree's new value changes the
        output.
    """
    nodes, scores, roots = wiring.nodes, wiring.scores, wiring.roots
    changed = np.empty(np.diff(first_leaf).max(), dtype=np.int64)
    two = leads.shape[1] == 1
    tried = np.empty(leads.shape[1], dtype=np.int64)
    room, rises = _rooms(wiring, leads, said, start, stop)
    for tree in range(len(roots)):
        low, high = lowest[roots[tree], 2], highest[roots[tree], 2]
        first, last = first_leaf[tree], first_leaf[tree + 1]
        for row in range(start, stop):
            own = scores[np.uintp(ends[tree, row]), 0] if two else np.int64(0)
            if room[row - start] > (high - own if rises[row - start] else own - low):
                continue
            _change_by_leaf(wiring, ends, row, leads[row], said[row], tree, first, last, tried,
                            changed)  # fmt: skip
            cells = wiring.codes[row]
            node = roots[tree]
            while node >= 0:
                total = leaf_masses[0] * 0
                masses = leaf_masses[first_mass[node] : first_mass[node + 1]]
                there = changed[leaf_from[node] - first : leaf_to[node] - first]
                for place in range(len(masses)):
                    total += there[place] * masses[place]
                changes[node] += weights[row] * total
                below = next_of(nodes, cells, node)
                side = 0 if below == nodes[node, 2] else 1
                other = nodes[node, 3 - side]
                while other >= 0:
                    other = next_of(nodes, cells, other)
                if changed[-1 - other - first]:
                    flips[node, side] += weights[row]
                node = below


@inlined
def _held_leaf(nodes: Array, cells: Array, holes: Array, held: Array, lookup: Array, node: int,
               hole: int, cell: int) -> int:  # fmt: skip
    """The leaf at which a row ends, from a node on, with one hole held at a cell.

    `held` is where in `lookup` each node's ways begin, that of the missing number (-1) first.
    """
    while node >= 0:
        if holes[node] == hole:
            node = nodes[node, 3 - np.int64(lookup[held[node] + 1 + cell])]
        else:
            node = next_of(nodes, cells, node)
    return -1 - node


@called
def exact_output(wiring: Wiring, row: int, holes: Array, held: Array, lookup: Array, hole: int,
                 cell: int, leaves: Array) -> int:  # fmt: skip
    """What the program says of a row by its own sums, with a hole held at a cell."""
    for tree in range(len(wiring.roots)):
        leaves[tree] = _held_leaf(wiring.nodes, wiring.codes[row], holes, held, lookup,
                                  wiring.roots[tree], hole, cell)  # fmt: skip
    output: int = wiring.outputs[_exact_winner(wiring, leaves)]
    return output


@inlined
def _toward(rises: bool, move: int) -> int:
    """How far a move of the lead goes in the direction that changes the output."""
    return move if rises else -move


@inlined
def _by_leaf(ends: Array, trees: Array, leaves: int, start: int, stop: int) -> Any:
    """Where each leaf's rows begin; the rows of a block sorted by leaf, from 0; and their leaves.

    Leaves are numbered tree by tree and in preorder, so the rows that pass a node follow each
    other.
    """
    begins = np.zeros(leaves + 1, dtype=np.int64)
    rows = np.empty(len(trees) * (stop - start), dtype=np.int32)
    leaf_of = np.empty(len(rows), dtype=np.int32)
    for tree in trees:
        for row in range(start, stop):
            begins[ends[tree, row] + 1] += 1
    for leaf in range(leaves):
        begins[leaf + 1] += begins[leaf]
    filled = begins.copy()
    for tree in trees:
        for row in range(start, stop):
            leaf = ends[tree, row]
            rows[filled[leaf]] = row - start
            leaf_of[filled[leaf]] = leaf
            filled[leaf] += 1
    return begins, rows, leaf_of


@compiled
def count_tests(
    wiring: Wiring, ends: Array, leads: Array, said: Array, holes: Array, hole_nodes: Array,
    hole_first: Array, trees: Array, mixed: Array, first: Array, sides: Array, lowest: Array,
    highest: Array, masses: Array, weights: Array, changes: Array, reach: Array, bounds: Array,
    by_row: Array, by_cell: Array, start: int, stop: int,
) -> None:  # fmt: skip
    """Count what a test changes that stands at several nodes at once; see `count_variables`.

    masses : holes x 2, of the rows that the test leads to the left, the right.
    """
    nodes, scores, codes = wiring.nodes, wiring.scores, wiring.codes
    outputs, slack, classes = wiring.outputs, wiring.slack, len(wiring.base)
    size = stop - start
    begins, rows, leaf_of = _by_leaf(ends, trees, len(scores), start, stop)
    room, rises = _rooms(wiring, leads, said, start, stop)
    stamp = np.full(size, -1, dtype=np.int64)
    limit = np.empty(size, dtype=np.int64)
    part = np.empty(size, dtype=np.int64)
    moves = np.empty((size, classes), dtype=np.int64)
    other = np.empty(size, dtype=np.int8)
    met = np.empty(size, dtype=np.int32)
    tried = np.empty(classes, dtype=np.int64)
    scratch = np.empty(len(wiring.roots), dtype=np.int32)
    held = np.zeros(len(nodes), dtype=np.int32)
    lookup = np.array([False, True, False])
    for hole in range(len(masses)):
        whole = mixed[hole] or classes > 1
        n_met = 0
        for place in range(hole_first[hole], hole_first[hole + 1]):
            node = hole_nodes[place]
            if not first[node]:
                continue
            for side in range(2):
                way = 2 if whole else 1 - side
                low, high = lowest[node, way], highest[node, way]
                for at in range(begins[sides[node, side, 0]], begins[sides[node, side, 1]]):
                    row = rows[at]
                    own = scores[leaf_of[at], 0] if classes == 1 else np.int64(0)
                    if stamp[row] != hole:
                        stamp[row] = hole
                        limit[row] = 0
                        met[n_met] = row
                        n_met += 1
                        other[row] = 1 - side
                        reach[hole] += weights[start + row]
                    bound = high if rises[row] else low
                    limit[row] += max(0, _toward(rises[row], bound - own))
        n_near = 0
        for place in range(n_met):
            row = met[place]
            if room[row] <= limit[row]:
                met[n_near] = row
                n_near += 1
                part[row] = 0
                moves[row] = 0
        if n_near == 0:
            continue
        for place in range(hole_first[hole], hole_first[hole + 1]):
            node = hole_nodes[place]
            if not first[node]:
                continue
            for side in range(2):
                low, high = lowest[node, 1 - side], highest[node, 1 - side]
                for at in range(begins[sides[node, side, 0]], begins[sides[node, side, 1]]):
                    row, leaf = rows[at], leaf_of[at]
                    if room[row] > limit[row]:
                        continue
                    new = _held_leaf(nodes, codes[start + row], holes, held, lookup,
                                     nodes[node, 3 - side], hole, 1 - side)  # fmt: skip
                    for c in range(classes):
                        moves[row, c] += scores[new, c] - scores[leaf, c]
                    move = max(0, _toward(rises[row], scores[new, 0] - scores[leaf, 0]))
                    part[row] += move
                    if not whole:  # what it does in place of what it could have done
                        bound = high if rises[row] else low
                        limit[row] += move - max(0, _toward(rises[row], bound - scores[leaf, 0]))
        for place in range(n_near):
            row = met[place]
            if room[row] > limit[row]:
                continue
            for c in range(classes):
                tried[c] = leads[start + row, c] + moves[row, c]
            winner = _winner(tried, slack)
            if winner >= 0:
                output = outputs[winner]
            else:
                output = exact_output(wiring, start + row, holes, held, lookup, hole,
                                       other[row], scratch)  # fmt: skip
            mass = weights[start + row] * masses[hole, other[row]]
            if output != said[start + row]:
                changes[hole] += mass
                if len(by_row) > 0:
                    by_row[start + row] = masses[hole, other[row]]
                    by_cell[other[row]] += weights[start + row]
            if whole or room[row] <= part[row]:
                bounds[hole] += mass


@compiled
def count_variables(
    wiring: Wiring, ends: Array, leads: Array, said: Array, holes: Array, hole_nodes: Array,
    hole_first: Array, trees: Array, mixed: Array, first: Array, sides: Array, lowest: Array,
    highest: Array, intervals: Array, first_cell: Array, ordered: Array, masses: Array,
    weights: Array, changes: Array, reach: Array, bounds: Array, by_row: Array, by_cell: Array,
    start: int, stop: int,
) -> None:  # fmt: skip
    """Count what a variable changes that is read at several nodes at once.

    For a variable whose cells have an order, a row's own leaf is what a tree says in the interval
    of cells that keeps to the row's path; each node of the variable on the path leads, for an
    interval next to it, to leaves on its other side.

    holes, hole_nodes, hole_first : for each node the hole it belongs to, or -1; the nodes of each
        hole, one hole after the other, and where each begins.
    trees : those with holes.
    first : whether no node above is of the same hole.
    mixed : whether more leaves can be reached by a mixture of old and new values than by one.
    sides : nodes x 2 x 2, the leaves to the left and to the right, from and to.
    lowest, highest : nodes x 3, the range of scores of the leaves to the left of a node, to the
        right, and of both.
    intervals : nodes x 2, the cells that can come to a node.
    first_cell : where each hole's cells begin; the first cell is the missing number.
    ordered : whether all nodes of a hole lead to the left below some cell.
    masses : of the rows whose value lies in each cell.
    bounds : the mass of pairs of which some choice among the nodes may change the output.
    by_row, by_cell : where there is one hole, for each row the mass of the cells that change its
        output, and for each cell the mass of the rows whose output it changes; or empty.
    """
    nodes, scores, codes = wiring.nodes, wiring.scores, wiring.codes
    outputs, slack, classes = wiring.outputs, wiring.slack, len(wiring.base)
    held, lookup = wiring.held, wiring.lookup
    size = stop - start
    begins, rows, leaf_of = _by_leaf(ends, trees, len(scores), start, stop)
    room, rises = _rooms(wiring, leads, said, start, stop)
    stamp = np.full(size, -1, dtype=np.int64)
    limit = np.empty(size, dtype=np.int64)
    part = np.empty(size, dtype=np.int64)
    widest = np.empty(size, dtype=np.int64)
    met = np.empty(size, dtype=np.int32)
    slot = np.empty(size, dtype=np.int32)
    tried = np.empty(classes, dtype=np.int64)
    scratch = np.empty(len(wiring.roots), dtype=np.int32)
    stack = np.empty((len(nodes) + 2, 3), dtype=np.int32)
    most = 0
    for hole in range(len(ordered)):
        most = max(most, first_cell[hole + 1] - first_cell[hole])
    space = np.zeros(size * (most + 1) * classes, dtype=np.int64)
    everything = masses[first_cell[0] : first_cell[1]].sum()
    for hole in range(len(ordered)):
        whole = mixed[hole] or classes > 1
        n_met = 0
        for place in range(hole_first[hole], hole_first[hole + 1]):
            node = hole_nodes[place]
            if whole and not first[node]:
                continue
            for side in range(2):
                way = 2 if whole or masses[first_cell[hole]] != 0 else 1 - side
                low, high = lowest[node, way], highest[node, way]
                for at in range(begins[sides[node, side, 0]], begins[sides[node, side, 1]]):
                    row = rows[at]
                    own = scores[leaf_of[at], 0] if classes == 1 else np.int64(0)
                    if stamp[row] != hole:
                        stamp[row] = hole
                        limit[row] = 0
                        met[n_met] = row
                        n_met += 1
                        reach[hole] += weights[start + row]
                    bound = high if rises[row] else low
                    limit[row] += max(0, _toward(rises[row], bound - own))
        n_near = 0
        for place in range(n_met):
            row = met[place]
            if room[row] <= limit[row]:
                met[n_near] = row
                slot[row] = n_near
                n_near += 1
                part[row] = 0
                widest[row] = 0
        if n_near == 0:
            continue
        begin, end = first_cell[hole], first_cell[hole + 1]
        width = end - begin + 1
        added = space[: n_near * width * classes].reshape(n_near, width, classes)
        for place in range(hole_first[hole], hole_first[hole + 1]):
            top = hole_nodes[place]
            cut = nodes[top, 1]
            for side in range(2):
                way = 2 if masses[begin] != 0 else 1 - side
                least, greatest = lowest[top, way], highest[top, way]
                beyond, till = intervals[top, 0], intervals[top, 1]
                if side == 0:
                    beyond = max(beyond, cut)
                else:
                    till = min(till, cut)
                for at in range(begins[sides[top, side, 0]], begins[sides[top, side, 1]]):
                    row, leaf = rows[at], leaf_of[at]
                    if room[row] > limit[row]:
                        continue
                    cells = codes[start + row]
                    sums = added[slot[row]]
                    most_here = np.int64(0)
                    if first[top]:
                        part[row] += widest[row]
                        widest[row] = 0
                        # Cells one by one: all without order, else the missing number.
                        for cell in range(1 if ordered[hole] else end - begin):
                            if masses[begin + cell] != 0:
                                new = _held_leaf(nodes, cells, holes, held, lookup, top, hole,
                                                 cell - 1)  # fmt: skip
                                move = _toward(rises[row], scores[new, 0] - scores[leaf, 0])
                                widest[row] = max(widest[row], move)
                                most_here = max(most_here, move)
                                for c in range(classes):
                                    sums[cell, c] += scores[new, c] - scores[leaf, c]
                    height = 1 if ordered[hole] and beyond < till else 0
                    stack[0, 0] = nodes[top, 3 - side]
                    stack[0, 1], stack[0, 2] = beyond, till
                    while height > 0:
                        height -= 1
                        node, low, high = stack[height, 0], stack[height, 1], stack[height, 2]
                        while node >= 0:
                            if holes[node] != hole:
                                node = next_of(nodes, cells, node)
                                continue
                            cut_here = nodes[node, 1]
                            if high <= cut_here:
                                node = nodes[node, 2]
                            elif low >= cut_here:
                                node = nodes[node, 3]
                            else:
                                stack[height, 0] = nodes[node, 3]
                                stack[height, 1], stack[height, 2] = cut_here, high
                                height += 1
                                high = cut_here
                                node = nodes[node, 2]
                        move = _toward(rises[row], scores[-1 - node, 0] - scores[leaf, 0])
                        widest[row] = max(widest[row], move)
                        most_here = max(most_here, move)
                        for c in range(classes):
                            move = scores[-1 - node, c] - scores[leaf, c]
                            sums[1 + low, c] += move
                            sums[1 + high, c] -= move
                    if not whole:  # what it does in place of what it could have done
                        bound = greatest if rises[row] else least
                        could = max(0, _toward(rises[row], bound - scores[leaf, 0]))
                        limit[row] += most_here - could
        for place in range(n_near):
            row = met[place]
            sums = added[place]
            if room[row] > limit[row]:
                sums[:] = 0
                continue
            own_cell = 1 + codes[start + row, wiring.variable[hole_nodes[hole_first[hole]]]]
            total = masses[0] * 0
            for cell in range(end - begin):
                for c in range(classes):
                    if cell <= 1 or not ordered[hole]:
                        tried[c] = leads[start + row, c]
                    tried[c] += sums[cell, c]
                    sums[cell, c] = 0
                if masses[begin + cell] == 0:
                    continue
                winner = _winner(tried, slack)
                if winner >= 0:
                    output = outputs[winner]
                elif cell == own_cell:
                    output = said[start + row]
                else:
                    output = exact_output(wiring, start + row, holes, held, lookup, hole,
                                           cell - 1, scratch)  # fmt: skip
                if output != said[start + row]:
                    total += masses[begin + cell]
                    if len(by_row) > 0:
                        by_cell[cell] += weights[start + row]
            sums[end - begin] = 0
            changes[hole] += weights[start + row] * total
            if len(by_row) > 0:
                by_row[start + row] = total
            part[row] += widest[row]
            if whole or room[row] <= part[row]:
                bounds[hole] += weights[start + row] * (everything - masses[begin + own_cell])


@compiled
def count_leaves(
    wiring: Wiring, lefts: Array, marks: Array, parent: Array, leaf_parent: Array,
    first_pair: Array, counts: Array,
) -> None:  # fmt: skip
    """Count for each leaf and each node above it the rows that end there from that node on.

    lefts : tests x words, the rows that each test leads to the left.
    marks : sets x words, of which the members are counted.
    counts : pairs x sets, for each leaf its nodes from the root on.
    """
    words = lefts.shape[1]
    nodes, test = wiring.nodes, wiring.test
    chain = np.empty(words, dtype=np.uint64)
    for leaf in range(len(leaf_parent)):
        node = leaf_parent[leaf]
        child = -1 - leaf
        pair = first_pair[leaf + 1] - 1
        chain[:] = ~np.uint64(0)
        while node >= 0:
            rows = lefts[test[node]]
            if nodes[node, 2] == child:
                for word in range(words):
                    chain[word] &= rows[word]
            else:
                for word in range(words):
                    chain[word] &= ~rows[word]
            for mark in range(len(marks)):
                members = marks[mark]
                count = np.uint64(0)
                for word in range(words):
                    count += bits_of(chain[word] & members[word])
                counts[pair, mark] += np.int64(count)
            child = node
            node = parent[node]
            pair -= 1
