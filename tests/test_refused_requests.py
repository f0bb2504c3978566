"""Requests that an audit refuses: each error names what is wrong and what to pass instead."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeRegressor

import proxyuse as pu

ROWS = pd.DataFrame({"age": np.arange(40.0), "pay": np.arange(40.0) % 7})
Z = np.arange(40) % 2
MODEL = make_pipeline(SimpleImputer(), LogisticRegression()).fit(ROWS, Z)


def refusal(model: object, X: object, protected: object, **options: Any) -> str:
    with pytest.raises(pu.DataError) as caught:
        pu.audit(model, X, protected, **options)
    return str(caught.value)


def test_a_decision_that_is_a_number() -> None:
    message = refusal(MODEL, ROWS, {"z": Z}, decision=0.5)
    assert message == (
        "decision: expected Threshold, Positive or TopK, got 0.5; pass for example Threshold(0.5)"
    )


def test_every_line_of_a_models_own_error_is_kept() -> None:
    words = ROWS.assign(age=["old"] * 40)
    message = refusal(MODEL, words, {"z": Z})
    assert "could not convert string to float: 'old'" in message
    assert "\n" not in message


def test_no_rows() -> None:
    assert refusal(MODEL, ROWS[:0], {"z": Z[:0]}) == "the data has no rows; pass at least one"


def test_squared_change_of_a_model_that_always_says_the_same() -> None:
    constant = DecisionTreeRegressor().fit(ROWS, np.ones(40))
    message = refusal(constant, ROWS, {"z": Z}, influence=pu.SquaredChange())
    assert "QuantitativeInputInfluence" in message


@pytest.mark.parametrize(
    ("option", "value"), [("bins", 0), ("bins", "a"), ("max_support", 1), ("max_support", 10**400)]
)
def test_options_of_binning_are_named(option: str, value: object) -> None:
    message = refusal(MODEL, ROWS, {"z": Z}, **{option: value})
    assert message.startswith(f"{option}: expected ")
    assert "an integer of at least" in message
