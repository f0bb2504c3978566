"""Pipelines predict the same when said in raw columns.

Each transformer is asked three things about every feature it computes: its value, on which side
of thresholds it is after rounding to either float type, and what a weighted sum of all says.
"""

from __future__ import annotations

import math
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.compose import ColumnTransformer, make_column_selector, make_column_transformer
from sklearn.decomposition import PCA
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier, RandomForestRegressor
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
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline, make_union
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    RobustScaler,
    StandardScaler,
    TargetEncoder,
)
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import proxyuse as pu
from proxyuse.datasets import load_adult
from proxyuse.errors import TranslationError
from proxyuse.lang.nodes import Compare, Const, Precision, Var, postorder
from proxyuse.lang.positions import Position, Spot
from proxyuse.models.features import Coded, Filled, Inputs, Mapped, Raw, Stepped, weighted_sum
from proxyuse.models.registry import model_body, transformed, translate
from proxyuse.program import Origin, Program
from tests.faithful import says_the_same

pytestmark = pytest.mark.filterwarnings(
    "ignore:Found unknown categories", "ignore:Bins whose", "ignore:Feature .* is constant"
)

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
        said = Program(feature.term(), list(X.columns)).predict(X)
        np.testing.assert_array_equal(said.astype(np.float64), values)
        if i < 8 or i % 15 == 0:
            agrees_on_tests(feature, values, X)
    weights = np.random.default_rng(1).normal(size=outputs.shape[1])
    total = weighted_sum(inputs.features, weights.tolist(), 0.25)
    said = np.asarray(Program(total, list(X.columns)).predict(X), dtype=np.float64)
    np.testing.assert_allclose(said, outputs @ weights + 0.25, rtol=1e-9, atol=1e-9)
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


def test_an_imputed_column_is_compared_as_the_column_itself():
    imputer = SimpleImputer(strategy="constant", fill_value=50).fit(HOLES)
    feature = transformed(imputer, Inputs.raw([*HOLES.columns]).inside("step")).features[0]
    assert isinstance(feature, Filled)
    assert (feature.name, feature.fill) == ("age", 50.0)
    assert str(feature.at_most(30.5, Precision.FLOAT64, True).term) == "age <= 30.5"
    assert str(feature.at_most(60.5, Precision.FLOAT64, False).term) == "age <=? 60.5"


