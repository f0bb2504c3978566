"""Limits on detection where the number of decompositions is exponential."""

from __future__ import annotations

from dataclasses import dataclass, fields

from proxyuse.errors import DataError


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits on detection where the number of decompositions is exponential.

    Attributes
    ----------
    subsets : the most operand subsets of one operator that are exhausted or listed. The limit is
        lower for many rows; see `SumBudget`.
    search : the most operand sets that are bounded to exclude their subsets, when the subsets
        cannot be exhausted.
    grow : the most subsets of one operator that a search measures when they cannot be exhausted.
        With few rows the search measures more. 0 turns it off.
    occurrences : the most sets of occurrences of a repeated term that are measured to find the
        strongest.
    positions : in a forest with at most this many positions, everything is measured.
    """

    subsets: int = 16_384
    search: int = 256
    grow: int = 64
    occurrences: int = 256
    positions: int = 4096

    def __post_init__(self) -> None:
        for name in BUDGET_KEYS:
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 0:
                raise DataError(f"a budget's {name} is {value!r}; pass a whole number of 0 or more")


BUDGET_KEYS = tuple(item.name for item in fields(Budget))
