"""Translated boosting predicts what the model predicts, on every row and to the last bit."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from proxyuse.datasets import load_adult
from proxyuse.errors import TranslationError
from proxyuse.lang.nodes import Add, Argmax, Call, Compare, Const, Ite, Precision, Var, Vector
from proxyuse.lang.positions import Position, Site
from proxyuse.measure.forests.plan import forest_plan
from proxyuse.models.checks import at_thresholds
from proxyuse.models.features import Inputs
from proxyuse.models.registry import input_names, translate, translate_part
from proxyuse.program import Origin, Program
from tests.faithful import DATA, predicts_the_same


@pytest.fixture(autouse=True, scope="module")
def _one_thread():
    """Threads that wait for each other would make small models slow on a busy machine."""
    with threadpool_limits(1):
        yield


def gradient(**options):
    return GradientBoostingClassifier(**{"n_estimators": 12, "random_state": 0, **options})


def hist(**options):
    return HistGradientBoostingClassifier(**{"max_iter": 8, "random_state": 0, **options})


CLASSIFIERS = [gradient, hist]


def same_numbers(model, X):
    """Probabilities and scores as the model has them."""
    names = input_names(model, None)
    body = translate_part(model, Inputs.raw(names))
    assert body.probabilities is not None
    assert body.scores is not None
    shares = Program(body.probabilities, names).predict(X)
    np.testing.assert_allclose(shares, model.predict_proba(X), rtol=0, atol=1e-14)
    assert Program(body.scores, names).predict(X).tolist() == model.decision_function(X).tolist()


def rows(data, most=4000):
    X, y = DATA[data]()
    X = X.sample(min(most, len(X)), random_state=0)
    return X, y[X.index]


@pytest.mark.parametrize("kind", CLASSIFIERS)
@pytest.mark.parametrize("data", ["adult", "contraceptive"])
def test_classifiers_on_the_bundled_data(kind, data):
    X, y = rows(data)
    model = kind().fit(X, y)
    program = predicts_the_same(model, X)
    predicts_the_same(model, at_thresholds(program, X), program)
    assert Program.parse(str(program)) == program
    same_numbers(model, X)


@pytest.mark.slow
@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_classifiers_on_every_row_of_adult(kind):
    X, y = DATA["adult"]()
    predicts_the_same(kind(learning_rate=0.3).fit(X, y), X)


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "huber", "quantile"])
def test_gradient_boosting_regressors_predict_the_same_number(loss):
    X, y = DATA["student"]()
    model = GradientBoostingRegressor(loss=loss, n_estimators=15, random_state=0).fit(X, y)
    program = predicts_the_same(model, X)
    predicts_the_same(model, at_thresholds(program, X), program)


@pytest.mark.parametrize(
    "loss", ["squared_error", "absolute_error", "quantile", "poisson", "gamma"]
)
def test_hist_regressors_predict_the_same_number(loss):
    X, y = DATA["student"]()
    model = HistGradientBoostingRegressor(loss=loss, quantile=0.3, max_iter=15)
    program = predicts_the_same(model.fit(X, y + 1), X)
    assert isinstance(program.term, Call if loss in ("poisson", "gamma") else Add)


SEED = st.integers(0, 2**31)


@given(SEED, st.integers(2, 4), st.booleans(), st.booleans())
def test_rows_at_thresholds_and_tied_rows(seed, classes, close, whole):
    rng = np.random.default_rng(seed)
    n = 30
    X = rng.normal(size=(n, 2)) * (1e-7 if close else 1.0) + (1.0 if close else 0.0)
    X = np.round(X * 2) if whole and not close else X
    y = np.arange(n) % classes
    rng.shuffle(y)
    options = {"n_estimators": 3, "learning_rate": 1.0, "init": "zero" if whole else None}
    model = gradient(**options).fit(X, y)
    program = predicts_the_same(model, X)
    predicts_the_same(model, at_thresholds(program, X), program)
    model = hist(max_iter=2, min_samples_leaf=1, learning_rate=1.0).fit(X, y)
    program = predicts_the_same(model, X)
    predicts_the_same(model, at_thresholds(program, X), program)


def test_a_sum_of_exactly_zero_is_the_second_class_of_one_and_the_first_of_the_other():
    X, y = np.array([[0.0], [0.0], [1.0], [1.0]]), ["a", "b", "a", "b"]
    flat = gradient(init="zero", n_estimators=1).fit(X, y)
    assert flat.decision_function(X).tolist() == [0, 0, 0, 0]
    assert predicts_the_same(flat, X).predict(X).tolist() == ["b"] * 4
    level = hist(max_iter=1, min_samples_leaf=1).fit(X, y)
    assert level.decision_function(X).tolist() == [0, 0, 0, 0]
    assert predicts_the_same(level, X).predict(X).tolist() == ["a"] * 4


@pytest.mark.parametrize("classes", [["no", "yes"], [False, True], [-5, 12], ["a", "b", "c"]])
@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_classes_of_any_type(kind, classes):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(90, 3))
    predicts_the_same(kind().fit(X, np.array(classes)[rng.integers(0, len(classes), 90)]), X)


@pytest.mark.parametrize(
    "options",
    [
        {"loss": "exponential"}, {"subsample": 0.5}, {"max_leaf_nodes": 5}, {"init": "zero"},
        {"n_iter_no_change": 2}, {"learning_rate": 0.37},
    ],
)  # fmt: skip
def test_options_of_gradient_boosting(options):
    X, y = rows("adult", 1500)
    model = gradient(**options).fit(X, y)
    predicts_the_same(model, X)
    same_numbers(model, X)


@pytest.mark.parametrize(
    "options",
    [
        {"early_stopping": True}, {"max_bins": 5}, {"interaction_cst": "no_interactions"},
        {"class_weight": "balanced"}, {"monotonic_cst": {"age": 1}}, {"l2_regularization": 1.0},
    ],
)  # fmt: skip
def test_options_of_hist_boosting(options):
    X, y = rows("adult", 1500)
    predicts_the_same(hist(**options).fit(X, y), X)


def test_stages_added_by_warm_start_are_translated():
    X, y = rows("contraceptive")
    model = gradient(n_estimators=2, warm_start=True).fit(X, y)
    program = predicts_the_same(model.set_params(n_estimators=5).fit(X, y), X)
    assert isinstance(program.term, Argmax)
    assert isinstance(program.term.operand, Vector)
    sums = [part for part in program.term.operand.items if isinstance(part, Add)]
    assert [len(part.operands) for part in sums] == [6, 6, 6]


# The start


@pytest.mark.parametrize("data", ["adult", "contraceptive"])
def test_a_tree_as_init_estimator(data):
    X, y = rows(data, 1000)
    init = DecisionTreeClassifier(max_depth=4, random_state=0)
    model = gradient(n_estimators=4, init=init).fit(X, y)
    program = predicts_the_same(model, X)
    same_numbers(model, X)
    steps = {origin.step for origin in program.origins.values()}
    assert steps == {"init_", "GradientBoostingClassifier"}


@pytest.mark.parametrize("init", [DecisionTreeRegressor(max_depth=3), RandomForestRegressor(3)])
def test_trees_and_forests_as_init_estimators_of_a_regressor(init):
    X, y = DATA["student"]()
    model = GradientBoostingRegressor(n_estimators=4, init=init.set_params(random_state=0))
    predicted = translate(model.fit(X, y)).predict(X)
    np.testing.assert_allclose(predicted, model.predict(X), rtol=1e-14)


@pytest.mark.parametrize(
    "init",
    [make_pipeline(StandardScaler(), LogisticRegression()), RandomForestClassifier(3)],
)
def test_an_init_estimator_that_computes_is_refused(init):
    X, y = rows("contraceptive", 300)
    with pytest.raises(TranslationError, match=r"init estimator .* \(step 'init_'\) .* init=None"):
        translate(gradient(n_estimators=2, init=init).fit(X, y))


def test_a_linear_init_estimator_of_a_regressor_is_refused():
    X, y = DATA["student"]()
    model = GradientBoostingRegressor(n_estimators=2, init=LinearRegression()).fit(X, y)
    with pytest.raises(TranslationError, match=r"LinearRegression .* computes in float32"):
        translate(model)


# Missing values and categories


@pytest.mark.parametrize("seen", [True, False])
def test_missing_and_infinite_numbers_follow_the_direction_of_each_node(seen):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4))
    y = (X[:, 0] + X[:, 1] > 0).astype(int) + (X[:, 2] > 1)
    holes = np.where(rng.random(X.shape) < 0.2, np.nan, X)
    model = hist(min_samples_leaf=3).fit(holes if seen else X, y)
    predicts_the_same(model, holes)
    predicts_the_same(model, np.array([[np.nan] * 4, [np.inf] * 4, [-np.inf] * 4]))


def test_a_split_between_missing_and_present():
    X = np.array([[np.nan]] * 20 + [[5.0], [6.0]] * 10)
    model = hist(min_samples_leaf=1).fit(X, [0] * 20 + [1] * 20)
    predicts_the_same(model, np.array([[np.nan], [5.0], [np.inf], [-np.inf]]))


def words(X):
    return [name for name in X if X[name].dtype.kind not in "if"]


def adult_with_categories():
    X = load_adult()[:3000]
    y = X.pop("income")
    return X.astype(dict.fromkeys(words(X), "category")), y


@pytest.mark.parametrize("fitted_on", [60, 2000])
@pytest.mark.parametrize("holes", [False, True])
def test_categories_are_tested_by_name(fitted_on, holes):
    X, y = adult_with_categories()
    if holes:
        rng = np.random.default_rng(0)
        for name in X:
            X[name] = X[name].where(rng.random(len(X)) > 0.1)
    model = hist(min_samples_leaf=5).fit(X[:fitted_on], y[:fitted_on])
    program = predicts_the_same(model, X)
    same_numbers(model, X)
    assert any("'" in program.text_of(t) for t in program.points.terms if isinstance(t, Compare))


def test_categories_by_name_in_columns_of_strings():
    X, y = adult_with_categories()
    X = X.astype(dict.fromkeys(words(X), "object"))
    model = hist(categorical_features=words(X)).fit(X[:200], y[:200])
    predicts_the_same(model, X)


@pytest.mark.parametrize("classes", [2, 3])
def test_categories_that_are_numbers_with_unknown_ones(classes):
    rng = np.random.default_rng(0)
    X = rng.integers(-3, 6, (400, 4)).astype(float)
    X[rng.random(X.shape) < 0.1] = np.nan
    y = rng.integers(0, classes, 400)
    mask = [True, False, True, False]
    model = hist(min_samples_leaf=3, categorical_features=mask).fit(X, y)
    program = predicts_the_same(model, X)
    others = rng.integers(-5, 9, (300, 4)) + rng.choice([0, 0.5], (300, 4))
    predicts_the_same(model, others, program)


def test_categories_that_are_booleans():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.random(300) > 0.5, "n": rng.integers(0, 9, 300)})
    X["x"] = rng.normal(size=300)
    y = (X["a"] & (X["n"] % 3 == 1)) | (X["x"] > 1)
    X = X.astype({"a": "category", "n": "category"})
    predicts_the_same(hist(min_samples_leaf=2).fit(X, y), X)


def test_categories_behind_an_encoder():
    X, y = adult_with_categories()
    X = X[words(X)].astype("object")
    encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    model = make_pipeline(encoder, hist(categorical_features=list(range(X.shape[1]))))
    program = predicts_the_same(model.fit(X[:300], y[:300]), X)
    assert set(program.variables) <= set(X.columns)


def test_categories_of_a_scaled_column():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 6, (300, 2)).astype(float)
    y = (X[:, 0] % 2).astype(int)
    model = make_pipeline(StandardScaler(), hist(categorical_features=[0])).fit(X, y)
    predicts_the_same(model, X)
    predicts_the_same(model, np.array([[np.nan, 1.0]]))


# Form


@pytest.mark.parametrize("kind", CLASSIFIERS)
@pytest.mark.parametrize("data", ["adult", "contraceptive"])
def test_the_fast_engine_supports_the_program(kind, data):
    X, y = rows(data, 1000)
    program = translate(kind().fit(X, y))
    assert forest_plan(program) is not None


def test_comparisons_have_the_precision_of_the_library():
    X, y = rows("adult", 500)
    for kind, precision in ((gradient, Precision.FLOAT32), (hist, Precision.FLOAT64)):
        program = translate(kind().fit(X, y))
        tests = [t for t in program.points.terms if isinstance(t, Compare)]
        assert {t.precision for t in tests if isinstance(t.left, Var)} == {precision}


@pytest.mark.parametrize("data", ["adult", "contraceptive"])
@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_every_node_of_every_tree_is_an_origin(kind, data):
    X, y = rows(data, 800)
    model = kind().fit(X, y)
    program = translate(model)
    name = type(model).__name__
    assert program.origin(Position(())) == Origin(name)
    seen = set()
    for point, term in enumerate(program.points.terms):
        origin = program.origin(program.points.position(Site(point)))
        assert origin is not None
        assert origin.step == ("init_" if origin == Origin("init_") else name)
        if isinstance(term, Ite) and point:
            assert origin.tree is not None
        if origin.tree is not None:
            seen.add((origin.tree, origin.node))
    if kind is gradient:
        sizes = [tree.tree_.node_count for tree in model.estimators_.ravel()]
    else:
        sizes = [len(tree.nodes) for stage in model._predictors for tree in stage]
    assert seen == {(tree, node) for tree, size in enumerate(sizes) for node in range(size)}


def test_leaves_are_the_learning_rate_times_the_value():
    model = gradient(n_estimators=1, init="zero", learning_rate=0.3, max_depth=1)
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    program = translate(model.fit(X, [0, 0, 1, 1]))
    values = model.estimators_[0, 0].tree_.value[1:, 0, 0]
    leaves = [t.value for t in program.points.terms if isinstance(t, Const)]
    assert {0.3 * value for value in values.tolist()} <= set(leaves)


# What is refused


@pytest.mark.parametrize(
    "model",
    [
        GradientBoostingClassifier(), GradientBoostingRegressor(),
        HistGradientBoostingClassifier(), HistGradientBoostingRegressor(),
    ],
)  # fmt: skip
def test_a_model_that_is_not_fitted_is_refused(model):
    with pytest.raises(TranslationError, match=f"this {type(model).__name__} is not fitted"):
        translate(model)


def test_scikit_learn_rejects_an_init_estimator_without_probabilities():
    X, y = rows("contraceptive", 100)
    with pytest.raises(ValueError, match="init"):
        gradient(init=LinearSVC()).fit(X, y)
