"""LightGBM's text files: read line by line, checked, and only then loaded.

LightGBM trusts the lengths and the children that stand in the text. It gets the checked lines
written out anew, without what only training needs, so that it sees what was checked and nothing
else.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

import numpy as np

from proxyuse.errors import FileError
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
_NEEDED = ("version", "num_class", "num_tree_per_iteration", "max_feature_idx", "feature_names")
_INNER_WHOLE = ("split_feature", "decision_type", "left_child", "right_child")
_INNER = ("threshold", "split_gain", "internal_value", "internal_weight", "internal_count")
_LEAVES = ("leaf_value", "leaf_weight", "leaf_count")
_ONES = ("num_leaves", "num_cat", "is_linear", "shrinkage")
_CATEGORIES = ("cat_boundaries", "cat_threshold")
_WHOLE = re.compile(r"[-+]?[0-9]{1,18}")
_NUMBER = re.compile(r"[-+]?([0-9]+\.?[0-9]*([eE][-+]?[0-9]{1,4})?|inf|nan)")
_INFO = re.compile(r"none|\[[^\s=]{1,200}\]|-?[0-9]{1,10}(:-?[0-9]{1,10})*")
_SETTING = re.compile(r"[a-z_]{1,40}(:[0-9]{1,9}(\.[0-9]{1,20})?(e[-+]?[0-9]{1,3})?)?")
_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f]")
_CATEGORICAL_COLUMNS = re.compile(r"^\[categorical_feature: [0-9,]+\]$", re.MULTILINE)


def load_lightgbm(text: str) -> tuple[object, str]:
    """A Booster, and what is known of what it was saved with."""
    checked, version = checked_text(text)
    try:
        import lightgbm
    except ImportError:
        raise FileError(
            "this is a LightGBM model, and LightGBM is not installed: "
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
    """Whether a file begins as a saved booster does."""
    return data.startswith((b"tree\n", b"tree\r\n"))


def checked_text(text: str) -> tuple[str, str]:
    """The text of a booster written anew from what was checked, and the version of its format."""
    lines = text.replace("\r\n", "\n")
    if (found := _CONTROL.search(lines)) is not None:
        raise FileError(f"its text holds the control character {found[0]!r}")
    model, end, rest = lines.partition("\nend of trees\n")
    if not end:
        raise FileError("its line 'end of trees' is missing: the file is cut off")
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
            written, _, body = block.partition("\n")
            if written != str(number):
                raise FileError("it does not have its own number")
            fields = _fields(body, (*_ONES, *_INNER_WHOLE, *_INNER, *_LEAVES, *_CATEGORIES))
            _check_tree(fields, features)
        except FileError as error:
            raise FileError(f"tree {number}: {error}") from None
        parts += ["", f"Tree={number}", *(f"{name}={value}" for name, value in fields.items()), ""]
    parts += ["", "end of trees", ""]
    parts += _settings(rest)
    parts += [f"pandas_categorical:{_pandas_categories(rest)}", ""]
    return "\n".join(parts), header["version"]


def _fields(text: str, known: tuple[str, ...]) -> dict[str, str]:
    """Lines of ``name=value``, each name once."""
    found: dict[str, str] = {}
    for line in text.split("\n"):
        name, _, value = line.partition("=")
        if not line.strip():
            continue
        if name not in known:
            if name in ("leaf_const", "num_features", "leaf_features", "leaf_coeff"):
                raise FileError("it has linear models at its leaves; fit with linear_tree=False")
            raise FileError(f"the line {line!r:.60} is not known")
        if name in found:
            raise FileError(f"the line {name} stands there twice")
        found[name] = value
    return found


# The header


def _check_header(header: Mapping[str, str], trees: int) -> int:
    """Refuse a header that does not fit; gives the number of features."""
    for name in _NEEDED:
        if name not in header:
            raise FileError(f"the line {name} is missing")
    if not re.fullmatch(r"v\d{1,4}", header["version"]):
        raise FileError(f"the version is {header['version']!r:.40}")
    features = _one(header, "max_feature_idx", 0, MAX_FEATURES - 1) + 1
    classes = _one(header, "num_class", 1, 2**31 - 1)
    width = _one(header, "num_tree_per_iteration", 1, 2**31 - 1)
    if width != classes or width > max(trees, 64) or trees % width:
        raise FileError(f"its {trees} trees are not rounds of {width} for {classes} classes")
    if "label_index" in header:
        _one(header, "label_index", -1, MAX_FEATURES)
    if header.get("average_output"):
        raise FileError("the line average_output has a value")
    if len(header["feature_names"].split(" ")) != features:
        raise FileError(f"it does not have a name for each of its {features} features")
    infos = header.get("feature_infos", "").split(" ")
    if len(infos) != features or not all(map(_INFO.fullmatch, infos)):
        raise FileError(f"its feature_infos do not fit its {features} features")
    if "monotone_constraints" in header and len(_whole(header, "monotone_constraints")) != features:
        raise FileError(f"its monotone_constraints do not fit its {features} features")
    _check_objective(header.get("objective", ""), classes)
    return features


def _check_objective(text: str, classes: int) -> None:
    """Refuse an objective that is not known, or is for another number of classes."""
    name, *settings = text.split(" ")
    known = (*PLAIN, *EXPONENTIAL, *SIGMOID, *CLASSES, "cross_entropy_lambda", "")
    if name not in known or not all(map(_SETTING.fullmatch, settings)):
        raise FileError(f"the objective {text!r:.60} is not known")
    values = dict(setting.partition(":")[::2] for setting in settings)
    if not float(values.get("sigmoid", 1.0)) > 0:
        raise FileError("the sigmoid of its objective is not above 0")
    own = values.get("num_class", "1")
    if name in CLASSES and own != str(classes):
        raise FileError(f"its objective has {own} classes and the model {classes}")
    if classes > 1 and name not in (*CLASSES, "custom", "none", ""):
        raise FileError(f"its objective {name!r} has one class and the model {classes}")


# Trees


def _check_tree(fields: Mapping[str, str], features: int) -> None:
    leaves = _one(fields, "num_leaves", 1, 2**31 - 1)
    if fields.get("is_linear", "0") != "0":
        raise FileError("it has linear models at its leaves; fit with linear_tree=False")
    if "shrinkage" in fields and len(_numbers(fields, "shrinkage")) != 1:
        raise FileError("its shrinkage is not one number")
    categories = _one(fields, "num_cat", 0, 2**31 - 1)
    if len(_numbers(fields, "leaf_value")) != leaves:
        raise FileError(f"it does not have a value for each of its {leaves} leaves")
    if leaves == 1:
        _check_stump(fields, categories)
        return
    for name in (*_LEAVES, *_INNER):
        expected = leaves if name in _LEAVES else leaves - 1
        if name in fields and len(_numbers(fields, name)) != expected:
            raise FileError(f"its {name} does not have {expected} numbers")
    whole = {name: _whole(fields, name) for name in _INNER_WHOLE}
    if any(len(numbers) != leaves - 1 for numbers in whole.values()):
        raise FileError(f"its nodes are not {leaves - 1}")
    if "threshold" not in fields:
        raise FileError("the line threshold is missing")
    threshold = _numbers(fields, "threshold")
    feature, kinds = whole["split_feature"], whole["decision_type"]
    ends = np.full(leaves, -1)
    left, right = (
        np.concatenate([_places(whole[name], leaves), ends]) for name in _INNER_WHOLE[2:]
    )
    check_tree(
        left,
        right,
        np.concatenate([feature, np.zeros(leaves, np.int64)]),
        np.concatenate([threshold, np.zeros(leaves)]),
        features,
    )
    if np.any((kinds < 0) | (kinds > 15) | (kinds >> 2 == MISSING_KINDS)):
        raise FileError("a node has an unknown decision_type")
    _check_categories(fields, threshold[kinds & CATEGORICAL != 0], categories)


def _check_stump(fields: Mapping[str, str], categories: int) -> None:
    """A tree of one leaf has no nodes; what is said of its leaf is one number or none."""
    if categories or any(fields.get(name, "").strip() for name in (*_INNER_WHOLE, *_INNER)):
        raise FileError("it has one leaf, and nodes")
    if any(len(_numbers(fields, name)) > 1 for name in _LEAVES if name in fields):
        raise FileError("it has one leaf, and numbers of several")


def _places(children: Array, leaves: int) -> Array:
    """Children by number of node, the leaves after the others; leaf i is written ``-1 - i``."""
    if np.any((children < -leaves) | (children >= leaves - 1)):
        raise FileError("a child is neither a node nor a leaf")
    return np.where(children < 0, leaves - 2 - children, children)


def _check_categories(fields: Mapping[str, str], asked: Array, count: int) -> None:
    """Refuse lists of categories that end beyond them all, or that a node asks for in vain."""
    if np.any(asked != np.floor(asked)) or np.any((asked < 0) | (asked >= count)):
        raise FileError("a node asks for a list of categories that is not there")
    if count == 0:
        if any(name in fields for name in _CATEGORIES):
            raise FileError("it has categories, and no list of them")
        return
    bounds, words = (_whole(fields, name) for name in _CATEGORIES)
    if len(bounds) != count + 1 or bounds[0] != 0 or bounds[-1] != len(words):
        raise FileError("its lists of categories end beyond them all")
    if np.any(np.diff(bounds) < 1) or np.any((words < 0) | (words >= 2**32)):
        raise FileError("a list of categories is empty or not made of bits")


# After the trees


def _settings(rest: str) -> list[str]:
    """Of what the model was trained with the one line that says which columns are categories."""
    line = _CATEGORICAL_COLUMNS.search(rest)
    return [] if line is None else ["parameters:", line[0], "", "end of parameters", ""]


def _pandas_categories(rest: str) -> str:
    """The categories of columns that pandas held, as JSON."""
    last = rest.rstrip().rpartition("\n")[2]
    if not last.startswith("pandas_categorical:"):
        return "null"
    try:
        found = json.loads(last.removeprefix("pandas_categorical:"))
    except (ValueError, RecursionError):
        raise FileError("the line pandas_categorical is not JSON") from None
    if found is not None and not (
        isinstance(found, list)
        and all(isinstance(own, list) for own in found)
        and all(isinstance(value, str | int | float) for own in found for value in own)
    ):
        raise FileError("the line pandas_categorical does not hold lists of categories")
    return json.dumps(found)


# Values


def _tokens(fields: Mapping[str, str], name: str, pattern: re.Pattern[str]) -> list[str]:
    if name not in fields:
        raise FileError(f"the line {name} is missing")
    tokens = fields[name].split(" ") if fields[name] else []
    if not all(map(pattern.fullmatch, tokens)):
        raise FileError(f"the line {name} does not hold numbers alone")
    return tokens


def _whole(fields: Mapping[str, str], name: str) -> Array:
    return np.array([int(token) for token in _tokens(fields, name, _WHOLE)], dtype=np.int64)


def _numbers(fields: Mapping[str, str], name: str) -> Array:
    return np.array([float(token) for token in _tokens(fields, name, _NUMBER)], dtype=np.float64)


def _one(fields: Mapping[str, str], name: str, least: int, most: int) -> int:
    numbers = _whole(fields, name)
    if len(numbers) != 1 or not least <= numbers[0] <= most:
        raise FileError(f"{name} is not one number from {least} to {most}")
    return int(numbers[0])
