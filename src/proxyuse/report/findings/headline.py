"""The answer in one sentence, and how it was reached."""

from __future__ import annotations

from proxyuse.report.findings.style import TEXT, Style
from proxyuse.report.findings.validity import share_confirmed
from proxyuse.report.findings.witness import proxy_for, uses
from proxyuse.report.result import AuditResult, Space, Thresholds
from proxyuse.words import count, listed

INCOMPLETE = "the search is incomplete"
NOT_ANALYZED = "Some parts of the model were not analyzed and may contain a witness; see the notes."
CONFIRMED_ONLY = "Only confirmed violations count for the exit code."


def headline(result: AuditResult, style: Style = TEXT) -> str:
    """The answer in one sentence."""
    if result.found:
        explicit = {w.protected for w in result.witnesses if w.explicit}
        used = listed(
            proxy_for(z.name, z.name in explicit, style) for z in result.protected if z.witnesses
        )
        validity = result.validity
        sure = validity is None or validity.verdicts.confirmed > 0
        confirmed = ""
        if validity is not None:
            confirmed = f"; {share_confirmed(validity.verdicts, result.found)}"
        return f"{uses(sure)} {used}{_judgments(result)}{confirmed}."
    names = listed(style.name(z.name) for z in result.protected)
    if result.complete:
        return f"No proxy use of {names} found at these thresholds."
    return f"No proxy use of {names} found, but {INCOMPLETE}."


def _judgments(result: AuditResult) -> str:
    """How many of the witnesses were judged appropriate, if any."""
    appropriate = result.found - result.violations
    if not appropriate:
        return ""
    if not result.violations:
        return ", and all of it was judged appropriate"
    was = "was" if appropriate == 1 else "were"
    return f"; {appropriate:,} of {result.found:,} witnesses {was} judged appropriate"


def witnesses_found(result: AuditResult) -> str:
    """How many witnesses there are, and in how many groups."""
    groups = len(result.groups)
    within = "" if groups == result.found else f" in {count(groups, 'group')}"
    return f"{count(result.found, 'witness', 'witnesses')}{within}."


def measured_on(result: AuditResult) -> str:
    """What was measured, how far the search went, and when a computation counts."""
    return (
        f"Measured {count(result.decompositions, 'decomposition')} on {count(result.rows, 'row')}. "
        f"{coverage(result)} {witness_rule(result.thresholds)}"
    )


def coverage(result: AuditResult) -> str:
    """Whether every single computation was measured, and how far combinations were searched."""
    covered = result.coverage
    if result.complete:
        bounded = " or excluded by a bound" if covered.bounded else ""
        sentences = [f"Every column, test, branch and tree was measured{bounded}."]
    else:
        sentences = [f"{INCOMPLETE[0].upper()}{INCOMPLETE[1:]}."]
    if covered.searched:
        spaces = listed(map(_SPACES.__getitem__, covered.searched))
        sentences.append(f"Combinations of {spaces} were searched, but not exhaustively.")
    if covered.not_searched:
        spaces = listed(map(_SPACES.__getitem__, covered.not_searched))
        sentences.append(f"Combinations of {spaces} were not searched.")
    return " ".join(sentences)


_SPACES: dict[Space, str] = {
    "positions": "positions of one computation",
    "terms": "terms",
    "factors": "factors",
    "conditions": "conditions",
    "trees": "trees",
    "terms of tests": "terms inside tests",
}


def witness_rule(thresholds: Thresholds) -> str:
    """When a computation is a witness."""
    return (
        f"A witness has an association of at least {thresholds.epsilon:g} and an influence above "
        f"{thresholds.delta:g}."
    )


DOCUMENTATION = 'See "Choose thresholds" in the documentation.'


def omitted(items: str) -> str:
    """That the text omits some items."""
    return f"... and {items}; the JSON result lists all of them."


def withheld(min_cell: int) -> str:
    """That small counts are withheld."""
    return f"Counts below {min_cell}, and counts that would reveal them, are withheld."
