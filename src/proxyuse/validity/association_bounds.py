"""Confidence bounds for the association in one table.

Normalized mutual information ``d = I / H`` in a sample is too high, for chance shows some
information where there is none, and it varies. The lower bound takes away both:

*Bias.* Chance alone shows, on average over all permutations, the information `e` that
`expected_information` gives exactly. To first order in 1/n that is the bias whatever the true
association, if no cell is impossible, and more than the bias otherwise; in a table as long as the
sample it is all of I. The joint entropy is too low by as much, and by half an observation for each
value of each side beyond the first (Miller and Madow).

*Spread.* The delta method: with ``g(x, z) = (log p(x, z) / (p(x) p(z)) + d log p(x, z)) / H`` the
variance of d is that of g, over n. Near independence it is on the safe side: there ``2 n I`` is
chi-squared with k degrees of freedom and noncentrality l, whose variance ``2 k + 4 l`` is below
the ``4 k + 4 l`` that the delta method puts in its place.

*What was not seen.* A table without exceptions has no spread, yet exceptions may exist: n rows
miss what has a chance of q with probability ``exp(-q n)``. So before anything is computed half of
``log(1 / level)`` observations are added to the cells that hold less than under independence, in
proportion to what they would hold. With the spread that they bring, zero exceptions become about
the ``log(1 / level)`` that could have been missed, at the levels 0.05, 0.001 and 0.00005 that were
tried.

*Values that were not seen.* The joint entropy grows without limit with the number of values, and
values seen once tell that there are more. Their number is that of Good and Turing's and Chao's
estimates, taken at the level: with f values seen once and s seen twice, what has a mass of
``f / n`` is spread over ``f (f - 1) / 2 s`` values, or over ten billion, which is more than there
are people, where s could be 0.

The upper bound leaves bias and unseen cells alone, which is the safe side, and adds the
``z^2 / (2 n H)`` that a small noncentrality could hide.

Other measures have no such formulas: they are corrected for their mean c in random tables with the
same margins, as ``(d - c) / (1 - c)``, and their spread is that in resampled tables.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from proxyuse.lang.evaluate import Array
from proxyuse.measure.association.chance import expected_information, rounded
from proxyuse.measure.association.measures.normalized_mutual_information import (
    NormalizedMutualInformation,
)
from proxyuse.measure.association.protocol import (
    Association,
    association_of_values,
    associations_of,
    for_resampled,
)
from proxyuse.validity.permutations.random_tables import random_tables
from proxyuse.validity.sample import Sample

LEAST_LEVEL = 1e-300
"""A smaller level is taken for this one: numbers end there."""
MOST_VALUES = 1e10
"""No more values than this are thought of."""
RESAMPLED = 200
"""How many random tables other measures are looked at in, for bias and for spread."""


class Bounds(NamedTuple):
    """A lower and an upper confidence bound, and the estimate without its bias."""

    lower: float
    upper: float
    corrected: float


def information_bounds(sample: Sample, level: float) -> Bounds:
    """One-sided bounds for normalized mutual information, each wrong with probability `level`.

    Linear in the size of the table, but for the expected information.

    Examples
    --------
    >>> table = np.array([[40.0, 10.0], [10.0, 40.0]])
    >>> bounds = information_bounds(Sample(table, table), level=0.05)
    >>> [round(bound, 3) for bound in bounds]
    [0.056, 0.262, 0.155]
    >>> mirror = np.diag([50.0, 50.0])
    >>> [round(bound, 3) for bound in information_bounds(Sample(mirror, mirror), level=0.05)]
    [0.582, 1.0, 0.972]
    """
    level = max(level, LEAST_LEVEL)
    n, z = sample.size, -NormalDist().inv_cdf(level)
    rows, columns = sample.counts.sum(axis=1), sample.counts.sum(axis=0)
    values = np.count_nonzero(rows), np.count_nonzero(columns)
    if min(values) < 2:
        return Bounds(0.0, 1.0, 0.0)
    chance = expected_information(rows, columns, effective=n)
    surplus = chance + (sum(values) - 2) / (2 * n)
    added = unseen(sample.counts, -math.log(level) / 2 * sample.heaviest)

    seen = _information(sample.counts)
    careful = _information(sample.counts + added)
    entropy = careful.entropy + surplus + unseen_entropy(rows, level)
    variances = sample.variances + sample.heaviest * added
    lower = (careful.information - chance) / entropy
    lower -= z * _deviation(careful.gradient, variances, n)
    upper = seen.information / seen.entropy + z * _deviation(seen.gradient, sample.variances, n)
    upper += z * z / (2 * n * seen.entropy)
    corrected = (seen.information - chance) / (seen.entropy + surplus)
    return Bounds(*(float(np.clip(bound, 0.0, 1.0)) for bound in (lower, upper, corrected)))


def unseen(counts: Array, observations: float) -> Array:
    """Observations spread over the cells with less than independence would give them.

    Examples
    --------
    >>> unseen(np.array([[6.0, 0.0], [1.0, 3.0]]), 2.0).round(2).tolist()
    [[0.0, 0.78], [1.22, 0.0]]
    """
    alone = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / counts.sum()
    below = np.where(counts < alone, alone, 0.0)
    total = float(below.sum())
    return below * (observations / total) if total > 0 else below


def unseen_entropy(rows: Array, level: float) -> float:
    """How much more entropy values may have that were seen once or not at all.

    Examples
    --------
    >>> unseen_entropy(np.array([60.0, 40.0]), 0.05)
    0.0
    >>> round(unseen_entropy(np.array([90.0, 5.0, 2.0, 2.0, 1.0]), 0.05), 3)
    0.138
    >>> round(unseen_entropy(np.ones(100), 0.05), 3)
    18.421
    """
    from scipy.special import gammaincinv  # takes a while to load

    n = float(rows.sum())
    once = int(np.count_nonzero((rows > 0) & (rows < 1.5)))
    if once == 0:
        return 0.0
    twice = int(np.count_nonzero((rows >= 1.5) & (rows < 2.5)))
    surely = float(gammaincinv(twice, level)) if twice else 0.0  # of a Poisson count, at least
    missed = -math.log(level)
    pairs = once * (once - 1) / 2
    further = 0.0 if pairs == 0 else min(MOST_VALUES, pairs / surely if surely else math.inf)
    values = once + missed + further
    mass = min(1.0, (once + missed) / n)
    return max(0.0, mass * math.log(values / mass) - once / n * math.log(n))


class _Information(NamedTuple):
    information: float
    entropy: float
    gradient: Array


def _information(counts: Array) -> _Information:
    """Mutual information and joint entropy of a table, and the gradient of their ratio."""
    shares = counts / counts.sum()
    held = shares > 0
    logs = np.log(np.where(held, shares, 1.0))
    alone = np.outer(shares.sum(axis=1), shares.sum(axis=0))
    pointwise = np.where(held, logs - np.log(np.where(held, alone, 1.0)), 0.0)
    information, entropy = float((shares * pointwise).sum()), -float((shares * logs).sum())
    gradient = np.where(held, pointwise + information / entropy * logs, 0.0) / entropy
    return _Information(information, entropy, gradient)


def _deviation(gradient: Array, variances: Array, n: float) -> float:
    """The standard deviation of a function of shares whose gradient has the mean 0."""
    return float(np.sqrt((variances * gradient * gradient).sum())) / n


class Values(NamedTuple):
    """The values of the rows and of the columns of a table, for measures that look at them."""

    rows: Array
    columns: Array


def resampled_bounds(
    measure: Association,
    sample: Sample,
    level: float,
    rng: np.random.Generator,
    values: Values | None = None,
) -> Bounds:
    """One-sided bounds for any measure, from random tables.

    The measure is taken in 600 tables of the same size. Where weights differ this is an
    approximation: the table is taken for a sample of as many observations as it is worth.

    Examples
    --------
    >>> from proxyuse.measure.association.measures.cramers_v import CramersV
    >>> table = np.array([[40.0, 10.0], [10.0, 40.0]])
    >>> bounds = resampled_bounds(CramersV(), Sample(table, table), 0.05, np.random.default_rng(0))
    >>> bounds.lower < 0.5 < bounds.corrected < 0.6 < bounds.upper
    True
    """
    level = max(level, LEAST_LEVEL)
    n, z = max(1, round(sample.size)), -NormalDist().inv_cdf(level)
    added = unseen(sample.counts, -math.log(level) / 2 * sample.heaviest)
    measure = for_resampled(measure, sample.counts)
    margins = [rounded(sample.counts.sum(axis=axis), n).astype(np.int64) for axis in (1, 0)]
    by_chance = random_tables(margins[0][None], margins[1][None], RESAMPLED, rng)[0]
    chance = float(_measured(measure, by_chance, values).mean())
    seen, careful = (
        float(_measured(measure, table[None], values)[0])
        for table in (sample.counts, sample.counts + added)
    )
    seen_spread, careful_spread = (
        float(_measured(measure, _drawn(table, n, rng), values).std())
        for table in (sample.counts, sample.counts + added)
    )
    corrected, lower = ((found - chance) / max(1 - chance, chance) for found in (seen, careful))
    bounds = lower - z * careful_spread, seen + z * seen_spread, corrected
    return Bounds(*(float(np.clip(bound, 0.0, 1.0)) for bound in bounds))


def _drawn(counts: Array, n: int, rng: np.random.Generator) -> Array:
    shares = counts.ravel() / counts.sum()
    return rng.multinomial(n, shares, size=RESAMPLED).reshape(-1, *counts.shape)


def _measured(measure: Association, tables: Array, values: Values | None) -> Array:
    tables = tables.astype(np.float64, copy=False)
    if values is None and hasattr(measure, "many"):
        return associations_of(measure, tables)
    if values is None:
        return np.array([_without_empty(measure, table) for table in tables])
    return np.array([association_of_values(measure, table, *values) for table in tables])


def _without_empty(measure: Association, table: Array) -> float:
    """What a measure says of a drawn table, which may have lost values; 0 of a constant."""
    table = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
    return measure(table) if min(table.shape) > 1 else 0.0


def association_bounds(
    measure: Association,
    sample: Sample,
    level: float,
    rng: np.random.Generator,
    values: Values | None = None,
) -> Bounds:
    """One-sided bounds for an association, each wrong with probability `level` at most."""
    if isinstance(measure, NormalizedMutualInformation):
        return information_bounds(sample, level)
    return resampled_bounds(measure, sample, level, rng, values)
