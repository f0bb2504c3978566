"""Does a program say what its model says? The questions, for audits, tests and other packages.

`check_translation` is a suite for one fitted model and some rows; an author of a translator runs
it on models of the new family. An audit asks the first of its questions of the rows it is given.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from proxyuse.data.columns import Kind
from proxyuse.data.table import Table
from proxyuse.errors import DataError, TranslationError
from proxyuse.lang.evaluate import Array, evaluate
from proxyuse.lang.nodes import Argmax, Compare, Const, Ite, Precision, Relation, Term, Var
from proxyuse.models.model_terms import SINGLE
from proxyuse.models.native_categories import with_categories
from proxyuse.models.registry import body_of, input_names, is_named, program_of
from proxyuse.program import Frame, Program
from proxyuse.words import shortened


@dataclass(frozen=True, slots=True, eq=False)
class Agreement:
    """How a program's outputs lie to those of its model.

    Attributes
    ----------
    rows : how many were compared.
    by_rounding : those that differ, but whose decision hangs on the last digits of a sum.
    wrong : those that differ.
    """

    rows: int
    by_rounding: Array
    wrong: Array

    def require(self, what: str) -> None:
        """Raise an error that names the rows in which the program is wrong."""
        if len(self.wrong):
            shown = ", ".join(map(str, self.wrong[:5].tolist()))
            more = ", ..." if len(self.wrong) > 5 else ""
            raise TranslationError(
                f"the program says something else than the {what} in {len(self.wrong)} of "
                f"{self.rows} rows (number {shown}{more}, counted from 0); please report this, "
                "with the versions of the libraries"
            )


def compare(
    program: Program, found: Array, expected: Array, frame: Frame, tolerance: float
) -> Agreement:
    """Compare a program's outputs with its model's on the rows of a frame."""
    expected = np.asarray(expected)
    if found.ndim == 1:  # some regressors give a column
        expected = expected.reshape(len(found))
    if found.dtype == np.float64 and expected.dtype.kind in "fiub":
        numbers = expected.astype(np.float64)
        with np.errstate(invalid="ignore"):
            near = np.abs(found - numbers) <= tolerance * np.maximum(1.0, np.abs(numbers))
        equal = near | (np.isnan(found) & np.isnan(numbers))
        equal = equal.reshape(len(equal), -1).min(axis=1)
    else:
        pairs = zip(found.tolist(), expected.tolist(), strict=True)
        equal = np.array([_text(a) == _text(b) for a, b in pairs], dtype=np.bool_)
    differ = np.flatnonzero(~equal)
    close = margins(program, frame, differ) <= tolerance
    return Agreement(len(expected), differ[close], differ[~close])


def _text(value: object) -> str:
    """Labels by their text, numbers by their value: 1, 1.0 and true are one."""
    if isinstance(value, bool | int | float):
        return repr(float(value))
    return str(value)


def margins(program: Program, frame: Frame, rows: Array) -> Array:
    """How far from a tie the last comparison is, for some rows; infinite where there is none."""
    judge: Term = program.term
    while isinstance(judge, Ite) and isinstance(judge.then, Const):
        judge = judge.guard
    if isinstance(judge, Compare) and judge.relation in (Relation.EQ, Relation.NE):
        judge = judge.left
    columns = {name: values[rows] for name, values in frame.arrays.items()}
    if len(rows) == 0 or isinstance(judge, Ite | Const | Var):
        return np.full(len(rows), np.inf)
    with np.errstate(all="ignore"):
        if isinstance(judge, Argmax):
            scores = np.sort(evaluate(judge.operand, columns, frame.vocabulary), axis=1)
            ahead, size = scores[:, -1] - scores[:, -2], np.abs(scores[:, -1])
        elif isinstance(judge, Compare):
            left = evaluate(judge.left, columns, frame.vocabulary)
            right = evaluate(judge.right, columns, frame.vocabulary)
            if left.dtype != np.float64 or right.dtype != np.float64:
                return np.full(len(rows), np.inf)
            ahead, size = np.abs(left - right), np.abs(right)
        else:
            return np.full(len(rows), np.inf)
        found = ahead / np.maximum(1.0, size)
    return np.broadcast_to(np.where(np.isnan(found), np.inf, found), (len(rows),))


def model_rows(model: Any, X: Any, names: Sequence[str]) -> Any:
    """The rows as a model wants them: its columns, in its order, with names if it saw names."""
    table = Table.of(X, names)
    for name in names:
        if name not in table:
            raise DataError(
                f"the {type(model).__name__} needs the column {name!r} which the data lacks; "
                f"{table.suggest(name)}"
            )
    if isinstance(X, np.ndarray):
        return X if X.shape[1] == len(names) else X[:, [table.index_of(n) for n in names]]
    if hasattr(X, "loc") and hasattr(X, "iloc"):
        rows = X.iloc[:, [table.index_of(name) for name in names]]
    else:
        import pandas as pd

        columns = (table.column(name) for name in names)
        rows = pd.DataFrame(
            {c.name: c.decode() if c.kind is Kind.CATEGORY else c.values for c in columns}
        )
    named = (
        hasattr(model, "feature_names_in_") or type(model).__name__ == "Booster" or is_named(model)
    )
    return with_categories(model, rows) if named else rows.to_numpy()


def predictions(model: Any, rows: Any) -> Array:
    """What a model predicts; a native booster of XGBoost wants a matrix of its own."""
    if type(model).__module__.startswith("xgboost") and type(model).__name__ == "Booster":
        names = None if hasattr(rows, "columns") else model.feature_names
        matrix = sys.modules["xgboost"].DMatrix(rows, feature_names=names, enable_categorical=True)
        return np.asarray(model.predict(matrix))
    if not hasattr(model, "predict"):
        raise TranslationError(
            f"a {type(model).__name__} has no predict, so its program cannot be checked; "
            "translate it yourself and pass the program"
        )
    return asked(model, "predict", rows)


def asked(model: Any, method: str, rows: Any) -> Array:
    """What a method of a model says of rows; an error that tells why where it refuses them."""
    try:
        return np.asarray(getattr(model, method)(rows))
    except Exception as error:  # whatever its library raises
        why = shortened(" ".join(str(error).split()), 300) or type(error).__name__
        raise DataError(
            f"the {type(model).__name__} itself refuses these rows ({why}); give it rows such as "
            "it was fitted on, or leave these out"
        ) from error


def exactness(rows: Any, tolerance: float) -> float:
    """The tolerance for a model's sums: with columns of float32, libraries compute in it."""
    kinds = rows.dtypes if hasattr(rows, "columns") else [rows.dtype]
    return max(tolerance, SINGLE) if np.float32 in list(kinds) else tolerance


