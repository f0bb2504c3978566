"""A translated XGBoost model predicts what the model predicts, but for float32's rounding."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

xgb = pytest.importorskip("xgboost")

from sklearn.compose import make_column_transformer  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import (  # noqa: E402
    KBinsDiscretizer,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)

import proxyuse as pu  # noqa: E402
from proxyuse.datasets import load_adult  # noqa: E402
from proxyuse.errors import TranslationError  # noqa: E402
from proxyuse.lang.nodes import Argmax, Compare, Ite, Member  # noqa: E402
from proxyuse.lang.positions import Site  # noqa: E402
from proxyuse.models.audited_model import audited_model  # noqa: E402
from proxyuse.models.registry import input_names, translate, translation_of  # noqa: E402
from proxyuse.program import Program  # noqa: E402
from tests.faithful import DATA, learnable, near_thresholds, sample, with_categories  # noqa: E402

NEAR = 1e-5  # of 0: there float32 may round a sum to the other side


def same_labels(model, X, program=None):
    """Every label is the same; rows on a tie but for float32's rounding are counted."""
    program = program or translate(model)
    expected, predicted = model.predict(X), program.predict(X)
    differ = np.flatnonzero(expected != predicted)
    if len(differ):
        margins = model.predict(X.iloc[differ] if hasattr(X, "iloc") else X[differ],
                                output_margin=True)  # fmt: skip
        if margins.ndim == 2:
            ordered = np.sort(margins, axis=1)
            margins = ordered[:, -1] - ordered[:, -2]
        assert np.abs(margins).max() <= NEAR
    assert len(differ) <= len(expected) / 1000
    return program


def same_numbers(expected, predicted):
    np.testing.assert_allclose(predicted, expected, rtol=NEAR, atol=NEAR)


KINDS = {
    "boosted": {"n_estimators": 30, "max_depth": 5},
    "leaves": {
        "n_estimators": 15,
        "max_leaves": 20,
        "grow_policy": "lossguide",
        "learning_rate": 1.0,
    },
    "forest": {"n_estimators": 4, "num_parallel_tree": 3, "subsample": 0.7, "random_state": 1},
    "dart": {
        "n_estimators": 12,
        "booster": "dart",
        "rate_drop": 0.4,
        "max_depth": 4,
        "random_state": 0,
    },
    "linear": {"n_estimators": 10, "booster": "gblinear", "learning_rate": 0.3},
    "exact": {"n_estimators": 5, "tree_method": "exact", "max_depth": 4},
}


@pytest.mark.parametrize("options", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("data", DATA)
def test_classifiers_on_the_bundled_data(options, data):
    X, y = sample(data)
    same_labels(xgb.XGBClassifier(n_jobs=1, **options).fit(X, y), X)


@pytest.mark.parametrize("options", KINDS.values(), ids=KINDS)
def test_regressors_on_the_bundled_data(options):
    X, y = sample("student")
    model = xgb.XGBRegressor(n_jobs=1, **options).fit(X, y)
    same_numbers(model.predict(X), translate(model).predict(X))


@pytest.mark.parametrize("kind", [xgb.XGBRFClassifier, xgb.XGBRFRegressor])
def test_random_forests(kind):
    X, y = sample("contraceptive")
    model = kind(n_estimators=20, max_depth=5, n_jobs=1, random_state=0).fit(X, y)
    if kind is xgb.XGBRFClassifier:
        same_labels(model, X)
    else:
        same_numbers(model.predict(X), translate(model).predict(X))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("classes", [2, 4])
def test_values_at_and_next_to_a_threshold_take_the_same_branch(seed, classes):
    rng = np.random.default_rng(seed)
    close = seed % 2
    X = rng.normal(size=(200, 3)) * (1e-7 if close else 1.0) + (1.0 if close else 0.0)
    y = np.r_[np.arange(classes), rng.integers(0, classes, 200 - classes)]
    model = xgb.XGBClassifier(n_estimators=4, max_depth=4, n_jobs=1).fit(X, y)
    program = same_labels(model, X)
    if len(program.variables):
        same_labels(model, near_thresholds(program, X), program)


def test_without_rounding_some_rows_would_take_the_other_branch():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2)) * 0.3
    model = xgb.XGBRegressor(n_estimators=3, n_jobs=1).fit(X, X[:, 0] - X[:, 1])
    program = translate(model)
    rows = near_thresholds(program, X)
    exact = Program.parse(str(program).replace("float32:", ""))
    assert np.abs(exact.predict(rows) - model.predict(rows)).max() > 0.01
    same_numbers(model.predict(rows), program.predict(rows))


