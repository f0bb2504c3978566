"""CSV files, with strict rows and few spellings of missing values.

pandas pads short rows and treats many words as missing. So the rows are counted first, and only an
empty cell is missing, except in columns of numbers.
"""

# Not pyarrow.csv: its errors name no line and show the row, it rounds integers beyond 2^63, guesses
# dates and times, drops one of two columns with the same name, and accepts stray quotes.

from __future__ import annotations

import csv
import gzip
import io
import re
import zlib
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from proxyuse.errors import FileError
from proxyuse.input_limits import COLUMNS, COMPRESSION, RECORD_BYTES, ROWS, TABLE_BYTES
from proxyuse.io.reading import Keys, Reading, check_cells, check_names, check_rows, require
from proxyuse.notes import Note, RowCount, TakenAsMissing

if TYPE_CHECKING:
    import pandas as pd

_ALWAYS_ALLOWED = 1 << 26
"""The size up to which a compressed file may grow, however small it is."""

_SEPARATORS = {",": "a comma", ";": "a semicolon", "\t": "a tab"}

# Missing numbers in files of other programs: the words that pandas knows, and the question mark of
# UCI's files.
_MISSING_NUMBER = frozenset({
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
    b"\x80": f"probably a pickle, which can run code and is not read; {_CONVERT}",
    b"FEA1": "a Feather file of version 1; save it again with a current pyarrow",
    b"PARE": "an encrypted Parquet file; decrypt it first",
    b"BZh": "compressed with bzip2; unpack it, or compress it with gzip",
    b"\xfd7zXZ": "compressed with xz; unpack it, or compress it with gzip",
    b"\x28\xb5\x2f\xfd": "compressed with zstd; unpack it, or compress it with gzip",
    b"\xff\xfe": "text in UTF-16; convert it to UTF-8",
    b"\xfe\xff": "text in UTF-16; convert it to UTF-8",
}
_OTHER_SUFFIXES = {
    ".json": f"has the name of a JSON file; {_CONVERT}",
    ".jsonl": f"has the name of a JSON file; {_CONVERT}",
    ".ndjson": f"has the name of a JSON file; {_CONVERT}",
    ".html": f"has the name of an HTML file; {_CONVERT}",
    ".pkl": f"has the name of a pickle, which can run code; {_CONVERT}",
    ".pickle": f"has the name of a pickle, which can run code; {_CONVERT}",
}


def text_of(path: Path, raw: bytes) -> bytes:
    """Return the bytes of a text file, decompressed; refuse anything but UTF-8 text."""
    _refuse_other_formats(path, raw)
    if raw.startswith(b"\x1f\x8b"):
        raw = _decompressed(path, raw)
        _refuse_other_formats(path, raw)
    if path.suffix.lower() in _OTHER_SUFFIXES:
        raise FileError(f"{path} {_OTHER_SUFFIXES[path.suffix.lower()]}")
    if (index := raw.find(b"\0")) >= 0:
        raise FileError(
            f"{path} is not a table: byte {index:,} is not text; pass a CSV, Parquet or Arrow file"
        )
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = len(re.findall(rb"\r\n?|\n", raw[: error.start])) + 1
        raise FileError(
            f"{path} is not UTF-8 in line {line:,}, byte {error.start:,} of the file (counted "
            "from 0); convert it, for example with: iconv -f LATIN1 -t UTF-8 OLD.csv > NEW.csv"
        ) from None
    return raw


def _decompressed(path: Path, packed: bytes) -> bytes:
    """Unpack gzip, after counting the bytes in blocks that are not kept."""
    largest = max(_ALWAYS_ALLOWED, COMPRESSION.value * len(packed))
    size = 0
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(packed)) as file:
            while block := file.read(1 << 20):
                size += len(block)
                TABLE_BYTES.check(size, f"{path}, decompressed,")
                if size > largest:
                    times = -(-size // len(packed))
                    raise COMPRESSION.exceeded(times, f"{path}, decompressed,", at_least=True)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise FileError(
            f"{path} is compressed with gzip, but damaged or cut off; download it again"
        ) from error
    return gzip.decompress(packed)


def _refuse_other_formats(path: Path, start: bytes) -> None:
    for magic, description in _OTHER_FORMATS.items():
        if start.startswith(magic):
            raise FileError(f"{path} is {description}")


class TextSource:
    """A CSV file in which every row has one cell per column."""

    def __init__(self, path: Path, sha256: str, raw: bytes) -> None:
        self.path, self.sha256, self._raw = path, sha256, raw
        self._separator = _guess_separator(path, raw)
        records = _records(path, raw, self._separator)
        _, header = next(records, (0, []))
        COLUMNS.check(len(header), path)
        self.names = check_names(
            path, [name or f"Unnamed: {index}" for index, name in enumerate(header)]
        )
        self._n_rows = self._count(records)
        check_rows(path, self._n_rows)
        if re.search(rb"\r(?!\n)", raw):
            self._raw = _with_line_feeds(_records(path, raw, self._separator), self._separator)

    def _count(self, records: Iterator[tuple[int, list[str]]]) -> int:
        path, width, n_rows = self.path, len(self.names), 0
        for line, cells in records:
            if len(cells) != width:
                raise FileError(
                    f"{path}: line {line:,} has {_cells(len(cells))}, but the header has "
                    f"{width} (separated by {_SEPARATORS[self._separator]}); correct the line, and "
                    "put cells that contain the separator in quotes"
                )
            n_rows += 1
            if n_rows > ROWS.value:
                raise ROWS.exceeded(n_rows, path, at_least=True)
        return n_rows

    def read(
        self,
        names: Sequence[str] | None = None,
        key: str | None = None,
        text: Collection[str] = (),
    ) -> Reading:
        """Read columns; keys and text stay as written."""
        check_cells(self.path, self._n_rows, len(self.names if names is None else names))
        pandas = require("pandas", "reading a table")
        written = {*text, *([] if key is None else [key])} & set(self.names)
        options: dict[str, Any] = {}
        if pandas.__version__.startswith(("2.", "3.0.")):
            options["float_precision"] = "round_trip"  # the default in later versions
        try:
            frame: pd.DataFrame = pandas.read_csv(
                io.BytesIO(self._raw),
                sep=self._separator,
                header=0,
                names=list(self.names),
                usecols=None if names is None else list(names),
                index_col=False,
                dtype=dict.fromkeys(written, str),
                keep_default_na=False,
                na_values=[""],
                encoding="utf-8-sig",
                low_memory=False,  # or the type of a column may change halfway
                **options,
            )
        except pandas.errors.ParserError as error:
            raise FileError(f"{self.path} cannot be read as CSV; check its quotes") from error
        if len(frame) != self._n_rows:
            raise FileError(
                f"{self.path} is ambiguous: it has {self._n_rows:,} or {len(frame):,} rows, "
                "depending on how quotes and line ends are read; check them"
            )
        notes = _missing_numbers(frame, written)
        if names is not None:
            frame = frame[list(names)]
        return Reading(frame, tuple(notes), None if key is None else _written_keys(frame[key]))


def _cells(count: int) -> str:
    return f"{count:,} cell{'s' * (count != 1)}"


def _records(path: Path, raw: bytes, separator: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the cells of each row, with the number of its first line; skip blank lines."""
    text = io.TextIOWrapper(io.BytesIO(raw), encoding="utf-8-sig", newline="")
    length = 0  # of the current row

    def lines() -> Iterator[str]:
        nonlocal length
        for line in text:
            length += len(line)
            if length > RECORD_BYTES.value:
                number = reader.line_num + 1
                raise RECORD_BYTES.exceeded(
                    length, f"{path}, the row that ends in line {number:,},", at_least=True
                )
            yield line

    reader = csv.reader(lines(), delimiter=separator, strict=True)
    while True:
        line, length = reader.line_num + 1, 0
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise FileError(
                f"{path}: the row that starts in line {line:,} has an unclosed quote, a quote "
                'inside quotes that is not doubled (write ""), or a cell of more than '
                f"{csv.field_size_limit():,} characters; correct it"
            ) from error
        blank = not cells or (len(cells) == 1 and cells[0] and not cells[0].strip(" \t"))
        if not blank:
            yield line, cells


def _with_line_feeds(records: Iterator[tuple[int, list[str]]], separator: str) -> bytes:
    """Write the table with line feeds, because pandas misreads blank lines that end in CR."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=separator, lineterminator="\n", quoting=csv.QUOTE_ALL)
    writer.writerows(cells for _, cells in records)
    return text.getvalue().encode()


def _guess_separator(path: Path, raw: bytes) -> str:
    """Return the separator that gives the header the most columns; on a tie, the comma."""
    widths = {}
    order = sorted(_SEPARATORS, key=lambda one: one != "\t") if _is_tsv(path) else _SEPARATORS
    for separator in order:
        try:
            _, header = next(_records(path, raw, separator), (0, []))
        except FileError:  # the quotes fit another separator
            continue
        widths[separator] = len(header)
    return max(widths, key=widths.__getitem__, default=",")


def _is_tsv(path: Path) -> bool:
    return ".tsv" in [suffix.lower() for suffix in path.suffixes]


def _missing_numbers(frame: pd.DataFrame, written: Collection[str]) -> list[Note]:
    """Convert columns of numbers in which words stand for missing values; return notes."""
    pandas = require("pandas", "reading a table")
    notes: list[Note] = []
    for name in frame.columns:
        column = frame[name]
        if name in written or pandas.api.types.infer_dtype(column, skipna=True) != "string":
            continue
        words = [cell for cell in column.dropna().unique() if cell.strip() in _MISSING_NUMBER]
        missing = column.isin(words)
        rest = column[~missing & column.notna()]
        if not words or rest.empty or (numbers := _numbers(pandas.to_numeric, rest)) is None:
            continue
        frame[name] = pandas.Series(numbers, index=rest.index, dtype=float).reindex(frame.index)
        spellings = tuple(sorted({cell.strip() for cell in words}))
        notes.append(TakenAsMissing(str(name), RowCount(int(missing.sum())), spellings))
    return notes


def _numbers(to_numeric: Callable[..., Any], cells: pd.Series[str]) -> list[float] | None:
    """Convert cells that pandas and Python both read as numbers; pandas alone accepts `true`."""
    try:
        to_numeric(cells)
        return [float(cell) for cell in cells]
    except ValueError:
        return None


def _written_keys(column: pd.Series[str]) -> Keys:
    integers = column.dropna().str.fullmatch(r"0|-?[1-9][0-9]*").all()
    return Keys(column, "integers" if integers else "text", typed=False)
