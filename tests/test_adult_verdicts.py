"""Default models of Adult, audited on rows they have not seen, always get a verdict."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from lightgbm import LGBMClassifier
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from xgboost import XGBClassifier

import proxyuse as pu
from proxyuse.datasets import load_adult
from proxyuse.report.document import document
from proxyuse.report.standing import exit_code

ADULT = load_adult()
X = ADULT.drop(columns=["income", "marital_status", "fnlwgt"])
Y = (ADULT["income"] == ">50K").astype(int)
NUMBERS = list(X.select_dtypes("number"))
WORDS = [name for name in X if name not in NUMBERS]
SEEN = np.random.default_rng(0).random(len(X)) < 0.5
PROTECTED = {
    "married": ADULT["marital_status"].isin(["Married-civ-spouse", "Married-AF-spouse"])[~SEEN],
    "coin": np.random.default_rng(1).random(int((~SEEN).sum())) < 0.5,
}
MODELS: dict[str, Any] = {
    "logistic": lambda: LogisticRegression(max_iter=1000),
    "forest": lambda: RandomForestClassifier(random_state=0),
    "xgboost": XGBClassifier,
    "lightgbm": lambda: LGBMClassifier(verbose=-1),
}


@cache
def audited(name: str) -> pu.Audit:
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    words = make_pipeline(
        SimpleImputer(strategy="most_frequent"),
        OneHotEncoder(handle_unknown="ignore", sparse_output=False),
    )
    columns = ColumnTransformer([("numbers", numbers, NUMBERS), ("words", words, WORDS)])
    columns.set_output(transform="pandas" if name == "lightgbm" else "default")
    model = make_pipeline(columns, MODELS[name]()).fit(X[SEEN], Y[SEEN])
    return pu.audit(model, X[~SEEN], PROTECTED)


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_a_default_model_gets_a_verdict(name: str) -> None:
    audit = audited(name)
    assert audit.complete
    assert audit.verdicts["married"].verdict is pu.Verdict.CONFIRMED
    assert audit.verdicts["coin"].verdict is pu.Verdict.NOT_FOUND
    assert exit_code(document(audit, most_groups=1)) == 1


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_each_searched_space_has_one_sentence(name: str) -> None:
    searched = audited(name).searched
    assert len(searched) <= 3
    for sentence in searched:
        assert sentence.endswith(".")
        assert "searched" in sentence
        assert "e+" not in sentence  # no number that nobody can read
