"""The quality of models agrees with scikit-learn's metrics, and its errors with direct figures."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import calibration_curve
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier
from sklearn.metrics import (
    accuracy_score,
    balanced_accuracy_score,
    log_loss,
    mean_squared_error,
    roc_auc_score,
)
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import proxyuse as pu
from proxyuse.decision import Positive, Threshold, TopK
from proxyuse.errors import DataError
from proxyuse.models.program_estimator import program_estimator
from proxyuse.models.registry import translate
from proxyuse.program import Program
from proxyuse.repairing.quality import paired_difference, pooled, quality_of
from proxyuse.repairing.scoring import calibration_error, deviations, placements, standard_error
from proxyuse.repairing.utility import Measure

ROWS = 300


def people(seed):
    """Rows with ties, labels of two and of three classes, a number, weights, and two groups."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.integers(0, 6, (ROWS, 3)).astype(float), columns=["age", "pay", "days"])
    score = X["age"] - X["pay"] + rng.normal(0, 2, ROWS)
    return {
        "X": X,
        "two": np.where(score > 0.5, "yes", "no"),
        "three": np.digitize(score, [-1.5, 1.0]),
        "number": score.to_numpy(),
        "weights": rng.integers(0, 4, ROWS) * 0.5,
        "sex": rng.choice(["f", "m"], ROWS),
    }


DATA = [people(seed) for seed in range(4)]
CLASSIFIERS = {
    "tree": DecisionTreeClassifier(max_depth=3),
    "forest": RandomForestClassifier(5, max_depth=3, random_state=0),
    "logistic": make_pipeline(StandardScaler(), LogisticRegression()),
}


# Figures


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("target", ["two", "three"])
@pytest.mark.parametrize("name", CLASSIFIERS)
@pytest.mark.parametrize("data", DATA)
def test_the_figures_of_classifiers_are_those_of_scikit_learn(name, target, weighted, data):
    X, y = data["X"], data[target]
    weights = data["weights"] if weighted else None
    model = CLASSIFIERS[name].fit(X[:150], y[:150])
    shares, outputs = model.predict_proba(X), model.predict(X)
    scores = shares[:, 1] if target == "two" else shares
    right = y == "yes" if target == "two" else y
    quality = quality_of(model, X, y, weights=weights)
    kept = slice(None) if weights is None else weights > 0
    expected = {
        "utility": accuracy_score(y, outputs, sample_weight=weights),
        "auc": roc_auc_score(right, scores, sample_weight=weights, multi_class="ovr"),
        "log_loss": log_loss(y, shares, sample_weight=weights),
    }
    for figure, value in expected.items():
        assert getattr(quality, figure) == pytest.approx(value, abs=1e-12), figure
    assert quality.rows == len(y[kept])
    assert quality.outputs.tolist() == outputs.tolist()


@pytest.mark.parametrize("data", DATA)
def test_each_utility_is_that_of_scikit_learn(data):
    X, y, weights = data["X"], data["two"], data["weights"]
    model = CLASSIFIERS["forest"].fit(X[:150], y[:150])
    shares, outputs = model.predict_proba(X)[:, 1], model.predict(X)
    expected = {
        Measure.ACCURACY: accuracy_score(y, outputs, sample_weight=weights),
        Measure.BALANCED_ACCURACY: balanced_accuracy_score(y, outputs, sample_weight=weights),
        Measure.AUC: roc_auc_score(y == "yes", shares, sample_weight=weights),
        Measure.LOG_LOSS: log_loss(y == "yes", shares, sample_weight=weights),
    }
    for measure, value in expected.items():
        quality = quality_of(model, X, y, weights=weights, measure=measure)
        assert quality.utility == pytest.approx(value, abs=1e-12), measure
        assert quality.better == pytest.approx(-value if measure == "log loss" else value)
    custom = quality_of(model, X, y, weights=weights, measure=accuracy_score)
    assert custom.utility == pytest.approx(expected[Measure.ACCURACY])
    assert np.isnan(custom.error)
    assert custom.moves is None


