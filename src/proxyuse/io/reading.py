"""What table files of all kinds share: what is read from one, and what is said when it cannot be.

A file is data, never code, and comes from a stranger. No message shows what stands in a cell.
"""

from __future__ import annotations

import importlib
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from proxyuse.data.table import Table
from proxyuse.errors import FileError
from proxyuse.notes import Note

if TYPE_CHECKING:
    from types import ModuleType

    import numpy as np
    import numpy.typing as npt
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Keys:
    """What rows are called, as text, so that rows of two tables can be matched.

    Attributes
    ----------
    texts : Series of text, missing where a row has no key.
    kind : "text" or "whole numbers".
    typed : whether the file says so; a CSV file does not, and its keys are text as written.
    """

    texts: pd.Series[str]
    kind: str
    typed: bool

    def take(self, rows: npt.NDArray[np.bool_]) -> Keys:
        """The keys of some rows."""
        return Keys(self.texts[rows], self.kind, self.typed)


@dataclass(frozen=True, eq=False)
class Reading:
    """What was read: a frame, remarks, and the keys if they were asked for."""

    frame: pd.DataFrame
    notes: tuple[Note, ...]
    keys: Keys | None


class TableSource(Protocol):
    """A table file whose columns are known and not yet read.

    Attributes
    ----------
    path : the file.
    sha256 : the digest of its bytes.
    names : the names of its columns.
    """

    path: Path
    sha256: str
    names: tuple[str, ...]

    def read(self, names: Sequence[str] | None = None, key: str | None = None) -> Reading:
        """Read some columns, or all, and the keys; in CSV files the key column stays text."""
        ...


def open_binary(path: Path) -> io.BufferedReader:
    """Open a file for reading, or say why that cannot be."""
    try:
        return path.open("rb")
    except (OSError, ValueError) as error:
        raise unreadable(path, error) from error


def unreadable(path: Path, error: OSError | ValueError) -> FileError:
    """Say why a file cannot be read and what to do about it."""
    match error:
        case FileNotFoundError():
            where = "" if path.is_absolute() else f"; it was looked for in {Path.cwd()}"
            return FileError(f"{path}: there is no such file{where}; check the name")
        case IsADirectoryError():
            return FileError(f"{path} is a folder; name a file in it")
        case NotADirectoryError():
            return FileError(f"{path}: a part of this path is a file, not a folder; check it")
        case PermissionError():
            return FileError(f"{path}: no permission to read it; ask its owner for it")
    why = getattr(error, "strerror", None) or error
    return FileError(f"{path} cannot be read: {why}; check the file and the disk it is on")


def no_column(path: Path, name: str, names: Sequence[str], role: str) -> FileError:
    """Say that a file lacks a column, and which of its columns have names like it."""
    if _like_a_row(names):
        told = (
            "its first line has numbers where names are expected: if that is a row of data, put "
            "a line with the names of the columns above it"
        )
    else:
        told = Table(names, 0, lambda _: ()).suggest(name)
    return FileError(f"{path} lacks the column {name!r} ({role}); {told}")


def require(module: str, what: str) -> ModuleType:
    """Import a library of the extra `files`, or say how to install it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        library = module.split(".")[0]
        raise FileError(
            f"{what} needs {library}, which is not installed: pip install 'proxyuse[files]'"
        ) from error


def _like_a_row(names: Sequence[str]) -> bool:
    """Whether a header seems to be a row of data, which is not to be shown."""
    return any(re.fullmatch(r"\s*[-+]?\d+(\.\d*)?\s*", name) for name in names)


def check_names(path: Path, names: Sequence[str]) -> tuple[str, ...]:
    """Refuse a table without columns, or with two of one name."""
    if not names:
        raise FileError(f"{path} has no columns; is it the right file?")
    places: dict[str, int] = {}
    for place, name in enumerate(names, start=1):
        if name in places:
            called = "" if _like_a_row(names) else f" {name!r}"
            raise FileError(
                f"{path}: columns {places[name]} and {place} have the same name{called}; "
                "rename one of them (or put a line with names at the top if there is none)"
            )
        places[name] = place
    return tuple(names)


def check_rows(path: Path, n_rows: int) -> None:
    """Refuse a table without rows."""
    if n_rows == 0:
        raise FileError(f"{path} has the names of columns and no rows; is it the right file?")
