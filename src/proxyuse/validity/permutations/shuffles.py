"""Random permutations of the protected attributes over the rows, as sets of rows.

All attributes are permuted together, so their dependence on each other is kept. Each permutation
has its own stream of random numbers, identified by the seed and its number, so it does not depend
on threads or order.

A permutation only has to assign rows to combinations of protected values, so it is a random set of
rows per combination. Each row is chosen by a coin with about the right probability, which takes a
few random words per 64 rows. Then about sqrt(n) rows are added or removed at random to reach the
exact size. All sets of this size are equally likely: they are given the number of rows that the
coins chose, and the correction keeps it so. This takes n/64 steps, where shuffling takes n random
memory accesses. With few rows or many combinations, rows are shuffled.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice

import numpy as np

from proxyuse.lang.evaluate import Array
from proxyuse.measure.association.row_sets import packed, unpacked, words_for
from proxyuse.measure.association.support import Support, support_of

MOST_SETS = 64  # attributes with more values are kept as one code per row
MOST_COMBINATIONS = 8  # with more combinations, shuffling rows is faster than drawing sets
FEW_ROWS = 1 << 12  # with fewer rows, shuffling is faster
BATCH = 16  # permutations converted to sets together
DIGITS = 8  # binary digits of a coin's probability
OFTEN = 0.25  # share of rows to try before scanning all of them is cheaper
_COUNTED, _OTHER = 1, 2  # identify streams of random numbers


class Shuffles:
    """Permutations of some protected attributes.

    Parameters
    ----------
    attributes : the protected attributes, with one code per row.
    seed : the same seed gives the same permutations.
    """

    def __init__(self, attributes: Sequence[Support], seed: int) -> None:
        self.seed = seed
        self.sizes = [len(z) for z in attributes]
        self.n_rows = len(attributes[0].codes)
        joint = np.zeros(self.n_rows, dtype=np.intp)
        for z in attributes:
            joint = support_of(joint * len(z) + z.codes, self.n_rows).codes
        self._joint = joint.astype(self._type(int(joint.max()) + 1))
        first = np.unique(joint, return_index=True)[1]
        self._values = [z.codes[first].astype(self._type(len(z))) for z in attributes]
        self._counts = np.bincount(joint)
        self._everything = packed(np.ones(self.n_rows, dtype=np.bool_))[0]

    @staticmethod
    def _type(size: int) -> type[np.uint8] | type[np.int32]:
        return np.uint8 if size <= 256 else np.int32

    @property
    def bytes_each(self) -> int:
        """The memory that one permutation takes."""
        sets = sum(size - 1 for size in self.sizes if size <= MOST_SETS)
        coded = sum(size > MOST_SETS for size in self.sizes)
        return 8 * words_for(self.n_rows) * sets + 4 * self.n_rows * coded

    def unpermuted(self) -> list[Array]:
        """The original attributes, in the form of a single permutation."""
        return self._packed([self._joint])

    def drawn(self, numbers: Iterable[int]) -> list[Array]:
        """Permutations by number.

        For each attribute, the rows of each value except the first, as words, by permutation and
        value. For an attribute with many values, the code of each row, by permutation and row.
        """
        return self._from_streams((self.seed, _COUNTED, number) for number in numbers)

    def others(self, count: int) -> list[Array]:
        """More permutations, from streams that the numbered ones do not use."""
        return self._from_streams((self.seed, _OTHER, number) for number in range(count))

    def _from_streams(self, streams: Iterable[tuple[int, ...]]) -> list[Array]:
        generators = (np.random.Generator(np.random.SFC64(stream)) for stream in streams)
        if len(self._counts) > MOST_COMBINATIONS or self.n_rows < FEW_ROWS:
            return self._packed(rng.permutation(self._joint) for rng in generators)
        permutations = [self._by_attribute(self._subsets(rng)) for rng in generators]
        return [np.stack(each) for each in zip(*permutations, strict=True)]

    def _subsets(self, rng: np.random.Generator) -> Array:
        """The rows of each combination, as words. Draws the most frequent combination first."""
        subsets = np.empty((len(self._counts), words_for(self.n_rows)), dtype=np.uint64)
        remaining, available = self._everything, self.n_rows
        *others, last = np.argsort(-self._counts, kind="stable").tolist()
        for combination in others:
            wanted = int(self._counts[combination])
            chosen = random_subset(remaining, available, wanted, self.n_rows, rng)
            subsets[combination] = chosen
            remaining, available = remaining & ~chosen, available - wanted
        subsets[last] = remaining
        return subsets

    def _by_attribute(self, sets: Array) -> list[Array]:
        """For each attribute, the rows of each value except the first."""
        if len(self.sizes) == 1:
            return [sets[1:]]
        return [
            np.stack([np.bitwise_or.reduce(sets[values == v]) for v in range(1, size)])
            for values, size in zip(self._values, self.sizes, strict=True)
        ]

    def _packed(self, permuted: Iterable[Array]) -> list[Array]:
        """Pack permutations; each one holds the combination of every row."""
        parts: list[list[Array]] = [[] for _ in self.sizes]
        permutations = iter(permuted)
        while batch := list(islice(permutations, BATCH)):
            joint = np.stack(batch)
            for part, size, values in zip(parts, self.sizes, self._values, strict=True):
                codes = joint if len(self.sizes) == 1 else values[joint]
                if size > MOST_SETS:
                    part.append(codes.astype(np.int32))
                else:
                    sets = [packed(codes == value) for value in range(1, size)]
                    part.append(np.stack(sets, axis=1))
        return [np.concatenate(part) for part in parts]


def random_subset(
    rows: Array, available: int, wanted: int, n_rows: int, rng: np.random.Generator
) -> Array:
    """A random subset of a set of rows. All subsets of the size are equally likely.

    Parameters
    ----------
    rows : the set, as words.
    available, wanted : the number of rows in the set and in the subset.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> subset = random_subset(packed(np.arange(200) < 150)[0], 150, 100, 200, rng)
    >>> int(np.bitwise_count(subset).sum()), bool((subset[2] >> np.uint64(22)).any())
    (100, False)
    """
    probability = round(wanted / max(1, available) * 2**DIGITS)
    chosen = rows & _coins(probability, len(rows), rng)
    count = int(np.bitwise_count(chosen).sum(dtype=np.int64))
    if count < wanted:
        chosen |= _picked(rows & ~chosen, available - count, wanted - count, n_rows, rng)
    elif count > wanted:
        chosen &= ~_picked(chosen, count, count - wanted, n_rows, rng)
    return np.asarray(chosen)


def _coins(probability: int, words: int, rng: np.random.Generator) -> Array:
    """Words whose bits are 1 with a probability, given in units of ``2**-DIGITS``."""
    if probability >= 2**DIGITS:
        return np.full(words, ~np.uint64(0))
    bits = np.zeros(words, dtype=np.uint64)
    if probability == 0:
        return bits
    last = (probability & -probability).bit_length() - 1  # lower digits are 0, without effect
    for digit in range(last, DIGITS):
        coin = rng.bit_generator.random_raw(words)
        bits = bits | coin if probability >> digit & 1 else bits & coin
    return bits


def _picked(
    rows: Array, available: int, wanted: int, n_rows: int, rng: np.random.Generator
) -> Array:
    """A small random subset, by rejection sampling."""
    subset = np.zeros_like(rows)
    tries = wanted * (n_rows / available)
    if tries > OFTEN * n_rows:
        numbers = np.flatnonzero(unpacked(rows[None], n_rows)[0])
        picked = rng.choice(numbers, wanted, replace=False)
        mask = np.zeros(n_rows, dtype=np.bool_)
        mask[picked] = True
        return np.asarray(packed(mask)[0])
    picked = np.empty(0, dtype=np.int64)
    while len(picked) < wanted:
        tried = rng.integers(n_rows, size=int(1.2 * tries) + 16)
        inside = rows[tried >> 6] >> (tried & 63).astype(np.uint64) & np.uint64(1)
        picked = np.concatenate([picked, tried[inside == 1]])
        picked = picked[np.sort(np.unique(picked, return_index=True)[1])]
    picked = picked[:wanted]
    np.bitwise_or.at(subset, picked >> 6, np.uint64(1) << (picked & 63).astype(np.uint64))
    return subset
