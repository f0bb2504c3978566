"""One witness on the page: its position, its relation to the protected attribute, its effects."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import convert, to_builtins

from proxyuse.detect.witnesses import Witness
from proxyuse.lang.positions import Cover
from proxyuse.report.disclosure import WITHHELD, least_count
from proxyuse.report.findings.direction import direction, direction_remarks, direction_table
from proxyuse.report.findings.witness import (
    associated,
    best_cut,
    between,
    decision,
    does,
    judged,
    strength,
    verdict_text,
)
from proxyuse.report.inputs import Audited
from proxyuse.report.render.html.location import MOST_STEPS, conditions, operands
from proxyuse.report.render.html.model_drawing import tree_drawing
from proxyuse.report.render.html.repair_section import RepairOutcome
from proxyuse.report.render.html.untrusted_text import MOST_WORDS, PAGE, isolated, name
from proxyuse.report.result import AuditResult, Cell
from proxyuse.report.result import Witness as Witness_
from proxyuse.verdict import Verdict
from proxyuse.words import all_visible, fixed, shortened

MOST_LINKS = 12
COLORS = 6
ONE_TEST = 3  # boxes

_DECIMAL = re.compile(r"-?\d+\.\d{6,}")

Found = Mapping[str, Any]


def anchor(audit: Audited, protected: str, id_: str) -> str:
    """The id of the HTML element of a witness."""
    names = [z.name for z in audit.population.protected]
    return f"witness-{names.index(protected)}-{id_}"


class Sections:
    """The sections of some witnesses of an audit.

    Parameters
    ----------
    audit, result : the audit and its result.
    keys : the witnesses that have a section, by protected attribute and id.
    outcome : the effect of a repair on them.
    """

    def __init__(
        self,
        audit: Audited,
        result: AuditResult,
        keys: Sequence[tuple[str, str]],
        outcome: RepairOutcome | None,
    ) -> None:
        self._audit = audit
        self._result = result
        self._entries: dict[tuple[str, str], Found] = {
            w.key: to_builtins(w) for w in result.witnesses
        }
        self._witnesses = {w.key: w for w in audit.witnesses}
        self._keys = keys
        self._outcome = outcome

    def all(self) -> list[dict[str, Any]]:
        """The sections, in order of the keys."""
        return [self._section(key) for key in self._keys]

    def _section(self, key: tuple[str, str]) -> dict[str, Any]:
        witness, entry = self._witnesses[key], self._entries[key]
        program, columns = self._audit.program, self._audit.population.columns
        sites = witness.decomposition.sites
        among = operands(program, columns, sites[0])
        drawing = tree_drawing(program, columns, sites)
        if among is not None and drawing is not None and len(drawing.boxes) <= ONE_TEST:
            drawing = None  # one test of a sum: the table of its terms says more
        return {
            **summary(self._audit, self._result, entry),
            "term": entry["term"],
            "term_cut": entry["term_cut"],
            "origins": all_visible(entry["origins"][:MOST_LINKS]),
            "more_origins": max(0, len(entry["origins"]) - MOST_LINKS),
            "drawing": drawing,
            "operands": among,
            "paths": _paths([conditions(program, columns, site.point) for site in sites[:3]]),
            "more_paths": max(0, len(sites) - 3),
            "joint": joint_table(entry["table"]),
            "affected": self._affected(entry),
            **self._nested(witness),
            "outcome": self._outcome and self._outcome.of(witness),
        }

    def _affected(self, entry: Found) -> dict[str, Any] | None:
        """The changed decisions by group and direction; None if they take too long."""
        witness = convert(entry, Witness_)
        heads, lines = direction_table(self._result, witness, PAGE)
        remarks = direction_remarks(self._result, witness)
        return {"heads": heads, "lines": lines, "remarks": remarks} if lines else None

    def _nested(self, witness: Witness) -> dict[str, Any]:
        """Links to the witnesses inside and around this one, and the number of equal ones."""
        points, sites = self._audit.program.points, witness.decomposition.sites
        cover = Cover(points, sites)
        inside, around = [], []
        for key in self._keys:
            other = self._witnesses[key]
            if other.protected != witness.protected or other.expression == witness.expression:
                continue
            if all(map(cover.holds, other.decomposition.sites)):
                inside.append(other)
            elif all(map(Cover(points, other.decomposition.sites).holds, sites)):
                around.append(other)
        same = sum(
            other.protected == witness.protected and other.expression == witness.expression
            for other in self._witnesses.values()
        )
        return {
            "inside": self._links(inside[:MOST_LINKS]),
            "more_inside": max(0, len(inside) - MOST_LINKS),
            "around": self._links(around[:MOST_LINKS]),
            "more_around": max(0, len(around) - MOST_LINKS),
            "same": same - 1,
        }

    def _links(self, witnesses: Iterable[Witness]) -> list[dict[str, str]]:
        return [
            {
                "anchor": anchor(self._audit, w.protected, w.id),
                "reading": isolated(self._entries[w.key]["reading"], 120),
                "association": associated(
                    self._entries[w.key]["association"],
                    self._entries[w.key]["association_range"],
                ),
                "influence": fixed(self._entries[w.key]["influence"]),
            }
            for w in witnesses
        ]


def _paths(paths: Sequence[list[str]]) -> list[dict[str, Any]]:
    """The distinct paths to the first positions."""
    distinct = list(dict.fromkeys(map(tuple, paths)))
    return [
        {"first": path[:MOST_STEPS], "rest": max(0, len(path) - MOST_STEPS)} for path in distinct
    ]


def summary(audit: Audited, result: AuditResult, entry: Found) -> dict[str, Any]:
    """The values shown by the first screen, the table and the section of a witness."""
    reading = entry["reading"]
    witness = convert(entry, Witness_)
    return {
        "id": entry["id"],
        "protected_name": name(entry["protected"]),
        "protected_index": [z.name for z in result.protected].index(entry["protected"]),
        "anchor": anchor(audit, entry["protected"], entry["id"]),
        "reading": isolated(reading),
        "does": does(witness, PAGE),
        "evidence": " ".join(strength(result, witness, PAGE)),
        "direction": direction(result, witness, PAGE),
        "short_reading": isolated(reading, 120),
        "exact": shortened(all_visible(entry["term"]), 400),
        "whole_reading": all_visible(reading) if len(reading) > 240 else "",
        "explicit": entry["explicit"],
        "occurrences": entry["occurrences"],
        "size": entry["size"],
        "associated": associated(witness.association, witness.association_range),
        "about": between(witness.association_range) if witness.association_range else "",
        "ceiling": entry["ceiling"],
        "cut": best_cut(witness.cut),
        "influence": entry["influence"],
        "reach": entry["reach"],
        "bounds": _bounds(entry.get("validity") or {}),
        "verdict": verdict(entry),
        "verdict_text": verdict_text(result, witness, PAGE),
        "judgment": judged(witness.judgment, PAGE),
        "whole_reason": _whole_reason(entry["judgment"]),
        "judged": judgment_badge(entry),
    }


def _bounds(validity: Found) -> dict[str, tuple[str, str] | None]:
    bounds = {}
    for measure in ("association", "influence"):
        low, high = validity.get(f"{measure}_low"), validity.get(f"{measure}_high")
        bounds[measure] = None if low is None or high is None else (fixed(low), fixed(high))
    return bounds


def verdict(entry: Found) -> dict[str, str]:
    """The statistical verdict in one word, and the style of its badge."""
    known = entry.get("validity")
    if known is None:
        return {"word": "not tested", "style": ""}
    styles = {"confirmed": "mark", "possible": "doubt"}
    return {"word": known["verdict"], "style": styles.get(known["verdict"], "")}


def _whole_reason(judgment: Found | None) -> str:
    """The reason in full, if the sentence about the judgment shortens it."""
    reason = "" if judgment is None else all_visible(judgment["reason"])
    return reason if len(reason) > MOST_WORDS else ""


def is_confirmed(entry: Found) -> bool:
    """Whether a witness is confirmed."""
    return bool(entry["validity"] and entry["validity"]["verdict"] == Verdict.CONFIRMED)


def is_settled(entry: Found) -> bool:
    """Whether a witness was judged appropriate and is therefore no violation."""
    return bool(entry["judgment"] and entry["judgment"]["appropriate"])


def judgment_badge(entry: Found) -> dict[str, str]:
    """The judgment in one word, and the style of its badge."""
    known = entry["judgment"]
    if known is None:
        return {"word": "not judged", "style": ""}
    appropriate = known["appropriate"]
    return {"word": f"judged {decision(appropriate)}", "style": "good" if appropriate else "mark"}


def joint_table(table: Found) -> dict[str, Any]:
    """The joint table of a computation and a protected attribute, with a bar for each line.

    Examples
    --------
    >>> table = joint_table(
    ...     {
    ...         "rows": ["false", "true"],
    ...         "columns": ["a", "b"],
    ...         "cells": [[30, 10], ["<5", "withheld"]],
    ...         "row_totals": [40, 60],
    ...         "column_totals": [32, 68],
    ...         "commonest": [None, {"column": "b", "at_least": 0.9, "at_most": 1.0}],
    ...     }
    ... )
    >>> table["lines"][0]["bar"]
    [{'style': 'z1', 'x': 0.0, 'width': 75.0}, {'style': 'z2', 'x': 75.0, 'width': 25.0}]
    >>> [part["style"] for part in table["lines"][1]["bar"]]
    ['z2', 'unknown']
    """
    columns = table["columns"]
    lines = []
    for label, cells, total, most in zip(
        _short(table["rows"]), table["cells"], table["row_totals"], table["commonest"], strict=True
    ):
        whole = all(isinstance(cell, int) for cell in cells)
        hidden = WITHHELD in cells and most is not None
        bar = (
            _bar_of(columns.index(most["column"]), most["at_least"])
            if hidden
            else _bar(cells, total)
        )
        least = None if whole or most is None else most["at_least"]
        lines.append(
            {
                "label": isolated(label, 80),
                "cells": cells,
                "total": total,
                "bar": bar,
                "least": least,
                "commonest": most and isolated(most["column"], 40),
            }
        )
    heads = [
        {"label": isolated(label, 40), "style": _style(at)} for at, label in enumerate(columns)
    ]
    partly = any(not isinstance(cell, int) for line in table["cells"] for cell in line)
    return {"heads": heads, "lines": lines, "totals": table["column_totals"], "partly": partly}


def _short(labels: Sequence[str]) -> Sequence[str]:
    """Labels with numbers rounded to few digits, unless that makes two of them equal.

    Examples
    --------
    >>> _short(["0", "2.231510852976447"]), _short(["1.00000001", "1.00000002"])
    (['0', '2.23151'], ['1.00000001', '1.00000002'])
    """
    short = [f"{float(text):.6g}" if _DECIMAL.fullmatch(text) else text for text in labels]
    return short if len(set(short)) == len(set(labels)) else labels


def _style(index: int) -> str:
    return f"z{index % COLORS + 1}"


def _bar(cells: Sequence[Cell], total: int) -> list[dict[str, Any]]:
    """The parts of a bar of width 100: the least count of each cell, then what is not known."""
    parts: list[dict[str, Any]] = []
    x = 0.0
    for index, cell in enumerate(cells):
        if least := least_count(cell):
            width = 100 * least / total
            parts.append({"style": _style(index), "x": round(x, 3), "width": round(width, 3)})
            x += width
    return [*parts, *_rest(x)]


def _bar_of(index: int, share: float) -> list[dict[str, Any]]:
    width = 100 * share
    return [{"style": _style(index), "x": 0.0, "width": round(width, 3)}, *_rest(width)]


def _rest(at: float) -> list[dict[str, Any]]:
    if at > 99.999:
        return []
    return [{"style": "unknown", "x": round(at, 3), "width": round(100 - at, 3)}]
