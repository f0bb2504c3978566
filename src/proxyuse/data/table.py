"""Tables: any data frame, mapping or array, viewed as typed columns.

Columns are converted on demand, so unused columns may have unsupported types.
"""

from __future__ import annotations

import difflib
import numbers
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt

from proxyuse.data.columns import Column, Kind, as_column, require_one_value_per_row, row_index
from proxyuse.errors import DataError

_BLOCK_SIZE = 1 << 15  # rows that are transposed at a time
_ACCEPTED = "a pandas, polars or pyarrow table, a mapping of names to columns, or a 2-D NumPy array"


class Table:
    """A view of the caller's data that converts columns on demand.

    Attributes
    ----------
    names : tuple of str
    n_rows : int

    Examples
    --------
    >>> table = Table.of({"age": [31, None], "member": [True, False]})
    >>> table.names, table.n_rows
    (('age', 'member'), 2)
    >>> table.column("age").values.tolist()
    [31.0, nan]
    """

    def __init__(
        self,
        names: Iterable[object],
        n_rows: int,
        fetch: Callable[[int], object],
        index: Any = None,
        array: npt.NDArray[Any] | None = None,
    ) -> None:
        self.names: tuple[str, ...] = tuple(str(name) for name in names)
        self.n_rows = n_rows
        self._fetch = fetch
        self._index = index
        self._array = array
        self._column_index: dict[str, int] = {}
        self._converted: dict[str, Column] = {}
        for i, name in enumerate(self.names):
            if name in self._column_index:
                raise DataError(
                    f"two columns have the name {name!r} (columns {self._column_index[name]} and "
                    f"{i}, compared as text); rename one of them"
                )
            self._column_index[name] = i

    @classmethod
    def of(cls, X: object, names: Sequence[str] | None = None) -> Table:
        """View any table.

        Parameters
        ----------
        X : data frame, mapping or 2-D array
            A pandas, polars or pyarrow table, a mapping of names to columns, or a NumPy array.
        names : sequence of str, optional
            Names for the columns of an array, in order. Ignored if the data has column names.
        """
        if isinstance(X, Table):
            return X
        if type(X).__module__.startswith("scipy.sparse"):
            raise DataError("X is a sparse matrix; pass X.toarray(), or a data frame")
        if isinstance(X, Mapping):
            return cls._of_mapping(X)._with_aliases(X, names)
        if isinstance(X, np.ndarray):
            return cls._of_array(X, names)
        if X is None or isinstance(X, str | bytes | list | tuple | numbers.Number | np.generic):
            raise DataError(
                f"X: expected a table, got {type(X).__name__}; pass {_ACCEPTED}{_reader(X)}"
            )
        table = cls._of_frame(X)
        return table._with_aliases(getattr(X, "columns", ()), names)

    def _with_aliases(self, labels: Iterable[object], names: Sequence[str] | None) -> Table:
        """Find columns under the names that a model uses for them.

        LightGBM replaces spaces by underscores. scikit-learn does not keep integer labels, so the
        inputs of its models are x0, x1, ...
        """
        integers = {f"x{name}" for name in labels if isinstance(name, numbers.Integral)}
        underscored: dict[str, list[int]] = {}
        for index, name in enumerate(self.names):
            underscored.setdefault(name.replace(" ", "_"), []).append(index)
        for name in names or ():
            if name in self._column_index:
                continue
            if name in integers:
                self._column_index[name] = self._column_index[name[1:]]
            elif len(indices := underscored.get(name, [])) == 1:
                self._column_index[name] = indices[0]
        return self

    @classmethod
    def _of_mapping(cls, X: Mapping[Any, Any]) -> Table:
        if not X:
            raise DataError("X is an empty mapping; pass at least one column")
        columns = list(X.items())
        first, first_length, index, indexed = columns[0][0], -1, None, None
        for name, values in columns:
            require_one_value_per_row(str(name), values)
            if first_length < 0:
                first_length = len(values)
            elif len(values) != first_length:
                raise DataError(
                    f"columns {str(first)!r} and {str(name)!r} have different lengths "
                    f"({first_length} and {len(values)}); pass one value per row in every column"
                )
            if (column_index := row_index(values)) is not None:
                if index is None:
                    index, indexed = column_index, name
                elif not index.equals(column_index):
                    raise DataError(
                        f"columns {str(indexed)!r} and {str(name)!r} have different indexes; "
                        "align them first, or put them into one data frame"
                    )
        return cls(X, first_length, lambda i: columns[i][1], index)

    @classmethod
    def _of_array(cls, X: npt.NDArray[Any], names: Sequence[str] | None) -> Table:
        if X.ndim != 2:
            raise DataError(
                f"X: expected a 2-D array, got {X.ndim} dimension{'s' * (X.ndim != 1)}; pass a "
                "data frame, or X.reshape(-1, 1) for a single column"
            )
        array = X if isinstance(X, np.ma.MaskedArray) else np.asarray(X)
        n_rows, n_columns = array.shape
        if names is None:
            names = [f"x{i}" for i in range(n_columns)]
        elif len(names) != n_columns:
            raise DataError(
                f"X: expected {len(names)} columns, got {n_columns}; pass the columns "
                f"{_listed(names)} in this order, or a data frame"
            )
        plain = type(array) is np.ndarray and array.dtype in (np.float32, np.float64)
        return cls(names, n_rows, lambda i: array[:, i], array=array if plain else None)

    @classmethod
    def _of_frame(cls, X: Any) -> Table:
        import narwhals as nw  # not needed for mappings and arrays

        try:
            frame = nw.from_native(X, eager_only=True, pass_through=True)
            columns = list(frame.columns) if isinstance(frame, nw.DataFrame) else []
        except nw.exceptions.DuplicateError as error:
            reason = " ".join(str(error).split())
            raise DataError(f"X has two columns of the same name; rename one ({reason})") from error
        if not isinstance(frame, nw.DataFrame):
            kind = f"{type(X).__module__.split('.')[0]} {type(X).__name__}"
            for method in ("collect", "compute"):
                if hasattr(X, method):
                    raise DataError(f"X is a lazy {kind}; call .{method}() on it first")
            raise DataError(f"X is a {kind}; pass {_ACCEPTED}")
        return cls(
            columns,
            frame.shape[0],
            lambda i: frame.get_column(columns[i]),
            row_index(frame.to_native()),
        )

    def __contains__(self, name: object) -> bool:
        return name in self._column_index

    def index_of(self, name: str) -> int:
        """Return the position of a column."""
        return self._column_index[name]

    def column(self, name: str) -> Column:
        """Return one column, converted; cached."""
        if name not in self:
            raise DataError(f"the data has no column {name!r}; {self.suggest(name)}")
        if name not in self._converted:
            self._converted[name] = as_column(name, self._fetch(self._column_index[name]))
        return self._converted[name]

    def columns(self, names: Sequence[str], threads: int = 1) -> list[Column]:
        """Return several columns, converted; arrays of floats are converted in threads.

        A row-major array is transposed in blocks of rows, so that each value is fetched from
        memory once.
        """
        if self._array is not None:
            indices = sorted(
                self._column_index[name] for name in names if name not in self._converted
            )
            transposed = _transposed(self._array, indices, threads)
            for i, values in zip(indices, transposed, strict=True):
                name = self.names[i]
                self._converted[name] = Column(name, Kind.NUMBER, values)
        return [self.column(name) for name in names]

    def suggest(self, name: str) -> str:
        """Return the columns with a similar name, or all columns, for an error message."""
        folded = {column.casefold(): column for column in reversed(self.names)}
        close = [folded[match] for match in difflib.get_close_matches(name.casefold(), folded)]
        if close:
            return f"did you mean {' or '.join(map(repr, close))}?"
        return f"columns: {_listed(self.names)}"

    def beside(self, name: str, values: object) -> Column:
        """Convert values that are not in the table, but have one value per row of it."""
        column = as_column(name, values)
        if len(column) != self.n_rows:
            raise DataError(
                f"{name!r} has {len(column)} values but the data has {self.n_rows} rows; "
                "pass one value per row"
            )
        index = row_index(values)
        if self._index is not None and index is not None and not self._index.equals(index):
            raise DataError(
                f"the index of {name!r} differs from the index of the data; align it first, "
                "e.g. with z.loc[X.index] for values z and data X"
            )
        return column


def _reader(X: object) -> str:
    """Say how to read a file, if the path of one was passed."""
    return ". To read a file, use proxyuse.io.table_files.read_table(path)" * isinstance(X, str)


def _listed(names: Sequence[str]) -> str:
    """Join names for a message; at most 20 are shown."""
    shown = ", ".join(map(repr, names[:20])) or "none"
    return shown if len(names) <= 20 else f"{shown} and {len(names) - 20} more"


def _transposed(
    array: npt.NDArray[Any], indices: list[int], threads: int
) -> npt.NDArray[np.float64]:
    """Return some columns of an array as the rows of a new array."""
    transposed = np.empty((len(indices), len(array)))
    every = len(indices) == array.shape[1]

    def fill(start: int) -> None:
        block = array[start : start + _BLOCK_SIZE]
        transposed[:, start : start + _BLOCK_SIZE] = (block if every else block[:, indices]).T

    starts = range(0, len(array), _BLOCK_SIZE)
    if threads == 1 or len(starts) == 1:
        for start in starts:
            fill(start)
    else:
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(fill, starts))  # re-raises exceptions
    return transposed
