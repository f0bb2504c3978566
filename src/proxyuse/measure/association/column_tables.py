"""Count a column once, for the joint tables of its values and of all tests that read it.

A column is divided into pieces: its distinct values or, if there are too many for association, the
intervals between the edges of its bins and the breakpoints of its tests. Each row is assigned to a
piece, and the rows of each piece are counted by protected value. All tables are sums over pieces.

The cost is O(n) for categories, booleans, and whole numbers in a short range. Other numbers are
sorted, in O(n log n); with unit weights the sort does not keep track of rows. Importing this module
loads numba.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from proxyuse.lang.evaluate import NO_CATEGORY, Array, Vocabulary
from proxyuse.measure.association import column_kernel
from proxyuse.measure.association.support import Support, bins_of
from proxyuse.measure.cells import Cells, Test, breakpoints, cells_of

NO_CODES = np.empty(0, dtype=np.intp)
SHORT_RANGE = 1 << 18


@dataclass(frozen=True, slots=True, eq=False)
class ColumnCounts:
    """The counts of a column.

    Attributes
    ----------
    support : the values, binned if there are too many, without the rows' codes.
    tables : for each protected attribute, the masses by value or bin and protected value.
    cells : the cells that the tests of the column distinguish.
    cell_tables : for each protected attribute, the masses by cell and protected value.
    """

    support: Support
    tables: list[Array]
    cells: Cells
    cell_tables: list[Array]


@dataclass(frozen=True, slots=True, eq=False)
class Pieces:
    """The pieces of a column, and the piece of each row.

    Attributes
    ----------
    places : the piece of each row.
    count : the number of pieces.
    samples : returns a value in each of some pieces, the largest it can contain.
    support : the support for association, if it is already known; a piece is part of one bin.
    """

    places: Array
    count: int
    samples: Callable[[Array], Array]
    support: Support | None = None


def count_column(
    values: Array,
    tests: Sequence[Test],
    vocabulary: Vocabulary,
    protected: Sequence[Support],
    weights: Array | None,
    bins: int | None,
    max_support: int,
) -> ColumnCounts:
    """Count a column; without weights each row counts once."""
    pieces = _pieces(values, tests, vocabulary, weights, bins, max_support)
    counted = _counted(pieces, protected, weights, bins, max_support)
    some = cells_of(counted.samples, tests, vocabulary)
    cell_of = np.zeros(pieces.count, dtype=some.codes.dtype)
    cell_of[counted.present] = some.codes
    cells = Cells(column_kernel.looked_up(cell_of, pieces.places), some.truth)
    by_cell = [summed(table, some.codes, cells.count) for table in counted.raw]
    return ColumnCounts(counted.support, counted.tables, cells, by_cell)


def count_numbers(
    values: Array, protected: Sequence[Support], bins: int | None, max_support: int
) -> tuple[Support, list[Array]]:
    """Return the support and tables of numbers without tests; each row counts once."""
    pieces = _numbers(values, (), None, bins, max_support)
    counted = _counted(pieces, protected, None, bins, max_support)
    return counted.support, counted.tables


@dataclass(frozen=True, slots=True, eq=False)
class _Counted:
    """The pieces of a column that occur.

    Attributes
    ----------
    present : the indices of these pieces.
    samples, raw : a value in each piece, and its masses by protected value.
    support, tables : the same for the bins, if values are binned.
    """

    present: Array
    samples: Array
    raw: list[Array]
    support: Support
    tables: list[Array]


def _counted(
    pieces: Pieces,
    protected: Sequence[Support],
    weights: Array | None,
    bins: int | None,
    max_support: int,
) -> _Counted:
    every = [column_kernel.counted(pieces.places, pieces.count, z, weights) for z in protected]
    masses: Array
    if weights is None:
        masses = every[0] @ np.ones(every[0].shape[1])  # much faster than summing short rows
    else:  # in row order, exactly as bins are defined
        masses = np.bincount(pieces.places, weights, minlength=pieces.count)
    present = np.flatnonzero(masses)
    samples = pieces.samples(present)
    raw = [table[present] for table in every]
    support = pieces.support
    if support is None:
        support = grouped(samples, masses[present], bins, max_support)
    tables = raw
    if support.upper is not None:
        group = np.searchsorted(support.upper, samples)
        tables = [summed(table, group, len(support)) for table in raw]
    return _Counted(present, samples, raw, support, tables)


def grouped(values: Array, masses: Array, bins: int | None, max_support: int) -> Support:
    """Return a support without codes: distinct values, binned if there are too many."""
    bin_of = bins_of(values, masses, bins, max_support)
    if bin_of is None:
        return Support(NO_CODES, values)
    first = np.flatnonzero(np.diff(bin_of, prepend=-1))
    last = np.append(first[1:], len(values)) - 1
    return Support(NO_CODES, values[first], values[last])


def summed(table: Array, group: Array, count: int) -> Array:
    """Sum the rows of each group."""
    return np.stack([np.bincount(group, column, minlength=count) for column in table.T], axis=1)


def _pieces(
    values: Array,
    tests: Sequence[Test],
    vocabulary: Vocabulary,
    weights: Array | None,
    bins: int | None,
    max_support: int,
) -> Pieces:
    if values.dtype == np.bool_:
        return Pieces(values.view(np.uint8), 2, lambda places: places == 1)
    if values.dtype == np.int32:
        places = (values - np.int32(NO_CATEGORY)).view(np.uint32)
        return Pieces(
            places,
            len(vocabulary.words) - NO_CATEGORY,
            lambda places: (places + NO_CATEGORY).astype(np.int32),
        )
    return _numbers(values, tests, weights, bins, max_support)


def _whole_numbers(values: Array) -> Pieces | None:
    """Return the pieces of whole numbers in a short range, else None; numbers can be missing."""
    low, high = float(np.fmin.reduce(values)), float(np.fmax.reduce(values))
    if not high - low < min(SHORT_RANGE, 4 * len(values)) - 2:
        return None
    places = column_kernel.whole(values, low, high)
    if places is None:
        return None
    missing = int(high - low) + 1
    return Pieces(
        places, missing + 1, lambda places: np.where(places < missing, places + low, np.nan)
    )


def _numbers(
    values: Array,
    tests: Sequence[Test],
    weights: Array | None,
    bins: int | None,
    max_support: int,
) -> Pieces:
    whole = _whole_numbers(values)
    if whole is not None:
        return whole
    distinct, masses = _distinct(values, weights)
    support = grouped(distinct, masses, bins, max_support)
    edges = distinct
    if support.upper is not None:
        edges = np.unique(np.concatenate([support.upper, breakpoints(tests)]))
    edges = edges[~np.isnan(edges)]
    samples = np.append(edges, np.nan)
    return Pieces(
        column_kernel.among(edges, values), len(samples), lambda places: samples[places], support
    )


def _distinct(values: Array, weights: Array | None) -> tuple[Array, Array]:
    """Return the distinct numbers in sorted order, missing last, and the mass of each."""
    if weights is not None:  # in row order, exactly as bins are defined
        distinct, codes = np.unique(values, return_inverse=True)
        return distinct, np.bincount(codes, weights)
    ordered = column_kernel.in_order(values)
    last = int(np.searchsorted(ordered, np.nan))  # the first missing number
    change = np.flatnonzero(ordered[1:last] != ordered[: max(last, 1) - 1]) + 1
    starts = np.concatenate([[0] if last else [], change, [last] if last < len(values) else []])
    starts = starts.astype(np.intp)
    return ordered[starts], np.diff(starts, append=len(values)).astype(np.float64)
