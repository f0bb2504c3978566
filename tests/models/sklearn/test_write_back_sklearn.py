"""Repaired programs become scikit-learn models again that predict what the program says."""

from __future__ import annotations

import pickle
from importlib import import_module
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    TunedThresholdClassifierCV,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, PolynomialFeatures
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from proxyuse.decision import Positive, Threshold, TopK
from proxyuse.lang.build import const
from proxyuse.lang.nodes import Add, And, Argmax, Compare, Const, Mul, Var, variables
from proxyuse.lang.positions import Site
from proxyuse.models.audited_model import audited_model
from proxyuse.models.label_shares import closest_shares
from proxyuse.models.registry import translate
from proxyuse.models.sklearn.skops_file import load_skops
from proxyuse.models.supported import SUPPORTED
from proxyuse.models.write_back import REASONS, WRITERS, find_writer, write_back
from proxyuse.program import Program
from tests.deploy_cases import (
    FEW,
    MODELS,
    NUMBER,
    NUMBERS,
    THREE,
    TWO,
    WORDS,
    X,
    agree,
    asked_rows,
    check,
    check_outputs,
    constants,
    fitted,
    prepared,
    repaired,
    twice_repaired,
)


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    with threadpool_limits(1):
        yield


def random_repairs(name, count):
    model = fitted(name)
    program = translate(model)
    rng = np.random.default_rng(len(name))
    cases = [*constants(program), *(twice_repaired(program, rng) for _ in range(count))]
    for case in cases:
        check_outputs(check(model, case), case)


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_random_repairs_are_written_back(name):
    random_repairs(name, 2)


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_many_random_repairs_are_written_back(name):
    random_repairs(name, 60)


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_a_written_model_can_be_saved_and_cloned(name, tmp_path):
    model = fitted(name)
    program = translate(model)
    new = check(model, repaired(program, np.random.default_rng(1), 3))
    predicted = new.predict(X)
    joblib.dump(new, tmp_path / "model.joblib")
    again = [
        pickle.loads(pickle.dumps(new)),
        joblib.load(tmp_path / "model.joblib"),
    ]
    for other in again:
        np.testing.assert_array_equal(other.predict(X), predicted)
    last: Any = load_skops(skops.io.dumps(new[-1]))[0]
    np.testing.assert_array_equal(last.predict(new[:-1].transform(X)), predicted)
    assert clone(new).get_params().keys() == model.get_params().keys()


@pytest.mark.parametrize("name", MODELS)
def test_a_program_without_repair_gives_the_same_model(name):
    model = fitted(name)
    new = check(model, translate(model))
    for method in ("predict", "predict_proba", "decision_function"):
        if hasattr(model, method):
            np.testing.assert_array_equal(getattr(new, method)(X), getattr(model, method)(X))


# Trees


@pytest.mark.parametrize("name", ["forest", "forest of three", "extra trees", "bagging"])
def test_the_probabilities_of_a_written_forest_match_the_program(name):
    model = fitted(name)
    program = translate(model)
    rng = np.random.default_rng(3)
    for _ in range(3):
        case = twice_repaired(program, rng)
        if isinstance(case.term, Argmax):
            inner = Program(case.term.operand, case.inputs)
            shares = check(model, case).predict_proba(X)
            np.testing.assert_allclose(shares, inner.predict(X), rtol=1e-12, atol=1e-12)


def test_one_leaf_holds_the_constant_of_removed_trees():
    model = fitted("forest")
    program = translate(model)
    total = next(p for p, t in enumerate(program.points.terms) if isinstance(t, Add))
    case = program.replaced({Site(total, (0, 2, 3)): Const((1.25, 1.75))})
    trees = [tree.tree_ for tree in check(model, case)[-1].estimators_]
    single = [tuple(tree.value[0, 0]) for tree in trees if tree.node_count == 1]
    assert sorted(single) == [(0, 0), (0, 0), (1.25, 1.75)]
    assert [tree.node_count > 1 for tree in trees] == [True] * 3 + [False] * 3


def test_a_pruned_tree_keeps_probabilities_with_the_same_label():
    model = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X[["hours"]], TWO)
    program = translate(model)
    own = model.tree_.value[:, 0, :]
    for index, label in enumerate(model.classes_):
        case = program.replaced({Site(program.points.below(0)[1]): const(label)})
        new = write_back(model, case, X[["hours"]]).model
        majority = model.classes_[np.argmax(own[1])]
        expected = own[1] if label == majority else closest_shares(own[1], index)
        np.testing.assert_array_equal(new.tree_.value[new.tree_.children_left[0], 0], expected)
        assert new.get_depth() == 2


def test_histograms_with_categories_and_missing_values():
    rows = X.astype({"job": "category", "town": "category"})
    model = HistGradientBoostingClassifier(
        max_iter=5, max_depth=3, min_samples_leaf=4, categorical_features="from_dtype"
    )
    model.fit(rows, THREE)
    program = translate(model)
    rng = np.random.default_rng(5)
    for _ in range(5):
        case = twice_repaired(program, rng)
        deployed = write_back(model, case, rows)
        assert deployed.native, deployed.why
        agree(deployed.model, case, rows)


