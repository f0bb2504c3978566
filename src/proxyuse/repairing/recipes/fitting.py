"""Fits a clone of a model: the same class, the same options, other rows.

The clone has the random states of the model. Sample weights reach the model at the end of a
pipeline, inside a search or a threshold. An early stopping that has no rows to stop on is replaced
by the number of trees at which the model stopped.
"""

from __future__ import annotations

import contextlib
import inspect
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from proxyuse.errors import ProxyUseError
from proxyuse.lang.evaluate import Array
from proxyuse.models.checks import model_rows
from proxyuse.repairing.recipes.features import last_step_columns
from proxyuse.repairing.recipes.nesting import (
    fitted_last,
    get_nested,
    has_threshold,
    last_path,
    unfitted_last,
)
from proxyuse.repairing.recipes.training import CannotFit, Training

PREFITTED = "FrozenEstimator", "ProgramClassifier", "ProgramRegressor"
GROUPED = "XGBRanker", "LGBMRanker"


def can_fit(model: Any) -> bool:
    """Whether a clone of a model can be fitted on other rows.

    Boosters and programs have no `fit`, frozen models ignore it, and rankers need groups of rows.
    """
    last = unfitted_last(model)
    name = type(last).__name__
    return (
        not isinstance(model, type)
        and all(callable(getattr(last, method, None)) for method in ("fit", "get_params"))
        and callable(getattr(model, "fit", None))
        and name not in PREFITTED
        and name not in GROUPED
    )


def clone_of(model: Any) -> Any:
    """A clone of a model that is not fitted, or raise `CannotFit`."""
    if not can_fit(model):
        raise CannotFit(f"a {type(model).__name__} cannot be fitted again")
    estimator = unfitted(model)
    _without_early_stopping(model, estimator)
    return estimator


def unfitted(estimator: Any) -> Any:
    """A clone of an estimator, or raise `CannotFit`."""
    from sklearn.base import clone

    with library_errors(estimator):
        return clone(estimator)


def _without_early_stopping(model: Any, estimator: Any) -> None:
    """Stop XGBoost and LightGBM at the tree at which they stopped before."""
    last = get_nested(estimator, last_path(estimator))
    module = type(last).__module__.partition(".")[0]
    if module not in ("xgboost", "lightgbm"):
        return
    trained = fitted_last(model)
    options = last.get_params()
    if module == "xgboost" and options.get("early_stopping_rounds") is not None:
        best = getattr(trained, "best_iteration", None)
        last.set_params(early_stopping_rounds=None)
    elif module == "lightgbm" and (getattr(trained, "best_iteration_", None) or 0) > 0:
        best = trained.best_iteration_ - 1
        for name in ("early_stopping_round", "early_stopping_rounds", "early_stopping"):
            if options.get(name):
                last.set_params(**{name: 0})
    else:
        return
    if best is not None:
        last.set_params(n_estimators=int(best) + 1)


# Rows


def training_of(
    model: Any, X: Any, y: Any, weights: Array | None, protected: Mapping[str, Any]
) -> Training:
    """A training of a clone of a model, on rows as the model reads them."""
    estimator = clone_of(model)
    names = column_names(X)
    if weights is not None:
        weights = np.asarray(weights, dtype=np.float64)
    return Training(model, estimator, rows_for(model, X), names, y, weights, protected)


def column_names(X: Any) -> tuple[str, ...]:
    """The names of the columns of a data frame; x0, x1, ... for an array."""
    if hasattr(X, "columns"):
        return tuple(map(str, X.columns))
    return tuple(f"x{i}" for i in range(X.shape[1]))


def rows_for(model: Any, X: Any) -> Any:
    """The rows as the model reads them: an array if it was fitted on an array."""
    try:
        return model_rows(model, X, column_names(X))
    except ProxyUseError as error:
        raise CannotFit(str(error)) from error


def with_column(X: Any, index: int, values: Any) -> Any:
    """A copy of the rows with other values in one column, of the same type if possible."""
    if hasattr(X, "iloc"):
        import pandas as pd

        column = X.iloc[:, index]
        new = pd.Series(values, index=X.index, name=column.name)
        if new.dtype != column.dtype:
            with contextlib.suppress(TypeError, ValueError):  # integers may become fractions
                new = new.astype(column.dtype)
        changed = X.copy(deep=False)
        changed.isetitem(index, new)
        return changed
    changed = X.copy()
    changed[:, index] = values
    return changed


def column_values(X: Any, index: int) -> Any:
    """The values of one column."""
    return X.iloc[:, index] if hasattr(X, "iloc") else X[:, index]


def constant(values: Any, *, common: bool = False) -> Any:
    """A constant column: zeros if it has numbers, or else its most frequent value.

    With `common`, always its most frequent value.
    """
    dtype = getattr(values, "dtype", np.dtype(object))
    if not common and getattr(dtype, "kind", "O") in "iuf":
        return np.zeros(len(values), dtype=np.float64)
    present = [v for v in values.tolist() if v == v and v is not None]
    if not present:
        raise CannotFit("a column has no values")
    counts: dict[Any, int] = {}
    for each in present:
        counts[each] = counts.get(each, 0) + 1
    value = max(counts, key=counts.__getitem__)
    filled = np.empty(len(values), dtype=object)
    filled[:] = [value] * len(values)
    return filled if isinstance(value, str) else filled.astype(type(value))


