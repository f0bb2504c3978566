"""Recorded judgments: who judged which witness, when, how and why.

Judgments are stored in a text file that belongs in version control next to the model: one JSON
object per line, each with a checksum. The file is append-only. A later judgment supersedes an
earlier one, which stays in the file. Unreadable lines are reported and kept. To merge two
branches, keep the lines of both in any order, because the time decides which judgment is latest;
``judgments.jsonl merge=union`` in ``.gitattributes`` does this.

A judgment applies to the same computation: the same text with nearly the same measures.
`Records.similar` lists judgments on similar computations, with other constants or measures. A
person has to confirm these; they are never applied automatically.
"""

from __future__ import annotations

import math
import os
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from io import BufferedReader
from pathlib import Path

from proxyuse.detect.witnesses import Witness
from proxyuse.errors import DataError, FileError
from proxyuse.judge.append_only import (
    append,
    is_at,
    lines_of,
    locked_for_appending,
    locked_for_reading,
    unusable,
)
from proxyuse.judge.judgment import Judgment
from proxyuse.judge.record import (
    HEAD,
    MAX_LINE_BYTES,
    InvalidLine,
    Record,
    parse_line,
    record_of,
    time_text,
)
from proxyuse.judge.term_shape import shape_of

__all__ = ["Damage", "Record", "Records", "shape_of"]

TOLERANCE = 0.02
MAX_DAMAGED = 10_000
ROUNDING = 1e-9

_TAIL_BYTES = 64  # the end of what was read, to detect changes; it includes a checksum
_MAX_ATTEMPTS = 100


@dataclass(frozen=True, slots=True)
class Damage:
    """An unreadable line: its number, counted from 1, and the reason."""

    line: int
    reason: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.reason}"


