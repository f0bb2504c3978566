"""Three models of the same size: a tree, a forest and a logistic regression.

Does proxy use depend on the kind of model? Three models predict income from the same 1,000 people
of Adult and the same six columns, and are audited for marital status, which is not one of the
columns.

A logistic regression with six columns has 71 decompositions: all sets of its terms, its variables,
the comparison and the whole program. By default, an audit lists only the smallest sets of terms
that are witnesses. Here it lists all of them (`all_sets=True`). The columns are the six that differ
most between the two income classes (the largest F statistics in the sample, without marital
status). The number of leaves of the tree and of the forest of three trees is chosen to bring their
number of decompositions closest to 71. So rows, columns and size are the same, and only the kind of
model differs.

In the picture, every computation of the three models is a point. The highest associations in all
three models come from one column, the relationship to the head of the household. The tree and the
forest test whether it is `Husband` (`relationship <= 0.5`), and nothing else in them has a higher
association with marital status. This guard has more influence in the tree than in the forest, which
has it once in each tree. In the regression, the column is one number in a sum. It has nearly the
same association there, and its influence is just below the threshold. Together with other terms it
passes: every witness of the regression with an association above 0.2 is a set of terms that
includes the relationship.

In the forest, two of the three trees and their sum are both associated and influential. The third
tree alone changes few decisions. The forest's decision has an association below the threshold. In
the tree, the decision itself is a witness, and the most influential one of all three models. The
regression has by far the most witnesses. Each set of its terms is a computation, and each term is
in half of the sets, so the number of witnesses does not mean that the regression uses marital
status more. Counting only the smallest sets, as an audit does by default, it has about as many
witnesses as the other two.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import f_classif
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import proxyuse as pu
from examples.paper.experiment import Picture, Reproduced, Table
from proxyuse.datasets import load_adult

EPSILON, DELTA = 0.05, 0.05
COLUMNS = 6
LOOKS = {
    "tree": ("#0072b2", "o"),
    "forest of 3": ("#d55e00", "^"),
    "logistic regression": ("#009e73", "s"),
}
REGION = "#f97316"
NAMED = {  # the most associated witness of a model, and the most influential one
    "tree": ("is it a husband?", "the whole tree"),
    "forest of 3": ("the same, in two trees", "the sum of the trees"),
    "logistic regression": ("relationship and sex", "five of six terms"),
}
BESIDE = {  # how many points a name is off its witness, and which of its ends is there
    "tree": ((-8, 0, "right"), (8, 0, "left")),
    "forest of 3": ((-8, 0, "right"), (0, 10, "left")),
    "logistic regression": ((-7, 0, "right"), (6, 2, "left")),
}


@dataclass(frozen=True)
class People:
    """The sample, its marital status and income; and the people that were not drawn."""

    X: pd.DataFrame
    marital: pd.Series[Any]
    income: pd.Series[Any]
    others: pd.DataFrame
    incomes: pd.Series[Any]


def people() -> People:
    """The paper's sample of Adult, words as numbers, with the columns that the models use."""
    frame = load_adult().iloc[:32_561].dropna().drop(columns="fnlwgt")
    codes = frame.apply(lambda c: c if c.dtype.kind in "if" else pd.factorize(c, sort=True)[0])
    X, others, income, incomes = train_test_split(
        codes.drop(columns="income"), codes["income"], train_size=1000, random_state=0
    )
    allowed = X.drop(columns="marital_status")
    apart = np.argsort(-f_classif(allowed, income)[0])[:COLUMNS]
    columns = list(allowed.columns[np.sort(apart)])
    return People(X[columns], X["marital_status"], income, others[columns], incomes)


def audited(model: Any, sample: People, all_sets: bool = False) -> pu.Audit:
    """What a model computes, and marital status."""
    protected = {"marital status": sample.marital}
    return pu.audit(
        model, sample.X, protected, EPSILON, DELTA, all_sets=all_sets, max_support=256, bins=16
    )


def nearest(
    make: Callable[[int], Any], sizes: Iterable[int], wanted: int, sample: People
) -> tuple[Any, pu.Audit]:
    """The model whose number of decompositions is nearest to what is wanted, and its audit."""
    models = [make(size).fit(sample.X, sample.income) for size in sizes]
    audits = [(model, audited(model, sample)) for model in models]
    return min(audits, key=lambda pair: abs(len(pair[1].decompositions) - wanted))


def three(sample: People) -> dict[str, tuple[Any, pu.Audit]]:
    """The three models and their audits."""
    linear: Any = make_pipeline(StandardScaler(), LogisticRegression())
    linear.fit(sample.X, sample.income)
    audit = audited(linear, sample, all_sets=True)
    wanted = len(audit.decompositions)
    tree = nearest(
        lambda leaves: DecisionTreeClassifier(max_leaf_nodes=leaves, random_state=0),
        range(15, 31), wanted, sample,
    )  # fmt: skip
    forest = nearest(
        lambda leaves: RandomForestClassifier(3, max_leaf_nodes=leaves, random_state=0),
        range(4, 12), wanted, sample,
    )  # fmt: skip
    return dict(zip(LOOKS, (tree, forest, (linear, audit)), strict=True))


