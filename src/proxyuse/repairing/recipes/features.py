"""The features that the model at the end of a pipeline reads, and the raw columns behind each."""

from __future__ import annotations

from typing import Any

from proxyuse.errors import ProxyUseError
from proxyuse.lang.nodes import variables
from proxyuse.models.features import Inputs
from proxyuse.models.registry import translation_of
from proxyuse.models.sklearn.pipelines import inputs_of_last
from proxyuse.repairing.recipes.nesting import fitted_part
from proxyuse.repairing.recipes.training import CannotFit


def columns_read(model: Any, names: tuple[str, ...]) -> frozenset[str]:
    """The raw columns that a fitted model reads, or raise `CannotFit`."""
    try:
        return frozenset(variables(translation_of(model, names).output))
    except ProxyUseError as error:
        raise CannotFit(f"the new model cannot be translated: {error}") from error


def feature_columns(model: Any, names: tuple[str, ...]) -> tuple[frozenset[str], ...]:
    """The raw columns behind each feature of the model at the end of a fitted model.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import PolynomialFeatures
    >>> steps = PolynomialFeatures(2, include_bias=False, interaction_only=True), Ridge()
    >>> model = make_pipeline(*steps).fit([[1, 2], [3, 4]], [0, 1])
    >>> [sorted(columns) for columns in feature_columns(model, ("a", "b"))]
    [['a'], ['b'], ['a', 'b']]
    """
    inputs = Inputs.raw(names)
    try:
        while (part := fitted_part(model)) is not None:
            if hasattr(model, "steps"):
                inputs = inputs_of_last(model, inputs)
            model = part
        return tuple(frozenset(variables(feature.term())) for feature in inputs.features)
    except ProxyUseError as error:
        raise CannotFit(f"the features of the model are not known: {error}") from error


def last_step_columns(pipeline: Any, names: tuple[str, ...]) -> tuple[frozenset[str], ...]:
    """The raw columns behind each feature of the last step of a pipeline, fitted or not."""
    try:
        features = inputs_of_last(pipeline, Inputs.raw(names)).features
    except ProxyUseError as error:
        raise CannotFit(f"the features of the model are not known: {error}") from error
    return tuple(frozenset(variables(feature.term())) for feature in features)