def test_a_program_may_omit_missing_values_that_never_occur():
    rows = X.fillna({"age": 0, "gain": 0, "hours": 0})[NUMBERS]
    model = RandomForestClassifier(4, max_depth=4, random_state=0).fit(X[NUMBERS], TWO)
    program = translate(model).without_missing(frozenset(NUMBERS))
    assert program != translate(model)
    guard = next(p for p, t in enumerate(program.points.terms) if isinstance(t, Compare) and p > 20)
    case = program.replaced({Site(guard): Const(True)})
    assert write_back(model, case, rows).native


# Linear models


def test_coefficients_of_removed_terms_are_zero():
    model = fitted("logistic")
    program = translate(model)
    jobs = [p for p, t in enumerate(program.points.terms) if t == Var("job")]
    new = check(model, program.replaced({Site(jobs[0]): Const("cook")}))
    names = new[0].get_feature_names_out()
    removed = np.array(["job" in name for name in names])
    assert removed.sum() == 4
    np.testing.assert_array_equal(new[-1].coef_[0, removed], 0)
    np.testing.assert_array_equal(new[-1].coef_[0, ~removed], model[-1].coef_[0, ~removed])


def test_a_changed_product_of_columns_cannot_be_written_back():
    prep = make_pipeline(SimpleImputer(), PolynomialFeatures(2, include_bias=False))
    model = make_pipeline(prep, Ridge()).fit(X[NUMBERS], NUMBER)
    program = translate(model)
    product = next(
        p
        for p, t in enumerate(program.points.terms)
        if isinstance(t, Mul) and set(variables(t)) == {"age", "hours"}
    )
    inside = next(
        p
        for p in range(product, program.points.end(product))
        if program.points.terms[p] == Var("age")
    )
    whole = program.replaced({Site(product): Const(5.0)})
    assert write_back(model, whole, X[NUMBERS]).native
    half = write_back(model, program.replaced({Site(inside): Const(30.0)}), X[NUMBERS])
    assert not half.native
    assert "neither unchanged nor a constant" in half.why


# Tests that were changed


def test_a_changed_test_is_detected_even_if_no_row_shows_it():
    bins = KBinsDiscretizer(6, encode="onehot-dense", quantile_method="averaged_inverted_cdf")
    rows = X[["age", "hours"]].fillna(40.0)
    model = make_pipeline(bins, DecisionTreeClassifier(max_depth=5, random_state=0))
    model.fit(rows, TWO)
    program = translate(model)
    between = next(p for p, t in enumerate(program.points.terms) if isinstance(t, And))
    part = program.points.below(between)[0]
    case = program.replaced({Site(part): Const(True)})
    first = rows.iloc[:1]
    assert case.predict(first).tolist() == program.predict(first).tolist()
    deployed = write_back(model, case, first)
    assert not deployed.native
    assert "differs from the model" in deployed.why
    agree(deployed.model, case, rows)


# Decisions


DECIDED = ["tree", "forest", "boosting", "boosting, exponential", "histograms", "logistic"]


@pytest.mark.parametrize(
    "decision",
    [Threshold(0.3), Threshold(0.6, "no"), Positive("yes"), TopK(40), TopK(30, "no")],
    ids=str,
)
@pytest.mark.parametrize("name", DECIDED)
def test_a_model_is_written_back_with_a_decision(name, decision):
    model = fitted(name)
    program = audited_model(model, X, set(), decision, opaque=False).program
    rng = np.random.default_rng(11)
    case = program
    while case == program or isinstance(case.term, Const):
        case = repaired(program, rng, 2)
    deployed = write_back(model, case, X, decision)
    assert deployed.native, deployed.why
    shares = deployed.model.predict_proba(X)
    assert np.isfinite(shares).all()
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    if isinstance(decision, Threshold):
        index = list(model.classes_).index(decision.positive or "yes")
        words = [model.classes_[index], model.classes_[1 - index]]
        decisions = np.where(shares[:, index] >= decision.probability, *words)
        assert decisions.tolist() == case.predict(X).tolist()


@pytest.mark.parametrize("decision", [Threshold(0.3), Positive("yes"), TopK(40)], ids=str)
@pytest.mark.parametrize("name", DECIDED)
def test_a_threshold_keeps_a_constant_decision(name, decision):
    model = fitted(name)
    program = audited_model(model, X, set(), decision, opaque=False).program
    for case in constants(program):
        deployed = write_back(model, case, X, decision)
        assert deployed.native == isinstance(decision, Threshold)
        if deployed.native:
            agree(deployed.model, case, X)
        else:
            assert deployed.why


# Wrappers


