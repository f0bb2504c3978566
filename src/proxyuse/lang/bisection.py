"""Bisection over float64: find where a monotone predicate changes, exact to the last bit.

Every float64 number has a *rank*, its index among all of them in ascending order, so bisecting
ranks visits representable numbers only.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from proxyuse.lang.evaluate import Array

BATCH_SIZE = 1024
"""The number of values per call of a single predicate: few calls, short arrays."""

GUESS_DISTANCES = (512, 8)
"""Distances from a guess, in ranks, at which to look for the change first."""


def last_with_first_answer(answers: Callable[[Array], Array]) -> tuple[float, bool]:
    """Find the largest number with the same answer as minus infinity.

    Parameters
    ----------
    answers : a monotone predicate: it changes at most once from minus to plus infinity.

    Returns
    -------
    tuple of float and bool
        The number (infinity if the answer never changes), and the answer at minus infinity.

    Examples
    --------
    >>> last_with_first_answer(lambda numbers: numbers * 0.5 <= 1.5)
    (3.0, True)
    """
    start, zero, end = np.asarray(answers(np.array([-math.inf, 0.0, math.inf])), dtype=np.bool_)
    first = bool(start)
    if bool(end) == first:
        return math.inf, first
    low, high = (0, _rank(math.inf)) if bool(zero) == first else (_rank(-math.inf), 0)
    while high - low > 1:  # `low` has the first answer, `high` does not
        step = max(1, (high - low) // BATCH_SIZE)
        ranks = np.arange(low + step, high, step, dtype=np.int64)
        unchanged = np.asarray(answers(_numbers(ranks)), dtype=np.bool_) == first
        changed = int(np.argmin(unchanged)) if not unchanged.all() else len(ranks)
        low, high = (
            int(ranks[changed - 1]) if changed else low,
            int(ranks[changed]) if changed < len(ranks) else high,
        )
    return float(_numbers(np.array([low]))[0]), first


def last_with_first_answers(
    answers: Callable[[Array, Array], Array], count: int, guess: Array | None = None
) -> tuple[Array, Array]:
    """Do the same for many monotone predicates at once.

    Parameters
    ----------
    answers : takes one number per predicate and the indices of those predicates.
    count : the number of predicates.
    guess : numbers near the solutions. A good guess saves most of the 64 steps; a bad one does
        no harm.

    Examples
    --------
    >>> halves = lambda numbers, some: numbers * 0.5 <= np.array([1.5, 2.0])[some]
    >>> [column.tolist() for column in last_with_first_answers(halves, 2)]
    [[3.0, 4.0], [True, True]]
    """
    every = np.arange(count)
    first = np.asarray(answers(np.full(count, -math.inf), every), dtype=np.bool_)
    changes = np.asarray(answers(np.full(count, math.inf), every), dtype=np.bool_) != first
    positive = np.asarray(answers(np.zeros(count), every), dtype=np.bool_) == first
    low = np.where(positive, 0, _rank(-math.inf))
    high = np.where(positive, _rank(math.inf), 0)
    if guess is not None:
        finite = np.isfinite(guess)
        guess_rank = _ranks(np.where(finite, guess, 0.0))
        for distance in GUESS_DISTANCES:
            for side, end in ((-distance, low), (distance, high)):
                tried = guess_rank + side
                unchanged = np.asarray(answers(_numbers(tried), every), dtype=np.bool_) == first
                valid = finite & (unchanged if side < 0 else ~unchanged)
                end[valid] = tried[valid]
    active = np.flatnonzero(changes)
    while len(active):
        middle = low[active] + (high[active] - low[active]) // 2
        unchanged = np.asarray(answers(_numbers(middle), active), dtype=np.bool_) == first[active]
        low[active[unchanged]], high[active[~unchanged]] = middle[unchanged], middle[~unchanged]
        active = active[high[active] - low[active] > 1]
    return np.where(changes, _numbers(low), math.inf), first


def _rank(number: float) -> int:
    """Return the rank of a float64 number; both zeros have rank 0."""
    bits = int(np.float64(number).view(np.int64))
    return bits if bits >= 0 else -(bits & 0x7FFF_FFFF_FFFF_FFFF)


def _ranks(numbers: Array) -> Array:
    """Return the ranks of float64 numbers."""
    bits = np.ascontiguousarray(numbers, dtype=np.float64).view(np.int64)
    return np.where(bits >= 0, bits, -(bits & 0x7FFF_FFFF_FFFF_FFFF))


def _numbers(ranks: Array) -> Array:
    """Return the float64 numbers with these ranks."""
    magnitudes = np.abs(ranks).view(np.float64)
    return np.where(ranks < 0, -magnitudes, magnitudes)