@pytest.mark.parametrize("booster", ["gbtree", "gblinear"])
@pytest.mark.parametrize("seen", [True, False])
def test_missing_values_follow_the_direction_of_each_node(booster, seen):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 4))
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    holes = np.where(rng.random(X.shape) < 0.2, np.nan, X)
    model = xgb.XGBClassifier(n_estimators=10, booster=booster, n_jobs=1)
    model.fit(holes if seen else X, y)
    program = same_labels(model, np.r_[holes, X])
    same_labels(model, np.full((1, 4), np.nan), program)


@pytest.mark.parametrize("missing", [-999.0, 0.0, 1.1])
def test_another_number_can_mark_missing_values(missing):
    rng = np.random.default_rng(0)
    X = rng.integers(-3, 4, size=(600, 3)).astype(float)
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    X[rng.random(X.shape) < 0.3] = missing
    model = xgb.XGBClassifier(n_estimators=10, max_depth=4, missing=missing, n_jobs=1).fit(X, y)
    program = same_labels(model, X)
    same_labels(model, np.where(np.equal(X, missing), np.nan, X), program)


def test_infinite_and_huge_values():
    X, y = sample("contraceptive")
    model = xgb.XGBClassifier(n_estimators=5, n_jobs=1).fit(X, y)
    rows = X.iloc[:4].copy()
    rows.iloc[0, 0], rows.iloc[1, 0], rows.iloc[2, 0] = 1e300, -1e300, 1e-300
    same_labels(model, rows)


# Objectives

OBJECTIVES = [
    "reg:squarederror", "reg:squaredlogerror", "reg:logistic", "reg:pseudohubererror",
    "reg:absoluteerror", "reg:quantileerror", "count:poisson", "reg:gamma", "reg:tweedie",
    "binary:logistic", "binary:logitraw", "binary:hinge", "rank:pairwise", "rank:ndcg",
    "survival:cox", "survival:aft", "multi:softprob", "multi:softmax",
]  # fmt: skip


def trained(objective, **options):
    X, y = learnable(objective)
    if objective.startswith("multi"):
        options["num_class"] = 3
    data = xgb.DMatrix(X, y)
    if objective.startswith("rank"):
        data.set_group([100] * 4)
    if objective == "survival:aft":
        data.set_float_info("label_lower_bound", y)
        data.set_float_info("label_upper_bound", y)
    if objective == "reg:quantileerror":
        options["quantile_alpha"] = 0.3
    return X, xgb.train({"objective": objective, "max_depth": 3, "nthread": 1, **options}, data, 8)


@pytest.mark.parametrize("base", [None, 0.7])
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_boosters_apply_their_objective(objective, base):
    X, booster = trained(objective, **({} if base is None else {"base_score": base}))
    program = translate(booster)
    assert program.inputs == ("x0", "x1", "x2", "x3")
    same_numbers(booster.predict(xgb.DMatrix(X)), program.predict(X))


@pytest.mark.parametrize(
    "objective",
    ["binary:logistic", "binary:logitraw", "binary:hinge", "reg:logistic", "reg:squarederror",
     "count:poisson"],
)  # fmt: skip
def test_a_classifier_predicts_one_above_a_probability_of_a_half(objective):
    X, y = sample("adult")
    same_labels(xgb.XGBClassifier(n_estimators=8, objective=objective, n_jobs=1).fit(X, y), X)


def test_a_score_that_float32_rounds_to_one_half_is_the_first_class():
    X, y = sample("adult", 200)
    model = xgb.XGBClassifier(n_estimators=1, n_jobs=1).fit(X, y)
    limit: float = translate(model).term.guard.right.value  # type: ignore[union-attr,assignment]
    assert 0 < limit < 1e-6
    scores = np.array([0, limit / 2, limit * 0.999, limit * 1.001], np.float32)
    plain = {"objective": "binary:logistic", "base_score": 0.5}
    empty = xgb.train(plain, xgb.DMatrix(X, y), 0)
    predicted = empty.predict(xgb.DMatrix(X.iloc[:4], base_margin=scores))
    assert (predicted > 0.5).tolist() == [False, False, False, True]


