"""A translated naive Bayes classifier predicts what the classifier predicts, on every row."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.naive_bayes import (
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    GaussianNB,
    MultinomialNB,
)

from proxyuse.errors import TranslationError
from proxyuse.lang.build import mul
from proxyuse.lang.nodes import Add, Argmax, Call, Const, Function, Ite, Lookup, Mul, Var
from proxyuse.lang.positions import Position, Site
from proxyuse.models.features import Coded, Computed, Feature, Fixed, Inputs, Mapped, Raw
from proxyuse.models.registry import translate, translate_part
from proxyuse.program import Origin, Program
from tests.faithful import DATA, predicts_the_same

MODELS = [
    GaussianNB(), GaussianNB(var_smoothing=0.01), BernoulliNB(), BernoulliNB(binarize=2.5),
    BernoulliNB(binarize=None), BernoulliNB(alpha=0.1, fit_prior=False), MultinomialNB(),
    ComplementNB(), ComplementNB(norm=True), CategoricalNB(), CategoricalNB(alpha=0.1),
]  # fmt: skip
KINDS = [GaussianNB, BernoulliNB, MultinomialNB, ComplementNB, CategoricalNB]


def suiting(model, X):
    """The columns as a model takes them: 0 and 1, categories, or no negative numbers."""
    if isinstance(model, BernoulliNB) and model.binarize is None:
        return (X.median() < X).astype(float)
    if isinstance(model, CategoricalNB):
        return X.loc[:, X.max() < 100].clip(lower=0)
    return X if isinstance(model, GaussianNB | BernoulliNB) else X.clip(lower=0)


def values(term, inputs, X):
    return Program(term, inputs).predict(X)


def says_all_the_same(model, X):
    """Labels exactly, probabilities but for rounding."""
    program = predicts_the_same(model, X)
    assert Program.parse(str(program)) == program
    body = translate_part(model, Inputs.raw(program.inputs))
    assert body.scores is None
    assert body.probabilities is not None
    shares = values(body.probabilities, program.inputs, X)
    np.testing.assert_allclose(shares, model.predict_proba(X), rtol=0, atol=1e-9)
    return program


# Real data


@pytest.mark.parametrize("model", MODELS, ids=str)
@pytest.mark.parametrize("data", DATA)
def test_on_every_row_of_the_bundled_data(model, data):
    X, y = DATA[data]()
    X = suiting(model, X)
    says_all_the_same(model.fit(X, y), X)


# Random data


@given(st.integers(0, 2**31), st.integers(1, 5), st.integers(1, 12), st.sampled_from(KINDS))
def test_classes_and_features_of_any_number(seed, classes, features, kind):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, size=(60, features)).astype(float)
    if kind is GaussianNB:
        X = rng.normal(size=X.shape) * 10.0 ** rng.integers(-3, 4, features)
    model = kind().fit(X, np.arange(60) % classes)
    says_but_for_rounding(model, X)


def says_but_for_rounding(model, X):
    """Labels may differ only where the two largest sums are equal to 1e-12 of what was added."""
    differ = translate(model).predict(X) != model.predict(X)
    sums = np.sort(model.predict_joint_log_proba(X), axis=1)
    if sums.shape[1] > 1:
        close = sums[:, -1] - sums[:, -2] <= 1e-12 * np.abs(sums[:, -1])
        assert not (differ & ~close).any()


@given(st.integers(0, 2**31), st.integers(2, 4), st.integers(1, 15))
def test_categories_are_added_to_the_last_bit(seed, classes, features):
    """Few rows and few categories: sums tie often, and rounding decides."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, size=(12, features))
    model = CategoricalNB(min_categories=3).fit(X, np.arange(12) % classes)
    rows = rng.integers(0, 3, size=(200, features)).astype(float)
    program = predicts_the_same(model, rows)
    assert isinstance(program.term, Argmax)
    sums = values(program.term.operand, program.inputs, rows)
    assert sums.tolist() == model.predict_joint_log_proba(rows).tolist()


