"""Derived attributes and percentages on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

from tests.command_line import run

N_ROWS = 2000
RANDOM = np.random.default_rng(0)
AGE = RANDOM.integers(18, 90, N_ROWS)
PEOPLE = pd.DataFrame(
    {
        "id": np.arange(N_ROWS),
        "age": AGE,
        "x": RANDOM.normal(size=N_ROWS).round(3),
        "race": RANDOM.choice(list("ab"), N_ROWS),
    }
)
AUDIT = ("audit", "--model", "model.txt", "--data", "people.csv")
EXPLICIT = "The model uses under20 explicitly: it reads `age`, which determines under20."


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("model.txt").write_text("ite(age > 35 and x > 0, 'a', 'b')")
    PEOPLE.to_csv("people.csv", index=False)
    restricted = pd.DataFrame({"id": PEOPLE["id"], "true_age": AGE, "faith": PEOPLE["race"]})
    restricted[::-1].to_csv("restricted.csv", index=False)
    return tmp_path


def test_an_attribute_is_derived_certified_and_verified(capsys):
    words = ("--protected", "under20: age < 20", "--certificate", "c.json", "--output", "a.json")
    out, _ = run(*AUDIT, *words, code=1, capsys=capsys)
    assert out.startswith(EXPLICIT)
    assert "'under20' is derived from `age`: age < 20." in out
    (z,) = json.loads(Path("a.json").read_text())["protected"]
    assert (z["name"], z["derived_from"], z["expression"]) == ("under20", ["age"], "age < 20")
    verify = ("verify", "c.json", "--program", "model.txt", "--data", "people.csv")
    out, _ = run(*verify, code=0, capsys=capsys)
    assert "'under20' (derived: 'age < 20')" in out.splitlines()[0]


def test_the_project_file_takes_expressions(capsys):
    Path("proxyuse.toml").write_text(
        'model = "model.txt"\ndata = "people.csv"\n'
        'protected = ["race", "under20: age < 20"]\nepsilon = "20%"\n'
    )
    out, _ = run("audit", code=1, capsys=capsys)
    assert out.startswith(EXPLICIT)
    assert "No proxy use of race found" in " ".join(out.split())
    assert "at least 0.2 (20% of the highest for a test)" in " ".join(out.split())


def test_an_expression_can_read_the_restricted_table(capsys):
    words = ("--protected-data", "restricted.csv", "--key", "id")
    old = ("--protected", "old: true_age > 70 and race == 'a'", "--protected", "faith")
    certificate = ("--certificate", "c.json")
    out, _ = run(*AUDIT, *old, *words, *certificate, "--output", "a.json", code=0, capsys=capsys)
    z, _ = json.loads(Path("a.json").read_text())["protected"]
    assert z["derived_from"] == ["true_age", "race"]
    assert z["explicit"] == []  # the model reads neither column, and no column predicts it
    verify = ("verify", "c.json", "--program", "model.txt", "--data", "people.csv")
    run(*verify, *words, code=0, capsys=capsys)
    out, _ = run(*AUDIT, "--protected", "young: true_age < 30", *words, code=1, capsys=capsys)
    assert "The model reads `age`, which predicts young" in " ".join(out.split())


def test_a_model_without_names_does_not_see_the_columns_of_an_expression(capsys):
    from skops.io import dump

    X = PEOPLE[["x"]].to_numpy()
    dump(DecisionTreeClassifier(max_depth=2).fit(X, AGE > 40), "model.skops")
    PEOPLE[["age", "x"]].to_csv("people.csv", index=False)
    words = ("audit", "--model", "model.skops", "--data", "people.csv")
    out, _ = run(*words, "--protected", "over60: age > 60", code=0, capsys=capsys)
    assert "No proxy use of over60 found" in out


def test_explicit_use_can_be_judged(capsys, monkeypatch):
    import io
    import sys

    answers = io.TextIOWrapper(io.BytesIO(b"a\nage is allowed\n"), encoding="utf-8")
    monkeypatch.setattr(sys, "stdin", answers)
    words = ("--protected", "under20: age < 20", "--judgments", "j.jsonl")
    out, _ = run("judge", *AUDIT[1:], *words, "--by", "Ada", code=0, capsys=capsys)
    assert "under20 is derived from it" in " ".join(out.split())
    assert "Judged: 1 (1 appropriate, 0 inappropriate)." in out
    out, _ = run(*AUDIT, *words, code=0, capsys=capsys)
    assert out.startswith("The explicit use of under20 was judged appropriate.")


@pytest.mark.parametrize(
    ("protected", "message"),
    [
        ("rase", "people.csv has no column 'rase' (protected); did you mean 'race'?"),
        ("z: agee > 3", "no column 'agee' (in the protected attribute 'z'); did you mean 'age'?"),
        ("z: age >> 3", "the protected attribute 'z': the expression is invalid: line 1, column 6"),
        ("z: race > 3", "the protected attribute 'z': the expression race > 3 does not fit"),
    ],
)
def test_a_wrong_expression_is_explained(protected, message, capsys):
    _, error = run(*AUDIT, "--protected", protected, code=2, capsys=capsys)
    assert message in " ".join(error.split())


def test_a_percentage_that_differs_between_attributes_is_refused(capsys):
    words = ("--protected", "race", "--protected", "age", "--epsilon", "50%")
    _, error = run(*AUDIT, *words, code=2, capsys=capsys)
    assert "50% is a different number for each protected attribute" in error
