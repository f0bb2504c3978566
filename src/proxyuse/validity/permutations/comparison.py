"""The statistics that compare a sample with its permutations.

With equal weights, permuting does not change the margins of a table. Normalized and adjusted mutual
information are then increasing functions of mutual information, so ``sum of m log m`` over the
cells is enough: the cells are integers, and their logarithms come from a lookup table. Other
measures are evaluated table by table.

The sample and its permutations go through the same operations. A tolerance covers the remaining
rounding: a permutation reaches the sample if it does so within `TIES`.

Many computations and permutations are compared at once: the number of common bits of a
computation's set of rows and a protected value's set of rows is a cell of a table, and the other
cells follow from the margins. With weights, the masses are matrix products. A computation with many
values, or one whose measure uses the values, is counted separately.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from proxyuse.lang.evaluate import Array
from proxyuse.measure.association.best_cut import best_measure
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
from proxyuse.validity.permutations.blocks import AnyBlock, Block, Coded, CutCoded

TIES = 1e-12, 1e-13
"""Relative and absolute tolerance, the latter in nats or units of association."""
MOST_LOOKED_UP = 1 << 22
FEW_CELLS = 64
DENSE_BYTES = 1 << 25  # for sets as dense matrices


def rises_with_information(measure: Association) -> bool:
    """Whether a measure is an increasing function of mutual information at fixed margins."""
    return isinstance(measure, NormalizedMutualInformation | AdjustedMutualInformation)


def threshold(observed: Array) -> Array:
    """The smallest value at which a permutation reaches the observed value."""
    return np.asarray(observed - (TIES[0] * np.abs(observed) + TIES[1]))


def never_varies(rows: Sequence[float] | Array, columns: Sequence[float] | Array) -> bool:
    """Whether all tables of counts with these margins have the same association.

    True if one side is constant, or if every value of one side occurs once.
    """
    sides = [np.asarray(side) for side in (rows, columns)]
    return is_constant(rows, columns) or any(side.max() == 1 for side in sides)


def is_constant(rows: Sequence[float] | Array, columns: Sequence[float] | Array) -> bool:
    """Whether one side of a table with these margins has a single value."""
    return any(np.count_nonzero(np.asarray(side)) < 2 for side in (rows, columns))


class Statistic:
    """The statistic of tables of counts: mutual information if that is enough, else association.

    Parameters
    ----------
    measure : the association measure.
    total : the sum of the counts of each table.

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
        """The statistic of each table. The last two axes are the rows and the columns."""
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
        """Mutual information in nats, from the sums of products of the cells and of the margins."""
        whole = _products(np.array(self.total))
        return np.maximum(0.0, (cells - margins + whole) / self.total)

    def _over_cells(self, tables: Array) -> Array:
        """The sum of products over the cells of each table."""
        *shape, rows, columns = tables.shape
        if rows * columns > FEW_CELLS:
            return np.asarray(self.products(tables).sum(axis=(-1, -2)))
        sums = np.zeros(shape)
        for row in range(rows):  # faster for small tables
            for column in range(columns):
                sums += self.products(tables[..., row, column])
        return sums


def _products(counts: Array) -> Array:
    numbers = counts.astype(np.float64)
    return np.asarray(numbers * np.log(np.maximum(numbers, 1.0)))


