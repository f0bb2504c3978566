"""Estimate the influence of a variable from drawn pairs, if counting all pairs takes too long.

A fully grown forest reads a variable at tens of thousands of nodes. Pairs of rows are drawn by
weight, and each shows whether the output changes. By Hoeffding's inequality the share among m pairs
is within ``sqrt(ln(2 / beta) / (2 m))`` of the influence with probability ``1 - beta``. The number
of pairs doubles while the interval contains the threshold.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from proxyuse.lang.evaluate import Array
from proxyuse.measure.forests import counting
from proxyuse.measure.forests.counting import Intervention

if TYPE_CHECKING:
    from proxyuse.measure.forests.engine import ForestEngine

PAIRS = 1 << 14
MOST_PAIRS = 1 << 18
BETA = 1e-6
"""The probability that an interval misses the influence, over all sample sizes tried."""


_EVENTS = 2 * 8  # two sides times the largest number of sample sizes


def drawn_error(error: float, level: float) -> float:
    """Return the error bound at probability `level` for an error bound at `BETA`."""
    if level >= BETA:
        return error
    return error * math.sqrt(math.log(_EVENTS / level) / math.log(_EVENTS / BETA))


@dataclass(frozen=True, slots=True)
class DrawnInfluence:
    """An estimate of an influence from drawn pairs.

    Attributes
    ----------
    influence : the share of pairs that change the output.
    error : the error bound; it fails with probability at most `beta`.
    pairs : the number of pairs drawn.
    """

    influence: float
    error: float
    pairs: int
    beta: float


def drawn_influence(
    engine: ForestEngine, nodes: Array, delta: float, tick: Callable[[int], None]
) -> DrawnInfluence | None:
    """Draw pairs until the influence is clearly above or below delta; None if it never is.

    Costs one walk through the affected trees per pair.
    """
    intervention = Intervention.at(engine.plan, nodes)
    generator = np.random.default_rng(0)
    upto = np.cumsum(engine.masses)
    changed = pairs = tries = 0
    size = PAIRS
    while pairs < MOST_PAIRS:
        tick(0)
        draws = generator.integers(0, engine.total, size=(2, size))
        rows, others = np.searchsorted(upto, draws, side="right")
        changed += _changed(engine, intervention, rows, others)
        pairs += size
        tries += 1
        error = math.sqrt(math.log(_EVENTS / BETA) / (2 * pairs))
        share = changed / pairs
        if not share - error <= delta < share + error:
            return DrawnInfluence(share, error, pairs, BETA)
        size = pairs  # double the sample
    return None


def _changed(engine: ForestEngine, intervention: Intervention, rows: Array, others: Array) -> int:
    """Return how many pairs of rows change the output."""
    changed, first = 0, 0
    order = np.argsort(rows, kind="stable")
    rows, others = rows[order], others[order]
    for block, outcomes in engine.blocks:
        start, end = np.searchsorted(rows, [first, first + len(block)])
        if start < end:
            chosen = np.arange(end - start)
            codes = np.ascontiguousarray(engine.codes[others[start:end]])
            flags = counting.count_intervened(
                engine.plan, block, outcomes, intervention, rows[start:end] - first, codes, chosen
            )
            changed += int(flags.sum())
        first += len(block)
    return changed
