"""What statistics say of one witness: would it be there in the population too?

Only the words and numbers stand here; how they are found is the business of `validity`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from msgspec import Meta, Struct


class Verdict(StrEnum):
    """Whether a witness of the sample would be one in the population it was drawn from."""

    CONFIRMED = "confirmed"
    POSSIBLE = "possible"
    UNDECIDED = "cannot be decided"


class VerdictCounts(Struct, frozen=True):
    """How many witnesses got each verdict.

    Examples
    --------
    >>> VerdictCounts.of([Verdict.POSSIBLE, Verdict.UNDECIDED, "possible"])
    VerdictCounts(confirmed=0, possible=2, undecided=1)
    """

    confirmed: Annotated[int, Meta(ge=0)]
    possible: Annotated[int, Meta(ge=0)]
    undecided: Annotated[int, Meta(ge=0)]

    @classmethod
    def of(cls, verdicts: Iterable[str]) -> VerdictCounts:
        """Count verdicts."""
        known = Counter(map(str, verdicts))
        return cls(*(known[str(verdict)] for verdict in Verdict))


Interval = tuple[float, float]
"""A lower and an upper confidence bound."""


@dataclass(frozen=True, slots=True)
class Validity:
    """What was found out about one witness; None where it was not asked for.

    Attributes
    ----------
    verdict : confirmed if every way that was asked for confirms it; possible if only the
        estimates in this sample pass the thresholds; undecided if there were too few
        permutations for any answer.
    p_value : of its association, under independence.
    adjusted_p_value : the same, corrected for the number of tests.
    association_interval, influence_interval : a lower and an upper bound, each by itself holding
        for all tests at once with confidence 1 - alpha.
    corrected_association : the association without what chance adds to it in a sample.
    confirmations, splits : in how many splits of the rows it was found in both parts, and how
        many splits there were.

    Examples
    --------
    >>> Validity(Verdict.POSSIBLE, p_value=0.2).confirmed
    False
    """

    verdict: Verdict
    p_value: float | None = None
    adjusted_p_value: float | None = None
    association_interval: Interval | None = None
    influence_interval: Interval | None = None
    corrected_association: float | None = None
    confirmations: int | None = None
    splits: int | None = None

    @property
    def confirmed(self) -> bool:
        """Whether every way that was asked for confirms it."""
        return self.verdict is Verdict.CONFIRMED
