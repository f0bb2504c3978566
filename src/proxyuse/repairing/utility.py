"""How good decisions are: what a repair tries to lose least of.

A utility compares what a program says with what would be right, or, where that is not known, with
what the program said before. Most are sums over rows: what a change is worth then follows from
the rows it changes alone. The others (the area under a curve, log loss, a function of the
caller's) are stood in for by such a sum while candidates are compared, and computed for whole
repairs.
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

MOST_CLASSES = 32
LEAST = float(np.finfo(np.float64).eps)  # no probability is taken to be smaller

UtilityFunction = Callable[..., float]
"""Called as ``f(right, said, sample_weight=...)``, it returns a number; larger is better."""


class Measure(StrEnum):
    """The utilities that have a name."""

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
    """A utility, and what would be right in each row.

    Attributes
    ----------
    measure : one of those with a name, or a function.
    right : what would be right, as the program's outputs are represented: numbers, truth values,
        or the numbers of categories.
    weights : how much each row counts.
    frame : the rows themselves, for the numbers behind decisions.
    """

    measure: Measure | UtilityFunction
    right: Array
    weights: Array
    frame: Frame

    @property
    def name(self) -> str:
        """How results call it."""
        if isinstance(self.measure, Measure):
            return str(self.measure)
        return getattr(self.measure, "__name__", type(self.measure).__name__)

    @property
    def lower_is_better(self) -> bool:
        """Whether smaller values are better."""
        return self.measure in _LOWER_IS_BETTER

    @property
    def adds_up(self) -> bool:
        """Whether it is a sum over rows, so that `gains` says all of it."""
        return isinstance(self.measure, Measure) and self.measure not in _SCORED

    def better(self, value: float) -> float:
        """A number that is the larger, the better; one that is not known is the worst."""
        if np.isnan(value):
            return -np.inf
        return -value if self.lower_is_better else value

    def gains(self, outputs: Array, rows: Array | slice = slice(None)) -> Array:
        """What each of some rows adds if the program says this there; the more, the better.

        `worth` makes a utility of sums of them, or what stands in for it.
        """
        right, shares = self.right[rows], self._shares[rows]
        if self.squares:
            error = outputs.astype(np.float64) - right
            return np.asarray(-shares * error * error)
        return np.where(differ(outputs, right), 0.0, shares)

    @cached_property
    def squares(self) -> bool:
        """Whether rows add squared errors, and not whether they are right."""
        if self.adds_up:
            return self.measure is Measure.SQUARED_ERROR
        return continuous(self.right)

    @cached_property
    def _shares(self) -> Array:
        if self.measure is not Measure.BALANCED_ACCURACY:
            return self.weights
        _, codes = np.unique(self.right, return_inverse=True)
        masses = np.bincount(codes, self.weights)
        counted = np.count_nonzero(masses)  # a class may have no row that counts
        return np.asarray(self.weights / np.where(masses > 0, masses, 1.0)[codes] / counted)

    def worth(self, gains: float) -> float:
        """What a sum of gains is in the unit of the utility, the larger the better."""
        balanced = self.measure is Measure.BALANCED_ACCURACY
        return float(gains if balanced else gains / self.weights.sum())

    def value(self, term: Term, outputs: Array) -> float:
        """The utility of a program that is this term and says these outputs, in its own unit."""
        match self.measure:
            case Measure.AUC:
                return _auc(self._scores(term, outputs), self.right, self.weights)
            case Measure.LOG_LOSS:
                shares = self._scores(term, outputs, shares=True)
                return _log_loss(shares, self.right, self.weights)
            case Measure.SQUARED_ERROR:
                return 0.0 - self.worth(self.gains(outputs).sum())
            case Measure():
                return self.worth(self.gains(outputs).sum())
            case function:
                right, said = self._decoded(self.right), self._decoded(outputs)
                return float(function(right, said, sample_weight=self.weights))

    def _scores(self, term: Term, outputs: Array, *, shares: bool = False) -> Array:
        """The numbers behind decisions; where there are none, a decision counts as certain."""
        classes = np.unique(self.right)
        found = scores_of(term, self.frame, len(outputs), shares=shares)
        decides = found is not None and found.ndim == 1 and np.array_equal(found, outputs)
        if found is not None and not (decides and np.isin(outputs, classes).all()):
            return found
        certain = (outputs[:, None] == classes).astype(np.float64)
        return np.asarray(certain if shares or len(classes) != 2 else certain[:, 1])

    def _decoded(self, values: Array) -> Array:
        return self.frame.vocabulary.decode(values) if values.dtype == np.int32 else values


def continuous(values: Array) -> bool:
    """Whether values are quantities and not the numbers of classes: broken, or many."""
    if values.dtype != np.float64 or values.ndim == 2:
        return False
    known = values[~np.isnan(values)]
    return bool((known != np.floor(known)).any()) or len(np.unique(known)) > MOST_CLASSES


def right_answers(y: Column, outputs: Array, frame: Frame) -> Array:
    """The right answers in the representation of the program's outputs; an error if none fits."""
    if outputs.ndim == 2:
        raise DataError("the program says vectors, which y cannot be compared with; leave y out")
    if outputs.dtype == np.bool_:
        values = y.values if y.kind is not Kind.CATEGORY else np.empty(0)
        if y.kind is Kind.CATEGORY or not np.isin(values, (0.0, 1.0)).all():
            raise DataError(
                "the program decides true or false; pass y as whether the decision would be right "
                "to take, for instance y == label"
            )
        return values.astype(np.bool_)
    words = y.kind is Kind.CATEGORY
    if words != (outputs.dtype == np.int32):
        said, given = ("categories", str(y.kind) + "s") if not words else ("numbers", "categories")
        raise DataError(
            f"y holds {given} and the program says {said}; pass y as the model was given it"
        )
    if not words:
        return y.values
    codes = [frame.vocabulary.code(word) for word in y.categories]
    return np.asarray(np.array([*codes, -1], dtype=np.int32)[y.values])


