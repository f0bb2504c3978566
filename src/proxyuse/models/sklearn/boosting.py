"""scikit-learn's gradient boosting: a start, and trees added to it one after the other.

Features are rounded to float32. The start is what the init estimator says, through the loss's
link (a constant, as a rule). Then ``learning_rate * leaf value`` is added in float64, stage by
stage, to one sum or to one for each class. Two classes: the second from 0 on. More: the first
largest sum. A regressor says its sum.

An init estimator is given the rows in float32, and most models then compute in float32; only
constant ones and those that compare alone can be followed: trees, and forests for a regressor.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from proxyuse.errors import TranslationError
from proxyuse.lang.build import add, const, mul, vector
from proxyuse.lang.nodes import Call, Const, Function, Term, Value
from proxyuse.models.features import Inputs
from proxyuse.models.member_terms import Traced, entries, entry, kept, mapped_values, two_shares
from proxyuse.models.model_terms import ModelTerms, above_zero, is_zero, labels, largest
from proxyuse.models.registry import check_fitted, find, model_body
from proxyuse.models.sklearn.trees import leaf_numbers, origin_of, tree_terms

TINY = float(np.finfo(np.float64).eps)


def translate_gradient_boosting(model: Any, inputs: Inputs) -> ModelTerms:
    """Translate a GradientBoostingClassifier or GradientBoostingRegressor.

    Tree k of stage i has the number ``i * trees a stage + k``.
    """
    check_fitted(model, "estimators_", inputs)
    stages = model.estimators_
    origins = Traced()
    sums = [[start] for start in _starts(model, inputs, origins)]
    fitted = [estimator.tree_ for estimator in stages.ravel()]
    leaves = (model.learning_rate * leaf_numbers(tree) for tree in fitted)
    trees, places = tree_terms(fitted, leaves, inputs, origin_of(model, inputs), missing=False)
    origins |= places
    for number, tree in enumerate(trees):
        if not is_zero(tree):
            sums[number % stages.shape[1]].append(tree)
    scores = [add(*parts) for parts in sums]
    for score in scores:
        origins.setdefault(id(score), origin_of(model, inputs))
    if not hasattr(model, "classes_"):
        return ModelTerms(scores[0], origins=kept(origins, scores[0]))
    half = model.loss == "exponential"
    return boosted_classes(model, inputs, scores, origins, strict=False, half=half)


def boosted_classes(
    model: Any,
    inputs: Inputs,
    scores: Sequence[Term],
    origins: Traced,
    *,
    strict: bool,
    half: bool = False,
) -> ModelTerms:
    """What a classifier makes of one sum (for two classes) or one sum for each class.

    `strict` is whether the second of two classes needs a sum above 0, `half` whether the sum is
    half the logarithm of its odds.
    """
    classes = labels(model.classes_)
    if len(scores) == 1:
        (score,) = scores
        output = above_zero(score, classes, strict)
        logit = mul(score, Const(2.0)) if half else score
        shares = two_shares(Call(Function.SIGMOID, (logit,)), origins)
    else:
        score = vector(*scores)
        output = largest(score, classes)
        shares = Call(Function.SOFTMAX, (score,))
    for part in (output, score, shares):
        origins.setdefault(id(part), origin_of(model, inputs))
    return ModelTerms(output, classes, shares, score, kept(origins, output, shares, score))


def _starts(model: Any, inputs: Inputs, origins: Traced) -> list[Term]:
    """What each sum starts with."""
    count = model.estimators_.shape[1]
    if isinstance(model.init_, str):  # "zero"
        return [Const(0.0) for _ in range(count)]
    place = inputs.inside("init_")
    body = model_body(model.init_, place)
    classifies = hasattr(model, "classes_")
    term = body.probabilities if classifies else body.output
    if term is None or not (isinstance(term, Const) or _only_compares(model.init_)):
        raise _init_error(model, place)
    origins |= kept(body.origins, term)
    origins.alive.append(term)
    if not classifies:
        return [term]

    def refuse(_: Term) -> Term:
        raise _init_error(model, place)

    shares = entry(term, 1, origins) if count == 1 else term
    linked = mapped_values(shares, origins, lambda value: _linked(model, value), refuse)
    return [linked] if count == 1 else entries(linked, origins)


def _init_error(model: Any, place: Inputs) -> TranslationError:
    return TranslationError(
        f"the init estimator {type(model.init_).__name__} (step {place.step!r}) computes in "
        "float32, or has no probabilities whose logarithms could be constants; fit the model "
        "with init=None, 'zero' or a decision tree"
    )


def _only_compares(estimator: object) -> bool:
    found = find(estimator)
    function = found.function if found is not None else ""
    return isinstance(function, str) and function.split(":")[0] in (
        "proxyuse.models.sklearn.trees",
        "proxyuse.models.sklearn.forests",
    )


def _linked(model: Any, share: Value) -> Value:
    """Constant probabilities as scores, by the model's own arithmetic."""
    shares = np.clip(np.array([share]), TINY, 1 - TINY)
    return const(model._loss.link.link(shares)[0]).value
