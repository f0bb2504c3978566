"""Write a repaired program back to a model of XGBoost, through the JSON it is saved in.

The arrays of a tree are cut to the nodes that are left. Leaves hold float32 numbers, so that a
constant is rounded to the nearest; XGBoost adds in float32, too. Where that matters (a large
constant in place of many trees, a score next to a tie) a row may be predicted otherwise, which is
to be checked. A sum that is constant is written as the base score plus one leaf, and loses digits
where the base score is far larger than the constant.

The trees after the best round, which do not count in what is predicted, become leaves of 0; the
weights that booster `dart` gives to trees are multiplied into their leaves.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from proxyuse.lang.nodes import Value
from proxyuse.models.remaining_trees import CannotWriteBack, TreeLeft
from proxyuse.models.write_boosted import (
    children_left,
    entries,
    finite,
    logarithm,
    logit,
    scores_for,
    trees_to_write,
)
from proxyuse.models.xgboost.translate import CLASSES, EXPONENTIAL, HINGE, SIGMOID, base_scores
from proxyuse.program import Program

NO_PARENT = 2147483647


def write(model: Any, program: Program, step: str) -> Any:
    """A fitted model of the same class that says what a repaired program says.

    Parameters
    ----------
    model : Booster, or one of XGBoost's classes for scikit-learn; it is not changed.
    program : the program of that model, with constants in place of some of its parts.
    step : what the program calls the model in its origins.
    """
    booster = model.get_booster() if hasattr(model, "get_booster") else model
    document = json.loads(bytes(booster.save_raw("json")))
    _edit(document["learner"], program, step, hasattr(model, "n_classes_"))
    written = booster.copy()
    written.load_model(bytearray(json.dumps(document), "utf-8"))
    if booster is model:
        return written
    return copy.deepcopy(model, {id(booster): written})


def _edit(learner: dict[str, Any], program: Program, step: str, classifies: bool) -> None:
    """Put the trees that are left in the place of a booster's own."""
    part = learner["gradient_booster"]
    if part["name"] == "gblinear":
        raise CannotWriteBack("the booster gblinear has weights, which are not written back")
    objective = learner["objective"]["name"]
    bases = base_scores(learner["learner_model_param"], objective)

    def scores(said: Value) -> list[float]:
        found = _scores(said, objective, classifies, len(bases))
        return [total - base for total, base in zip(found, bases, strict=True)]

    def score(owner: int, said: Value) -> float:
        return finite(said) - bases[owner]

    trees = part["gbtree"]["model"] if part["name"] == "dart" else part["model"]
    wanted = trees_to_write(program, step, trees["tree_info"], scores, score)
    trees["trees"] = [
        _pruned(tree, left) for tree, left in zip(trees["trees"], wanted, strict=True)
    ]
    if "weight_drop" in part:
        part["weight_drop"] = [1.0] * len(wanted)


def _scores(said: Value, objective: str, classifies: bool, sums: int) -> list[float]:
    """Scores of which the objective, or a classifier, makes a constant."""
    if type(said) is bool and sums == 1:
        return scores_for(said, sums)
    if classifies or objective in (*HINGE, "multi:softmax"):
        label, labels = finite(said), max(sums, 2)
        if label not in range(labels):
            raise CannotWriteBack(f"the model has the classes 0 to {labels - 1}, not {said!r}")
        return scores_for(int(label), sums)
    if objective in CLASSES:
        return [logarithm(share) for share in entries(said, sums)]
    if objective in SIGMOID:
        return [logit(said)]
    return [logarithm(said) if objective in EXPONENTIAL else finite(said)]


# Trees


def _pruned(tree: Mapping[str, Any], left: TreeLeft) -> dict[str, Any]:
    """A tree's arrays with the nodes that are left."""
    order, children = children_left(left, tree["left_children"], tree["right_children"])
    nodes = [left.node[place] for place in order]
    count = len(tree["left_children"])
    new = {
        name: [part[node] for node in nodes]
        if isinstance(part, list) and len(part) == count and not name.startswith("categories")
        else part
        for name, part in tree.items()
    }
    new["left_children"] = [first for first, _ in children]
    new["right_children"] = [second for _, second in children]
    new["parents"] = [NO_PARENT] * len(nodes)
    for place, pair in enumerate(children):
        for child in pair:
            if child >= 0:
                new["parents"][child] = place
    for place, (first, _) in enumerate(children):
        if first < 0:
            number = _rounded(left.value[order[place]])
            new["split_conditions"][place] = new["base_weights"][place] = number
            for name in ("split_indices", "default_left", "split_type", "loss_changes"):
                if name in new:
                    new[name][place] = 0.0 if name == "loss_changes" else 0
    asking = [node if first >= 0 else -1 for node, (first, _) in zip(nodes, children, strict=True)]
    new |= _categories(tree, asking)
    new["tree_param"] = tree["tree_param"] | {"num_nodes": str(len(nodes)), "num_deleted": "0"}
    return new


def _rounded(value: Value | None) -> float:
    with np.errstate(over="ignore"):
        return finite(float(np.float32(finite(value))))


def _categories(tree: Mapping[str, Any], nodes: Sequence[int]) -> dict[str, list[int]]:
    """The lists of categories of the nodes that are left; -1 stands for a leaf."""
    if "categories_nodes" not in tree:
        return {}
    columns = (tree[f"categories_{name}"] for name in ("nodes", "segments", "sizes"))
    listed = {node: (start, size) for node, start, size in zip(*columns, strict=True)}
    asking = [place for place, node in enumerate(nodes) if node in listed]
    sizes = [listed[nodes[place]][1] for place in asking]
    codes: list[int] = []
    for place in asking:
        start, size = listed[nodes[place]]
        codes += tree["categories"][start : start + size]
    return {
        "categories": codes,
        "categories_nodes": asking,
        "categories_segments": np.cumsum([0, *sizes])[:-1].tolist(),
        "categories_sizes": sizes,
    }
