"""The loops of `forest_kernel` in plain NumPy, over many rows at a time.

Both modules have the same functions, and the same results.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from proxyuse.lang.evaluate import Array
from proxyuse.measure.forest_wiring import Wiring

_MOST_ENTRIES = 1 << 22


def _goes_left(wiring: Wiring, rows: Array, nodes: Array) -> Array:
    return np.asarray(wiring.codes[rows, wiring.nodes[nodes, 0]] < wiring.nodes[nodes, 1])


def _step(wiring: Wiring, nodes: Array, left: Array) -> Array:
    return np.asarray(wiring.nodes[nodes, 3 - left.astype(np.intp)])


def leaves_below(wiring: Wiring, rows: Array, nodes: Array) -> Array:
    """The leaves at which rows end from nodes (or leaves) on."""
    nodes = nodes.copy()
    walking = np.flatnonzero(nodes >= 0)
    while len(walking):
        here = nodes[walking]
        nodes[walking] = _step(wiring, here, _goes_left(wiring, rows[walking], here))
        walking = walking[nodes[walking] >= 0]
    return -1 - nodes


def exact_outputs(wiring: Wiring, leaves: Array) -> Array:
    """What the program says by its own sums, for leaves of all trees (trees x rows)."""
    scores = []
    for number, column in enumerate(wiring.columns.tolist()):
        places = range(wiring.firsts[number], wiring.firsts[number + 1])
        parts = (
            wiring.constants[place]
            if wiring.operands[place] < 0
            else wiring.values[leaves[wiring.operands[place]], column]
            for place in places
        )
        total = np.zeros(leaves.shape[1]) + next(parts)
        for part in parts:
            total = total + part
        scores.append(total / wiring.divisors[number])
    if wiring.threshold == wiring.threshold:
        winners = (scores[0] >= wiring.threshold).astype(np.intp)
    else:
        winners = np.argmax(scores, axis=0)
    return np.asarray(wiring.outputs[winners])


def outputs_of(wiring: Wiring, leads: Array) -> tuple[Array, Array]:
    """What the program says for some leads (the last axis holds the classes), and where unsure."""
    scores = np.concatenate([np.zeros((*leads.shape[:-1], 1), dtype=np.int64), leads], axis=-1)
    winners = np.argmax(scores, axis=-1)
    unsure = np.zeros(winners.shape, dtype=np.bool_)
    if wiring.slack > 0:
        two = np.partition(scores, -2, axis=-1)
        unsure = two[..., -1] - two[..., -2] <= wiring.slack
    return wiring.outputs[winners], unsure


def stand(wiring: Wiring, ends: Array, leads: Array, said: Array, start: int, stop: int) -> None:
    """Fill in the leaf of each row in each tree, its leads and its output."""
    rows = np.arange(start, stop)
    find_leaves(wiring, wiring.roots, ends, start, stop)
    leads[rows] = wiring.base
    for leaves in ends[:, rows]:
        leads[rows] += wiring.scores[leaves]
    outputs, unsure = outputs_of(wiring, leads[rows])
    if unsure.any():
        outputs[unsure] = exact_outputs(wiring, ends[:, rows[unsure]])
    said[rows] = outputs


def find_leaves(wiring: Wiring, begin: Array, leaves: Array, start: int, stop: int) -> None:
    """Fill in at which leaf each row ends from some nodes on (nodes x rows)."""
    rows = np.arange(start, stop)
    for place, node in enumerate(begin):
        leaves[place, rows] = leaves_below(wiring, rows, np.full(len(rows), node))


def rooms(wiring: Wiring, leads: Array, said: Array) -> Array:
    """By how much the leads must at least change before the output does."""
    scores = np.concatenate([np.zeros((len(leads), 1), dtype=np.int64), leads], axis=1)
    behind = scores.max(axis=1, keepdims=True) - scores
    behind[wiring.outputs == said[:, None]] = 1 << 62
    return np.asarray(behind.min(axis=1) - wiring.slack)


def count_singles(
    wiring: Wiring, ends: Array, leads: Array, said: Array, first_leaf: Array, leaf_from: Array,
    leaf_to: Array, lowest: Array, highest: Array, first_mass: Array, leaf_masses: Array,
    weights: Array, flips: Array, changes: Array, start: int, stop: int,
) -> None:  # fmt: skip
    """Count for each node what its test and its subtree change, one at a time."""
    room = rooms(wiring, leads[start:stop], said[start:stop])
    leaves = ends[:, start:stop]
    rises = (leads.shape[1] > 1) | (leads[start:stop, 0] <= 0)
    for tree, root in enumerate(wiring.roots):
        first, last = first_leaf[tree], first_leaf[tree + 1]
        own = wiring.scores[leaves[tree], 0] if leads.shape[1] == 1 else np.int64(0)
        chosen = np.flatnonzero(
            room <= np.where(rises, highest[root, 2] - own, own - lowest[root, 2])
        )
        for part in _pieces(chosen, (last - first) * len(wiring.base)):
            rows = start + part
            changed = _changed_by_leaf(
                wiring, leads, said, rows, leaves[:, part], tree, first, last
            )
            mass = weights[rows]
            nodes = np.full(len(part), wiring.roots[tree])
            while len(inner := np.flatnonzero(nodes >= 0)):
                here = nodes[inner]
                left = _goes_left(wiring, rows[inner], here)
                other = leaves_below(wiring, rows[inner], _step(wiring, here, ~left))
                flipped = changed[inner, other - first]
                sides = 1 - left[flipped].astype(np.intp)
                np.add.at(flips, (here[flipped], sides), mass[inner][flipped])
                for node in np.unique(here):
                    own = inner[here == node]
                    below = slice(leaf_from[node], leaf_to[node])
                    masses = leaf_masses[first_mass[node] : first_mass[node + 1]]
                    total = changed[own, below.start - first : below.stop - first] @ masses
                    changes[node] += np.dot(mass[own], total)
                nodes[inner] = _step(wiring, here, left)


def _pieces(rows: Array, entries: int) -> Iterator[Array]:
    """Rows in pieces for which some entries each are not too many."""
    size = max(1, _MOST_ENTRIES // max(1, entries))
    return (rows[start : start + size] for start in range(0, len(rows), size))


def _changed_by_leaf(
    wiring: Wiring, leads: Array, said: Array, rows: Array, leaves: Array, tree: int, first: int,
    last: int,
) -> Array:  # fmt: skip
    """Whether each row's output is another one with each leaf of a tree."""
    tried = (leads[rows] - wiring.scores[leaves[tree]])[:, None, :] + wiring.scores[first:last]
    outputs, unsure = outputs_of(wiring, tried)
    if unsure.any():
        at, leaf = np.nonzero(unsure)
        ends = leaves[:, at]
        ends[tree] = first + leaf
        outputs[at, leaf] = exact_outputs(wiring, ends)
    return np.asarray(outputs != said[rows, None])


