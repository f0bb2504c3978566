"""The answer in one sentence, and how it was reached."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from proxyuse.report.findings.collections import uses_together
from proxyuse.report.findings.explicit import uses_explicitly
from proxyuse.report.findings.style import TEXT, Style
from proxyuse.report.findings.verdict import cannot_be_decided, explained, reason_sentence
from proxyuse.report.findings.witness import proxy_for
from proxyuse.report.result import AuditResult, Precision, Protected, Space, Thresholds
from proxyuse.verdict import WORST_FIRST, NotConfirmed, NotTested, Verdict
from proxyuse.words import count, listed

INCOMPLETE = "the search is incomplete"
NOT_ANALYZED = "Some parts of the model were not analyzed and may contain a witness; see the notes."


def headline(result: AuditResult, style: Style = TEXT) -> str:
    """The answer in a few sentences; see `answer`."""
    return " ".join(sentence for paragraph in answer(result, style) for sentence in paragraph)


def answer(result: AuditResult, style: Style = TEXT) -> list[list[str]]:
    """What is confirmed, what cannot be decided, what is possible, what was not found.

    Each is a paragraph of sentences. The first sentence counts confirmed witnesses. Without any, no
    sentence says that the model uses a proxy.
    """
    attributes: dict[Verdict, list[Protected]] = {verdict: [] for verdict in WORST_FIRST}
    for z in result.protected:
        attributes[z.verdict].append(z)
    paragraphs = [
        _confirmed(result, attributes[Verdict.CONFIRMED], style),
        *_undecided(result, attributes[Verdict.UNDECIDED], style),
        _possible(result, attributes[Verdict.POSSIBLE], style),
        _not_found(result, attributes[Verdict.NOT_FOUND], style),
        _judgments(result),
    ]
    return [sentences for sentences in map(list, paragraphs) if sentences]


def _confirmed(result: AuditResult, attributes: list[Protected], style: Style) -> Iterator[str]:
    if not attributes:
        return
    explicit = {w.protected for w in result.witnesses if w.explicit}
    used = [
        f"{proxy_for(z.name, z.name in explicit, style)} ({_counted(z)})"
        for z in attributes
        if z.violations.confirmed
    ]
    if used:
        yield f"The model uses {listed(used)}."
    yield from _beyond_witnesses(attributes, style)


def _beyond_witnesses(attributes: Sequence[Protected], style: Style) -> Iterator[str]:
    """Explicit uses and collections."""
    for sentence in (uses_explicitly, uses_together):
        yield from filter(None, (sentence(z, style) for z in attributes))


def _counted(protected: Protected) -> str:
    """How many witnesses are confirmed, and how many are not."""
    counts = protected.violations
    text = count(counts.confirmed, "confirmed witness", "confirmed witnesses")
    others = counts.possible + counts.undecided
    return f"{text}, {others:,} possible" if others else text


def _undecided(
    result: AuditResult, attributes: list[Protected], style: Style
) -> Iterator[list[str]]:
    """A paragraph for attributes that share their reasons: that, why, and what to do."""
    alike: dict[tuple[str, ...], list[Protected]] = {}
    for z in attributes:
        alike.setdefault(tuple(explained(z, result.rows, style)), []).append(z)
    for reasons, members in alike.items():
        yield [cannot_be_decided(listed(style.name(z.name) for z in members)), *reasons]


def _possible(result: AuditResult, attributes: list[Protected], style: Style) -> Iterator[str]:
    yield from _beyond_witnesses(attributes, style)
    attributes = [z for z in attributes if z.violations.total]
    if not attributes:
        return
    names = listed(style.name(z.name) for z in attributes)
    number = sum(z.violations.total for z in attributes)
    tested = result.validity is not None
    yield f"No proxy use of {names} was confirmed." if tested else f"Possible proxy use of {names}."
    reason = NotConfirmed(number) if tested else NotTested(number)
    yield reason_sentence(reason, attributes[0].name, result.rows, style)


def _not_found(result: AuditResult, attributes: list[Protected], style: Style) -> Iterator[str]:
    judged = [
        z
        for z in attributes
        if any(use.appropriate and not use.repeats_witness for use in z.explicit)
    ]
    for z in judged:
        yield f"The explicit use of {style.name(z.name)} was judged appropriate."
    for z in attributes:
        if z.collection is not None and z.collection.shown and z.collection.appropriate:
            judged.append(z)
            name = style.name(z.name)
            yield f"The collection of computations related to {name} was judged appropriate."
    none = [z for z in attributes if not z.witnesses and z not in judged]
    if none:
        names = listed(style.name(z.name) for z in none)
        yield f"No proxy use of {names} found at these thresholds."
    for z in attributes:
        if z.witnesses:
            witnesses = "the only witness" if z.witnesses == 1 else f"all {z.witnesses:,} witnesses"
            were = "was" if z.witnesses == 1 else "were"
            yield (
                f"{witnesses[0].upper()}{witnesses[1:]} of proxy use of {style.name(z.name)} "
                f"{were} judged appropriate."
            )


def _judgments(result: AuditResult) -> Iterator[str]:
    """How many of the witnesses were judged appropriate, if some were and some were not."""
    appropriate = result.found - result.violations
    if appropriate and result.violations:
        was = "was" if appropriate == 1 else "were"
        yield f"{appropriate:,} of {result.found:,} witnesses {was} judged appropriate."


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
    "collections": "weakly associated computations",
}


def witness_rule(thresholds: Thresholds) -> str:
    """When a computation is a witness."""
    share = thresholds.requested_epsilon
    of_highest = "" if share is None else f" ({share} of the highest for a test)"
    return (
        f"A witness has an association of at least {thresholds.epsilon:g}{of_highest} and an "
        f"influence above {thresholds.delta:g}."
    )


WITHHELD_TABLE = "The table is withheld, because its totals would reveal a small count."
DOCUMENTATION = 'See "Choose thresholds" in the documentation.'


def omitted(items: str) -> str:
    """That the text omits some items."""
    return f"... and {items}; the JSON result lists all of them."


def withheld(min_cell: int) -> str:
    """That small counts are withheld."""
    return f"Counts below {min_cell}, and counts that would reveal them, are withheld."


def precision_sentences(lost_by: Sequence[Precision], min_cell: int) -> list[str]:
    """What figures lost so that withheld counts stay withheld; nothing if no count is withheld."""
    sentences = []
    for lost in lost_by:
        tables = count(lost.tables, "table")
        name = TEXT.name(lost.protected)
        parts = [f"{withheld(min_cell)[:-1]} in {tables} about {name}."]
        if lost.values is not None:
            parts.append(
                f"Each withheld count has at least {lost.values} possible values that agree with "
                "everything in this report. To keep it so, associations and guess rates that could "
                "reveal it are printed as ranges, and shares of groups are rounded."
            )
        if lost.association_within:
            parts.append(f"The widest range of an association is {lost.association_within:g}.")
        if lost.withheld:
            tables = count(lost.withheld, "table")
            parts.append(f"{tables} would still reveal a count and cannot be printed.")
        sentences.append(" ".join(parts))
    return sentences
