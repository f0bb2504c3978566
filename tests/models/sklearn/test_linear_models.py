"""A translated linear model predicts what the model predicts, on every row."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn import linear_model as lm
from sklearn import svm
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import proxyuse as pu
from proxyuse.errors import TranslationError
from proxyuse.lang.build import add, mul
from proxyuse.lang.nodes import (
    Add,
    Argmax,
    Call,
    Compare,
    Const,
    Function,
    Ite,
    Lookup,
    Mul,
    Relation,
    Var,
)
from proxyuse.lang.positions import Position, Site
from proxyuse.models.features import (
    Coded,
    Computed,
    Feature,
    Fixed,
    Inputs,
    Mapped,
    Raw,
)
from proxyuse.models.registry import translate, translate_part
from proxyuse.models.weighted_sums import weighted_sum, weighted_terms
from proxyuse.program import Origin, Program
from tests.faithful import DATA, predicts_the_same

CROSS_VALIDATED = lm.LogisticRegressionCV(Cs=2, cv=2, max_iter=10)
if "use_legacy_attributes" in CROSS_VALIDATED.get_params():  # its default warns in new versions
    CROSS_VALIDATED.set_params(use_legacy_attributes=False)

CLASSIFIERS = [
    LogisticRegression(max_iter=50),
    CROSS_VALIDATED,
    LinearDiscriminantAnalysis(),
    LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto"),
    SGDClassifier(max_iter=5, random_state=0),
    SGDClassifier(max_iter=5, loss="log_loss", random_state=0),
    SGDClassifier(max_iter=5, loss="modified_huber", random_state=0),
    lm.Perceptron(max_iter=5),
    lm.RidgeClassifier(),
    lm.RidgeClassifierCV(),
    svm.LinearSVC(max_iter=50),
    svm.LinearSVC(max_iter=50, fit_intercept=False),
    svm.LinearSVC(max_iter=50, random_state=0),
]
MACHINES = [
    svm.LinearSVC(max_iter=50, multi_class="crammer_singer", random_state=0),
    svm.SVC(kernel="linear", max_iter=1000),
    svm.SVC(kernel="linear", max_iter=1000, break_ties=True),
    svm.SVC(kernel="linear", max_iter=1000, decision_function_shape="ovo"),
    svm.NuSVC(kernel="linear", nu=0.3),
]
REGRESSORS = [
    lm.LinearRegression(), lm.LinearRegression(fit_intercept=False), lm.Ridge(), lm.RidgeCV(),
    lm.Lasso(0.1), lm.LassoCV(), lm.ElasticNet(), lm.ElasticNetCV(), lm.SGDRegressor(eta0=1e-4),
    lm.HuberRegressor(), lm.Lars(), lm.LarsCV(), lm.LassoLars(0.01), lm.LassoLarsCV(),
    lm.LassoLarsIC(), lm.OrthogonalMatchingPursuit(), lm.OrthogonalMatchingPursuitCV(),
    lm.ARDRegression(), lm.BayesianRidge(), lm.QuantileRegressor(alpha=0.01),
    lm.TheilSenRegressor(max_iter=10, max_subpopulation=100, random_state=0),
    svm.LinearSVR(random_state=0), svm.SVR(kernel="linear"), svm.NuSVR(kernel="linear"),
    lm.PoissonRegressor(max_iter=5), lm.GammaRegressor(max_iter=5),
    lm.TweedieRegressor(power=0, max_iter=5), lm.TweedieRegressor(power=0, link="log", max_iter=5),
    lm.TweedieRegressor(power=1.5, max_iter=5),
]  # fmt: skip


def name_of(model):
    return str(model)


def fitted(model, X, y):
    """The model, fitted well enough for its predictions to be compared."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", FutureWarning)
        warnings.filterwarnings("ignore", message="lbfgs failed|Solver terminated|.*iterations")
        return model.fit(X, y)


def shuffled(data, n):
    X, y = DATA[data]()
    rows = np.random.default_rng(0).permutation(len(X))[:n]
    return X.iloc[rows], y.iloc[rows]


def scaled(X):
    return (X - X.mean()) / X.std().replace(0, 1)


