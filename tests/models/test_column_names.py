"""Models find their columns: renamed ones, integer labels, native categories, and CSV files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import proxyuse as pu
from proxyuse.errors import DataError, FileError, TranslationError
from tests.command_line import run

RANDOM = np.random.default_rng(0)
ROWS = 300


def models() -> list[Any]:
    return [
        DecisionTreeClassifier(max_depth=3, random_state=0),
        make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=2, random_state=0)),
        xgb.XGBClassifier(n_estimators=3, n_jobs=1),
        lgb.LGBMClassifier(n_estimators=3, n_jobs=1, verbose=-1),
    ]


def test_lightgbm_finds_columns_with_spaces():
    X = pd.DataFrame(RANDOM.normal(size=(ROWS, 2)), columns=["worst area", "mean size"])
    model = lgb.LGBMClassifier(n_estimators=3, n_jobs=1, verbose=-1)
    model.fit(X, X["worst area"] > 0)
    program = pu.translate(model)
    assert program.inputs == ("worst_area", "mean_size")
    assert (program.predict(X) == model.predict(X)).all()
    audit = pu.audit(model, X, {"z": X["worst area"] > 0})
    assert audit.witnesses[0].decomposition.term == "`worst area`"


def test_a_renamed_column_that_fits_two_is_not_guessed():
    program = pu.Program.parse("ite(a_b_c <= 0, 0, 1)")
    with pytest.raises(DataError, match="the data has no column 'a_b_c'"):
        program.predict({"a b_c": [1.0], "a_b c": [2.0]})


@pytest.mark.parametrize("model", models(), ids=lambda model: type(model).__name__)
def test_integer_labels_work(model):
    X = pd.DataFrame(RANDOM.normal(size=(ROWS, 3)))
    model.fit(X, (X[1] > 0).astype(int))
    z = (X[1] > 0.1).astype(int)
    assert (pu.translate(model).predict(X) == model.predict(X)).all()
    assert pu.audit(model, X, {"z": z}).witnesses
    assert pu.audit(model, X.assign(z=z), "z").witnesses


def categories() -> tuple[pd.DataFrame, Any, Any]:
    X = pd.DataFrame(
        {"job": RANDOM.choice(["clerk", "cook", "judge"], ROWS), "age": RANDOM.normal(size=ROWS)}
    )
    y = (X["job"] == "cook") | (X["age"] > 1)
    return X.astype({"job": "category"}), y.astype(int), (X["job"] == "cook").astype(int)


def saved_model(library: str) -> str:
    X, y, z = categories()
    if library == "xgboost":
        model: Any = xgb.XGBClassifier(n_estimators=3, enable_categorical=True, n_jobs=1)
        path = "model.json"
        model.fit(X, y).save_model(path)
    else:
        model = lgb.LGBMClassifier(n_estimators=3, n_jobs=1, verbose=-1)
        path = "model.txt"
        model.fit(X, y).booster_.save_model(path)
    X.assign(z=z).to_csv("people.csv", index=False)
    return path


@pytest.mark.parametrize("library", ["xgboost", "lightgbm"])
def test_native_categories_are_audited_from_csv(library, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    path = saved_model(library)
    words = ["audit", "--model", path, "--data", "people.csv", "--protected", "z", "--json"]
    out, _ = run(*words, code=1, capsys=capsys)
    assert json.loads(out)["witnesses"][0]["variables"] == ["job"]


@pytest.mark.parametrize("content", ["[1, 2", '{"learner": {', "{}", "; junk"])
def test_a_corrupt_json_model_is_called_corrupt(content, tmp_path):
    path = tmp_path / "model.json"
    path.write_text(content)
    with pytest.raises(FileError, match="corrupt"):
        pu.load_model(path)


@pytest.mark.parametrize("path", ["model.skops", Path("model.skops")])
def test_a_path_is_not_a_model(path):
    with pytest.raises(TranslationError, match=r"use pu\.load_model\(path\)"):
        pu.audit(path, {"x": [1, 2], "z": [0, 1]}, "z")
