"""Fitted scikit-learn models, random repairs of their programs, and what a new model is asked."""

from __future__ import annotations

import pickle
import warnings
from functools import cache

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import (
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.impute import SimpleImputer
from sklearn.linear_model import (
    ElasticNet,
    GammaRegressor,
    Lasso,
    LinearRegression,
    LogisticRegression,
    Perceptron,
    PoissonRegressor,
    Ridge,
    RidgeClassifier,
    SGDClassifier,
    SGDRegressor,
)
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC, LinearSVR
from sklearn.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
)

from proxyuse.lang.build import const
from proxyuse.lang.nodes import Associative, Const
from proxyuse.lang.positions import Site, operand_choices
from proxyuse.models.checks import at_thresholds
from proxyuse.models.registry import translate
from proxyuse.models.write_back import write_back
from proxyuse.program import Program

RNG = np.random.default_rng(7)
N = 150
NUMBERS = ["age", "gain", "hours"]
WORDS = ["job", "town"]
X = pd.DataFrame(
    {
        "age": RNG.integers(17, 90, N).astype(float),
        "gain": np.round(RNG.lognormal(5, 1, N), 2),
        "hours": RNG.normal(40, 10, N),
        "job": RNG.choice(["clerk", "cook", "smith", "nurse"], N),
        "town": RNG.choice(["x", "y", "it's"], N),
    }
)
SCORE = (
    0.05 * (X["age"] - 50)
    + 1.5 * (X["job"] == "cook")
    - (X["town"] == "x")
    + 0.05 * (X["hours"] - 40)
    + RNG.normal(0, 0.7, N)
)
TWO = np.where(SCORE > 0.2, "yes", "no")
THREE = np.digitize(SCORE, [-0.7, 0.8])
THREE_WORDS = np.array(["low", "middle", "high"])[THREE]
NUMBER = np.round(np.exp(SCORE / 2) * 3 + 0.1, 3)
X = X.mask(RNG.random(X.shape) < 0.08)
X.loc[X.index[:3], "town"] = "x"


def prepared(model):
    """A pipeline with imputation, scaling and one-hot columns in front of a model."""
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    words = make_pipeline(
        SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore")
    )
    parts = [("numbers", numbers, NUMBERS), ("words", words, WORDS)]
    return Pipeline([("prep", ColumnTransformer(parts, sparse_threshold=0)), ("model", model)])


FEW = {"max_depth": 4, "random_state": 0}
MODELS = {
    "tree": (DecisionTreeClassifier(**FEW), TWO),
    "tree of three": (DecisionTreeClassifier(**FEW), THREE_WORDS),
    "tree of numbers": (DecisionTreeRegressor(**FEW), NUMBER),
    "extra tree": (ExtraTreeClassifier(**FEW), THREE_WORDS),
    "extra tree of numbers": (ExtraTreeRegressor(**FEW), NUMBER),
    "forest": (RandomForestClassifier(6, **FEW), TWO),
    "forest of three": (RandomForestClassifier(5, **FEW), THREE),
    "forest of one": (RandomForestClassifier(1, **FEW), TWO),
    "forest of numbers": (RandomForestRegressor(5, **FEW), NUMBER),
    "extra trees": (ExtraTreesClassifier(6, **FEW), THREE),
    "extra trees of numbers": (ExtraTreesRegressor(6, **FEW), NUMBER),
    "bagging": (BaggingClassifier(DecisionTreeClassifier(**FEW), 5, random_state=0), TWO),
    "bagging of numbers": (
        BaggingRegressor(DecisionTreeRegressor(**FEW), 5, max_features=0.6, random_state=0),
        NUMBER,
    ),
    "boosting": (GradientBoostingClassifier(n_estimators=6, max_depth=3, random_state=0), TWO),
    "boosting of three": (
        GradientBoostingClassifier(n_estimators=4, max_depth=2, random_state=0),
        THREE,
    ),
    "boosting, exponential": (
        GradientBoostingClassifier(
            loss="exponential", init="zero", learning_rate=0.3, n_estimators=6, random_state=0
        ),
        TWO,
    ),
    "boosting of numbers": (GradientBoostingRegressor(n_estimators=6, random_state=0), NUMBER),
    "histograms": (HistGradientBoostingClassifier(max_iter=6, max_depth=3), TWO),
    "histograms of three": (HistGradientBoostingClassifier(max_iter=4, max_depth=2), THREE),
    "histograms of numbers": (HistGradientBoostingRegressor(max_iter=6, max_depth=3), NUMBER),
    "histograms, poisson": (
        HistGradientBoostingRegressor(loss="poisson", max_iter=6, max_depth=3),
        NUMBER,
    ),
    "logistic": (LogisticRegression(), TWO),
    "logistic of three": (LogisticRegression(), THREE),
    "logistic without intercept": (LogisticRegression(fit_intercept=False), THREE),
    "discriminant": (LinearDiscriminantAnalysis(), TWO),
    "discriminant of three": (LinearDiscriminantAnalysis(), THREE),
    "sgd": (SGDClassifier(loss="log_loss", random_state=0), TWO),
    "sgd of three": (SGDClassifier(loss="modified_huber", random_state=0), THREE),
    "perceptron": (Perceptron(random_state=0), THREE),
    "ridge of classes": (RidgeClassifier(fit_intercept=False), THREE),
    "support vectors": (LinearSVC(random_state=0), TWO),
    "least squares": (LinearRegression(), NUMBER),
    "ridge": (Ridge(fit_intercept=False), NUMBER),
    "lasso": (Lasso(0.05), NUMBER),
    "elastic net": (ElasticNet(0.05), NUMBER),
    "sgd of numbers": (SGDRegressor(random_state=0), NUMBER),
    "support vectors of numbers": (LinearSVR(random_state=0), NUMBER),
    "poisson": (PoissonRegressor(), NUMBER),
    "gamma": (GammaRegressor(), NUMBER),
}


