"""Load the data of an audit: rows that satisfy a condition, with protected attributes.

Protected attributes are often in a separate file with restricted access. It is joined by a key.
Only its key and the requested attributes are kept, and no message shows its values. Knows nothing
about models.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from proxyuse.data.population import Protected
from proxyuse.data.table import Table
from proxyuse.errors import DataError, FileError, ProxyUseError
from proxyuse.expressions import (
    derived_attribute,
    evaluate_expression,
    like_a_name,
    missing_in,
    named_expression,
    parse_expression,
)
from proxyuse.io.reading import Keys, TableSource, no_column, require
from proxyuse.io.table_files import open_table, read_table
from proxyuse.lang.kinds import BOOLEAN
from proxyuse.notes import (
    ConditionHolds,
    ConditionMissing,
    ConditionReadsMissing,
    Note,
    RowCount,
    TakenFromProtected,
    UnmatchedProtected,
)

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["LoadedData", "load_data", "read_table"]


@dataclass(frozen=True, eq=False)
class LoadedData:
    """The data of an audit.

    Attributes
    ----------
    frame : the rows with all columns; a model selects its columns by name.
    protected : for each protected attribute, a column of `frame`, one value per row, or an
        attribute that is derived from columns.
    target, weights : columns of `frame`, or None.
    n_read : the number of rows in the data file, before the condition applies.
    paths : the files that were read.
    sha256 : the hash of each file, by path.
    notes : notes on excluded rows, the join and missing values.
    """

    frame: pd.DataFrame
    protected: dict[str, Any]
    target: str | None
    weights: str | None
    n_read: int
    paths: tuple[Path, ...]
    sha256: dict[str, str]
    notes: tuple[Note, ...]

    @property
    def derived_from(self) -> set[str]:
        """The columns of `frame` that protected attributes are derived from."""
        derived = (z for z in self.protected.values() if isinstance(z, Protected))
        return {name for attribute in derived for name in attribute.sources}

    def values(self, name: str) -> pd.Series[Any]:
        """Return the values of a protected attribute, one per row."""
        attribute = self.protected[name]
        if isinstance(attribute, Protected):
            pandas = require("pandas", "reading protected attributes")
            values: pd.Series[Any] = pandas.Series(attribute.column.decode(), dtype=object)
            return values
        return self.frame[attribute] if isinstance(attribute, str) else attribute


def load_data(
    data: str | Path,
    *,
    protected: Sequence[str] | Mapping[str, str],
    target: str | None = None,
    weights: str | None = None,
    clusters: str | None = None,
    where: str | None = None,
    protected_data: str | Path | None = None,
    key: str | None = None,
    text: Collection[str] = (),
) -> LoadedData:
    r"""Read the data of an audit from files.

    Parameters
    ----------
    data : the file with the rows; see `read_table` for the formats.
    protected : the protected attributes: columns, or expressions such as ``over60: age > 60``. A
        mapping has a column or an expression for each name.
    target, weights, clusters : columns of `data`, optional.
    where : a condition in the language of proxyuse, optional
        Only rows of `data` that satisfy it are kept. It is never run as Python.
    protected_data : another file, optional
        Protected attributes come from this file, or from `data` if this file does not have them.
        Only the key and the attributes are kept. Other columns of a Parquet or Arrow file are not
        read at all.
    key : a column of both files with text or integers
        Joins the rows of the two files. Keys are compared as written: ``007`` is not ``7``. They
        are unique in `protected_data`. Several rows of `data` may have the same key, but every
        row needs a key that `protected_data` has.
    text : columns to read as text if `data` is a CSV file, even if they look numeric. LightGBM
        replaces spaces in names with ``_``, so such a name matches too.

    Raises
    ------
    FileError
        If a file cannot be read or has no such column, or if keys do not match. The message shows
        no values.
    DataError
        If the condition is invalid or does not fit the data.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     rows, people = Path(folder, "rows.csv"), Path(folder, "people.csv")
    ...     _ = rows.write_text("id,age\n7,31\n9,64\n8,25\n")
    ...     _ = people.write_text("id,faith\n9,b\n8,a\n7,a\n6,b\n")
    ...     loaded = load_data(
    ...         rows, protected=["faith"], where="age <= 50", protected_data=people, key="id"
    ...     )
    >>> loaded.frame["age"].to_list(), loaded.protected["faith"].to_list()
    ([31, 25], ['a', 'a'])
    >>> [type(note).__name__ for note in loaded.notes]
    ['ConditionHolds', 'UnmatchedProtected']
    """
    data = Path(data)
    _check_key(protected_data, key, _texts(protected).values())
    with open_table(data) as source:
        columns = {"target": target, "weights": weights, "clusters": clusters, "key": key}
        _check_columns(source, columns)
        requested = _requested(protected, source) if protected_data is None else ()
        texts = [name for name in source.names if {name, name.replace(" ", "_")} & {*text}]
        reading = source.read(key=key, text=texts)
    frame, keys, notes = reading.frame, reading.keys, [*reading.notes]
    files = {data: source.sha256}
    if where is not None:
        keep, where_notes = _satisfying(where, frame, data)
        frame = frame[keep].reset_index(drop=True)
        keys = None if keys is None else keys.take(keep)
        notes += where_notes
    separate: dict[str, pd.Series[Any]] = {}
    if protected_data is not None and key is not None and keys is not None:
        side = _Side(data, keys, tuple(frame.columns))
        joined = _join(side, Path(protected_data), key, protected)
        requested, separate = joined.requested, joined.values
        files[Path(protected_data)] = joined.sha256
        notes += joined.notes
    attributes = {each.name: _values(each, frame, separate) for each in requested}
    return LoadedData(
        frame=frame,
        protected=attributes,
        target=target,
        weights=weights,
        n_read=len(reading.frame),
        paths=tuple(files),
        sha256={str(path): digest for path, digest in files.items()},
        notes=tuple(notes),
    )


@dataclass(frozen=True, slots=True)
class _Requested:
    """A requested attribute: its name, its column or expression, and the columns that it needs."""

    name: str
    text: str
    columns: tuple[str, ...]

    @property
    def derived(self) -> bool:
        return self.columns != (self.text,)


def _requested(
    protected: Sequence[str] | Mapping[str, str], source: TableSource, more: Sequence[str] = ()
) -> tuple[_Requested, ...]:
    """Return the attributes; each text is a column of a table, or of `more`, or an expression."""
    known = {*source.names, *more}
    requested: dict[str, _Requested] = {}
    for name, text in _texts(protected).items():
        each = _Requested(name, text, (text,))
        if text not in known:
            if name == text:
                name, text = named_expression(text)
            each = _Requested(name, text, _columns(name, text, source, known))
        if each.name in requested:
            raise DataError(f"the protected attribute {each.name!r} appears twice; pass it once")
        requested[each.name] = each
    return tuple(requested.values())


def _texts(protected: Sequence[str] | Mapping[str, str]) -> dict[str, str]:
    if isinstance(protected, Mapping):
        return dict(protected)
    texts = (protected,) if isinstance(protected, str) else tuple(protected)
    if not texts:
        raise DataError("there is no protected attribute; pass at least one column")
    duplicates = [text for index, text in enumerate(texts) if text in texts[:index]]
    if duplicates:
        raise DataError(f"the protected attribute {duplicates[0]!r} appears twice; pass it once")
    return {text: text for text in texts}


def _columns(name: str, text: str, source: TableSource, known: Collection[str]) -> tuple[str, ...]:
    """Return the columns that an expression reads."""
    if text in known:
        raise DataError(
            f"the protected attribute {name!r} is the column {text!r}; pass {text!r}, because only "
            "expressions can have names of their own"
        )
    if like_a_name(text):
        raise no_column(source.path, text, source.names, "protected")
    subject = f"the protected attribute {name!r}: the expression"
    columns = parse_expression(text, subject).variables
    for column in columns:
        if column not in known:
            role = f"in the protected attribute {name!r}"
            raise no_column(source.path, column, source.names, role)
    return columns


def _values(
    requested: _Requested, frame: pd.DataFrame, separate: Mapping[str, pd.Series[Any]]
) -> Any:
    """Return the column of an attribute, its values, or the attribute that is derived."""
    if not requested.derived:
        return separate.get(requested.text, requested.text)
    columns = {name: separate if name in separate else frame for name in requested.columns}
    table = Table.of({name: source[name] for name, source in columns.items()})
    attribute = derived_attribute(table, requested.name, requested.text)
    assert attribute.derivation is not None
    sources = tuple(name for name in requested.columns if name not in separate)
    return replace(attribute, derivation=replace(attribute.derivation, sources=sources))


def _check_key(protected_data: object, key: str | None, names: Collection[str]) -> None:
    if protected_data is None and key is not None:
        raise DataError(
            f"there is a key ({key!r}), but no protected data to join; pass the file with the "
            "protected data, or omit the key"
        )
    if protected_data is not None and key is None:
        raise DataError(
            f"the protected data ({protected_data}) needs a key; pass a column of both files that "
            "identifies the rows"
        )
    if key in names:
        raise DataError(
            f"{key!r} is the key, so it cannot be a protected attribute; pass another column"
        )


def _check_columns(source: TableSource, roles: dict[str, str | None]) -> None:
    for role, name in roles.items():
        if name is not None and name not in source.names:
            raise no_column(source.path, name, source.names, role)


# The condition


def _satisfying(
    where: str, frame: pd.DataFrame, path: Path
) -> tuple[npt.NDArray[np.bool_], list[Note]]:
    """Return a mask of the rows that satisfy a condition, and notes on it."""
    program = parse_expression(where, "the condition")
    for name in program.variables:
        if name not in frame.columns:
            raise no_column(path, name, tuple(frame.columns), "in the condition")
    try:
        table = Table.of(frame)
        values, kind = evaluate_expression(program, table)
        if kind != BOOLEAN:
            raise DataError(f"expected true or false, got values of kind {kind}; add a comparison")
    except ProxyUseError as error:
        raise DataError(f"the condition {where} does not fit the data: {error}") from error
    keep = np.asarray(values == 1)
    count = int(keep.sum())
    if not count:
        raise DataError(f"none of {len(frame):,} rows satisfies the condition {where}; relax it")
    notes: list[Note] = [ConditionHolds(where, RowCount(count), len(frame))]
    unknown = np.isnan(values.astype(np.float64))
    if unknown.any():
        notes.append(ConditionMissing(RowCount(int(unknown.sum()))))
    incomplete = missing_in(table, program.variables) & ~unknown
    if incomplete.any():
        kept = RowCount(int((incomplete & keep).sum()))
        notes.append(ConditionReadsMissing(RowCount(int(incomplete.sum())), kept))
    return keep, notes


def _rows(count: int) -> str:
    return f"{count:,} row{'s' * (count != 1)}"


# Protected data in a file of its own


@dataclass(frozen=True, eq=False)
class _Side:
    """One of the two tables of a join."""

    path: Path
    keys: Keys
    names: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class _Joined:
    requested: tuple[_Requested, ...]
    values: dict[str, pd.Series[Any]]
    sha256: str
    notes: list[Note]


def _join(
    data: _Side, path: Path, key: str, protected: Sequence[str] | Mapping[str, str]
) -> _Joined:
    """Look up the columns of the protected attributes of each row in a separate file."""
    with open_table(path) as source:
        _check_columns(source, {"key": key})
        requested = _requested(protected, source, data.names)
        taken = _taken(source, [name for each in requested for name in each.columns], data)
        reading = source.read([key, *taken], key=key)
    assert reading.keys is not None  # they were requested
    indexes, notes = _matching_rows(data, _Side(path, reading.keys, source.names), key)
    values = reading.frame[taken].take(indexes).reset_index(drop=True)
    both = [name for name in taken if name in data.names]
    notes += [TakenFromProtected(name) for name in both]
    columns = {name: values[name] for name in taken}
    return _Joined(requested, columns, source.sha256, [*reading.notes, *notes])


def _taken(source: TableSource, names: Sequence[str], data: _Side) -> list[str]:
    """Return the columns that the restricted table has; the data must have the others."""
    taken = [name for name in dict.fromkeys(names) if name in source.names]
    for name in names:
        if name not in taken and (name not in data.names or not taken):
            raise no_column(source.path, name, source.names, "protected")
    return taken


def _matching_rows(
    data: _Side, restricted: _Side, key: str
) -> tuple[npt.NDArray[np.intp], list[Note]]:
    """Return the index of the restricted row for each row of the data, and notes."""
    if data.keys.typed and restricted.keys.typed and data.keys.kind != restricted.keys.kind:
        raise FileError(f"{_kinds(data, restricted, key)}; convert one of them")
    present = restricted.keys.texts.notna().to_numpy()
    known = restricted.keys.texts[present]
    repeated = known.duplicated(keep=False)
    if repeated.any():
        raise FileError(
            f"{restricted.path}: duplicate keys in column {key!r}: {known[repeated].nunique():,}, "
            f"in {_rows(int(repeated.sum()))} (not shown, because they are private); keep "
            "one row per key"
        )
    index = require("pandas", "matching keys").Index(known.astype(object))
    matches = index.get_indexer(data.keys.texts.astype(object))
    if (matches < 0).any():
        raise _unmatched(data, restricted, key, int((matches < 0).sum()))
    indexes = np.flatnonzero(present)[matches]
    n_rows = len(restricted.keys.texts)
    if unused := n_rows - len(np.unique(indexes)):
        return indexes, [UnmatchedProtected(RowCount(unused), n_rows)]
    return indexes, []


def _unmatched(data: _Side, restricted: _Side, key: str, count: int) -> FileError:
    n_rows, empty = len(data.keys.texts), int(data.keys.texts.isna().sum())
    message = f"{count:,} of {_rows(n_rows)} of {data.path} have no row in {restricted.path} with "
    message += f"the same {key!r}"
    if empty:
        message += f" ({empty:,} of them have no key)"
    if data.keys.kind != restricted.keys.kind:
        message += f"; {_kinds(data, restricted, key)}"
    return FileError(
        f"{message}; add the missing rows to {restricted.path.name}, or exclude these rows with a "
        "condition"
    )


def _kinds(data: _Side, restricted: _Side, key: str) -> str:
    return (
        f"the keys in column {key!r} are {data.keys.kind} in {data.path} and "
        f"{restricted.keys.kind} in {restricted.path}"
    )
