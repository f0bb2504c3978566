"""Transformers, data for them, and what each feature they compute is asked.

Asked are its value, on which side of thresholds it is after rounding to either float type, and
what a weighted sum of all says.
"""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
    TargetEncoder,
)

from proxyuse.lang.nodes import Precision
from proxyuse.models.features import Inputs
from proxyuse.models.registry import transformed
from proxyuse.models.weighted_sums import weighted_sum
from proxyuse.program import Program

RNG = np.random.default_rng(0)
N = 60
NUMBERS = pd.DataFrame(
    {
        "age": RNG.integers(17, 90, N).astype(float),
        "gain": np.round(RNG.lognormal(5, 2, N), 2),
        "rate": RNG.normal(0, 1e-3, N),
        "flag": RNG.integers(0, 2, N).astype(float),
    }
)
HOLES = NUMBERS.mask(RNG.random(NUMBERS.shape) < 0.2)
WORDS = pd.DataFrame(
    {
        "job": RNG.choice(["clerk", "cook", "smith", "nurse"], N, p=[0.5, 0.3, 0.15, 0.05]),
        "town": RNG.choice(["x", "y", "it's"], N),
        "size": RNG.choice(["S", "L"], N),
    }
)
LOST_WORDS = WORDS.mask(RNG.random(WORDS.shape) < 0.15)
MIXED = pd.concat([HOLES, LOST_WORDS], axis=1)
Y = ((NUMBERS["age"] > 40) ^ (WORDS["job"] == "cook")).astype(int)
MANY = RNG.integers(0, 3, N)


def unseen(frame):
    """The rows, and rows with categories and numbers that were not there before."""
    other = frame.copy()
    for name in frame:
        other[name] = "new" if frame[name].dtype.kind not in "if" else frame[name] * -1.7 + 3
    return pd.concat([frame, other], ignore_index=True)


def outputs_of(transformer, X):
    out = transformer.transform(X)
    out = out.toarray() if hasattr(out, "toarray") else np.asarray(out)
    return out.astype(np.float64)


def thresholds_of(values, precision):
    """Values, and what lies between and next to them."""
    some = np.unique(values[np.isfinite(values)])
    some = some[:: max(1, len(some) // 3)]
    if precision is Precision.FLOAT32:
        some = some.astype(np.float32).astype(np.float64)
    next_up = np.nextafter(some, np.inf)
    return [*some, *next_up[:2], *np.nextafter(some, -np.inf)[1:3], (some[:1].sum() + 1) / 2]


def has_the_same_features(transformer, X):
    """Values, tests and sums of a fitted transformer's features."""
    inputs = transformed(transformer, Inputs.raw(list(X.columns)).inside("step"))
    outputs = outputs_of(transformer, X)
    assert len(inputs.features) == outputs.shape[1]
    for i, (feature, values) in enumerate(zip(inputs.features, outputs.T, strict=True)):
        computed = Program(feature.term(), list(X.columns)).predict(X)
        np.testing.assert_array_equal(computed.astype(np.float64), values)
        if i < 8 or i % 15 == 0:
            agrees_on_tests(feature, values, X)
    weights = np.random.default_rng(1).normal(size=outputs.shape[1])
    total = weighted_sum(inputs.features, weights.tolist(), 0.25)
    computed = np.asarray(Program(total, list(X.columns)).predict(X), dtype=np.float64)
    np.testing.assert_allclose(computed, outputs @ weights + 0.25, rtol=1e-9, atol=1e-9)
    return inputs.features


def agrees_on_tests(feature, values, X):
    for precision in Precision:
        rounded = values.astype(precision.value).astype(np.float64)
        for i, threshold in enumerate(thresholds_of(values, precision)):
            missing, strict = i % 2 == 0, i % 3 == 0
            test = feature.at_most(float(threshold), precision, missing, strict=strict)
            held = Program(test.term, list(X.columns)).predict(X) != test.opposite
            below = rounded < threshold if strict else rounded <= threshold
            expected = np.where(np.isnan(rounded), missing, below)
            np.testing.assert_array_equal(held.astype(bool), expected, err_msg=str(test.term))


SCALERS = [
    StandardScaler(),
    StandardScaler(with_mean=False),
    StandardScaler(with_std=False),
    MinMaxScaler(),
    MinMaxScaler((-3, 7), clip=True),
    RobustScaler(),
    RobustScaler(with_centering=False),
    RobustScaler(with_scaling=False, quantile_range=(10, 90)),
    MaxAbsScaler(),
]

ENCODERS = [
    OneHotEncoder(handle_unknown="ignore"),
    OneHotEncoder(handle_unknown="ignore", drop="first", sparse_output=False),
    OneHotEncoder(handle_unknown="ignore", drop="if_binary"),
    OneHotEncoder(handle_unknown="ignore", min_frequency=12),
    OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=12),
    OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=12, drop="first"),
    OneHotEncoder(handle_unknown="infrequent_if_exist", max_categories=2),
    OneHotEncoder(handle_unknown="warn"),
    OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
    OrdinalEncoder(
        handle_unknown="use_encoded_value", unknown_value=math.nan, encoded_missing_value=-3
    ),
    OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-2, min_frequency=12),
    TargetEncoder(),
]


def bins(encode, **options):
    return KBinsDiscretizer(encode=encode, quantile_method="averaged_inverted_cdf", **options)


BINS = [
    bins("ordinal", n_bins=4),
    bins("onehot", n_bins=3, strategy="uniform"),
    bins("onehot-dense", n_bins=[2, 5, 3, 2]),
    Binarizer(threshold=0.5),
]

HOT = OneHotEncoder(handle_unknown="ignore")
FILLED = make_pipeline(SimpleImputer(strategy="most_frequent"), HOT)
SCALED = make_pipeline(SimpleImputer(), StandardScaler())