def test_a_row_in_the_middle_of_two_classes_is_the_first():
    X = np.array([[-3.1], [-1.1], [1.1], [3.1]])
    model = GaussianNB().fit(X, ["b", "b", "a", "a"])
    middle = np.array([[0.0]])
    assert len(set(model.predict_joint_log_proba(middle)[0])) == 1
    assert predicts_the_same(model, middle).predict(middle).tolist() == ["a"]


@pytest.mark.parametrize("features", [3, 8])
def test_gaussian_sums_are_added_in_the_same_order(features):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, features)) + 1e3
    model = GaussianNB().fit(X, np.arange(300) % 3)
    program = translate(model)
    assert isinstance(program.term, Argmax)
    sums = values(program.term.operand, program.inputs, X)
    expected = model.predict_joint_log_proba(X)
    np.testing.assert_allclose(sums, expected, rtol=1e-14)
    if features < 8:
        assert sums.tolist() == expected.tolist()


def test_values_at_and_next_to_the_binarization_threshold():
    X = np.array([[0.1], [0.1], [0.3], [0.3]])
    model = BernoulliNB(binarize=0.2).fit(X, [0, 0, 1, 1])
    rows = np.array([[0.2], [np.nextafter(0.2, 1)], [np.nextafter(0.2, 0)], [np.float32(0.2)]])
    assert predicts_the_same(model, rows).predict(rows).tolist() == [0, 1, 0, 1]


@pytest.mark.parametrize(
    "classes",
    [["no", "yes"], [False, True], [-5, 12], [0.0, 2.0], ["a", "b", "c"], [3, 1, 2], ["only"]],
)
@pytest.mark.parametrize("kind", KINDS)
def test_classes_of_any_type_and_number(kind, classes):
    rng = np.random.default_rng(1)
    X = rng.integers(0, 5, size=(90, 3)).astype(float)
    y = np.array(classes)[rng.integers(0, len(classes), 90)]
    program = says_all_the_same(kind().fit(X, y), X)
    assert program.predict(X).dtype.kind == {"U": "O", "b": "b"}.get(y.dtype.kind, "f")


@pytest.mark.parametrize("kind", KINDS)
def test_boolean_columns_count_as_0_and_1(kind):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.random((50, 3)) < 0.5, columns=["a", "b", "c"])
    says_all_the_same(kind().fit(X, X["a"] ^ X["b"] | X["c"]), X)


def test_a_class_of_prior_0_and_a_category_of_probability_0():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    with np.errstate(divide="ignore"):
        says_all_the_same(GaussianNB(priors=[0.0, 1.0]).fit(X, np.arange(60) % 2), X)
    codes = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        model = CategoricalNB(alpha=0, force_alpha=True).fit(codes, [0, 0, 1, 1])
    predicts_the_same(model, codes.astype(float))


def test_an_unseen_category_favors_no_class():
    model = CategoricalNB().fit([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 0, 1, 1])
    program = translate(model)
    rows = np.array([[1.0, 7.0], [0.0, np.nan]])
    with pytest.raises(IndexError):
        model.predict(rows[:1])
    assert program.predict(rows).tolist() == [1, 0]


# Features that come from other columns

RNG = np.random.default_rng(5)
FRAME = pd.DataFrame({
    "n": RNG.normal(size=200) * 3, "c": RNG.choice(["x", "y", "z"], 200), "m": RNG.random(200),
})  # fmt: skip
STEPS: list[tuple[Feature, np.ndarray]] = [
    (Raw("m"), FRAME["m"].to_numpy()),
    (Coded("c", {"x": 1.0}, 0.0, 0.0), (FRAME["c"] == "x").to_numpy(float)),
    (
        Mapped("n", lambda n: n * 2 + 1, True, Const(0.0), (2.0, 1.0)),
        FRAME["n"].to_numpy() * 2 + 1,
    ),
    (Coded("c", {"y": 2.0, "z": 1.0}, 0.0, 0.0),
     FRAME["c"].map({"x": 0.0, "y": 2.0, "z": 1.0}).to_numpy()),
    (
        Mapped("n", lambda n: np.clip(np.floor(n), 0, 2), True,
               Call(Function.ABS, (Var("n"),))),
        np.clip(np.floor(FRAME["n"]), 0, 2).to_numpy(),
    ),
    (Fixed(1.0), np.ones(200)),
    (Computed(mul(Var("m"), Var("m"))), (FRAME["m"] * FRAME["m"]).to_numpy()),
]  # fmt: skip


