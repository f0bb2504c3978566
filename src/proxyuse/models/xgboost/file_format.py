"""Reads model files of XGBoost, JSON and UBJSON. Every number is checked before XGBoost loads it.

The checked values are serialized again, so XGBoost sees nothing that was not checked. A model
saved by a scikit-learn wrapper becomes that wrapper again: a classifier predicts labels, while
its booster predicts probabilities.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from proxyuse.errors import CorruptFile, FileError
from proxyuse.io.json_files import check_json
from proxyuse.lang.evaluate import Array
from proxyuse.models.tree_arrays import check_tree
from proxyuse.models.xgboost.ubjson import is_ubjson, read_ubjson

MAX_FEATURES = 1_000_000
MAX_CATEGORY = 1 << 24  # XGBoost compares categories as float32
MAX_CATEGORY_BYTES = 1 << 28  # for the bitsets that XGBoost builds from them
MAX_DEPTH = 2000  # XGBoost traverses a tree recursively
NO_PARENT = 2**31 - 1
DELETED = 2**31 - 1  # as a feature: the node was pruned

_SCORE = re.compile(r"-?[0-9]{1,40}(\.[0-9]{1,40})?([eE][-+]?[0-9]{1,3})?")
_NUMBERS = ("split_conditions", "base_weights", "loss_changes", "sum_hessian")
_INTEGERS = ("left_children", "right_children", "parents", "split_indices")
_CATEGORY_LISTS = ("categories_segments", "categories_sizes")
_WRAPPERS = {"classifier": "XGBClassifier", "regressor": "XGBRegressor", "ranker": "XGBRanker"}


def load_xgboost(data: bytes) -> tuple[object, str | None]:
    """A Booster, or the scikit-learn wrapper that saved it, and the XGBoost version of the file."""
    document = read_document(data)
    check_document(document)
    try:
        import xgboost
    except ImportError:
        raise FileError(
            "this is an XGBoost model, but XGBoost is not installed: "
            "pip install 'proxyuse[xgboost]'"
        ) from None
    saved_with = f"XGBoost {'.'.join(map(str, document['version']))}"
    wrapper = _wrapper(document["learner"]["attributes"])
    model = getattr(xgboost, wrapper)() if wrapper else xgboost.Booster()
    text = json.dumps(document, ensure_ascii=False)  # XGBoost does not read \\u
    try:
        model.load_model(bytearray(text.encode("utf-8")))
    except ImportError as error:
        raise FileError(f"{wrapper} needs scikit-learn: pip install 'proxyuse[sklearn]'") from error
    except Exception as error:
        first = str(error).strip().partition("\n")[0]
        raise FileError(
            f"saved with {saved_with}; XGBoost {xgboost.__version__} cannot load it: "
            + re.sub(r"^\[[0-9:]+\] \S+: ", "", first)  # a time and a line of XGBoost's source
        ) from None
    return model, saved_with


def read_document(data: bytes) -> Any:
    """The document in a file of either format."""
    return read_ubjson(data) if is_ubjson(data) else read_json(data)


def read_json(data: bytes) -> Any:
    """The value in a JSON file; an error names the line and the column."""
    check_json(data, "the model")
    try:
        return json.loads(data.decode("utf-8-sig"), object_pairs_hook=_unique_names)
    except UnicodeDecodeError as error:
        raise CorruptFile(f"byte {error.start} is not UTF-8") from None
    except RecursionError:
        raise CorruptFile("its JSON is nested too deeply") from None
    except json.JSONDecodeError as error:
        reason = error.msg[:1].lower() + error.msg[1:]
        raise CorruptFile(
            f"invalid JSON at line {error.lineno}, column {error.colno}: {reason}"
        ) from None
    except ValueError as error:  # a number with thousands of digits
        raise CorruptFile(f"invalid JSON: {error}") from None


def _unique_names(pairs: list[tuple[str, object]]) -> dict[str, object]:
    values: dict[str, object] = {}
    for name, value in pairs:
        if name in values:
            raise CorruptFile(f"the name {name!r:.60} appears twice in one JSON object")
        values[name] = value
    return values


def _wrapper(attributes: Mapping[str, str]) -> str:
    """The name of the scikit-learn wrapper that saved the model, empty if it was a Booster."""
    try:
        stored = json.loads(attributes.get("scikit_learn", "{}"))
    except (ValueError, RecursionError):
        raise CorruptFile("the attribute 'scikit_learn' is not JSON") from None
    kind = stored.get("_estimator_type") if isinstance(stored, dict) else None
    if kind is None:
        return ""
    if kind not in _WRAPPERS:
        raise FileError(
            f"the scikit-learn wrapper has the unknown type {kind!r:.60}; supported types: "
            f"{', '.join(_WRAPPERS)}"
        )
    return _WRAPPERS[kind]


# The document


def check_document(document: Any) -> None:
    """Raise an error if XGBoost could not load the document safely; converts numbers to floats."""
    if not isinstance(document, dict) or not {"learner", "version"} <= document.keys():
        raise CorruptFile(
            "'learner' or 'version' is missing, which every XGBoost model has at its top level"
        )
    version = _list(document, "version")
    if len(version) != 3 or not all(_is_integer(part, 0, 10_000) for part in version):
        raise CorruptFile("'version' is not three integers")
    learner = _dict(document, "learner")
    learner.setdefault("attributes", {})
    attributes = _dict(learner, "attributes")
    if not all(isinstance(value, str) for value in attributes.values()):
        raise CorruptFile("'attributes' has a value that is not a string")
    parameters = _dict(learner, "learner_model_param")
    features = _count(parameters, "num_feature", MAX_FEATURES)
    classes = _count(parameters, "num_class", 2**31 - 1)
    targets = _count(parameters, "num_target", 2**31 - 1) if "num_target" in parameters else 1
    if classes > 1 and targets > 1:
        raise CorruptFile(f"it has both {classes} classes and {targets} targets")
    groups = max(classes, targets, 1)
    _check_names(learner, features)
    _check_objective(learner, classes)
    _check_booster(_dict(learner, "gradient_booster"), features, groups, attributes)
    _check_base_score(parameters, groups)


def _check_names(learner: dict[str, Any], features: int) -> None:
    for key in ("feature_names", "feature_types"):
        names = _list(learner, key) if key in learner else []
        if not all(isinstance(name, str) for name in names) or len(names) not in (0, features):
            raise CorruptFile(f"{key!r} is not a list of {features} strings")


def _check_objective(learner: dict[str, Any], classes: int) -> None:
    objective = _dict(learner, "objective")
    if not isinstance(objective.get("name"), str):
        raise CorruptFile("the objective has no name")
    if "softmax_multiclass_param" in objective:
        outputs = _count(_dict(objective, "softmax_multiclass_param"), "num_class", 2**31 - 1)
        if outputs != classes:
            raise CorruptFile(f"the objective has {outputs} classes, but the model has {classes}")


def _check_base_score(parameters: dict[str, Any], groups: int) -> None:
    text = parameters.get("base_score")
    scores = text.strip("[]").split(",") if isinstance(text, str) else []
    if len(scores) not in (1, groups) or not all(map(_SCORE.fullmatch, scores)):
        expected = "one number" if groups == 1 else f"1 or {groups} numbers"
        raise CorruptFile(f"'base_score': expected {expected}, got {text!r:.60}")


def _check_booster(
    booster: dict[str, Any], features: int, groups: int, attributes: Mapping[str, str]
) -> None:
    name = booster.get("name")
    if name == "gblinear":
        model = _dict(booster, "model")
        model["weights"] = weights = _floats(model, "weights")
        if len(weights) != (features + 1) * groups:
            raise CorruptFile(
                f"'weights': expected {(features + 1) * groups} numbers for {features} features "
                f"and {groups} outputs, got {len(weights)}"
            )
        rounds = model.get("boosted_rounds", 0)
        if not _is_integer(rounds, 0, NO_PARENT):
            raise CorruptFile("'boosted_rounds' is not an integer")
    elif name == "gbtree":
        rounds = _check_trees(_dict(booster, "model"), features, groups)
    elif name == "dart":
        model = _dict(_dict(booster, "gbtree"), "model")
        rounds = _check_trees(model, features, groups)
        booster["weight_drop"] = dropped = _floats(booster, "weight_drop")
        if len(dropped) != len(model["trees"]):
            raise CorruptFile(
                f"'weight_drop': expected {len(model['trees'])} numbers, one per tree, got "
                f"{len(dropped)}"
            )
    else:
        raise FileError(
            f"the booster {name!r:.60} is not supported; supported boosters: gbtree, dart, gblinear"
        )
    best = attributes.get("best_iteration")
    if best is not None and not (best.isdecimal() and len(best) < 10 and int(best) < rounds):
        raise CorruptFile(f"'best_iteration' is {best!r:.40}, but the model has {rounds} rounds")


# Trees


def _check_trees(model: dict[str, Any], features: int, groups: int) -> int:
    """Raise an error if a tree is invalid; return the number of rounds."""
    trees, info = _list(model, "trees"), _list(model, "tree_info")
    parameters = _dict(model, "gbtree_model_param")
    if _count(parameters, "num_trees", NO_PARENT) != len(trees) or len(info) != len(trees):
        raise CorruptFile(
            f"'num_trees' or 'tree_info' does not match the number of trees, {len(trees)}"
        )
    if groups > max(len(trees), 64):
        raise CorruptFile(f"it has {groups} classes, but only {len(trees)} trees")
    if not all(_is_integer(group, 0, groups - 1) for group in info):
        raise CorruptFile(f"'tree_info' has a class outside 0 to {groups - 1}")
    for number, tree in enumerate(trees):
        try:
            if not isinstance(tree, dict) or tree.get("id") != number:
                raise CorruptFile(f"its id is not {number}")
            _check_one(tree, features)
        except FileError as error:
            raise type(error)(f"tree {number}: {error}") from None
    _check_category_names(model, features)
    return _rounds(model, parameters, len(trees), groups)


def _rounds(model: dict[str, Any], parameters: dict[str, Any], trees: int, groups: int) -> int:
    parallel = 1
    if "num_parallel_tree" in parameters:
        parallel = _count(parameters, "num_parallel_tree", NO_PARENT)
    if "iteration_indptr" in model:
        ends = _list(model, "iteration_indptr")
        if not all(_is_integer(end, 0, trees) for end in ends) or ends != sorted(ends):
            raise CorruptFile("'iteration_indptr' is not in ascending order")
        if not ends or ends[0] != 0 or ends[-1] != trees:
            raise CorruptFile(f"'iteration_indptr' does not cover all {trees} trees")
        return len(ends) - 1
    per_round = max(parallel, 1) * groups
    if trees % per_round:
        raise CorruptFile(f"{trees} trees cannot be split into rounds of {per_round}")
    return trees // per_round


def _check_one(tree: dict[str, Any], features: int) -> None:
    parameters = _dict(tree, "tree_param")
    if _count(parameters, "size_leaf_vector", NO_PARENT) > 1:
        raise FileError(
            "its leaves have several values; fit with multi_strategy='one_output_per_tree'"
        )
    nodes = _count(parameters, "num_nodes", NO_PARENT)
    if _count(parameters, "num_feature", MAX_FEATURES) != features:
        raise CorruptFile(f"'num_feature' differs from the model's {features} features")
    for key in _NUMBERS:
        tree[key] = _floats(tree, key)
    tree["default_left"] = [int(flag) for flag in _list(tree, "default_left") if flag in (0, 1)]
    columns = {key: _integers(tree, key) for key in _INTEGERS}
    kinds = _integers(tree, "split_type") if "split_type" in tree else np.zeros(nodes)
    lengths = {len(tree[key]) for key in (*_NUMBERS, *_INTEGERS, "default_left")} | {len(kinds)}
    if lengths != {nodes} or nodes == 0:
        raise CorruptFile(f"its arrays do not all have one value per node ({nodes} nodes)")
    left, right, parents, feature = (columns[key] for key in _INTEGERS)
    pruned = _pruned(left, right, feature)
    if int(pruned.sum()) != _count(parameters, "num_deleted", NO_PARENT):
        raise CorruptFile("'num_deleted' differs from the number of pruned nodes")
    kept = np.flatnonzero(~pruned)
    number = np.full(nodes + 1, -2)  # new index of each node; the last entry is for "no child"
    number[kept] = np.arange(len(kept))
    number[nodes] = -1
    thresholds = np.where(kinds == 1, 0.0, tree["split_conditions"])  # XGBoost 2 wrote NaN there
    check_tree(
        number[_in_range(left[kept], nodes)],
        number[_in_range(right[kept], nodes)],
        feature[kept],
        thresholds[kept],
        features,
    )
    _check_depth(left, right)
    inner = np.flatnonzero((left != -1) & ~pruned)
    if np.any(parents[left[inner]] != inner) or np.any(parents[right[inner]] != inner):
        raise CorruptFile("'parents' contradicts the children of a node")
    if parents[0] not in (NO_PARENT, -1):
        raise CorruptFile("its root has a parent")
    _check_categories(tree, kinds, inner)


def _check_depth(left: Array, right: Array) -> None:
    """Raise an error if a tree is too deep for XGBoost's recursion."""
    level = np.zeros(1, dtype=np.int64)
    for _ in range(MAX_DEPTH):
        below = np.concatenate([left[level], right[level]])
        level = below[below != -1]
        if len(level) == 0:
            return
    raise CorruptFile(f"it is more than {MAX_DEPTH} nodes deep")


