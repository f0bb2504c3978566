"""scikit-learn's linear models: weighted sums of features.

A regressor predicts ``coef_ @ x + intercept_``. Generalized linear models apply the inverse of
their link, the exponential function or the identity. A binary classifier predicts the second
class if the sum is above 0. With more classes, each has a sum, and the largest wins; ties go to
the first. Support vector machines differ: a sum of 0 belongs to the second class, and with more
classes each pair has a sum that votes for one of the two.

scikit-learn adds the products with BLAS, in an order that depends on the machine and on the
number of rows; a program adds from left to right. The sums differ by rounding, so rows whose sum
is within rounding of 0 may be decided differently. Support vector machines add products with
their support vectors; if columns contain large numbers, cancellation leaves few exact digits.

The origin of a term is its coefficient's index in ``coef_.ravel()``, or the first index if several
features of one column were merged.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from proxyuse.errors import TranslationError
from proxyuse.lang.build import add, mul, vector
from proxyuse.lang.evaluate import Array
from proxyuse.lang.nodes import Call, Compare, Const, Function, Ite, Relation, Term, Value
from proxyuse.models.features import Inputs
from proxyuse.models.registry import at_step, check_fitted
from proxyuse.models.sklearn.trees import origin_of
from proxyuse.models.translation import (
    DOUBLE,
    SINGLE,
    Origins,
    Translation,
    above_zero,
    binary_probabilities,
    labels,
    largest,
)
from proxyuse.models.weighted_sums import weighted_terms
from proxyuse.program import Origin


def translate_classifier(model: Any, inputs: Inputs) -> Translation:
    """Translate a linear classifier without probabilities: LinearSVC, RidgeClassifier, ..."""
    return _classifier(model, _fitted_sums(model, inputs), inputs)


def translate_logistic(model: Any, inputs: Inputs) -> Translation:
    """Translate LogisticRegression or LinearDiscriminantAnalysis.

    Probabilities are the sigmoid of the sum for two classes, and the softmax for more. Until
    scikit-learn 1.7, `multi_class` could select one-vs-rest, or the softmax for two classes.
    """
    sums = _fitted_sums(model, inputs)
    multi_class = model.get_params(deep=False).get("multi_class")
    if multi_class in ("auto", "deprecated"):
        multi_class = "ovr" if model.solver == "liblinear" else None
    if len(sums.terms) > 1:
        ones = [Call(Function.SIGMOID, (score,)) for score in sums.terms]
        several = Call(Function.SOFTMAX, (vector(*sums.terms),))
        probabilities = _divided_by_sum(ones) if multi_class == "ovr" else several
    else:
        score = sums.terms[0]
        score = mul(Const(2.0), score) if multi_class == "multinomial" else score
        probabilities = binary_probabilities(Call(Function.SIGMOID, (score,)))
    return _classifier(model, sums, inputs, probabilities)


def translate_sgd(model: Any, inputs: Inputs) -> Translation:
    """Translate SGDClassifier, with probabilities if its loss has them."""
    sums = _fitted_sums(model, inputs)
    if model.loss not in ("log_loss", "modified_huber"):
        return _classifier(model, sums, inputs)
    squash = _sigmoid if model.loss == "log_loss" else _clipped
    probabilities = [squash(score) for score in sums.terms]
    both = (
        binary_probabilities(probabilities[0])
        if len(probabilities) == 1
        else _divided_by_sum(probabilities)
    )
    return _classifier(model, sums, inputs, both)


def translate_regressor(model: Any, inputs: Inputs) -> Translation:
    """Translate a linear regressor: LinearRegression, Ridge, Lasso, ..."""
    sums = _fitted_sums(model, inputs)
    _one_output(model, sums, inputs)
    return Translation(sums.terms[0], origins=sums.origins, tolerance=sums.tolerance)


def translate_generalized(model: Any, inputs: Inputs) -> Translation:
    """Translate PoissonRegressor, GammaRegressor or TweedieRegressor."""
    sums = _fitted_sums(model, inputs)
    _one_output(model, sums, inputs)
    link = type(model._base_loss.link).__name__
    if link == "IdentityLink":
        return Translation(sums.terms[0], origins=sums.origins, tolerance=sums.tolerance)
    if link != "LogLink":
        raise TranslationError(
            f"this {_named(model, inputs)} has the link {link}; use link='log' or 'identity'"
        )
    output = Call(Function.EXP, (sums.terms[0],))
    sums.origins[id(output)] = origin_of(model, inputs)
    return Translation(output, origins=sums.origins, tolerance=sums.tolerance)


def translate_svr(model: Any, inputs: Inputs) -> Translation:
    """Translate SVR or NuSVR with a linear kernel."""
    _linear_kernel(model, inputs)
    return translate_regressor(model, inputs)


def translate_svc(model: Any, inputs: Inputs) -> Translation:
    """Translate SVC or NuSVC with a linear kernel.

    With two classes, a sum of exactly 0 means the second. With more, each pair of classes i < j
    has a sum and votes for i if it is above 0, otherwise for j. The class with the most votes
    wins; ties go to the first, or are broken by the decision function if `break_ties` is set.
    """
    _linear_kernel(model, inputs)
    classes = labels(model.classes_)
    if len(classes) == 2:
        return _classifier(model, _fitted_sums(model, inputs), inputs, strict=False)
    votes, origins = _votes(model, inputs, len(classes))
    decision, more = _decision(model, inputs, len(classes))
    ties_broken = model.break_ties and model.decision_function_shape == "ovr"
    output = largest(decision if ties_broken else votes, classes)
    origins |= more | {id(output): origin_of(model, inputs)}
    return Translation(output, classes, scores=decision, origins=origins)


# Sums


class Sums:
    """The weighted sums of a model, one or one per class, and the origins of their terms.

    A model with float32 weights computes in float32 on float32 rows.
    """

    def __init__(self, weights: Array, offsets: Array, inputs: Inputs, origin: Origin) -> None:
        self.terms: list[Term] = []
        self.origins: Origins = {}
        self.tolerance = SINGLE if weights.dtype == np.float32 else DOUBLE
        for row, (numbers, offset) in enumerate(zip(weights, offsets, strict=True)):
            parts = weighted_terms(inputs.features, numbers.tolist(), float(offset))
            total = add(*(term for term, _ in parts))
            self.origins[id(total)] = origin
            for term, number in parts:
                if number is not None:
                    index = row * weights.shape[1] + number
                    self.origins[id(term)] = Origin(origin.step, coefficient=index)
            self.terms.append(total)


def _fitted_sums(model: Any, inputs: Inputs) -> Sums:
    check_fitted(model, "coef_", inputs)
    coefficients = model.coef_
    if hasattr(coefficients, "toarray"):  # after `sparsify`
        coefficients = coefficients.toarray()
    weights = np.atleast_2d(np.asarray(coefficients))
    offsets = np.broadcast_to(np.ravel(model.intercept_), len(weights))
    return Sums(weights, offsets, inputs, origin_of(model, inputs))


def _one_output(model: Any, sums: Sums, inputs: Inputs) -> None:
    if len(sums.terms) > 1:
        raise TranslationError(
            f"this {_named(model, inputs)} has {len(sums.terms)} outputs; only one is supported"
        )


def _named(model: Any, inputs: Inputs) -> str:
    return type(model).__name__ + at_step(inputs)


# Classes


def _classifier(
    model: Any,
    sums: Sums,
    inputs: Inputs,
    probabilities: Term | None = None,
    *,
    strict: bool = True,
) -> Translation:
    classes: tuple[Value, ...] = labels(model.classes_)
    binarizer = getattr(model, "_label_binarizer", None)
    if binarizer is not None and binarizer.y_type_.startswith("multilabel"):
        raise TranslationError(
            f"this {_named(model, inputs)} predicts several labels per row; fit one model per label"
        )
    if len(sums.terms) == 1:
        scores = sums.terms[0]
        output = above_zero(scores, classes, strict)
    else:
        scores = vector(*sums.terms)
        output = largest(scores, classes)
    origins = sums.origins | {id(output): origin_of(model, inputs)}
    return Translation(output, classes, probabilities, scores, origins, sums.tolerance)


def _sigmoid(score: Term) -> Term:
    return Call(Function.SIGMOID, (score,))


def _clipped(score: Term) -> Term:
    """``(clip(score, -1, 1) + 1) / 2``."""
    inside = Call(Function.DIV, (add(score, Const(1.0)), Const(2.0)))
    low = Ite(Compare(Relation.LT, score, Const(-1.0)), Const(0.0), inside)
    return Ite(Compare(Relation.GT, score, Const(1.0)), Const(1.0), low)


def _divided_by_sum(probabilities: Sequence[Term]) -> Term:
    """Numbers divided by their sum; all equal if the sum is 0."""
    total = add(*probabilities)
    uniform = Const((1.0 / len(probabilities),) * len(probabilities))
    divided = Call(Function.DIV, (vector(*probabilities), total))
    return Ite(Compare(Relation.EQ, total, Const(0.0)), uniform, divided)


# Pairs of classes


def _linear_kernel(model: Any, inputs: Inputs) -> None:
    check_fitted(model, "support_vectors_", inputs)
    if model.kernel != "linear":
        raise TranslationError(
            f"this {_named(model, inputs)} has the kernel {model.kernel!r}; only kernel='linear' "
            "is supported, because other kernels are not sums over features"
        )


def _pairs(count: int) -> list[tuple[int, int]]:
    return [(i, j) for i in range(count) for j in range(i + 1, count)]


def _votes(model: Any, inputs: Inputs, count: int) -> tuple[Term, Origins]:
    """The number of pairs that each class wins."""
    sums = _fitted_sums(model, inputs)
    ones = [Const(tuple(row)) for row in np.eye(count).tolist()]
    won = [
        Ite(Compare(Relation.GT, score, Const(0.0)), ones[i], ones[j])
        for score, (i, j) in zip(sums.terms, _pairs(count), strict=True)
    ]
    return add(*won), sums.origins


def _decision(model: Any, inputs: Inputs, count: int) -> tuple[Term, Origins]:
    """The `decision_function` for more than two classes.

    Either the sums of the pairs, or for each class its votes plus ``s / (3 * (abs(s) + 1))``,
    where s adds the sums of its pairs, signed so that positive numbers favor the class.
    """
    if model.decision_function_shape == "ovo":
        sums = _fitted_sums(model, inputs)
        return vector(*sums.terms), sums.origins
    votes, origins = _votes(model, inputs, count)
    confidences: list[Term] = []
    for label in range(count):
        sums = _fitted_sums(model, inputs)
        parts = [
            score if label == i else mul(Const(-1.0), score)
            for score, (i, j) in zip(sums.terms, _pairs(count), strict=True)
            if label in (i, j)
        ]
        origins |= sums.origins
        size = Call(Function.ABS, (add(*parts),))
        bound = mul(Const(3.0), add(size, Const(1.0)))
        confidences.append(Call(Function.DIV, (add(*parts), bound)))
    return add(votes, vector(*confidences)), origins
