import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, mean_absolute_error
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from proxyuse.lang.nodes import Const, Ite, children, variables
from proxyuse.lang.positions import Site
from proxyuse.models.registry import translate
from proxyuse.models.write_back import write_back
from proxyuse.program import Program
from proxyuse.repairing.refit import refit
from tests.repaired_cases import CASES, CODES, MIXED, NUMBER, NUMBERS, THREE, TWO, fitted

KEEPS_FIT = [
    "tree", "tree, missing values", "tree of three", "tree of numbers", "extra tree",
    "extra trees", "extra trees of numbers", "logistic", "logistic of three", "Ridge",
    "discriminant", "grid", "fixed threshold", "tuned threshold", "frozen", "pipeline, tree",
    "pipeline, logistic", "pipeline, searched", "xgboost", "xgboost of three",
    "xgboost of numbers", "xgboost, pipeline", "lightgbm", "lightgbm of three",
    "lightgbm of numbers", "lightgbm, pipeline",
]  # fmt: skip
RESAMPLED = ["forest", "forest of three", "forest of numbers", "large forest", "bagged trees"]
NOT_REFITTED = [
    "boosting", "histograms", "gaussian", "adaboost", "votes", "support vectors",
    "xgboost, booster", "xgboost, ranks", "lightgbm, booster", "lightgbm, ranks", "program",
    "repaired",
]  # fmt: skip


def numbers_of(model, X):
    if hasattr(model, "predict_proba"):
        return model.predict_proba(X)
    return model.predict(X)


def guards_of(model):
    """The guards of a program, and how they are nested."""
    term = translate(model).term
    guards, stack = [], [term]
    while stack:
        part = stack.pop()
        if isinstance(part, Ite) and len(variables(part.guard)) == 1:
            guards.append(str(Program(part.guard, variables(part.guard))))
        stack.extend(children(part))
    return guards


@pytest.mark.parametrize("name", [name for name in KEEPS_FIT if name in CASES])
def test_numbers_fitted_on_the_same_rows_stay(name):
    case, model = CASES[name], fitted(name)
    new = refit(model, case.X, case.y)
    assert type(new) is type(model)
    assert numbers_of(new, case.X) == pytest.approx(numbers_of(model, case.X), abs=1e-6)


@pytest.mark.parametrize("name", [n for n in [*KEEPS_FIT, *RESAMPLED] if n in CASES])
def test_other_rows_give_other_numbers_and_the_same_tests(name):
    case, model = CASES[name], fitted(name)
    before = pickle.dumps(model)
    rows = np.r_[:30, :30, :120]
    new = refit(model, case.X.iloc[rows], np.asarray(case.y)[rows])
    assert pickle.dumps(model) == before
    assert numbers_of(new, case.X) != pytest.approx(numbers_of(model, case.X), abs=1e-6)
    assert guards_of(new) == guards_of(model)


@pytest.mark.parametrize("name", [n for n in [*KEEPS_FIT, *RESAMPLED] if n in CASES])
def test_weights_count_rows(name):
    case, model = CASES[name], fitted(name)
    if name == "discriminant":
        assert refit(model, case.X, case.y, np.ones(120)) is None
        return
    counts = np.where(np.arange(120) < 30, 3.0, 1.0)
    rows = np.r_[:30, :30, :120]
    weighted = refit(model, case.X, case.y, counts)
    repeated = refit(model, case.X.iloc[rows], np.asarray(case.y)[rows])
    if "scaler" not in repr(model).lower():
        assert numbers_of(weighted, case.X) == pytest.approx(
            numbers_of(repeated, case.X), abs=2e-4, rel=2e-4
        )


@pytest.mark.parametrize("name", [name for name in NOT_REFITTED if name in CASES])
def test_other_classes_are_not_refitted(name):
    case, model = CASES[name], fitted(name)
    assert refit(model, case.X, case.y) is None


# Repaired models


