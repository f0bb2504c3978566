"""What other tools need for the same model and rows.

They are measured on all rows if that takes at most a minute or two, and else on the largest of a
few sizes that does. The number of rows is part of the result; nothing is extrapolated.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.deployed import Deployed
from benchmarks.timing import cpu_seconds

PATIENCE = 60.0
"""CPU seconds that a larger size is expected to stay below."""

SIZES = (10, 100, 1_000, 10_000)


def largest(measure: Callable[[int], float], rows: int) -> dict[str, float]:
    """The time for all rows, or for as many as are affordable."""
    result: dict[str, float] = {}
    sizes = [*(size for size in SIZES if size < rows), rows]
    for index, size in enumerate(sizes):
        result = {"seconds": measure(size), "rows": size}
        following = sizes[min(index + 1, len(sizes) - 1)]
        if result["seconds"] * following / size > PATIENCE:
            break
    return result


def shap_values(case: Deployed) -> dict[str, float]:
    """SHAP's explainer for trees, or for linear models."""
    import shap

    prepared = case.model[:-1].transform(case.X)
    dense = prepared.toarray() if hasattr(prepared, "toarray") else np.asarray(prepared)
    estimator: Any = case.model[-1]
    if hasattr(estimator, "coef_"):
        background = dense[:: max(1, len(dense) // 100)]
        explainer: Any = shap.LinearExplainer(estimator, background)
        explain = explainer.shap_values
    else:
        explainer = shap.TreeExplainer(estimator)

        def explain(rows: Any) -> Any:
            return explainer.shap_values(rows, check_additivity=False)

    explain(dense[:2])
    return largest(lambda size: cpu_seconds(lambda: explain(dense[:size])), len(dense))


def permutation_importances(case: Deployed) -> dict[str, float]:
    """scikit-learn's permutation importance of all raw columns, five repeats."""
    from sklearn.inspection import permutation_importance

    def measure(size: int) -> float:
        X, y = case.X.iloc[:size], case.y[:size]
        return cpu_seconds(
            lambda: permutation_importance(case.model, X, y, n_repeats=5, random_state=0, n_jobs=1)
        )

    return largest(measure, len(case.X))
