"""LightGBM: sums of trees, read from the text of a saved booster.

A tree compares a feature in float64; a value of at most the threshold goes left. Each node
decides what happens to a missing number: it counts as 0, or it has a default direction. If zeros
count as missing, they follow that direction too. A categorical split sends the listed categories
to the left and all others, including missing and unknown ones, to the right.

The score of a row is the sum of the leaves in float64, in the order of the trees. A random forest
divides it by the number of rounds. With several classes, each has a sum, and tree k of a round
belongs to class k. The objective turns scores into predictions: the score itself, its
exponential, or a probability. A classifier predicts the most probable class; ties go to the
first. With several classes, the program compares the scores, which have the same order as the
probabilities except for ties by rounding.

LightGBM replaces spaces in column names with underscores; `proxyuse.data.table` matches them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from proxyuse.errors import TranslationError
from proxyuse.lang.build import add, const, mul, vector
from proxyuse.lang.evaluate import Array
from proxyuse.lang.nodes import Argmax, Call, Const, Function, Precision, Term, Value
from proxyuse.models.boosted import (
    Scores,
    TreatedAsMissing,
    above_one_half,
    class_sums,
    label_where,
)
from proxyuse.models.features import Feature, Inputs
from proxyuse.models.registry import check_fitted
from proxyuse.models.sklearn.trees import origin_of
from proxyuse.models.translation import Origins, Translation, binary_probabilities, labels
from proxyuse.models.tree_table import LEAF, TreeTable, packed_trees
from proxyuse.program import Origin

ZERO = float(np.float32(1e-35))
"""LightGBM treats numbers from -ZERO to ZERO as zeros."""

PLAIN = (
    "regression", "regression_l1", "huber", "fair", "quantile", "mape", "lambdarank",
    "rank_xendcg", "custom", "none",
)  # fmt: skip
EXPONENTIAL = ("poisson", "gamma", "tweedie")
SIGMOID = ("binary", "cross_entropy")
CLASSES = ("multiclass", "multiclassova")

CATEGORICAL, DEFAULT_LEFT = 1, 2  # bits of a node's decision type; two more define "missing"
ZERO_IS_MISSING = 1  # 0: nothing is missing, 2: only NaN is


def translate_booster(model: Any, inputs: Inputs) -> Translation:
    """Translate a Booster: its trees up to the best round, and its objective."""
    scores = _scores(model, inputs, origin_of(model, inputs))
    return scores.translation(_predicted(scores), origin_of(model, inputs))


def translate_regressor(model: Any, inputs: Inputs) -> Translation:
    """Translate LGBMRegressor or LGBMRanker."""
    scores = _fitted_scores(model, inputs)
    return scores.translation(_predicted(scores), origin_of(model, inputs))


def translate_classifier(model: Any, inputs: Inputs) -> Translation:
    """Translate LGBMClassifier; with a custom objective it predicts scores."""
    origin = origin_of(model, inputs)
    scores = _fitted_scores(model, inputs)
    if callable(model.objective_):
        return scores.translation(_predicted(scores), origin)
    classes = labels(model.classes_)
    predicted = _predicted(scores)
    if scores.objective in CLASSES:
        output: Term = Argmax(vector(*scores.sums), classes)
        return scores.translation(output, origin, classes, predicted)
    if scores.objective not in SIGMOID:
        raise TranslationError(
            f"this {_named(origin)} is a classifier with the objective {scores.objective!r}, "
            "which is not supported; fit it with binary, multiclass, multiclassova or cross_entropy"
        )
    if len(classes) == 1:
        return scores.translation(Const(classes[0]), origin, classes)

    def probability(numbers: Array) -> Array:
        with np.errstate(over="ignore"):
            return np.asarray(1.0 / (1.0 + np.exp(-scores.steepness * numbers)))

    output = label_where(above_one_half(scores.sums[0], probability), classes)
    return scores.translation(output, origin, classes, binary_probabilities(predicted))


def _predicted(scores: Scores) -> Term:
    """The prediction: the objective applied to the sums."""
    if scores.objective == "multiclass":
        return Call(Function.SOFTMAX, (vector(*scores.sums),))
    if scores.objective == "multiclassova":
        return vector(*(_sigmoid(total, scores.steepness) for total in scores.sums))
    if len(scores.sums) > 1:  # several classes and a custom objective
        return vector(*scores.sums)
    (total,) = scores.sums
    if scores.objective in SIGMOID:
        return _sigmoid(total, scores.steepness)
    if scores.objective in EXPONENTIAL:
        return Call(Function.EXP, (total,))
    if scores.objective == "cross_entropy_lambda":
        return Call(Function.LOG, (add(Const(1.0), Call(Function.EXP, (total,))),))
    return total


def _sigmoid(score: Term, steepness: float) -> Term:
    steep = score if steepness == 1 else mul(Const(steepness), score)
    return Call(Function.SIGMOID, (steep,))


def _named(origin: Origin) -> str:
    return f"LightGBM model (step {origin.step!r})"


# Scores


def _fitted_scores(model: Any, inputs: Inputs) -> Scores:
    """The scores of a scikit-learn wrapper."""
    check_fitted(model, "booster_", inputs)
    origin = origin_of(model, inputs)
    if model.get_params().get("pred_early_stop"):
        raise TranslationError(
            f"this {_named(origin)} skips trees for rows with a clear score, which cannot be "
            "translated; set pred_early_stop=False"
        )
    return _scores(model.booster_, inputs, origin)


def _scores(booster: Any, inputs: Inputs, origin: Origin) -> Scores:
    text = booster.model_to_string()
    header, *trees = sections(text)
    objective, steepness = objective_of(header.get("objective", "custom"), origin)
    if int(header["max_feature_idx"]) + 1 != len(inputs.features):
        raise TranslationError(
            f"this {_named(origin)} was fitted on {int(header['max_feature_idx']) + 1} features, "
            f"got {len(inputs.features)}"
        )
    names = _categories(booster.pandas_categorical, header, text, origin)
    width = int(header["num_tree_per_iteration"])
    # Nodes for which zeros are missing read the second half of the features.
    features: list[Feature] = [*inputs.features]
    features += [TreatedAsMissing(feature, -ZERO, ZERO) for feature in inputs.features]
    tables = [_table(section, names, len(inputs.features), origin) for section in trees]
    for table in tables:
        table.check(len(features))
    terms: list[Term] = []
    origins: Origins = {}
    if tables:
        terms, origins = packed_trees(tables, features, origin.step, range(len(tables)))
    sums = class_sums([0.0] * width, [(number % width, term) for number, term in enumerate(terms)])
    if "average_output" in header:
        rounds = float(max(len(trees) // width, 1))
        sums = [Call(Function.DIV, (total, Const(rounds))) for total in sums]
    for total in sums:
        origins.setdefault(id(total), origin)
    return Scores(objective, sums, origins, steepness)


def sections(text: str) -> list[dict[str, str]]:
    """The header and the trees of a saved booster, each as a dict of its lines ``name=value``."""
    model = text.split("\nend of trees", 1)[0]
    return [
        {name: value for name, _, value in (line.partition("=") for line in part.splitlines())}
        for part in model.split("\nTree=")
    ]


def objective_of(text: str, origin: Origin) -> tuple[str, float]:
    """The name of an objective, and the factor of the score in its sigmoid."""
    name, *settings = text.split(" ")
    known = (*PLAIN, *EXPONENTIAL, *SIGMOID, *CLASSES, "cross_entropy_lambda")
    if name not in known or "sqrt" in settings:
        raise TranslationError(
            f"this {_named(origin)} has the objective {text!r}, which is not supported; "
            f"supported objectives: {', '.join(known)}"
        )
    values = dict(setting.partition(":")[::2] for setting in settings)
    return name, float(values.get("sigmoid", 1.0))


# Trees


def _table(
    section: Mapping[str, str],
    names: Mapping[int, Sequence[Value]],
    n_features: int,
    origin: Origin,
) -> TreeTable:
    """The table of a tree; inner nodes come before leaves."""
    if section.get("is_linear", "0") != "0":
        raise TranslationError(
            f"the leaves of this {_named(origin)} are linear models; fit it with linear_tree=False"
        )
    leaf_values = _numbers(section["leaf_value"])
    kinds = _numbers(section["decision_type"], np.int64)
    inner, leaves = len(kinds), len(leaf_values)
    ends = np.full(leaves, LEAF)
    feature = _numbers(section["split_feature"], np.int64)
    threshold = _numbers(section["threshold"])
    missing_kind = (kinds >> 2) & 3
    missing_left = np.where(missing_kind == 0, threshold >= 0, kinds & DEFAULT_LEFT != 0)
    members = _members(section, kinds, feature, threshold, names)
    threshold = _beside_zero(threshold)
    missing_left[list(members)] = False
    feature = feature + np.where(missing_kind == ZERO_IS_MISSING, n_features, 0)
    feature[list(members)] %= n_features
    return TreeTable(
        left=np.concatenate([_children(section["left_child"], inner), ends]),
        right=np.concatenate([_children(section["right_child"], inner), ends]),
        feature=np.concatenate([feature, np.zeros(leaves, dtype=np.int64)]),
        threshold=np.concatenate([threshold, np.zeros(leaves)]),
        missing_left=np.concatenate([missing_left, np.zeros(leaves, dtype=np.bool_)]),
        leaves=np.concatenate([np.zeros(inner), leaf_values]),
        precision=Precision.FLOAT64,
        members=members,
    )


def _beside_zero(thresholds: Array) -> Array:
    """Move thresholds so that all numbers that LightGBM treats as zero fall on the side of 0."""
    low = np.nextafter(-ZERO, -np.inf)
    moved = np.where((thresholds >= -ZERO) & (thresholds < 0), low, thresholds)
    return np.where((moved >= 0) & (moved < ZERO), ZERO, moved)


def _numbers(text: str, kind: type[np.generic] = np.float64) -> Array:
    return np.array(text.split(), dtype=np.float64).astype(kind)


def _children(text: str, inner: int) -> Array:
    """Children as indices, inner nodes before leaves; the text has leaf i as ``-1 - i``."""
    children = _numbers(text, np.int64)
    return np.where(children < 0, inner - 1 - children, children)


# Categories


def _categories(
    stored: list[list[object]] | None, header: Mapping[str, str], text: str, origin: Origin
) -> dict[int, Sequence[Value]]:
    """The categories of each feature that was a categorical column in pandas.

    The model stores the categories of all such columns, in order, but not which columns they are;
    `categorical_columns` finds them.
    """
    if not stored:
        return {}
    infos = header["feature_infos"].split(" ")
    columns = categorical_columns(text)
    fits = len(stored) == len(columns) and all(
        max(map(int, infos[index].split(":"))) < len(categories)
        for index, categories in zip(columns, stored, strict=True)
        if _lists_codes(infos[index])
    )
    if not fits:
        raise TranslationError(
            f"this {_named(origin)} was fitted on categorical columns, and some are ordered or "
            "not used as categories; convert these columns to numbers and fit it again"
        )
    return {
        index: [const(value).value for value in categories]
        for index, categories in zip(columns, stored, strict=True)
    }


def categorical_columns(text: str) -> list[int]:
    """The indices of the columns that a saved model reads as categories."""
    setting = re.search(r"^\[categorical_feature: ([\d,]+)\]$", text, re.MULTILINE)
    if setting:
        return [int(index) for index in setting[1].split(",")]
    infos = re.search(r"^feature_infos=(.*)$", text, re.MULTILINE)
    ranges = infos[1].split(" ") if infos else []
    return [index for index, info in enumerate(ranges) if _lists_codes(info)]


def _lists_codes(info: str) -> bool:
    """Whether the info of a feature lists category codes; a numeric feature has an interval."""
    return info != "none" and not info.startswith("[")


def _members(
    section: Mapping[str, str],
    kinds: Array,
    feature: Array,
    threshold: Array,
    names: Mapping[int, Sequence[Value]],
) -> dict[int, tuple[Value, ...]]:
    """The categories that each categorical split sends left, decoded from its bitset."""
    nodes = np.flatnonzero(kinds & CATEGORICAL)
    if len(nodes) == 0:
        return {}
    bounds = _numbers(section["cat_boundaries"], np.int64)
    words = _numbers(section["cat_threshold"], np.int64)
    members: dict[int, tuple[Value, ...]] = {}
    for node in nodes.tolist():
        list_index = int(threshold[node])
        list_words = words[bounds[list_index] : bounds[list_index + 1]]
        codes = np.flatnonzero((list_words[:, None] >> np.arange(32)) & 1).tolist()
        known = names.get(int(feature[node]))
        if known is None:
            members[node] = tuple(float(code) for code in codes)
        else:
            members[node] = tuple(known[code] for code in codes if code < len(known))
    return members
