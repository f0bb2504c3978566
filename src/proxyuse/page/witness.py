"""One witness for the page: what it does, where it stands, what it tells, whom it moves."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import convert, to_builtins

from proxyuse.detect.witnesses import Witness
from proxyuse.lang.positions import Cover
from proxyuse.measure.influence import QuantitativeInputInfluence
from proxyuse.page.model_drawing import tree_drawing
from proxyuse.page.places import MOST_STEPS, conditions, operands
from proxyuse.page.repaired import Became
from proxyuse.page.shown import MOST_WORDS, PAGE, all_visible, name, said
from proxyuse.report.findings.witness import verdict_text
from proxyuse.report.inputs import Audited
from proxyuse.report.result import AuditResult
from proxyuse.report.result import Witness as Witness_
from proxyuse.report.witness_page import Pages

MOST_LINKS = 12
MOST_ESTIMATES = 10  # of whose decisions change, where that is not known exactly: seconds each
COLOURS = 6
ONE_TEST = 3  # boxes

_DECIMAL = re.compile(r"-?\d+\.\d{6,}")

Found = Mapping[str, Any]


def anchor(audit: Audited, protected: str, id_: str) -> str:
    """Where the section of a witness is."""
    names = [z.name for z in audit.population.protected]
    return f"witness-{names.index(protected)}-{id_}"


class Sections:
    """The sections of some witnesses of an audit.

    Parameters
    ----------
    audit, result : the audit and its result.
    shown : the witnesses that have a section, by protected attribute and id.
    became : what a repair made of them.
    """

    def __init__(
        self,
        audit: Audited,
        result: AuditResult,
        shown: Sequence[tuple[str, str]],
        became: Became | None,
    ) -> None:
        self._audit = audit
        self._result = result
        self._entries: dict[tuple[str, str], Found] = {
            w.key: to_builtins(w) for w in result.witnesses
        }
        self._witnesses = {w.key: w for w in audit.witnesses}
        self._shown = shown
        self._pages = Pages(audit, result)
        self._became = became
        self._estimates = 0

    def all(self) -> list[dict[str, Any]]:
        """A section for each witness that is to have one."""
        return [self._section(key) for key in self._shown]

    def _section(self, key: tuple[str, str]) -> dict[str, Any]:
        witness, entry = self._witnesses[key], self._entries[key]
        program, columns = self._audit.program, self._audit.population.columns
        sites = witness.decomposition.sites
        among = operands(program, columns, sites[0])
        drawing = tree_drawing(program, columns, sites)
        if among is not None and drawing is not None and len(drawing.boxes) <= ONE_TEST:
            drawing = None  # a decision by one sum: the table of its parts says more
        return {
            **brief(self._audit, self._result, entry),
            "term": entry["term"],
            "term_cut": entry["term_length"] > len(entry["term"]),
            "origins": all_visible(entry["origins"][:MOST_LINKS]),
            "more_origins": max(0, len(entry["origins"]) - MOST_LINKS),
            "drawing": drawing,
            "operands": among,
            "ways": _ways([conditions(program, columns, site.point) for site in sites[:3]]),
            "more_ways": max(0, len(sites) - 3),
            "joint": joint_table(entry["table"]),
            "affected": self._affected(witness),
            **self._nested(witness),
            "became": self._became and self._became.of(witness),
        }

    def _affected(self, witness: Witness) -> dict[str, Any] | None:
        """Whose decisions change; None where estimates for all would take too long."""
        if self._estimates == MOST_ESTIMATES:
            return None
        rows, moved = self._pages.affected(witness)
        self._estimates += moved.pairs is not None
        within = None if moved.within is None else f"{100 * moved.within:.1f}"
        return {"rows": all_visible(rows), "pairs": moved.pairs, "within": within}

    def _nested(self, witness: Witness) -> dict[str, Any]:
        """Links to the witnesses inside this one and around it; the same elsewhere is counted."""
        points, sites = self._audit.program.points, witness.decomposition.sites
        cover = Cover(points, sites)
        inside, around = [], []
        for key in self._shown:
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
                "reading": said(self._entries[w.key]["reading"], 120),
                "association": f"{self._entries[w.key]['association']:.3f}",
                "influence": f"{self._entries[w.key]['influence']:.3f}",
            }
            for w in witnesses
        ]


def _ways(ways: Sequence[list[str]]) -> list[dict[str, Any]]:
    """The ways to the first places; each once."""
    distinct = list(dict.fromkeys(map(tuple, ways)))
    return [{"first": way[:MOST_STEPS], "rest": max(0, len(way) - MOST_STEPS)} for way in distinct]


def brief(audit: Audited, result: AuditResult, entry: Found) -> dict[str, Any]:
    """What the first screen, the table and the section of a witness all say."""
    reading = entry["reading"]
    witness = convert(entry, Witness_)
    return {
        "id": entry["id"],
        "protected_name": name(entry["protected"]),
        "protected_index": [z.name for z in result.protected].index(entry["protected"]),
        "anchor": anchor(audit, entry["protected"], entry["id"]),
        "reading": said(reading),
        "share_changes": result.measures.influence == QuantitativeInputInfluence().name,
        "short_reading": said(reading, 120),
        "whole_reading": all_visible(reading) if len(reading) > 240 else "",
        "explicit": entry["explicit"],
        "occurrences": entry["occurrences"],
        "at": "" if entry["occurrences"] == 1 else f"at {entry['occurrences']:,} places",
        "size": entry["size"],
        "association": entry["association"],
        "ceiling": entry["ceiling"],
        "influence": entry["influence"],
        "reach": entry["reach"],
        "guess": entry["guess"],
        "bounds": _bounds(entry.get("validity") or {}),
        "verdict": verdict(entry),
        "verdict_text": verdict_text(result, witness, PAGE),
        "judgment": _judgment(entry["judgment"]),
        "judged": judged(entry),
    }


def _bounds(validity: Found) -> dict[str, tuple[str, str] | None]:
    found = {}
    for measure in ("association", "influence"):
        low, high = validity.get(f"{measure}_low"), validity.get(f"{measure}_high")
        found[measure] = None if low is None or high is None else (f"{low:.3f}", f"{high:.3f}")
    return found


def verdict(entry: Found) -> dict[str, str]:
    """What statistics say in one word, and the look of its badge."""
    known = entry.get("validity")
    if known is None:
        return {"word": "not tested", "look": ""}
    looks = {"confirmed": "mark", "possible": "doubt"}
    return {"word": known["verdict"], "look": looks.get(known["verdict"], "")}


def _judgment(given: Found | None) -> dict[str, Any] | None:
    """Who judged and why; a long reason also as its beginning."""
    if given is None:
        return None
    reason = all_visible(given["reason"])
    return {
        "by": name(given["by"]) if given["by"] else "",
        "reason": said(reason),
        "whole": reason if len(reason) > MOST_WORDS else "",
    }


def is_settled(entry: Found) -> bool:
    """Whether a witness was judged appropriate, so that it is no violation."""
    return bool(entry["judgment"] and entry["judgment"]["appropriate"])


def judged(entry: Found) -> dict[str, str]:
    """What was judged in one word, and the look of its badge."""
    known = entry["judgment"]
    if known is None:
        return {"word": "not judged", "look": ""}
    if known["appropriate"]:
        return {"word": "judged appropriate", "look": "good"}
    return {"word": "judged inappropriate", "look": "mark"}


def joint_table(table: Found) -> dict[str, Any]:
    """The table of a computation and a protected attribute, with a bar for each line.

    Examples
    --------
    >>> found = joint_table(
    ...     {
    ...         "rows": ["false", "true"],
    ...         "columns": ["a", "b"],
    ...         "cells": [[30, 10], ["<5", "withheld"]],
    ...         "row_totals": [40, 60],
    ...         "column_totals": [32, 68],
    ...         "commonest": [None, {"column": "b", "at_least": 0.9, "at_most": 1.0}],
    ...     }
    ... )
    >>> found["lines"][0]["bar"]
    [{'look': 'z1', 'x': 0.0, 'width': 75.0}, {'look': 'z2', 'x': 75.0, 'width': 25.0}]
    >>> [part["look"] for part in found["lines"][1]["bar"]]
    ['z2', 'unknown']
    """
    columns = table["columns"]
    lines = []
    for label, cells, total, most in zip(
        _short(table["rows"]), table["cells"], table["row_totals"], table["commonest"], strict=True
    ):
        whole = all(isinstance(cell, int) for cell in cells)
        if whole or most is None:
            bar = _bar(cells, total)
        else:
            bar = _bar_of(columns.index(most["column"]), most["at_least"])
        least = None if whole or most is None else most["at_least"]
        lines.append(
            {
                "label": said(label, 80),
                "cells": cells,
                "total": total,
                "bar": bar,
                "least": least,
                "commonest": most and said(most["column"], 40),
            }
        )
    heads = [{"label": said(label, 40), "look": _look(at)} for at, label in enumerate(columns)]
    partly = any(not isinstance(cell, int) for line in table["cells"] for cell in line)
    return {"heads": heads, "lines": lines, "totals": table["column_totals"], "partly": partly}


def _short(labels: Sequence[str]) -> Sequence[str]:
    """Labels of which numbers have few digits, if that leaves them different.

    Examples
    --------
    >>> _short(["0", "2.231510852976447"]), _short(["1.00000001", "1.00000002"])
    (['0', '2.23151'], ['1.00000001', '1.00000002'])
    """
    short = [f"{float(text):.6g}" if _DECIMAL.fullmatch(text) else text for text in labels]
    return short if len(set(short)) == len(set(labels)) else labels


def _look(place: int) -> str:
    return f"z{place % COLOURS + 1}"


def _bar(cells: Sequence[object], total: int) -> list[dict[str, Any]]:
    """The parts of a bar of 100 for the cells that are shown; the rest is not known."""
    parts: list[dict[str, Any]] = []
    at = 0.0
    for place, cell in enumerate(cells):
        if isinstance(cell, int) and cell:
            width = 100 * cell / total
            parts.append({"look": _look(place), "x": round(at, 3), "width": round(width, 3)})
            at += width
    return [*parts, *_rest(at)]


def _bar_of(place: int, share: float) -> list[dict[str, Any]]:
    width = 100 * share
    return [{"look": _look(place), "x": 0.0, "width": round(width, 3)}, *_rest(width)]


def _rest(at: float) -> list[dict[str, Any]]:
    if at > 99.999:
        return []
    return [{"look": "unknown", "x": round(at, 3), "width": round(100 - at, 3)}]
