"""What the tests of every translated model family share: real data, and the question itself."""

from __future__ import annotations

import numpy as np
import pandas as pd

from proxyuse.datasets import load_adult, load_contraceptive, load_student
from proxyuse.lang.nodes import Compare, Const, Var
from proxyuse.models.registry import translate


def encoded(frame):
    """Words become their number in sorted order."""
    return frame.apply(lambda c: c if c.dtype.kind in "if" else pd.factorize(c, sort=True)[0])


def predicts_the_same(model, X, program=None):
    program = program or translate(model)
    expected, found = model.predict(X), program.predict(X)
    assert found.tolist() == expected.tolist()
    return program


def thresholds(program):
    """The columns a program compares with numbers, and the numbers, each pair once."""
    found = set()
    for term in program.points.terms:
        match term:
            case Compare(_, Var(name), Const(float() as limit)):
                found.add((name, limit))
    return sorted(found)


DATA = {
    "adult": lambda: (encoded(load_adult().drop(columns="income")), load_adult()["income"]),
    "student": lambda: (
        encoded(load_student("por").drop(columns=["G1", "G2", "G3"])),
        load_student("por")["G3"],
    ),
    "contraceptive": lambda: (
        load_contraceptive().drop(columns="method"),
        load_contraceptive()["method"],
    ),
}


# What the tests of boosting libraries share


def sample(data, rows=3000):
    """Some rows of the bundled data, in float64, and their classes as numbers from 0."""
    X, y = DATA[data]()
    chosen = np.random.default_rng(0).permutation(len(X))[:rows]
    if data == "student":
        y = y // 5
    return X.iloc[chosen].astype(float), pd.factorize(y.iloc[chosen], sort=True)[0]


def with_categories(rows=2000):
    """Rows with columns of categories, words and numbers, and two classes."""
    frame = load_adult().iloc[:rows]
    X = frame[["age", "workclass", "education", "occupation", "hours_per_week"]].copy()
    for name in ("workclass", "education", "occupation"):
        X[name] = X[name].astype("category")
    X["level"] = pd.Categorical(frame["education_num"])
    return X, (frame["income"] == ">50K").astype(int)


def learnable(objective):
    """Rows, and a target that an objective can learn."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4))
    if objective.startswith("multi"):
        return X, rng.integers(0, 3, 400)
    if any(word in objective for word in ("gamma", "aft", "mape")):
        return X, np.exp(X[:, 0] / 2)
    return X, (X[:, 0] + rng.normal(size=400) * 0.5 > 0).astype(float)


def near_thresholds(program, X):
    """Rows with one value at, and next to, each threshold in both float types, or near 0."""
    base, rows = np.asarray(X, dtype=np.float64), []
    for number, (name, threshold) in enumerate(thresholds(program)):
        single = np.float32(threshold)
        above = np.nextafter(single, np.float32(np.inf))
        for value in (
            threshold,
            np.nextafter(threshold, np.inf),
            np.nextafter(threshold, -np.inf),
            single,
            above,
            np.nextafter(single, np.float32(-np.inf)),
            (float(single) + float(above)) / 2,
            0.0,
            1e-35,
            -1e-36,
            np.nan,
        ):
            row = base[number % len(base)].copy()
            row[program.inputs.index(name)] = value
            rows.append(row)
    return np.array(rows)
