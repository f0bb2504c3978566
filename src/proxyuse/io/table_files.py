"""One table file is read, whatever it is: what it is shows in its first bytes."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from proxyuse.io import arrow_files
from proxyuse.io.arrow_files import ArrowSource
from proxyuse.io.csv_files import TextSource, text_of
from proxyuse.io.reading import TableSource, open_binary, unreadable

if TYPE_CHECKING:
    import pandas as pd


def read_table(path: str | Path, *, text: Collection[str] = ()) -> pd.DataFrame:
    r"""Read a table from a CSV, Parquet or Arrow file, told apart by what is in it.

    CSV files have a header line and are in UTF-8, with or without a byte order mark; they may be
    compressed with gzip. Cells are separated by commas, semicolons or tabs, whichever makes the
    most columns of the header. Lines without anything are passed over. A column whose header is
    empty, number 3 say, is called ``Unnamed: 3`` (counted from 0), as pandas calls it.

    An empty cell is missing, and in a column of words nothing else is: ``NA`` may be a country,
    ``None`` an answer, and a ``?`` stays a ``?``. Only where all other cells of a column are
    numbers do ``NA``, ``NaN``, ``null``, ``None``, ``?`` and the like stand for a missing number;
    `load_data` notes how many did. Columns of ``true`` and ``false`` become booleans.

    Arrow files are IPC files (also called Feather) and IPC streams.

    Raises
    ------
    FileError
        If the file is not there, not readable or not a table: what, where and what to do.

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
    """Open a table file and look at its beginning; the file stays open inside the `with`."""
    path = Path(path)
    with open_binary(path) as opened:
        try:
            handle: io.BufferedReader | io.BytesIO = opened
            if not opened.seekable():  # a pipe
                handle = io.BytesIO(opened.read())
            sha256 = hashlib.file_digest(handle, "sha256").hexdigest()
            handle.seek(0)
            start = handle.read(16)
            handle.seek(0)
            if start.startswith(arrow_files.STARTS):
                source: TableSource = ArrowSource(path, sha256, handle, start)
            else:
                source = TextSource(path, sha256, text_of(path, start, handle))
        except OSError as error:
            raise unreadable(path, error) from error
        yield source
