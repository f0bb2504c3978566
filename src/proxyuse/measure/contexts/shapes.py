"""Which pairs of rows change the output, from the form of a position and the values there."""

from __future__ import annotations

import numpy as np

from proxyuse.lang.evaluate import Array, truth_of
from proxyuse.lang.positions import Spot
from proxyuse.measure.contexts.ascent import Ascent, only_constants_beside
from proxyuse.measure.contexts.forms import Context, Form
from proxyuse.measure.effects import Alike, Ranges, Shape
from proxyuse.measure.influence import differ
from proxyuse.measure.sample import Sample
from proxyuse.measure.support import support_of


def shape_of(sample: Sample, spot: Spot, context: Context, values: Array) -> Shape | None:
    """The pairs of rows that change the output, or None if each value has to be tried.

    `values` are those at the position, one per row, as `Context.acting` returns them.
    """
    if not context.rows.any():
        return Alike(context.rows, context.rows)
    match context.form:
        case Form.PASS:
            return Alike(context.rows, support_of(values, sample.n_rows).codes)
        case Form.FLIP:
            return Alike(context.rows, truth_of(values))
        case Form.SIDE:
            return _by_side(sample, spot, context, values)
        case Form.SHIFT:
            return _by_neighbors(sample, spot, context, values)
        case Form.OTHER if only_constants_beside(sample, spot):
            outputs = sample.shared(Ascent).outcome(spot, np.arange(sample.n_rows), values)
            return Alike(context.rows, support_of(outputs, sample.n_rows).codes)
        case Form.OTHER:
            return None


def pairs_across(sample: Sample, spot: Spot, context: Context, values: Array) -> int | None:
    """The number of pairs that change the output, if many rows of weight 1 each have a side.

    A row below its threshold changes with every number above it, a row above it with every
    number below. None if a number is missing or infinite, or so close to a threshold that
    rounding decides. O(n) unless numbers crowd.
    """
    numbers = values.dtype == np.float64 and values.ndim == 1
    wanted = context.form is Form.SIDE and numbers and sample.unit_weights and sample.many_rows
    if not wanted:
        return None
    assert context.tau is not None
    assert context.slack is not None
    rows = np.flatnonzero(context.rows)
    tau, slack = context.tau[rows], context.slack[rows]
    ends = values.min(), values.max()
    if not all(np.isfinite(part).all() for part in (ends, tau, slack)):
        return None
    # Rounding may keep a row on one side of its threshold for all numbers.
    ascent = sample.shared(Ascent)
    outcomes = [ascent.up_to(context.judge, spot, rows, np.full(len(rows), end)) for end in ends]
    if not np.array_equal(differ(*outcomes), (ends[0] < tau) & (tau < ends[1])):
        return None
    from proxyuse.measure.tally_kernel import crossed  # loads numba

    plain = np.require(values, np.float64, ["C", "W"])
    return crossed(plain, tau, values[rows] < tau, slack)


def sides(sample: Sample, spot: Spot, context: Context) -> tuple[Array, Array, Array, Array] | None:
    """The rows whose output depends on the side of a threshold, if this is the form.

    Returns
    -------
    The rows, their thresholds, and their outputs below and above the threshold.
    """
    if context.form is not Form.SIDE:
        return None
    assert context.tau is not None
    assert context.slack is not None
    ascent = sample.shared(Ascent)
    with np.errstate(all="ignore"):
        away = 4 * context.slack + np.abs(context.tau) * 1e-9 + 1e-9
        known = context.rows & np.isfinite(context.tau) & np.isfinite(away)
        rows = np.flatnonzero(known)
        tau, away = context.tau[rows], away[rows]
        low, high = (ascent.outcome(spot, rows, tau + step) for step in (-away, away))
    return rows, tau, low, high


