"""What a deployed model says about some rows: its decisions, and the probabilities behind them.

A model answers through its own methods: `predict`, and `predict_proba` or `decision_function` where
it has them. The number that a booster predicts is its probability of the second class, 1. A program
answers with its outputs. It has probabilities only if it compares or returns them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from proxyuse.data.table import Table
from proxyuse.decision import Decision, Positive, Threshold, TopK
from proxyuse.errors import DataError
from proxyuse.lang.evaluate import Array
from proxyuse.lang.nodes import Argmax, Compare, Const, Ite, Relation, Term, Value, Var
from proxyuse.models.audited_model import columns_read
from proxyuse.models.checks import call_model, model_rows, predictions
from proxyuse.models.decisions import NO_PROBABILITIES, class_index_of, kth_largest
from proxyuse.models.translation import labels
from proxyuse.program import Frame, Program
from proxyuse.repairing.utility import scores_of

BOTH: tuple[Value, Value] = (False, True)


@dataclass(frozen=True, slots=True, eq=False)
class Answers:
    """What a model says about some rows.

    Attributes
    ----------
    outputs : the decision or the number for each row.
    classes : the classes that the scores belong to; empty without scores.
    scores : the score of each class, by row; larger for more likely. None without scores.
    shares : the probability of each class, by row. None without probabilities.
    """

    outputs: Array
    classes: tuple[Value, ...] = ()
    scores: Array | None = None
    shares: Array | None = None


def answers_of(
    model: Any, X: Any, decision: Decision | None = None, names: Sequence[str] | None = None
) -> Answers:
    """What a model or a program says about some rows.

    Parameters
    ----------
    model : a fitted estimator, a booster, or a program.
    X : the rows, as the model takes them.
    decision : as for `audit`. The cut of a `TopK` is that of these rows.
    names : the columns that the model reads, if it was fitted without column names.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X = np.array([[1.0], [2.0], [2.0], [3.0]])
    >>> model = DecisionTreeClassifier().fit(X, ["no", "no", "yes", "yes"])
    >>> answers = answers_of(model, X, Threshold(0.5))
    >>> answers.outputs.tolist(), answers.shares[:, 1].tolist()
    (['no', 'yes', 'yes', 'yes'], [0.0, 0.5, 0.5, 1.0])
    """
    if isinstance(model, Program):
        if decision is not None:
            raise DataError("decision= applies to models only; make it part of the program")
        return _program_answers(model, X)
    rows = model_rows(model, X, columns_read(model, X) if names is None else names)
    outputs = predictions(model, rows)
    classes = labels(getattr(model, "classes_", ()))
    if not classes:
        plain = _of_numbers(outputs) if type(model).__name__ == "Booster" else Answers(outputs)
        return plain if decision is None else _reaching(outputs, plain, decision)
    scores, shares = _class_scores(model, rows, len(classes))
    plain = Answers(outputs, () if scores is None else classes, scores, shares)
    return plain if decision is None else _decided(plain, classes, decision)


def _class_scores(model: Any, rows: Any, count: int) -> tuple[Array | None, Array | None]:
    """The scores and the probabilities of the classes, where a classifier has them."""
    if hasattr(model, "predict_proba"):
        shares = call_model(model, "predict_proba", rows).astype(np.float64)
        return shares, shares
    if hasattr(model, "decision_function"):
        scores = call_model(model, "decision_function", rows).astype(np.float64)
        scores = _against(scores, 0.0) if scores.ndim == 1 else scores
        if scores.shape[1] == count:  # not one score per pair of classes
            return scores, None
    return None, None


def _of_numbers(outputs: Array) -> Answers:
    """The answers of a booster or a program that returns numbers."""
    numbers = outputs.astype(np.float64)
    if numbers.ndim == 2:
        classes = labels(range(numbers.shape[1]))
        shares = numbers if _are_shares(numbers) else None
        return Answers(np.argmax(numbers, axis=1).astype(np.float64), classes, numbers, shares)
    if np.isin(numbers, (0.0, 1.0)).all():  # labels
        return Answers(numbers)
    probable = bool(np.all((numbers >= 0) & (numbers <= 1)))
    shares = _against(numbers, 1.0) if probable else None
    return Answers(numbers, (0.0, 1.0), _against(numbers, 0.0), shares)


def _are_shares(numbers: Array) -> bool:
    return bool(np.all(numbers >= 0) and np.allclose(numbers.sum(axis=1), 1.0, atol=1e-4))


def _against(second: Array, whole: float) -> Array:
    """The numbers of two classes that add up to a whole."""
    return np.column_stack([whole - second, second])


# Decisions


def _reaching(numbers: Array, plain: Answers, decision: Decision) -> Answers:
    """Whether a predicted number reaches a threshold, or is among the largest."""
    match decision:
        case Threshold(cut, None):
            pass
        case TopK(k, None):
            cut = kth_largest(numbers, k)
        case _:
            class_index_of(())  # raises the error for a model without classes
    scores = _against(numbers.astype(np.float64), 0.0)
    return Answers(numbers >= cut, BOTH, scores, plain.shares)


def _decided(plain: Answers, classes: tuple[Value, ...], decision: Decision) -> Answers:
    """The decision about the classes of a classifier."""
    match decision:
        case Positive(label):
            index = class_index_of(classes, label)
            return _one_class(plain, index, plain.outputs == label)
        case Threshold(_, positive) | TopK(_, positive):
            index = class_index_of(classes, positive)
    if plain.shares is None:
        raise DataError(NO_PROBABILITIES)
    probability = plain.shares[:, index]
    if isinstance(decision, TopK):
        return _one_class(plain, index, probability >= kth_largest(probability, decision.k))
    enough = probability >= decision.probability
    if len(classes) != 2:
        return _one_class(plain, index, enough)
    words = np.array(classes, dtype=object)
    return replace(plain, outputs=np.where(enough, words[index], words[1 - index]))


def _one_class(plain: Answers, index: int, outputs: Array) -> Answers:
    """Decisions on one class, with its scores and probabilities."""
    if plain.scores is None:
        return Answers(outputs)
    shares = None if plain.shares is None else _against(plain.shares[:, index], 1.0)
    return Answers(outputs, BOTH, _against(plain.scores[:, index], 0.0), shares)


# Programs


def _program_answers(program: Program, X: object) -> Answers:
    table = Table.of(X, program.inputs)
    frame = Frame(table.column(name) for name in program.variables)
    outputs = program.predict(X)
    classes, term = _classes_of(program.term), program.term
    if not classes:
        return _of_numbers(outputs) if outputs.dtype == np.float64 else Answers(outputs)
    if isinstance(term, Compare):  # compared with a threshold, as in a test
        term = Ite(term, Const(True), Const(False))
    shares = scores_of(term, frame, table.n_rows, shares=True)
    assert shares is not None
    if len(classes) != 2:  # classes are compared by their probabilities
        return Answers(outputs, classes, shares, shares)
    scores = scores_of(term, frame, table.n_rows)
    assert scores is not None
    shares = _against(shares, 1.0) if shares.ndim == 1 else shares
    return Answers(outputs, classes, _against(scores, 0.0), shares)


def _classes_of(term: Term) -> tuple[Value, ...]:
    """The classes that a program chooses by scores, the more likely one of two last."""
    match term:
        case Argmax(_, classes):
            return classes
        case Ite(test, Const(yes), Const(no)) if _is_threshold(test):
            return no, yes
        case Compare() if _is_threshold(term):
            return BOTH
        case _:
            return ()


def _is_threshold(test: Term) -> bool:
    """Whether a test compares a computed score, not a bare column, with a number."""
    match test:
        case Compare(relation, score, Const(float())):
            return relation not in (Relation.EQ, Relation.NE) and not isinstance(score, Var)
        case _:
            return False