def without(model, X, name: str):
    """The model written back after every test on a column was replaced by its second branch."""
    program = translate(model, list(X.columns) if hasattr(X, "columns") else None)
    points = program.points
    tests: dict[Site, Const] = {}
    for point, part in enumerate(points.terms):
        above = points.parents[point]
        inside = any(_contains(points, site.point, point) for site in tests)
        if isinstance(part, Ite) and name in variables(part.guard) and not inside and above >= 0:
            tests[Site(point)] = _some_constant(part)
    deployed = write_back(model, program.replaced(tests), X)
    assert deployed.native, deployed.why
    assert deployed.model is not model
    return deployed.model


def _contains(points, outer, inner):
    while inner > outer:
        inner = points.parents[inner]
    return inner == outer


def _some_constant(term):
    while isinstance(term, Ite):
        term = term.then
    assert isinstance(term, Const)
    return term


TREES = {
    "tree": (DecisionTreeClassifier(max_depth=5, random_state=0), TWO),
    "tree of three": (DecisionTreeClassifier(max_depth=5, random_state=0), THREE),
    "balanced tree": (
        DecisionTreeClassifier(max_depth=4, class_weight="balanced", random_state=0),
        TWO,
    ),
}


@pytest.mark.parametrize("name", TREES)
def test_refitting_a_repaired_tree_lowers_its_log_loss_and_brings_no_column_back(name):
    unfitted, y = TREES[name]
    model = unfitted.fit(NUMBERS, y)
    repaired = without(model, NUMBERS, "days")
    new = refit(repaired, NUMBERS, y)
    assert "days" in translate(model).variables
    assert "days" not in translate(new).variables
    assert set(translate(new).variables) <= set(translate(repaired).variables)
    weights = np.ones(len(y))
    if model.class_weight == "balanced":
        weights = 1 / pd.Series(y).map(pd.Series(y).value_counts()).to_numpy()
    before, after = (
        log_loss(y, part.predict_proba(NUMBERS), sample_weight=weights) for part in (repaired, new)
    )
    assert after < before


def test_a_leaf_without_rows_keeps_its_value():
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(NUMBERS, TWO)
    leaves = model.apply(NUMBERS)
    some = leaves == leaves[0]
    new = refit(model, NUMBERS[some], np.full(some.sum(), "no"))
    assert (new.predict(NUMBERS[some]) == "no").all()
    assert np.array_equal(new.predict_proba(NUMBERS[~some]), model.predict_proba(NUMBERS[~some]))


def test_rows_of_weight_zero_reach_no_leaf():
    model = DecisionTreeRegressor(max_depth=3, random_state=0).fit(NUMBERS, NUMBER)
    new = refit(model, NUMBERS, NUMBER + 5, np.zeros(120))
    assert np.array_equal(new.predict(NUMBERS), model.predict(NUMBERS))


def test_a_tree_grown_for_absolute_errors_gets_medians():
    tree = DecisionTreeRegressor(max_depth=2, criterion="absolute_error", random_state=0)
    model = tree.fit(NUMBERS, NUMBER)
    moved = refit(model, NUMBERS, NUMBER * 2)
    assert moved.predict(NUMBERS) == pytest.approx(model.predict(NUMBERS) * 2)
    weights = np.random.default_rng(0).integers(1, 4, 120)
    weighted = refit(model, NUMBERS, NUMBER, weights.astype(float))
    repeated = refit(model, NUMBERS.loc[NUMBERS.index.repeat(weights)], NUMBER.repeat(weights))
    assert weighted.predict(NUMBERS) == pytest.approx(repeated.predict(NUMBERS))
    assert mean_absolute_error(NUMBER, model.predict(NUMBERS)) > 0


def test_a_monotonic_tree_is_not_refitted():
    tree = DecisionTreeClassifier(max_depth=2, monotonic_cst=[1, 0, 0])
    assert refit(tree.fit(NUMBERS, CODES), NUMBERS, CODES) is None


@pytest.mark.parametrize("kind", [RandomForestClassifier, RandomForestRegressor])
def test_every_tree_of_a_forest_uses_all_rows(kind):
    y = TWO if kind is RandomForestClassifier else NUMBER
    forest = kind(4, max_depth=3, random_state=0).fit(NUMBERS, y)
    new = refit(forest, NUMBERS, y)
    for old, member in zip(forest.estimators_, new.estimators_, strict=True):
        leaves = member.apply(NUMBERS.to_numpy())
        assert np.array_equal(old.tree_.threshold, member.tree_.threshold)
        values = (y == forest.classes_[1]) if kind is RandomForestClassifier else NUMBER
        for leaf in set(leaves.tolist()):
            assert member.tree_.value[leaf, 0, -1] == pytest.approx(values[leaves == leaf].mean())