@pytest.mark.parametrize("label", [0, 1])
def test_a_base_score_at_the_end_of_its_range(label):
    X = np.random.default_rng(0).normal(size=(50, 2))
    options = {"objective": "binary:logistic", "nthread": 1}
    booster = xgb.train(options, xgb.DMatrix(X, np.full(50, label)), 2)
    same_numbers(booster.predict(xgb.DMatrix(X)), translate(booster).predict(X))


@pytest.mark.parametrize("booster", ["gbtree", "gblinear"])
@pytest.mark.parametrize("data", DATA)
def test_probabilities(booster, data):
    X, y = sample(data, 1000)
    model = xgb.XGBClassifier(n_estimators=10, booster=booster, n_jobs=1).fit(X, y)
    names = input_names(model, None)
    shares = translation_of(model, names).probabilities
    assert shares is not None
    predicted = Program(shares, names).predict(X)
    np.testing.assert_allclose(predicted, model.predict_proba(X), atol=2e-6)


def test_a_classifier_of_two_classes_with_softmax():
    X, y = sample("adult", 1000)
    options = {"n_estimators": 5, "num_class": 2, "n_jobs": 1}
    same_labels(xgb.XGBClassifier(objective="multi:softmax", **options).fit(X, y), X)
    model = xgb.XGBClassifier(objective="multi:softprob", **options).fit(X, y)
    with pytest.raises(TranslationError, match="two classes and the objective multi:softprob"):
        translate(model)


def test_rankers():
    X, y = sample("contraceptive")
    model = xgb.XGBRanker(n_estimators=5, n_jobs=1).fit(X, y, qid=np.arange(len(X)) // 100)
    same_numbers(model.predict(X), translate(model).predict(X))


def test_trees_after_the_best_round_are_omitted():
    X, y = sample("contraceptive")
    model = xgb.XGBClassifier(
        n_estimators=200, early_stopping_rounds=3, learning_rate=1.0, num_parallel_tree=2, n_jobs=1
    )
    model.fit(X[:1000], y[:1000], eval_set=[(X[1000:], y[1000:])], verbose=False)
    assert model.best_iteration < model.get_booster().num_boosted_rounds() - 1
    program = same_labels(model, X)
    same_numbers(
        model.get_booster().predict(xgb.DMatrix(X)), translate(model.get_booster()).predict(X)
    )
    assert translate(model.get_booster()).size > program.size


def test_a_model_of_one_leaf_and_a_model_of_no_trees():
    X = np.zeros((20, 2))
    model = xgb.XGBRegressor(n_estimators=3, n_jobs=1).fit(X, np.arange(20.0))
    same_numbers(model.predict(X), translate(model).predict(X))
    booster = xgb.train({"objective": "reg:squarederror"}, xgb.DMatrix(X, np.ones(20)), 0)
    same_numbers(booster.predict(xgb.DMatrix(X)), translate(booster).predict(X))


# Categories


@pytest.mark.parametrize("booster", ["gbtree", "dart"])
@pytest.mark.parametrize("one_hot", [1, 100])
def test_categories_are_tested_by_name(booster, one_hot):
    X, y = with_categories()
    model = xgb.XGBClassifier(
        n_estimators=8, max_depth=4, enable_categorical=True, max_cat_to_onehot=one_hot,
        booster=booster, n_jobs=1,
    ).fit(X, y)  # fmt: skip
    program = same_labels(model, X)
    sets = [term for term in program.points.terms if isinstance(term, Member)]
    named = {value for term in sets for value in term.members}
    if one_hot == 1:
        assert named & set(X["occupation"].cat.categories)
    with_missing = X.copy()
    for name in ("workclass", "education", "occupation", "level"):
        with_missing.loc[with_missing.index[::3], name] = None
    same_labels(model, with_missing, program)
    fewer = X.iloc[:50].copy()
    fewer["occupation"] = fewer["occupation"].cat.remove_unused_categories()
    same_labels(model, fewer, program)


def test_categories_that_are_only_numbers():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 8, 500), rng.normal(size=500)])
    y = np.isin(X[:, 0], [1, 4, 6]) ^ (X[:, 1] > 0)
    kinds = ["c", "q"]
    data = xgb.DMatrix(X, y, feature_types=kinds, enable_categorical=True)
    options = {"objective": "binary:logistic", "max_cat_to_onehot": 2, "nthread": 1}
    booster = xgb.train(options, data, 5)
    rows = np.repeat(X[:12], 2, axis=0)
    rows[:12, 0] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 100, -1, np.nan]
    predicted = translate(booster).predict(rows)
    same_numbers(booster.predict(xgb.DMatrix(rows, feature_types=kinds)), predicted)


