"""scikit-learn's ensembles of other models: AdaBoost, bagging, votes and stacks.

- AdaBoost: a member's prediction is worth its weight for that class and ``-weight / (K - 1)`` for
  the K - 1 others. The sums are divided by the sum of the weights; the first largest wins, of two
  classes the second if its sum is above 0. A regressor predicts the weighted median of what its
  members predict.
- Bagging: the mean of the members' probabilities, or of votes by members that have none; each
  member sees its own choice of features. The first largest wins.
- Voting: the class with most votes (or weights of votes), or with the largest (weighted) mean
  probability; the first on a tie.
- Stacking: the members' probabilities, scores or predictions are the features of a last model.

Members of all but AdaBoost know the classes by their numbers from 0. Sums are in the order of
the members, which is scikit-learn's with one job.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from proxyuse.lang.build import mul, vector
from proxyuse.lang.nodes import Call, Const, Function, Term, Value
from proxyuse.models.features import Computed, Feature, Inputs
from proxyuse.models.member_terms import (
    Traced,
    answered,
    copied,
    entries,
    entry,
    one_hot,
    rearranged,
    scaled,
    width,
)
from proxyuse.models.members import Whole, divided_sum
from proxyuse.models.model_terms import ModelTerms, above_zero, labels, largest
from proxyuse.models.registry import check_fitted


def translate_adaboost(model: Any, inputs: Inputs) -> ModelTerms:
    """Translate an AdaBoostClassifier."""
    check_fitted(model, "estimators_", inputs)
    whole = Whole(model, inputs)
    classes = labels(model.classes_)
    if len(classes) == 1:
        return whole.body(Const(classes[0]), classes, Const((1.0,)))
    weights = [float(weight) for weight in model.estimator_weights_]
    total = float(np.sum(model.estimator_weights_))
    says = _two_classes if len(classes) == 2 else _several_classes
    return says(whole, weights, total, classes)


def translate_adaboost_regressor(model: Any, inputs: Inputs) -> ModelTerms:
    """Translate an AdaBoostRegressor."""
    check_fitted(model, "estimators_", inputs)
    whole = Whole(model, inputs)
    said = [whole.ask(m, f"estimators_[{i}]").output for i, m in enumerate(model.estimators_)]
    if len(said) == 1:
        return whole.body(said[0])
    weights = model.estimator_weights_[: len(said)].tolist()
    return whole.body(Call(Function.MEDIAN, (vector(*said), Const(tuple(weights)))))


def _two_classes(
    whole: Whole, weights: list[float], total: float, classes: tuple[Value, ...]
) -> ModelTerms:
    """The sum for the first class is that for the second with the other sign, to the last bit."""
    votes = [
        _vote(whole, number, {classes[0]: -weight, classes[1]: weight})
        for number, weight in enumerate(weights[: len(whole.model.estimators_)])
    ]
    score = mul(divided_sum(votes, total), Const(2.0))
    halves = [mul(copied(score, whole.origins), Const(half)) for half in (-0.5, 0.5)]
    shares = Call(Function.SOFTMAX, (vector(*halves),))
    return whole.body(above_zero(score, classes), classes, shares, score)


def _several_classes(
    whole: Whole, weights: list[float], total: float, classes: tuple[Value, ...]
) -> ModelTerms:
    size = len(classes)
    votes = []
    for number, weight in enumerate(weights[: len(whole.model.estimators_)]):
        against = -1 / (size - 1) * weight
        table: dict[Value, Value] = {
            label: one_hot(place, size, weight, against) for place, label in enumerate(classes)
        }
        votes.append(_vote(whole, number, table))
    scores = divided_sum(votes, total)
    shares = Call(Function.SOFTMAX, (Call(Function.DIV, (scores, Const(size - 1.0))),))
    return whole.body(largest(scores, classes), classes, shares, scores)


def _vote(whole: Whole, number: int, table: dict[Value, Value]) -> Term:
    """What a table says of a member's prediction."""
    body = whole.ask(whole.model.estimators_[number], f"estimators_[{number}]")
    return answered(body.output, table, whole.origins)


