"""Count the rows that each value of a variable changes, all values in one walk.

Values that no intervened test distinguishes are counted as one. If the tests read one column, the
values that pass a test are a range of the column's *cells*. If they read several columns, they are
a set of *value classes*. `variable_loops` contains the loops.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from proxyuse.lang.evaluate import Array
from proxyuse.measure.forests.counting import Block, Intervention, RowOutcomes, first_totals
from proxyuse.measure.forests.plan import ForestPlan


class ValueClasses(NamedTuple):
    """Equivalence classes of rows: rows in one class pass the same intervened tests.

    Attributes
    ----------
    class_of : the class of each row.
    others : one row of codes per class.
    masses : the mass of each class.
    slot : for each node, its row in `holds`.
    holds : for each test, a bit set of the classes that pass it.
    """

    class_of: Array
    others: Array
    masses: Array
    slot: Array
    holds: Array

    @classmethod
    def of(cls, plan: ForestPlan, nodes: Array, codes: Array, masses: Array) -> ValueClasses:
        """Group the rows by the tests of some nodes, in O(n log n) for n rows."""
        columns = np.unique(plan.code_ranges.nodes[nodes, 0])
        first, class_of = np.unique(
            codes[:, columns], axis=0, return_index=True, return_inverse=True
        )[1:]
        others = codes[first]
        tests, at = np.unique(plan.forest.test[nodes], return_index=True)
        column, start, count = plan.code_ranges.nodes[nodes[at], :3].T
        own = others[:, column] - start
        held = (own >= 0) & (own < count)  # by class and test
        words = -(-len(others) // 64)
        padded = np.zeros((len(tests), words * 64), dtype=np.uint8)
        padded[:, : len(others)] = held.T
        holds = np.packbits(padded, axis=1, bitorder="little").view("<u8").astype(np.uint64)
        slot = np.full(len(plan.forest.test), -1, dtype=np.int32)
        slot[nodes] = np.searchsorted(tests, plan.forest.test[nodes])
        class_of = class_of.ravel()
        by_class = np.bincount(class_of, masses, minlength=len(others)).astype(np.int64)
        return cls(class_of, others, by_class, slot, holds)


def count_value_classes(
    plan: ForestPlan,
    block: Block,
    outcomes: RowOutcomes,
    intervention: Intervention,
    rows: Array,
    classes: ValueClasses,
) -> tuple[Array, Array]:
    """Return the mass of classes that change each row, and of rows that each class changes.

    Takes one walk of the rows per 64 classes.
    """
    from proxyuse.measure.forests import variable_loops  # loads numba

    decision = plan.decision
    by_row = np.zeros(len(block), dtype=np.int64)
    by_class = np.zeros(len(classes.masses), dtype=np.int64)
    for word in range(classes.holds.shape[1]):
        own = slice(64 * word, 64 * (word + 1))
        variable_loops.try_value_sets(
            plan.code_ranges.nodes, block.codes, rows, intervention.mask, intervention.first,
            intervention.trees, plan.forest.starts, classes.slot,
            np.ascontiguousarray(classes.holds[:, word]), classes.others[own],
            classes.masses[own], decision.sums, decision.scores, decision.slack, outcomes.ends,
            outcomes.leads, outcomes.classes, first_totals(outcomes),
            block.masses, by_row, by_class[own],
        )  # fmt: skip
    return by_row, by_class


class Cells(NamedTuple):
    """The codes of a column that occur in the population.

    Attributes
    ----------
    column : the index of the column.
    codes : the codes that occur, in ascending order.
    upto : the mass before each of these codes, followed by the total.
    below : for each code from -1 on, the number of occurring codes below it.
    """

    column: int
    codes: Array
    upto: Array
    below: Array

    @classmethod
    def of(cls, plan: ForestPlan, column: int, codes: Array, masses: Array) -> Cells:
        """Build the cells from the codes of all rows in one column, in linear time."""
        count = plan.code_ranges.columns[column].count
        by_code = np.bincount(codes + 1, masses, minlength=count + 1).astype(np.int64)
        occur = np.bincount(codes + 1, minlength=count + 1) > 0
        below = np.concatenate([[0], np.cumsum(occur)]).astype(np.int64)
        at = np.flatnonzero(occur)
        upto = np.concatenate([[0], np.cumsum(by_code[at])])
        return cls(column, (at - 1).astype(np.int32), upto, below)


def count_cells(
    plan: ForestPlan,
    block: Block,
    outcomes: RowOutcomes,
    intervention: Intervention,
    rows: Array,
    cells: Cells,
) -> tuple[Array, Array]:
    """Return the mass of cells that change each row, and of rows that each cell changes."""
    from proxyuse.measure.forests import variable_loops  # loads numba

    decision = plan.decision
    by_row = np.zeros(len(block), dtype=np.int64)
    turns = np.zeros(len(cells.codes) + 1, dtype=np.int64)
    variable_loops.try_value_ranges(
        plan.code_ranges.nodes, block.codes, rows, intervention.mask, intervention.first,
        intervention.trees, plan.forest.starts, cells.column, cells.below, cells.codes,
        cells.upto, decision.sums, decision.scores, decision.slack, outcomes.ends,
        outcomes.leads, outcomes.classes,
        first_totals(outcomes), block.masses, by_row, turns,
    )  # fmt: skip
    return by_row, np.cumsum(turns)[:-1]
