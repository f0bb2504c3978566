"""Checks that a program predicts what its model predicts.

`check_translation` runs all checks for one fitted model and some rows. Authors of translators run
it on models of the new family. Every audit runs the first check on its rows.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from proxyuse.data.columns import Kind
from proxyuse.data.table import Table
from proxyuse.errors import DataError, TranslationError
from proxyuse.lang.evaluate import Array, evaluate
from proxyuse.lang.nodes import Argmax, Compare, Const, Ite, Precision, Relation, Term, Var
from proxyuse.models.jobs import in_this_process
from proxyuse.models.native_categories import with_categories
from proxyuse.models.registry import input_names, is_named, program_of, translation_of
from proxyuse.models.translation import SINGLE
from proxyuse.program import Frame, Program
from proxyuse.words import shortened


@dataclass(frozen=True, slots=True, eq=False)
class Agreement:
    """A comparison of a program's outputs with those of its model.

    Attributes
    ----------
    rows : the number of rows compared.
    by_rounding : the rows that differ only because their decision depends on rounding.
    wrong : all other rows that differ.
    """

    rows: int
    by_rounding: Array
    wrong: Array

    def require(self, what: str, file: str = "") -> None:
        """Raise an error that names the rows in which the program is wrong.

        `file` is the file that the model was loaded from, which may be damaged.
        """
        if len(self.wrong):
            shown = ", ".join(map(str, self.wrong[:5].tolist()))
            more = ", ..." if len(self.wrong) > 5 else ""
            damaged = f"{file} may be damaged, so save the model again; otherwise, " if file else ""
            raise TranslationError(
                f"the program differs from the {what} in {len(self.wrong)} of {self.rows} rows "
                f"(row {shown}{more}, counted from 0); {damaged}please report this with the "
                "versions of your libraries"
            )


def compare(
    program: Program, outputs: Array, expected: Array, frame: Frame, tolerance: float
) -> Agreement:
    """Compare a program's outputs with its model's on the rows of a frame."""
    expected = np.asarray(expected)
    if outputs.ndim == 1 and expected.size == len(outputs):  # some regressors return a column
        expected = expected.reshape(len(outputs))
    if expected.shape[:1] != outputs.shape[:1] or expected.ndim > outputs.ndim:
        raise TranslationError(
            "expected one prediction per row from the model, got an array of shape "
            f"{expected.shape} for {len(outputs)} rows; if it was loaded from a file, the file may "
            "be damaged"
        )
    if outputs.dtype == np.float64 and expected.dtype.kind in "fiub":
        numbers = expected.astype(np.float64)
        with np.errstate(invalid="ignore"):
            near = np.abs(outputs - numbers) <= tolerance * np.maximum(1.0, np.abs(numbers))
        equal = near | (np.isnan(outputs) & np.isnan(numbers))
        equal = equal.reshape(len(equal), -1).min(axis=1)
    else:
        pairs = zip(outputs.tolist(), expected.tolist(), strict=True)
        equal = np.array([label_text(a) == label_text(b) for a, b in pairs], dtype=np.bool_)
    differ = np.flatnonzero(~equal)
    close = margins(program, frame, differ) <= tolerance
    return Agreement(len(expected), differ[close], differ[~close])


def label_text(value: object) -> str:
    """The text of a label; 1, 1.0 and true have the same text."""
    if isinstance(value, bool | int | float):
        return repr(float(value))
    return str(value)


def margins(program: Program, frame: Frame, rows: Array) -> Array:
    """The relative distance of the final comparison from a tie; infinite if there is none."""
    decision: Term = program.term
    while isinstance(decision, Ite) and isinstance(decision.then, Const):
        decision = decision.guard
    if isinstance(decision, Compare) and decision.relation in (Relation.EQ, Relation.NE):
        decision = decision.left
    columns = {name: values[rows] for name, values in frame.arrays.items()}
    if len(rows) == 0 or isinstance(decision, Ite | Const | Var):
        return np.full(len(rows), np.inf)
    with np.errstate(all="ignore"):
        if isinstance(decision, Argmax):
            scores = np.sort(evaluate(decision.operand, columns, frame.vocabulary), axis=1)
            ahead, size = scores[:, -1] - scores[:, -2], np.abs(scores[:, -1])
        elif isinstance(decision, Compare):
            left = evaluate(decision.left, columns, frame.vocabulary)
            right = evaluate(decision.right, columns, frame.vocabulary)
            if left.dtype != np.float64 or right.dtype != np.float64:
                return np.full(len(rows), np.inf)
            ahead, size = np.abs(left - right), np.abs(right)
        else:
            return np.full(len(rows), np.inf)
        margin = ahead / np.maximum(1.0, size)
    return np.broadcast_to(np.where(np.isnan(margin), np.inf, margin), (len(rows),))


def model_rows(model: Any, X: Any, names: Sequence[str]) -> Any:
    """The rows for a model's `predict`: its columns, in its order, with names if it knows names."""
    table = Table.of(X, names)
    for name in names:
        if name not in table:
            raise DataError(
                f"the data has no column {name!r}, which the {type(model).__name__} reads; "
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
    """The predictions of a model; an XGBoost booster needs a DMatrix."""
    if type(model).__module__.startswith("xgboost") and type(model).__name__ == "Booster":
        names = None if hasattr(rows, "columns") else model.feature_names
        matrix = sys.modules["xgboost"].DMatrix
        return _answer(
            model,
            lambda: model.predict(matrix(rows, feature_names=names, enable_categorical=True)),
        )
    if not hasattr(model, "predict"):
        raise TranslationError(
            f"a {type(model).__name__} has no predict method, so its program cannot be checked; "
            "pass pu.translate(model) instead of the model"
        )
    return call_model(model, "predict", rows)


def call_model(model: Any, method: str, rows: Any) -> Array:
    """Call a method of a model on rows; an error of the model becomes a `DataError`."""
    return _answer(model, lambda: getattr(model, method)(rows))


def _answer(model: Any, call: Callable[[], Any]) -> Array:
    try:
        with in_this_process():
            return np.asarray(call())
    except Exception as error:  # whatever its library raises
        why = shortened(" ".join(str(error).split()), 300) or type(error).__name__
        raise DataError(
            f"the {type(model).__name__} cannot predict these rows ({why}); pass rows like those "
            "it was fitted on"
        ) from error


def exactness(rows: Any, tolerance: float) -> float:
    """The tolerance for a model's sums; libraries compute in float32 on float32 columns."""
    kinds = rows.dtypes if hasattr(rows, "columns") else [rows.dtype]
    return max(tolerance, SINGLE) if np.float32 in list(kinds) else tolerance


def check_translation(model: Any, X: Any, feature_names: Sequence[str] | None = None) -> Program:
    """Raise an error unless a fitted model is translated correctly.

    The program must predict what the model predicts, on these rows and on rows at and next to
    each threshold. Its text must parse back to an equal program, and its parts must have origins.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X = np.array([[1.0, 5.0], [2.0, 3.0], [3.0, 4.0], [4.0, 1.0]])
    >>> model = DecisionTreeClassifier().fit(X, [0, 0, 1, 1])
    >>> print(check_translation(model, X))
    lambda x0, x1 . float32: ite(x0 <= 2.5, 0, 1)
    """
    names = input_names(model, feature_names)
    translation = translation_of(model, names)
    program = program_of(translation, names)
    check_predictions(model, program, X, translation.tolerance)
    check_predictions(model, program, at_thresholds(program, X), translation.tolerance)
    if Program.parse(str(program)).term != program.term:
        raise TranslationError("the program's text does not parse back to an equal program")
    if not program.origins:
        raise TranslationError("the program has no origins; pass origins= to Translation")
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
    """Rows with a column at a threshold, or at one of its neighboring floats.

    Each threshold of a numeric column yields three rows, which are copied from X cyclically.
    """
    probes: list[tuple[str, float]] = []
    for term in dict.fromkeys(program.points.terms):
        match term:
            case Compare(_, Var(name), Const(float() as limit), precision) if np.isfinite(limit):
                kind = np.float32 if precision is Precision.FLOAT32 else np.float64
                with np.errstate(over="ignore"):
                    at = kind(limit)
                    beside = (np.nextafter(at, kind(-np.inf)), at, np.nextafter(at, kind(np.inf)))
                probes += [(name, float(number)) for number in beside if np.isfinite(number)]
    if not probes:
        return X
    count = len(X)
    indices = np.arange(len(probes)) % count
    if isinstance(X, np.ndarray):
        rows = X[indices].astype(np.result_type(X.dtype, np.float64), copy=True)
        for row, (name, number) in enumerate(probes):
            rows[row, program.inputs.index(name)] = number
        return rows
    frame = X.iloc[indices].reset_index(drop=True)
    for name in {name for name, _ in probes}:
        values = frame[name].astype(float).to_numpy(copy=True)
        for row, (column, number) in enumerate(probes):
            if column == name:
                values[row] = number
        frame[name] = values
    return frame
