"""An estimator of scikit-learn that runs a program.

It is what a repaired model becomes where its own family cannot hold the repaired program. The
program is a parameter, as text: it can be read, a file of it is data, and a clone is as good as
the original. There is nothing to fit, so `fit` changes nothing, as with a `FrozenEstimator`.

The classes derive from scikit-learn's, so this module imports it; nothing of proxyuse imports
this module before it is needed.
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
    """What both kinds share."""

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
        told = "no program"
        with contextlib.suppress(NotFittedError, ProxyUseError):
            told = repr(self._read())[1:-1]
        return f"<{type(self).__name__}: {told}>"

    def _read(self) -> Program:
        """The program; its text is read once."""
        if not self.__sklearn_is_fitted__():
            raise NotFittedError(
                f"this {type(self).__name__} has no program; make one with "
                "proxyuse.program_estimator(program)"
            )
        text, program = self.__dict__.get("_parsed", (None, None))
        if text != self.program:
            program = Program.parse(str(self.program))
            self._parsed = (self.program, program)
        return program  # type: ignore[no-any-return]

    @property
    def n_features_in_(self) -> int:
        """How many inputs the program has."""
        return len(_fitted_program(self).inputs)

    @property
    def feature_names_in_(self) -> Array:
        """The inputs' names, if they are those of columns."""
        if not self.named:
            raise AttributeError("the program was made from a model that saw no names")
        return np.array(_fitted_program(self).inputs, dtype=object)

    def fit(self, X: object, y: object = None, **fit_params: object) -> Any:
        """Change nothing: the program is given. X must have the columns it needs.

        Parameters
        ----------
        X : rows
        y, **fit_params : ignored
        """
        program, table = self._table(X)
        for name in program.variables:
            if name not in table:
                table.column(name)  # which says what is missing
        return self

    def _table(self, X: Any) -> tuple[Program, Table]:
        program = self._read()
        if isinstance(X, Mapping) or hasattr(X, "columns") or hasattr(X, "column_names"):
            table = Table.of(X)
            if self.named or all(name in table for name in program.variables):
                return program, table
            if len(table.names) == len(program.inputs):  # by place, as the model took them
                columns = map(table.column, table.names)
                return program, Table.of(dict(zip(program.inputs, columns, strict=True)))
            return program, table
        if isinstance(X, list | tuple):
            X = np.array(X, dtype=object)  # each value keeps its kind
        array = check_array(X, dtype=None, ensure_min_samples=0, **_with_missing())
        if array.shape[1] != len(program.inputs):
            raise ValueError(  # in scikit-learn's words
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
    """A classifier that says what a program says.

    Parameters
    ----------
    program : the program's text.
    classes : the labels it may say, in the order of `classes_`.
    named : whether its inputs have the names of columns, or were numbered.
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
            raise AttributeError("there is no program and so there are no classes")
        return np.asarray(self.classes)

    def predict(self, X: object) -> Array:
        """What the program says of each row, as one of the labels.

        Parameters
        ----------
        X : data frame, mapping of columns, or 2-D array
            Columns are found by name; those of an array by position among the inputs.
        """
        outputs = self._outputs(X)
        classes = self.classes_
        if outputs.ndim != 1:
            raise DataError("the program says several numbers a row; a classifier says one label")
        places = {value_text(const(label).value): i for i, label in enumerate(classes)}
        distinct, codes = _distinct(outputs)
        found = [places.get(value_text(const(value).value), -1) for value in distinct]
        if -1 in found:
            said = value_text(const(distinct[found.index(-1)]).value)
            row = int(np.flatnonzero(codes == found.index(-1))[0])
            raise DataError(
                f"of row {row} (counted from 0) the program says {said}, which is not among the "
                f"classes {', '.join(places)}"
            )
        chosen: Array = classes[np.array(found, dtype=np.intp)[codes]]
        return chosen


class ProgramRegressor(RegressorMixin, _ProgramEstimator):  # type: ignore[misc]
    """A regressor that says what a program says.

    Parameters
    ----------
    program : the program's text.
    named : whether its inputs have the names of columns, or were numbered.
    """

    def __init__(self, program: str | None = None, named: bool = True) -> None:
        self.program = program
        self.named = named

    def predict(self, X: object) -> Array:
        """The number that the program says of each row, NaN where it is missing.

        Parameters
        ----------
        X : data frame, mapping of columns, or 2-D array
            Columns are found by name; those of an array by position among the inputs.
        """
        outputs = self._outputs(X)
        if outputs.dtype == object:
            raise DataError("the program says words, and a regressor says numbers")
        return outputs.astype(np.float64, copy=False)


def program_estimator(
    program: Program, model: object | None = None
) -> ProgramClassifier | ProgramRegressor:
    """Make an estimator with the interface of scikit-learn that runs a program.

    Parameters
    ----------
    program : Program
    model : the model that the program was made from, if any. Its labels are kept (whole numbers
        stay whole), and whether it saw names.

    Returns
    -------
    ProgramClassifier or ProgramRegressor
        Fitted. It can be cloned, pickled, and used in pipelines and cross-validation. A classifier
        where the model is one, or where there is none and the program chooses among words, truth
        values or whole numbers.

    Examples
    --------
    >>> made = program_estimator(Program.parse("ite(age <= 30, 0, 1)"))
    >>> made
    <ProgramClassifier: Program of 1 inputs: 6 nodes>
    >>> made.classes_, made.predict({"age": [25, 60]})
    (array([0, 1]), array([0, 1]))
    """
    text, named = str(program), model is None or is_named(model)
    values = possible_outputs(program.term)
    labels = getattr(model, "classes_", None)
    numbers = labels is None and model is not None and _says_numbers(model)
    if numbers or any(isinstance(leaf, Add | Mul | Call) for leaf in _leaves(program.term)):
        return ProgramRegressor(text, named)
    if labels is not None and np.ndim(labels) == 1:
        known = {value_text(const(label).value) for label in labels}
        if values is None or all(value_text(v) in known or is_missing(v) for v in values):
            return ProgramClassifier(text, np.array(labels), named)
    if values is None and any(map(_is_word, _leaves(program.term))):
        raise LanguageError(
            "which words this program may say depends on the data, so its classes are not known; "
            "write them as constants into its branches"
        )
    classes = None if values is None else _classes(values)
    if classes is None:
        return ProgramRegressor(text, named)
    return ProgramClassifier(text, classes, named)


def possible_outputs(term: Term) -> list[Value] | None:
    """The constants that a term may say, sorted; None if it computes what it says.

    Examples
    --------
    >>> possible_outputs(Program.parse("ite(age <= 30, 'b', ite(sex == 'F', 'a', 'b'))").term)
    ['a', 'b']
    """
    found: dict[str, Value] = {}
    for leaf in _leaves(term):
        match leaf:
            case Const(value):
                said: tuple[Value, ...] = (value,)
            case Argmax(_, labels) if labels:
                said = labels
            case Lookup(_, entries, default):
                said = (*(value for _, value in entries), default)
            case Compare() | Member() | And() | Or() | Not():
                said = (False, True)
            case _:
                return None
        found.update({value_text(value): value for value in said})
    return sorted_values(found.values())


def _leaves(term: Term) -> list[Term]:
    """What stands at the ends of nested tests."""
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


def _is_word(term: Term) -> bool:
    """Whether a term may say a word that stands in it."""
    return any(isinstance(value, str) for value in possible_outputs(term) or ())


def _classes(values: list[Value]) -> Array | None:
    """The labels of a program without a model, None if they are no labels but measured numbers."""
    present = [value for value in values if not is_missing(value)]
    kinds = {type(value) for value in present}
    if kinds == {str}:
        return np.array(present, dtype=object)  # NumPy's own texts lose a last "\0"
    if kinds == {bool}:
        return np.array(present)
    numbers = [value for value in present if isinstance(value, float)]
    if kinds != {float} or not all(math.isfinite(v) and v == int(v) for v in numbers):
        return None
    if max(map(abs, numbers)) >= 2**53:
        return None
    return np.unique(np.array(numbers).astype(np.int64))  # -0 and 0 are one label


def _says_numbers(model: object) -> bool:
    with contextlib.suppress(AttributeError, TypeError):  # a model of another library
        return bool(is_regressor(model))
    return False


def _distinct(outputs: Array) -> tuple[list[Any], Array]:
    """The values that occur, and for each row its place among them."""
    if outputs.dtype != object:
        values, codes = np.unique(outputs, return_inverse=True)
        return values.tolist(), codes
    places: dict[Any, int] = {}
    codes = np.array([places.setdefault(value, len(places)) for value in outputs], dtype=np.intp)
    return list(places), codes


def _with_missing() -> dict[str, Any]:
    """How scikit-learn is told to let NaN and infinity pass; the name has changed."""
    known = inspect.signature(check_array).parameters
    name = "ensure_all_finite" if "ensure_all_finite" in known else "force_all_finite"
    return {name: False}


def _fitted_program(estimator: _ProgramEstimator) -> Program:
    """The program, for attributes that only a fitted estimator has."""
    if not estimator.__sklearn_is_fitted__():
        raise AttributeError("there is no program and so there are no inputs")
    return estimator._read()