def count_tests(
    wiring: Wiring, ends: Array, leads: Array, said: Array, holes: Array, hole_nodes: Array,
    hole_first: Array, trees: Array, mixed: Array, first: Array, sides: Array, lowest: Array,
    highest: Array, masses: Array, weights: Array, changes: Array, reach: Array, bounds: Array,
    by_row: Array, by_cell: Array, start: int, stop: int,
) -> None:  # fmt: skip
    """Count what a test changes that stands at several nodes at once."""
    block = _Block(wiring, ends, leads, said, trees, sides, lowest, highest, start, stop)
    weights = weights[start:stop]
    ways = np.zeros(len(holes), dtype=np.intp), np.array([False, True, False])
    for hole, by_side in enumerate(masses):
        nodes = hole_nodes[hole_first[hole] : hole_first[hole + 1]]
        nodes = nodes[first[nodes]]
        whole = bool(mixed[hole]) or leads.shape[1] > 1
        hit, limit = block.met(nodes, whole)
        reach[hole] += weights[hit].sum()
        near = hit & (block.room <= limit)
        moves = np.zeros_like(block.leads)
        part = np.zeros(len(near), dtype=np.int64)
        other = np.zeros(len(near), dtype=np.intp)
        for node, side, rows, leaves in block.passing(nodes, near):
            beyond = np.full(len(rows), wiring.nodes[node, 3 - side])
            new = _held_leaves(wiring, rows + start, beyond, holes == hole, *ways, 1 - side)
            step = wiring.scores[new] - wiring.scores[leaves]
            moves[rows] += step
            part[rows] += np.maximum(0, block.toward(rows, step[:, 0]))
            other[rows] = 1 - side
        rows = np.flatnonzero(near)
        outputs, unsure = outputs_of(wiring, block.leads[rows] + moves[rows])
        for side in (0, 1):
            at = np.flatnonzero(unsure & (other[rows] == side))
            if len(at):
                outputs[at] = _held_outputs(wiring, rows[at] + start, holes == hole, *ways, side)
        mass = weights[rows] * by_side[other[rows]]
        changed = outputs != block.said[rows]
        changes[hole] += mass[changed].sum()
        if len(by_row):
            by_row[start + rows[changed]] = by_side[other[rows[changed]]]
            np.add.at(by_cell, other[rows[changed]], weights[rows[changed]])
        bounds[hole] += mass[whole | (block.room[rows] <= part[rows])].sum()