@pytest.mark.parametrize("kind", [LinearRegression, DecisionTreeRegressor])
def test_regressors_have_a_mean_squared_error_and_mean_outputs(kind):
    data = DATA[0]
    X, y, weights, sex = data["X"], data["number"], data["weights"], data["sex"]
    model = kind().fit(X, y)
    quality = quality_of(model, X, y, weights=weights, protected={"sex": sex})
    outputs = model.predict(X)
    assert quality.measure is Measure.SQUARED_ERROR
    assert quality.utility == pytest.approx(mean_squared_error(y, outputs, sample_weight=weights))
    assert quality.better == -quality.utility
    assert (quality.auc, quality.log_loss, quality.calibration) == (None, None, None)
    for rate, value in zip(quality.rates["sex"], "fm", strict=True):
        own = sex == value
        assert (rate.value, rate.label) == (value, None)
        assert rate.rate == pytest.approx(np.average(outputs[own], weights=weights[own]))
        assert rate.rows == np.count_nonzero(weights[own])


def test_calibration_is_the_mean_gap_of_ten_equal_bins():
    rng = np.random.default_rng(0)
    for rows in (100, 1000, 5000):
        shares = rng.permutation(rows) / rows
        happened = rng.random(rows) < shares**2
        truth, mean = calibration_curve(happened, shares, n_bins=10, strategy="quantile")
        expected = np.abs(truth - mean).mean()
        assert calibration_error(shares, happened, np.ones(rows)) == pytest.approx(expected)


def test_calibration_does_not_depend_on_the_order_of_rows_or_the_unit_of_weights():
    rng = np.random.default_rng(1)
    shares = rng.integers(0, 15, 200) / 14  # ties
    happened, weights = rng.random(200) < 0.5, rng.integers(1, 4, 200).astype(float)
    expected = calibration_error(shares, happened, weights)
    order = rng.permutation(200)
    shuffled = calibration_error(shares[order], happened[order], 3 * weights[order])
    assert shuffled == pytest.approx(expected)
    repeated = np.repeat(np.arange(200), weights.astype(int))
    again = calibration_error(shares[repeated], happened[repeated], np.ones(len(repeated)))
    assert again == pytest.approx(expected)


def test_calibration_is_0_if_probabilities_are_the_frequencies():
    data = DATA[0]
    model = DecisionTreeClassifier(max_depth=3).fit(data["X"], data["two"])
    assert quality_of(model, data["X"], data["two"]).calibration == pytest.approx(0)


def test_weights_are_like_repeated_rows_except_for_the_errors():
    data = DATA[1]
    X, y, weights = data["X"], data["three"], data["weights"]
    model = CLASSIFIERS["forest"].fit(X, y)
    repeated = np.repeat(np.arange(ROWS), (2 * weights).astype(int))
    first = quality_of(model, X, y, weights=weights, protected={"sex": data["sex"]})
    second = quality_of(
        model, X.iloc[repeated], y[repeated], protected={"sex": data["sex"][repeated]}
    )
    for figure in ("utility", "auc", "log_loss", "calibration"):
        assert getattr(first, figure) == pytest.approx(getattr(second, figure))
    rates = [[rate.rate for rate in quality.rates["sex"]] for quality in (first, second)]
    assert rates[0] == pytest.approx(rates[1])


# Decisions


def test_selection_rates_are_those_of_the_positive_class():
    data = DATA[0]
    X, y, sex = data["X"], data["two"], data["sex"]
    model = CLASSIFIERS["tree"].fit(X, y)
    outputs = model.predict(X)
    for positive, label in ((None, "yes"), ("no", "no")):
        rates = quality_of(model, X, y, protected={"sex": sex}, positive=positive).rates["sex"]
        expected = [("f", label), ("m", label)]
        assert [(rate.value, rate.label) for rate in rates] == expected
        for rate in rates:
            assert rate.rate == pytest.approx(np.mean(outputs[sex == rate.value] == label))


