"""The differences between two certificates, entry by entry."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

TOLERANCE = 1e-12


@dataclass(frozen=True, slots=True)
class Difference:
    """An entry that differs from the certificate.

    Attributes
    ----------
    where : the entry, such as ``program.hash``.
    expected : the certified value.
    actual : the value of the repeated audit.

    Examples
    --------
    >>> print(*differences({"a": [0.5, "x"]}, {"a": [0.5 + 1e-14, "y"], "b": 1}), sep="; ")
    a[1]: certified 'x', got 'y'; b: certified nothing, got 1
    """

    where: str
    expected: object
    actual: object

    def __str__(self) -> str:
        return f"{self.where}: certified {_shown(self.expected)}, got {_shown(self.actual)}"


class _Nothing:
    """A missing entry."""


NOTHING = _Nothing()


def differences(expected: object, actual: object, where: str = "") -> Iterator[Difference]:
    """Yield the entries in which two JSON values differ by more than rounding."""
    if isinstance(expected, Mapping) and isinstance(actual, Mapping):
        for name in sorted({*expected, *actual}):
            inner = f"{where}.{name}" if where else name
            yield from differences(expected.get(name, NOTHING), actual.get(name, NOTHING), inner)
    elif isinstance(expected, list) and isinstance(actual, list):
        for index in range(max(len(expected), len(actual))):
            one, other = (
                side[index] if index < len(side) else NOTHING for side in (expected, actual)
            )
            yield from differences(one, other, f"{where}[{index}]")
    elif not _alike(expected, actual):
        yield Difference(where, expected, actual)


def _alike(one: object, other: object) -> bool:
    numbers = [type(side) in (int, float) for side in (one, other)]
    if all(numbers):
        return close(one, other)
    return type(one) is type(other) and one == other


def close(one: Any, other: Any) -> bool:
    """Return whether two numbers are equal, integers exactly and others up to rounding."""
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
