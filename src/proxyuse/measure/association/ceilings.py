"""The highest association that distributions allow, whatever the data.

An association of 1 needs a computation with exactly as many values as the attribute, and as often.
Everything else stays below: a test has two values, so it says at most one bit about an attribute
with twenty.
"""

from __future__ import annotations

import numpy as np

from proxyuse.lang.evaluate import Array
from proxyuse.measure.association.information import entropy

_MOST_ENUMERATED = 18


def ceiling(masses: Array) -> float:
    """The highest normalized mutual information that two marginal distributions allow.

    ``I(X; Z) <= min(H(X), H(Z))`` and ``H(X, Z) >= max(H(X), H(Z))``, so
    ``min(H(X), H(Z)) / max(H(X), H(Z))`` is an upper bound.

    Examples
    --------
    >>> ceiling(np.array([[5.0, 0.0], [0.0, 5.0]])), ceiling(np.array([[3.0, 4.0]]))
    (1.0, 0.0)
    >>> round(ceiling(np.array([[1.0, 0.0], [1.0, 2.0]])), 4)
    0.8113
    """
    return _ratio(entropy(masses.sum(axis=1)), entropy(masses.sum(axis=0)))


def _ratio(first: float, second: float) -> float:
    if min(first, second) == 0:
        return 0.0
    ratio = min(first, second) / max(first, second)
    return 1.0 if ratio > 1 - 1e-12 else ratio  # entropies of equal masses in another order


def two_valued_ceiling(masses: Array) -> float:
    """The highest normalized mutual information of an attribute with any two-valued computation.

    For a given distribution of Z, ``I(X; Z) - c H(X, Z)`` is convex in the distribution of X given
    Z. So the best X is a function of Z: it divides the values of Z into two groups, and its
    association is ``H(X) / H(Z)``, the higher the closer the groups come to one half each. Tries
    every division of up to 18 values; for more, the largest values are dealt out to the lighter
    group in turn, which comes close to one half. 1 if Z is constant.

    Examples
    --------
    >>> two_valued_ceiling(np.array([0.9, 0.1])), round(two_valued_ceiling(np.ones(20)), 4)
    (1.0, 0.2314)
    >>> round(two_valued_ceiling(np.array([2.0, 1.0, 1.0])), 4)
    0.6667
    """
    shares = np.sort(masses[masses > 0] / masses.sum())[::-1]
    if len(shares) <= 2:
        return 1.0
    one_side = _closest_to_half(shares)
    return min(1.0, entropy(np.array([one_side, 1 - one_side])) / entropy(shares))


def _closest_to_half(shares: Array) -> float:
    """The mass of the group that is closest to one half."""
    if len(shares) > _MOST_ENUMERATED:
        lighter = heavier = 0.0
        for share in shares.tolist():
            lighter, heavier = sorted((lighter + share, heavier))
        return heavier
    sums = np.zeros(1)
    for share in shares[1:]:  # the largest value is in the other group
        sums = np.concatenate([sums, sums + share])
    return float(sums[np.abs(sums - 0.5).argmin()])
