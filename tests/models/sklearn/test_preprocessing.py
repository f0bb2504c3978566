"""Scalers, imputers of numbers, bins, products and selectors, expressed in raw columns."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.feature_selection import (
    RFE,
    GenericUnivariateSelect,
    SelectFdr,
    SelectFpr,
    SelectFromModel,
    SelectFwe,
    SelectKBest,
    SelectPercentile,
    SequentialFeatureSelector,
    VarianceThreshold,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    PolynomialFeatures,
    StandardScaler,
)
from sklearn.tree import DecisionTreeClassifier

from proxyuse.lang.nodes import Precision
from proxyuse.models.features import Coded, Filled, Inputs, Mapped, Raw, Stepped
from proxyuse.models.registry import transformed
from proxyuse.models.weighted_sums import weighted_sum
from proxyuse.program import Program
from tests.feature_cases import (
    BINS,
    HOLES,
    NUMBERS,
    SCALERS,
    WORDS,
    Y,
    agrees_on_tests,
    bins,
    has_the_same_features,
    outputs_of,
    unseen,
)

pytestmark = pytest.mark.filterwarnings(
    "ignore:Found unknown categories", "ignore:Bins whose", "ignore:Feature .* is constant"
)


@pytest.mark.parametrize("scaler", SCALERS, ids=str)
@pytest.mark.parametrize("data", [NUMBERS, HOLES], ids=["complete", "holes"])
def test_scalers(scaler, data):
    features = has_the_same_features(scaler.fit(data), unseen(data))
    assert all(isinstance(feature, Mapped) for feature in features)


@pytest.mark.parametrize("first", SCALERS[::2], ids=str)
@pytest.mark.parametrize("second", SCALERS[3:5], ids=str)
def test_scalers_of_scalers(first, second):
    has_the_same_features(make_pipeline(clone(first), second).fit(HOLES), unseen(HOLES))


@pytest.mark.parametrize(
    "imputer",
    [
        SimpleImputer(),
        SimpleImputer(strategy="median", add_indicator=True),
        SimpleImputer(strategy="most_frequent"),
        SimpleImputer(strategy="constant", fill_value=-1.5, add_indicator=True),
    ],
    ids=str,
)
@pytest.mark.parametrize("scaler", [None, *SCALERS[::3]], ids=str)
def test_imputers_of_numbers_and_their_scalers(imputer, scaler):
    has_the_same_features(make_pipeline(imputer, scaler).fit(HOLES), unseen(HOLES))
    has_the_same_features(make_pipeline(scaler, imputer).fit(HOLES), unseen(HOLES))


def test_a_threshold_on_an_imputed_column_is_on_the_raw_column():
    imputer = SimpleImputer(strategy="constant", fill_value=50).fit(HOLES)
    feature = transformed(imputer, Inputs.raw([*HOLES.columns]).inside("step")).features[0]
    assert isinstance(feature, Filled)
    assert (feature.name, feature.fill) == ("age", 50.0)
    assert str(feature.at_most(30.5, Precision.FLOAT64, True).term) == "age <= 30.5"
    assert str(feature.at_most(60.5, Precision.FLOAT64, False).term) == "age <=? 60.5"


@pytest.mark.parametrize("keep", [False, True])
def test_a_column_without_values_is_dropped_or_kept(keep):
    data = HOLES.assign(rate=np.nan)
    imputer = SimpleImputer(keep_empty_features=keep, add_indicator=True).fit(data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        has_the_same_features(imputer, data)


def test_a_number_can_mark_missing_values():
    data = HOLES.fillna(-1.0)
    imputer = SimpleImputer(missing_values=-1.0, add_indicator=True).fit(data)
    has_the_same_features(imputer, data)
    scaled = make_pipeline(StandardScaler(with_std=False), SimpleImputer(missing_values=-1.0))
    has_the_same_features(scaled.fit(data), data)


@pytest.mark.parametrize("binning", BINS, ids=str)
@pytest.mark.parametrize("before", [None, *SCALERS[::4]], ids=str)
@pytest.mark.parametrize("fill", [False, True])
def test_bins(binning, before, fill):
    data = HOLES if fill else NUMBERS
    imputer = SimpleImputer() if fill else None
    pipe = make_pipeline(imputer, before, binning).fit(data)
    features = has_the_same_features(pipe, unseen(data))
    assert all(isinstance(feature, Stepped) for feature in features)


def test_transformers_after_binning():
    ordinal = bins("ordinal", n_bins=4)
    for after in (
        StandardScaler(),
        OneHotEncoder(sparse_output=False),
        Binarizer(threshold=1.5),
        MinMaxScaler(clip=True),
        PolynomialFeatures(2),
    ):
        has_the_same_features(make_pipeline(ordinal, after).fit(NUMBERS), unseen(NUMBERS))


def test_a_bin_is_an_interval():
    frame = pd.DataFrame({"age": [0.0, 10, 20, 30, 40, 60]})
    binning = KBinsDiscretizer(3, encode="onehot-dense", strategy="uniform").fit(frame)
    first, second, third = transformed(binning, Inputs.raw(["age"]).inside("bins")).features
    assert str(first.at_most(0.5, Precision.FLOAT32, False).term) == "age >=? 20"
    test = second.at_most(0.5, Precision.FLOAT32, False)
    assert (str(test.term), test.opposite) == ("age >= 20 and age < 40", True)
    total = weighted_sum([first, second, third], [1.0, 2.0, 5.0], 0.0)
    assert str(total) == "ite(age < 20, 1, ite(age < 40, 2, 5))"


def test_codes_of_scaled_numbers_are_intervals():
    data = NUMBERS[["flag", "age"]].assign(age=NUMBERS["age"] // 20)
    for scaler in (StandardScaler(), MinMaxScaler(clip=True), MaxAbsScaler()):
        encoder = OneHotEncoder(handle_unknown="ignore")
        has_the_same_features(make_pipeline(scaler, encoder).fit(data), unseen(data))
    flagged = make_pipeline(StandardScaler(), SimpleImputer(add_indicator=True))
    has_the_same_features(flagged.fit(HOLES), unseen(HOLES))


@pytest.mark.parametrize(
    "products",
    [
        PolynomialFeatures(2),
        PolynomialFeatures(3, include_bias=False),
        PolynomialFeatures(3, interaction_only=True),
        PolynomialFeatures((2, 4), include_bias=False, interaction_only=True),
        PolynomialFeatures(0),
    ],
    ids=str,
)
@pytest.mark.parametrize("before", [None, StandardScaler(), MinMaxScaler()], ids=str)
def test_products(products, before):
    has_the_same_features(make_pipeline(before, products).fit(NUMBERS), unseen(NUMBERS))


@pytest.mark.parametrize("degree", [2, 4])
@pytest.mark.parametrize("sparse", [True, False])
def test_products_and_scales_of_codes_and_numbers(degree, sparse):
    both = make_column_transformer(
        (OneHotEncoder(), ["job", "size"]),
        (MaxAbsScaler(), ["gain"]),
        sparse_threshold=1.0 if sparse else 0.0,
    )
    data = pd.concat([NUMBERS, WORDS], axis=1)
    pipe = make_pipeline(both, PolynomialFeatures(degree), StandardScaler(with_mean=False))
    features = has_the_same_features(pipe.fit(data), data)
    assert {type(feature) for feature in features} >= {Coded}


@pytest.mark.parametrize("scaler", [SCALERS[1], SCALERS[6], SCALERS[8]], ids=str)
@pytest.mark.parametrize("sparse", [True, False])
def test_scalers_of_sparse_matrices(scaler, sparse):
    both = make_column_transformer(
        (OneHotEncoder(), ["job"]), remainder="passthrough", sparse_threshold=float(sparse)
    )
    data = pd.concat([NUMBERS, WORDS["job"]], axis=1)
    pipe = make_pipeline(both, "passthrough", scaler).fit(data)
    assert hasattr(pipe.transform(data), "toarray") is sparse
    has_the_same_features(pipe, data)


@pytest.mark.parametrize(
    "selector",
    [
        SelectKBest(k=2), SelectPercentile(percentile=50), SelectFpr(alpha=0.9),
        SelectFdr(alpha=0.9), SelectFwe(alpha=0.9), VarianceThreshold(1e-9),
        GenericUnivariateSelect(mode="k_best", param=1),
        SelectFromModel(DecisionTreeClassifier(random_state=0)),
        RFE(DecisionTreeClassifier(random_state=0), n_features_to_select=2),
        SequentialFeatureSelector(LogisticRegression(), n_features_to_select=1, cv=2),
    ],
    ids=lambda s: type(s).__name__,
)  # fmt: skip
def test_selectors(selector):
    features = has_the_same_features(make_pipeline(selector).fit(NUMBERS, Y), NUMBERS)
    assert all(isinstance(feature, Raw) for feature in features)
    has_the_same_features(make_pipeline(StandardScaler(), selector).fit(NUMBERS, Y), NUMBERS)


@given(st.integers(0, 2**31), st.sampled_from([0, 1, 3, 4, 5, 8]), st.booleans())
def test_any_numbers_through_scalers(seed, number, filled):
    rng = np.random.default_rng(seed)
    held = rng.normal(size=(8, 2)) * 10.0 ** rng.integers(-100, 100, (1, 2))
    X = pd.DataFrame(held, columns=["a", "b"]).mask(rng.random((8, 2)) < 0.1)
    X.loc[0] = 1.0
    pipe = make_pipeline(SimpleImputer() if filled else None, clone(SCALERS[number]))
    rows = pd.DataFrame(rng.choice([*X.to_numpy().ravel(), 0.0, 1e200], (9, 2)), columns=["a", "b"])
    inputs = transformed(pipe.fit(X), Inputs.raw(["a", "b"]).inside("step"))
    with np.errstate(all="ignore"):
        outputs = outputs_of(pipe, rows)
        for feature, values in zip(inputs.features, outputs.T, strict=True):
            agrees_on_tests(feature, values, rows)


@pytest.mark.parametrize("weight", [-0.5, 0.0])
@pytest.mark.parametrize("after", [bins("ordinal", n_bins=3), OneHotEncoder(max_categories=4)])
def test_weights_then_imputers_then_steps(weight, after):
    weighed = FeatureUnion([("s", StandardScaler())], transformer_weights={"s": weight})
    pipe = make_pipeline(weighed, SimpleImputer(strategy="median"), clone(after))
    has_the_same_features(pipe.fit(HOLES), HOLES)


def test_bins_of_float32_round_the_column_first():
    X = pd.DataFrame({"a": [0.0, 0.3, 0.6, 0.9]})
    binning = bins("ordinal", n_bins=3, strategy="uniform", dtype=np.float32).fit(X)
    edge = float(binning.bin_edges_[0][1])
    near = [np.nextafter(edge, 0), edge - 1e-9, edge, edge + 1e-9, edge - 1e-7]
    has_the_same_features(binning, pd.DataFrame({"a": near}))


def test_many_bins_are_searched_once():
    numbers = pd.DataFrame({"a": np.arange(200.0)})
    binning = bins("onehot-dense", n_bins=60, strategy="uniform").fit(numbers)
    features = transformed(binning, Inputs.raw(["a"]).inside("step")).features
    assert len({feature.cuts for feature in features if isinstance(feature, Stepped)}) == 1
    np.testing.assert_array_equal(
        [Program(feature.term(), ["a"]).predict(numbers) for feature in features],
        outputs_of(binning, numbers).T,
    )
