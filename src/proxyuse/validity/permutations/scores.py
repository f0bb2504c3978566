"""Associations of different computations on one scale.

By chance alone, a computation with many values has a higher association than one with two, and a
computation with as many values as rows always has the same one. So each association is compared
with those of the same computation under permutations: a gamma distribution with their mean and
variance is fitted (mutual information follows one if cells have enough rows), and the score is
minus the logarithm of its tail probability at the association.

A score increases with the association, so a computation's own p-value does not change. The fit of
the gamma distribution affects only how evenly computations share the probability of a false
rejection, not its size.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from proxyuse.lang.evaluate import Array
from proxyuse.validity.permutations.comparison import TIES

STEPS = 8  # shapes are rounded to this many per factor of two
LEAST_SHAPE, MOST_SHAPE = 2.0**-10, 2.0**24
LEVELS = np.concatenate([np.linspace(0, 1, 21), np.linspace(1.1, 6, 50), np.linspace(6.5, 30, 48),
                         np.geomspace(32, 300, 24)])  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Scale:
    """The gamma distributions that score the associations of some computations.

    Attributes
    ----------
    units : the scales of the gamma distributions; 0 where associations do not vary.
    shapes : the shapes of the gamma distributions.
    """

    units: Array
    shapes: Array

    @classmethod
    def fitted(cls, permuted: Array) -> Scale:
        """Fit to permuted associations, by computation and permutation."""
        mean, variance = permuted.mean(axis=1), permuted.var(axis=1)
        spread = permuted.max(axis=1) - permuted.min(axis=1)
        varies = spread > 10 * (TIES[0] * np.abs(mean) + TIES[1])
        shape = mean**2 / np.where(varies, variance, 1.0)
        shape = np.clip(np.where(varies, shape, 1.0), LEAST_SHAPE, MOST_SHAPE)
        rounded = 2.0 ** (np.round(STEPS * np.log2(shape)) / STEPS)
        return cls(np.where(varies, mean / rounded, 0.0), rounded)

    @property
    def varies(self) -> Array:
        """Whether permutations change the association of each computation."""
        return self.units > 0

    def scores(self, values: Array) -> Array:
        """The scores by computation and permutation; minus infinity if associations do not vary.

        Scores are interpolated between levels and extrapolated above the last one, both linearly,
        because the logarithm of the tail is nearly linear.
        """
        scores = np.full(values.shape, -np.inf)
        units = np.where(self.varies, self.units, 1.0)
        scaled = values / units[:, None]
        for shape in np.unique(self.shapes[self.varies]).tolist():
            own = np.flatnonzero((self.shapes == shape) & self.varies)
            points, levels, slope = _tail_of(shape)
            beyond = np.maximum(scaled[own] - points[-1], 0.0)
            scores[own] = np.interp(scaled[own], points, levels) + slope * beyond
        return scores


@lru_cache(maxsize=1024)
def _tail_of(shape: float) -> tuple[Array, Array, float]:
    """Points of the log tail of a gamma distribution, and its slope beyond the last point."""
    from scipy.special import gammainccinv

    points = gammainccinv(shape, np.exp(-LEVELS))
    distinct = np.concatenate([[True], np.diff(points) > 0])  # many are 0 for small shapes
    points, levels = points[distinct], LEVELS[distinct]
    slope = (levels[-1] - levels[-2]) / (points[-1] - points[-2])
    return points, levels, float(slope)
