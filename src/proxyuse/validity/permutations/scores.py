"""Associations of different computations on one scale.

By chance alone a computation of many values has a higher association than one of two values, and
one with as many values as rows always has the same. So each association is compared with those
that permutations give the same computation: a gamma distribution of their mean and variance is
laid through them (for tables with enough rows in each cell, information follows one), and the
score is minus the logarithm of the chance that it gives to such an association or a higher one.

A score rises with the association, so what a computation's own p-value is does not change. How
well the gamma distribution fits decides how evenly computations share the chance of a false
rejection, not how large it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from proxyuse.lang.evaluate import Array
from proxyuse.validity.permutations.comparison import TIES

STEPS = 8  # shapes are rounded to this many for each doubling
LEAST_SHAPE, MOST_SHAPE = 2.0**-10, 2.0**24
LEVELS = np.concatenate([np.linspace(0, 1, 21), np.linspace(1.1, 6, 50), np.linspace(6.5, 30, 48),
                         np.geomspace(32, 300, 24)])  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Scale:
    """How to score the associations of some computations.

    Attributes
    ----------
    units : what to divide associations by; 0 where they do not vary.
    shapes : of the gamma distributions.
    """

    units: Array
    shapes: Array

    @classmethod
    def fitted(cls, permuted: Array) -> Scale:
        """From what permutations gave: by computation and permutation."""
        mean, variance = permuted.mean(axis=1), permuted.var(axis=1)
        spread = permuted.max(axis=1) - permuted.min(axis=1)
        varies = spread > 10 * (TIES[0] * np.abs(mean) + TIES[1])
        shape = mean**2 / np.where(varies, variance, 1.0)
        shape = np.clip(np.where(varies, shape, 1.0), LEAST_SHAPE, MOST_SHAPE)
        rounded = 2.0 ** (np.round(STEPS * np.log2(shape)) / STEPS)
        return cls(np.where(varies, mean / rounded, 0.0), rounded)

    @property
    def varies(self) -> Array:
        """Which computations have associations that permutations change."""
        return self.units > 0

    def scores(self, values: Array) -> Array:
        """By computation and permutation; minus infinity where associations do not vary.

        Between some levels a score is interpolated, above the last one extrapolated, linearly as
        the logarithm of the tail nearly is.
        """
        found = np.full(values.shape, -np.inf)
        units = np.where(self.varies, self.units, 1.0)
        scaled = values / units[:, None]
        for shape in np.unique(self.shapes[self.varies]).tolist():
            own = np.flatnonzero((self.shapes == shape) & self.varies)
            points, levels, slope = _tail_of(shape)
            mine = scaled[own]
            beyond = np.maximum(mine - points[-1], 0.0)
            found[own] = np.interp(mine, points, levels) + slope * beyond
        return found


@lru_cache(maxsize=1024)
def _tail_of(shape: float) -> tuple[Array, Array, float]:
    """Where the tail of a gamma distribution has which logarithm, and how it goes on."""
    from scipy.special import gammainccinv

    points = gammainccinv(shape, np.exp(-LEVELS))
    new = np.concatenate([[True], np.diff(points) > 0])  # for small shapes, many start at 0
    points, levels = points[new], LEVELS[new]
    slope = (levels[-1] - levels[-2]) / (points[-1] - points[-2])
    return points, levels, float(slope)