def test_each_of_several_classes_has_a_rate():
    data = DATA[0]
    X, y, sex = data["X"], data["three"], data["sex"]
    model = CLASSIFIERS["tree"].fit(X, y)
    rates = quality_of(model, X, y, protected={"sex": sex}).rates["sex"]
    assert [(rate.value, rate.label) for rate in rates] == [
        (value, label) for value in "fm" for label in "012"
    ]
    for rate in rates:
        expected = np.mean(model.predict(X)[sex == rate.value] == int(str(rate.label)))
        assert rate.rate == pytest.approx(expected)


def test_a_threshold_changes_decisions_but_not_probabilities():
    data = DATA[0]
    X, y = data["X"], data["two"]
    model = CLASSIFIERS["logistic"].fit(X, y)
    plain, decided = quality_of(model, X, y), quality_of(model, X, y, decision=Threshold(0.3))
    shares = model.predict_proba(X)[:, 1]
    assert decided.utility == np.mean((shares >= 0.3) == (y == "yes"))
    assert (decided.auc, decided.log_loss) == (plain.auc, plain.log_loss)
    assert decided.calibration == plain.calibration


@pytest.mark.parametrize(
    ("decision", "decides"),
    [
        (Positive(2), lambda model, X: model.predict(X) == 2),
        (Threshold(0.25, 2), lambda model, X: model.predict_proba(X)[:, 2] >= 0.25),
        (
            TopK(40, 2),
            lambda model, X: (
                model.predict_proba(X)[:, 2] >= np.sort(model.predict_proba(X)[:, 2])[-40]
            ),
        ),
    ],
    ids=["one class", "threshold", "top k"],
)
def test_a_decision_on_one_class_compares_its_probability_with_a_boolean_y(decision, decides):
    data = DATA[2]
    X, y = data["X"], data["three"] == 2
    model = CLASSIFIERS["forest"].fit(X, data["three"])
    quality = quality_of(model, X, y, decision=decision, protected={"sex": data["sex"]})
    shares, outputs = model.predict_proba(X)[:, 2], decides(model, X)
    assert quality.utility == np.mean(outputs == y)
    assert quality.auc == pytest.approx(roc_auc_score(y, shares))
    assert quality.log_loss == pytest.approx(log_loss(y, shares))
    rates = [rate.rate for rate in quality.rates["sex"]]
    assert rates == pytest.approx([outputs[data["sex"] == value].mean() for value in "fm"])


def test_a_regressor_with_a_threshold_ranks_by_its_number():
    data = DATA[0]
    X, y = data["X"], data["number"] > 1
    model = LinearRegression().fit(X, data["number"])
    quality = quality_of(model, X, y, decision=Threshold(1.0))
    assert quality.utility == np.mean((model.predict(X) >= 1) == y)
    assert quality.auc == pytest.approx(roc_auc_score(y, model.predict(X)))
    assert quality.log_loss is None


# Models without probabilities, programs, boosters


def test_a_model_without_probabilities_is_ranked_by_its_scores():
    data = DATA[0]
    for target in ("two", "three"):
        X, y = data["X"], data[target]
        model = RidgeClassifier().fit(X, y)
        quality = quality_of(model, X, y)
        scores = model.decision_function(X)
        if target == "two":
            assert quality.auc == pytest.approx(roc_auc_score(y, scores))
        else:
            areas = [roc_auc_score(y == label, scores[:, label]) for label in range(3)]
            assert quality.auc == pytest.approx(np.mean(areas))
        assert (quality.log_loss, quality.calibration, quality.log_losses) == (None, None, None)


