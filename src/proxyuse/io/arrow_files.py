"""Parquet and Arrow files. Only the requested columns are read."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from proxyuse.data.columns import Unreadable
from proxyuse.errors import FileError, LimitExceeded
from proxyuse.input_limits import COLUMNS, ROWS, TABLE_BYTES
from proxyuse.io.arrow_sizes import check_size
from proxyuse.io.reading import Keys, Reading, check_cells, check_names, check_rows, require

if TYPE_CHECKING:
    import pandas as pd

_EXACT = 2.0**53  # float64 cannot hold every integer beyond this
_CANNOT_HOLD = (ValueError, TypeError, OverflowError, NotImplementedError, LookupError)
STARTS = (b"PAR1", b"ARROW1", b"\xff\xff\xff\xff")  # Parquet, IPC file, IPC stream


class ArrowSource:
    """A Parquet file, an Arrow IPC file or an Arrow IPC stream."""

    def __init__(self, path: Path, sha256: str, handle: BinaryIO, start: bytes) -> None:
        self.path, self.sha256, self._handle, self._start = path, sha256, handle, start
        self._is_parquet = start.startswith(b"PAR1")
        self._format = "a Parquet file" if self._is_parquet else "an Arrow file"
        self._arrow = require("pyarrow", f"reading {self._format}")
        with self._reported_damage():
            schema = self._parquet().schema_arrow if self._is_parquet else self._ipc(None).schema
            names = schema.names  # decodes them, which can fail
        COLUMNS.check(len(names), path)
        self.names = check_names(path, names)

    def read(
        self,
        names: Sequence[str] | None = None,
        key: str | None = None,
        text: Collection[str] = (),
    ) -> Reading:
        """Read the requested columns. The file states their types."""
        require("pandas", "reading a table")
        selected = list(self.names if names is None else names)
        with self._reported_damage():
            table = self._read_parquet(selected) if self._is_parquet else self._read_ipc(selected)
            check_size(self.path, table)
            table = self._written_out(table)
        check_rows(self.path, table.num_rows)
        keys = None if key is None else self._keys(key, table.column(key))
        exact = [self._exact(table.column(name)) for name in selected]
        return Reading(self._frame(self._arrow.table(exact, names=selected)), (), keys)

    def _exact(self, column: Any) -> Any:
        """Return a column with numbers that pandas keeps, or that are refused when they are used.

        pandas stores integers with missing values as floats, which rounds large ones silently, and
        decimals as objects, which models refuse.
        """
        arrow, types = self._arrow, self._arrow.types
        kind = column.type
        if types.is_decimal(kind) and self._below(column):
            return column.cast(arrow.float64(), safe=False)
        if types.is_integer(kind) and column.null_count and not self._below(column):
            return column.cast(arrow.decimal128(20, 0))
        return column

    def _below(self, column: Any) -> bool:
        """Whether float64 can hold all integers up to the largest number of a column."""
        bounds = require("pyarrow.compute", "Arrow").min_max(column).as_py()
        return all(abs(bound or 0) < _EXACT for bound in bounds.values())

    def _frame(self, table: Any) -> pd.DataFrame:
        """Return the columns as pandas holds them.

        A column of a type that pandas cannot hold is an error only if it is used.
        """
        try:
            whole: pd.DataFrame = table.to_pandas(ignore_metadata=True)  # an index stays a column
        except _CANNOT_HOLD:
            pandas = require("pandas", "reading a table")
            columns = [self._series(pandas, column) for column in table.columns]
            whole = pandas.DataFrame(dict(zip(table.column_names, columns, strict=True)))
        return whole

    def _series(self, pandas: Any, column: Any) -> Any:
        kind = column.type
        decoded = [column]
        if self._arrow.types.is_dictionary(kind):  # pandas needs different values, none missing
            with suppress(*_CANNOT_HOLD):
                decoded.append(column.cast(kind.value_type))
        for candidate in decoded:
            with suppress(*_CANNOT_HOLD):
                return candidate.to_pandas()
        return pandas.Series([Unreadable(str(kind))] * len(column), dtype=object)

    def _parquet(self, dictionaries: Sequence[str] = ()) -> Any:
        self._handle.seek(0)
        parquet = require("pyarrow.parquet", "Parquet")
        return parquet.ParquetFile(self._handle, read_dictionary=list(dictionaries))

    def _read_parquet(self, names: Sequence[str]) -> Any:
        """Read columns; text stays in dictionaries, because few of them can fill many rows."""
        metadata = self._parquet().metadata
        ROWS.check(metadata.num_rows, self.path)
        check_cells(self.path, metadata.num_rows, len(names))
        sizes = (metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups))
        TABLE_BYTES.check(sum(sizes), f"{self.path}, decompressed,")
        table = self._parquet(self._text_columns).read(columns=list(names))
        table.validate(full=True)
        return table

    @cached_property
    def _text_columns(self) -> list[str]:
        """The columns of a Parquet file that hold text and are read as dictionaries."""
        text = ("string", "large_string", "binary", "large_binary")
        return [field.name for field in self._parquet().schema_arrow if str(field.type) in text]

    def _written_out(self, table: Any) -> Any:
        """Replace the dictionaries that `_read_parquet` made."""
        if not self._is_parquet:
            return table
        for index, name in enumerate(table.column_names):
            column = table.column(index)
            if name in self._text_columns and self._arrow.types.is_dictionary(column.type):
                table = table.set_column(index, name, column.cast(column.type.value_type))
        return table

    def _read_ipc(self, names: Sequence[str]) -> Any:
        """Read columns batch by batch, so that their size is checked on the way."""
        reader = self._ipc([self.names.index(name) for name in names])
        stream = not hasattr(reader, "num_record_batches")
        indexes = range(reader.num_record_batches) if not stream else ()
        batches, n_rows, n_bytes = [], 0, 0
        for batch in reader if stream else map(reader.get_batch, indexes):
            batch.validate(full=True)  # first, because the size is computed from its offsets
            n_rows += batch.num_rows
            n_bytes += batch.nbytes
            ROWS.check(n_rows, self.path)
            check_cells(self.path, n_rows, len(names))
            TABLE_BYTES.check(n_bytes, f"{self.path}, decompressed,")
            batches.append(batch)
        fields = [reader.schema.field(name) for name in names]
        schema = batches[0].schema if batches else self._arrow.schema(fields)
        return self._arrow.Table.from_batches(batches, schema)

    def _ipc(self, indexes: list[int] | None) -> Any:
        self._handle.seek(0)
        ipc = require("pyarrow.ipc", "Arrow")
        open_any = ipc.open_file if self._start.startswith(b"ARROW1") else ipc.open_stream
        return open_any(self._handle, options=ipc.IpcReadOptions(included_fields=indexes))

    @contextmanager
    def _reported_damage(self) -> Iterator[None]:
        try:
            yield
        except LimitExceeded:
            raise
        except (self._arrow.ArrowException, OSError, ValueError, KeyError, MemoryError) as error:
            raise FileError(
                f"{self.path} starts like {self._format} but is damaged, cut off, too large or of "
                "an unknown version; download or save it again"
            ) from error

    def _keys(self, name: str, column: Any) -> Keys:
        arrow, types = self._arrow, self._arrow.types
        kind = column.type.value_type if types.is_dictionary(column.type) else column.type
        numeric = types.is_integer(kind) or types.is_floating(kind)
        if not numeric and str(kind) not in ("string", "large_string", "string_view"):
            raise FileError(
                f"{self.path}: the key {name!r} has type {kind}; convert it to text or integers"
            )
        try:
            column = column.cast(kind)
            if types.is_float16(kind):  # its numbers cannot be compared
                column = column.cast(arrow.float32())
            if types.is_floating(kind):  # probably integers with missing values
                compute = require("pyarrow.compute", "matching keys")
                column = compute.if_else(compute.is_nan(column), None, column)
                if compute.any(compute.greater_equal(compute.abs(column), _EXACT)).as_py():
                    raise FileError(
                        f"{self.path}: the key {name!r} has floats beyond 2**53, which cannot "
                        "tell neighboring integers apart; convert it to text or integers"
                    )
                column = column.cast(arrow.int64())
            column = column.cast(arrow.string())
        except arrow.ArrowInvalid:
            raise FileError(
                f"{self.path}: the key {name!r} has numbers that are not integers; convert it to "
                "text or integers"
            ) from None
        return Keys(column.to_pandas(), "integers" if numeric else "text", typed=True)
