"""The range of values at a position that keep each row's output."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from proxyuse.lang.evaluate import Array
from proxyuse.lang.positions import Site
from proxyuse.measure.contexts.context import Context, Form
from proxyuse.measure.contexts.path_evaluation import PathEvaluator
from proxyuse.measure.counting import Rows
from proxyuse.measure.influence import differ
from proxyuse.measure.sample import Sample


@dataclass(frozen=True, slots=True, eq=False)
class Ranges:
    """Each row keeps its output for the values from `first` up to, but not including, `last`.

    Attributes
    ----------
    rows : the rows whose output can change.
    first, last : for each of them, indices into the sorted values.
    size : the number of values that have an order.
    codes : the index of every row's value; `size` for a missing value.
    missing_changes : for each of `rows`, whether a missing value changes its output.
    """

    rows: Array
    first: Array
    last: Array
    size: int
    codes: Array
    missing_changes: Array | None = None


def ranges_of(sample: Rows, site: Site, context: Context, numbers: Array, codes: Array) -> Ranges:
    """Return the range of numbers that keep each row's output, for SIDE, SHIFT and BAND.

    `numbers` holds the distinct numbers at the position in the whole population, sorted, with a
    missing number last. `codes` holds the index in `numbers` of each of these rows.
    """
    if context.form is Form.SIDE:
        return _by_side(sample, site, context, numbers, codes)
    if context.form is Form.BAND:
        return _by_band(sample, site, context, numbers, codes)
    assert context.form is Form.SHIFT
    return _by_neighbors(sample, site, context, numbers, codes)


def pairs_across(sample: Sample, site: Site, context: Context, values: Array) -> int | None:
    """Return the number of pairs that change the output, for SIDE and many unit weights.

    A row below its threshold changes with every number above it, a row above it with every
    number below. None if a number is missing or infinite, or so close to a threshold that
    rounding decides. O(n) unless many numbers are close together.
    """
    numbers = values.dtype == np.float64 and values.ndim == 1
    if not (context.form is Form.SIDE and numbers and sample.unit_weights and sample.many_rows):
        return None
    assert context.tau is not None
    assert context.slack is not None
    rows = np.flatnonzero(context.rows)
    tau, slack = context.tau[rows], context.slack[rows]
    ends = values.min(), values.max()
    if not all(np.isfinite(part).all() for part in (ends, tau, slack)):
        return None
    # Rounding may keep a row on one side of its threshold for all numbers.
    path = sample.shared(PathEvaluator)
    outcomes = [path.up_to(context.judge, site, rows, np.full(len(rows), end)) for end in ends]
    if not np.array_equal(differ(*outcomes), (ends[0] < tau) & (tau < ends[1])):
        return None
    from proxyuse.measure.association.column_kernel import crossed  # loads numba

    plain = np.require(values, np.float64, ["C", "W"])
    return crossed(plain, tau, values[rows] < tau, slack)


def sides(sample: Sample, site: Site, context: Context) -> tuple[Array, Array, Array, Array] | None:
    """Return the rows whose output depends on the side of a threshold, or None.

    Returns
    -------
    The rows, their thresholds, and their outputs below and above the threshold.
    """
    if context.form is not Form.SIDE:
        return None
    assert context.tau is not None
    assert context.slack is not None
    path = sample.shared(PathEvaluator)
    with np.errstate(all="ignore"):
        distance = 4 * context.slack + np.abs(context.tau) * 1e-9 + 1e-9
        known = context.rows & np.isfinite(context.tau) & np.isfinite(distance)
        rows = np.flatnonzero(known)
        tau, distance = context.tau[rows], distance[rows]
        low, high = (path.outcome(site, rows, tau + step) for step in (-distance, distance))
    return rows, tau, low, high


def _by_side(
    sample: Rows, site: Site, context: Context, numbers: Array, every_code: Array
) -> Ranges:
    """Handle SIDE: each row keeps its output on one side of its threshold.

    The low side is the side of the smallest number.
    """
    path = sample.shared(PathEvaluator)
    size = len(numbers) - int(np.isnan(numbers[-1]))
    rows = np.flatnonzero(context.rows)
    if size == 0:  # all numbers are missing, so nothing changes
        start = np.zeros(len(rows), dtype=np.intp)
        return Ranges(rows, start, start, 0, every_code, np.zeros(len(rows), dtype=np.bool_))
    codes, present = every_code[rows], numbers[:size]
    low = path.up_to(context.judge, site, rows, np.full(len(rows), present[0]))
    below = _low_side(path, site, context, present, rows, low)
    own_low, missing_changes = codes < below, None
    if size < len(numbers):
        missing = path.up_to(context.judge, site, rows, np.full(len(rows), np.nan))
        missing_low = ~differ(missing, low)
        own_low = np.where(codes == size, missing_low, own_low)
        missing_changes = own_low != missing_low
    first, last = np.where(own_low, 0, below), np.where(own_low, below, size)
    return Ranges(rows, first, last, size, every_code, missing_changes)


def _low_side(
    path: PathEvaluator, site: Site, context: Context, numbers: Array, rows: Array, low: Array
) -> Array:
    """Return how many of the sorted numbers are on the low side of each row's threshold."""
    assert context.tau is not None
    assert context.slack is not None
    tau, slack = context.tau[rows], context.slack[rows]
    start, end = _around(numbers, tau, slack)
    # If the largest number is on the same side as the smallest, all of them are.
    high = path.up_to(context.judge, site, rows, np.full(len(rows), numbers[-1]))
    one_side = ~differ(low, high)
    start = np.where(one_side, len(numbers), np.maximum(start, 1))
    end = np.maximum(end, start)

    def is_high(some: Array, index: Array) -> Array:
        outcome = path.up_to(context.judge, site, rows[some], numbers[index])
        return differ(outcome, low[some])

    return _bisected(start, end, is_high)