def test_labels_alone_have_no_area_but_count_as_certain_if_it_is_the_utility():
    data = DATA[0]
    X, y = data["X"], data["two"]
    tree = CLASSIFIERS["tree"].fit(X, y)
    for model in (translate(tree), program_estimator(translate(tree), tree)):
        plain = quality_of(model, X, y)
        assert plain.utility == np.mean(tree.predict(X) == y)
        assert (plain.auc, plain.log_loss) == (None, None)
        area = quality_of(model, X, y, measure=Measure.AUC)
        assert area.utility == pytest.approx(roc_auc_score(y, tree.predict(X) == "yes"))


@pytest.mark.parametrize("name", ["forest", "logistic"])
@pytest.mark.parametrize("target", ["two", "three"])
def test_a_program_with_scores_has_the_quality_of_its_model(name, target):
    data = DATA[0]
    X, y = data["X"], data[target]
    model = CLASSIFIERS[name].fit(X, y)
    program = translate(model)
    first, second = quality_of(model, X, y), quality_of(program, X, y)
    for figure in ("utility", "error", "auc", "log_loss", "calibration"):
        assert getattr(second, figure) == pytest.approx(getattr(first, figure), abs=1e-6), figure


@pytest.mark.parametrize("positive", ["yes", "no"])
def test_a_program_with_a_threshold_has_the_probabilities_of_its_model(positive):
    data = DATA[0]
    X, y = data["X"], data["two"]
    for name in ("tree", "forest", "logistic"):
        model = FixedThresholdClassifier(CLASSIFIERS[name], threshold=0.3, pos_label=positive)
        model.fit(X, y)
        program = translate(model)
        first, second = quality_of(model, X, y), quality_of(program, X, y)
        assert second.utility == first.utility
        assert second.auc == pytest.approx(first.auc, abs=1e-3)  # rounding breaks ties
        assert second.log_loss == pytest.approx(first.log_loss)
        repair = pu.repair(
            model, X, y, protected={"sex": data["sex"]}, epsilon=1, delta=1, utility="log loss"
        )
        assert repair.used.before == pytest.approx(first.log_loss)


def test_true_and_false_are_classes_like_1_and_0():
    data = DATA[0]
    X, y = data["X"], data["two"] == "yes"
    expected = quality_of(CLASSIFIERS["tree"].fit(X, y), X, y)
    for fitted, asked in ((y, y.astype(int)), (y.astype(int), y)):
        quality = quality_of(CLASSIFIERS["tree"].fit(X, fitted), X, asked)
        assert quality.utility == expected.utility
        assert (quality.auc, quality.log_loss) == (expected.auc, expected.log_loss)


def test_the_number_of_a_program_can_be_a_probability():
    data = DATA[0]
    program = Program.parse("ite(age <= 2, 0.25, ite(pay <= 2, 0.875, 0.5))")
    y = (data["two"] == "yes").astype(int)
    quality = quality_of(program, data["X"], y)
    assert quality.auc == pytest.approx(roc_auc_score(y, program.predict(data["X"])))
    assert quality.log_loss == pytest.approx(log_loss(y, program.predict(data["X"])))
    assert quality.measure is Measure.SQUARED_ERROR


@pytest.mark.parametrize("library", ["xgboost", "lightgbm"])
def test_boosters_have_the_quality_of_their_classifiers(library):
    module = pytest.importorskip(library)
    quiet = {} if library == "xgboost" else {"verbose": -1}
    kind = module.XGBClassifier if library == "xgboost" else module.LGBMClassifier
    data = DATA[3]
    for y in ((data["two"] == "yes").astype(int), data["three"]):
        model = kind(n_estimators=4, max_depth=2, n_jobs=1, **quiet).fit(data["X"], y)
        booster = model.get_booster() if library == "xgboost" else model.booster_
        shares = model.predict_proba(data["X"])
        scores = shares[:, 1] if shares.shape[1] == 2 else shares
        for deployed in (model, booster):
            quality = quality_of(deployed, data["X"], y)
            expected = roc_auc_score(y, scores, multi_class="ovr")
            assert quality.auc == pytest.approx(expected, abs=1e-6)
            assert quality.log_loss == pytest.approx(log_loss(y, shares), abs=1e-5)
        if shares.shape[1] == 2:
            quality = quality_of(booster, data["X"], y == 1, decision=Threshold(0.5))
            assert quality.utility == accuracy_score(y, shares[:, 1] >= 0.5)
            assert quality.log_loss == pytest.approx(log_loss(y, shares), abs=1e-5)


