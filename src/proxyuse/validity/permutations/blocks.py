"""Computations in blocks, so that memory is bounded for any number of computations.

A block stores each value except the first as a set of rows. A computation with many values, or one
whose measure uses the values, is stored separately, with one code per row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from proxyuse.lang.evaluate import Array
from proxyuse.measure.association.row_sets import RowSets, row_codes, words_for
from proxyuse.measure.association.support import Support

BLOCK_BYTES = 1 << 24
BLOCK_SETS = 1 << 11
MOST_SETS = 256
"""Up to this many set comparisons per table, sets of rows are faster than codes."""


@dataclass(frozen=True, slots=True, eq=False)
class Coded:
    """A computation with one code per row.

    Attributes
    ----------
    index : the index of the computation.
    codes : the code of the value of each row.
    size : the number of values.
    values : the values, if the measure uses them.
    """

    index: int
    codes: Array
    size: int
    values: Array | None = None

    @property
    def indices(self) -> Array:
        """The index of the computation, in the form that a block has."""
        return np.array([self.index])

    @property
    def nbytes(self) -> int:
        """The memory it takes."""
        return int(self.codes.nbytes)

    def coded(self, n_rows: int) -> Iterator[Coded]:
        """The computation itself, so that it can be used like a block."""
        yield self


@dataclass(frozen=True, slots=True, eq=False)
class CutCoded:
    """A computation that is measured by its best cut, with one code per row and part.

    Attributes
    ----------
    index : the index of the computation.
    parts : the groups of values; for a vector, those of each coordinate.
    """

    index: int
    parts: tuple[Support, ...]

    @property
    def indices(self) -> Array:
        """The index of the computation, in the form that a block has."""
        return np.array([self.index])

    @property
    def nbytes(self) -> int:
        """The memory it takes."""
        return sum(part.codes.nbytes for part in self.parts)

    def repeated(self, copies: Array) -> CutCoded:
        """The same computation with each row repeated."""
        parts = (replace(part, codes=np.repeat(part.codes, copies)) for part in self.parts)
        return CutCoded(self.index, tuple(parts))


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Some computations with few values.

    Attributes
    ----------
    indices : the indices of the computations.
    words : the sets of rows of each value except the first, computation by computation.
    starts : the index of the first set of each computation.
    sizes : the number of values of each computation.
    """

    indices: Array
    words: Array
    starts: Array
    sizes: Array

    @classmethod
    def of(cls, indices: list[int], words: list[Array]) -> Block:
        """A block from the sets of each computation."""
        lengths = np.array([len(part) for part in words])
        starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
        return cls(np.array(indices), np.concatenate(words), starts, lengths + 1)

    @property
    def nbytes(self) -> int:
        """The memory it takes."""
        return int(self.words.nbytes)

    def coded(self, n_rows: int) -> Iterator[Coded]:
        """The computations one by one, with one code per row."""
        for index, start, size in zip(self.indices, self.starts, self.sizes, strict=True):
            codes = row_codes(self.words[start : start + size - 1], n_rows)
            yield Coded(int(index), codes, int(size))


AnyBlock = Block | Coded | CutCoded
Blocks = Callable[[], Iterable[AnyBlock]]
"""Returns all computations, block by block. Can be called repeatedly."""


def blocks_of(
    row_sets: Iterable[tuple[int, RowSets | CutCoded]], n_rows: int, most_values: int = MOST_SETS
) -> Iterator[AnyBlock]:
    """Group computations into blocks, in order, without constant ones.

    A computation with more than `most_values` is coded: the cost of sets of rows grows with the
    number of values, the cost of codes does not.
    """
    most_sets = max(1, min(BLOCK_SETS, BLOCK_BYTES // (8 * words_for(n_rows))))
    indices: list[int] = []
    words: list[Array] = []
    n_sets = 0
    for index, sets in row_sets:
        if isinstance(sets, CutCoded):
            yield sets
            continue
        if sets.size < 2:
            continue
        if sets.words is None or sets.size > most_values:
            yield Coded(index, sets.codes_of(n_rows), sets.size)
            continue
        if words and n_sets + len(sets.words) > most_sets:
            yield Block.of(indices, words)
            indices, words, n_sets = [], [], 0
        indices.append(index)
        words.append(sets.words)
        n_sets += len(sets.words)
    if indices:
        yield Block.of(indices, words)


def cached(blocks: Blocks, most_bytes: int) -> Blocks:
    """The same blocks, kept in memory if they fit into `most_bytes`."""
    cache: list[AnyBlock] = []
    size = 0
    for block in blocks():
        size += block.nbytes
        if size > most_bytes:
            return blocks
        cache.append(block)
    return lambda: cache
