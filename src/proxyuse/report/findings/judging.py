"""Sentences for the person who judges a witness."""

from __future__ import annotations

from collections.abc import Sequence

from proxyuse.report.findings.witness import decision, measured
from proxyuse.report.result import Witness
from proxyuse.words import percent

DIRECTION = (
    "The value is drawn from the rows of all groups. The table shows whose decisions depend on it, "
    "not whether they get better or worse."
)
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


def estimated(pairs: int | None, within: float | None) -> str:
    """How precise an estimate is; nothing if it is exact."""
    if pairs is None or within is None:
        return ""
    return (
        f"Estimated from {pairs:,} random pairs of rows for each group. Each figure is within "
        f"{100 * within:.1f} percentage points with probability 0.95."
    )


def just_missing(protected: str) -> str:
    """The title of computations below a threshold."""
    return f"Not witnesses of {protected}, but within 20% of the thresholds"


def decided(appropriate: bool, by: str, reason: str) -> str:
    """An earlier judgment."""
    return f"{decision(appropriate)}, by {by}: {reason}"


def then_and_now(
    association: float, association_now: float, influence: float, influence_now: float
) -> str:
    """The figures at the time of a judgment, and now."""
    return (
        f"association {measured(association)} then, {measured(association_now)} now; "
        f"influence {measured(influence)} then, {measured(influence_now)} now"
    )


def numbers_moved(moved: Sequence[tuple[str, str]], most: int) -> str:
    """The numbers in a computation that changed."""
    shown = ", ".join(f"{before} then, {now} now" for before, now in moved[:most])
    more = len(moved) - most
    return f"numbers in it: {shown}" + (f", and {more:,} more" if more > 0 else "")
