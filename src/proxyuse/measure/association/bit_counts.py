"""How many rows two sets have in common, for many sets and many others.

Sets are bits (`row_sets`), so each pair of sets is n/64 words to combine and count.
"""

from __future__ import annotations

import numpy as np

from proxyuse.lang.evaluate import Array


def common(sets: Array, others: Array) -> Array:
    """How many rows each set has in common with each other one.

    Examples
    --------
    >>> common(np.array([[3], [5]], np.uint64), np.array([[1], [7], [8]], np.uint64)).tolist()
    [[1, 2, 0], [1, 2, 0]]
    """
    from proxyuse.measure.association.bit_kernel import count_common  # loads numba

    counts = np.zeros((len(sets), len(others)), dtype=np.int64)
    count_common(np.ascontiguousarray(sets), np.ascontiguousarray(others), counts)
    return counts
