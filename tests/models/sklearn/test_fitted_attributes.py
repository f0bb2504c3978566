"""A damaged scikit-learn model is refused with the attribute that does not fit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import skops.io
from sklearn.ensemble import BaggingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.multiclass import OneVsOneClassifier
from sklearn.naive_bayes import CategoricalNB, GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder, PolynomialFeatures, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import proxyuse as pu
from proxyuse.errors import CorruptFile, TranslationError
from proxyuse.models.files import load_model
from proxyuse.models.sklearn.fitted_attributes import FITTED, PARALLEL
from proxyuse.models.supported import SUPPORTED
from tests.hostile_models import THREE, X, Y, shorter, with_array, with_field

LINE = LogisticRegression()
CODES = np.abs(X.to_numpy().round())


def longer(array: Any) -> Any:
    return np.concatenate([array, array], axis=-1)


def changed(kind: str, field: str, change: Any) -> Any:
    return lambda data: with_array(data, kind, field, change)


def negative(array: Any) -> Any:
    return -1 - np.abs(array)


DAMAGED = {
    "too few columns": (
        GaussianNB().fit(X, THREE), shorter("GaussianNB", "var_"),
        r"GaussianNB .*var_: expected 3 classes x 3 features, got an array of shape \(3, 2\)",
    ),
    "negative variances": (
        GaussianNB().fit(X, THREE), changed("GaussianNB", "var_", negative),
        "var_: expected numbers of at least 0",
    ),
    "words": (
        GaussianNB().fit(X, THREE), changed("GaussianNB", "theta_", lambda a: a.astype("U3")),
        "theta_: expected numbers, got values of type <U3",
    ),
    "categories of fewer features": (
        CategoricalNB().fit(CODES, Y), with_field("CategoricalNB", "n_features_in_", 2),
        "feature_log_prob_: expected 2 features x 2 classes x any, got 3 items",
    ),
    "weights of too many features": (
        LogisticRegression().fit(X, THREE), changed("LogisticRegression", "coef_", longer),
        r"coef_: expected 3 rows x 3 features, got an array of shape \(3, 6\)",
    ),
    "a class twice": (
        LogisticRegression().fit(X, THREE),
        changed("LogisticRegression", "classes_", np.zeros_like),
        "classes_: a class appears twice",
    ),
    "too many features": (
        DecisionTreeClassifier(max_depth=1).fit(X, Y),
        with_field("DecisionTreeClassifier", "n_features_in_", 10**9),
        "n_features_in_: expected an integer from 0 to 1,000,000, got 1000000000",
    ),
    "scales": (
        make_pipeline(StandardScaler(), LINE).fit(X, Y), shorter("StandardScaler", "scale_"),
        r"StandardScaler .*scale_: expected 3 features, got an array of shape \(2,\)",
    ),
    "fills": (
        make_pipeline(SimpleImputer(), LINE).fit(X, Y), shorter("SimpleImputer", "statistics_"),
        r"statistics_: expected 3 features, got an array of shape \(2,\)",
    ),
    "an encoder of other columns": (
        make_pipeline(OrdinalEncoder(), LINE).fit(CODES, Y),
        with_field("OrdinalEncoder", "n_features_in_", 9),
        "categories_: expected 9 features x any, got 3 items",
    ),
    "members of other columns": (
        BaggingClassifier(n_estimators=2).fit(X, Y),
        changed("BaggingClassifier", "estimators_features_", lambda a: a + 7),
        "estimators_features_: expected indexes below 3",
    ),
    "too few pairs": (
        OneVsOneClassifier(LINE).fit(X, THREE),
        changed("OneVsOneClassifier", "classes_", lambda a: np.arange(9)),
        "estimators_: expected 36 pairs, got 3 items",
    ),
    "a degree without end": (
        make_pipeline(PolynomialFeatures(2), LINE).fit(X, Y),
        with_field("PolynomialFeatures", "_max_degree", 900),
        "n_output_features_ does not match its degree",
    ),
    "trees over other columns": (
        RandomForestClassifier(2, max_depth=1).fit(X, Y),
        with_field("RandomForestClassifier", "n_features_in_", 2),
        "feature_names_in_: expected 2 names",
    ),
}  # fmt: skip


def load(model: Any, edit: Any, folder: Path) -> Any:
    path = folder / "model.skops"
    path.write_bytes(edit(skops.io.dumps(model)))
    return load_model(path).model


@pytest.mark.parametrize("name", DAMAGED)
def test_the_attribute_that_does_not_fit_is_named(name, tmp_path):
    model, edit, message = DAMAGED[name]
    with pytest.raises(CorruptFile, match=message):
        load(model, edit, tmp_path)


def test_every_tree_of_a_forest_reads_the_columns_of_the_forest(tmp_path):
    forest = RandomForestClassifier(2, max_depth=1).fit(X.to_numpy(), Y)
    forest.estimators_[1] = DecisionTreeClassifier(max_depth=1).fit(np.hstack([X, X]), Y)
    with pytest.raises(CorruptFile, match="a tree has a different number of features"):
        load(forest, bytes, tmp_path)


@pytest.mark.parametrize(
    "model", [Ridge(), DecisionTreeClassifier(max_depth=1), RandomForestClassifier(2, max_depth=1)]
)
def test_a_model_with_several_outputs_is_not_called_damaged(model, tmp_path):
    loaded = load(model.fit(X, np.stack([Y, THREE], axis=1)), bytes, tmp_path)
    with pytest.raises(TranslationError, match="2 outputs"):
        pu.translate(loaded)


def test_only_classes_that_can_be_loaded_are_declared():
    supported = {name.rsplit(".", 1)[1] for name in SUPPORTED}
    inner = {"IsotonicRegression", "MissingIndicator", "_SigmoidCalibration", "_ConstantPredictor"}
    assert FITTED.keys() - inner <= supported
    assert PARALLEL.keys() <= FITTED.keys()
