"""The correlation of partial sums with an attribute, from the Gram matrix of the operands.

The correlation of any partial sum with a protected attribute follows from the covariances of its
operands. One k x k matrix therefore gives good candidates among 2^k partial sums and, for squared
correlation, an upper bound on all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from proxyuse.lang.evaluate import Array

ROUNDING = 1e-12
"""The distance of a point from the boundary of the dual cone, relative to the magnitudes."""

LAST = -1e300
"""The score of a constant sum: below every correlation."""


@dataclass(frozen=True, slots=True, eq=False)
class Moments:
    """Weighted covariances of operands, and of each operand with a target.

    Attributes
    ----------
    gram : the covariances of the operands.
    target : the covariance of each operand with the target.
    variance : the variance of the target.

    Examples
    --------
    >>> x = np.array([[1.0, 2.0, 3.0, 4.0], [0.0, -1.0, -2.0, -2.0]])
    >>> moments = Moments.of(x, x[0] + x[1], np.ones(4))
    >>> bool(np.isclose(moments.squared_correlation([0, 1]), 1.0))
    True
    """

    gram: Array
    target: Array
    variance: float

    @classmethod
    def of(cls, operands: Array, target: Array, weights: Array) -> Moments:
        """Compute the moments of operands, one per row, in O(k^2 n); missing counts as the mean."""
        centered = centered_rows(operands, weights)
        return cls.of_centered(centered @ centered.T, centered, target, weights)

    @classmethod
    def of_centered(cls, gram: Array, centered: Array, target: Array, weights: Array) -> Moments:
        """Compute the moments from the output of `centered_rows` and its Gram matrix."""
        (goal,) = centered_rows(np.asarray(target, dtype=np.float64)[None], weights)
        return cls(gram, centered @ goal, float(goal @ goal))

    def squared_correlation(self, chosen: Sequence[int]) -> float:
        """Return the squared correlation of the sum of some operands with the target."""
        own = float(self.gram[list(chosen)][:, list(chosen)].sum())
        if own <= 0 or self.variance <= 0:
            return 0.0
        return float(self.target[list(chosen)].sum()) ** 2 / (own * self.variance)

    def forward(self, start: Sequence[int], sign: int, allowed: Array) -> Iterator[int]:
        """Yield allowed operands in greedy order: each one increases the correlation most.

        `sign` is the sign of the correlation. O(k) per step.
        """
        chosen = list(start)
        free = allowed.copy()
        free[chosen] = False
        across = self.gram[chosen].sum(axis=0)
        own = float(across[chosen].sum())
        goal = sign * float(self.target[chosen].sum())
        diagonal, signed = np.diagonal(self.gram), sign * self.target
        while free.any():
            best = int(np.argmax(_correlation(goal + signed, own + 2 * across + diagonal, free)))
            free[best] = False
            own += 2 * float(across[best]) + float(diagonal[best])
            goal += float(signed[best])
            across = across + self.gram[best]
            yield best

    def best_pair(self, sign: int, allowed: Array) -> tuple[int, int] | None:
        """Return the two operands whose sum has the largest correlation with this sign. O(k^2)."""
        index = np.flatnonzero(allowed)
        if len(index) < 2:
            return None
        diagonal, signed = np.diagonal(self.gram)[index], sign * self.target[index]
        own = diagonal[:, None] + diagonal + 2 * self.gram[np.ix_(index, index)]
        free = ~np.eye(len(index), dtype=np.bool_)
        best = int(np.argmax(_correlation(signed[:, None] + signed, own, free)))
        first, second = divmod(best, len(index))
        return int(index[first]), int(index[second])

    def swapped(self, chosen: Sequence[int], sign: int, allowed: Array, rounds: int) -> list[int]:
        """Improve a set by greedy exchanges of one operand; its size stays the same.

        O(k |chosen|) per round. Ends when no exchange increases the correlation.
        """
        inside = list(chosen)
        diagonal, signed = np.diagonal(self.gram), sign * self.target
        for _ in range(rounds):
            free = allowed.copy()
            free[inside] = False
            outside = np.flatnonzero(free)
            if not len(outside):
                break
            across = self.gram[inside].sum(axis=0)
            goal = signed[inside].sum()
            own = across[inside].sum()
            without = own - 2 * across[inside] + diagonal[inside]
            mixed = across[None, outside] - self.gram[inside][:, outside]
            size = without[:, None] + 2 * mixed + diagonal[outside]
            gain = goal - signed[inside][:, None] + signed[outside]
            scores = _correlation(gain, size, np.ones_like(size, dtype=np.bool_))
            best = int(np.argmax(scores))
            before = _correlation(np.array([goal]), np.array([own]), np.ones(1, dtype=np.bool_))
            if scores.flat[best] <= before[0] + 1e-12:
                break
            removed, added = divmod(best, len(outside))
            inside[removed] = int(outside[added])
        return sorted(inside)

    def certificate(self) -> float:
        """Return an upper bound on the squared correlation of every partial sum with the target.

        A partial sum has coefficients 0 and 1, which are nonnegative. It lies in the cone spanned
        by the operands, so its angle to the target is at least that of the cone. For any b with
        ``gram @ b >= target`` the residual of ``b`` is in the polar cone, and the squared
        correlation of every vector of the cone is at most ``b' gram b / variance``. A nonnegative
        least-squares fit gives such a b up to rounding. It is moved inside the polar cone before
        its value is used; if that fails, the bound is 1. The target and its negative both need a
        fit, because the correlation is squared.
        """
        if self.variance <= 0:
            return 0.0
        return min(1.0, max(self._one_sided(self.target), self._one_sided(-self.target)))

    def _one_sided(self, target: Array) -> float:
        from scipy.optimize import nnls  # loads slowly

        if (target <= 0).all():
            return 0.0
        scale = np.sqrt(np.maximum(np.diagonal(self.gram), 0.0))
        used = scale > 0
        gram = self.gram[np.ix_(used, used)] / np.outer(scale[used], scale[used])
        goal = target[used] / scale[used]
        values, vectors = np.linalg.eigh(gram)
        held = values > 1e-12 * max(1.0, values[-1])
        root = np.sqrt(values[held])
        try:
            fit, _ = nnls((vectors[:, held] * root).T, (vectors[:, held].T @ goal) / root)
        except RuntimeError:  # no convergence
            return 1.0
        inward = (vectors[:, held] / values[held]) @ (vectors[:, held].T @ np.ones(len(goal)))
        largest = float(np.max(np.abs(gram) @ np.abs(fit) + np.abs(goal)))
        for step in (0.0, 1e-11, 1e-10, 1e-9, 1e-8, 1e-7):
            point = fit + step * largest * inward
            if (gram @ point >= goal + ROUNDING * largest).all():
                return float(point @ gram @ point) / self.variance + ROUNDING
        return 1.0


def centered_rows(operands: Array, weights: Array) -> Array:
    """Center each row and scale it by the square root of the weights; missing becomes 0."""
    numbers = np.asarray(operands, dtype=np.float64)
    held = np.isfinite(numbers)
    if held.all():
        means = numbers @ weights / weights.sum()
        return np.asarray((numbers - means[:, None]) * np.sqrt(weights))
    filled = np.where(held, numbers, 0.0)
    mass = np.maximum(held @ weights, np.finfo(np.float64).tiny)
    means = filled @ weights / mass
    return np.asarray(np.where(held, filled - means[:, None], 0.0) * np.sqrt(weights))


def _correlation(goal: Array, own: Array, free: Array) -> Array:
    """Return ``goal / sqrt(own)``; constant sums rank last, and -inf marks what is not free."""
    scale = float(np.max(np.abs(own), initial=0.0))
    varies = free & (own > 1e-14 * scale)
    return np.where(
        varies, goal / np.sqrt(np.where(varies, own, 1.0)), np.where(free, LAST, -np.inf)
    )
