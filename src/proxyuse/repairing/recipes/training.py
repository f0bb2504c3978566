"""A training: an estimator that is not fitted yet, and the rows to fit it on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from proxyuse.lang.evaluate import Array


class CannotFit(Exception):
    """The reason that a model cannot be trained in some way."""


@dataclass(frozen=True, slots=True, eq=False)
class Training:
    """An estimator that is not fitted yet, and the rows to fit it on.

    Attributes
    ----------
    model : the fitted model that is trained again; nothing may change it.
    estimator : a clone of it that is not fitted.
    X : the rows, a data frame with the model's columns or a 2-D array.
    names : the names of the columns.
    y : the labels or numbers to learn.
    weights : one per row, or None.
    protected : the values of the protected attributes, by name.
    zeroed : columns whose features are 0 when the model at the end of a pipeline is fitted.
    """

    model: Any
    estimator: Any
    X: Any
    names: tuple[str, ...]
    y: Any
    weights: Array | None
    protected: Mapping[str, Any]
    zeroed: frozenset[str] = frozenset()
