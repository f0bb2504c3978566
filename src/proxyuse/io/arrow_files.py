"""A Parquet or Arrow file is read, only those of its columns that are wanted."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from proxyuse.errors import FileError
from proxyuse.io.reading import Keys, Reading, check_names, check_rows, require

if TYPE_CHECKING:
    import pandas as pd

_EXACT = 2.0**53  # from here on float64 skips whole numbers
STARTS = (b"PAR1", b"ARROW1", b"\xff\xff\xff\xff")  # Parquet, IPC file, IPC stream


class ArrowSource:
    """A Parquet file, an Arrow IPC file or an Arrow IPC stream."""

    def __init__(self, path: Path, sha256: str, handle: BinaryIO, start: bytes) -> None:
        self.path, self.sha256, self._handle, self._start = path, sha256, handle, start
        self._is_parquet = start.startswith(b"PAR1")
        self._format = "a Parquet file" if self._is_parquet else "an Arrow file"
        self._arrow = require("pyarrow", f"reading {self._format}")
        with self._damage_told():
            schema = self._parquet().schema_arrow if self._is_parquet else self._ipc(None).schema
            names = schema.names  # which are decoded here
        self.names = check_names(path, names)

    def read(
        self,
        names: Sequence[str] | None = None,
        key: str | None = None,
        text: Collection[str] = (),
    ) -> Reading:
        """Read columns and no others; the file states their types."""
        require("pandas", "reading a table")
        wanted = list(self.names if names is None else names)
        with self._damage_told():
            if self._is_parquet:
                table = self._parquet().read(columns=wanted)
            else:
                table = self._ipc([self.names.index(name) for name in wanted]).read_all()
            table.validate(full=True)
        check_rows(self.path, table.num_rows)
        try:
            frame: pd.DataFrame = table.to_pandas(ignore_metadata=True)  # an index is a column
        except (self._arrow.ArrowException, ValueError, TypeError, OverflowError) as error:
            raise FileError(
                f"{self.path}: a column is of a kind that pandas cannot hold; write its columns "
                "as numbers, booleans or text"
            ) from error
        keys = None if key is None else self._keys(key, table.column(key))
        return Reading(frame[wanted], (), keys)

    def _parquet(self) -> Any:
        self._handle.seek(0)
        return require("pyarrow.parquet", "Parquet").ParquetFile(self._handle)

    def _ipc(self, places: list[int] | None) -> Any:
        self._handle.seek(0)
        ipc = require("pyarrow.ipc", "Arrow")
        open_any = ipc.open_file if self._start.startswith(b"ARROW1") else ipc.open_stream
        return open_any(self._handle, options=ipc.IpcReadOptions(included_fields=places))

    @contextmanager
    def _damage_told(self) -> Iterator[None]:
        try:
            yield
        except (self._arrow.ArrowException, OSError, ValueError, KeyError, MemoryError) as error:
            raise FileError(
                f"{self.path} begins like {self._format} and is damaged, cut off, too large or of "
                "a kind that is not known here; get it or write it again"
            ) from error

    def _keys(self, name: str, column: Any) -> Keys:
        arrow, types = self._arrow, self._arrow.types
        kind = column.type.value_type if types.is_dictionary(column.type) else column.type
        whole = types.is_integer(kind) or types.is_floating(kind)
        if not whole and str(kind) not in ("string", "large_string", "string_view"):
            raise FileError(
                f"{self.path}: the key {name!r} is of type {kind}; make it text or whole numbers"
            )
        try:
            column = column.cast(kind)
            if types.is_floating(kind):  # whole numbers of which some are missing, perhaps
                compute = require("pyarrow.compute", "matching keys")
                column = compute.if_else(compute.is_nan(column), None, column)
                if compute.any(compute.greater_equal(compute.abs(column), _EXACT)).as_py():
                    raise FileError(
                        f"{self.path}: the key {name!r} has numbers beyond 2**53 as floats, which "
                        "merges neighbors; make it text or whole numbers"
                    )
                column = column.cast(arrow.int64())
            column = column.cast(arrow.string())
        except arrow.ArrowInvalid:
            raise FileError(
                f"{self.path}: the key {name!r} has numbers that are not whole; "
                "make it text or whole numbers"
            ) from None
        return Keys(column.to_pandas(), "whole numbers" if whole else "text", typed=True)
