"""How good scores and probabilities are: area under the curve, log loss, calibration.

Every figure here is a weighted mean over rows, so each row has a deviation: by how much it moves
the figure. The squares of the deviations add up to the variance of the figure, and the deviations
of two models on the same rows can be subtracted.
"""

from __future__ import annotations

import numpy as np

from proxyuse.lang.evaluate import Array

LEAST = float(np.finfo(np.float64).eps)  # probabilities are clipped here
BINS = 10


def log_losses(shares: Array, codes: Array) -> Array:
    """The log loss of each row.

    Parameters
    ----------
    shares : the probability of each class, by row.
    codes : the column of the right class; -1 if the class is unknown, which has the probability 0.
    """
    own = np.where(codes >= 0, shares[np.arange(len(codes)), codes], 0.0)
    return np.asarray(-np.log(np.clip(own, LEAST, 1 - LEAST)))


def mean(values: Array, weights: Array) -> float:
    """The weighted mean of some rows."""
    return float(np.dot(weights, values) / weights.sum())


def placements(scores: Array, second: Array, weights: Array) -> Array:
    """For each row, the share of the rows of the other class on the right side of it.

    The right side of a row of the second class is below. Ties count half.
    """
    _, ranks = np.unique(scores, return_inverse=True)
    of_first = np.bincount(ranks, np.where(second, 0.0, weights))
    of_second = np.bincount(ranks, np.where(second, weights, 0.0))
    below = (np.cumsum(of_first) - of_first / 2) / of_first.sum()
    above = 1 - (np.cumsum(of_second) - of_second / 2) / of_second.sum()
    return np.asarray(np.where(second, below[ranks], above[ranks]))


def area_under_curve(scores: Array, second: Array, weights: Array) -> float:
    """The probability that a row of the second class scores above a row of the first.

    Examples
    --------
    >>> area_under_curve(np.array([1, 2, 2, 3]), np.array([False, True, False, True]), np.ones(4))
    0.875
    """
    return mean(placements(scores, second, weights), np.where(second, weights, 0.0))


def calibration_error(
    probabilities: Array, happened: Array, weights: Array, bins: int = BINS
) -> float:
    """The expected calibration error: how far probabilities are from frequencies.

    The rows are divided into bins of about equal weight. Rows with the same probability are in the
    same bin. The error is the mean distance between the mean probability and the frequency of a
    bin, by weight. Even for a perfectly calibrated model it is above 0, by chance: about
    ``0.4 * sqrt(bins / rows)`` if the probabilities are near 1/2, less if they are certain.

    Examples
    --------
    >>> happened = np.array([False, True, True, True])
    >>> calibration_error(np.array([0.25, 0.25, 0.75, 0.75]), happened, np.ones(4))
    0.25
    """
    _, ranks = np.unique(probabilities, return_inverse=True)
    masses = np.bincount(ranks, weights)
    middles = (np.cumsum(masses) - masses / 2) / masses.sum()
    bin_of = np.minimum((middles * bins).astype(np.intp), bins - 1)[ranks]
    gaps = np.bincount(bin_of, weights * (probabilities - happened), minlength=bins)
    return float(np.abs(gaps).sum() / weights.sum())


def deviations(values: Array, weights: Array, strata: Array | None = None) -> Array:
    """By how much each row moves the weighted mean of its stratum.

    The squares add up to the variance of the sum of these means, if the rows of each stratum are
    independent draws and the weights are fixed. With equal weights and one stratum, the root of
    their sum is the usual standard error of a mean.
    """
    if strata is None:
        strata = np.zeros(len(values), dtype=np.intp)
    masses = np.bincount(strata, weights)
    totals = np.bincount(strata, weights * values)
    counted = np.bincount(strata, weights > 0)
    factors = np.sqrt(counted / np.maximum(counted - 1, 1))
    safe = np.where(masses > 0, masses, 1.0)
    means, scale = totals / safe, factors / safe
    return np.asarray(weights * (values - means[strata]) * scale[strata])


def standard_error(moves: Array) -> float:
    """The standard error of a figure with these deviations."""
    return float(np.sqrt(np.dot(moves, moves)))
