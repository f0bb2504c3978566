"""Data becomes a finite weighted sample with protected attributes.

Every probability in this package is a weighted frequency in a `Population`. This module knows
nothing of programs: it is only told which columns are wanted.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeGuard

import numpy as np
import numpy.typing as npt

from proxyuse.data.columns import Column, Kind, as_column
from proxyuse.data.table import Table
from proxyuse.errors import DataError, KindError
from proxyuse.notes import Note, NoteKind

_MOST_MASS = 1e100


@dataclass(frozen=True, slots=True, eq=False)
class Protected:
    """A protected attribute.

    Attributes
    ----------
    name : str
    column : Column
    source : str or None
        The column of the data it was taken from; None when its values were given.
    """

    name: str
    column: Column
    source: str | None


@dataclass(frozen=True, slots=True, eq=False)
class Population:
    """Rows with weights and protected attributes.

    Attributes
    ----------
    columns : mapping of str to Column
        The columns that were asked for.
    weights : ndarray of float64
        All above 0.
    protected : tuple of Protected
    notes : tuple of Note
        What was dropped, and which values are missing.
    kept : ndarray of bool, optional
        Which of the rows that were given are there; None for all.
    total : float
        The sum of the weights, rounded once at most.
    whole_weights : bool
        Whether every weight is a whole number.

    Examples
    --------
    >>> data = {"age": [25, 40, 61], "sex": ["f", "m", "f"], "seen": [2, 0, 3]}
    >>> people = Population.build(data, protected="sex", weights="seen", variables=["age"])
    >>> people.columns["age"].values.tolist(), people.weights.tolist(), people.total
    ([25.0, 61.0], [2.0, 3.0], 5.0)
    >>> print(*people.notes)
    dropped: 1 row of weight 0 was dropped
    """

    columns: Mapping[str, Column]
    weights: npt.NDArray[np.float64]
    protected: tuple[Protected, ...]
    notes: tuple[Note, ...] = ()
    kept: npt.NDArray[np.bool_] | None = None

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
        """How many rows there are, whatever their weights."""
        return len(self.weights)

    def having(self, variables: Sequence[str]) -> Population:
        """The same rows with some of the columns."""
        return replace(self, columns={name: self.columns[name] for name in variables})

    def taking(self, rows: npt.NDArray[np.bool_]) -> Population:
        """Some of the rows, given as a boolean mask.

        Examples
        --------
        >>> people = Population.build({"age": [25, 40, 61], "sex": list("fmf")}, protected="sex")
        >>> people.taking(np.array([True, False, True])).columns["age"].values.tolist()
        [25.0, 61.0]
        """
        if not rows.any():
            raise DataError("no rows are taken; take at least one")
        kept = np.ones(self.n_rows, dtype=np.bool_) if self.kept is None else self.kept.copy()
        kept[kept] = rows
        return replace(
            self,
            columns={name: column.take(rows) for name, column in self.columns.items()},
            weights=self.weights[rows],
            protected=tuple(replace(z, column=z.column.take(rows)) for z in self.protected),
            kept=kept,
        )

    @classmethod
    def build(
        cls,
        X: object,
        *,
        protected: object,
        weights: object = None,
        variables: Sequence[str] | None = None,
        names: Sequence[str] | None = None,
        missing_protected: Literal["refuse", "drop", "category"] = "refuse",
        threads: int = 1,
    ) -> Population:
        """Take rows, weights and protected attributes from data.

        Parameters
        ----------
        X : data frame, mapping or 2-D array
            See `Table.of`.
        protected : column name, sequence of names, mapping, or values
            A mapping goes from the attribute's name to a column name or to values. Bare values
            are called by their own name if they are a series that has one, else "protected".
        weights : column name or values, optional
            Without them every row counts once. Rows of weight 0 are dropped.
        variables : sequence of str, optional
            The columns that are wanted, by default all.
        names : sequence of str, optional
            Names for the columns of a NumPy array.
        missing_protected : {"refuse", "drop", "category"}
            What happens where a protected value is missing: an error, the row is dropped, or
            missing counts as a value of its own.
        threads : int
            How many threads may convert columns at the same time.
        """
        if missing_protected not in ("refuse", "drop", "category"):
            raise DataError(
                f'missing_protected is {missing_protected!r}; pass "refuse", "drop" or "category"'
            )
        table = Table.of(X, names)
        if table.n_rows == 0:
            raise DataError("the data has no rows; pass at least one")
        attributes = tuple(_attributes(table, protected))
        mass = _weights(table, weights)
        wanted = table.names if variables is None else _wanted(table, variables)
        columns = dict(zip(wanted, table.columns(wanted, threads), strict=True))

        keep = mass > 0
        notes: list[Note] = []
        if n_zero := table.n_rows - int(np.count_nonzero(keep)):
            notes.append(Note(NoteKind.DROPPED, f"{_rows(n_zero)} of weight 0 {_was(n_zero)}"))
        keep, missing_notes = _settle_missing(attributes, keep, missing_protected)
        notes += missing_notes
        if not keep.any():
            raise DataError(
                "no rows are left: a protected value is missing in each; "
                'pass missing_protected="category" to count missing as a value'
            )
        if not keep.all():
            columns = {name: column.take(keep) for name, column in columns.items()}
            attributes = tuple(Protected(a.name, a.column.take(keep), a.source) for a in attributes)
            mass = mass[keep]
        if mass.max() > _MOST_MASS or mass.min() < 1 / _MOST_MASS:
            raise DataError(
                f"weights reach from {mass.min():g} to {mass.max():g}, too far for exact sums; "
                "scale them, e.g. so that their mean is 1"
            )
        return cls(columns, mass, attributes, tuple(notes), None if keep.all() else keep)


def _wanted(table: Table, names: Sequence[str]) -> tuple[str, ...]:
    for name in names:
        if name not in table:
            raise DataError(
                f"the program needs the column {name!r} which the data lacks; {table.suggest(name)}"
            )
    return tuple(names)


def _attributes(table: Table, protected: object) -> Iterator[Protected]:
    seen: set[str] = set()
    for name, given in _requests(table, protected):
        if name in seen:
            raise DataError(
                f"the protected attribute {name!r} is given twice; name each once "
                "(to give values, pass a mapping such as {'sex': values})"
            )
        seen.add(name)
        if is_name(given):
            source = str(given)
            if source not in table:
                raise DataError(
                    f"the protected attribute {source!r} is not a column of the data; name a "
                    f"column or give values, as {{{source!r}: values}}; {table.suggest(source)}"
                )
            yield Protected(name, as_column(name, table.column(source)), source)
        else:
            yield Protected(name, table.beside(name, given), None)
    if not seen:
        raise DataError("no protected attribute is given; name a column, or give values")


def _requests(table: Table, protected: object) -> list[tuple[str, object]]:
    """Pair the name of each attribute with a column name or with values."""
    if protected is None:
        return []
    if is_name(protected):
        return [(str(protected), protected)]
    if isinstance(protected, Mapping):
        return [(str(name), given) for name, given in protected.items()]
    if isinstance(protected, list | tuple) and _are_names(table, protected):
        return [(str(name), name) for name in protected]
    if hasattr(protected, "columns"):
        raise DataError(
            "protected is a whole table; pass a mapping of names to its columns, "
            "such as {'sex': table['sex']}"
        )
    own = getattr(protected, "name", None)
    return [("protected" if own is None or own == "" else str(own), protected)]


def _are_names(table: Table, entries: Sequence[object]) -> bool:
    """Tell a list of column names from a list of values, which has one entry a row."""
    if not all(map(is_name, entries)):
        return False
    known = [str(entry) in table for entry in entries]
    if all(known) or len(entries) == 0:
        return True
    texts = all(isinstance(entry, str) for entry in entries)
    return texts and (any(known) or len(entries) != table.n_rows)


def is_name(given: object) -> TypeGuard[str | int]:
    """Whether this is the name of a column, not values."""
    return isinstance(given, str | int | np.integer) and not isinstance(given, bool)


def _weights(table: Table, weights: object) -> npt.NDArray[np.float64]:
    if weights is None:
        return np.ones(table.n_rows)
    if is_name(weights):
        if str(weights) not in table:
            raise DataError(
                f"weights: the data lacks the column {str(weights)!r}; name a column or give "
                f"values; {table.suggest(str(weights))}"
            )
        column, called = table.column(str(weights)), f"weights (column {str(weights)!r})"
    else:
        column, called = table.beside("weights", weights), "weights"
    if column.kind is not Kind.NUMBER:
        raise KindError(f"{called}: the values are of kind {column.kind}; pass numbers")
    values = column.values
    for wrong, what, advice in (
        (np.isnan(values), "missing", "fill them in, or drop these rows"),
        (np.isinf(values), "infinite", "pass finite weights"),
        (values < 0, "negative", "pass weights of 0 or more"),
    ):
        if wrong.any():
            raise DataError(f"{called}: {what} in {_which(wrong)}; {advice}")
    if not values.any():
        raise DataError(
            f"{called}: all {len(values)} are 0; give at least one row a weight above 0"
        )
    with np.errstate(over="ignore"):
        if not np.isfinite(values.sum()):
            raise DataError(f"{called}: their sum is too large for a float64; scale them down")
    return values


def _settle_missing(
    attributes: Sequence[Protected], keep: npt.NDArray[np.bool_], choice: str
) -> tuple[npt.NDArray[np.bool_], list[Note]]:
    """Say which rows stay, and what is to be told about missing protected values."""
    notes: list[Note] = []
    lacking: dict[str, npt.NDArray[np.bool_]] = {}
    for attribute in attributes:
        missing = attribute.column.is_missing & keep
        if missing.any():
            lacking[attribute.name] = missing
    if not lacking:
        return keep, notes
    if choice == "refuse":
        name, missing = next(iter(lacking.items()))
        raise DataError(
            f"the protected attribute {name!r} is missing in {_which(missing)}; "
            'pass missing_protected="drop" to leave these rows out, or '
            'missing_protected="category" to count missing as a value of its own'
        )
    if choice == "drop":
        dropped = np.logical_or.reduce(list(lacking.values()))
        count = int(dropped.sum())
        text = f"{_rows(count)} without a value of {' or '.join(map(repr, lacking))} {_was(count)}"
        return keep & ~dropped, [Note(NoteKind.DROPPED, text)]
    for name, missing in lacking.items():
        text = f"{name!r} is missing in {_rows(int(missing.sum()))}; missing counts as a value"
        notes.append(Note(NoteKind.MISSING, text))
    return keep, notes


def _rows(count: int) -> str:
    return f"{count} row{'s' * (count != 1)}"


def _was(count: int) -> str:
    return "was dropped" if count == 1 else "were dropped"


def _which(wrong: npt.NDArray[np.bool_]) -> str:
    """Count rows and give the first of their numbers, from 0."""
    numbers = np.flatnonzero(wrong).tolist()
    shown = ", ".join(map(str, numbers[:5])) + (", ..." if len(numbers) > 5 else "")
    return f"{_rows(len(numbers))} (number {shown}, counted from 0)"
