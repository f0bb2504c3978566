"""The parts of a model: what is at the end of its pipelines, searches and thresholds."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any


def unfitted_last(model: Any) -> Any:
    """The estimator at the end of pipelines, searches and thresholds, as it was passed to them."""
    return get_nested(model, last_path(model))


def last_path(model: Any) -> str:
    """The parameter that holds the estimator at the end of a model, such as ``estimator__model``.

    Empty if the model itself is that estimator.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from sklearn.model_selection import GridSearchCV
    >>> from sklearn.pipeline import make_pipeline
    >>> last_path(GridSearchCV(make_pipeline(Ridge()), {})), last_path(Ridge())
    ('estimator__ridge', '')
    """
    path: list[str] = []
    while True:
        if hasattr(model, "steps"):
            name, model = model.steps[-1]
        elif is_search(model) or is_threshold(model):
            name, model = "estimator", model.estimator
        else:
            return "__".join(path)
        path.append(name)


def is_search(model: Any) -> bool:
    """Whether a model is a search over options, such as GridSearchCV."""
    return hasattr(model, "refit") and hasattr(model, "cv") and hasattr(model, "estimator")


def is_threshold(model: Any) -> bool:
    """Whether a model is a threshold around another model."""
    return any(cls.__name__ == "BaseThresholdClassifier" for cls in type(model).__mro__)


def get_nested(model: Any, path: str) -> Any:
    """The value of a nested parameter; the model itself if the path is empty."""
    return model.get_params(deep=True)[path] if path else model


def fitted_last(model: Any) -> Any:
    """The fitted estimator at the end of a fitted model."""
    while True:
        part = fitted_part(model)
        if part is None:
            return model
        model = part


def fitted_part(model: Any) -> Any:
    """The fitted model inside a pipeline, a search, a threshold or a frozen model, or None."""
    if hasattr(model, "steps"):
        return model.steps[-1][1]
    if hasattr(model, "best_estimator_"):
        return model.best_estimator_
    if is_threshold(model):
        return getattr(model, "estimator_", model.estimator)
    if type(model).__name__ == "FrozenEstimator":
        return model.estimator
    return None


def has_threshold(model: Any) -> bool:
    """Whether a threshold is part of a model; thresholds pass on weights only by routing."""
    while not is_threshold(model):
        if hasattr(model, "steps"):
            model = model.steps[-1][1]
        elif is_search(model):
            model = model.estimator
        else:
            return False
    return True


def copied(model: Any, parts: Mapping[int, Any]) -> Any:
    """A copy of a model with other objects in place of some of its parts, by their ``id``."""
    return copy.deepcopy(model, dict(parts))
