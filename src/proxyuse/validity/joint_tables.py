"""Many computations and many permutations: what is compared for each pair of them.

Computations come in blocks, so that memory is bounded whatever their number. In a block, the rows
of each value but the first are a set. Where every row counts the same, a set and the rows of a
protected value have some number of bits in common; the rest of each table follows from the
margins, and mutual information from the counts. With weights the masses are products of matrices.
A computation of many values, or one whose values matter, is counted by itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from proxyuse.lang.evaluate import Array
from proxyuse.measure.association import Association, association_of_values, associations_of
from proxyuse.measure.bit_counts import Count
from proxyuse.measure.row_sets import RowSets, words_for
from proxyuse.measure.support import Support
from proxyuse.validity.information import Products, compared, rises_with_information
from proxyuse.validity.shuffles import codes_of

BLOCK_BYTES = 1 << 24
BLOCK_SETS = 1 << 11
DENSE_BYTES = 1 << 25  # of sets as numbers, for products of matrices


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Some computations of few values.

    Attributes
    ----------
    places : their numbers.
    words : the rows of each value but the first, computation after computation.
    starts : where each computation's sets begin.
    sizes : how many values each has.
    """

    places: Array
    words: Array
    starts: Array
    sizes: Array


@dataclass(frozen=True, slots=True, eq=False)
class Long:
    """A computation of which each row's value is kept; `values` are there if they matter."""

    place: int
    codes: Array
    size: int
    values: Array | None = None


def blocks_of(row_sets: Iterable[tuple[int, RowSets]], n_rows: int) -> Iterator[Block | Long]:
    """Computations in blocks, as they come; without those that are constant."""
    most = max(1, min(BLOCK_SETS, BLOCK_BYTES // (8 * words_for(n_rows))))
    places: list[int] = []
    words: list[Array] = []
    held = 0
    for place, sets in row_sets:
        if sets.size < 2:
            continue
        if sets.words is None:
            yield Long(place, sets.codes_of(n_rows), sets.size)
            continue
        if words and held + len(sets.words) > most:
            yield _block(places, words)
            places, words, held = [], [], 0
        places.append(place)
        words.append(sets.words)
        held += len(sets.words)
    if places:
        yield _block(places, words)


def _block(places: list[int], words: list[Array]) -> Block:
    lengths = np.array([len(part) for part in words])
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    return Block(np.array(places), np.concatenate(words), starts, lengths + 1)


class Comparison:
    """What is compared of computations and permuted protected attributes.

    Parameters
    ----------
    measure : of association.
    attributes : the protected attributes, with a code for each row.
    weights : of the rows, which keep them; None where all are equal.
    count : counts common bits.
    """

    def __init__(
        self,
        measure: Association,
        attributes: Sequence[Support],
        weights: Array | None,
        count: Count,
    ) -> None:
        self.measure = measure
        self.attributes = attributes
        self.weights = weights
        self.n_rows = len(attributes[0].codes)
        self._count = count
        self._products = Products(self.n_rows)
        self._columns = [np.bincount(z.codes, minlength=len(z)) for z in attributes]

    def values(self, block: Block | Long, attribute: int, permuted: Array) -> Array:
        """What is compared, by computation and permutation of one attribute."""
        if isinstance(block, Long):
            return self._by_codes(block, attribute, permuted)[None]
        if permuted.ndim == 2:  # the attribute has many values
            return np.stack(
                [self._by_codes(one, attribute, permuted) for one in self._alone(block)]
            )
        if self.weights is not None:
            return self._weighed(block, attribute, permuted)
        permutations, sets, _ = permuted.shape
        counts = self._count(block.words, permuted.reshape(permutations * sets, -1))
        counts = counts.reshape(-1, permutations, sets)
        if rises_with_information(self.measure):
            return self._information(block, counts, self._columns[attribute])
        return self._associations(block, counts, self._columns[attribute])

    def _information(self, block: Block, counts: Array, columns: Array) -> Array:
        """Mutual information from the counts of all values but the first, of both sides."""
        of = self._products.of
        rows = np.bitwise_count(block.words).sum(axis=1, dtype=np.int64)
        total = self.n_rows
        in_first_row = columns[1:] - _summed(counts, block.starts)
        in_first_column = rows[:, None] - counts.sum(axis=2)
        first_row = total - _summed(rows, block.starts)
        cells = _summed(of(counts).sum(axis=2) + of(in_first_column), block.starts)
        cells += of(in_first_row).sum(axis=2)
        cells += of(first_row[:, None] - in_first_row.sum(axis=2))
        margins = _summed(of(rows), block.starts) + of(first_row) + of(columns).sum()
        return self._products.scaled(cells, margins[:, None])

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
            found[own] = compared(self.measure, tables, self._products)
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
            each = [np.eye(size)[codes_of(one, self.n_rows)] for one in part]
            others = np.concatenate(each, axis=1)  # rows x permutations and protected values
            at = 0
            for group in _grouped(self._alone(block), most):
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

    def _alone(self, block: Block) -> Iterator[Long]:
        """The computations of a block by themselves."""
        for place, start, size in zip(block.places, block.starts, block.sizes, strict=True):
            codes = codes_of(block.words[start : start + size - 1], self.n_rows)
            yield Long(int(place), codes, int(size))

    def _by_codes(self, one: Long, attribute: int, permuted: Array) -> Array:
        """Of one computation, permutation by permutation."""
        z = self.attributes[attribute]
        cells = one.codes * len(z)
        found = np.empty(len(permuted))
        for number, permutation in enumerate(permuted):
            flat = cells + codes_of(permutation, self.n_rows)
            masses = np.bincount(flat, self.weights, minlength=one.size * len(z))
            table = masses.reshape(one.size, len(z))
            if one.values is not None:
                table = table.astype(np.float64)
                found[number] = association_of_values(self.measure, table, one.values, z.middles)
            elif self.weights is None:
                found[number] = compared(self.measure, table[None], self._products)[0]
            else:
                found[number] = associations_of(self.measure, table[None])[0]
        return found


def _grouped(computations: Iterable[Long], most: int) -> Iterator[list[Long]]:
    """Computations that have at most so many values together, or one by itself."""
    group: list[Long] = []
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
