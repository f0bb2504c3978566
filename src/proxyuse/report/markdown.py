"""A document as Markdown, for a pull request.

Names of columns come from strangers: nothing in them becomes a link, a mention, a tag or a cell.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from proxyuse.report.wording import headline, lacking, one_line, shortened, verdict_text
from proxyuse.words import count

MOST_GROUPS = 20
MOST_NOTES = 20
MOST_TEXT = 300
MOST_VERDICT = 1000


def markdown(document: Mapping[str, Any]) -> str:
    """The answer in one line, the groups of witnesses or what came nearest, and the notes."""
    lines = [f"**{headline(document, plain, _found(document))}**", "", _measured(document)]
    lines += _groups(document)
    lines += _nearest(document)
    asked = document.get("validity")
    remarks = [] if asked is None else asked["remarks"]
    lines += _listed("Statistics", remarks, len(remarks))
    notes = [f"{note['kind']}: {note['text']}" for note in document["notes"]
             if note["kind"] != "method"]  # fmt: skip
    notes += document["about"].get("notes", [])
    lines += _listed("Notes", notes, len(notes))
    unsettled = document["unsettled"]
    lines += _listed("Not settled", unsettled["listed"], unsettled["count"])
    return "\n".join(lines) + "\n"


def _found(document: Mapping[str, Any]) -> str:
    witnesses, groups = len(document["witnesses"]), len(document["groups"])
    within = "" if groups == witnesses else f" in {count(groups, 'group')}"
    return f": {count(witnesses, 'computation')}{within}"


def _measured(document: Mapping[str, Any]) -> str:
    limits = document["thresholds"]
    return (
        f"Measured: {count(document['decompositions'], 'decomposition')} on "
        f"{count(document['rows'], 'row')}; counted if association is at least "
        f"{limits['epsilon']:g} and influence above {limits['delta']:g}."
    )


def _groups(document: Mapping[str, Any]) -> list[str]:
    groups = document["groups"]
    if not groups:
        return []
    by_id = {(w["protected"], w["id"]): w for w in document["witnesses"]}
    asked = ["whether it is real"] if document.get("validity") else []
    rows = []
    for group in groups[:MOST_GROUPS]:
        front = by_id[group["protected"], group["front"]]
        others = group["witnesses"] - 1
        what = plain(front["reading"]) + (" (the protected attribute itself)" * front["explicit"])
        verdict = [plain(verdict_text(document, front), MOST_VERDICT) for _ in asked]
        rows.append([what, *_figures(front), *verdict, f"{others:,}", f"`{front['id']}`"])
    heads = ["The model looks at", "protected", "association", "influence", *asked, "around it",
             "id"]  # fmt: skip
    left = len(groups) - MOST_GROUPS
    more = ["", f"... and {count(left, 'more group')}."] if left > 0 else []
    return ["", *_table(heads, rows), *more]


def _nearest(document: Mapping[str, Any]) -> list[str]:
    rows = [
        [plain(near["reading"]), *_figures(near), lacking(near)] for near in document["nearest"]
    ]
    heads = ["Nearest to proxy use", "protected", "association", "influence", "lacks"]
    return ["", *_table(heads, rows)] if rows else []


def _figures(found: Mapping[str, Any]) -> list[str]:
    most = "" if found["ceiling"] is None else f" of at most {found['ceiling']:.3f}"
    influence = "not needed" if found["influence"] is None else f"{found['influence']:.3f}"
    return [plain(found["protected"]), f"{found['association']:.3f}{most}", influence]


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = [heads, ["---"] * len(heads), *rows]
    return [f"| {' | '.join(line)} |" for line in lines]


def _listed(title: str, told: Sequence[str], number: int) -> list[str]:
    if not number:
        return []
    left = number - min(len(told), MOST_NOTES)
    more = [f"- ... and {left:,} more"] if left > 0 else []
    return ["", f"{title}:", "", *(f"- {plain(line)}" for line in told[:MOST_NOTES]), *more]


_SPECIAL = {ord(c): f"&#{ord(c)};" for c in "\\`*_{}[]<>|&~$!^"}
_BROKEN = {ord("@"): "@<!-- -->", ord("#"): "&#35;<!-- -->"}  # would call people, or link issues


def plain(text: str, most: int = MOST_TEXT) -> str:
    """Text that Markdown shows as it is, on one line.

    Examples
    --------
    >>> plain("a|b `c`"), plain("@everyone")
    ('a&#124;b &#96;c&#96;', '@<!-- -->everyone')
    """
    text = shortened(one_line(text), most).translate(_SPECIAL | _BROKEN)
    return text.replace("://", "&#58;//").replace("www.", "www&#46;")