def check_translation(model: Any, X: Any, feature_names: Sequence[str] | None = None) -> Program:
    """Raise an error unless the program of a fitted model is what it should be.

    Asked is that it predicts what the model predicts on the given rows, and on rows at and next
    to each of its thresholds; that its text reads back as an equal program; and that it knows
    where its parts came from.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X = np.array([[1.0, 5.0], [2.0, 3.0], [3.0, 4.0], [4.0, 1.0]])
    >>> model = DecisionTreeClassifier().fit(X, [0, 0, 1, 1])
    >>> print(check_translation(model, X))
    lambda x0, x1 . float32: ite(x0 <= 2.5, 0, 1)
    """
    names = input_names(model, feature_names)
    body = body_of(model, names)
    program = program_of(body, names)
    check_predictions(model, program, X, body.tolerance)
    check_predictions(model, program, at_thresholds(program, X), body.tolerance)
    if Program.parse(str(program)).term != program.term:
        raise TranslationError("the program's text does not read back as an equal program")
    if not program.origins:
        raise TranslationError("the program does not know where its parts came from")
    return program


def check_predictions(model: Any, program: Program, X: Any, tolerance: float = 1e-9) -> Agreement:
    """Raise an error unless a program predicts what its model predicts."""
    table = Table.of(X, program.inputs)
    rows = model_rows(model, X, program.inputs)
    frame = Frame(table.column(name) for name in program.variables)
    expected = predictions(model, rows)
    agreement = compare(program, program.predict(X), expected, frame, exactness(rows, tolerance))
    agreement.require(type(model).__name__)
    return agreement


def at_thresholds(program: Program, X: Any) -> Any:
    """Rows of which some column is at a threshold, or next to it in the float type compared in.

    For each threshold of a column of numbers three rows, taken from X in turn.
    """
    wanted: list[tuple[str, float]] = []
    for term in dict.fromkeys(program.points.terms):
        match term:
            case Compare(_, Var(name), Const(float() as limit), precision) if np.isfinite(limit):
                kind = np.float32 if precision is Precision.FLOAT32 else np.float64
                with np.errstate(over="ignore"):
                    at = kind(limit)
                    beside = (np.nextafter(at, kind(-np.inf)), at, np.nextafter(at, kind(np.inf)))
                wanted += [(name, float(number)) for number in beside if np.isfinite(number)]
    if not wanted:
        return X
    count = len(X)
    chosen = np.arange(len(wanted)) % count
    if isinstance(X, np.ndarray):
        rows = X[chosen].astype(np.result_type(X.dtype, np.float64), copy=True)
        for row, (name, number) in enumerate(wanted):
            rows[row, program.inputs.index(name)] = number
        return rows
    frame = X.iloc[chosen].reset_index(drop=True)
    for name in {name for name, _ in wanted}:
        values = frame[name].astype(float).to_numpy(copy=True)
        for row, (own, number) in enumerate(wanted):
            if own == name:
                values[row] = number
        frame[name] = values
    return frame
