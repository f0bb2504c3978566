"""Squared correlation as a measure of association; it reads values, not only their masses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from proxyuse.lang.evaluate import Array

ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class SquaredCorrelation:
    """The largest squared correlation between linear functions of both sides.

    Between numbers, booleans and binary categories it is r squared. A category with more values
    becomes one indicator per value, and a vector becomes its entries. The measure is then the
    largest squared canonical correlation: the correlation ratio for a number and a category, the
    maximal correlation of the table for two categories.

    The computation is not binned; a binned protected attribute uses the middle of each bin. Rows
    with a missing or infinite number are left out. The measure is 0 when one side is constant, and
    1 when it differs from 1 by a rounding error. The cost is that of a singular value
    decomposition of the table.

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
        """The name of the measure in results."""
        return "squared correlation"

    @property
    def information_bound(self) -> bool:
        """False: squared correlation can exceed I(X; Z) / H(Z)."""
        return False

    def __call__(
        self, masses: Array, *, rows: Array | None = None, columns: Array | None = None
    ) -> float:
        """Measure one table of masses, given the values of its rows and columns.

        An int32 array holds category codes. A side without values is a category.
        """
        rows = np.arange(masses.shape[0], dtype=np.int32) if rows is None else rows
        columns = np.arange(masses.shape[1], dtype=np.int32) if columns is None else columns
        finite_rows, finite_columns = (_finite(side) for side in (rows, columns))
        masses = masses[finite_rows][:, finite_columns]
        rows, columns = rows[finite_rows], columns[finite_columns]
        used_rows, used_columns = masses.sum(axis=1) > 0, masses.sum(axis=0) > 0
        if used_rows.sum() < 2 or used_columns.sum() < 2:
            return 0.0
        shares = masses[used_rows][:, used_columns] / masses.sum()
        by_row, by_column = shares.sum(axis=1), shares.sum(axis=0)
        scale = np.sqrt(by_row)[:, None] * np.sqrt(by_column)
        residuals = (shares - by_row[:, None] * by_column) / scale
        residuals = _project(rows[used_rows], by_row, residuals)
        residuals = _project(columns[used_columns], by_column, residuals.T)
        largest = float(np.linalg.norm(residuals, 2)) ** 2 if residuals.size else 0.0
        return 1.0 if largest > 1 - ROUNDING else largest


def _finite(values: Array) -> Array:
    """Return which values are neither missing nor infinite; a missing category is a value."""
    finite = np.isfinite(values)
    return np.asarray(finite if values.ndim == 1 else finite.all(axis=1))


def _project(values: Array, shares: Array, table: Array) -> Array:
    """Project the rows of a table onto an orthonormal basis of the linear functions of `values`."""
    if values.dtype == np.int32:
        return table
    numbers = values.astype(np.float64).reshape(len(values), -1)
    largest = np.abs(numbers).max(axis=0)
    numbers = numbers / np.where(largest > 0, largest, 1.0)
    centered = numbers - shares @ numbers
    centered = (centered - shares @ centered) * np.sqrt(shares)[:, None]
    left, singular, _ = np.linalg.svd(centered, full_matrices=False)
    basis = left[:, singular > ROUNDING * max(1.0, singular[0] if len(singular) else 0.0)]
    return np.asarray(basis.T @ table)


MEASURES = (SquaredCorrelation(),)
