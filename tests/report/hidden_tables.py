"""Tables of counts with small ones, and audits of programs that have these tables."""

from __future__ import annotations

import numpy as np

import proxyuse as pu
from proxyuse.lang.evaluate import Array

MIN_CELL = 5
SHAPES = [
    *[(2, 2), (2, 3), (3, 2), (3, 3), (2, 5)] * 3,
    (5, 2),
    *[(2, 2), (2, 3), (3, 2), (3, 3), (2, 5)] * 3,
    (8, 2),
]
SIZES = [300, 1_000, 5_000]


def hidden_table(shape: tuple[int, int], rows: int, random: np.random.Generator) -> Array:
    """A table with a small count, and with totals that may be printed."""
    while True:
        height, width = shape
        table = random.integers(1, 40, size=shape).astype(float)
        for line in range(height):
            table[line, line % width] *= 20 + 60 * random.random()
        counts = np.maximum(np.rint(table * rows / table.sum()), 0).astype(int)
        few = random.random(shape) < 0.3
        few[np.arange(height), np.arange(height) % width] = False
        counts[few] = random.integers(0, MIN_CELL, few.sum())
        counts[0, 0] += rows - counts.sum()
        totals = [*counts.sum(axis=0), *counts.sum(axis=1)]
        if (counts >= 0).all() and min(totals) >= 2 * MIN_CELL and (counts < MIN_CELL).any():
            return np.asarray(counts)


def audited(counts: Array) -> tuple[pu.Audit, dict[str, list[str]], list[str]]:
    """An audit of nested computations of one column, whose table is `counts`."""
    height, width = counts.shape
    x = np.repeat(np.arange(height), counts.sum(axis=1))
    z = np.concatenate([np.repeat(np.arange(width), line) for line in counts])
    cut = max(0, height // 2 - 1)
    inner = f"ite(x <= {height - 2}, 'no', 'yes')"
    text = "ite(x <= 0, 'no', 'yes')" if height == 2 else f"ite(x <= {cut}, 'yes', {inner})"
    data = {"x": x.astype(float), "z": np.array(list("abcdefgh"))[z]}
    audit = pu.audit(pu.Program.parse(text), data, "z", epsilon=0.01, delta=0.001)
    values = range(height)
    decisions = (
        ["'no'" if value <= 0 else "'yes'" for value in values]
        if height == 2
        else [
            "'yes'" if value <= cut else "'no'" if value <= height - 2 else "'yes'"
            for value in values
        ]
    )
    computations = {"x": [str(value) for value in values]}
    for bound in {0} if height == 2 else {cut, height - 2}:
        computations[f"x <= {bound}"] = [str(value <= bound).lower() for value in values]
    if height > 2:
        computations[inner] = ["'no'" if value <= height - 2 else "'yes'" for value in values]
    computations[text] = decisions
    return audit, computations, decisions


def cases(number, sizes, seed=0):
    random = np.random.default_rng(seed)
    for index in range(number):
        shape, rows = SHAPES[index % len(SHAPES)], sizes[index // len(SHAPES) % len(sizes)]
        yield hidden_table(shape, rows, random)
