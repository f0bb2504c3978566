"""The chain of a judgments file: every line names the hash of the line before it.

So no line can be changed, removed, moved or added without a trace. What a chain alone cannot show
is that lines are missing at the end, or that someone rewrote the whole rest of the file; for
that, someone else has to keep its *head*, the hash of the last line.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path

from proxyuse.errors import CorruptFile, FileError
from proxyuse.judge.append_only import lines_of
from proxyuse.judge.record import (
    FORMAT,
    GENESIS,
    MAX_LINE_BYTES,
    Entry,
    InvalidLine,
    is_unfinished,
    parse_line,
)
from proxyuse.words import count

_OURS = (FORMAT.encode(), b'"previous": "')  # one changed byte cannot remove both


@dataclass(frozen=True, slots=True)
class Damage:
    """The first line of a file that is damaged or does not follow the line before it.

    Attributes
    ----------
    line : its number, counted from 1.
    start : the offset of its first byte.
    reason : what is wrong with it.
    unfinished : whether it is the last line and looks as if its writer was killed.
    """

    line: int
    start: int
    reason: str
    unfinished: bool

    def __str__(self) -> str:
        return f"line {self.line}: {self.reason}"


class Chain:
    """The lines that were read so far, each of which follows the one before it.

    Attributes
    ----------
    head : the hash of the last line; `GENESIS` if there is none.
    """

    def __init__(self) -> None:
        self.head = GENESIS
        self._numbers = {GENESIS: 0}

    def __len__(self) -> int:
        return len(self._numbers) - 1

    def number_of(self, hash: str) -> int | None:
        """Return the number of the line with a hash, counted from 1; None if there is none."""
        return self._numbers.get(hash)

    def add(self, line: bytes) -> Entry:
        """Add a line; raise `InvalidLine` if it is damaged or does not follow the last one."""
        parsed = parse_line(line)
        if parsed.hash in self._numbers:
            raise InvalidLine(f"repeats line {self._numbers[parsed.hash]}")
        if parsed.previous != self.head:
            raise InvalidLine(self._misplaced(parsed.previous))
        self._numbers[parsed.hash] = len(self._numbers)
        self.head = parsed.hash
        return parsed.entry

    def read(self, file: BufferedReader) -> list[Entry] | Damage:
        """Add the remaining lines of a file; return their entries, or the first damage."""
        entries = []
        start = file.tell()
        for line in lines_of(file, MAX_LINE_BYTES):
            try:
                entries.append(self.add(line))
            except InvalidLine as error:
                unfinished = not file.read(1) and is_unfinished(line, self.head)
                reason = "unfinished, as a crash leaves it" if unfinished else str(error)
                return Damage(len(self) + 1, start, reason, unfinished)
            start = file.tell()
        return entries

    def _misplaced(self, previous: str) -> str:
        number = self._numbers.get(previous)
        if number is not None:
            before = f"line {number}" if number else "the start of the file"
            return (
                f"follows {before}, not line {len(self)}: lines were moved, or merged from "
                "two versions of the file"
            )
        return "does not continue the line before it: a line was removed, moved or rewritten"


def damaged(path: Path, damage: Damage, kept: int) -> CorruptFile:
    """Return the error for a damaged file: which line, what is wrong, and how to recover."""
    command = f"proxyuse judgments {shlex.quote(str(path))} --recover --by NAME"
    before = f"the {count(kept, 'record')} before it"
    if damage.unfinished:
        return CorruptFile(
            f"{path}, {damage}. Nobody was told that its judgment is recorded. To set the line "
            f"aside and keep {before}: {command}"
        )
    return CorruptFile(
        f"{path}, {damage}. A judgment against a use may be lost, so no judgment in this file is "
        "used. Restore the file from version control or a backup; or set the damaged lines aside "
        f"and keep {before}: {command}"
    )


def check_ours(path: Path, file: BufferedReader, damage: Damage) -> None:
    """Raise a `FileError` if a damaged file is not a file of judgments at all."""
    file.seek(0)
    lines = lines_of(file, MAX_LINE_BYTES)
    if not damage.unfinished and not any(mark in line for line in lines for mark in _OURS):
        raise FileError(
            f"{path} is not a file of judgments ({damage}); pass another file, or restore this one "
            "from version control"
        )
