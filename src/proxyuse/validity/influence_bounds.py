"""Confidence bounds for an influence.

Influence is the mean of a 0-1 kernel ``h(x, x')`` over all pairs of rows: whether the output
changes, or moves by more than a threshold. (`squared_change_bounds` is for squared change.) To
first order, its variance is that of the mean over rows of ``changed(x) + changing(x)``, the means
of h over the other row (see `measure.row_effects`). If these are too expensive, Hoeffding's bound
applies: the variance is at most that of a share among n / 2 independent pairs.

A share near 0 or 1 is not normal, least of all at the levels that many tests require. So the
variance only determines the number of independent trials with the same variance (never more than
the number of observations). The bounds are those of Clopper and Pearson for that many trials:
exact for a binomial share, conservative here (Korn and Graubard do the same for surveys).

With unequal weights, the sample may contain none of some rare heavy rows, and the variance does not
reflect them. Half of the ``log(1 / level)`` rows that could have been missed, each as heavy as the
heaviest row, are added as trials in which nothing changes.
"""

from __future__ import annotations

import math

from proxyuse.measure.row_effects import RowEffects
from proxyuse.validity.sample import Observed, spread
from proxyuse.verdict import Interval

LEAST_LEVEL = 1e-300
"""At smaller levels, near the smallest float, the bounds are 0 and 1."""


def influence_bounds(
    influence: float, effects: RowEffects | None, observed: Observed, level: float
) -> Interval:
    """One-sided bounds, each wrong with probability at most `level`. Linear in the rows.

    Examples
    --------
    >>> import numpy as np
    >>> rows = Observed(True, np.ones(1000), np.ones(1000))
    >>> low, high = influence_bounds(0.1, None, rows, level=0.05)
    >>> round(low, 3), round(high, 3)
    (0.079, 0.125)
    """
    from scipy.special import betaincinv  # slow to import

    if level < LEAST_LEVEL:
        return 0.0, 1.0
    trials = _trials(influence, effects, observed)
    missed = 0.0 if observed.alike else -math.log(level) / 2 * observed.heaviest
    # A row paired with itself changes nothing. The population has no such pairs.
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
    """The number of independent trials with the variance of an influence."""
    pairs = observed.size / 2
    if effects is None:
        return pairs
    variance = spread(observed, effects.changed + effects.changing)
    binomial = influence * (1 - influence)
    if variance * observed.size <= binomial:
        return observed.size
    return max(binomial / variance, pairs) if observed.alike else binomial / variance
