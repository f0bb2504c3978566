"""What is compared between the sample and its permutations.

Where every row counts the same, permuting leaves the margins of a table as they are. Normalized
and adjusted mutual information then rise with the mutual information and with nothing else, so it
is enough to know ``sum of m log m`` over the cells: whole numbers of which the logarithms are
looked up. Other measures are asked table by table.

The same operations are done for the sample and for its permutations. What is left of rounding
is bridged: a permutation counts as reaching the sample if it does within `TIES`.

Many computations and many permutations are compared at once: a computation's set of rows and the
rows of a protected value have some number of bits in common; the rest of each table follows from
the margins. With weights the masses are products of matrices. A computation of many values, or one
whose values matter, is counted by itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from proxyuse.lang.evaluate import Array
from proxyuse.measure.association.bit_counts import common
from proxyuse.measure.association.measures.adjusted_mutual_information import (
    AdjustedMutualInformation,
)
from proxyuse.measure.association.measures.normalized_mutual_information import (
    NormalizedMutualInformation,
)
from proxyuse.measure.association.protocol import (
    Association,
    association_of_values,
    associations_of,
)
from proxyuse.measure.association.row_sets import row_codes
from proxyuse.measure.association.support import Support
from proxyuse.validity.permutations.blocks import Block, Coded

TIES = 1e-12, 1e-13
"""Relatively, and absolutely in nats or units of association: far more than rounding makes."""
MOST_LOOKED_UP = 1 << 22
FEW_CELLS = 64
DENSE_BYTES = 1 << 25  # of sets as numbers, for products of matrices


def rises_with_information(measure: Association) -> bool:
    """Whether a measure is a rising function of mutual information while margins stay."""
    return isinstance(measure, NormalizedMutualInformation | AdjustedMutualInformation)


def threshold(observed: Array) -> Array:
    """From which value on a permutation counts as reaching what was observed."""
    return np.asarray(observed - (TIES[0] * np.abs(observed) + TIES[1]))


def never_varies(rows: Sequence[float] | Array, columns: Sequence[float] | Array) -> bool:
    """Whether all tables of counts with these margins have the same association.

    So they have if one side is constant, or if all values of one side occur once.
    """
    sides = [np.asarray(side) for side in (rows, columns)]
    return any(np.count_nonzero(side) < 2 or side.max() == 1 for side in sides)


class Statistic:
    """What is compared of tables of counts: information where that is enough, else association.

    Parameters
    ----------
    measure : of association.
    total : of the counts of each table.

    Examples
    --------
    >>> table = np.array([[2, 0], [0, 2]])
    >>> Statistic(NormalizedMutualInformation(), 4).of(table[None]).round(4).tolist()
    [0.6931]
    """

    def __init__(self, measure: Association, total: int) -> None:
        self.measure = measure
        self.total = total
        self.is_information = rises_with_information(measure)
        few = self.is_information and total <= MOST_LOOKED_UP
        self._known = _products(np.arange(total + 1)) if few else None

    def of(self, tables: Array) -> Array:
        """For each table; the last two axes are the rows and the columns."""
        if self.is_information:
            margins = self.products(tables.sum(axis=-1)).sum(axis=-1)
            margins += self.products(tables.sum(axis=-2)).sum(axis=-1)
            return self.information(self._over_cells(tables), margins)
        stacked = tables.reshape(-1, *tables.shape[-2:]).astype(np.float64, copy=False)
        return associations_of(self.measure, stacked).reshape(tables.shape[:-2])

    def products(self, counts: Array) -> Array:
        """``m log m`` for each count."""
        if self._known is None:
            return _products(counts)
        return np.asarray(self._known[counts.astype(np.intp, copy=False)])

    def information(self, cells: Array, margins: Array) -> Array:
        """The mutual information, in nats, from sums of products: of cells and of both margins."""
        whole = _products(np.array(self.total))
        return np.maximum(0.0, (cells - margins + whole) / self.total)

    def _over_cells(self, tables: Array) -> Array:
        """The sum over the cells of each table; of small tables cell by cell, which is faster."""
        *many, rows, columns = tables.shape
        if rows * columns > FEW_CELLS:
            return np.asarray(self.products(tables).sum(axis=(-1, -2)))
        found = np.zeros(many)
        for row in range(rows):
            for column in range(columns):
                found += self.products(tables[..., row, column])
        return found


def _products(counts: Array) -> Array:
    numbers = counts.astype(np.float64)
    return np.asarray(numbers * np.log(np.maximum(numbers, 1.0)))


class Comparison:
    """What is compared of computations and permuted protected attributes.

    Parameters
    ----------
    measure : of association.
    attributes : the protected attributes, with a code for each row.
    weights : of the rows, which keep them; None where all are equal.
    """

    def __init__(
        self,
        measure: Association,
        attributes: Sequence[Support],
        weights: Array | None,
    ) -> None:
        self.measure = measure
        self.attributes = attributes
        self.weights = weights
        self.n_rows = len(attributes[0].codes)
        self._statistic = Statistic(measure, self.n_rows)
        self._columns = [np.bincount(z.codes, minlength=len(z)) for z in attributes]

    def values(self, block: Block | Coded, attribute: int, permuted: Array) -> Array:
        """What is compared, by computation and permutation of one attribute."""
        if isinstance(block, Coded) or permuted.ndim == 2:  # either side has many values
            alone = block.coded(self.n_rows)
            return np.stack([self._by_codes(one, attribute, permuted) for one in alone])
        if self.weights is not None:
            return self._weighed(block, attribute, permuted)
        permutations, sets, _ = permuted.shape
        counts = common(block.words, permuted.reshape(permutations * sets, -1))
        counts = counts.reshape(-1, permutations, sets)
        if self._statistic.is_information:
            return self._information(block, counts, self._columns[attribute])
        return self._associations(block, counts, self._columns[attribute])

    def _information(self, block: Block, counts: Array, columns: Array) -> Array:
        """Mutual information from the counts of all values but the first, of both sides."""
        of = self._statistic.products
        rows = np.bitwise_count(block.words).sum(axis=1, dtype=np.int64)
        total = self.n_rows
        in_first_row = columns[1:] - _summed(counts, block.starts)
        in_first_column = rows[:, None] - counts.sum(axis=2)
        first_row = total - _summed(rows, block.starts)
        cells = _summed(of(counts).sum(axis=2) + of(in_first_column), block.starts)
        cells += of(in_first_row).sum(axis=2)
        cells += of(first_row[:, None] - in_first_row.sum(axis=2))
        margins = _summed(of(rows), block.starts) + of(first_row) + of(columns).sum()
        return self._statistic.information(cells, margins[:, None])

    def _associations(self, block: Block, counts: Array, columns: Array) -> Array:
        """Any measure of whole tables."""
        rows = np.bitwise_count(block.words).sum(axis=1, dtype=np.int64)
        found = np.empty((len(block.places), counts.shape[1]))
        for size in np.unique(block.sizes).tolist():
            own = np.flatnonzero(block.sizes == size)
            sets = block.starts[own, None] + np.arange(size - 1)
            tables = np.empty((len(own), counts.shape[1], size, len(columns)), dtype=np.int64)
            tables[:, :, 1:, 1:] = counts[sets].transpose(0, 2, 1, 3)
            tables[:, :, 1:, 0] = rows[sets][:, None] - tables[:, :, 1:, 1:].sum(axis=3)
            tables[:, :, 0] = columns - tables[:, :, 1:].sum(axis=2)
            found[own] = self._statistic.of(tables)
        return found

    def _weighed(self, block: Block, attribute: int, permuted: Array) -> Array:
        """With weights, which stay with the rows while the attribute is permuted."""
        assert self.weights is not None
        size = len(self.attributes[attribute])
        most = max(1, DENSE_BYTES // (8 * self.n_rows))  # rows of numbers at a time
        some = max(1, most // size)
        found = np.empty((len(block.places), len(permuted)))
        for start in range(0, len(permuted), some):
            part = permuted[start : start + some]
            each = [np.eye(size)[row_codes(one, self.n_rows)] for one in part]
            others = np.concatenate(each, axis=1)  # rows x permutations and protected values
            at = 0
            for group in _grouped(block.coded(self.n_rows), most):
                own = np.zeros((sum(one.size for one in group), self.n_rows))
                first = 0
                for one in group:
                    own[first + one.codes, np.arange(self.n_rows)] = self.weights
                    first += one.size
                masses = (own @ others).reshape(-1, len(part), size)
                first = 0
                for one in group:
                    tables = masses[first : first + one.size].transpose(1, 0, 2)
                    found[at, start : start + some] = associations_of(self.measure, tables)
                    first, at = first + one.size, at + 1
        return found

    def _by_codes(self, one: Coded, attribute: int, permuted: Array) -> Array:
        """Of one computation, permutation by permutation."""
        z = self.attributes[attribute]
        cells = one.codes * len(z)
        found = np.empty(len(permuted))
        for number, permutation in enumerate(permuted):
            flat = cells + row_codes(permutation, self.n_rows)
            masses = np.bincount(flat, self.weights, minlength=one.size * len(z))
            table = masses.reshape(one.size, len(z))
            if one.values is not None:
                table = table.astype(np.float64)
                found[number] = association_of_values(self.measure, table, one.values, z.middles)
            elif self.weights is None:
                found[number] = self._statistic.of(table[None])[0]
            else:
                found[number] = associations_of(self.measure, table[None])[0]
        return found


def _grouped(computations: Iterable[Coded], most: int) -> Iterator[list[Coded]]:
    """Computations that have at most so many values together, or one by itself."""
    group: list[Coded] = []
    held = 0
    for one in computations:
        if group and held + one.size > most:
            yield group
            group, held = [], 0
        group.append(one)
        held += one.size
    if group:
        yield group


def _summed(rows: Array, starts: Array) -> Array:
    """The sums of the rows of each computation."""
    return rows if len(starts) == len(rows) else np.add.reduceat(rows, starts)
