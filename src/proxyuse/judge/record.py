"""One recorded judgment, and the line of text it is kept in.

A line is a JSON object that people can read, with a checksum of what stands before it. What was
read must print as exactly the line it was read from, so nothing in a line can say two things.
This module knows nothing of files.
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
LONGEST_LINE = 1 << 24

# Characters that JSON leaves as they are and that end a line, change the direction of text or
# do not show. A list of our own: what counts as printable changes with the version of Python.
_UNSEEN = re.compile(
    "[\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff"
    "\ufff9-\ufffb\U000e0000-\U000e007f]"
)


@dataclass(frozen=True, slots=True)
class Record:
    """One judgment as it stands in the file.

    Attributes
    ----------
    protected : the protected attribute.
    term, shape : the computation as text, and with its numbers left out.
    variables : the names of the variables it uses, sorted.
    association, influence : as they were when it was judged.
    witness : the id of the witness.
    appropriate, reason, by, at : the judgment, why, by whom and when (UTC).
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
        """What it says."""
        return Judgment(self.appropriate, self.reason, self.by)

    @property
    def line(self) -> bytes:
        """The line in the file, without its end."""
        fields = {name: getattr(self, name) for name in _FIELDS}
        body = _json({"format": FORMAT, "version": VERSION, **fields, "at": time_text(self.at)})
        checksum = blake2b(body.encode(), digest_size=8).hexdigest()
        return f'{body[:-1]}, "checksum": "{checksum}"}}'.encode()


class NoRecord(Exception):
    """Why a line is no judgment."""


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
    """A time as it stands in the file.

    Examples
    --------
    >>> time_text(datetime(2025, 3, 1, 12, tzinfo=UTC))
    '2025-03-01T12:00:00.000000Z'
    """
    return at.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def record_of(witness: Witness, shape: str, judgment: Judgment, at: datetime) -> Record:
    """A judgment on a witness as it will be read from its line."""
    # Through JSON and back: two halves of a character become one.
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


def parsed(line: bytes) -> Record:
    """The judgment in a line; `NoRecord` says why there is none."""
    whole = line.endswith(b"\n")
    if len(line) > LONGEST_LINE and not whole:
        raise NoRecord(f"longer than {LONGEST_LINE} bytes")
    line = line.removesuffix(b"\n").removesuffix(b"\r")
    if b"\0" in line:
        raise NoRecord("zero bytes in it, as a crash leaves them")
    if line.startswith((b"<<<<<<<", b"=======", b">>>>>>>", b"|||||||")):
        raise NoRecord("a mark of a merge; take this line out and keep the judgments around it")
    try:
        fields = json.loads(line.decode(), parse_constant=_no_number)
    except (ValueError, RecursionError):
        cut = line.startswith(HEAD[:1]) and not line.endswith(b"}")
        raise NoRecord("cut off, as a crash leaves it" if cut else "not JSON") from None
    if not isinstance(fields, dict) or fields.get("format") != FORMAT:
        raise NoRecord(f'no "format": "{FORMAT}"')
    if fields.get("version") != VERSION:
        raise NoRecord(f"not of version {VERSION} of the format; a newer proxyuse may read it")
    _check_fields(fields)
    try:
        record = _from_fields(fields)
        fits = record.line == line
    except (ValueError, OverflowError):
        raise NoRecord("a time that is none") from None
    if not fits:
        raise NoRecord("changed since it was written: its checksum does not fit")
    return record


def _check_fields(fields: dict[str, Any]) -> None:
    for name, kind in _FIELDS.items():
        if type(fields.get(name)) is not kind:
            raise NoRecord(f'no "{name}", or not of the right kind')
    if not all(type(name) is str for name in fields["variables"]):
        raise NoRecord("a variable that is no name")
    if not (math.isfinite(fields["association"]) and math.isfinite(fields["influence"])):
        raise NoRecord("a measure that is no number")
    if not fields["reason"].strip() or not fields["by"].strip():
        raise NoRecord("no reason, or nobody who judged")


def _json(fields: dict[str, Any]) -> str:
    """JSON on one line that people can read and in which nothing is hidden."""
    return _UNSEEN.sub(_escaped, json.dumps(fields, ensure_ascii=False, allow_nan=False))


def _escaped(character: re.Match[str]) -> str:
    return json.dumps(character[0])[1:-1]


def _no_number(text: str) -> float:
    raise ValueError(text)
