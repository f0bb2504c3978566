"""An estimator that runs a program behaves as scikit-learn's users expect, and says the same."""

from __future__ import annotations

import math
import pickle
import subprocess
import sys

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import skops.io
from hypothesis import given
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils import estimator_checks as checks
from sklearn.utils.validation import check_is_fitted

import proxyuse as pu
from proxyuse.decision import Positive, Threshold
from proxyuse.errors import DataError, FileError, LanguageError, TranslationError
from proxyuse.models.checks import check_predictions
from proxyuse.models.files import load_model
from proxyuse.models.program_estimator import (
    ProgramClassifier,
    ProgramRegressor,
    possible_outputs,
    program_estimator,
)
from proxyuse.models.registry import translate
from proxyuse.program import Program
from tests.strategies import columns, terms

RNG = np.random.default_rng(3)
X = pd.DataFrame(
    {
        "age": RNG.integers(18, 80, 200).astype(float),
        "hours per week": RNG.normal(40, 10, 200),
        "gain": RNG.integers(0, 5, 200).astype(float),
    }
)
NUMBERS = (X["age"] / 10 + X["gain"]).to_numpy()
GROUPS = np.digitize(NUMBERS, [4, 7])
TARGETS = {
    "two words": np.where(NUMBERS > 6, "yes", "no"),
    "objects": np.where(NUMBERS > 6, "yes", "no").astype(object),
    "three whole numbers": GROUPS,
    "numbers that are whole": GROUPS.astype(float),
    "small whole numbers": GROUPS.astype(np.int8) - 1,
    "truth": NUMBERS > 6,
}


def made(target="two words", rows=X):
    model = DecisionTreeClassifier(max_depth=4, random_state=0).fit(rows, TARGETS[target])
    return model, program_estimator(translate(model), model)


# What it says


@pytest.mark.parametrize("target", TARGETS)
def test_labels_keep_the_type_of_the_model(target):
    model, estimator = made(target)
    assert isinstance(estimator, ProgramClassifier)
    assert estimator.classes_.dtype == model.classes_.dtype
    assert estimator.classes_.tolist() == model.classes_.tolist()
    predicted = estimator.predict(X)
    assert predicted.dtype == model.predict(X).dtype
    assert predicted.tolist() == model.predict(X).tolist()
    assert estimator.score(X, TARGETS[target]) == model.score(X, TARGETS[target])


def test_a_regressor_predicts_float64():
    model = DecisionTreeRegressor(max_depth=3).fit(X, GROUPS)  # leaves may be whole numbers
    estimator = program_estimator(translate(model), model)
    assert isinstance(estimator, ProgramRegressor)
    assert estimator.predict(X).dtype == np.float64
    assert estimator.predict(X).tolist() == model.predict(X).tolist()
    assert estimator.score(X, NUMBERS) == model.score(X, NUMBERS)
    assert not hasattr(estimator, "classes_")


@pytest.mark.parametrize(
    ("text", "classes"),
    [
        ("ite(x <= 1, 0, 1)", [0, 1]),
        ("ite(x <= 1, 'b', 'a')", ["a", "b"]),
        ("x <= 1", [False, True]),
        ("not (x <= 1) and x > 2", [False, True]),
        ("table(w, {'a': 3, 'b': 1}, 2)", [1, 2, 3]),
        ("argmax([x, 1, 2], 'p', 'q', 'r')", ["p", "q", "r"]),
        ("ite(x <= 1, argmax([x, 1], 'p', 'q'), 'a')", ["a", "p", "q"]),
        ("ite(x <= 1, 'b', missing)", ["b"]),
        ("ite(x <= 1, 0.5, 1)", None),
        ("ite(x <= 1, x, 1)", None),
        ("x + 1", None),
        ("sigmoid(x)", None),
        ("x", None),
        ("ite(x <= 1, 1e300, 1)", None),
        ("[x, 1]", None),
    ],
)
def test_without_a_model_the_program_determines_the_kind_of_estimator(text, classes):
    estimator = program_estimator(Program.parse(text))
    assert is_classifier(estimator) == (classes is not None)
    assert is_regressor(estimator) == (classes is None)
    if classes is not None:
        assert estimator.classes_.tolist() == classes
        assert [type(label) for label in estimator.classes_.tolist()] == [type(c) for c in classes]