def values(term, inputs, X):
    return Program(term, inputs).predict(X)


def says_all_the_same(model, X):
    """Labels exactly; probabilities and scores but for rounding."""
    program = predicts_the_same(model, X)
    body = translate_part(model, Inputs.raw(program.inputs))
    assert Program.parse(str(program)) == program
    assert (body.probabilities is not None) == hasattr(model, "predict_proba")
    if body.probabilities is not None:
        shares = values(body.probabilities, program.inputs, X)
        np.testing.assert_allclose(shares, model.predict_proba(X), rtol=0, atol=1e-9)
    assert body.scores is not None
    predicted, expected = values(body.scores, program.inputs, X), model.decision_function(X)
    assert predicted.shape == expected.shape
    np.testing.assert_allclose(predicted, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())
    return program


# Real data


@pytest.mark.parametrize("model", CLASSIFIERS, ids=name_of)
@pytest.mark.parametrize(("data", "n"), [("adult", 2000), ("contraceptive", 1473)])
def test_classifiers_on_the_bundled_data(model, data, n):
    X, y = shuffled(data, n)
    says_all_the_same(fitted(model, X, y), X)


@pytest.mark.parametrize(
    "model", [LogisticRegression(max_iter=10), lm.RidgeClassifier(), lm.Perceptron()], ids=name_of
)
def test_classifiers_on_every_row_of_adult(model):
    X, y = DATA["adult"]()
    says_all_the_same(fitted(model, X, y), X)


def test_a_class_for_each_grade():
    X, y = DATA["student"]()
    program = says_all_the_same(fitted(LogisticRegression(max_iter=20), X, y), X)
    assert isinstance(program.term, Argmax)
    assert len(program.term.labels) == y.nunique()


@pytest.mark.parametrize("model", MACHINES, ids=name_of)
@pytest.mark.parametrize("data", ["adult", "contraceptive"])
def test_support_vector_machines_on_the_bundled_data(model, data):
    X, y = shuffled(data, 400)
    says_all_the_same(fitted(model, scaled(X), y), scaled(X))


@pytest.mark.parametrize("break_ties", [True, False])
def test_many_classes_tie_often_in_votes_of_pairs(break_ties):
    X, y = shuffled("student", 200)
    X, y = scaled(X).iloc[:, :6], np.minimum(y // 3, 5)
    model = svm.SVC(kernel="linear", break_ties=break_ties).fit(X, y)
    votes = np.zeros((len(X), len(model.classes_)))
    pairs = [(i, j) for i in range(len(model.classes_)) for j in range(i + 1, len(model.classes_))]
    sums = np.asarray(X) @ model.coef_.T + model.intercept_
    for k, (i, j) in enumerate(pairs):
        votes[np.arange(len(X)), np.where(sums[:, k] > 0, i, j)] += 1
    assert ((votes == votes.max(axis=1, keepdims=True)).sum(axis=1) > 1).any()
    says_all_the_same(model, X)


@pytest.mark.parametrize("model", REGRESSORS, ids=name_of)
def test_regressors_on_the_bundled_data(model):
    X, y = DATA["student"]()
    model = fitted(model, X, y + 1)
    program = translate(model)
    np.testing.assert_allclose(program.predict(X), model.predict(X), rtol=1e-9)
    assert Program.parse(str(program)) == program
    assert translate_part(model, Inputs.raw(program.inputs)).classes == ()


@pytest.mark.filterwarnings("ignore:Class PassiveAggressive:FutureWarning")
def test_passive_aggressive_models():
    X, y = shuffled("contraceptive", 500)
    says_all_the_same(fitted(lm.PassiveAggressiveClassifier(max_iter=5), X, y), X)
    model = fitted(lm.PassiveAggressiveRegressor(max_iter=5), X, y)
    np.testing.assert_allclose(translate(model).predict(X), model.predict(X), rtol=1e-9)


# Random data


@given(
    st.integers(0, 2**31),
    st.integers(2, 5),
    st.integers(1, 6),
    st.sampled_from([
        LogisticRegression(), LinearDiscriminantAnalysis(), lm.RidgeClassifier(),
        SGDClassifier(loss="log_loss"), SGDClassifier(loss="modified_huber"),
        svm.LinearSVC(), svm.SVC(kernel="linear"), svm.SVC(kernel="linear", break_ties=True),
    ]),
)  # fmt: skip
def test_classes_and_features_of_any_number(seed, classes, features, model):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, features)) * 10.0 ** rng.integers(-1, 2, features)
    y = np.arange(60) % classes
    if hasattr(model, "random_state"):
        model.set_params(random_state=seed % 1000)
    says_all_the_same(fitted(model, X, y), X)


