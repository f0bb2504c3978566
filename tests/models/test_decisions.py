"""What is decided, where that is not what the model predicts; and programs checked on the rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import proxyuse as pu
from proxyuse.datasets import load_contraceptive
from proxyuse.lang.nodes import Const
from proxyuse.models import checks
from proxyuse.models.audited_model import audited_model
from proxyuse.models.registry import register, translation_of
from proxyuse.models.translation import Translation
from proxyuse.notes import NoteKind, RoundedDecisions, RowCount

RNG = np.random.default_rng(11)
X = pd.DataFrame({"a": RNG.normal(size=300), "b": RNG.integers(0, 5, 300), "c": RNG.random(300)})
Y = np.where(X["a"] + X["b"] / 3 + RNG.normal(size=300) > 0.8, "yes", "no")
Z = {"z": (X["b"] > 2).to_numpy()}


def models() -> list[Any]:
    return [
        DecisionTreeClassifier(max_depth=4, random_state=0),
        RandomForestClassifier(7, max_depth=4, random_state=0),
        RandomForestClassifier(1, max_depth=4, random_state=0),
    ]


@pytest.mark.parametrize("model", models(), ids=lambda m: type(m).__name__)
@pytest.mark.parametrize("threshold", [0.0, 0.2, 0.37, 0.5, 1.0])
def test_a_threshold_decides_as_predict_proba_does(model: Any, threshold: float) -> None:
    model.fit(X, Y)
    program = pu.translate(model, decision=pu.Threshold(threshold))
    expected = np.where(model.predict_proba(X)[:, 1] >= threshold, "yes", "no")
    assert program.predict(X).tolist() == expected.tolist()
    other = pu.translate(model, decision=pu.Threshold(threshold, positive="no"))
    expected = np.where(model.predict_proba(X)[:, 0] >= threshold, "no", "yes")
    assert other.predict(X).tolist() == expected.tolist()


def test_a_threshold_on_a_forest_is_counted_as_a_sum_of_trees() -> None:
    model = RandomForestClassifier(5, max_depth=3, random_state=0).fit(X, Y)
    audit = pu.audit(model, X, Z, decision=pu.Threshold(0.37), budget=pu.Budget(subsets=0))
    (sentence,) = audit.note_sentences(NoteKind.METHOD)
    assert "from counts of the trees" in sentence
    origins = [audit.program.origin(str(d.positions[0])) for d in audit.decompositions]
    trees = {origin.tree for origin in origins if origin is not None}
    assert trees == {None, 0, 1, 2, 3, 4}  # of the whole, and of each tree


def test_one_class_of_many_against_the_others() -> None:
    data = load_contraceptive()
    features, y = data.drop(columns="method"), data["method"]
    model = RandomForestClassifier(5, max_depth=4, random_state=0).fit(features, y)
    label = model.classes_[2]
    program = pu.translate(model, decision=pu.Positive(label))
    assert program.predict(features).tolist() == (model.predict(features) == label).tolist()
    program = pu.translate(model, decision=pu.Threshold(0.3, positive=label))
    decided = model.predict_proba(features)[:, 2] >= 0.3
    assert program.predict(features).tolist() == decided.tolist()


@pytest.mark.parametrize("k", [1, 20, 300])
def test_the_best_k_are_those_with_the_largest_scores(k: int) -> None:
    model = RandomForestClassifier(7, max_depth=4, random_state=0).fit(X, Y)
    audit = pu.audit(model, X, Z, decision=pu.TopK(k), budget=pu.Budget(subsets=0))
    scores = model.predict_proba(X)[:, 1]
    assert audit.program.predict(X).tolist() == (scores >= np.sort(scores)[-k]).tolist()
    regressor = RandomForestRegressor(5, max_depth=4, random_state=0).fit(X, X["a"] + X["c"])
    audit = pu.audit(regressor, X, Z, decision=pu.TopK(k), budget=pu.Budget(subsets=0))
    scores = regressor.predict(X)
    expected = scores >= np.sort(scores)[-k]
    near = np.abs(scores - np.sort(scores)[-k]) <= 1e-9
    assert (audit.program.predict(X) == expected)[~near].all()


@pytest.mark.parametrize(
    ("model", "decision", "message"),
    [
        (DecisionTreeClassifier(), pu.Threshold(1.5), "from 0 to 1"),
        (DecisionTreeClassifier(), pu.Threshold(0.5, positive="maybe"), "not a class"),
        (
            DecisionTreeClassifier(),
            pu.Positive("maybe"),
            "not a class of the model; classes: 'no', 'yes'",
        ),
        (DecisionTreeClassifier(), pu.TopK(3), "pass it to audit"),
    ],
)
def test_invalid_decisions_are_refused(model: Any, decision: Any, message: str) -> None:
    with pytest.raises(pu.TranslationError, match=message):
        pu.translate(model.fit(X, Y), decision=decision)


def test_a_number_is_at_least_a_threshold() -> None:
    regressor = DecisionTreeRegressor(max_depth=4).fit(X, X["a"])
    for threshold in (0.5, float(regressor.predict(X)[0]), -3.0):
        program = pu.translate(regressor, decision=pu.Threshold(threshold))
        assert (program.predict(X) == (regressor.predict(X) >= threshold)).all()


def test_decisions_that_do_not_fit_the_model_are_refused() -> None:
    tree = DecisionTreeClassifier(max_depth=2).fit(X, Y)
    with pytest.raises(pu.TranslationError, match="from 1 to the number of rows"):
        pu.audit(tree, X, Z, decision=pu.TopK(301))
    regressor = DecisionTreeRegressor(max_depth=2).fit(X, X["a"])
    with pytest.raises(pu.TranslationError, match="no classes"):
        pu.translate(regressor, decision=pu.Positive(0.5))
    with pytest.raises(pu.TranslationError, match="part of the program"):
        pu.audit(pu.translate(tree), X, Z, decision=pu.Threshold(0.5))
    three = DecisionTreeClassifier(max_depth=2).fit(X, X["b"].clip(upper=2))
    with pytest.raises(pu.TranslationError, match="pass one of them as `positive`"):
        pu.translate(three, decision=pu.Threshold(0.5))


@pytest.mark.parametrize(
    ("model", "best", "message"),
    [
        (DecisionTreeClassifier(max_depth=2), pu.TopK(2.5), "expected an integer from 1"),  # type: ignore[arg-type]
        (DecisionTreeClassifier(max_depth=2), pu.TopK(3, "maybe"), "not a class of the model"),
        (LinearSVC(), pu.TopK(3), "the model has no probabilities"),
    ],
)
def test_an_invalid_top_k_is_refused(model: Any, best: pu.TopK, message: str) -> None:
    with pytest.raises(pu.TranslationError, match=message):
        pu.audit(model.fit(X, Y), X, Z, decision=best)


@pytest.mark.parametrize("classes", [1, 3])
def test_top_k_of_a_native_booster(classes: int) -> None:
    xgb = pytest.importorskip("xgboost")
    options = {"objective": "reg:squarederror", "nthread": 1}
    if classes > 1:
        options |= {"objective": "multi:softprob", "num_class": classes}
    booster = xgb.train(options, xgb.DMatrix(X, X["b"] % classes if classes > 1 else X["a"]), 2)
    if classes > 1:
        with pytest.raises(pu.TranslationError, match="one score per row"):
            audited_model(booster, X, set(), pu.TopK(9), opaque=False)
        return
    audited = audited_model(booster, X, set(), pu.TopK(9), opaque=False)
    scores = booster.predict(xgb.DMatrix(X))
    assert audited.expected is not None
    assert audited.expected.tolist() == (scores >= np.sort(scores)[-9]).tolist()


class Stubborn:
    """A model whose translator is wrong, or right but for rounding."""

    n_features_in_ = 1
    classes_ = ("low", "high")

    def __init__(self, limit: float) -> None:
        self.limit = limit

    def predict(self, rows: Any) -> Any:
        return np.where(np.asarray(rows)[:, 0] * 3 / 3 > self.limit, "high", "low")


@register(f"{Stubborn.__module__}.Stubborn")
def translate_stubborn(model: Stubborn, inputs: Any) -> Translation:
    test = pu.Program.parse("ite(0.5 * x + 0.5 * x > 0.5, 'high', 'low')").term
    return Translation(test, ("low", "high"))


def test_an_audit_refuses_a_program_that_differs_from_its_model() -> None:
    rows = pd.DataFrame({"x": [0.1, 0.45, 0.7, 0.2]})
    with pytest.raises(pu.TranslationError, match=r"Stubborn in 1 of 4 rows \(row 1,"):
        pu.audit(Stubborn(0.4), rows, {"z": [0, 1, 0, 1]})


def test_rows_decided_by_rounding_are_counted() -> None:
    rows = pd.DataFrame({"x": [0.1, 0.5, 0.7, 0.2]})
    audit = pu.audit(Stubborn(0.5 - 1e-12), rows, {"z": [0, 1, 0, 1]})
    assert RoundedDecisions(RowCount(1), 4) in audit.notes


def test_rows_that_are_dropped_are_not_compared() -> None:
    rows = pd.DataFrame({"x": [0.1, 0.45, 0.7, 0.2]})
    audit = pu.audit(Stubborn(0.4), rows, {"z": [0, 1, 0, 1]}, weights=[1, 0, 1, 1])
    assert audit.population.n_rows == 3


@pytest.mark.parametrize("model", models(), ids=lambda m: type(m).__name__)
def test_the_suite_for_translators_passes(model: Any) -> None:
    program = checks.check_translation(model.fit(X, Y), X)
    assert program.inputs == ("a", "b", "c")
    checks.check_translation(model.fit(X.to_numpy(), Y), X.to_numpy())


def test_the_suite_for_translators_rejects_an_incorrect_one() -> None:
    rows = pd.DataFrame({"x": [0.1, 0.45, 0.7, 0.2]})
    with pytest.raises(pu.TranslationError, match="in 1 of 4 rows"):
        checks.check_translation(Stubborn(0.4), rows, ["x"])


def test_the_error_names_the_column_that_the_data_lack() -> None:
    tree = DecisionTreeClassifier(max_depth=2).fit(X, Y)
    with pytest.raises(pu.DataError, match="which the DecisionTreeClassifier reads"):
        pu.audit(tree, X.rename(columns={"a": "A"}), Z)


def test_a_model_that_cannot_predict_is_refused_by_an_audit() -> None:
    class Mute(Stubborn):
        predict = property()

    with pytest.raises(pu.TranslationError, match="a Mute has no predict"):
        pu.audit(Mute(0.5), pd.DataFrame({"x": [0.1, 0.9]}), {"z": [0, 1]})


def test_a_translation_can_be_requested_alone() -> None:
    model = DecisionTreeClassifier(max_depth=1).fit(X, Y)
    body = translation_of(model, ["a", "b", "c"])
    assert body.classes == ("no", "yes")
    assert not isinstance(body.probabilities, Const)
