"""Columns that a model reads as pandas categories, prepared for its `predict`.

XGBoost and LightGBM can be fitted on columns of dtype ``category``. They refuse the same values as
plain text, which is what a CSV file holds.
"""

from __future__ import annotations

from typing import Any

from proxyuse.models.lightgbm.translate import categorical_columns


def with_categories(model: Any, rows: Any) -> Any:
    """Convert the columns that a model was fitted on as categories to dtype ``category``.

    Parameters
    ----------
    model : a fitted model; only models of XGBoost and LightGBM have such columns.
    rows : a pandas data frame with the model's columns, in the model's order.
    """
    categories = _categories(model)
    plain = [i for i in categories if str(rows.dtypes.iloc[i]) != "category"]
    if not plain:
        return rows
    import pandas as pd

    rows = rows.copy()
    for index in plain:
        name = rows.columns[index]
        rows[name] = pd.Categorical(rows[name], categories=categories[index])
    return rows


def _categories(model: Any) -> dict[int, list[Any] | None]:
    """Return the categories by column index; None where the model matches them by name itself."""
    library = type(model).__module__.partition(".")[0]
    if library == "xgboost":
        booster = model.get_booster() if hasattr(model, "get_booster") else model
        columns = [i for i, kind in enumerate(booster.feature_types or ()) if kind == "c"]
        stored = getattr(booster, "get_categories", None)  # since XGBoost 3.1
        # Linear boosters have no such columns, and raise an error if asked for categories.
        if not columns or stored is None or stored().empty():
            return {}
        return dict.fromkeys(columns)
    if library == "lightgbm":
        booster = getattr(model, "booster_", model)
        if not booster.pandas_categorical:
            return {}
        columns = categorical_columns(booster.model_to_string())
        return dict(zip(columns, booster.pandas_categorical, strict=False))
    return {}
