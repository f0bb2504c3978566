"""Where a monotone question about a number changes its answer, to the last float64 number."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from proxyuse.lang.evaluate import Array

AT_ONCE = 1024
"""How many numbers are asked about at a time: few calls, each with a short array."""


def last_with_first_answer(answers: Callable[[Array], Array]) -> tuple[float, bool]:
    """The largest number for which a monotone question is answered as for the smallest.

    With it, that answer. A search over all float64 numbers, from minus to plus infinity.

    Examples
    --------
    >>> last_with_first_answer(lambda numbers: numbers * 0.5 <= 1.5)
    (3.0, True)
    """
    start, zero, end = np.asarray(answers(np.array([-math.inf, 0.0, math.inf])), dtype=np.bool_)
    first = bool(start)
    if bool(end) == first:
        return math.inf, first
    low, high = (0, _place(math.inf)) if bool(zero) == first else (_place(-math.inf), 0)
    while high - low > 1:  # `low` is answered as the first one is, `high` is not
        step = max(1, (high - low) // AT_ONCE)
        places = np.arange(low + step, high, step, dtype=np.int64)
        held = np.asarray(answers(_numbers(places)), dtype=np.bool_) == first
        changed = int(np.argmin(held)) if not held.all() else len(places)
        low, high = (
            int(places[changed - 1]) if changed else low,
            int(places[changed]) if changed < len(places) else high,
        )
    return float(_numbers(np.array([low]))[0]), first


def _place(number: float) -> int:
    """The place of a float64 number among all of them."""
    bits = int(np.float64(number).view(np.int64))
    return bits if bits >= 0 else -(bits & 0x7FFF_FFFF_FFFF_FFFF)


def _numbers(places: Array) -> Array:
    """The float64 numbers at some places."""
    sizes = np.abs(places).view(np.float64)
    return np.where(places < 0, -sizes, sizes)


NEAR = (512, 8)
"""How many float64 numbers on either side of a guess are looked at first."""


def last_with_first_answers(
    answers: Callable[[Array, Array], Array], count: int, guess: Array | None = None
) -> tuple[Array, Array]:
    """The same for many monotone questions at once.

    `answers` is given one number for each of some questions, and which questions these are. With
    a `guess` near the solution few steps are needed, without or with a bad one 64.

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
    low = np.where(positive, 0, _place(-math.inf))
    high = np.where(positive, _place(math.inf), 0)
    if guess is not None:
        finite = np.isfinite(guess)
        at = _places(np.where(finite, guess, 0.0))
        for distance in NEAR:
            for side, end in ((-distance, low), (distance, high)):
                held = np.asarray(answers(_numbers(at + side), every), dtype=np.bool_) == first
                fits = finite & (held if side < 0 else ~held)
                end[fits] = at[fits] + side
    rows = np.flatnonzero(changes)
    while len(rows):
        middle = low[rows] + (high[rows] - low[rows]) // 2
        held = np.asarray(answers(_numbers(middle), rows), dtype=np.bool_) == first[rows]
        low[rows[held]], high[rows[~held]] = middle[held], middle[~held]
        rows = rows[high[rows] - low[rows] > 1]
    return np.where(changes, _numbers(low), math.inf), first


def _places(numbers: Array) -> Array:
    """The places of float64 numbers among all of them."""
    bits = np.ascontiguousarray(numbers, dtype=np.float64).view(np.int64)
    return np.where(bits >= 0, bits, -(bits & 0x7FFF_FFFF_FFFF_FFFF))
