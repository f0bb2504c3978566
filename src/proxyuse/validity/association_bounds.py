"""Confidence bounds for the association in one table.

The normalized mutual information ``d = I / H`` of a sample varies, and it is biased upward, because
independent variables show some information by chance. The lower bound corrects for both:

*Bias.* Averaged over all permutations, chance alone shows the information `e`, which
`expected_information` computes exactly. To first order in 1/n this is the bias at any true
association if no cell is impossible, and more than the bias otherwise. In a table as long as the
sample, it is all of I. The joint entropy is too low by the same amount, plus half an observation
for each value of each side beyond the first (Miller and Madow).

*Variance.* By the delta method, with
``g(x, z) = (log p(x, z) / (p(x) p(z)) + d log p(x, z)) / H``, the variance of d is that of g,
divided by n. Near independence this is conservative: there ``2 n I`` is chi-squared with k degrees
of freedom and noncentrality l, with variance ``2 k + 4 l``; the delta method gives ``4 k + 4 l``.

*Unseen cells.* A table without exceptions has no variance, yet exceptions may exist: n rows miss an
event of probability q with probability ``exp(-q n)``. Before anything else, half of
``log(1 / level)`` observations are added to the cells below their expectation under independence,
in proportion to that expectation. With the variance that they add, zero exceptions become about
the ``log(1 / level)`` that could have been missed, at the tested levels 0.05, 0.001 and 0.00005.

*Unseen values.* The joint entropy grows without limit with the number of values, and values seen
once indicate that there are more. Their number follows the estimates of Good and Turing and of
Chao, taken at the level: with f values seen once and s seen twice, a mass of ``f / n`` is spread
over ``f (f - 1) / 2 s`` values. Where s could be 0, it is spread over ten billion values, more than
there are people.

The upper bound does not correct for bias and unseen cells, which is conservative, and adds the
``z^2 / (2 n H)`` that a small noncentrality could hide.

Other measures have no such formulas. They are corrected for their mean c in random tables with the
same margins, as ``(d - c) / (1 - c)``, and their variance is that in resampled tables.
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
"""Smaller levels are raised to this one, near the smallest float."""
MOST_VALUES = 1e10
"""The largest number of values that is considered possible."""
RESAMPLED = 200
"""Random tables used to estimate the bias and the variance of other measures."""


class Bounds(NamedTuple):
    """A lower and an upper confidence bound, and the bias-corrected estimate."""

    lower: float
    upper: float
    corrected: float


def information_bounds(sample: Sample, level: float) -> Bounds:
    """One-sided bounds for normalized mutual information, each wrong with probability `level`.

    Linear in the size of the table, except for the expected information.

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
    smoothed = _information(sample.counts + added)
    entropy = smoothed.entropy + surplus + unseen_entropy(rows, level)
    variances = sample.variances + sample.heaviest * added
    lower = (smoothed.information - chance) / entropy
    lower -= z * _deviation(smoothed.gradient, variances, n)
    upper = seen.information / seen.entropy + z * _deviation(seen.gradient, sample.variances, n)
    upper += z * z / (2 * n * seen.entropy)
    corrected = (seen.information - chance) / (seen.entropy + surplus)
    return Bounds(*(float(np.clip(bound, 0.0, 1.0)) for bound in (lower, upper, corrected)))


def unseen(counts: Array, observations: float) -> Array:
    """Distribute observations over the cells that are below their expectation.

    The expectation is that of independent rows and columns.

    Examples
    --------
    >>> unseen(np.array([[6.0, 0.0], [1.0, 3.0]]), 2.0).round(2).tolist()
    [[0.0, 0.78], [1.22, 0.0]]
    """
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / counts.sum()
    below = np.where(counts < expected, expected, 0.0)
    total = float(below.sum())
    return below * (observations / total) if total > 0 else below


def unseen_entropy(rows: Array, level: float) -> float:
    """The additional entropy that values seen once or never may have.

    Examples
    --------
    >>> unseen_entropy(np.array([60.0, 40.0]), 0.05)
    0.0
    >>> round(unseen_entropy(np.array([90.0, 5.0, 2.0, 2.0, 1.0]), 0.05), 3)
    0.138
    >>> round(unseen_entropy(np.ones(100), 0.05), 3)
    18.421
    """
    from scipy.special import gammaincinv  # slow to import

    n = float(rows.sum())
    once = int(np.count_nonzero((rows > 0) & (rows < 1.5)))
    if once == 0:
        return 0.0
    twice = int(np.count_nonzero((rows >= 1.5) & (rows < 2.5)))
    lower_twice = float(gammaincinv(twice, level)) if twice else 0.0  # bound on a Poisson mean
    missed = -math.log(level)
    pairs = once * (once - 1) / 2
    estimate = pairs / lower_twice if lower_twice else math.inf
    further = 0.0 if pairs == 0 else min(MOST_VALUES, estimate)
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
    nonzero = shares > 0
    logs = np.log(np.where(nonzero, shares, 1.0))
    expected = np.outer(shares.sum(axis=1), shares.sum(axis=0))
    pointwise = np.where(nonzero, logs - np.log(np.where(nonzero, expected, 1.0)), 0.0)
    information, entropy = float((shares * pointwise).sum()), -float((shares * logs).sum())
    gradient = np.where(nonzero, pointwise + information / entropy * logs, 0.0) / entropy
    return _Information(information, entropy, gradient)


def _deviation(gradient: Array, variances: Array, n: float) -> float:
    """The standard deviation of a function of shares, whose gradient has mean 0."""
    return float(np.sqrt((variances * gradient * gradient).sum())) / n


class Values(NamedTuple):
    """The values of the rows and columns of a table, for measures that use them."""

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

    Evaluates the measure on 600 tables of the same size. With unequal weights, this is an
    approximation that uses the effective sample size.

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
    seen, smoothed = (
        float(_measured(measure, table[None], values)[0])
        for table in (sample.counts, sample.counts + added)
    )
    seen_deviation, smoothed_deviation = (
        float(_measured(measure, _drawn(table, n, rng), values).std())
        for table in (sample.counts, sample.counts + added)
    )
    corrected, lower = ((value - chance) / max(1 - chance, chance) for value in (seen, smoothed))
    bounds = lower - z * smoothed_deviation, seen + z * seen_deviation, corrected
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
    """The association in a drawn table without its empty rows and columns; 0 if constant."""
    table = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
    return measure(table) if min(table.shape) > 1 else 0.0


def association_bounds(
    measure: Association,
    sample: Sample,
    level: float,
    rng: np.random.Generator,
    values: Values | None = None,
) -> Bounds:
    """One-sided bounds for an association, each wrong with probability at most `level`."""
    if isinstance(measure, NormalizedMutualInformation):
        return information_bounds(sample, level)
    return resampled_bounds(measure, sample, level, rng, values)
