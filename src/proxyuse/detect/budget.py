"""How much detection may spend where the number of decompositions is exponential."""

from __future__ import annotations

from dataclasses import dataclass, fields

from proxyuse.errors import DataError


@dataclass(frozen=True, slots=True)
class Budget:
    """How much work detection may spend where the number of decompositions is exponential.

    Attributes
    ----------
    subsets : subsets of the operands of one operator that are exhausted, or listed, at most. With
        many rows there are fewer; see `SumBudget`.
    search : sets of operands that may be bounded to exclude their subsets, when there are more.
    grow : subsets of one operator that may be measured in a search when they cannot be exhausted,
        or more while rows are few; 0 searches none.
    occurrences : sets of occurrences of one repeated term that may be measured to find the
        strongest.
    positions : of a forest up to which everything is measured, needed or not.
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
