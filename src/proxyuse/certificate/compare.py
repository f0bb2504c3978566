"""What two certificates say differently, entry by entry."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

TOLERANCE = 1e-12


@dataclass(frozen=True, slots=True)
class Difference:
    """An entry that is not as certified.

    Attributes
    ----------
    where : the entry, such as ``program.hash``.
    expected : what the certificate says.
    found : what is found now.

    Examples
    --------
    >>> print(*differences({"a": [0.5, "x"]}, {"a": [0.5 + 1e-14, "y"], "b": 1}), sep="; ")
    a[1]: certified 'x', found 'y'; b: certified nothing, found 1
    """

    where: str
    expected: object
    found: object

    def __str__(self) -> str:
        return f"{self.where}: certified {_shown(self.expected)}, found {_shown(self.found)}"


class _Nothing:
    """No entry at all."""


NOTHING = _Nothing()


def differences(expected: object, found: object, where: str = "") -> Iterator[Difference]:
    """The entries in which two JSON values differ, numbers up to rounding."""
    if isinstance(expected, Mapping) and isinstance(found, Mapping):
        for name in sorted({*expected, *found}):
            inner = f"{where}.{name}" if where else name
            yield from differences(expected.get(name, NOTHING), found.get(name, NOTHING), inner)
    elif isinstance(expected, list) and isinstance(found, list):
        for place in range(max(len(expected), len(found))):
            one, other = (
                side[place] if place < len(side) else NOTHING for side in (expected, found)
            )
            yield from differences(one, other, f"{where}[{place}]")
    elif not _alike(expected, found):
        yield Difference(where, expected, found)


def _alike(one: object, other: object) -> bool:
    numbers = [type(side) in (int, float) for side in (one, other)]
    if all(numbers):
        return close(one, other)
    return type(one) is type(other) and one == other


def close(one: Any, other: Any) -> bool:
    """Whether two numbers are equal up to rounding; whole numbers exactly."""
    if isinstance(one, int) and isinstance(other, int):
        return one == other
    return math.isclose(one, other, rel_tol=TOLERANCE, abs_tol=TOLERANCE)


def _shown(value: object) -> str:
    if value is NOTHING:
        return "nothing"
    if value is None:
        return "none"
    text = repr(value) if isinstance(value, str) else json.dumps(value, default=str)
    return text if len(text) <= 90 else f"{text[:87]}..."
