"""Three models in one picture: a tree, a forest and a linear model.

The extended version of the paper (appendix D, figure 8) shows three models of the same 1,000 people
in one picture: a tree of depth 5, a forest of three trees of depth 5, and a linear model with an L1
penalty. All predict income from Adult. Marital status must not be used, and is 0 for everyone.
Numeric columns are scaled. Which model uses it most?

In all three, the strongest proxy comes from the role in the family. The tree tests once whether
someone is a husband, and this changes the decision for more than an eighth of the pairs of people.
Each tree of the forest has the same test, and each of these positions alone has much less
influence, because the other two trees can outvote it. But it is one computation at three positions,
and all three together have nearly as much influence as in the tree. The linear model has one term
for the column, with nearly the same association. It is one of five terms, and its influence is
lower than in the tree and in the forest as a whole. So by this proxy the tree uses marital status
most, the forest nearly as much, and the linear model less. Looking at single positions would rank
the forest last. The column itself, at all its positions, gives the same order. Sums of the linear
model's term with other terms have more influence and less association.

All figures but one match the authors'. After scaling, the column `workclass` has a value at the
threshold of one of the tree's tests, and rounding moves its 37 people to the other side. Without
scaling, the influence in the tree matches too ([the workflow](adult.md)). To match the other
figures, the programs must be written as in [the authors'
code](https://github.com/cmu-transparency/artifact-proxyuse-ccs2017), and these are not quite the
trained models:

- **The forest** is written as a majority vote of its trees. A forest of scikit-learn adds up the
  *probabilities* of its trees, and makes different decisions for some people.
- **The linear model** is written as "the sum of the terms is at least 0". The intercept is dropped,
  so it says yes to half of the people, although a quarter has a high income. The authors' picture
  calls it logistic. It is a lasso, a linear regression of the class.

So the table also shows the models as they really decide. The test for husbands has different
influences in the forest, although nearly the same at all positions together. The linear model, with
its intercept and a threshold of one half, says no to almost everyone, so its term has hardly any
influence. Proxy use is a property of a program, so analyze the program that is deployed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import Lasso
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import proxyuse as pu
from examples.paper.experiment import Compared, Picture, Reproduced, Table
from proxyuse.datasets import load_adult
from proxyuse.lang.build import add, const, mul
from proxyuse.lang.nodes import Compare, Relation, Term, Var, variables

COLOURS = {"tree": "#0072b2", "forest": "#d55e00", "linear model": "#009e73"}
MARKERS = {"tree": "o", "forest": "^", "linear model": "s"}
NAMES = {
    "tree": "is it a husband?",
    "forest": "the same, in one of three trees",
    "linear model": "the term of the place in the family",
}
ABOVE = {"tree": 9, "forest": 0, "linear model": -9}  # points that a name is above its point
EVERYWHERE = "the same, in all three trees"


@dataclass(frozen=True, eq=False)
class People:
    """The sample in scaled numbers, marital status, and who has a high income."""

    X: pd.DataFrame
    marital: pd.Series[Any]
    income: pd.Series[Any]

    def audit(self, model: object, all_sets: bool = False) -> pu.Audit:
        """Look for marital status in a model or program."""
        protected = {"marital status": self.marital}
        return pu.audit(
            model, self.X, protected, 0.05, 0.01, all_sets=all_sets, max_support=256, bins=16
        )


@dataclass(frozen=True, eq=False)
class Written:
    """A model, a program that decides the same, and the program that the authors write for it."""

    model: Any
    decides: pu.Program
    authors: pu.Program


def people() -> People:
    """The paper's sample of Adult; scaled by all complete rows of the training part."""
    frame = load_adult().iloc[:32_561].dropna().drop(columns="fnlwgt")
    codes = frame.apply(lambda c: c if c.dtype.kind in "if" else pd.factorize(c, sort=True)[0])
    every = codes.drop(columns="income").astype(float)
    X, _, income, _ = train_test_split(every, codes["income"], train_size=1000, random_state=0)
    scaled = StandardScaler().fit(every).transform(X)
    numbers = pd.DataFrame(scaled, columns=X.columns, index=X.index)
    return People(numbers.assign(marital_status=0.0), X["marital_status"].astype(int), income)


def trained(sample: People) -> dict[str, Written]:
    """The three models, and the programs made of them."""
    X, y = sample.X, sample.income
    tree = DecisionTreeClassifier(max_depth=5, random_state=0).fit(X, y)
    forest = RandomForestClassifier(3, max_depth=5, max_features=None, random_state=0).fit(X, y)
    lasso = Lasso(alpha=0.08).fit(X, y)
    terms = [
        mul(const(weight), Var(str(name)))
        for name, weight in zip(X, lasso.coef_, strict=True)
        if weight
    ]
    votes = [voting(one, X) for one in forest.estimators_]
    half = add(*terms, const(lasso.intercept_))
    return {
        "tree": Written(tree, *[pu.translate(tree)] * 2),
        "forest": Written(forest, pu.translate(forest), program(add(*votes), 1.5)),
        "linear model": Written(lasso, program(half, 0.5), program(add(*terms), 0.0)),
    }


def voting(tree: DecisionTreeClassifier, X: pd.DataFrame) -> Term:
    """One tree of the forest, which says 0 or 1."""
    tree.feature_names_in_ = np.array(X.columns, dtype=object)
    return pu.translate(tree).without_missing(frozenset(map(str, X))).term


def program(total: Term, border: float) -> pu.Program:
    """Whether a sum reaches a border."""
    return pu.Program(Compare(Relation.GE, total, const(border)))