@pytest.mark.parametrize("kind", [lm.RidgeClassifier, svm.LinearSVC])
@pytest.mark.parametrize("classes", [2, 3, 4])
def test_sums_of_exactly_0_and_ties_give_the_same_class(kind, classes):
    """Whole numbers are added exactly in any order."""
    X = np.stack(np.meshgrid(*[np.arange(-2.0, 3.0)] * 3), -1).reshape(-1, 3)
    model = kind().fit(X, np.arange(len(X)) % classes)
    rng, ties = np.random.default_rng(0), 0
    for _ in range(10):
        model.coef_ = rng.integers(-2, 3, model.coef_.shape).astype(float)
        model.intercept_ = rng.integers(-1, 2, np.shape(model.intercept_)).astype(float)
        scores = model.decision_function(X)
        top = np.sort(scores, axis=1)[:, -2:] if classes > 2 else np.c_[0 * scores, scores]
        ties += (top[:, 0] == top[:, 1]).sum()
        predicts_the_same(model, X)
    assert ties > 50


ZERO = np.array([[0.0]])


def test_a_support_vector_machine_of_two_classes_treats_0_differently():
    X, y = np.array([[-1.0], [1.0]]), ["no", "yes"]
    machine = svm.SVC(kernel="linear").fit(X, y)
    assert machine.decision_function(ZERO) == [0]
    assert predicts_the_same(machine, ZERO).predict(ZERO).tolist() == ["yes"]
    ridge = lm.RidgeClassifier().fit(X, y)
    assert ridge.decision_function(ZERO) == [0]
    assert predicts_the_same(ridge, ZERO).predict(ZERO).tolist() == ["no"]


@pytest.mark.parametrize("loss", ["log_loss", "modified_huber"])
@pytest.mark.parametrize("classes", [2, 3])
def test_probabilities_far_from_the_data(loss, classes):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    model = SGDClassifier(loss=loss, random_state=0).fit(X, np.arange(60) % classes)
    far = np.concatenate(
        [X, -1e4 * np.ones((1, 3)), 1e4 * np.ones((1, 3)), rng.normal(size=(200, 3)) * 1e4]
    )
    if classes == 3:
        model.coef_[:] = np.abs(model.coef_)
        assert (model.predict_proba(far) == 1 / 3).any()
    says_all_the_same(model, far)


@pytest.mark.parametrize(
    "classes",
    [["no", "yes"], [False, True], [0, 1], [-5, 12], [0.0, 2.0], ["a", "b", "c"], [3, 1, 2]],
)
@pytest.mark.parametrize("model", [LogisticRegression(), svm.SVC(kernel="linear")], ids=name_of)
def test_classes_of_any_type_and_number(model, classes):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(90, 3))
    y = np.array(classes)[rng.integers(0, len(classes), 90)]
    program = says_all_the_same(model.fit(X, y), X)
    assert program.predict(X).dtype.kind == {"U": "O", "b": "b"}.get(y.dtype.kind, "f")


@pytest.mark.parametrize("kind", [LogisticRegression, svm.LinearSVC, SGDClassifier])
def test_coefficients_may_be_sparse(kind):
    X, y = shuffled("contraceptive", 300)
    model = fitted(kind(max_iter=20), X, y).sparsify()
    says_all_the_same(model, X)


