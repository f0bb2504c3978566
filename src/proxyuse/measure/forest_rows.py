"""The loops of `forest_kernel` in plain NumPy, over many rows at a time.

Both modules have the same functions, and the same results.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

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
    leaf_to: Array, spans: Array, first_pair: Array, pair_masses: Array, weights: Array,
    flips: Array, changes: Array, start: int, stop: int,
) -> None:  # fmt: skip
    """Count for each node what its test and its subtree change, one at a time."""
    room = rooms(wiring, leads[start:stop], said[start:stop])
    near = start + np.flatnonzero(room <= spans.max())
    leaves = ends[:, near]
    for tree, span in enumerate(spans):
        first, last = first_leaf[tree], first_leaf[tree + 1]
        chosen = np.flatnonzero(room[near - start] <= span)
        for part in _pieces(chosen, (last - first) * len(wiring.base)):
            rows = near[part]
            changed = _changed_by_leaf(
                wiring, leads, said, rows, leaves[:, part], tree, first, last
            )
            mass = weights[rows]
            nodes = np.full(len(part), wiring.roots[tree])
            for depth in range(len(wiring.nodes)):
                inner = np.flatnonzero(nodes >= 0)
                if len(inner) == 0:
                    break
                here = nodes[inner]
                left = _goes_left(wiring, rows[inner], here)
                other = leaves_below(wiring, rows[inner], _step(wiring, here, ~left))
                flipped = changed[inner, other - first]
                sides = 1 - left[flipped].astype(np.intp)
                np.add.at(flips, (here[flipped], sides), mass[inner][flipped])
                for node in np.unique(here):
                    own = inner[here == node]
                    below = slice(leaf_from[node], leaf_to[node])
                    pairs = pair_masses[first_pair[below] + depth]
                    total = changed[own, below.start - first : below.stop - first] @ pairs
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
    hole_first: Array, trees: Array, first: Array, mixed: Array, sides: Array, lowest: Array,
    highest: Array, masses: Array, weights: Array, changes: Array, reach: Array, bounds: Array,
    start: int, stop: int,
) -> None:  # fmt: skip
    """Count what a test changes that stands at several nodes at once."""
    block = _Block(wiring, leads, said, lowest, highest, weights, start, stop)
    places = np.ones(len(holes), dtype=np.intp)
    held, lookup = np.zeros(len(holes), dtype=np.intp), np.array([False, True, False])
    for number, sides in enumerate(masses):
        hole = _Hole(wiring, holes, number, places, held, lookup, True, bool(mixed[number]))
        node = np.full(stop - start, hole.nodes[0])
        own = 1 - _goes_left(wiring, block.rows, node).astype(np.intp)
        cells = np.concatenate([np.zeros(1, dtype=masses.dtype), sides])
        found = block.count(hole, own, cells)
        changes[number] += found[0]
        reach[number] += found[1]
        bounds[number] += found[2]


def count_variables(
    wiring: Wiring, ends: Array, leads: Array, said: Array, holes: Array, hole_nodes: Array,
    hole_first: Array, trees: Array, first: Array, mixed: Array, sides: Array, lowest: Array,
    highest: Array, intervals: Array, first_cell: Array, ordered: Array, masses: Array,
    weights: Array, changes: Array, reach: Array, bounds: Array, start: int, stop: int,
) -> None:  # fmt: skip
    """Count what a variable changes that is read at several nodes at once."""
    block = _Block(wiring, leads, said, lowest, highest, weights, start, stop)
    cuts, held, lookup = wiring.nodes[:, 1], wiring.held, wiring.lookup
    for number, in_order in enumerate(ordered.tolist()):
        hole = _Hole(wiring, holes, number, cuts, held, lookup, in_order, bool(mixed[number]))
        own = wiring.codes[block.rows, wiring.variable[hole.nodes[0]]].astype(np.intp)
        cells = masses[first_cell[number] : first_cell[number + 1]]
        found = block.count(hole, own, cells)
        changes[number] += found[0]
        reach[number] += found[1]
        bounds[number] += found[2]


class _Hole:
    """One computation that stands at some nodes, and which way they go with it in each cell."""

    def __init__(
        self, wiring: Wiring, holes: Array, number: int, places: Array, held: Array,
        lookup: Array, ordered: bool, mixed: bool,
    ) -> None:  # fmt: skip
        self.wiring, self.places, self.held, self.lookup = wiring, places, held, lookup
        self.ordered, self.mixed = ordered, mixed
        self.inside = holes == number
        self.nodes = np.flatnonzero(self.inside)
        self.trees = np.unique(np.searchsorted(wiring.roots, self.nodes, side="right") - 1)

    def passed(self, rows: Array, lowest: Array, highest: Array) -> tuple[Array, Array, Array]:
        """Which rows pass one of the nodes, and how far that can move their leads down and up."""
        hit = np.zeros(len(rows), dtype=np.bool_)
        down, up = np.zeros((2, len(rows)), dtype=np.int64)
        for tree in self.trees:
            walking, nodes = np.arange(len(rows)), np.full(len(rows), self.wiring.roots[tree])
            met = np.full(len(rows), -1)
            own = np.zeros(len(rows), dtype=np.int64)
            while len(walking):
                new = self.inside[nodes] & (met[walking] < 0)
                met[walking[new]] = nodes[new]
                nodes = _step(self.wiring, nodes, _goes_left(self.wiring, rows[walking], nodes))
                if self.wiring.scores.shape[1] == 1:
                    ended = nodes < 0
                    own[walking[ended]] = self.wiring.scores[-1 - nodes[ended], 0]
                walking, nodes = walking[nodes >= 0], nodes[nodes >= 0]
            there = met >= 0
            hit |= there
            down[there] += own[there] - lowest[met[there]]
            up[there] += highest[met[there]] - own[there]
        return hit, down, up

    def leaves(self, rows: Array, tree: int, cell: int) -> Array:
        """The leaves at which rows end in a tree with the computation held at a cell."""
        walking, nodes = np.arange(len(rows)), np.full(len(rows), self.wiring.roots[tree])
        leaves = np.empty(len(rows), dtype=np.intp)
        while len(walking):
            left = _goes_left(self.wiring, rows[walking], nodes)
            inside = self.inside[nodes]
            left[inside] = self.lookup[self.held[nodes[inside]] + 1 + cell]
            nodes = _step(self.wiring, nodes, left)
            ended = nodes < 0
            leaves[walking[ended]] = -1 - nodes[ended]
            walking, nodes = walking[~ended], nodes[~ended]
        return leaves

    def spread(self, rows: Array, tree: int, sums: Array) -> None:
        """Add to the first cell of each interval what a tree says there, less what before."""
        stack = [(int(self.wiring.roots[tree]), np.arange(len(rows)), 0, len(sums) - 1)]
        while stack:
            node, at, low, high = stack.pop()
            if len(at) == 0:
                continue
            if node < 0:
                score = self.wiring.scores[-1 - node]
                sums[1 + low, at] += score
                if high < len(sums) - 1:
                    sums[1 + high, at] -= score
                continue
            left, right = self.wiring.nodes[node, 2:].tolist()
            if self.inside[node]:
                place = int(self.places[node])
                if low < place:
                    stack.append((left, at, low, min(high, place)))
                if high > place:
                    stack.append((right, at, max(low, place), high))
            else:
                goes = _goes_left(self.wiring, rows[at], np.full(len(at), node))
                stack += [(left, at[goes], low, high), (right, at[~goes], low, high)]


class _Block:
    """Some rows, and what is known of them."""

    def __init__(
        self, wiring: Wiring, leads: Array, said: Array, lowest: Array, highest: Array,
        weights: Array, start: int, stop: int,
    ) -> None:  # fmt: skip
        self.wiring, self.lowest, self.highest = wiring, lowest[:, 2], highest[:, 2]
        self.rows = np.arange(start, stop)
        self.leads, self.said = leads[self.rows], said[self.rows]
        self.weights = weights[self.rows]
        self.room = rooms(wiring, self.leads, self.said)
        self.rises = (self.leads.shape[1] > 1) | (self.leads[:, 0] <= 0)

    def count(self, hole: _Hole, own: Array, masses: Array) -> tuple[Any, Any, Any]:
        """Masses: of pairs that change the output, of rows that pass, and the bound of pairs."""
        wiring, classes = self.wiring, self.leads.shape[1]
        hit, down, up = hole.passed(self.rows, self.lowest, self.highest)
        near = np.flatnonzero(hit & (self.room <= np.where(self.rises, up, down)))
        changes, bound = masses[0] * 0, masses[0] * 0
        for part in _pieces(near, len(masses) * classes):
            rows, at = self.rows[part], np.arange(len(part))
            mine = own[part] + 1
            sums = np.zeros((len(masses), len(part), classes), dtype=np.int64)
            far = np.zeros((2, len(part)), dtype=np.int64)
            for tree in hole.trees:
                says = self._by_cell(hole, rows, tree, masses)
                sums += says
                moves = says[..., 0] - says[mine, at, 0]
                known = masses != 0 if not hole.ordered else np.arange(len(masses)) > 0
                known = known | (masses != 0)
                far += np.maximum([-moves[known].min(axis=0), moves[known].max(axis=0)], 0)
            outputs, unsure = outputs_of(wiring, sums + (self.leads[part] - sums[mine, at]))
            outputs[mine, at] = self.said[part]
            unsure[mine, at] = False
            unsure[masses == 0] = False
            for cell in np.flatnonzero(unsure.any(axis=1)).tolist():
                near_ = np.flatnonzero(unsure[cell])
                ends = [hole.leaves(rows[near_], t, cell - 1) for t in range(len(wiring.roots))]
                outputs[cell, near_] = exact_outputs(wiring, np.stack(ends))
            changes += np.dot(masses @ (outputs != self.said[part]), self.weights[part])
            movable = self.room[part] <= np.where(self.rises[part], far[1], far[0])
            if hole.mixed or classes > 1:
                movable[:] = True
            others = masses.sum() - masses[mine]
            bound += np.dot(others[movable], self.weights[part][movable])
        return changes, self.weights[hit].sum(), bound

    def _by_cell(self, hole: _Hole, rows: Array, tree: int, masses: Array) -> Array:
        """The scores of the leaves at which rows end in a tree with the hole in each cell."""
        says = np.zeros((len(masses), len(rows), self.leads.shape[1]), dtype=np.int64)
        if hole.ordered:
            hole.spread(rows, tree, says)
            says[1:] = np.cumsum(says[1:], axis=0)
        for cell in range(-1, 0 if hole.ordered else len(masses) - 1):
            if masses[cell + 1] != 0:
                says[cell + 1] = self.wiring.scores[hole.leaves(rows, tree, cell)]
        return says


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
