"""How many rows two sets have in common, for many sets and many others.

Sets are bits (`row_sets`), so each pair of sets is n/64 words to combine and count. The loops
exist twice with the same results: in NumPy, and compiled (`bit_kernel`).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from proxyuse.lang.evaluate import Array
from proxyuse.measure.parallel import worth_compiling

SECONDS_A_WORD = 2e-9  # that NumPy takes, about
WORDS = 1 << 15  # that NumPy looks at together, so that they stay in the cache

Count = Callable[[Array, Array], Array]
"""From sets and others to how many rows each has in common with each."""


def counter(words: float, compiled: bool | None = None) -> Count:
    """What counts, given how many words it is going to look at in all."""
    if compiled is None:
        compiled = worth_compiling(SECONDS_A_WORD * words, "bit_kernel")
    return _compiled if compiled else common


def common(sets: Array, others: Array) -> Array:
    """How many rows each set has in common with each other one.

    Examples
    --------
    >>> common(np.array([[3], [5]], np.uint64), np.array([[1], [7], [8]], np.uint64)).tolist()
    [[1, 2, 0], [1, 2, 0]]
    """
    found = np.empty((len(sets), len(others)), dtype=np.int64)
    some = max(1, WORDS // max(1, sets.shape[1]))
    for start in range(0, len(sets), some):
        block = sets[start : start + some]
        both, bits = np.empty_like(block), np.empty(block.shape, dtype=np.uint8)
        for place, other in enumerate(others):
            np.bitwise_and(block, other, out=both)
            np.bitwise_count(both, out=bits)
            found[start : start + some, place] = bits.sum(axis=1, dtype=np.int64)
    return found


def _compiled(sets: Array, others: Array) -> Array:
    from proxyuse.measure.bit_kernel import count_common  # loads numba

    found = np.zeros((len(sets), len(others)), dtype=np.int64)
    count_common(np.ascontiguousarray(sets), np.ascontiguousarray(others), found)
    return found
