"""The utility of the best prediction that is the same for everyone."""

from __future__ import annotations

import numpy as np

from proxyuse.lang.evaluate import Array
from proxyuse.repairing.utility import Measure, Utility, UtilityFunction


def best_constant_utility(utility: Utility) -> float | None:
    """The utility of the best prediction that is the same for all rows; None if it is unknown."""
    return best_constant(utility.measure, utility.right, utility.weights)


def best_constant(measure: Measure | UtilityFunction, right: Array, weights: Array) -> float | None:
    """The same for some correct answers and the weights of their rows.

    Examples
    --------
    >>> best_constant(Measure.ACCURACY, np.array(["yes", "no", "yes"]), np.array([1.0, 1.0, 2.0]))
    0.75
    """
    if measure is Measure.SQUARED_ERROR:
        mean = np.average(right, weights=weights)
        return float(np.average((right - mean) ** 2, weights=weights))
    codes = np.unique(right, return_inverse=True)[1]
    shares = np.bincount(codes, weights) / weights.sum()
    shares = shares[shares > 0]
    match measure:
        case Measure.ACCURACY | Measure.AGREEMENT:
            return float(shares.max())
        case Measure.BALANCED_ACCURACY:
            return 1 / len(shares)
        case Measure.AUC:
            return 0.5
        case Measure.LOG_LOSS:
            return float(-np.dot(shares, np.log(shares)))
    return None