def wrapped():
    tree = prepared(DecisionTreeClassifier(max_depth=3, random_state=0))
    forest = prepared(RandomForestClassifier(4, max_depth=3, random_state=0))
    logistic = prepared(LogisticRegression())
    return {
        "search": GridSearchCV(forest, {"model__max_depth": [2, 3]}, cv=2),
        "threshold": FixedThresholdClassifier(logistic, threshold=0.3),
        "threshold of a forest": FixedThresholdClassifier(forest, threshold=0.6, pos_label="no"),
        "threshold of a tree": FixedThresholdClassifier(tree, threshold=0.4),
        "threshold of a fitted model": FixedThresholdClassifier(
            FrozenEstimator(clone(logistic).fit(X, TWO)), threshold=0.7
        ),
        "threshold of boosting": FixedThresholdClassifier(
            prepared(GradientBoostingClassifier(n_estimators=3, max_depth=2)), threshold=0.8
        ),
        "tuned threshold": TunedThresholdClassifierCV(forest, cv=2, random_state=0),
        "frozen": FrozenEstimator(clone(tree).fit(X, TWO)),
        "search in a search": GridSearchCV(
            TunedThresholdClassifierCV(logistic, cv=2), {"response_method": ["auto"]}, cv=2
        ),
    }


@pytest.mark.parametrize("name", wrapped())
def test_wrappers_are_written_back(name):
    model = wrapped()[name].fit(X, TWO)
    program = translate(model)
    rng = np.random.default_rng(len(name))
    for case in [*constants(program), *(twice_repaired(program, rng) for _ in range(2))]:
        new = check(model, case)
        agree(new, case, asked_rows(case))
        agree(pickle.loads(pickle.dumps(new)), case, X)
        clone(new)


@pytest.mark.parametrize("library", ["xgboost", "lightgbm"])
def test_other_libraries_at_the_end_of_a_pipeline(library):
    module = pytest.importorskip(library)
    kind = module.XGBClassifier if library == "xgboost" else module.LGBMClassifier
    quiet = {} if library == "xgboost" else {"verbose": -1}
    model = prepared(kind(n_estimators=4, max_depth=3, n_jobs=1, **quiet)).fit(X, THREE)
    program = translate(model)
    rng = np.random.default_rng(4)
    for _ in range(3):
        case = twice_repaired(program, rng)
        agree(check(model, case), case, X)


def test_a_model_behind_an_opaque_step():
    rows = X[NUMBERS].fillna(40.0)
    model = make_pipeline(PCA(2, random_state=0), RandomForestClassifier(3, **FEW)).fit(rows, TWO)
    program = translate(model, opaque=True)
    known = rows.join(pd.DataFrame(model[0].transform(rows), columns=["pca__pca0", "pca__pca1"]))
    guard = next(p for p, t in enumerate(program.points.terms) if isinstance(t, Compare))
    case = program.replaced({Site(guard): Const(False)})
    deployed = write_back(model, case, known)
    assert deployed.native, deployed.why
    assert deployed.model.predict(rows).tolist() == case.predict(known).tolist()


# Where it cannot be done


@pytest.mark.parametrize(
    ("model", "why"),
    [
        (SVC(kernel="linear"), "support vectors"),
        (AdaBoostClassifier(n_estimators=3, random_state=0), "replace a prediction"),
        (VotingClassifier([("a", DecisionTreeClassifier(max_depth=2))]), "combines the outputs"),
        (BaggingClassifier(LogisticRegression(), 2, random_state=0), "of type LogisticRegression"),
        (
            GradientBoostingClassifier(
                n_estimators=2, max_depth=2, init=DecisionTreeClassifier(max_depth=1)
            ),
            "only constant initial scores",
        ),
        (GaussianNB(), "cannot edit this class"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_an_estimator_runs_the_program_if_the_model_cannot(model, why):
    model = prepared(model).fit(X, TWO)
    program = translate(model)
    case = repaired(program, np.random.default_rng(2), 2)
    deployed = write_back(model, case, X)
    assert not deployed.native
    assert why in deployed.why
    agree(deployed.model, case, X)


def test_a_model_that_predicts_otherwise_is_not_returned():
    model = fitted("logistic")
    program = translate(model)
    other = Program(program.term, program.inputs[:3][::-1] + program.inputs[3:], program.origins)
    rows = X.rename(columns={"age": "hours", "hours": "age"})[["age", "gain", "hours", *WORDS]]
    assert not write_back(model, other, rows).native


# The list of writers


def test_every_writer_exists_and_its_class_is_supported():
    for name, writer in WRITERS.items():
        module, function = writer.function.split(":")
        assert callable(getattr(import_module(module), function))
        if name.startswith("sklearn."):
            assert name in SUPPORTED
    for name in [*REASONS, *(name for name in WRITERS if name.startswith("sklearn."))]:
        where, _, kind = name.rpartition(".")
        assert hasattr(import_module(where), kind)


def test_a_subclass_is_written_back_as_its_base():
    class OwnTree(DecisionTreeClassifier):  # type: ignore[misc]
        pass

    assert find_writer(OwnTree()) is WRITERS["sklearn.tree._classes.DecisionTreeClassifier"]
    assert find_writer(object()) is None
