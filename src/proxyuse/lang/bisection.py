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