@pytest.mark.parametrize("keep", [False, True])
def test_a_column_without_values_is_left_out_or_kept(keep):
    data = HOLES.assign(rate=np.nan)
    imputer = SimpleImputer(keep_empty_features=keep, add_indicator=True).fit(data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        has_the_same_features(imputer, data)


def test_a_number_that_stands_for_missing_values():
    data = HOLES.fillna(-1.0)
    imputer = SimpleImputer(missing_values=-1.0, add_indicator=True).fit(data)
    has_the_same_features(imputer, data)
    scaled = make_pipeline(StandardScaler(with_std=False), SimpleImputer(missing_values=-1.0))
    has_the_same_features(scaled.fit(data), data)


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


@pytest.mark.parametrize("encoder", ENCODERS, ids=str)
@pytest.mark.parametrize("data", [WORDS, LOST_WORDS], ids=["complete", "holes"])
def test_encoders_of_words(encoder, data):
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


def test_a_word_that_stands_for_missing_values():
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
    with pytest.raises(TranslationError, match="tells several missing values apart in column 0"):
        transformed(OneHotEncoder().fit(data), Inputs.raw(["a"]).inside("step"))


@pytest.mark.parametrize("encoder", [ENCODERS[i] for i in (0, 3, 5, 8, 11)], ids=str)
@pytest.mark.parametrize("imputer", [None, SimpleImputer(strategy="most_frequent")], ids=str)
def test_encoders_of_numbers_and_truth_values(encoder, imputer):
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


def bins(encode, **options):
    return KBinsDiscretizer(encode=encode, quantile_method="averaged_inverted_cdf", **options)


BINS = [
    bins("ordinal", n_bins=4),
    bins("onehot", n_bins=3, strategy="uniform"),
    bins("onehot-dense", n_bins=[2, 5, 3, 2]),
    Binarizer(threshold=0.5),
]


@pytest.mark.parametrize("binning", BINS, ids=str)
@pytest.mark.parametrize("before", [None, *SCALERS[::4]], ids=str)
@pytest.mark.parametrize("fill", [False, True])
def test_bins(binning, before, fill):
    data = HOLES if fill else NUMBERS
    imputer = SimpleImputer() if fill else None
    pipe = make_pipeline(imputer, before, binning).fit(data)
    features = has_the_same_features(pipe, unseen(data))
    assert all(isinstance(feature, Stepped) for feature in features)


def test_what_is_done_to_bins():
    ordinal = bins("ordinal", n_bins=4)
    for after in (
        StandardScaler(),
        OneHotEncoder(sparse_output=False),
        Binarizer(threshold=1.5),
        MinMaxScaler(clip=True),
        PolynomialFeatures(2),
    ):
        has_the_same_features(make_pipeline(ordinal, after).fit(NUMBERS), unseen(NUMBERS))


def test_a_bin_reads_as_an_interval():
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


# Transformers of transformers

HOT = OneHotEncoder(handle_unknown="ignore")
FILLED = make_pipeline(SimpleImputer(strategy="most_frequent"), HOT)
SCALED = make_pipeline(SimpleImputer(), StandardScaler())
COLUMNS = {
    "names": [("a", SCALED, ["gain", "age"]), ("b", FILLED, ["town", "job"])],
    "positions": [("a", SCALED, [-6, 0]), ("b", HOT, [5])],
    "slices": [("a", "passthrough", slice("gain", "flag")), ("b", FILLED, slice(4, 6))],
    "a mask": [("a", SCALED, [name in ("age", "rate") for name in MIXED]), ("b", "drop", ["job"])],
    "callables": [
        ("a", SCALED, make_column_selector(dtype_include="number")),
        ("b", FILLED, make_column_selector(dtype_exclude="number")),
    ],
    "nothing": [("a", SCALED, []), ("b", "passthrough", ["flag"]), ("c", "drop", ["age"])],
    "a column twice": [("a", SCALED, ["age"]), ("b", SimpleImputer(), ["flag", "age"])],
    "nested": [("a", ColumnTransformer([("b", SCALED, [1]), ("c", FILLED, [2])]), [0, 1, 4])],
}


@pytest.mark.parametrize("columns", COLUMNS.values(), ids=COLUMNS)
def test_columns_are_sent_to_transformers(columns):
    has_the_same_features(ColumnTransformer(columns).fit(MIXED), unseen(MIXED))


@pytest.mark.parametrize("remainder", ["drop", "passthrough", MinMaxScaler(), SCALED])
def test_what_remains_comes_last(remainder):
    columns = [("a", FILLED, ["job", "size", "town"]), ("b", "passthrough", ["rate"])]
    made = ColumnTransformer(columns, remainder=remainder).fit(MIXED)
    has_the_same_features(made, unseen(MIXED))
    shuffled = unseen(MIXED)[[*reversed(MIXED.columns)]].assign(more=1)
    same = ColumnTransformer(columns, remainder=remainder).fit(MIXED[MIXED.columns[::-1]])
    has_the_same_features(same, shuffled.drop(columns="more"))


@pytest.mark.parametrize("weight", [2.5, -0.5])
def test_weights_of_transformers(weight):
    columns = [("a", SCALED, ["age", "gain"]), ("b", HOT, ["job"])]
    made = ColumnTransformer(columns, transformer_weights={"a": weight, "b": 3.0}).fit(MIXED)
    has_the_same_features(made, unseen(MIXED))
    union = FeatureUnion(
        [("s", StandardScaler()), ("d", "drop"), ("p", "passthrough"), ("b", bins("ordinal"))],
        transformer_weights={"s": weight, "b": 2.0},
    )
    has_the_same_features(union.fit(NUMBERS), unseen(NUMBERS))
    after = make_pipeline(union, bins("onehot-dense", n_bins=2))
    has_the_same_features(after.fit(NUMBERS), unseen(NUMBERS))
    coded = make_pipeline(union, OneHotEncoder(handle_unknown="ignore"))
    has_the_same_features(coded.fit(NUMBERS[:9]), NUMBERS[:9])


def test_unions_of_sparse_and_dense_features():
    union = make_union(clone(HOT), clone(FILLED))
    pipe = make_pipeline(union, StandardScaler(with_mean=False))
    has_the_same_features(pipe.fit(LOST_WORDS), unseen(LOST_WORDS))


def test_the_identity():
    same = FunctionTransformer().fit(HOLES)
    assert [f.name for f in has_the_same_features(same, HOLES)] == [*HOLES.columns]


def test_arrays_have_numbered_columns():
    pipe = make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=3))
    program = says_the_same(pipe.fit(NUMBERS.to_numpy(), Y), NUMBERS.to_numpy())
    assert program.inputs == ("x0", "x1", "x2", "x3")
    assert translate(pipe, list("abcd")).inputs == tuple("abcd")


