"""Small real model files, what an ill-wisher makes of them, and a process that reads the lot.

Run as a script with a folder, it loads every file there, predicts with what it could load, and
prints for each what came of it. It is run apart, so that a crash is an exit code.
"""

from __future__ import annotations

import functools
import io
import json
import random
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

RNG = np.random.default_rng(0)
ROWS = 120
X = pd.DataFrame({"a": RNG.normal(size=ROWS), "k": RNG.integers(0, 3, ROWS).astype(float)})
X["b"] = RNG.normal(size=ROWS)
Y = ((X["a"] > 0) ^ (X["k"] == 1)).astype(int).to_numpy()
THREE = np.digitize(X["a"], [-0.4, 0.4])
WITH_CATEGORIES = X.assign(k=pd.Categorical(X["k"].map({0.0: "u", 1.0: "v", 2.0: "w"})))


# Real files


def skops_bytes(model: Any) -> bytes:
    import skops.io

    data: bytes = skops.io.dumps(model)
    return data


def tree() -> bytes:
    from sklearn.tree import DecisionTreeClassifier

    return skops_bytes(DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, Y))


def boosting() -> bytes:
    from sklearn.ensemble import GradientBoostingClassifier

    return skops_bytes(GradientBoostingClassifier(n_estimators=2, max_depth=2).fit(X, THREE))


def histogram() -> bytes:
    from sklearn.ensemble import HistGradientBoostingClassifier

    model = HistGradientBoostingClassifier(max_iter=2, categorical_features=[1], min_samples_leaf=5)
    return skops_bytes(model.fit(WITH_CATEGORIES, Y))


def vectors() -> bytes:
    from sklearn.svm import SVC

    return skops_bytes(SVC(kernel="linear").fit(X, THREE))


def encoded() -> bytes:
    from sklearn.compose import make_column_transformer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    rare = OneHotEncoder(max_categories=2, handle_unknown="infrequent_if_exist", drop="first")
    columns = make_column_transformer((rare, ["k"]), ("passthrough", ["a", "b"]))
    return skops_bytes(make_pipeline(columns, LogisticRegression()).fit(WITH_CATEGORIES, Y))


def xgboost_bytes(form: str) -> bytes:
    import xgboost

    model = xgboost.XGBClassifier(n_estimators=2, max_depth=3, enable_categorical=True, n_jobs=1)
    booster = model.fit(WITH_CATEGORIES, Y).get_booster()
    booster.set_attr(scikit_learn='{"_estimator_type": "classifier"}')
    return bytes(booster.save_raw(form))


def lightgbm_bytes() -> bytes:
    import lightgbm

    settings = {
        "objective": "binary",
        "verbose": -1,
        "num_threads": 1,
        "num_leaves": 4,
        "min_data_per_group": 1,
        "cat_smooth": 1,
        "min_data_in_leaf": 5,
    }
    booster = lightgbm.train(settings, lightgbm.Dataset(WITH_CATEGORIES, Y), num_boost_round=2)
    return booster.model_to_string().encode()


REAL: dict[str, Callable[[], bytes]] = {
    "tree": tree,
    "boosting": boosting,
    "histogram": histogram,
    "vectors": vectors,
    "encoded": encoded,
    "xgboost-json": lambda: xgboost_bytes("json"),
    "xgboost-ubj": lambda: xgboost_bytes("ubj"),
    "lightgbm": lightgbm_bytes,
    "program": lambda: b"ite(a <= 0.5 and k == 'u', 0, ite(a + 2 * b > 1, 1, 2))",
}


@functools.cache
def real_file(name: str) -> bytes:
    return REAL[name]()


# Changes to skops files

Members = dict[str, bytes]


def unzipped(data: bytes) -> tuple[dict[str, Any], Members]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    return json.loads(members.pop("schema.json")), members


def zipped(description: Any, members: Members) -> bytes:
    made = io.BytesIO()
    text = description if isinstance(description, bytes) else json.dumps(description).encode()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in {**members, "schema.json": text}.items():
            archive.writestr(name, content)
    return made.getvalue()


def found(node: Any, kind: str, field: str = "") -> dict[str, Any]:
    """The first part of a description that is of a class, and has a field."""
    waiting = [node]
    while waiting:
        part = waiting.pop(0)
        if isinstance(part, dict):
            if part.get("__class__") == kind and field in ("", *part["content"]["content"]):
                return part
            waiting += part.values()
        elif isinstance(part, list):
            waiting += part
    raise LookupError(kind)