def count_variables(
    wiring: Wiring, ends: Array, leads: Array, said: Array, holes: Array, hole_nodes: Array,
    hole_first: Array, trees: Array, mixed: Array, first: Array, sides: Array, lowest: Array,
    highest: Array, intervals: Array, first_cell: Array, ordered: Array, masses: Array,
    weights: Array, changes: Array, reach: Array, bounds: Array, by_row: Array, by_cell: Array,
    start: int, stop: int,
) -> None:  # fmt: skip
    """Count what a variable changes that is read at several nodes at once."""
    block = _Block(wiring, ends, leads, said, trees, sides, lowest, highest, start, stop)
    weights = weights[start:stop]
    for hole, in_order in enumerate(ordered.tolist()):
        nodes = hole_nodes[hole_first[hole] : hole_first[hole + 1]]
        cells = masses[first_cell[hole] : first_cell[hole + 1]]
        whole = bool(mixed[hole]) or leads.shape[1] > 1
        hit, limit = block.met(nodes[first[nodes]], True)
        reach[hole] += weights[hit].sum()
        own = wiring.codes[start:stop, wiring.variable[nodes[0]]].astype(np.intp) + 1
        near = np.flatnonzero(hit & (block.room <= limit))
        for some in _pieces(near, (len(cells) + 1) * leads.shape[1]):
            sweep = _Sweep(block, holes == hole, cells, some)
            for node, side, rows, leaves in block.passing(nodes, sweep.chosen):
                if first[node]:
                    sweep.begin_tree(node, rows, leaves, in_order)
                low, high = intervals[node].tolist()
                cut = int(wiring.nodes[node, 1])
                low, high = (max(low, cut), high) if side == 0 else (low, min(high, cut))
                if in_order and low < high:
                    sweep.spread(int(wiring.nodes[node, 3 - side]), rows, leaves, low, high)
            changed, part = sweep.finish(own[some], in_order)
            total = cells @ changed
            changes[hole] += np.dot(total, weights[some])
            if len(by_row):
                by_row[start + some] = total
                by_cell += changed @ weights[some]
            movable = whole | (block.room[some] <= part)
            others = cells.sum() - cells[own[some]]
            bounds[hole] += np.dot(others[movable], weights[some][movable])