@cache
def fitted(name):
    model, y = MODELS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return prepared(model).fit(X, y)


# Repairs


def replacement(program, site, rng):
    """A constant that could take the place of a part: something it says, or the mean of it."""
    predicted = Program(program.points.term_at(site), program.inputs).predict(X)
    numbers = predicted.dtype.kind == "f"
    if numbers and rng.random() < 0.3 and not np.isnan(predicted).any():
        return const(predicted.mean(axis=0))
    known = [value for value in predicted.tolist() if value is not None and value == value]
    return const(known[rng.integers(len(known))]) if known else None


def some_sites(program, rng, wanted):
    """Disjoint sites, drawn at random: points of all kinds, and subsets of operands."""
    points = program.points
    wide = [p for p, term in enumerate(points.terms) if isinstance(term, Associative)]
    inner = [p for p, term in enumerate(points.terms) if not isinstance(term, Const) and p]
    found: list[Site] = []
    for _ in range(wanted * 3):
        if wide and rng.random() < 0.4:
            point = wide[rng.integers(len(wide))]
            choices = operand_choices(points, point)
            if len(choices) < 3:
                continue
            size = int(rng.integers(2, len(choices)))
            site = Site(point, tuple(sorted(rng.permutation(choices)[:size].tolist())))
        elif inner:
            site = Site(inner[rng.integers(len(inner))])
        else:
            continue
        if len(found) < wanted and all(points.disjoint(site, other) for other in found):
            found.append(site)
    return found


def repaired(program, rng, wanted):
    new = {}
    for site in some_sites(program, rng, wanted):
        value = replacement(program, site, rng)
        if value is not None:
            new[site] = value
    return program.replaced(new)


def twice_repaired(program, rng):
    return repaired(repaired(program, rng, int(rng.integers(1, 6))), rng, int(rng.integers(0, 3)))


def constants(program):
    """The whole program, as each constant it says."""
    predicted = program.predict(X).tolist()
    for value in list(dict.fromkeys(predicted))[:2]:
        yield program.replaced({Site(0): const(value)})


# What is asked


def agree(model, program, rows):
    """Whether a model predicts what a program says, to the last label or digit but a few."""
    same(model.predict(rows), program.predict(rows))


def same(expected, found):
    if found.dtype.kind == "f" and np.asarray(expected).dtype.kind == "f":
        np.testing.assert_allclose(expected, found, rtol=1e-9, atol=1e-9)
    else:
        assert [str(v) for v in np.asarray(expected).astype(found.dtype)] == [str(v) for v in found]


def asked_rows(program):
    """The rows, and rows at each threshold of the program."""
    return pd.concat([X, at_thresholds(program, X)], ignore_index=True)


def check(model, program, **more):
    """The new model of a repaired program, after all that can be asked of it quickly."""
    before = pickle.dumps(model)
    deployed = write_back(model, program, X, **more)
    assert pickle.dumps(model) == before
    assert deployed.native, deployed.why
    assert type(deployed.model) is type(model)
    return deployed.model


def check_outputs(new, case):
    """Predictions are the program's and those of the new model's own program; shares fit them."""
    rows = asked_rows(case)
    predicted = new.predict(rows)
    same(predicted, case.predict(rows))
    same(predicted, translate(new).predict(rows))
    if hasattr(new, "predict_proba"):
        shares = new.predict_proba(rows)
        assert np.isfinite(shares).all()
        np.testing.assert_allclose(shares.sum(axis=1), 1, atol=1e-9)
        ahead = new.classes_[np.argmax(shares, axis=1)]
        tied = np.isclose(np.sort(shares, axis=1)[:, -2], shares.max(axis=1))
        np.testing.assert_array_equal(ahead[~tied], predicted[~tied])