def _pruned(left: Array, right: Array, feature: Array) -> Array:
    """A mask of the pruned nodes; they stay in the file, without children."""
    pruned = (feature == DELETED) | (feature == 2**32 - 1)
    if pruned[0] or np.any((left[pruned] != -1) | (right[pruned] != -1)):
        raise CorruptFile("a pruned node is the root or has children")
    return np.asarray(pruned)


def _in_range(children: Array, nodes: int) -> Array:
    """Children as indices into an array with one extra entry at the end, for -1."""
    if np.any((children < -1) | (children >= nodes)):
        raise CorruptFile(f"a child is not a node: there are {nodes} nodes")
    return children


def _check_categories(tree: dict[str, Any], kinds: Array, inner: Array) -> None:
    """Raise an error if the categorical splits and their lists of categories do not match."""
    if np.any((kinds != 0) & (kinds != 1)):
        raise CorruptFile("a split is neither numeric nor categorical")
    keys = ("categories_nodes", *_CATEGORY_LISTS, "categories")
    columns = [_integers(tree, key) if key in tree else np.zeros(0, np.int64) for key in keys]
    nodes, starts, sizes, codes = columns
    categorical = np.flatnonzero(kinds == 1)
    if len({len(nodes), len(starts), len(sizes)}) != 1 or not np.array_equal(nodes, categorical):
        raise CorruptFile("its lists of categories do not match its categorical splits")
    if not np.isin(categorical, inner).all():
        raise CorruptFile("a leaf has a categorical split")
    if np.any(starts < 0) or np.any(sizes < 1) or np.any(starts + sizes > len(codes)):
        raise CorruptFile("a list of categories is empty or out of range")
    if np.any((codes < 0) | (codes >= MAX_CATEGORY)):
        raise CorruptFile(f"a category code is outside 0 to {MAX_CATEGORY - 1}")
    largest = sum(
        int(codes[start : start + size].max())
        for start, size in zip(starts.tolist(), sizes.tolist(), strict=True)
    )
    if largest // 8 > MAX_CATEGORY_BYTES:
        raise CorruptFile("its category codes are too large: the bitsets would not fit in memory")


