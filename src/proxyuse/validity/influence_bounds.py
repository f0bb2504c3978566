"""Confidence bounds for an influence.

Influence is the mean of a 0-1 kernel ``h(x, x')`` over all pairs of rows. To first order it varies
as the mean over rows of ``changed(x) + changing(x)``, its means over one of both rows (see
`measure.row_effects`). Where these are too costly, Hoeffding's bound is taken: the variance
is at most that of a share among n / 2 independent pairs.

A share is not normal at its ends, the less so at the levels that many tests need. So the variance
only tells how many independent trials would vary as much (never more than there are
observations), and the bounds are those of Clopper and Pearson for that many: exact for a binomial
share, on the safe side here (Korn and Graubard do so for surveys).

Where weights differ, rare heavy rows may not have been drawn at all, and the variance knows
nothing of them. Half of the ``log(1 / level)`` rows that could have been missed, as heavy as the
heaviest one, are added as trials in which nothing changes.
"""

from __future__ import annotations

import math

from proxyuse.measure.row_effects import RowEffects
from proxyuse.validity.sample import Observed, spread
from proxyuse.verdict import Interval

LEAST_LEVEL = 1e-300
"""Below this, numbers end and nothing is bounded."""


def influence_bounds(
    influence: float, effects: RowEffects | None, observed: Observed, level: float
) -> Interval:
    """One-sided bounds, each wrong with probability `level` at most. Linear in the rows.

    Examples
    --------
    >>> import numpy as np
    >>> rows = Observed(True, np.ones(1000), np.ones(1000))
    >>> low, high = influence_bounds(0.1, None, rows, level=0.05)
    >>> round(low, 3), round(high, 3)
    (0.079, 0.125)
    """
    from scipy.special import betaincinv  # takes a while to load

    if level < LEAST_LEVEL:
        return 0.0, 1.0
    trials = _trials(influence, effects, observed)
    missed = 0.0 if observed.alike else -math.log(level) / 2 * observed.heaviest
    # The pairs of a row with itself change nothing; in the population there are none.
    among_others = min(1.0, influence * observed.size / max(1.0, observed.size - 1))
    hits, more_hits = influence * trials, among_others * trials
    low = float(betaincinv(hits, trials + missed - hits + 1, level)) if hits > 0 else 0.0
    high = (
        float(betaincinv(more_hits + 1, trials - more_hits, 1 - level))
        if more_hits < trials
        else 1.0
    )
    return low, high


def _trials(influence: float, effects: RowEffects | None, observed: Observed) -> float:
    """How many independent trials would vary as much as an influence does."""
    pairs = observed.size / 2
    if effects is None:
        return pairs
    variance = spread(observed, effects.changed + effects.changing)
    binomial = influence * (1 - influence)
    if variance * observed.size <= binomial:
        return observed.size
    return max(binomial / variance, pairs) if observed.alike else binomial / variance
