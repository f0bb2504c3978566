"""scikit-learn's wrappers: searches, thresholds, one model a class or pair of classes, dummies.

- A search and a frozen model predict as the model inside.
- A threshold: the positive class where its probability (or score) is at least the threshold.
- One against the rest: the first class with the largest score (or probability) of its model; of
  two classes, the second where the only model's score is above 0 (probability above 1/2).
- One against one: each pair's model votes; ``s / (3 (|s| + 1))`` is added to the votes, where s
  is the sum of the scores for the class, so that scores break ties. The first largest wins.
- Dummies are constants.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

from proxyuse.lang.build import add, const, mul, vector
from proxyuse.lang.nodes import Call, Compare, Const, Function, Ite, Relation, Term, Value
from proxyuse.models.features import Inputs
from proxyuse.models.member_terms import (
    answered,
    copied,
    entry,
    mapped_values,
    one_hot,
    two_shares,
)
from proxyuse.models.members import Whole
from proxyuse.models.model_terms import ModelTerms, labels, largest
from proxyuse.models.registry import check_fitted


def translate_search(model: Any, inputs: Inputs) -> ModelTerms:
    """Translate a GridSearchCV, RandomizedSearchCV or their halving kin: the best model."""
    whole = Whole(model, inputs)
    if hasattr(model, "cv_results_") and not hasattr(model, "best_estimator_"):
        raise whole.error("kept no model", "search with refit=True")
    check_fitted(model, "best_estimator_", inputs)
    return whole.ask(model.best_estimator_, "best_estimator_")


def translate_frozen(model: Any, inputs: Inputs) -> ModelTerms:
    """Translate a FrozenEstimator: the model inside."""
    return Whole(model, inputs).ask(model.estimator, "estimator")


def translate_threshold(model: Any, inputs: Inputs) -> ModelTerms:
    """Translate a FixedThresholdClassifier or TunedThresholdClassifierCV."""
    whole = Whole(model, inputs)
    if hasattr(model, "threshold"):  # a fixed one takes a fitted model as it is, too
        estimator = getattr(model, "estimator_", model.estimator)
        positive = model.pos_label
    else:
        check_fitted(model, "estimator_", inputs)
        estimator = model.estimator_
        positive = model._curve_scorer._get_pos_label()
    check_fitted(estimator, "classes_", inputs.inside("estimator_"))
    classes = labels(model.classes_)
    if len(classes) != 2:
        raise whole.error(f"knows {len(classes)} classes", "a threshold needs two")
    place = 1 if positive is None else classes.index(const(positive).value)
    shares = model.response_method == "predict_proba" or (
        model.response_method == "auto" and hasattr(estimator, "predict_proba")
    )
    body = whole.ask(estimator, "estimator_")
    if shares:
        both = whole.shares_of(body, estimator, "estimator_")
        score = entry(both, place, whole.origins)
    else:
        score = whole.scores_of(body, estimator, "estimator_")
        score = score if place == 1 else mul(score, Const(-1.0))
    threshold = getattr(model, "best_threshold_", None)
    if threshold is None:
        fixed = model.threshold
        threshold = (0.5 if shares else 0.0) if fixed == "auto" else fixed
    test = Compare(Relation.GE, score, Const(float(threshold)))
    output = Ite(test, Const(classes[place]), Const(classes[1 - place]))
    return whole.body(output, classes, body.probabilities, body.scores)


def _binary_score(whole: Whole, member: Any, name: str) -> tuple[ModelTerms, Term, float]:
    """What a model of two classes computes, its score for the second, and where that wins."""
    body = _binary_body(whole, member, name)
    if not body.classes:  # a regressor
        return body, body.output, 0.5
    if hasattr(member, "decision_function"):
        return body, whole.scores_of(body, member, name), 0.0
    return body, entry(whole.shares_of(body, member, name), 1, whole.origins), 0.5


def _binary_body(whole: Whole, member: Any, name: str) -> ModelTerms:
    """Of a member; where it saw one class only, scikit-learn put a constant in its place."""
    if type(member).__name__ != "_ConstantPredictor":
        return whole.ask(member, name)
    said = float(member.y_[0])
    body = ModelTerms(Const(said), (0.0, 1.0), Const((1.0 - said, said)), Const(said))
    whole.bodies.append(body)
    return body


def _above(score: Term, threshold: float, classes: tuple[Value, ...]) -> Term:
    if len(classes) == 1:
        return Const(classes[0])
    test = Compare(Relation.GT, score, Const(threshold))
    return Ite(test, Const(classes[1]), Const(classes[0]))


def translate_one_vs_rest(model: Any, inputs: Inputs) -> ModelTerms:
    """Translate a OneVsRestClassifier."""
    check_fitted(model, "estimators_", inputs)
    whole = Whole(model, inputs)
    if model.multilabel_:
        raise whole.error("predicts several labels a row", "fit it on one label a row")
    classes = labels(model.classes_)
    members = list(model.estimators_)
    asked = [_binary_score(whole, m, f"estimators_[{i}]") for i, m in enumerate(members)]
    shares = None
    if all(body.probabilities is not None for body, _, _ in asked):
        ones = [entry(body.probabilities, 1, whole.origins) for body, _, _ in asked]  # type: ignore[arg-type]
        shares = (
            two_shares(ones[0], whole.origins) if len(ones) == 1 else whole.normalized(ones, 0.0)
        )
    decides = all(body.scores is not None for body, _, _ in asked)
    if len(members) == 1:
        _, score, threshold = asked[0]
        output = _above(score, threshold, classes)
        return whole.body(output, classes, shares, asked[0][0].scores)
    scores = vector(*(score for _, score, _ in asked))
    return whole.body(largest(scores, classes), classes, shares, scores if decides else None)


def translate_one_vs_one(model: Any, inputs: Inputs) -> ModelTerms:
    """Translate a OneVsOneClassifier."""
    check_fitted(model, "estimators_", inputs)
    whole = Whole(model, inputs)
    if model.pairwise_indices_ is not None:
        raise whole.error("is given distances between rows", "fit it on the rows themselves")
    classes = labels(model.classes_)
    size = len(classes)
    votes: list[list[Term]] = [[] for _ in classes]
    signed: list[list[tuple[Term, float]]] = [[] for _ in classes]
    threshold = 0.0
    for number, (i, j) in enumerate(combinations(range(size), 2)):
        name = f"estimators_[{number}]"
        body, score, threshold = _binary_score(whole, model.estimators_[number], name)
        for place, own in ((i, 0.0), (j, 1.0)):
            votes[place].append(_vote(body, own, whole))
            signed[place].append((score, 1.0 if place == j else -1.0))
    scores = [_with_confidence(votes[c], signed[c], whole) for c in range(size)]
    if size == 2:
        return whole.body(_above(scores[1], threshold, classes), classes, scores=scores[1])
    together = vector(*scores)
    return whole.body(largest(together, classes), classes, scores=together)


def _vote(body: ModelTerms, own: float, whole: Whole) -> Term:
    """1 where a pair's model says a class, else 0; a regressor must say its very number."""
    if body.classes:
        return answered(body.output, {own: 1.0, 1.0 - own: 0.0}, whole.origins)

    def asked(term: Term) -> Term:
        test = Compare(Relation.EQ, copied(term, whole.origins), Const(own))
        return Ite(test, Const(1.0), Const(0.0))

    return mapped_values(body.output, whole.origins, lambda number: float(number == own), asked)


