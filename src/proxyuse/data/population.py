"""Populations: a finite weighted sample with protected attributes.

Every probability in this package is a weighted frequency in a `Population`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeGuard

import numpy as np
import numpy.typing as npt

from proxyuse.data.columns import Column, Kind, as_column
from proxyuse.data.table import Table
from proxyuse.errors import DataError, KindError
from proxyuse.notes import MissingCounted, MissingDropped, Note, RowCount, ZeroWeight
from proxyuse.settings import MissingProtected, Settings

_MAX_WEIGHT = 1e100


@dataclass(frozen=True, slots=True)
class Derivation:
    """How a protected attribute is derived from columns.

    Attributes
    ----------
    expression : the text of the expression.
    columns : the columns that it reads.
    sources : those of them that are columns of the data, where the model could read them too. The
        others come from a separate table.
    """

    expression: str
    columns: tuple[str, ...]
    sources: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Protected:
    """A protected attribute.

    Attributes
    ----------
    name : str
    column : Column
    source : str or None
        The column of the data it was taken from; None if it is derived or the caller passed values.
    derivation : Derivation or None
        The expression that defines it, if it is derived.
    """

    name: str
    column: Column
    source: str | None
    derivation: Derivation | None = None

    @property
    def sources(self) -> tuple[str, ...]:
        """The columns of the data it was taken or derived from."""
        if self.source is not None:
            return (self.source,)
        return () if self.derivation is None else self.derivation.sources

    def take(self, rows: npt.NDArray[Any]) -> Protected:
        """Return the attribute of some rows, selected by a boolean mask or by indices."""
        return replace(self, column=self.column.take(rows))


Derive = Callable[[Table, str, str], Protected]
"""Makes an attribute from the columns of a table, a name and a text that is not a column."""


@dataclass(frozen=True, slots=True, eq=False)
class Population:
    """Rows with weights and protected attributes.

    Attributes
    ----------
    columns : mapping of str to Column
        The selected columns.
    weights : ndarray of float64
        Positive weights.
    protected : tuple of Protected
    notes : tuple of Note
        Notes on dropped rows and missing values.
    kept : ndarray of bool, optional
        Mask of the original rows that remain; None if all do.
    weights_source : str or None
        The column of the data that holds the weights; None if there is none.
    clusters : ndarray of int, optional
        The number of each row's cluster, from 0. Rows of one cluster are not independent. None if
        the caller named no clusters.
    total : float
        The sum of the weights, correctly rounded.
    whole_weights : bool
        Whether every weight is an integer.

    Examples
    --------
    >>> data = {"age": [25, 40, 61], "sex": ["f", "m", "f"], "seen": [2, 0, 3]}
    >>> people = Population.build(data, protected="sex", weights="seen", variables=["age"])
    >>> people.columns["age"].values.tolist(), people.weights.tolist(), people.total
    ([25.0, 61.0], [2.0, 3.0], 5.0)
    >>> people.notes
    (ZeroWeight(rows=RowCount(rows=1, private=False)),)
    """

    columns: Mapping[str, Column]
    weights: npt.NDArray[np.float64]
    protected: tuple[Protected, ...]
    notes: tuple[Note, ...] = ()
    kept: npt.NDArray[np.bool_] | None = None
    weights_source: str | None = None
    clusters: npt.NDArray[np.intp] | None = None

    total: float = field(init=False)
    whole_weights: bool = field(init=False)

    def __post_init__(self) -> None:
        first = float(self.weights[0])
        if first == self.weights.min() == self.weights.max():
            whole, total = first.is_integer(), first * len(self.weights)
        else:
            whole = bool(np.all(self.weights == np.floor(self.weights)))
            total = float(self.weights.sum()) if whole else math.fsum(self.weights.tolist())
        object.__setattr__(self, "total", total)
        object.__setattr__(self, "whole_weights", whole)

    @property
    def n_rows(self) -> int:
        """The number of rows, regardless of their weights."""
        return len(self.weights)

    def having(self, variables: Sequence[str]) -> Population:
        """Return the same rows with some of the columns."""
        return replace(self, columns={name: self.columns[name] for name in variables})

    def taking(self, rows: npt.NDArray[np.bool_]) -> Population:
        """Return the rows selected by a boolean mask.

        Examples
        --------
        >>> people = Population.build({"age": [25, 40, 61], "sex": list("fmf")}, protected="sex")
        >>> people.taking(np.array([True, False, True])).columns["age"].values.tolist()
        [25.0, 61.0]
        """
        if not rows.any():
            raise DataError("the selection has no rows; select at least one")
        kept = np.ones(self.n_rows, dtype=np.bool_) if self.kept is None else self.kept.copy()
        kept[kept] = rows
        return replace(
            self,
            columns={name: column.take(rows) for name, column in self.columns.items()},
            weights=self.weights[rows],
            protected=tuple(z.take(rows) for z in self.protected),
            kept=kept,
            clusters=None if self.clusters is None else _numbered(self.clusters[rows]),
        )

    @classmethod
    def build(
        cls,
        X: object,
        *,
        protected: object,
        weights: object = None,
        clusters: object = None,
        variables: Sequence[str] | None = None,
        names: Sequence[str] | None = None,
        missing_protected: MissingProtected = "refuse",
        threads: int = 1,
        derive: Derive | None = None,
    ) -> Population:
        """Build a population from data.

        Parameters
        ----------
        X : data frame, mapping or 2-D array
            See `Table.of`.
        protected : column name, sequence of names, mapping, or values
            A mapping from attribute names to column names or values. Values without a mapping
            are named after their series if it has a name, else "protected".
        weights : column name or values, optional
            By default every row has weight 1. Rows of weight 0 are dropped.
        clusters : column name or values, optional
            Rows with the same value are not independent.
        variables : sequence of str, optional
            The columns to include, by default all.
        names : sequence of str, optional
            Names for the columns of a NumPy array.
        missing_protected : {"refuse", "drop", "category"}
            How to treat rows with a missing protected value: raise an error, drop the row, or
            count missing as a value of its own.
        threads : int
            The number of threads that convert columns.
        derive : callable, optional
            Makes an attribute from a text that is not a column. Without it, that is an error.
        """
        Settings(missing_protected=missing_protected)  # raises an error for another value
        table = Table.of(X, names)
        if table.n_rows == 0:
            raise DataError("the data has no rows; pass at least one")
        attributes = tuple(_attributes(table, protected, derive))
        mass = _weights(table, weights)
        numbers = None if clusters is None else _clusters(table, clusters)
        selected = table.names if variables is None else _selected(table, variables)
        columns = dict(zip(selected, table.columns(selected, threads), strict=True))

        keep = mass > 0
        notes: list[Note] = []
        if n_zero := table.n_rows - int(np.count_nonzero(keep)):
            notes.append(ZeroWeight(RowCount(n_zero)))
        keep, missing_notes = _settle_missing(attributes, keep, missing_protected)
        notes += missing_notes
        if not keep.any():
            raise DataError(
                "no rows remain: a protected value is missing in every row; "
                'pass missing_protected="category" to count missing as a value'
            )
        if not keep.all():
            columns = {name: column.take(keep) for name, column in columns.items()}
            attributes = tuple(attribute.take(keep) for attribute in attributes)
            mass = mass[keep]
            numbers = None if numbers is None else _numbered(numbers[keep])
        if mass.max() > _MAX_WEIGHT or mass.min() < 1 / _MAX_WEIGHT:
            raise DataError(
                f"weights: {mass.min():g} to {mass.max():g} is too wide a range for exact sums; "
                "scale them, e.g. so that their mean is 1"
            )
        return cls(
            columns,
            mass,
            attributes,
            tuple(notes),
            None if keep.all() else keep,
            str(weights) if is_name(weights) else None,
            numbers,
        )


def _selected(table: Table, names: Sequence[str]) -> tuple[str, ...]:
    for name in names:
        if name not in table:
            raise DataError(
                f"the program reads the column {name!r}, but the data has no such column; "
                f"{table.suggest(name)}"
            )
    return tuple(names)


def _attributes(table: Table, protected: object, derive: Derive | None) -> Iterator[Protected]:
    seen: set[str] = set()
    for name, request in _requests(table, protected):
        attribute = _attribute(table, name, request, derive)
        if attribute.name in seen:
            raise DataError(
                f"the protected attribute {attribute.name!r} appears twice; list each attribute "
                "once (to pass values, use a mapping such as {'sex': values})"
            )
        seen.add(attribute.name)
        yield attribute
    if not seen:
        raise DataError(
            "protected: expected at least one attribute, got none; name a column or pass values"
        )


def _attribute(table: Table, name: str, request: object, derive: Derive | None) -> Protected:
    """Return an attribute from a column name, an expression, or values."""
    if isinstance(request, Protected):
        return replace(request, name=name, column=table.beside(name, request.column))
    if not is_name(request):
        return Protected(name, table.beside(name, request), None)
    source = str(request)
    if source in table:
        return Protected(name, as_column(name, table.column(source)), source)
    if derive is not None and isinstance(request, str):
        return derive(table, name, request)
    raise DataError(
        f"the protected attribute {source!r} is not a column of the data; name a column or pass "
        f"{{{source!r}: values}}; {table.suggest(source)}"
    )


def _requests(table: Table, protected: object) -> list[tuple[str, object]]:
    """Return the name of each attribute with a column name or values."""
    if protected is None:
        return []
    if is_name(protected):
        return [(str(protected), protected)]
    if isinstance(protected, Mapping):
        return [(str(name), request) for name, request in protected.items()]
    if isinstance(protected, list | tuple) and _are_names(table, protected):
        return [(str(name), name) for name in protected]
    if hasattr(protected, "columns"):
        raise DataError(
            "protected is a whole table; pass a mapping of names to its columns, "
            "such as {'sex': table['sex']}"
        )
    name = getattr(protected, "name", None)
    return [("protected" if name is None or name == "" else str(name), protected)]


def _are_names(table: Table, entries: Sequence[object]) -> bool:
    """Return whether a list has column names, not values (one per row)."""
    if not all(map(is_name, entries)):
        return False
    known = [str(entry) in table for entry in entries]
    if all(known) or len(entries) == 0:
        return True
    texts = all(isinstance(entry, str) for entry in entries)
    return texts and (any(known) or len(entries) != table.n_rows)


def is_name(request: object) -> TypeGuard[str | int]:
    """Return whether an argument is the name of a column, not values."""
    return isinstance(request, str | int | np.integer) and not isinstance(request, bool)


def _weights(table: Table, weights: object) -> npt.NDArray[np.float64]:
    if weights is None:
        return np.ones(table.n_rows)
    if is_name(weights):
        if str(weights) not in table:
            raise DataError(
                f"weights: the data has no column {str(weights)!r}; name a column or pass "
                f"values; {table.suggest(str(weights))}"
            )
        column, label = table.column(str(weights)), f"weights (column {str(weights)!r})"
    else:
        column, label = table.beside("weights", weights), "weights"
    if column.kind is not Kind.NUMBER:
        raise KindError(f"{label}: expected numbers, got values of kind {column.kind}")
    values = column.values
    for wrong, what, advice in (
        (np.isnan(values), "missing", "fill in the values or drop these rows"),
        (np.isinf(values), "infinite", "pass finite weights"),
        (values < 0, "negative", "pass weights of 0 or more"),
    ):
        if wrong.any():
            raise DataError(f"{label}: {what} in {_which(wrong)}; {advice}")
    if not values.any():
        raise DataError(
            f"{label}: all {len(values)} are 0; at least one row needs a positive weight"
        )
    with np.errstate(over="ignore"):
        if not np.isfinite(values.sum()):
            raise DataError(f"{label}: their sum is too large for float64; scale them down")
    return values


def _clusters(table: Table, clusters: object) -> npt.NDArray[np.intp]:
    """Return the number of each row's cluster."""
    if is_name(clusters):
        if str(clusters) not in table:
            raise DataError(
                f"clusters: the data has no column {str(clusters)!r}; name a column or pass "
                f"values; {table.suggest(str(clusters))}"
            )
        column = table.column(str(clusters))
    else:
        column = table.beside("clusters", clusters)
    if column.any_missing:
        raise DataError(
            f"clusters: missing in {_which(column.is_missing)}; fill in the values, with a value "
            "of its own for each independent row"
        )
    return _numbered(column.values)


