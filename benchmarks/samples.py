"""Encoded rows and translated programs, for how time grows and for parts of the work.

Adult, with words replaced by their number and everything in float32.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

import proxyuse as pu
from proxyuse.datasets import load_adult

Array = npt.NDArray[Any]

NO_SUBSETS = pu.Budget(subsets=0, search=0, grow=0, occurrences=0)
"""Time spent on combinations depends on the budget alone, so growth is measured without it."""

MARRIED = ("Married-civ-spouse", "Married-AF-spouse", "Married-spouse-absent")


@dataclass(frozen=True, slots=True, eq=False)
class Adult:
    """48,842 rows: features, income, and whether someone is married."""

    X: Array
    y: Array
    names: tuple[str, ...]
    married: Array


def adult(rows: int | None = None) -> Adult:
    """The data; with `rows`, that many drawn from it."""
    frame = load_adult()
    features = frame.drop(columns="income")
    encoded = features.apply(
        lambda column: column if column.dtype.kind in "if" else pd.factorize(column, sort=True)[0]
    )
    chosen = np.arange(len(frame))
    if rows is not None:
        chosen = np.random.default_rng(0).integers(0, len(frame), rows)
    status = frame["marital_status"]
    return Adult(
        X=np.ascontiguousarray(encoded.to_numpy(np.float32)[chosen]),
        y=(frame["income"] == ">50K").to_numpy().astype(np.int64)[chosen],
        names=tuple(features.columns),
        married=status.isin(MARRIED).to_numpy()[chosen],
    )


def tree() -> tuple[Any, pu.Program]:
    """A tree of 500 leaves, trained on all rows, and its program."""
    from sklearn.tree import DecisionTreeClassifier

    data = adult()
    model = DecisionTreeClassifier(max_leaf_nodes=500, random_state=0).fit(data.X, data.y)
    return model, pu.translate(model, data.names)


def linear(terms: int, rows: int) -> tuple[pu.Program, Array, Array]:
    """A linear classifier, columns of as many distinct values as rows, and a protected bit."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, terms))
    weights = np.round(rng.normal(size=terms), 3)
    total = " + ".join(f"{weight} * v{i}" for i, weight in enumerate(weights.tolist(), 1))
    header = "lambda " + ", ".join(f"v{i}" for i in range(1, terms + 1)) + " . "
    program = pu.Program.parse(f"{header}ite({total} > 0.5, 1, 0)")
    return program, X, X[:, 0] + rng.normal(size=rows) > 0
