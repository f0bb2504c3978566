"""Whether a witness exists in the population: the verdict and its figures.

This module only defines the types; `validity` computes them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from msgspec import Meta, Struct


class Verdict(StrEnum):
    """Whether a witness in the sample is also a witness in the population."""

    CONFIRMED = "confirmed"
    POSSIBLE = "possible"
    UNDECIDED = "cannot be decided"


class VerdictCounts(Struct, frozen=True):
    """The number of witnesses with each verdict.

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
    """The test results of one witness. A figure of a method that was not requested is None.

    Attributes
    ----------
    verdict : confirmed if every requested method confirms it; possible if only the estimates in
        this sample pass the thresholds; undecided if there were too few permutations for an
        answer.
    p_value : the p-value of its association, under independence.
    adjusted_p_value : the p-value, corrected for the number of tests.
    association_interval, influence_interval : a lower and an upper bound. Each bound holds for
        all tests at once with confidence 1 - alpha.
    corrected_association : the association minus the part that chance adds in a sample.
    confirmations, splits : the number of splits in which both parts have the witness, and the
        number of splits.

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
        """Whether every requested method confirms it."""
        return self.verdict is Verdict.CONFIRMED
