"""Trying every value of a variable at once; see `sweep_loops` for how.

Values that no test of a hole tells apart are one. If the tests look at one column, what holds for a
test is a range of its *cells*; if they look at several, it is a set of *kinds*.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from proxyuse.lang.evaluate import Array
from proxyuse.measure.forests.counting import Block, Hole, Standing, first_totals
from proxyuse.measure.forests.plan import ForestPlan


class Kinds(NamedTuple):
    """Rows that all tests of a hole see alike, taken together.

    Attributes
    ----------
    kind : of each row.
    others, masses : a row of codes of each kind, and its mass.
    slot, holds : for each node its row in a table, which has a bit for each kind for which its
        test holds.
    """

    kind: Array
    others: Array
    masses: Array
    slot: Array
    holds: Array

    @classmethod
    def of(cls, plan: ForestPlan, nodes: Array, codes: Array, masses: Array) -> Kinds:
        """The kinds of rows for the tests of some nodes. O(n log n) for n rows."""
        columns = np.unique(plan.code_ranges.nodes[nodes, 0])
        first, kind = np.unique(codes[:, columns], axis=0, return_index=True, return_inverse=True)[
            1:
        ]
        others = codes[first]
        tests, at = np.unique(plan.forest.test[nodes], return_index=True)
        column, start, count = plan.code_ranges.nodes[nodes[at], :3].T
        own = others[:, column] - start
        held = (own >= 0) & (own < count)  # by kind and test
        words = -(-len(others) // 64)
        padded = np.zeros((len(tests), words * 64), dtype=np.uint8)
        padded[:, : len(others)] = held.T
        holds = np.packbits(padded, axis=1, bitorder="little").view("<u8").astype(np.uint64)
        slot = np.full(len(plan.forest.test), -1, dtype=np.int32)
        slot[nodes] = np.searchsorted(tests, plan.forest.test[nodes])
        kind = kind.ravel()
        by_kind = np.bincount(kind, masses, minlength=len(others)).astype(np.int64)
        return cls(kind, others, by_kind, slot, holds)


def count_kinds(
    plan: ForestPlan, block: Block, standing: Standing, hole: Hole, rows: Array, kinds: Kinds
) -> tuple[Array, Array]:
    """By row, the mass of the kinds that change its output; by kind, that of the rows.

    Rows pass once for each 64 kinds.
    """
    from proxyuse.measure.forests import sweep_loops  # loads numba

    decision = plan.decision
    by_row = np.zeros(len(block), dtype=np.int64)
    by_kind = np.zeros(len(kinds.masses), dtype=np.int64)
    for word in range(kinds.holds.shape[1]):
        own = slice(64 * word, 64 * (word + 1))
        sweep_loops.sweep_sets(
            plan.code_ranges.nodes, block.codes, rows, hole.mask, hole.first, hole.trees,
            plan.forest.starts, kinds.slot, np.ascontiguousarray(kinds.holds[:, word]),
            kinds.others[own], kinds.masses[own], decision.sums, decision.scores, decision.slack,
            standing.ends, standing.leads, standing.classes, first_totals(standing),
            block.masses, by_row, by_kind[own],
        )  # fmt: skip
    return by_row, by_kind


class Cells(NamedTuple):
    """The codes of a column that occur.

    Attributes
    ----------
    column : which one.
    codes : those that occur, ascending.
    upto : the mass of the codes before each of them, and of all.
    below : how many of them are below each code, from -1 on.
    """

    column: int
    codes: Array
    upto: Array
    below: Array

    @classmethod
    def of(cls, plan: ForestPlan, column: int, codes: Array, masses: Array) -> Cells:
        """From the codes of all rows on one column. Linear."""
        count = plan.code_ranges.columns[column].count
        by_code = np.bincount(codes + 1, masses, minlength=count + 1).astype(np.int64)
        occur = np.bincount(codes + 1, minlength=count + 1) > 0
        below = np.concatenate([[0], np.cumsum(occur)]).astype(np.int64)
        at = np.flatnonzero(occur)
        upto = np.concatenate([[0], np.cumsum(by_code[at])])
        return cls(column, (at - 1).astype(np.int32), upto, below)


def count_cells(
    plan: ForestPlan, block: Block, standing: Standing, hole: Hole, rows: Array, cells: Cells
) -> tuple[Array, Array]:
    """By row, the mass of a column's cells that change its output; by cell, that of the rows."""
    from proxyuse.measure.forests import sweep_loops  # loads numba

    decision = plan.decision
    by_row = np.zeros(len(block), dtype=np.int64)
    turns = np.zeros(len(cells.codes) + 1, dtype=np.int64)
    sweep_loops.sweep_ranges(
        plan.code_ranges.nodes, block.codes, rows, hole.mask, hole.first, hole.trees,
        plan.forest.starts, cells.column, cells.below, cells.codes, cells.upto, decision.sums,
        decision.scores, decision.slack, standing.ends, standing.leads, standing.classes,
        first_totals(standing), block.masses, by_row, turns,
    )  # fmt: skip
    return by_row, np.cumsum(turns)[:-1]