class Records:
    """The judgments in a file, as an oracle.

    Attributes
    ----------
    path : Path
        The file.
    tolerance : float
        A judgment applies if association and influence each changed by at most this much.

    Examples
    --------
    >>> import tempfile
    >>> import proxyuse as pu
    >>> data = {"vitamins": [1, 1, 0, 0], "pregnant": [1, 1, 0, 0]}
    >>> audit = pu.audit(pu.Program.parse("ite(vitamins == 1, 'a', 'b')"), data, "pregnant")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     records = Records.open(Path(folder, "judgments.jsonl"))
    ...     for witness in audit.witnesses:
    ...         _ = records.add(witness, True, "asked for by the clinic", "Ada")
    ...     len(audit.violations()), len(audit.violations(records))
    (3, 0)
    """

    def __init__(self, path: str | Path, tolerance: float = TOLERANCE) -> None:
        if not 0 <= tolerance < math.inf:
            raise DataError(f"tolerance: expected a number of 0 or more, got {tolerance!r}")
        self.path = Path(path)
        self.tolerance = float(tolerance)
        self._forget()

    @classmethod
    def open(cls, path: str | Path, *, tolerance: float = TOLERANCE) -> Records:
        """Read a file of judgments. A file that does not exist has none.

        Raises
        ------
        FileError
            If the file cannot be read or is not a file of judgments. Single damaged lines are
            not an error; see `damaged`.
        """
        records = cls(path, tolerance)
        try:
            with locked_for_reading(records.path) as file:
                records._catch_up(file)
        except FileNotFoundError:
            pass
        except (OSError, ValueError) as error:
            raise unusable(records.path, error, "read") from error
        return records

    @property
    def damaged(self) -> tuple[Damage, ...]:
        """The unreadable lines. Show them: a judgment against a use may be among them."""
        return tuple(self._damaged)

    def __len__(self) -> int:
        return len(self._records)

    def __iter__(self) -> Iterator[Record]:
        """Iterate over all judgments, including superseded ones, in file order."""
        return iter(self._records)

    def __repr__(self) -> str:
        return f"<Records {self.path}: {len(self)} judgments, {len(self._damaged)} damaged lines>"

    def add(
        self,
        witness: Witness,
        appropriate: bool,
        reason: str,
        by: str,
        at: datetime | None = None,
    ) -> Record:
        """Record a judgment; it is on disk when this returns.

        Lines that other processes have added are read first.

        Parameters
        ----------
        witness : the witness.
        appropriate : whether the use is appropriate.
        reason : why; not blank.
        by : the person who judged; not blank.
        at : the time, with a time zone; by default now.

        Raises
        ------
        DataError
            If an argument is missing, or a judgment on the same computation has a time in the
            future, so that this one would be superseded at once.
        FileError
            If the file cannot be written. Its content does not change then.
        """
        judgment = Judgment(appropriate, reason, by)
        _check_name(by)
        if at is not None:
            _check_time(at)
        shape = shape_of(witness.expression)
        try:
            for _ in range(_MAX_ATTEMPTS):
                with locked_for_appending(self.path) as file:
                    self._catch_up(file)
                    when = at or self._now(witness)
                    record = record_of(witness, shape, judgment, when)
                    self._check_length(record)
                    raw = append(file, record.line)
                    if is_at(file, self.path):
                        self._add_own(record, raw)
                        return record
        except (OSError, ValueError) as error:
            raise unusable(self.path, error, "written") from error
        raise FileError(f"{self.path}: another process keeps replacing this file; stop it first")

    def latest(self, witness: Witness) -> Record | None:
        """Return the judgment that applies to a witness: the latest on the same computation.

        A judgment against the witness itself, at the same positions, is superseded only by a
        later judgment on the witness itself.
        """
        same = self._by_term.get((witness.protected, witness.term), [])
        applicable = [record for record in same if self._alike(record, witness)]
        latest = _last(applicable)
        if latest is None:
            return None
        own = _last([record for record in applicable if record.witness == witness.id])
        if own is not None and not own.appropriate:
            return own
        # A superseded judgment does not become valid again when the measures move away from
        # those of its successor.
        successor = _last([record for record in same if self._alike(record, latest)])
        return latest if successor is latest else None

    def __call__(self, witness: Witness) -> Judgment | None:
        """Return the judgment on a witness, or None."""
        record = self.latest(witness)
        return None if record is None else record.judgment

    def similar(self, witness: Witness) -> list[Record]:
        """Return judgments on similar computations, latest first, without superseded ones.

        A computation is similar if it has the same structure with other constants, or the same
        text with an association or influence outside the tolerance.
        """
        judged = self.latest(witness) is not None
        candidates = self._by_shape.get((witness.protected, shape_of(witness.expression)), [])
        standing: dict[str, list[Record]] = defaultdict(list)
        for record in sorted(candidates, key=lambda record: record.at)[::-1]:
            settled = judged and record.term == witness.term and self._alike(record, witness)
            if not settled and not any(self._alike(record, r) for r in standing[record.term]):
                standing[record.term].append(record)
        similar = [record for records in standing.values() for record in records]
        return sorted(similar, key=lambda record: record.at, reverse=True)

    def _alike(self, record: Record, other: Record | Witness) -> bool:
        change = max(
            abs(record.association - other.association), abs(record.influence - other.influence)
        )
        return change <= self.tolerance + ROUNDING

    def _now(self, witness: Witness) -> datetime:
        """Return the time, which must not be before that of a judgment to supersede."""
        now = datetime.now(UTC)
        same = self._by_term.get((witness.protected, witness.term), [])
        last = _last([record for record in same if self._alike(record, witness)])
        if last is not None and last.at > now:
            raise DataError(
                f"{last.by!r} judged this computation at {time_text(last.at)}, but now it is "
                f"{time_text(now)}; set the clock, or pass a later time as `at`"
            )
        return now

    def _check_length(self, record: Record) -> None:
        if len(record.line) > MAX_LINE_BYTES:
            raise DataError(
                f"the judgment on witness {record.witness} takes more than {MAX_LINE_BYTES:,} "
                "bytes; shorten the reason, or judge a smaller computation inside it"
            )

    # Reading

    def _forget(self) -> None:
        self._records: list[Record] = []
        self._by_term: defaultdict[tuple[str, str], list[Record]] = defaultdict(list)
        self._by_shape: defaultdict[tuple[str, str], list[Record]] = defaultdict(list)
        self._damaged: list[Damage] = []
        self._lines = 0
        self._end = 0
        self._before_end = b""
        self._identity: tuple[int, int] | None = None
        self._ours = self._foreign = False

    def _catch_up(self, file: BufferedReader) -> None:
        """Read new lines, or the whole file if it was replaced or changed."""
        file.seek(self._end - len(self._before_end))
        unchanged = file.read(len(self._before_end)) == self._before_end
        status = os.fstat(file.fileno())
        identity = (status.st_dev, status.st_ino)
        if identity != self._identity or not unchanged or not self._before_end.endswith(b"\n"):
            self._forget()
            self._identity = identity
            file.seek(0)
        for line in lines_of(file, MAX_LINE_BYTES):
            self._lines += 1
            self._read(line)
        self._end = file.tell()
        file.seek(max(0, self._end - _TAIL_BYTES))
        self._before_end = file.read(self._end - file.tell())
        if self._foreign and not self._ours:
            raise self._not_ours()

    def _read(self, line: bytes) -> None:
        content = line.strip(b"\0 \t\r\n")
        if not content and b"\0" not in line:
            return
        try:
            self._take(parse_line(line))
        except InvalidLine as error:
            self._damaged.append(Damage(self._lines, str(error)))
            self._ours |= content.startswith(HEAD)
            self._foreign |= not HEAD.startswith(content[: len(HEAD)])
            if len(self._damaged) > MAX_DAMAGED:
                raise self._not_ours() from None

    def _not_ours(self) -> FileError:
        return FileError(
            f"{self.path} is not a file of judgments ({self._damaged[0]}); pass another file, or "
            "restore this one from version control"
        )

    def _add_own(self, record: Record, raw: bytes) -> None:
        """Add a judgment that was just written, as if it had been read."""
        self._take(record)
        self._lines += 1
        self._end += len(raw)
        self._before_end = (self._before_end + raw)[-_TAIL_BYTES:]

    def _take(self, record: Record) -> None:
        self._ours = True
        self._records.append(record)
        self._by_term[record.protected, record.term].append(record)
        self._by_shape[record.protected, record.shape].append(record)


def _check_name(by: object) -> None:
    if not isinstance(by, str) or not by.strip():
        raise DataError("a recorded judgment needs the name of the person who judged; pass `by`")


def _check_time(at: object) -> None:
    if not isinstance(at, datetime) or at.utcoffset() is None:
        raise DataError(
            f"at: expected a datetime with a time zone, got {at!r}; pass, for example, "
            "datetime.now(timezone.utc)"
        )
    try:
        at.astimezone(UTC)
    except OverflowError:
        raise DataError(f"at: {at!r} is out of range in UTC") from None


def _last(records: list[Record]) -> Record | None:
    """Return the latest record; of records with the same time, the last in the file."""
    return max(reversed(records), key=lambda record: record.at, default=None)
