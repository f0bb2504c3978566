"""Models find their columns: renamed ones, integer labels, native categories, and CSV files."""

from __future__ import annotations

import json
import re
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
from proxyuse.errors import CorruptFile, DataError, TranslationError
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


def test_lightgbm_in_a_pipeline_finds_columns_with_spaces():
    X = pd.DataFrame(RANDOM.normal(size=(ROWS, 2)), columns=["worst area", " size"])
    model = make_pipeline("passthrough", lgb.LGBMClassifier(n_estimators=3, n_jobs=1, verbose=-1))
    model.fit(X, X["worst area"] > 0)
    assert pu.audit(model, X, {"z": X["worst area"] > 0}).witnesses


def test_lightgbm_finds_columns_with_spaces_in_a_csv(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    X = pd.DataFrame(RANDOM.normal(size=(ROWS, 2)), columns=["worst area", "mean size"])
    model = lgb.LGBMClassifier(n_estimators=3, n_jobs=1, verbose=-1)
    model.fit(X, X["worst area"] > 0).booster_.save_model("model.txt")
    X.assign(z=(X["worst area"] > 0.1).astype(int)).to_csv("people.csv", index=False)
    words = ["audit", "--model", "model.txt", "--data", "people.csv", "--protected", "z", "--json"]
    out, _ = run(*words, "--decision-threshold", "0.5", code=1, capsys=capsys)
    assert json.loads(out)["witnesses"][0]["variables"] == ["worst area"]


@pytest.mark.parametrize("name", ["a\tb", "a\u00a0b", "a\\b", "a=b", "é"])
def test_lightgbm_keeps_other_characters(name):
    X = pd.DataFrame(RANDOM.normal(size=(ROWS, 2)), columns=[name, "c"])
    model = lgb.LGBMClassifier(n_estimators=3, n_jobs=1, verbose=-1).fit(X, X["c"] > 0)
    program = pu.translate(model)
    assert program.inputs == (name, "c")
    assert (program.predict(X) == model.predict(X)).all()


def test_two_columns_that_lightgbm_would_rename_alike_are_an_error():
    X = pd.DataFrame(RANDOM.normal(size=(ROWS, 2)), columns=["worst area", "size"])
    model = lgb.LGBMClassifier(n_estimators=3, n_jobs=1, verbose=-1)
    model.fit(X, X["worst area"] > 0)
    both = X.assign(worst_area=0.0)
    with pytest.raises(DataError, match="'worst area', 'worst_area'"):
        pu.audit(model, both, {"z": X["worst area"] > 0})


def test_two_columns_that_differ_by_a_space_are_two_columns_to_other_models():
    X = pd.DataFrame(RANDOM.normal(size=(ROWS, 2)), columns=["worst area", "worst_area"])
    model = DecisionTreeClassifier(max_depth=2).fit(X, X["worst area"] > 0)
    audit = pu.audit(model, X, {"z": X["worst area"] > 0})
    assert audit.witnesses[0].decomposition.term.startswith("`worst area`")


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


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("[1, 2", "line 1, column 6"),
        ('{"learner": {', "line 1, column 14"),
        ('{"version": [1],\n "learner": {,}}', "line 2, column 14"),
        ("{learner: 1}", "line 1, column 2"),
        ("; junk", "line 1, column 1"),
        ("{}", "'learner'"),
        ("null", "'learner'"),
        ("[1, 2]", "'learner'"),
        ('{"learner": 1, "version": [3, 0, 0]}', "'learner' is missing or not an object"),
        ('{"a": 1, "a": 2}', "'a' appears twice"),
    ],
)
def test_a_corrupt_json_model_is_called_corrupt(content, reason, tmp_path):
    path = tmp_path / "model.json"
    path.write_text(content)
    message = f"{re.escape(str(path))} is corrupt .*{reason}.*save the model again"
    with pytest.raises(CorruptFile, match=message):
        pu.load_model(path)


def test_the_name_of_a_file_does_not_hide_a_program(tmp_path):
    path = tmp_path / "model.json"
    path.write_text("ite(age <= 30, 0, 1)")
    assert pu.load_model(path).kind == "program"


@pytest.mark.parametrize("labels", [[0, 1, 2], [10, 20, 30], np.arange(3, dtype=np.int64)])
def test_a_program_finds_columns_by_integer_labels(labels):
    X = pd.DataFrame(RANDOM.normal(size=(ROWS, 3)), columns=labels)
    model = xgb.XGBClassifier(n_estimators=3, n_jobs=1).fit(X, X.iloc[:, 1] > 0)
    assert (pu.translate(model).predict(X) == model.predict(X)).all()
    tree = DecisionTreeClassifier(max_depth=2).fit(X, X.iloc[:, 1] > 0)
    assert (pu.translate(tree).predict(X.set_axis(range(3), axis=1)) == tree.predict(X)).all()


@pytest.mark.parametrize("path", ["model.skops", Path("model.skops")])
def test_a_path_is_not_a_model(path):
    with pytest.raises(TranslationError, match=r"use pu\.load_model\(path\)"):
        pu.audit(path, {"x": [1, 2], "z": [0, 1]}, "z")
