"""The data of an audit is put together from files: rows, a condition, protected attributes.

Protected attributes often live in a table of their own that few may read. It is joined here by a
key; only its key and the attributes that are asked for are kept, and no message shows a value of
it. This module knows nothing of models.
"""

from __future__ import annotations

from collections.abc import Sequence
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
    frame : the rows, with all columns; a model picks those it needs by name.
    protected : for each protected attribute its column in `frame`, or its values, one a row.
    target, weights : columns of `frame`, or None.
    n_read : how many rows the data file has, before the condition.
    paths : the files that were read.
    sha256 : the digest of each of them, by path.
    notes : what was left out, matched or taken for missing.
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
) -> LoadedData:
    r"""Read the data of an audit from files.

    Parameters
    ----------
    data : the file with the rows; see `read_table` for what it may be.
    protected : columns that hold the protected attributes.
    target, weights : columns of `data`, optional.
    where : condition in proxyuse's own language, optional
        Only rows of `data` that satisfy it stay. It reads columns of `data`, and is never run as
        Python.
    protected_data : another file, optional
        Protected attributes are taken from it, and from `data` only if it lacks them. Of its
        columns, only the key and the attributes are kept; a Parquet or Arrow file is not even
        asked for the others.
    key : a column of both files, text or whole numbers
        Says which row of `protected_data` belongs to a row of `data`. Keys are compared as they
        are written (``007`` is not ``7``); in a CSV file the column stays text. Each key stands
        in `protected_data` once; rows of `data` may share one, and each needs one that is there.

    Raises
    ------
    FileError
        If a file cannot be read or lacks a column, or keys do not match. No values are shown.
    DataError
        If the condition cannot be read or does not fit the data.

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
        reading = source.read(key=key)
    frame, keys, notes = reading.frame, reading.keys, [*reading.notes]
    attributes: dict[str, Any] = {name: name for name in names}
    files = {data: source.sha256}
    if where is not None:
        keep, told = _satisfying(where, frame, data)
        frame = frame[keep].reset_index(drop=True)
        keys = None if keys is None else keys.take(keep)
        notes += told
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
        raise DataError("no protected attribute is named; name at least one column")
    twice = [name for place, name in enumerate(names) if name in names[:place]]
    if twice:
        raise DataError(f"the protected attribute {twice[0]!r} is named twice; name it once")
    return names


def _check_key(protected_data: object, key: str | None, names: Sequence[str]) -> None:
    if protected_data is None and key is not None:
        raise DataError(
            f"there is a key ({key!r}) and no protected data that it belongs to; "
            "name the file of the protected data, or leave the key out"
        )
    if protected_data is not None and key is None:
        raise DataError(
            f"the protected data ({protected_data}) needs a key: name a column that both files "
            "have and that says which rows belong together"
        )
    if key in names:
        raise DataError(f"{key!r} is the key and cannot be a protected attribute as well")


def _check_columns(source: TableSource, roles: dict[str, str | None]) -> None:
    for role, name in roles.items():
        if name is not None and name not in source.names:
            raise no_column(source.path, name, source.names, role)


# The condition


def _satisfying(
    where: str, frame: pd.DataFrame, path: Path
) -> tuple[npt.NDArray[np.bool_], list[Note]]:
    """Which rows satisfy a condition, and what is to be told about it."""
    try:
        program = Program.parse(where)
    except ParseError as error:
        raise DataError(f"the condition cannot be read: {_shown(where, error)}") from error
    for name in program.variables:
        if name not in frame.columns:
            raise no_column(path, name, tuple(frame.columns), "in the condition")
    try:
        table = Table.of(frame)
        columns = [table.column(name) for name in program.variables]
        kind = Frame(columns).check(program.term)
        if kind != BOOLEAN:
            raise DataError(f"it is not true or false but of kind {kind}; compare it with a value")
        values = program.predict(table)
    except ProxyUseError as error:
        raise DataError(f"the condition {where} does not fit the data: {error}") from error
    keep = np.asarray(values == 1)
    count = int(keep.sum())
    if not count:
        raise DataError(f"no row of {len(frame):,} satisfies the condition {where}; widen it")
    notes: list[Note] = [ConditionHolds(where, RowCount(count), len(frame))]
    unknown = np.isnan(values.astype(np.float64))
    if unknown.any():
        notes.append(ConditionMissing(RowCount(int(unknown.sum()))))
    lacking = np.zeros(len(frame), dtype=np.bool_)
    for column in columns:
        lacking |= column.is_missing
    lacking &= ~unknown
    if lacking.any():
        kept = RowCount(int((lacking & keep).sum()))
        notes.append(ConditionReadsMissing(RowCount(int(lacking.sum())), kept))
    return keep, notes


def _shown(where: str, error: ParseError) -> str:
    """The error, and below it the line with a mark where reading stopped."""
    lines = where.splitlines()
    line = lines[error.line - 1] if error.line <= len(lines) else ""
    return f"{error}\n  {line}\n  {' ' * (error.column - 1)}^"


def _rows(count: int) -> str:
    return f"{count:,} row{'s' * (count != 1)}"


# Protected data in a file of its own


@dataclass(frozen=True, eq=False)
class _Side:
    """One of two tables that are joined."""

    path: Path
    keys: Keys
    names: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class _Joined:
    values: dict[str, pd.Series[Any]]
    sha256: str
    notes: list[Note]


def _join(data: _Side, path: Path, key: str, names: Sequence[str]) -> _Joined:
    """Look up the protected attributes of each row in a file of their own."""
    with open_table(path) as source:
        _check_columns(source, {"key": key})
        taken = _taken(source, names, data)
        reading = source.read([key, *taken], key=key)
    assert reading.keys is not None  # they were asked for
    place, notes = _places(data, _Side(path, reading.keys, source.names), key)
    values = reading.frame[taken].take(place).reset_index(drop=True)
    both = [name for name in taken if name in data.names]
    notes += [TakenFromProtected(name) for name in both]
    return _Joined({name: values[name] for name in taken}, source.sha256, [*reading.notes, *notes])


def _taken(source: TableSource, names: Sequence[str], data: _Side) -> list[str]:
    """The protected attributes that the restricted table has; the data must have the others."""
    taken = [name for name in names if name in source.names]
    for name in names:
        if name not in taken and (name not in data.names or not taken):
            raise no_column(source.path, name, source.names, "protected")
    return taken


def _places(data: _Side, restricted: _Side, key: str) -> tuple[npt.NDArray[np.intp], list[Note]]:
    """For each row of the data, the row of the restricted table with its key."""
    if data.keys.typed and restricted.keys.typed and data.keys.kind != restricted.keys.kind:
        raise FileError(f"{_kinds(data, restricted, key)}; make them the same")
    there = restricted.keys.texts.notna().to_numpy()
    known = restricted.keys.texts[there]
    repeated = known.duplicated(keep=False)
    if repeated.any():
        raise FileError(
            f"{restricted.path}: {known[repeated].nunique():,} of the keys in column {key!r} stand "
            f"in more than one row ({_rows(int(repeated.sum()))} in all; which is not shown, for "
            "they are private); leave one row for each key"
        )
    index = require("pandas", "matching keys").Index(known.astype(object))
    found = index.get_indexer(data.keys.texts.astype(object))
    if (found < 0).any():
        raise _unmatched(data, restricted, key, int((found < 0).sum()))
    place = np.flatnonzero(there)[found]
    n_all = len(restricted.keys.texts)
    if unused := n_all - len(np.unique(place)):
        return place, [UnmatchedProtected(RowCount(unused), n_all)]
    return place, []


def _unmatched(data: _Side, restricted: _Side, key: str, count: int) -> FileError:
    n_rows, empty = len(data.keys.texts), int(data.keys.texts.isna().sum())
    told = f"{count:,} of {_rows(n_rows)} of {data.path} have no row in {restricted.path} with "
    told += f"the same {key!r}"
    if empty:
        told += f" ({empty:,} of them have no key at all)"
    if data.keys.kind != restricted.keys.kind:
        told += f"; {_kinds(data, restricted, key)}"
    return FileError(
        f"{told}; add the rows that are lacking there, or leave these out with a condition "
        "(an empty cell there is another thing, which can be dropped or count as a value)"
    )


def _kinds(data: _Side, restricted: _Side, key: str) -> str:
    return (
        f"the keys in column {key!r} are {data.keys.kind} in {data.path} and "
        f"{restricted.keys.kind} in {restricted.path}"
    )
