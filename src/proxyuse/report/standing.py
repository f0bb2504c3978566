"""What a result means for a build: the exit code, and how each witness counts."""

from __future__ import annotations

from enum import StrEnum

from proxyuse.report.repair_result import RepairResult
from proxyuse.report.result import AuditResult, Witness
from proxyuse.verdict import Verdict, VerdictCounts


class Standing(StrEnum):
    """How a witness counts for a build, worst first."""

    FAILS = "fails"
    UNDECIDED = "cannot be decided"
    NOT_COUNTED = "not confirmed"
    APPROPRIATE = "judged appropriate"


def standing(result: AuditResult, witness: Witness) -> Standing:
    """Whether a witness fails a build, and why not; agrees with the exit code of the result.

    A witness that nobody judged appropriate fails, unless only confirmed ones count.
    """
    if witness.appropriate:
        return Standing.APPROPRIATE
    if result.validity is None or not result.validity.confirmed_only or witness.verdict is None:
        return Standing.FAILS
    return {
        Verdict.CONFIRMED: Standing.FAILS,
        Verdict.POSSIBLE: Standing.NOT_COUNTED,
        Verdict.UNDECIDED: Standing.UNDECIDED,
    }[Verdict(witness.verdict)]


def exit_code(result: AuditResult) -> int:
    """The exit code of a result; see `exit_code_of`."""
    validity = result.validity
    among = validity.violations if validity is not None and validity.confirmed_only else None
    return exit_code_of(result.violations, result.complete, among)


def exit_code_of(violations: int, complete: bool, confirmed: VerdictCounts | None = None) -> int:
    """1 for violations, 3 without violations if the search is incomplete, else 0.

    With `confirmed`, the verdicts of the violations, only confirmed ones count, and undecided ones
    make the search incomplete.

    Examples
    --------
    >>> exit_code_of(2, True), exit_code_of(0, False), exit_code_of(0, True)
    (1, 3, 0)
    >>> exit_code_of(2, True, VerdictCounts(confirmed=0, possible=1, undecided=1))
    3
    """
    if confirmed is not None:
        violations, complete = confirmed.confirmed, complete and not confirmed.undecided
    if violations:
        return 1
    return 0 if complete else 3


def repair_exit_code(result: RepairResult) -> int:
    """The exit code of a repair: 0, or 3 if the search is incomplete."""
    return 0 if result.complete else 3