def test_a_class_the_model_does_not_know_has_probability_0():
    data = DATA[0]
    X, y = data["X"], data["three"]
    model = CLASSIFIERS["tree"].fit(X[y > 0], y[y > 0])
    quality = quality_of(model, X, y)
    assert quality.log_losses is not None
    np.testing.assert_allclose(quality.log_losses[y == 0], -np.log(np.finfo(float).eps))


def test_one_class_in_y_has_no_area():
    data = DATA[0]
    model = CLASSIFIERS["tree"].fit(data["X"], data["two"])
    quality = quality_of(model, data["X"], np.full(ROWS, "yes"))
    assert quality.auc is None
    assert quality.log_loss is not None


# Standard errors


def test_the_error_of_a_mean_is_the_usual_one():
    data = DATA[0]
    X, y = data["X"], data["two"]
    model = CLASSIFIERS["forest"].fit(X[:100], y[:100])
    wrong = (model.predict(X) != y).astype(float)
    quality = quality_of(model, X, y)
    assert quality.error == pytest.approx(wrong.std(ddof=1) / np.sqrt(ROWS))
    np.testing.assert_array_equal(quality.losses, wrong)


def test_the_error_of_a_weighted_mean_is_that_of_a_linearized_ratio():
    rng = np.random.default_rng(0)
    values, weights = rng.normal(size=50), rng.random(50) * (np.arange(50) > 9)
    center = np.average(values, weights=weights)
    variance = np.sum(weights**2 * (values - center) ** 2) / weights.sum() ** 2 * 40 / 39
    assert standard_error(deviations(values, weights)) == pytest.approx(np.sqrt(variance))


def test_the_error_of_an_area_is_that_of_delong():
    rng = np.random.default_rng(0)
    scores, second = rng.integers(0, 8, 90).astype(float), np.arange(90) < 30
    wins = np.array([[(s > f) + 0.5 * (s == f) for f in scores[~second]] for s in scores[second]])
    variance = wins.mean(axis=1).var(ddof=1) / 30 + wins.mean(axis=0).var(ddof=1) / 60
    moves = deviations(placements(scores, second, np.ones(90)), np.ones(90), second.astype(int))
    assert standard_error(moves) == pytest.approx(np.sqrt(variance))


def test_the_error_of_balanced_accuracy_adds_up_over_the_classes():
    data = DATA[0]
    X, y = data["X"], data["three"]
    model = CLASSIFIERS["forest"].fit(X[:100], y[:100])
    right = model.predict(X) == y
    variance = sum(right[y == k].var(ddof=1) / np.sum(y == k) for k in range(3)) / 9
    quality = quality_of(model, X, y, measure=Measure.BALANCED_ACCURACY)
    assert quality.error == pytest.approx(np.sqrt(variance))


@pytest.mark.parametrize("measure", [Measure.ACCURACY, Measure.LOG_LOSS, Measure.AUC])
def test_standard_errors_are_the_spread_over_samples(measure):
    data = people(9)
    X, y = data["X"], data["two"]
    model = CLASSIFIERS["logistic"].fit(X, y)
    rng = np.random.default_rng(0)
    samples = [rng.integers(0, ROWS, ROWS) for _ in range(300)]
    figures = [quality_of(model, X.iloc[s], y[s], measure=measure).utility for s in samples]
    assert quality_of(model, X, y, measure=measure).error == pytest.approx(
        np.std(figures), rel=0.15
    )


