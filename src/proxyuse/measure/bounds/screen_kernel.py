"""Upper bounds on the association of partial sums, in compiled loops; importing this loads numba.

The first pass counts rows in a histogram over an evenly spaced grid. If few bins are occupied, a
second pass counts distinct values and stops as soon as there are more than `max_support`. If there
are no more, the masses by value are exact. Otherwise a bound follows from the histogram
(`histogram`). If that bound reaches epsilon, another pass sorts the rows in the bins that contain a
boundary, and the bound becomes exact.

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
def _distinct(values: Any, codes: Any, weights: Any, most: int, table: Any, state: Any) -> int:
    """Count masses by distinct value and protected value; -1 if more than `most` numbers differ.

    `state` holds the bits in each slot, and the number of each slot's value (-1 if empty).
    """
    bits, numbers = state
    numbers[:] = -1
    raw = values.view(np.uint64)
    count, numbered, missing = 0, 0, -1
    weighted = len(weights) > 0
    for row in range(len(values)):
        value = values[row]
        if value != value:
            if missing < 0:
                missing = count
                table[count, :] = 0.0
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
                table[count, :] = 0.0
                count += 1
            index = numbers[slot]
        table[index, codes[row]] += weights[row] if weighted else 1.0
    return count


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
def _histogram(
    values: Any, codes: Any, weights: Any, low: float, scale: float, counts: Any, cells: Any
) -> bool:
    """Count rows by bin and protected value, and store the cell of each row.

    The bin is a monotone function of the value; the last bin is for missing numbers. Returns false
    if a number is infinite. The first loop has no branches, so that it vectorizes.
    """
    width = counts.shape[1]
    finite = True
    for row in range(len(values)):
        value = values[row]
        bin_of = min(max((value - low) * scale + 1.0, 0.0), BINS - 1.0)
        bin_of = bin_of if value == value else float(BINS)
        finite &= abs(value) != np.inf
        cells[row] = np.int32(bin_of) * width + codes[row]
    counts[:] = 0.0
    flat = counts.reshape(counts.size)
    if len(weights) > 0:
        for row in range(len(values)):
            flat[cells[row]] += weights[row]
    else:
        for row in range(len(values)):
            flat[cells[row]] += 1.0
    return finite


@called
def _occupied(counts: Any) -> int:
    """Return the number of bins that hold numbers: a lower bound on the distinct numbers."""
    occupied = 0
    for index in range(counts.shape[0] - 1):
        for column in range(counts.shape[1]):
            if counts[index, column] > 0:
                occupied += 1
                break
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
    values: Any, codes: Any, weights: Any, counts: Any, cells: Any, mark: Any, known: Any
) -> Any:
    """Replace each marked bin of the histogram by its distinct values.

    Returns the masses by piece and protected value, and which pieces are single values.
    """
    width = counts.shape[1]
    rows = np.empty(len(values), np.int64)
    held = 0
    for row in range(len(values)):
        if mark[cells[row] // width]:
            rows[held] = row
            held += 1
    rows = rows[:held]
    rows = rows[np.argsort(values[rows])]
    pieces = np.zeros((BINS + 1 + held, width))
    single = np.zeros(BINS + 1 + held, np.bool_)
    count, at = 0, 0
    for index in range(BINS + 1):
        if not mark[index]:
            for column in range(width):
                pieces[count, column] = counts[index, column]
            single[count] = known[index]
            count += 1
            continue
        while at < held and cells[rows[at]] // width == index:
            value = values[rows[at]]
            single[count] = True
            while at < held and values[rows[at]] == value:
                row = rows[at]
                pieces[count, codes[row]] += weights[row] if len(weights) > 0 else 1.0
                at += 1
            count += 1
    return pieces[:count], single[:count]


@called
def _bound(
    values: Any, codes: Any, width: int, weights: Any, method: Any, epsilon: float, scratch: Any
) -> Any:
    """Return a bound on the association of some numbers with one protected attribute.

    A bound of `epsilon` or more is exact up to rounding.
    """
    kind, most = method[0], int(method[2])
    table = scratch[0][: (most + 2) * width].reshape((int(most) + 2, width))
    counts = scratch[1][: (BINS + 1) * width].reshape((BINS + 1, width))
    cells, mark, single = scratch[3], scratch[4], scratch[5]
    low, scale = _grid(values)
    gridded = scale > 0 and _histogram(values, codes, weights, low, scale, counts, cells)
    if not gridded or _occupied(counts) <= most:
        count = _distinct(values, codes, weights, most, table, scratch[2])
        if count >= 0:
            return exact_information(table, count)
    if not gridded:
        return NO_BOUND
    if kind == 0:
        return raw_bound(counts)
    single[:] = False
    bound = grouped_bound(counts, single, method, epsilon, mark)
    if bound >= epsilon:
        _find_singles(values, cells, width, mark, single)
        bound = grouped_bound(counts, single, method, epsilon, mark)
    if bound >= epsilon:
        pieces, alone = _opened(values, codes, weights, counts, cells, mark, single)
        bound = grouped_bound(pieces, alone, method, epsilon, np.zeros(len(pieces), np.bool_))
    return bound


@called
def _scratch(rows: int, most: int, width: int) -> Any:
    table, counts = np.empty((most + 2) * width), np.empty((BINS + 1) * width)
    slots = (np.zeros(SLOTS, np.uint64), np.empty(SLOTS, np.int64))
    mark, single = np.zeros(BINS + 1, np.bool_), np.zeros(BINS + 1, np.bool_)
    return table, counts, slots, np.empty(rows, np.int32), mark, single


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
