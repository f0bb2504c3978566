"""Compiled loops for partial sums of trees that take their value from another row.

The program adds the other operands first and the partial sum last, so ``rest[row] + part[other]``
is its own sum. Importing this module loads numba.
"""

from __future__ import annotations

import numpy as np

from proxyuse.lang.compiled import compiled
from proxyuse.lang.evaluate import Array
from proxyuse.measure.forests.decision import Sums
from proxyuse.measure.forests.loops import class_of


@compiled
def decide_pairs(
    sums: Sums, rest: Array, part: Array, rows: Array, others: Array, classes: Array
) -> None:
    """Find the class of each row if its partial sum is that of another row."""
    totals = np.empty(rest.shape[1])
    for i in range(len(rows)):
        for index in range(len(totals)):
            totals[index] = rest[rows[i], index] + part[others[i], index]
        classes[i] = class_of(sums, totals)


@compiled
def count_unsure(
    sums: Sums, rest: Array, part: Array, actual: Array, masses: Array, order: Array,
    start: Array, end: Array, by_row: Array, by_value: Array,
) -> None:  # fmt: skip
    """Add up the pairs that change the output, of each row with a range of the sorted sums."""
    totals = np.empty(rest.shape[1])
    for row in range(len(rest)):
        for place in range(start[row], end[row]):
            other = order[place]
            for index in range(len(totals)):
                totals[index] = rest[row, index] + part[other, index]
            if class_of(sums, totals) != actual[row]:
                by_row[row] += masses[other]
                by_value[other] += masses[row]
