"""scikit-learn's pipelines, column transformers and feature unions.

A pipeline passes the features of each step to the next; the last step is a model. A column
transformer passes some columns to each of its transformers and concatenates their outputs, with
the remainder last. A union passes all columns to each.

scikit-learn scales a sparse matrix with different operations than an array, so the translation
tracks whether the features at a step are sparse.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from proxyuse.errors import TranslationError
from proxyuse.models.features import Feature, Inputs
from proxyuse.models.registry import check_fitted, transformed, translate_part
from proxyuse.models.sklearn.preprocessing import times
from proxyuse.models.translation import Translation


def translate_pipeline(model: Any, inputs: Inputs) -> Translation:
    """Translate a Pipeline that ends with a model."""
    name, last = model.steps[-1]
    if _passes(last) or not hasattr(last, "predict"):
        raise TranslationError(
            f"the last step {name!r} of this {type(model).__name__} is not a model; add one, or "
            "pass the pipeline that contains it"
        )
    return translate_part(last, inputs_of_last(model, inputs))


def inputs_of_last(model: Any, inputs: Inputs) -> Inputs:
    """The features that the last step of a Pipeline reads."""
    *before, (name, last) = model.steps
    return _through(before, last, inputs).inside(name)


def transform_pipeline(transformer: Any, inputs: Inputs) -> Sequence[Feature]:
    """Translate a Pipeline that ends with a transformer."""
    return _through(transformer.steps, None, inputs).features


def _through(steps: Sequence[tuple[str, Any]], last: Any, inputs: Inputs) -> Inputs:
    """The features after some steps; `last` is the step that follows."""
    after = [*(step for _, step in steps), last][1:]
    features = inputs
    for (name, step), following in zip(steps, after, strict=True):
        outputs = getattr(following, "n_features_in_", None)
        here = transformed(step, features.inside(name), outputs)
        features = replace(here, step=inputs.step, sparse=_is_sparse_after(step, features.sparse))
    return features


def transform_columns(transformer: Any, inputs: Inputs) -> list[Feature]:
    """Translate a ColumnTransformer."""
    check_fitted(transformer, "transformers_", inputs)
    weights = transformer.transformer_weights or {}
    features: list[Feature] = []
    for name, part, _ in transformer.transformers_:
        indices = transformer._transformer_to_input_indices[name]
        if _is_word(part, "drop") or not len(indices):
            continue
        slot = transformer.output_indices_[name]
        part_inputs = inputs.inside(name).having([inputs.features[index] for index in indices])
        features += _weighted(
            transformed(part, part_inputs, slot.stop - slot.start), weights.get(name)
        )
    return features


def transform_union(transformer: Any, inputs: Inputs) -> list[Feature]:
    """Translate a FeatureUnion."""
    weights = transformer.transformer_weights or {}
    features: list[Feature] = []
    for name, part in transformer.transformer_list:
        if not _is_word(part, "drop"):
            features += _weighted(transformed(part, inputs.inside(name)), weights.get(name))
    return features


def transform_function(transformer: Any, inputs: Inputs) -> Sequence[Feature]:
    """Translate a FunctionTransformer without a function."""
    if transformer.func is None:
        return inputs.features
    called = getattr(transformer.func, "__name__", repr(transformer.func))
    raise TranslationError(
        f"the FunctionTransformer (step {inputs.step!r}) calls {called}, which cannot be "
        "translated; compute it before the pipeline, or pass opaque=True and its outputs as "
        "columns"
    )


def transform_selected(transformer: Any, inputs: Inputs) -> list[Feature]:
    """Translate a feature selector."""
    check_fitted(transformer, "n_features_in_", inputs)
    return [inputs.features[index] for index in np.flatnonzero(transformer.get_support())]


def _weighted(inputs: Inputs, weight: float | None) -> Sequence[Feature]:
    if weight is None:
        return inputs.features
    return [times(feature, float(weight)) for feature in inputs.features]


def _passes(step: Any) -> bool:
    return step is None or _is_word(step, "passthrough")


def _is_word(step: Any, word: str) -> bool:
    return isinstance(step, str) and step == word


def _is_sparse_after(step: Any, before: bool) -> bool:
    """Whether a step's output is a sparse matrix; `before` is whether its input is one."""
    if _passes(step):
        return before
    if hasattr(step, "steps"):
        for _, part in step.steps:
            before = _is_sparse_after(part, before)
        return before
    if hasattr(step, "transformer_list"):
        parts = [part for _, part in step.transformer_list if not _is_word(part, "drop")]
        return any(_is_sparse_after(part, before) for part in parts)
    for attribute in ("sparse_output_", "sparse_output"):
        if hasattr(step, attribute):
            return bool(getattr(step, attribute))
    if hasattr(step, "encode"):
        return bool(step.encode == "onehot")
    return before and not hasattr(step, "categories_")
