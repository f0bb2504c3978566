"""The interface and the checks that all kinds of table files share.

A file is untrusted data and is never executed. Messages do not show the content of cells.
"""

from __future__ import annotations

import importlib
import io
import os
import re
import select
import stat
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from proxyuse.data.table import Table
from proxyuse.errors import FileError
from proxyuse.input_limits import CELLS, PIPE_BYTES, PIPE_SECONDS, Limit
from proxyuse.notes import Note

if TYPE_CHECKING:
    from types import ModuleType

    import numpy as np
    import numpy.typing as npt
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Keys:
    """The keys of rows as text, for joining two tables.

    Attributes
    ----------
    texts : the key of each row; missing if the row has none.
    kind : "text" or "integers".
    typed : whether the file stores the type. CSV files do not; their keys stay as written.
    """

    texts: pd.Series[str]
    kind: str
    typed: bool

    def take(self, rows: npt.NDArray[np.bool_]) -> Keys:
        """Select rows by a boolean mask."""
        return Keys(self.texts[rows], self.kind, self.typed)


@dataclass(frozen=True, eq=False)
class Reading:
    """A data frame, notes on how it was read, and the keys if requested."""

    frame: pd.DataFrame
    notes: tuple[Note, ...]
    keys: Keys | None


class TableSource(Protocol):
    """An open table file.

    Attributes
    ----------
    path : the file.
    sha256 : the hash of its bytes.
    names : the names of its columns.
    """

    path: Path
    sha256: str
    names: tuple[str, ...]

    def read(
        self,
        names: Sequence[str] | None = None,
        key: str | None = None,
        text: Collection[str] = (),
    ) -> Reading:
        """Read columns.

        Parameters
        ----------
        names : the columns to read; all by default.
        key : a column to return as keys as well.
        text : columns to read as text from a CSV file, even if they look numeric. Ignored for files
            that store types.
        """
        ...


def open_binary(path: Path) -> io.BufferedReader:
    """Open a file or a pipe for reading; devices and sockets are refused, because they may not end.

    Opening a pipe does not wait for a writer; read it with `read_pipe`.
    """
    try:
        file = open(path, "rb", opener=_open_without_waiting)  # noqa: SIM115
    except (OSError, ValueError) as error:
        raise unreadable(path, error) from error
    mode = os.fstat(file.fileno()).st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISFIFO(mode)):
        file.close()
        raise FileError(f"{path} is a device, which may have no end; pass a file")
    return file


def _open_without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def is_pipe(file: io.BufferedReader) -> bool:
    """Return whether an open file is a pipe."""
    return stat.S_ISFIFO(os.fstat(file.fileno()).st_mode)


def read_pipe(file: io.BufferedReader, path: Path) -> bytes:
    """Read a pipe to its end, within the limits on pipes."""
    chunks: list[bytes] = []
    size, deadline = 0, time.monotonic() + PIPE_SECONDS.value
    poll = select.poll()
    poll.register(file, select.POLLIN)
    while True:
        if not poll.poll(max(0, 1000 * (deadline - time.monotonic()))):
            waited = PIPE_SECONDS.value
            raise PIPE_SECONDS.exceeded(waited, f"{path} is a pipe that", at_least=True)
        chunk = os.read(file.fileno(), min(1 << 20, PIPE_BYTES.value + 1 - size))
        if not chunk:
            return b"".join(chunks)
        chunks.append(chunk)
        size += len(chunk)
        if size > PIPE_BYTES.value:
            raise PIPE_BYTES.exceeded(size, path, at_least=True)


def read_bytes(path: Path, limit: Limit) -> bytes:
    """Read a whole file, but hardly more than a limit."""
    with open_binary(path) as file:
        try:
            if is_pipe(file):
                content = read_pipe(file, path)
                limit.check(len(content), path)
                return content
            return read_within(file, path, limit)
        except OSError as error:
            raise unreadable(path, error) from error


def read_within(file: io.BufferedReader, path: Path, limit: Limit) -> bytes:
    """Read an open file that is not a pipe, but hardly more than a limit."""
    limit.check(os.fstat(file.fileno()).st_size, path)
    content = io.BytesIO()
    while block := file.read(1 << 20):
        content.write(block)
        if content.tell() > limit.value:  # it grew, or its file system states no size
            raise limit.exceeded(content.tell(), path, at_least=True)
    return content.getvalue()


def unreadable(path: Path, error: OSError | ValueError) -> FileError:
    """Explain why a file cannot be read, and what to do."""
    match error:
        case FileNotFoundError():
            folder = "" if path.is_absolute() else f" in {Path.cwd()}"
            return FileError(f"{path} does not exist{folder}; check the path")
        case IsADirectoryError():
            return FileError(f"{path} is a folder; pass a file")
        case NotADirectoryError():
            return FileError(f"{path}: a part of the path is a file, not a folder; check the path")
        case PermissionError():
            return FileError(f"{path} cannot be read: no permission; ask the owner")
    reason = getattr(error, "strerror", None) or error
    return FileError(f"{path} cannot be read: {reason}; check the file and its disk")


def no_column(path: Path, name: str, names: Sequence[str], role: str) -> FileError:
    """Report a missing column, with similar names."""
    if _looks_like_data(names):
        advice = (
            "the first line has numbers instead of names; if it is a row of data, add a line with "
            "the column names above it"
        )
    else:
        advice = Table(names, 0, lambda _: ()).suggest(name)
    return FileError(f"{path} has no column {name!r} ({role}); {advice}")


def require(module: str, task: str) -> ModuleType:
    """Import a library of the extra `files`; the error says how to install it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        library = module.split(".")[0]
        raise FileError(
            f"{task} needs {library}, which is not installed: pip install 'proxyuse[files]'"
        ) from error


def _looks_like_data(names: Sequence[str]) -> bool:
    """Whether a header is probably a row of data, which messages must not show."""
    return any(re.fullmatch(r"\s*[-+]?\d+(\.\d*)?\s*", name) for name in names)


def check_names(path: Path, names: Sequence[str]) -> tuple[str, ...]:
    """Refuse a table without columns or with duplicate names."""
    if not names:
        raise FileError(f"{path} has no columns; is it the right file?")
    numbers: dict[str, int] = {}
    for number, name in enumerate(names, start=1):
        if name in numbers:
            quoted = "" if _looks_like_data(names) else f" {name!r}"
            raise FileError(
                f"{path}: columns {numbers[name]} and {number} have the same name{quoted}; "
                "rename one of them, or add a line with the column names at the top"
            )
        numbers[name] = number
    return tuple(names)


def check_rows(path: Path, n_rows: int) -> None:
    """Refuse a table without rows."""
    if n_rows == 0:
        raise FileError(f"{path} has column names but no rows; is it the right file?")


def check_cells(path: Path, n_rows: int, n_columns: int) -> None:
    """Refuse to read more cells than the limit."""
    CELLS.check(n_rows * n_columns, path)
