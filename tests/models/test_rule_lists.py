"""A translated rule list predicts what the list predicts, on every row."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxyuse.errors import TranslationError
from proxyuse.lang.build import add
from proxyuse.lang.nodes import And, Compare, Const, Ite, Relation, Var
from proxyuse.lang.positions import Site
from proxyuse.models.features import Coded, Computed, Feature, Fixed, Inputs, Mapped
from proxyuse.models.registry import translate, translate_part
from proxyuse.program import Origin, Program
from tests.faithful import DATA, predicts_the_same

imodels = pytest.importorskip("imodels")

GREEDY = imodels.GreedyRuleListClassifier
ONE_RULE = imodels.OneRClassifier
FRUGAL = imodels.FastFrugalTreeClassifier
BAYESIAN = imodels.BayesianRuleListClassifier
OF_THRESHOLDS = [GREEDY, ONE_RULE, FRUGAL]
KINDS = [*OF_THRESHOLDS, BAYESIAN]


def two_classes(data, n):
    X, y = DATA[data]()
    rows = np.random.default_rng(0).permutation(len(X))[:n]
    second = y == ">50K" if data == "adult" else y > y.median()
    return X.iloc[rows], np.where(second, "yes", "no")[rows]


def bayesian(X, y, **options):
    return BAYESIAN(max_iter=300, n_chains=1, **options).fit(X, y)


def says_all_the_same(model, X):
    program = predicts_the_same(model, X)
    assert Program.parse(str(program)) == program
    body = translate_part(model, Inputs.raw(program.inputs))
    assert body.probabilities is not None
    shares = Program(body.probabilities, program.inputs).predict(X)
    np.testing.assert_allclose(shares, model.predict_proba(X), rtol=0, atol=1e-12)
    return program


# Real data


@pytest.mark.parametrize("kind", OF_THRESHOLDS)
@pytest.mark.parametrize("data", DATA)
def test_lists_of_thresholds_on_the_bundled_data(kind, data):
    X, y = two_classes(data, 500 if kind is FRUGAL else 5000)
    program = says_all_the_same(kind().fit(X, y), X)
    assert isinstance(program.term, Ite)


@pytest.mark.parametrize("data", DATA)
def test_a_bayesian_list_on_the_bundled_data(data):
    X, y = two_classes(data, 500)
    X = (X.median() < X).astype(float)
    program = says_all_the_same(bayesian(X, y, minsupport=0.2), X)
    assert isinstance(program.term, Ite)


# Random data


@given(st.integers(0, 2**31), st.sampled_from(OF_THRESHOLDS), st.integers(1, 4), st.booleans())
def test_values_at_and_next_to_a_cutoff_satisfy_the_same_rules(seed, kind, features, close):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 6, size=(30, features)) * (0.1 + 1e-9 * close)
    y = rng.permutation(np.arange(30) % 2)
    model = kind(max_depth=4).fit(X, y)
    program = says_all_the_same(model, X)
    rows = []
    for rule in model.rules_[:-1]:
        cutoff = rule["cutoff"]
        for value in (
            cutoff,
            np.nextafter(cutoff, 9),
            np.nextafter(cutoff, -9),
            np.float32(cutoff),
        ):
            row = X[0].copy()
            row[rule["index_col"]] = value
            rows.append(row)
    if rows:
        predicts_the_same(model, np.array(rows), program)


@given(st.integers(0, 2**31), st.integers(1, 3))
def test_features_of_0_and_1(seed, width):
    rng = np.random.default_rng(seed)
    X = (rng.random((60, 4)) < 0.6).astype(float)
    y = ((X[:, 0] * X[:, 1] + rng.random(60)) > 0.8).astype(int)
    y[:2] = 0, 1
    model = BAYESIAN(max_iter=60, n_chains=1, maxcardinality=width, random_state=seed % 99).fit(
        X, y
    )
    rows = np.stack(np.meshgrid(*[[0.0, 1.0]] * 4), -1).reshape(-1, 4)
    says_all_the_same(model, rows)


def test_only_1_satisfies_a_rule():
    X, y = two_classes("contraceptive", 300)
    X = (X.median() < X).astype(float)
    model = bayesian(X, y)
    rng = np.random.default_rng(0)
    says_all_the_same(model, X * rng.choice([1.0, 2.0, 0.999], X.shape))


def test_a_probability_of_a_half_is_the_first_class_or_the_second():
    X, y = np.array([[0.0], [0.0], [1.0], [1.0]]), [0, 1, 0, 1]
    assert says_all_the_same(GREEDY().fit(X, y), X).predict(X).tolist() == [0, 0, 0, 0]
    X = (np.random.default_rng(0).random((60, 3)) < 0.5).astype(float)
    model = bayesian(X, np.r_[X[:30, 0], 1 - X[30:, 0]])
    model.theta = [0.5] * len(model.theta)
    assert set(says_all_the_same(model, X).predict(X)) == {1}


@pytest.mark.parametrize("classes", [["no", "yes"], [False, True], [0, 1], [-5, 12], [0.0, 2.0]])
@pytest.mark.parametrize("kind", KINDS)
def test_classes_of_any_type(kind, classes):
    rng = np.random.default_rng(1)
    X = (rng.random((90, 3)) < 0.5).astype(float)
    y = np.array(classes)[(X[:, 0] * X[:, 1] + rng.random(90) > 0.7).astype(int)]
    model = bayesian(X, y) if kind is BAYESIAN else kind().fit(X, y)
    program = says_all_the_same(model, X)
    assert program.predict(X).dtype.kind == {"U": "O", "b": "b"}.get(y.dtype.kind, "f")


def test_names_passed_to_fit_are_only_for_printing():
    rng = np.random.default_rng(1)
    X = (rng.random((90, 2)) < 0.5).astype(float)
    for model in (GREEDY(), BAYESIAN(max_iter=300, n_chains=1)):
        model.fit(X, X[:, 1], feature_names=["first", "second"])
        assert says_all_the_same(model, X).inputs == ("x0", "x1")
        assert translate(model, ["first", "second"]).variables[0] == "second"


# Form


def test_rules_keep_the_order_of_the_list():
    X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 5, dtype=float)
    y = [0, 1, 1, 1] * 5
    model = GREEDY(max_depth=2).fit(X, y)
    program = translate(model)
    first, second = model.rules_[:-1]
    assert not first["flip"]
    names = [f"x{rule['index_col']}" for rule in (first, second)]
    assert program.text_of(program.term) == (
        f"ite({names[0]} >= 0.5, 1, ite({names[1]} >= 0.5, 1, 0))"
    )
    flipped = GREEDY(max_depth=2).fit(1 - X, y)
    assert program.text_of(translate(flipped).term).count(" < 0.5, 1, ") == 2


def test_features_of_one_rule_are_joined():
    rng = np.random.default_rng(0)
    X = (rng.random((300, 3)) < 0.6).astype(float)
    model = bayesian(X, (X[:, 0] * X[:, 2]).astype(int))
    program = says_all_the_same(model, X)
    assert isinstance(program.term, Ite)
    assert isinstance(program.term.guard, And)
    assert program.term.guard == And((
        Compare(Relation.EQ, Var("x0"), Const(1.0)), Compare(Relation.EQ, Var("x2"), Const(1.0)),
    ))  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_every_part_has_its_rule_as_origin(kind):
    X, y = two_classes("contraceptive", 400)
    if kind is BAYESIAN:
        X = (X.median() < X).astype(float)
    model = bayesian(X, y) if kind is BAYESIAN else kind().fit(X, y)
    program = translate(model)
    places = []
    for point, term in enumerate(program.points.terms):
        origin = program.origin(program.points.position(Site(point)))
        assert origin is not None
        assert origin == Origin(kind.__name__, node=origin.node)
        if isinstance(term, Ite):
            places.append(origin.node)
    count = len(model.d_star if kind is BAYESIAN else model.rules_)
    assert set(places) == set(range(count - 1))
    assert len(places) == count - 1


# Features that come from other columns

FRAME = pd.DataFrame({
    "c": np.random.default_rng(3).choice(["x", "y", "z"], 300),
    "n": np.random.default_rng(4).normal(size=300),
    "m": np.random.default_rng(5).normal(size=300),
})  # fmt: skip
FEATURES: tuple[Feature, ...] = (
    Coded("c", {"x": 1.0}, 0.0, 0.0),
    Coded("c", {"x": 1.0, "y": 1.0}, 0.0, 0.0),
    Mapped("n", lambda n: (n > 0.2).astype(float), True, Const(0.0)),
    Computed(add(Var("n"), Var("m"))),
    Fixed(1.0),
    Mapped("m", lambda m: (m <= 0.1).astype(float), False, Const(0.0)),
)
COLUMNS = np.column_stack([
    FRAME["c"] == "x", FRAME["c"] != "z", FRAME["n"] > 0.2, FRAME["n"] + FRAME["m"],
    np.ones(300), FRAME["m"] <= 0.1,
]).astype(float)  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(5))
def test_features_are_expressed_in_raw_columns(kind, seed):
    rng = np.random.default_rng(seed)
    chosen = [0, 1, 2, 4, 5] if kind is BAYESIAN else [0, 1, 2, 3, 4, 5]
    X, features = COLUMNS[:, chosen], tuple(FEATURES[i] for i in chosen)
    y = (COLUMNS[:, [1, 2, 5]] @ rng.normal(size=3) + rng.normal(size=300) * 0.2 > 0).astype(int)
    y[:2] = 0, 1
    model = bayesian(X, y) if kind is BAYESIAN else kind(max_depth=6).fit(X, y)
    body = translate_part(model, Inputs(features))
    assert Program(body.output).predict(FRAME).tolist() == model.predict(X).tolist()
    assert body.probabilities is not None
    shares = Program(body.probabilities).predict(FRAME)
    np.testing.assert_allclose(shares, model.predict_proba(X), rtol=0, atol=1e-12)


# What is refused


@pytest.mark.parametrize("kind", KINDS)
def test_a_list_that_is_not_fitted_is_refused(kind):
    with pytest.raises(TranslationError, match=f"this {kind.__name__} is not fitted; call fit"):
        translate(kind(), ["a"])
