"""Estimate the influence of a forest's variable from random pairs of rows.

A fully grown forest reads a variable at tens of thousands of nodes, so counting all pairs takes too
long. `proxyuse.measure.pair_sampling` explains the estimate.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from proxyuse.lang.evaluate import Array
from proxyuse.measure.forests import counting
from proxyuse.measure.forests.counting import Intervention
from proxyuse.measure.pair_sampling import DrawnInfluence, draw_until_settled

if TYPE_CHECKING:
    from proxyuse.measure.forests.engine import ForestEngine

MAX_PAIRS = 1 << 18


def drawn_influence(engine: ForestEngine, nodes: Array, delta: float) -> DrawnInfluence | None:
    """Draw pairs until the influence is clearly above or below delta; None if it never is.

    Costs one walk through the affected trees per pair.
    """
    intervention = Intervention.at(engine.plan, nodes)
    drawn = draw_until_settled(
        engine.sample,
        lambda rows, others: int(changed_pairs(engine, intervention, rows, others).sum()),
        delta,
        MAX_PAIRS,
    )
    return drawn if drawn.settled else None


def changed_pairs(
    engine: ForestEngine, intervention: Intervention, rows: Array, others: Array
) -> Array:
    """Return which pairs of rows change the output."""
    changed, first = np.zeros(len(rows), dtype=np.bool_), 0
    order = np.argsort(rows, kind="stable")
    rows, others = rows[order], others[order]
    for block, outcomes in engine.blocks:
        start, end = np.searchsorted(rows, [first, first + len(block)])
        if start < end:
            chosen = np.arange(end - start)
            codes = np.ascontiguousarray(engine.codes[others[start:end]])
            changed[order[start:end]] = counting.count_intervened(
                engine.plan, block, outcomes, intervention, rows[start:end] - first, codes, chosen
            )
        first += len(block)
    return changed
