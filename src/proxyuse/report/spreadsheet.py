"""A document as a table for a spreadsheet: a line for each witness, and what to compare it with."""

from __future__ import annotations

import csv
import io
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any

from proxyuse.validity import content

COLUMNS = (
    "kind", "protected", "name", "id", "group", "explicit", "witness", "reading", "term",
    "variables", "positions", "origins", "occurrences", "size", "association", "ceiling",
    "influence", "reach", *content.COLUMNS,
)  # fmt: skip


def csv_text(document: Mapping[str, Any]) -> str:
    """Witnesses, then nearest computations, variables and outputs, as comma-separated values.

    The first column says what a line is: ``witness``, ``nearest``, ``variable`` or ``output``.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for line in _lines(document):
        writer.writerow([harmless(line.get(name)) for name in COLUMNS])
    return text.getvalue()


def _lines(document: Mapping[str, Any]) -> Iterable[dict[str, Any]]:
    for witness in document["witnesses"]:
        yield {**witness, **(witness.get("validity") or {}), "kind": "witness", "witness": True}
    for near in document["nearest"]:
        yield {**near, "kind": "nearest", "witness": False}
    yield from document["references"]


def harmless(value: object) -> str:
    """A cell that no spreadsheet takes for a formula.

    Examples
    --------
    >>> harmless("=1+1"), harmless("-x"), harmless(0.25), harmless(["a", "b"]), harmless(None)
    ("'=1+1", "'-x", '0.25', 'a; b', '')
    """
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case int() | float():
            return str(value)
        case list():
            text = "; ".join(map(str, value))
        case _:
            text = str(value)
    text = text.replace("\0", "")
    start = unicodedata.normalize("NFKC", text.lstrip()[:1])  # wide signs count as well
    risky = start in ("=", "+", "-", "@")
    return f"'{text}" if risky or text.startswith(("\t", "\r", "\n")) else text