def fields(description: Any, kind: str, field: str = "") -> dict[str, Any]:
    """The attributes of the first object of a class."""
    attributes: dict[str, Any] = found(description, kind, field)["content"]["content"]
    return attributes


def json_node(value: object) -> dict[str, Any]:
    return {
        "__class__": "str",
        "__module__": "builtins",
        "__loader__": "JsonNode",
        "content": json.dumps(value),
        "is_json": True,
    }


def stored(array: Any) -> bytes:
    made = io.BytesIO()
    np.save(made, array, allow_pickle=False)
    return made.getvalue()


def with_array(
    data: bytes, kind: str, field: str, change: Callable[[Any], Any], own: str = ""
) -> bytes:
    """A file in which an array of an object is another one."""
    description, members = unzipped(data)
    part = fields(description, kind, field)[field]
    while "file" not in part:
        part = part["content"][0]
    array = np.load(io.BytesIO(members[part["file"]]))
    changed = change(array.copy())
    members[own or part["file"]] = stored(changed)
    part["file"] = own or part["file"]
    return zipped(description, members)


def with_nodes(field: str, index: Any, value: int, kind: str = "Tree") -> Callable[[bytes], bytes]:
    def change(nodes: Any) -> Any:
        nodes[field][index] = value
        return nodes

    return lambda data: with_array(data, kind, "nodes", change)


def with_field(
    kind: str, field: str, value: object, *, new: bool = False
) -> Callable[[bytes], bytes]:
    def edit(data: bytes) -> bytes:
        description, members = unzipped(data)
        state = found(description, kind, "" if new else field)["content"]
        state["content"][field] = json_node(value)
        if new:
            state["key_types"]["content"].append(state["key_types"]["content"][0])
        return zipped(description, members)

    return edit


def ring(*sides: Any) -> None:
    """Make a node its own child, where each is still the child of one."""
    side = next(side for side in sides if side[0] > 0 and sides[0][side[0]] != -1)
    inner = side[0]
    side[0], side[inner] = side[inner], inner


def _ring(nodes: Any) -> Any:
    ring(nodes["left_child"], nodes["right_child"])
    return nodes


def shorter(kind: str, field: str) -> Callable[[bytes], bytes]:
    return lambda data: with_array(data, kind, field, lambda array: array[..., :-1].copy())


def with_part(**part: object) -> Callable[[bytes], bytes]:
    """A file with one more attribute, of some loader and type."""
    written = {f"__{key}__": value for key, value in part.items() if key != "content"}
    if "content" in part:
        written["content"] = part["content"]

    def edit(data: bytes) -> bytes:
        description, members = unzipped(data)
        fields(description, "DecisionTreeClassifier")["random_state"] = written
        return zipped(description, members)

    return edit


def with_outputs(data: bytes) -> bytes:
    description, members = unzipped(data)
    args = found(description, "Tree")["__reduce__"]["args"]["content"]
    args[2] = json_node(5000)
    return zipped(description, members)


def with_stolen_id(data: bytes) -> bytes:
    """Another array, met before, has the id of a tree's nodes; skops would take that one."""
    description, members = unzipped(data)
    nodes = fields(description, "Tree")["nodes"]
    bad = np.load(io.BytesIO(members[nodes["file"]])).copy()
    bad["left_child"][0] = 10**6
    members["bad.npy"] = stored(bad)
    attributes = description["content"]["content"]
    description["content"]["content"] = {
        "criterion": {**nodes, "file": "bad.npy"},
        **{name: value for name, value in attributes.items() if name != "criterion"},
    }
    return zipped(description, members)


