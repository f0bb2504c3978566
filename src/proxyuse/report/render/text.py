"""Results as text: for a terminal, `print` and error messages."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from textwrap import wrap

from proxyuse.errors import FileError
from proxyuse.report.diff_result import DiffResult
from proxyuse.report.findings import collections, explicit
from proxyuse.report.findings import diff as diff_findings
from proxyuse.report.findings import direction as direction_findings
from proxyuse.report.findings import frontier as frontier_findings
from proxyuse.report.findings import repair as repair_findings
from proxyuse.report.findings import repair_changes as change_findings
from proxyuse.report.findings import witness as findings
from proxyuse.report.findings.headline import (
    DOCUMENTATION,
    WITHHELD_TABLE,
    answer,
    measured_on,
    omitted,
    withheld,
)
from proxyuse.report.findings.style import TEXT
from proxyuse.report.findings.thresholds import (
    MARK,
    epsilon_meanings,
    table_rows,
    table_sentences,
    table_title,
)
from proxyuse.report.findings.validity import bounds_lines
from proxyuse.report.findings.verdict import possible_means
from proxyuse.report.other_findings import Collection
from proxyuse.report.repair_result import RepairResult
from proxyuse.report.result import AuditResult, Cell, Group, NoteText, Unsettled, Witness
from proxyuse.report.standing import is_confirmed, presented
from proxyuse.words import count, one_line, percent, shortened

WIDTH = 100
MOST_GROUPS = 5
MOST_EXPLICIT = 5
MOST_REFERENCES = 8
MOST_NOTES = 8
MOST_STEPS = 12
MOST_CHANGES = 10
MOST_DIFFERENCES = 50
MOST_TEXT = 64
MOST_LISTED = 5

Emphasis = Callable[[str], str]


def _bold(text: str) -> str:
    return f"\x1b[1m{text}\x1b[0m"


def audit_text(result: AuditResult, *, color: bool = False) -> str:
    """The answer, then the evidence, the context, the caveats."""
    bold: Emphasis = _bold if color else str
    parts = [
        [
            bold(line)
            for sentences in answer(result)
            for line in _wrapped(" ".join(sentences), "", "")
        ],
        *_groups(result, bold),
        _explicit(result, bold),
        _collections(result, bold),
        _outcomes(result, bold),
        _nearest(result, bold),
        _references(result, bold),
        _wrapped(" ".join([measured_on(result), *epsilon_meanings(result), DOCUMENTATION]), "", ""),
        *_thresholds(result, bold),
        _statistics(result, bold),
        _notes(result.notes, result.file_notes, result.unsettled, bold),
    ]
    return _joined(parts)


def _joined(parts: Sequence[Sequence[str]]) -> str:
    return "\n\n".join("\n".join(part) for part in parts if part)


# Groups of witnesses


def _groups(result: AuditResult, bold: Emphasis) -> list[list[str]]:
    """A paragraph for each of the first groups, confirmed ones first, then a table of these."""
    if not result.groups:
        return []
    witnesses = result.by_key()
    shown = [
        (group, witnesses[group.protected, group.leading])
        for group in presented(result)[:MOST_GROUPS]
    ]
    paragraphs = []
    explained = False
    for number, (group, witness) in enumerate(shown, start=1):
        if not is_confirmed(group) and not explained:
            paragraphs.append(_wrapped(possible_means(result), "", ""))
            explained = True
        strongest = witnesses[group.protected, group.strongest]
        paragraphs.append(_paragraph(result, number, group, witness, strongest))
    verdict = ["verdict"] if result.validity else []
    heads = ["", "protected", "association", "highest", "influence", "places", "witnesses",
             *verdict, "id"]  # fmt: skip
    rows = [
        [f"{number}.", TEXT.name(witness.protected), *findings.three_figures(witness),
         f"{witness.occurrences:,}", f"{group.witnesses:,}",
         *(str(witness.verdict) for _ in verdict), witness.id]
        for number, (group, witness) in enumerate(shown, start=1)
    ]  # fmt: skip
    more = len(result.groups) - len(shown)
    tail = [omitted(count(more, "more group"))] if more else []
    next_step = [[findings.NEXT_STEP]] if any(w.judgment is None for _, w in shown) else []
    return [*paragraphs, [*text_table(heads, rows, bold), *tail], *next_step]


def _paragraph(
    result: AuditResult, number: int, group: Group, witness: Witness, strongest: Witness
) -> list[str]:
    sentences = [
        *findings.evidence(result, witness),
        *findings.caveats(result, witness),
        *findings.related(result, group, witness, strongest),
    ]
    lines = [line for sentence in sentences for line in _wrapped(sentence)]
    return [*_wrapped(findings.does(witness), f"{number}. "), *lines]


def _wrapped(sentence: str, start: str = "   ", indent: str = "   ") -> list[str]:
    """A sentence as indented lines."""
    return wrap(
        one_line(sentence),
        WIDTH,
        initial_indent=start,
        subsequent_indent=indent,
        break_on_hyphens=False,
        break_long_words=False,
    )


# Explicit use, where nothing passes, and for comparison


def _explicit(result: AuditResult, bold: Emphasis) -> list[str]:
    """The columns that determine a protected attribute."""
    uses = explicit.all_of(result)
    lines = [
        line
        for z, use in uses[:MOST_EXPLICIT]
        for line in _wrapped(" ".join(explicit.sentences(result, z, use)), "- ", "  ")
    ]
    more = len(uses) - MOST_EXPLICIT
    tail = [omitted(count(more, "more column"))] if more > 0 else []
    return [bold(explicit.TITLE), *lines, *tail] if lines else []


def _collections(result: AuditResult, bold: Emphasis) -> list[str]:
    """The collective witnesses, at most one for each protected attribute."""
    lines = [
        line
        for known in result.collections
        for line in _wrapped(" ".join(collections.sentences(result, known)), "- ", "  ")
    ]
    return [bold(collections.TITLE), *lines] if lines else []


def _nearest(result: AuditResult, bold: Emphasis) -> list[str]:
    rows = [
        [TEXT.name(near.protected), *findings.three_figures(near), findings.lacks(near),
         shortened(one_line(near.reading), MOST_TEXT)]
        for near in result.nearest
    ]  # fmt: skip
    if not rows:
        return []
    heads = ["protected", "association", "highest", "influence", "short by", "computation"]
    return [bold("Closest to proxy use"), *text_table(heads, rows, bold)]


def _outcomes(result: AuditResult, bold: Emphasis) -> list[str]:
    """What each group gets."""
    sentences = direction_findings.outcomes(result)
    lines = [line for sentence in sentences for line in _wrapped(sentence, "  ", "  ")]
    return [bold(direction_findings.OUTCOMES), *lines] if lines else []


def _references(result: AuditResult, bold: Emphasis) -> list[str]:
    """The variables with the highest association, and the whole output."""
    known = [r for r in result.references if r.association is not None]
    variables = [r for r in known if r.kind == "variable"]
    variables.sort(key=lambda r: -(r.association or 0))
    outputs = [r for r in known if r.kind == "output"]
    rows = [
        [TEXT.name(r.protected), *findings.three_figures(r),
         shortened(one_line(r.name or "the whole output"), MOST_TEXT)]
        for r in [*variables[:MOST_REFERENCES], *outputs]
    ]  # fmt: skip
    if not rows:
        return []
    heads = ["protected", "association", "highest", "influence", "variable"]
    more = len(variables) - MOST_REFERENCES
    tail = [f"... and {count(more, 'variable')} with a lower association."] if more > 0 else []
    return [bold("For comparison"), *text_table(heads, rows, bold), *tail]


def _thresholds(result: AuditResult, bold: Emphasis) -> list[list[str]]:
    """The tables of other thresholds, if they were requested."""
    tables = result.threshold_table
    parts = [
        [bold(table_title(table)), *text_table(*table_rows(table, result.thresholds), bold)]
        for table in tables
    ]
    if parts:
        parts.append(_wrapped(" ".join(table_sentences(result, tables, MARK)), "", ""))
    return parts


def _statistics(result: AuditResult, bold: Emphasis) -> list[str]:
    if result.validity is None:
        return []
    remarks = result.validity.remarks
    return [bold("Statistics"), *(f"- {one_line(text)}" for text in remarks)] if remarks else []


def _notes(
    notes: Sequence[NoteText], file_notes: Sequence[str], unsettled: Unsettled, bold: Emphasis
) -> list[str]:
    texts = [note.text for note in notes if note.kind != "method"]
    texts += file_notes
    texts += [f"not settled: {text}" for text in unsettled.listed]
    if not texts:
        return []
    more = len(texts) - MOST_NOTES + unsettled.count - len(unsettled.listed)
    tail = [f"- {omitted(f'{more:,} more')}"] if more > 0 else []
    return [bold("Notes"), *(f"- {one_line(text)}" for text in texts[:MOST_NOTES]), *tail]


# One witness


def witnesses_of(result: AuditResult, prefix: str) -> list[Witness | Collection]:
    """The witness or collection whose id has a prefix, for each attribute; else a `FileError`."""
    together = [z.collection for z in result.protected if z.collection is not None]
    every: list[Witness | Collection] = [*result.witnesses, *together]
    matching = [found for found in every if found.id.startswith(prefix)]
    if not matching:
        total = count(len(result.witnesses), "witness", "witnesses")
        raise FileError(f"none of the {total} has an id that starts with {prefix!r}")
    ids = {witness.id for witness in matching}
    if len(ids) > 1:
        raise FileError(
            f"{len(ids)} witnesses have ids that start with {prefix!r}; pass a longer prefix"
        )
    return matching


def collection_text(result: AuditResult, known: Collection, width: int = WIDTH) -> str:
    """One collection in detail: its sentences, and its most associated members."""
    sentences = [" ".join(collections.sentences(result, known)), collections.WHAT_COUNTS]
    rows = [
        [
            findings.associated(member.association, member.association_range),
            f"{member.positions:,}",
            shortened(one_line(member.reading), MOST_TEXT),
            _first(member.origins),
        ]
        for member in known.strongest
    ]
    more = known.members - len(rows)
    return "\n".join(
        [
            f"Collection {known.id} of {TEXT.name(known.protected)}",
            *(line for text in sentences for line in ("", *wrap(one_line(text), width))),
            "",
            *text_table(["association", "places", "member", "in the model"], rows),
            *([f"  ... and {more:,} more."] if more else []),
        ]
    )


def witness_text(
    result: AuditResult, witness: Witness | Collection, most_term: int | None = None
) -> str:
    """One witness in detail: what it computes, where, its figures, its table."""
    if isinstance(witness, Collection):
        return collection_text(result, witness)
    name = TEXT.name(witness.protected)
    term = one_line(witness.term[:most_term])
    shown = len(witness.term[:most_term])
    cut = " ..." if witness.term_cut or shown < len(witness.term) else ""
    highest = "" if witness.ceiling is None else f" ({findings.ceiling(witness.ceiling)})"
    known = witness.association_range
    about = "" if known is None else f", {findings.between(known)}"
    methods = () if result.validity is None else result.validity.methods
    sentences = [*findings.evidence(result, witness), *findings.caveats(result, witness)]
    lines = [
        f"Witness {witness.id} of {name}",
        "",
        *_wrapped(findings.does(witness), ""),
        *(line for sentence in sentences for line in _wrapped(sentence)),
        "",
        f"association  {witness.association:.4f}{about}{highest}",
        *bounds_lines(witness.validity, methods, "association"),
        *([f"best cut     {findings.best_cut(witness.cut)}"] if witness.cut is not None else []),
        f"influence    {witness.influence:.4f}",
        *bounds_lines(witness.validity, methods, "influence"),
        f"reach        evaluated for {percent(witness.reach)} of rows",
        f"computation  {term}{cut}",
        f"positions    {_first(witness.positions)}",
    ]
    if witness.origins:
        lines.append(f"in the model {_first(witness.origins)}")
    table = witness.table
    heads = [f"rows by {name}", *map(one_line, table.columns), "all"]
    rows = [
        [one_line(label), *map(_cell, cells), _cell(total)]
        for label, cells, total in zip(table.rows, table.cells, table.row_totals, strict=True)
    ]
    if table.rows:
        rows.append(["all", *map(_cell, table.column_totals), _cell(result.rows)])
        lines += ["", *text_table(heads, rows, str)]
    else:
        lines += ["", WITHHELD_TABLE]
    if result.min_cell > 1:
        lines.append(withheld(result.min_cell))
    if witness.direction is not None:
        lines += ["", *text_table(*direction_findings.direction_table(result, witness))]
        remarks = direction_findings.direction_remarks(result, witness)
        lines += [line for remark in remarks for line in _wrapped(remark, "", "")]
    return "\n".join(lines)


def _cell(cell: Cell) -> str:
    return cell if isinstance(cell, str) else f"{cell:,}"


def _first(texts: Sequence[str]) -> str:
    more = len(texts) - MOST_LISTED
    shown = "; ".join(map(one_line, texts[:MOST_LISTED]))
    return shown + (f"; and {more} more" if more > 0 else "")


# Repairs and comparisons


def repair_text(result: RepairResult, *, color: bool = False) -> str:
    """The outcome, then what was replaced and why, the costs, the files."""
    bold: Emphasis = _bold if color else str
    costs = repair_findings.costs(result) if result.result == "repaired" else []
    parts = [
        [bold(repair_findings.repair_headline(result))],
        *(_wrapped(text, "", "") for text in repair_findings.cautions(result)),
        _steps(result, bold),
        _section("Costs", costs, bold),
        _candidates(result, bold),
        _frontier(result, bold),
        _section(change_findings.TITLE, change_findings.changes(result), bold),
        _section("Files", repair_findings.written_files(result.written), bold),
        _wrapped(repair_findings.unconfirmed(result), "", ""),
        _wrapped(repair_findings.limits(result), "", ""),
        _notes(result.notes, result.file_notes, result.unsettled, bold),
    ]
    return _joined(parts)


def _candidates(result: RepairResult, bold: Emphasis) -> list[str]:
    """The candidates, if there was a choice."""
    if len(result.candidates) < 3:
        return []
    heads, lines = repair_findings.candidate_table(result)
    rows = [[one_line(cell) for cell in row] for row in (heads, *lines)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(heads) - 1)]
    return [
        bold(repair_findings.CANDIDATES),
        *(
            "  ".join(["", row[0].ljust(widths[0]), *_right(row, widths), row[-1]]).rstrip()
            for row in rows
        ),
        *_wrapped(repair_findings.not_made(result), "  ", "  "),
    ]


def _frontier(result: RepairResult, bold: Emphasis) -> list[str]:
    """What the repair costs at other thresholds: a short table, and how to read it."""
    if result.frontier is None:
        return []
    heads, lines = frontier_findings.frontier_table(result, groups=False)
    sentences = frontier_findings.frontier_sentences(result)
    notes = frontier_findings.frontier_notes(result, groups=False)
    rows = [[one_line(cell) for cell in line] for line in lines]
    return [
        bold(frontier_findings.TITLE),
        *_wrapped(" ".join(sentences), "", ""),
        *text_table(heads, rows),
        *_wrapped(" ".join(notes), "", ""),
    ]


def _right(row: Sequence[str], widths: Sequence[int]) -> Iterator[str]:
    return (cell.rjust(width) for cell, width in zip(row[1:-1], widths[1:], strict=True))


def _section(title: str, lines: Sequence[str], bold: Emphasis) -> list[str]:
    return [bold(title), *(f"- {one_line(line)}" for line in lines)] if lines else []


def _steps(result: RepairResult, bold: Emphasis) -> list[str]:
    if result.constant is not None:
        return [repair_findings.constant_program(result.constant)]
    if not result.steps and not result.collections:
        return []
    lines = [bold("Replacements")]
    for number, step in enumerate(result.steps[:MOST_STEPS], start=1):
        lines += _wrapped(repair_findings.replacement(step), f"{number}. ")
        lines += _wrapped(repair_findings.reason(step.removed))
    more = len(result.steps) - MOST_STEPS
    if more > 0:
        lines.append(omitted(count(more, "more step")))
    for change in result.collections:
        lines += _wrapped(repair_findings.collection_replacement(change), "- ")
    return lines


def diff_text(diff: DiffResult) -> str:
    """What changed between two results."""
    lines = [diff_findings.diff_headline(diff), diff_findings.diff_counts(diff)]
    lines += _changes("New groups", [diff_findings.group_line(g) for g in diff.new_groups])
    for name, title in _TITLES.items():
        pairs = getattr(diff, name)
        lines += _changes(title, [diff_findings.pair_line(name, pair) for pair in pairs])
    columns = [diff_findings.explicit_line(use) for use in diff.new_explicit]
    lines += _changes("New explicit uses", columns)
    together = [diff_findings.collection_line(known) for known in diff.new_collections]
    lines += _changes("New or stronger collections", together)
    changed = [diff_findings.verdict_line(pair) for pair in diff.verdict_changed]
    lines += _changes("Changed verdicts", changed)
    lines += _changes("Other differences", diff.differences, MOST_DIFFERENCES)
    return "\n".join(lines)


_TITLES = {
    "new": "New",
    "around": "Related to known witnesses, and not stronger",
    "stronger": "Stronger",
    "weaker": "Weaker",
    "gone": "Gone",
}


def _changes(title: str, lines: Sequence[str], most: int = MOST_CHANGES) -> list[str]:
    if not lines:
        return []
    tail = [f"- ... and {len(lines) - most:,} more"] if len(lines) > most else []
    return ["", title, *(f"- {one_line(line)}" for line in lines[:most]), *tail]


# Tables


def text_table(
    heads: Sequence[str], rows: Sequence[Sequence[str]], bold: Emphasis = str
) -> list[str]:
    """Columns side by side; numbers are aligned right."""
    columns = list(zip(heads, *rows, strict=True))
    widths = [max(map(len, column)) for column in columns]
    numbers = [all(_is_number(cell) for cell in column[1:]) for column in columns]

    def line(cells: Sequence[str]) -> str:
        parts = (
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(cells, widths, numbers, strict=True)
        )
        return ("  " + "  ".join(parts)).rstrip()

    return [bold(line(heads)), *map(line, rows)]


def _is_number(cell: str) -> bool:
    return cell.replace(",", "").replace(".", "").strip("<~").isdigit() or cell in ("", "withheld")
