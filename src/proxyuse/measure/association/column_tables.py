"""Joint tables of a column of numbers with the protected attributes; every row counts once.

A column is divided into pieces: its distinct numbers or, if association bins them, the bins. Each
row is assigned to a piece, and the rows of each piece are counted by protected value.

The cost is O(n) for integers in a short range. Other numbers are sorted, in O(n log n); the
sort does not keep track of rows. Importing this module loads numba.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from proxyuse.lang.evaluate import Array
from proxyuse.measure.association import column_kernel
from proxyuse.measure.association.support import Support, bins_of

NO_CODES = np.empty(0, dtype=np.intp)
SHORT_RANGE = 1 << 18
CELLS_PER_ROW = 16  # at most so many cells per row are counted before pieces are put into bins


@dataclass(frozen=True, slots=True, eq=False)
class _Pieces:
    """The pieces of a column, and the piece of each row.

    Attributes
    ----------
    codes : the piece of each row.
    count : the number of pieces.
    samples : returns a number in each of some pieces, the largest it can contain.
    support : the support for association, if it is already known.
    """

    codes: Array
    count: int
    samples: Callable[[Array], Array]
    support: Support | None = None


def count_numbers(
    values: Array, protected: Sequence[Support], bins: int | None, max_support: int
) -> tuple[Support, list[Array]]:
    """Return the support of some numbers, without codes, and their joint tables.

    Examples
    --------
    >>> z = Support(np.array([0, 1, 1, 1]), np.array([0.0, 1.0]))
    >>> support, tables = count_numbers(np.array([0.5, 0.5, 2.5, 2.5]), [z], None, 256)
    >>> support.values.tolist(), tables[0].tolist()
    ([0.5, 2.5], [[1.0, 1.0], [0.0, 2.0]])
    """
    pieces = _whole_numbers(values) or _sorted_numbers(values, bins, max_support)
    if pieces.count * max(map(len, protected)) > CELLS_PER_ROW * len(values):
        return _counted_late(pieces, protected, bins, max_support)
    every = [column_kernel.counted(pieces.codes, pieces.count, z) for z in protected]
    masses = every[0] @ np.ones(every[0].shape[1])  # much faster than summing short rows
    present = np.flatnonzero(masses)
    samples = pieces.samples(present)
    tables = [table[present] for table in every]
    support = pieces.support
    if support is None:
        support = _support(samples, masses[present], bins, max_support)
    if support.upper is not None:
        bin_of = np.searchsorted(support.upper, samples)
        tables = [_summed(table, bin_of, len(support)) for table in tables]
    return support, tables


def _counted_late(
    pieces: _Pieces, protected: Sequence[Support], bins: int | None, max_support: int
) -> tuple[Support, list[Array]]:
    """Assign rows to bins before they are counted: most cells of a table of pieces are empty."""
    masses = np.bincount(pieces.codes, minlength=pieces.count).astype(np.float64)
    present = np.flatnonzero(masses)
    samples = pieces.samples(present)
    support = pieces.support
    if support is None:
        support = _support(samples, masses[present], bins, max_support)
    line_of = np.zeros(pieces.count, dtype=pieces.codes.dtype)
    line_of[present] = (
        np.arange(len(present))
        if support.upper is None
        else np.searchsorted(support.upper, samples)
    )
    codes = line_of[pieces.codes]
    return support, [column_kernel.counted(codes, len(support), z) for z in protected]


def _support(values: Array, masses: Array, bins: int | None, max_support: int) -> Support:
    """Return a support without codes: distinct values, binned if there are too many."""
    bin_of = bins_of(values, masses, bins, max_support)
    if bin_of is None:
        return Support(NO_CODES, values)
    first = np.flatnonzero(np.diff(bin_of, prepend=-1))
    last = np.append(first[1:], len(values)) - 1
    return Support(NO_CODES, values[first], values[last])


def _summed(table: Array, group: Array, count: int) -> Array:
    """Sum the rows of each group."""
    return np.stack([np.bincount(group, column, minlength=count) for column in table.T], axis=1)


def _whole_numbers(values: Array) -> _Pieces | None:
    """Return the pieces of integers in a short range, or None; numbers can be missing."""
    low, high = float(np.fmin.reduce(values)), float(np.fmax.reduce(values))
    if not high - low < min(SHORT_RANGE, 4 * len(values)) - 2:
        return None
    codes = column_kernel.whole(values, low, high)
    if codes is None:
        return None
    missing = int(high - low) + 1
    return _Pieces(
        codes, missing + 1, lambda pieces: np.where(pieces < missing, pieces + low, np.nan)
    )


def _sorted_numbers(values: Array, bins: int | None, max_support: int) -> _Pieces:
    support = _support(*_distinct(values), bins, max_support)
    edges = support.values if support.upper is None else support.upper
    edges = edges[~np.isnan(edges)]
    samples = np.append(edges, np.nan)
    codes = column_kernel.among(edges, values)
    return _Pieces(codes, len(samples), lambda pieces: samples[pieces], support)


def _distinct(values: Array) -> tuple[Array, Array]:
    """Return the distinct numbers in sorted order, missing last, and the mass of each."""
    ordered = column_kernel.in_order(values)
    last = int(np.searchsorted(ordered, np.nan))  # the first missing number
    change = np.flatnonzero(ordered[1:last] != ordered[: max(last, 1) - 1]) + 1
    starts = np.concatenate([[0] if last else [], change, [last] if last < len(values) else []])
    starts = starts.astype(np.intp)
    return ordered[starts], np.diff(starts, append=len(values)).astype(np.float64)
