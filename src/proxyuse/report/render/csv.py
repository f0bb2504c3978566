"""An audit as comma-separated values: one line per witness, then computations to compare with."""

from __future__ import annotations

import csv
import io
import unicodedata
from collections.abc import Iterable
from typing import Any

from msgspec import to_builtins

from proxyuse.report.result import AuditResult
from proxyuse.validity import content
from proxyuse.words import visible

COLUMNS = (
    "kind", "protected", "name", "id", "group", "explicit", "witness", "reading", "term",
    "variables", "positions", "origins", "occurrences", "size", "association", "ceiling",
    "association_range", "influence", "reach", *content.COLUMNS,
)  # fmt: skip


def audit_csv(result: AuditResult) -> str:
    """Witnesses, then the closest computations, variables and outputs.

    The first column is the kind of a line: ``witness``, ``nearest``, ``variable`` or ``output``.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for line in _lines(result):
        writer.writerow([harmless(line.get(name)) for name in COLUMNS])
    return text.getvalue()


def _lines(result: AuditResult) -> Iterable[dict[str, Any]]:
    for witness in result.witnesses:
        validity = {} if witness.validity is None else to_builtins(witness.validity)
        known = {"kind": "witness", "witness": True, "verdict": str(witness.verdict)}
        yield {**to_builtins(witness), **validity, **known}
    for near in result.nearest:
        yield {**to_builtins(near), "kind": "nearest", "witness": False}
    for reference in result.references:
        yield to_builtins(reference)


def harmless(value: object) -> str:
    r"""A cell that no spreadsheet takes for a formula, without control characters.

    A text that could start a formula gets an apostrophe in front, which spreadsheets hide. Numbers
    stay numbers.

    Examples
    --------
    >>> harmless("=1+1"), harmless("-x"), harmless(-0.25), harmless(("a", "b")), harmless(None)
    ("'=1+1", "'-x", '-0.25', 'a; b', '')
    >>> harmless("a\x1b[2J")
    'a\u27e8U+001B\u27e9[2J'
    """
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case int() | float():
            return str(value)
        case list() | tuple():
            text = "; ".join(map(str, value))
        case _:
            text = str(value)
    text = visible(text)
    start = unicodedata.normalize("NFKC", text.lstrip()[:1])  # wide signs count as well
    return f"'{text}" if start in ("=", "+", "-", "@") else text
