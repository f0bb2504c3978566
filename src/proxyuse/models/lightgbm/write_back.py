"""Write a repaired program back to a model of LightGBM, through the text it is saved in.

Each tree stands in a block of lines, whose lists are cut to the nodes that are left; the header
tells how many bytes each block takes. Numbers at leaves are float64, as a program's are, so that
nothing is rounded but by turning an objective round, where a whole sum is a constant.
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
from proxyuse.models.model_terms import labels
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
from proxyuse.program import Origin, Program

END = "end of trees"
BY_INNER_NODE = (
    "split_feature", "split_gain", "threshold", "decision_type",
    "internal_value", "internal_weight", "internal_count",
)  # fmt: skip


def write(model: Any, program: Program, step: str) -> Any:
    """A fitted model of the same class that says what a repaired program says.

    Parameters
    ----------
    model : Booster, or one of LightGBM's classes for scikit-learn; it is not changed.
    program : the program of that model, with constants in place of some of its parts.
    step : what the program calls the model in its origins.
    """
    booster = getattr(model, "booster_", model)
    classes: tuple[Value, ...] = ()
    if hasattr(model, "classes_") and not callable(model.objective_):
        classes = labels(model.classes_)
    written = type(booster)(model_str=_edited(booster.model_to_string(), program, step, classes))
    for name in ("best_iteration", "best_score", "pandas_categorical"):
        setattr(written, name, copy.deepcopy(getattr(booster, name)))
    if booster is model:
        return written
    return copy.deepcopy(model, {id(booster): written})


def _edited(text: str, program: Program, step: str, classes: tuple[Value, ...]) -> str:
    """The text of a booster with the trees that are left; a classifier has classes."""
    header, *trees = sections(text)
    width = int(header["num_tree_per_iteration"])
    rounds = float(max(len(trees) // width, 1)) if "average_output" in header else 1.0
    objective, steepness = objective_of(header.get("objective", "custom"), Origin(step))

    def scores(said: Value) -> list[float]:
        if classes:
            return [total * rounds for total in scores_for(_label(said, classes), width)]
        if type(said) is bool and width == 1:
            return [total * rounds for total in scores_for(said, width)]
        if width == 1:
            return [_score(said, objective, steepness) * rounds]
        return [_score(share, objective, steepness) * rounds for share in entries(said, width)]

    def score(_: int, said: Value) -> float:
        seen = objective == "multiclassova" and not classes  # the sigmoid of a sum, not the sum
        return (_score(said, objective, steepness) if seen else finite(said)) * rounds

    owners = [number % width for number in range(len(trees))]
    wanted = trees_to_write(program, step, owners, scores, score)
    blocks = [
        f"Tree={number}\n{_pruned(tree, left)}\n\n"
        for number, (tree, left) in enumerate(zip(trees, wanted, strict=True))
    ]
    sizes = " ".join(str(len(block.encode())) for block in blocks)
    start, end = text.index("\nTree=") + 1 if trees else text.index(END), text.index(END)
    head = re.sub(r"^tree_sizes=.*$", f"tree_sizes={sizes}", text[:start], flags=re.MULTILINE)
    return head + "".join(blocks) + text[end:]


def _label(said: Value, classes: tuple[Value, ...]) -> int:
    if said not in classes:
        raise CannotWriteBack(f"the model has no class {said!r}")
    return classes.index(said)


def _score(said: Value, objective: str, steepness: float) -> float:
    """The score of which an objective makes a number."""
    if objective in (*SIGMOID, "multiclassova"):
        return logit(said) / steepness
    if objective in (*EXPONENTIAL, "multiclass"):
        return logarithm(said)
    if objective == "cross_entropy_lambda":
        return logarithm(math.expm1(min(finite(said), 700.0)))
    return finite(said)


# Trees


def _pruned(tree: Mapping[str, str], left: TreeLeft) -> str:
    """The lines of a tree with the nodes that are left.

    Inner nodes come first, and leaf i is written as ``-1 - i`` where it is a child.
    """
    own = {name: text.split() for name, text in tree.items() if name.isidentifier()}
    inner = len(own["decision_type"])
    lefts, rights = (_numbered(own[name], inner) for name in ("left_child", "right_child"))
    leaves = [-1] * len(own["leaf_value"])
    order, children = children_left(left, lefts + leaves, rights + leaves)
    nodes = [left.node[place] for place in order]
    tests = [place for place, (first, _) in enumerate(children) if first >= 0]
    ends = [place for place, (first, _) in enumerate(children) if first < 0]
    written = {place: str(number) for number, place in enumerate(tests)}
    written |= {place: str(-1 - number) for number, place in enumerate(ends)}
    for name in ("weight", "count"):
        if f"leaf_{name}" in own and f"internal_{name}" in own:
            known = dict(enumerate(own[f"internal_{name}"] + own[f"leaf_{name}"]))
            own[f"leaf_{name}"] = [known[nodes[place]] for place in ends if nodes[place] in known]
    for name in BY_INNER_NODE:
        if own.get(name):
            own[name] = [own[name][nodes[place]] for place in tests]
    own["left_child"] = [written[children[place][0]] for place in tests]
    own["right_child"] = [written[children[place][1]] for place in tests]
    own["leaf_value"] = [f"{finite(left.value[order[place]]):.17g}" for place in ends]
    own["num_leaves"] = [str(len(ends))]
    _keep_categories(own)
    return "".join(f"{name}={' '.join(words)}\n" for name, words in own.items())


def _numbered(children: Sequence[str], inner: int) -> list[int]:
    """Children by number, leaves after the inner nodes."""
    return [number if number >= 0 else inner - 1 - number for number in map(int, children)]


def _keep_categories(own: dict[str, list[str]]) -> None:
    """Keep the lists of categories of the nodes that are left; a threshold is a list's number."""
    asking = [node for node, kind in enumerate(own["decision_type"]) if int(kind) & CATEGORICAL]
    own["num_cat"] = [str(len(asking))]
    bounds, words = own.get("cat_boundaries", []), own.get("cat_threshold", [])
    ends, kept = ["0"], []
    for number, node in enumerate(asking):
        place = int(own["threshold"][node])
        kept += words[int(bounds[place]) : int(bounds[place + 1])]
        ends.append(str(len(kept)))
        own["threshold"][node] = str(number)
    if asking:
        own |= {"cat_boundaries": ends, "cat_threshold": kept}
    else:
        own.pop("cat_boundaries", None)
        own.pop("cat_threshold", None)