def scores_of(term: Term, frame: Frame, rows: int, *, shares: bool = False) -> Array | None:
    """The numbers behind a program's decisions, one a row or one a class; None if there are none.

    Of ``argmax(v)`` v, of ``ite(s > c, yes, no)`` s - c, of a number the number itself. As
    `shares`, what is compared with 0 is put through the logistic function, and vectors that do
    not add up to 1 through softmax.
    """

    def values(part: Term) -> Array:
        return evaluate(part, frame.arrays, frame.vocabulary)

    match term:
        case Argmax(operand, _):
            found = values(operand)
            if shares and not np.allclose(found.sum(axis=1), 1.0):
                found = values(Call(Function.SOFTMAX, (operand,)))
            if found.shape[1] == 2 and not shares:
                found = found[:, 1] - found[:, 0]
        case Ite(Compare(relation, score, Const(float() as limit)), Const(), Const()):
            found = values(score) - limit
            if relation in (Relation.LT, Relation.LE):
                found = -found
            if shares:
                found = 1.0 / (1.0 + np.exp(-found))
        case _:
            found = values(term)
    if found.dtype == np.int32:
        return None
    found = found.astype(np.float64, copy=False)
    return np.broadcast_to(found, (rows, *found.shape[1:]))


def _auc(scores: Array, right: Array, weights: Array) -> float:
    """The chance that of two rows of different classes the right one has the larger score."""
    classes = np.unique(right)
    if len(classes) != 2 or scores.ndim == 2:
        raise DataError("the area under the curve needs two classes and one score a row")
    second = right == classes[1]
    _, places = np.unique(scores, return_inverse=True)
    of_first = np.bincount(places, np.where(second, 0.0, weights))
    of_second = np.bincount(places, np.where(second, weights, 0.0))
    below = np.cumsum(of_first) - of_first / 2  # ties count half
    return float(np.dot(of_second, below) / (of_first.sum() * of_second.sum()))


def _log_loss(shares: Array, right: Array, weights: Array) -> float:
    classes, codes = np.unique(right, return_inverse=True)
    if shares.ndim == 1:
        shares = np.column_stack([1 - shares, shares])
    if shares.shape[1] != len(classes):
        raise DataError(
            f"log loss needs a probability for each of the {len(classes)} classes of y; the "
            f"program computes {shares.shape[1]}"
        )
    own = np.clip(shares[np.arange(len(codes)), codes], LEAST, 1 - LEAST)
    return float(-np.dot(weights, np.log(own)) / weights.sum())
