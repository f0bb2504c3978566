"""Squared correlation as a measure of association: it needs values, not only their masses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from proxyuse.lang.evaluate import Array

ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class SquaredCorrelation:
    """The largest squared correlation of a function of each side that is linear in its values.

    Between numbers, truth values and categories of two values it is r squared. A category of
    more values becomes an indicator for each, and a vector its entries: the measure is then the
    largest squared canonical correlation. That is the correlation ratio for a number and a
    category, and the largest in their table for two categories.

    Values are not cut into bins; a protected attribute that was cut is taken at the middle of
    each bin. Rows in which a number is missing or infinite are left out. 0 when one of both is
    constant; what differs from 1 by rounding alone is 1.

    Examples
    --------
    >>> squared, x = SquaredCorrelation(), np.array([1.0, 2.0, 6.0])
    >>> squared(np.eye(3), rows=x, columns=2 * x)
    1.0
    >>> round(squared(np.eye(3), rows=x, columns=np.array([0.0, 1.0, 0.0])), 4)
    0.1071
    """

    values: bool = True

    @property
    def name(self) -> str:
        """How results call it."""
        return "squared correlation"

    @property
    def information_bound(self) -> bool:
        """Whether it is at most I(X; Z) / H(Z): it is not."""
        return False

    def __call__(
        self, masses: Array, *, rows: Array | None = None, columns: Array | None = None
    ) -> float:
        """The association of the values of the rows and of the columns of a table of masses.

        Whole-number arrays of 32 bits hold categories; without values both sides are categories.
        """
        rows = np.arange(masses.shape[0], dtype=np.int32) if rows is None else rows
        columns = np.arange(masses.shape[1], dtype=np.int32) if columns is None else columns
        kept, held = (_there(part) for part in (rows, columns))
        masses = masses[kept][:, held]
        rows, columns = rows[kept], columns[held]
        some, more = masses.sum(axis=1) > 0, masses.sum(axis=0) > 0
        if some.sum() < 2 or more.sum() < 2:
            return 0.0
        shares = masses[some][:, more] / masses.sum()
        by_row, by_column = shares.sum(axis=1), shares.sum(axis=0)
        scale = np.sqrt(by_row)[:, None] * np.sqrt(by_column)
        joined = (shares - by_row[:, None] * by_column) / scale
        joined = _projected(rows[some], by_row, joined)
        joined = _projected(columns[more], by_column, joined.T)
        largest = float(np.linalg.norm(joined, 2)) ** 2 if joined.size else 0.0
        return 1.0 if largest > 1 - ROUNDING else largest


def _there(values: Array) -> Array:
    """Which values are neither missing nor infinite; a missing category is a value."""
    finite = np.isfinite(values)
    return np.asarray(finite if values.ndim == 1 else finite.all(axis=1))


def _projected(values: Array, shares: Array, table: Array) -> Array:
    """A table of shares, its rows replaced by functions of their values that are uncorrelated."""
    if values.dtype == np.int32:
        return table
    numbers = values.astype(np.float64).reshape(len(values), -1)
    largest = np.abs(numbers).max(axis=0)
    numbers = numbers / np.where(largest > 0, largest, 1.0)
    centerd = numbers - shares @ numbers
    centerd = (centerd - shares @ centerd) * np.sqrt(shares)[:, None]
    left, size, _ = np.linalg.svd(centerd, full_matrices=False)
    basis = left[:, size > ROUNDING * max(1.0, size[0] if len(size) else 0.0)]
    return np.asarray(basis.T @ table)
