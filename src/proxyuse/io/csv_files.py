"""A CSV file is read: strict about its rows, careful with what counts as missing.

pandas fills rows that are too short and takes many words for missing values, so the rows are
counted first, and only an empty cell is missing unless the column is one of numbers.
"""

from __future__ import annotations

import csv
import gzip
import io
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from proxyuse.errors import FileError
from proxyuse.io.reading import Keys, Reading, check_names, check_rows, require
from proxyuse.notes import Note, RowCount, TakenAsMissing

if TYPE_CHECKING:
    import pandas as pd

_SEPARATORS = {",": "a comma", ";": "a semicolon", "\t": "a tab"}

# What stands for a missing number in files that other programs wrote: the words of pandas,
# and the question mark of UCI's files.
_NO_NUMBER = frozenset({
    "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>",
    "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null", "?",
})  # fmt: skip

_CONVERT = "save it as CSV, Parquet or Arrow"
_OTHER_FORMATS = {
    b"PK\x03\x04": f"a zip archive or an Excel file; {_CONVERT}",
    b"\xd0\xcf\x11\xe0": f"an old Excel file; {_CONVERT}",
    b"SQLite format 3": f"an SQLite database; {_CONVERT}",
    b"\x89HDF": f"an HDF5 file; {_CONVERT}",
    b"%PDF": f"a PDF document; {_CONVERT}",
    b"\x80": f"a pickle, perhaps, which is code and is not read; {_CONVERT}",
    b"FEA1": "a Feather file of version 1; write it again with a pyarrow of today",
    b"PARE": "an encrypted Parquet file; decrypt it first",
    b"BZh": "compressed with bzip2; unpack it, or compress it with gzip",
    b"\xfd7zXZ": "compressed with xz; unpack it, or compress it with gzip",
    b"\x28\xb5\x2f\xfd": "compressed with zstd; unpack it, or compress it with gzip",
    b"\xff\xfe": "text in UTF-16; convert it to UTF-8",
    b"\xfe\xff": "text in UTF-16; convert it to UTF-8",
}
_OTHER_SUFFIXES = {
    ".json": f"is JSON by its name; {_CONVERT}",
    ".jsonl": f"is JSON by its name; {_CONVERT}",
    ".ndjson": f"is JSON by its name; {_CONVERT}",
    ".html": f"is HTML by its name; {_CONVERT}",
    ".pkl": f"is a pickle by its name, which is code; {_CONVERT}",
    ".pickle": f"is a pickle by its name, which is code; {_CONVERT}",
}


def text_of(path: Path, start: bytes, handle: BinaryIO) -> bytes:
    """The bytes of a text file, unpacked, once it is sure that they are text in UTF-8."""
    _refuse_other_formats(path, start)
    raw = handle.read()
    if start.startswith(b"\x1f\x8b"):
        try:
            raw = gzip.decompress(raw)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise FileError(
                f"{path} is compressed with gzip and damaged or cut off; get it again"
            ) from error
        _refuse_other_formats(path, raw[:16])
    if path.suffix.lower() in _OTHER_SUFFIXES:
        raise FileError(f"{path} {_OTHER_SUFFIXES[path.suffix.lower()]}")
    if (place := raw.find(b"\0")) >= 0:
        raise FileError(
            f"{path} is not a table: byte {place:,} is not of any text; "
            "give a CSV, Parquet or Arrow file"
        )
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = len(re.findall(rb"\r\n?|\n", raw[: error.start])) + 1
        raise FileError(
            f"{path} is not in UTF-8: line {line:,}, byte {error.start:,} of the file (counted "
            "from 0); convert it, for example with: iconv -f LATIN1 -t UTF-8 OLD.csv > NEW.csv"
        ) from None
    return raw


def _refuse_other_formats(path: Path, start: bytes) -> None:
    for magic, told in _OTHER_FORMATS.items():
        if start.startswith(magic):
            raise FileError(f"{path} is {told}")


