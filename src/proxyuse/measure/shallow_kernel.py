"""Compiled loops over the rows of a forest of small trees; see `shallow_plan`.

Importing this module loads numba. What it compiles is kept on disk. Numbers that may be negative
cost a test wherever they are an index, so those of the innermost loops are unsigned.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types

from proxyuse.lang.evaluate import Array
from proxyuse.lang.compiled import called, compiled, inlined, intrinsic
from proxyuse.measure.forest_kernel import decide, exact_output, next_of, room_of
from proxyuse.measure.forest_wiring import Wiring
from proxyuse.measure.shallow_plan import ROWS, Slots


@intrinsic
def _choose(typing: Any, codes: Any, column: Any, cut: Any, slots: Any, left: Any, right: Any,
            to: Any) -> Any:  # fmt: skip
    """Fill a slot: from the left one for rows whose code is below the cut, else from the right.

    One comparison and one choice of `ROWS` numbers, which the processor's widest registers hold;
    of a loop the compiler would not know that the slots do not overlap.
    """

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        lane = ir.IntType(32)
        lanes = ir.VectorType(lane, ROWS)
        nothing = ir.Constant(lanes, ir.Undefined)

        def place(kind: Any, array: Any, start: Any) -> Any:
            held = context.make_array(kind)(context, builder, array)
            return builder.bitcast(builder.gep(held.data, [start]), lanes.as_pointer())

        compared = builder.load(place(codes, given[0], given[1]), align=4)
        first = builder.insert_element(nothing, builder.trunc(given[2], lane), lane(0))
        zeros = ir.Constant(ir.VectorType(lane, ROWS), [0] * ROWS)
        cuts = builder.shuffle_vector(first, nothing, zeros)
        sides = [builder.load(place(slots, given[3], given[i]), align=4) for i in (4, 5)]
        chosen = builder.select(builder.icmp_signed("<", compared, cuts), *sides)
        builder.store(chosen, place(slots, given[3], given[6]), align=4)
        return context.get_dummy_value()

    given = (codes, types.intp, types.intp, slots, types.intp, types.intp, types.intp)
    return types.none(*given), generate


@inlined
def _places(wiring: Wiring, slots: Slots) -> Any:
    """Room for the columns of codes, and for the slots; those of the leaves are filled."""
    leaf_at = np.empty(slots.total * ROWS, dtype=np.int32)
    for leaf in range(slots.leaves):
        leaf_at[leaf * ROWS : (leaf + 1) * ROWS] = leaf
    return np.zeros(wiring.codes.shape[1] * ROWS, dtype=np.int32), leaf_at


@inlined
def _turn(codes: Array, columns: Array) -> None:
    """Put the codes of some rows column by column."""
    for place in range(len(codes)):
        for column in range(codes.shape[1]):
            columns[column * ROWS + place] = codes[place, column]


@inlined
def _fill(slots: Slots, columns: Array, tree: int, leaf_at: Array) -> None:
    """Fill in the leaf of each row from each node of a tree on."""
    nodes, first = slots.nodes, slots.first_node[tree]
    for node in range(slots.first_node[tree + 1] - 1, first - 1, -1):
        _choose(columns, nodes[node, 0], nodes[node, 1], leaf_at, nodes[node, 2], nodes[node, 3],
                (slots.leaves + node - first) * ROWS)  # fmt: skip


@compiled
def stand(
    wiring: Wiring, slots: Slots, ends: Array, leads: Array, said: Array, start: int, stop: int
) -> None:
    """Fill in the leaf of each row in each tree, its leads and its output."""
    columns, leaf_at = _places(wiring, slots)
    leads[start:stop] = wiring.base
    for begin in range(start, stop, ROWS):
        size = min(ROWS, stop - begin)
        _turn(wiring.codes[begin : begin + size], columns)
        for tree in range(len(ends)):
            _fill(slots, columns, tree, leaf_at)
            root = slots.leaves * ROWS
            for place in range(size):
                leaf = slots.first_leaf[tree] + leaf_at[root + place]
                ends[tree, begin + place] = leaf
                leads[begin + place, 0] += wiring.scores[leaf, 0]
    decide(wiring, ends, leads, said, start, stop)


@called
def _summed(wiring: Wiring, ends: Array, row: int, rises: bool, nodes: Array,
            slots: Slots) -> Any:  # fmt: skip
    """What the nodes of a hole add to a row's lead, and what of it goes towards a change."""
    total, useful = np.int64(0), np.int64(0)
    for node in nodes:
        leaf = ends[slots.tree_of[node], row]
        if not slots.leaf_from[node] <= leaf < slots.leaf_to[node]:
            continue
        cells = wiring.codes[row]
        side = np.int64(cells[wiring.nodes[node, 0]] >= wiring.nodes[node, 1])
        other = wiring.nodes[node, 3 - side]
        while other >= 0:
            other = next_of(wiring.nodes, cells, other)
        move = wiring.scores[-1 - other, 0] - wiring.scores[leaf, 0]
        total += move
        useful += max(0, move if rises else -move)
    return total, useful


