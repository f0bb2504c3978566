"""Recorded judgments: what people decided on witnesses, who, when and why.

They are kept in a plain text file that belongs in version control next to the model: one JSON
object a line, each with a checksum. Lines are only ever added: a later judgment supersedes an
earlier one, which stays in the file. A line that cannot be read is reported and left where it is.
Two branches that both added lines are merged by keeping the lines of both, in any order, for time
decides which is the latest; ``judgments.jsonl merge=union`` in ``.gitattributes`` does so.

A judgment holds for the computation it was given on: the same text, measured alike. What only
looks like it (other constants, or another strength) is `Records.similar`: to be confirmed by a
person, never applied by itself.
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
    opened_to_append,
    opened_to_read,
    unusable,
)
from proxyuse.judge.judgment import Judgment
from proxyuse.judge.record import (
    HEAD,
    LONGEST_LINE,
    NoRecord,
    Record,
    parsed,
    record_of,
    time_text,
)
from proxyuse.judge.term_shape import shape_of

__all__ = ["Damage", "Record", "Records", "shape_of"]

TOLERANCE = 0.02
MOST_DAMAGED = 10_000
ROUNDING = 1e-9

_REMEMBERED = 64  # bytes before the place up to which a file was read; a checksum is among them
_TRIES = 100


@dataclass(frozen=True, slots=True)
class Damage:
    """A line that cannot be read: its number, counted from 1, and the reason."""

    line: int
    reason: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.reason}"


class Records:
    """The judgments in a file, and an oracle that answers with them.

    Attributes
    ----------
    path : Path
        The file.
    tolerance : float
        How far association and influence may each have moved for a judgment to be kept.

    Examples
    --------
    >>> import tempfile
    >>> import proxyuse as pu
    >>> data = {"vitamins": [1, 1, 0, 0], "pregnant": [1, 1, 0, 0]}
    >>> found = pu.audit(pu.Program.parse("ite(vitamins == 1, 'a', 'b')"), data, "pregnant")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     records = Records.open(Path(folder, "judgments.jsonl"))
    ...     for witness in found.witnesses:
    ...         _ = records.add(witness, True, "asked for by the clinic", "Ada")
    ...     len(found.violations()), len(found.violations(records))
    (3, 0)
    """

    def __init__(self, path: str | Path, tolerance: float = TOLERANCE) -> None:
        if not 0 <= tolerance < math.inf:
            raise DataError(f"the tolerance is {tolerance!r}; pass a number from 0 on")
        self.path = Path(path)
        self.tolerance = float(tolerance)
        self._forget()

    @classmethod
    def open(cls, path: str | Path, *, tolerance: float = TOLERANCE) -> Records:
        """Read a file of judgments; one that is not there yet has none.

        Raises
        ------
        FileError
            If the file cannot be read or is no file of judgments at all. Damaged lines among
            others are no error: they are in `damaged`.
        """
        records = cls(path, tolerance)
        try:
            with opened_to_read(records.path) as file:
                records._catch_up(file)
        except FileNotFoundError:
            pass
        except (OSError, ValueError) as error:
            raise unusable(records.path, error, "read") from error
        return records

    @property
    def damaged(self) -> tuple[Damage, ...]:
        """The lines that cannot be used. A judgment against a use may be among them: show them."""
        return tuple(self._damaged)

    def __len__(self) -> int:
        return len(self._records)

    def __iter__(self) -> Iterator[Record]:
        """All judgments, superseded ones too, in the order of the file."""
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
        """Record a judgment; it is safe on the disk when this returns.

        Lines that others added since the file was read are read first.

        Parameters
        ----------
        witness : what is judged.
        appropriate : whether the use is.
        reason : why; never empty.
        by : who judged; never empty.
        at : when, with a time zone; now if not given.

        Raises
        ------
        DataError
            If something is missing, or a judgment on the same computation is dated later than
            now, so that this one would count for nothing.
        FileError
            If the file cannot be written. Nothing that was in it is lost.
        """
        judgment = Judgment(appropriate, reason, by)
        _check_name(by)
        if at is not None:
            _check_time(at)
        shape = shape_of(witness.expression)
        try:
            for _ in range(_TRIES):
                with opened_to_append(self.path) as file:
                    self._catch_up(file)
                    when = at or self._now(witness)
                    record = record_of(witness, shape, judgment, when)
                    self._check_length(record)
                    raw = append(file, record.line)
                    if is_at(file, self.path):
                        self._took(record, raw)
                        return record
        except (OSError, ValueError) as error:
            raise unusable(self.path, error, "written") from error
        raise FileError(f"{self.path} is replaced by another process all the time; end that first")

    def latest(self, witness: Witness) -> Record | None:
        """The judgment that holds for a witness.

        It is the latest on the same computation. One against this very witness, that is, at the
        same positions, is lifted only by a later one on this very witness.
        """
        same = self._by_term.get((witness.protected, witness.term), [])
        near = [record for record in same if self._alike(record, witness)]
        found = _last(near)
        if found is None:
            return None
        own = _last([record for record in near if record.witness == witness.id])
        if own is not None and not own.appropriate:
            return own
        # One that was superseded does not come back because the measures moved away from that
        # which superseded it.
        later = _last([record for record in same if self._alike(record, found)])
        return found if later is found else None

    def __call__(self, witness: Witness) -> Judgment | None:
        """The judgment on a witness, if there is one."""
        record = self.latest(witness)
        return None if record is None else record.judgment

    def similar(self, witness: Witness) -> list[Record]:
        """Judgments on what is much like a witness and not the same, the latest first.

        That is the same structure with other constants, or the same text with association or
        influence farther away than the tolerance. Superseded ones are left out.
        """
        judged = self.latest(witness) is not None
        candidates = self._by_shape.get((witness.protected, shape_of(witness.expression)), [])
        standing: dict[str, list[Record]] = defaultdict(list)
        for record in sorted(candidates, key=lambda record: record.at)[::-1]:
            settled = judged and record.term == witness.term and self._alike(record, witness)
            if not settled and not any(self._alike(record, r) for r in standing[record.term]):
                standing[record.term].append(record)
        found = [record for records in standing.values() for record in records]
        return sorted(found, key=lambda record: record.at, reverse=True)

    def _alike(self, record: Record, other: Record | Witness) -> bool:
        moved = max(
            abs(record.association - other.association), abs(record.influence - other.influence)
        )
        return moved <= self.tolerance + ROUNDING

    def _now(self, witness: Witness) -> datetime:
        """The time, unless it is before that of a judgment that should be superseded."""
        now = datetime.now(UTC)
        same = self._by_term.get((witness.protected, witness.term), [])
        last = _last([record for record in same if self._alike(record, witness)])
        if last is not None and last.at > now:
            raise DataError(
                f"the judgment of {last.by!r} on this computation is dated {time_text(last.at)}, "
                f"and now is {time_text(now)}: set the clock, or say when with a later time"
            )
        return now

    def _check_length(self, record: Record) -> None:
        if len(record.line) > LONGEST_LINE:
            raise DataError(
                f"the judgment on witness {record.witness} takes more than {LONGEST_LINE} bytes; "
                "give a shorter reason, or judge a smaller computation inside it"
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
        """Read what was added since the last time; all of it if the file is another."""
        file.seek(self._end - len(self._before_end))
        unchanged = file.read(len(self._before_end)) == self._before_end
        status = os.fstat(file.fileno())
        identity = (status.st_dev, status.st_ino)
        if identity != self._identity or not unchanged or not self._before_end.endswith(b"\n"):
            self._forget()
            self._identity = identity
            file.seek(0)
        for line in lines_of(file, LONGEST_LINE):
            self._lines += 1
            self._read(line)
        self._end = file.tell()
        file.seek(max(0, self._end - _REMEMBERED))
        self._before_end = file.read(self._end - file.tell())
        if self._foreign and not self._ours:
            raise self._not_ours()

    def _read(self, line: bytes) -> None:
        content = line.strip(b"\0 \t\r\n")
        if not content and b"\0" not in line:
            return
        try:
            self._take(parsed(line))
        except NoRecord as bad:
            self._damaged.append(Damage(self._lines, str(bad)))
            self._ours |= content.startswith(HEAD)
            self._foreign |= not HEAD.startswith(content[: len(HEAD)])
            if len(self._damaged) > MOST_DAMAGED:
                raise self._not_ours() from None

    def _not_ours(self) -> FileError:
        return FileError(
            f"{self.path} is no file of judgments ({self._damaged[0]}); name another, or take "
            "it as it was from version control"
        )

    def _took(self, record: Record, raw: bytes) -> None:
        """Take a judgment of our own, just written, as if it had been read."""
        self._take(record)
        self._lines += 1
        self._end += len(raw)
        self._before_end = (self._before_end + raw)[-_REMEMBERED:]

    def _take(self, record: Record) -> None:
        self._ours = True
        self._records.append(record)
        self._by_term[record.protected, record.term].append(record)
        self._by_shape[record.protected, record.shape].append(record)


def _check_name(by: object) -> None:
    if not isinstance(by, str) or not by.strip():
        raise DataError("a recorded judgment needs the name of who judged: pass it as by")


def _check_time(at: object) -> None:
    if not isinstance(at, datetime) or at.utcoffset() is None:
        raise DataError(
            f"at is {at!r}; pass a datetime with a time zone, such as datetime.now(timezone.utc)"
        )
    try:
        at.astimezone(UTC)
    except OverflowError:
        raise DataError(f"at is {at!r}, which is no time in UTC") from None


def _last(records: list[Record]) -> Record | None:
    """The latest; of those of one time, the last in the file."""
    return max(reversed(records), key=lambda record: record.at, default=None)
