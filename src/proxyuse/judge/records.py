"""Recorded judgments: who judged which witness, when, how and why.

Judgments are stored in a text file that belongs in version control next to the model: one JSON
object per line, each chained to the line before it (`judge.chain`). The file is append-only. A
later judgment supersedes an earlier one, which stays in the file. A file with a damaged line is not
used at all, because a judgment against a use may be lost; `judge.recovery` recovers it.

A judgment applies to the same computation: the same text with nearly the same measures.
`Records.similar` lists judgments on similar computations, with other constants or measures. A
person has to confirm these; they are never applied automatically.
"""

from __future__ import annotations

import math
import os
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime
from io import BufferedReader
from pathlib import Path

from proxyuse.detect.collective_witness import Collection
from proxyuse.detect.witnesses import Witness
from proxyuse.errors import CorruptFile, DataError, FileError
from proxyuse.judge.append_only import (
    append,
    is_at,
    locked_for_appending,
    locked_for_reading,
    unusable,
)
from proxyuse.judge.chain import Chain, Damage, check_ours, damaged
from proxyuse.judge.judgment import Judgment
from proxyuse.judge.record import (
    MAX_LINE_BYTES,
    Entry,
    Record,
    Recovery,
    line_of,
    record_of,
    time_text,
)
from proxyuse.judge.term_shape import shape_of
from proxyuse.words import count

__all__ = ["Record", "Records", "Recovery", "shape_of"]

TOLERANCE = 0.02
ROUNDING = 1e-9

