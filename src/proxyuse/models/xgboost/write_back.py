"""Writes a repaired program back to an XGBoost model, by editing its JSON.

The arrays of a tree are reduced to its remaining nodes. Leaves are float32 numbers, so constants
are rounded, and XGBoost also adds in float32. A row's prediction may therefore change, for
instance if a large constant replaces many trees, or if a score is next to a tie; the caller checks
this. A constant sum becomes the base score plus one leaf, and loses digits if the base score is
much larger than the constant.

Trees after the best round do not affect predictions and become leaves of 0. The tree weights of
booster `dart` are multiplied into the leaves.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from proxyuse.lang.nodes import Value
from proxyuse.models.remaining_trees import CannotWriteBack, RemainingTree
from proxyuse.models.write_boosted import (
    entries,
    finite,
    logarithm,
    logit,
    remaining_children,
    scores_for,
    share_scores,
    trees_to_write,
    with_booster,
)
from proxyuse.models.xgboost.translate import CLASSES, EXPONENTIAL, HINGE, SIGMOID, base_scores
from proxyuse.program import Program

NO_PARENT = 2147483647


def write(model: Any, program: Program, step: str) -> Any:
    """Return a new model of the same class that predicts what a repaired program computes.

    `model` is a Booster or a scikit-learn wrapper of XGBoost, and is not changed. `step` names it
    in the origins of the program.
    """
    booster = model.get_booster() if hasattr(model, "get_booster") else model
    document = json.loads(bytes(booster.save_raw("json")))
    _edit(document["learner"], program, step, hasattr(model, "n_classes_"))
    written = booster.copy()
    written.load_model(bytearray(json.dumps(document), "utf-8"))
    return with_booster(model, booster, written)


def _edit(learner: dict[str, Any], program: Program, step: str, classifies: bool) -> None:
    """Replace the trees of a booster by the remaining ones."""
    part = learner["gradient_booster"]
    if part["name"] == "gblinear":
        raise CannotWriteBack("the weights of the booster gblinear cannot be edited")
    objective = learner["objective"]["name"]
    bases = base_scores(learner["learner_model_param"], objective)

    def scores(constant: Value) -> list[float]:
        totals = _scores(constant, objective, classifies, len(bases))
        return [total - base for total, base in zip(totals, bases, strict=True)]

    def score(owner: int, constant: Value) -> float:
        return finite(constant) - bases[owner]

    trees = part["gbtree"]["model"] if part["name"] == "dart" else part["model"]
    new_trees = trees_to_write(program, step, trees["tree_info"], scores, score)
    trees["trees"] = [
        _pruned(tree, remaining) for tree, remaining in zip(trees["trees"], new_trees, strict=True)
    ]
    if "weight_drop" in part:
        part["weight_drop"] = [1.0] * len(new_trees)


def _scores(constant: Value, objective: str, classifies: bool, sums: int) -> list[float]:
    """The scores for which the objective, or the classifier, returns a constant."""
    if type(constant) is bool and sums == 1:
        return scores_for(constant, sums)
    if classifies and isinstance(constant, tuple):
        return share_scores(constant, sums)
    if classifies or objective in (*HINGE, "multi:softmax"):
        label, labels = finite(constant), max(sums, 2)
        if label not in range(labels):
            raise CannotWriteBack(f"the model has the classes 0 to {labels - 1}, not {constant!r}")
        return scores_for(int(label), sums)
    if objective in CLASSES:
        return [logarithm(probability) for probability in entries(constant, sums)]
    if objective in SIGMOID:
        return [logit(constant)]
    return [logarithm(constant) if objective in EXPONENTIAL else finite(constant)]


# Trees


def _pruned(tree: Mapping[str, Any], remaining: RemainingTree) -> dict[str, Any]:
    """The arrays of a tree, reduced to its remaining nodes."""
    order, children = remaining_children(remaining, tree["left_children"], tree["right_children"])
    nodes = [remaining.node[index] for index in order]
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
    for index, pair in enumerate(children):
        for child in pair:
            if child >= 0:
                new["parents"][child] = index
    for index, (first, _) in enumerate(children):
        if first < 0:
            number = _rounded(remaining.value[order[index]])
            new["split_conditions"][index] = new["base_weights"][index] = number
            for name in ("split_indices", "default_left", "split_type", "loss_changes"):
                if name in new:
                    new[name][index] = 0.0 if name == "loss_changes" else 0
    categorical = [
        node if first >= 0 else -1 for node, (first, _) in zip(nodes, children, strict=True)
    ]
    new |= _categories(tree, categorical)
    new["tree_param"] = tree["tree_param"] | {"num_nodes": str(len(nodes)), "num_deleted": "0"}
    return new


def _rounded(value: Value | None) -> float:
    with np.errstate(over="ignore"):
        return finite(float(np.float32(finite(value))))


def _categories(tree: Mapping[str, Any], nodes: Sequence[int]) -> dict[str, list[int]]:
    """The category lists of the remaining nodes; -1 stands for a leaf."""
    if "categories_nodes" not in tree:
        return {}
    columns = (tree[f"categories_{name}"] for name in ("nodes", "segments", "sizes"))
    listed = {node: (start, size) for node, start, size in zip(*columns, strict=True)}
    categorical = [index for index, node in enumerate(nodes) if node in listed]
    sizes = [listed[nodes[index]][1] for index in categorical]
    codes: list[int] = []
    for index in categorical:
        start, size = listed[nodes[index]]
        codes += tree["categories"][start : start + size]
    return {
        "categories": codes,
        "categories_nodes": categorical,
        "categories_segments": np.cumsum([0, *sizes])[:-1].tolist(),
        "categories_sizes": sizes,
    }
