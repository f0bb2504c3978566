"""The first answer a new user gets, with default settings, on questions with a known answer."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import proxyuse as pu
from proxyuse.cli.main import main
from proxyuse.report.document import document
from proxyuse.report.findings.headline import headline
from proxyuse.report.standing import exit_code

SCORE = pu.Program.parse("ite(2 * x + 0.5 * w > 0, 1, 0)")


def first_answer(audit: pu.Audit) -> str:
    return headline(document(audit))


def credit(rows: int, rng: np.random.Generator) -> pd.DataFrame:
    """Numbers and categories like those of credit applications."""
    frame = pd.DataFrame(
        {
            "duration": rng.integers(4, 72, rows),
            "amount": np.round(np.exp(rng.normal(7.8, 0.8, rows))),
            "age": rng.integers(19, 75, rows),
        }
    )
    for name, values in {"status": 4, "purpose": 10, "savings": 5, "employment": 5}.items():
        frame[name] = rng.choice([f"A{number}" for number in range(values)], rows)
    return frame


def fitted_credit(model: Any) -> tuple[Any, pd.DataFrame]:
    """A pipeline of some rows, and 300 other rows."""
    rng = np.random.default_rng(0)
    frame = credit(1000, rng)
    score = frame["duration"] / 20 + np.log(frame["amount"]) - frame["age"] / 20
    y = score - (frame["status"] == "A3") + rng.normal(size=1000) > 7
    columns = make_column_transformer(
        (StandardScaler(), ["duration", "amount", "age"]),
        (OneHotEncoder(sparse_output=False), ["status", "purpose", "savings", "employment"]),
    )
    pipeline = make_pipeline(columns, model).fit(frame[:700], y[:700])
    return pipeline, frame[700:].reset_index(drop=True)


# 1. Noise


def test_a_coin_is_not_called_a_proxy() -> None:
    model, rows = fitted_credit(LogisticRegression(max_iter=1000))
    for seed in range(20):
        coin = np.random.default_rng(seed).integers(0, 2, 300)
        audit = pu.audit(model, rows, {"coin": coin})
        assert "The model uses" not in str(audit)
        assert exit_code(document(audit)) == 0


@pytest.mark.parametrize(("rows", "sides"), [(100, 2), (256, 2), (1000, 20)])
def test_a_number_without_repeats_is_no_proxy_for_noise(rows: int, sides: int) -> None:
    for seed in range(20):
        rng = np.random.default_rng(seed)
        data = {"x": rng.normal(size=rows), "w": rng.normal(size=rows)}
        audit = pu.audit(SCORE, data, {"noise": rng.integers(0, sides, rows).astype(str)})
        assert first_answer(audit) == "No proxy use of noise found at these thresholds."


# 2. A perfect proxy


@pytest.mark.parametrize("derived", [True, False])
def test_a_model_that_reads_the_age_uses_an_age_limit(derived: bool) -> None:
    age = np.random.default_rng(0).integers(18, 90, 3000).astype(float)
    program = pu.Program.parse("ite(age > 35, 'a', 'b')")
    protected = {"over80": "age > 80" if derived else age > 80}
    with pytest.raises(AssertionError) as caught:
        pu.assert_no_proxy_use(program, {"age": age}, protected)
    message = " ".join(str(caught.value).split())
    assert message.startswith(
        "The model uses over80 explicitly: it reads `age`, which determines over80."
    )
    assert "If the model may read it, record that with `proxyuse judge`." in message


# 3. Nothing can be learned


@pytest.mark.parametrize(
    ("rows", "changes", "why", "advice"),
    [
        (1000, {"z": 1}, "z has only one value in these 1,000 rows.", "with several values of z."),
        (1, {}, "z has only one value in this row.", "with several values of z."),
        (2, {}, "2 rows are too few: even a copy of z could not", "Audit at least 47 rows."),
        (4, {"z": [0, 1, 0, 0]}, "4 rows are too few: even a copy", "Audit at least 58 rows."),
        (10, {}, "10 rows are too few: even a copy of z could not", "Audit at least 47 rows."),
        (1000, {"x": np.nan}, "`x` has no value in these 1,000 rows", "in which these values are"),
        (300, {"z": [f"u{n}" for n in range(300)]}, "z has 300 values in 300 rows", "group the"),
    ],
)
def test_rows_that_say_nothing_give_no_answer(
    rows: int, changes: dict[str, Any], why: str, advice: str, tmp_path: Path, capsys: Any
) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=rows), "w": rng.normal(size=rows)})
    frame = frame.assign(z=np.arange(rows) % 2).assign(**changes)
    with pytest.raises(AssertionError) as caught:
        pu.assert_no_proxy_use(SCORE, frame, "z")
    data, model = tmp_path / "rows.csv", tmp_path / "model.txt"
    frame.to_csv(data, index=False)
    model.write_text(str(SCORE))
    words = ["audit", "--model", str(model), "--data", str(data), "--protected", "z", "--quiet"]
    assert main([*words, "--min-cell", "1"]) == 3
    for text in (str(caught.value), capsys.readouterr().out):
        answer = " ".join(text.split())
        assert answer.startswith("Proxy use of z cannot be decided.")
        assert why in answer
        assert advice in answer


def test_a_range_of_guess_rates_that_says_nothing_is_not_printed() -> None:
    rows = {"x": [-1.0, 1.0], "w": [0.0, 0.0], "z": [0, 1]}
    text = " ".join(str(pu.audit(SCORE, rows, "z")).split())
    assert "The model reads `x`. How often you can guess z from this value is not shown" in text
    assert "0% to 100%" not in text


# 4. Everything is settled


@pytest.mark.parametrize(
    "model", [GradientBoostingClassifier(random_state=0), LogisticRegression(max_iter=1000)]
)
def test_a_default_model_is_settled(model: Any) -> None:
    pipeline, rows = fitted_credit(model)
    audit = pu.audit(pipeline, rows, {"older": rows["age"] > 45})
    assert audit.complete
    assert exit_code(document(audit)) in (0, 1)
    for sentence in audit.searched:
        assert "e+" not in sentence
        assert "0000" not in sentence


# 5. Direction


def test_different_rates_stand_beside_an_answer_without_proxies() -> None:
    rng = np.random.default_rng(3)
    group = rng.random(1500) < 0.5
    data = {"priors": rng.poisson(np.where(group, 3.2, 2.2))}
    audit = pu.audit(pu.Program.parse("ite(priors > 2, 'high', 'low')"), data, {"group": group})
    text = " ".join(str(audit).split())
    assert text.startswith("No proxy use of group found at these thresholds. Decisions by group")
    assert "The share of `low` is 65.5% (61.5% to 69.3%) for people who are not group" in text
    assert "39.9% (35.9% to 44.0%) for people who are group" in text
    assert "This is context, not the verdict." in text


# 6. The promise


def test_a_long_tail_at_epsilon_is_not_confirmed() -> None:
    for levels in (5_000, 40_000):
        epsilon = 0.5 * math.log(2) / (0.5 * math.log(4) + 0.5 * math.log(4 * levels))
        for seed in range(10):
            rng = np.random.default_rng([levels, seed])
            x = rng.integers(0, 2, 1000)
            z = np.where(rng.random(1000) < 0.5, x, 2 + rng.integers(0, levels, 1000)).astype(str)
            program = pu.Program.parse("ite(x == 1, 'a', 'b')")
            audit = pu.audit(program, {"x": x, "z": z}, "z", epsilon)
            assert audit.verdict is not pu.Verdict.CONFIRMED


@pytest.mark.parametrize("rows", [200, 1000])
def test_a_tree_that_fits_the_attribute_is_not_confirmed_on_its_training_rows(rows: int) -> None:
    for seed in range(5):
        rng = np.random.default_rng([rows, seed])
        X, z = rng.normal(size=(rows, 5)), rng.integers(0, 2, rows)
        y = np.where(rng.random(rows) < 0.9, z, 1 - z)
        model = DecisionTreeClassifier(max_depth=8, random_state=0).fit(X, y)
        audit = pu.audit(model, X, {"z": z})
        assert audit.verdict is not pu.Verdict.CONFIRMED
        text = " ".join(str(audit).split())
        assert "The model was trained on these rows" in text
        assert "--rows-are held-out" in text


def test_ten_copies_of_each_row_are_one_observation() -> None:
    for seed in range(10):
        rng = np.random.default_rng(seed)
        people = np.repeat(np.arange(100), 10)
        data = {"x": rng.normal(size=100)[people], "w": rng.normal(size=100)[people]}
        audit = pu.audit(SCORE, data, {"coin": rng.integers(0, 2, 100)[people]})
        assert audit.verdict is not pu.Verdict.CONFIRMED
        assert "900 rows are copies of other rows." in " ".join(str(audit).split())
        for witness in audit.witnesses:
            guess = witness.decomposition.guesses["coin"]
            assert guess.informed < 0.75


# 7. Numeric outputs


@pytest.mark.parametrize(
    "influence", [pu.SquaredChange(), pu.Moved(by=100), pu.Moved(by=0.05, relative=True)]
)
def test_a_proxy_in_a_price_fails(influence: Any) -> None:
    rng = np.random.default_rng(0)
    z = rng.integers(0, 2, 1500)
    x = np.where(rng.random(1500) < 0.93, z, 1 - z)
    price = pu.Program.parse("200 * x + 30 * w + 500")
    data = {"x": x, "w": rng.normal(size=1500)}
    with pytest.raises(AssertionError, match="The model uses a proxy for z") as caught:
        pu.assert_no_proxy_use(price, data, {"z": z}, influence=influence)
    assert "decisions about people" not in " ".join(str(caught.value).split())


# 8. Long numbers


def test_a_number_that_tells_an_attribute_apart_is_found_in_a_sum() -> None:
    rng = np.random.default_rng(0)
    z = rng.integers(0, 2, 4000)
    right = rng.random(4000) < 0.8
    data = {
        "x": np.abs(rng.normal(size=4000)) * np.where(right == (z == 1), 1, -1),
        "w": rng.normal(size=4000),
    }
    audit = pu.audit(SCORE, data, {"z": z})
    assert audit.verdict is pu.Verdict.CONFIRMED
    assert "x" in {witness.term for witness in audit.witnesses if witness.confirmed}
    assert "Knowing whether it is above " in " ".join(str(audit).split())
