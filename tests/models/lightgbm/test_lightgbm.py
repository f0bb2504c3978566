"""A translated LightGBM model predicts what the model predicts, on every row."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

lgb = pytest.importorskip("lightgbm")

from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402

from proxyuse.errors import TranslationError  # noqa: E402
from proxyuse.lang.nodes import Argmax, Ite, Member  # noqa: E402
from proxyuse.lang.positions import Site  # noqa: E402
from proxyuse.models.audited_model import audited_model  # noqa: E402
from proxyuse.models.registry import input_names, translate, translation_of  # noqa: E402
from proxyuse.program import Program  # noqa: E402
from tests.faithful import (  # noqa: E402
    DATA,
    learnable,
    near_thresholds,
    predicts_the_same,
    sample,
    with_categories,
)

QUIET = {"verbose": -1, "n_jobs": 1}
TRAINING = {"verbose": -1, "num_threads": 1}


def same_numbers(expected, predicted):
    np.testing.assert_allclose(predicted, expected, rtol=1e-9, atol=1e-12)


KINDS = {
    "gbdt": {"n_estimators": 30},
    "dart": {"n_estimators": 15, "boosting_type": "dart", "drop_rate": 0.5},
    "rf": {"n_estimators": 7, "boosting_type": "rf", "subsample": 0.6, "subsample_freq": 1},
    "goss": {"n_estimators": 15, "data_sample_strategy": "goss", "learning_rate": 0.5},
    "deep": {"n_estimators": 5, "num_leaves": 200, "min_child_samples": 2},
}


@pytest.mark.parametrize("options", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("data", DATA)
def test_classifiers_on_the_bundled_data(options, data):
    X, y = sample(data)
    predicts_the_same(lgb.LGBMClassifier(**QUIET, **options).fit(X, y), X)


@pytest.mark.parametrize("options", KINDS.values(), ids=KINDS)
def test_regressors_on_the_bundled_data(options):
    X, y = sample("student")
    model = lgb.LGBMRegressor(**QUIET, **options).fit(X, y)
    same_numbers(model.predict(X), translate(model).predict(X))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("classes", [2, 4])
def test_values_at_and_next_to_a_threshold_take_the_same_branch(seed, classes):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(200, 3)) * (1e-7 if seed % 2 else 1.0)
    X[rng.random(X.shape) < 0.3] = 0.0
    y = np.r_[np.arange(classes), rng.integers(0, classes, 200 - classes)]
    model = lgb.LGBMClassifier(n_estimators=4, min_child_samples=5, **QUIET).fit(X, y)
    program = predicts_the_same(model, X)
    predicts_the_same(model, near_thresholds(program, X), program)


MISSING = {
    "as numbers": {},
    "zeros too": {"zero_as_missing": True},
    "not used": {"use_missing": False},
}


@pytest.mark.parametrize("options", MISSING.values(), ids=MISSING)
@pytest.mark.parametrize("seen", [True, False])
def test_missing_values_and_zeros_follow_the_direction_of_each_node(options, seen):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 4))
    X[rng.random(X.shape) < 0.2] = 0.0
    y = (X[:, 0] * X[:, 1] > 0) | (X[:, 2] == 0)
    holes = np.where(rng.random(X.shape) < 0.2, np.nan, X)
    model = lgb.LGBMClassifier(n_estimators=10, min_child_samples=5, **QUIET, **options)
    model.fit(holes if seen else X, y)
    program = predicts_the_same(model, np.r_[holes, X])
    predicts_the_same(model, np.full((1, 4), np.nan), program)
    predicts_the_same(model, near_thresholds(program, holes), program)


def test_zeros_that_are_missing_may_need_a_test_of_their_own():
    rng = np.random.default_rng(1)
    X = rng.uniform(1, 9, size=(400, 1))
    X[:150] = 0.0
    y = (X[:, 0] == 0) | (X[:, 0] > 6)
    model = lgb.LGBMClassifier(n_estimators=3, zero_as_missing=True, **QUIET).fit(X, y)
    program = predicts_the_same(model, X)
    assert " or " in str(program) or " and " in str(program)


# Objectives

OBJECTIVES = [
    "regression", "regression_l1", "huber", "fair", "poisson", "quantile", "mape", "gamma",
    "tweedie", "binary", "cross_entropy", "cross_entropy_lambda", "multiclass", "multiclassova",
    "lambdarank", "rank_xendcg",
]  # fmt: skip


def trained(objective, **options):
    X, y = learnable(objective)
    if objective.startswith("multi"):
        options["num_class"] = 3
    group = [100] * 4 if "rank" in objective else None
    data = lgb.Dataset(X, y, group=group)
    return X, lgb.train({"objective": objective, **TRAINING, **options}, data, 8)


@pytest.mark.parametrize("options", [{}, {"sigmoid": 2.5}, {"boost_from_average": False}])
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_boosters_apply_their_objective(objective, options):
    X, booster = trained(objective, **options)
    program = translate(booster)
    assert program.inputs == ("x0", "x1", "x2", "x3")
    same_numbers(booster.predict(X), program.predict(X))


@pytest.mark.parametrize("objective", ["binary", "cross_entropy"])
@pytest.mark.parametrize("steepness", [1.0, 0.3])
def test_two_classes(objective, steepness):
    X, y = sample("adult")
    model = lgb.LGBMClassifier(n_estimators=8, objective=objective, sigmoid=steepness, **QUIET)
    predicts_the_same(model.fit(X, y), X)


@pytest.mark.parametrize("objective", ["multiclass", "multiclassova"])
def test_several_classes(objective):
    X, y = sample("contraceptive")
    model = lgb.LGBMClassifier(n_estimators=8, objective=objective, **QUIET).fit(X, y)
    assert isinstance(predicts_the_same(model, X).term, Argmax)


@pytest.mark.parametrize("objective", [None, "multiclassova"])
@pytest.mark.parametrize("data", DATA)
def test_probabilities(objective, data):
    X, y = sample(data, 1000)
    if data == "adult":
        objective = None
    model = lgb.LGBMClassifier(n_estimators=10, objective=objective, **QUIET).fit(X, y)
    names = input_names(model, None)
    shares = translation_of(model, names).probabilities
    assert shares is not None
    same_numbers(model.predict_proba(X), Program(shares, names).predict(X))


@pytest.mark.parametrize("classes", [["no", "yes"], [False, True], [-5, 12], ["a", "b", "c"]])
def test_classes_of_any_type(classes):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 3))
    y = np.array(classes)[rng.integers(0, len(classes), 200)]
    predicts_the_same(lgb.LGBMClassifier(n_estimators=4, **QUIET).fit(X, y), X)


def test_a_single_class():
    X, _ = sample("contraceptive", 100)
    predicts_the_same(lgb.LGBMClassifier(n_estimators=4, **QUIET).fit(X, ["one"] * 100), X)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_custom_objective_predicts_scores():
    X, y = sample("adult", 500)

    def loss(true, score):
        share = 1 / (1 + np.exp(-score))
        return share - true, share * (1 - share)

    model = lgb.LGBMClassifier(n_estimators=5, objective=loss, **QUIET).fit(X, y)
    same_numbers(model.predict(X), translate(model).predict(X))


def test_rankers():
    X, y = sample("contraceptive", 1000)
    model = lgb.LGBMRanker(n_estimators=5, **QUIET).fit(X, y, group=[100] * 10)
    same_numbers(model.predict(X), translate(model).predict(X))


def test_trees_after_the_best_round_are_omitted():
    X, y = sample("contraceptive")
    model = lgb.LGBMClassifier(n_estimators=100, learning_rate=0.5, **QUIET)
    stop = lgb.early_stopping(3, verbose=False)
    model.fit(X[:1000], y[:1000], eval_X=X[1000:], eval_y=y[1000:], callbacks=[stop])
    assert model.best_iteration_ < 100
    predicts_the_same(model, X)
    same_numbers(model.booster_.predict(X), translate(model.booster_).predict(X))


def test_a_model_that_was_saved_and_read():
    X, y = sample("contraceptive")
    model = lgb.LGBMClassifier(n_estimators=5, **QUIET).fit(X, y)
    again = lgb.Booster(model_str=model.booster_.model_to_string())
    same_numbers(again.predict(X), translate(again).predict(X))


# Categories


@pytest.mark.parametrize("one_hot", [1, 100])
@pytest.mark.parametrize("constant", [False, True])
def test_categories_are_tested_by_name(one_hot, constant):
    X, y = with_categories()
    if constant:
        X.insert(1, "one", pd.Categorical(["same"] * len(X)))
    model = lgb.LGBMClassifier(
        n_estimators=8, max_cat_to_onehot=one_hot, min_data_per_group=10, cat_smooth=1, **QUIET
    ).fit(X, y)
    program = predicts_the_same(model, X)
    named = {v for t in program.points.terms if isinstance(t, Member) for v in t.members}
    if one_hot == 1:
        assert named & set(X["occupation"].cat.categories)
    other = X.copy()
    for name in ("workclass", "education", "occupation"):
        other[name] = other[name].astype(object)
        other.loc[other.index[::3], name] = None
        other.loc[other.index[::5], name] = "never seen"
        other[name] = other[name].astype("category")
    predicts_the_same(model, other, program)


def test_categories_that_are_only_numbers():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 80, 800), rng.normal(size=800)])
    y = np.isin(X[:, 0], [1, 4, 6, 33, 70, 79]) ^ (X[:, 1] > 0)
    model = lgb.LGBMClassifier(n_estimators=5, min_data_per_group=2, cat_smooth=1, **QUIET)
    model.fit(X, y, categorical_feature=[0])
    rows = np.repeat(X[:12], 2, axis=0)
    rows[:12, 0] = [0, 1, 2, 3, 4, 33, 70, 79, 80, 1000, -1, np.nan]
    predicts_the_same(model, rows, predicts_the_same(model, X))


def test_ordered_categories_are_refused():
    X, y = with_categories()
    X["level"] = X["level"].cat.as_ordered()
    model = lgb.LGBMClassifier(n_estimators=2, **QUIET).fit(X, y)
    with pytest.raises(TranslationError, match="some are ordered"):
        translate(model)


# Pipelines, names, origins


@pytest.mark.parametrize("native", [False, True])
def test_an_audit_finds_columns_whose_spaces_lightgbm_replaced(native):
    X, y = sample("contraceptive", 300)
    X = X.rename(columns=lambda name: name.replace("_", " "))
    assert any(" " in name for name in X.columns)
    model = lgb.LGBMRegressor(n_estimators=2, **QUIET).fit(X, y)
    data = X[X.columns[::-1]]
    audited = audited_model(model.booster_ if native else model, data, set(), None, opaque=False)
    assert audited.program.inputs == tuple(X.columns)
    same_numbers(audited.expected, audited.program.predict(data))


def test_in_a_pipeline_thresholds_are_on_the_raw_columns():
    X, y = sample("contraceptive")
    scaler = StandardScaler().set_output(transform="pandas")
    model = make_pipeline(scaler, lgb.LGBMClassifier(n_estimators=10, **QUIET)).fit(X, y)
    assert predicts_the_same(model, X).inputs == tuple(X.columns)


def test_names_come_from_the_frame():
    X, y = sample("contraceptive", 300)
    model = lgb.LGBMClassifier(n_estimators=2, **QUIET).fit(X, y)
    assert translate(model).inputs == tuple(X.columns)
    assert translate(model.booster_).inputs == tuple(X.columns)
    plain = lgb.LGBMClassifier(n_estimators=2, **QUIET).fit(X.to_numpy(), y)
    assert translate(plain).inputs[:2] == ("x0", "x1")


@pytest.mark.parametrize("data", ["adult", "contraceptive"])
def test_every_part_has_its_node_as_origin(data):
    """Inner nodes have LightGBM's numbers; those of leaves follow them."""
    X, y = sample(data, 500)
    model = lgb.LGBMClassifier(n_estimators=3, num_leaves=6, **QUIET).fit(X, y)
    program = translate(model)
    trees = model.booster_.trees_to_dataframe()
    nodes = set()
    for point, term in enumerate(program.points.terms):
        origin = program.origin(program.points.position(Site(point)))
        assert origin is not None
        assert origin.step == "LGBMClassifier"
        if origin.node is None:
            continue
        nodes.add((origin.tree, origin.node))
        if isinstance(term, Ite):
            row = trees[trees.node_index == f"{origin.tree}-S{origin.node}"].iloc[0]
            assert term.guard.left.name == row.split_feature  # type: ignore[union-attr]
            limit = pytest.approx(row.threshold, rel=1e-15)
            assert term.guard.right.value == limit  # type: ignore[union-attr]
    assert len(nodes) == len(trees)


# What is refused


@pytest.mark.parametrize("kind", [lgb.LGBMClassifier, lgb.LGBMRegressor, lgb.LGBMRanker])
def test_a_model_that_is_not_fitted_is_refused(kind):
    with pytest.raises(TranslationError, match=f"this {kind.__name__} is not fitted; call fit"):
        translate(kind())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"linear_tree": True}, "are linear models; fit it with linear_tree=False"),
        ({"reg_sqrt": True}, "'regression sqrt', which is not supported"),
    ],
)
def test_models_without_a_term_are_refused(options, message):
    X, y = sample("student", 300)
    model = lgb.LGBMRegressor(n_estimators=2, **QUIET, **options).fit(X, y)
    with pytest.raises(TranslationError, match=message):
        translate(model)


def test_a_model_that_omits_trees_is_refused():
    X, y = sample("contraceptive", 300)
    model = lgb.LGBMClassifier(n_estimators=2, pred_early_stop=True, **QUIET).fit(X, y)
    with pytest.raises(TranslationError, match=r"skips trees .*; set pred_early_stop=False"):
        translate(model)
