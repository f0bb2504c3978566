"""Baselines: removing the features that are associated.

The usual approach to a protected attribute, without looking inside a model, is to remove the
features associated with it and retrain. What does this achieve, compared with detection?

A tree of depth 5 predicts from Adult who earns more than 50,000 dollars. Being married must not be
used. For a range of thresholds, every feature whose association with being married reaches the
threshold is removed, a tree is trained on the rest, and it is audited at the same threshold. For
comparison, the tree on all features is repaired at that threshold. Both are trained, audited and
repaired on the same 10,000 records, and their accuracy is measured on all others. The results:

- *Removal guarantees nothing.* At some thresholds, the tree on the remaining features still has a
  witness. Repair never leaves one. A computation can have a higher association than any of its
  inputs: a branch over age, sex, capital loss and education, none of which reaches the threshold;
  or a single test of age, because the number itself carries much information that is unrelated to
  marriage, and the test does not. The second picture shows how many computations have a higher
  association than the strongest of their features.
- *Removal asks the wrong question.* Sex has the second-highest association, and in the tree on all
  features it changes no decision, so removing it alone has almost no effect. Capital loss is
  associated with marriage and changes few decisions, so it is not a witness by itself. Removing it
  still costs a little accuracy. And at the highest threshold no feature is removed, because none
  reaches it, although the test of one value of `relationship` does. To remove this witness, removal
  needs a lower threshold, which removes the whole feature.
- *Retraining keeps more accuracy.* A retrained tree can use other features instead of those
  removed, while a repair by constants only inserts constants. A single sample can be misleading: in
  the first sample, shown in the first table, repair is more accurate at the lower thresholds; over
  several samples, removal is more accurate at the higher thresholds, and there is little difference
  at the lower ones. Which of the lower thresholds leave a witness also varies between samples. In
  return, repair leaves no witness. The two can be combined: a model trained on fewer features can
  be audited and repaired.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

import proxyuse as pu
from examples.paper.experiment import PAPER, Picture, Reproduced, Table
from proxyuse.datasets import load_adult
from proxyuse.lang.nodes import variables

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ROWS, DEPTH, DELTA = 10_000, 5, 0.05
THRESHOLDS = (0.5, 0.3, 0.1, 0.05, 0.03, 0.02, 0.01)
SAMPLES = 5
SHOWN = 0.03  # the threshold of the table of features
REMOVED, REPAIRED, GREY = "#c2410c", "#0f766e", "#5b6b7d"


@dataclass(frozen=True, slots=True, eq=False)
class Adult:
    """Census records, words as numbers: some to train and audit on, the others for accuracy."""

    X: pd.DataFrame
    y: pd.Series[int]
    married: pd.Series[int]
    other_X: pd.DataFrame
    other_y: pd.Series[int]

    @property
    def features(self) -> list[str]:
        """What there is to learn from."""
        return [str(name) for name in self.X]

    def trained(self, features: Sequence[str]) -> DecisionTreeClassifier:
        """A tree on some of the features."""
        tree = DecisionTreeClassifier(max_depth=DEPTH, random_state=0)
        return tree.fit(self.X[list(features)], self.y)

    def audit(self, model: object, epsilon: float) -> pu.Audit:
        """Look for marriage in a model."""
        return pu.audit(model, self.X, {"married": self.married}, epsilon, DELTA, validity=None)

    def accuracy(self, predicted: Any) -> float:
        """On the records that were not trained on."""
        return float(np.mean(predicted == self.other_y))


@dataclass(frozen=True, slots=True, eq=False)
class Cut:
    """What removal and repair come to at one threshold.

    Attributes
    ----------
    features : those that are left.
    audit : of the tree on them, at the threshold.
    removed, repaired : accuracy of that tree, and of the repaired tree on all features.
    repair : of that tree.
    """

    epsilon: float
    features: tuple[str, ...]
    audit: pu.Audit
    removed: float
    repaired: float
    repair: pu.Repair


@cache
def adult(sample: int = 0) -> Adult:
    """The records; those who live with a husband or wife count as married."""
    people = load_adult().drop(columns=["fnlwgt", "education"])  # education_num says the same
    married = people["marital_status"].isin(["Married-civ-spouse", "Married-AF-spouse"])
    X = people.drop(columns=["income", "marital_status"])
    X = X.apply(lambda c: c if c.dtype.kind in "if" else pd.factorize(c, sort=True)[0])
    y = (people["income"] == ">50K").astype(int)
    some, others = train_test_split(X.index, train_size=ROWS, random_state=sample)
    return Adult(X.loc[some], y[some], married[some].astype(int), X.loc[others], y[others])


@cache
def associations(sample: int = 0) -> dict[str, float]:
    """The association of each feature with marriage, highest first."""
    data = adult(sample)
    by_feature = {
        name: data.audit(pu.Program.parse(name), 0).decompositions[0].associations["married"]
        for name in data.features
    }
    return dict(sorted(by_feature.items(), key=lambda item: -item[1]))


@cache
def cut(epsilon: float, sample: int = 0) -> Cut:
    """Remove what is associated and train again; or train on everything and repair."""
    data = adult(sample)
    remaining = tuple(name for name in data.features if associations(sample)[name] < epsilon)
    tree, full = data.trained(remaining), data.trained(data.features)
    repair = pu.repair(
        full, data.X, data.y, protected={"married": data.married}, epsilon=epsilon, delta=DELTA,
        **PAPER,
    )  # fmt: skip
    return Cut(
        epsilon, remaining, data.audit(tree, epsilon),
        data.accuracy(tree.predict(data.other_X[list(remaining)])),
        data.accuracy(repair.program.predict(data.other_X)), repair,
    )  # fmt: skip


def strongest_feature(computation: pu.Decomposition | pu.Witness) -> float:
    """The highest association among the features that a computation reads."""
    return max(associations()[name] for name in variables(computation.expression))


def cuts_table(cuts: Sequence[Cut]) -> Table:
    """Removal and repair at the same thresholds."""
    rows = []
    for at in cuts:
        by_strength = sorted(
            at.audit.witnesses, key=lambda w: (w.association, w.influence, -w.size)
        )
        strongest = by_strength[-1] if by_strength else None
        ours = at.repair.before.witnesses
        hidden = sum(strongest_feature(w) < at.epsilon for w in ours)
        rows.append((
            f"{at.epsilon:g}",
            str(len(associations()) - len(at.features)),
            str(len(at.audit.witnesses)),
            _named(strongest),
            f"{at.removed:.4f}",
            str(len(ours)),
            str(hidden),
            str(len(at.repair.after.witnesses)),
            f"{at.repaired:.4f}",
        ))  # fmt: skip
    names = (
        "threshold", "features removed", "witnesses left by removal", "the strongest of them",
        "accuracy, removal", "witnesses before repair",
        "of them without a feature that reaches the threshold", "witnesses after repair",
        "accuracy, repair",
    )  # fmt: skip
    return Table(
        f"Removing features and training again, beside repair (influence above {DELTA:g})",
        names, tuple(rows),
    )  # fmt: skip


def samples_table() -> Table:
    """The same for several random samples: how often a witness is left, and mean accuracies."""
    rows = []
    for epsilon in THRESHOLDS:
        those = [cut(epsilon, sample) for sample in range(SAMPLES)]
        removed, repaired = ([getattr(at, way) for at in those] for way in ("removed", "repaired"))
        rows.append((
            f"{epsilon:g}",
            str(sum(bool(at.audit.witnesses) for at in those)),
            str(sum(bool(at.repair.after.witnesses) for at in those)),
            f"{np.mean(removed):.4f}",
            f"{np.mean(repaired):.4f}",
            str(sum(a > b for a, b in zip(removed, repaired, strict=True))),
        ))  # fmt: skip
    return Table(
        f"The same in {SAMPLES} random samples of {ROWS:,} records (the first is the one above)",
        ("threshold", "samples with a witness left by removal", "by repair",
         "mean accuracy, removal", "mean accuracy, repair", "samples where removal is the better"),
        tuple(rows),
    )  # fmt: skip


def _named(witness: pu.Witness | None) -> str:
    if witness is None:
        return ""
    read = variables(witness.expression)
    what = f"`{witness.term}`" if witness.size == 3 else f"a branch over {', '.join(read)}"
    return f"{what}: {witness.association:.3f}, {witness.influence:.3f}"


def features_table() -> Table:
    """Association, influence in the tree on all features, and what removal alone costs."""
    data = adult()
    every = data.features
    audit = data.audit(data.trained(every), SHOWN)
    used = dict.fromkeys(every, 0.0)
    for one in audit.decompositions:
        if one.term in used:
            used[one.term] = max(used[one.term], one.influence or 0.0)
    rows = []
    for name, association in associations().items():
        remaining = [other for other in every if other != name]
        accuracy = data.accuracy(data.trained(remaining).predict(data.other_X[remaining]))
        witness = association >= SHOWN and used[name] > DELTA
        rows.append((
            f"`{name}`", f"{association:.4f}", f"{used[name]:.4f}",
            "yes" if association >= SHOWN else "", "yes" if witness else "", f"{accuracy:.4f}",
        ))  # fmt: skip
    return Table(
        f"The features of the tree on all of them, at the threshold {SHOWN:g}",
        ("feature", "association", "influence", "would be removed", "is a witness",
         "accuracy without it alone"),
        tuple(rows),
    )  # fmt: skip


def _axes(across: str, up: str) -> Axes:
    ax = Figure(figsize=(6.8, 4.2), layout="constrained").subplots()
    ax.set_xlabel(across)
    ax.set_ylabel(up)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def draw_cuts() -> Axes:
    """Accuracy by threshold in all samples, and in how many a witness is left by removal."""
    ax = _axes("threshold of association (removal and audit)", "accuracy on other records")
    samples = range(SAMPLES)
    for name, way, color, mark in (
        ("features removed, trained again", "removed", REMOVED, "o"),
        ("all features, repaired", "repaired", REPAIRED, "s"),
    ):
        values = np.array([[getattr(cut(e, one), way) for e in THRESHOLDS] for one in samples])
        for line in values:
            ax.plot(THRESHOLDS, line, color=color, linewidth=0.7, alpha=0.35)
        ax.plot(
            THRESHOLDS, values.mean(axis=0), color=color, marker=mark, markersize=6,
            linewidth=1.6, label=name,
        )  # fmt: skip
    for epsilon in THRESHOLDS:
        with_witness = sum(bool(cut(epsilon, one).audit.witnesses) for one in samples)
        ax.annotate(
            f"{with_witness} of {SAMPLES}", (epsilon, 1.01), xycoords=("data", "axes fraction"),
            ha="center", va="bottom", fontsize=9, color=REMOVED if with_witness else GREY,
        )  # fmt: skip
    ax.set_title(
        "samples in which removal leaves a witness (repair: none)", fontsize=9, color=GREY, pad=18
    )
    ax.set_xscale("log")
    ax.set_xticks(THRESHOLDS, [f"{epsilon:g}" for epsilon in THRESHOLDS])
    ax.minorticks_off()
    ax.invert_xaxis()
    ax.grid(axis="y", color="#e5e7eb", linewidth=0.8)
    ax.set_axisbelow(True)
    ax.legend(frameon=False, fontsize=9, loc="lower left")
    return ax


def draw_computations(at: Cut) -> Axes:
    """Each computation of a tree trained on what is left: beside the strongest of its features."""
    ax = _axes("highest association among the features it reads", "association of the computation")
    measured = [d for d in at.audit.decompositions if d.influence is not None]
    top = 1.08 * max(d.associations["married"] for d in measured)
    ax.plot([0, at.epsilon], [0, at.epsilon], color=GREY, linewidth=1)
    ax.axvline(at.epsilon, color=GREY, linewidth=1, linestyle=(0, (4, 3)))
    ax.axhline(at.epsilon, color=GREY, linewidth=1, linestyle=(0, (4, 3)))
    for strong, color, name in (
        (False, GREY, f"influence at most {DELTA:g}"),
        (True, REMOVED, f"influence above {DELTA:g}"),
    ):
        those = [d for d in measured if ((d.influence or 0.0) > DELTA) is strong]
        ax.scatter(
            [strongest_feature(d) for d in those], [d.associations["married"] for d in those],
            s=34, c=color, alpha=0.75, linewidths=0.5, edgecolors="white", label=name, zorder=3,
        )  # fmt: skip
    named = {}  # the strongest computation of each strongest feature, if above it
    for one in sorted(measured, key=lambda d: d.associations["married"]):
        if (one.influence or 0.0) > DELTA and one.associations["married"] > strongest_feature(
            one
        ) + 0.02:
            named[strongest_feature(one)] = one
    for across, one in named.items():
        read = ", ".join(variables(one.expression))
        ax.annotate(
            one.term if one.size == 3 else f"a branch over\n{read}".replace("_", " "),
            (across, one.associations["married"]), xytext=(-8 if across > 0.05 else 8, 0),
            textcoords="offset points", ha="right" if across > 0.05 else "left", va="center",
            fontsize=8,
        )  # fmt: skip
    ax.annotate(
        "as close as the strongest of them", (0.62 * at.epsilon, 0.62 * at.epsilon),
        xytext=(6, -10), textcoords="offset points", fontsize=8, color=GREY,
    )  # fmt: skip
    ax.annotate(
        "removed features\nare to the right", (at.epsilon, 0), xytext=(-6, 6),
        textcoords="offset points", ha="right", fontsize=8, color=GREY,
    )  # fmt: skip
    ax.annotate(
        "proxy use is above", (0, at.epsilon), xytext=(4, 4), textcoords="offset points",
        fontsize=8, color=GREY,
    )  # fmt: skip
    ax.set_xlim(0, 1.06 * at.epsilon)
    ax.set_ylim(-0.02 * top, max(top, 1.1 * at.epsilon))
    ax.legend(
        frameon=False, fontsize=9, loc="lower left", bbox_to_anchor=(0, 1), ncols=2,
        borderaxespad=0.2,
    )  # fmt: skip
    return ax


def reproduce() -> Reproduced:
    """Remove and repair at each threshold."""
    cuts = [cut(epsilon) for epsilon in THRESHOLDS]
    return Reproduced(
        tables=[cuts_table(cuts), samples_table(), features_table()],
        pictures=[
            Picture("baselines-accuracy", draw_cuts(),
                    "Accuracy after removing features or after repair, by threshold: means of the "
                    "samples and, thin, each of them"),
            Picture("baselines-computations", draw_computations(cuts[THRESHOLDS.index(0.1)]),
                    "The tree without features of association 0.1 or more: computations above "
                    "the line are closer to marriage than any feature they read"),
        ],
        remarks=["Repair takes the quickest search; a longer one may keep more accuracy."],
    )  # fmt: skip
