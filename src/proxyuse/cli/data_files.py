"""Loads the data of an audit from files: rows, a condition, protected attributes.

Protected attributes often live in a separate, restricted table, which is joined by a key. Only the
key and the requested attributes are read from it, and no message shows one of its values.
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
from proxyuse.program import Frame, Program

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["LoadedData", "load_data", "read_table"]


@dataclass(frozen=True, eq=False)
class LoadedData:
    """The data of an audit.

    Attributes
    ----------
    frame : the rows with all columns. A model picks its columns by name.
    protected : for each protected attribute, its column in `frame` or one value per row.
    target, weights : columns of `frame`, or None.
    n_read : the number of rows in the data file, before the condition.
    paths : the files.
    sha256 : the digest of each file, by path.
    notes : which rows were dropped or matched, and which values count as missing.
    """

    frame: pd.DataFrame
    protected: dict[str, Any]
    target: str | None
    weights: str | None
    n_read: int
    paths: tuple[Path, ...]
    sha256: dict[str, str]
    notes: tuple[str, ...]


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
    r"""Load the data of an audit from files.

    Parameters
    ----------
    data : the file with the rows; see `read_table` for the formats.
    protected : the columns of the protected attributes.
    target, weights : columns of `data`, optional.
    where : condition in the language of programs, optional
        Only the rows of `data` that satisfy it are kept. It is never run as Python.
    protected_data : another file, optional
        Protected attributes come from this file, and from `data` only if this file lacks them.
        Other columns of this file are not kept; in a Parquet or Arrow file they are not even read.
    key : a column of both files, text or integers
        Joins the two files. Keys are compared as text (``007`` is not ``7``). Each key occurs once
        in `protected_data`. Every row of `data` needs a key that occurs there.
    text : columns that are text if `data` is a CSV file, whatever they look like. LightGBM
        replaces spaces in names with ``_``, so such a name matches too.

    Raises
    ------
    FileError
        If a file cannot be read or lacks a column, or keys do not match. No message shows values.
    DataError
        If the condition cannot be parsed or does not fit the data.

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
    >>> print(*loaded.notes, sep="\n")
    2 of 3 rows satisfy the condition age <= 50
    2 of 4 rows of the protected data match no row of the data and were ignored
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
        keep, condition_notes = _satisfying(where, frame, data)
        frame = frame[keep].reset_index(drop=True)
        keys = None if keys is None else keys.take(keep)
        notes += condition_notes
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
        raise DataError("protected: expected at least one column")
    repeated = [name for index, name in enumerate(names) if name in names[:index]]
    if repeated:
        raise DataError(f"protected: {repeated[0]!r} is given twice; pass it once")
    return names


def _check_key(protected_data: object, key: str | None, names: Sequence[str]) -> None:
    if protected_data is None and key is not None:
        raise DataError(
            f"the key {key!r} needs protected data to join; pass the file of the protected data, "
            "or remove the key"
        )
    if protected_data is not None and key is None:
        raise DataError(
            f"the protected data ({protected_data}) needs a key; pass a column that joins the two "
            "files"
        )
    if key in names:
        raise DataError(f"{key!r} is both the key and a protected attribute; remove it from one")


def _check_columns(source: TableSource, roles: dict[str, str | None]) -> None:
    for role, name in roles.items():
        if name is not None and name not in source.names:
            raise no_column(source.path, name, source.names, role)


# The condition


def _satisfying(
    where: str, frame: pd.DataFrame, path: Path
) -> tuple[npt.NDArray[np.bool_], list[str]]:
    """Return a mask of the rows that satisfy a condition, and notes on it."""
    try:
        program = Program.parse(where)
    except ParseError as error:
        raise DataError(f"the condition cannot be parsed: {_shown(where, error)}") from error
    for name in program.variables:
        if name not in frame.columns:
            raise no_column(path, name, tuple(frame.columns), "in the condition")
    try:
        table = Table.of(frame)
        columns = [table.column(name) for name in program.variables]
        kind = Frame(columns).check(program.term)
        if kind != BOOLEAN:
            raise DataError(f"expected true or false, got a {kind}; compare it with a value")
        values = program.predict(table)
    except ProxyUseError as error:
        raise DataError(f"the condition {where} does not fit the data: {error}") from error
    keep = np.asarray(values == 1)
    count = int(keep.sum())
    if not count:
        raise DataError(
            f"no row of {len(frame):,} satisfies the condition {where}; use a wider condition"
        )
    notes = [f"{count:,} of {_rows(len(frame))} satisfy the condition {where}"]
    unknown = np.isnan(values.astype(np.float64))
    if unknown.any():
        notes.append(f"in {_rows(int(unknown.sum()))}, the condition is missing; dropped")
    lacking = np.zeros(len(frame), dtype=np.bool_)
    for column in columns:
        lacking |= column.is_missing
    lacking &= ~unknown
    if lacking.any():
        notes.append(
            f"in {_rows(int(lacking.sum()))}, a value that the condition reads is missing, so a "
            f"comparison is false; {_rows(int((lacking & keep).sum()))} kept"
        )
    return keep, notes


