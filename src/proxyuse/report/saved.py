"""Results as JSON files: written as text, and checked when read, because a file may be foreign."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec

from proxyuse.errors import FileError
from proxyuse.input_limits import RESULT_BYTES
from proxyuse.io.json_files import DocumentFormat, json_text
from proxyuse.report.result import AuditResult
from proxyuse.verdict import Verdict, VerdictCounts, overall

_FORMAT = DocumentFormat(
    noun="the result of an audit",
    marker="proxyuse audit",
    version=1,
    advice="write it with proxyuse audit --output",
    limit=RESULT_BYTES,
)

_ERROR = re.compile(r"(?P<what>.*?)(?: - at `\$\.?(?P<path>.*)`)?\Z", re.DOTALL)


def as_text(result: object) -> str:
    """A result as JSON text; the same result gives the same text."""
    return json_text(msgspec.to_builtins(result))


def read_document(path: str | Path) -> AuditResult:
    """Read a result that `as_text` wrote; a `FileError` for anything else."""
    content = _FORMAT.read(Path(path))
    try:
        result = decoded(content)
    except msgspec.ValidationError as error:
        raise _mismatch(path, readable(error)) from None
    except RecursionError:
        raise _mismatch(path, "nested too deeply") from None
    if mistake := _inconsistency(result):
        raise _mismatch(path, mistake)
    return result


def _mismatch(path: str | Path, reason: str) -> FileError:
    return FileError(f"{path}: {_FORMAT.mismatch(reason)}")


def decoded(content: object) -> AuditResult:
    """The typed result; a `msgspec.ValidationError` if a value has the wrong type."""
    try:
        return msgspec.convert(content, AuditResult)
    except UnicodeEncodeError:  # JSON can escape half of a surrogate pair
        raise msgspec.ValidationError("Expected text, got half of a surrogate pair") from None


def readable(error: msgspec.ValidationError) -> str:
    """An error with the path in the file first.

    Examples
    --------
    >>> readable(msgspec.ValidationError("Expected `int`, got `str` - at `$.groups[0].group`"))
    'groups[0].group: expected int, got str'
    """
    match = _ERROR.match(str(error))
    assert match is not None
    what = match["what"].replace("`", "")
    what = f"{what[0].lower()}{what[1:]}"
    return f"{match['path']}: {what}" if match["path"] else what


def _inconsistency(result: AuditResult) -> str | None:
    """How a result contradicts itself; None if it does not."""
    notes: Any = result.about.get("notes", [])
    if not isinstance(notes, list) or not all(isinstance(note, str) for note in notes):
        return "about.notes: expected a list of texts"
    violations = sum(not witness.appropriate for witness in result.witnesses)
    verdict = overall(z.verdict for z in result.protected)
    if (result.violations, result.verdict) != (violations, verdict):
        return "the verdict does not match the witnesses"
    numbers = Counter(witness.protected for witness in result.witnesses)
    if numbers != Counter({z.name: z.witnesses for z in result.protected}):
        return "the number of witnesses of a protected attribute does not match the witnesses"
    keys = result.by_key()
    for group in result.groups:
        for name in ("representative", "strongest", "leading"):
            if (group.protected, getattr(group, name)) not in keys:
                return f"the {name} of group {group.group} is not among the witnesses"
    if not _verdicts_match(result):
        return "the number of confirmed witnesses does not match the witnesses"
    return _misshapen(result)


def _misshapen(result: AuditResult) -> str | None:
    """Which table has lines of a wrong length; None if every table fits its heads."""
    for witness in result.witnesses:
        table = witness.table
        height, width = len(table.rows), len(table.columns)
        fits = all(len(line) == width for line in table.cells)
        lengths = len(table.cells), len(table.row_totals), len(table.commonest)
        if not fits or lengths != (height,) * 3 or len(table.column_totals) != width:
            return f"the table of witness {witness.id} has lines of different lengths"
    for attribute in result.outcomes.attributes:
        if any(len(group.figures) != len(result.outcomes.labels) for group in attribute.groups):
            return f"the outcomes of {attribute.protected!r} do not match their labels"
    for counts in result.threshold_table:
        shape = [len(counts.epsilons)] * len(counts.deltas)
        if not counts.epsilons or not counts.deltas:
            return "a table of thresholds is empty"
        if any([*map(len, lines)] != shape for lines in (counts.witnesses, counts.confirmed)):
            return "a table of thresholds has lines of different lengths"
    return None


def _verdicts_match(result: AuditResult) -> bool:
    """Whether there are verdicts if there are statistics, in the numbers that are stated."""
    for z in result.protected:
        own = [w.verdict for w in result.witnesses if w.protected == z.name and not w.appropriate]
        if z.violations != VerdictCounts.of(own):
            return False
        if Verdict.CONFIRMED in own and z.verdict is not Verdict.CONFIRMED:
            return False
    summary = result.validity
    if summary is None:
        return all(witness.validity is None for witness in result.witnesses)
    methods = {method.name for method in summary.methods}
    validities = [witness.validity for witness in result.witnesses]
    if any(validity is None or set(validity.by_method) != methods for validity in validities):
        return False
    violations = [w.verdict for w in result.witnesses if not w.appropriate]
    verdicts = [w.verdict for w in result.witnesses]
    return summary.verdicts == VerdictCounts.of(verdicts) and (
        summary.violations == VerdictCounts.of(violations)
    )
