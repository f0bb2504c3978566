"""Sentences about a repair: what was replaced, why, what it costs, what was written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from proxyuse.report.findings.headline import INCOMPLETE
from proxyuse.report.findings.style import TEXT, Style
from proxyuse.report.findings.witness import measured
from proxyuse.report.repair_result import Loss, Removed, RepairResult, Step
from proxyuse.words import count, listed, shortened

MOST_TERM = 72


def repair_headline(result: RepairResult, style: Style = TEXT) -> str:
    """The outcome in one sentence."""
    names = listed(map(style.name, result.protected))
    incomplete = "" if result.complete else f", but {INCOMPLETE}"
    if result.result != "repaired":
        return f"Nothing to repair: no violation for {names} found{incomplete}."
    done = count(result.violations, "violation")
    if result.steps:
        how = f"in {count(len(result.steps), 'step')}"
    else:
        how = "with a program that always returns the same value"
    return f"Repaired {done} for {names} {how}; none remains{incomplete}."


def replacement(step: Step, style: Style = TEXT) -> str:
    """What a step replaced."""
    first = step.changes[0]
    where = f" ({first.origin})" if first.origin else ""
    others = step.number_of_changes - 1
    more = f", and in {count(others, 'more place')}" if others else ""
    term, value = (style.code(shortened(text, MOST_TERM)) for text in (first.term, first.value))
    return f"Replaced {term}{where} with {value}{more}."


def reason(removed: Removed, style: Style = TEXT) -> str:
    """Why a step was taken."""
    return (
        f"Reason: {style.code(shortened(removed.term, MOST_TERM))} is a proxy for "
        f"{style.name(removed.protected)} (association {measured(removed.association)}, influence "
        f"{measured(removed.influence)}); {removed_judgment(removed)}."
    )


def removed_judgment(removed: Removed) -> str:
    """Who judged a removed violation."""
    if not removed.reason:
        return "not judged"
    by = f" by {removed.by}" if removed.by else ""
    return f"judged inappropriate{by}: {removed.reason}"


REMOVED_WITH_OTHER = "Removed: it was part of a computation that was replaced with a constant."
PARTLY_REPLACED = "Part of it was replaced with a constant. The rest is not a violation."
NO_LONGER_VIOLATION = "Unchanged. After the other steps it is no longer a violation."


def search_limits(programs: int, constants: int) -> str:
    """How far the search for a repair went."""
    return (
        f"The search was limited to {programs:,} partly repaired programs and {constants:,} "
        "constants per expression. A better repair may exist."
    )


def constant_program(constant: str, style: Style = TEXT) -> str:
    """That the whole program became a constant."""
    value = style.code(shortened(constant, MOST_TERM))
    return (
        f"The whole program was replaced with {value}. No other repair that was tried loses less."
    )


def losses(result: RepairResult) -> list[str]:
    """The utility before and after."""
    utility = result.utility
    sets: list[tuple[Loss | None, str]] = [
        (utility.used, "used for the repair"),
        (utility.holdout, "of the hold-out set"),
    ]
    return [
        f"{utility.name} {loss.before:.4f} before, {loss.after:.4f} after, on the "
        f"{count(loss.rows, 'row')} {which}"
        for loss, which in sets
        if loss is not None
    ]


def costs(result: RepairResult) -> list[str]:
    """What the repair costs."""
    changed = result.changed if isinstance(result.changed, str) else f"{result.changed:,}"
    before, after = result.program.before.size, result.program.after.size
    return [
        *losses(result),
        f"predictions changed for {changed} of {result.rows:,} rows",
        f"{after:,} of {before:,} nodes of the program remain",
    ]


def limits(result: RepairResult) -> str:
    """What was searched for, and that weaker proxies remain."""
    bounds, remaining = result.thresholds, result.witnesses_left
    judged = ""
    if remaining:
        verb = "remains" if remaining == 1 else "remain"
        judged = f" {count(remaining, 'witness', 'witnesses')} judged appropriate {verb}."
    return (
        f"Searched {count(result.rows, 'row')} for an association of at least {bounds.epsilon:g} "
        f"and an influence above {bounds.delta:g}.{judged} The model may still use computations "
        "below these thresholds."
    )


def written_files(written: Mapping[str, Any]) -> list[str]:
    """The files that were written."""
    lines = []
    if model := written.get("model"):
        lines.append(f"{model['file']}: {_model(model)}")
        lines.append(
            "the file was loaded again: it makes the same predictions, and an audit of it "
            "finds no violation"
        )
    contents = {
        "certificate": "the certificate",
        "program": "the program as text",
        "python": "the program as Python source",
        "report": "a report",
    }
    lines += [f"{written[name]}: {text}" for name, text in contents.items() if written.get(name)]
    return lines


def _model(model: Mapping[str, Any]) -> str:
    if model["class"] == "Program":
        return "the program as text"
    if model["unchanged"]:
        return f"the unchanged {model['class']}"
    if model["native"]:
        return f"a model of the same class ({model['class']})"
    return f"a model that runs the program ({model['class']}), because {model['why']}"
