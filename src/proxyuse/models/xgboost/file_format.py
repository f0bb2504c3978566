"""XGBoost's own files, JSON and UBJSON: read, checked number by number, and only then loaded.

XGBoost gets the checked values written out anew, so that it sees what was checked and nothing
else. A model that was saved by one of the classes for scikit-learn says so, and becomes one again:
a classifier predicts labels, where its booster predicts probabilities.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from proxyuse.errors import FileError
from proxyuse.lang.evaluate import Array
from proxyuse.models.tree_arrays import check_tree
from proxyuse.models.xgboost.ubjson import read_ubjson

MAX_FEATURES = 1_000_000
MAX_CATEGORY = 1 << 24  # XGBoost compares categories as float32
MAX_CATEGORY_BYTES = 1 << 28  # of the bit sets it makes of them
MAX_DEPTH = 2000  # XGBoost goes down a tree by recursion
NO_PARENT = 2**31 - 1
DELETED = 2**31 - 1  # as a feature: the node was pruned away

_SCORE = re.compile(r"-?[0-9]{1,40}(\.[0-9]{1,40})?([eE][-+]?[0-9]{1,3})?")
_NUMBERS = ("split_conditions", "base_weights", "loss_changes", "sum_hessian")
_WHOLE = ("left_children", "right_children", "parents", "split_indices")
_CATEGORY_LISTS = ("categories_segments", "categories_sizes")
_WRAPPERS = {"classifier": "XGBClassifier", "regressor": "XGBRegressor", "ranker": "XGBRanker"}


def load_xgboost(data: bytes) -> tuple[object, str | None]:
    """A Booster, or the class for scikit-learn that saved it, and what it was saved with."""
    document = read_document(data)
    if not isinstance(document, dict) or not {"learner", "version"} <= document.keys():
        raise FileError("it is corrupt or no XGBoost model: 'learner' or 'version' is missing")
    check_document(document)
    try:
        import xgboost
    except ImportError:
        raise FileError(
            "this is an XGBoost model, and XGBoost is not installed: "
            "pip install 'proxyuse[xgboost]'"
        ) from None
    saved_with = f"XGBoost {'.'.join(map(str, document['version']))}"
    kind = _wrapper(document["learner"]["attributes"])
    made = getattr(xgboost, kind)() if kind else xgboost.Booster()
    text = json.dumps(document, ensure_ascii=False)  # XGBoost does not read \\u
    try:
        made.load_model(bytearray(text.encode("utf-8")))
    except ImportError as error:
        raise FileError(f"{kind} needs scikit-learn: pip install 'proxyuse[sklearn]'") from error
    except Exception as error:
        first = str(error).strip().partition("\n")[0]
        raise FileError(
            f"saved with {saved_with}; XGBoost {xgboost.__version__} cannot load it: "
            + re.sub(r"^\[[0-9:]+\] \S+: ", "", first)  # the time, and a line of its source
        ) from None
    return made, saved_with


def read_document(data: bytes) -> Any:
    """The document in a file of either format."""
    if data[1:2] and data[1:2] in b"LlIUi":
        return read_ubjson(data)
    try:
        return json.loads(data.decode("utf-8"), object_pairs_hook=_no_name_twice)
    except UnicodeDecodeError as error:
        raise FileError(f"the file is corrupt: byte {error.start} is not UTF-8") from None
    except RecursionError:
        raise FileError("its JSON is nested too deep") from None
    except ValueError as error:
        raise FileError(f"the file is corrupt, not valid JSON: {error}") from None


def _no_name_twice(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise FileError("a name stands twice in one object of its JSON")
    return found


def _wrapper(attributes: Mapping[str, str]) -> str:
    """The class for scikit-learn that saved a model, if it was one."""
    try:
        said = json.loads(attributes.get("scikit_learn", "{}"))
    except (ValueError, RecursionError):
        raise FileError("its attribute scikit_learn is not JSON") from None
    kind = said.get("_estimator_type") if isinstance(said, dict) else None
    if kind is None:
        return ""
    if kind not in _WRAPPERS:
        raise FileError(f"it was saved by a scikit-learn class of an unknown kind: {kind!r}")
    return _WRAPPERS[kind]


# Checks of the whole


def check_document(document: Any) -> None:
    """Refuse a document that XGBoost could not use without harm; makes its floats floats."""
    version = _list(document, "version")
    if len(version) != 3 or not all(_is_whole(part, 0, 10_000) for part in version):
        raise FileError("its version is not three whole numbers")
    learner = _dict(document, "learner")
    learner.setdefault("attributes", {})
    attributes = _dict(learner, "attributes")
    if not all(isinstance(value, str) for value in attributes.values()):
        raise FileError("its attributes are not texts")
    parameters = _dict(learner, "learner_model_param")
    features = _counted(parameters, "num_feature", MAX_FEATURES)
    classes = _counted(parameters, "num_class", 2**31 - 1)
    targets = _counted(parameters, "num_target", 2**31 - 1) if "num_target" in parameters else 1
    if classes > 1 and targets > 1:
        raise FileError(f"it has {classes} classes and {targets} targets")
    groups = max(classes, targets, 1)
    _check_names(learner, features)
    _check_objective(learner, classes)
    _check_booster(_dict(learner, "gradient_booster"), features, groups, attributes)
    _check_base_score(parameters, groups)


def _check_names(learner: dict[str, Any], features: int) -> None:
    for key in ("feature_names", "feature_types"):
        names = _list(learner, key) if key in learner else []
        if not all(isinstance(name, str) for name in names) or len(names) not in (0, features):
            raise FileError(f"its {key} are not {features} texts")


def _check_objective(learner: dict[str, Any], classes: int) -> None:
    objective = _dict(learner, "objective")
    if not isinstance(objective.get("name"), str):
        raise FileError("its objective has no name")
    if "softmax_multiclass_param" in objective:
        own = _counted(_dict(objective, "softmax_multiclass_param"), "num_class", 2**31 - 1)
        if own != classes:
            raise FileError(f"its objective has {own} classes and the model {classes}")


def _check_base_score(parameters: dict[str, Any], groups: int) -> None:
    text = parameters.get("base_score")
    scores = text.strip("[]").split(",") if isinstance(text, str) else []
    if len(scores) not in (1, groups) or not all(map(_SCORE.fullmatch, scores)):
        raise FileError(f"its base_score is {text!r:.60} and should be 1 or {groups} numbers")


def _check_booster(
    booster: dict[str, Any], features: int, groups: int, attributes: Mapping[str, str]
) -> None:
    name = booster.get("name")
    if name == "gblinear":
        model = _dict(booster, "model")
        model["weights"] = weights = _floats(model, "weights")
        if len(weights) != (features + 1) * groups:
            raise FileError(
                f"its {len(weights)} weights do not fit {features} features, {groups} groups"
            )
        rounds = model.get("boosted_rounds", 0)
        if not _is_whole(rounds, 0, NO_PARENT):
            raise FileError("its boosted_rounds is not a whole number")
    elif name == "gbtree":
        rounds = _check_trees(_dict(booster, "model"), features, groups)
    elif name == "dart":
        model = _dict(_dict(booster, "gbtree"), "model")
        rounds = _check_trees(model, features, groups)
        booster["weight_drop"] = dropped = _floats(booster, "weight_drop")
        if len(dropped) != len(model["trees"]):
            raise FileError(f"it has {len(model['trees'])} trees and {len(dropped)} weights")
    else:
        raise FileError(f"its booster is {name!r}; known are gbtree, dart and gblinear")
    best = attributes.get("best_iteration")
    if best is not None and not (best.isdecimal() and len(best) < 10 and int(best) < rounds):
        raise FileError(f"its best_iteration is {best!r:.40}, and it has {rounds} rounds")


# Trees


def _check_trees(model: dict[str, Any], features: int, groups: int) -> int:
    """Refuse what is not a sum of trees; gives the number of rounds."""
    trees, info = _list(model, "trees"), _list(model, "tree_info")
    parameters = _dict(model, "gbtree_model_param")
    if _counted(parameters, "num_trees", NO_PARENT) != len(trees) or len(info) != len(trees):
        raise FileError("it does not have as many trees as it says")
    if groups > max(len(trees), 64):
        raise FileError(f"it has {groups} classes and {len(trees)} trees")
    if not all(_is_whole(group, 0, groups - 1) for group in info):
        raise FileError(f"a tree belongs to none of the {groups} classes")
    for number, tree in enumerate(trees):
        try:
            if not isinstance(tree, dict) or tree.get("id") != number:
                raise FileError("it does not have its own number")
            _check_one(tree, features)
        except FileError as error:
            raise FileError(f"tree {number}: {error}") from None
    _check_category_names(model, features)
    return _rounds(model, parameters, len(trees), groups)


def _rounds(model: dict[str, Any], parameters: dict[str, Any], trees: int, groups: int) -> int:
    parallel = 1
    if "num_parallel_tree" in parameters:
        parallel = _counted(parameters, "num_parallel_tree", NO_PARENT)
    if "iteration_indptr" in model:
        ends = _list(model, "iteration_indptr")
        if not all(_is_whole(end, 0, trees) for end in ends) or ends != sorted(ends):
            raise FileError("its rounds are not in order")
        if not ends or ends[0] != 0 or ends[-1] != trees:
            raise FileError("its rounds do not hold all its trees")
        return len(ends) - 1
    each = max(parallel, 1) * groups
    if trees % each:
        raise FileError(f"its {trees} trees are not whole rounds of {each}")
    return trees // each


def _check_one(tree: dict[str, Any], features: int) -> None:
    parameters = _dict(tree, "tree_param")
    if _counted(parameters, "size_leaf_vector", NO_PARENT) > 1:
        raise FileError(
            "it has several numbers at a leaf; fit with multi_strategy='one_output_per_tree'"
        )
    nodes = _counted(parameters, "num_nodes", NO_PARENT)
    if _counted(parameters, "num_feature", MAX_FEATURES) != features:
        raise FileError(f"it is not made for the model's {features} features")
    for key in _NUMBERS:
        tree[key] = _floats(tree, key)
    ways = [int(way) for way in _list(tree, "default_left") if way in (0, 1)]
    tree["default_left"] = ways
    whole = {key: _whole_numbers(tree, key) for key in _WHOLE}
    kinds = _whole_numbers(tree, "split_type") if "split_type" in tree else np.zeros(nodes)
    lengths = {len(tree[key]) for key in (*_NUMBERS, *_WHOLE, "default_left")} | {len(kinds)}
    if lengths != {nodes} or nodes == 0:
        raise FileError(f"its arrays do not all have a value for each of its {nodes} nodes")
    left, right, parents, feature = (whole[key] for key in _WHOLE)
    gone = _deleted(left, right, feature)
    if int(gone.sum()) != _counted(parameters, "num_deleted", NO_PARENT):
        raise FileError("it does not have as many pruned nodes as it says")
    kept = np.flatnonzero(~gone)
    number = np.full(nodes + 1, -2)  # of each node without the pruned ones; the last is no node
    number[kept] = np.arange(len(kept))
    number[nodes] = -1
    thresholds = np.array(tree["split_conditions"])
    check_tree(
        number[_in_range(left[kept], nodes)],
        number[_in_range(right[kept], nodes)],
        feature[kept],
        thresholds[kept],
        features,
    )
    _check_depth(left, right)
    inner = np.flatnonzero((left != -1) & ~gone)
    if np.any(parents[left[inner]] != inner) or np.any(parents[right[inner]] != inner):
        raise FileError("a node has another parent than the one that leads to it")
    if parents[0] not in (NO_PARENT, -1):
        raise FileError("its root has a parent")
    _check_categories(tree, kinds, inner)


def _check_depth(left: Array, right: Array) -> None:
    """Refuse a tree that is deeper than fitting makes one."""
    level = np.zeros(1, dtype=np.int64)
    for _ in range(MAX_DEPTH):
        below = np.concatenate([left[level], right[level]])
        level = below[below != -1]
        if len(level) == 0:
            return
    raise FileError(f"it is more than {MAX_DEPTH} nodes deep")


def _deleted(left: Array, right: Array, feature: Array) -> Array:
    """Which nodes were pruned away; they stay in the file, without children."""
    gone = (feature == DELETED) | (feature == 2**32 - 1)
    if gone[0] or np.any((left[gone] != -1) | (right[gone] != -1)):
        raise FileError("a pruned node is its root or has children")
    return np.asarray(gone)


def _in_range(children: Array, nodes: int) -> Array:
    """Children as places in an array with one more entry, for no child."""
    if np.any((children < -1) | (children >= nodes)):
        raise FileError(f"a child is not a node: there are {nodes} nodes")
    return children


def _check_categories(tree: dict[str, Any], kinds: Array, inner: Array) -> None:
    """Refuse a tree of which a node that asks for categories has none, or none of its own."""
    if np.any((kinds != 0) & (kinds != 1)):
        raise FileError("a node asks for neither numbers nor categories")
    keys = ("categories_nodes", *_CATEGORY_LISTS, "categories")
    found = [_whole_numbers(tree, key) if key in tree else np.zeros(0, np.int64) for key in keys]
    nodes, starts, sizes, codes = found
    asking = np.flatnonzero(kinds == 1)
    if len({len(nodes), len(starts), len(sizes)}) != 1 or not np.array_equal(nodes, asking):
        raise FileError("its lists of categories do not fit its nodes")
    if not np.isin(asking, inner).all():
        raise FileError("a leaf asks for categories")
    if np.any(starts < 0) or np.any(sizes < 1) or np.any(starts + sizes > len(codes)):
        raise FileError("a list of categories is empty or ends beyond them all")
    if np.any((codes < 0) | (codes >= MAX_CATEGORY)):
        raise FileError(f"a category is not a number from 0 to {MAX_CATEGORY - 1}")
    largest = sum(
        int(codes[start : start + size].max())
        for start, size in zip(starts.tolist(), sizes.tolist(), strict=True)
    )
    if largest // 8 > MAX_CATEGORY_BYTES:
        raise FileError("its lists of categories would take too much memory")


def _check_category_names(model: dict[str, Any], features: int) -> None:
    """Refuse names of categories that do not lie one after the other, feature by feature."""
    stored = model.get("cats") or {}
    if not isinstance(stored, dict):
        raise FileError("its names of categories are not an object")
    named = _list(stored, "enc") if "enc" in stored else []
    if not named:
        if stored.get("feature_segments") or stored.get("sorted_idx"):
            raise FileError("it has an order of categories and no names for them")
        return
    segments, order = (_whole_numbers(stored, key) for key in ("feature_segments", "sorted_idx"))
    sizes = [_category_count(feature) for feature in named]
    ends = np.concatenate([[0], np.cumsum(sizes)])
    if len(named) != features or not np.array_equal(segments, ends) or len(order) != ends[-1]:
        raise FileError("its names of categories do not fit its features")
    for start, size in zip(ends.tolist(), sizes, strict=False):
        if sorted(order[start : start + size].tolist()) != list(range(size)):
            raise FileError("the order of the categories of a feature is not one")
    for tree in model["trees"]:
        lists = zip(
            *(tree.get(key, ()) for key in ("categories_nodes", *_CATEGORY_LISTS)), strict=True
        )
        for node, start, size in lists:
            most = sizes[tree["split_indices"][node]]
            if most and max(tree["categories"][start : start + size]) >= most:
                raise FileError("a tree asks for a category that has no name")


def _category_count(feature: object) -> int:
    if not isinstance(feature, dict):
        raise FileError("the names of the categories of a feature are not an object")
    if "offsets" not in feature:
        return len(_floats(feature, "values"))
    values, offsets = (_whole_numbers(feature, key) for key in ("values", "offsets"))
    if len(offsets) == 0 and len(values) == 0:
        return 0
    fits = len(offsets) > 0 and offsets[0] == 0 and offsets[-1] == len(values)
    if not fits or np.any(np.diff(offsets) < 0) or np.any((values < -128) | (values > 255)):
        raise FileError("the names of the categories of a feature are not texts")
    return len(offsets) - 1


# Values


def _dict(holder: object, key: str) -> dict[str, Any]:
    found = holder.get(key) if isinstance(holder, dict) else None
    if not isinstance(found, dict):
        raise FileError(f"{key} is missing or not an object")
    return found


def _list(holder: object, key: str) -> list[Any]:
    found = holder.get(key) if isinstance(holder, dict) else None
    if not isinstance(found, list):
        raise FileError(f"{key} is missing or not an array")
    return found


def _is_whole(value: object, least: int, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def _counted(holder: Mapping[str, Any], key: str, most: int) -> int:
    """A number from 0, which XGBoost writes as a text."""
    text = holder.get(key)
    if not (isinstance(text, str) and text.isascii() and text.isdecimal() and len(text) < 20):
        raise FileError(f"{key} is not a whole number: {text!r:.40}")
    if int(text) > most:
        raise FileError(f"{key} is {text}; at most {most} is allowed")
    return int(text)


def _floats(holder: Mapping[str, Any], key: str) -> list[float]:
    values = _list(holder, key)
    if not all(type(value) in (int, float) for value in values):
        raise FileError(f"{key} are not numbers")
    try:
        return [float(value) for value in values]
    except OverflowError:
        raise FileError(f"{key} has a number that is too large") from None


def _whole_numbers(holder: Mapping[str, Any], key: str) -> Array:
    values: Sequence[Any] = _list(holder, key)
    if not all(_is_whole(value, -(2**31), 2**32 - 1) for value in values):
        raise FileError(f"{key} are not whole numbers")
    return np.array(values, dtype=np.int64)