def translate_bagging(model: Any, inputs: Inputs) -> ModelTerms:
    """Translate a BaggingClassifier or BaggingRegressor."""
    check_fitted(model, "estimators_", inputs)
    whole = Whole(model, inputs)
    chosen = [
        inputs.having([inputs.features[place] for place in places])
        for places in model.estimators_features_
    ]
    members = list(zip(model.estimators_, chosen, strict=True))
    count = len(members)
    if not hasattr(model, "classes_"):
        bodies = [whole.ask(m, f"estimators_[{i}]", own) for i, (m, own) in enumerate(members)]
        return whole.body(divided_sum([body.output for body in bodies], count))
    classes = labels(model.classes_)
    shares = [
        _bagged_share(whole, member, f"estimators_[{i}]", own, len(classes))
        for i, (member, own) in enumerate(members)
    ]
    scores = [body.scores for body in whole.bodies]
    known = [score for score in scores if score is not None]
    if len(known) < count or any(len(b.classes) < len(classes) for b in whole.bodies):
        return whole.largest_share(divided_sum(shares, count), classes)
    return whole.largest_share(
        divided_sum(shares, count), classes, scores=divided_sum(known, count)
    )


def _bagged_share(whole: Whole, member: Any, name: str, inputs: Inputs, size: int) -> Term:
    """A member's probabilities of all classes, or its vote."""
    if not hasattr(member, "predict_proba"):
        body = whole.ask(member, name, inputs)
        table: dict[Value, Value] = {float(i): one_hot(i, size) for i in range(size)}
        return answered(body.output, table, whole.origins)
    shares = whole.probabilities(member, name, inputs)
    seen = [int(place) for place in member.classes_]
    places = [seen.index(place) if place in seen else None for place in range(size)]
    return rearranged(shares, places, whole.origins)


def translate_voting(model: Any, inputs: Inputs) -> ModelTerms:
    """Translate a VotingClassifier or VotingRegressor."""
    check_fitted(model, "estimators_", inputs)
    whole = Whole(model, inputs)
    used = [i for i, (_, member) in enumerate(model.estimators) if _takes_part(member)]
    names = [model.estimators[i][0] for i in used]
    plain = model.weights is None
    weights = [1.0 if plain else float(model.weights[i]) for i in used]
    divisor = len(used) if plain else float(np.sum(weights))
    members = list(zip(model.estimators_, names, weights, strict=True))
    if not hasattr(model, "classes_"):
        outputs = [scaled(whole.ask(m, n).output, w, whole.origins) for m, n, w in members]
        return whole.body(divided_sum(outputs, divisor))
    classes = labels(model.classes_)
    if model.voting == "soft":
        shares = [scaled(whole.probabilities(m, n), w, whole.origins) for m, n, w in members]
        return whole.largest_share(divided_sum(shares, divisor), classes)
    votes: list[Term] = []
    for member, name, weight in members:
        table: dict[Value, Value] = {
            float(place): one_hot(place, len(classes), weight) for place in range(len(classes))
        }
        votes.append(answered(whole.ask(member, name).output, table, whole.origins))
    return whole.body(largest(divided_sum(votes, 1), classes), classes)


def _takes_part(member: object) -> bool:
    return not (isinstance(member, str) and member == "drop")


@dataclass(frozen=True, slots=True, eq=False)
class _Answer(Computed):
    """What a member says, made afresh wherever it is used."""

    origins: Traced

    def term(self) -> Term:
        """The term, each time of other node objects."""
        return copied(self.value, self.origins)


def translate_stacking(model: Any, inputs: Inputs) -> ModelTerms:
    """Translate a StackingClassifier or StackingRegressor."""
    check_fitted(model, "final_estimator_", inputs)
    whole = Whole(model, inputs)
    names = [name for name, member in model.estimators if _takes_part(member)]
    methods = model.stack_method_
    answers: list[Term] = []
    for member, name, method in zip(model.estimators_, names, methods, strict=True):
        answers += _member_answers(whole, member, name, method)
    features: list[Feature] = [_Answer(answer, whole.origins) for answer in answers]
    if model.passthrough:
        features += inputs.features
    last = whole.ask(model.final_estimator_, "final_estimator", inputs.having(features))
    if not hasattr(model, "classes_"):
        return whole.body(last.output)
    if isinstance(model.classes_, list):
        raise whole.error("predicts several labels a row", "only one is supported")
    classes = labels(model.classes_)
    table: dict[Value, Value] = {float(place): label for place, label in enumerate(classes)}
    output = answered(last.output, table, whole.origins)
    return whole.body(output, classes, last.probabilities, last.scores)


def _member_answers(whole: Whole, member: Any, name: str, method: str) -> list[Term]:
    """The features that a member computes for the last model."""
    if method == "predict":
        return [whole.ask(member, name).output]
    if method == "decision_function":
        scores = whole.scores(member, name)
        return entries(scores, whole.origins) if width(scores) else [scores]
    shares = whole.probabilities(member, name)
    if len(whole.model.classes_) == 2:
        return [entry(shares, 1, whole.origins)]
    return entries(shares, whole.origins)
