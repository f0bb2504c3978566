"""Expressions over the columns of a table: conditions on rows, and derived protected attributes.

An expression is a text in the language of programs, such as ``age > 60``. It is data: it is parsed
and evaluated on columns, and never run as Python.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from proxyuse.data.columns import Column, Kind, as_column
from proxyuse.data.population import Derivation, Protected
from proxyuse.data.table import Table
from proxyuse.errors import DataError, ParseError, ProxyUseError
from proxyuse.lang.evaluate import Array
from proxyuse.lang.kinds import BOOLEAN, CATEGORY, NUMBER
from proxyuse.program import Frame, Program


def like_a_name(text: str) -> bool:
    """Return whether a text is probably meant as the name of a column, not as an expression.

    Examples
    --------
    >>> like_a_name("marital-status"), like_a_name("age > 60")
    (True, False)
    """
    return re.fullmatch(r"[\w\s.\-/]*", text) is not None


def parse_expression(text: str, subject: str) -> Program:
    """Parse an expression; the error names its `subject` and marks the position.

    Examples
    --------
    >>> parse_expression("age > 60", "the condition").variables
    ('age',)
    >>> parse_expression("age >> 60", "the condition")
    Traceback (most recent call last):
        ...
    proxyuse.errors.DataError: the condition is invalid: line 1, column 6: expected ...
      age >> 60
           ^
    """
    try:
        return Program.parse(text)
    except ParseError as error:
        raise DataError(f"{subject} is invalid: {_marked(text, error)}") from error


def evaluate_expression(program: Program, table: Table) -> tuple[Array, str]:
    """Return the value of an expression in each row, and its kind. Linear in the rows."""
    columns = [table.column(name) for name in program.variables]
    kind = Frame(columns).check(program.term)
    return program.predict(table), kind


def missing_in(table: Table, names: Iterable[str]) -> npt.NDArray[np.bool_]:
    """Return the rows in which at least one of the columns is missing."""
    missing = np.zeros(table.n_rows, dtype=np.bool_)
    for name in names:
        missing |= table.column(name).is_missing
    return missing


def named_expression(text: str) -> tuple[str, str]:
    """Split a text such as ``over60: age > 60`` into a name and an expression.

    Without a name, the expression is its own name. A colon in quotes does not separate a name.

    Examples
    --------
    >>> named_expression("over60: age > 60"), named_expression("age > 60")
    (('over60', 'age > 60'), ('age > 60', 'age > 60'))
    >>> named_expression("job == 'a: b'")
    ("job == 'a: b'", "job == 'a: b'")
    """
    name, colon, expression = text.partition(":")
    named = colon and name.strip() and expression.strip() and not {*"'\"`"} & {*name}
    return (name.strip(), expression.strip()) if named else (text.strip(), text.strip())


def derived_attribute(table: Table, name: str, text: str) -> Protected:
    """Return the protected attribute that an expression defines. Linear in the rows.

    In a row in which one of its columns is missing, the attribute is missing.

    Parameters
    ----------
    table : the columns that the expression may read.
    name : the name of the attribute. If it is the text itself, the text may start with a name and
        a colon.
    text : the expression.

    Examples
    --------
    >>> people = Table.of({"age": [30, None, 70]})
    >>> attribute = derived_attribute(people, "over60", "age > 60")
    >>> attribute.column.decode(), attribute.derivation.columns
    ([False, None, True], ('age',))
    """
    if name == text:
        name, text = named_expression(text)
    attribute = f"the protected attribute {name!r}"
    try:
        program = parse_expression(text, f"{attribute}: the expression")
        for column in program.variables:
            if column not in table:
                raise DataError(
                    f"{attribute} is derived from {column!r}, but the data has no such column; "
                    f"{table.suggest(column)}"
                )
    except DataError:
        if like_a_name(text):
            raise not_a_column(text, table.suggest(text)) from None
        raise
    if not program.variables:
        raise DataError(
            f"{attribute}: the expression {text} reads no column; name a column, or compare one "
            "with a value"
        )
    try:
        values, kind = evaluate_expression(program, table)
    except ProxyUseError as error:
        raise DataError(
            f"{attribute}: the expression {text} does not fit the data: {error}"
        ) from error
    derived = _column(name, values, kind, missing_in(table, program.variables))
    sources = tuple(table.names[table.index_of(variable)] for variable in program.variables)
    return Protected(name, derived, None, Derivation(text, sources, sources))


def not_a_column(name: str, advice: str) -> DataError:
    """Return the error for a protected attribute that is neither a column nor an expression."""
    return DataError(
        f"the protected attribute {name!r} is not a column of the data; name a column or pass "
        f"{{{name!r}: values}}; {advice}"
    )


def _column(name: str, values: Array, kind: str, missing: npt.NDArray[np.bool_]) -> Column:
    if kind not in (BOOLEAN, NUMBER, CATEGORY):
        raise DataError(
            f"the protected attribute {name!r}: expected one number, category, or true or false "
            f"per row, got values of kind {kind}"
        )
    if not missing.any():
        return as_column(name, values)
    if kind == NUMBER:
        return as_column(name, np.where(missing, np.nan, values.astype(np.float64)))
    filled = values.astype(object)
    if kind == BOOLEAN:
        filled = np.array([value == 1 for value in values.tolist()], dtype=object)
    filled[missing] = None
    column = as_column(name, filled)
    if kind == BOOLEAN and column.kind is not Kind.BOOLEAN:  # missing in every row
        return Column(name, Kind.BOOLEAN, np.full(len(column), np.nan))
    return column


def _marked(text: str, error: ParseError) -> str:
    """Return the error, with the line and a mark at the position."""
    lines = text.splitlines()
    line = lines[error.line - 1] if error.line <= len(lines) else ""
    return f"{error}\n  {line}\n  {' ' * (error.column - 1)}^"
