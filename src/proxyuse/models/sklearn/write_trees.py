"""scikit-learn's trees, forests and bagged trees get the nodes that a repaired program has left.

A fitted tree is an array of nodes with an array of values beside it, and can be made anew from
both (``__setstate__``). Kept nodes keep what they say and what they know of the training rows,
so that impurities and counts are those of before the repair.

- A tree says a label: where the program has the label that a node's own shares say, the shares
  stay; else the class gets all of them. It says a share where a threshold on it decides.
- A forest adds what its trees say. A constant in place of several trees is one leaf in place of
  the first of them, and the others say nothing; trees stand in the order of the program's sum, so
  that the sums are the same to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from typing import Any

import numpy as np

from proxyuse.lang.evaluate import Array
from proxyuse.lang.nodes import Compare, Const, Relation, Value, value_text
from proxyuse.models.features import Inputs
from proxyuse.models.remaining_trees import CannotWriteBack, RemainingTree, remaining_trees
from proxyuse.models.term_transforms import one_hot
from proxyuse.models.translation import labels
from proxyuse.models.write_boosted import finite, remaining_children
from proxyuse.program import Program

Row = Sequence[float]
Says = Callable[[Any, int, Value | None], Row]
"""What a leaf of a tree has to hold for a constant: its number, or one for each class."""


def write_tree(model: Any, program: Program, step: str) -> Any:
    """A DecisionTree or ExtraTree, classifier or regressor, that says what a program does."""
    sure = False
    if isinstance(program.term, Const):
        left, labeled = one_leaf(program.term.value), True
        origin = program.origins.get(0)
        sure = origin is None or origin.node is None  # a threshold on shares always says the same
    else:
        left = _only(remaining_trees(program, step), step)
        labeled = _says_labels(program, left.point)
    says: Says = _number
    if hasattr(model, "classes_"):
        classes = labels(model.classes_)
        says = _label(classes, sure) if labeled else _share([(model.tree_, left)], len(classes))
    return deepcopy(model, {id(model.tree_): edited_tree(model.tree_, left, says)})


def write_forest(model: Any, program: Program, step: str) -> Any:
    """A RandomForest or ExtraTrees, classifier or regressor, that says what a program does."""
    found = {} if isinstance(program.term, Const) else remaining_trees(program, step)
    new = _with_trees(model, program, found)
    written = program.points.written
    places = {number: written[tree.point] for number, tree in found.items()}
    order = sorted(range(len(new.estimators_)), key=lambda i: places.get(i, len(written)))
    new.estimators_ = [new.estimators_[i] for i in order]
    return new


def write_bagging(model: Any, program: Program, inputs: Inputs) -> Any:
    """A BaggingClassifier or BaggingRegressor of trees that says what a program does."""
    classes = len(getattr(model, "classes_", ()))
    for member in model.estimators_:
        if not hasattr(member, "tree_"):
            raise CannotWriteBack(
                f"this {type(model).__name__} is made of {type(member).__name__}; only decision "
                "trees in it take constants in their place"
            )
        if len(getattr(member, "classes_", ())) != classes:
            raise CannotWriteBack("a member has not seen every class, so it cannot say all shares")
    found: dict[int, RemainingTree] = {}
    if not isinstance(program.term, Const):
        for number in range(len(model.estimators_)):
            own = remaining_trees(program, inputs.inside(f"estimators_[{number}]").step)
            if own:
                found[number] = own[0]
    return _with_trees(model, program, found)


# Trees


def one_leaf(value: Value | None) -> RemainingTree:
    """A tree that is one leaf; None says nothing."""
    return RemainingTree(0, [0], [-1], [-1], [value])


def edited_tree(tree: Any, left: RemainingTree, says: Says) -> Any:
    """A new `tree_` of the nodes that are left of one."""
    make, arguments, state = tree.__reduce__()
    order, pairs = remaining_children(
        left, tree.children_left.tolist(), tree.children_right.tolist()
    )
    numbers = [left.node[place] for place in order]
    nodes, values = state["nodes"][numbers], state["values"][numbers]
    for new, (place, pair) in enumerate(zip(order, pairs, strict=True)):
        nodes["left_child"][new], nodes["right_child"][new] = pair
        if pair[0] < 0:
            nodes["feature"][new], nodes["threshold"][new] = -2, -2.0
            nodes["missing_go_to_left"][new] = 0
            values[new, 0] = says(tree, left.node[place], left.value[place])
    made = make(*arguments)
    made.__setstate__(
        state
        | {
            "nodes": nodes,
            "values": values,
            "node_count": len(nodes),
            "max_depth": max(depths(pairs)),
        }
    )
    return made


def depths(pairs: Sequence[tuple[int, int]]) -> list[int]:
    """How far each node is from the root, which comes first; children are -1 for a leaf."""
    found = [0] * len(pairs)
    stack = [0]
    while stack:
        node = stack.pop()
        for child in pairs[node]:
            if child >= 0:
                found[child] = found[node] + 1
                stack.append(child)
    return found


def _only(trees: Mapping[int, RemainingTree], step: str) -> RemainingTree:
    if set(trees) != {0}:
        raise CannotWriteBack(f"the tree of the step {step!r} is not in the program any more")
    return trees[0]


def _with_trees(model: Any, program: Program, found: Mapping[int, RemainingTree]) -> Any:
    """A copy of an ensemble with other trees; those that were not found say nothing."""
    says: Says = _number
    trees = [member.tree_ for member in model.estimators_]
    classes = labels(getattr(model, "classes_", ()))
    if isinstance(program.term, Const):
        found = {number: one_leaf(program.term.value) for number in range(len(trees))}
        says = _label(classes, sure=True) if classes else _number
    elif not found:
        raise CannotWriteBack("no tree of the model is left in the program")
    elif any(isinstance(value, tuple) for tree in found.values() for value in tree.value):
        says = _shares(len(classes))
    elif classes:
        says = _share([(trees[number], tree) for number, tree in found.items()], len(classes))
    new = [edited_tree(t, found.get(i) or one_leaf(None), says) for i, t in enumerate(trees)]
    return deepcopy(model, {id(old): made for old, made in zip(trees, new, strict=True)})


# Leaves


def _number(_tree: Any, _node: int, value: Value | None) -> Row:
    return [0.0 if value is None else finite(value)]


def class_place(value: Value | None, classes: Sequence[Value]) -> int:
    """Which class a label is."""
    texts = [value_text(label) for label in classes]
    if value is None or value_text(value) not in texts:
        raise CannotWriteBack(f"{value!r} is not a class of the model: {', '.join(texts)}")
    return texts.index(value_text(value))


def _label(classes: Sequence[Value], sure: bool) -> Says:
    """All shares for a label, or, unless that must be sure, a node's own where they say it."""

    def says(tree: Any, node: int, value: Value | None) -> Row:
        place, own = class_place(value, classes), tree.value[node, 0]
        keeps = not sure and int(np.argmax(own)) == place
        return list(own) if keeps else one_hot(place, len(classes))

    return says


