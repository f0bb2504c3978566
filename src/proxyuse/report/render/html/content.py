"""The content of the page: every value that the templates print.

It is made from the document of an audit, so the page contains only what may be disclosed.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import Any

from msgspec import to_builtins

from proxyuse.hashes import data_hash, program_hash
from proxyuse.measure.association.names import DEFAULT
from proxyuse.measure.association.registry import association_option
from proxyuse.report.findings import direction, explicit
from proxyuse.report.findings import page as sentences
from proxyuse.report.findings.explicit import derived
from proxyuse.report.findings.glossary import glossary
from proxyuse.report.findings.headline import (
    NOT_ANALYZED,
    WITHHELD_TABLE,
    answer,
    coverage,
    withheld,
)
from proxyuse.report.findings.style import MOST_NAME
from proxyuse.report.findings.thresholds import epsilon_meanings
from proxyuse.report.findings.verdict import possible_means
from proxyuse.report.findings.witness import (
    ITSELF,
    NEXT_STEP,
    associated,
    not_judged,
    others,
    shortfall,
    strongest_related,
)
from proxyuse.report.inputs import Audited, Repaired
from proxyuse.report.render.html.collection_section import collection_section
from proxyuse.report.render.html.frontier_section import frontier_section
from proxyuse.report.render.html.repair_section import RepairOutcome, repair_section
from proxyuse.report.render.html.threshold_section import threshold_section
from proxyuse.report.render.html.untrusted_text import (
    PAGE,
    isolated,
    linked,
    name,
)
from proxyuse.report.render.html.witness import (
    Sections,
    anchor,
    is_confirmed,
    is_settled,
    summary,
)
from proxyuse.report.repair_document import repair_document
from proxyuse.report.result import AuditResult
from proxyuse.words import all_visible, listed, shortened

MOST_FIRST = 3  # groups on the first screen
MOST_SECTIONS = 50
MOST_LINES = 200  # of the table; a button shows the others
MOST_NOTES = 40
MOST_REFERENCES = 12

Found = Mapping[str, Any]


def page_content(audit: Audited, result: AuditResult, repair: Repaired | None) -> dict[str, Any]:
    """The values that the templates need."""
    document: Found = to_builtins(result)
    repaired = None
    if repair is not None:
        repaired = repair_document(
            repair, about=document["about"], min_cell=document["min_cell"],
            written=document["about"].get("written"),
        )  # fmt: skip
    outcome = None if repair is None or repaired is None else RepairOutcome(repair, repaired)
    entries = {(w["protected"], w["id"]): w for w in document["witnesses"]}
    first = _first(document)
    keys = list(dict.fromkeys([*(group["key"] for group in first), *entries]))
    chosen = sorted(keys[:MOST_SECTIONS], key=list(entries).index)
    sections = Sections(audit, result, chosen, outcome).all()
    anchors = {section["anchor"] for section in sections}
    lines = [summary(audit, result, entry) for entry in entries.values()]
    sentence, *rest = (text for paragraph in answer(result, PAGE) for text in paragraph)
    return {
        "title": _title(document),
        "headline": sentence,
        "headline_rest": " ".join(rest),
        "possible": "" if all(g["confirmed"] for g in first) else possible_means(result),
        "explicit": _explicit(result),
        "explicit_title": explicit.TITLE,
        "explicit_counts": explicit.WHAT_COUNTS,
        "collections": collection_section(audit, result),
        "coverage": coverage(result),
        "next_step": NEXT_STEP,
        "itself": ITSELF,
        "not_judged": not_judged(PAGE),
        "not_analyzed": NOT_ANALYZED,
        "sentences": sentences,
        "exactness": sentences.exactness(result.measures.sampled, PAGE),
        "chart": sentences.chart(result.decompositions, PAGE),
        "outcomes": _outcomes(result),
        "facts": _facts(audit, document),
        "first": [_finding(audit, result, entries, group, anchors) for group in first],
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
        "nearest": [_near(near) for near in document["nearest"]],
        "references": _references(document),
        "withheld": withheld(result.min_cell),
        "withheld_table": WITHHELD_TABLE,
        "repair": repair and repaired and repair_section(repair, repaired),
        "frontier": repaired and frontier_section(repaired),
        "glossary": glossary(result, repaired),
        "meanings": epsilon_meanings(result, PAGE),
        "thresholds": threshold_section(audit, result),
        "check": _check(audit, document),
    }


def _explicit(result: AuditResult) -> list[str]:
    """The columns that determine a protected attribute, one paragraph each."""
    uses = explicit.all_of(result)
    return [" ".join(explicit.sentences(result, z, use, PAGE)) for z, use in uses]


def _title(document: Found) -> str:
    """The title of the window: the model and the protected attributes."""
    about = document["about"]
    file = (about.get("model") or {}).get("file") if isinstance(about.get("model"), dict) else None
    names = listed(shortened(all_visible(z["name"]), 40) for z in document["protected"])
    of = f"{all_visible(file)}: " if isinstance(file, str) else ""
    return f"{of}proxy use of {names}"


# The first screen


def _first(document: Found) -> list[dict[str, Any]]:
    """The groups for the first screen: confirmed violations, then others, then what was judged.

    Of each kind, the first of each attribute comes first.
    """
    groups = document["groups"]
    rank: dict[tuple[str, int], int] = {}
    for w in document["witnesses"]:
        key = w["protected"], w["group"]
        own = 2 if is_settled(w) else 0 if is_confirmed(w) else 1
        rank[key] = min(own, rank.get(key, own))
    settled = [rank[group["protected"], group["group"]] for group in groups]
    order = sorted(range(len(groups)), key=settled.__getitem__)
    leading = {groups[index]["protected"]: index for index in reversed(order)}
    ranks = {index: rank for rank, index in enumerate(order)}
    order.sort(key=lambda index: (settled[index], index not in leading.values()))
    chosen = sorted(order[:MOST_FIRST], key=ranks.__getitem__)
    return [_with_representative(document, groups[index]) for index in chosen]


def _with_representative(document: Found, group: Found) -> dict[str, Any]:
    """A group with its representative: its smallest confirmed violation, violation or witness."""
    members = [
        w
        for w in document["witnesses"]
        if (w["protected"], w["group"]) == (group["protected"], group["group"])
    ]
    violations = [w for w in members if not is_settled(w)]
    confirmed = [w for w in violations if is_confirmed(w)]
    representative = min(confirmed or violations or members, key=lambda w: w["size"])
    key = group["protected"], representative["id"]
    sure = is_confirmed(representative)
    return {**group, "key": key, "violations": len(violations), "confirmed": sure}


def _outcomes(result: AuditResult) -> dict[str, Any] | None:
    """What each group gets: sentences, and a table for each attribute."""
    known = result.outcomes
    said = direction.outcomes(result, PAGE)
    if not said:
        return None
    tables = [
        dict(zip(("heads", "lines"), direction.outcome_table(known, z, PAGE), strict=True))
        for z in known.attributes
    ]
    return {
        "title": direction.OUTCOMES,
        "sentences": said,
        "tables": [{**table, "protected": name(z.protected)}
                   for table, z in zip(tables, known.attributes, strict=True)],
        "remark": direction.outcome_remark(known),
    }  # fmt: skip


def _finding(
    audit: Audited,
    result: AuditResult,
    entries: Mapping[tuple[str, str], Found],
    first: Found,
    anchors: Container[str],
) -> dict[str, Any]:
    group = next(
        g for g in result.groups if (g.protected, g.group) == (first["protected"], first["group"])
    )
    witnesses = result.by_key()
    representative = witnesses[first["key"]]
    strongest = witnesses[group.protected, group.strongest]
    target = anchor(audit, group.protected, group.strongest)
    style = linked(target) if target in anchors else PAGE
    return {
        **summary(audit, result, entries[first["key"]]),
        "others": others(result, group, representative),
        "strongest": strongest_related(representative, strongest, style),
        "settled": not first["violations"],
    }


def _facts(audit: Audited, document: Found) -> dict[str, Any]:
    """The model, the data and the settings."""
    about = document["about"]
    model = about["model"] if isinstance(about.get("model"), dict) else {}
    data = about["data"] if isinstance(about.get("data"), dict) else {}
    files = data.get("files")
    listed_files = files if isinstance(files, list) else []
    steps = [step for step in dict.fromkeys(o.step for o in audit.program.origins.steps) if step]
    return {
        "model": isolated(model["file"], 60) if isinstance(model.get("file"), str) else "",
        "steps": isolated(", ".join(steps), 120) if steps else "",
        "model_hash": all_visible(model.get("sha256")) or "",
        "program_hash": program_hash(audit.program),
        "size": document["program"]["size"],
        "variables": len(document["program"]["variables"]),
        "files": [
            {"file": isolated(str(f.get("file")), 60), "sha256": all_visible(str(f.get("sha256")))}
            for f in listed_files
            if isinstance(f, dict)
        ],
        "where": isolated(str(data["where"]), 200) if data.get("where") else "",
        "data_hash": data_hash(audit.population),
        "rows": document["rows"],
        "weighted": document["weighted"],
        "epsilon": f"{document['thresholds']['epsilon']:g}",
        "requested_epsilon": document["thresholds"]["requested_epsilon"],
        "delta": f"{document['thresholds']['delta']:g}",
        "measures": document["measures"],
        "decompositions": document["decompositions"],
        "complete": document["complete"],
        "witnesses": len(document["witnesses"]),
        "violations": document["violations"],
    }


def _protected(document: Found) -> list[dict[str, Any]]:
    return [
        {
            "name": name(z["name"]),
            "whole": all_visible(z["name"]) if len(z["name"]) > MOST_NAME else "",
            "read": z["read_by_model"],
            "derived": derived(z["derived_from"], z["expression"], PAGE),
            "verdict": z["verdict"],
            "values": [
                {"value": isolated(v["value"], 40), "rows": v["rows"], "share": v["share"]}
                for v in z["values"]
            ],
        }
        for z in document["protected"]
    ]


# The rest


def _more_lines(document: Found, lines: Sequence[Found]) -> dict[str, Any] | None:
    """The lines of the table that a button shows."""
    if not lines:
        return None
    names = [name(z["name"]) for z in document["protected"]]
    return {"protected": names, "lines": [_cells(line) for line in lines]}


def _cells(line: Found) -> list[Any]:
    """A line of the table as the script needs it."""
    keys = ("protected_index", "id", "short_reading", "associated", "influence", "occurrences")
    words = [line["verdict"]["word"], line["judged"]["word"]]
    return [*(line[key] for key in keys), *words]


def _statistics(document: Found) -> list[str]:
    validity = document.get("validity")
    if validity is None:
        return []
    return list(all_visible(validity["remarks"]))


def _unsettled(document: Found) -> dict[str, Any]:
    unsettled = document["unsettled"]
    return {
        "count": unsettled["count"],
        "listed": [isolated(text, 300) for text in unsettled["listed"][:MOST_NOTES]],
        "more": max(0, unsettled["count"] - min(len(unsettled["listed"]), MOST_NOTES)),
        "opaque": not document["complete"] and not unsettled["count"],
    }


def _notes(document: Found) -> list[dict[str, str]]:
    notes = [
        {"kind": n["kind"], "text": isolated(n["text"], 600)}
        for n in document["notes"]
        if n["kind"] != "unsettled"
    ]
    about = document["about"].get("notes", [])
    if isinstance(about, list):
        notes += [{"kind": "files", "text": isolated(str(text), 600)} for text in about]
    return notes[:MOST_NOTES]


def _near(near: Found) -> dict[str, Any]:
    return {
        "protected": name(near["protected"]),
        "reading": isolated(near["reading"], 160),
        "term": shortened(all_visible(near["term"]), 400),
        "associated": _associated(near),
        "influence": near["influence"],
        "lacking": shortfall(
            near["association_short_by"],
            near["influence_short_by"],
            ranged=near["association_range"] is not None,
        ),
    }


def _associated(figures: Found) -> str:
    return associated(figures["association"], figures["association_range"])


def _references(document: Found) -> list[dict[str, Any]]:
    """For each attribute the variables with the strongest association, and the model output."""
    tables = []
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
        tables.append(
            {
                "protected": name(z["name"]),
                "lines": [
                    {
                        "name": isolated(r["name"], 60) if r["name"] is not None else "",
                        "associated": _associated(r),
                        "influence": r["influence"],
                        "witness": r["witness"],
                    }
                    for r in lines
                ],
                "more": max(0, len(variables) - MOST_REFERENCES),
            }
        )
    return tables


def _check(audit: Audited, document: Found) -> dict[str, Any]:
    """The command that repeats the audit."""
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
    settings = {**data, "decision-threshold": model.get("decision_threshold")}
    for option in ("target", "weights", "where", "decision-threshold"):
        if settings.get(option) is not None:
            parts.append(f"--{option} {_word(settings[option])}")
    association = association_option(document["measures"]["association"])
    if association not in (None, DEFAULT):
        parts.append(f"--association {association}")
    methods = (document.get("validity") or {"methods": []})["methods"]
    parts += [f"--validity {method['name']}" for method in methods]
    return {
        "version": document["proxyuse"],
        "command": f"proxyuse audit {' '.join(parts)}",
        "saved_with": isolated(str(model["saved_with"]), 100) if model.get("saved_with") else "",
    }


def _word(text: object) -> str:
    import shlex

    return shlex.quote(shortened(all_visible(str(text)), 200))
