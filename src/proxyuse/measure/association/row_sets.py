"""The rows of each value of a computation, as bit sets.

A computation with few values is stored as one set of rows per value except the first, with 64 rows
per word. Joint counts with another computation are then bit counts. A computation with many values
is stored as one code per row.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from proxyuse.lang.evaluate import Array

MAX_SETS = 256  # with more values, one code per row is cheaper


@dataclass(frozen=True, slots=True, eq=False)
class RowSets:
    """The rows of each value of a computation.

    Attributes
    ----------
    size : the number of values; not all of them need to occur.
    words : the rows of each value except the first, as words; None if there are many values.
    codes : the code of each row, if there are many values.

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
        """Build the sets from the code of each row."""
        if size > MAX_SETS:
            return cls(size, None, codes)
        narrow = codes.astype(np.uint8)
        words = np.empty((size - 1, words_for(len(codes))), dtype=np.uint64)
        for value in range(1, size):
            words[value - 1] = packed(narrow == value)[0]
        return cls(size, words)

    def codes_of(self, n_rows: int) -> Array:
        """Return the code of each row."""
        sets = self.codes if self.words is None else self.words
        assert sets is not None
        return row_codes(sets, n_rows)


def row_codes(sets: Array, n_rows: int) -> Array:
    """Return the code of each row from `RowSets.words` or `RowSets.codes`."""
    if sets.ndim == 1:
        return sets
    codes = np.zeros(n_rows, dtype=np.intp)
    for value, rows in enumerate(unpacked(sets, n_rows), 1):
        codes[rows] = value
    return codes


def words_for(n_rows: int) -> int:
    """Return the number of words of a set of rows."""
    return (n_rows + 63) // 64


def packed(rows: Array) -> Array:
    """Pack sets of rows from booleans to words, 64 rows per word."""
    sets = np.atleast_2d(rows)
    words = np.zeros((len(sets), words_for(sets.shape[1])), dtype=np.uint64)
    bits = np.packbits(sets, axis=1, bitorder="little")
    words.view(np.uint8)[:, : bits.shape[1]] = bits
    return words


def unpacked(words: Array, n_rows: int) -> Array:
    """Unpack words to booleans."""
    flat = np.ascontiguousarray(words).view(np.uint8)
    bits = np.unpackbits(flat, axis=1, count=n_rows, bitorder="little")
    return bits.view(np.bool_)
