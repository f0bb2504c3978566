"""What stands on the page: everything the templates say, as plain values.

Made from the document of an audit, so that the page says what may be disclosed and nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import to_builtins

from proxyuse.hashes import data_hash, program_hash
from proxyuse.page.glossary import glossary
from proxyuse.page.repaired import Became, repair_section
from proxyuse.page.shown import MOST_NAME, PAGE, all_visible, cut, name, said
from proxyuse.page.witness import Sections, brief, is_settled
from proxyuse.report.findings.headline import headline
from proxyuse.report.findings.witness import shortfall
from proxyuse.report.inputs import Audited, Repaired
from proxyuse.report.repair_document import repair_document
from proxyuse.report.result import AuditResult
from proxyuse.words import count, listed

MOST_FIRST = 3  # groups on the first screen
MOST_SECTIONS = 50
MOST_LINES = 200  # of the table that are there at once
MOST_NOTES = 40
MOST_REFERENCES = 12

Found = Mapping[str, Any]


def page_content(audit: Audited, result: AuditResult, repair: Repaired | None) -> dict[str, Any]:
    """Everything that the templates need."""
    document: Found = to_builtins(result)
    repaired = None
    if repair is not None:
        repaired = repair_document(
            repair, about=document["about"], min_cell=document["min_cell"],
            written=document["about"].get("written"),
        )  # fmt: skip
    became = None if repair is None or repaired is None else Became(repair, to_builtins(repaired))
    entries = {(w["protected"], w["id"]): w for w in document["witnesses"]}
    first = _first(document)
    keys = list(dict.fromkeys([*(group["key"] for group in first), *entries]))
    shown = sorted(keys[:MOST_SECTIONS], key=list(entries).index)
    sections = Sections(audit, result, shown, became).all()
    anchors = {section["anchor"] for section in sections}
    lines = [brief(audit, result, entry) for entry in entries.values()]
    return {
        "title": _title(document),
        "headline": headline(result, PAGE),
        "facts": _facts(audit, document),
        "first": [_look_at(audit, result, entries, group) for group in first],
        "more_groups": max(0, len(document["groups"]) - len(first)),
        "several": len(document["protected"]) > 1,
        "protected": _protected(document),
        "sections": sections,
        "without_section": len(lines) - len(sections),
        "lines": lines[:MOST_LINES],
        "more_lines": _more_lines(document, lines[MOST_LINES:]),
        "anchors": anchors,
        "tested": document.get("validity") is not None,
        "statistics": _statistics(document),
        "unsettled": _unsettled(document),
        "notes": _notes(document),
        "nearest": [_near(found) for found in document["nearest"]],
        "references": _references(document),
        "repair": repair and repaired and repair_section(repair, repaired),
        "glossary": glossary(document, None if repaired is None else to_builtins(repaired)),
        "check": _check(audit, document),
    }


def _title(document: Found) -> str:
    """What is audited, for the title of the window."""
    about = document["about"]
    file = (about.get("model") or {}).get("file") if isinstance(about.get("model"), dict) else None
    names = listed(cut(all_visible(z["name"]), 40) for z in document["protected"])
    of = f"{all_visible(file)}: " if isinstance(file, str) else ""
    return f"{of}proxy use of {names}"


# The first screen


def _first(document: Found) -> list[dict[str, Any]]:
    """The groups to look at: those with violations, of each attribute the first, then the next."""
    groups = document["groups"]
    violating = {(w["protected"], w["group"]) for w in document["witnesses"] if not is_settled(w)}
    settled = [(group["protected"], group["group"]) not in violating for group in groups]
    order = sorted(range(len(groups)), key=settled.__getitem__)
    leading = {groups[place]["protected"]: place for place in reversed(order)}
    order.sort(key=lambda place: (settled[place], place not in leading.values()))
    chosen = sorted(order[:MOST_FIRST], key=lambda place: (settled[place], place))
    return [_with_front(document, groups[place]) for place in chosen]


def _with_front(document: Found, group: Found) -> dict[str, Any]:
    """A group with what to look at in it: the smallest violation, or the smallest witness."""
    members = [
        w
        for w in document["witnesses"]
        if (w["protected"], w["group"]) == (group["protected"], group["group"])
    ]
    left = [w for w in members if not is_settled(w)]
    front = min(left or members, key=lambda w: w["size"])
    return {**group, "key": (group["protected"], front["id"]), "violations": len(left)}


def _look_at(
    audit: Audited, result: AuditResult, entries: Mapping[tuple[str, str], Found], group: Found
) -> dict[str, Any]:
    front = entries[group["key"]]
    strongest = entries[group["protected"], group["strongest"]]
    found = brief(audit, result, front)
    others = group["witnesses"] - 1
    appropriate = group["witnesses"] - group["violations"] - is_settled(front)
    more = count(others, "more witness", "more witnesses") + " in its group"
    if appropriate:
        more += f", {appropriate:,} judged appropriate"
    closer = strongest["association"] > front["association"] + 0.01
    return {
        **found,
        "others": more if others else "",
        "strongest": brief(audit, result, strongest) if closer else None,
        "settled": not group["violations"],
    }


def _facts(audit: Audited, document: Found) -> dict[str, Any]:
    """Which model, which data."""
    about = document["about"]
    model = about["model"] if isinstance(about.get("model"), dict) else {}
    data = about["data"] if isinstance(about.get("data"), dict) else {}
    files = data.get("files")
    given = files if isinstance(files, list) else []
    steps = [step for step in dict.fromkeys(o.step for o in audit.program.origins.steps) if step]
    return {
        "model": said(model["file"], 60) if isinstance(model.get("file"), str) else "",
        "steps": said(", ".join(steps), 120) if steps else "",
        "model_hash": all_visible(model.get("sha256")) or "",
        "program_hash": program_hash(audit.program),
        "size": document["program"]["size"],
        "variables": len(document["program"]["variables"]),
        "files": [
            {"file": said(str(f.get("file")), 60), "sha256": all_visible(str(f.get("sha256")))}
            for f in given
            if isinstance(f, dict)
        ],
        "where": said(str(data["where"]), 200) if data.get("where") else "",
        "data_hash": data_hash(audit.population),
        "rows": document["rows"],
        "weighted": document["weighted"],
        "epsilon": f"{document['thresholds']['epsilon']:g}",
        "delta": f"{document['thresholds']['delta']:g}",
        "measures": document["measures"],
        "decompositions": document["decompositions"],
        "complete": document["complete"],
        "searched": any(note["kind"] == "searched" for note in document["notes"]),
        "witnesses": len(document["witnesses"]),
        "violations": document["violations"],
    }


def _protected(document: Found) -> list[dict[str, Any]]:
    return [
        {
            "name": name(z["name"]),
            "whole": all_visible(z["name"]) if len(z["name"]) > MOST_NAME else "",
            "read": z["read_by_model"],
            "values": [
                {"value": said(v["value"], 40), "rows": v["rows"], "share": v["share"]}
                for v in z["values"]
            ],
        }
        for z in document["protected"]
    ]


# The rest


def _more_lines(document: Found, lines: Sequence[Found]) -> dict[str, Any] | None:
    """The lines that are shown on demand."""
    if not lines:
        return None
    names = [name(z["name"]) for z in document["protected"]]
    return {"protected": names, "lines": [_cells(line) for line in lines]}


def _cells(line: Found) -> list[Any]:
    """A line of the table as a script needs it, for lines that are shown on demand."""
    keys = ("protected_index", "id", "short_reading", "association", "influence", "occurrences")
    words = [line["verdict"]["word"], line["judged"]["word"]]
    return [*(line[key] for key in keys), *words]


def _statistics(document: Found) -> list[str]:
    asked = document.get("validity")
    if asked is None:
        return []
    told = list(all_visible(asked["remarks"]))
    if asked["confirmed_only"]:
        told.append("Only confirmed violations count for the exit code.")
    return told


def _unsettled(document: Found) -> dict[str, Any]:
    left = document["unsettled"]
    return {
        "count": left["count"],
        "listed": [said(text, 300) for text in left["listed"][:MOST_NOTES]],
        "more": max(0, left["count"] - min(len(left["listed"]), MOST_NOTES)),
        "opaque": not document["complete"] and not left["count"],
    }


def _notes(document: Found) -> list[dict[str, str]]:
    told = [
        {"kind": n["kind"], "text": said(n["text"], 600)}
        for n in document["notes"]
        if n["kind"] != "unsettled"
    ]
    about = document["about"].get("notes", [])
    if isinstance(about, list):
        told += [{"kind": "files", "text": said(str(text), 600)} for text in about]
    return told[:MOST_NOTES]


def _near(found: Found) -> dict[str, Any]:
    return {
        "protected": name(found["protected"]),
        "reading": said(found["reading"], 160),
        "association": found["association"],
        "influence": found["influence"],
        "lacking": shortfall(found["association_short_by"], found["influence_short_by"]),
    }


def _references(document: Found) -> list[dict[str, Any]]:
    """For each attribute the variables most associated, and the whole output."""
    found = []
    for z in document["protected"]:
        known = [
            r
            for r in document["references"]
            if r["protected"] == z["name"] and r["association"] is not None
        ]
        variables = [r for r in known if r["kind"] == "variable"]
        variables.sort(key=lambda r: -r["association"])
        outputs = [r for r in known if r["kind"] == "output"]
        lines: Sequence[Found] = [*variables[:MOST_REFERENCES], *outputs]
        found.append(
            {
                "protected": name(z["name"]),
                "lines": [
                    {
                        "name": said(r["name"], 60) if r["name"] is not None else "",
                        "association": r["association"],
                        "influence": r["influence"],
                        "witness": r["witness"],
                    }
                    for r in lines
                ],
                "more": max(0, len(variables) - MOST_REFERENCES),
            }
        )
    return found


def _check(audit: Audited, document: Found) -> dict[str, Any]:
    """What it takes to find all this out again."""
    about = document["about"]
    model = about["model"] if isinstance(about.get("model"), dict) else {}
    data = about["data"] if isinstance(about.get("data"), dict) else {}
    files = [f for f in data.get("files") or [] if isinstance(f, dict)]
    limits = document["thresholds"]
    parts = [f"--epsilon {limits['epsilon']:g} --delta {limits['delta']:g}"]
    if model.get("file") and files:
        inputs = f"--model {_word(model['file'])} --data {_word(files[0].get('file'))}"
        parts.insert(0, inputs)
    else:
        parts.insert(0, "--model MODEL --data DATA")
    parts += [f"--protected {_word(z['name'])}" for z in document["protected"]]
    if len(files) > 1:
        parts.append(f"--protected-data {_word(files[1].get('file'))} --key COLUMN")
    given = {**data, "decision-threshold": model.get("decision_threshold")}
    for option in ("target", "weights", "where", "decision-threshold"):
        if given.get(option) is not None:
            parts.append(f"--{option} {_word(given[option])}")
    association = _ASSOCIATIONS.get(document["measures"]["association"].partition(" (")[0])
    if association is not None:
        parts.append(f"--association {association}")
    methods = (document.get("validity") or {"methods": []})["methods"]
    parts += [f"--validity {method['name']}" for method in methods]
    return {
        "version": document["proxyuse"],
        "command": f"proxyuse audit {' '.join(parts)}",
        "saved_with": said(str(model["saved_with"]), 100) if model.get("saved_with") else "",
    }


_ASSOCIATIONS = {
    "adjusted mutual information": "adjusted-mutual-information",
    "Cramer's V": "cramers-v",
    "squared correlation": "squared-correlation",
}
"""Options of the command line, by measure; of the usual one, none."""


def _word(text: object) -> str:
    import shlex

    return shlex.quote(cut(all_visible(str(text)), 200))
