"""Values of any library become typed columns of numbers, booleans or categories.

This module knows nothing of tables, programs, weights or protected attributes.
"""

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

_EXACT = 2.0**53  # from here on float64 skips whole numbers


class Kind(StrEnum):
    """What the values of a column are."""

    NUMBER = "number"
    BOOLEAN = "boolean"
    CATEGORY = "category"


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """Values of one kind, one a row.

    Attributes
    ----------
    name : str
    kind : Kind
    values : ndarray
        Numbers are float64, NaN where missing. Booleans are a bool array when none is missing,
        otherwise float64 with 0, 1 and NaN. Categories are int32 codes, -1 where missing.
    categories : tuple of str
        What the codes stand for, sorted. Empty for other kinds.

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
        """Whether the value is missing, by row."""
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
        return bool(np.isnan(np.sum(self.values)) and np.isnan(self.values).any())

    @property
    def all_missing(self) -> bool:
        """Whether no value is there."""
        first = replace(self, values=self.values[:1])
        return bool(first.is_missing.all() and self.is_missing.all())

    def take(self, rows: npt.NDArray[Any]) -> Column:
        """Keep some rows, given as a boolean mask or as indices; categories stay as they are."""
        values = self.values[rows]
        if self.kind is Kind.BOOLEAN:
            values = _compact_booleans(values)
        return replace(self, values=values)

    def decode(self) -> list[str | float | bool | None]:
        """Python values, None where missing."""
        if self.kind is Kind.CATEGORY:
            labels: tuple[str | None, ...] = (*self.categories, None)  # -1 is the last
            return [labels[code] for code in self.values.tolist()]
        python = bool if self.kind is Kind.BOOLEAN else float
        return [None if value != value else python(value) for value in self.values.tolist()]


def as_column(name: str, values: Any) -> Column:
    """Convert one sequence, array or series of any library.

    Examples
    --------
    >>> as_column("member", [True, None, False]).values.tolist()
    [1.0, nan, 0.0]
    >>> as_column("size", ["S", 4])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    proxyuse.errors.KindError: column 'size' mixes category and number, e.g. 'S' (str) and 4 ...
    """
    if isinstance(values, Column):
        return replace(values, name=name)
    require_one_a_row(name, values)
    if isinstance(values, list | tuple | range):
        return _from_objects(name, list(values))
    if isinstance(values, np.ndarray):
        return _from_array(name, values)
    import narwhals as nw  # not needed for lists and arrays

    series = nw.from_native(values, allow_series=True, pass_through=True)
    if isinstance(series, nw.Series):
        return _from_series(name, series)
    if hasattr(values, "columns"):
        raise DataError(f"column {name!r} is a whole table; pass one of its columns")
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
        # Not straight to float64, as the library would do it: large whole numbers are checked.
        column = _from_array(name, series.fill_null(0).to_numpy())
        column.values[series.is_null().to_numpy()] = np.nan
        return column
    if dtype.is_temporal() or dtype.is_nested() or dtype == nw.Binary:
        raise _unusable(name, f"values of type {dtype}", _advice(str(dtype)))
    if dtype.is_numeric():
        return _from_objects(name, series.to_list())  # decimals, 128 bits
    return _from_array(name, series.to_numpy())


def _from_repeating(name: str, series: nw.Series[Any]) -> Column:
    """Convert each distinct value once: strings, and categoricals of whatever they hold."""
    import narwhals as nw

    # pyarrow's dictionaries lose their nulls on the way to NumPy, so rows are told apart first.
    missing = series.is_null().to_numpy()
    present = series.drop_nulls()
    native = present.to_native()
    if hasattr(native, "factorize"):  # pandas, which is faster at this than at replacing
        place, uniques = native.factorize()
        distinct = uniques.tolist()
    else:
        distinct = present.unique().to_list()
        places = list(range(len(distinct)))
        if distinct:
            place = present.replace_strict(distinct, places, return_dtype=nw.Int32).to_numpy()
    if not distinct:
        known = getattr(getattr(series.to_native(), "cat", None), "categories", ())  # pandas
        kind = _from_objects(name, list(known)).kind if len(known) else Kind.CATEGORY
        return _all_missing(name, kind, len(series))
    one_each = _from_objects(name, distinct)
    column = _all_missing(name, one_each.kind, len(series))
    column.values[~missing] = one_each.values[place.astype(np.intp)]
    values = _compact_booleans(column.values) if column.kind is Kind.BOOLEAN else column.values
    return replace(column, values=values, categories=one_each.categories)


def _from_array(name: str, array: npt.NDArray[Any]) -> Column:
    if array.ndim != 1:
        raise DataError(
            f"column {name!r} has {array.ndim} dimensions; pass one value a row, "
            "e.g. values.ravel() if there is one column"
        )
    if isinstance(array, np.ma.MaskedArray):
        return _from_objects(name, array.tolist())
    match array.dtype.kind:
        case "b":
            return Column(name, Kind.BOOLEAN, np.array(array, dtype=np.bool_))
        case "i" | "u" | "f":
            with np.errstate(over="ignore"):  # longdouble to infinity; refused below
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
    """Decide by the values themselves."""
    missing = np.fromiter(map(_stands_for_missing, values), np.bool_, len(values))
    present = list(compress(values, ~missing)) if missing.any() else values
    kinds: dict[Kind, Any] = {}
    for example in dict(zip(map(type, reversed(present)), reversed(present), strict=True)).values():
        kind = _kind_of(type(example))
        if kind is None:
            raise _unusable(
                name,
                f"values of type {type(example).__name__}",
                _advice(*(base.__name__ for base in type(example).__mro__)),
            )
        kinds.setdefault(kind, example)
    if len(kinds) > 1:
        (a, one), (b, other) = sorted(kinds.items())[:2]
        raise KindError(
            f"column {name!r} mixes {a} and {b}, e.g. {_show(one)} ({type(one).__name__}) and "
            f"{_show(other)} ({type(other).__name__}); turn them all into one kind"
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
    texts = list(map(str.__str__, present))  # a str, also of an enumeration's member
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
    """Refuse numbers so large that float64 merges neighbors: they are often identifiers."""
    for row in np.flatnonzero(np.abs(floats) >= _EXACT).tolist():
        original, held = originals[row], float(floats[row])
        if isinstance(original, np.integer):
            original = int(original)  # NumPy would compare in float64
        if original != held:
            raise _inexact(name)


def _inexact(name: str) -> DataError:
    return DataError(
        f"column {name!r} holds numbers beyond 2**53, which float64 cannot hold exactly; "
        "turn identifiers into strings, and scale or round quantities"
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
    return kind.__name__ in ("NAType", "NaTType", "MaskedConstant")  # pandas is not imported here


def _kind_of(kind: type) -> Kind | None:
    if issubclass(kind, bool | np.bool_):
        return Kind.BOOLEAN
    if issubclass(kind, str):
        return Kind.CATEGORY
    if issubclass(kind, np.timedelta64):  # an integer, says NumPy
        return None
    if issubclass(kind, numbers.Real | decimal.Decimal):
        return Kind.NUMBER
    return None


_ADVICE = {
    "turn dates into numbers, e.g. days since a reference date": ("date", "period", "timestamp"),
    "turn durations into numbers, e.g. seconds": ("duration", "timedelta"),
    "turn times into numbers, e.g. hours since midnight": ("time",),
    "decode bytes into strings": ("byte", "binary"),
    "give the parts, or the absolute value, as columns of their own": ("complex",),
    "give each element a column of its own": (
        "list", "tuple", "dict", "set", "ndarray", "array", "struct",
    ),
}  # fmt: skip


def _advice(*types: str) -> str:
    """What to do about values of a type, told by its name and its bases' names."""
    for advice, words in _ADVICE.items():
        if any(kind.lower().startswith(words) for kind in types):
            return advice
    return "turn them into numbers, booleans or strings"


def _unusable(name: str, held: str, advice: str) -> KindError:
    return KindError(
        f"column {name!r} holds {held}, neither numbers nor booleans nor strings; {advice}"
    )


def _show(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def require_one_a_row(name: str, values: Any) -> None:
    """Refuse what cannot hold one value for each row."""
    try:
        len(values)
        single = isinstance(values, str | bytes | Mapping | set | frozenset)
    except TypeError:  # no length, or an array of no dimensions
        single = True
    if single:
        raise DataError(
            f"column {name!r} is of type {type(values).__name__}; pass one value a row, "
            "as a list, array or series"
        )


def row_index(values: Any) -> Any:
    """Return the index of a pandas object; `index` of lists and others is a method."""
    native = values.to_native() if hasattr(values, "to_native") else values  # out of narwhals
    index = getattr(native, "index", None)
    return index if hasattr(index, "equals") else None
