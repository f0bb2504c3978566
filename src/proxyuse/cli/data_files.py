"""Load the data of an audit: rows that satisfy a condition, with protected attributes.

Protected attributes are often in a separate file with restricted access. It is joined by a key.
Only its key and the requested attributes are kept, and no message shows its values. Knows nothing
about models.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from proxyuse.data.table import Table
from proxyuse.errors import DataError, FileError, ParseError, ProxyUseError
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
from proxyuse.program import Frame, Program

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["LoadedData", "load_data", "read_table"]


@dataclass(frozen=True, eq=False)
class LoadedData:
    """The data of an audit.

    Attributes
    ----------
    frame : the rows with all columns; a model selects its columns by name.
    protected : for each protected attribute, a column of `frame` or one value per row.
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


def load_data(
    data: str | Path,
    *,
    protected: Sequence[str],
    target: str | None = None,
    weights: str | None = None,
    where: str | None = None,
    protected_data: str | Path | None = None,
    key: str | None = None,
    text: Collection[str] = (),
) -> LoadedData:
    r"""Read the data of an audit from files.

    Parameters
    ----------
    data : the file with the rows; see `read_table` for the formats.
    protected : the columns with the protected attributes.
    target, weights : columns of `data`, optional.
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
    data, names = Path(data), _names(protected)
    _check_key(protected_data, key, names)
    with open_table(data) as source:
        _check_columns(source, {"target": target, "weights": weights, "key": key})
        if protected_data is None:
            for name in names:
                _check_columns(source, {"protected": name})
        texts = [name for name in source.names if {name, name.replace(" ", "_")} & {*text}]
        reading = source.read(key=key, text=texts)
    frame, keys, notes = reading.frame, reading.keys, [*reading.notes]
    attributes: dict[str, Any] = {name: name for name in names}
    files = {data: source.sha256}
    if where is not None:
        keep, where_notes = _satisfying(where, frame, data)
        frame = frame[keep].reset_index(drop=True)
        keys = None if keys is None else keys.take(keep)
        notes += where_notes
    if protected_data is not None and key is not None and keys is not None:
        joined = _join(_Side(data, keys, tuple(frame.columns)), Path(protected_data), key, names)
        attributes |= joined.values
        files[Path(protected_data)] = joined.sha256
        notes += joined.notes
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


def _names(protected: Sequence[str]) -> tuple[str, ...]:
    names = (protected,) if isinstance(protected, str) else tuple(protected)
    if not names:
        raise DataError("there is no protected attribute; pass at least one column")
    duplicates = [name for index, name in enumerate(names) if name in names[:index]]
    if duplicates:
        raise DataError(f"the protected attribute {duplicates[0]!r} appears twice; pass it once")
    return names


def _check_key(protected_data: object, key: str | None, names: Sequence[str]) -> None:
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
    try:
        program = Program.parse(where)
    except ParseError as error:
        raise DataError(f"the condition is invalid: {_marked(where, error)}") from error
    for name in program.variables:
        if name not in frame.columns:
            raise no_column(path, name, tuple(frame.columns), "in the condition")
    try:
        table = Table.of(frame)
        columns = [table.column(name) for name in program.variables]
        kind = Frame(columns).check(program.term)
        if kind != BOOLEAN:
            raise DataError(f"expected true or false, got values of kind {kind}; add a comparison")
        values = program.predict(table)
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
    incomplete = np.zeros(len(frame), dtype=np.bool_)
    for column in columns:
        incomplete |= column.is_missing
    incomplete &= ~unknown
    if incomplete.any():
        kept = RowCount(int((incomplete & keep).sum()))
        notes.append(ConditionReadsMissing(RowCount(int(incomplete.sum())), kept))
    return keep, notes


def _marked(where: str, error: ParseError) -> str:
    """Return the error, with the line and a mark at the position."""
    lines = where.splitlines()
    line = lines[error.line - 1] if error.line <= len(lines) else ""
    return f"{error}\n  {line}\n  {' ' * (error.column - 1)}^"


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
    values: dict[str, pd.Series[Any]]
    sha256: str
    notes: list[Note]


def _join(data: _Side, path: Path, key: str, names: Sequence[str]) -> _Joined:
    """Look up the protected attributes of each row in a separate file."""
    with open_table(path) as source:
        _check_columns(source, {"key": key})
        taken = _taken(source, names, data)
        reading = source.read([key, *taken], key=key)
    assert reading.keys is not None  # they were requested
    indexes, notes = _matching_rows(data, _Side(path, reading.keys, source.names), key)
    values = reading.frame[taken].take(indexes).reset_index(drop=True)
    both = [name for name in taken if name in data.names]
    notes += [TakenFromProtected(name) for name in both]
    return _Joined({name: values[name] for name in taken}, source.sha256, [*reading.notes, *notes])


def _taken(source: TableSource, names: Sequence[str], data: _Side) -> list[str]:
    """Return the attributes that the restricted table has; the data must have the others."""
    taken = [name for name in names if name in source.names]
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
