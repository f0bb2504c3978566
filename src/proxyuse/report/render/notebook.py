"""The view of an audit or a repair in a notebook: a small HTML fragment without scripts.

It inherits its colors from the notebook, light or dark. Numbers come from the documents, so it
discloses no more than a report. Names are untrusted and are escaped.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from proxyuse.report.document import document
from proxyuse.report.findings import collections, explicit
from proxyuse.report.findings.direction import outcomes
from proxyuse.report.findings.frontier import frontier_notes, frontier_sentences, frontier_table
from proxyuse.report.findings.headline import headline, measured_on
from proxyuse.report.findings.repair import (
    candidate_table,
    cautions,
    collection_replacement,
    constant_program,
    limits,
    losses,
    not_made,
    reason,
    repair_headline,
    replacement,
    unconfirmed,
)
from proxyuse.report.findings.repair_changes import changes
from proxyuse.report.findings.style import Style
from proxyuse.report.findings.thresholds import epsilon_meanings
from proxyuse.report.findings.verdict import possible_means
from proxyuse.report.findings.witness import associated, does, evidence, lacks, measured
from proxyuse.report.inputs import Audited, Repaired
from proxyuse.report.repair_document import repair_document
from proxyuse.report.repair_result import RepairResult
from proxyuse.report.result import AuditResult
from proxyuse.report.standing import is_confirmed, presented
from proxyuse.verdict import Verdict
from proxyuse.words import count, one_line, shortened

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
    >>> "The model reads <code><bdi>vitamins</bdi></code>." in audit_html(audit)
    True
    """
    result = document(audit, most_groups=MOST_GROUPS)
    state = {Verdict.CONFIRMED: "found", Verdict.NOT_FOUND: "none"}.get(result.verdict, "")
    parts = [
        f'<p class="answer {state}">{headline(result, NOTEBOOK)}</p>',
        _groups(result),
        _possible(result),
        _explicit(result),
        _collections(result),
        _paragraph(outcomes(result, NOTEBOOK)),
        "" if result.found else _nearest(result),
        f'<p class="small">{_context(result)}</p>',
        _searched(result),
        _unsettled(result),
    ]
    return _fragment(parts)


def _context(result: AuditResult) -> str:
    """What was measured, and what epsilon means."""
    return " ".join([escape(measured_on(result)), *epsilon_meanings(result, NOTEBOOK)])


def repair_html(repair: Repaired) -> str:
    """What was repaired, the first steps, the costs, the candidates, and what was not settled."""
    result = repair_document(repair)
    rows = [
        [replacement(step, NOTEBOOK), reason(step.removed, NOTEBOOK)]
        for step in result.steps[:MOST_STEPS]
    ]
    more = len(result.steps) - MOST_STEPS
    repaired = result.result == "repaired"
    constant = "" if result.constant is None else constant_program(result.constant, NOTEBOOK)
    parts = [
        f'<p class="answer{" none" * result.complete}">{repair_headline(result, NOTEBOOK)}</p>',
        *(f"<p>{_text(text)}</p>" for text in cautions(result)),
        _table(["replacement", "reason"], rows, count(more, "more step") if more > 0 else ""),
        *(f"<p>{collection_replacement(c, NOTEBOOK)}</p>" for c in result.collections),
        f"<p>{constant}</p>" if constant else "",
        f"<p>{_text('; '.join(losses(result)))}.</p>" if repaired else "",
        _candidates(result),
        _frontier(result),
        _paragraph(changes(result, NOTEBOOK)),
        _paragraph([escape(text) for text in [unconfirmed(result)] if text]),
        f'<p class="small">{escape(limits(result))}</p>',
        _searched(result),
        _unsettled(result),
    ]
    return _fragment(parts)


def _candidates(result: RepairResult) -> str:
    """The candidates, if there was a choice."""
    if len(result.candidates) < 3:
        return ""
    heads, lines = candidate_table(result, NOTEBOOK)
    others = not_made(result)
    note = f'<p class="small">{_text(others)}</p>' if others else ""
    return _table([_text(head) for head in heads], lines) + note