def _shown(where: str, error: ParseError) -> str:
    """Return the error, the line, and a mark at the position of the error."""
    lines = where.splitlines()
    line = lines[error.line - 1] if error.line <= len(lines) else ""
    return f"{error}\n  {line}\n  {' ' * (error.column - 1)}^"


def _rows(count: int) -> str:
    return f"{count:,} row{'s' * (count != 1)}"


# Protected data in a separate file


@dataclass(frozen=True, eq=False)
class _Side:
    """One of the two joined tables."""

    path: Path
    keys: Keys
    names: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class _Joined:
    values: dict[str, pd.Series[Any]]
    sha256: str
    notes: list[str]


def _join(data: _Side, path: Path, key: str, names: Sequence[str]) -> _Joined:
    """Look up the protected attributes of each row in the restricted table."""
    with open_table(path) as source:
        _check_columns(source, {"key": key})
        attributes = _attributes(source, names, data)
        reading = source.read([key, *attributes], key=key)
    assert reading.keys is not None  # they were requested
    rows, notes = _matching_rows(data, _Side(path, reading.keys, source.names), key)
    values = reading.frame[attributes].take(rows).reset_index(drop=True)
    both = [name for name in attributes if name in data.names]
    notes += [
        f"{name!r} comes from the protected data; the data also has a column with that name"
        for name in both
    ]
    return _Joined(
        {name: values[name] for name in attributes}, source.sha256, [*reading.notes, *notes]
    )


def _attributes(source: TableSource, names: Sequence[str], data: _Side) -> list[str]:
    """Return the protected attributes in the restricted table. The data must have the others."""
    attributes = [name for name in names if name in source.names]
    for name in names:
        if name not in attributes and (name not in data.names or not attributes):
            raise no_column(source.path, name, source.names, "protected")
    return attributes


def _matching_rows(
    data: _Side, restricted: _Side, key: str
) -> tuple[npt.NDArray[np.intp], list[str]]:
    """Return, for each row of the data, the row of the restricted table with the same key."""
    if data.keys.typed and restricted.keys.typed and data.keys.kind != restricted.keys.kind:
        raise FileError(f"{_kinds(data, restricted, key)}; convert one of them")
    present = restricted.keys.texts.notna().to_numpy()
    known = restricted.keys.texts[present]
    repeated = known.duplicated(keep=False)
    if repeated.any():
        raise FileError(
            f"{restricted.path}: {known[repeated].nunique():,} keys in column {key!r} occur in "
            f"more than one row ({_rows(int(repeated.sum()))} in total; the keys are private and "
            "not shown); keep one row per key"
        )
    index = require("pandas", "matching keys").Index(known.astype(object))
    positions = index.get_indexer(data.keys.texts.astype(object))
    if (positions < 0).any():
        raise _unmatched(data, restricted, key, int((positions < 0).sum()))
    rows = np.flatnonzero(present)[positions]
    n_all = len(restricted.keys.texts)
    if unused := n_all - len(np.unique(rows)):
        match, were = ("matches", "was") if unused == 1 else ("match", "were")
        return rows, [
            f"{unused:,} of {_rows(n_all)} of the protected data {match} no row of the data and "
            f"{were} ignored"
        ]
    return rows, []


def _unmatched(data: _Side, restricted: _Side, key: str, count: int) -> FileError:
    n_rows, empty = len(data.keys.texts), int(data.keys.texts.isna().sum())
    message = f"{count:,} of {_rows(n_rows)} of {data.path} have no row in {restricted.path} with "
    message += f"the same {key!r}"
    if empty:
        message += f" ({empty:,} of them have no key)"
    if data.keys.kind != restricted.keys.kind:
        message += f"; {_kinds(data, restricted, key)}"
    return FileError(
        f"{message}; add the missing rows there, or exclude these rows with --where "
        "(a row with an empty protected value is enough; see --missing-protected)"
    )


def _kinds(data: _Side, restricted: _Side, key: str) -> str:
    return (
        f"the keys in column {key!r} are {data.keys.kind} in {data.path} and "
        f"{restricted.keys.kind} in {restricted.path}"
    )
