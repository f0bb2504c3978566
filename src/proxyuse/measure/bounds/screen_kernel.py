"""Upper bounds on the association of partial sums, in compiled loops; importing this loads numba.

The first pass counts rows in a histogram over an evenly spaced grid. If few bins are occupied, a
second pass counts distinct values and stops as soon as there are more than `max_support`. If there
are no more, the masses by value are exact. Otherwise a bound follows from the histogram
(`histogram`). If that bound reaches epsilon, another pass sorts the rows in the bins that contain a
boundary, and the bound becomes exact.

All tables are lists of the cells that are not empty (`histogram`), so a bound costs time in
proportion to the rows, however many protected values there are.

numba caches these loops by the date of this file. A change of `histogram` alone is not noticed:
touch this file, too.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from proxyuse.lang.compiled import called, compiled
from proxyuse.measure.bounds.histogram import (
    NO_BOUND,
    exact_information,
    grouped_bound,
    raw_bound,
)

BINS = 2048  # bins of the histogram
SAMPLE = 256  # rows that determine its grid
SLOTS = 4096  # slots of the hash table of distinct values
MAX_DISTINCT = SLOTS // 4
FEW_CELLS = 1 << 13  # tables that are counted with their empty cells, or if there are
CELLS_PER_ROW = 8  # at most so many cells per row

ADD, MULTIPLY, AND, OR = 0, 1, 2, 3  # operators
RAW, GROUPS, BEST_CUT = 0, 1, 2  # how association treats many distinct numbers


@called
def _combine(operator: int, left: Any, right: Any, out: Any) -> None:
    """Combine one more operand, from left to right as the program does."""
    if operator == 0:
        for row in range(len(out)):
            out[row] = left[row] + right[row]
    elif operator == 1:
        for row in range(len(out)):
            out[row] = left[row] * right[row]
    elif operator == 2:
        for row in range(len(out)):
            out[row] = min(left[row], right[row])
    else:
        for row in range(len(out)):
            out[row] = max(left[row], right[row])


@called
def _distinct(values: Any, codes: Any, width: int, most: int, state: Any, cells: Any) -> int:
    """Store the cell of each row by distinct value and protected value, and count the values.

    Returns -1 if more than `most` numbers differ. `state` holds the bits in each slot, and the
    number of each slot's value (-1 if empty).
    """
    bits, numbers = state
    numbers[:] = -1
    raw = values.view(np.uint64)
    count, numbered, missing = 0, 0, -1
    for row in range(len(values)):
        value = values[row]
        if value != value:
            if missing < 0:
                missing = count
                count += 1
            index = missing
        else:
            key = np.uint64(0) if value == 0 else raw[row]
            slot = (key * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(52)
            while numbers[slot] >= 0 and bits[slot] != key:
                slot = (slot + np.uint64(1)) & np.uint64(4095)
            if numbers[slot] < 0:
                numbered += 1
                if numbered > most:
                    return -1
                bits[slot] = key
                numbers[slot] = count
                count += 1
            index = numbers[slot]
        cells[row] = index * width + codes[row]
    return count


@called
def _counted(cells: Any, count: int, width: int, weights: Any, room: Any) -> Any:
    """Count rows by cell; returns a table of `count` pieces.

    A table with many more cells than rows is not filled: its rows are put in the order of their
    pieces instead.
    """
    flat, order, where, starts, columns, masses = room
    rows, weighted = len(cells), len(weights) > 0
    starts = starts[: count + 1]
    if count * width <= len(flat):
        flat[: count * width] = 0.0
        if weighted:
            for row in range(rows):
                flat[cells[row]] += weights[row]
        else:
            for row in range(rows):
                flat[cells[row]] += 1.0
        held, cell = 0, 0
        for piece in range(count):
            starts[piece] = held
            for column in range(width):
                columns[held], masses[held] = column, flat[cell]  # kept if it is not empty
                held += flat[cell] > 0
                cell += 1
        starts[count] = held
        return starts, columns, masses
    starts[:] = 0
    for row in range(rows):
        starts[cells[row] // width] += 1
    last = 0
    for piece in range(count):  # the end of each piece
        last += starts[piece]
        starts[piece] = last
    for row in range(rows - 1, -1, -1):  # turns the ends into starts
        piece = cells[row] // width
        starts[piece] -= 1
        order[starts[piece]] = row
    starts[count] = rows
    where[:] = -1  # the latest cell of each column
    held, at = 0, 0
    for piece in range(count):
        first, end = held, starts[piece + 1]
        starts[piece] = first
        while at < end:
            row = order[at]
            column = cells[row] - piece * width
            cell = where[column]
            if cell < first:
                cell = held
                where[column], columns[cell], masses[cell] = cell, column, 0.0
                held += 1
            masses[cell] += weights[row] if weighted else 1.0
            at += 1
    starts[count] = held
    return starts, columns, masses


@called
def _grid(values: Any) -> Any:
    """Return the start of the histogram and the number of bins per unit, or 0 for no grid.

    The grid spans most of a sample. Values beyond it fall into the first or the last bin.
    """
    sample = np.sort(values[:: max(1, len(values) // SAMPLE)])
    held = len(sample)
    while held and np.isnan(sample[held - 1]):
        held -= 1
    if held < 2:
        return 0.0, 0.0
    low, high = sample[held // 64], sample[held - 1 - held // 64]
    margin = (high - low) / 8
    low, high = max(low - margin, sample[0]), min(high + margin, sample[held - 1])
    if not 0 < high - low < np.inf:
        return 0.0, 0.0
    scale = (BINS - 2) / (high - low)
    return low, scale if scale < np.inf else 0.0


@called
def _binned(values: Any, codes: Any, width: int, low: float, scale: float, cells: Any) -> bool:
    """Store the cell of each row by bin of the histogram and protected value.

    The bin is a monotone function of the value; the last bin is for missing numbers. Returns false
    if a number is infinite. The loop has no branches, so that it vectorizes.
    """
    finite = True
    for row in range(len(values)):
        value = values[row]
        bin_of = min(max((value - low) * scale + 1.0, 0.0), BINS - 1.0)
        bin_of = bin_of if value == value else float(BINS)
        finite &= abs(value) != np.inf
        cells[row] = np.int32(bin_of) * width + codes[row]
    return finite


@called
def _occupied(counts: Any) -> int:
    """Return the number of bins that hold numbers: a lower bound on the distinct numbers."""
    starts = counts[0]
    occupied = 0
    for index in range(BINS):
        occupied += starts[index + 1] > starts[index]
    return occupied


@called
def _find_singles(values: Any, cells: Any, width: int, mark: Any, single: Any) -> None:
    """Find the marked bins that hold a single distinct value."""
    value_of = np.empty(len(mark))
    seen = np.zeros(len(mark), np.bool_)
    for row in range(len(values)):
        index = cells[row] // width
        if not mark[index]:
            continue
        if not seen[index]:
            seen[index] = single[index] = True
            value_of[index] = values[row]
        elif value_of[index] != values[row]:
            single[index] = False


@called
def _opened(
    values: Any, width: int, weights: Any, counts: Any, cells: Any, mark: Any, known: Any
) -> Any:
    """Replace each marked bin of the histogram by its distinct values.

    Returns the table of these pieces, and which of them are single values.
    """
    starts, columns, masses = counts
    rows = np.empty(len(values), np.int64)
    held = 0
    for row in range(len(values)):
        if mark[cells[row] // width]:
            rows[held] = row
            held += 1
    rows = rows[:held]
    rows = rows[np.argsort(values[rows])]
    firsts = np.zeros(BINS + 2 + held, np.int64)
    single = np.zeros(BINS + 1 + held, np.bool_)
    size = starts[BINS + 1] + held
    column_of, mass_of = np.empty(size, columns.dtype), np.empty(size)
    where = np.full(width, -1)  # the latest cell of each column
    count, at, cell = 0, 0, 0
    for index in range(BINS + 1):
        if not mark[index]:
            for old in range(starts[index], starts[index + 1]):
                column_of[cell], mass_of[cell] = columns[old], masses[old]
                cell += 1
            single[count] = known[index]
            count += 1
            firsts[count] = cell
            continue
        while at < held and cells[rows[at]] // width == index:
            value = values[rows[at]]
            single[count] = True
            first = cell
            while at < held and values[rows[at]] == value:
                row = rows[at]
                column = cells[row] - index * width
                if where[column] < first:
                    where[column], column_of[cell], mass_of[cell] = cell, column, 0.0
                    cell += 1
                mass_of[where[column]] += weights[row] if len(weights) > 0 else 1.0
                at += 1
            count += 1
            firsts[count] = cell
    return (firsts[: count + 1], column_of, mass_of), single[:count]


@called
def _bound(
    values: Any, codes: Any, width: int, weights: Any, method: Any, epsilon: float, scratch: Any
) -> Any:
    """Return a bound on the association of some numbers with one protected attribute.

    A bound of `epsilon` or more is exact up to rounding. Linear in the rows, unless some of them
    are sorted.
    """
    kind, most = method[0], int(method[2])
    slots, cells, others, mark, single, room = scratch
    room = (room[0], room[1], room[2][:width], room[3], room[4], room[5])
    low, scale = _grid(values)
    gridded = scale > 0 and _binned(values, codes, width, low, scale, cells)
    counts = (room[3], room[4], room[5])
    if gridded:
        counts = _counted(cells, BINS + 1, width, weights, room)
    if not gridded or _occupied(counts) <= most:
        count = _distinct(values, codes, width, most, slots, others)
        if count >= 0:
            return exact_information(_counted(others, count, width, weights, room), width)
    if not gridded:
        return NO_BOUND
    if kind == 0:
        return raw_bound(counts, width)
    single[:] = False
    bound = grouped_bound(counts, width, single, method, epsilon, mark)
    if bound >= epsilon:
        _find_singles(values, cells, width, mark, single)
        bound = grouped_bound(counts, width, single, method, epsilon, mark)
    if bound >= epsilon:
        pieces, alone = _opened(values, width, weights, counts, cells, mark, single)
        unmarked = np.zeros(len(alone), np.bool_)
        bound = grouped_bound(pieces, width, alone, method, epsilon, unmarked)
    return bound


@called
def _scratch(rows: int, most: int, width: int) -> Any:
    slots = (np.zeros(SLOTS, np.uint64), np.empty(SLOTS, np.int64))
    mark, single = np.zeros(BINS + 1, np.bool_), np.zeros(BINS + 1, np.bool_)
    cells, others = np.empty(rows, np.int32), np.empty(rows, np.int32)
    few, pieces = max(FEW_CELLS, CELLS_PER_ROW * rows), max(BINS + 1, most + 2)
    held = min(rows, pieces * width) + 1
    room = (
        np.empty(min(few, pieces * width)),
        np.empty(rows if pieces * width > few else 0, np.int32),
        np.empty(width, np.int64),
        np.empty(pieces + 1, np.int64),
        np.empty(held, np.int32),
        np.empty(held),
    )
    return slots, cells, others, mark, single, room


@compiled
def bound_of(
    values: Any, codes: Any, width: int, weights: Any, method: Any, epsilon: float
) -> float:
    """Return a bound on the association of some numbers with one protected attribute.

    A bound of `epsilon` or more is exact up to rounding.
    """
    scratch = _scratch(len(values), int(method[2]), width)
    return float(_bound(values, codes, width, weights, method, epsilon, scratch))


@compiled
def screen_subsets(
    operator: int,
    operands: Any,
    start: Any,
    codes: Any,
    widths: Any,
    weights: Any,
    blocked: Any,
    method: Any,
    epsilon: float,
    passing: Any,
) -> int:
    """Bound every subset that starts with two given operands, and store those that may pass.

    Subsets are visited depth first, each one operation away from the one before. Values are
    combined in the order of the operands, exactly as the program does.

    Parameters
    ----------
    operands : values, one row per operand in written order.
    start : the first two operands.
    codes, widths : the value of each protected attribute per row, and the number of its values.
    blocked : per protected attribute, a mask of operands that subsets must not contain.
    passing : filled with the masks of subsets and of protected attributes that may reach `epsilon`.

    Returns
    -------
    The number of subsets stored.
    """
    count, rows = operands.shape
    attributes = len(widths)
    scratch = _scratch(rows, int(method[2]), widths.max())
    chosen = np.empty(count, np.int64)
    sums = np.empty((count, rows))
    chosen[0], chosen[1] = start[0], start[1]
    depth, stored = 1, 0
    mask = (np.int64(1) << start[0]) | (np.int64(1) << start[1])
    _combine(operator, operands[start[0]], operands[start[1]], sums[1])
    fresh = True
    while depth >= 1:
        if fresh:
            reaching, active = np.int64(0), False
            for attribute in range(attributes):
                if mask & blocked[attribute]:
                    continue
                active = True
                bound = _bound(
                    sums[depth], codes[attribute], widths[attribute], weights, method, epsilon,
                    scratch,
                )  # fmt: skip
                if bound >= epsilon:
                    reaching |= np.int64(1) << attribute
            if reaching:
                passing[stored, 0], passing[stored, 1] = mask, reaching
                stored += 1
            next_operand = chosen[depth] + 1 if active else count
        else:
            next_operand = chosen[depth + 1] + 1
        if next_operand < count:
            chosen[depth + 1] = next_operand
            mask |= np.int64(1) << next_operand
            _combine(operator, sums[depth], operands[next_operand], sums[depth + 1])
            depth += 1
            fresh = True
        else:
            mask &= ~(np.int64(1) << chosen[depth])
            depth -= 1
            fresh = False
    return stored
