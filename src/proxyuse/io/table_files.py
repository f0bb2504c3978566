"""Table files of any format, recognized by their first bytes."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from proxyuse.input_limits import TABLE_BYTES
from proxyuse.io import arrow_files
from proxyuse.io.arrow_files import ArrowSource
from proxyuse.io.csv_files import TextSource, text_of
from proxyuse.io.reading import (
    TableSource,
    is_pipe,
    open_binary,
    read_pipe,
    read_within,
    unreadable,
)

if TYPE_CHECKING:
    import pandas as pd


def read_table(path: str | Path, *, text: Collection[str] = ()) -> pd.DataFrame:
    r"""Read a table from a CSV, Parquet or Arrow file; the format is recognized by the content.

    A CSV file has a header line and is encoded in UTF-8, with or without a byte order mark. It may
    be compressed with gzip. The separator is the comma, semicolon or tab that gives the header the
    most columns. Blank lines are skipped. A column without a name gets the name that pandas gives
    it, such as ``Unnamed: 3``, counted from 0.

    An empty cell is missing. In a column of text nothing else is: ``NA`` may be a country, and
    ``None`` an answer. If all other cells of a column are numbers, ``NA``, ``NaN``, ``null``,
    ``None``, ``?`` and similar words are missing numbers; `load_data` adds a note with their
    number. Columns of ``true`` and ``false`` become booleans.

    An Arrow file is an IPC file (Feather) or an IPC stream.

    Parameters
    ----------
    path : the file.
    text : columns to read as text from a CSV file, even if they look numeric.

    Raises
    ------
    FileError
        If the file cannot be read or is not a table.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "people.csv")
    ...     _ = path.write_text("age;country;income\n31;NA;NA\n;SE;1.5\n")
    ...     table = read_table(path)
    >>> table["country"].to_list()
    ['NA', 'SE']
    >>> table["age"].to_list(), table["income"].to_list()
    ([31.0, nan], [nan, 1.5])
    """
    with open_table(path) as source:
        return source.read(text=text).frame


@contextmanager
def open_table(path: str | Path) -> Iterator[TableSource]:
    """Open a table file and recognize its format."""
    path = Path(path)
    with open_binary(path) as opened:
        try:
            handle: io.BufferedReader | io.BytesIO = opened
            if is_pipe(opened):
                handle = io.BytesIO(read_pipe(opened, path))
            start = handle.read(16)
            handle.seek(0)
            if start.startswith(arrow_files.STARTS):
                source: TableSource = ArrowSource(path, _sha256(handle, path), handle, start)
            else:
                raw = (
                    handle.read()
                    if handle is not opened
                    else read_within(opened, path, TABLE_BYTES)
                )
                sha256 = hashlib.sha256(raw).hexdigest()
                source = TextSource(path, sha256, text_of(path, raw))
        except OSError as error:
            raise unreadable(path, error) from error
        yield source


def _sha256(handle: io.BufferedReader | io.BytesIO, path: Path) -> str:
    """Hash a file in blocks, within the limit on tables."""
    hasher, size = hashlib.sha256(), 0
    while block := handle.read(1 << 20):
        size += len(block)
        TABLE_BYTES.check(size, path)
        hasher.update(block)
    handle.seek(0)
    return hasher.hexdigest()