def test_refitting_a_repaired_xgboost_or_lightgbm_model_lowers_its_log_loss():
    xgboost, lightgbm = pytest.importorskip("xgboost"), pytest.importorskip("lightgbm")
    few = {"n_estimators": 8, "max_depth": 3, "random_state": 0, "n_jobs": 1}
    for model in (
        xgboost.XGBClassifier(**few),
        lightgbm.LGBMClassifier(**few, min_child_samples=5, verbose=-1),
    ):
        for y in (CODES, THREE):
            fit = model.fit(NUMBERS, y)
            repaired = without(fit, NUMBERS, "rooms")
            new = refit(repaired, NUMBERS, y)
            assert "rooms" in translate(fit).variables
            assert "rooms" not in translate(new).variables
            assert guards_of(new) == guards_of(repaired)
            before, after = (log_loss(y, m.predict_proba(NUMBERS)) for m in (repaired, new))
            assert after < before


def test_removed_coefficients_stay_zero_and_the_others_are_those_without_the_column():
    for y in (TWO, THREE):
        pipeline = make_pipeline(StandardScaler(), LogisticRegression(tol=1e-10, max_iter=5000))
        model = pipeline.fit(NUMBERS, y)
        repaired = pickle.loads(pickle.dumps(model))
        repaired[-1].coef_[:, 0] = 0.0
        new = refit(repaired, NUMBERS, y)
        others = NUMBERS[["decades", "days"]]
        alone = make_pipeline(StandardScaler(), LogisticRegression(tol=1e-10, max_iter=5000))
        alone.fit(others, y)
        assert not new[-1].coef_[:, 0].any()
        assert new.predict_proba(NUMBERS) == pytest.approx(alone.predict_proba(others), abs=1e-5)
        assert log_loss(y, new.predict_proba(NUMBERS)) < log_loss(
            y, repaired.predict_proba(NUMBERS)
        )
        assert "rooms" not in translate(new).variables


def test_numbered_columns_are_refitted_too():
    X = NUMBERS.to_numpy()
    model = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, TWO)
    new = refit(model, X, np.where(TWO == "yes", "no", "yes"))
    assert (new.predict(X) != model.predict(X)).all()


def test_categories_of_xgboost_and_lightgbm_are_refitted_from_text():
    xgboost, lightgbm = pytest.importorskip("xgboost"), pytest.importorskip("lightgbm")
    X = MIXED[["decades", "home"]]
    typed = X.astype({"home": "category"})
    few = {"n_estimators": 3, "max_depth": 2, "n_jobs": 1}
    for model in (
        xgboost.XGBClassifier(**few, enable_categorical=True),
        lightgbm.LGBMClassifier(**few, min_child_samples=5, verbose=-1),
    ):
        model.fit(typed, CODES)
        new = refit(model, X, CODES)
        assert new.predict_proba(typed) == pytest.approx(model.predict_proba(typed), abs=1e-6)


def test_sparse_features_are_refitted():
    lightgbm = pytest.importorskip("lightgbm")
    X = MIXED[["home", "job"]].fillna("?")
    for last in (
        DecisionTreeClassifier(max_depth=3, random_state=0),
        ExtraTreesClassifier(3, max_depth=3, random_state=0),
        LogisticRegression(),
        lightgbm.LGBMClassifier(n_estimators=3, min_child_samples=5, n_jobs=1, verbose=-1),
    ):
        model = make_pipeline(OneHotEncoder(), last).fit(X, TWO)
        new = refit(model, X, TWO)
        assert new.predict_proba(X) == pytest.approx(model.predict_proba(X), abs=1e-6)
        other = refit(model, X, np.where(np.arange(120) < 40, "no", TWO))
        assert other.predict_proba(X) != pytest.approx(model.predict_proba(X), abs=1e-3)