def with_header(shape: tuple[int, ...]) -> Callable[[bytes], bytes]:
    def edit(data: bytes) -> bytes:
        description, members = unzipped(data)
        made = io.BytesIO()
        header = {"descr": "<f8", "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(made, header)
        members[fields(description, "Tree")["values"]["file"]] = made.getvalue()
        return zipped(description, members)

    return edit


def with_protocol(number: object) -> Callable[[bytes], bytes]:
    def edit(data: bytes) -> bytes:
        description, members = unzipped(data)
        return zipped({**description, "protocol": number}, members)

    return edit


def with_member(name: str, content: bytes = b"") -> Callable[[bytes], bytes]:
    def edit(data: bytes) -> bytes:
        description, members = unzipped(data)
        return zipped(description, {**members, name: content})

    return edit


def bomb(data: bytes) -> bytes:
    """An archive with a member that says it unpacks to two gigabytes."""
    large = (2**31 - 1).to_bytes(4, "little")
    for mark, index in ((b"PK\x01\x02", 24), (b"PK\x03\x04", 22)):
        start = data.index(mark) + index
        data = data[:start] + large + data[start + 4 :]
    return data


def swollen(array: Any) -> Any:
    array[...] = 10**6
    return array


SKOPS: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "child-negative": ("tree", with_nodes("left_child", 0, -7)),
    "child-beyond": ("tree", with_nodes("left_child", 0, 10**6)),
    "child-is-root": ("tree", with_nodes("left_child", 1, 0)),
    "cycle": ("tree", lambda data: with_array(data, "Tree", "nodes", _ring)),
    "child-shared": ("tree", with_nodes("right_child", 0, 1)),
    "feature-beyond": ("tree", with_nodes("feature", 0, 10**6)),
    "feature-negative": ("tree", with_nodes("feature", 0, -2)),
    "count": ("tree", with_field("Tree", "node_count", 10**6)),
    "values-short": ("tree", shorter("Tree", "values")),
    "outputs": ("tree", with_outputs),
    "header": ("tree", with_header((10**7, 10**5))),
    "header-of-nothing": ("tree", with_header((10**15, 0))),
    "features-fewer": ("tree", with_field("DecisionTreeClassifier", "n_features_in_", 1)),
    "no-tree": ("tree", with_field("DecisionTreeClassifier", "tree_", [1, 2])),
    "own-method": ("tree", with_field("DecisionTreeClassifier", "predict", 1, new=True)),
    "boosting-child": ("boosting", with_nodes("left_child", 0, 10**6)),
    "boosting-width": (
        "boosting",
        with_field("GradientBoostingClassifier", "n_trees_per_iteration_", 1),
    ),
    "boosting-tree": ("boosting", with_field("DecisionTreeRegressor", "n_features_in_", 9)),
    "boosting-start": ("boosting", shorter("DummyClassifier", "class_prior_")),
    "histogram-child": ("histogram", with_nodes("left", 0, 10**6, "TreePredictor")),
    "histogram-feature": ("histogram", with_nodes("feature_idx", 0, 10**6, "TreePredictor")),
    "histogram-bits": ("histogram", with_nodes("bitset_idx", slice(None), 10**6, "TreePredictor")),
    "histogram-category": (
        "histogram",
        lambda data: with_array(data, "_BinMapper", "bin_thresholds_", swollen),
    ),
    "histogram-raw-bits": ("histogram", shorter("TreePredictor", "raw_left_cat_bitsets")),
    "histogram-prepare": (
        "histogram",
        with_field("HistGradientBoostingClassifier", "_preprocessor", None),
    ),
    "histogram-round": (
        "histogram",
        with_field("HistGradientBoostingClassifier", "n_trees_per_iteration_", 10**9),
    ),
    "vectors-kernel": ("vectors", with_field("SVC", "kernel", "precomputed")),
    "vectors-intercept": ("vectors", shorter("SVC", "_intercept_")),
    "vectors-weights": ("vectors", shorter("SVC", "_dual_coef_")),
    "vectors-counts": ("vectors", shorter("SVC", "_n_support")),
    "vectors-kind": ("vectors", with_field("SVC", "_impl", "nu_svr", new=True)),
    "encoded-columns": ("encoded", with_field("OneHotEncoder", "_n_features_outs", [0])),
    "function": (
        "tree",
        with_part(loader="FunctionNode", module="os", **{"class": "system"}),
    ),
    "type": ("tree", with_part(loader="TypeNode", module="os", **{"class": "_wrap_close"})),
    "operator": (
        "tree",
        with_part(loader="OperatorFuncNode", module="operator", **{"class": "methodcaller"}),
    ),
    "method": (
        "tree",
        with_part(loader="MethodNode", module="builtins", **{"class": "str"}, content={}),
    ),
    "wrong-loader": (
        "tree",
        with_part(
            loader="ConstructorFromReduceNode",
            module="sklearn.tree._tree",
            **{"class": "Tree"},
            content=json_node([1, 2, 3]),
        ),
    ),
    "cached": ("tree", with_part(loader="CachedNode", module="builtins", **{"class": "str"})),
    "protocol-0": ("tree", with_protocol(0)),
    "protocol-true": ("tree", with_protocol(True)),
    "protocol-9": ("tree", with_protocol(9)),
    "absolute": ("tree", with_member("/etc/passwd")),
    "upwards": ("tree", with_member("../up.npy")),
    "bomb": ("tree", bomb),
    "no-schema": ("tree", lambda data: _without_schema(data)),
    "schema-not-utf8": ("tree", lambda data: zipped(b"\xff\xfe{}", {})),
    "schema-deep": ("tree", lambda data: zipped(b"[" * 100_000, {})),
    "schema-list": ("tree", lambda data: zipped([], {})),
    "value-deep": (
        "tree",
        with_part(loader="JsonNode", module="", **{"class": "str"}, content="[" * 10**5),
    ),
}


