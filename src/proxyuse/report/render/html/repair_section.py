"""The repair on the page: its effect on each witness, and its cost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import to_builtins

from proxyuse.detect.witnesses import Witness
from proxyuse.lang.positions import Cover
from proxyuse.report.findings import repair_changes
from proxyuse.report.findings.repair import (
    CANDIDATES,
    NO_LONGER_VIOLATION,
    PARTLY_REPLACED,
    REMOVED_WITH_OTHER,
    TRAINED_AGAIN,
    candidate_table,
    cautions,
    collection_replacement,
    constant_program,
    limits,
    made,
    not_made,
    repair_headline,
    replacement,
    search_limits,
    selection_rows,
    unconfirmed,
)
from proxyuse.report.inputs import Repaired
from proxyuse.report.render.html.untrusted_text import PAGE, isolated
from proxyuse.report.repair_result import RepairResult
from proxyuse.words import all_visible, count, fixed, shortened

MOST_STEPS = 40
MOST_DIFF = 400  # lines
MOST_TERM = 160

Found = Mapping[str, Any]


class RepairOutcome:
    """The effect of a repair on single witnesses.

    Parameters
    ----------
    repair : the repair.
    result : its result.
    """

    def __init__(self, repair: Repaired, result: RepairResult) -> None:
        self._steps = result.steps
        self._own = {
            (step.removed.protected, step.removed.id): number
            for number, step in enumerate(result.steps, start=1)
        }
        self._trained_again = repair.base is not repair.original
        points = repair.base.points
        sites = [points.site(position) for position in repair.replaced]
        self._points = points
        self._sites = sites
        self._cover = Cover(points, sites)

    def of(self, witness: Witness) -> dict[str, Any]:
        """The effect on one witness: a sentence, and the number of the step that removed it."""
        if self._trained_again:
            return {"step": None, "text": TRAINED_AGAIN, "utility": None}
        number = self._own.get(witness.key)
        if number is None:
            return {"step": None, "text": self._otherwise(witness), "utility": None}
        step = self._steps[number - 1]
        utility = f"{step.utility:.4f}"
        return {"step": number, "text": replacement(step, PAGE), "utility": utility}

    def _otherwise(self, witness: Witness) -> str:
        sites = witness.decomposition.sites
        if all(map(self._cover.holds, sites)):
            return REMOVED_WITH_OTHER
        own = Cover(self._points, sites)
        return PARTLY_REPLACED if any(map(own.holds, self._sites)) else NO_LONGER_VIOLATION


def repair_section(repair: Repaired, result: RepairResult) -> dict[str, Any]:
    """The content of the section on a repair."""
    document: Found = to_builtins(result)
    utility = document["utility"]
    selection = f"on {selection_rows(result)}"
    losses = [
        {"called": called, "rows": f"{loss['rows']:,}", **_loss(loss)}
        for name, called in (("used", "on the repair rows"), ("selection", selection))
        if (loss := utility[name]) is not None
    ]
    sizes = [document["program"][name]["size"] for name in ("before", "after")]
    changed = document["changed"]
    return {
        "headline": repair_headline(result, PAGE),
        "cautions": cautions(result),
        "unconfirmed": unconfirmed(result),
        "candidates": _candidates(result),
        "steps": [_step(number, step) for number, step in enumerate(document["steps"], 1)][
            :MOST_STEPS
        ],
        "more_steps": max(0, len(document["steps"]) - MOST_STEPS),
        "collections": [collection_replacement(change, PAGE) for change in result.collections],
        "constant": result.constant and constant_program(result.constant, PAGE),
        "utility": utility["name"],
        "losses": losses,
        "changed": changed if isinstance(changed, str) else f"{changed:,}",
        "rows": f"{document['rows']:,}",
        "sizes": [f"{size:,}" for size in sizes],
        "before": {"violations": document["violations"], "witnesses": len(repair.before.witnesses)},
        "after": {
            "violations": document["witnesses_left"] - document["judged_appropriate"],
            "witnesses": document["witnesses_left"],
        },
        "hashes": {name: document["program"][name]["hash"] for name in ("before", "after")},
        "certificate": document["written"].get("certificate_hash") or repair.certificate.hash,
        "changes": _changes(result),
        "search": search_limits(repair.search.programs, repair.search.constants),
        "limits": limits(result),
        "diff": _diff(repair),
    }


def _candidates(result: RepairResult) -> dict[str, Any] | None:
    """The table of candidates, if there was a choice."""
    if len(result.candidates) < 3:
        return None
    heads, lines = candidate_table(result, PAGE)
    chosen = [known.chosen for known in made(result)]
    return {
        "title": CANDIDATES,
        "heads": heads,
        "lines": list(zip(chosen, lines, strict=True)),
        "others": not_made(result),
    }


def _changes(result: RepairResult) -> dict[str, Any] | None:
    """Who gains and who loses: sentences, and a table for each protected attribute."""
    known = result.changes
    said = repair_changes.changes(result, PAGE)
    if not said:
        return None
    tables = (repair_changes.change_table(known, z, PAGE) for z in known.attributes)
    return {
        "title": repair_changes.TITLE,
        "sentences": said,
        "tables": [{"heads": heads, "lines": lines} for heads, lines in tables],
    }


def _loss(loss: Found) -> dict[str, str]:
    return {name: f"{loss[name]:.4f}" for name in ("before", "after")}


def _step(number: int, step: Found) -> dict[str, Any]:
    removed, first = step["removed"], step["changes"][0]
    others = step["number_of_changes"] - 1
    return {
        "number": number,
        "term": _code(first["reading"]),
        "exact": all_visible(first["term"]),
        "value": _code(first["value"]),
        "more": f"and {count(others, 'more position')}" if others else "",
        "origin": all_visible(first["origin"] or ""),
        "because": _code(removed["reading"]),
        "protected": isolated(removed["protected"], 60),
        "association": fixed(removed["association"]),
        "influence": fixed(removed["influence"]),
        "reason": isolated(removed["reason"], 300) if removed["reason"] else "not judged",
        "by": isolated(removed["by"], 60) if removed["by"] else "",
        "utility": f"{step['utility']:.4f}",
    }


def _code(text: str) -> str:
    return isolated(text, MOST_TERM)


def _diff(repair: Repaired) -> dict[str, Any]:
    """The changed lines of the program, each with its style."""
    lines = repair.diff().splitlines()[2:]
    styles = {"-": "gone", "+": "come", "@": "muted"}
    first = [
        {"style": styles.get(line[:1], ""), "text": shortened(line.replace("\t", " "), 200)}
        for line in lines[:MOST_DIFF]
    ]
    return {"lines": first, "more": max(0, len(lines) - MOST_DIFF)}
