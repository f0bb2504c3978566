"""Sentences that help to choose thresholds: what they mean, and what each choice would find."""

from __future__ import annotations

from collections.abc import Sequence

from proxyuse.report.findings.style import TEXT, Style
from proxyuse.report.findings.witness import guess
from proxyuse.report.result import AuditResult, Protected, Thresholds
from proxyuse.validity.threshold_tables import ThresholdTable
from proxyuse.words import percent


def epsilon_meanings(result: AuditResult, style: Style = TEXT) -> list[str]:
    """What epsilon means for each protected attribute, where that is known."""
    epsilon = result.thresholds.epsilon
    sentences = (epsilon_meaning(z, epsilon, style) for z in result.protected)
    return [sentence for sentence in sentences if sentence]


def epsilon_meaning(protected: Protected, epsilon: float, style: Style = TEXT) -> str:
    """What epsilon means for one attribute; nothing if that is unknown."""
    copy = protected.at_epsilon
    if copy is None:
        return ""
    name = style.name(protected.name)
    informed, blind = percent(copy.informed), percent(copy.blind)
    if informed != blind:
        return (
            f"An association of {epsilon:g} with {name} is like being able to "
            f"{guess(protected, style)} {informed} of the time instead of {blind}."
        )
    return (
        f"An association of {epsilon:g} with {name} is like knowing {name} for "
        f"{percent(copy.copied)} of people and drawing it at random for the others."
    )


EXPLORATORY = (
    "Choosing thresholds after looking at these rows is exploratory: confirm the choice on other "
    "rows."
)
NOT_MEASURED = "-"
MARK = "* marks the thresholds of this audit."
OUTLINED = "The thresholds of this audit are outlined."


def cell_text(witnesses: int | None, confirmed: int | None) -> str:
    """The counts at one pair of thresholds.

    Examples
    --------
    >>> cell_text(5, 3), cell_text(5, None), cell_text(0, 0), cell_text(None, None)
    ('3 of 5', '5', '0', '-')
    """
    if witnesses is None:
        return NOT_MEASURED
    if confirmed is None or not witnesses:
        return f"{witnesses:,}"
    return f"{confirmed:,} of {witnesses:,}"


def table_title(table: ThresholdTable, style: Style = TEXT) -> str:
    """What a table of thresholds counts."""
    return f"Witnesses of {style.name(table.protected)} at other thresholds"


def table_sentences(result: AuditResult, tables: Sequence[ThresholdTable], own: str) -> list[str]:
    """How to read the tables of thresholds, and what they leave out."""
    tested = any(n is not None for table in tables for row in table.confirmed for n in row)
    sentences = [
        'Each cell has the number of confirmed witnesses and of all witnesses, such as "3 of 5".'
        if tested
        else "Each cell has the number of witnesses.",
        own,
    ]
    if any(n is None for table in tables for row in table.witnesses for n in row):
        low = tables[0].epsilons[0], tables[0].deltas[0]
        sentences.append(
            f"{NOT_MEASURED!r} means not measured: this audit searched only for what its own "
            f"thresholds need. To fill these cells, audit with epsilon {low[0]:g} and delta "
            f"{low[1]:g}."
        )
    if result.coverage.searched or result.coverage.not_searched:
        sentences.append("Combinations count only as far as this audit lists them.")
    return [*sentences, EXPLORATORY]


def table_rows(table: ThresholdTable, own: Thresholds) -> tuple[list[str], list[list[str]]]:
    """The heading and the rows of a table of thresholds; a star marks those of the audit."""
    heads = ["delta", *(f"epsilon {epsilon:g}" for epsilon in table.epsilons)]
    rows = []
    for y, delta in enumerate(table.deltas):
        cells = list(map(cell_text, table.witnesses[y], table.confirmed[y]))
        if delta == own.delta and own.epsilon in table.epsilons:
            cells[table.epsilons.index(own.epsilon)] += " *"
        rows.append([f"{delta:g}", *cells])
    return heads, rows