def _without_schema(data: bytes) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("notes.txt", b"hello")
    return made.getvalue()


# Changes to XGBoost files


def _learner(change: Callable[[Any], None]) -> Callable[[bytes], bytes]:
    def edit(data: bytes) -> bytes:
        document = json.loads(data)
        change(document["learner"])
        return json.dumps(document, ensure_ascii=False).encode()

    return edit


def _tree_of(learner: Any, number: int = 0) -> Any:
    return learner["gradient_booster"]["model"]["trees"][number]


def _in_tree(key: str, index: int, value: object) -> Callable[[bytes], bytes]:
    return _learner(lambda learner: _tree_of(learner)[key].__setitem__(index, value))


def _set(*path: str, value: object) -> Callable[[bytes], bytes]:
    def change(learner: Any) -> None:
        for step in path[:-1]:
            learner = learner[int(step)] if isinstance(learner, list) else learner[step]
        learner[path[-1]] = value

    return _learner(change)


def _chain(learner: Any) -> None:
    """A tree as deep as half its nodes, over which XGBoost's recursion falls if it is long."""
    tree, inner = _tree_of(learner), 3000
    nodes = 2 * inner + 1
    left = [i + 1 if i % 2 == 0 and i < 2 * inner else -1 for i in range(nodes)]
    for key, values in tree.items():
        if isinstance(values, list):
            tree[key] = [] if key.startswith("categories") else [0] * nodes
    tree["left_children"] = left
    tree["right_children"] = [-1 if child == -1 else child + 1 for child in left]
    tree["parents"] = [2**31 - 1, *((i - 1) // 2 * 2 for i in range(1, nodes))]
    tree["tree_param"]["num_nodes"] = str(nodes)


def _xgboost_ring(learner: Any) -> None:
    ring(*(_tree_of(learner)[f"{side}_children"] for side in ("left", "right")))


_MODEL = ("gradient_booster", "model")

XGBOOST: dict[str, Callable[[bytes], bytes]] = {
    "child-negative": _in_tree("left_children", 0, -9),
    "child-beyond": _in_tree("left_children", 0, 10**6),
    "child-is-root": _in_tree("left_children", 1, 0),
    "child-fraction": _in_tree("left_children", 0, 1.5),
    "child-huge": _in_tree("left_children", 0, 10**30),
    "parent": _in_tree("parents", 1, 5),
    "feature-beyond": _in_tree("split_indices", 0, 10**6),
    "short": _learner(lambda learner: _tree_of(learner)["right_children"].pop()),
    "category-list": _set(*_MODEL, "trees", "0", "categories_sizes", value=[10**6]),
    "category-huge": _set(*_MODEL, "trees", "0", "categories", value=[10**9] * 3),
    "chain": _learner(_chain),
    "cycle": _learner(_xgboost_ring),
    "kind": _in_tree("split_type", 0, 7),
    "pruned": _set(*_MODEL, "trees", "0", "tree_param", "num_deleted", value="3"),
    "nodes": _set(*_MODEL, "trees", "0", "tree_param", "num_nodes", value="99999999"),
    "same-id": _set(*_MODEL, "trees", "1", "id", value=0),
    "info": _set(*_MODEL, "tree_info", value=[0, 9]),
    "rounds": _set(*_MODEL, "iteration_indptr", value=[0, 900]),
    "trees": _set(*_MODEL, "trees", value=[]),
    "features": _set("learner_model_param", "num_feature", value="2000000000"),
    "classes": _set("learner_model_param", "num_class", value="2000000000"),
    "base": _set("learner_model_param", "base_score", value="[1,2,3,4]"),
    "base-word": _set("learner_model_param", "base_score", value="many"),
    "best": _set("attributes", "best_iteration", value="77"),
    "booster": _set("gradient_booster", "name", value="gbforest"),
    "objective": _set("objective", "name", value="binary:unheard-of"),
    "wrapper": _set("attributes", "scikit_learn", value="[" * 10**5),
    "deep": lambda data: b'{"learner":' + b"[" * 10**6,
    "twice": lambda data: data.replace(b'"version":', b'"version":[9,9,9],"version":'),
    "not-utf8": lambda data: data.replace(b'"a"', b'"\xff"'),
    "other-json": lambda data: b'{"a": 1}',
    "brace": lambda data: b"{",
}

UBJ: dict[str, Callable[[bytes], bytes]] = {
    "long-array": lambda data: _after(data, b"left_children[$l#L", (2**62).to_bytes(8, "big")),
    "negative-array": lambda data: _after(data, b"left_children[$l#L", b"\xff" * 8),
    "long-name": lambda data: b"{L" + (2**62).to_bytes(8, "big") + b"a",
    "deep": lambda data: b"{L" + (1).to_bytes(8, "big") + b"a" + b"[" * 10**6,
    "child": lambda data: _after(data, b"left_children[$l#L", b"\x7f\xff", skip=8),
    "more": lambda data: data + b"{",
}


def _after(data: bytes, mark: bytes, value: bytes, skip: int = 0) -> bytes:
    index = data.index(mark) + len(mark) + skip
    return data[:index] + value + data[index + len(value) :]


# Changes to LightGBM files


def _line(name: str, change: Callable[[list[str]], list[str]]) -> Callable[[bytes], bytes]:
    """A file with another first line of a name."""

    def edit(data: bytes) -> bytes:
        lines = data.decode().split("\n")
        index = next(i for i, line in enumerate(lines) if line.startswith(f"{name}="))
        values = lines[index].removeprefix(f"{name}=").split(" ")
        lines[index] = f"{name}=" + " ".join(change(values))
        return "\n".join(lines).encode()

    return edit


def _value(name: str, index: int, value: object) -> Callable[[bytes], bytes]:
    return _line(name, lambda values: [*values[:index], str(value), *values[index + 1 :]])


def _lightgbm_ring(data: bytes) -> bytes:
    lines = data.decode().split("\n")
    places = [
        next(i for i, line in enumerate(lines) if line.startswith(name))
        for name in ("left_child=", "right_child=")
    ]
    sides = [[int(child) for child in lines[i].partition("=")[2].split(" ")] for i in places]
    side = next(side for side in sides if side[0] > 0)
    inner = side[0]
    side[0], side[inner] = side[inner], inner
    for i, numbers in zip(places, sides, strict=True):
        lines[i] = lines[i].partition("=")[0] + "=" + " ".join(map(str, numbers))
    return "\n".join(lines).encode()


def _cut(name: str) -> Callable[[bytes], bytes]:
    return _line(name, lambda values: values[:-1])


LIGHTGBM: dict[str, Callable[[bytes], bytes]] = {
    "child-beyond": _value("left_child", 0, 10**6),
    "child-negative": _value("left_child", 0, -(10**6)),
    "child-is-root": _value("left_child", 0, 0),
    "cycle": _lightgbm_ring,
    "child-word": _value("left_child", 0, "x"),
    "feature-beyond": _value("split_feature", 0, 10**6),
    "leaves": _value("num_leaves", 0, 10**6),
    "leaves-none": _value("num_leaves", 0, 0),
    "leaves-negative": _value("num_leaves", 0, -4),
    "values-cut": _cut("leaf_value"),
    "thresholds-cut": _cut("threshold"),
    "threshold-nan": _value("threshold", 0, "nan"),
    "decision": _value("decision_type", 0, 77),
    "counts-cut": _cut("leaf_count"),
    "bounds": _value("cat_boundaries", 1, 10**6),
    "bounds-cut": _cut("cat_boundaries"),
    "categories": _value("num_cat", 0, 10**6),
    "bits": _value("cat_threshold", 0, 2**40),
    "classes": _value("num_class", 0, 0),
    "round": _value("num_tree_per_iteration", 0, 0),
    "round-huge": _value("num_tree_per_iteration", 0, 2**31 - 1),
    "features": _value("max_feature_idx", 0, 2 * 10**9),
    "features-fewer": _value("max_feature_idx", 0, 0),
    "objective": _value("objective", 0, "multiclass num_class:9"),
    "objective-unknown": _value("objective", 0, "unheard-of"),
    "infos-cut": _cut("feature_infos"),
    "infos-colon": _value("feature_infos", 0, "[1.5]"),
    "linear": _value("is_linear", 0, 1),
    "unknown-line": lambda data: data.replace(b"label_index=", b"label_place="),
    "twice": lambda data: data.replace(b"label_index=0", b"label_index=0\nlabel_index=0"),
    "number": lambda data: data.replace(b"Tree=1", b"Tree=7"),
    "no-end": lambda data: data.replace(b"end of trees", b"end of leaves"),
    "return": lambda data: data.replace(b"feature_names=a", b"feature_names=\ra"),
    "zero-byte": lambda data: data.replace(b"feature_names=a", b"feature_names=\0"),
    "not-utf8": lambda data: data.replace(b"feature_names=a", b"feature_names=\xff"),
    "pandas": lambda data: data.replace(b"pandas_categorical:[[", b"pandas_categorical:[{"),
    "pandas-deep": lambda data: (
        data.rpartition(b"pandas_categorical:")[0] + b"pandas_categorical:" + b"[" * 10**5
    ),
    "head-alone": lambda data: b"tree\n",
}

OTHER: dict[str, bytes] = {
    "bytes": bytes(range(128, 256)),
    "zeros": bytes(1000),
    "words": b"this is not a program",
    "letters": "é".encode("latin-1"),
    "zip-head": b"PK\x03\x04" + bytes(100),
    "gzip-head": b"\x1f\x8b" + bytes(100),
    "deep-program": b"(" * 100_000,
}


def hostile() -> dict[str, bytes]:
    """Files that must be refused, by name."""
    real = {name: real_file(name) for name in REAL}
    made = {f"skops-{name}": edit(real[of]) for name, (of, edit) in SKOPS.items()}
    made |= {f"xgboost-{name}": edit(real["xgboost-json"]) for name, edit in XGBOOST.items()}
    made |= {f"ubj-{name}": edit(real["xgboost-ubj"]) for name, edit in UBJ.items()}
    made |= {f"lightgbm-{name}": edit(real["lightgbm"]) for name, edit in LIGHTGBM.items()}
    return made | {f"other-{name}": data for name, data in OTHER.items()}


HOSTILE = (
    *(f"skops-{name}" for name in SKOPS),
    *(f"xgboost-{name}" for name in XGBOOST),
    *(f"ubj-{name}" for name in UBJ),
    *(f"lightgbm-{name}" for name in LIGHTGBM),
    *(f"other-{name}" for name in OTHER),
)


def damaged(data: bytes, seed: int) -> bytes:
    """A file with some bits turned over, bytes lost or the end cut off.

    Of a zip archive mostly a member is damaged, as its check sums find all else.
    """
    chance = random.Random(seed)
    if data.startswith(b"PK") and chance.random() < 0.85:
        description, members = unzipped(data)
        name = chance.choice([*members, "schema.json"])
        if name == "schema.json":
            text = json.dumps(description).encode()
            return zipped(_turned(text, chance), members)
        return zipped(description, {**members, name: _turned(members[name], chance)})
    return _turned(data, chance)


def _turned(data: bytes, chance: random.Random) -> bytes:
    if chance.random() < 0.1:
        return data[: chance.randrange(len(data))]
    made = bytearray(data)
    for _ in range(chance.choice([1, 1, 1, 3])):
        index = chance.randrange(len(made))
        if chance.random() < 0.6:
            made[index] ^= 1 << chance.randrange(8)
        else:
            made[index] = chance.choice(b'0123456789-.,[]{}"=: e\n')
    return bytes(made)


# The process that reads them


def outcome(path: Path) -> str:
    """What comes of a file: the kind of what was loaded, or the message of a FileError."""
    from proxyuse.errors import FileError
    from proxyuse.models.files import load_model

    try:
        loaded = load_model(path)
    except FileError as error:
        return f"refused: {error}"
    except BaseException as error:
        return f"failed: {type(error).__name__}: {error}"
    model: Any = loaded.model
    for rows in (X, WITH_CATEGORIES):
        try:
            model.predict(rows)
        except Exception:  # a model that says nothing is no harm; a crash is
            continue
    return f"loaded: {loaded.kind}"


def main(folder: Path) -> None:
    import resource
    import warnings

    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
    found = {path.name: outcome(path) for path in sorted(folder.iterdir())}
    print("\n" + json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
