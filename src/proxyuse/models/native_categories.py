"""Columns that a model reads as categories itself, without an encoder.

XGBoost and LightGBM can be trained on pandas columns of dtype ``category``. They refuse the same
values as plain text, which is what a CSV file holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from proxyuse.errors import DataError
from proxyuse.models.lightgbm.translate import categorical_columns
from proxyuse.models.loaded import damage_reported, file_of

if TYPE_CHECKING:
    import pandas as pd


def text_columns(model: Any) -> tuple[str, ...]:
    """Return the names of the columns that a model reads as categories with text values.

    A CSV file does not say whether ``01`` is a number or text. In these columns, it is text.
    """
    with damage_reported(file_of(model), model):
        names = _feature_names(model)
        if not names:  # it reads the columns by their positions
            return ()
        return tuple(
            names[index]
            for index, values in _categories(model).items()
            if values and all(isinstance(value, str) for value in values)
        )


def with_categories(model: Any, rows: pd.DataFrame) -> pd.DataFrame:
    """Convert the columns that a model reads as categories to dtype ``category``.

    Parameters
    ----------
    model : a trained model; only models of XGBoost and LightGBM have such columns.
    rows : a data frame with the model's columns, in the model's order.

    Raises
    ------
    DataError
        If the model does not know the categories in the rows and would refuse them.
    """
    with damage_reported(file_of(model), model):
        categories = _categories(model)
    plain = [i for i in categories if str(rows.dtypes.iloc[i]) != "category"]
    if _library(model) == "xgboost":
        _check_codes(model, rows)
        for index in plain:
            _check_known(rows.iloc[:, index], categories[index])
    if not plain:
        return rows
    import pandas as pd

    rows = rows.copy()
    for index in plain:
        name = rows.columns[index]
        rows[name] = pd.Categorical(rows[name], categories=categories[index])
    return rows


def _check_codes(model: Any, rows: pd.DataFrame) -> None:
    """Refuse text in columns for which XGBoost stores category codes, not names."""
    for index in _xgboost_columns(model):
        dtype = rows.dtypes.iloc[index]
        coded = str(dtype) == "category" or dtype.kind in "iufb"
        if not coded and not _stores_categories(model):
            raise DataError(
                f"column {rows.columns[index]!r}: the model stores category codes without the "
                "names of the categories; pass the codes that it was trained on, or train it "
                "again with XGBoost 3.1 or later on a data frame with dtype 'category'"
            )


def _check_known(column: pd.Series[Any], categories: Sequence[Any] | None) -> None:
    """Refuse categories that XGBoost has not seen; without showing them, for they are data."""
    if categories is None:
        return
    unknown = int((column.notna() & ~column.isin(categories)).sum())
    if unknown:
        raise DataError(
            f"column {column.name!r}: {unknown:,} of {len(column):,} rows have a category that "
            "the model was not trained on, so XGBoost refuses them; correct these rows, or "
            "exclude them with a condition"
        )


def _library(model: Any) -> str:
    return type(model).__module__.partition(".")[0]


def _booster(model: Any) -> Any:
    """Return the native model inside a scikit-learn estimator, or the model itself."""
    if hasattr(model, "get_booster"):
        return model.get_booster()
    return getattr(model, "booster_", model)


def _feature_names(model: Any) -> list[str]:
    match _library(model):
        case "xgboost":
            return list(_booster(model).feature_names or ())
        case "lightgbm":
            return list(_booster(model).feature_name())
    return []


def _categories(model: Any) -> dict[int, list[Any] | None]:
    """Return the categories by column index; None if they cannot be read without pyarrow."""
    match _library(model):
        case "xgboost" if (columns := _xgboost_columns(model)) and _stores_categories(model):
            if find_spec("pyarrow") is None:
                return dict.fromkeys(columns)
            stored = _booster(model).get_categories(export_to_arrow=True).to_arrow()
            return {index: stored[index][1].to_pylist() for index in columns}
        case "lightgbm" if (booster := _booster(model)).pandas_categorical:
            columns = categorical_columns(booster.model_to_string())
            return dict(zip(columns, booster.pandas_categorical, strict=False))
    return {}


def _xgboost_columns(model: Any) -> list[int]:
    """Return the indexes of the columns that an XGBoost model reads as categories."""
    return [i for i, kind in enumerate(_booster(model).feature_types or ()) if kind == "c"]


def _stores_categories(model: Any) -> bool:
    """Whether an XGBoost model with such columns stores the names of its categories."""
    get = getattr(_booster(model), "get_categories", None)  # since XGBoost 3.1
    return get is not None and not get().empty()
