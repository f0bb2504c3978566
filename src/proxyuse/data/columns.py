"""Columns: convert values from any library to typed arrays of numbers, booleans or categories."""

from __future__ import annotations

import decimal
import numbers
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import compress
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from proxyuse.errors import DataError, KindError

if TYPE_CHECKING:
    import narwhals as nw

_EXACT = 2.0**53  # float64 cannot hold every integer beyond this


class Kind(StrEnum):
    """The kind of the values in a column."""

    NUMBER = "number"
    BOOLEAN = "boolean"
    CATEGORY = "category"


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A value of a file that no data frame can hold. It is an error only if its column is used.

    Attributes
    ----------
    kind : its type in the file.
    """

    kind: str


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Column:
    """Values of one kind, one per row.

    Attributes
    ----------
    name : str
    kind : Kind
    values : ndarray
        Numbers are float64, NaN where missing. Booleans are a bool array when none is missing,
        otherwise float64 with 0, 1 and NaN. Categories are int32 codes, -1 where missing.
    categories : tuple of str
        The category of each code, sorted. Empty for other kinds.

    Examples
    --------
    >>> column = as_column("color", ["red", "blue", None])
    >>> column.categories
    ('blue', 'red')
    >>> column.values.tolist(), column.decode()
    ([1, 0, -1], ['red', 'blue', None])
    """

    name: str
    kind: Kind
    values: npt.NDArray[Any]
    categories: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.values)

    @property
    def is_missing(self) -> npt.NDArray[np.bool_]:
        """Whether each value is missing."""
        if self.kind is Kind.CATEGORY:
            return np.asarray(self.values < 0)
        return np.asarray(np.isnan(self.values))

    @property
    def any_missing(self) -> bool:
        """Whether any value is missing."""
        if self.values.dtype == np.bool_:
            return False
        if self.kind is Kind.CATEGORY:
            return bool(len(self) and self.values.min() < 0)
        with np.errstate(over="ignore", invalid="ignore"):
            total = np.sum(self.values)
        return bool(np.isnan(total) and np.isnan(self.values).any())

    @property
    def all_missing(self) -> bool:
        """Whether every value is missing."""
        first = replace(self, values=self.values[:1])
        return bool(first.is_missing.all() and self.is_missing.all())

    @property
    def constant(self) -> bool:
        """Whether all values are equal; missing values are equal to each other. One pass."""
        missing = self.is_missing
        if missing.any():
            return bool(missing.all())
        return bool((self.values == self.values[:1]).all())

    def take(self, rows: npt.NDArray[Any]) -> Column:
        """Select rows by a boolean mask or by indices; `categories` does not change."""
        values = self.values[rows]
        if self.kind is Kind.BOOLEAN:
            values = _compact_booleans(values)
        return replace(self, values=values)

    def decode(self) -> list[str | float | bool | None]:
        """Return Python values, with None where missing."""
        if self.kind is Kind.CATEGORY:
            labels: tuple[str | None, ...] = (*self.categories, None)  # -1 is the last
            return [labels[code] for code in self.values.tolist()]
        python = bool if self.kind is Kind.BOOLEAN else float
        return [None if value != value else python(value) for value in self.values.tolist()]


def as_column(name: str, values: Any) -> Column:
    """Convert a sequence, an array or a series from any library to a column.

    Examples
    --------
    >>> as_column("member", [True, None, False]).values.tolist()
    [1.0, nan, 0.0]
    >>> as_column("size", ["S", 4])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    proxyuse.errors.KindError: column 'size' mixes kinds category and number, e.g. 'S' (str) ...
    """
    if isinstance(values, Column):
        return replace(values, name=name)
    require_one_value_per_row(name, values)
    if isinstance(values, list | tuple | range):
        return _from_objects(name, list(values))
    if isinstance(values, np.ndarray):
        return _from_array(name, values)
    import narwhals as nw  # not needed for lists and arrays

    series = nw.from_native(values, allow_series=True, pass_through=True)
    if isinstance(series, nw.Series):
        return _from_series(name, series)
    if hasattr(values, "columns"):
        raise DataError(
            f"column {name!r}: expected one column, got a whole table; pass one of its columns"
        )
    if hasattr(values, "to_pylist"):  # a pyarrow array
        return _from_objects(name, values.to_pylist())
    if hasattr(values, "__array__"):  # a pandas index or extension array
        return _from_array(name, np.asarray(values))
    return _from_objects(name, list(values))


def _from_series(name: str, series: nw.Series[Any]) -> Column:
    import narwhals as nw

    dtype = series.dtype
    if isinstance(getattr(series.to_native(), "dtype", None), np.dtype):
        return _from_array(name, series.to_numpy())
    if dtype == nw.Boolean:
        values = np.array(series.fill_null(False).to_numpy(), dtype=np.bool_)
        return _boolean(name, values, series.is_null().to_numpy())
    if dtype in (nw.String, nw.Categorical, nw.Enum):
        try:
            return _from_repeating(name, series)
        except (NotImplementedError, UnicodeError):  # Arrow: string views, lone surrogates
            return _from_objects(name, series.to_list())
    if dtype.is_float():
        return _from_array(name, series.to_numpy())
    if dtype.is_integer() and dtype not in (nw.Int128, nw.UInt128):
        # The library would convert to float64 directly and round large integers silently.
        column = _from_array(name, series.fill_null(0).to_numpy())
        column.values[series.is_null().to_numpy()] = np.nan
        return column
    if dtype.is_temporal() or dtype.is_nested() or dtype == nw.Binary:
        raise _unusable(name, f"values of type {dtype}", _advice(str(dtype)))
    if dtype.is_numeric():
        return _from_objects(name, series.to_list())  # decimals, 128 bits
    return _from_array(name, series.to_numpy())


def _from_repeating(name: str, series: nw.Series[Any]) -> Column:
    """Convert strings and categoricals by converting each distinct value once."""
    import narwhals as nw

    # pyarrow dictionaries lose their nulls when converted to NumPy, so split off nulls first.
    missing = series.is_null().to_numpy()
    present = series.drop_nulls()
    native = present.to_native()
    if hasattr(native, "factorize"):  # pandas: faster than replacing values
        index, uniques = native.factorize()
        distinct = uniques.tolist()
    else:
        distinct = present.unique().to_list()
        indices = list(range(len(distinct)))
        if distinct:
            index = present.replace_strict(distinct, indices, return_dtype=nw.Int32).to_numpy()
    if not distinct:
        declared = getattr(getattr(series.to_native(), "cat", None), "categories", ())  # pandas
        kind = _from_objects(name, list(declared)).kind if len(declared) else Kind.CATEGORY
        return _all_missing(name, kind, len(series))
    converted = _from_objects(name, distinct)
    column = _all_missing(name, converted.kind, len(series))
    column.values[~missing] = converted.values[index.astype(np.intp)]
    values = _compact_booleans(column.values) if column.kind is Kind.BOOLEAN else column.values
    return replace(column, values=values, categories=converted.categories)


def _from_array(name: str, array: npt.NDArray[Any]) -> Column:
    if array.ndim != 1:
        raise DataError(
            f"column {name!r}: expected a 1-D array, got {array.ndim} dimensions; pass one value "
            "per row, e.g. values.ravel() if there is a single column"
        )
    if isinstance(array, np.ma.MaskedArray):
        return _from_objects(name, array.tolist())
    match array.dtype.kind:
        case "b":
            return Column(name, Kind.BOOLEAN, np.array(array, dtype=np.bool_))
        case "i" | "u" | "f":
            with np.errstate(over="ignore"):  # longdouble can overflow; checked below
                floats = np.array(array, dtype=np.float64)
            if array.dtype.kind != "f" or array.dtype.itemsize > 8:
                _check_exact(name, array, floats)
            return Column(name, Kind.NUMBER, floats)
        case "U":
            labels, codes = np.unique(array, return_inverse=True)
            return Column(name, Kind.CATEGORY, codes.astype(np.int32), tuple(labels.tolist()))
        case "M" | "m":
            raise _unusable(name, f"values of type {array.dtype}", _advice(str(array.dtype)))
        case _:
            return _from_objects(name, array.tolist())


def _from_objects(name: str, values: list[Any]) -> Column:
    """Convert Python objects; the kind is determined by their types."""
    missing = np.fromiter(map(_stands_for_missing, values), np.bool_, len(values))
    present = list(compress(values, ~missing)) if missing.any() else values
    kinds: dict[Kind, Any] = {}
    for example in dict(zip(map(type, reversed(present)), reversed(present), strict=True)).values():
        kind = _kind_of(type(example))
        if kind is None:
            names = [base.__name__ for base in type(example).__mro__]
            if isinstance(example, Unreadable):
                names = [example.kind]
            raise _unusable(name, f"values of type {names[0]}", _advice(*names))
        kinds.setdefault(kind, example)
    if len(kinds) > 1:
        (a, one), (b, other) = sorted(kinds.items())[:2]
        raise KindError(
            f"column {name!r} mixes kinds {a} and {b}, e.g. {_show(one)} ({type(one).__name__}) "
            f"and {_show(other)} ({type(other).__name__}); convert all values to one kind"
        )
    if not kinds:
        return _all_missing(name, Kind.NUMBER, len(values))
    (kind,) = kinds
    if kind is Kind.BOOLEAN:
        booleans = np.zeros(len(values), dtype=np.bool_)
        booleans[~missing] = np.fromiter(map(bool, present), np.bool_, len(present))
        return _boolean(name, booleans, missing)
    column = _all_missing(name, kind, len(values))
    if kind is Kind.NUMBER:
        column.values[~missing] = _floats(name, present)
        return column
    texts = list(map(str.__str__, present))  # plain strings, also for members of a StrEnum
    labels = tuple(sorted(set(texts)))
    codes = {label: code for code, label in enumerate(labels)}
    column.values[~missing] = np.fromiter(map(codes.__getitem__, texts), np.int32, len(texts))
    return replace(column, categories=labels)


def _all_missing(name: str, kind: Kind, n_rows: int) -> Column:
    if kind is Kind.CATEGORY:
        return Column(name, kind, np.full(n_rows, -1, dtype=np.int32))
    return Column(name, kind, np.full(n_rows, np.nan))


def _boolean(name: str, values: npt.NDArray[np.bool_], missing: npt.NDArray[np.bool_]) -> Column:
    if missing.any():
        return Column(name, Kind.BOOLEAN, np.where(missing, np.nan, values))
    return Column(name, Kind.BOOLEAN, values)


def _compact_booleans(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return values if np.isnan(values).any() else values.astype(np.bool_)


def _floats(name: str, values: list[Any]) -> npt.NDArray[np.float64]:
    try:
        floats = np.fromiter(map(float, values), np.float64, len(values))
    except OverflowError:
        raise _inexact(name) from None
    _check_exact(name, values, floats)
    return floats


def _check_exact(name: str, originals: Any, floats: npt.NDArray[np.float64]) -> None:
    """Raise an error for numbers that float64 would change; these are often identifiers."""
    for row in np.flatnonzero(np.abs(floats) >= _EXACT).tolist():
        original, converted = originals[row], float(floats[row])
        if isinstance(original, np.integer):
            original = int(original)  # NumPy would compare in float64
        if original != converted:
            raise _inexact(name)


def _inexact(name: str) -> DataError:
    return DataError(
        f"column {name!r} has numbers beyond 2**53, which float64 cannot hold exactly; "
        "convert identifiers to strings, and scale or round quantities"
    )


def _stands_for_missing(value: Any) -> bool:
    kind = type(value)
    if kind is str or kind is int or kind is bool:
        return False
    if value is None:
        return True
    if isinstance(value, float | np.floating):
        return bool(value != value)
    if isinstance(value, decimal.Decimal):
        return value.is_nan()
    if isinstance(value, np.datetime64 | np.timedelta64):
        return bool(np.isnat(value))
    return kind.__name__ in (
        "NAType",
        "NaTType",
        "MaskedConstant",
    )  # by name, because pandas may not be installed


def _kind_of(kind: type) -> Kind | None:
    if issubclass(kind, bool | np.bool_):
        return Kind.BOOLEAN
    if issubclass(kind, str):
        return Kind.CATEGORY
    if issubclass(kind, np.timedelta64):  # NumPy registers it as an integer
        return None
    if issubclass(kind, numbers.Real | decimal.Decimal):
        return Kind.NUMBER
    return None


_ADVICE = {
    "convert dates to numbers, e.g. days since a reference date": ("date", "period", "timestamp"),
    "convert durations to numbers, e.g. seconds": ("duration", "timedelta"),
    "convert times to numbers, e.g. hours since midnight": ("time",),
    "decode bytes to strings": ("byte", "binary"),
    "pass the real and imaginary parts, or the absolute value, as separate columns": ("complex",),
    "pass each element as a separate column": (
        "list", "large_list", "fixed_size_list", "tuple", "dict", "map", "set", "ndarray", "array",
        "struct",
    ),
}  # fmt: skip


def _advice(*types: str) -> str:
    """Return advice for an unsupported type, given its name and the names of its bases."""
    for advice, words in _ADVICE.items():
        if any(kind.lower().startswith(words) for kind in types):
            return advice
    return "convert them to numbers, booleans or strings"


def _unusable(name: str, got: str, advice: str) -> KindError:
    return KindError(f"column {name!r}: expected numbers, booleans or strings, got {got}; {advice}")


def _show(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def require_one_value_per_row(name: str, values: Any) -> None:
    """Raise an error unless `values` is a collection that can have one value per row."""
    try:
        len(values)
        single = isinstance(values, str | bytes | Mapping | set | frozenset)
    except TypeError:  # no length, or an array without dimensions
        single = True
    if single:
        raise DataError(
            f"column {name!r}: expected one value per row, got {type(values).__name__}; "
            "pass a list, array or series"
        )


def row_index(values: Any) -> Any:
    """Return the index of a pandas object, or None for anything else."""
    native = values.to_native() if hasattr(values, "to_native") else values  # out of narwhals
    index = getattr(native, "index", None)
    return index if hasattr(index, "equals") else None