def test_categories_that_depend_on_the_data_are_refused():
    with pytest.raises(LanguageError, match="depend on the data"):
        program_estimator(Program.parse("ite(x <= 1, 'a', job)"))
    assert possible_outputs(Program.parse("ite(x <= 1, 'a', job)").term) is None


@pytest.mark.parametrize("decision", [Threshold(0.8), Positive("yes")])
def test_a_decision_has_its_own_labels(decision):
    model, _ = made()
    program = translate(model, decision=decision)
    estimator = program_estimator(program, model)
    assert estimator.predict(X).tolist() == program.predict(X).tolist()
    assert len(estimator.classes_) == 2


def test_the_error_for_an_output_that_is_not_a_class_names_the_row():
    estimator = program_estimator(Program.parse("ite(x <= 1, 'b', missing)"))
    assert estimator.predict({"x": [0, 1]}).tolist() == ["b", "b"]
    with pytest.raises(DataError, match=r"row 1 .* classes 'b', got missing"):
        estimator.predict({"x": [0, 2, 3]})
    assert not hasattr(estimator, "predict_proba")


@given(terms(), columns(4))
def test_random_programs(term, data):
    program = Program(term)
    expected = program.predict(data).tolist()
    try:
        estimator = pickle.loads(pickle.dumps(program_estimator(program)))
    except LanguageError:
        return
    if any(isinstance(value, str) for value in expected) and is_regressor(estimator):
        return  # a column that contains only strings
    missing = [value is None or value != value for value in expected]
    if is_classifier(estimator) and any(missing):
        with pytest.raises(DataError, match="got missing"):
            estimator.predict(data)
    else:
        np.testing.assert_array_equal(np.array(expected), np.asarray(estimator.predict(data)))


# Rows


def test_rows_can_come_from_any_library():
    model, estimator = made()
    expected = model.predict(X).tolist()
    assert estimator.predict(X[["gain", "age", "hours per week"]]).tolist() == expected
    assert estimator.predict(X.assign(more="words")).tolist() == expected
    assert estimator.predict(pl.from_pandas(X)).tolist() == expected
    assert estimator.predict(X.to_dict("list")).tolist() == expected
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        assert estimator.predict(X.to_numpy()).tolist() == expected
    assert estimator.predict(X.iloc[:0]).tolist() == []


def test_a_model_fitted_without_names():
    model, estimator = made(rows=X.to_numpy())
    expected = model.predict(X.to_numpy()).tolist()
    assert not hasattr(estimator, "feature_names_in_")
    assert estimator.n_features_in_ == 3
    assert estimator.predict(X.to_numpy()).tolist() == expected
    assert estimator.predict(X.to_numpy().tolist()).tolist() == expected
    assert estimator.predict(X).tolist() == expected  # by position
    with pytest.raises(DataError, match="has no column"):
        estimator.predict(X[["age", "gain"]])


def test_rows_of_mixed_kinds():
    program = Program.parse("lambda x, job . ite(x <=? 1 and job == 'a', 'yes', 'no')")
    estimator = program_estimator(program).set_params(named=False)
    rows = [[0, "a"], [2.5, "a"], [None, "a"], [1, None], [math.nan, "b"]]
    expected = ["yes", "no", "yes", "no", "no"]
    assert estimator.predict(rows).tolist() == expected
    assert estimator.predict(np.array(rows, dtype=object)).tolist() == expected


