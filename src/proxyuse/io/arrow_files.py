"""Parquet and Arrow files. Only the requested columns are read."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from proxyuse.errors import FileError
from proxyuse.io.reading import Keys, Reading, check_names, check_rows, require

if TYPE_CHECKING:
    import pandas as pd

_EXACT = 2.0**53  # float64 cannot hold every integer beyond this
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
            if self._is_parquet:
                table = self._parquet().read(columns=selected)
            else:
                table = self._ipc([self.names.index(name) for name in selected]).read_all()
            table.validate(full=True)
        check_rows(self.path, table.num_rows)
        try:
            frame: pd.DataFrame = table.to_pandas(ignore_metadata=True)  # an index stays a column
        except (self._arrow.ArrowException, ValueError, TypeError, OverflowError) as error:
            raise FileError(
                f"{self.path}: pandas cannot hold the type of a column; save the columns as "
                "numbers, booleans or text"
            ) from error
        keys = None if key is None else self._keys(key, table.column(key))
        return Reading(frame[selected], (), keys)

    def _parquet(self) -> Any:
        self._handle.seek(0)
        return require("pyarrow.parquet", "Parquet").ParquetFile(self._handle)

    def _ipc(self, indexes: list[int] | None) -> Any:
        self._handle.seek(0)
        ipc = require("pyarrow.ipc", "Arrow")
        open_any = ipc.open_file if self._start.startswith(b"ARROW1") else ipc.open_stream
        return open_any(self._handle, options=ipc.IpcReadOptions(included_fields=indexes))

    @contextmanager
    def _reported_damage(self) -> Iterator[None]:
        try:
            yield
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
