"""Utility: the quality of the outputs, which a repair tries to preserve.

A utility compares the outputs of a program with the correct answers, or with the outputs of the
original program if the answers are unknown. Most utilities are sums over rows, so the gain of a
change follows from the changed rows alone. The others (area under the curve, log loss, a custom
function) are computed for whole repairs; while candidates are compared, a sum over rows stands in.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

import numpy as np

from proxyuse.data.columns import Column, Kind
from proxyuse.errors import DataError
from proxyuse.lang.evaluate import Array, evaluate
from proxyuse.lang.nodes import Argmax, Call, Compare, Const, Function, Ite, Relation, Term
from proxyuse.measure.influence import differ
from proxyuse.program import Frame
from proxyuse.repairing.scoring import area_under_curve, log_losses, mean

MOST_CLASSES = 32

UtilityFunction = Callable[..., float]
"""Called as ``f(right, outputs, sample_weight=...)``. Returns a number; larger is better."""


class Measure(StrEnum):
    """The built-in utilities."""

    ACCURACY = "accuracy"
    AGREEMENT = "agreement"
    BALANCED_ACCURACY = "balanced accuracy"
    AUC = "auc"
    LOG_LOSS = "log loss"
    SQUARED_ERROR = "mean squared error"


_LOWER_IS_BETTER = (Measure.LOG_LOSS, Measure.SQUARED_ERROR)
_SCORED = (Measure.AUC, Measure.LOG_LOSS)


@dataclass(frozen=True, eq=False)
class Utility:
    """A utility with the correct answer for each row.

    Attributes
    ----------
    measure : a built-in measure or a function.
    right : the correct answers, in the representation of the program's outputs: numbers, booleans
        or category codes.
    weights : the weight of each row.
    frame : the rows, to compute the scores behind the decisions.
    """

    measure: Measure | UtilityFunction
    right: Array
    weights: Array
    frame: Frame

    @property
    def name(self) -> str:
        """The name shown in results."""
        if isinstance(self.measure, Measure):
            return str(self.measure)
        return getattr(self.measure, "__name__", type(self.measure).__name__)

    @property
    def lower_is_better(self) -> bool:
        """Whether smaller values are better."""
        return self.measure in _LOWER_IS_BETTER

    @property
    def adds_up(self) -> bool:
        """Whether the utility is a sum over rows, and so equals the sum of `gains`."""
        return isinstance(self.measure, Measure) and self.measure not in _SCORED

    def better(self, value: float) -> float:
        """The value with its sign set so that larger is better. NaN is worst."""
        return better(self.measure, value)

    def gains(self, outputs: Array, rows: Array | slice = slice(None)) -> Array:
        """The contribution of each of some rows with these outputs; larger is better.

        `worth` turns a sum of gains into a utility, or into its stand-in.
        """
        shares, losses = self._shares[rows], self.losses(outputs, rows)
        return np.asarray(-shares * losses if self.squares else shares * (1.0 - losses))

    def losses(self, outputs: Array, rows: Array | slice = slice(None)) -> Array:
        """The loss of each of some rows, regardless of its weight: 0 or 1, or a squared error."""
        right = self.right[rows]
        if self.squares:
            return np.asarray(np.square(outputs.astype(np.float64) - right))
        return differ(outputs, right).astype(np.float64)

    @cached_property
    def squares(self) -> bool:
        """Whether rows contribute squared errors rather than 0 or 1."""
        if self.adds_up:
            return self.measure is Measure.SQUARED_ERROR
        return continuous(self.right)

    @cached_property
    def _shares(self) -> Array:
        if self.measure is not Measure.BALANCED_ACCURACY:
            return self.weights
        _, codes = np.unique(self.right, return_inverse=True)
        masses = np.bincount(codes, self.weights)
        counted = np.count_nonzero(masses)  # all rows of a class may have weight 0
        return np.asarray(self.weights / np.where(masses > 0, masses, 1.0)[codes] / counted)

    def worth(self, gains: float) -> float:
        """A sum of gains in the unit of the utility; larger is better."""
        balanced = self.measure is Measure.BALANCED_ACCURACY
        return float(gains if balanced else gains / self.weights.sum())

    def value(self, term: Term, outputs: Array) -> float:
        """The utility of a program with this term and these outputs, in its own unit."""
        match self.measure:
            case Measure.AUC:
                return _auc(self._scores(term, outputs), self.right, self.weights)
            case Measure.LOG_LOSS:
                shares = self._scores(term, outputs, shares=True)
                return _log_loss(shares, self.right, self.weights)
            case _:
                return self.of_outputs(outputs)

    def of_outputs(self, outputs: Array) -> float:
        """The utility of outputs, in its own unit, if it does not depend on scores."""
        match self.measure:
            case Measure.SQUARED_ERROR:
                return 0.0 - self.worth(self.gains(outputs).sum())
            case Measure():
                return self.worth(self.gains(outputs).sum())
            case function:
                right, decoded = self._decoded(self.right), self._decoded(outputs)
                return float(function(right, decoded, sample_weight=self.weights))

    def _scores(self, term: Term, outputs: Array, *, shares: bool = False) -> Array:
        """The scores behind the decisions. A decision without a score counts as certain."""
        classes = np.unique(self.right)
        scores = scores_of(term, self.frame, len(outputs), shares=shares)
        decides = scores is not None and scores.ndim == 1 and np.array_equal(scores, outputs)
        if scores is not None and not (decides and np.isin(outputs, classes).all()):
            return scores
        certain = (outputs[:, None] == classes).astype(np.float64)
        return np.asarray(certain if shares or len(classes) != 2 else certain[:, 1])

    def _decoded(self, values: Array) -> Array:
        return self.frame.vocabulary.decode(values) if values.dtype == np.int32 else values


def better(measure: Measure | UtilityFunction, value: float) -> float:
    """A utility with its sign set so that larger is better. NaN is worst."""
    if np.isnan(value):
        return -np.inf
    return -value if measure in _LOWER_IS_BETTER else value


def continuous(values: Array) -> bool:
    """Whether values are quantities rather than class labels: fractional, or many of them."""
    if values.dtype != np.float64 or values.ndim == 2:
        return False
    known = values[~np.isnan(values)]
    return bool((known != np.floor(known)).any()) or len(np.unique(known)) > MOST_CLASSES


def right_answers(y: Column, outputs: Array, frame: Frame) -> Array:
    """The correct answers in the representation of the program's outputs; an error if none fits."""
    if outputs.ndim == 2:
        raise DataError("the program returns vectors, which cannot be compared with y; omit y")
    if outputs.dtype == np.bool_:
        values = y.values if y.kind is not Kind.CATEGORY else np.empty(0)
        if y.kind is Kind.CATEGORY or not np.isin(values, (0.0, 1.0)).all():
            raise DataError(
                "the program returns true or false; pass a boolean y, such as y == label"
            )
        return values.astype(np.bool_)
    is_category = y.kind is Kind.CATEGORY
    if is_category != (outputs.dtype == np.int32):
        expected = "numbers" if is_category else "categories"
        actual = "categories" if is_category else f"{y.kind}s"
        raise DataError(
            f"the program returns {expected}, but y contains {actual}; pass the y that the model "
            "was trained on"
        )
    if not is_category:
        return y.values
    codes = [frame.vocabulary.code(category) for category in y.categories]
    return np.asarray(np.array([*codes, -1], dtype=np.int32)[y.values])


