"""What a notebook shows of an audit or a repair: a small piece of HTML, without scripts.

It takes its colors from the notebook, so it is light or dark as that is. Numbers come from the
documents, so it tells no more than a report. Names come from strangers and are escaped.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from proxyuse.detect.witnesses import Witness, groups_of
from proxyuse.page.shown import cut, visible
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
NUMBERS = ("association", "influence", "around it")


def audit_html(audit: Audited) -> str:
    """The answer, the first groups of witnesses, the thresholds, and what was not settled.

    Examples
    --------
    >>> import proxyuse as pu
    >>> data = {"vitamins": [1, 1, 0, 0] * 9, "pregnant": [1, 1, 0, 0] * 9}
    >>> found = pu.audit(pu.Program.parse("ite(vitamins == 1, 'a', 'b')"), data, "pregnant")
    >>> "<bdi>the value of vitamins</bdi>" in audit_html(found)
    True
    """
    groups = groups_of(audit.witnesses)
    fronts = [(group.representative, len(group.witnesses)) for group in groups]
    # Of thousands of witnesses, only those that are shown are put into words.
    told = document(audit, most_groups=MOST_GROUPS)
    state = "found" if audit.witnesses else "none" if audit.complete else ""
    limits = told["thresholds"]
    measured = (
        f"{count(told['decompositions'], 'decomposition')} on {count(told['rows'], 'row')}; a "
        f"witness has an association of at least {limits['epsilon']:g} and an influence above "
        f"{limits['delta']:g}"
    )
    parts = [
        f'<p class="answer {state}">{_text(_answer(audit))}</p>',
        _groups(told, fronts),
        _nearest(told) if not audit.witnesses else "",
        f'<p class="small">Measured: {escape(measured)}.</p>',
        _searched(told),
        _unsettled(told),
    ]
    return _fragment(parts)


def repair_html(repair: Repaired) -> str:
    """What was repaired, the first steps, what it costs, and what was not settled."""
    told = repair_document(repair)
    rows = [
        [
            f"<code>{_text(first['term'], MOST_TEXT)}</code>{_more(step['number_of_changes'] - 1)}",
            f"<code>{_text(first['value'], MOST_NAME)}</code>",
            f"<code>{_text(step['removed']['term'], MOST_TEXT)}</code>",
            _name(step["removed"]["protected"]),
            f"{step['removed']['association']:.3f}",
            f"{step['removed']['influence']:.3f}",
        ]
        for step in told["steps"][:MOST_STEPS]
        for first in step["changes"][:1]
    ]
    heads = ["replaced", "by", "because of", "protected", "association", "influence"]
    left = len(told["steps"]) - MOST_STEPS
    limits, utility = told["thresholds"], told["utility"]
    costs = [
        f"{utility['name']} {loss['before']:.4f} before, {loss['after']:.4f} after on "
        f"{count(loss['rows'], 'row')} {called}"
        for loss, called in ((utility["used"], "used"), (utility["holdout"], "held out"))
        if loss is not None
    ]
    if told["constant"] is not None:
        costs.insert(0, f"the whole program became {told['constant']}")
    looked = (
        f"Looked for: association of at least {limits['epsilon']:g}, influence above "
        f"{limits['delta']:g}, on {count(told['rows'], 'row')}. What is below these limits is "
        "still used."
    )
    parts = [
        f'<p class="answer{" none" * told["complete"]}">{_text(repair_headline(told))}</p>',
        _table(heads, rows, f"{count(left, 'more step')}" if left > 0 else ""),
        f"<p>{_text('; '.join(costs))}.</p>" if told["result"] == "repaired" else "",
        f'<p class="small">{escape(looked)}</p>',
        _searched(told),
        _unsettled(told),
    ]
    return _fragment(parts)


def _answer(audit: Audited) -> str:
    """The answer in one sentence, of all witnesses."""
    witnesses = audit.witnesses
    asked = audit.validity and assessment_content(audit.validity, witnesses)
    numbers = {
        z.name: sum(w.protected == z.name for w in witnesses) for z in audit.population.protected
    }
    told = {
        "protected": [{"name": name, "witnesses": number} for name, number in numbers.items()],
        "witnesses": [{"protected": w.protected, "explicit": w.explicit} for w in witnesses],
        "violations": len(witnesses),
        "complete": audit.complete,
        "validity": asked,
    }
    return headline(told, lambda name: cut(visible(name), MOST_NAME))


def _groups(told: Mapping[str, Any], fronts: Sequence[tuple[Witness, int]]) -> str:
    asked = ["verdict"] if told["validity"] else []
    by_id = {(w["protected"], w["id"]): w for w in told["witnesses"]}
    rows = []
    for front, number in fronts[:MOST_GROUPS]:
        witness = by_id[front.key]
        what = f"<bdi>{_text(witness['reading'], MOST_TEXT)}</bdi>"
        what += " (the protected attribute itself)" * witness["explicit"]
        verdict = [escape(witness["validity"]["verdict"]) for _ in asked]
        name = f'<code class="id">{_text(witness["id"])}</code>'
        rows.append([what, _name(witness["protected"]), *_figures(witness), *verdict,
                     f"{number - 1:,}", name])  # fmt: skip
    heads = ["the model looks at", "protected", "association", "influence", *asked, "around it",
             "id"]  # fmt: skip
    left = len(fronts) - len(rows)
    return _table(heads, rows, f"{count(left, 'more group')}" if left > 0 else "")


def _nearest(told: Mapping[str, Any]) -> str:
    rows = [
        [f"<bdi>{_text(near['reading'], MOST_TEXT)}</bdi>", _name(near["protected"]),
         *_figures(near), escape(lacking(near))]
        for near in told["nearest"][:MOST_GROUPS]
    ]  # fmt: skip
    return _table(["nearest to proxy use", "protected", "association", "influence", "lacks"], rows)


def _figures(found: Mapping[str, Any]) -> list[str]:
    influence = "" if found["influence"] is None else f"{found['influence']:.3f}"
    return [f"{found['association']:.3f}", influence]


def _searched(told: Mapping[str, Any]) -> str:
    """What was searched and not exhausted."""
    lines = [note["text"] for note in told["notes"] if note["kind"] == "searched"]
    return "".join(f'<p class="small">{_text(line, MOST_TEXT)}</p>' for line in lines)


def _unsettled(told: Mapping[str, Any]) -> str:
    """What could not be settled, and what was not looked at."""
    if told["complete"]:
        return ""
    listed = told["unsettled"]["listed"][:MOST_UNSETTLED]
    lines = [*listed, *(n["text"] for n in told["notes"] if n["kind"] == "opaque")]
    left = told["unsettled"]["count"] - len(listed)
    lines += [f"... and {left:,} more"] if left > 0 else []
    items = "".join(f"<li>{_text(line, MOST_TEXT)}</li>" for line in lines)
    return f"<p>Not settled:</p><ul>{items}</ul>"


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]], more: str = "") -> str:
    """A table of cells that are HTML."""
    if not rows:
        return ""
    kinds = [' class="number"' if head in NUMBERS else "" for head in heads]
    head = _line("th", heads, [f'{kind} scope="col"' for kind in kinds])
    body = "".join(_line("td", row, kinds) for row in rows)
    left = f'<p class="small">... and {more}.</p>' if more else ""
    return f"<table><thead>{head}</thead><tbody>{body}</tbody></table>{left}"


def _line(tag: str, cells: Sequence[str], kinds: Sequence[str]) -> str:
    inner = (f"<{tag}{kind}>{cell}</{tag}>" for cell, kind in zip(cells, kinds, strict=True))
    return f"<tr>{''.join(inner)}</tr>"


def _text(text: str, most: int = 400) -> str:
    return escape(cut(visible(text), most))


def _name(text: str) -> str:
    return f"<bdi>{_text(text, MOST_NAME)}</bdi>"


def _more(number: int) -> str:
    return f" and {count(number, 'more place')}" if number else ""


def _fragment(parts: Iterable[str]) -> str:
    inner = "\n".join(part for part in parts if part)
    return f'<div class="proxyuse"><style>{_STYLE}</style>\n{inner}\n</div>'
