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

*Rare values.* The joint entropy grows without limit with the number of values, and values seen once
indicate that there are more, on either side. By Good and Turing, the mass of the values that n rows
miss is about the share of rows whose value no other row has. At the level, it is at most
``M = u / n``, where u bounds the Poisson mean of the number of these rows. Nothing in the sample
shows over how many values this mass is spread. There are at most as many as people, ten billion,
so these rows add ``M log(10^10 / M)`` to the joint entropy instead of their own part. The
information of a value seen once is all chance, and permutations remove it only if the rest of the
sample has the same mix of values. So all values seen once are first merged into one, on each side.
Merging never adds information.

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
"""At smaller levels, near the smallest float, the bounds are 0 and 1."""
MOST_VALUES = 1e10
"""The largest number of values that is considered possible: more than there are people."""
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
    n, values = sample.size, [np.count_nonzero(margin) for margin in sample.margins]
    if min(values) < 2:
        return Bounds(0.0, 1.0, 0.0)
    chance = expected_information(*sample.margins, effective=n)
    surplus = chance + (sum(values) - 2) / (2 * n)
    seen = _information(sample.counts)
    corrected = _within((seen.information - chance) / (seen.entropy + surplus))
    if level < LEAST_LEVEL:
        return Bounds(0.0, 1.0, corrected)
    z = -NormalDist().inv_cdf(level)
    upper = seen.information / seen.entropy
    upper += z * sample.deviation(seen.gradient(seen.entropy)) / n
    upper += z * z / (2 * n * seen.entropy)
    lower = _lower_bound(sample, level, z, chance, surplus)
    return Bounds(_within(lower), _within(upper), corrected)


def _lower_bound(sample: Sample, level: float, z: float, chance: float, surplus: float) -> float:
    """The lower bound; `chance` and `surplus` are those of the table before values are merged."""
    rare = sample.rare_mass
    if rare:
        sample = sample.merged()
        if min(sample.counts.shape) < 2:
            return 0.0
        chance = expected_information(*sample.margins, effective=sample.size)
    added = unseen(sample.counts, -math.log(level) / 2 * sample.heaviest)
    smoothed = _information(sample.counts + added)
    entropy = smoothed.entropy
    if rare:
        entropy += rare_entropy(rare, sample.size, sample.heaviest, level)
    deviation = sample.deviation(smoothed.gradient(entropy), sample.heaviest * added)
    return (smoothed.information - chance) / (entropy + surplus) - z * deviation / sample.size


def _within(bound: float) -> float:
    return float(np.clip(bound, 0.0, 1.0))


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


def rare_entropy(rare: float, n: float, heaviest: float, level: float) -> float:
    """The entropy that values seen once or never may have in the population.

    `rare` observations of n have a value that no other observation has.

    Examples
    --------
    >>> round(rare_entropy(1.0, 1000.0, 1.0, level=0.05), 3)
    0.135
    >>> round(rare_entropy(500.0, 1000.0, 1.0, level=0.05), 3)
    12.73
    """
    from scipy.special import gammainccinv  # slow to import

    most = float(gammainccinv(rare / heaviest + 1, level)) * heaviest
    mass = min(1.0, most / n)
    return mass * math.log(MOST_VALUES / mass)


class _Information(NamedTuple):
    """Mutual information and joint entropy of a table, with their logarithms by cell."""

    information: float
    entropy: float
    pointwise: Array
    logs: Array

    def gradient(self, entropy: float) -> Array:
        """The gradient, with mean 0, of the information divided by an entropy.

        The entropy is that of the table, or more by a constant.
        """
        ratio = self.information / entropy
        gradient: Array = self.pointwise + ratio * self.logs
        return (gradient - ratio * (entropy - self.entropy)) / entropy


def _information(counts: Array) -> _Information:
    shares = counts / counts.sum()
    nonzero = shares > 0
    logs = np.log(np.where(nonzero, shares, 1.0))
    expected = np.outer(shares.sum(axis=1), shares.sum(axis=0))
    pointwise = np.where(nonzero, logs - np.log(np.where(nonzero, expected, 1.0)), 0.0)
    information, entropy = float((shares * pointwise).sum()), -float((shares * logs).sum())
    return _Information(information, entropy, pointwise, logs)


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
    if level < LEAST_LEVEL:
        return Bounds(
            0.0, 1.0, resampled_bounds(measure, sample, LEAST_LEVEL, rng, values).corrected
        )
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
    return Bounds(*map(_within, bounds))


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
