"""Writes repaired programs back to scikit-learn's trees, forests and bagged trees.

A fitted tree is an array of nodes and an array of values. A new tree is built from both with
``__setstate__``. Remaining nodes keep their statistics of the training rows, so impurities and
counts are those from before the repair.

- A tree predicts a label. If the program's label is the majority class of the node, the node keeps
  its class probabilities. Otherwise they change as little as possible, just past the tie. If a
  threshold on a probability decides, the leaf holds that probability.
- A forest adds the outputs of its trees. If one constant replaces several trees, the first of them
  becomes a leaf with that constant and the others become leaves of 0. The trees follow the order of
  the program's sum, so the sums are equal to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from typing import Any

import numpy as np

from proxyuse.lang.evaluate import Array
from proxyuse.lang.nodes import Compare, Const, Relation, Value, value_text
from proxyuse.models.features import Inputs
from proxyuse.models.label_shares import closest_shares
from proxyuse.models.remaining_trees import CannotWriteBack, RemainingTree, remaining_trees
from proxyuse.models.term_transforms import one_hot
from proxyuse.models.translation import labels
from proxyuse.models.write_boosted import finite, remaining_children
from proxyuse.program import Program

Row = Sequence[float]
LeafValues = Callable[[Any, int, Value | None], Row]
"""The numbers that a leaf holds for a constant: one for a regressor, one per class otherwise."""


def write_tree(model: Any, program: Program, step: str) -> Any:
    """A DecisionTree or ExtraTree, classifier or regressor, that computes a program."""
    classes = labels(getattr(model, "classes_", ()))
    leaf_values: LeafValues = _number
    if isinstance(program.term, Const):
        remaining = one_leaf(program.term.value)
        leaf_values = _constant(program.term.value, classes)
    else:
        remaining = _only_tree(remaining_trees(program, step), step)
        if classes and _predicts_labels(program, remaining.point):
            leaf_values = _label(classes)
        elif classes:
            leaf_values = _probability([(model.tree_, remaining)], len(classes))
    return deepcopy(model, {id(model.tree_): edited_tree(model.tree_, remaining, leaf_values)})


def write_forest(model: Any, program: Program, step: str) -> Any:
    """A RandomForest or ExtraTrees, classifier or regressor, that computes a program."""
    remaining = {} if isinstance(program.term, Const) else remaining_trees(program, step)
    new = _with_trees(model, program, remaining)
    written = program.points.written
    positions = {number: written[tree.point] for number, tree in remaining.items()}
    order = sorted(range(len(new.estimators_)), key=lambda i: positions.get(i, len(written)))
    new.estimators_ = [new.estimators_[i] for i in order]
    return new


def write_bagging(model: Any, program: Program, inputs: Inputs) -> Any:
    """A BaggingClassifier or BaggingRegressor of trees that computes a program."""
    classes = len(getattr(model, "classes_", ()))
    for member in model.estimators_:
        if not hasattr(member, "tree_"):
            raise CannotWriteBack(
                f"the members of this {type(model).__name__} are of type {type(member).__name__}; "
                "only decision trees can be edited"
            )
        if len(getattr(member, "classes_", ())) != classes:
            raise CannotWriteBack("a member was not fitted on every class")
    remaining: dict[int, RemainingTree] = {}
    if not isinstance(program.term, Const):
        for number in range(len(model.estimators_)):
            trees = remaining_trees(program, inputs.inside(f"estimators_[{number}]").step)
            if trees:
                remaining[number] = trees[0]
    return _with_trees(model, program, remaining)


# Trees


def one_leaf(value: Value | None) -> RemainingTree:
    """A tree of one leaf; None stands for 0."""
    return RemainingTree(0, [0], [-1], [-1], [value])


def edited_tree(tree: Any, remaining: RemainingTree, leaf_values: LeafValues) -> Any:
    """A new `tree_` of the remaining nodes of a tree."""
    make, arguments, state = tree.__reduce__()
    order, pairs = remaining_children(
        remaining, tree.children_left.tolist(), tree.children_right.tolist()
    )
    numbers = [remaining.node[index] for index in order]
    nodes, values = state["nodes"][numbers], state["values"][numbers]
    for new, (index, pair) in enumerate(zip(order, pairs, strict=True)):
        nodes["left_child"][new], nodes["right_child"][new] = pair
        if pair[0] < 0:
            nodes["feature"][new], nodes["threshold"][new] = -2, -2.0
            nodes["missing_go_to_left"][new] = 0
            values[new, 0] = leaf_values(tree, remaining.node[index], remaining.value[index])
    edited = make(*arguments)
    edited.__setstate__(
        state
        | {
            "nodes": nodes,
            "values": values,
            "node_count": len(nodes),
            "max_depth": max(depths(pairs)),
        }
    )
    return edited


def depths(pairs: Sequence[tuple[int, int]]) -> list[int]:
    """The depth of each node. The root comes first; the children of a leaf are -1."""
    depth = [0] * len(pairs)
    stack = [0]
    while stack:
        node = stack.pop()
        for child in pairs[node]:
            if child >= 0:
                depth[child] = depth[node] + 1
                stack.append(child)
    return depth


def _only_tree(trees: Mapping[int, RemainingTree], step: str) -> RemainingTree:
    if set(trees) != {0}:
        raise CannotWriteBack(f"the program no longer has the tree of the step {step!r}")
    return trees[0]


def _with_trees(model: Any, program: Program, remaining: Mapping[int, RemainingTree]) -> Any:
    """A copy of an ensemble with edited trees; removed trees become leaves of 0."""
    leaf_values: LeafValues = _number
    trees = [member.tree_ for member in model.estimators_]
    classes = labels(getattr(model, "classes_", ()))
    if isinstance(program.term, Const):
        remaining = {number: one_leaf(program.term.value) for number in range(len(trees))}
        leaf_values = _constant(program.term.value, classes)
    elif not remaining:
        raise CannotWriteBack("the program no longer has trees of the model")
    elif any(isinstance(value, tuple) for tree in remaining.values() for value in tree.value):
        leaf_values = _probabilities(len(classes))
    elif classes:
        pairs = [(trees[number], tree) for number, tree in remaining.items()]
        leaf_values = _probability(pairs, len(classes))
    memo = {
        id(tree): edited_tree(tree, remaining.get(number) or one_leaf(None), leaf_values)
        for number, tree in enumerate(trees)
    }
    return deepcopy(model, memo)


# Leaves


def _number(_tree: Any, _node: int, value: Value | None) -> Row:
    return [0.0 if value is None else finite(value)]


def class_index(value: Value | None, classes: Sequence[Value]) -> int:
    """The index of the class with a label."""
    texts = [value_text(label) for label in classes]
    if value is None or value_text(value) not in texts:
        raise CannotWriteBack(f"{value!r} is not a class of the model: {', '.join(texts)}")
    return texts.index(value_text(value))


def _constant(value: Value, classes: Sequence[Value]) -> LeafValues:
    """The values of the only leaf of a constant model: probabilities, a label, or a number.

    A label gets probability 1, because a threshold may decide.
    """
    if not classes:
        return _number
    if isinstance(value, tuple):
        return _probabilities(len(classes))
    return lambda _tree, _node, label: one_hot(class_index(label, classes), len(classes))


def _label(classes: Sequence[Value]) -> LeafValues:
    """The class probabilities for a label: the closest to the node's own that predict it."""

    def leaf_values(tree: Any, node: int, value: Value | None) -> Row:
        index, own = class_index(value, classes), tree.value[node, 0]
        return list(own if int(np.argmax(own)) == index else closest_shares(own, index))

    return leaf_values


