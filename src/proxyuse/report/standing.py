"""What a result means for a build: the exit code, and how each witness counts."""

from __future__ import annotations

from enum import StrEnum

from proxyuse.report.repair_result import RepairResult
from proxyuse.report.result import AuditResult, Group, Witness
from proxyuse.verdict import Verdict, exit_code_of


class Standing(StrEnum):
    """How a witness counts for a build, worst first."""

    FAILS = "fails"
    UNDECIDED = "cannot be decided"
    NOT_COUNTED = "not confirmed"
    APPROPRIATE = "judged appropriate"


def standing(result: AuditResult, witness: Witness) -> Standing:
    """Whether a witness fails a build, and why not; agrees with the exit code of the result.

    A witness that nobody judged appropriate fails if it is confirmed, or if possible ones count.
    """
    if witness.appropriate:
        return Standing.APPROPRIATE
    if witness.verdict is Verdict.CONFIRMED or result.fail_on == "possible":
        return Standing.FAILS
    return Standing.UNDECIDED if witness.verdict is Verdict.UNDECIDED else Standing.NOT_COUNTED


def presented(result: AuditResult) -> list[Group]:
    """The groups in the order in which a report shows them: those with confirmed witnesses first.

    Otherwise the order is that of the result, strongest first.
    """
    return sorted(result.groups, key=lambda group: not is_confirmed(group))


def is_confirmed(group: Group) -> bool:
    """Whether a group has a confirmed witness."""
    return group.verdicts is not None and group.verdicts.confirmed > 0


def exit_code(result: AuditResult) -> int:
    """The exit code of a result; see `exit_code_of`."""
    violations = result.violations + result.beyond_witnesses
    return exit_code_of(result.verdict, violations, result.fail_on)


def repair_exit_code(result: RepairResult) -> int:
    """The exit code of a repair: 0, or 3 if the search is incomplete."""
    return 0 if result.complete else 3
