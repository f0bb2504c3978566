"""What is compared between the sample and its permutations, for one computation.

Where every row counts the same, permuting leaves the margins of a table as they are. Normalized
and adjusted mutual information then rise with the mutual information and with nothing else, so it
is enough to know ``sum of m log m`` over the cells: whole numbers of which the logarithms are
looked up. Other measures are asked table by table.

The same operations are done for the sample and for its permutations. What is left of rounding
is bridged: a permutation counts as reaching the sample if it does within `TIES`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from proxyuse.lang.evaluate import Array
from proxyuse.measure.association import Association, NormalizedMutualInformation, associations_of
from proxyuse.measure.other_associations import AdjustedMutualInformation

TIES = 1e-12, 1e-13
"""Relatively, and absolutely in nats or units of association: far more than rounding makes."""
MOST_LOOKED_UP = 1 << 22
FEW_CELLS = 64


def rises_with_information(measure: Association) -> bool:
    """Whether a measure is a rising function of mutual information while margins stay."""
    return isinstance(measure, NormalizedMutualInformation | AdjustedMutualInformation)


def reached(observed: Array) -> Array:
    """From which value on a permutation counts as reaching what was observed."""
    return np.asarray(observed - (TIES[0] * np.abs(observed) + TIES[1]))


class Products:
    """``m log m`` for counts up to some total.

    Examples
    --------
    >>> Products(3).of(np.array([0, 1, 2])).round(4).tolist()
    [0.0, 0.0, 1.3863]
    """

    def __init__(self, total: int) -> None:
        self.total = total
        self._known = self._made(np.arange(total + 1)) if total <= MOST_LOOKED_UP else None

    def of(self, counts: Array) -> Array:
        """For each count."""
        if self._known is None:
            return self._made(counts)
        return np.asarray(self._known[counts.astype(np.intp, copy=False)])

    def _made(self, counts: Array) -> Array:
        numbers = counts.astype(np.float64)
        return np.asarray(numbers * np.log(np.maximum(numbers, 1.0)))

    def information(self, tables: Array) -> Array:
        """The mutual information, in nats, of tables of counts with this total.

        The last two axes are the rows and the columns.
        """
        margins = self.of(tables.sum(axis=-1)).sum(axis=-1)
        margins += self.of(tables.sum(axis=-2)).sum(axis=-1)
        return self.scaled(self._over_cells(tables), margins)

    def _over_cells(self, tables: Array) -> Array:
        """The sum over the cells of each table; of small tables cell by cell, which is faster."""
        *many, rows, columns = tables.shape
        if rows * columns > FEW_CELLS:
            return np.asarray(self.of(tables).sum(axis=(-1, -2)))
        found = np.zeros(many)
        for row in range(rows):
            for column in range(columns):
                found += self.of(tables[..., row, column])
        return found

    def scaled(self, cells: Array, margins: Array) -> Array:
        """The mutual information from the sums over the cells and over both margins."""
        whole = self._made(np.array(self.total))
        return np.maximum(0.0, (cells - margins + whole) / self.total)


def compared(measure: Association, tables: Array, products: Products) -> Array:
    """What is compared of tables of counts: information where that is enough, else association.

    The last two axes are the rows and the columns.
    """
    if rises_with_information(measure):
        return products.information(tables)
    stacked = tables.reshape(-1, *tables.shape[-2:]).astype(np.float64, copy=False)
    return associations_of(measure, stacked).reshape(tables.shape[:-2])


def never_varies(rows: Sequence[float] | Array, columns: Sequence[float] | Array) -> bool:
    """Whether all tables of counts with these margins have the same association.

    So they have if one side is constant, or if all values of one side occur once.
    """
    sides = [np.asarray(side) for side in (rows, columns)]
    return any(np.count_nonzero(side) < 2 or side.max() == 1 for side in sides)
