"""Fits the numbers of a model again, and keeps its structure.

A repair by constants leaves numbers that were right for the model before: the probabilities of a
leaf that replaced a subtree, the coefficients beside a removed one. `refit` computes them from
rows. Tests and columns stay as they are, so what was removed does not come back.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from proxyuse.lang.evaluate import Array
from proxyuse.models.write_back import find_writer
from proxyuse.repairing.recipes.fitting import library_errors, rows_for
from proxyuse.repairing.recipes.nesting import copied, fitted_part
from proxyuse.repairing.recipes.training import CannotFit
from proxyuse.repairing.refitting.lightgbm import refit_lightgbm
from proxyuse.repairing.refitting.linear import refit_linear
from proxyuse.repairing.refitting.trees import refit_trees
from proxyuse.repairing.refitting.xgboost import refit_xgboost

Refit = Callable[[Any, Any, Any, Any], Any]

BY_WRITER: dict[str, Refit] = {
    "proxyuse.models.sklearn.write_trees:write_tree": refit_trees,
    "proxyuse.models.sklearn.write_trees:write_forest": refit_trees,
    "proxyuse.models.sklearn.write_trees:write_bagging": refit_trees,
    "proxyuse.models.sklearn.write_linear:write_linear": refit_linear,
    "proxyuse.models.xgboost.write_back:write": refit_xgboost,
    "proxyuse.models.lightgbm.write_back:write": refit_lightgbm,
}
"""What fits a model again, by the function that writes a repaired program back to its class."""


def refit(model: Any, X: Any, y: Any, weights: Array | None = None) -> Any:
    """A copy of a model with the same structure and numbers that fit some rows.

    Trees and forests of scikit-learn get new leaf values, as do XGBoost and LightGBM behind their
    scikit-learn interface. Linear models get new coefficients for the features that they still
    read.

    Parameters
    ----------
    model : a fitted model, which is not changed; for example one that a repair wrote back.
    X : a data frame with the columns of the model, or a 2-D array.
    y : the labels or numbers to learn.
    weights : one per row; None for equal weights.

    Returns
    -------
    model or None
        None if the class of the model cannot be fitted again in this way.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X = np.array([[1.0], [2.0], [3.0], [4.0]])
    >>> model = DecisionTreeClassifier(max_depth=1).fit(X, [0, 0, 1, 1])
    >>> refit(model, X, [0, 1, 1, 1]).predict_proba(X)[:, 1].tolist()
    [0.5, 0.5, 1.0, 1.0]
    """
    given = None if weights is None else np.asarray(weights, dtype=np.float64)
    try:
        with library_errors(model):
            return _refitted(model, rows_for(model, X), y, given)
    except CannotFit:
        return None


def _refitted(model: Any, X: Any, y: Any, weights: Array | None) -> Any | None:
    part = fitted_part(model)
    if part is not None:
        if hasattr(model, "steps"):
            for _, step in model.steps[:-1]:
                if step is not None and not isinstance(step, str):
                    X = step.transform(X)
        new = _refitted(part, X, y, weights)
        return None if new is None else copied(model, {id(part): new})
    writer = find_writer(model)
    function = None if writer is None else BY_WRITER.get(writer.function)
    if function is None or not hasattr(model, "get_params"):
        return None
    if weights is None and function is not refit_linear:
        weights = np.ones(len(y))
    return function(model, X, y, weights)