@settings(max_examples=30)
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


# Models at the end

ADULT = load_adult()
TARGET = ADULT.pop("income")
LOST_ADULT = ADULT.mask(np.random.default_rng(4).random(ADULT.shape) < 0.05)
NUMERIC = [name for name in ADULT if ADULT[name].dtype.kind in "if"]
VERBAL = [name for name in ADULT if name not in NUMERIC]


def usual(model, *, scaler=None, encoder=HOT, strategy="most_frequent"):
    """One-hot words and scaled numbers after imputers, and a model."""
    words = make_pipeline(SimpleImputer(strategy=strategy), encoder)
    numbers = make_pipeline(SimpleImputer(strategy="median"), scaler)
    prep = ColumnTransformer([("words", words, VERBAL), ("numbers", numbers, NUMERIC)])
    return Pipeline([("prep", prep), ("model", model)])


def near_thresholds(program, X, most=150):
    """Rows of X with one number at, and next to, each threshold of the program, in float64."""
    tests = {
        (node.left.name, node.right.value)
        for node in postorder(program.term)
        if isinstance(node, Compare)
        and isinstance(node.left, Var)
        and isinstance(node.right, Const)
        and isinstance(node.right.value, float)
    }
    found = []
    for i, (name, number) in enumerate(sorted(tests)[:most]):
        single = float(np.float32(number))
        ends = [np.nextafter(n, s) for n in (number, single) for s in (-np.inf, np.inf)]
        rows = pd.concat([X.iloc[[i]]] * 6, ignore_index=True)
        found.append(rows.astype({name: float}).assign(**{name: [number, single, *ends]}))
    return pd.concat(found, ignore_index=True) if found else X[:0]


MODELS = [
    DecisionTreeClassifier(max_leaf_nodes=60, random_state=0),
    RandomForestClassifier(5, max_depth=7, random_state=0),
    ExtraTreesClassifier(3, max_depth=7, random_state=0),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda m: type(m).__name__)
@pytest.mark.parametrize("scaler", [None, StandardScaler(), MinMaxScaler()], ids=str)
def test_trees_on_adult(model, scaler):
    pipe = usual(model, scaler=scaler).fit(LOST_ADULT[:6000], TARGET[:6000])
    rows = LOST_ADULT if isinstance(scaler, StandardScaler) else LOST_ADULT[::5]
    program = says_the_same(pipe, rows)
    says_the_same(pipe, near_thresholds(program, LOST_ADULT), program)
    says_the_same(pipe, unseen(LOST_ADULT[:2000]), program)
    shares = model_body(pipe, Inputs.raw([*ADULT.columns])).probabilities
    assert shares is not None
    said = Program(shares, [*ADULT.columns]).predict(LOST_ADULT[:2000])
    np.testing.assert_allclose(said, pipe.predict_proba(LOST_ADULT[:2000]), atol=1e-9)


@pytest.mark.parametrize("encoder", [ENCODERS[4], ENCODERS[8], ENCODERS[11]], ids=str)
def test_trees_of_other_codes_of_adult(encoder):
    pipe = usual(MODELS[1], encoder=encoder).fit(LOST_ADULT[:6000], TARGET[:6000])
    program = says_the_same(pipe, LOST_ADULT[::6])
    says_the_same(pipe, unseen(LOST_ADULT[:500]), program)


@pytest.mark.parametrize("binning", BINS[:2], ids=str)
def test_trees_of_bins(binning):
    pipe = make_pipeline(SimpleImputer(), clone(binning), MODELS[1])
    X = LOST_ADULT[["age", "hours_per_week", "education_num"]]
    program = says_the_same(pipe.fit(X, TARGET), X)
    says_the_same(pipe, near_thresholds(program, X), program)


def test_trees_of_products():
    pipe = make_pipeline(StandardScaler(), PolynomialFeatures(3), MODELS[0])
    X = ADULT[NUMERIC][:4000]
    says_the_same(pipe.fit(X, TARGET[:4000]), X)


@pytest.mark.parametrize("model", [DecisionTreeRegressor(max_depth=6), RandomForestRegressor(5)])
def test_regressors(model):
    pipe = usual(model, scaler=RobustScaler())
    says_the_same(pipe.fit(LOST_ADULT[:900], ADULT["fnlwgt"][:900]), LOST_ADULT[:9000])