def scores_of(term: Term, frame: Frame, rows: int, *, shares: bool = False) -> Array | None:
    """The scores behind a program's decisions, one per row or one per class; None without scores.

    The score of ``argmax(v)`` is v, that of ``ite(s > c, yes, no)`` is s - c, that of a number is
    the number. With `shares`, scores become probabilities. They stay unchanged if they already are
    probabilities: if they add up to 1, or are compared with a threshold between 0 and 1 and lie
    there themselves. Otherwise, they pass through the logistic function, or softmax.
    """

    def values(part: Term) -> Array:
        return evaluate(part, frame.arrays, frame.vocabulary)

    match term:
        case Argmax(operand, _):
            scores = values(operand)
            if shares and not np.allclose(scores.sum(axis=1), 1.0):
                scores = values(Call(Function.SOFTMAX, (operand,)))
            if scores.shape[1] == 2 and not shares:
                scores = scores[:, 1] - scores[:, 0]
        case Ite(Compare(relation, score, Const(float() as limit)), Const(), Const()):
            scores, up = values(score), relation not in (Relation.LT, Relation.LE)
            if shares and 0 < limit < 1 and np.all((scores >= 0) & (scores <= 1)):
                scores = scores if up else 1.0 - scores  # a threshold on a probability
            else:
                scores = scores - limit if up else limit - scores
                if shares:
                    scores = 1.0 / (1.0 + np.exp(-scores))
        case _:
            scores = values(term)
    if scores.dtype == np.int32:
        return None
    scores = scores.astype(np.float64, copy=False)
    return np.broadcast_to(scores, (rows, *scores.shape[1:]))


def _auc(scores: Array, right: Array, weights: Array) -> float:
    classes = np.unique(right)
    if len(classes) != 2 or scores.ndim == 2:
        raise DataError("the area under the curve needs two classes and one score per row")
    return area_under_curve(scores, right == classes[1], weights)


def _log_loss(shares: Array, right: Array, weights: Array) -> float:
    classes, codes = np.unique(right, return_inverse=True)
    if shares.ndim == 1:
        shares = np.column_stack([1 - shares, shares])
    if shares.shape[1] != len(classes):
        raise DataError(
            f"log loss needs a probability for each of the {len(classes)} classes of y; the "
            f"program computes {shares.shape[1]}"
        )
    return mean(log_losses(shares, codes), weights)
