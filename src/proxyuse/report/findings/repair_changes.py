"""Sentences about a repair: who gains and who loses."""

from __future__ import annotations

from proxyuse.report.disclosure import least_count
from proxyuse.report.findings.direction import figure_text, group_name, up_words
from proxyuse.report.findings.style import TEXT, Style
from proxyuse.report.outcome_result import OutcomeFigure
from proxyuse.report.repair_result import (
    AttributeChanges,
    FigureRange,
    GroupChange,
    OutcomeChanges,
    RepairResult,
)
from proxyuse.report.result import Cell
from proxyuse.words import count

TITLE = "Changed predictions by group"
MOST_GROUPS = 4
"""The number of groups in sentences; tables show all of them."""


def changes(result: RepairResult, style: Style = TEXT) -> list[str]:
    """Who gains and who loses: one sentence for each of the first groups of each attribute."""
    if result.result != "repaired":
        return []
    known = result.changes
    return [
        sentence
        for attribute in known.attributes
        for sentence in attribute_changes(known, attribute, style)
    ]


def attribute_changes(
    known: OutcomeChanges, attribute: AttributeChanges, style: Style = TEXT
) -> list[str]:
    """The changes of the groups of one attribute, those with the most changes first."""
    groups = sorted(attribute.groups, key=lambda group: -least_count(group.changed))
    sentences = [
        group_change(known, attribute.protected, group, style) for group in groups[:MOST_GROUPS]
    ]
    more = len(groups) - MOST_GROUPS
    tail = (
        [f"{count(more, 'more group')} of {style.name(attribute.protected)}."] if more > 0 else []
    )
    return [*sentences, *tail]


def group_change(
    known: OutcomeChanges, protected: str, group: GroupChange, style: Style = TEXT
) -> str:
    """The changes of one group.

    Examples
    --------
    >>> from proxyuse.report.outcome_result import Output
    >>> known = OutcomeChanges(Output("class", ">50K", "<=50K"), (">50K",), ())
    >>> rates = (FigureRange(0.239, 0.239),), (FigureRange(0.06, 0.0602),)
    >>> group = GroupChange("true", 22047, 3938, "<5", "3,934 to 3,938", *rates)
    >>> print(group_change(known, "married", group))
    Of 22,047 people who are married, 3,938 get another prediction: 3,934 to 3,938 from `>50K` to
    `<=50K`, fewer than 5 the other way. Their share of `>50K` was 23.9% before and is 6.0% after.
    """
    people = f"Of {group.rows:,} {group_name(protected, group.value, style)}"
    if group.changed == "withheld":
        return f"{people}, the number who get another prediction is withheld."
    start = f"{people}, {_words(group.changed)} get another prediction"
    if group.up is None or group.down is None or group.changed == 0:
        ways = ""
    elif group.up == group.down == "withheld":
        ways = "; the directions are withheld"
    else:
        both = zip((group.up, group.down), up_words(known.output, style), strict=True)
        (more, way), (less, other) = sorted(both, key=lambda pair: -least_count(pair[0]))
        opposite = other if known.output.kind == "number" else "the other way"
        ways = f": {_words(more)} {way}, {_words(less)} {opposite}"
    return f"{start}{ways}.{_rates(known, group, style)}"


def _rates(known: OutcomeChanges, group: GroupChange, style: Style) -> str:
    """The rates or means before and after; nothing for several classes, which a table shows."""
    if known.output.kind not in ("class", "number") or not group.before:
        return ""
    before, after = (range_text(side[0], known) for side in (group.before, group.after))
    if "withheld" in (before, after):
        return ""
    what = (
        "mean output"
        if known.output.kind == "number"
        else f"share of {style.code(known.labels[0])}"
    )
    if before == after:
        return f" Their {what} stays {before}."
    return f" Their {what} was {before} before and is {after} after."


def range_text(figure: FigureRange, known: OutcomeChanges) -> str:
    """A rate or a mean before or after a repair."""
    plain = OutcomeFigure(figure.at_least, figure.at_most, None, None)
    return figure_text(plain, known.output.kind == "number")


def cell(value: Cell | None) -> str:
    """A number of rows."""
    return value if isinstance(value, str) else f"{value or 0:,}"


def _words(value: Cell) -> str:
    """A number of rows in a sentence."""
    text = cell(value)
    if text.startswith("<"):
        return f"fewer than {text[1:]}"
    return "a number that is withheld" if text == "withheld" else text


def change_table(
    known: OutcomeChanges, attribute: AttributeChanges, style: Style = TEXT
) -> tuple[list[str], list[list[str]]]:
    """The heads and lines of a table of changes by group."""
    heads = [style.name(attribute.protected), "rows", "changed"]
    directed = known.output.kind in ("class", "number")
    if directed:
        heads += list(up_words(known.output, style))
    for label in known.labels:
        shown = label if known.output.kind == "number" else style.code(label)
        heads += [f"{shown} before", "after"]
    lines = []
    for group in attribute.groups:
        line = [style.name(group.value), f"{group.rows:,}", cell(group.changed)]
        if directed:
            line += [cell(group.up), cell(group.down)]
        for before, after in zip(group.before, group.after, strict=True):
            line += [range_text(before, known), range_text(after, known)]
        lines.append(line)
    return heads, lines
