"""Finds the remaining trees of a model in a repaired program.

A repair replaces parts of a program with constants and removes what becomes redundant. The
remaining parts know which node of which tree they came from. So a tree is written back by keeping
its remaining nodes: inner nodes with the model's own test, leaves with the program's constant.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from proxyuse.errors import ProxyUseError
from proxyuse.lang.nodes import Const, Ite, Value
from proxyuse.program import Origin, Program


class CannotWriteBack(ProxyUseError):
    """A repaired program that cannot be expressed by a model of the original class."""


@dataclass(slots=True, eq=False)
class RemainingTree:
    """A tree in a repaired program; the root comes first.

    Attributes
    ----------
    point : the point of its root in the program.
    node : the number of each remaining node in the model's tree. Descendants in the model's tree
        are descendants here too, but nodes between them may be missing.
    then, otherwise : the indices of each node's children in these lists; -1 for a leaf. Either
        may be the model's left child.
    value : the constant of each leaf in the program; None for inner nodes.
    """

    point: int
    node: list[int] = field(default_factory=list)
    then: list[int] = field(default_factory=list)
    otherwise: list[int] = field(default_factory=list)
    value: list[Value | None] = field(default_factory=list)


def remaining_trees(program: Program, step: str) -> dict[int, RemainingTree]:
    """The remaining trees of one step of a model, by number."""
    points = program.points
    origins = {
        point: program.origins[written]
        for point, written in enumerate(points.written)
        if written in program.origins
    }
    trees: dict[int, RemainingTree] = {}
    end = 0
    for point in sorted(origins):
        origin = origins[point]
        if point < end or origin.step != step or origin.tree is None or origin.node is None:
            continue
        if origin.tree in trees:
            raise CannotWriteBack(f"tree {origin.tree} occurs twice in the program")
        trees[origin.tree] = _tree(program, point, origins)
        end = points.end(point)
    return trees


def _tree(program: Program, root: int, origins: dict[int, Origin]) -> RemainingTree:
    points = program.points
    tree = RemainingTree(root)
    stack: list[tuple[int, list[int] | None, int]] = [(root, None, 0)]
    while stack:
        point, side, parent = stack.pop()
        index = len(tree.node)
        if side is not None:
            side[parent] = index
        node = origins[point].node if point in origins else None
        match points.terms[point]:
            case Ite():
                value, below = None, points.below(point)[1:]
            case Const(constant):
                value, below = constant, []
            case _:
                raise CannotWriteBack("a node of a tree is no longer a test or a leaf")
        if node is None:
            raise CannotWriteBack("a node of a tree has no origin")
        tree.node.append(node)
        tree.then.append(-1)
        tree.otherwise.append(-1)
        tree.value.append(value)
        if below:
            stack += [(below[1], tree.otherwise, index), (below[0], tree.then, index)]
    return tree


def descendants(left: Iterable[int], right: Iterable[int]) -> list[tuple[int, int]]:
    """The preorder interval ``(first, end)`` of each node's subtree.

    Node b is in the subtree of node a if ``first[a] <= first[b] < end[a]``.
    """
    lefts, rights = list(left), list(right)
    met, done = [0] * len(lefts), [0] * len(lefts)
    stack, time = [(0, False)], 0
    while stack:
        node, finished = stack.pop()
        if finished:
            done[node] = time
            continue
        met[node] = time
        time += 1
        stack.append((node, True))
        if lefts[node] >= 0:
            stack += [(rights[node], False), (lefts[node], False)]
    return list(zip(met, done, strict=True))
