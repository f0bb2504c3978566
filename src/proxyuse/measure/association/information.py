"""Entropy and mutual information of tables of masses, in nats."""

from __future__ import annotations

import numpy as np

from proxyuse.lang.evaluate import Array


def entropy(masses: Array) -> float:
    """Return the entropy of a distribution given by masses.

    Examples
    --------
    >>> round(entropy(np.array([2.0, 2.0])), 4), entropy(np.array([3.0]))
    (0.6931, 0.0)
    """
    shares = masses[masses > 0] / masses.sum()
    return max(0.0, float(-np.dot(shares, np.log(shares))))


def mutual_information(masses: Array) -> float:
    """Return the mutual information of the rows and columns of a table of masses."""
    joint = entropy(masses.ravel())
    return max(0.0, entropy(masses.sum(axis=1)) + entropy(masses.sum(axis=0)) - joint)
