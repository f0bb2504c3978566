"""Any table, viewed as typed columns.

Columns are converted one at a time, when asked for, so a column that nobody uses never stands in
the way. This module knows nothing of programs, weights or protected attributes.
"""

from __future__ import annotations

import difflib
import numbers
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt

from proxyuse.data.columns import Column, Kind, as_column, require_one_a_row, row_index
from proxyuse.errors import DataError

_BLOCK = 1 << 15  # rows that are turned into columns at a time
_ACCEPTED = "a pandas, polars or pyarrow table, a mapping of names to columns, or a 2-D NumPy array"


class Table:
    """A view on the caller's data that converts a column when it is asked for.

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
        self._place: dict[str, int] = {}
        self._converted: dict[str, Column] = {}
        for place, name in enumerate(self.names):
            if name in self._place:
                raise DataError(
                    f"two columns are called {name!r} (number {self._place[name]} and number "
                    f"{place}; names are compared as text); rename one of them"
                )
            self._place[name] = place

    @classmethod
    def of(cls, X: object, names: Sequence[str] | None = None) -> Table:
        """View any table.

        Parameters
        ----------
        X : data frame, mapping or 2-D array
            A pandas, polars or pyarrow table, a mapping of names to columns, or a NumPy array.
        names : sequence of str, optional
            Names for the columns of an array, by position. Data that has names keeps its own.
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
            raise DataError(f"X is of type {type(X).__name__}; pass {_ACCEPTED}")
        table = cls._of_frame(X)
        return table._with_aliases(getattr(X, "columns", ()), names)

    def _with_aliases(self, labels: Iterable[object], names: Sequence[str] | None) -> Table:
        """Find columns under the names that a model uses for them.

        LightGBM replaces spaces by underscores. scikit-learn does not keep integer labels, so the
        inputs of its models are x0, x1, ...
        """
        integers = {f"x{name}" for name in labels if isinstance(name, numbers.Integral)}
        underscored: dict[str, list[int]] = {}
        for place, name in enumerate(self.names):
            underscored.setdefault(name.replace(" ", "_"), []).append(place)
        for name in names or ():
            if name in self._place:
                continue
            if name in integers:
                self._place[name] = self._place[name[1:]]
            elif len(places := underscored.get(name, [])) == 1:
                self._place[name] = places[0]
        return self

    @classmethod
    def _of_mapping(cls, X: Mapping[Any, Any]) -> Table:
        if not X:
            raise DataError("X is a mapping without columns; pass at least one column")
        columns = list(X.items())
        first, first_length, index, indexed = columns[0][0], -1, None, None
        for name, values in columns:
            require_one_a_row(str(name), values)
            if first_length < 0:
                first_length = len(values)
            elif len(values) != first_length:
                raise DataError(
                    f"columns {str(first)!r} and {str(name)!r} differ in length: {first_length} "
                    f"and {len(values)}; pass one value a row in every column"
                )
            if (own := row_index(values)) is not None:
                if index is None:
                    index, indexed = own, name
                elif not index.equals(own):
                    raise DataError(
                        f"columns {str(indexed)!r} and {str(name)!r} have different indexes; "
                        "align them first, or put them into one data frame"
                    )
        return cls(X, first_length, lambda place: columns[place][1], index)

    @classmethod
    def _of_array(cls, X: npt.NDArray[Any], names: Sequence[str] | None) -> Table:
        if X.ndim != 2:
            raise DataError(
                f"X is an array with {X.ndim} dimension{'s' * (X.ndim != 1)}; pass a 2-D array "
                "(for a single column X.reshape(-1, 1)) or a data frame"
            )
        array = X if isinstance(X, np.ma.MaskedArray) else np.asarray(X)
        n_rows, n_columns = array.shape
        if names is None:
            names = [f"x{place}" for place in range(n_columns)]
        elif len(names) != n_columns:
            raise DataError(
                f"X has {n_columns} columns but {len(names)} names are known for them; pass the "
                "columns of the names, in their order, or a data frame"
            )
        plain = type(array) is np.ndarray and array.dtype in (np.float32, np.float64)
        return cls(names, n_rows, lambda place: array[:, place], array=array if plain else None)

    @classmethod
    def _of_frame(cls, X: Any) -> Table:
        import narwhals as nw  # not needed for mappings and arrays

        try:
            frame = nw.from_native(X, eager_only=True, pass_through=True)
            columns = list(frame.columns) if isinstance(frame, nw.DataFrame) else []
        except nw.exceptions.DuplicateError as error:
            told = " ".join(str(error).split())
            raise DataError(f"X has two columns of one name; rename one ({told})") from error
        if not isinstance(frame, nw.DataFrame):
            kind = f"{type(X).__module__.split('.')[0]} {type(X).__name__}"
            for method in ("collect", "compute"):
                if hasattr(X, method):
                    raise DataError(f"X is a lazy {kind}; call .{method}() on it first")
            raise DataError(f"X is a {kind}; pass {_ACCEPTED}")
        return cls(
            columns,
            frame.shape[0],
            lambda place: frame.get_column(columns[place]),
            row_index(frame.to_native()),
        )

    def __contains__(self, name: object) -> bool:
        return name in self._place

    def index_of(self, name: str) -> int:
        """Return the position of a column."""
        return self._place[name]

    def column(self, name: str) -> Column:
        """Convert one column; the result is kept."""
        if name not in self:
            raise DataError(f"the data lacks the column {name!r}; {self.suggest(name)}")
        if name not in self._converted:
            self._converted[name] = as_column(name, self._fetch(self._place[name]))
        return self._converted[name]

    def columns(self, names: Sequence[str], threads: int = 1) -> list[Column]:
        """Convert several columns; those of an array of floats in several threads.

        Floats that stand row by row are turned into columns a block of rows at a time, so that
        each is fetched from memory once.
        """
        if self._array is not None:
            places = sorted(self._place[name] for name in names if name not in self._converted)
            found = _transposed(self._array, places, threads)
            for place, values in zip(places, found, strict=True):
                name = self.names[place]
                self._converted[name] = Column(name, Kind.NUMBER, values)
        return [self.column(name) for name in names]

    def suggest(self, name: str) -> str:
        """Say which columns there are, and which of them are spelled nearly like `name`."""
        shown = ", ".join(map(repr, self.names[:20])) or "none"
        if len(self.names) > 20:
            shown += f" and {len(self.names) - 20} more"
        folded = {own.casefold(): own for own in reversed(self.names)}
        close = [folded[match] for match in difflib.get_close_matches(name.casefold(), folded)]
        return f"columns: {shown}" + (f"; close: {', '.join(map(repr, close))}" if close else "")

    def beside(self, name: str, values: object) -> Column:
        """Convert values that were given next to the table, one a row of it."""
        column = as_column(name, values)
        if len(column) != self.n_rows:
            raise DataError(
                f"{name!r} has {len(column)} values but the data has {self.n_rows} rows; "
                "pass one value a row"
            )
        own = row_index(values)
        if self._index is not None and own is not None and not self._index.equals(own):
            raise DataError(
                f"the index of {name!r} is not the index of the data; align it first, "
                "e.g. with z.loc[X.index] for values z and data X"
            )
        return column


def _transposed(
    array: npt.NDArray[Any], places: list[int], threads: int
) -> npt.NDArray[np.float64]:
    """Some columns of an array, in order, as rows of another."""
    found = np.empty((len(places), len(array)))
    every = len(places) == array.shape[1]

    def fill(start: int) -> None:
        block = array[start : start + _BLOCK]
        found[:, start : start + _BLOCK] = (block if every else block[:, places]).T

    starts = range(0, len(array), _BLOCK)
    if threads == 1 or len(starts) == 1:
        for start in starts:
            fill(start)
    else:
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(fill, starts))  # which raises what a block raised
    return found
