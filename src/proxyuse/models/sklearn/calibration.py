"""scikit-learn's calibrated classifiers: the mean of members' calibrated probabilities.

A member's score for a class (its decision function, or its probability where it has none) becomes
a probability by one of three methods:

- sigmoid: ``sigmoid(-(a * score + b))``, with its own a and b for each class;
- isotonic: interpolation between points, constant outside them, with its own points for each
  class. A piece between two points is ``slope * (score - x) + y``;
- temperature: the softmax of all scores times one factor, or of the logarithms of probabilities.

Two classes have one such number, for the second; with more, they are divided by their sum (all
are equal where that is 0). The first largest mean probability wins.

Where two points of an interpolation lie close together, the piece between them is steep and
makes much of the rounding of a score; the body's tolerance says how much.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from proxyuse.lang.build import add, mul, vector
from proxyuse.lang.evaluate import Array
from proxyuse.lang.nodes import Call, Compare, Const, Function, Ite, Relation, Term, Value
from proxyuse.models.features import Inputs
from proxyuse.models.member_terms import (
    copied,
    entries,
    entry,
    mapped_values,
    two_shares,
    width,
)
from proxyuse.models.members import Whole, divided_sum
from proxyuse.models.model_terms import ModelTerms, labels
from proxyuse.models.registry import check_fitted

MOST_NODES = 1_000_000
MOST_ROUNDING = 1e-2
ULPS = 16  # by which a member's own sum may be off


def translate_calibrated(model: Any, inputs: Inputs) -> ModelTerms:
    """Translate a CalibratedClassifierCV."""
    check_fitted(model, "calibrated_classifiers_", inputs)
    whole = Whole(model, inputs)
    classes = labels(model.classes_)
    members = model.calibrated_classifiers_
    shares: list[Term] = []
    for number, member in enumerate(members):
        shares.append(_calibrated(whole, member, f"calibrated_classifiers_[{number}]"))
    if len(members) > 1 or len(classes) != 2:
        return whole.largest_share(divided_sum(shares, len(members)), classes)
    # Of p and 1 - p, the second is the larger just where p is above 1/2, rounding included.
    test = Compare(Relation.GT, entry(shares[0], 1, whole.origins), Const(0.5))
    return whole.body(Ite(test, Const(classes[1]), Const(classes[0])), classes, shares[0])


def _calibrated(whole: Whole, member: Any, name: str) -> Term:
    """The calibrated probabilities of one member."""
    estimator = member.estimator
    size = len(member.classes)
    two = len(estimator.classes_) == 2
    if hasattr(estimator, "decision_function"):
        scores = whole.scores(estimator, name)
        numbers = entries(scores, whole.origins) if width(scores) else [scores]
        decides = True
    else:
        found = whole.probabilities(estimator, name)
        numbers = [entry(found, 1, whole.origins)] if two else entries(found, whole.origins)
        decides = False
    if member.method == "temperature":
        return _cooled(numbers, float(member.calibrators[0].beta_), decides, whole)
    shares: list[Term] = [
        _calibration(calibrator, number, whole)
        for calibrator, number in zip(member.calibrators, numbers, strict=True)
    ]
    if size == 2:
        return two_shares(shares[0], whole.origins)
    known = list(member.classes)
    places = [known.index(label) for label in estimator.classes_]
    if two:  # of the classes of the whole this member saw two: its number is for the first
        places = places[:1]
    by_class = [
        shares[places.index(place)] if place in places else Const(0.0) for place in range(size)
    ]
    return whole.normalized(by_class, 1 / size)


def _calibration(calibrator: Any, score: Term, whole: Whole) -> Term:
    """The probability of a score; a tree of constants stays one."""

    def of_constant(value: Value) -> Value:
        return float(calibrator.predict(np.array([value]))[0])

    def of_other(term: Term) -> Term:
        if not hasattr(calibrator, "a_"):
            return _interpolated(term, calibrator, whole)
        line = add(mul(term, Const(float(calibrator.a_))), Const(float(calibrator.b_)))
        return Call(Function.SIGMOID, (mul(line, Const(-1.0)),))

    return mapped_values(score, whole.origins, of_constant, of_other)


def _interpolated(score: Term, calibrator: Any, whole: Whole) -> Term:
    """Linear interpolation as a tree of comparisons with the points, halved at each."""
    xs = np.asarray(calibrator.X_thresholds_, dtype=np.float64)
    ys = np.asarray(calibrator.y_thresholds_, dtype=np.float64)
    if score.size * 2 * len(xs) > MOST_NODES:
        raise whole.error(
            f"interpolates between {len(xs)} points of a score of {score.size} nodes, which "
            "would stand in each piece",
            "calibrate with method='sigmoid'",
        )
    with np.errstate(divide="ignore"):
        slopes = np.diff(ys) / np.diff(xs)
    if len(xs) > 1:
        _allow_rounding(xs, slopes, whole)

    def below(place: int, then: Term, otherwise: Term) -> Term:
        limit = Const(float(xs[place]))
        return Ite(Compare(Relation.LT, copied(score, whole.origins), limit), then, otherwise)

    def piece(place: int) -> Term:
        """Between a point and the next."""
        if slopes[place] == 0:
            return Const(float(ys[place]))
        shift = add(copied(score, whole.origins), Const(-float(xs[place])))
        return add(mul(shift, Const(float(slopes[place]))), Const(float(ys[place])))

    def pieces(first: int, end: int) -> Term:
        """From the point `first` to the point `end`; as deep as the points can be halved."""
        if end - first == 1:
            return piece(first)
        middle = (first + end) // 2
        return below(middle, pieces(first, middle), pieces(middle, end))

    last = len(xs) - 1
    if last == 0:
        return Const(float(ys[0]))
    inside = below(last, pieces(0, last), Const(float(ys[last])))
    return below(0, Const(float(ys[0])), inside)


def _allow_rounding(xs: Array, slopes: Array, whole: Whole) -> None:
    """Let the whole be off by what steep pieces make of rounding, within reason."""
    sizes = np.maximum(np.abs(xs[1:]), np.abs(xs[:-1]))
    rounding = float(np.max(np.abs(slopes) * np.spacing(sizes))) * ULPS
    if not rounding <= MOST_ROUNDING:
        raise whole.error(
            "interpolates between points that only rounding keeps apart",
            "calibrate with method='sigmoid'",
        )
    whole.tolerance = max(whole.tolerance, rounding)


def _cooled(numbers: list[Term], factor: float, decides: bool, whole: Whole) -> Term:
    """Temperature scaling."""
    if len(numbers) == 1 and decides:
        numbers = [mul(copied(numbers[0], whole.origins), Const(-1.0)), numbers[0]]
    elif not decides:
        if len(numbers) == 1:
            numbers = entries(two_shares(numbers[0], whole.origins), whole.origins)
        numbers = [Call(Function.LOG, (add(number, Const(1e-12)),)) for number in numbers]
    return Call(Function.SOFTMAX, (vector(*(mul(n, Const(factor)) for n in numbers)),))
