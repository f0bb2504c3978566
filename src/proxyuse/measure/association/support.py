"""The support of a computation: its distinct values, and the value of each row.

Two values are equal if they are the same number, boolean, category or vector; missing equals
missing. Numbers with many distinct values can be put into bins of equal mass.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from proxyuse.lang.evaluate import Array

ON_BOUNDARY = 1e-9
"""A value this close to the next bin, as a share of a bin, counts as on the boundary.

Values often lie exactly on a boundary. Their bin must not depend on how the weights are rounded:
multiplying all weights by a constant must give the same bins.
"""


@dataclass(frozen=True, slots=True, eq=False)
class Support:
    """Distinct values, and the index of each row's value.

    Attributes
    ----------
    codes : int array, the index of each row's value in `values`.
    values : the distinct values in sorted order, missing last. For bins, the smallest value of
        each bin.
    upper : the largest value of each bin, or None if the values are not binned.
    """

    codes: Array
    values: Array
    upper: Array | None = None

    def __len__(self) -> int:
        return len(self.values)

    @property
    def binned(self) -> bool:
        """Whether the values are bins."""
        return self.upper is not None

    @property
    def middles(self) -> Array:
        """The values, or the middle of each bin."""
        return self.values if self.upper is None else self.values / 2 + self.upper / 2

    def masses(self, weights: Array) -> Array:
        """Return the total weight of each value."""
        return np.bincount(self.codes, weights, minlength=len(self))


def support_of(values: Array, n_rows: int, *, signed_zero: bool = False) -> Support:
    """Return the support of a computation on `n_rows` rows, in O(n log n).

    With `signed_zero`, 0 and -0 are two values, because a division distinguishes them; -0 is then
    the last of `values`.

    Examples
    --------
    >>> support = support_of(np.array([3.0, 1.0, np.nan, 3.0, np.nan]), 5)
    >>> support.codes.tolist(), support.values.tolist()
    ([1, 0, 2, 1, 2], [1.0, 3.0, nan])
    """
    if len(values) == 1 and n_rows != 1:
        return Support(np.zeros(n_rows, dtype=np.intp), values)
    if values.ndim == 2:
        return _rows_support(values, signed_zero)
    return _signed(values) if signed_zero and values.dtype == np.float64 else _plain(values)


def _plain(values: Array) -> Support:
    if values.dtype == np.bool_:
        some, every = bool(values.any()), bool(values.all())
        both = np.array([False, True])
        codes = values.astype(np.intp) if some and not every else np.zeros(len(values), np.intp)
        return Support(codes, both[int(every) : 1 + int(some)])
    if values.dtype == np.float64 and (counted := _whole_numbers(values)) is not None:
        return counted
    distinct, codes = np.unique(values, return_inverse=True)
    return Support(codes, distinct)


def _whole_numbers(values: Array) -> Support | None:
    """Return the support of integers in a short range in O(n + range), without sorting."""
    if len(values) < 64:
        return None
    low, high = values.min(), values.max()
    if not (np.isfinite(low) and np.isfinite(high) and high - low < 4 * len(values)):
        return None
    if low <= 0 <= high and np.any(np.signbit(values) & (values == 0)):
        return None  # -0 would lose its sign
    distances = (values - low).astype(np.intp)
    if not np.array_equal(distances + low, values):
        return None
    seen = np.zeros(int(high - low) + 1, dtype=np.bool_)
    seen[distances] = True
    rank = np.cumsum(seen) - 1
    return Support(rank[distances], np.flatnonzero(seen) + low)


def _signed(values: Array) -> Support:
    support = _plain(values)
    negative = (values == 0) & np.signbit(values)
    if not negative.any() or not ((values == 0) & ~negative).any():
        return support
    codes = np.where(negative, len(support), support.codes)
    return Support(codes, np.append(support.values + 0.0, -0.0))  # -0.0 + 0.0 is 0.0


def _rows_support(rows: Array, signed_zero: bool) -> Support:
    """Find the distinct rows; each column refines the groups of the columns before it."""
    codes = np.zeros(len(rows), dtype=np.intp)
    for column in rows.T:
        inner = _signed(column) if signed_zero else _plain(column)
        codes = _plain(codes * len(inner) + inner.codes).codes
    first = np.unique(codes, return_index=True)[1]
    return Support(codes, rows[first])


def taken_together(parts: Iterable[Support], n_rows: int) -> Support:
    """Number the combinations of values that occur; stops once all rows differ.

    Examples
    --------
    >>> parts = [support_of(np.array([1.0, 1.0, 2.0]), 3), support_of(np.array([5.0, 4.0, 4.0]), 3)]
    >>> taken_together(parts, 3).codes.tolist()
    [1, 0, 2]
    """
    codes = np.zeros(n_rows, dtype=np.intp)
    for part in parts:
        codes = np.unique(codes * len(part) + part.codes, return_inverse=True)[1]
        if codes.max() + 1 == n_rows:  # all rows differ already
            break
    return Support(codes, np.arange(codes.max() + 1))


def cut(support: Support, weights: Array, bins: int | None, max_support: int) -> Support:
    """Bin numbers into `bins` of equal mass if there are more than `max_support` of them."""
    if len(support) <= max_support:
        return support
    bin_of = bins_of(support.values, support.masses(weights), bins, max_support)
    if bin_of is None:
        return support
    new = np.diff(bin_of, prepend=-1) != 0
    first = np.flatnonzero(new)
    last = np.append(first[1:], len(bin_of)) - 1
    return Support((np.cumsum(new) - 1)[support.codes], support.values[first], support.values[last])


def bins_of(values: Array, masses: Array, bins: int | None, max_support: int) -> Array | None:
    """Return the bin of each distinct value, or None if the values are not binned.

    The bin is ``floor(bins * (mass below + half its own mass) / total + ON_BOUNDARY)``, over the
    values that are not missing. Missing values are a bin of their own. Bins can be empty.
    `bins=None` never bins.
    """
    if bins is None or values.dtype != np.float64 or values.ndim != 1:
        return None
    if len(values) <= max_support:
        return None
    present = ~np.isnan(values)
    if np.count_nonzero(present) <= max_support:
        return None
    mass = np.where(present, masses, 0.0)
    doubled = 2.0 * (np.cumsum(mass) - mass) + mass
    bin_of = np.floor(bins * doubled / (2.0 * np.sum(mass)) + ON_BOUNDARY)
    return np.where(present, np.minimum(bin_of, bins - 1), bins)
