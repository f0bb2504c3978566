"""Compiled loops that count bits (see `bit_counts`). Importing this module loads numba."""

from __future__ import annotations

from typing import Any

import numpy as np

from proxyuse.lang.compiled import bits_of, compiled

WORDS = 1024  # per set and pass, so that they stay in the cache


@compiled
def count_common(sets: Any, others: Any, out: Any) -> None:
    """Add to `out` how many rows each set has in common with each of the others."""
    width = sets.shape[1]
    few = len(others) - len(others) % 4
    for start in range(0, width, WORDS):
        end = min(width, start + WORDS)
        for s in range(len(sets)):
            one = sets[s, start:end]
            for o in range(0, few, 4):
                a, b = others[o, start:end], others[o + 1, start:end]
                c, d = others[o + 2, start:end], others[o + 3, start:end]
                in_a = in_b = in_c = in_d = np.uint64(0)
                for w in range(end - start):
                    in_a += bits_of(one[w] & a[w])
                    in_b += bits_of(one[w] & b[w])
                    in_c += bits_of(one[w] & c[w])
                    in_d += bits_of(one[w] & d[w])
                out[s, o] += in_a
                out[s, o + 1] += in_b
                out[s, o + 2] += in_c
                out[s, o + 3] += in_d
            for o in range(few, len(others)):
                a = others[o, start:end]
                in_a = np.uint64(0)
                for w in range(end - start):
                    in_a += bits_of(one[w] & a[w])
                out[s, o] += in_a
