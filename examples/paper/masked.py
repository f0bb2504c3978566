"""Baselines: looking from outside at a proxy that is masked.

A model's output can be tested for association with a protected attribute, and its inputs can be
ranked by importance, for example with SHAP. What do such tests reveal about a masked proxy?

All pregnant customers buy vitamins, and nobody else does. `ite(vitamins, ite(engaged, ad1, ad2),
ite(engaged, ad2, ad1))` decides which of two ads is shown. All four combinations are equally
frequent. The output is independent of pregnancy, so a black-box test finds nothing, with any number
of rows. SHAP explains a tree fitted to the example. It gives `vitamins` the same weight as
`engaged`, which is correct: both matter. But the mean attribution of each input is the same for
pregnant customers and others, so comparing the two groups shows nothing either. To be fair:
comparing the weight of `vitamins` with a table of the features' associations with pregnancy, where
it has the highest possible value, does reveal the proxy. That is association and influence again,
but only for inputs.

The second example hides the proxy from this comparison too. Pregnancy is now the exclusive or of
`x1` and `x2`, and each of the two is independent of it. No input is associated, the output is not,
and SHAP gives three inputs the same weight. The program tests `(x1 == 1) != (x2 == 1)`, and this
computation is a perfect proxy.

**What detection does not see.** Proxy use is defined by the intermediate computations of a program,
and many programs make the decisions of the second example. A tree that asks `engaged` last tests
`x1` and `x2` one at a time, computes nothing that is associated with pregnancy, and has no witness.
A tree that asks `engaged` first has two: each of its branches computes the exclusive or of `x1` and
`x2`, which is pregnancy. The definition is about the program, not about the function.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import shap
from sklearn.tree import DecisionTreeClassifier

import proxyuse as pu
from examples.paper.experiment import Compared, Reproduced, Table

MASKED = "ite(vitamins == 1, ite(engaged == 1, 1, 0), ite(engaged == 1, 0, 1))"
SPLIT = "ite((x1 == 1) != (x2 == 1), ite(engaged == 1, 1, 0), ite(engaged == 1, 0, 1))"
TREES = {  # with the same decisions as SPLIT
    "asks `engaged` last": (
        "ite(x1 == 1, "
        "ite(x2 == 1, ite(engaged == 1, 0, 1), ite(engaged == 1, 1, 0)), "
        "ite(x2 == 1, ite(engaged == 1, 1, 0), ite(engaged == 1, 0, 1)))"
    ),
    "asks `engaged` first": (
        "ite(engaged == 1, "
        "ite(x1 == 1, ite(x2 == 1, 0, 1), ite(x2 == 1, 1, 0)), "
        "ite(x1 == 1, ite(x2 == 1, 1, 0), ite(x2 == 1, 0, 1)))"
    ),
}


@dataclass(frozen=True, slots=True, eq=False)
class Seen:
    """What different eyes see of one program with the proxy `guard` inside.

    Attributes
    ----------
    output, inputs : association with pregnancy.
    weights : mean absolute SHAP value of each input.
    apart : the largest difference of an input's mean SHAP value between the two groups.
    guard : what detection says of the guard.
    """

    output: float
    inputs: dict[str, float]
    weights: dict[str, float]
    apart: float
    guard: pu.Decomposition


def seen(text: str, X: pd.DataFrame, pregnant: pd.Series[int]) -> Seen:
    """Look at a program, with SHAP at a scikit-learn tree that decides the same."""
    program = pu.Program.parse(text)
    decisions = program.predict(X).astype(int)
    tree = DecisionTreeClassifier(random_state=0).fit(X, decisions)
    assert (tree.predict(X) == decisions).all()
    protected = {"pregnant": pregnant}
    decompositions = pu.audit(program, X, protected, epsilon=1, delta=0).decompositions
    of = {str(d.positions[0]): d for d in decompositions if len(d.positions) == 1}
    inputs = {d.term: d.associations["pregnant"] for d in decompositions if d.term in X}
    values = shap.TreeExplainer(tree)(X).values[:, :, 1]
    means = [values[pregnant == group].mean(axis=0) for group in (0, 1)]
    return Seen(
        of["root"].associations["pregnant"], inputs,
        dict(zip(map(str, X), np.abs(values).mean(axis=0).tolist(), strict=True)),
        float(np.abs(means[1] - means[0]).max()),
        of["0"],
    )  # fmt: skip


def masked() -> Seen:
    """The masked example on 4,000 rows, 1,000 of each kind."""
    kinds = pd.DataFrame({"vitamins": [0, 0, 1, 1], "engaged": [0, 1, 0, 1]})
    X = pd.concat([kinds] * 1000, ignore_index=True)
    return seen(MASKED, X, X["vitamins"])


def halves() -> tuple[pd.DataFrame, pd.Series[int]]:
    """People of the second example, and who is pregnant: 4,000 rows, 500 of each kind."""
    bits = np.arange(8)
    kinds = pd.DataFrame({"x1": bits // 4, "x2": bits // 2 % 2, "engaged": bits % 2})
    X = pd.concat([kinds] * 500, ignore_index=True)
    return X, X["x1"] ^ X["x2"]


def split() -> Seen:
    """The same with the proxy split in two."""
    return seen(SPLIT, *halves())


def in_tree(text: str) -> pu.Audit:
    """What detection finds in a tree with the decisions of the second example."""
    X, pregnant = halves()
    program = pu.Program.parse(text)
    assert (program.predict(X) == pu.Program.parse(SPLIT).predict(X)).all()
    return pu.audit(program, X, {"pregnant": pregnant}, epsilon=1, delta=0)


def trees_table() -> Table:
    """Two trees that decide the same, and what is found in them."""
    rows = []
    for name, text in TREES.items():
        audit = in_tree(text)
        highest = max(d.associations["pregnant"] for d in audit.decompositions)
        rows.append((name, f"`{text}`", f"{highest:g}", str(len(audit.witnesses))))
    return Table(
        "Two trees with the decisions of the program that is split in two, at (1, 0)",
        ("tree", "program", "highest association in it", "witnesses"),
        tuple(rows),
    )


def views_table(views: Sequence[Seen]) -> Table:
    """What each way sees of the two examples."""

    def listed(values: dict[str, float]) -> str:
        return ", ".join(f"`{name}` {value:.3g}" for name, value in values.items())

    def line(name: str, *cells: str) -> tuple[str, ...]:
        return (name, *cells)

    return Table(
        "What each way sees of the two masked programs",
        ("", "masked", "split in two"),
        (
            line("black box: association of the output with pregnancy",
                 *(f"{v.output:g}" for v in views)),
            line("features: association of each input", *(listed(v.inputs) for v in views)),
            line("SHAP: mean absolute value of each input", *(listed(v.weights) for v in views)),
            line("SHAP: largest difference of means, pregnant and not",
                 *(f"{abs(round(v.apart, 9)):g}" for v in views)),
            line("detection: association of the guard",
                 *(f"{v.guard.associations['pregnant']:g}" for v in views)),
            line("detection: influence of the guard", *(f"{v.guard.influence:g}" for v in views)),
        ),
    )  # fmt: skip


def reproduce() -> Reproduced:
    """Look at the masked programs from all sides."""
    views = (masked(), split())
    guard = views[0].guard
    return Reproduced(
        compared=[
            Compared("masked example: association of the output", "0", views[0].output),
            Compared("its guard: association", "1", guard.associations["pregnant"]),
            Compared("its guard: influence", "0.5", guard.influence or 0.0),
        ],
        tables=[views_table(views), trees_table()],
    )