_TAIL_BYTES = 128  # the end of what was read, to detect changes; it includes a hash
_MAX_ATTEMPTS = 100


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
    def open(
        cls, path: str | Path, *, tolerance: float = TOLERANCE, head: str | None = None
    ) -> Records:
        """Read a file of judgments. A file that does not exist has none.

        Parameters
        ----------
        path : the file.
        tolerance : how much the figures of a computation may change, see `Records`.
        head : the expected `head`, kept by someone else. Without it, records that are missing at
            the end of the file cannot be noticed.

        Raises
        ------
        FileError
            If the file cannot be read or is not a file of judgments.
        CorruptFile
            If a line is damaged or does not follow the line before it, or the head is another one.
        """
        records = cls(path, tolerance)
        try:
            with locked_for_reading(records.path) as file:
                records._catch_up(file)
        except FileNotFoundError:
            pass
        except (OSError, ValueError) as error:
            raise unusable(records.path, error, "read") from error
        if head is not None and head != records.head:
            raise CorruptFile(records._other_head(head))
        return records

    @property
    def head(self) -> str:
        """The hash of the last line; 64 zeros if there is none.

        It stands for the whole file: another party who keeps it can tell later whether these are
        still all records.
        """
        return self._chain.head

    @property
    def lines(self) -> int:
        """The number of records in the file: judgments, and recoveries of the file."""
        return len(self._chain)

    @property
    def recoveries(self) -> tuple[Recovery, ...]:
        """The recoveries of the file. Show them: judgments against a use may have been lost."""
        return tuple(self._recoveries)

    def __len__(self) -> int:
        return len(self._records)

    def __iter__(self) -> Iterator[Record]:
        """Iterate over all judgments, including superseded ones, in file order."""
        return iter(self._records)

    def __repr__(self) -> str:
        return f"<Records {self.path}: {len(self)} judgments, head {self.head}>"

    def add(
        self,
        witness: Witness | Collection,
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
            If the file cannot be written, or is damaged. Its content does not change then.
        """
        judgment = Judgment(appropriate, reason, by)
        _check_name(by)
        if at is not None:
            _check_time(at)
        shape = _shape(witness)
        try:
            for _ in range(_MAX_ATTEMPTS):
                with locked_for_appending(self.path) as file:
                    self._catch_up(file)
                    when = at or self._now(witness)
                    record = record_of(witness, shape, judgment, when)
                    line = line_of(record, self.head)
                    self._check_length(record, line)
                    raw = append(file, line)
                    if is_at(file, self.path):
                        self._add_own(line, raw)
                        return record
        except (OSError, ValueError) as error:
            raise unusable(self.path, error, "written") from error
        raise FileError(f"{self.path}: another process keeps replacing this file; stop it first")

    def latest(self, witness: Witness | Collection) -> Record | None:
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

    def __call__(self, witness: Witness | Collection) -> Judgment | None:
        """Return the judgment on a witness, or None."""
        record = self.latest(witness)
        return None if record is None else record.judgment

    def similar(self, witness: Witness | Collection) -> list[Record]:
        """Return judgments on similar computations, latest first, without superseded ones.

        A computation is similar if it has the same structure with other constants, or the same
        text with an association or influence outside the tolerance.
        """
        judged = self.latest(witness) is not None
        candidates = self._by_shape.get((witness.protected, _shape(witness)), [])
        standing: dict[str, list[Record]] = defaultdict(list)
        for record in sorted(candidates, key=lambda record: record.at)[::-1]:
            settled = judged and record.term == witness.term and self._alike(record, witness)
            if not settled and not any(self._alike(record, r) for r in standing[record.term]):
                standing[record.term].append(record)
        similar = [record for records in standing.values() for record in records]
        return sorted(similar, key=lambda record: record.at, reverse=True)

    def _alike(self, record: Record, other: Record | Witness | Collection) -> bool:
        change = max(
            abs(record.association - other.association), abs(record.influence - other.influence)
        )
        return change <= self.tolerance + ROUNDING

    def _now(self, witness: Witness | Collection) -> datetime:
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

    def _check_length(self, record: Record, line: bytes) -> None:
        if len(line) > MAX_LINE_BYTES:
            raise DataError(
                f"the judgment on witness {record.witness} takes more than {MAX_LINE_BYTES:,} "
                "bytes; shorten the reason, or judge a smaller computation inside it"
            )

    # Reading

    def _forget(self) -> None:
        self._records: list[Record] = []
        self._recoveries: list[Recovery] = []
        self._by_term: defaultdict[tuple[str, str], list[Record]] = defaultdict(list)
        self._by_shape: defaultdict[tuple[str, str], list[Record]] = defaultdict(list)
        self._chain = Chain()
        self._end = 0
        self._before_end = b""
        self._identity: tuple[int, int] | None = None

    def _catch_up(self, file: BufferedReader) -> None:
        """Read new lines, or the whole file if it was replaced or changed."""
        known = self.head
        file.seek(self._end - len(self._before_end))
        unchanged = file.read(len(self._before_end)) == self._before_end
        status = os.fstat(file.fileno())
        identity = (status.st_dev, status.st_ino)
        if identity != self._identity or not unchanged or not self._before_end.endswith(b"\n"):
            self._forget()
            file.seek(0)
        self._identity = None  # until all lines are read
        result = self._chain.read(file)
        if isinstance(result, Damage):
            check_ours(self.path, file, result)
            raise damaged(self.path, result, len(self._chain))
        for entry in result:
            self._take(entry)
        if self._chain.number_of(known) is None:
            raise CorruptFile(
                f"{self.path} was replaced while it was in use, and the new file lacks records of "
                "the old one; check which file is the right one, then run the command again"
            )
        self._identity = identity
        self._end = file.tell()
        file.seek(max(0, self._end - _TAIL_BYTES))
        self._before_end = file.read(self._end - file.tell())

    def _other_head(self, head: str) -> str:
        number = self._chain.number_of(head)
        if number is None:
            return (
                f"{self.path} has no record with the expected head {head}; its head is "
                f"{self.head}. Records are missing at its end, or it was rewritten: restore the "
                "file from version control or a backup"
            )
        return (
            f"{self.path} has {count(len(self._chain) - number, 'record')} after the expected head "
            f"{head}; review them, then expect the new head {self.head}"
        )

    def _add_own(self, line: bytes, raw: bytes) -> None:
        """Add a judgment that was just written, as if it had been read."""
        self._take(self._chain.add(line))
        self._end += len(raw)
        self._before_end = (self._before_end + raw)[-_TAIL_BYTES:]

    def _take(self, entry: Entry) -> None:
        if isinstance(entry, Recovery):
            self._recoveries.append(entry)
            if not entry.unfinished:
                self._doubt_approvals()
            return
        self._records.append(entry)
        self._by_term[entry.protected, entry.term].append(entry)
        self._by_shape[entry.protected, entry.shape].append(entry)

    def _doubt_approvals(self) -> None:
        """Stop applying approvals, because a later judgment against the use may be lost.

        They are still similar judgments, which a person can confirm.
        """
        for records in self._by_term.values():
            records[:] = [record for record in records if not record.appropriate]


def _shape(witness: Witness | Collection) -> str:
    """The shape of a computation; for a collection, what it consists of."""
    if isinstance(witness, Collection):
        return f"collection of {witness.kind} on {', '.join(sorted(witness.variables))}"
    return shape_of(witness.expression)


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
