"""Results as Markdown, for a pull request.

Names of columns come from foreign files: they cannot become links, mentions, tags or table cells.
"""

from __future__ import annotations

from collections.abc import Sequence

from proxyuse.report.findings import collections, explicit
from proxyuse.report.findings import direction as direction_findings
from proxyuse.report.findings import frontier as frontier_findings
from proxyuse.report.findings import repair as repair_findings
from proxyuse.report.findings import repair_changes as change_findings
from proxyuse.report.findings import witness as findings
from proxyuse.report.findings.headline import headline, measured_on, witnesses_found
from proxyuse.report.findings.style import Style
from proxyuse.report.findings.thresholds import (
    MARK,
    epsilon_meanings,
    table_rows,
    table_sentences,
    table_title,
)
from proxyuse.report.findings.verdict import possible_means
from proxyuse.report.repair_result import RepairResult
from proxyuse.report.result import AuditResult, NoteText, Unsettled
from proxyuse.report.standing import is_confirmed, presented
from proxyuse.words import count, one_line, shortened

MOST_GROUPS = 20
MOST_NOTES = 20
MOST_TEXT = 300
MOST_SENTENCE = 2000

_SPECIAL = {ord(c): f"&#{ord(c)};" for c in "\\`*_{}[]<>|&~$!^"}
_BROKEN = {ord("@"): "@<!-- -->", ord("#"): "&#35;<!-- -->"}  # would mention people or link issues


def plain(text: str, most: int = MOST_TEXT) -> str:
    """Text that Markdown shows as it is, on one line.

    Examples
    --------
    >>> plain("a|b `c`"), plain("@everyone")
    ('a&#124;b &#96;c&#96;', '@<!-- -->everyone')
    """
    text = shortened(one_line(text), most).translate(_SPECIAL | _BROKEN)
    return text.replace("://", "&#58;//").replace("www.", "www&#46;")


def _code(text: str) -> str:
    return f"<code>{plain(text)}</code>"


MARKDOWN = Style(plain, _code)
"""Escaped names and code."""


def audit_markdown(result: AuditResult) -> str:
    """The answer in one line, the groups of witnesses or the closest computations, the notes."""
    lines = [f"**{headline(result, MARKDOWN)}**", ""]
    lines += [" ".join([*([witnesses_found(result)] if result.groups else []),
                        measured_on(result), *epsilon_meanings(result, MARKDOWN)])]  # fmt: skip
    lines += _groups(result)
    lines += _explicit(result)
    lines += _collections(result)
    outcomes = direction_findings.outcomes(result, MARKDOWN)
    lines += ["", " ".join(outcomes)] if outcomes else []
    lines += _nearest(result)
    lines += _thresholds(result)
    remarks = [] if result.validity is None else result.validity.remarks
    lines += _listed("Statistics", remarks, len(remarks))
    lines += _notes(result.notes, result.file_notes, result.unsettled)
    return "\n".join(lines) + "\n"


def _groups(result: AuditResult) -> list[str]:
    witnesses, explained = result.by_key(), False
    lines: list[str] = []
    for number, group in enumerate(presented(result)[:MOST_GROUPS], start=1):
        if not is_confirmed(group) and not explained:
            lines += [*[""] * bool(lines), possible_means(result), ""]
            explained = True
        witness = witnesses[group.protected, group.leading]
        strongest = witnesses[group.protected, group.strongest]
        sentences = [
            *findings.evidence(result, witness, MARKDOWN),
            findings.figures(witness, result, MARKDOWN),
            *(plain(text, MOST_SENTENCE) for text in findings.caveats(result, witness)),
            *findings.related(result, group, witness, strongest, MARKDOWN),
        ]
        lines += [f"{number}. **{findings.does(witness, MARKDOWN)}** {' '.join(sentences)}"]
    more = len(result.groups) - MOST_GROUPS
    tail = ["", f"... and {count(more, 'more group')}."] if more > 0 else []
    return ["", *lines, *tail] if lines else []


