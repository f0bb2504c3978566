"""Count the rows that sets have in common, for many pairs of sets.

Sets are packed bits (`row_sets`), so a pair costs n / 64 words for n rows.
"""

from __future__ import annotations

import numpy as np

from proxyuse.lang.evaluate import Array


def common(sets: Array, others: Array) -> Array:
    """Return how many rows each set has in common with each of the others.

    Examples
    --------
    >>> common(np.array([[3], [5]], np.uint64), np.array([[1], [7], [8]], np.uint64)).tolist()
    [[1, 2, 0], [1, 2, 0]]
    """
    from proxyuse.measure.association.bit_kernel import count_common  # loads numba

    counts = np.zeros((len(sets), len(others)), dtype=np.int64)
    count_common(np.ascontiguousarray(sets), np.ascontiguousarray(others), counts)
    return counts