@pytest.mark.parametrize(
    ("model", "chosen"),
    [
        (GaussianNB(), [0, 1, 2, 3, 5, 6]), (BernoulliNB(), [0, 1, 2, 3, 4, 5, 6]),
        (BernoulliNB(binarize=0.5), [0, 1, 2, 3, 4, 5, 6]), (CategoricalNB(), [0, 1, 3, 4, 5, 6]),
        (CategoricalNB(), [4]),
        (MultinomialNB(), [0, 1, 3, 6]), (ComplementNB(), [0, 1, 3, 5]),
    ],
)  # fmt: skip
def test_features_are_expressed_in_raw_columns(model, chosen):
    features = [STEPS[i][0] for i in chosen]
    X = np.column_stack([STEPS[i][1] for i in chosen])
    if isinstance(model, CategoricalNB):
        features = [f for i, f in zip(chosen, features, strict=True) if i != 0]
        X = X[:, [i != 0 for i in chosen]]
    y = (FRAME["n"] + FRAME["m"] > 0.5).astype(int) + (FRAME["c"] == "y")
    model.fit(X, y)
    body = translate_part(model, Inputs(tuple(features)))
    program = Program(body.output)
    assert program.predict(FRAME).tolist() == model.predict(X).tolist()
    assert body.probabilities is not None
    shares = values(body.probabilities, None, FRAME)
    np.testing.assert_allclose(shares, model.predict_proba(X), rtol=0, atol=1e-9)


def test_codes_of_one_column_become_one_lookup():
    codes = [Coded("c", {word: 1.0}, 0.0, 0.0) for word in "xyz"]
    X = np.column_stack([(FRAME["c"] == word) for word in "xyz"]).astype(float)
    for model in (GaussianNB(), BernoulliNB()):
        term = translate_part(model.fit(X, FRAME["m"] > 0.5), Inputs(tuple(codes))).output
        tables = [t for t in Program(term).points.terms if isinstance(t, Lookup)]
        assert len(tables) == (2 if isinstance(model, GaussianNB) else 1)
        assert [key for key, _ in tables[0].entries][:3] == ["x", "y", "z"]


# Form and origins


def test_each_feature_adds_a_constant_vector_of_votes():
    X, y = DATA["contraceptive"]()
    for model, part in ((BernoulliNB(), Ite), (CategoricalNB(), Lookup)):
        program = translate(model.fit(X, y))
        assert isinstance(program.term, Argmax)
        assert isinstance(program.term.operand, Add)
        *parts, prior = program.term.operand.operands
        assert isinstance(prior, Const)
        assert len(parts) == X.shape[1]
        assert all(isinstance(one, part) for one in parts)


@pytest.mark.parametrize("kind", KINDS)
def test_every_term_of_a_feature_has_its_coefficient_as_origin(kind):
    X, y = DATA["contraceptive"]()
    model = kind().fit(X, y)
    program = translate(model)
    seen = set()
    for point, term in enumerate(program.points.terms):
        origin = program.origin(program.points.position(Site(point)))
        assert origin is not None
        assert origin.step == kind.__name__
        if isinstance(term, Var):
            assert origin.coefficient is not None
            assert X.columns[origin.coefficient % X.shape[1]] == term.name
            seen.add(origin.coefficient)
        if isinstance(term, Mul) and kind is MultinomialNB:
            weight = term.operands[0]
            assert isinstance(weight, Const)
            assert weight.value == model.feature_log_prob_.ravel()[origin.coefficient]
    each = kind in (BernoulliNB, CategoricalNB)
    assert seen == set(range(X.shape[1] * (1 if each else 3)))
    assert program.origin(Position(())) == Origin(kind.__name__)


# What is refused


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_that_is_not_fitted_is_refused(kind):
    with pytest.raises(TranslationError, match=f"this {kind.__name__} is not fitted; call fit"):
        translate(kind())
