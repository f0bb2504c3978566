"""Confidence bounds for the selection rate or the mean output of a group.

A rate has the bounds of Clopper and Pearson. With unequal weights, they are those for the number of
independent trials with the same variance, never more than the effective sample size (Korn and
Graubard), and half of the ``log(1 / level)`` heaviest rows that a sample may have missed count on
either side. A mean has a t-interval with the effective sample size.

Both treat rows as independent draws. Divide the level by the number of groups for bounds that hold
for all of them at once.
"""

from __future__ import annotations

import math

from proxyuse.verdict import Interval


def rate_bounds(
    rate: float, variance: float, size: float, level: float, *, heaviest: float = 1.0
) -> Interval:
    """Return one-sided bounds for a rate, each wrong with probability at most `level`.

    Parameters
    ----------
    rate : the share in the sample, by weight.
    variance : its variance.
    size : the effective number of rows.
    heaviest : the heaviest row, in observations; 1 if all weights are equal.

    Examples
    --------
    >>> low, high = rate_bounds(0.1, 0.1 * 0.9 / 100, 100, level=0.025)
    >>> round(low, 3), round(high, 3)
    (0.049, 0.176)
    >>> rate_bounds(0.0, 0.0, 10, level=0.025)[0]
    0.0
    """
    from scipy.special import betaincinv  # slow to import

    binomial = rate * (1 - rate)
    trials = size if variance * size <= binomial else binomial / variance
    missed = 0.0 if heaviest <= 1 else -math.log(level) / 2 * heaviest
    hits = min(rate * trials, trials)
    low = float(betaincinv(hits, trials + missed - hits + 1, level)) if hits > 0 else 0.0
    misses = trials - hits
    high = float(betaincinv(hits + missed + 1, misses, 1 - level)) if misses > 0 else 1.0
    return low, high


def mean_bounds(mean: float, variance: float, size: float, level: float) -> Interval | None:
    """Return one-sided bounds for a mean, each wrong with probability about `level`.

    None if there are fewer than two effective rows. The level is exact for normal outputs, and
    approximate for long-tailed outputs in small groups.

    Examples
    --------
    >>> low, high = mean_bounds(5.0, 4.0 / 16, 16, level=0.025)
    >>> round(low, 3), round(high, 3)
    (3.899, 6.101)
    """
    from scipy.special import stdtrit  # slow to import

    if size < 2:
        return None
    error = math.sqrt(variance * size / (size - 1))
    width = error * float(stdtrit(size - 1, 1 - level))
    return mean - width, mean + width