def _collections(result: AuditResult) -> list[str]:
    lines = [
        f"- {' '.join(collections.sentences(result, known, MARKDOWN))}"
        for known in result.collections
    ]
    return ["", f"{collections.TITLE}:", "", *lines] if lines else []


def _explicit(result: AuditResult) -> list[str]:
    uses = explicit.all_of(result)[:MOST_GROUPS]
    lines = [f"- {' '.join(explicit.sentences(result, z, use, MARKDOWN))}" for z, use in uses]
    return ["", f"{explicit.TITLE}:", "", *lines] if lines else []


def _nearest(result: AuditResult) -> list[str]:
    rows = [
        [_code(near.reading), plain(near.protected), *findings.three_figures(near),
         findings.lacks(near)]
        for near in result.nearest
    ]  # fmt: skip
    heads = ["Closest to proxy use", "protected", "association", "highest", "influence", "short by"]
    return ["", *_table(heads, rows)] if rows else []


def _thresholds(result: AuditResult) -> list[str]:
    """The tables of other thresholds, if they were requested."""
    lines = []
    for table in result.threshold_table:
        lines += [
            "",
            f"{table_title(table, MARKDOWN)}:",
            "",
            *_table(*table_rows(table, result.thresholds)),
        ]
    sentences = table_sentences(result, result.threshold_table, MARK) if lines else []
    return [*lines, "", plain(" ".join(sentences), MOST_SENTENCE)] if lines else []


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = [heads, ["---"] * len(heads), *rows]
    return [f"| {' | '.join(line)} |" for line in lines]


def _notes(notes: Sequence[NoteText], file_notes: Sequence[str], unsettled: Unsettled) -> list[str]:
    texts = [note.text for note in notes if note.kind != "method"]
    texts += file_notes
    return [
        *_listed("Notes", texts, len(texts)),
        *_listed("Not settled", unsettled.listed, unsettled.count),
    ]


def _listed(title: str, texts: Sequence[str], number: int) -> list[str]:
    if not number:
        return []
    more = number - min(len(texts), MOST_NOTES)
    tail = [f"- ... and {more:,} more"] if more > 0 else []
    return ["", f"{title}:", "", *(f"- {plain(text)}" for text in texts[:MOST_NOTES]), *tail]


def repair_markdown(result: RepairResult) -> str:
    """The outcome, the steps as a table, the costs and the files."""
    lines = [f"**{repair_findings.repair_headline(result, MARKDOWN)}**", ""]
    rows = [
        [
            f"{number}",
            repair_findings.replacement(step, MARKDOWN),
            repair_findings.reason(step.removed, MARKDOWN),
        ]
        for number, step in enumerate(result.steps, start=1)
    ]
    if rows:
        lines += [*_table(["", "Replacement", "Reason"], rows), ""]
    for change in result.collections:
        lines += [repair_findings.collection_replacement(change, MARKDOWN), ""]
    if result.constant is not None:
        lines += [repair_findings.constant_program(result.constant, MARKDOWN), ""]
    if len(result.candidates) > 2:
        heads, table = repair_findings.candidate_table(result, MARKDOWN)
        lines += [*_table([plain(head) for head in heads], table), ""]
        if others := repair_findings.not_made(result):
            lines += [plain(others), ""]
    if result.frontier is not None:
        heads, table = frontier_findings.frontier_table(result, MARKDOWN)
        lines += [f"**{frontier_findings.TITLE}**", ""]
        lines += [plain(" ".join(frontier_findings.frontier_sentences(result))), ""]
        lines += [*_table([heads[0], plain(heads[1]), *heads[2:]], table), ""]
        lines += [" ".join(frontier_findings.frontier_notes(result, MARKDOWN)), ""]
    texts = [*repair_findings.cautions(result), repair_findings.unconfirmed(result)]
    texts += repair_findings.costs(result) if result.result == "repaired" else []
    lines += [f"- {text}" for text in change_findings.changes(result, MARKDOWN)]
    texts += [repair_findings.limits(result), *repair_findings.written_files(result.written)]
    lines += [f"- {plain(text)}" for text in texts if text]
    lines += _notes(result.notes, result.file_notes, result.unsettled)
    return "\n".join(lines) + "\n"
