"""Weights in fixed point, so that sums do not depend on the order in which they are added.

Whole weights stay as they are. Other weights become multiples of a power of two, few enough that
float64 and int64 hold every sum of them exactly.
"""

from __future__ import annotations

import math

import numpy as np

from proxyuse.lang.evaluate import Array

TOTAL_BITS = 52
"""The number of bits of the sum of all masses."""


def whole_masses(weights: Array) -> tuple[Array, int]:
    """Return the weights as integers, and their sum: at most ``2 ** TOTAL_BITS``.

    Whole weights are kept if their sum is within that limit. Other weights are rounded to
    multiples of a power of two, but never to 0. For n rows, this moves each share of the total by
    less than ``n * 2 ** (2 - TOTAL_BITS)``.

    Examples
    --------
    >>> masses, total = whole_masses(np.array([0.5, 0.25, 1e-30]))
    >>> float(masses[0] / masses[1]), int(masses[2]), total < 2**TOTAL_BITS
    (2.0, 1, True)
    """
    exponent = _exponent(weights)
    masses = weights
    if exponent is not None:
        scaled = np.rint(np.ldexp(weights, exponent))
        masses = np.where(weights > 0, np.maximum(scaled, 1.0), 0.0)
    whole = masses.astype(np.int64)
    return whole, int(whole.sum())


def fixed_point(weights: Array) -> Array:
    """Return the weights as float64 numbers whose sums are exact: multiples of one power of two.

    Examples
    --------
    >>> parts = fixed_point(np.array([0.1, 0.2, 0.3]))
    >>> bool((parts[0] + parts[1]) + parts[2] == parts[0] + (parts[1] + parts[2]))
    True
    """
    exponent = _exponent(weights)
    if exponent is None:
        return weights
    return np.asarray(np.ldexp(whole_masses(weights)[0].astype(np.float64), -exponent))


def _exponent(weights: Array) -> int | None:
    """Return the exponent of the power of two that scales the weights; None keeps them."""
    total = float(weights.sum())
    if total <= 2.0**TOTAL_BITS and np.array_equal(np.rint(weights), weights):
        return None
    # One bit less, because masses may be rounded up. `fsum` does not depend on the order.
    return TOTAL_BITS - 1 - math.frexp(math.fsum(weights.tolist()))[1]
