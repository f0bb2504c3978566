"""scikit-learn's histogram gradient boosting: a baseline plus trees.

Numbers are compared in float64. Each node has a direction for missing numbers. The model encodes
categorical columns itself. A categorical split sends a set of categories to the left and the
other known categories to the right; unknown categories follow the missing values. With two
classes, the second wins if the sum is above 0. With more, the largest sum wins; ties go to the
first. A regressor predicts the sum, or its exponential for the losses gamma and poisson.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from proxyuse.errors import TranslationError
from proxyuse.lang.build import add, const
from proxyuse.lang.evaluate import Array
from proxyuse.lang.nodes import Call, Const, Function, Precision, Term, Value, is_missing
from proxyuse.models.features import Feature, Inputs
from proxyuse.models.registry import at_step, check_fitted
from proxyuse.models.sklearn.boosting import boosted_classes
from proxyuse.models.sklearn.trees import origin_of
from proxyuse.models.term_transforms import TracedOrigins
from proxyuse.models.translation import Translation, is_zero
from proxyuse.models.tree_table import LEAF, TreeTable, packed_trees


def translate_hist(model: Any, inputs: Inputs) -> Translation:
    """Translate a HistGradientBoostingClassifier or HistGradientBoostingRegressor.

    Tree k of iteration i has the number ``i * trees_per_iteration + k``.
    """
    check_fitted(model, "_predictors", inputs)
    features, categories = _columns(model, inputs)
    origins = TracedOrigins()
    sums: list[list[Term]] = [
        [Const(start)] for start in model._baseline_prediction.ravel().tolist()
    ]
    fitted = [predictor for stage in model._predictors for predictor in stage]
    tables = [_table(predictor, len(features), categories) for predictor in fitted]
    step, numbers = origin_of(model, inputs).step, range(len(tables))
    trees, tree_origins = packed_trees(tables, features, step, numbers) if tables else ([], {})
    origins |= tree_origins
    for number, tree in enumerate(trees):
        if not is_zero(tree):
            sums[number % len(sums)].append(tree)
    scores = [add(*parts) for parts in sums]
    for score in scores:
        origins.setdefault(id(score), origin_of(model, inputs))
    if hasattr(model, "classes_"):
        return boosted_classes(model, inputs, scores, origins, strict=True)
    output = _inverse_link(model, scores[0], inputs)
    origins.setdefault(id(output), origin_of(model, inputs))
    return Translation(output, origins=origins)


def _inverse_link(model: Any, score: Term, inputs: Inputs) -> Term:
    link = type(model._loss.link).__name__
    if link == "IdentityLink":
        return score
    if link == "LogLink":
        return Call(Function.EXP, (score,))
    raise TranslationError(
        f"this {type(model).__name__}{at_step(inputs)} has the link {link}; only identity and log "
        "are supported: fit it with another loss"
    )


def _columns(model: Any, inputs: Inputs) -> tuple[list[Feature], list[tuple[Value, ...]]]:
    """The features in the order of the model's trees, and the categories of each categorical one.

    Categorical features come first.
    """
    if model.is_categorical_ is None:
        return list(inputs.features), []
    encoder = model._preprocessor.named_transformers_["encoder"]
    order = np.argsort(~model.is_categorical_, kind="stable").tolist()
    categories = [
        tuple(const(value).value for value in values.tolist()) for values in encoder.categories_
    ]
    return [inputs.features[index] for index in order], categories


def _table(predictor: Any, n_features: int, categories: Sequence[tuple[Value, ...]]) -> TreeTable:
    nodes = predictor.nodes
    leaf = nodes["is_leaf"].astype(np.bool_)
    left = np.where(leaf, LEAF, nodes["left"].astype(np.int64))
    right = np.where(leaf, LEAF, nodes["right"].astype(np.int64))
    feature = nodes["feature_idx"].astype(np.int64)
    missing_left = nodes["missing_go_to_left"].astype(np.bool_)
    members: dict[int, tuple[Value, ...]] = {}
    for node in np.flatnonzero(nodes["is_categorical"].astype(np.bool_) & ~leaf).tolist():
        bits = predictor.raw_left_cat_bitsets[nodes["bitset_idx"][node]]
        if missing_left[node]:  # only known categories go right, so test for those instead
            left[node], right[node] = right[node], left[node]
        members[node] = _members(categories[feature[node]], bits, not missing_left[node])
        missing_left[node] = False
    table = TreeTable(
        left=left,
        right=right,
        feature=feature,
        threshold=nodes["num_threshold"].astype(np.float64),
        missing_left=missing_left,
        leaves=nodes["value"].astype(np.float64),
        precision=Precision.FLOAT64,
        members=members,
    )
    table.check(n_features)
    return table


def _members(categories: Sequence[Value], bits: Array, on_the_left: bool) -> tuple[Value, ...]:
    """The known categories that a split sends to one side."""
    return tuple(
        value
        for code, value in enumerate(categories)
        if not is_missing(value) and bool(int(bits[code // 32]) >> (code % 32) & 1) == on_the_left
    )