@pytest.mark.parametrize("weighted", [False, True])
def test_paired_differences_use_the_differences_of_rows(weighted):
    data = DATA[0]
    X, y, weights = data["X"], data["two"], data["weights"] if weighted else np.ones(ROWS)
    models = [CLASSIFIERS[name].fit(X[:150], y[:150]) for name in ("tree", "logistic")]
    first, second = (quality_of(model, X, y, weights=weights) for model in models)
    right = [(model.predict(X) == y).astype(float) for model in models]
    own = np.array([model.predict_proba(X)[np.arange(ROWS), (y == "yes") * 1] for model in models])
    losses = -np.log(np.clip(own, np.finfo(float).eps, 1))
    for flag, rows in ((False, right[0] - right[1]), (True, losses[1] - losses[0])):
        difference = paired_difference(first, second, log_loss=flag)
        center, kept = np.average(rows, weights=weights), np.count_nonzero(weights)
        variance = np.sum((weights * (rows - center)) ** 2) / weights.sum() ** 2
        assert difference.mean == pytest.approx(center)
        assert difference.error == pytest.approx(np.sqrt(variance * kept / (kept - 1)))
        opposite = paired_difference(second, first, log_loss=flag)
        assert (opposite.mean, opposite.error) == (-difference.mean, difference.error)


def test_differences_without_an_error_are_nan():
    data = DATA[0]
    X, y = data["X"], data["two"]
    first = quality_of(CLASSIFIERS["tree"].fit(X, y), X, y)
    second = quality_of(RidgeClassifier().fit(X, y), X, y)
    assert np.isnan(paired_difference(first, second, log_loss=True).mean)
    assert paired_difference(first, second).error > 0
    with pytest.raises(DataError, match="same rows"):
        paired_difference(first, quality_of(RidgeClassifier().fit(X, y), X[:10], y[:10]))


# Folds


def test_folds_of_one_model_have_its_quality():
    data = DATA[0]
    X, y, weights = data["X"], data["two"], data["weights"]
    model = CLASSIFIERS["forest"].fit(X, y)
    folds = [np.arange(ROWS) % 5 == fold for fold in range(5)]
    parts = [
        quality_of(
            model, X[fold], y[fold], weights=weights[fold], protected={"sex": data["sex"][fold]}
        )
        for fold in folds
    ]
    order = np.concatenate([np.flatnonzero(fold) for fold in folds])
    whole = quality_of(
        model,
        X.iloc[order],
        y[order],
        weights=weights[order],
        protected={"sex": data["sex"][order]},
    )
    together = pooled(parts)
    assert together.utility == pytest.approx(whole.utility)
    assert together.error == pytest.approx(whole.error, rel=0.05)
    assert together.log_loss == pytest.approx(whole.log_loss)
    np.testing.assert_array_equal(together.losses, whole.losses)
    assert together.log_losses == pytest.approx(whole.log_losses)
    assert together.auc == pytest.approx(
        np.average([part.auc for part in parts], weights=[part.weights.sum() for part in parts])
    )
    for mine, expected in zip(together.rates["sex"], whole.rates["sex"], strict=True):
        assert (mine.value, mine.label, mine.rows) == (
            expected.value,
            expected.label,
            expected.rows,
        )
        assert mine.rate == pytest.approx(expected.rate)


# Requests that make no sense


def test_impossible_requests_are_refused():
    data = DATA[0]
    X, y = data["X"], data["two"]
    model = CLASSIFIERS["tree"].fit(X, y)
    with pytest.raises(DataError, match="missing"):
        quality_of(model, X, [None, *y[1:]])
    with pytest.raises(DataError, match="weights"):
        quality_of(model, X, y, weights=np.zeros(ROWS))
    with pytest.raises(DataError, match="boolean y"):
        quality_of(model, X, y, decision=Positive("yes"))
    with pytest.raises(DataError, match="part of the program"):
        quality_of(translate(model), X, y, decision=Positive("yes"))
