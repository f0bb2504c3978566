"""scikit-learn's ensembles of arbitrary models: AdaBoost, bagging, voting and stacking.

- AdaBoost: a member's prediction adds its weight to that class and ``-weight / (K - 1)`` to the
  K - 1 others. The sums are divided by the sum of the weights, and the largest wins. With two
  classes, the second wins if its sum is above 0. A regressor predicts the weighted median of its
  members' predictions.
- Bagging: the mean of the members' probabilities, or of their votes if they have no
  probabilities. Each member sees a subset of the features. The largest mean wins.
- Voting: the class with the most (weighted) votes, or the largest (weighted) mean probability.
- Stacking: the members' probabilities, scores or predictions are the features of a final model.

Ties go to the first class. Except in AdaBoost, members are fitted on class indices instead of
labels. Sums follow the order of the members, as in scikit-learn with one job.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from proxyuse.lang.build import mul, vector
from proxyuse.lang.nodes import Call, Const, Function, Term, Value
from proxyuse.models.composite import CompositeModel, divided_sum
from proxyuse.models.features import Computed, Feature, Inputs
from proxyuse.models.registry import check_fitted
from proxyuse.models.term_transforms import (
    TracedOrigins,
    copied,
    entries,
    entry,
    mapped_labels,
    one_hot,
    rearranged,
    scaled,
    width,
)
from proxyuse.models.translation import Translation, above_zero, labels, largest


def translate_adaboost(model: Any, inputs: Inputs) -> Translation:
    """Translate an AdaBoostClassifier."""
    check_fitted(model, "estimators_", inputs)
    composite = CompositeModel(model, inputs)
    classes = labels(model.classes_)
    if len(classes) == 1:
        return composite.translation(Const(classes[0]), classes, Const((1.0,)))
    weights = [float(weight) for weight in model.estimator_weights_]
    total = float(np.sum(model.estimator_weights_))
    translate = _two_classes if len(classes) == 2 else _several_classes
    return translate(composite, weights, total, classes)


def translate_adaboost_regressor(model: Any, inputs: Inputs) -> Translation:
    """Translate an AdaBoostRegressor."""
    check_fitted(model, "estimators_", inputs)
    composite = CompositeModel(model, inputs)
    predictions = [
        composite.translate_member(m, f"estimators_[{i}]").output
        for i, m in enumerate(model.estimators_)
    ]
    if len(predictions) == 1:
        return composite.translation(predictions[0])
    weights = model.estimator_weights_[: len(predictions)].tolist()
    return composite.translation(
        Call(Function.MEDIAN, (vector(*predictions), Const(tuple(weights))))
    )


def _two_classes(
    composite: CompositeModel, weights: list[float], total: float, classes: tuple[Value, ...]
) -> Translation:
    """The sum for the first class is exactly the negated sum for the second."""
    votes = [
        _vote(composite, number, {classes[0]: -weight, classes[1]: weight})
        for number, weight in enumerate(weights[: len(composite.model.estimators_)])
    ]
    score = mul(divided_sum(votes, total), Const(2.0))
    halves = [mul(copied(score, composite.origins), Const(half)) for half in (-0.5, 0.5)]
    probabilities = Call(Function.SOFTMAX, (vector(*halves),))
    return composite.translation(above_zero(score, classes), classes, probabilities, score)


def _several_classes(
    composite: CompositeModel, weights: list[float], total: float, classes: tuple[Value, ...]
) -> Translation:
    size = len(classes)
    votes = []
    for number, weight in enumerate(weights[: len(composite.model.estimators_)]):
        against = -1 / (size - 1) * weight
        table: dict[Value, Value] = {
            label: one_hot(index, size, weight, against) for index, label in enumerate(classes)
        }
        votes.append(_vote(composite, number, table))
    scores = divided_sum(votes, total)
    probabilities = Call(Function.SOFTMAX, (Call(Function.DIV, (scores, Const(size - 1.0))),))
    return composite.translation(largest(scores, classes), classes, probabilities, scores)


def _vote(composite: CompositeModel, number: int, table: dict[Value, Value]) -> Term:
    """The vote of a member: its prediction, mapped by a table."""
    translation = composite.translate_member(
        composite.model.estimators_[number], f"estimators_[{number}]"
    )
    return mapped_labels(translation.output, table, composite.origins)


def translate_bagging(model: Any, inputs: Inputs) -> Translation:
    """Translate a BaggingClassifier or BaggingRegressor."""
    check_fitted(model, "estimators_", inputs)
    composite = CompositeModel(model, inputs)
    inputs_by_member = [
        inputs.having([inputs.features[index] for index in indices])
        for indices in model.estimators_features_
    ]
    members = list(zip(model.estimators_, inputs_by_member, strict=True))
    count = len(members)
    if not hasattr(model, "classes_"):
        translations = [
            composite.translate_member(m, f"estimators_[{i}]", member_inputs)
            for i, (m, member_inputs) in enumerate(members)
        ]
        return composite.translation(
            divided_sum([translation.output for translation in translations], count)
        )
    classes = labels(model.classes_)
    probabilities = [
        _bagged_probabilities(composite, member, f"estimators_[{i}]", member_inputs, len(classes))
        for i, (member, member_inputs) in enumerate(members)
    ]
    scores = [translation.scores for translation in composite.translations]
    scores_known = [score for score in scores if score is not None]
    if len(scores_known) < count or any(
        len(b.classes) < len(classes) for b in composite.translations
    ):
        return composite.most_probable(divided_sum(probabilities, count), classes)
    return composite.most_probable(
        divided_sum(probabilities, count), classes, scores=divided_sum(scores_known, count)
    )


def _bagged_probabilities(
    composite: CompositeModel, member: Any, name: str, inputs: Inputs, size: int
) -> Term:
    """A member's probabilities of all classes, or its vote."""
    if not hasattr(member, "predict_proba"):
        translation = composite.translate_member(member, name, inputs)
        table: dict[Value, Value] = {float(i): one_hot(i, size) for i in range(size)}
        return mapped_labels(translation.output, table, composite.origins)
    probabilities = composite.probabilities(member, name, inputs)
    seen = [int(index) for index in member.classes_]
    indices = [seen.index(index) if index in seen else None for index in range(size)]
    return rearranged(probabilities, indices, composite.origins)


