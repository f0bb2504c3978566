"""Models of every family, on data with a proxy in it, and what becomes of each when repaired.

A case says on which rows a model is fitted, and why a model of its class cannot hold the repaired
program, if it cannot. How many rooms someone has is nearly another name for being married.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np
import pandas as pd
from sklearn import linear_model
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import (
    AdaBoostClassifier,
    AdaBoostRegressor,
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
    StackingClassifier,
    StackingRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import (
    ARDRegression,
    BayesianRidge,
    ElasticNet,
    ElasticNetCV,
    GammaRegressor,
    HuberRegressor,
    Lars,
    LarsCV,
    Lasso,
    LassoCV,
    LassoLars,
    LassoLarsCV,
    LassoLarsIC,
    LinearRegression,
    LogisticRegression,
    LogisticRegressionCV,
    OrthogonalMatchingPursuit,
    OrthogonalMatchingPursuitCV,
    Perceptron,
    PoissonRegressor,
    QuantileRegressor,
    Ridge,
    RidgeClassifier,
    RidgeClassifierCV,
    RidgeCV,
    SGDClassifier,
    SGDRegressor,
    TheilSenRegressor,
    TweedieRegressor,
)
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    HalvingGridSearchCV,
    HalvingRandomSearchCV,
    RandomizedSearchCV,
    TunedThresholdClassifierCV,
)
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.naive_bayes import (
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    GaussianNB,
    MultinomialNB,
)
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR, NuSVC, NuSVR
from sklearn.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
)

ROWS = 120
RNG = np.random.default_rng(11)
MARRIED = RNG.integers(0, 2, ROWS)
NUMBERS = pd.DataFrame(
    {
        "rooms": np.where(RNG.random(ROWS) < 0.93, 1 + 2 * MARRIED, RNG.integers(1, 4, ROWS)),
        "decades": RNG.integers(2, 9, ROWS),
        "days": RNG.integers(1, 7, ROWS),
    }
).astype(float)
HOME = np.where(NUMBERS["rooms"] > 2, "house", np.where(RNG.random(ROWS) < 0.5, "flat", "it's"))
JOB = RNG.choice(["clerk", "cook", "smith"], ROWS)
MIXED = NUMBERS.assign(home=HOME, job=JOB)
MIXED = MIXED.mask(RNG.random(MIXED.shape) < 0.05)
MIXED.loc[0, ["home", "job"]] = ["house", "cook"]
TRUTHS = (NUMBERS.mean() < NUMBERS).astype(float)
PROTECTED = {"married": MARRIED}

SCORE = (
    0.9 * (NUMBERS["rooms"] - 2)
    + 0.4 * (NUMBERS["decades"] - 5)
    + 0.2 * (NUMBERS["days"] - 3.5)
    + 0.6 * (JOB == "cook")
    + RNG.normal(0, 0.4, ROWS)
)
TWO = np.where(SCORE > 0.2, "yes", "no")
CODES = (TWO == "yes").astype(int)
THREE = np.digitize(SCORE, [-0.6, 0.8])
NUMBER = np.round(np.exp(SCORE / 2) * 3 + 0.1, 3)


@dataclass(frozen=True)
class Case:
    """A model to fit and repair.

    Attributes
    ----------
    model : not fitted yet, or a function that fits it.
    y : what it is to learn.
    X : the rows it is fitted on and repaired for.
    why : of a model that is not written back, what the result says of it; else empty.
    utility : what to lose least of, where that is not the default.
    slow : whether its repair takes seconds.
    """

    model: Any
    y: Any
    X: Any = field(default_factory=lambda: NUMBERS)
    why: str = ""
    utility: str | None = None
    slow: bool = False

    def fitted(self) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of convergence, and of what is deprecated
            if callable(self.model):
                return self.model(self.X, self.y)
            return self.model.fit(self.X, self.y)


def prepared(model):
    """A pipeline with imputation, scaling and one-hot columns in front of a model."""
    words = make_pipeline(
        SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore")
    )
    parts = [
        ("numbers", make_pipeline(SimpleImputer(), StandardScaler()), list(NUMBERS)),
        ("words", words, ["home", "job"]),
    ]
    return Pipeline([("prep", ColumnTransformer(parts, sparse_threshold=0)), ("model", model)])


SEED = {"random_state": 0}
NEWTON = {"solver": "newton-cholesky"}  # quick on few columns
SMALL = {"max_depth": 2, **SEED}
STUMPS: dict[str, Any] = {"n_estimators": 3, **SMALL}
VECTORS = "its sums run over support vectors"
VOTES = "its members predict"
COMBINES = "it combines the outputs of its members"
SQUARED = "mean squared error"
UNKNOWN = "proxyuse cannot edit this class"


def tree(**options):
    return DecisionTreeClassifier(**{**SMALL, **options})


def number_tree():
    return DecisionTreeRegressor(**SMALL)


def passive(kind):
    """Of a class that warns of its end when an object is made."""

    def made(X, y):
        return getattr(linear_model, f"PassiveAggressive{kind}")(**SEED).fit(X, y)

    return made


TREES = {
    "tree": Case(tree(max_depth=4), TWO),
    "tree, missing values": Case(tree(max_depth=3), TWO, MIXED[list(NUMBERS)]),
    "tree of three": Case(tree(max_depth=3), THREE),
    "tree of truths": Case(tree(max_depth=3), TWO == "yes"),
    "tree of numbers": Case(number_tree(), NUMBER),
    "extra tree": Case(ExtraTreeClassifier(max_depth=4, random_state=1), TWO),
    "extra tree of numbers": Case(ExtraTreeRegressor(max_depth=3, random_state=1), NUMBER),
    "forest": Case(RandomForestClassifier(**STUMPS), TWO),
    "forest of three": Case(RandomForestClassifier(**STUMPS), THREE),
    "forest of numbers": Case(RandomForestRegressor(**STUMPS), NUMBER),
    "large forest": Case(RandomForestClassifier(8, max_depth=4, **SEED), TWO, slow=True),
    "extra trees": Case(ExtraTreesClassifier(**STUMPS), THREE),
    "extra trees of numbers": Case(ExtraTreesRegressor(**STUMPS), NUMBER),
    "boosting": Case(GradientBoostingClassifier(**STUMPS), TWO),
    "boosting of three": Case(GradientBoostingClassifier(**{**STUMPS, "n_estimators": 1}), THREE),
    "boosting of numbers": Case(GradientBoostingRegressor(**STUMPS), NUMBER),
    "histograms": Case(HistGradientBoostingClassifier(max_iter=3, **SMALL), TWO),
    "histograms of three": Case(HistGradientBoostingClassifier(max_iter=1, **SMALL), THREE),
    "histograms of numbers": Case(
        HistGradientBoostingRegressor(max_iter=3, **SMALL), NUMBER, MIXED[list(NUMBERS)]
    ),
    "bagged trees": Case(BaggingClassifier(tree(), 3, max_features=2, random_state=1), TWO),
    "bagged trees of numbers": Case(BaggingRegressor(number_tree(), 3, **SEED), NUMBER),
}
LINEAR = {
    "logistic": Case(LogisticRegression(**NEWTON), TWO),
    "logistic of three": Case(LogisticRegression(**NEWTON), THREE),
    "logistic, searched": Case(LogisticRegressionCV(Cs=2, cv=2, **NEWTON), TWO),
    "discriminant": Case(LinearDiscriminantAnalysis(), TWO),
    "discriminant of three": Case(LinearDiscriminantAnalysis(), THREE),
    "sgd": Case(SGDClassifier(alpha=0.1, **SEED), TWO),
    "sgd of three": Case(SGDClassifier(loss="log_loss", **SEED), THREE),
    "perceptron": Case(Perceptron(**SEED), TWO),
    "passive": Case(passive("Classifier"), THREE),
    "ridge of classes": Case(RidgeClassifier(), TWO),
    "ridge of classes, searched": Case(RidgeClassifierCV(), THREE),
    "linear support vectors": Case(LinearSVC(**SEED), THREE),
    "support vectors": Case(SVC(kernel="linear"), TWO, why=VECTORS),
    "support vectors of three": Case(SVC(kernel="linear"), THREE, why=VECTORS),
    "support vectors, nu": Case(NuSVC(kernel="linear", nu=0.3), TWO, why=VECTORS),
    "support vectors of numbers": Case(SVR(kernel="linear"), NUMBER, why=VECTORS),
    "support vectors of numbers, nu": Case(NuSVR(kernel="linear"), NUMBER, why=VECTORS),
    "passive of numbers": Case(passive("Regressor"), NUMBER),
    **{
        type(model).__name__: Case(model, NUMBER)
        for model in (
            LinearSVR(**SEED), LinearRegression(), Ridge(), RidgeCV(), Lasso(0.05), LassoCV(cv=2),
            ElasticNet(0.05), ElasticNetCV(cv=2), Lars(), LarsCV(cv=2), LassoLars(0.01),
            LassoLarsCV(cv=2), LassoLarsIC(), OrthogonalMatchingPursuit(n_nonzero_coefs=3),
            OrthogonalMatchingPursuitCV(cv=2), ARDRegression(), BayesianRidge(), HuberRegressor(),
            QuantileRegressor(alpha=0.01), TheilSenRegressor(max_subpopulation=99, **SEED),
            SGDRegressor(**SEED), PoissonRegressor(**NEWTON),
            GammaRegressor(**NEWTON), TweedieRegressor(**NEWTON),
        )
    },
}  # fmt: skip
BAYES = {
    "gaussian": Case(GaussianNB(), TWO, why=UNKNOWN),
    "gaussian of three": Case(GaussianNB(), THREE, NUMBERS[["rooms", "days"]], why=UNKNOWN),
    "bernoulli": Case(BernoulliNB(binarize=2), TWO, why=UNKNOWN),
    "multinomial": Case(MultinomialNB(), THREE, why=UNKNOWN),
    "complement": Case(ComplementNB(), TWO, why=UNKNOWN),
    "categorical": Case(CategoricalNB(), TWO, why=UNKNOWN),
}
MEMBERS = [("tree", tree()), ("logistic", LogisticRegression(**NEWTON))]
NUMBER_MEMBERS = [("tree", number_tree()), ("ridge", Ridge())]
OF_OTHERS = {
    "adaboost": Case(AdaBoostClassifier(n_estimators=4, **SEED), TWO, why=VOTES),
    "adaboost of three": Case(AdaBoostClassifier(n_estimators=4, **SEED), THREE, why=VOTES),
    "adaboost of numbers": Case(
        AdaBoostRegressor(number_tree(), n_estimators=3, **SEED), NUMBER, why=VOTES
    ),
    "bagged logistic": Case(
        BaggingClassifier(LogisticRegression(**NEWTON), 2, **SEED),
        TWO,
        why="of type LogisticRegression",
        slow=True,
    ),
    "votes": Case(VotingClassifier(MEMBERS), TWO, why=COMBINES),
    "votes, soft": Case(VotingClassifier(MEMBERS, voting="soft"), TWO, why=COMBINES),
    "votes of numbers": Case(VotingRegressor(NUMBER_MEMBERS), NUMBER, why=COMBINES),
    "stack": Case(StackingClassifier(MEMBERS, cv=2), TWO, why=COMBINES),
    "stack of numbers": Case(StackingRegressor(NUMBER_MEMBERS, cv=2), NUMBER, why=COMBINES),
    "calibrated": Case(CalibratedClassifierCV(tree(), cv=2), TWO, why=COMBINES),
    "calibrated by steps": Case(
        CalibratedClassifierCV(tree(), cv=2, method="isotonic"), TWO, why=COMBINES
    ),
    "one against the rest": Case(OneVsRestClassifier(tree()), THREE, why=COMBINES),
    "one against one": Case(OneVsOneClassifier(tree(max_depth=1)), THREE, why=COMBINES, slow=True),
}
DEPTHS = {"max_depth": [2, 3]}
PASSING_ON = {
    "grid": Case(GridSearchCV(tree(), DEPTHS, cv=2), TWO),
    "random search": Case(RandomizedSearchCV(tree(), DEPTHS, n_iter=2, cv=2, **SEED), TWO),
    "halving": Case(HalvingGridSearchCV(tree(), DEPTHS, cv=2, **SEED), TWO),
    "halving at random": Case(HalvingRandomSearchCV(tree(), DEPTHS, cv=2, **SEED), TWO),
    "fixed threshold": Case(FixedThresholdClassifier(tree(), threshold=0.4, pos_label="yes"), TWO),
    "tuned threshold": Case(
        TunedThresholdClassifierCV(LogisticRegression(**NEWTON), cv=2, **SEED), TWO
    ),
    "frozen": Case(lambda X, y: FrozenEstimator(tree().fit(X, y)), TWO),
    "pipeline, tree": Case(prepared(tree(max_depth=4)), TWO, MIXED),
    "pipeline, forest": Case(prepared(RandomForestClassifier(**STUMPS)), TWO, MIXED),
    "pipeline, boosting": Case(prepared(GradientBoostingClassifier(**STUMPS)), TWO, MIXED),
    "pipeline, logistic": Case(prepared(LogisticRegression(**NEWTON)), TWO, MIXED),
    "pipeline, logistic of three": Case(
        prepared(LogisticRegression(**NEWTON)), THREE, MIXED, slow=True
    ),
    "pipeline, ridge": Case(prepared(Ridge()), NUMBER, MIXED),
    "pipeline, gaussian": Case(prepared(GaussianNB()), TWO, MIXED, why=UNKNOWN, slow=True),
    "pipeline, searched": Case(
        GridSearchCV(prepared(LogisticRegression(**NEWTON)), {"model__C": [0.1, 1]}, cv=2),
        TWO,
        MIXED,
    ),
}


def ranked(model, **groups):
    return lambda X, y: model.fit(X, y, **groups)


def xgboost_cases():
    import xgboost as xgb

    few = {**STUMPS, "n_jobs": 1}
    plain = {"max_depth": 2, "nthread": 1}

    def booster(objective, **more):
        def trained(X, y):
            return xgb.train({"objective": objective, **plain, **more}, xgb.DMatrix(X, y), 2)

        return trained

    groups = np.arange(ROWS) // 30
    return {
        "xgboost": Case(xgb.XGBClassifier(**few), CODES, MIXED[list(NUMBERS)]),
        "xgboost of three": Case(xgb.XGBClassifier(**{**few, "n_estimators": 1}), THREE),
        "xgboost of numbers": Case(xgb.XGBRegressor(**few), NUMBER),
        "xgboost, forest": Case(xgb.XGBRFClassifier(**few), CODES),
        "xgboost, forest of numbers": Case(xgb.XGBRFRegressor(**few), NUMBER),
        "xgboost, ranks": Case(ranked(xgb.XGBRanker(**few), qid=groups), THREE, utility=SQUARED),
        "xgboost, booster": Case(booster("binary:logistic"), CODES, utility=SQUARED),
        "xgboost, booster of three": Case(booster("multi:softmax", num_class=3), THREE, slow=True),
        "xgboost, pipeline": Case(prepared(xgb.XGBClassifier(**few)), CODES, MIXED),
    }


def lightgbm_cases():
    import lightgbm as lgb

    quiet = {"num_leaves": 4, "verbose": -1}
    few: dict[str, Any] = {"n_estimators": 3, "n_jobs": 1, "min_child_samples": 5, **quiet}
    plain = {"num_threads": 1, "min_data_in_leaf": 5, **quiet}

    def booster(objective, **more):
        def trained(X, y):
            return lgb.train({"objective": objective, **plain, **more}, lgb.Dataset(X, y), 2)

        return trained

    return {
        "lightgbm": Case(lgb.LGBMClassifier(**few), TWO, MIXED[list(NUMBERS)]),
        "lightgbm of three": Case(lgb.LGBMClassifier(**{**few, "n_estimators": 1}), THREE),
        "lightgbm of numbers": Case(lgb.LGBMRegressor(**few), NUMBER),
        "lightgbm, ranks": Case(
            ranked(lgb.LGBMRanker(**few), group=[30] * 4), THREE, utility=SQUARED
        ),
        "lightgbm, booster": Case(booster("binary"), CODES, utility=SQUARED),
        "lightgbm, booster of numbers": Case(booster("regression"), NUMBER),
        "lightgbm, pipeline": Case(prepared(lgb.LGBMClassifier(**few)), TWO, MIXED),
    }


def rule_list_cases():
    import imodels  # type: ignore[import-untyped]

    bayesian = imodels.BayesianRuleListClassifier(max_iter=300, n_chains=1, random_state=0)
    return {
        "greedy rules": Case(imodels.GreedyRuleListClassifier(), CODES, why=UNKNOWN),
        "one rule": Case(imodels.OneRClassifier(), CODES, why=UNKNOWN),
        "frugal rules": Case(imodels.FastFrugalTreeClassifier(), CODES, why=UNKNOWN),
        "bayesian rules": Case(bayesian, CODES, TRUTHS, why=UNKNOWN),
    }


def program_cases():
    from proxyuse.models.program_estimator import program_estimator
    from proxyuse.program import Program

    classes = Program.parse("ite(rooms >= 2 and days >= 2, 'yes', ite(decades > 5, 'yes', 'no'))")
    numbers = Program.parse("rooms + ite(decades > 5, days, 2)")
    return {
        "program": Case(lambda X, y: classes, TWO, why="the input is a program"),
        "program of numbers": Case(lambda X, y: numbers, NUMBER, why="the input is a program"),
        "repaired": Case(lambda X, y: program_estimator(classes), TWO),
        "repaired, of numbers": Case(lambda X, y: program_estimator(numbers), NUMBER),
    }


CASES: dict[str, Case] = {
    **TREES, **LINEAR, **BAYES, **OF_OTHERS, **PASSING_ON, **program_cases(),
    **(xgboost_cases() if find_spec("xgboost") else {}),
    **(lightgbm_cases() if find_spec("lightgbm") else {}),
    **(rule_list_cases() if find_spec("imodels") else {}),
}  # fmt: skip
"""By what they are called; dummies, which have nothing to repair, are apart."""

DUMMIES = {
    "dummy": Case(DummyClassifier(), TWO),
    "dummy of numbers": Case(DummyRegressor(), NUMBER),
}


@cache
def fitted(name):
    """A fitted model; each is fitted once."""
    return {**CASES, **DUMMIES}[name].fitted()
