"""Encoders, and imputers of categories, expressed in raw columns."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    OneHotEncoder,
    OrdinalEncoder,
    StandardScaler,
    TargetEncoder,
)

from proxyuse.errors import TranslationError
from proxyuse.lang.nodes import Precision
from proxyuse.models.features import Coded, Inputs
from proxyuse.models.registry import transformed
from proxyuse.program import Program
from tests.feature_cases import (
    ENCODERS,
    HOLES,
    LOST_WORDS,
    MANY,
    NUMBERS,
    SCALERS,
    WORDS,
    Y,
    has_the_same_features,
    unseen,
)

pytestmark = pytest.mark.filterwarnings(
    "ignore:Found unknown categories", "ignore:Bins whose", "ignore:Feature .* is constant"
)


@pytest.mark.parametrize("encoder", ENCODERS, ids=str)
@pytest.mark.parametrize("data", [WORDS, LOST_WORDS], ids=["complete", "holes"])
def test_encoders_of_strings(encoder, data):
    features = has_the_same_features(encoder.fit(data, Y), unseen(LOST_WORDS))
    assert all(isinstance(feature, Coded) for feature in features)


@pytest.mark.parametrize("encoder", [*ENCODERS, OneHotEncoder(), OrdinalEncoder()], ids=str)
@pytest.mark.parametrize(
    "imputer",
    [
        SimpleImputer(strategy="most_frequent"),
        SimpleImputer(strategy="constant", fill_value="none"),
        SimpleImputer(strategy="most_frequent", add_indicator=True),
    ],
    ids=str,
)
def test_encoders_after_imputers(encoder, imputer):
    known = encoder.handle_unknown == "error" if hasattr(encoder, "handle_unknown") else False
    rows = LOST_WORDS if known else unseen(LOST_WORDS)
    has_the_same_features(make_pipeline(imputer, encoder).fit(LOST_WORDS, Y), rows)


def test_a_string_can_mark_missing_values():
    data = LOST_WORDS.fillna("?").astype(object)
    imputer = SimpleImputer(missing_values="?", strategy="most_frequent")
    pipe = make_pipeline(imputer, OneHotEncoder(handle_unknown="ignore")).fit(data)
    has_the_same_features(pipe, unseen(data))
    imputer.set_params(add_indicator=True)
    ordinal = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    has_the_same_features(make_pipeline(imputer, ordinal).fit(data), unseen(data))


def test_none_is_a_missing_category():
    data = LOST_WORDS.astype(object).where(LOST_WORDS.notna(), None)
    has_the_same_features(OneHotEncoder(handle_unknown="ignore").fit(data), unseen(data))


def test_two_missing_categories_in_one_column_are_refused():
    data = pd.DataFrame({"a": ["x", None, math.nan]}, dtype=object)
    with pytest.raises(TranslationError, match="distinguishes several missing values in column 0"):
        transformed(OneHotEncoder().fit(data), Inputs.raw(["a"]).inside("step"))


@pytest.mark.parametrize("encoder", [ENCODERS[i] for i in (0, 3, 5, 8, 11)], ids=str)
@pytest.mark.parametrize("imputer", [None, SimpleImputer(strategy="most_frequent")], ids=str)
def test_encoders_of_numbers_and_booleans(encoder, imputer):
    data = HOLES[["flag", "age"]].assign(age=HOLES["age"] // 20)
    has_the_same_features(make_pipeline(imputer, encoder).fit(data, Y), unseen(data))
    booleans = pd.DataFrame({"b": NUMBERS["flag"] == 1})
    has_the_same_features(encoder.fit(booleans, Y), booleans)


@pytest.mark.parametrize("target", [Y, MANY, NUMBERS["gain"]], ids=["two", "many", "number"])
def test_target_encoders(target):
    encoder = TargetEncoder(smooth=2.0).fit(LOST_WORDS, target)
    has_the_same_features(encoder, unseen(LOST_WORDS))
    has_the_same_features(make_pipeline(encoder, StandardScaler()).fit(WORDS, target), LOST_WORDS)


@pytest.mark.parametrize("scaler", SCALERS, ids=str)
@pytest.mark.parametrize("encoder", [OneHotEncoder(sparse_output=False), OrdinalEncoder()])
def test_scalers_of_codes(encoder, scaler):
    features = has_the_same_features(make_pipeline(encoder, scaler).fit(WORDS), WORDS)
    assert all(isinstance(feature, Coded) for feature in features)


def test_an_imputer_of_codes():
    ordinal = OrdinalEncoder()
    has_the_same_features(make_pipeline(ordinal, SimpleImputer()).fit(LOST_WORDS), LOST_WORDS)
    flagged = SimpleImputer(add_indicator=True)
    has_the_same_features(make_pipeline(ordinal, flagged).fit(LOST_WORDS), LOST_WORDS)


def test_categories_are_refused_where_numbers_are_needed():
    imputed = SimpleImputer(strategy="most_frequent").fit(LOST_WORDS)
    feature = transformed(imputed, Inputs.raw([*WORDS.columns]).inside("step")).features[0]
    with pytest.raises(TranslationError, match="has categories, but the model compares it"):
        feature.at_most(0.5, Precision.FLOAT64, False)
    values = Program(feature.term(), [*WORDS.columns]).predict(LOST_WORDS)
    assert values.tolist() == imputed.transform(LOST_WORDS)[:, 0].tolist()


def test_categories_of_unsupported_types_are_refused():
    frame = pd.DataFrame({"when": pd.to_datetime(["2020-01-01", "2021-01-01"])}).astype(object)
    with pytest.raises(TranslationError, match="to numbers, booleans or strings"):
        transformed(OrdinalEncoder().fit(frame), Inputs.raw(["when"]).inside("step"))


def test_none_that_an_imputer_of_nan_keeps_is_refused():
    data = WORDS.astype(object)
    data.iloc[::5, 0] = None
    imputer = SimpleImputer(strategy="most_frequent")
    encoded = make_pipeline(imputer, OneHotEncoder(handle_unknown="ignore")).fit(data)
    with pytest.raises(TranslationError, match="step 'onehotencoder' still contains None"):
        transformed(encoded, Inputs.raw([*WORDS.columns]))
    data.iloc[:, 0] = None
    data.iloc[0, 0] = "cook"
    with pytest.raises(TranslationError, match="column 0 at step 'step' still contains None"):
        transformed(imputer.fit(data), Inputs.raw([*WORDS.columns]).inside("step"))
    filled = SimpleImputer(strategy="constant", missing_values=None, fill_value="none")
    has_the_same_features(make_pipeline(filled, OneHotEncoder()).fit(data), data)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, int])
def test_codes_have_the_dtype_of_the_encoder(dtype):
    missing_code = -2 if dtype is int else -0.1
    encoder = OrdinalEncoder(
        dtype=dtype,
        handle_unknown="use_encoded_value",
        unknown_value=-1,
        encoded_missing_value=missing_code,
    )
    has_the_same_features(encoder.fit(LOST_WORDS), unseen(LOST_WORDS))


@pytest.mark.parametrize("scaler", [None, StandardScaler()])
def test_many_categories_are_listed_once_each(scaler):
    many = pd.DataFrame({"a": [f"town {i}" for i in range(300)] + [np.nan]}, dtype=object)
    encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    features = has_the_same_features(make_pipeline(encoder, scaler).fit(many), unseen(many))
    assert sum(len(feature.numbers) for feature in features) == len(features) == 301