class Comparison:
    """The statistics of computations and permuted protected attributes.

    Parameters
    ----------
    measure : the association measure.
    attributes : the protected attributes, with one code per row.
    weights : the weights of the rows, which are not permuted; None if they are equal.
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

    def values(self, block: AnyBlock, attribute: int, permuted: Array) -> Array:
        """The statistic by computation and by permutation of one attribute."""
        if isinstance(block, CutCoded):
            return self._by_cuts(block, attribute, permuted)[None]
        if isinstance(block, Coded) or permuted.ndim == 2:  # either side has many values
            coded = block.coded(self.n_rows)
            return np.stack([self._by_codes(one, attribute, permuted) for one in coded])
        if self.weights is not None:
            return self._weighted(block, attribute, permuted)
        permutations, sets, _ = permuted.shape
        counts = common(block.words, permuted.reshape(permutations * sets, -1))
        counts = counts.reshape(-1, permutations, sets)
        if self._statistic.is_information:
            return self._information(block, counts, self._columns[attribute])
        return self._associations(block, counts, self._columns[attribute])

    def _information(self, block: Block, counts: Array, columns: Array) -> Array:
        """Mutual information from the counts of all values except the first, on both sides."""
        products = self._statistic.products
        rows = np.bitwise_count(block.words).sum(axis=1, dtype=np.int64)
        total = self.n_rows
        in_first_row = columns[1:] - _summed(counts, block.starts)
        in_first_column = rows[:, None] - counts.sum(axis=2)
        first_row = total - _summed(rows, block.starts)
        cells = _summed(products(counts).sum(axis=2) + products(in_first_column), block.starts)
        cells += products(in_first_row).sum(axis=2)
        cells += products(first_row[:, None] - in_first_row.sum(axis=2))
        margins = _summed(products(rows), block.starts) + products(first_row)
        margins += products(columns).sum()
        return self._statistic.information(cells, margins[:, None])

    def _associations(self, block: Block, counts: Array, columns: Array) -> Array:
        """Any measure, on whole tables."""
        rows = np.bitwise_count(block.words).sum(axis=1, dtype=np.int64)
        associations = np.empty((len(block.indices), counts.shape[1]))
        for size in np.unique(block.sizes).tolist():
            own = np.flatnonzero(block.sizes == size)
            sets = block.starts[own, None] + np.arange(size - 1)
            tables = np.empty((len(own), counts.shape[1], size, len(columns)), dtype=np.int64)
            tables[:, :, 1:, 1:] = counts[sets].transpose(0, 2, 1, 3)
            tables[:, :, 1:, 0] = rows[sets][:, None] - tables[:, :, 1:, 1:].sum(axis=3)
            tables[:, :, 0] = columns - tables[:, :, 1:].sum(axis=2)
            associations[own] = self._statistic.of(tables)
        return associations

    def _weighted(self, block: Block, attribute: int, permuted: Array) -> Array:
        """With weights, which stay with the rows while the attribute is permuted."""
        assert self.weights is not None
        size = len(self.attributes[attribute])
        most_rows = max(1, DENSE_BYTES // (8 * self.n_rows))  # of a dense matrix
        step = max(1, most_rows // size)
        associations = np.empty((len(block.indices), len(permuted)))
        for start in range(0, len(permuted), step):
            part = permuted[start : start + step]
            each = [np.eye(size)[row_codes(one, self.n_rows)] for one in part]
            others = np.concatenate(each, axis=1)  # rows x permutations and protected values
            index = 0
            for group in _grouped(block.coded(self.n_rows), most_rows):
                own = np.zeros((sum(one.size for one in group), self.n_rows))
                first = 0
                for one in group:
                    own[first + one.codes, np.arange(self.n_rows)] = self.weights
                    first += one.size
                masses = (own @ others).reshape(-1, len(part), size)
                first = 0
                for one in group:
                    tables = masses[first : first + one.size].transpose(1, 0, 2)
                    associations[index, start : start + step] = associations_of(
                        self.measure, tables
                    )
                    first, index = first + one.size, index + 1
        return associations

    def _by_cuts(self, one: CutCoded, attribute: int, permuted: Array) -> Array:
        """The association at the best cut of each permutation, which chooses its own cut."""
        size = len(self.attributes[attribute])
        codes = [row_codes(permutation, self.n_rows) for permutation in permuted]
        statistics = np.zeros(len(permuted))
        for part in one.parts:
            cells, count = part.codes * size, len(part) * size
            masses = [np.bincount(cells + z, self.weights, minlength=count) for z in codes]
            tables = np.stack(masses).reshape(len(permuted), len(part), size)
            rule = best_measure(self.measure, part)
            statistics = np.maximum(statistics, rule.many(tables.astype(np.float64, copy=False)))
        return statistics

    def _by_codes(self, one: Coded, attribute: int, permuted: Array) -> Array:
        """The statistic of one computation, permutation by permutation."""
        z = self.attributes[attribute]
        cells = one.codes * len(z)
        statistics = np.empty(len(permuted))
        for number, permutation in enumerate(permuted):
            flat = cells + row_codes(permutation, self.n_rows)
            masses = np.bincount(flat, self.weights, minlength=one.size * len(z))
            table = masses.reshape(one.size, len(z))
            if one.values is not None:
                table = table.astype(np.float64)
                values = association_of_values(self.measure, table, one.values, z.middles)
                statistics[number] = values
            elif self.weights is None:
                statistics[number] = self._statistic.of(table[None])[0]
            else:
                statistics[number] = associations_of(self.measure, table[None])[0]
        return statistics


def _grouped(computations: Iterable[Coded], most_values: int) -> Iterator[list[Coded]]:
    """Groups of computations with at most `most_values` together, or one computation."""
    group: list[Coded] = []
    values = 0
    for one in computations:
        if group and values + one.size > most_values:
            yield group
            group, values = [], 0
        group.append(one)
        values += one.size
    if group:
        yield group


def _summed(rows: Array, starts: Array) -> Array:
    """The sums of the rows of each computation."""
    return rows if len(starts) == len(rows) else np.add.reduceat(rows, starts)