def _numbered(values: npt.NDArray[Any]) -> npt.NDArray[np.intp]:
    """Return a number from 0 for each distinct value."""
    return np.unique(values, return_inverse=True)[1].astype(np.intp)


def _settle_missing(
    attributes: Sequence[Protected], keep: npt.NDArray[np.bool_], choice: str
) -> tuple[npt.NDArray[np.bool_], list[Note]]:
    """Return a mask of the rows to keep, and notes on missing protected values."""
    notes: list[Note] = []
    gaps: dict[str, npt.NDArray[np.bool_]] = {}
    for attribute in attributes:
        missing = attribute.column.is_missing & keep
        if missing.any():
            gaps[attribute.name] = missing
    if not gaps:
        return keep, notes
    if choice == "refuse":
        name, missing = next(iter(gaps.items()))
        raise DataError(
            f"the protected attribute {name!r} is missing in {_which(missing)}; "
            'pass missing_protected="drop" to drop these rows, or '
            'missing_protected="category" to count missing as a value of its own'
        )
    if choice == "drop":
        dropped = np.logical_or.reduce(list(gaps.values()))
        return keep & ~dropped, [MissingDropped(tuple(gaps), RowCount(int(dropped.sum())))]
    for name, missing in gaps.items():
        # Even a large number of people with a protected value may identify them.
        notes.append(MissingCounted(name, RowCount(int(missing.sum()), private=True)))
    return keep, notes


def _rows(count: int) -> str:
    return f"{count} row{'s' * (count != 1)}"


def _which(wrong: npt.NDArray[np.bool_]) -> str:
    """Return the number of rows and the indices of the first few."""
    indices = np.flatnonzero(wrong).tolist()
    shown = ", ".join(map(str, indices[:5])) + (", ..." if len(indices) > 5 else "")
    return f"{_rows(len(indices))} (index {shown})"
