"""P-values adjusted for multiple tests.

An adjusted p-value is the smallest level of the corrected test at which its hypothesis is
rejected, so it is compared with alpha as if there were only one test.
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
    p_values : the p-value of each test.
    adjusted : the adjusted p-values.
    exact : whether each is computed over all permutations rather than drawn ones.
    """

    p_values: Array
    adjusted: Array
    exact: Array


def bonferroni(p_values: Array) -> Array:
    """Bounds the probability of any false rejection by alpha, for any dependence of the tests.

    Examples
    --------
    >>> bonferroni(np.array([0.01, 0.02, 0.5])).tolist()
    [0.03, 0.06, 1.0]
    """
    return np.asarray(np.minimum(1.0, len(p_values) * p_values))


def holm(p_values: Array) -> Array:
    """The same guarantee as Bonferroni, with p-values that are never larger.

    Multiplies the smallest of m p-values by m, the next by m - 1, and so on. No value becomes
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
    """Bounds the false discovery rate by alpha.

    Holds for independent or positively dependent tests. Multiplies the k-th smallest of m p-values
    by m / k. No value becomes larger than the one after it.

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
    """The p-values unchanged."""
    return p_values.copy()


ADJUSTMENTS: dict[str, Callable[[Array], Array]] = {
    "bonferroni": bonferroni,
    "holm": holm,
    "benjamini-hochberg": benjamini_hochberg,
    "none": uncorrected,
}
"""The corrections that need only p-values, by name."""


def corrected(correction: str, p_values: Array, exact: Array) -> PValues:
    """P-values with their adjusted values under a named correction."""
    adjusted = ADJUSTMENTS[correction](p_values.ravel()).reshape(p_values.shape)
    return PValues(p_values, adjusted, exact)
