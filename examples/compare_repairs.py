"""What do repairs cost on rows that nothing has seen? Constants alone, and all methods.

Each model is trained on a part of a bundled dataset, repaired with validation rows, and measured on
test rows that neither the training nor the repair has seen. The first column of results is the
original model, the second one the repair that only replaces computations with constants, and the
third one the repair with all methods.

    python examples/compare_repairs.py --out docs/repairs-compared.md
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from msgspec import convert, to_builtins
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import proxyuse as pu
from proxyuse.datasets import load_adult, load_contraceptive, load_student

SEEDS = (0, 1, 2)


@dataclass(frozen=True)
class Case:
    """A model, a protected attribute, and thresholds."""

    data: str
    protected: str
    model: str
    epsilon: float
    delta: float


@dataclass(frozen=True)
class Measured:
    """The accuracy and the area under the curve on test rows of three models."""

    case: Case
    seed: int
    targets: int
    accuracy: tuple[float, ...]
    auc: tuple[float, ...]
    log_loss: tuple[float, ...]
    chosen: str
    seconds: tuple[float, float]


CASES = (
    Case("Adult", "sex", "tree", 0.1, 0.05),
    Case("Adult", "sex", "logistic", 0.05, 0.05),
    Case("Adult", "sex", "XGBoost", 0.1, 0.05),
    Case("Adult", "sex", "forest", 0.1, 0.05),
    Case("Adult", "married", "tree", 0.3, 0.05),
    Case("Adult", "married", "tree", 0.03, 0.02),
    Case("Adult", "married", "logistic", 0.1, 0.05),
    Case("Adult", "married", "XGBoost", 0.1, 0.05),
    Case("Adult", "married", "LightGBM", 0.1, 0.05),
    Case("Adult", "married", "forest", 0.05, 0.02),
    Case("Contraception", "religion", "XGBoost", 0.02, 0.02),
    Case("Contraception", "husband's education", "tree", 0.05, 0.05),
    Case("Contraception", "husband's education", "forest", 0.05, 0.05),
    Case("Student", "mother's education", "tree", 0.05, 0.02),
)
ROWS = 10_000
"""The rows of Adult that are used, so that a case takes minutes."""


def people(data: str, protected: str) -> tuple[pd.DataFrame, pd.Series, pd.Series]:
    """Return what a model reads, the answers, and the protected attribute."""
    if data == "Adult":
        adult = load_adult().drop(columns="fnlwgt")
        y = (adult["income"] == ">50K").astype(int)
        X = adult.drop(columns=["income", "sex", "marital_status"])
        married = adult["marital_status"].str.startswith("Married")
        return X, y, adult["sex"] if protected == "sex" else married
    if data == "Contraception":
        rows = load_contraceptive()
        column = "wife_religion" if protected == "religion" else "husband_education"
        X = rows.drop(columns=["method", column])
        return X, (rows["method"] > 1).astype(int), rows[column]
    rows = load_student("por")
    X = rows.drop(columns=["G1", "G2", "G3", "Medu"])
    return X, (rows["G3"] >= 12).astype(int), rows["Medu"]


def classifiers() -> dict[str, Any]:
    """Return the models, by their name."""
    from lightgbm import LGBMClassifier
    from xgboost import XGBClassifier

    return {
        "tree": DecisionTreeClassifier(max_depth=5, random_state=0),
        "forest": RandomForestClassifier(50, max_depth=8, random_state=0),
        "logistic": LogisticRegression(max_iter=1000),
        "XGBoost": XGBClassifier(n_estimators=50, max_depth=3, random_state=0, n_jobs=1),
        "LightGBM": LGBMClassifier(
            n_estimators=50, num_leaves=8, random_state=0, verbose=-1, n_jobs=1
        ),
    }


def fitted(classifier: Any, X: pd.DataFrame, y: pd.Series) -> Any:
    """Return the usual pipeline, fitted."""
    words = list(X.select_dtypes(exclude="number"))
    numbers = list(X.select_dtypes("number"))
    scale = StandardScaler() if isinstance(classifier, LogisticRegression) else "passthrough"
    encode = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), words), (scale, numbers)
    )
    return make_pipeline(encode, clone(classifier)).fit(X, y)


def measured(case: Case, seed: int, seconds: float | None) -> Measured | None:
    """Repair one model in both ways; None if nothing is confirmed."""
    X, y, z = people(case.data, case.protected)
    order = np.random.default_rng(seed).permutation(len(X))[:ROWS]
    train, validation, test = np.split(order, [len(order) * 6 // 10, len(order) * 8 // 10])
    model = fitted(classifiers()[case.model], X.iloc[train], y.iloc[train])
    options: dict[str, Any] = {
        "protected": {case.protected: z.iloc[train].to_numpy()},
        "epsilon": case.epsilon,
        "delta": case.delta,
        "validation": (X.iloc[validation], y.iloc[validation]),
        "seconds": seconds,
    }
    results, times = [], []
    for methods in (("constants",), None):
        start = time.perf_counter()
        repair = pu.repair(model, X.iloc[train], y.iloc[train], methods=methods, **options)
        times.append(time.perf_counter() - start)
        if not repair.targets:
            return None
        results.append(repair)
    models = [model, *(repair.model for repair in results)]
    rows, answers = X.iloc[test], y.iloc[test]
    return Measured(
        case,
        seed,
        results[1].targets,
        tuple(float(np.mean(m.predict(rows) == answers)) for m in models),
        tuple(float(roc_auc_score(answers, m.predict_proba(rows)[:, 1])) for m in models),
        tuple(float(log_loss(answers, m.predict_proba(rows))) for m in models),
        str(results[1].chosen.method)
        + (f" ({', '.join(results[1].chosen.columns)})" if results[1].chosen.columns else ""),
        (times[0], times[1]),
    )


def all_measured(store: Path, seconds: float | None, only: str) -> Iterator[Measured]:
    """Measure every case and seed; those that are stored already are read."""
    known = json.loads(store.read_text("utf-8")) if store.exists() else {}
    for case in CASES:
        for seed in SEEDS:
            key = " ".join(map(str, (*asdict(case).values(), seed)))
            if only not in key:
                continue
            if key not in known:
                found = measured(case, seed, seconds)
                known[key] = to_builtins(found)
                store.write_text(json.dumps(known, indent=1), "utf-8")
            if known[key] is not None:
                result = convert(known[key], Measured)
                print(line(result), flush=True)
                yield result


def line(m: Measured) -> str:
    """One line of the table."""
    case = m.case
    name = f"{case.data}, {case.protected}, {case.model} ({case.epsilon:g}, {case.delta:g})"
    figures = " | ".join(
        " | ".join(f"{value:.3f}" for value in values) for values in (m.accuracy, m.auc)
    )
    return f"| {name} | {m.seed} | {figures} | {m.chosen} |"


def table(results: list[Measured]) -> str:
    """The results as a Markdown table."""
    heads = ["case (epsilon, delta)", "seed"]
    heads += [
        f"{what}, {which}"
        for what in ("accuracy", "AUC")
        for which in ("original", "constants", "all methods")
    ]
    lines = [f"| {' | '.join([*heads, 'chosen'])} |", "| --- " * (len(heads) + 1) + "|"]
    return "\n".join([*lines, *map(line, results)])


def summary(results: list[Measured]) -> str:
    """The mean gain over constants, and how often there is one."""
    lines = []
    for name in ("accuracy", "auc"):
        values = np.array([getattr(m, name) for m in results])
        gain = values[:, 2] - values[:, 1]
        lines.append(
            f"{name}: mean gain over constants {100 * gain.mean():.2f} points, not below them in "
            f"{np.mean(gain >= 0):.0%} of {len(gain)}; mean loss against the original "
            f"{100 * np.mean(values[:, 0] - values[:, 2]):.2f} points"
        )
    return "\n".join(lines)


def main() -> None:
    """Measure all cases, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", type=Path, default=Path("compare_repairs.json"))
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    results = list(all_measured(options.store, options.seconds, options.only))
    print(table(results))
    print(summary(results))


if __name__ == "__main__":
    main()
