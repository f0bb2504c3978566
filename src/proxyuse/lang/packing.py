"""Pack nested ites with constant leaves into one `Forest`, and unpack them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from proxyuse.lang.build import rebuild
from proxyuse.lang.nodes import Compare, Const, Ite, Term, Value, children, postorder
from proxyuse.lang.packed import Array, Forest, PackedIte, Tests


def pack_trees(terms: Sequence[Term]) -> Forest | None:
    """Pack trees into one forest; None if one contains anything but ites and constant leaves.

    Returns the existing forest if the trees are exactly those of one. Otherwise linear in the
    number of nodes, and slow for ites that are not packed.
    """
    first = terms[0]
    if isinstance(first, PackedIte):
        forest = first.forest
        same = all(isinstance(term, PackedIte) and term.forest is forest for term in terms)
        nodes = [term.node if isinstance(term, PackedIte) else -1 for term in terms]
        if same and nodes == forest.starts.tolist():
            return forest
    layout = _Layout()
    for term in terms:
        if not layout.add(term):
            return None
    return layout.forest()


class _Layout:
    """The columns of a forest under construction."""

    def __init__(self) -> None:
        self.shapes: list[Term] = []
        self._shape_index: dict[bytes, int] = {}
        self.shape: list[int] = []
        self.cut: list[float] = []
        self.sides: tuple[list[int], list[int]] = [], []
        self.leaves: list[Value] = []
        self.starts: list[int] = []
        self.first_node, self.first_leaf = [0], [0]

    def add(self, root: Term) -> bool:
        """Append one tree; return false if the term is not a tree."""
        stack: list[tuple[Term, int, int]] = [(root, -1, 0)]
        while stack:
            term, parent, side = stack.pop()
            if isinstance(term, Const):
                child = -1 - len(self.leaves)
                self.leaves.append(term.value)
            elif isinstance(term, Ite):
                child = len(self.shape)
                self._add_test(term.guard)
                for column in self.sides:
                    column.append(0)
                stack += [(term.otherwise, child, 1), (term.then, child, 0)]
            else:
                return False
            if parent < 0:
                self.starts.append(child)
            else:
                self.sides[side][parent] = child
        self.first_node.append(len(self.shape))
        self.first_leaf.append(len(self.leaves))
        return True

    def _add_test(self, test: Term) -> None:
        cut = float("nan")
        match test:
            case Compare(relation, left, Const(float() as number), precision, missing):
                if number == number:
                    test, cut = Compare(relation, left, Const(0.0), precision, missing), number
        index = self._shape_index.setdefault(test.digest, len(self.shapes))
        if index == len(self.shapes):
            self.shapes.append(test)
        self.shape.append(index)
        self.cut.append(cut)

    def forest(self) -> Forest:
        """Return the finished forest."""
        tests, test = Tests.distinct(
            self.shapes, np.array(self.shape, dtype=np.int32), np.array(self.cut, dtype=np.float64)
        )
        leaves, labels = _leaf_columns(self.leaves)
        then, otherwise, starts, first_node, first_leaf = (
            np.array(column, dtype=np.int32)
            for column in (*self.sides, self.starts, self.first_node, self.first_leaf)
        )
        return Forest(tests, test, then, otherwise, starts, first_node, first_leaf, leaves, labels)


def _leaf_columns(values: list[Value]) -> tuple[Array, tuple[Value, ...]]:
    """Return leaf values as numbers, as rows of numbers, or as indices of constants."""
    kinds = {type(value) for value in values}
    widths = {len(value) for value in values if isinstance(value, tuple)}
    if kinds == {float} or (kinds == {tuple} and len(widths) == 1):
        return np.array(values, dtype=np.float64), ()
    label_index: dict[bytes, int] = {}
    labels: list[Value] = []
    index = np.empty(len(values), dtype=np.int64)
    for leaf, value in enumerate(values):
        index[leaf] = label_index.setdefault(Const(value).digest, len(labels))
        if index[leaf] == len(labels):
            labels.append(value)
    return index, tuple(labels)


def unpack_trees(root: Term) -> Term:
    """Replace packed trees by nested ites. Linear in the number of nodes."""
    new: dict[int, Term] = {}
    for term in postorder(root):
        parts = tuple(new[id(part)] for part in children(term))
        same = all(a is b for a, b in zip(parts, children(term), strict=True))
        new[id(term)] = term if same and not term.packed else rebuild(term, parts)
    return new[id(root)]