@pytest.mark.parametrize("encoder", [HOT, ENCODERS[8], ENCODERS[11], ENCODERS[5]], ids=str)
@pytest.mark.parametrize("several", [False, True])
def test_linear_models_on_adult(encoder, several):
    y = ADULT["race"] if several else TARGET
    model = LogisticRegression(max_iter=40, tol=0.1)
    pipe = usual(model, scaler=StandardScaler(), encoder=encoder)
    program = says_the_same(pipe.fit(LOST_ADULT[:4000], y[:4000]), LOST_ADULT[:20000])
    says_the_same(pipe, unseen(LOST_ADULT[:2000]), program)
    shares = model_body(pipe, Inputs.raw([*ADULT.columns])).probabilities
    assert shares is not None
    said = Program(shares, [*ADULT.columns]).predict(LOST_ADULT[:2000])
    np.testing.assert_allclose(said, pipe.predict_proba(LOST_ADULT[:2000]), atol=1e-9)


def test_a_linear_model_weighs_raw_columns():
    model = LogisticRegression(max_iter=40, tol=0.1)
    pipe = usual(model, scaler=StandardScaler()).fit(LOST_ADULT[:4000], TARGET[:4000])
    text = str(translate(pipe))
    assert "* fill(age, 37.5)" in text
    assert text.count("table(") == len(VERBAL)


def test_guards_read_as_tests_of_raw_columns():
    pipe = usual(MODELS[0], strategy="constant").fit(LOST_ADULT[:6000], TARGET[:6000])
    program = translate(pipe).without_missing(frozenset(ADULT.columns))
    guards = {program.text_of(node) for node in postorder(program.term) if node.tag == "compare"}
    assert "marital_status == 'Married-civ-spouse'" in guards
    assert any(guard.startswith("age <= ") and guard.endswith(".5") for guard in guards)
    assert not any("!=" in guard or "float" in guard for guard in guards)
    assert Program.parse(str(program)) == program


def test_every_part_knows_its_step():
    pipe = usual(MODELS[1], scaler=StandardScaler()).fit(LOST_ADULT[:900], TARGET[:900])
    program = translate(pipe)
    assert program.origin(Position(())) == Origin("model")
    trees = {program.origin(program.points.position(Spot(i))) for i in range(program.term.points)}
    assert {origin.tree for origin in trees if origin} == {None, *range(5)}
    assert {origin.step for origin in trees if origin} == {"model"}


def test_a_pipeline_is_audited_on_the_raw_frame():
    frame = LOST_ADULT.assign(relationship=ADULT["relationship"], sex=ADULT["sex"])[:8000]
    inputs = frame.drop(columns=["marital_status"])
    prep = make_column_transformer(
        (FILLED, [name for name in VERBAL if name != "marital_status"]),
        (make_pipeline(SimpleImputer(), StandardScaler()), NUMERIC),
    )
    pipe = make_pipeline(prep, DecisionTreeClassifier(max_leaf_nodes=30, random_state=0))
    pipe.fit(inputs, TARGET[:8000])
    married = ADULT["marital_status"][:8000].str.startswith("Married-c")
    found = pu.audit(pipe, frame, protected={"married": married}, epsilon=0.1, delta=0.02)
    assert found.complete
    assert "relationship == 'Husband'" in {witness.term for witness in found.witnesses}
    by_name = pu.audit(pipe, frame.assign(marital_status=married), protected="marital_status")
    assert {w.id for w in by_name.witnesses} <= {w.id for w in found.witnesses}


# Steps that do nothing, and what is refused


@pytest.mark.parametrize("nothing", [None, "passthrough", FunctionTransformer()])
def test_steps_that_do_nothing(nothing):
    tree = DecisionTreeClassifier(max_depth=4)
    pipe = Pipeline([("a", nothing), ("b", StandardScaler()), ("c", nothing), ("d", tree)])
    assert says_the_same(pipe.fit(NUMBERS, Y), NUMBERS).inputs == (*NUMBERS.columns,)
    alone = Pipeline([("a", nothing), ("d", tree)])
    assert "age" in says_the_same(alone.fit(NUMBERS, Y), NUMBERS).variables


def test_a_pipeline_in_a_pipeline():
    inner = make_pipeline(StandardScaler(), MODELS[0])
    outer = Pipeline([("fill", SimpleImputer()), ("inner", inner)]).fit(HOLES, Y)
    program = says_the_same(outer, HOLES)
    assert program.origin(Position(())) == Origin("inner > decisiontreeclassifier", 0, 0)


