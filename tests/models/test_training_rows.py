"""Training rows are recognized from what a model stores about them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from lightgbm import LGBMClassifier, LGBMRegressor
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from xgboost import XGBClassifier, XGBRegressor

import proxyuse as pu
from proxyuse.models.training_rows import matches_training
from proxyuse.validity.remarks import AssumedHeldOut, TrainingRows


def rows(seed: int, n: int = 200) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(n, 3)), columns=list("abc"))
    return frame.assign(color=rng.choice(["red", "green", "blue"], n))


def labels(frame):
    return (frame["a"] + np.sin(5 * frame["b"]) > 0).astype(int)


numbers = list("abc")
scaled = make_column_transformer((StandardScaler(), numbers), (OneHotEncoder(), ["color"]))
MODELS = [
    DecisionTreeClassifier(max_depth=4),
    DecisionTreeRegressor(max_depth=4),
    ExtraTreesClassifier(4, max_depth=4),
    GradientBoostingClassifier(n_estimators=3),
    HistGradientBoostingClassifier(max_iter=3),
    LGBMClassifier(n_estimators=3, verbose=-1),
    LGBMRegressor(n_estimators=3, verbose=-1),
    XGBClassifier(n_estimators=3),
    XGBRegressor(n_estimators=3),
    make_pipeline(StandardScaler(), LogisticRegression()),
    make_pipeline(MinMaxScaler(), LogisticRegression()),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_training_rows_match_and_others_do_not(model):
    training, others = rows(0)[numbers], rows(1)[numbers]
    model.fit(training, labels(training))
    assert matches_training(model, training)
    assert matches_training(model, training.iloc[::-1])  # in any order
    assert not matches_training(model, others)
    assert not matches_training(model, training.iloc[:150])


def test_columns_of_a_transformer_are_compared():
    training, others = rows(0), rows(1)
    model = make_pipeline(scaled, LogisticRegression()).fit(training, labels(training))
    assert matches_training(model, training)
    assert not matches_training(model, others)


def test_a_forest_is_compared_by_the_number_of_rows():
    training = rows(0)[numbers]
    model = RandomForestClassifier(4).fit(training, labels(training))
    assert matches_training(model, training)
    assert not matches_training(model, rows(1, 250)[numbers])


@pytest.mark.parametrize("model", [LogisticRegression(), XGBClassifier(booster="gblinear")])
def test_a_model_that_stores_nothing_matches_nothing(model):
    training = rows(0)[numbers]
    assert not matches_training(model.fit(training, labels(training)), training)


def test_an_audit_says_which_rows_it_assumes():
    training, others = rows(0)[numbers], rows(1)[numbers]
    model = DecisionTreeClassifier(max_depth=4).fit(training, labels(training))
    z = {"z": np.arange(200) % 2}

    def remarks(X, **options):
        assessment = pu.audit(model, X, z, validity=pu.Confirmation(**options)).validity
        assert assessment is not None
        return [r for r in assessment.remarks if isinstance(r, TrainingRows | AssumedHeldOut)]

    assert remarks(training) == [TrainingRows(detected=True)]
    assert remarks(training, rows="training") == [TrainingRows(detected=False)]
    assert remarks(training, rows="held-out") == []
    assert remarks(others) == [AssumedHeldOut()]


@pytest.mark.parametrize(
    "model",
    [
        DecisionTreeClassifier(random_state=0),
        GradientBoostingClassifier(random_state=0),
        RandomForestClassifier(20, random_state=0),
        ExtraTreesClassifier(20, random_state=0),
        LGBMClassifier(n_estimators=20, verbose=-1),
    ],
    ids=lambda model: type(model).__name__,
)
def test_rows_that_contain_the_training_rows_are_recognized(model):
    whole = rows(0, 400)[numbers]
    coin = np.random.default_rng(0).integers(0, 2, 400)
    for trained in (320, 399):
        model.fit(whole[:trained], coin[:trained])
        assert matches_training(model, whole)
        assert not matches_training(model, rows(1, 400)[numbers])
        assert not matches_training(model, rows(2, 500)[numbers])


def test_noise_in_a_table_that_contains_the_training_rows_is_not_confirmed():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(300, 10))).add_prefix("f")
    coin = rng.integers(0, 2, 300)
    tree = DecisionTreeClassifier(random_state=0).fit(X[:299], coin[:299])
    audit = pu.audit(tree, X, protected={"coin": coin})
    assert audit.verdict is not pu.Verdict.CONFIRMED
    assert audit.validity is not None
    assert TrainingRows(detected=True) in audit.validity.remarks