@pytest.mark.parametrize("classes", [2, 3])
def test_a_support_vector_machine_may_be_fitted_on_a_sparse_matrix(classes):
    X, y = shuffled("contraceptive", 300)
    y = np.minimum(y, classes).to_numpy()
    model = svm.SVC(kernel="linear", max_iter=500)
    model = fitted(model, sparse.csr_matrix(scaled(X).to_numpy()), y)
    rows = scaled(X).to_numpy()
    assert (
        translate(model).predict(rows).tolist() == model.predict(sparse.csr_matrix(rows)).tolist()
    )


def test_boolean_columns_count_as_0_and_1():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.random(50) < 0.5, "b": rng.normal(size=50)})
    says_all_the_same(LogisticRegression().fit(X, X["a"] ^ (X["b"] > 0)), X)


@pytest.mark.parametrize("model", [lm.LinearRegression(), lm.Ridge()], ids=name_of)
def test_a_table_of_one_output_is_one_output(model):
    X, y = DATA["student"]()
    model.fit(X, y.to_frame())
    expected = np.ravel(model.predict(X))
    np.testing.assert_allclose(translate(model).predict(X), expected, rtol=1e-9)


# Form


def test_two_classes_become_a_sum_above_0():
    X, y = shuffled("adult", 500)
    program = translate(lm.RidgeClassifier().fit(X, y))
    term = program.term
    assert isinstance(term, Ite)
    assert isinstance(term.guard, Compare)
    assert term.guard.relation is Relation.GT
    assert isinstance(term.guard.left, Add)
    assert len(term.guard.left.operands) == X.shape[1] + 1
    assert program.text_of(term).endswith("> 0, '>50K', '<=50K')")


def test_weights_of_0_are_omitted():
    X, y = DATA["student"]()
    model = lm.Lasso(0.5).fit(X, y)
    used = [name for name, weight in zip(X.columns, model.coef_, strict=True) if weight != 0]
    assert list(translate(model).variables) == used
    assert 0 < len(used) < X.shape[1]


@pytest.mark.parametrize("model", [lm.Lasso(1e9), svm.LinearSVC()], ids=name_of)
def test_a_model_without_weights_is_a_constant(model):
    X, y = shuffled("contraceptive", 100)
    model = fitted(model, X, y)
    model.coef_ = model.coef_ * 0
    program = translate(model)
    assert program.variables == ()
    np.testing.assert_allclose(program.predict(X), model.predict(X))


def test_a_link_is_applied_to_the_sum():
    X, y = DATA["student"]()
    program = translate(fitted(lm.PoissonRegressor(max_iter=5), X, y))
    assert isinstance(program.term, Call)
    assert program.term.function is Function.EXP


def test_a_support_vector_machine_of_several_classes_is_a_vote_of_pairs():
    X, y = shuffled("contraceptive", 100)
    program = translate(fitted(svm.SVC(kernel="linear", max_iter=100), X, y))
    assert isinstance(program.term, Argmax)
    assert isinstance(program.term.operand, Add)
    assert [program.text_of(pair)[-23:] for pair in program.term.operand.operands] == [
        "> 0, [1, 0, 0], [0, 1, 0])"[-23:],
        "> 0, [1, 0, 0], [0, 0, 1])"[-23:],
        "> 0, [0, 1, 0], [0, 0, 1])"[-23:],
    ]


# Origins


def products(program):
    """The terms that are a weight times a column, with their origins."""
    for point, term in enumerate(program.points.terms):
        if isinstance(term, Mul):
            weight, column = term.operands
            assert isinstance(weight, Const)
            assert isinstance(column, Var)
            position = program.points.position(Site(point))
            yield weight.value, column.name, program.origin(position)


@pytest.mark.parametrize(
    "model",
    [LogisticRegression(max_iter=5), svm.SVC(kernel="linear", max_iter=50), lm.Ridge()],
    ids=name_of,
)
@pytest.mark.parametrize("data", ["adult", "contraceptive"])
def test_every_weight_has_its_coefficient_as_origin(model, data):
    X, y = shuffled(data, 200)
    model = fitted(model, X, y if data == "contraceptive" else (y == ">50K").astype(int))
    program = translate(model)
    kind = type(model).__name__
    seen = set()
    for weight, column, origin in products(program):
        assert origin is not None
        assert origin.step == kind
        assert weight == np.ravel(model.coef_)[origin.coefficient]
        assert column == X.columns[origin.coefficient % X.shape[1]]
        seen.add(origin.coefficient)
    assert seen == set(np.flatnonzero(model.coef_))
    assert program.origin(Position(())) == Origin(kind)


