"""XGBoost: sums of trees, or of weighted features, read from the model's own JSON.

A tree compares a feature, rounded to float32, with a float32 threshold; a value below it goes
left. Each node has a direction for missing numbers. A zero that is not stored in a sparse matrix,
such as most encoders produce, also counts as missing. A categorical split sends the listed
categories to the right and all others to the left. Booster `dart` has a weight per tree;
`gblinear` has a weight per feature instead of trees, and treats missing numbers as 0.

XGBoost intends to reject named categories that it was not fitted on. It rejects some, and takes
others for the next known name in sorted order; a program does not imitate that.

The score of a row is the base score plus the leaves, in the order of the trees; with several
classes, each tree belongs to one. The objective turns the score into a prediction: the score
itself, its exponential, a probability, or a class. A binary classifier predicts 1 if the
probability is above one half.

XGBoost adds in float32, a program in float64. Rows whose score is within float32 rounding of a
tie may therefore be decided differently.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from proxyuse.errors import TranslationError
from proxyuse.lang.build import add, const, vector
from proxyuse.lang.evaluate import Array
from proxyuse.lang.nodes import (
    Argmax,
    Call,
    Compare,
    Const,
    Function,
    Precision,
    Relation,
    Term,
    Value,
)
from proxyuse.models.boosted import (
    ZERO_AND_ONE,
    Scores,
    TreatedAsMissing,
    above_one_half,
    class_sums,
    label_where,
    zeros_as_missing,
)
from proxyuse.models.features import (
    Coded,
    Computed,
    Feature,
    Fixed,
    Inputs,
    Mapped,
    Raw,
    filled,
)
from proxyuse.models.registry import check_fitted
from proxyuse.models.sklearn.trees import origin_of
from proxyuse.models.translation import SINGLE, Origins, Translation, binary_probabilities
from proxyuse.models.tree_table import LEAF, TreeTable, packed_trees
from proxyuse.models.weighted_sums import weighted_terms
from proxyuse.program import Origin

SIGMOID = ("binary:logistic", "reg:logistic")
EXPONENTIAL = ("count:poisson", "reg:gamma", "reg:tweedie", "survival:cox", "survival:aft")
PLAIN = (
    "reg:squarederror", "reg:squaredlogerror", "reg:absoluteerror", "reg:pseudohubererror",
    "reg:quantileerror", "binary:logitraw", "rank:pairwise", "rank:ndcg", "rank:map",
)  # fmt: skip
HINGE = ("binary:hinge",)
CLASSES = ("multi:softprob", "multi:softmax")
OBJECTIVES = (*SIGMOID, *EXPONENTIAL, *PLAIN, *HINGE, *CLASSES)


def translate_booster(model: Any, inputs: Inputs) -> Translation:
    """Translate a Booster: all its trees, and its objective."""
    scores = _scores(model, inputs, origin_of(model, inputs))
    return scores.translation(_predicted(scores), origin_of(model, inputs), tolerance=SINGLE)


def translate_regressor(model: Any, inputs: Inputs) -> Translation:
    """Translate XGBRegressor, XGBRFRegressor or XGBRanker."""
    scores = _fitted_scores(model, inputs)
    return scores.translation(_predicted(scores), origin_of(model, inputs), tolerance=SINGLE)


def translate_classifier(model: Any, inputs: Inputs) -> Translation:
    """Translate XGBClassifier or XGBRFClassifier, whose classes are 0, 1, ..."""
    scores = _fitted_scores(model, inputs)
    origin = origin_of(model, inputs)
    if scores.objective in CLASSES:
        count = len(scores.sums)
        if count == 2 and scores.objective == "multi:softprob":
            raise TranslationError(
                f"this {_named(origin)} has two classes and the objective multi:softprob, for "
                "which it predicts two labels per row; fit it with binary:logistic"
            )
        classes = tuple(float(number) for number in range(count))
        both = vector(*scores.sums)
        probabilities: Term | None = Call(Function.SOFTMAX, (both,))
        return scores.translation(Argmax(both, classes), origin, classes, probabilities, SINGLE)
    (total,) = scores.sums
    if scores.objective in SIGMOID:
        test: Term = above_one_half(total, _probability)
        probabilities = binary_probabilities(Call(Function.SIGMOID, (total,)))
    elif scores.objective in HINGE:
        test, probabilities = Compare(Relation.GT, total, Const(0.0)), None
    else:
        test, probabilities = Compare(Relation.GT, _predicted(scores), Const(0.5)), None
    return scores.translation(label_where(test), origin, ZERO_AND_ONE, probabilities, SINGLE)


def _predicted(scores: Scores) -> Term:
    """The prediction: the objective applied to the sums."""
    if scores.objective == "multi:softprob":
        return Call(Function.SOFTMAX, (vector(*scores.sums),))
    if scores.objective == "multi:softmax":
        return Argmax(vector(*scores.sums))
    (total,) = scores.sums
    if scores.objective in SIGMOID:
        return Call(Function.SIGMOID, (total,))
    if scores.objective in EXPONENTIAL:
        return Call(Function.EXP, (total,))
    if scores.objective in HINGE:
        return label_where(Compare(Relation.GT, total, Const(0.0)))
    return total


def _probability(scores: Array) -> Array:
    """The sigmoid in float32, as XGBoost computes it.

    The exponential is rounded from float64, because NumPy's float32 version is less precise.
    """
    with np.errstate(over="ignore"):
        powers = np.exp(-scores.astype(np.float32).astype(np.float64)).astype(np.float32)
    return np.float32(1.0) / (powers + np.float32(1.0))


# Scores


def _fitted_scores(model: Any, inputs: Inputs) -> Scores:
    """The scores of a scikit-learn wrapper, up to the best round if there is one."""
    check_fitted(model, "_Booster", inputs)
    rounds = None
    if hasattr(model, "best_iteration"):
        rounds = int(model.best_iteration) + 1
    missing = math.nan if model.missing is None else float(model.missing)
    return _scores(model.get_booster(), inputs, origin_of(model, inputs), rounds, missing)


def _scores(
    booster: Any,
    inputs: Inputs,
    origin: Origin,
    rounds: int | None = None,
    missing: float = math.nan,
) -> Scores:
    learner = json.loads(bytes(booster.save_raw("json")))["learner"]
    objective = learner["objective"]["name"]
    if objective not in OBJECTIVES:
        raise TranslationError(
            f"this {_named(origin)} has the objective {objective!r}, which is not supported; "
            f"supported objectives: {', '.join(OBJECTIVES)}"
        )
    parameters = learner["learner_model_param"]
    if int(parameters["num_feature"]) != len(inputs.features):
        raise TranslationError(
            f"this {_named(origin)} was fitted on {parameters['num_feature']} features, got "
            f"{len(inputs.features)}"
        )
    if int(parameters.get("num_target", 1)) > 1:
        raise TranslationError(
            f"this {_named(origin)} has {parameters['num_target']} outputs; only one is supported"
        )
    bases = base_scores(parameters, objective)
    booster_part = learner["gradient_booster"]
    if booster_part["name"] == "gblinear":
        sums, origins = _weighted(booster_part["model"]["weights"], bases, inputs, origin, missing)
    else:
        sums, origins = _boosted(booster_part, bases, inputs, origin, rounds, missing)
    return Scores(objective, sums, origins)


def _named(origin: Origin) -> str:
    return f"XGBoost model (step {origin.step!r})"


def base_scores(parameters: Mapping[str, str], objective: str) -> list[float]:
    """The initial value of each sum, computed in float32 from the stored base score."""
    stored = np.fromstring(parameters["base_score"].strip("[]"), dtype=np.float32, sep=",")
    one, least = np.float32(1.0), np.float32(1e-6)
    if objective in SIGMOID:
        stored = -np.log(one / np.clip(stored, least, one - least) - one)
    elif objective in EXPONENTIAL:
        with np.errstate(divide="ignore"):
            stored = np.log(stored)
    count = max(int(parameters["num_class"]), 1)
    return [float(number) for number in np.broadcast_to(stored, count)]


# Trees


def _boosted(
    part: Mapping[str, Any],
    bases: list[float],
    inputs: Inputs,
    origin: Origin,
    rounds: int | None,
    missing: float,
) -> tuple[list[Term], Origins]:
    model = part["gbtree"]["model"] if part["name"] == "dart" else part["model"]
    weights = part.get("weight_drop")
    names = _categories(model.get("cats") or {}, origin)
    features: Sequence[Feature] = inputs.features
    if inputs.sparse:
        features = [zeros_as_missing(feature) for feature in features]
    if not math.isnan(missing):
        rounded = float(np.float32(missing))
        features = [TreatedAsMissing(feature, rounded, rounded) for feature in features]
    tables = []
    for number in range(_tree_count(model, rounds, len(bases))):
        weight = 1.0 if weights is None else weights[number]
        table = _table(model["trees"][number], weight, names, origin)
        if table.members and not math.isnan(missing):
            raise TranslationError(
                f"this {_named(origin)} treats {missing} as missing and has categorical splits; "
                "replace the number with NaN in the data and fit without `missing`"
            )
        table.check(len(features))
        tables.append(table)
    terms: list[Term] = []
    origins: Origins = {}
    if tables:
        terms, origins = packed_trees(tables, features, origin.step, range(len(tables)))
    sums = class_sums(bases, list(zip(model["tree_info"], terms, strict=False)))
    for total in sums:
        origins.setdefault(id(total), origin)
    return sums, origins


def _tree_count(model: Mapping[str, Any], rounds: int | None, classes: int) -> int:
    """The number of trees in the first rounds."""
    count = len(model["trees"])
    if rounds is None:
        return count
    if "iteration_indptr" in model:
        ends = model["iteration_indptr"]
        return int(ends[min(rounds, len(ends) - 1)])
    each = max(int(model["gbtree_model_param"].get("num_parallel_tree", 1)), 1)
    return min(rounds * each * classes, count)


def _table(
    tree: Mapping[str, Any], weight: float, names: list[tuple[Value, ...]], origin: Origin
) -> TreeTable:
    if int(tree["tree_param"].get("size_leaf_vector", 1)) > 1:
        raise TranslationError(
            f"the leaves of this {_named(origin)} have several values; fit it with "
            "multi_strategy='one_output_per_tree'"
        )
    left, right = np.array(tree["left_children"]), np.array(tree["right_children"])
    feature = np.array(tree["split_indices"])
    numbers = np.array(tree["split_conditions"], dtype=np.float32)
    missing_left = np.array(tree["default_left"], dtype=np.bool_)
    members = _members(tree, feature, names)
    for node in members:  # listed categories go right in XGBoost, left in a TreeTable
        left[node], right[node] = right[node], left[node]
        missing_left[node] = not missing_left[node]
    leaves = np.flatnonzero(left == LEAF)
    unreachable = np.setdiff1d(leaves[leaves > 0], np.concatenate([left, right]))  # by pruning
    values = numbers if weight == 1 else numbers * np.float32(weight)
    return TreeTable(
        left=left,
        right=right,
        feature=feature,
        threshold=numbers,
        missing_left=missing_left,
        leaves=values,
        precision=Precision.FLOAT32,
        strict=True,
        members=members,
        unreachable=frozenset(unreachable.tolist()),
    )


# Categories


def _categories(stored: Mapping[str, Any], origin: Origin) -> list[tuple[Value, ...]]:
    """The categories of each feature, in the order of their codes, if the model stores them."""
    return [_category_names(feature, origin) for feature in stored.get("enc", ())]


def _category_names(feature: Mapping[str, Any], origin: Origin) -> tuple[Value, ...]:
    values = feature["values"]
    if "offsets" not in feature:
        return tuple(const(value).value for value in values)
    if any(not 0 <= byte < 128 for byte in values):  # XGBoost stores one byte per character
        raise TranslationError(
            f"this {_named(origin)} has category names that are not ASCII, which XGBoost stores "
            "incompletely; rename them and fit it again"
        )
    text = bytes(values).decode("ascii")
    ends = feature["offsets"]
    return tuple(text[start:end] for start, end in pairwise(ends))


def _members(
    tree: Mapping[str, Any], feature: Array, names: list[tuple[Value, ...]]
) -> dict[int, tuple[Value, ...]]:
    """The categories that each categorical split lists."""
    members: dict[int, tuple[Value, ...]] = {}
    nodes = tree.get("categories_nodes", ())
    for node, start, size in zip(
        nodes, tree.get("categories_segments", ()), tree.get("categories_sizes", ()), strict=True
    ):
        codes = tree["categories"][start : start + size]
        categories = names[feature[node]] if names else ()
        members[node] = tuple(categories[code] if categories else float(code) for code in codes)
    return members


# Weights


def _weighted(
    weights: Sequence[float], bases: list[float], inputs: Inputs, origin: Origin, missing: float
) -> tuple[list[Term], Origins]:
    """The sums of `gblinear`: one weight per feature and class, then the biases.

    XGBoost adds the base score of the first class to every sum.
    """
    if not math.isnan(missing):
        raise TranslationError(
            f"this {_named(origin)} treats {missing} as missing in a linear model; replace the "
            "number with NaN in the data and fit without `missing`"
        )
    features = [_or_zero(feature) for feature in inputs.features]
    table = np.array(weights, dtype=np.float32).astype(np.float64).reshape(-1, len(bases))
    sums: list[Term] = []
    origins: Origins = {}
    for number in range(len(bases)):
        *feature_weights, bias = table[:, number].tolist()
        parts = weighted_terms(features, feature_weights, bases[0] + bias)
        for term, feature in parts:
            if feature is not None:
                index = feature * len(bases) + number
                origins[id(term)] = Origin(origin.step, coefficient=index)
        sums.append(add(*(term for term, _ in parts)))
        origins.setdefault(id(sums[-1]), origin)
    return sums, origins


def _or_zero(feature: Feature) -> Feature:
    """A feature with missing values replaced by 0."""
    match feature:
        case Raw(name):
            value = filled(name, 0.0)
            return Mapped(name, np.nan_to_num, True, value, affine=(1.0, 0.0), fill=0.0)
        case Coded(name, numbers, default, missing):
            known = {value: _number_or_zero(number) for value, number in numbers.items()}
            return Coded(name, known, _number_or_zero(default), _number_or_zero(missing))
        case Fixed(number):
            return Fixed(_number_or_zero(number))
        case Mapped(fill=float()):
            return feature
        case _:
            return Computed(Call(Function.FILL, (feature.term(), Const(0.0))))


def _number_or_zero(number: float) -> float:
    return 0.0 if math.isnan(number) else number