def questions(audit: pu.Audit) -> list[pu.Decomposition]:
    """Where it is asked whether someone is a husband, one at a time, most influential first.

    A linear model does not ask it; there it is the term of that column.
    """
    tests = [
        d
        for d in audit.decompositions
        if d.occurrences == 1 and d.size == 3 and variables(d.expression) == ("relationship",)
    ]
    best = max(associated(d) for d in tests)  # other questions ask for other places
    return sorted(
        (d for d in tests if associated(d) == best), key=lambda d: d.influence or 0.0, reverse=True
    )


def everywhere(audit: pu.Audit) -> pu.Decomposition:
    """The same question at all of its places at once."""
    one = questions(audit)[0]
    same = [d for d in audit.decompositions if d.term == one.term]
    return max(same, key=lambda d: d.occurrences)


def audited(models: dict[str, Written], sample: People) -> dict[str, pu.Audit]:
    """Audit the programs as the authors write them, with every sum of the linear model's terms."""
    return {
        name: sample.audit(written.authors, all_sets=name == "linear model")
        for name, written in models.items()
    }


def reproduce() -> Reproduced:
    """Audit the programs as the authors write them, then the models as they decide."""
    sample = people()
    models = trained(sample)
    audits = audited(models, sample)
    (guard,) = questions(audits["tree"])
    votes = questions(audits["forest"])
    (term,) = questions(audits["linear model"])
    return Reproduced(
        compared=[
            Compared("tree, is it a husband?: association", "0.383606651953", associated(guard)),
            Compared("its influence", "0.136436", guard.influence or 0.0),
            Compared("forest, the same question: association", "0.383606651953",
                     associated(votes[0])),
            Compared("its influence in one tree", "0.037536", votes[0].influence or 0.0),
            Compared("in another", "0.031048", votes[1].influence or 0.0),
            Compared("in the third", "0.011896", votes[2].influence or 0.0),
            Compared("in all three at once", None, everywhere(audits["forest"]).influence or 0.0),
            Compared("linear model, the weight of `relationship`", "-0.026", weight(models)),
            Compared("association of that term", "0.382779488253", associated(term)),
            Compared("its influence", "0.109057", term.influence or 0.0),
        ],
        tables=[
            Table(
                "As the authors write the models, and as these decide",
                ("", "written", "accuracy", "says yes to", "same decision as the model",
                 "influence of asking for husbands, or of the term, at each place",
                 "at all places"),
                tuple(row for name in models for row in rows(name, models[name], sample)),
            )
        ],
        pictures=[
            Picture(
                "models", draw(audits),
                "Every computation of the three programs as the authors write them, and marital "
                "status",
            )
        ],
    )  # fmt: skip


def associated(decomposition: pu.Decomposition) -> float:
    """Its association with marital status."""
    return decomposition.associations["marital status"]


def weight(models: dict[str, Written]) -> float:
    """The weight of the place in the family in the linear model."""
    lasso = models["linear model"].model
    return float(lasso.coef_[list(lasso.feature_names_in_).index("relationship")])


def rows(name: str, written: Written, sample: People) -> list[tuple[str, ...]]:
    """The rows of the table of one model: one if the authors write it as it decides, else two."""
    predicted = np.asarray(written.model.predict(sample.X))
    decided = predicted >= 0.5
    rows: list[tuple[str, ...]] = []
    programs = {"by the authors": written.authors, "as it decides": written.decides}
    if written.authors == written.decides:
        programs = {"as it decides, by the authors too": written.decides}
    for how, one in programs.items():
        yes = np.asarray(one.predict(sample.X)).astype(bool)
        audit = sample.audit(one)
        influences = ", ".join(f"{d.influence or 0.0:.4f}" for d in questions(audit))
        rows.append((
            name, how, f"{np.mean(yes == (sample.income == 1)):.3f}", f"{yes.mean():.1%}",
            f"{np.mean(yes == decided):.1%}", influences,
            f"{everywhere(audit).influence or 0.0:.4f}",
        ))  # fmt: skip
    return rows


def draw(audits: dict[str, pu.Audit]) -> Axes:
    """All computations of all programs, association across and influence up."""
    ax: Axes = Figure(figsize=(7.2, 4.8), layout="constrained").subplots()
    for name, audit in audits.items():
        points = audit.to_frame()
        ax.scatter(
            points["association"], points["influence"], s=26, marker=MARKERS[name],
            c=COLOURS[name], alpha=0.65, edgecolors="white", linewidths=0.4, label=name, zorder=3,
        )  # fmt: skip
        label(ax, name, questions(audit)[0], NAMES[name])
    label(ax, "forest", everywhere(audits["forest"]), EVERYWHERE)
    ax.set_xlabel("association with marital status")
    ax.set_ylabel("influence on decisions")
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(color="#e5e7eb", linewidth=0.8)
    ax.set_axisbelow(True)
    ax.legend(frameon=False, fontsize=8, loc="lower left", bbox_to_anchor=(0, 1), ncols=3)
    return ax


def label(ax: Axes, name: str, one: pu.Decomposition, text: str) -> None:
    """Name a point of a model, with a line to it."""
    ax.annotate(
        text, (associated(one), one.influence or 0.0), xytext=(-16, ABOVE[name]),
        textcoords="offset points", ha="right", va="center", fontsize=7.5, color=COLOURS[name],
        arrowprops={"arrowstyle": "-", "color": COLOURS[name], "linewidth": 0.7, "shrinkA": 1},
    )  # fmt: skip
