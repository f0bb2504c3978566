"""Many tables of masses with the same columns, concatenated along the rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from proxyuse.lang.evaluate import Array

BELOW_ONE = float(np.nextafter(1.0, 0.0))
"""The largest association of tables in which neither side fully determines the other."""


class RaggedTables(NamedTuple):
    """Concatenated tables and what most measures need to know about each of them.

    Attributes
    ----------
    masses : all rows of all tables.
    starts : the first row of each table.
    sizes : the number of rows of each table.
    by_row : the mass of each row.
    by_column : the masses of the columns of each table.
    totals : the mass of each table.
    rows, columns : the number of rows and columns of each table that are not empty.
    rows_determine : whether the row determines the column, for each table.
    columns_determine : whether the column determines the row, for each table.
    """

    masses: Array
    starts: Array
    sizes: Array
    by_row: Array
    by_column: Array
    totals: Array
    rows: Array
    columns: Array
    rows_determine: Array
    columns_determine: Array

    @classmethod
    def of(cls, masses: Array, starts: Array) -> RaggedTables:
        """Compute the margins of each table in time linear in the number of cells."""
        positive = masses > 0
        by_row = masses.sum(axis=1)
        by_column = np.add.reduceat(masses, starts)
        return cls(
            masses,
            starts,
            np.diff(np.append(starts, len(masses))),
            by_row,
            by_column,
            by_column.sum(axis=1),
            np.add.reduceat((by_row > 0).astype(np.intp), starts),
            (by_column > 0).sum(axis=1),
            np.maximum.reduceat(positive.sum(axis=1), starts) <= 1,
            np.add.reduceat(positive.astype(np.intp), starts).max(axis=1) <= 1,
        )

    @property
    def constant(self) -> Array:
        """Whether each table has only one row or only one column."""
        return (self.rows < 2) | (self.columns < 2)

    def independent(self) -> Array:
        """Return the masses that the cells would have if rows and columns were independent."""
        columns = np.repeat(self.by_column / self.totals[:, None], self.sizes, axis=0)
        exact = np.repeat(self.by_column, self.sizes, axis=0) * self.by_row[:, None]
        exact /= np.repeat(self.totals, self.sizes)[:, None]
        # The product of two masses can underflow where the product of their shares does not.
        return np.where(exact > 0, exact, columns * self.by_row[:, None])

    def sum_rows(self, by_row: Array) -> Array:
        """Sum one number per row over the rows of each table."""
        return np.add.reduceat(by_row, self.starts)


def measure_stacked(ragged: Callable[[Array, Array], Array], masses: Array) -> Array:
    """Measure tables that are stacked along the first axis with a function of ragged tables."""
    tables, rows, columns = masses.shape
    return ragged(masses.reshape(tables * rows, columns), np.arange(tables) * rows)
