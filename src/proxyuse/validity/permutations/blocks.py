"""Computations in blocks, so that memory is bounded whatever their number.

In a block, the rows of each value but the first are a set. A computation of many values, or one
whose values matter, stands by itself, with a code for each row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from proxyuse.lang.evaluate import Array
from proxyuse.measure.association.row_sets import RowSets, row_codes, words_for

BLOCK_BYTES = 1 << 24
BLOCK_SETS = 1 << 11
MOST_SETS = 256
"""Sets of rows to compare for one table up to which that is faster than a look at each code."""


@dataclass(frozen=True, slots=True, eq=False)
class Coded:
    """A computation of which each row's value is kept; `values` are there if they matter."""

    place: int
    codes: Array
    size: int
    values: Array | None = None

    @property
    def places(self) -> Array:
        """Its number, as a block has them."""
        return np.array([self.place])

    @property
    def nbytes(self) -> int:
        """How much memory it takes."""
        return int(self.codes.nbytes)

    def coded(self, n_rows: int) -> Iterator[Coded]:
        """Itself, as a block has several."""
        yield self


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

    @classmethod
    def of(cls, places: list[int], words: list[Array]) -> Block:
        """From the sets of each computation."""
        lengths = np.array([len(part) for part in words])
        starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
        return cls(np.array(places), np.concatenate(words), starts, lengths + 1)

    @property
    def nbytes(self) -> int:
        """How much memory it takes."""
        return int(self.words.nbytes)

    def coded(self, n_rows: int) -> Iterator[Coded]:
        """The computations one by one, with a code for each row."""
        for place, start, size in zip(self.places, self.starts, self.sizes, strict=True):
            codes = row_codes(self.words[start : start + size - 1], n_rows)
            yield Coded(int(place), codes, int(size))


Blocks = Callable[[], Iterable[Block | Coded]]
"""Makes all computations, block by block, each time it is called."""


def blocks_of(
    row_sets: Iterable[tuple[int, RowSets]], n_rows: int, most_values: int = MOST_SETS
) -> Iterator[Block | Coded]:
    """Computations in blocks, as they come; without those that are constant.

    One of more than `most_values` stands by itself: sets of rows cost as much as there are values,
    codes do not.
    """
    most = max(1, min(BLOCK_SETS, BLOCK_BYTES // (8 * words_for(n_rows))))
    places: list[int] = []
    words: list[Array] = []
    held = 0
    for place, sets in row_sets:
        if sets.size < 2:
            continue
        if sets.words is None or sets.size > most_values:
            yield Coded(place, sets.codes_of(n_rows), sets.size)
            continue
        if words and held + len(sets.words) > most:
            yield Block.of(places, words)
            places, words, held = [], [], 0
        places.append(place)
        words.append(sets.words)
        held += len(sets.words)
    if places:
        yield Block.of(places, words)


def kept(blocks: Blocks, most: int) -> Blocks:
    """The same, kept in memory if they take no more than so many bytes."""
    found: list[Block | Coded] = []
    held = 0
    for block in blocks():
        held += block.nbytes
        if held > most:
            return blocks
        found.append(block)
    return lambda: found