def _frontier(result: RepairResult) -> str:
    """What the repair costs at other thresholds."""
    if result.frontier is None:
        return ""
    heads, lines = frontier_table(result, NOTEBOOK)
    heads[1] = _text(heads[1])
    table = _table(heads, [[cell or "&nbsp;" for cell in line] for line in lines])
    answer = _paragraph([_text(text) for text in frontier_sentences(result)])
    return f'{answer}{table}<p class="small">{" ".join(frontier_notes(result, NOTEBOOK))}</p>'


def _possible(result: AuditResult) -> str:
    """What a possible witness is, if one is shown."""
    if all(map(is_confirmed, presented(result)[:MOST_GROUPS])):
        return ""
    return f'<p class="small">{_text(possible_means(result))}</p>'


def _paragraph(sentences: Sequence[str]) -> str:
    return f"<p>{' '.join(sentences)}</p>" if sentences else ""


def _groups(result: AuditResult) -> str:
    verdict = ["verdict"] if result.validity else []
    witnesses, rows = result.by_key(), []
    for group in presented(result)[:MOST_GROUPS]:
        witness = witnesses[group.protected, group.leading]
        sentences = [does(witness, NOTEBOOK), *evidence(result, witness, NOTEBOOK)]
        rows.append([" ".join(sentences), _name(witness.protected),
                     associated(witness.association, witness.association_range),
                     measured(witness.influence),
                     *(escape(witness.verdict) for _ in verdict),
                     f"{group.witnesses - 1:,}",
                     f'<code class="id">{_text(witness.id)}</code>'])  # fmt: skip
    heads = ["finding", "protected", "association", "influence", *verdict, "related", "id"]
    more = len(result.groups) - len(rows)
    return _table(heads, rows, count(more, "more group") if more > 0 else "")


def _explicit(result: AuditResult) -> str:
    """The columns that determine a protected attribute."""
    uses = explicit.all_of(result)[:MOST_GROUPS]
    texts = (" ".join(explicit.sentences(result, z, use, NOTEBOOK)) for z, use in uses)
    items = "".join(f"<li>{text}</li>" for text in texts)
    return f"<p>{explicit.TITLE}:</p><ul>{items}</ul>" if items else ""


def _collections(result: AuditResult) -> str:
    """The collective witnesses."""
    found = (" ".join(collections.sentences(result, c, NOTEBOOK)) for c in result.collections)
    items = "".join(f"<li>{text}</li>" for text in found)
    return f"<p>{collections.TITLE}:</p><ul>{items}</ul>" if items else ""


def _nearest(result: AuditResult) -> str:
    rows = [
        [_code(near.reading), _name(near.protected),
         associated(near.association, near.association_range), measured(near.influence),
         escape(lacks(near))]
        for near in result.nearest[:MOST_GROUPS]
    ]  # fmt: skip
    heads = ["closest to proxy use", "protected", "association", "influence", "short by"]
    return _table(heads, rows)


def _searched(result: AuditResult | RepairResult) -> str:
    """The spaces that were searched but not exhausted."""
    lines = [note.text for note in result.notes if note.kind == "searched"]
    return "".join(f'<p class="small">{_text(line, MOST_TEXT)}</p>' for line in lines)


def _unsettled(result: AuditResult | RepairResult) -> str:
    """What was not settled or not analyzed."""
    if result.complete:
        return ""
    listed = result.unsettled.listed[:MOST_UNSETTLED]
    lines = [*listed, *(note.text for note in result.notes if note.kind == "opaque")]
    more = result.unsettled.count - len(listed)
    lines += [f"... and {more:,} more"] if more > 0 else []
    items = "".join(f"<li>{_text(line, MOST_TEXT)}</li>" for line in lines)
    return f"<p>Not settled:</p><ul>{items}</ul>"


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
    return escape(shortened(one_line(text), most))


def _name(text: str) -> str:
    return f"<bdi>{_text(text, MOST_NAME)}</bdi>"


def _code(text: str) -> str:
    return f"<code><bdi>{_text(text, MOST_TEXT)}</bdi></code>"


NOTEBOOK = Style(_name, _code)
"""Names and code as HTML."""


def _fragment(parts: Iterable[str]) -> str:
    inner = "\n".join(part for part in parts if part)
    return f'<div class="proxyuse"><style>{_STYLE}</style>\n{inner}\n</div>'