def _by_side(sample: Sample, spot: Spot, context: Context, values: Array) -> Shape:
    """Each row keeps its output on one side of its threshold.

    The low side is the side of the smallest number.
    """
    ascent = sample.shared(Ascent)
    support = support_of(values.astype(np.float64, copy=False), sample.n_rows)
    numbers = support.values[~np.isnan(support.values)]
    rows = np.flatnonzero(context.rows)
    codes = support.codes[rows]
    if len(numbers) == 0:
        return Alike(context.rows, np.zeros(sample.n_rows, dtype=np.bool_))
    low = ascent.up_to(context.judge, spot, rows, np.full(len(rows), numbers[0]))
    below = _low_side(ascent, spot, context, numbers, rows, low)
    own_low, lost = codes < below, None
    if len(numbers) < len(support):
        missing = ascent.up_to(context.judge, spot, rows, np.full(len(rows), np.nan))
        missing_low = ~differ(missing, low)
        own_low = np.where(codes == len(numbers), missing_low, own_low)
        lost = own_low != missing_low
    first, last = np.where(own_low, 0, below), np.where(own_low, below, len(numbers))
    return Ranges(rows, first, last, len(numbers), support.codes, lost)


def _low_side(
    ascent: Ascent, spot: Spot, context: Context, numbers: Array, rows: Array, low: Array
) -> Array:
    """How many of the sorted numbers are on the low side, for each row."""
    assert context.tau is not None
    assert context.slack is not None
    tau, slack = context.tau[rows], context.slack[rows]
    unknown = ~np.isfinite(tau) | ~np.isfinite(slack)
    start = np.where(unknown, 0, _positions(numbers, tau - slack))
    # Usually no number lies within the slack: the next one is above it already.
    end = start.copy()
    near = np.flatnonzero(numbers[np.minimum(start, len(numbers) - 1)] <= tau + slack)
    end[near] = np.searchsorted(numbers, (tau + slack)[near], side="right")
    end[unknown] = len(numbers)
    # If the largest number is on the same side as the smallest, all of them are.
    high = ascent.up_to(context.judge, spot, rows, np.full(len(rows), numbers[-1]))
    one_side = ~differ(low, high)
    start = np.where(one_side, len(numbers), np.maximum(start, 1))
    end = np.maximum(end, start)
    open_rows = np.flatnonzero(start < end)
    while len(open_rows):
        middle = (start[open_rows] + end[open_rows]) // 2
        outcome = ascent.up_to(context.judge, spot, rows[open_rows], numbers[middle])
        is_low = ~differ(outcome, low[open_rows])
        start[open_rows] = np.where(is_low, middle + 1, start[open_rows])
        end[open_rows] = np.where(is_low, end[open_rows], middle)
        open_rows = open_rows[start[open_rows] < end[open_rows]]
    return start


def _by_neighbors(sample: Sample, spot: Spot, context: Context, values: Array) -> Ranges | None:
    """Through monotone steps, the values that give a row's output are next to its own.

    A missing value that is filled in above has no such neighbors.
    """
    support = support_of(values.astype(np.float64, copy=False), sample.n_rows)
    if context.filled and np.isnan(support.values).any():
        return None
    ascent = sample.shared(Ascent)
    ends = support.codes.copy(), support.codes.copy()
    for end, direction in zip(ends, (-1, 1), strict=True):
        rows = np.flatnonzero(context.rows)
        actual = ascent.outcome(spot, rows, values[rows])
        index = support.codes[rows] + direction
        while len(rows):
            inside = (index >= 0) & (index < len(support))
            rows, index, actual = rows[inside], index[inside], actual[inside]
            if len(rows) == 0:
                break
            equal = ~differ(actual, ascent.outcome(spot, rows, support.values[index]))
            rows, index, actual = rows[equal], index[equal], actual[equal]
            end[rows] = index
            index = index + direction
    rows = np.flatnonzero(context.rows)
    return Ranges(rows, ends[0][rows], ends[1][rows] + 1, len(support), support.codes)


def _positions(numbers: Array, thresholds: Array) -> Array:
    """How many of the sorted numbers are below each threshold.

    Sorted thresholds touch memory in order, which is several times faster than random lookups.
    """
    order = np.argsort(thresholds)
    result = np.empty(len(thresholds), dtype=np.intp)
    result[order] = np.searchsorted(numbers, thresholds[order], side="left")
    return result