def _by_band(
    sample: Rows, site: Site, context: Context, numbers: Array, every_code: Array
) -> Ranges:
    """Handle BAND: each row keeps its output between two thresholds around its own number.

    A number counts if the output is missing and the row's is not, or the other way around. Where
    a number lies within the slack of a threshold, the program's own operations decide, by
    bisection: O(log k) evaluations for k numbers.
    """
    path = sample.shared(PathEvaluator)
    size = len(numbers) - int(np.isnan(numbers[-1]))
    rows = np.flatnonzero(context.rows)
    codes, present = every_code[rows], numbers[:size]
    missing = codes == size
    first, last = np.zeros(len(rows), dtype=np.intp), np.zeros(len(rows), dtype=np.intp)
    some = np.flatnonzero(~missing)
    if len(some):
        at, own = rows[some], codes[some]

        def moves(chosen: Array, index: Array) -> Array:
            """Return whether some of these rows move with the numbers at these indices."""
            chosen_rows = at[chosen]
            outcomes = (
                path.outcome(site, chosen_rows, present[indices])
                for indices in (own[chosen], index)
            )
            return sample.loss.loss(*outcomes)

        low, low_slack, high, high_slack = context.band(at)
        start, end = _around(present, low, low_slack)
        start = np.minimum(start, own)
        first[some] = _bisected(start, np.clip(end, start, own), lambda c, i: ~moves(c, i))
        start, end = _around(present, high, high_slack)
        start = np.maximum(start, own + 1)
        last[some] = _bisected(start, np.maximum(end, start), moves)
    changes = ~missing if size < len(numbers) else None
    return Ranges(rows, first, last, size, every_code, changes)


def _around(numbers: Array, tau: Array, slack: Array) -> tuple[Array, Array]:
    """Return where the sorted numbers that may lie on either side of a threshold begin and end."""
    unknown = ~np.isfinite(tau) | ~np.isfinite(slack)
    start = np.where(unknown, 0, _positions(numbers, tau - slack))
    end = start.copy()
    # Usually no number lies within the slack: the next one is above it already.
    near = np.flatnonzero(numbers[np.minimum(start, len(numbers) - 1)] <= tau + slack)
    end[near] = np.searchsorted(numbers, (tau + slack)[near], side="right")
    end[unknown] = len(numbers)
    return start, end


def _bisected(start: Array, end: Array, holds: Callable[[Array, Array], Array]) -> Array:
    """Return, for each row, the first index from `start` on at which a property holds, or `end`.

    From that index on the property must hold up to `end`.
    """
    start, end = start.copy(), end.copy()
    open_rows = np.flatnonzero(start < end)
    while len(open_rows):
        middle = (start[open_rows] + end[open_rows]) // 2
        found = holds(open_rows, middle)
        end[open_rows] = np.where(found, middle, end[open_rows])
        start[open_rows] = np.where(found, start[open_rows], middle + 1)
        open_rows = open_rows[start[open_rows] < end[open_rows]]
    return start


def _by_neighbors(
    sample: Rows, site: Site, context: Context, numbers: Array, codes: Array
) -> Ranges:
    """Handle SHIFT: the values that keep a row's output are neighbors of its own."""
    path = sample.shared(PathEvaluator)
    every = np.flatnonzero(context.rows)
    outputs = path.outcome(site, every, numbers[codes[every]])
    ends = codes.copy(), codes.copy()
    for end, direction in zip(ends, (-1, 1), strict=True):
        rows, actual = every, outputs
        index = codes[rows] + direction
        while len(rows):
            inside = (index >= 0) & (index < len(numbers))
            rows, index, actual = rows[inside], index[inside], actual[inside]
            if len(rows) == 0:
                break
            equal = ~differ(actual, path.outcome(site, rows, numbers[index]))
            rows, index, actual = rows[equal], index[equal], actual[equal]
            end[rows] = index
            index = index + direction
    return Ranges(every, ends[0][every], ends[1][every] + 1, len(numbers), codes)


def _positions(numbers: Array, thresholds: Array) -> Array:
    """Return how many of the sorted numbers are below each threshold.

    Sorted thresholds touch memory in order, which is several times faster than random lookups.
    """
    order = np.argsort(thresholds)
    result = np.empty(len(thresholds), dtype=np.intp)
    result[order] = np.searchsorted(numbers, thresholds[order], side="left")
    return result
