"""Random sets of rows of a given size, as bits.

Every row flips a coin that is about right, which is a few random words for 64 rows; then as many
rows as there are too few or too many, some sqrt(n), are put in or taken out at random. All
sets of the size are equally likely: given how many rows the coins chose, every set of that size
is, and so it stays. This takes n/64 steps where shuffling the rows takes n, in random order.
"""

from __future__ import annotations

import numpy as np

from proxyuse.lang.evaluate import Array
from proxyuse.measure.row_sets import packed, unpacked

DIGITS = 8  # of the coin's chance, in binary
OFTEN = 0.25  # of the rows may be tried before looking at all of them is cheaper


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