def translate_voting(model: Any, inputs: Inputs) -> Translation:
    """Translate a VotingClassifier or VotingRegressor."""
    check_fitted(model, "estimators_", inputs)
    composite = CompositeModel(model, inputs)
    used = [i for i, (_, member) in enumerate(model.estimators) if _is_used(member)]
    names = [model.estimators[i][0] for i in used]
    plain = model.weights is None
    weights = [1.0 if plain else float(model.weights[i]) for i in used]
    divisor = len(used) if plain else float(np.sum(weights))
    members = list(zip(model.estimators_, names, weights, strict=True))
    if not hasattr(model, "classes_"):
        outputs = [
            scaled(composite.translate_member(m, n).output, w, composite.origins)
            for m, n, w in members
        ]
        return composite.translation(divided_sum(outputs, divisor))
    classes = labels(model.classes_)
    if model.voting == "soft":
        probabilities = [
            scaled(composite.probabilities(m, n), w, composite.origins) for m, n, w in members
        ]
        return composite.most_probable(divided_sum(probabilities, divisor), classes)
    votes: list[Term] = []
    for member, name, weight in members:
        table: dict[Value, Value] = {
            float(index): one_hot(index, len(classes), weight) for index in range(len(classes))
        }
        votes.append(
            mapped_labels(composite.translate_member(member, name).output, table, composite.origins)
        )
    return composite.translation(largest(divided_sum(votes, 1), classes), classes)


def _is_used(member: object) -> bool:
    return not (isinstance(member, str) and member == "drop")


@dataclass(frozen=True, slots=True, eq=False)
class _MemberFeature(Computed):
    """The output of a member, copied for each use."""

    origins: TracedOrigins

    def term(self) -> Term:
        """The term, with new node objects on each call."""
        return copied(self.value, self.origins)


def translate_stacking(model: Any, inputs: Inputs) -> Translation:
    """Translate a StackingClassifier or StackingRegressor."""
    check_fitted(model, "final_estimator_", inputs)
    composite = CompositeModel(model, inputs)
    names = [name for name, member in model.estimators if _is_used(member)]
    methods = model.stack_method_
    member_features: list[Term] = []
    for member, name, method in zip(model.estimators_, names, methods, strict=True):
        member_features += _member_features(composite, member, name, method)
    features: list[Feature] = [
        _MemberFeature(feature_term, composite.origins) for feature_term in member_features
    ]
    if model.passthrough:
        features += inputs.features
    last = composite.translate_member(
        model.final_estimator_, "final_estimator", inputs.having(features)
    )
    if not hasattr(model, "classes_"):
        return composite.translation(last.output)
    if isinstance(model.classes_, list):
        raise composite.error("predicts several labels per row", "only one is supported")
    classes = labels(model.classes_)
    table: dict[Value, Value] = {float(index): label for index, label in enumerate(classes)}
    output = mapped_labels(last.output, table, composite.origins)
    return composite.translation(output, classes, last.probabilities, last.scores)


def _member_features(composite: CompositeModel, member: Any, name: str, method: str) -> list[Term]:
    """The features that a member computes for the final model."""
    if method == "predict":
        return [composite.translate_member(member, name).output]
    if method == "decision_function":
        scores = composite.scores(member, name)
        return entries(scores, composite.origins) if width(scores) else [scores]
    probabilities = composite.probabilities(member, name)
    if len(composite.model.classes_) == 2:
        return [entry(probabilities, 1, composite.origins)]
    return entries(probabilities, composite.origins)