def test_codes_of_an_encoder_can_be_categories():
    X, y = with_categories()
    X = X[["workclass", "occupation"]].astype(str)
    model = xgb.XGBClassifier(
        n_estimators=5, enable_categorical=True, feature_types=["c", "c"], max_cat_to_onehot=1,
        n_jobs=1,
    )  # fmt: skip
    codes = OrdinalEncoder().fit(X)
    pipeline = make_pipeline(codes, model).fit(X, y)
    program = translate(pipeline)
    assert program.predict(X).tolist() == pipeline.predict(X).tolist()
    assert any(isinstance(term, Member) for term in program.points.terms)


def test_incomplete_names_of_categories_are_refused():
    X = pd.DataFrame({"city": pd.Categorical(["Zürich", "Bern", "Genève"] * 30)})
    model = xgb.XGBClassifier(n_estimators=2, enable_categorical=True, n_jobs=1)
    model.fit(X, [0, 1, 1] * 30)
    with pytest.raises(TranslationError, match="not ASCII"):
        translate(model)


# Pipelines, names, origins


def test_in_a_pipeline_thresholds_are_on_the_raw_columns():
    X, y = sample("contraceptive")
    model = make_pipeline(StandardScaler(), xgb.XGBClassifier(n_estimators=10, n_jobs=1)).fit(X, y)
    program = translate(model)
    assert program.predict(X).tolist() == model.predict(X).tolist()
    assert program.inputs == tuple(X.columns)


def test_names_come_from_the_frame():
    X, y = sample("contraceptive", 300)
    model = xgb.XGBClassifier(n_estimators=2, n_jobs=1).fit(X, y)
    assert translate(model).inputs == tuple(X.columns)
    assert translate(model.get_booster()).inputs == tuple(X.columns)
    assert translate(xgb.XGBClassifier(n_estimators=2).fit(X.to_numpy(), y)).inputs[:2] == (
        "x0",
        "x1",
    )


def test_a_booster_finds_its_columns_by_name():
    X, y = sample("contraceptive", 300)
    booster = xgb.XGBRegressor(n_estimators=2, n_jobs=1).fit(X, y).get_booster()
    data = X[X.columns[::-1]]
    audited = audited_model(booster, data, set(), None, opaque=False)
    assert audited.program.inputs == tuple(X.columns)
    same_numbers(audited.expected, audited.program.predict(data))


@pytest.mark.parametrize("data", ["adult", "contraceptive"])
def test_every_part_has_its_node_as_origin(data):
    X, y = sample(data, 500)
    model = xgb.XGBClassifier(n_estimators=3, max_depth=3, n_jobs=1).fit(X, y)
    program = translate(model)
    trees = model.get_booster().trees_to_dataframe()
    nodes = set()
    for point, term in enumerate(program.points.terms):
        origin = program.origin(program.points.position(Site(point)))
        assert origin is not None
        assert origin.step == "XGBClassifier"
        if origin.node is not None:
            nodes.add((origin.tree, origin.node))
        if isinstance(term, Ite) and isinstance(term.guard, Compare) and origin.node is not None:
            row = trees[(trees.Tree == origin.tree) & (trees.Node == origin.node)].iloc[0]
            assert term.guard.left.name == row.Feature  # type: ignore[union-attr]
            assert term.guard.right.value == np.float32(row.Split)  # type: ignore[union-attr]
    assert nodes == set(zip(trees.Tree, trees.Node, strict=True))


def test_every_coefficient_is_an_origin():
    X, y = sample("contraceptive", 500)
    model = xgb.XGBClassifier(n_estimators=3, booster="gblinear", n_jobs=1).fit(X, y)
    program = translate(model)
    origins = [origin.coefficient for origin in program.origins.values()]
    assert sorted(o for o in origins if o is not None) == list(range(3 * X.shape[1]))


def test_the_fast_engine_supports_the_programs():
    X, y = sample("adult", 500)
    term = translate(xgb.XGBClassifier(n_estimators=3, n_jobs=1).fit(X, y)).term
    assert isinstance(term, Ite)
    assert isinstance(term.guard, Compare)
    X, y = sample("contraceptive", 500)
    term = translate(xgb.XGBClassifier(n_estimators=3, n_jobs=1).fit(X, y)).term
    assert isinstance(term, Argmax)


# What is refused


