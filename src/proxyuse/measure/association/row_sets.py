"""Which rows have which value of a computation, as bits.

A computation of a few values is a set of rows for each value but the first, 64 rows a word; how
often it goes together with another one is then a number of bits. One of many values keeps a
number for each row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from proxyuse.lang.evaluate import Array
from proxyuse.measure.cells import Cells

MOST_SETS = 256  # values from which on a number for each row is cheaper than a set for each value
BLOCK = 1 << 13


@dataclass(frozen=True, slots=True, eq=False)
class RowSets:
    """The rows of each value of a computation.

    Attributes
    ----------
    size : how many values there are; not all of them need to occur.
    words : for each value but the first its rows, as words; None if there are many.
    codes : then, each row's value as a number from 0 on.

    Examples
    --------
    >>> sets = RowSets.of(np.array([0, 2, 1, 2]), 3)
    >>> sets.words.tolist(), sets.codes_of(4).tolist()
    ([[4], [10]], [0, 2, 1, 2])
    """

    size: int
    words: Array | None
    codes: Array | None = None

    @classmethod
    def of(cls, codes: Array, size: int) -> RowSets:
        """From a number for each row."""
        if size > MOST_SETS:
            return cls(size, None, codes)
        narrow = codes.astype(np.uint8)
        words = np.empty((size - 1, words_for(len(codes))), dtype=np.uint64)
        for value in range(1, size):
            words[value - 1] = packed(narrow == value)[0]
        return cls(size, words)

    def codes_of(self, n_rows: int) -> Array:
        """Each row's value as a number from 0 on."""
        kept = self.codes if self.words is None else self.words
        assert kept is not None
        return row_codes(kept, n_rows)


def row_codes(sets: Array, n_rows: int) -> Array:
    """Each row's value as a number from 0 on: as it is, or from the rows of each but the first."""
    if sets.ndim == 1:
        return sets
    found = np.zeros(n_rows, dtype=np.intp)
    for value, rows in enumerate(unpacked(sets, n_rows), 1):
        found[rows] = value
    return found


def words_for(n_rows: int) -> int:
    """How many words a set of rows takes."""
    return (n_rows + 63) // 64


def packed(rows: Array) -> Array:
    """Sets of rows, a boolean for each, as words; the last axis becomes 64 times shorter."""
    sets = np.atleast_2d(rows)
    words = np.zeros((len(sets), words_for(sets.shape[1])), dtype=np.uint64)
    bits = np.packbits(sets, axis=1, bitorder="little")
    words.view(np.uint8)[:, : bits.shape[1]] = bits
    return words


def unpacked(words: Array, n_rows: int) -> Array:
    """The booleans again."""
    flat = np.ascontiguousarray(words).view(np.uint8)
    bits = np.unpackbits(flat, axis=1, count=n_rows, bitorder="little")
    return bits.view(np.bool_)


def packed_tests(cells: Sequence[Cells], variable_of: Array, n_rows: int) -> Array:
    """For each test the rows for which it holds, as words, a block of rows at a time."""
    found = np.zeros((len(variable_of), words_for(n_rows)), dtype=np.uint64)
    for variable, column in enumerate(cells):
        own = np.flatnonzero(variable_of == variable)
        for start in range(0, n_rows, BLOCK):
            rows = np.take(column.truth, column.codes[start : start + BLOCK], axis=1)
            words = packed(rows)
            found[own, start // 64 : start // 64 + words.shape[1]] = words
    return found