def test_rows_with_the_wrong_columns_are_refused():
    _, estimator = made(rows=X.to_numpy())
    with pytest.raises(ValueError, match="X has 2 features, but ProgramClassifier is expecting 3"):
        estimator.predict(X.to_numpy()[:, :2])
    with pytest.raises(ValueError, match="Reshape your data"):
        estimator.predict(X.to_numpy()[0])
    _, named = made()
    with pytest.raises(DataError, match="has no column"):
        named.predict(X.drop(columns="age"))
    with pytest.raises(DataError, match="has no column"):
        named.fit(X.drop(columns="age"))


# The scikit-learn interface


@pytest.mark.parametrize("kind", [ProgramClassifier, ProgramRegressor])
def test_without_a_program_it_is_not_fitted(kind):
    empty = kind()
    with pytest.raises(NotFittedError, match="program_estimator"):
        empty.predict(X)
    with pytest.raises(NotFittedError):
        empty.fit(X)
    with pytest.raises(NotFittedError):
        check_is_fitted(empty)
    assert repr(empty) == f"<{kind.__name__}: no program>"
    for name in ("n_features_in_", "feature_names_in_", "classes_"):
        assert not hasattr(empty, name)
    with pytest.raises(TranslationError, match=r"is not fitted|no program"):
        translate(empty)


def test_clones_are_fitted_and_fitting_changes_nothing():
    model, estimator = made()
    check_is_fitted(estimator)
    other = clone(estimator)
    assert other is not estimator
    assert other.fit(X.iloc[:3], ["no"] * 3, sample_weight=[1, 1, 1]) is other
    assert other.predict(X).tolist() == model.predict(X).tolist()
    assert other.get_params().keys() == {"program", "classes", "named"}
    assert Program.parse(other.get_params()["program"]) == translate(model)
    changed = other.set_params(program="lambda age, `hours per week`, gain . 'no'")
    assert set(changed.predict(X)) == {"no"}
    assert "3 inputs" in repr(changed)


def test_the_names_of_columns():
    model, estimator = made()
    assert estimator.feature_names_in_.tolist() == model.feature_names_in_.tolist()
    assert estimator.feature_names_in_.dtype == object


def test_pipelines_and_cross_validation():
    model, estimator = made()
    y = TARGETS["two words"]
    expected = model.predict(X).tolist()
    pipeline = make_pipeline("passthrough", estimator).fit(X, y)
    assert pipeline.predict(X).tolist() == expected
    assert pipeline.classes_.tolist() == ["no", "yes"]
    assert cross_val_predict(estimator, X, y).tolist() == expected
    scores = cross_val_score(estimator, X, y, scoring="balanced_accuracy")
    assert scores.mean() > 0.8
    assert FrozenEstimator(estimator).predict(X).tolist() == expected


def test_permutation_importance():
    _, estimator = made()
    importances = permutation_importance(
        estimator, X, TARGETS["two words"], n_repeats=2, random_state=0
    ).importances_mean
    assert importances[0] > 0
    assert importances[1] < importances[0]


ARRAY = X.to_numpy()
CHECKS = [
    checks.check_estimator_cloneable,
    checks.check_estimator_tags_renamed,
    checks.check_valid_tag_types,
    checks.check_estimator_repr,
    checks.check_no_attributes_set_in_init,
    checks.check_parameters_default_constructible,
    checks.check_get_params_invariance,
    checks.check_set_params,
    checks.check_mixin_order,
    checks.check_estimators_unfitted,
]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("kind", [ProgramClassifier, ProgramRegressor])
def test_the_estimator_checks_of_scikit_learn_pass(check, kind):
    check(kind.__name__, kind())


# Files


