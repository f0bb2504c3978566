"""The view of an audit or a repair in a notebook: a small HTML fragment without scripts.

It inherits its colors from the notebook, light or dark. Numbers come from the documents, so it
discloses no more than a report. Names are untrusted and are escaped.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from proxyuse.detect.witnesses import Witness, groups_of
from proxyuse.page.untrusted_text import cut, visible
from proxyuse.report.document import document
from proxyuse.report.inputs import Audited, Repaired
from proxyuse.report.repair_document import repair_document
from proxyuse.report.repair_text import repair_headline
from proxyuse.report.wording import headline, lacking
from proxyuse.validity.content import assessment_content
from proxyuse.words import count

MOST_GROUPS = 5
MOST_STEPS = 5
MOST_UNSETTLED = 3
MOST_NAME = 60
MOST_TEXT = 160

_STYLE = """\
.proxyuse{font-size:13px;line-height:1.45;max-width:72em;color:inherit;overflow-x:auto}
.proxyuse p{margin:.35em 0}
.proxyuse .answer{font-size:1.15em;font-weight:600;border-left:4px solid #8a94a0;padding-left:.6em}
.proxyuse .answer.found{border-color:#d9541e}
.proxyuse .answer.none{border-color:#14958a}
.proxyuse .small{opacity:.75}
.proxyuse table{border-collapse:collapse;margin:.6em 0;color:inherit;background:none}
.proxyuse th,.proxyuse td{padding:.3em .9em .3em 0;text-align:left;vertical-align:top;border:0;\
border-bottom:1px solid rgba(128,128,128,.35);background:none;color:inherit;white-space:normal;\
overflow-wrap:anywhere;min-width:4.5em;max-width:32em}
.proxyuse th{font-weight:600;white-space:nowrap}
.proxyuse .id{white-space:nowrap}
.proxyuse .number{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
.proxyuse code{font-size:.92em;color:inherit;background:rgba(128,128,128,.15);padding:0 .2em}
"""
NUMBERS = ("association", "influence", "related")


def audit_html(audit: Audited) -> str:
    """The answer, the first groups of witnesses, the thresholds, and what is undecided.

    Examples
    --------
    >>> import proxyuse as pu
    >>> data = {"vitamins": [1, 1, 0, 0] * 9, "pregnant": [1, 1, 0, 0] * 9}
    >>> audit = pu.audit(pu.Program.parse("ite(vitamins == 1, 'a', 'b')"), data, "pregnant")
    >>> "<bdi>the value of vitamins</bdi>" in audit_html(audit)
    True
    """
    groups = groups_of(audit.witnesses)
    sizes = [(group.representative, len(group.witnesses)) for group in groups]
    # There may be thousands of witnesses; only the first groups are described.
    content = document(audit, most_groups=MOST_GROUPS)
    state = "found" if audit.witnesses else "none" if audit.complete else ""
    limits = content["thresholds"]
    measured = (
        f"{count(content['decompositions'], 'decomposition')} on "
        f"{count(content['rows'], 'row')}; a witness has an association of at least "
        f"{limits['epsilon']:g} and an influence above {limits['delta']:g}"
    )
    parts = [
        f'<p class="answer {state}">{_text(_answer(audit))}</p>',
        _groups(content, sizes),
        _nearest(content) if not audit.witnesses else "",
        f'<p class="small">Measured: {escape(measured)}.</p>',
        _searched(content),
        _unsettled(content),
    ]
    return _fragment(parts)


def repair_html(repair: Repaired) -> str:
    """The result of a repair, its first steps, its cost, and what is undecided."""
    content = repair_document(repair)
    rows = [
        [
            f"<code>{_text(first['term'], MOST_TEXT)}</code>{_more(step['number_of_changes'] - 1)}",
            f"<code>{_text(first['value'], MOST_NAME)}</code>",
            f"<code>{_text(step['removed']['term'], MOST_TEXT)}</code>",
            _name(step["removed"]["protected"]),
            f"{step['removed']['association']:.3f}",
            f"{step['removed']['influence']:.3f}",
        ]
        for step in content["steps"][:MOST_STEPS]
        for first in step["changes"][:1]
    ]
    heads = ["replaced", "with", "because of", "protected attribute", "association", "influence"]
    hidden = len(content["steps"]) - MOST_STEPS
    limits, utility = content["thresholds"], content["utility"]
    costs = [
        f"{utility['name']} {loss['before']:.4f} before, {loss['after']:.4f} after on "
        f"{count(loss['rows'], 'row')} {called}"
        for loss, called in ((utility["used"], "used"), (utility["holdout"], "held out"))
        if loss is not None
    ]
    if content["constant"] is not None:
        costs.insert(0, f"the whole program was replaced with {content['constant']}")
    measured = (
        f"Thresholds: association of at least {limits['epsilon']:g}, influence above "
        f"{limits['delta']:g}, on {count(content['rows'], 'row')}. The model may still use "
        "computations below them."
    )
    parts = [
        f'<p class="answer{" none" * content["complete"]}">{_text(repair_headline(content))}</p>',
        _table(heads, rows, f"{count(hidden, 'more step')}" if hidden > 0 else ""),
        f"<p>{_text('; '.join(costs))}.</p>" if content["result"] == "repaired" else "",
        f'<p class="small">{escape(measured)}</p>',
        _searched(content),
        _unsettled(content),
    ]
    return _fragment(parts)


def _answer(audit: Audited) -> str:
    """The answer in one sentence, for all witnesses."""
    witnesses = audit.witnesses
    validity = audit.validity and assessment_content(audit.validity, witnesses)
    numbers = {
        z.name: sum(w.protected == z.name for w in witnesses) for z in audit.population.protected
    }
    content = {
        "protected": [{"name": name, "witnesses": number} for name, number in numbers.items()],
        "witnesses": [{"protected": w.protected, "explicit": w.explicit} for w in witnesses],
        "violations": len(witnesses),
        "complete": audit.complete,
        "validity": validity,
    }
    return headline(content, lambda name: cut(visible(name), MOST_NAME))


def _groups(content: Mapping[str, Any], sizes: Sequence[tuple[Witness, int]]) -> str:
    tested = ["verdict"] if content["validity"] else []
    by_id = {(w["protected"], w["id"]): w for w in content["witnesses"]}
    rows = []
    for representative, number in sizes[:MOST_GROUPS]:
        witness = by_id[representative.key]
        what = f"<bdi>{_text(witness['reading'], MOST_TEXT)}</bdi>"
        what += " (the protected attribute itself)" * witness["explicit"]
        verdict = [escape(witness["validity"]["verdict"]) for _ in tested]
        name = f'<code class="id">{_text(witness["id"])}</code>'
        rows.append([what, _name(witness["protected"]), *_figures(witness), *verdict,
                     f"{number - 1:,}", name])  # fmt: skip
    heads = ["the model uses", "protected attribute", "association", "influence", *tested,
             "related", "id"]  # fmt: skip
    hidden = len(sizes) - len(rows)
    return _table(heads, rows, f"{count(hidden, 'more group')}" if hidden > 0 else "")


def _nearest(content: Mapping[str, Any]) -> str:
    rows = [
        [f"<bdi>{_text(near['reading'], MOST_TEXT)}</bdi>", _name(near["protected"]),
         *_figures(near), escape(lacking(near))]
        for near in content["nearest"][:MOST_GROUPS]
    ]  # fmt: skip
    return _table(
        [
            "closest to proxy use",
            "protected attribute",
            "association",
            "influence",
            "below threshold",
        ],
        rows,
    )


def _figures(entry: Mapping[str, Any]) -> list[str]:
    influence = "" if entry["influence"] is None else f"{entry['influence']:.3f}"
    return [f"{entry['association']:.3f}", influence]


def _searched(content: Mapping[str, Any]) -> str:
    """The spaces that were searched, but not exhaustively."""
    lines = [note["text"] for note in content["notes"] if note["kind"] == "searched"]
    return "".join(f'<p class="small">{_text(line, MOST_TEXT)}</p>' for line in lines)


def _unsettled(content: Mapping[str, Any]) -> str:
    """The undecided computations, and the parts that cannot be inspected."""
    if content["complete"]:
        return ""
    listed = content["unsettled"]["listed"][:MOST_UNSETTLED]
    lines = [*listed, *(n["text"] for n in content["notes"] if n["kind"] == "opaque")]
    hidden = content["unsettled"]["count"] - len(listed)
    lines += [f"... and {hidden:,} more"] if hidden > 0 else []
    items = "".join(f"<li>{_text(line, MOST_TEXT)}</li>" for line in lines)
    return f"<p>Undecided:</p><ul>{items}</ul>"


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]], more: str = "") -> str:
    """A table of cells that are HTML."""
    if not rows:
        return ""
    kinds = [' class="number"' if head in NUMBERS else "" for head in heads]
    head = _line("th", heads, [f'{kind} scope="col"' for kind in kinds])
    body = "".join(_line("td", row, kinds) for row in rows)
    ending = f'<p class="small">... and {more}.</p>' if more else ""
    return f"<table><thead>{head}</thead><tbody>{body}</tbody></table>{ending}"


def _line(tag: str, cells: Sequence[str], kinds: Sequence[str]) -> str:
    inner = (f"<{tag}{kind}>{cell}</{tag}>" for cell, kind in zip(cells, kinds, strict=True))
    return f"<tr>{''.join(inner)}</tr>"


def _text(text: str, most: int = 400) -> str:
    return escape(cut(visible(text), most))


def _name(text: str) -> str:
    return f"<bdi>{_text(text, MOST_NAME)}</bdi>"


def _more(number: int) -> str:
    return f" and {count(number, 'more position')}" if number else ""


def _fragment(parts: Iterable[str]) -> str:
    inner = "\n".join(part for part in parts if part)
    return f'<div class="proxyuse"><style>{_STYLE}</style>\n{inner}\n</div>'