class TextSource:
    """A CSV file; every row was counted to have a cell for each column."""

    def __init__(self, path: Path, sha256: str, raw: bytes) -> None:
        self.path, self.sha256, self._raw = path, sha256, raw
        self._separator = _guess_separator(path, raw)
        records = _records(path, raw, self._separator)
        _, header = next(records, (0, []))
        self.names = check_names(
            path, [name or f"Unnamed: {place}" for place, name in enumerate(header)]
        )
        self._n_rows = self._count(records)
        check_rows(path, self._n_rows)
        if re.search(rb"\r(?!\n)", raw):
            self._raw = _with_line_feeds(_records(path, raw, self._separator), self._separator)

    def _count(self, records: Iterator[tuple[int, list[str]]]) -> int:
        width, n_rows = len(self.names), 0
        for line, cells in records:
            if len(cells) != width:
                raise FileError(
                    f"{self.path}: line {line:,} has {_cells(len(cells))} and the header {width}, "
                    f"separated by {_SEPARATORS[self._separator]}; mend the line (a cell with the "
                    "separator in it needs quotes around it)"
                )
            n_rows += 1
        return n_rows

    def read(self, names: Sequence[str] | None = None, key: str | None = None) -> Reading:
        """Read some columns, or all, and the keys as they are written."""
        pandas = require("pandas", "reading a table")
        options: dict[str, Any] = {}
        if pandas.__version__.startswith(("2.", "3.0.")):
            options["float_precision"] = "round_trip"  # what later ones do anyway
        try:
            frame: pd.DataFrame = pandas.read_csv(
                io.BytesIO(self._raw),
                sep=self._separator,
                header=0,
                names=list(self.names),
                usecols=None if names is None else list(names),
                index_col=False,
                dtype=None if key is None else {key: str},
                keep_default_na=False,
                na_values=[""],
                encoding="utf-8-sig",
                low_memory=False,  # or the kind of a column may change halfway
                **options,
            )
        except pandas.errors.ParserError as error:
            raise FileError(f"{self.path} cannot be read as CSV; check its quotes") from error
        if len(frame) != self._n_rows:
            raise FileError(
                f"{self.path} can be read in two ways, as {self._n_rows:,} rows or as "
                f"{len(frame):,}; check its quotes and line ends"
            )
        notes = _missing_numbers(frame, key)
        if names is not None:
            frame = frame[list(names)]
        return Reading(frame, tuple(notes), None if key is None else _written_keys(frame[key]))


def _cells(count: int) -> str:
    return f"{count:,} cell{'s' * (count != 1)}"


def _records(path: Path, raw: bytes, separator: str) -> Iterator[tuple[int, list[str]]]:
    """The cells of each line that is not blank, with the number of its first line, from 1."""
    text = io.TextIOWrapper(io.BytesIO(raw), encoding="utf-8-sig", newline="")
    reader = csv.reader(text, delimiter=separator, strict=True)
    while True:
        line = reader.line_num + 1
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise FileError(
                f"{path}: the row that begins in line {line:,} has a quote that is not closed, "
                'or not doubled inside quotes (write "" there), or a cell of more than '
                f"{csv.field_size_limit():,} characters; mend it"
            ) from error
        blank = not cells or (len(cells) == 1 and cells[0] and not cells[0].strip(" \t"))
        if not blank:
            yield line, cells


def _with_line_feeds(records: Iterator[tuple[int, list[str]]], separator: str) -> bytes:
    """The same table, with line ends that pandas understands: it stumbles over blank CR lines."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=separator, lineterminator="\n", quoting=csv.QUOTE_ALL)
    writer.writerows(cells for _, cells in records)
    return text.getvalue().encode()


def _guess_separator(path: Path, raw: bytes) -> str:
    """The separator that makes the most columns of the header; a comma where it is a tie."""
    widths = {}
    order = sorted(_SEPARATORS, key=lambda one: one != "\t") if _is_tsv(path) else _SEPARATORS
    for separator in order:
        try:
            _, header = next(_records(path, raw, separator), (0, []))
        except FileError:  # quotes that fit another separator
            continue
        widths[separator] = len(header)
    return max(widths, key=widths.__getitem__, default=",")


def _is_tsv(path: Path) -> bool:
    return ".tsv" in [suffix.lower() for suffix in path.suffixes]


def _missing_numbers(frame: pd.DataFrame, key: str | None) -> list[Note]:
    """Turn columns of numbers that have words for missing ones into numbers; say which."""
    pandas = require("pandas", "reading a table")
    notes: list[Note] = []
    for name in frame.columns:
        column = frame[name]
        if name == key or pandas.api.types.infer_dtype(column, skipna=True) != "string":
            continue
        found = [cell for cell in column.dropna().unique() if cell.strip() in _NO_NUMBER]
        words = column.isin(found)
        rest = column[~words & column.notna()]
        if not found or rest.empty or (numbers := _numbers(pandas.to_numeric, rest)) is None:
            continue
        frame[name] = pandas.Series(numbers, index=rest.index, dtype=float).reindex(frame.index)
        missing = tuple(sorted({cell.strip() for cell in found}))
        notes.append(TakenAsMissing(str(name), RowCount(int(words.sum())), missing))
    return notes


def _numbers(to_numeric: Callable[..., Any], cells: pd.Series[str]) -> list[float] | None:
    """What both pandas and Python take for numbers; pandas alone would take `true` for one."""
    try:
        to_numeric(cells)
        return [float(cell) for cell in cells]
    except ValueError:
        return None


def _written_keys(column: pd.Series[str]) -> Keys:
    whole = column.dropna().str.fullmatch(r"0|-?[1-9][0-9]*").all()
    return Keys(column, "whole numbers" if whole else "text", typed=False)
