"""A model with a proxy, rows that compare its repairs, and the repairs, each made once."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import proxyuse as pu
from proxyuse.verdict import Verdict

ROWS = 600
COLUMNS = ["rooms", "garden", "age", "hours"]
OPTIONS: dict[str, Any] = {"protected": "married", "epsilon": 0.1, "delta": 0.05, "seconds": None}
QUICK: Any = ("constants", "refit", "drop")
MODELS = {
    "tree": DecisionTreeClassifier(max_depth=3, random_state=0),
    "logistic": LogisticRegression(max_iter=1000),
}


@cache
def people(seed: int) -> pd.DataFrame:
    """How many rooms someone has is nearly another name for being married."""
    rng = np.random.default_rng(seed)
    married = rng.integers(0, 2, ROWS)
    rooms = np.where(rng.random(ROWS) < 0.05, 1 - married, married) * 5 + rng.integers(0, 5, ROWS)
    data = {
        "rooms": rooms,
        "garden": np.where(rng.random(ROWS) < 0.35, rng.integers(0, 2, ROWS), rooms >= 5),
        "age": rng.integers(0, 50, ROWS),
        "hours": rng.integers(0, 50, ROWS),
    }
    score = 4 * rooms + data["age"] + data["hours"] + rng.normal(0, 6, ROWS)
    return pd.DataFrame(data).assign(
        paid=np.where(score > 66, "yes", "no"),
        married=np.where(married == 1, "married", "single"),
        coin=rng.integers(0, 2, ROWS),
    )


DATA, OTHERS = people(0), people(1)
VALIDATION = OTHERS[COLUMNS], OTHERS["paid"]


@cache
def fitted(name: str) -> Any:
    """A model that was trained on the rows of the repair."""
    return clone(MODELS[name]).fit(DATA[COLUMNS], DATA["paid"])


@cache
def validated(name: str) -> pu.Repair:
    """A repair with validation rows."""
    return pu.repair(
        fitted(name), DATA, "paid", validation=VALIDATION, select="max", **OPTIONS
    )  # fmt: skip


@cache
def retrained(name: str) -> pu.Repair:
    """A repair whose best candidate was trained again."""
    repair = pu.repair(
        fitted(name), DATA, "paid", validation=VALIDATION, select="max",
        methods=("drop", "coarsen"), **OPTIONS,
    )  # fmt: skip
    assert repair.trained_again
    return repair


def fitted_size(name: str) -> int:
    """The number of nodes of the program of the original model."""
    return pu.translate(fitted(name)).size


def accuracy(model: Any, data: pd.DataFrame, columns: list[str] = COLUMNS) -> float:
    """The accuracy on some rows."""
    return float(np.mean(model.predict(data[columns]) == data["paid"]))


def accuracy_of_array(model: Any) -> float:
    """The accuracy of a model that was fitted on an array."""
    return float(np.mean(model.predict(DATA[COLUMNS].to_numpy()) == DATA["paid"]))


def is_clean(model: Any) -> bool:
    """Whether nothing is confirmed, and nothing passes with its bias-corrected association."""
    audit = pu.audit(model, DATA, "married", epsilon=0.1, delta=0.05)
    return audit.verdict is not Verdict.CONFIRMED and all(
        w.validity is not None and (w.validity.corrected_association or 0) < 0.1
        for w in audit.witnesses
    )
