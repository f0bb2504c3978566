"""Sentences and a table about the frontier of a repair: what it costs at other thresholds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from proxyuse.report.findings.repair import candidate_name
from proxyuse.report.findings.repair_changes import range_text
from proxyuse.report.findings.style import TEXT, Style
from proxyuse.report.repair_result import (
    FrontierAttribute,
    FrontierGroup,
    FrontierPoint,
    FrontierResult,
    RepairResult,
)
from proxyuse.words import count, listed, percent

TITLE = "What compliance costs"
MOST_GROUPS = 4
"""The number of groups of one attribute that a table has columns for."""
ORIGINAL = "original model"
UNKNOWN = "not measured"
NEVER_WORSE = (
    "Smaller thresholds are stricter. Each row has the best known model: its own, or that of a "
    "stricter row."
)
_ROWS = {
    "validation rows": "the validation rows",
    "folds": "folds of held-out rows",
    "repair rows": "the rows of the repair",
}
_REFUSED = {"constant": "not better than a constant", "loss": "it loses more than you accept"}


def frontier_sentences(result: RepairResult) -> list[str]:
    """What the requested thresholds cost, and what the ends of the frontier cost.

    Of a result with a frontier.
    """
    frontier = result.frontier
    assert frontier is not None
    requested = next(point for point in frontier.points if point.requested)
    name, rows = result.utility.name, _ROWS[frontier.compared_on]
    first = (
        f"At the requested {frontier.varies} of {requested.value}, "
        f"{_cost(frontier, requested, name)}, on {rows}."
    )
    return [first, *_ends(frontier), *_origin(frontier, requested), *_missing(frontier)]


def frontier_notes(result: RepairResult, style: Style = TEXT, *, groups: bool = True) -> list[str]:
    """How to read the table and the picture.

    Parameters
    ----------
    result : a result with a frontier.
    style : how names are written.
    groups : whether the table has the rates of the groups.
    """
    frontier = result.frontier
    assert frontier is not None
    notes = [NEVER_WORSE]
    if groups and _has_rates(result):
        what = "mean output"
        if result.changes.output.kind != "number":
            what = f"share of {style.code(result.changes.labels[0])}"
        notes.append(f"The column of a group has its {what} on the rows of the repair.")
    if frontier.constant is not None:
        name = result.utility.name
        notes.append(f"Always predicting the same has {name} {frontier.constant:.4f}.")
    return notes


def _cost(frontier: FrontierResult, point: FrontierPoint, name: str) -> str:
    """What the requested thresholds cost."""
    if point.utility is None:
        return f"there was no time to measure the {name}"
    figure = f"{name} is {point.utility:.4f}"
    if not point.targets and not point.methods:
        return f"nothing has to be repaired, and {figure}"
    if not point.difference or frontier.original is None:
        return f"{figure}, as before the repair"
    sign = "more" if point.difference > 0 else "less"
    before = f"the original model has {frontier.original:.4f}"
    return f"{figure}, {abs(point.difference):.4f} {sign} than before the repair ({before})"


def _ends(frontier: FrontierResult) -> Iterator[str]:
    """The strictest and the laxest point, if they are others than the requested one."""
    ends = zip((frontier.points[0], frontier.points[-1]), ("strictest", "laxest"), strict=True)
    texts = [
        f"{point.utility:.4f} at {point.value}, the {word} value"
        for point, word in ends
        if not point.requested and point.utility is not None
    ]
    if texts:
        yield f"It is {', and '.join(texts)} here."


def _origin(frontier: FrontierResult, requested: FrontierPoint) -> Iterator[str]:
    """Where the model of the requested thresholds comes from, if it was taken over."""
    if requested.taken_over is None:
        return
    found = f"The model of {frontier.varies} {requested.taken_over}"
    if requested.targets:
        yield (
            f"{found} is returned: it is clean at the requested thresholds, too, and more useful "
            "than the best one that was found for them."
        )
    else:
        yield (
            f"{found} is clean at the requested thresholds, too, and more useful than the "
            "original model. The original model is returned, because it needs no repair."
        )


def _missing(frontier: FrontierResult) -> Iterator[str]:
    """The values that are missing because of an interrupt."""
    if frontier.skipped:
        verb = "is" if len(frontier.skipped) == 1 else "are"
        yield (
            f"The search was interrupted: {frontier.varies} {listed(frontier.skipped)} {verb} "
            "missing."
        )


def frontier_table(
    result: RepairResult, style: Style = TEXT, *, groups: bool = True
) -> tuple[list[str], list[list[str]]]:
    """The frontier as a table: its heads and its lines, the original model first.

    Parameters
    ----------
    result : a result with a frontier.
    style : how names are written.
    groups : whether to add the rates of the groups.
    """
    frontier = result.frontier
    assert frontier is not None
    shown = frontier.original_attributes if groups and _has_rates(result) else ()
    heads = [frontier.varies, result.utility.name, "change"]
    heads += [
        f"{style.name(attribute.protected)}: {style.name(group.value)}"
        for attribute in shown
        for group in _shown_groups(attribute)
    ]
    heads += ["predictions changed", "what was done"]
    lines = [
        [
            ORIGINAL,
            _with_error(frontier.original, frontier.original_error),
            "",
            *_rates(result, shown),
            "",
            "",
        ]
    ]
    for point in frontier.points:
        rates = _rates(result, point.attributes) if shown else []
        lines.append(
            [
                f"{point.value}{' (requested)' * point.requested}",
                _with_error(point.utility, point.error),
                _change(point.difference),
                *rates,
                percent(point.changed),
                what_was_done(point, style),
            ]
        )
    return heads, lines


def what_was_done(point: FrontierPoint, style: Style = TEXT) -> str:
    """How the model of a point was made, and what speaks against it."""
    parts = [candidate_name(point, style) if point.methods else "nothing to repair"]
    if point.taken_over is not None:
        parts = [f"{parts[0]}, as at {point.taken_over}"]
    if point.refusal is not None:
        parts.append(f"refused: {_REFUSED[point.refusal]}")
    if not point.complete:
        parts.append("the audit is incomplete")
    if point.interrupted:
        parts.append("interrupted")
    return "; ".join(parts)


def _change(difference: float | None) -> str:
    if difference is None:
        return ""
    return f"{difference:+.4f}" if difference else "0"


def _with_error(value: float | None, error: float | None) -> str:
    if value is None:
        return UNKNOWN
    return f"{value:.4f}" + ("" if error is None else f" \u00b1 {error:.4f}")


def _rates(result: RepairResult, attributes: Sequence[FrontierAttribute]) -> list[str]:
    return [
        range_text(group.rates[0], result.changes)
        for attribute in attributes
        for group in _shown_groups(attribute)
    ]


def _has_rates(result: RepairResult) -> bool:
    """Whether the table has columns for groups: one figure each, and not too many groups."""
    frontier = result.frontier
    return (
        frontier is not None
        and len(result.changes.labels) == 1
        and any(map(_shown_groups, frontier.original_attributes))
    )


def _shown_groups(attribute: FrontierAttribute) -> Sequence[FrontierGroup]:
    return attribute.groups if len(attribute.groups) <= MOST_GROUPS else ()


def described(result: RepairResult) -> str:
    """What the picture of the frontier shows, for readers who cannot see it.

    Of a result with a frontier.
    """
    frontier = result.frontier
    assert frontier is not None
    number = count(len(frontier.points), "value")
    return f"{result.utility.name} of the best known model at {number} of {frontier.varies}"
