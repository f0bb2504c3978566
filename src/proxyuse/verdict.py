"""What an audit concludes, about a witness, a protected attribute and the model.

This module defines the types, and the rules that combine them. `validity` computes the verdict of
each witness, and `validity.conclusion` the verdict of each protected attribute. A reason holds its
numbers, not a text: `report.findings.verdict` writes the sentence.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from msgspec import Meta, Struct

from proxyuse.settings import FailOn


class Verdict(StrEnum):
    """Whether there is proxy use in the population that the rows come from.

    A witness is confirmed, possible, or cannot be decided. A protected attribute and an audit can
    have any of the four.
    """

    CONFIRMED = "confirmed"
    POSSIBLE = "possible"
    NOT_FOUND = "not found"
    UNDECIDED = "cannot be decided"


WORST_FIRST = (Verdict.CONFIRMED, Verdict.UNDECIDED, Verdict.POSSIBLE, Verdict.NOT_FOUND)
"""The order in which verdicts decide about several witnesses or attributes."""


def overall(verdicts: Iterable[Verdict]) -> Verdict:
    """The verdict on several attributes: the worst of theirs.

    Examples
    --------
    >>> overall([Verdict.POSSIBLE, Verdict.UNDECIDED]).value
    'cannot be decided'
    >>> overall([Verdict.UNDECIDED, Verdict.CONFIRMED]).value, overall([]).value
    ('confirmed', 'not found')
    """
    known = {Verdict.NOT_FOUND, *verdicts}
    return next(verdict for verdict in WORST_FIRST if verdict in known)


def exit_code_of(verdict: Verdict, violations: int, fail_on: FailOn) -> int:
    """The exit code: 1 for violations that count, 3 if it cannot be decided, otherwise 0.

    Parameters
    ----------
    verdict : the overall verdict. Witnesses that were judged appropriate do not count for it.
    violations : the number of violations, confirmed or not.
    fail_on : ``"possible"`` counts every violation, ``"confirmed"`` only confirmed ones.

    Examples
    --------
    >>> (
    ...     exit_code_of(Verdict.CONFIRMED, 2, "confirmed"),
    ...     exit_code_of(Verdict.POSSIBLE, 2, "possible"),
    ... )
    (1, 1)
    >>> (
    ...     exit_code_of(Verdict.POSSIBLE, 2, "confirmed"),
    ...     exit_code_of(Verdict.UNDECIDED, 0, "possible"),
    ... )
    (0, 3)
    """
    if verdict is Verdict.CONFIRMED or (fail_on == "possible" and violations):
        return 1
    return 3 if verdict is Verdict.UNDECIDED else 0


# Reasons


class _Reason(Struct, frozen=True, tag_field="kind"):
    """Why a verdict is what it is; a file names its kind."""


class TermsUnsettled(_Reason, frozen=True, tag="not settled"):
    """Some computations were neither measured nor excluded by a bound."""

    items: int


class TimeLimitReached(_Reason, frozen=True, tag="time limit"):
    """The time limit stopped the search."""

    seconds: float


class StepsNotAnalyzed(_Reason, frozen=True, tag="not analyzed"):
    """Steps of a pipeline were not analyzed."""

    steps: tuple[str, ...]


class NotExhausted(_Reason, frozen=True, tag="not exhausted"):
    """Spaces were searched but not exhausted, which counts as incomplete with ``strict=True``."""

    spaces: int


class ColumnsMissing(_Reason, frozen=True, tag="columns missing"):
    """Columns that the model reads have no value in these rows, so their use cannot be seen."""

    columns: tuple[str, ...]


class ConstantAttribute(_Reason, frozen=True, tag="constant"):
    """The protected attribute has one value in these rows."""

    rows: int


class TooFewRows(_Reason, frozen=True, tag="too few rows"):
    """Even a copy of the protected attribute could not be confirmed on these rows.

    Attributes
    ----------
    rows : the number of rows.
    needed : about how many rows would be enough; None if that is unknown.
    """

    rows: int
    needed: int | None


class NearlyUnique(_Reason, frozen=True, tag="nearly unique"):
    """The protected attribute has nearly as many values as there are rows."""

    values: int
    rows: int


class InfluenceUnbounded(_Reason, frozen=True, tag="no influence bounds"):
    """The influence measure has no confidence bounds, so no witness can be confirmed."""

    influence: str
    witnesses: int


class TooFewPermutations(_Reason, frozen=True, tag="too few permutations"):
    """There were too few permutations to decide about some witnesses."""

    witnesses: int


class NotConfirmed(_Reason, frozen=True, tag="not confirmed"):
    """Witnesses on these rows that no test confirms for the population."""

    witnesses: int


class NotTested(_Reason, frozen=True, tag="not tested"):
    """Witnesses on these rows that were not tested, because validity was turned off."""

    witnesses: int


class JudgedAppropriate(_Reason, frozen=True, tag="judged appropriate"):
    """Every witness was judged appropriate."""

    witnesses: int


class EpsilonOutOfReach(_Reason, frozen=True, tag="epsilon out of reach"):
    """No computation in the program can reach epsilon, because of the distributions.

    Attributes
    ----------
    epsilon : the threshold.
    highest : the highest association that any computation could have.
    """

    epsilon: float
    highest: float


class CollectiveUse(_Reason, frozen=True, tag="collection"):
    """Many computations that are associated with the attribute change decisions together.

    Attributes
    ----------
    members : the number of computations.
    distributed : whether none of them has enough influence by itself.
    confirmed : whether it is confirmed.
    """

    members: int
    distributed: bool
    confirmed: bool


class ReadsColumns(_Reason, frozen=True, tag="explicit use"):
    """The model reads columns that determine the protected attribute, and they are influential.

    Attributes
    ----------
    columns : the columns.
    confirmed : whether the use of at least one of them is confirmed; the columns are those.
    """

    columns: tuple[str, ...]
    confirmed: bool


Incomplete = TermsUnsettled | TimeLimitReached | StepsNotAnalyzed | NotExhausted
"""Why a search is incomplete."""
Undecidable = ColumnsMissing | ConstantAttribute | TooFewRows | NearlyUnique | EpsilonOutOfReach
"""Why nothing can be learned about a protected attribute from these rows."""
Reason = (
    Incomplete
    | Undecidable
    | InfluenceUnbounded
    | TooFewPermutations
    | NotConfirmed
    | NotTested
    | JudgedAppropriate
    | ReadsColumns
    | CollectiveUse
)
"""Why a verdict is what it is."""


@dataclass(frozen=True, slots=True)
class AttributeVerdict:
    """The verdict on one protected attribute.

    Attributes
    ----------
    verdict : confirmed if a violation is confirmed; undecided if the search is incomplete, or the
        rows allow no answer; possible if violations exist in these rows, but are not confirmed for
        the population; otherwise not found.
    reasons : why, as typed values; empty if the verdict needs no explanation.
    """

    verdict: Verdict
    reasons: tuple[Reason, ...] = ()


def attribute_verdict(
    violations: Iterable[Verdict], undecided: Iterable[Reason], otherwise: Iterable[Reason] = ()
) -> AttributeVerdict:
    """The verdict on a protected attribute.

    Parameters
    ----------
    violations : the verdicts of the witnesses that nobody judged appropriate.
    undecided : the reasons why the rows, or an incomplete search, allow no answer.
    otherwise : the reasons if none of these apply.

    Examples
    --------
    >>> attribute_verdict([Verdict.POSSIBLE, Verdict.CONFIRMED], [TermsUnsettled(3)]).verdict.value
    'confirmed'
    >>> attribute_verdict([Verdict.POSSIBLE], [TermsUnsettled(3)])
    AttributeVerdict(verdict=<Verdict.UNDECIDED: 'cannot be decided'>, \
reasons=(TermsUnsettled(items=3),))
    """
    verdict = overall(violations)
    reasons = tuple(undecided)
    if verdict is Verdict.CONFIRMED:
        return AttributeVerdict(verdict)
    if reasons:
        return AttributeVerdict(Verdict.UNDECIDED, reasons)
    return AttributeVerdict(verdict, tuple(otherwise))


# Counts


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
        of_witnesses = (Verdict.CONFIRMED, Verdict.POSSIBLE, Verdict.UNDECIDED)
        return cls(*(known[str(verdict)] for verdict in of_witnesses))

    @property
    def total(self) -> int:
        """The number of witnesses."""
        return self.confirmed + self.possible + self.undecided


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
