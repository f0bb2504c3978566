"""Sentences about explicit use: the model reads a column that determines a protected attribute."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from proxyuse.report.findings.style import TEXT, Style
from proxyuse.report.findings.verdict import advice
from proxyuse.report.findings.witness import changes, judged, measured
from proxyuse.report.other_findings import ExplicitUse
from proxyuse.report.result import AuditResult, Protected
from proxyuse.verdict import ReadsColumns, Verdict
from proxyuse.words import listed, percent

TITLE = "Explicit use"
WHAT_COUNTS = (
    "A column counts as explicit use if it determines the protected attribute and is influential, "
    "whether or not it is a proxy in both directions."
)


def derived(columns: Sequence[str], expression: str | None, style: Style = TEXT) -> str:
    """What an attribute is derived from; empty if it is not derived.

    Examples
    --------
    >>> derived(["age"], "age > 60")
    'derived from `age`: `age > 60`'
    """
    if expression is None:
        return ""
    return f"derived from {listed(map(style.code, columns))}: {style.code(expression)}"


def uses_explicitly(protected: Protected, style: Style = TEXT) -> str:
    """That the model uses an attribute explicitly, or may do so; empty if neither.

    Columns that were judged appropriate do not count.
    """
    name = style.name(protected.name)
    for verdict, model, determine in (
        (Verdict.CONFIRMED, "The model uses", "determine"),
        (Verdict.POSSIBLE, "The model may use", "seem to determine"),
    ):
        uses = [
            use
            for use in protected.explicit
            if use.verdict is verdict and not (use.appropriate or use.repeats_witness)
        ]
        if not uses:
            continue
        if all(_is_itself(protected, use) for use in uses):
            return f"{model} {name} itself: it reads {_columns(uses, style)}."
        verb = determine if len(uses) > 1 else f"{determine.replace('seem', 'seems')}"
        verb = "determines" if verb == "determine" and len(uses) == 1 else verb
        return f"{model} {name} explicitly: it reads {_columns(uses, style)}, which {verb} {name}."
    return ""


def _columns(uses: Iterable[ExplicitUse], style: Style) -> str:
    return listed(style.code(use.column) for use in uses)


def _is_itself(protected: Protected, use: ExplicitUse) -> bool:
    """Whether the column is the attribute, not only a source of it."""
    return use.how == "declared" and protected.expression is None


def all_of(result: AuditResult) -> list[tuple[Protected, ExplicitUse]]:
    """The explicit uses that no witness shows already, those that count first."""
    uses = [(z, use) for z in result.protected for use in z.explicit if not use.repeats_witness]
    return sorted(uses, key=lambda item: (not item[1].counts, not item[1].confirmed))


def reads(protected: Protected, use: ExplicitUse, style: Style = TEXT) -> str:
    """That the model reads a column, and how it determines the attribute."""
    column, name = style.code(use.column), style.name(protected.name)
    if _is_itself(protected, use):
        return f"The model reads {column}, which is {name} itself."
    if use.how == "declared":
        expression = style.code(protected.expression or "")
        return f"The model reads {column}, and {name} is derived from it: {expression}."
    right, low = percent(use.accuracy or 0), percent(use.accuracy_low or 0)
    others = percent(use.others or 0)
    bound = f" (at least {low})" if use.confirmed else ""
    return (
        f"The model reads {column}, which predicts {name}: a rule on this column alone, made from "
        f"half of the rows, is right for {right} of the other half{bound}, and for {others} of the "
        "rows without the most common value."
    )


def sentences(
    result: AuditResult, protected: Protected, use: ExplicitUse, style: Style = TEXT
) -> list[str]:
    """The finding, its evidence, its verdict, and the tests that come closest."""
    texts = [reads(protected, use, style)]
    if use.influence is None:
        texts.append("Its influence was not measured, so this cannot be decided.")
    else:
        texts.append(changes(use.influence, result.measures.influence, style))
        if use.influence_low is not None:
            low = style.figure(measured(use.influence_low), "influence")
            texts.append(f"Its influence in the population is at least {low}.")
    texts += _verdict(result, use, style)
    if use.tests:
        closest = listed(
            f"{style.code(test.reading)} (association "
            f"{style.figure(measured(test.association), 'association')}"
            f"{_influence(test.influence, style)})"
            for test in use.tests
        )
        tests = "test that reads it and comes"
        verb = "is"
        if len(use.tests) > 1:
            tests, verb = "tests that read it and come", "are"
        texts.append(f"The {tests} closest to {style.name(protected.name)} {verb} {closest}.")
    if use.counts and use.judgment is None:
        texts.append(advice(ReadsColumns((use.column,), use.confirmed), protected.name, style))
    return texts


def _influence(value: float | None, style: Style) -> str:
    return "" if value is None else f", influence {style.figure(measured(value), 'influence')}"


def _verdict(result: AuditResult, use: ExplicitUse, style: Style) -> list[str]:
    if use.judgment is not None:
        return [f"{judged(use.judgment, style).rstrip('.')}."]
    match use.verdict:
        case Verdict.NOT_FOUND:
            return [
                f"This is not above the threshold of {result.thresholds.delta:g}, so it does not "
                "count."
            ]
        case Verdict.POSSIBLE if result.validity is not None:
            return ["This is possible, but not confirmed. More rows can confirm it."]
    return []