class _Block:
    """Some rows, from 0 on, and where they pass in the trees."""

    def __init__(
        self, wiring: Wiring, ends: Array, leads: Array, said: Array, trees: Array, sides: Array,
        lowest: Array, highest: Array, start: int, stop: int,
    ) -> None:  # fmt: skip
        self.wiring, self.sides, self.lowest, self.highest = wiring, sides, lowest, highest
        self.start, self.size = start, stop - start
        self.leads, self.said = leads[start:stop], said[start:stop]
        self.room = rooms(wiring, self.leads, self.said)
        self.rises = (self.leads.shape[1] > 1) | (self.leads[:, 0] <= 0)
        own = ends[trees, start:stop]
        orders = np.argsort(own, axis=1, kind="stable")
        self.rows = orders.ravel()
        self.leaf_of = np.take_along_axis(own, orders, axis=1).ravel()
        counts = np.bincount(self.leaf_of, minlength=len(wiring.scores))
        self.begins = np.concatenate([[0], np.cumsum(counts)])

    def toward(self, rows: Array, moves: Array) -> Array:
        """How far moves of the lead go in the direction that changes the output."""
        return np.where(self.rises[rows], moves, -moves)

    def passing(self, nodes: Array, near: Array) -> Iterator[tuple[int, int, Array, Array]]:
        """The near rows on each side of each node, with their leaves."""
        for node in nodes.tolist():
            for side in (0, 1):
                low, high = self.begins[self.sides[node, side]].tolist()
                chosen = near[self.rows[low:high]]
                if chosen.any():
                    at = slice(low, high)
                    yield node, side, self.rows[at][chosen], self.leaf_of[at][chosen]

    def met(self, nodes: Array, whole: bool) -> tuple[Array, Array]:
        """Which rows pass one of the nodes, and how far that can move their leads at most."""
        hit = np.zeros(self.size, dtype=np.bool_)
        limit = np.zeros(self.size, dtype=np.int64)
        everyone = np.ones(self.size, dtype=np.bool_)
        for node, side, rows, leaves in self.passing(nodes, everyone):
            hit[rows] = True
            way = 2 if whole else 1 - side
            own = self.wiring.scores[leaves, 0] if self.leads.shape[1] == 1 else 0
            ends = np.where(self.rises[rows], self.highest[node, way], self.lowest[node, way])
            limit[rows] += np.maximum(0, self.toward(rows, ends - own))
        return hit, limit