def _with_confidence(votes: list[Term], signed: list[tuple[Term, float]], whole: Whole) -> Term:
    """Votes, and between equal numbers of them the scores."""
    sums = [
        add(
            *(
                copied(score, whole.origins)
                if sign == 1
                else mul(copied(score, whole.origins), Const(sign))
                for score, sign in signed
            )
        )
        for _ in range(2)
    ]
    size = add(Call(Function.ABS, (sums[1],)), Const(1.0))
    return add(*votes, Call(Function.DIV, (sums[0], mul(size, Const(3.0)))))


def translate_dummy(model: Any, inputs: Inputs) -> ModelTerms:
    """Translate a DummyClassifier or DummyRegressor."""
    whole = Whole(model, inputs)
    if hasattr(model, "constant_") or not hasattr(type(model), "predict_proba"):
        check_fitted(model, "constant_", inputs)
        return whole.body(Const(float(model.constant_[0, 0])))
    check_fitted(model, "class_prior_", inputs)
    classes = labels(model.classes_)
    if model._strategy in ("stratified", "uniform"):
        raise whole.error(
            f"predicts at random ({model._strategy})", "use another strategy, such as 'prior'"
        )
    if model._strategy == "constant":
        place = classes.index(const(model.constant).value)
    else:
        place = int(model.class_prior_.argmax())
    prior = tuple(model.class_prior_.tolist())
    shares = prior if model._strategy == "prior" else one_hot(place, len(classes))
    return whole.body(Const(classes[place]), classes, Const(shares))