def _probabilities(size: int) -> LeafValues:
    """The class probabilities in the program."""

    def leaf_values(_tree: Any, _node: int, value: Value | None) -> Row:
        if value is None:
            return [0.0] * size
        if not isinstance(value, tuple) or len(value) != size:
            raise CannotWriteBack(f"a leaf needs {size} class probabilities, got {value!r}")
        return [finite(probability) for probability in value]

    return leaf_values


def _probability(trees: Iterable[tuple[Any, RemainingTree]], size: int) -> LeafValues:
    """The probability of one class if a threshold on it decides; the others divide the rest.

    The unchanged leaves show which class it is.
    """
    from_end = int(np.argmax(_unchanged_leaves(trees, size)[::-1]))
    index = size - 1 - from_end  # of tied classes, the last

    def leaf_values(tree: Any, node: int, value: Value | None) -> Row:
        probability = 0.0 if value is None else finite(value)
        own = np.array(tree.value[node, 0])
        if own[index] == probability and value is not None:
            return list(own)
        others = 1.0 - own[index]
        row = own / others if others > 0 else np.full(size, 1 / (size - 1))
        row *= 1.0 - probability
        row[index] = probability
        return list(row)

    return leaf_values


def _unchanged_leaves(trees: Iterable[tuple[Any, RemainingTree]], size: int) -> Array:
    """For each class, the number of leaves with the same probability in program and model."""
    counts = np.zeros(size, dtype=np.int64)
    for tree, remaining in trees:
        for node, value in zip(remaining.node, remaining.value, strict=True):
            if value is not None:
                counts += tree.value[node, 0] == value
    return counts


def _predicts_labels(program: Program, point: int) -> bool:
    """Whether a tree predicts labels: it is the program, or compared with a label."""
    above = program.points.parents[point]
    if above < 0:
        return True
    term = program.points.terms[above]
    return isinstance(term, Compare) and term.relation is Relation.EQ