def _shares(size: int) -> Says:
    """The shares as the program has them."""

    def says(_tree: Any, _node: int, value: Value | None) -> Row:
        if value is None:
            return [0.0] * size
        if not isinstance(value, tuple) or len(value) != size:
            raise CannotWriteBack(f"a leaf cannot say {value!r}; it takes {size} shares")
        return [finite(share) for share in value]

    return says


def _share(trees: Iterable[tuple[Any, RemainingTree]], size: int) -> Says:
    """The share of one class, where a threshold on it decides; the others share the rest.

    Which class it is, the leaves that are as they were tell.
    """
    place = int(np.argmax(_equal_shares(trees, size)[::-1]))
    place = size - 1 - place  # of equal ones the last

    def says(tree: Any, node: int, value: Value | None) -> Row:
        share = 0.0 if value is None else finite(value)
        own = np.array(tree.value[node, 0])
        if own[place] == share and value is not None:
            return list(own)
        others = 1.0 - own[place]
        row = own / others if others > 0 else np.full(size, 1 / (size - 1))
        row *= 1.0 - share
        row[place] = share
        return list(row)

    return says


def _equal_shares(trees: Iterable[tuple[Any, RemainingTree]], size: int) -> Array:
    """For each class how many leaves of a program say its share in the model's own leaf."""
    found = np.zeros(size, dtype=np.int64)
    for tree, left in trees:
        for node, value in zip(left.node, left.value, strict=True):
            if value is not None:
                found += tree.value[node, 0] == value
    return found


def _says_labels(program: Program, point: int) -> bool:
    """Whether a tree says labels: it is the program, or compared with a label."""
    above = program.points.parents[point]
    if above < 0:
        return True
    term = program.points.terms[above]
    return isinstance(term, Compare) and term.relation is Relation.EQ
