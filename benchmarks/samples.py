"""The data and the models that are measured.

Adult, with words replaced by their number and everything in float32, as scikit-learn's trees
want it, so that `predict` has nothing to convert.
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

MARRIED = ("Married-civ-spouse", "Married-AF-spouse", "Married-spouse-absent")


@dataclass(frozen=True, slots=True, eq=False)
class Adult:
    """48,842 rows: features, income, and the protected attribute with 7 values and with 2."""

    X: Array
    y: Array
    names: tuple[str, ...]
    marital_status: Array
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
        marital_status=pd.factorize(status, sort=True)[0][chosen],
        married=status.isin(MARRIED).to_numpy()[chosen],
    )


def tree() -> tuple[Any, pu.Program]:
    """A tree of 500 leaves, trained on all rows, and its program."""
    from sklearn.tree import DecisionTreeClassifier

    data = adult()
    model = DecisionTreeClassifier(max_leaf_nodes=500, random_state=0).fit(data.X, data.y)
    return model, pu.translate(model, data.names)


def forest() -> tuple[Any, pu.Program]:
    """100 trees of depth 8, trained on all rows, and their program."""
    from sklearn.ensemble import RandomForestClassifier

    data = adult()
    model = RandomForestClassifier(100, max_depth=8, random_state=0, n_jobs=1)
    model.fit(data.X, data.y)
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
