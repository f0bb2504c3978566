"""scikit-learn's calibrated classifiers: the mean of the members' calibrated probabilities.

A member's score for a class is its decision function, or its probability if it has no decision
function. One of three methods turns the score into a probability:

- sigmoid: ``sigmoid(-(a * score + b))``, with separate a and b for each class;
- isotonic: linear interpolation between points, constant outside them, with separate points for
  each class. The segment between two points is ``slope * (score - x) + y``;
- temperature: the softmax of all scores times one factor, or of the logarithms of probabilities.

With two classes, only the second is calibrated. With more, the probabilities are divided by their
sum; they are all equal if the sum is 0. The largest mean probability wins; ties go to the first.

If two interpolation points are close together, the segment between them is steep and amplifies
the rounding of a score. The tolerance of the translation accounts for it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from proxyuse.lang.build import add, mul, vector
from proxyuse.lang.evaluate import Array
from proxyuse.lang.nodes import Call, Compare, Const, Function, Ite, Relation, Term, Value
from proxyuse.models.composite import CompositeModel, divided_sum
from proxyuse.models.features import Inputs
from proxyuse.models.registry import check_fitted
from proxyuse.models.term_transforms import (
    copied,
    entries,
    entry,
    leafwise_binary_probabilities,
    mapped_values,
    width,
)
from proxyuse.models.translation import Translation, labels

MAX_NODES = 1_000_000
MAX_ROUNDING_ERROR = 1e-2
ULPS = 16  # rounding error allowed in a member's sum


def translate_calibrated(model: Any, inputs: Inputs) -> Translation:
    """Translate a CalibratedClassifierCV."""
    check_fitted(model, "calibrated_classifiers_", inputs)
    composite = CompositeModel(model, inputs)
    classes = labels(model.classes_)
    members = model.calibrated_classifiers_
    probabilities: list[Term] = []
    for number, member in enumerate(members):
        probabilities.append(_calibrated(composite, member, f"calibrated_classifiers_[{number}]"))
    if len(members) > 1 or len(classes) != 2:
        return composite.most_probable(divided_sum(probabilities, len(members)), classes)
    # p is larger than 1 - p exactly if p is above 1/2, even with rounding.
    test = Compare(Relation.GT, entry(probabilities[0], 1, composite.origins), Const(0.5))
    return composite.translation(
        Ite(test, Const(classes[1]), Const(classes[0])), classes, probabilities[0]
    )


def _calibrated(composite: CompositeModel, member: Any, name: str) -> Term:
    """The calibrated probabilities of one member."""
    estimator = member.estimator
    size = len(member.classes)
    two = len(estimator.classes_) == 2
    if hasattr(estimator, "decision_function"):
        scores = composite.scores(estimator, name)
        numbers = entries(scores, composite.origins) if width(scores) else [scores]
        has_scores = True
    else:
        probabilities_of_member = composite.probabilities(estimator, name)
        numbers = (
            [entry(probabilities_of_member, 1, composite.origins)]
            if two
            else entries(probabilities_of_member, composite.origins)
        )
        has_scores = False
    if member.method == "temperature":
        return _temperature_scaled(
            numbers, float(member.calibrators[0].beta_), has_scores, composite
        )
    probabilities: list[Term] = [
        _calibration(calibrator, number, composite)
        for calibrator, number in zip(member.calibrators, numbers, strict=True)
    ]
    if size == 2:
        return leafwise_binary_probabilities(probabilities[0], composite.origins)
    known = list(member.classes)
    indices = [known.index(label) for label in estimator.classes_]
    if two:  # the member saw two of several classes; its score is for the first
        indices = indices[:1]
    by_class = [
        probabilities[indices.index(index)] if index in indices else Const(0.0)
        for index in range(size)
    ]
    return composite.normalized(by_class, 1 / size)


def _calibration(calibrator: Any, score: Term, composite: CompositeModel) -> Term:
    """The calibrated probability of a score; a tree stays a tree."""

    def of_constant(value: Value) -> Value:
        return float(calibrator.predict(np.array([value]))[0])

    def of_other(term: Term) -> Term:
        if not hasattr(calibrator, "a_"):
            return _interpolated(term, calibrator, composite)
        line = add(mul(term, Const(float(calibrator.a_))), Const(float(calibrator.b_)))
        return Call(Function.SIGMOID, (mul(line, Const(-1.0)),))

    return mapped_values(score, composite.origins, of_constant, of_other)


def _interpolated(score: Term, calibrator: Any, composite: CompositeModel) -> Term:
    """Linear interpolation as a binary search tree over the points."""
    xs = np.asarray(calibrator.X_thresholds_, dtype=np.float64)
    ys = np.asarray(calibrator.y_thresholds_, dtype=np.float64)
    if score.size * 2 * len(xs) > MAX_NODES:
        raise composite.error(
            f"interpolates between {len(xs)} points, and each segment would repeat a score of "
            f"{score.size} nodes",
            "calibrate with method='sigmoid'",
        )
    with np.errstate(divide="ignore"):
        slopes = np.diff(ys) / np.diff(xs)
    if len(xs) > 1:
        _allow_rounding(xs, slopes, composite)

    def below(index: int, then: Term, otherwise: Term) -> Term:
        limit = Const(float(xs[index]))
        return Ite(Compare(Relation.LT, copied(score, composite.origins), limit), then, otherwise)

    def piece(index: int) -> Term:
        """The segment between a point and the next."""
        if slopes[index] == 0:
            return Const(float(ys[index]))
        shift = add(copied(score, composite.origins), Const(-float(xs[index])))
        return add(mul(shift, Const(float(slopes[index]))), Const(float(ys[index])))

    def pieces(first: int, end: int) -> Term:
        """The segments between the points `first` and `end`; the depth is logarithmic."""
        if end - first == 1:
            return piece(first)
        middle = (first + end) // 2
        return below(middle, pieces(first, middle), pieces(middle, end))

    last = len(xs) - 1
    if last == 0:
        return Const(float(ys[0]))
    inside = below(last, pieces(0, last), Const(float(ys[last])))
    return below(0, Const(float(ys[0])), inside)


def _allow_rounding(xs: Array, slopes: Array, composite: CompositeModel) -> None:
    """Raise the tolerance by the rounding error that steep segments amplify, up to a limit."""
    sizes = np.maximum(np.abs(xs[1:]), np.abs(xs[:-1]))
    rounding = float(np.max(np.abs(slopes) * np.spacing(sizes))) * ULPS
    if not rounding <= MAX_ROUNDING_ERROR:
        raise composite.error(
            "interpolates between points that differ only by rounding",
            "calibrate with method='sigmoid'",
        )
    composite.tolerance = max(composite.tolerance, rounding)


def _temperature_scaled(
    numbers: list[Term], factor: float, has_scores: bool, composite: CompositeModel
) -> Term:
    """Temperature scaling."""
    if len(numbers) == 1 and has_scores:
        numbers = [mul(copied(numbers[0], composite.origins), Const(-1.0)), numbers[0]]
    elif not has_scores:
        if len(numbers) == 1:
            numbers = entries(
                leafwise_binary_probabilities(numbers[0], composite.origins), composite.origins
            )
        numbers = [Call(Function.LOG, (add(number, Const(1e-12)),)) for number in numbers]
    return Call(Function.SOFTMAX, (vector(*(mul(n, Const(factor)) for n in numbers)),))
