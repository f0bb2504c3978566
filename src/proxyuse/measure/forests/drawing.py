"""The influence of a variable of a forest from drawn pairs of rows; see `measure.drawing`.

A variable of a fully grown forest is read at tens of thousands of nodes, so that counting all pairs
takes too long.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from proxyuse.lang.evaluate import Array
from proxyuse.measure.drawing import DrawnInfluence, draw_until_settled
from proxyuse.measure.forests import counting
from proxyuse.measure.forests.counting import Hole

if TYPE_CHECKING:
    from proxyuse.measure.forests.engine import ForestEngine

MAX_PAIRS = 1 << 18


def drawn_influence(engine: ForestEngine, nodes: Array, delta: float) -> DrawnInfluence | None:
    """Draw pairs until the influence of a variable is above or below delta; None if it stays open.

    Costs one walk through the variable's trees for each pair.
    """
    hole = Hole.at(engine.plan, nodes)
    drawn = draw_until_settled(
        engine.sample, lambda rows, others: _changed(engine, hole, rows, others), delta, MAX_PAIRS
    )
    return drawn if drawn.settled else None


def _changed(engine: ForestEngine, hole: Hole, rows: Array, others: Array) -> int:
    """How many pairs of rows change the output."""
    changed, first = 0, 0
    order = np.argsort(rows, kind="stable")
    rows, others = rows[order], others[order]
    for block, standing in engine.blocks:
        start, end = np.searchsorted(rows, [first, first + len(block)])
        if start < end:
            chosen = np.arange(end - start)
            codes = np.ascontiguousarray(engine.codes[others[start:end]])
            flags = counting.count_held(
                engine.plan, block, standing, hole, rows[start:end] - first, codes, chosen
            )
            changed += int(flags.sum())
        first += len(block)
    return changed
