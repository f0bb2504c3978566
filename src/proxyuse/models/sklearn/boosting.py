"""scikit-learn's gradient boosting: an initial value plus trees.

Features are rounded to float32. The initial value is the prediction of the init estimator,
passed through the loss's link; it is usually a constant. Each stage adds ``learning_rate * leaf
value`` in float64, to one sum or to one sum per class. With two classes, the second wins if the
sum is at least 0. With more, the largest sum wins; ties go to the first. A regressor predicts the
sum.

The init estimator gets the rows in float32, and most models then compute in float32. So only
constants and models that merely compare features can be translated: trees, and for regressors
also forests.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from proxyuse.errors import TranslationError
from proxyuse.lang.build import add, const, mul, vector
from proxyuse.lang.nodes import Call, Const, Function, Term, Value
from proxyuse.models.features import Inputs
from proxyuse.models.registry import check_fitted, find, translate_part
from proxyuse.models.sklearn.trees import leaf_numbers, origin_of, tree_terms
from proxyuse.models.term_transforms import (
    TracedOrigins,
    entries,
    entry,
    leafwise_binary_probabilities,
    mapped_values,
    origins_in,
)
from proxyuse.models.translation import Translation, above_zero, is_zero, labels, largest

TINY = float(np.finfo(np.float64).eps)


def translate_gradient_boosting(model: Any, inputs: Inputs) -> Translation:
    """Translate a GradientBoostingClassifier or GradientBoostingRegressor.

    Tree k of stage i has the number ``i * trees_per_stage + k``.
    """
    check_fitted(model, "estimators_", inputs)
    stages = model.estimators_
    origins = TracedOrigins()
    sums = [[start] for start in _starts(model, inputs, origins)]
    fitted = [estimator.tree_ for estimator in stages.ravel()]
    leaves = (model.learning_rate * leaf_numbers(tree) for tree in fitted)
    trees, tree_origins = tree_terms(
        fitted, leaves, inputs, origin_of(model, inputs), missing=False
    )
    origins |= tree_origins
    for number, tree in enumerate(trees):
        if not is_zero(tree):
            sums[number % stages.shape[1]].append(tree)
    scores = [add(*parts) for parts in sums]
    for score in scores:
        origins.setdefault(id(score), origin_of(model, inputs))
    if not hasattr(model, "classes_"):
        return Translation(scores[0], origins=origins_in(origins, scores[0]))
    half = model.loss == "exponential"
    return boosted_classes(model, inputs, scores, origins, strict=False, half=half)


def boosted_classes(
    model: Any,
    inputs: Inputs,
    scores: Sequence[Term],
    origins: TracedOrigins,
    *,
    strict: bool,
    half: bool = False,
) -> Translation:
    """The translation of a classifier from one sum (two classes) or one sum per class.

    `strict` is whether the second of two classes needs a sum above 0, rather than at least 0.
    `half` is whether the sum is half the log-odds.
    """
    classes = labels(model.classes_)
    if len(scores) == 1:
        (score,) = scores
        output = above_zero(score, classes, strict)
        logit = mul(score, Const(2.0)) if half else score
        probabilities = leafwise_binary_probabilities(Call(Function.SIGMOID, (logit,)), origins)
    else:
        score = vector(*scores)
        output = largest(score, classes)
        probabilities = Call(Function.SOFTMAX, (score,))
    for part in (output, score, probabilities):
        origins.setdefault(id(part), origin_of(model, inputs))
    return Translation(
        output, classes, probabilities, score, origins_in(origins, output, probabilities, score)
    )


def _starts(model: Any, inputs: Inputs, origins: TracedOrigins) -> list[Term]:
    """The initial value of each sum."""
    count = model.estimators_.shape[1]
    if isinstance(model.init_, str):  # "zero"
        return [Const(0.0) for _ in range(count)]
    init_inputs = inputs.inside("init_")
    translation = translate_part(model.init_, init_inputs)
    classifies = hasattr(model, "classes_")
    term = translation.probabilities if classifies else translation.output
    if term is None or not (isinstance(term, Const) or _only_compares(model.init_)):
        raise _init_error(model, init_inputs)
    origins |= origins_in(translation.origins, term)
    origins.alive.append(term)
    if not classifies:
        return [term]

    def refuse(_: Term) -> Term:
        raise _init_error(model, init_inputs)

    probabilities = entry(term, 1, origins) if count == 1 else term
    linked = mapped_values(probabilities, origins, lambda value: _linked(model, value), refuse)
    return [linked] if count == 1 else entries(linked, origins)


def _init_error(model: Any, inputs: Inputs) -> TranslationError:
    return TranslationError(
        f"the init estimator {type(model.init_).__name__} (step {inputs.step!r}) cannot be "
        "translated: it computes in float32, or its log-probabilities are not constant; fit the "
        "model with init=None, 'zero' or a decision tree"
    )


def _only_compares(estimator: object) -> bool:
    translator = find(estimator)
    function = translator.function if translator is not None else ""
    return isinstance(function, str) and function.split(":")[0] in (
        "proxyuse.models.sklearn.trees",
        "proxyuse.models.sklearn.forests",
    )


def _linked(model: Any, probabilities: Value) -> Value:
    """The scores of constant probabilities, computed by the model's own link."""
    clipped = np.clip(np.array([probabilities]), TINY, 1 - TINY)
    return const(model._loss.link.link(clipped)[0]).value
