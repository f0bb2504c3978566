"""One recorded judgment and its line of text.

A line is a readable JSON object that ends with a checksum of everything before it. A record must
print as exactly the line it was parsed from, so no line is ambiguous. Knows nothing about files.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Any

from proxyuse.detect.witnesses import Witness
from proxyuse.judge.judgment import Judgment
from proxyuse.lang.nodes import variables

FORMAT = "proxyuse judgment"
VERSION = 1
HEAD = f'{{"format": "{FORMAT}"'.encode()
MAX_LINE_BYTES = 1 << 24

# Characters that JSON does not escape but that end a line, change the text direction or are
# invisible. Listed here because str.isprintable depends on the version of Python.
_INVISIBLE = re.compile(
    "[\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff"
    "\ufff9-\ufffb\U000e0000-\U000e007f]"
)


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

    @property
    def line(self) -> bytes:
        """The line in the file, without its line end."""
        fields = {name: getattr(self, name) for name in _FIELDS}
        body = _json({"format": FORMAT, "version": VERSION, **fields, "at": time_text(self.at)})
        checksum = blake2b(body.encode(), digest_size=8).hexdigest()
        return f'{body[:-1]}, "checksum": "{checksum}"}}'.encode()


class InvalidLine(Exception):
    """A line that is not a judgment; the message says why."""


_FIELDS = {
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
}


def time_text(at: datetime) -> str:
    """Write a time in UTC, as in the file.

    Examples
    --------
    >>> time_text(datetime(2025, 3, 1, 12, tzinfo=UTC))
    '2025-03-01T12:00:00.000000Z'
    """
    return at.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def record_of(witness: Witness, shape: str, judgment: Judgment, at: datetime) -> Record:
    """Return the record of a judgment, equal to the record parsed from its line."""
    # JSON joins surrogate pairs, so the record goes through JSON and back.
    return _from_fields(
        json.loads(
            json.dumps(
                {
                    "protected": witness.protected,
                    "term": witness.term,
                    "shape": shape,
                    "variables": sorted(variables(witness.expression)),
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


def _from_fields(fields: dict[str, Any]) -> Record:
    values = {name: fields[name] for name in _FIELDS}
    values["variables"] = tuple(values["variables"])
    values["at"] = datetime.fromisoformat(values["at"])
    return Record(**values)


def parse_line(line: bytes) -> Record:
    """Parse a line; raise `InvalidLine` if it is not a judgment."""
    if len(line) > MAX_LINE_BYTES and not line.endswith(b"\n"):
        raise InvalidLine(f"longer than {MAX_LINE_BYTES:,} bytes")
    line = line.removesuffix(b"\n").removesuffix(b"\r")
    if b"\0" in line:
        raise InvalidLine("contains zero bytes, probably after a crash")
    if line.startswith((b"<<<<<<<", b"=======", b">>>>>>>", b"|||||||")):
        raise InvalidLine("a merge conflict marker; delete this line and keep the others")
    try:
        fields = json.loads(line.decode(), parse_constant=_not_a_number)
    except (ValueError, RecursionError):
        cut = line.startswith(HEAD[:1]) and not line.endswith(b"}")
        raise InvalidLine("cut off, probably by a crash" if cut else "not JSON") from None
    if not isinstance(fields, dict) or fields.get("format") != FORMAT:
        raise InvalidLine(f'missing "format": "{FORMAT}"')
    if fields.get("version") != VERSION:
        raise InvalidLine(f"not version {VERSION} of the format; a newer proxyuse may read it")
    _check_fields(fields)
    try:
        record = _from_fields(fields)
        unchanged = record.line == line
    except (ValueError, OverflowError):
        raise InvalidLine("at: not a valid time") from None
    if not unchanged:
        raise InvalidLine("changed after it was written: the checksum does not match")
    return record


def _check_fields(fields: dict[str, Any]) -> None:
    for name, kind in _FIELDS.items():
        if type(fields.get(name)) is not kind:
            raise InvalidLine(f"{name} is missing or has the wrong type")
    if not all(type(name) is str for name in fields["variables"]):
        raise InvalidLine("variables: expected names")
    if not (math.isfinite(fields["association"]) and math.isfinite(fields["influence"])):
        raise InvalidLine("association and influence must be finite numbers")
    if not fields["reason"].strip() or not fields["by"].strip():
        raise InvalidLine("reason and by must not be blank")


def _json(fields: dict[str, Any]) -> str:
    """Return readable JSON on one line, with invisible characters escaped."""
    return _INVISIBLE.sub(_escaped, json.dumps(fields, ensure_ascii=False, allow_nan=False))


def _escaped(character: re.Match[str]) -> str:
    return json.dumps(character[0])[1:-1]


def _not_a_number(text: str) -> float:
    raise ValueError(text)
