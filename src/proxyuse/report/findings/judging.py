"""Sentences for the person who judges a witness."""

from __future__ import annotations

from collections.abc import Sequence

from proxyuse.report.findings.witness import between, decision, measured
from proxyuse.report.other_findings import Range
from proxyuse.report.result import Witness
from proxyuse.words import percent

SIMILAR = "Earlier judgments on similar computations, which do not apply here by themselves"
SAME = "the same computation"
LONG_TERM = "This is only the beginning of the computation; t shows all."


def affected(witness: Witness, share_of_decisions: bool, weighted: bool) -> str:
    """How many rows evaluate a computation, and how many decisions depend on it."""
    reach = f"The model evaluates it for {percent(witness.reach)} of rows."
    if not share_of_decisions:
        return f"{reach} Swapping in another person's value changes this share of decisions:"
    weights = " by weight" if weighted else ""
    return (
        f"{reach} Swapping in another person's value changes {percent(witness.influence)} of all "
        f"decisions{weights} (its influence). By group:"
    )


def just_missing(protected: str) -> str:
    """The title of computations below a threshold."""
    return f"Not witnesses of {protected}, but within 20% of the thresholds"


def decided(appropriate: bool, by: str, reason: str) -> str:
    """An earlier judgment."""
    return f"{decision(appropriate)}, by {by}: {reason}"


def then_and_now(
    association: float, association_now: float, known: Range | None, influences: tuple[float, float]
) -> str:
    """The figures at the time of a judgment, and now.

    Where only the range of the association is printed, an exact one would reveal a withheld count.

    Examples
    --------
    >>> then_and_now(0.5123, 0.5, None, (0.1, 0.2))
    'association 0.512 then, 0.500 now; influence 0.100 then, 0.200 now'
    >>> then_and_now(0.5123, 0.45, (0.3, 0.6), (0.1, 0.2))
    'association between 0.3 and 0.6 then and now; influence 0.100 then, 0.200 now'
    >>> then_and_now(0.7123, 0.45, (0.3, 0.6), (0.1, 0.2))
    'association above 0.6 then, between 0.3 and 0.6 now; influence 0.100 then, 0.200 now'
    """
    if known is None:
        figures = f"{measured(association)} then, {measured(association_now)} now"
    elif known[0] <= association <= known[1]:
        figures = f"{between(known)} then and now"
    else:
        side = f"below {known[0]:g}" if association < known[0] else f"above {known[1]:g}"
        figures = f"{side} then, {between(known)} now"
    then, now = influences
    return f"association {figures}; influence {measured(then)} then, {measured(now)} now"


def numbers_moved(moved: Sequence[tuple[str, str]], most: int) -> str:
    """The numbers in a computation that changed."""
    shown = ", ".join(f"{before} then, {now} now" for before, now in moved[:most])
    more = len(moved) - most
    return f"numbers in it: {shown}" + (f", and {more:,} more" if more > 0 else "")