# Fitting


def fit_clone(model: Any, X: Any, y: Any, weights: Array | None = None) -> Any:
    """A clone of a model, fitted on some rows; the model does not change."""
    return fitted(training_of(model, X, y, weights, {}))


def fitted(training: Training) -> Any:
    """Fit a clone of the estimator of a training."""
    estimator = unfitted(training.estimator)
    if training.zeroed:
        _fit_zeroed(estimator, training)
    else:
        fit_rows(estimator, training.X, training.y, training.weights)
    return estimator


@contextmanager
def library_errors(estimator: Any, action: str = "fitting") -> Iterator[None]:
    """Turn the errors of a library into `CannotFit`, and silence its warnings."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of convergence, of columns without information
            yield
    except CannotFit:
        raise
    except Exception as error:  # any class of any library
        raise CannotFit(f"{action} the {type(estimator).__name__} failed: {error}") from error


def fit_rows(estimator: Any, X: Any, y: Any, weights: Array | None) -> None:
    """Fit an estimator on some rows, or raise `CannotFit`."""
    with library_errors(estimator), _weighted(estimator, weights) as arguments:
        estimator.fit(X, y, **arguments)


def _fit_zeroed(pipeline: Any, training: Training) -> None:
    """Fit the last step of a pipeline on features of which those of some columns are 0."""
    rows = fit_steps(pipeline, training.X, training.y)
    columns = last_step_columns(pipeline, training.names)
    zeros = [index for index, read in enumerate(columns) if read & training.zeroed]
    last = pipeline.steps[-1][1]
    fit_rows(last, with_zeros(rows, zeros), training.y, training.weights)


def fit_steps(pipeline: Any, X: Any, y: Any) -> Any:
    """Fit the steps of a pipeline before the last, and return the features that they compute."""
    with library_errors(pipeline):
        for _, step in pipeline.steps[:-1]:
            if step is not None and not isinstance(step, str):
                X = step.fit_transform(X, y)
    return X


def with_zeros(rows: Any, zeros: Sequence[int]) -> Any:
    """A copy of some features in which some of them are 0."""
    if hasattr(rows, "tocsr"):
        from scipy.sparse import diags_array

        keep = np.ones(rows.shape[1])
        keep[list(zeros)] = 0.0
        return type(rows)(rows @ diags_array(keep))
    if hasattr(rows, "iloc"):
        for index in zeros:
            rows = with_column(rows, index, np.zeros(len(rows)))
        return rows
    rows = np.array(rows)
    rows[:, list(zeros)] = 0
    return rows


@contextmanager
def _weighted(estimator: Any, weights: Array | None) -> Iterator[dict[str, Array]]:
    """The arguments of `fit` that pass sample weights to the last estimator."""
    from sklearn import config_context, get_config

    if weights is None:
        yield {}
        return
    path = last_path(estimator)
    if not takes_weights(get_nested(estimator, path)):
        name = type(get_nested(estimator, path)).__name__
        raise CannotFit(f"a {name} takes no sample weights")
    routed = get_config()["enable_metadata_routing"]
    if not path or not (routed or has_threshold(estimator)):
        steps = [step for step in path.split("__") if step] if path else []
        yield {_without_searches(estimator, steps): weights}
        return
    with config_context(enable_metadata_routing=True):
        _request_weights(estimator, path)
        yield {"sample_weight": weights}


def takes_weights(estimator: Any) -> bool:
    """Whether an estimator's `fit` has the parameter `sample_weight`."""
    from sklearn.utils.validation import has_fit_parameter

    return bool(has_fit_parameter(estimator, "sample_weight"))


def _without_searches(model: Any, steps: list[str]) -> str:
    """The argument of `fit` for the weights: a search passes on the arguments of its estimator."""
    named: list[str] = []
    for step in steps:
        if hasattr(model, "steps"):
            named.append(step)
            model = dict(model.steps)[step]
        else:
            model = model.estimator
    return "__".join([*named, "sample_weight"])


def _request_weights(estimator: Any, path: str) -> None:
    """Route sample weights to the last estimator and to scorers, and to no other part."""
    from sklearn.metrics import get_scorer

    parts = {path: get_nested(estimator, path)}
    parts |= {
        name: part
        for name, part in estimator.get_params(deep=True).items()
        if hasattr(part, "set_fit_request") and not isinstance(part, type)
    }
    for part in (estimator, *parts.values()):
        scoring: Any = getattr(part, "scoring", None)
        if isinstance(scoring, str) or hasattr(scoring, "set_score_request"):
            scorer = get_scorer(scoring) if isinstance(scoring, str) else scoring
            part.set_params(scoring=scorer.set_score_request(sample_weight=True))
    for name, part in parts.items():
        if takes_weights(part):
            part.set_fit_request(sample_weight=name == path)
        for method in ("score", "transform"):
            request = getattr(part, f"set_{method}_request", None)
            if request is not None and _accepts(part, method):
                request(sample_weight=name == path)


def _accepts(part: Any, method: str) -> bool:
    function = getattr(part, method, None)
    return function is not None and "sample_weight" in inspect.signature(function).parameters