@pytest.mark.parametrize(
    "kind", [xgb.XGBClassifier, xgb.XGBRegressor, xgb.XGBRFClassifier, xgb.XGBRanker]
)
def test_a_model_that_is_not_fitted_is_refused(kind):
    with pytest.raises(TranslationError, match=f"this {kind.__name__} is not fitted; call fit"):
        translate(kind())


def test_several_outputs_are_refused():
    X, y = sample("contraceptive", 200)
    model = xgb.XGBRegressor(n_estimators=2, n_jobs=1).fit(X, np.column_stack([y, y]))
    with pytest.raises(TranslationError, match="has 2 outputs"):
        translate(model)


def test_a_vector_at_a_leaf_is_refused():
    X, y = sample("contraceptive", 200)
    model = xgb.XGBClassifier(n_estimators=2, multi_strategy="multi_output_tree", n_jobs=1)
    with pytest.raises(TranslationError, match="have several values"):
        translate(model.fit(X, y))


def test_a_marker_for_missing_values_in_a_linear_model_is_refused():
    X, y = sample("adult", 200)
    model = xgb.XGBClassifier(n_estimators=2, booster="gblinear", missing=-1.0).fit(X, y)
    with pytest.raises(TranslationError, match="replace the number with NaN"):
        translate(model)


def test_a_marker_for_missing_values_with_categories_is_refused():
    X, y = with_categories(500)
    model = xgb.XGBClassifier(n_estimators=2, enable_categorical=True, missing=-1.0, n_jobs=1)
    with pytest.raises(
        TranslationError, match="has categorical splits; replace the number with NaN"
    ):
        translate(model.fit(X, y))


def test_a_booster_without_training_data_is_refused():
    with pytest.raises(TranslationError, match="is not fitted; call fit first"):
        translate(xgb.Booster())


@pytest.mark.parametrize(
    "numbers",
    [
        "passthrough",
        StandardScaler(),
        RobustScaler(),
        KBinsDiscretizer(4, encode="ordinal", strategy="uniform"),
    ],
    ids=["as they are", "scaled", "about the median", "binned"],
)
def test_a_zero_that_a_sparse_matrix_does_not_store_is_missing(numbers):
    adult = load_adult().iloc[::6]
    X, y = adult.drop(columns="income"), pd.factorize(adult["income"])[0]
    words = X.select_dtypes(exclude="number").columns
    columns = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), words), (numbers, X.columns.difference(words))
    )
    model = make_pipeline(columns, xgb.XGBClassifier(n_estimators=20, max_depth=4)).fit(X, y)
    assert columns.fit(X).sparse_output_
    centerd = X.assign(**{name: X[name].median() for name in X.columns.difference(words)})
    for rows in (X, centerd):
        assert (translate(model).predict(rows) == model.predict(rows)).all()


def test_pruned_nodes_are_omitted():
    X, y = sample("contraceptive")
    model = xgb.XGBClassifier(n_estimators=5, max_depth=5, tree_method="exact", gamma=5.0)
    model.fit(X, y)
    stored = bytes(model.get_booster().save_raw("json"))
    trees = json.loads(stored)["learner"]["gradient_booster"]["model"]["trees"]
    assert any(int(tree["tree_param"]["num_deleted"]) > 0 for tree in trees)
    same_labels(model, X)


@pytest.mark.parametrize("form", ["json", "ubj"])
def test_xgboost_2_wrote_no_threshold_at_categorical_splits(tmp_path, form):
    X = pd.DataFrame({"group": pd.Categorical(list("abcd") * 25), "hours": range(100)})
    y = X["group"].isin(["b", "c"]).astype(int)
    model = xgb.XGBClassifier(
        n_estimators=2, max_depth=2, enable_categorical=True, max_cat_to_onehot=1, n_jobs=1
    ).fit(X, y)
    model.save_model(tmp_path / "new.json")
    stored = json.loads((tmp_path / "new.json").read_text())
    trees = stored["learner"]["gradient_booster"]["model"]["trees"]
    assert any(tree["categories_nodes"] for tree in trees)
    for tree in trees:
        for node in tree["categories_nodes"]:
            tree["split_conditions"][node] = float("nan")
    (tmp_path / "old.json").write_text(json.dumps(stored))
    old = xgb.XGBClassifier()
    old.load_model(tmp_path / "old.json")
    old.save_model(tmp_path / f"model.{form}")
    loaded = pu.load_model(tmp_path / f"model.{form}").model
    assert translate(loaded) == translate(model)