def test_a_pipeline_that_is_not_fitted_is_refused():
    with pytest.raises(TranslationError, match="this Pipeline is not fitted; call fit first"):
        translate(make_pipeline(StandardScaler(), MODELS[0]))


@pytest.mark.parametrize("last", [StandardScaler(), "passthrough"])
def test_a_pipeline_without_a_model_is_refused(last):
    pipe = Pipeline([("a", StandardScaler()), ("b", last)]).fit(NUMBERS)
    with pytest.raises(TranslationError, match="the last step 'b' of this Pipeline is no model"):
        translate(pipe)


OPAQUE = [
    (PCA(2), "sklearn.decomposition._pca.PCA"),
    (PowerTransformer(), "PowerTransformer"),
    (FunctionTransformer(np.log1p), "calls log1p, which cannot be translated"),
]


@pytest.mark.parametrize(("transformer", "named"), OPAQUE, ids=["pca", "power", "function"])
def test_what_is_not_supported_is_named_with_its_step(transformer, named):
    prep = ColumnTransformer([("odd", transformer, ["age", "gain"])])
    pipe = Pipeline([("prep", prep), ("tree", MODELS[0])]).fit(NUMBERS, Y)
    with pytest.raises(TranslationError, match="prep > odd") as caught:
        translate(pipe)
    assert named in str(caught.value)


@pytest.mark.parametrize(
    ("transformer", "names"),
    [
        (PCA(2), ["prep__odd__pca0", "prep__odd__pca1"]),
        (PowerTransformer(), ["prep__odd__age", "prep__odd__gain"]),
        (FunctionTransformer(np.log1p), ["prep__odd__0", "prep__odd__1"]),
    ],
)
def test_opaque_outputs_become_variables(transformer, names):
    prep = ColumnTransformer([("odd", transformer, ["age", "gain"]), ("hot", HOT, ["job"])])
    data = pd.concat([NUMBERS, WORDS], axis=1)
    tree = DecisionTreeClassifier(random_state=0)
    pipe = Pipeline([("prep", prep), ("scale", StandardScaler(with_mean=False)), ("tree", tree)])
    program = translate(pipe.fit(data, Y), opaque=True)
    added = program.inputs[len(data.columns) :]
    assert added == tuple(name for name in program.variables if "__" in name)
    assert {*added} <= {*names}
    assert added
    rows = data.assign(**dict(zip(names, outputs_of(prep, data).T[:2], strict=True)))
    assert program.predict(rows).tolist() == pipe.predict(data).tolist()


def test_an_opaque_step_of_a_pipeline():
    pipe = Pipeline([("f", FunctionTransformer(np.cbrt)), ("tree", MODELS[0])]).fit(NUMBERS, Y)
    program = translate(pipe, opaque=True)
    assert set(program.variables) <= {f"f__{i}" for i in range(4)}
    rows = {f"f__{i}": column for i, column in enumerate(np.cbrt(NUMBERS.to_numpy()).T)}
    assert program.predict(rows).tolist() == pipe.predict(NUMBERS).tolist()


def test_categories_where_numbers_are_needed():
    imputed = SimpleImputer(strategy="most_frequent").fit(LOST_WORDS)
    feature = transformed(imputed, Inputs.raw([*WORDS.columns]).inside("step")).features[0]
    with pytest.raises(TranslationError, match="'job' holds categories and is compared"):
        feature.at_most(0.5, Precision.FLOAT64, False)
    said = Program(feature.term(), [*WORDS.columns]).predict(LOST_WORDS)
    assert said.tolist() == imputed.transform(LOST_WORDS)[:, 0].tolist()


def test_categories_that_are_no_values_of_the_language_are_refused():
    frame = pd.DataFrame({"when": pd.to_datetime(["2020-01-01", "2021-01-01"])}).astype(object)
    with pytest.raises(TranslationError, match="in step 'step' is neither a number nor"):
        transformed(OrdinalEncoder().fit(frame), Inputs.raw(["when"]).inside("step"))


@pytest.mark.slow
@pytest.mark.parametrize("scaler", [None, StandardScaler()], ids=str)
def test_forty_trees_on_every_row_of_adult(scaler):
    forest = RandomForestClassifier(40, max_depth=9, random_state=0)
    pipe = usual(forest, scaler=scaler).fit(LOST_ADULT, TARGET)
    says_the_same(pipe, LOST_ADULT)
