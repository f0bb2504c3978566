"""Results as text: for a terminal, `print` and error messages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from textwrap import wrap

from proxyuse.errors import FileError
from proxyuse.report.diff_result import DiffResult
from proxyuse.report.findings import diff as diff_findings
from proxyuse.report.findings import repair as repair_findings
from proxyuse.report.findings import witness as findings
from proxyuse.report.findings.headline import (
    CONFIRMED_ONLY,
    DOCUMENTATION,
    headline,
    measured_on,
    omitted,
    withheld,
)
from proxyuse.report.findings.style import TEXT
from proxyuse.report.findings.validity import bounds_lines
from proxyuse.report.repair_result import RepairResult
from proxyuse.report.result import AuditResult, Cell, Group, NoteText, Unsettled, Witness
from proxyuse.words import count, one_line, percent, shortened

WIDTH = 100
MOST_GROUPS = 5
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
        [bold(headline(result))],
        *_groups(result, bold),
        _nearest(result, bold),
        _references(result, bold),
        _wrapped(f"{measured_on(result)} {DOCUMENTATION}", "", ""),
        _statistics(result, bold),
        _notes(result.notes, result.file_notes, result.unsettled, bold),
    ]
    return _joined(parts)


def _joined(parts: Sequence[Sequence[str]]) -> str:
    return "\n\n".join("\n".join(part) for part in parts if part)


# Groups of witnesses


def _groups(result: AuditResult, bold: Emphasis) -> list[list[str]]:
    """A paragraph for each of the first groups, then a table of these."""
    if not result.groups:
        return []
    witnesses = result.by_key()
    shown = [
        (group, witnesses[group.protected, group.representative])
        for group in result.groups[:MOST_GROUPS]
    ]
    paragraphs = [
        _paragraph(result, number, group, witness, witnesses[group.protected, group.strongest])
        for number, (group, witness) in enumerate(shown, start=1)
    ]
    verdict = ["verdict"] if result.validity else []
    heads = ["", "protected", "association", "highest", "influence", "places", "witnesses",
             *verdict, "id"]  # fmt: skip
    rows = [
        [f"{number}.", TEXT.name(witness.protected), *findings.three_figures(witness),
         f"{witness.occurrences:,}", f"{group.witnesses:,}",
         *(witness.verdict or "" for _ in verdict), witness.id]
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


# Where nothing passes, and for comparison


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


def _statistics(result: AuditResult, bold: Emphasis) -> list[str]:
    if result.validity is None:
        return []
    remarks = [*result.validity.remarks, *[CONFIRMED_ONLY] * result.validity.confirmed_only]
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


def witnesses_of(result: AuditResult, prefix: str) -> list[Witness]:
    """The witness whose id has a prefix, for each of its attributes; otherwise a `FileError`."""
    matching = [witness for witness in result.witnesses if witness.id.startswith(prefix)]
    if not matching:
        total = count(len(result.witnesses), "witness", "witnesses")
        raise FileError(f"none of the {total} has an id that starts with {prefix!r}")
    ids = {witness.id for witness in matching}
    if len(ids) > 1:
        raise FileError(
            f"{len(ids)} witnesses have ids that start with {prefix!r}; pass a longer prefix"
        )
    return matching


def witness_text(result: AuditResult, witness: Witness, most_term: int | None = None) -> str:
    """One witness in detail: what it computes, where, its figures, its table."""
    name = TEXT.name(witness.protected)
    term = one_line(witness.term[:most_term])
    shown = len(witness.term[:most_term])
    cut = " ..." if witness.term_cut or shown < len(witness.term) else ""
    highest = "" if witness.ceiling is None else f" ({findings.ceiling(witness.ceiling)})"
    methods = () if result.validity is None else result.validity.methods
    sentences = [*findings.evidence(result, witness), *findings.caveats(result, witness)]
    lines = [
        f"Witness {witness.id} of {name}",
        "",
        *_wrapped(findings.does(witness), ""),
        *(line for sentence in sentences for line in _wrapped(sentence)),
        "",
        f"association  {witness.association:.4f}{highest}",
        *bounds_lines(witness.validity, methods, "association"),
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
    rows.append(["all", *map(_cell, table.column_totals), _cell(result.rows)])
    lines += ["", *text_table(heads, rows, str)]
    if result.min_cell > 1:
        lines.append(withheld(result.min_cell))
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
        _steps(result, bold),
        _section("Costs", costs, bold),
        _section("Files", repair_findings.written_files(result.written), bold),
        _wrapped(repair_findings.limits(result), "", ""),
        _notes(result.notes, result.file_notes, result.unsettled, bold),
    ]
    return _joined(parts)


def _section(title: str, lines: Sequence[str], bold: Emphasis) -> list[str]:
    return [bold(title), *(f"- {one_line(line)}" for line in lines)] if lines else []


def _steps(result: RepairResult, bold: Emphasis) -> list[str]:
    if result.constant is not None:
        return [repair_findings.constant_program(result.constant)]
    if not result.steps:
        return []
    lines = [bold("Replacements")]
    for number, step in enumerate(result.steps[:MOST_STEPS], start=1):
        lines += _wrapped(repair_findings.replacement(step), f"{number}. ")
        lines += _wrapped(repair_findings.reason(step.removed))
    more = len(result.steps) - MOST_STEPS
    if more > 0:
        lines.append(omitted(count(more, "more step")))
    return lines


def diff_text(diff: DiffResult) -> str:
    """What changed between two results."""
    lines = [diff_findings.diff_headline(diff), diff_findings.diff_counts(diff)]
    lines += _changes("New groups", [diff_findings.group_line(g) for g in diff.new_groups])
    for name, title in _TITLES.items():
        pairs = getattr(diff, name)
        lines += _changes(title, [diff_findings.pair_line(name, pair) for pair in pairs])
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
    return cell.replace(",", "").replace(".", "").strip("<").isdigit() or cell in ("", "withheld")