def reproduce() -> Reproduced:
    """Train the three models, look for marital status in each, and lay them over one another."""
    sample = people()
    models = three(sample)
    return Reproduced(
        tables=[
            Table(
                f"Accuracy, size, and the witnesses at ({EPSILON}, {DELTA})",
                (
                    "", "accuracy on the sample", "on the others", "decompositions", "complete",
                    "witnesses", "different terms", "strongest association of a witness",
                    "strongest influence of a witness",
                ),
                tuple(row(name, *found, sample) for name, found in models.items()),
            ),
            Table(
                "The most associated witness, and the column behind it",
                ("", "witness", "association", "influence",
                 "`relationship`: association", "its influence"),
                tuple(strongest(name, audit) for name, (_, audit) in models.items()),
            ),
        ],
        pictures=[
            Picture(
                "similar",
                draw({name: audit for name, (_, audit) in models.items()}),
                "Every computation of the three models, and marital status; filled are witnesses",
            )
        ],
        remarks=[
            "The columns: " + ", ".join(f"`{name}`" for name in sample.X.columns) + ".",
            "A larger or smaller tree or forest may have other witnesses; the three models are one "
            "example and not a law of their kinds.",
        ],
    )  # fmt: skip


def row(name: str, model: Any, audit: pu.Audit, sample: People) -> tuple[str, ...]:
    """What is measured of one model."""
    return (
        name,
        f"{model.score(sample.X, sample.income):.3f}",
        f"{model.score(sample.others, sample.incomes):.3f}",
        f"{len(audit.decompositions)}",
        "yes" if audit.complete else "no",
        f"{len(audit.witnesses)}",
        f"{len({w.term for w in audit.witnesses})}",
        f"{max(w.association for w in audit.witnesses):.4f}",
        f"{max(w.influence for w in audit.witnesses):.4f}",
    )


def most_associated(audit: pu.Audit) -> pu.Witness:
    """The witness of the strongest association; of several, the most influential and smallest."""
    return max(audit.witnesses, key=lambda w: (w.association, w.influence, -w.size))


def strongest(name: str, audit: pu.Audit) -> tuple[str, ...]:
    """The witness of the strongest association, and the relationship wherever it is read."""
    first = most_associated(audit)
    read = [d for d in audit.decompositions if d.term == "relationship"]
    most = max(read, key=lambda d: d.influence or 0.0)
    return (
        name,
        f"`{first.term}`",
        f"{first.association:.4f}",
        f"{first.influence:.4f}",
        f"{most.associations['marital status']:.4f}",
        f"{most.influence or 0.0:.4f}",
    )


def draw(audits: dict[str, pu.Audit]) -> Axes:
    """All computations of all models, association across and influence up."""
    ax: Axes = Figure(figsize=(7.2, 4.8), layout="constrained").subplots()
    for name, audit in audits.items():
        color, marker = LOOKS[name]
        frame = audit.to_frame()
        for those, face, opaque in (
            (frame[~frame["witness"]], "none", 0.55),
            (frame[frame["witness"]], color, 0.85),
        ):
            ax.scatter(
                those["association"], those["influence"], s=26, marker=marker, facecolors=face,
                edgecolors=color if face == "none" else "white", alpha=opaque, zorder=3,
                linewidths=0.9 if face == "none" else 0.4, label="" if face == "none" else name,
            )  # fmt: skip
        label(ax, name, audit)
    right, top = 0.42, 1.08 * ax.get_ylim()[1]
    ax.add_patch(Rectangle((EPSILON, DELTA), right, top, color=REGION, alpha=0.08, linewidth=0))
    ax.plot([EPSILON] * 2, [DELTA, top], color=REGION, linewidth=0.9, zorder=1)
    ax.plot([EPSILON, right], [DELTA] * 2, color=REGION, linewidth=0.9, dashes=(4, 3), zorder=1)
    ax.set_xlim(-0.008, right)
    ax.set_ylim(-0.012, top)
    ax.set_xlabel("association with marital status")
    ax.set_ylabel("influence on decisions")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, fontsize=8, loc="lower left", bbox_to_anchor=(0, 1), ncols=3)
    ax.annotate(
        f"proxy use: association \u2265 {EPSILON:g}, influence > {DELTA:g}", (1, 1), (-5, -5),
        xycoords="axes fraction", textcoords="offset points", ha="right", va="top", fontsize=7.5,
        color="#c2410c",
    )  # fmt: skip
    return ax


def label(ax: Axes, name: str, audit: pu.Audit) -> None:
    """Name the most associated and the most influential witness of a model."""
    ends = (
        most_associated(audit),
        max(audit.witnesses, key=lambda w: w.influence),
    )
    for witness, text, (x, y, end) in zip(ends, NAMED[name], BESIDE[name], strict=True):
        ax.annotate(
            text, (witness.association, witness.influence), (x, y), textcoords="offset points",
            fontsize=7.5, color=LOOKS[name][0], va="center", ha=end,
        )  # fmt: skip
