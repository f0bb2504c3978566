"""One small program of each kind, and a sample population."""

from __future__ import annotations

import numpy as np

TREE = "ite(a <= 3, ite(b <= 5, 0, 1), ite(b <= 2, ite(a <= 7, 1, 0), 0))"
THREE = "ite(a <= 3, ite(b <= 5, 'x', 'y'), ite(b <= 2, ite(c == 'u', 'z', 'y'), 'x'))"
FOREST = (
    "ite(ite(a <= 3, ite(b <= 5, 1, 2), 4) + ite(c == 'u', ite(a <= 6, 0, 3), 1) "
    "+ ite(b <= 2, ite(a <= 8, 2, 2), 0) > 4, 1, 0)"
)
LINEAR = "ite(2 * a + 0.5 * b + x > 12, 1, 0)"
PROGRAMS = {"tree": TREE, "three classes": THREE, "forest": FOREST, "linear": LINEAR}


def people(n=300, seed=0):
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 10, (2, n)).astype(float)
    return {
        "a": a,
        "b": b,
        "c": np.array(["u", "v", "w"])[rng.integers(0, 3, n)],
        "x": rng.normal(size=n),
        "z": (a + rng.normal(scale=3, size=n) > 5).astype(int),
        "q": np.array(["l", "m", "n"])[rng.integers(0, 3, n)],
    }
