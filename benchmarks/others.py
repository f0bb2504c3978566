"""What other tools need for the same tree and rows, for scale."""

from __future__ import annotations

from benchmarks import samples
from benchmarks.timing import compare


def shap_values() -> None:
    """SHAP's exact values for trees."""
    import shap

    data = samples.adult()
    model, _ = samples.tree()
    explainer = shap.TreeExplainer(model)
    compare(
        lambda: explainer.shap_values(data.X, check_additivity=False),
        lambda: model.predict(data.X),
    )


def permutation() -> None:
    """scikit-learn's permutation importance of all 14 features."""
    from sklearn.inspection import permutation_importance

    data = samples.adult()
    model, _ = samples.tree()
    compare(
        lambda: permutation_importance(
            model, data.X, data.y, n_repeats=5, random_state=0, n_jobs=1
        ),
        lambda: model.predict(data.X),
    )