def _check_category_names(model: dict[str, Any], features: int) -> None:
    """Raise an error if the names of the categories do not match the features and the splits."""
    stored = model.get("cats") or {}
    if not isinstance(stored, dict):
        raise CorruptFile("'cats' is not an object")
    encoders = _list(stored, "enc") if "enc" in stored else []
    if not encoders:
        if stored.get("feature_segments") or stored.get("sorted_idx"):
            raise CorruptFile("'cats' orders categories that have no names")
        return
    segments, order = (_integers(stored, key) for key in ("feature_segments", "sorted_idx"))
    sizes = [_category_count(encoder) for encoder in encoders]
    ends = np.concatenate([[0], np.cumsum(sizes)])
    if len(encoders) != features or not np.array_equal(segments, ends) or len(order) != ends[-1]:
        raise CorruptFile(f"'cats' does not match the model's {features} features")
    for start, size in zip(ends.tolist(), sizes, strict=False):
        if sorted(order[start : start + size].tolist()) != list(range(size)):
            raise CorruptFile("'sorted_idx' is not an order of the categories of each feature")
    for tree in model["trees"]:
        lists = zip(
            *(tree.get(key, ()) for key in ("categories_nodes", *_CATEGORY_LISTS)), strict=True
        )
        for node, start, size in lists:
            named = sizes[tree["split_indices"][node]]
            if named and max(tree["categories"][start : start + size]) >= named:
                raise CorruptFile("a split uses a category that has no name")


