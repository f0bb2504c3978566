"""Protected attributes, permuted over the rows, as sets of rows.

All attributes are permuted alike, so that what they have to do with each other stays. Each
permutation has random numbers of its own, named by the seed and its number, so it is the same
whoever draws it, in whatever order.

Only which rows get which combination of protected values matters, so a permutation is a random
set of rows for each combination. Every row flips a coin that is about right, which is a few random
words for 64 rows; then as many rows as there are too few or too many, some sqrt(n), are put in or
taken out at random. All sets of the size are equally likely: given how many rows the coins chose,
every set of that size is, and so it stays. This takes n/64 steps where shuffling the rows takes n,
in random order. Of few rows, or with many combinations, rows are shuffled.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice

import numpy as np

from proxyuse.lang.evaluate import Array
from proxyuse.measure.association.row_sets import packed, unpacked, words_for
from proxyuse.measure.association.support import Support, support_of

MOST_SETS = 64  # values of an attribute from which on each row's value is kept instead
MOST_COMBINATIONS = 8  # up to which drawing sets is faster than shuffling rows
FEW_ROWS = 1 << 12  # up to which shuffling is faster
BATCH = 16  # permutations that are turned into sets together
DIGITS = 8  # of a coin's chance, in binary
OFTEN = 0.25  # of the rows may be tried before looking at all of them is cheaper
_COUNTED, _OTHER = 1, 2  # names of streams of random numbers


class Shuffles:
    """Permutations of some protected attributes.

    Parameters
    ----------
    attributes : with a code for each row.
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
        """How much memory one permutation takes."""
        sets = sum(size - 1 for size in self.sizes if size <= MOST_SETS)
        long = sum(size > MOST_SETS for size in self.sizes)
        return 8 * words_for(self.n_rows) * sets + 4 * self.n_rows * long

    def as_they_are(self) -> list[Array]:
        """The attributes as they are, as a single permutation."""
        return self._kept([self._joint])

    def drawn(self, numbers: Iterable[int]) -> list[Array]:
        """Permutations by their numbers.

        For each attribute the rows of each value but the first, as words, by permutation and
        value; for one of many values each row's value, by permutation and row.
        """
        return self._many((self.seed, _COUNTED, number) for number in numbers)

    def others(self, count: int) -> list[Array]:
        """More permutations, none of which is among the numbered ones."""
        return self._many((self.seed, _OTHER, number) for number in range(count))

    def _many(self, streams: Iterable[tuple[int, ...]]) -> list[Array]:
        generators = (np.random.Generator(np.random.SFC64(stream)) for stream in streams)
        if len(self._counts) > MOST_COMBINATIONS or self.n_rows < FEW_ROWS:
            return self._kept(rng.permutation(self._joint) for rng in generators)
        found = [self._joined(self._subsets(rng)) for rng in generators]
        return [np.stack(each) for each in zip(*found, strict=True)]

    def _subsets(self, rng: np.random.Generator) -> Array:
        """For each combination the rows that get it, as words: the most frequent ones first."""
        found = np.empty((len(self._counts), words_for(self.n_rows)), dtype=np.uint64)
        left, available = self._everything, self.n_rows
        *others, last = np.argsort(-self._counts, kind="stable").tolist()
        for combination in others:
            wanted = int(self._counts[combination])
            chosen = random_subset(left, available, wanted, self.n_rows, rng)
            found[combination] = chosen
            left, available = left & ~chosen, available - wanted
        found[last] = left
        return found

    def _joined(self, sets: Array) -> list[Array]:
        """For each attribute the rows of each value but the first."""
        if len(self.sizes) == 1:
            return [sets[1:]]
        return [
            np.stack([np.bitwise_or.reduce(sets[values == v]) for v in range(1, size)])
            for values, size in zip(self._values, self.sizes, strict=True)
        ]

    def _kept(self, permuted: Iterable[Array]) -> list[Array]:
        """What is kept of permutations that are given by the combination of each row."""
        parts: list[list[Array]] = [[] for _ in self.sizes]
        waiting = iter(permuted)
        while some := list(islice(waiting, BATCH)):
            joint = np.stack(some)
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
    """Some of a set of rows, all subsets of the size equally likely.

    Parameters
    ----------
    rows : the set, as words.
    available, wanted : how many rows are in it, and how many are to be in the subset.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> found = random_subset(packed(np.arange(200) < 150)[0], 150, 100, 200, rng)
    >>> int(np.bitwise_count(found).sum()), bool((found[2] >> np.uint64(22)).any())
    (100, False)
    """
    chance = round(wanted / max(1, available) * 2**DIGITS)
    chosen = rows & _coins(chance, len(rows), rng)
    count = int(np.bitwise_count(chosen).sum(dtype=np.int64))
    if count < wanted:
        chosen |= _picked(rows & ~chosen, available - count, wanted - count, n_rows, rng)
    elif count > wanted:
        chosen &= ~_picked(chosen, count, count - wanted, n_rows, rng)
    return np.asarray(chosen)


def _coins(chance: int, words: int, rng: np.random.Generator) -> Array:
    """Words whose bits are 1 with a chance that is given in parts of ``2**DIGITS``."""
    if chance >= 2**DIGITS:
        return np.full(words, ~np.uint64(0))
    found = np.zeros(words, dtype=np.uint64)
    if chance == 0:
        return found
    last = (chance & -chance).bit_length() - 1  # digits below are 0 and change nothing
    for digit in range(last, DIGITS):
        coin = rng.bit_generator.random_raw(words)
        found = found | coin if chance >> digit & 1 else found & coin
    return found


def _picked(
    rows: Array, available: int, wanted: int, n_rows: int, rng: np.random.Generator
) -> Array:
    """The same as `random_subset` for few rows: tried one by one, in random order."""
    found = np.zeros_like(rows)
    tries = wanted * (n_rows / available)
    if tries > OFTEN * n_rows:
        numbers = np.flatnonzero(unpacked(rows[None], n_rows)[0])
        picked = rng.choice(numbers, wanted, replace=False)
        there = np.zeros(n_rows, dtype=np.bool_)
        there[picked] = True
        return np.asarray(packed(there)[0])
    picked = np.empty(0, dtype=np.int64)
    while len(picked) < wanted:
        tried = rng.integers(n_rows, size=int(1.2 * tries) + 16)
        inside = rows[tried >> 6] >> (tried & 63).astype(np.uint64) & np.uint64(1)
        picked = np.concatenate([picked, tried[inside == 1]])
        picked = picked[np.sort(np.unique(picked, return_index=True)[1])]
    picked = picked[:wanted]
    np.bitwise_or.at(found, picked >> 6, np.uint64(1) << (picked & 63).astype(np.uint64))
    return found
