"""What the tests of every translated model family share: real data, and the question itself."""

from __future__ import annotations

import pandas as pd

from proxyuse.datasets import load_adult, load_contraceptive, load_student
from proxyuse.lang.nodes import Compare, Const, Var
from proxyuse.models.registry import translate


def encoded(frame):
    """Words become their number in sorted order."""
    return frame.apply(lambda c: c if c.dtype.kind in "if" else pd.factorize(c, sort=True)[0])


def says_the_same(model, X, program=None):
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
