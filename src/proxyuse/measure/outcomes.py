"""What each group gets: how many rows of a group have each decision, or their mean output.

`OutcomeCounts` of different rows of the same population add up with ``+``. They hold everything
that a rate or a mean and its confidence bounds need: numbers of rows, masses, and squared masses.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from proxyuse.lang.evaluate import Array


@dataclass(frozen=True, slots=True, eq=False)
class ClassCounts:
    """The decisions of some rows, by group and class.

    Attributes
    ----------
    rows : the number of rows.
    masses : the sum of their weights.
    squares : the sum of their squared weights.

    Examples
    --------
    >>> groups, classes = np.array([0, 0, 1, 1]), np.array([0, 1, 1, 1])
    >>> counts = ClassCounts.of(groups, classes, np.ones(4), (2, 2))
    >>> counts.rates()[:, 1].tolist(), (counts + counts).rows.tolist()
    ([0.5, 1.0], [[2, 2], [0, 4]])
    """

    rows: Array
    masses: Array
    squares: Array

    @classmethod
    def of(cls, groups: Array, classes: Array, weights: Array, shape: tuple[int, int]) -> Self:
        """Count some rows, in O(n)."""
        cells = groups * shape[1] + classes
        size = shape[0] * shape[1]
        return cls(
            np.bincount(cells, minlength=size).reshape(shape),
            np.bincount(cells, weights, minlength=size).reshape(shape),
            np.bincount(cells, weights * weights, minlength=size).reshape(shape),
        )

    def __add__(self, other: Self) -> Self:
        return type(self)(
            self.rows + other.rows, self.masses + other.masses, self.squares + other.squares
        )

    def rates(self) -> Array:
        """Return the share of each class in each group, by weight."""
        shares: Array = self.masses / self.masses.sum(axis=1, keepdims=True)
        return shares

    def variances(self) -> Array:
        """Return the variance of each rate if every row is one observation.

        The weighted mean of a flag f has the variance ``sum w^2 (f - rate)^2 / (sum w)^2``.
        """
        rates, squares = self.rates(), self.squares.sum(axis=1, keepdims=True)
        centered = self.squares * (1 - rates) ** 2 + (squares - self.squares) * rates**2
        variances: Array = centered / self.masses.sum(axis=1, keepdims=True) ** 2
        return variances


@dataclass(frozen=True, slots=True, eq=False)
class MeanCounts:
    """The numeric outputs of some rows, by group.

    Sums are taken around the mean of each group, so that large outputs lose no digits.

    Attributes
    ----------
    rows : the number of rows.
    masses, squares : the sum of the weights, and of their squares.
    means : the mean output, by weight.
    first, second : the sums of ``w^2 (y - mean)`` and ``w^2 (y - mean)^2``.
    low, high : the smallest and the largest output of all groups.

    Examples
    --------
    >>> groups, outputs = np.array([0, 0, 1]), np.array([1.0, 3.0, 5.0])
    >>> counts = MeanCounts.of(groups, outputs, np.ones(3), 2)
    >>> counts.means.tolist(), (counts + counts).variances().tolist()
    ([2.0, 5.0], [0.25, 0.0])
    """

    rows: Array
    masses: Array
    squares: Array
    means: Array
    first: Array
    second: Array
    low: float
    high: float

    @classmethod
    def of(cls, groups: Array, outputs: Array, weights: Array, count: int) -> Self:
        """Count some rows, in O(n). Outputs that are missing or infinite do not count."""
        known = np.isfinite(outputs)
        groups, outputs, weights = groups[known], outputs[known], weights[known]

        def total(values: Array) -> Array:
            return np.bincount(groups, values, minlength=count)

        masses, squares = total(weights), total(weights * weights)
        middle = float(outputs.mean()) if len(outputs) else 0.0
        shift = _divided(total(weights * (outputs - middle)), masses)
        means = np.where(masses > 0, middle + shift, 0.0)
        centered = outputs - means[groups]
        return cls(
            np.bincount(groups, minlength=count),
            masses,
            squares,
            means,
            total(weights * weights * centered),
            total(weights * weights * centered * centered),
            float(outputs.min(initial=np.inf)),
            float(outputs.max(initial=-np.inf)),
        )

    def __add__(self, other: Self) -> Self:
        masses = self.masses + other.masses
        shift = _divided((other.means - self.means) * other.masses, masses)
        means = np.where(self.masses > 0, self.means + shift, other.means)
        parts = [part._around(means) for part in (self, other)]
        return type(self)(
            self.rows + other.rows,
            masses,
            self.squares + other.squares,
            means,
            parts[0][0] + parts[1][0],
            parts[0][1] + parts[1][1],
            min(self.low, other.low),
            max(self.high, other.high),
        )

    def _around(self, means: Array) -> tuple[Array, Array]:
        """Return `first` and `second` around other means."""
        shift = np.where(self.masses > 0, self.means - means, 0.0)
        first = self.first + self.squares * shift
        return first, self.second + 2 * shift * self.first + self.squares * shift**2

    def variances(self) -> Array:
        """Return the variance of each mean if every row is one observation."""
        return _divided(self.second, self.masses**2)


Counts = ClassCounts | MeanCounts


def effective_sizes(masses: Array, squares: Array) -> Array:
    """Return the effective number of rows of each group (Kish): all rows, if weights are equal."""
    return _divided(masses**2, squares)


def _divided(top: Array, bottom: Array) -> Array:
    return np.divide(top, bottom, out=np.zeros_like(top, dtype=np.float64), where=bottom > 0)
