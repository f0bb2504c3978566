"""P-values corrected for how many there are.

An adjusted p-value is the smallest level of the corrected test at which its hypothesis is
rejected, so it is compared with alpha as if there were but one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from proxyuse.lang.evaluate import Array


@dataclass(frozen=True, slots=True, eq=False)
class PValues:
    """P-values, by computation and protected attribute.

    Attributes
    ----------
    p_values : of each test by itself.
    adjusted : for all of them at once.
    exact : which are over all permutations, not over drawn ones.
    """

    p_values: Array
    adjusted: Array
    exact: Array


def bonferroni(p_values: Array) -> Array:
    """The chance of any false rejection is at most alpha, however the tests depend.

    Examples
    --------
    >>> bonferroni(np.array([0.01, 0.02, 0.5])).tolist()
    [0.03, 0.06, 1.0]
    """
    return np.asarray(np.minimum(1.0, len(p_values) * p_values))


def holm(p_values: Array) -> Array:
    """The same promise as Bonferroni's, and never a larger value.

    The smallest of m p-values is multiplied by m, the next one by m - 1, and so on; none becomes
    smaller than the one before.

    Examples
    --------
    >>> holm(np.array([0.01, 0.02, 0.5])).tolist()
    [0.03, 0.04, 0.5]
    """
    order = np.argsort(p_values, kind="stable")
    factors = np.arange(len(p_values), 0, -1)
    adjusted = np.empty(len(p_values))
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(factors * p_values[order]))
    return adjusted


def benjamini_hochberg(p_values: Array) -> Array:
    """The expected share of false ones among the rejected is at most alpha.

    For tests that are independent, or depend on each other positively. The k-th smallest of m
    p-values is multiplied by m / k; none becomes larger than the one after it.

    Examples
    --------
    >>> benjamini_hochberg(np.array([0.01, 0.02, 0.5])).tolist()
    [0.03, 0.03, 0.5]
    """
    count = len(p_values)
    order = np.argsort(p_values, kind="stable")
    scaled = p_values[order] * count / np.arange(1, count + 1)
    adjusted = np.empty(count)
    adjusted[order] = np.minimum(1.0, np.minimum.accumulate(scaled[::-1])[::-1])
    return adjusted


def uncorrected(p_values: Array) -> Array:
    """As they are."""
    return p_values.copy()


ADJUSTMENTS: dict[str, Callable[[Array], Array]] = {
    "bonferroni": bonferroni,
    "holm": holm,
    "benjamini-hochberg": benjamini_hochberg,
    "none": uncorrected,
}
"""The corrections that look at p-values alone, by name."""


def corrected(correction: str, p_values: Array, exact: Array) -> PValues:
    """P-values with what a correction by name makes of them."""
    adjusted = ADJUSTMENTS[correction](p_values.ravel()).reshape(p_values.shape)
    return PValues(p_values, adjusted, exact)