def _category_count(encoder: object) -> int:
    if not isinstance(encoder, dict):
        raise CorruptFile("the category names of a feature are not an object")
    if "offsets" not in encoder:
        return len(_floats(encoder, "values"))
    values, offsets = (_integers(encoder, key) for key in ("values", "offsets"))
    if len(offsets) == 0 and len(values) == 0:
        return 0
    fits = len(offsets) > 0 and offsets[0] == 0 and offsets[-1] == len(values)
    if not fits or np.any(np.diff(offsets) < 0) or np.any((values < -128) | (values > 255)):
        raise CorruptFile("the category names of a feature are not strings")
    return len(offsets) - 1


# Values


def _dict(holder: object, key: str) -> dict[str, Any]:
    value = holder.get(key) if isinstance(holder, dict) else None
    if not isinstance(value, dict):
        raise CorruptFile(f"{key!r} is missing or not an object")
    return value


def _list(holder: object, key: str) -> list[Any]:
    value = holder.get(key) if isinstance(holder, dict) else None
    if not isinstance(value, list):
        raise CorruptFile(f"{key!r} is missing or not an array")
    return value


def _is_integer(value: object, lowest: int, highest: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and lowest <= value <= highest


def _count(holder: Mapping[str, Any], key: str, highest: int) -> int:
    """A count, which XGBoost writes as a string."""
    text = holder.get(key)
    if not (isinstance(text, str) and text.isascii() and text.isdecimal() and len(text) < 20):
        raise CorruptFile(f"{key!r}: expected an integer in quotes, got {text!r:.40}")
    if int(text) > highest:
        raise CorruptFile(f"{key!r}: expected at most {highest}, got {text}")
    return int(text)


def _floats(holder: Mapping[str, Any], key: str) -> list[float]:
    values = _list(holder, key)
    if not all(type(value) in (int, float) for value in values):
        raise CorruptFile(f"{key!r} has a value that is not a number")
    try:
        return [float(value) for value in values]
    except OverflowError:
        raise CorruptFile(f"{key!r} has a number that is too large") from None


def _integers(holder: Mapping[str, Any], key: str) -> Array:
    values: Sequence[Any] = _list(holder, key)
    if not all(_is_integer(value, -(2**31), 2**32 - 1) for value in values):
        raise CorruptFile(f"{key!r} has a value that is not a 32-bit integer")
    return np.array(values, dtype=np.int64)
