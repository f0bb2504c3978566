"""Remarks that travel with a result: what was left out, binned, sampled or dropped, and how.

A result is only honest together with its notes, so every stage hands them on.
This module knows nothing of the rest of the package.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class NoteKind(StrEnum):
    """What a note is about."""

    UNSETTLED = "unsettled"
    SEARCHED = "searched"
    PRUNED = "pruned"
    NOT_LISTED = "not listed"
    BINNED = "binned"
    LONG_SUPPORT = "long support"
    SAMPLED = "sampled"
    DRAWN = "drawn"
    DROPPED = "dropped"
    EXPLICIT_USE = "explicit use"
    MISSING = "missing"
    METHOD = "method"
    ROUNDED = "rounded"
    OPAQUE = "opaque"
    TIME_LIMIT = "time limit"


@dataclass(frozen=True, slots=True)
class Note:
    """One remark.

    Examples
    --------
    >>> print(Note(NoteKind.DROPPED, "3 rows of weight 0 were dropped"))
    dropped: 3 rows of weight 0 were dropped
    """

    kind: NoteKind
    text: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.text}"
