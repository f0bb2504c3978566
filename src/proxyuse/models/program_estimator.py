"""A scikit-learn estimator that runs a program.

A repaired model becomes such an estimator if its own class cannot express the repaired program. The
program is a parameter, stored as text. It can be read, a saved file contains only data, and a clone
predicts the same as the original. There is nothing to fit, so `fit` changes nothing, as in
`FrozenEstimator`.

This module imports scikit-learn, because the classes derive from its base classes. proxyuse imports
this module only when it is needed.
"""

from __future__ import annotations

import contextlib
import inspect
import math
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_array

from proxyuse.data.table import Table
from proxyuse.errors import DataError, LanguageError, ProxyUseError
from proxyuse.lang.build import const
from proxyuse.lang.evaluate import Array
from proxyuse.lang.nodes import (
    Add,
    And,
    Argmax,
    Call,
    Compare,
    Const,
    Ite,
    Lookup,
    Member,
    Mul,
    Not,
    Or,
    Term,
    Value,
    is_missing,
    sorted_values,
    value_text,
)
from proxyuse.models.registry import is_named
from proxyuse.program import Program


class _ProgramEstimator(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """The common base of the classifier and the regressor."""

    program: str | None
    named: bool

    def __sklearn_is_fitted__(self) -> bool:
        return self.program is not None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.target_tags.required = False
        return tags

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_parsed"}

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        description = "no program"
        with contextlib.suppress(NotFittedError, ProxyUseError):
            description = repr(self._read())[1:-1]
        return f"<{type(self).__name__}: {description}>"

    def _read(self) -> Program:
        """The program; its text is parsed once."""
        if not self.__sklearn_is_fitted__():
            raise NotFittedError(
                f"this {type(self).__name__} has no program; create one with "
                "proxyuse.program_estimator(program)"
            )
        text, program = self.__dict__.get("_parsed", (None, None))
        if text != self.program:
            program = Program.parse(str(self.program))
            self._parsed = (self.program, program)
        return program  # type: ignore[no-any-return]

    @property
    def n_features_in_(self) -> int:
        """The number of inputs of the program."""
        return len(_fitted_program(self).inputs)

    @property
    def feature_names_in_(self) -> Array:
        """The names of the inputs, if they are column names."""
        if not self.named:
            raise AttributeError("the original model was fitted without feature names")
        return np.array(_fitted_program(self).inputs, dtype=object)

    def fit(self, X: object, y: object = None, **fit_params: object) -> Any:
        """Check that X has the columns of the program, and change nothing.

        Parameters
        ----------
        X : rows
        y, **fit_params : ignored
        """
        program, table = self._table(X)
        for name in program.variables:
            if name not in table:
                table.column(name)  # raises the error for a missing column
        return self

    def _table(self, X: Any) -> tuple[Program, Table]:
        program = self._read()
        if isinstance(X, Mapping) or hasattr(X, "columns") or hasattr(X, "column_names"):
            table = Table.of(X)
            if self.named or all(name in table for name in program.variables):
                return program, table
            if len(table.names) == len(program.inputs):  # by position, as the model reads them
                columns = map(table.column, table.names)
                return program, Table.of(dict(zip(program.inputs, columns, strict=True)))
            return program, table
        if isinstance(X, list | tuple):
            X = np.array(X, dtype=object)  # each value keeps its type
        array = check_array(X, dtype=None, ensure_min_samples=0, **_allow_missing())
        if array.shape[1] != len(program.inputs):
            raise ValueError(  # scikit-learn's own message
                f"X has {array.shape[1]} features, but {type(self).__name__} is expecting "
                f"{len(program.inputs)} features as input"
            )
        if self.named:
            warnings.warn(
                f"X does not have valid feature names, but {type(self).__name__} was fitted with "
                "feature names",
                UserWarning,
                stacklevel=3,
            )
        return program, Table.of(array, program.inputs)

    def _outputs(self, X: object) -> Array:
        program, table = self._table(X)
        return program.predict(table)


class ProgramClassifier(ClassifierMixin, _ProgramEstimator):  # type: ignore[misc]
    """A classifier that predicts the output of a program.

    Parameters
    ----------
    program : the text of the program.
    classes : the labels it can predict, in the order of `classes_`.
    named : whether its inputs are column names. If not, they are numbered.
    """

    def __init__(
        self, program: str | None = None, classes: object = None, named: bool = True
    ) -> None:
        self.program = program
        self.classes = classes
        self.named = named

    def __sklearn_is_fitted__(self) -> bool:
        return self.program is not None and self.classes is not None

    @property
    def classes_(self) -> Array:
        """The labels."""
        if self.classes is None:
            raise AttributeError("without a program there are no classes")
        return np.asarray(self.classes)

    def predict(self, X: object) -> Array:
        """Predict the label of each row.

        Parameters
        ----------
        X : data frame, mapping of columns, or 2-D array
            Columns are matched by name, or by position if X is an array.
        """
        outputs = self._outputs(X)
        classes = self.classes_
        if outputs.ndim != 1:
            raise DataError("the program returns several numbers per row, not one label")
        index_of = {value_text(const(label).value): i for i, label in enumerate(classes)}
        distinct, codes = _distinct(outputs)
        indices = [index_of.get(value_text(const(value).value), -1) for value in distinct]
        if -1 in indices:
            unknown = indices.index(-1)
            row = int(np.flatnonzero(codes == unknown)[0])
            raise DataError(
                f"row {row} (counted from 0): expected one of the classes {', '.join(index_of)}, "
                f"got {value_text(const(distinct[unknown]).value)}"
            )
        predicted: Array = classes[np.array(indices, dtype=np.intp)[codes]]
        return predicted


class ProgramRegressor(RegressorMixin, _ProgramEstimator):  # type: ignore[misc]
    """A regressor that predicts the output of a program.

    Parameters
    ----------
    program : the text of the program.
    named : whether its inputs are column names. If not, they are numbered.
    """

    def __init__(self, program: str | None = None, named: bool = True) -> None:
        self.program = program
        self.named = named

    def predict(self, X: object) -> Array:
        """Predict a number for each row, NaN if it is missing.

        Parameters
        ----------
        X : data frame, mapping of columns, or 2-D array
            Columns are matched by name, or by position if X is an array.
        """
        outputs = self._outputs(X)
        if outputs.dtype == object:
            raise DataError("the program returns categories; a regressor needs numbers")
        return outputs.astype(np.float64, copy=False)


def program_estimator(
    program: Program, model: object | None = None
) -> ProgramClassifier | ProgramRegressor:
    """Create a scikit-learn estimator that runs a program.

    Parameters
    ----------
    program : Program
    model : the model that the program was translated from, if any. The estimator keeps the type of
        its labels (integers stay integers) and its feature names.

    Returns
    -------
    ProgramClassifier or ProgramRegressor
        A fitted estimator, which can be cloned, pickled, and used in pipelines and
        cross-validation. It is a classifier if the model is one. Without a model, it is a
        classifier if the program returns only categories, booleans or integers.

    Examples
    --------
    >>> estimator = program_estimator(Program.parse("ite(age <= 30, 0, 1)"))
    >>> estimator
    <ProgramClassifier: Program of 1 inputs: 6 nodes>
    >>> estimator.classes_, estimator.predict({"age": [25, 60]})
    (array([0, 1]), array([0, 1]))
    """
    text, named = str(program), model is None or is_named(model)
    values = possible_outputs(program.term)
    labels = getattr(model, "classes_", None)
    regresses = labels is None and model is not None and _is_regressor(model)
    if regresses or any(isinstance(leaf, Add | Mul | Call) for leaf in _leaves(program.term)):
        return ProgramRegressor(text, named)
    if labels is not None and np.ndim(labels) == 1:
        known = {value_text(const(label).value) for label in labels}
        if values is None or all(value_text(v) in known or is_missing(v) for v in values):
            return ProgramClassifier(text, np.array(labels), named)
    if values is None and any(map(_has_categories, _leaves(program.term))):
        raise LanguageError(
            "the categories that this program can return depend on the data, so its classes are "
            "unknown; write them as constants in its branches"
        )
    classes = None if values is None else _classes(values)
    if classes is None:
        return ProgramRegressor(text, named)
    return ProgramClassifier(text, classes, named)


def possible_outputs(term: Term) -> list[Value] | None:
    """The constants that a term can return, sorted; None if it computes its output.

    Examples
    --------
    >>> possible_outputs(Program.parse("ite(age <= 30, 'b', ite(sex == 'F', 'a', 'b'))").term)
    ['a', 'b']
    """
    outputs: dict[str, Value] = {}
    for leaf in _leaves(term):
        match leaf:
            case Const(value):
                values: tuple[Value, ...] = (value,)
            case Argmax(_, labels) if labels:
                values = labels
            case Lookup(_, entries, default):
                values = (*(value for _, value in entries), default)
            case Compare() | Member() | And() | Or() | Not():
                values = (False, True)
            case _:
                return None
        outputs.update({value_text(value): value for value in values})
    return sorted_values(outputs.values())


def _leaves(term: Term) -> list[Term]:
    """The leaves of nested tests."""
    leaves: list[Term] = []
    stack, seen = [term], set()
    while stack:
        part = stack.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        if isinstance(part, Ite):
            stack += [part.otherwise, part.then]
        else:
            leaves.append(part)
    return leaves


def _has_categories(term: Term) -> bool:
    """Whether a term can return a category that it contains."""
    return any(isinstance(value, str) for value in possible_outputs(term) or ())


def _classes(values: list[Value]) -> Array | None:
    """The labels of a program without a model, or None if its outputs are real numbers."""
    present = [value for value in values if not is_missing(value)]
    kinds = {type(value) for value in present}
    if kinds == {str}:
        return np.array(present, dtype=object)  # NumPy's string type drops a trailing "\0"
    if kinds == {bool}:
        return np.array(present)
    numbers = [value for value in present if isinstance(value, float)]
    if kinds != {float} or not all(math.isfinite(v) and v == int(v) for v in numbers):
        return None
    if max(map(abs, numbers)) >= 2**53:
        return None
    return np.unique(np.array(numbers).astype(np.int64))  # -0 and 0 are the same label


def _is_regressor(model: object) -> bool:
    with contextlib.suppress(AttributeError, TypeError):  # not a scikit-learn model
        return bool(is_regressor(model))
    return False


def _distinct(outputs: Array) -> tuple[list[Any], Array]:
    """The distinct values, and the index of each row's value."""
    if outputs.dtype != object:
        values, codes = np.unique(outputs, return_inverse=True)
        return values.tolist(), codes
    index_of: dict[Any, int] = {}
    indices = [index_of.setdefault(value, len(index_of)) for value in outputs]
    return list(index_of), np.array(indices, dtype=np.intp)


def _allow_missing() -> dict[str, Any]:
    """The argument of `check_array` that allows NaN and infinity; scikit-learn renamed it."""
    known = inspect.signature(check_array).parameters
    name = "ensure_all_finite" if "ensure_all_finite" in known else "force_all_finite"
    return {name: False}


def _fitted_program(estimator: _ProgramEstimator) -> Program:
    """The program, for attributes that exist only on a fitted estimator."""
    if not estimator.__sklearn_is_fitted__():
        raise AttributeError("without a program there are no inputs")
    return estimator._read()