@pytest.mark.parametrize("target", TARGETS)
def test_pickles_hold_text_and_skops_files_load(target, tmp_path):
    model, estimator = made(target)
    estimator.predict(X)  # which reads the text
    assert str(translate(model)).encode() in pickle.dumps(estimator)
    assert b"proxyuse.lang" not in pickle.dumps(estimator)
    skops.io.dump(estimator, tmp_path / "model.skops")
    loaded = load_model(tmp_path / "model.skops").model
    assert isinstance(loaded, ProgramClassifier)
    assert loaded.predict(X).tolist() == model.predict(X).tolist()
    assert loaded.predict(X).dtype == model.predict(X).dtype


@pytest.mark.parametrize(
    "changed",
    [
        {"program": "not a program ("},
        {"program": ["a list"]},
        {"program": None},
        {"named": "words"},
        {"classes": None},
        {"classes": np.zeros((2, 2))},
        {"classes": []},
        {"classes": [{"a": 1}]},
        {"predict": 1},
        {"more": 1},
    ],
)
def test_an_inconsistent_file_is_refused(changed, tmp_path):
    _, estimator = made()
    estimator.__dict__.update(changed)
    skops.io.dump(estimator, tmp_path / "model.skops")
    with pytest.raises(FileError, match="is inconsistent"):
        load_model(tmp_path / "model.skops")


def test_a_pipeline_of_them_loads(tmp_path):
    _, estimator = made()
    skops.io.dump(make_pipeline("passthrough", estimator).fit(X), tmp_path / "model.skops")
    loaded = load_model(tmp_path / "model.skops").model
    assert loaded.predict(X).tolist() == estimator.predict(X).tolist()  # type: ignore[attr-defined]


def test_a_new_process_loads_it(tmp_path):
    model, estimator = made("three whole numbers")
    regressor = program_estimator(translate(LinearRegression().fit(X, NUMBERS)))
    joblib.dump(estimator, tmp_path / "model.joblib")
    (tmp_path / "model.pickle").write_bytes(pickle.dumps(regressor))
    X.to_pickle(tmp_path / "rows.pickle")
    code = (
        "import joblib, pickle, json, sys, pandas;"
        "X = pandas.read_pickle('rows.pickle'); one = joblib.load('model.joblib');"
        "two = pickle.load(open('model.pickle', 'rb'));"
        "print(json.dumps([one.predict(X).tolist(), two.predict(X).tolist()]))"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == str([model.predict(X).tolist(), regressor.predict(X).tolist()])


def test_the_package_does_not_import_it():
    code = (
        "import proxyuse as pu, sys, proxyuse.models;"
        "pu.translate(pu.Program.parse('x')); assert 'sklearn' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# Back to a program


@pytest.mark.parametrize("target", TARGETS)
def test_it_is_translated_to_its_program(target):
    model, estimator = made(target)
    program = translate(model)
    assert translate(estimator) == program
    assert check_predictions(estimator, program, X).rows == len(X)


def test_it_is_audited_like_the_model():
    forest = RandomForestClassifier(3, max_depth=3, random_state=0).fit(X, TARGETS["two words"])
    data = X.assign(old=X["age"] > 50)
    audits = [
        pu.audit(audited, data, "old", epsilon=0.1, delta=0.01)
        for audited in (forest, program_estimator(translate(forest), forest))
    ]
    ids = [[witness.id for witness in audit.witnesses] for audit in audits]
    assert ids[0]
    assert ids[0] == ids[1]


def test_it_is_translated_inside_a_pipeline_and_without_names():
    columns = make_column_transformer((StandardScaler(), list(X.columns)))
    Z = columns.fit_transform(X)
    model = LinearSVC(random_state=0).fit(Z, TARGETS["two words"])
    pipeline = make_pipeline(columns, program_estimator(translate(model), model))
    program = translate(pipeline)
    assert program.inputs == tuple(X.columns)
    assert check_predictions(pipeline, program, X).rows == len(X)
    assert translate(pipeline[-1], ["a", "b", "c"]).inputs == ("a", "b", "c")


def test_the_error_shows_what_is_wrong_in_the_text():
    with pytest.raises(Exception, match="expected"):
        translate(ProgramRegressor("1 +"))
