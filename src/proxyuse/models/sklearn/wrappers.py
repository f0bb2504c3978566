"""scikit-learn's wrappers: searches, thresholds, one-vs-rest, one-vs-one, and dummies.

- A search or a frozen model predicts like the model inside.
- A threshold predicts the positive class if its probability (or score) reaches the threshold.
- One-vs-rest predicts the class whose model has the largest score (or probability). With two
  classes there is one model, and the second class wins if the score is above 0 (or the
  probability above 1/2).
- One-vs-one counts the votes of one model per pair of classes. It adds ``s / (3 (|s| + 1))`` to
  the votes for a class, where s is the sum of its scores, so scores break ties.
- Dummies are constants.

Ties go to the first class.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

from proxyuse.lang.build import add, const, mul, vector
from proxyuse.lang.nodes import Call, Compare, Const, Function, Ite, Relation, Term, Value
from proxyuse.models.composite import CompositeModel
from proxyuse.models.features import Inputs
from proxyuse.models.registry import check_fitted
from proxyuse.models.term_transforms import (
    copied,
    entry,
    leafwise_binary_probabilities,
    mapped_labels,
    mapped_values,
    one_hot,
)
from proxyuse.models.translation import Translation, labels, largest


def translate_search(model: Any, inputs: Inputs) -> Translation:
    """Translate the best model of a GridSearchCV, RandomizedSearchCV or halving search."""
    composite = CompositeModel(model, inputs)
    if hasattr(model, "cv_results_") and not hasattr(model, "best_estimator_"):
        raise composite.error("has no fitted model", "search with refit=True")
    check_fitted(model, "best_estimator_", inputs)
    return composite.translate_member(model.best_estimator_, "best_estimator_")


def translate_frozen(model: Any, inputs: Inputs) -> Translation:
    """Translate the model inside a FrozenEstimator."""
    return CompositeModel(model, inputs).translate_member(model.estimator, "estimator")


def translate_threshold(model: Any, inputs: Inputs) -> Translation:
    """Translate a FixedThresholdClassifier or TunedThresholdClassifierCV."""
    composite = CompositeModel(model, inputs)
    if hasattr(model, "threshold"):  # a fixed threshold also accepts a fitted model
        estimator = getattr(model, "estimator_", model.estimator)
        positive = model.pos_label
    else:
        check_fitted(model, "estimator_", inputs)
        estimator = model.estimator_
        positive = model._curve_scorer._get_pos_label()
    check_fitted(estimator, "classes_", inputs.inside("estimator_"))
    classes = labels(model.classes_)
    if len(classes) != 2:
        raise composite.error(f"has {len(classes)} classes", "a threshold needs two")
    index = 1 if positive is None else classes.index(const(positive).value)
    probabilities = model.response_method == "predict_proba" or (
        model.response_method == "auto" and hasattr(estimator, "predict_proba")
    )
    translation = composite.translate_member(estimator, "estimator_")
    if probabilities:
        both = composite.probabilities_of(translation, estimator, "estimator_")
        score = entry(both, index, composite.origins)
    else:
        score = composite.scores_of(translation, estimator, "estimator_")
        score = score if index == 1 else mul(score, Const(-1.0))
    threshold = getattr(model, "best_threshold_", None)
    if threshold is None:
        fixed = model.threshold
        threshold = (0.5 if probabilities else 0.0) if fixed == "auto" else fixed
    test = Compare(Relation.GE, score, Const(float(threshold)))
    output = Ite(test, Const(classes[index]), Const(classes[1 - index]))
    return composite.translation(output, classes, translation.probabilities, translation.scores)


def _binary_score(
    composite: CompositeModel, member: Any, name: str
) -> tuple[Translation, Term, float]:
    """A binary model's translation, its score for the second class, and the score's threshold."""
    translation = _binary_translation(composite, member, name)
    if not translation.classes:  # a regressor
        return translation, translation.output, 0.5
    if hasattr(member, "decision_function"):
        return translation, composite.scores_of(translation, member, name), 0.0
    return (
        translation,
        entry(composite.probabilities_of(translation, member, name), 1, composite.origins),
        0.5,
    )


def _binary_translation(composite: CompositeModel, member: Any, name: str) -> Translation:
    """The translation of a member; scikit-learn uses a constant for a member with one class."""
    if type(member).__name__ != "_ConstantPredictor":
        return composite.translate_member(member, name)
    constant = float(member.y_[0])
    translation = Translation(
        Const(constant), (0.0, 1.0), Const((1.0 - constant, constant)), Const(constant)
    )
    composite.translations.append(translation)
    return translation


def _above(score: Term, threshold: float, classes: tuple[Value, ...]) -> Term:
    if len(classes) == 1:
        return Const(classes[0])
    test = Compare(Relation.GT, score, Const(threshold))
    return Ite(test, Const(classes[1]), Const(classes[0]))


def translate_one_vs_rest(model: Any, inputs: Inputs) -> Translation:
    """Translate a OneVsRestClassifier."""
    check_fitted(model, "estimators_", inputs)
    composite = CompositeModel(model, inputs)
    if model.multilabel_:
        raise composite.error("predicts several labels per row", "fit it on one label per row")
    classes = labels(model.classes_)
    members = list(model.estimators_)
    translated = [_binary_score(composite, m, f"estimators_[{i}]") for i, m in enumerate(members)]
    ones = [
        entry(translation.probabilities, 1, composite.origins)
        for translation, _, _ in translated
        if translation.probabilities is not None
    ]
    probabilities = None
    if len(ones) == len(members) == 1:
        probabilities = leafwise_binary_probabilities(ones[0], composite.origins)
    elif len(ones) == len(members):
        probabilities = composite.normalized(ones, 0.0)
    has_scores = all(translation.scores is not None for translation, _, _ in translated)
    if len(members) == 1:
        _, score, threshold = translated[0]
        output = _above(score, threshold, classes)
        return composite.translation(output, classes, probabilities, translated[0][0].scores)
    scores = vector(*(score for _, score, _ in translated))
    return composite.translation(
        largest(scores, classes), classes, probabilities, scores if has_scores else None
    )


def translate_one_vs_one(model: Any, inputs: Inputs) -> Translation:
    """Translate a OneVsOneClassifier."""
    check_fitted(model, "estimators_", inputs)
    composite = CompositeModel(model, inputs)
    if model.pairwise_indices_ is not None:
        raise composite.error("takes distances between rows", "fit it on the rows themselves")
    classes = labels(model.classes_)
    size = len(classes)
    votes: list[list[Term]] = [[] for _ in classes]
    signed: list[list[tuple[Term, float]]] = [[] for _ in classes]
    threshold = 0.0
    for number, (i, j) in enumerate(combinations(range(size), 2)):
        name = f"estimators_[{number}]"
        translation, score, threshold = _binary_score(composite, model.estimators_[number], name)
        for index, label in ((i, 0.0), (j, 1.0)):
            votes[index].append(_vote(translation, label, composite))
            signed[index].append((score, 1.0 if index == j else -1.0))
    scores = [_with_confidence(votes[c], signed[c], composite) for c in range(size)]
    if size == 2:
        return composite.translation(
            _above(scores[1], threshold, classes), classes, scores=scores[1]
        )
    together = vector(*scores)
    return composite.translation(largest(together, classes), classes, scores=together)


def _vote(translation: Translation, label: float, composite: CompositeModel) -> Term:
    """1 if the model of a pair predicts a class, else 0; a regressor must predict exactly it."""
    if translation.classes:
        return mapped_labels(translation.output, {label: 1.0, 1.0 - label: 0.0}, composite.origins)

    def equals(term: Term) -> Term:
        test = Compare(Relation.EQ, copied(term, composite.origins), Const(label))
        return Ite(test, Const(1.0), Const(0.0))

    return mapped_values(
        translation.output, composite.origins, lambda number: float(number == label), equals
    )


def _with_confidence(
    votes: list[Term], signed: list[tuple[Term, float]], composite: CompositeModel
) -> Term:
    """The votes for a class plus a fraction that breaks ties by the scores."""
    sums = [
        add(
            *(
                copied(score, composite.origins)
                if sign == 1
                else mul(copied(score, composite.origins), Const(sign))
                for score, sign in signed
            )
        )
        for _ in range(2)
    ]
    size = add(Call(Function.ABS, (sums[1],)), Const(1.0))
    return add(*votes, Call(Function.DIV, (sums[0], mul(size, Const(3.0)))))


def translate_dummy(model: Any, inputs: Inputs) -> Translation:
    """Translate a DummyClassifier or DummyRegressor."""
    composite = CompositeModel(model, inputs)
    if hasattr(model, "constant_") or not hasattr(type(model), "predict_proba"):
        check_fitted(model, "constant_", inputs)
        return composite.translation(Const(float(model.constant_[0, 0])))
    check_fitted(model, "class_prior_", inputs)
    classes = labels(model.classes_)
    if model._strategy in ("stratified", "uniform"):
        raise composite.error(
            f"predicts at random ({model._strategy})", "use another strategy, such as 'prior'"
        )
    if model._strategy == "constant":
        index = classes.index(const(model.constant).value)
    else:
        index = int(model.class_prior_.argmax())
    prior = tuple(model.class_prior_.tolist())
    probabilities = prior if model._strategy == "prior" else one_hot(index, len(classes))
    return composite.translation(Const(classes[index]), classes, Const(probabilities))
