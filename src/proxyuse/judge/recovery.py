"""Recovering a damaged file of judgments: nothing is lost, and nothing is silent.

The damaged file is kept under another name. The new file has the records before the first damaged
line, then a record of the recovery, which stays in the file and in every result that relies on it.
Approvals before a recovery no longer apply until someone confirms them, because a damaged line may
have been a judgment against the same use. An unfinished last line is no such line: nobody was told
that its judgment was recorded.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from proxyuse.errors import FileError
from proxyuse.io.writing import written_together
from proxyuse.judge.append_only import locked_for_appending, unusable
from proxyuse.judge.chain import Chain, Damage, check_ours
from proxyuse.judge.record import InvalidLine, Record, Recovery, line_of, parse_line


@dataclass(frozen=True, slots=True)
class Recovered:
    """What a recovery did.

    Attributes
    ----------
    recovery : the record of the recovery.
    readable : the judgments in the lines that were set aside, as far as they can be read.
    unreadable : how many other lines were set aside.
    """

    recovery: Recovery
    readable: tuple[Record, ...]
    unreadable: int


def recover(path: Path, by: str) -> Recovered | None:
    """Set the damaged lines of a file aside; return None if there are none.

    Parameters
    ----------
    path : the file of judgments.
    by : the person who recovers it.

    Raises
    ------
    FileError
        If the file does not exist, is not a file of judgments, or cannot be written. It does not
        change then.
    """
    if not path.exists():
        raise FileError(f"{path} does not exist; check the path")
    try:
        with locked_for_appending(path) as file:
            chain = Chain()
            damage = chain.read(file)
            if not isinstance(damage, Damage):
                return None
            check_ours(path, file, damage)
            file.seek(0)
            raw = file.read()
            digest = hashlib.sha256(raw).hexdigest()
            set_aside = path.with_name(f"{path.name}.damaged-{digest[:12]}")
            recovery = Recovery(
                kept=len(chain),
                problem=str(damage),
                unfinished=damage.unfinished,
                set_aside=set_aside.name,
                sha256=digest,
                by=by,
                at=datetime.now(UTC),
            )
            intact = raw[: damage.start]
            continued = intact + line_of(recovery, chain.head) + b"\n"
            written_together({set_aside: raw, path: continued})
    except (OSError, ValueError) as error:
        raise unusable(path, error, "recovered") from error
    return Recovered(recovery, *_judgments_in(raw[damage.start :]))


def _judgments_in(raw: bytes) -> tuple[tuple[Record, ...], int]:
    """Return the judgments in some lines, and the number of the other lines."""
    records = []
    other = 0
    for line in filter(None, raw.split(b"\n")):
        try:
            entry = parse_line(line + b"\n").entry
        except InvalidLine:
            other += 1
            continue
        if isinstance(entry, Record):
            records.append(entry)
    return tuple(records), other