def test_the_term_of_a_column_has_its_first_coefficient_as_origin():
    double = Mapped("a", lambda a: 2 * a, True, mul(Const(2.0), Var("a")), (2.0, 1.0))
    features: list[Feature] = [
        Fixed(4.0), Coded("c", {"x": 1.0}, 0.0, 0.0), Raw("a"), Coded("c", {"y": 1.0}, 0.0, 0.0),
        double, Computed(add(Var("a"), Var("b"))), Raw("b"),
    ]  # fmt: skip
    weights = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 0.0]
    terms = weighted_terms(features, weights, 0.5)
    assert [(str(term), number) for term, number in terms] == [
        ("13 * a", 2),
        ("table(c, {'x': 2, 'y': 4}, 0)", 1),
        ("6 * (a + b)", 5),
        ("9.5", None),
    ]
    assert weighted_sum(features, weights, 0.5) == add(*(term for term, _ in terms))
    assert isinstance(terms[1][0], Lookup)


# What is refused


@pytest.mark.parametrize("model", [*CLASSIFIERS, *MACHINES, *REGRESSORS], ids=name_of)
def test_a_model_that_is_not_fitted_is_refused(model):
    kind = type(model)
    extra = {"kernel": "linear"} if hasattr(model, "kernel") else {}
    with pytest.raises(TranslationError, match=f"this {kind.__name__} is not fitted; call fit"):
        translate(kind(**extra))


@pytest.mark.parametrize("kind", [svm.SVC, svm.NuSVC, svm.SVR, svm.NuSVR])
@pytest.mark.parametrize("kernel", ["rbf", "poly"])
def test_other_kernels_are_refused(kind, kernel):
    X, y = shuffled("contraceptive", 50)
    model = fitted(kind(kernel=kernel, max_iter=10), X, np.minimum(y, 2))
    with pytest.raises(TranslationError, match=f"kernel '{kernel}'; only kernel='linear' is"):
        translate(model)


@pytest.mark.parametrize("model", [lm.LinearRegression(), lm.MultiTaskLasso()], ids=name_of)
def test_several_outputs_are_refused(model):
    X, _ = DATA["student"]()
    with pytest.raises(TranslationError, match="has 2 outputs; only one"):
        translate(model.fit(X, X.iloc[:, :2]))


def test_several_labels_per_row_are_refused():
    X, _ = DATA["student"]()
    with pytest.raises(TranslationError, match="several labels per row; fit one model per label"):
        translate(lm.RidgeClassifier().fit(X, X.iloc[:, :3] > 0))


def test_an_error_names_the_step():
    X, y = shuffled("contraceptive", 50)
    model = fitted(svm.SVC(), X, y)
    with pytest.raises(TranslationError, match=r"this SVC \(step 'last'\) has the kernel 'rbf'"):
        translate_part(model, Inputs.raw(X.columns).inside("last"))


@pytest.mark.parametrize("model", [lm.LinearRegression(), lm.Ridge(), lm.Lasso(alpha=0.01)])
@pytest.mark.parametrize("scaled", [False, True])
def test_rows_of_float32_and_targets_in_a_column_are_audited(model, scaled):
    rng = np.random.default_rng(3)
    X = pd.DataFrame(rng.normal(size=(60, 3)) * [1, 30, 900], columns=list("abc"))
    y = X.to_numpy() @ [3.0, 0.2, 0.01] + 5
    single = X.astype(np.float32)
    pipe = make_pipeline(StandardScaler() if scaled else None, clone(model))
    for target, fitted_on in ((y, X), (y.astype(np.float32), single), (y.reshape(-1, 1), X)):
        pipe.fit(fitted_on, target)
        for rows in (X, single):
            pu.audit(pipe, rows, {"z": np.arange(60) % 2}, variables=False)