class _Sweep:
    """What is added to the leads of some rows with a variable in each of its cells."""

    def __init__(self, block: _Block, inside: Array, masses: Array, some: Array) -> None:
        self.block, self.inside, self.masses, self.some = block, inside, masses, some
        self.chosen = np.zeros(block.size, dtype=np.bool_)
        self.chosen[some] = True
        self.slot = np.zeros(block.size, dtype=np.intp)
        self.slot[some] = np.arange(len(some))
        shape = (len(masses) + 1, len(some), block.leads.shape[1])
        self.sums = np.zeros(shape, dtype=np.int64)
        self.part = np.zeros(len(some), dtype=np.int64)
        self.widest = np.zeros(len(some), dtype=np.int64)

    def _note(self, rows: Array, steps: Array) -> None:
        move = self.block.toward(rows, steps[:, 0])
        at = self.slot[rows]
        self.widest[at] = np.maximum(self.widest[at], move)

    def begin_tree(self, node: int, rows: Array, leaves: Array, in_order: bool) -> None:
        """Cells one by one: all without order, else the missing number."""
        wiring, at = self.block.wiring, self.slot[rows]
        self.part[at] += self.widest[at]
        self.widest[at] = 0
        for cell in range(1 if in_order else len(self.masses)):
            if self.masses[cell] != 0:
                nodes = np.full(len(rows), node)
                new = _held_leaves(
                    wiring, rows + self.block.start, nodes, self.inside, wiring.held,
                    wiring.lookup, cell - 1,
                )  # fmt: skip
                steps = wiring.scores[new] - wiring.scores[leaves]
                self._note(rows, steps)
                self.sums[cell, at] += steps

    def spread(self, node: int, rows: Array, leaves: Array, low: int, high: int) -> None:
        """Add what the tree says from a node on to the cells in an interval."""
        wiring = self.block.wiring
        stack = [(node, np.arange(len(rows)), low, high)]
        while stack:
            node, at, low, high = stack.pop()
            if len(at) == 0:
                continue
            if node < 0:
                steps = wiring.scores[-1 - node] - wiring.scores[leaves[at]]
                self._note(rows[at], steps)
                self.sums[1 + low, self.slot[rows[at]]] += steps
                self.sums[1 + high, self.slot[rows[at]]] -= steps
                continue
            cut, left, right = wiring.nodes[node, 1:].tolist()
            if self.inside[node]:
                if low < cut:
                    stack.append((left, at, low, min(high, cut)))
                if high > cut:
                    stack.append((right, at, max(low, cut), high))
            else:
                goes = _goes_left(wiring, rows[at] + self.block.start, np.full(len(at), node))
                stack += [(left, at[goes], low, high), (right, at[~goes], low, high)]

    def finish(self, own: Array, in_order: bool) -> tuple[Array, Array]:
        """In which cells each row's output is another one, and how far its lead can be moved."""
        wiring, block, at = self.block.wiring, self.block, np.arange(len(self.some))
        sums = self.sums[:-1]
        if in_order:
            sums[1:] = np.cumsum(sums[1:], axis=0)
        outputs, unsure = outputs_of(wiring, sums + block.leads[self.some])
        outputs[own, at] = block.said[self.some]
        unsure[own, at] = False
        unsure[self.masses == 0] = False
        for cell in np.flatnonzero(unsure.any(axis=1)).tolist():
            rows = np.flatnonzero(unsure[cell])
            outputs[cell, rows] = _held_outputs(
                wiring, self.some[rows] + block.start, self.inside, wiring.held, wiring.lookup,
                cell - 1,
            )  # fmt: skip
        return outputs != block.said[self.some], self.part + self.widest


def _held_leaves(
    wiring: Wiring, rows: Array, nodes: Array, inside: Array, held: Array, lookup: Array, cell: int
) -> Array:
    """The leaves at which rows end, from nodes on, with a hole held at a cell."""
    walking, leaves = np.flatnonzero(nodes >= 0), -1 - nodes
    nodes = nodes[walking]
    while len(walking):
        left = _goes_left(wiring, rows[walking], nodes)
        fixed = inside[nodes]
        if fixed.any():
            left[fixed] = lookup[held[nodes[fixed]] + 1 + cell]
        nodes = _step(wiring, nodes, left)
        ended = nodes < 0
        leaves[walking[ended]] = -1 - nodes[ended]
        walking, nodes = walking[~ended], nodes[~ended]
    return leaves


def _held_outputs(
    wiring: Wiring, rows: Array, inside: Array, held: Array, lookup: Array, cell: int
) -> Array:
    """What the program says of rows by its own sums, with a hole held at a cell."""
    starts = (np.full(len(rows), root) for root in wiring.roots)
    ends = [_held_leaves(wiring, rows, nodes, inside, held, lookup, cell) for nodes in starts]
    return exact_outputs(wiring, np.stack(ends))


def count_leaves(
    wiring: Wiring, lefts: Array, marks: Array, parent: Array, leaf_parent: Array,
    first_pair: Array, counts: Array,
) -> None:  # fmt: skip
    """Count for each leaf and each node above it the rows that end there from that node on."""
    for leaf, node in enumerate(leaf_parent.tolist()):
        child, pair = -1 - leaf, first_pair[leaf + 1] - 1
        chain = ~np.zeros(lefts.shape[1], dtype=np.uint64)
        while node >= 0:
            rows = lefts[wiring.test[node]]
            chain &= rows if wiring.nodes[node, 2] == child else ~rows
            counts[pair] += np.bitwise_count(chain & marks).sum(axis=1, dtype=np.int64)
            child, node, pair = node, int(parent[node]), pair - 1
