"""Estimate influence from random pairs of rows until it is clearly above or below a threshold.

Used where counting all pairs takes too long. Rows are drawn by weight, and each pair either changes
the output or does not. By Hoeffding's inequality, the share among m pairs is within
``sqrt(ln(2 / beta) / (2 m))`` of the influence, except with probability beta. The number of pairs
doubles as long as the interval straddles the threshold.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from proxyuse.lang.evaluate import Array
from proxyuse.measure.row_order import content_order
from proxyuse.measure.sample import Sample

PAIRS = 1 << 14
"""The number of pairs in the first draw."""

BETA = 1e-6
"""The probability that an interval misses the influence, over all sample sizes tried."""

_EVENTS = 2 * 16  # two sides times the largest number of sample sizes


@dataclass(frozen=True, slots=True)
class DrawnInfluence:
    """An estimate of an influence from random pairs of rows.

    Attributes
    ----------
    influence : the share of pairs that change the output.
    error : the error bound.
    pairs : the number of pairs drawn.
    beta : the probability that the error bound fails.
    settled : whether the whole interval lies on one side of the threshold.
    """

    influence: float
    error: float
    pairs: int
    beta: float
    settled: bool


class Pairs:
    """A reproducible stream of pairs of rows, each row drawn by weight.

    Rows are numbered by content, so the pairs do not depend on how the rows are sorted.
    """

    def __init__(self, sample: Sample) -> None:
        self._order = content_order(sample)
        self._cumulative = np.cumsum(sample.masses[self._order])
        self._total = int(self._cumulative[-1])
        self._generator = np.random.default_rng(0)

    def draw(self, size: int) -> tuple[Array, Array]:
        """Return the rows X and X' of the next pairs."""
        draws = self._generator.integers(0, self._total, size=(2, size))
        rows, others = np.searchsorted(self._cumulative, draws, side="right")
        return self._order[rows], self._order[others]


def drawn_error(error: float, level: float) -> float:
    """Return the error bound at probability `level` for an error bound at `BETA`."""
    if level >= BETA:
        return error
    return error * math.sqrt(math.log(_EVENTS / level) / math.log(_EVENTS / BETA))


def draw_until_settled(
    sample: Sample,
    changed: Callable[[Array, Array], int],
    threshold: float,
    max_pairs: int,
) -> DrawnInfluence:
    """Draw pairs until the influence is clearly above or below a threshold.

    Parameters
    ----------
    changed : counts how many of some pairs of rows change the output.
    max_pairs : the number of pairs after which the result stays unsettled.

    Notes
    -----
    Costs one evaluation of the computation per pair.
    """
    source = Pairs(sample)
    count = pairs = 0
    size = PAIRS
    while True:
        sample.tick(0)
        count += changed(*source.draw(size))
        pairs += size
        error = math.sqrt(math.log(_EVENTS / BETA) / (2 * pairs))
        share = count / pairs
        settled = not share - error <= threshold < share + error
        if settled or pairs >= max_pairs:
            return DrawnInfluence(share, error, pairs, BETA, settled)
        size = pairs  # double the sample
