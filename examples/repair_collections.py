"""Repair of distributed proxies on Adult: a random forest and an XGBoost model.

Both models predict incomes, without marital status and without `relationship`. Married people are
protected. The models are trained on the first 32,561 rows. Half of the other rows are used for the
repair, and accuracy is measured on the untouched half.

    python examples/repair_collections.py --figure docs/figures/collections-repaired.svg
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import proxyuse as pu
from proxyuse.datasets import load_adult
from proxyuse.detect.collections import Curve

EPSILON, DELTA = 0.05, 0.025
TRAINING = 32_561
NO_COMBINATIONS = pu.Budget(subsets=0, search=0, grow=0, occurrences=0)
"""Searches for partial sums and sets of occurrences, which this page is not about, take minutes."""


def people() -> tuple[pd.DataFrame, pd.Series, pd.Series]:
    """Return what the models read, whether each person earns more, and whether they are married."""
    adult = load_adult()
    columns = adult.drop(columns=["income", "marital_status", "relationship"])
    return (
        columns,
        (adult["income"] == ">50K").astype(int),
        adult["marital_status"].str.startswith("Married"),
    )


def classifiers() -> dict[str, Any]:
    """Return the models, by their name."""
    from xgboost import XGBClassifier

    return {
        "random forest": RandomForestClassifier(100, max_depth=8, random_state=0),
        "XGBoost": XGBClassifier(n_estimators=100, max_depth=4, random_state=0),
    }


def the_decision(found: pu.Witness | pu.Collection) -> pu.Judgment | None:
    """Judge the score and the decision of the model appropriate: more than half of its nodes."""
    if isinstance(found, pu.Witness) and found.size > found.decomposition.program.size / 2:
        return pu.Judgment(True, "the score of the model is what it is for")
    return None


def repaired(classifier: Any, rows: int | None = None) -> pu.Repair:
    """Train a model, repair it, and check the certificate."""
    X, y, married = people()
    words = list(X.select_dtypes(exclude="number"))
    encode = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), words),
        remainder="passthrough",
    )
    model = make_pipeline(encode, classifier).fit(X[:TRAINING], y[:TRAINING])
    others = np.arange(TRAINING, len(X))
    used = np.random.default_rng(0).random(len(others)) < 0.5
    inside, outside = others[used][:rows], others[~used]
    data, start = X.iloc[inside].assign(married=married.iloc[inside]), time.perf_counter()
    repair = pu.repair(
        model, data, y.iloc[inside], protected="married", epsilon=EPSILON, delta=DELTA,
        oracle=the_decision, validation=(X.iloc[outside], y.iloc[outside]),
        methods=("constants",), unconfirmed=True, seconds=None, budget=NO_COMBINATIONS,
    )  # fmt: skip
    print(f"seconds: {time.perf_counter() - start:.0f}")
    verified = pu.verify(repair.certificate, repair.model, data, oracle=the_decision)
    print(f"the certificate is verified: {verified.ok}")
    return repair


def highest(curve: Curve) -> float:
    """Return the largest upper end of all levels from epsilon on."""
    levels = (p.influence.high for p in curve.points if p.level >= EPSILON)
    return max(levels, default=0.0)


def report(repair: pu.Repair) -> None:
    """Print what was done, and the curves."""
    assert repair.selection is not None
    before, after = (audit.collective_curve("married") for audit in (repair.before, repair.after))
    print(repair)
    print(f"same class: {repair.deployed.native}")
    print(f"highest influence at and above epsilon: {highest(before):.4f}, {highest(after):.4f}")
    print(f"hold-out accuracy: {repair.selection.before:.4f}, {repair.selection.after:.4f}")
    for which, curve in (("before", before), ("after", after)):
        for point in curve.points:
            known = point.influence
            print(f"{which} {point.level:g} {point.members} {known.low:.4f} {known.high:.4f}")


def draw(repairs: dict[str, pu.Repair], path: Path) -> None:
    """Draw the curves before and after, one model per column."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.6, 3.6), layout="constrained")
    axes = figure.subplots(1, len(repairs))
    for ax, (name, repair) in zip(np.atleast_1d(axes), repairs.items(), strict=True):
        for audit, label in ((repair.before, "before"), (repair.after, "after the repair")):
            points = audit.collective_curve("married").points
            shares = [point.influence.influence for point in points]
            errors = [
                [p.influence.influence - p.influence.low for p in points],
                [p.influence.high - p.influence.influence for p in points],
            ]
            levels = [point.level for point in points]
            ax.errorbar(levels, shares, errors, fmt="o-", markersize=4, capsize=2, label=label)
        ax.axvline(EPSILON, color="C3", linewidth=1, linestyle="--")
        ax.axhline(DELTA, color="C3", linewidth=1, linestyle="--")
        ax.set_ylim(0)
        ax.set_xlim(0)
        ax.set_title(name, loc="left")
        ax.set_xlabel("association with married, at least")
        ax.set_ylabel("influence, changed together")
        ax.spines[["top", "right"]].set_visible(False)
        ax.legend(frameon=False)
    with mpl.rc_context({"svg.hashsalt": "proxyuse"}):
        figure.savefig(path, format="svg", metadata={"Date": None})


def main() -> None:
    """Repair both models."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, help="rows for the repair; all by default")
    parser.add_argument("--figure", type=Path, help="where to draw the curves, as SVG")
    options = parser.parse_args()
    repairs = {}
    for name, classifier in classifiers().items():
        print(f"== {name}", flush=True)
        repairs[name] = repaired(classifier, options.rows)
        report(repairs[name])
    if options.figure is not None:
        draw(repairs, options.figure)


if __name__ == "__main__":
    main()
