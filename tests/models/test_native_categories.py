"""Models that read categories without an encoder can be audited from CSV files."""

from __future__ import annotations

import json

import numpy as np
import pytest

import proxyuse as pu
from proxyuse.cli.main import main
from proxyuse.errors import DataError
from proxyuse.io.table_files import read_table
from proxyuse.models.files import load_model
from proxyuse.models.native_categories import text_columns

pd = pytest.importorskip("pandas")
xgboost = pytest.importorskip("xgboost")
lightgbm = pytest.importorskip("lightgbm")

N = 400
RNG = np.random.default_rng(5)
Z = RNG.integers(0, 2, N)
CODES = np.where(RNG.random(N) < 0.9, Z, 1 - Z) + 2 * RNG.integers(0, 2, N)
HOURS = RNG.integers(10, 60, N)
Y = (CODES % 2) ^ (RNG.random(N) < 0.05)
SEX = np.where(Z, "f", "m")

# Written to a CSV file, all but the first look like numbers or booleans.
SPELLINGS = [["a", "b", "c", "d"], ["0", "1", "2", "3"], ["00", "01", "02", "03"]]


def saved(library, values, folder):
    """A model that was trained on dtype category, saved by its library."""
    X = pd.DataFrame({"group": pd.Categorical(values), "hours": HOURS})
    if library == "xgboost":
        model = xgboost.XGBClassifier(n_estimators=3, max_depth=2, enable_categorical=True)
        path = folder / "model.json"
        model.fit(X, Y).save_model(path)
    else:
        model = lightgbm.LGBMClassifier(
            n_estimators=3, num_leaves=4, min_data_per_group=1, verbose=-1
        )
        path = folder / "model.txt"
        model.fit(X, Y).booster_.save_model(path)
    return path


def csv_of(values, folder):
    path = folder / "people.csv"
    pd.DataFrame({"group": values, "hours": HOURS, "sex": SEX}).to_csv(path, index=False)
    return path


@pytest.mark.parametrize("library", ["xgboost", "lightgbm"])
@pytest.mark.parametrize("spelling", SPELLINGS, ids="-".join)
def test_a_csv_column_becomes_the_category_of_the_model(tmp_path, library, spelling):
    values = np.array(spelling, dtype=object)[CODES]
    model = pu.load_model(saved(library, values, tmp_path)).model
    assert text_columns(model) == ("group",)
    people = read_table(csv_of(values, tmp_path), text=text_columns(model))
    assert people["group"].to_list() == values.tolist()
    audit = pu.audit(model, people, "sex")
    assert any(witness.term == "group" for witness in audit.witnesses)


@pytest.mark.parametrize("library", ["xgboost", "lightgbm"])
def test_the_command_line_audits_such_a_model(tmp_path, library, capsys):
    values = np.array(SPELLINGS[2], dtype=object)[CODES]
    model, data = saved(library, values, tmp_path), csv_of(values, tmp_path)
    assert main(["audit", "--model", str(model), "--data", str(data), "--protected", "sex"]) == 1
    assert "sex" in capsys.readouterr().out


def test_integer_categories_stay_numbers_even_if_some_are_missing(tmp_path):
    model = pu.load_model(saved("xgboost", CODES, tmp_path)).model
    assert text_columns(model) == ()
    values = CODES.astype(object)
    values[:5] = None
    audit = pu.audit(model, read_table(csv_of(values, tmp_path)), "sex")
    assert any(witness.term == "group" for witness in audit.witnesses)


def test_categories_that_xgboost_has_not_seen_are_counted_not_shown(tmp_path):
    values = np.array(SPELLINGS[0], dtype=object)[CODES]
    model = pu.load_model(saved("xgboost", values, tmp_path)).model
    values[:2] = "secret"
    with pytest.raises(pu.DataError, match="'group': 2 of 400 rows have a category") as caught:
        pu.audit(model, read_table(csv_of(values, tmp_path)), "sex")
    assert "secret" not in str(caught.value)


def test_a_model_that_stores_only_codes_needs_codes(tmp_path):
    X = np.column_stack([CODES, HOURS]).astype(float)
    matrix = xgboost.DMatrix(
        X, Y, feature_names=["group", "hours"], feature_types=["c", "int"], enable_categorical=True
    )
    model = xgboost.train({"objective": "binary:logistic", "max_depth": 2}, matrix, 3)
    words = np.array(SPELLINGS[0], dtype=object)[CODES]
    with pytest.raises(pu.DataError, match="'group': the model stores category codes"):
        pu.audit(model, read_table(csv_of(words, tmp_path)), "sex", decision=pu.Threshold(0.5))
    audit = pu.audit(model, read_table(csv_of(CODES, tmp_path)), "sex", decision=pu.Threshold(0.5))
    assert any(witness.term == "group" for witness in audit.witnesses)


def test_an_xgboost_model_without_names_reads_no_column_as_text(tmp_path):
    path = saved("xgboost", SPELLINGS[1] * (N // 4), tmp_path)
    assert text_columns(load_model(path).model) == ("group",)
    document = json.loads(path.read_text())
    del document["learner"]["feature_names"]
    path.write_text(json.dumps(document))
    assert text_columns(load_model(path).model) == ()


def test_a_booster_that_cannot_predict_the_rows_is_a_data_error():
    rows = pd.DataFrame({"hours": HOURS, "z": Z})
    model = xgboost.train({"nthread": 1}, xgboost.DMatrix(rows[["hours"]], Y), 1)
    with pytest.raises(DataError, match="the Booster cannot predict these rows"):
        pu.audit(model, rows.assign(hours="many"), "z")
