"""What do repairs cost on rows that nothing has seen? Constants alone, and all methods.

Each model is trained on a part of a bundled dataset, repaired with validation rows, and measured on
test rows that neither the training nor the repair has seen. Of each three figures, the first one is
of the original model, the second one of the repair that only replaces computations with constants,
and the third one of the repair with all methods.

    python -m examples.compare_repairs --store build/compared.json --docs docs

This measures what the stores lack, and writes the page about it. With ``--stored``, nothing is
measured. Several stores are merged; new results go to the first one.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from msgspec import to_builtins
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import proxyuse as pu
from examples.compared_cases import ROWS, SECONDS, Case, Measured, counting, keys, read
from examples.compared_page import cells, summary_table, write
from proxyuse.datasets import load_adult, load_contraceptive, load_student


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


def measure_missing(stores: Sequence[Path], seconds: float | None, only: str) -> None:
    """Measure every case and seed that no store has, and write the results to the first store."""
    for key, (case, seed) in keys().items():
        if only in key and key not in read(stores):
            result = measured(case, seed, seconds)
            own = json.loads(stores[0].read_text("utf-8")) if stores[0].exists() else {}
            own[key] = to_builtins(result)
            stores[0].write_text(json.dumps(own, indent=1), "utf-8")
            print(f"{key}: {'nothing confirmed' if result is None else cells(result)}", flush=True)


def main() -> None:
    """Measure the cases that are not stored, print the results, and write the page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--store", type=Path, nargs="+", default=[Path("compare_repairs.json")],
        help="files with results; new results go to the first one",
    )  # fmt: skip
    parser.add_argument("--stored", action="store_true", help="measure nothing")
    parser.add_argument("--docs", type=Path, help="the folder of the page to update")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="the time for a repair")
    parser.add_argument("--only", default="", help="measure only cases with this text in their key")
    options = parser.parse_args()
    if not options.stored:
        measure_missing(options.store, options.seconds, options.only)
    known = read(options.store)
    if not counting(known):
        raise SystemExit("no results are stored; run without --stored to measure them")
    print(summary_table(counting(known)))
    if options.docs is not None:
        write(options.docs, known)


if __name__ == "__main__":
    main()
