"""One line of a judgments file: a recorded judgment, or a recovery of the file.

A line is a readable JSON object. It names the hash of the line before it and ends with its own hash
(`hashes.content_hash`), which covers everything before that. A record must print as exactly the
line it was parsed from, so no line is ambiguous. Knows nothing about files.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeAlias

from proxyuse.detect.collective_witness import Collection
from proxyuse.detect.witnesses import Witness
from proxyuse.hashes import content_hash
from proxyuse.judge.judgment import Judgment
from proxyuse.lang.nodes import variables
from proxyuse.words import json_escaped

FORMAT = "proxyuse judgment"
VERSION = 1
GENESIS = "0" * 64
"""The hash that the first line of a file refers to."""
MAX_LINE_BYTES = 1 << 24

_SEALED = re.compile(rb', "hash": "[0-9a-f]{64}"\}')


@dataclass(frozen=True, slots=True)
class Record:
    """A recorded judgment.

    Attributes
    ----------
    protected : the protected attribute.
    term, shape : the computation as text, with and without its numbers.
    variables : the names of the variables that it reads, sorted.
    association, influence : the measures at the time of the judgment.
    witness : the id of the witness.
    appropriate, reason, by, at : the judgment, the reason, the person and the time (UTC).
    """

    protected: str
    term: str
    shape: str
    variables: tuple[str, ...]
    association: float
    influence: float
    witness: str
    appropriate: bool
    reason: str
    by: str
    at: datetime

    @property
    def judgment(self) -> Judgment:
        """The judgment without its context."""
        return Judgment(self.appropriate, self.reason, self.by)


@dataclass(frozen=True, slots=True)
class Recovery:
    """A recovery: someone set damaged lines aside and kept the records before them.

    Attributes
    ----------
    kept : how many records were kept.
    problem : the first damaged line, and what was wrong with it.
    unfinished : whether only an unfinished last line was set aside, which nobody was told was
        recorded. Otherwise the damaged lines may have had judgments against a use, so earlier
        approvals no longer apply until someone confirms them.
    set_aside, sha256 : the name and the SHA-256 hash of the copy of the damaged file.
    by, at : the person and the time (UTC).
    """

    kept: int
    problem: str
    unfinished: bool
    set_aside: str
    sha256: str
    by: str
    at: datetime


Entry: TypeAlias = Record | Recovery


@dataclass(frozen=True, slots=True)
class Line:
    """A parsed line: its entry, the hash of the line before it, and its own hash."""

    entry: Entry
    previous: str
    hash: str


class InvalidLine(Exception):
    """A line that is not a judgment; the message says why."""


_KINDS: dict[str, tuple[type[Record] | type[Recovery], dict[str, type]]] = {
    "judgment": (
        Record,
        {
            "protected": str,
            "term": str,
            "shape": str,
            "variables": list,
            "association": float,
            "influence": float,
            "witness": str,
            "appropriate": bool,
            "reason": str,
            "by": str,
            "at": str,
        },
    ),
    "recovery": (
        Recovery,
        {
            "kept": int,
            "problem": str,
            "unfinished": bool,
            "set_aside": str,
            "sha256": str,
            "by": str,
            "at": str,
        },
    ),
}


def time_text(at: datetime) -> str:
    """Write a time in UTC, as in the file.

    Examples
    --------
    >>> time_text(datetime(2025, 3, 1, 12, tzinfo=UTC))
    '2025-03-01T12:00:00.000000Z'
    """
    return at.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def line_of(entry: Entry, previous: str) -> bytes:
    """Return the line of an entry, without its line end.

    Parameters
    ----------
    entry : the judgment or the recovery.
    previous : the hash of the line before it; `GENESIS` for the first line.
    """
    kind = next(name for name, (of, _) in _KINDS.items() if isinstance(entry, of))
    fields = {name: getattr(entry, name) for name in _KINDS[kind][1]}
    content = {**_opening(previous), "kind": kind, **fields, "at": time_text(entry.at)}
    return _json({**content, "hash": content_hash(content)}).encode()


def is_unfinished(line: bytes, previous: str) -> bool:
    """Whether a last line can be the start of a line that a killed process did not finish.

    Such a line follows the line before it and has no hash of its own yet. After a power failure,
    zeros may stand where its end was not written.
    """
    written = line.removesuffix(b"\n").rstrip(b"\0")
    zeros = line[len(written) :].strip(b"\n")
    opening = _json(_opening(previous)).encode()[:-1] + b", "
    starts = opening.startswith(written) or written.startswith(opening)
    return starts and not _SEALED.search(line) and bool(zeros or not line.endswith(b"\n"))


def _opening(previous: str) -> dict[str, Any]:
    return {"format": FORMAT, "version": VERSION, "previous": previous}


def record_of(
    witness: Witness | Collection, shape: str, judgment: Judgment, at: datetime
) -> Record:
    """Return the record of a judgment, equal to the record parsed from its line."""
    # JSON joins surrogate pairs, so the record goes through JSON and back.
    record: Record = _from_fields(
        json.loads(
            json.dumps(
                {
                    "protected": witness.protected,
                    "term": witness.term,
                    "shape": shape,
                    "variables": sorted(_read_by(witness)),
                    "association": float(witness.association),
                    "influence": float(witness.influence),
                    "witness": witness.id,
                    "appropriate": judgment.appropriate,
                    "reason": judgment.reason,
                    "by": judgment.by,
                    "at": time_text(at),
                }
            )
        )
    )
    return record


def _read_by(witness: Witness | Collection) -> Iterable[str]:
    return witness.variables if isinstance(witness, Collection) else variables(witness.expression)


def _from_fields(fields: Mapping[str, Any], kind: str = "judgment") -> Any:
    of, names = _KINDS[kind]
    values = {name: fields[name] for name in names}
    values["at"] = datetime.fromisoformat(values["at"])
    if "variables" in values:
        values["variables"] = tuple(values["variables"])
    return of(**values)


def parse_line(line: bytes) -> Line:
    """Parse a line; raise `InvalidLine` if it is damaged."""
    if len(line) > MAX_LINE_BYTES and not line.endswith(b"\n"):
        raise InvalidLine(f"longer than {MAX_LINE_BYTES:,} bytes")
    line = line.removesuffix(b"\r\n") if line.endswith(b"\r\n") else line.removesuffix(b"\n")
    if not line.strip():
        raise InvalidLine("empty")
    if b"\0" in line:
        raise InvalidLine("contains zero bytes")
    if line.startswith((b"<<<<<<<", b"=======", b">>>>>>>", b"|||||||")):
        raise InvalidLine("a merge conflict marker")
    try:
        fields = json.loads(line.decode(), parse_constant=_not_a_number)
    except (ValueError, RecursionError):
        cut = line.startswith(b"{") and not line.endswith(b"}")
        raise InvalidLine("cut off" if cut else "not JSON") from None
    if not isinstance(fields, dict) or fields.get("format") != FORMAT:
        raise InvalidLine(f'missing "format": "{FORMAT}"')
    if fields.get("version") != VERSION:
        raise InvalidLine(f"not version {VERSION} of the format; a newer proxyuse may read it")
    kind = fields.get("kind")
    if not isinstance(kind, str) or kind not in _KINDS:
        raise InvalidLine(f"kind: expected {' or '.join(_KINDS)}")
    _check_fields(fields, _KINDS[kind][1])
    try:
        entry = _from_fields(fields, kind)
        unchanged = line_of(entry, fields["previous"]) == line
    except (ValueError, OverflowError):
        raise InvalidLine("at: not a valid time") from None
    if not unchanged:
        raise InvalidLine("changed after it was written: its hash does not match")
    return Line(entry, fields["previous"], fields["hash"])


def _check_fields(fields: Mapping[str, Any], kinds: Mapping[str, type]) -> None:
    for name, kind in {"previous": str, **kinds, "hash": str}.items():
        if type(fields.get(name)) is not kind:
            raise InvalidLine(f"{name} is missing or has the wrong type")
    if not all(type(name) is str for name in fields.get("variables", ())):
        raise InvalidLine("variables: expected names")
    if not all(math.isfinite(fields[name]) for name, kind in kinds.items() if kind is float):
        raise InvalidLine("association and influence must be finite numbers")
    if not all(fields[name].strip() for name in ("reason", "by") if name in kinds):
        raise InvalidLine("reason and by must not be blank")


def _json(fields: Mapping[str, Any]) -> str:
    """Return readable JSON on one line, with invisible characters escaped."""
    return json_escaped(json.dumps(fields, ensure_ascii=False, allow_nan=False))


def _not_a_number(text: str) -> float:
    raise ValueError(text)
