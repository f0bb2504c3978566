"""Reads model files of LightGBM, which are text. Every line is checked before LightGBM loads it.

LightGBM trusts the lengths and the child indices in the text. The checked lines are written
again, without those that only training needs, so LightGBM sees nothing that was not checked.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

import numpy as np

from proxyuse.errors import CorruptFile, FileError
from proxyuse.lang.evaluate import Array
from proxyuse.models.lightgbm.translate import CLASSES, EXPONENTIAL, PLAIN, SIGMOID
from proxyuse.models.tree_arrays import check_tree

MAX_FEATURES = 1_000_000
CATEGORICAL, MISSING_KINDS = 1, 3

_HEADER = (
    "version", "num_class", "num_tree_per_iteration", "label_index", "max_feature_idx",
    "objective", "average_output", "feature_names", "monotone_constraints", "feature_infos",
    "tree_sizes",
)  # fmt: skip
_REQUIRED = ("version", "num_class", "num_tree_per_iteration", "max_feature_idx", "feature_names")
_INNER_INTEGERS = ("split_feature", "decision_type", "left_child", "right_child")
_INNER = ("threshold", "split_gain", "internal_value", "internal_weight", "internal_count")
_LEAVES = ("leaf_value", "leaf_weight", "leaf_count")
_SCALARS = ("num_leaves", "num_cat", "is_linear", "shrinkage")
_CATEGORIES = ("cat_boundaries", "cat_threshold")
_INTEGER = re.compile(r"[-+]?[0-9]{1,18}")
_NUMBER = re.compile(r"[-+]?([0-9]+\.?[0-9]*([eE][-+]?[0-9]{1,4})?|inf|nan)")
_INFO = re.compile(  # LightGBM follows an interval without its colon out of bounds
    rf"none|\[{_NUMBER.pattern}:{_NUMBER.pattern}\]|-?[0-9]{{1,10}}(:-?[0-9]{{1,10}})*"
)
_SETTING = re.compile(r"[a-z_]{1,40}(:[0-9]{1,9}(\.[0-9]{1,20})?(e[-+]?[0-9]{1,3})?)?")
_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f]")
_CATEGORICAL_COLUMNS = re.compile(r"^\[categorical_feature: [0-9,]+\]$", re.MULTILINE)
_LINEAR_LEAVES = "its leaves are linear models; fit with linear_tree=False"


def load_lightgbm(text: str) -> tuple[object, str]:
    """A Booster, and the version of the file format."""
    checked, version = checked_text(text)
    try:
        import lightgbm
    except ImportError:
        raise FileError(
            "this is a LightGBM model, but LightGBM is not installed: "
            "pip install 'proxyuse[lightgbm]'"
        ) from None
    saved_with = f"LightGBM, format {version}"
    try:
        return lightgbm.Booster(model_str=checked), saved_with
    except Exception as error:
        raise FileError(
            f"saved with {saved_with}; LightGBM {lightgbm.__version__} cannot load it: {error}"
        ) from None


def is_lightgbm(data: bytes) -> bool:
    """Whether a file starts like a saved booster."""
    return data.startswith((b"tree\n", b"tree\r\n"))


def checked_text(text: str) -> tuple[str, str]:
    """The text of a booster, rebuilt from its checked lines, and the version of its format."""
    lines = text.replace("\r\n", "\n")
    if (control := _CONTROL.search(lines)) is not None:
        line = lines.count("\n", 0, control.start()) + 1
        raise CorruptFile(f"line {line} has the control character {control[0]!r}")
    model, end, rest = lines.partition("\nend of trees\n")
    if not end:
        raise CorruptFile("the line 'end of trees' is missing: the file is truncated")
    head, *blocks = model.split("\nTree=")
    header = _fields(head.removeprefix("tree\n"), _HEADER)
    features = _check_header(header, len(blocks))
    parts = ["tree"]
    parts += [
        name if name == "average_output" else f"{name}={value}"
        for name, value in header.items()
        if name != "tree_sizes"
    ]
    for number, block in enumerate(blocks):
        try:
            stated, _, content = block.partition("\n")
            if stated != str(number):
                raise CorruptFile(f"its number is {stated!r:.20}, expected {number}")
            known = (*_SCALARS, *_INNER_INTEGERS, *_INNER, *_LEAVES, *_CATEGORIES)
            fields = _fields(content, known)
            _check_tree(fields, features)
        except FileError as error:
            raise type(error)(f"tree {number}: {error}") from None
        parts += ["", f"Tree={number}", *(f"{name}={value}" for name, value in fields.items()), ""]
    parts += ["", "end of trees", ""]
    parts += _settings(rest)
    parts += [f"pandas_categorical:{_pandas_categories(rest)}", ""]
    return "\n".join(parts), header["version"]


def _fields(text: str, known: tuple[str, ...]) -> dict[str, str]:
    """The values of lines ``name=value``, each name once."""
    fields: dict[str, str] = {}
    for line in text.split("\n"):
        name, _, value = line.partition("=")
        if not line.strip():
            continue
        if name not in known:
            if name in ("leaf_const", "num_features", "leaf_features", "leaf_coeff"):
                raise FileError(_LINEAR_LEAVES)
            raise CorruptFile(f"unknown line {line!r:.60}")
        if name in fields:
            raise CorruptFile(f"the line {name!r} appears twice")
        fields[name] = value
    return fields


# The header


def _check_header(header: Mapping[str, str], trees: int) -> int:
    """Raise an error if the header is invalid; return the number of features."""
    for name in _REQUIRED:
        if name not in header:
            raise CorruptFile(f"the line {name!r} is missing")
    if not re.fullmatch(r"v\d{1,4}", header["version"]):
        raise CorruptFile(f"'version': expected v and a number, got {header['version']!r:.40}")
    features = _scalar(header, "max_feature_idx", 0, MAX_FEATURES - 1) + 1
    classes = _scalar(header, "num_class", 1, 2**31 - 1)
    width = _scalar(header, "num_tree_per_iteration", 1, 2**31 - 1)
    if width != classes or width > max(trees, 64) or trees % width:
        raise CorruptFile(
            f"'num_tree_per_iteration' is {width}, which does not match {trees} trees and "
            f"{classes} classes"
        )
    if "label_index" in header:
        _scalar(header, "label_index", -1, MAX_FEATURES)
    if header.get("average_output"):
        raise CorruptFile("the line 'average_output' has a value")
    if len(header["feature_names"].split(" ")) != features:
        raise CorruptFile(f"'feature_names' does not have {features} names, one per feature")
    infos = header.get("feature_infos", "").split(" ")
    if len(infos) != features or not all(map(_INFO.fullmatch, infos)):
        raise CorruptFile(f"'feature_infos' does not match the model's {features} features")
    constraints = "monotone_constraints"
    if constraints in header and len(_integers(header, constraints)) != features:
        raise CorruptFile(f"{constraints!r} does not match the model's {features} features")
    _check_objective(header.get("objective", ""), classes)
    return features


def _check_objective(text: str, classes: int) -> None:
    """Raise an error if the objective is unknown or has a different number of classes."""
    name, *settings = text.split(" ")
    known = (*PLAIN, *EXPONENTIAL, *SIGMOID, *CLASSES, "cross_entropy_lambda", "")
    if name not in known or not all(map(_SETTING.fullmatch, settings)):
        raise FileError(f"the objective {text!r:.60} is not supported")
    values = dict(setting.partition(":")[::2] for setting in settings)
    if not float(values.get("sigmoid", 1.0)) > 0:
        raise CorruptFile("'sigmoid' of the objective is not above 0")
    outputs = values.get("num_class", "1")
    if name in CLASSES and outputs != str(classes):
        raise CorruptFile(f"the objective has {outputs} classes, but the model has {classes}")
    if classes > 1 and name not in (*CLASSES, "custom", "none", ""):
        raise CorruptFile(f"the objective {name!r} has one output, but the model has {classes}")


# Trees


def _check_tree(fields: Mapping[str, str], features: int) -> None:
    leaves = _scalar(fields, "num_leaves", 1, 2**31 - 1)
    if fields.get("is_linear", "0") != "0":
        raise FileError(_LINEAR_LEAVES)
    if "shrinkage" in fields and len(_numbers(fields, "shrinkage")) != 1:
        raise CorruptFile("'shrinkage' is not one number")
    categories = _scalar(fields, "num_cat", 0, 2**31 - 1)
    if len(_numbers(fields, "leaf_value")) != leaves:
        raise CorruptFile(f"'leaf_value' does not have {leaves} numbers, one per leaf")
    if leaves == 1:
        _check_stump(fields, categories)
        return
    for name in (*_LEAVES, *_INNER):
        expected = leaves if name in _LEAVES else leaves - 1
        if name in fields and len(_numbers(fields, name)) != expected:
            raise CorruptFile(f"{name!r} does not have {expected} numbers")
    columns = {name: _integers(fields, name) for name in _INNER_INTEGERS}
    for name, column in columns.items():
        if len(column) != leaves - 1:
            raise CorruptFile(f"{name!r} does not have {leaves - 1} numbers, one per inner node")
    if "threshold" not in fields:
        raise CorruptFile("the line 'threshold' is missing")
    threshold = _numbers(fields, "threshold")
    feature, kinds = columns["split_feature"], columns["decision_type"]
    ends = np.full(leaves, -1)
    left, right = (
        np.concatenate([_child_indices(columns[name], leaves), ends])
        for name in ("left_child", "right_child")
    )
    check_tree(
        left,
        right,
        np.concatenate([feature, np.zeros(leaves, np.int64)]),
        np.concatenate([threshold, np.zeros(leaves)]),
        features,
    )
    if np.any((kinds < 0) | (kinds > 15) | (kinds >> 2 == MISSING_KINDS)):
        raise CorruptFile("'decision_type' has an unknown value")
    _check_categories(fields, threshold[kinds & CATEGORICAL != 0], categories)


def _check_stump(fields: Mapping[str, str], categories: int) -> None:
    """Raise an error if a tree with one leaf has inner nodes, or values of several leaves."""
    if categories or any(fields.get(name, "").strip() for name in (*_INNER_INTEGERS, *_INNER)):
        raise CorruptFile("it has one leaf, but also inner nodes")
    if any(len(_numbers(fields, name)) > 1 for name in _LEAVES if name in fields):
        raise CorruptFile("it has one leaf, but values of several leaves")


def _child_indices(children: Array, leaves: int) -> Array:
    """Children as indices, inner nodes before leaves; the file writes leaf i as ``-1 - i``."""
    if np.any((children < -leaves) | (children >= leaves - 1)):
        raise CorruptFile("a child is neither an inner node nor a leaf")
    return np.where(children < 0, leaves - 2 - children, children)


def _check_categories(fields: Mapping[str, str], lists: Array, count: int) -> None:
    """Raise an error if a category list is invalid, or missing for a split in `lists`."""
    if np.any(lists != np.floor(lists)) or np.any((lists < 0) | (lists >= count)):
        raise CorruptFile("a categorical split refers to a list of categories that does not exist")
    if count == 0:
        if any(name in fields for name in _CATEGORIES):
            raise CorruptFile("it has lists of categories, but 'num_cat' is 0")
        return
    bounds, words = (_integers(fields, name) for name in _CATEGORIES)
    if len(bounds) != count + 1 or bounds[0] != 0 or bounds[-1] != len(words):
        raise CorruptFile("'cat_boundaries' does not match 'cat_threshold'")
    if np.any(np.diff(bounds) < 1) or np.any((words < 0) | (words >= 2**32)):
        raise CorruptFile("a list of categories is empty or not a 32-bit bitset")


# After the trees


def _settings(rest: str) -> list[str]:
    """The one training setting that is kept: which columns are categorical."""
    line = _CATEGORICAL_COLUMNS.search(rest)
    return [] if line is None else ["parameters:", line[0], "", "end of parameters", ""]


def _pandas_categories(rest: str) -> str:
    """The categories of pandas columns, as JSON."""
    last = rest.rstrip().rpartition("\n")[2]
    if not last.startswith("pandas_categorical:"):
        return "null"
    try:
        columns = json.loads(last.removeprefix("pandas_categorical:"))
    except (ValueError, RecursionError):
        raise CorruptFile("the line 'pandas_categorical' is not JSON") from None
    if columns is not None and not (
        isinstance(columns, list)
        and all(isinstance(categories, list) for categories in columns)
        and all(isinstance(value, str | int | float) for values in columns for value in values)
    ):
        raise CorruptFile("the line 'pandas_categorical' is not a list of lists of categories")
    return json.dumps(columns)


# Values


def _tokens(fields: Mapping[str, str], name: str, pattern: re.Pattern[str]) -> list[str]:
    if name not in fields:
        raise CorruptFile(f"the line {name!r} is missing")
    tokens = fields[name].split(" ") if fields[name] else []
    for token in tokens:
        if not pattern.fullmatch(token):
            expected = "an integer" if pattern is _INTEGER else "a number"
            raise CorruptFile(f"{name!r}: expected {expected}, got {token!r:.40}")
    return tokens


def _integers(fields: Mapping[str, str], name: str) -> Array:
    return np.array([int(token) for token in _tokens(fields, name, _INTEGER)], dtype=np.int64)


def _numbers(fields: Mapping[str, str], name: str) -> Array:
    return np.array([float(token) for token in _tokens(fields, name, _NUMBER)], dtype=np.float64)


def _scalar(fields: Mapping[str, str], name: str, lowest: int, highest: int) -> int:
    numbers = _integers(fields, name)
    if len(numbers) != 1 or not lowest <= numbers[0] <= highest:
        raise CorruptFile(f"{name!r} is not one integer from {lowest} to {highest}")
    return int(numbers[0])