@compiled
def count_tests(
    wiring: Wiring, ends: Array, leads: Array, said: Array, holes: Array, hole_nodes: Array,
    hole_first: Array, trees: Array, slots: Slots, step_first: Array, step_hole: Array,
    step_slot: Array, masses: Array, weights: Array, changes: Array, reach: Array, bounds: Array,
    start: int, stop: int,
) -> None:  # fmt: skip
    """Count what a test changes that stands at several nodes at once, for two classes.

    Each node of a hole that a row passes adds what the row's leaf on the other side says, less
    what its own leaf says. Only if the additions in the direction that changes the output come to
    the row's room can any choice of the nodes change it. Both sums are made in one addition of
    rounded numbers, half a word each; where that is too coarse to tell, they are made again.

    step_first, step_hole, step_slot : see `shallow_plan.paths`.
    masses, changes, reach, bounds : see `forest_kernel.count_tests`.
    """
    outputs, slack, unit = wiring.outputs, wiring.slack, slots.unit
    columns, leaf_at = _places(wiring, slots)
    added = np.empty((ROWS, len(masses)), dtype=np.int64)
    scratch = np.empty(len(wiring.roots), dtype=np.int32)
    held = np.zeros(len(wiring.nodes), dtype=np.int32)
    lookup = np.array([False, True, False])
    for begin in range(start, stop, ROWS):
        size = min(ROWS, stop - begin)
        _turn(wiring.codes[begin : begin + size], columns)
        added[:] = 0
        for tree in trees:
            _fill(slots, columns, tree, leaf_at)
            scores = slots.scores[slots.first_leaf[tree] : slots.first_leaf[tree + 1]]
            for place in range(size):
                leaf = np.uintp(ends[tree, begin + place])
                own = slots.scores[leaf]
                sign = np.int64(1) if leads[begin + place, 0] <= 0 else np.int64(-1)
                here = added[place]
                first, last = step_first[leaf], step_first[leaf + np.uintp(1)]
                for step in range(np.uintp(first), np.uintp(last)):
                    there = leaf_at[np.uintp(step_slot[step]) + np.uintp(place)]
                    move = scores[np.uintp(there)] - own
                    here[np.uintp(step_hole[step])] += (move << 32) + max(0, sign * move) + 1
        for place in range(size):
            row = begin + place
            rises = leads[row, 0] <= 0
            room = room_of(outputs, leads[row], slack, said[row])
            enough = max(0, room) // unit
            for hole in range(len(masses)):
                useful = added[place, hole] & 0xFFFFFFFF
                reach[hole] += weights[row] * (useful > 0)
                if useful == 0 or useful < enough:
                    continue
                lead = leads[row, 0] + (added[place, hole] >> 32) * unit
                nodes = hole_nodes[hole_first[hole] : hole_first[hole + 1]]
                coarse = (len(nodes) + 1) * unit  # all roundings together are less
                if useful * unit - 2 * coarse <= room or abs(lead) <= coarse + slack:
                    total, exactly = _summed(wiring, ends, row, rises, nodes, slots)
                    if exactly < room:
                        continue
                    lead = leads[row, 0] + total
                column, cut = wiring.nodes[nodes[0], 0], wiring.nodes[nodes[0], 1]
                other = np.int64(wiring.codes[row, column] < cut)
                mass = weights[row] * masses[hole, other]
                bounds[hole] += mass
                if slack > 0 and abs(lead) <= slack:
                    output = exact_output(wiring, row, holes, held, lookup, hole, other, scratch)
                else:
                    output = outputs[1] if lead > 0 else outputs[0]
                if output != said[row]:
                    changes[hole] += mass
