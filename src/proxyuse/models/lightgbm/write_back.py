"""Writes a repaired program back to a LightGBM model, by editing its text.

Each tree is a block of lines, whose lists are reduced to the remaining nodes. The header states
the size of each block. Leaves are float64 numbers, like the constants of a program, so nothing is
rounded, except by the inverse of the objective if a whole sum is constant.
"""

from __future__ import annotations

import copy
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from proxyuse.lang.nodes import Value
from proxyuse.models.lightgbm.translate import (
    CATEGORICAL,
    EXPONENTIAL,
    SIGMOID,
    objective_of,
    sections,
)
from proxyuse.models.remaining_trees import CannotWriteBack, RemainingTree
from proxyuse.models.translation import labels
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
from proxyuse.program import Origin, Program

END = "end of trees"
BY_INNER_NODE = (
    "split_feature", "split_gain", "threshold", "decision_type",
    "internal_value", "internal_weight", "internal_count",
)  # fmt: skip


def write(model: Any, program: Program, step: str) -> Any:
    """Return a new model of the same class that predicts what a repaired program computes.

    `model` is a Booster or a scikit-learn wrapper of LightGBM, and is not changed. `step` names
    it in the origins of the program.
    """
    booster = getattr(model, "booster_", model)
    classes: tuple[Value, ...] = ()
    if hasattr(model, "classes_") and not callable(model.objective_):
        classes = labels(model.classes_)
    written = type(booster)(model_str=_edited(booster.model_to_string(), program, step, classes))
    for name in ("best_iteration", "best_score", "pandas_categorical"):
        setattr(written, name, copy.deepcopy(getattr(booster, name)))
    return with_booster(model, booster, written)


def _edited(text: str, program: Program, step: str, classes: tuple[Value, ...]) -> str:
    """The text of a booster with the remaining trees; only a classifier has classes."""
    header, *trees = sections(text)
    width = int(header["num_tree_per_iteration"])
    rounds = float(max(len(trees) // width, 1)) if "average_output" in header else 1.0
    objective, steepness = objective_of(header.get("objective", "custom"), Origin(step))

    def scores(constant: Value) -> list[float]:
        if classes and isinstance(constant, tuple):
            steep = steepness if width == 1 else 1.0
            totals = share_scores(constant, width)
            return [total / steep * rounds for total in totals]
        if classes:
            return [total * rounds for total in scores_for(_label(constant, classes), width)]
        if type(constant) is bool and width == 1:
            return [total * rounds for total in scores_for(constant, width)]
        if width == 1:
            return [_score(constant, objective, steepness) * rounds]
        return [_score(value, objective, steepness) * rounds for value in entries(constant, width)]

    def score(_: int, constant: Value) -> float:
        if objective == "multiclassova" and not classes:  # the program has the sigmoid of a sum
            return _score(constant, objective, steepness) * rounds
        return finite(constant) * rounds

    owners = [number % width for number in range(len(trees))]
    new_trees = trees_to_write(program, step, owners, scores, score)
    blocks = [
        f"Tree={number}\n{_pruned(tree, remaining)}\n\n"
        for number, (tree, remaining) in enumerate(zip(trees, new_trees, strict=True))
    ]
    sizes = " ".join(str(len(block.encode())) for block in blocks)
    start, end = text.index("\nTree=") + 1 if trees else text.index(END), text.index(END)
    head = re.sub(r"^tree_sizes=.*$", f"tree_sizes={sizes}", text[:start], flags=re.MULTILINE)
    return head + "".join(blocks) + text[end:]


def _label(constant: Value, classes: tuple[Value, ...]) -> int:
    if constant not in classes:
        raise CannotWriteBack(f"the model has no class {constant!r}")
    return classes.index(constant)


def _score(constant: Value, objective: str, steepness: float) -> float:
    """The score that an objective maps to a number."""
    if objective in (*SIGMOID, "multiclassova"):
        return logit(constant) / steepness
    if objective in (*EXPONENTIAL, "multiclass"):
        return logarithm(constant)
    if objective == "cross_entropy_lambda":
        return logarithm(math.expm1(min(finite(constant), 700.0)))
    return finite(constant)


# Trees


def _pruned(tree: Mapping[str, str], remaining: RemainingTree) -> str:
    """The lines of a tree, reduced to its remaining nodes.

    Inner nodes come first. As a child, leaf i is written as ``-1 - i``.
    """
    fields = {name: text.split() for name, text in tree.items() if name.isidentifier()}
    inner = len(fields["decision_type"])
    lefts, rights = (_numbered(fields[name], inner) for name in ("left_child", "right_child"))
    leaves = [-1] * len(fields["leaf_value"])
    order, children = remaining_children(remaining, lefts + leaves, rights + leaves)
    nodes = [remaining.node[index] for index in order]
    tests = [index for index, (first, _) in enumerate(children) if first >= 0]
    ends = [index for index, (first, _) in enumerate(children) if first < 0]
    written = {index: str(number) for number, index in enumerate(tests)}
    written |= {index: str(-1 - number) for number, index in enumerate(ends)}
    for name in ("weight", "count"):
        if f"leaf_{name}" in fields and f"internal_{name}" in fields:
            known = dict(enumerate(fields[f"internal_{name}"] + fields[f"leaf_{name}"]))
            fields[f"leaf_{name}"] = [
                known[nodes[index]] for index in ends if nodes[index] in known
            ]
    for name in BY_INNER_NODE:
        if fields.get(name):
            fields[name] = [fields[name][nodes[index]] for index in tests]
    fields["left_child"] = [written[children[index][0]] for index in tests]
    fields["right_child"] = [written[children[index][1]] for index in tests]
    fields["leaf_value"] = [f"{finite(remaining.value[order[index]]):.17g}" for index in ends]
    fields["num_leaves"] = [str(len(ends))]
    _keep_categories(fields)
    return "".join(f"{name}={' '.join(words)}\n" for name, words in fields.items())


def _numbered(children: Sequence[str], inner: int) -> list[int]:
    """Children as indices, inner nodes before leaves."""
    return [number if number >= 0 else inner - 1 - number for number in map(int, children)]


def _keep_categories(fields: dict[str, list[str]]) -> None:
    """Reduce the category lists to those of the remaining nodes; a threshold is a list's index."""
    categorical = [
        node for node, kind in enumerate(fields["decision_type"]) if int(kind) & CATEGORICAL
    ]
    fields["num_cat"] = [str(len(categorical))]
    bounds, words = fields.get("cat_boundaries", []), fields.get("cat_threshold", [])
    ends, kept_words = ["0"], []
    for number, node in enumerate(categorical):
        index = int(fields["threshold"][node])
        kept_words += words[int(bounds[index]) : int(bounds[index + 1])]
        ends.append(str(len(kept_words)))
        fields["threshold"][node] = str(number)
    if categorical:
        fields |= {"cat_boundaries": ends, "cat_threshold": kept_words}
    else:
        fields.pop("cat_boundaries", None)
        fields.pop("cat_threshold", None)
