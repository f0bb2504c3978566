"""Remarks of an audit and of its data, without small numbers of rows."""

from __future__ import annotations

import re
from collections.abc import Iterable

from proxyuse.notes import Note, NoteKind

_COUNT = re.compile(r"(?<![\d,.])(\d[\d,]*)( of [\d,]+)? (row|cell)s?\b")


def remarks(notes: Iterable[Note], min_cell: int) -> list[dict[str, str]]:
    """The remarks of an audit; what is not settled is told elsewhere."""
    return [
        {"kind": str(note.kind), "text": _remark(note, min_cell)}
        for note in notes
        if note.kind is not NoteKind.UNSETTLED
    ]


def _remark(note: Note, min_cell: int) -> str:
    if note.kind is NoteKind.MISSING and min_cell > 1:  # the count is that of a protected value
        return _COUNT.sub("some rows", note.text)
    text = without_small_counts(note.text, min_cell)
    return text if text == note.text else text.replace(" was dropped", " were dropped")


def without_small_counts(text: str, min_cell: int) -> str:
    """A text in which numbers of rows or cells below `min_cell` are not told.

    Examples
    --------
    >>> without_small_counts("2 of 1,003 rows satisfy the condition", 5)
    'fewer than 5 of 1,003 rows satisfy the condition'
    >>> without_small_counts("1,003 of 2,000 rows satisfy the condition", 5)
    '1,003 of 2,000 rows satisfy the condition'
    """

    def covered(found: re.Match[str]) -> str:
        if int(found[1].replace(",", "")) >= min_cell:
            return found[0]
        return f"fewer than {min_cell}{found[2] or ''} {found[3]}s"

    return _COUNT.sub(covered, text)
