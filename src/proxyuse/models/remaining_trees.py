"""What is left of a model's trees in a repaired program.

A repair puts constants in place of parts of a program and leaves out what that makes
superfluous; the rest knows which node of which tree it came from. So a tree is written back by
keeping the nodes that are left: each test as the model has it, each leaf with the constant that
stands there now.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from proxyuse.errors import ProxyUseError
from proxyuse.lang.nodes import Const, Ite, Value
from proxyuse.program import Origin, Program


class CannotWriteBack(ProxyUseError):
    """A repaired program that is no model of the family it came from any more."""


@dataclass(slots=True, eq=False)
class TreeLeft:
    """A tree as it stands in a repaired program, from the root on.

    Attributes
    ----------
    point : where its root stands in the program.
    node : for each node that is left its number in the model's tree. A node below another one
        there is below it here too, though nodes between them may be gone.
    then, otherwise : for each node the places of the two below it, in these lists; -1 for a leaf.
        Which of them is the model's left one is told by whose descendants they are.
    value : for each leaf the constant it says, as the program has it; None for inner nodes.
    """

    point: int
    node: list[int] = field(default_factory=list)
    then: list[int] = field(default_factory=list)
    otherwise: list[int] = field(default_factory=list)
    value: list[Value | None] = field(default_factory=list)


def trees_left(program: Program, step: str) -> dict[int, TreeLeft]:
    """The trees of one step of a model, by number, that are left in a program.

    A tree that is not here is gone; the sum it stood in goes without it.
    """
    points = program.points
    origins = {
        point: program.origins[written]
        for point, written in enumerate(points.written)
        if written in program.origins
    }
    found: dict[int, TreeLeft] = {}
    end = 0
    for point in sorted(origins):
        origin = origins[point]
        if point < end or origin.step != step or origin.tree is None or origin.node is None:
            continue
        if origin.tree in found:
            raise CannotWriteBack(f"tree {origin.tree} stands at two places of the program")
        found[origin.tree] = _tree(program, point, origins)
        end = points.end(point)
    return found


def _tree(program: Program, root: int, origins: dict[int, Origin]) -> TreeLeft:
    points = program.points
    tree = TreeLeft(root)
    stack: list[tuple[int, list[int] | None, int]] = [(root, None, 0)]
    while stack:
        point, side, parent = stack.pop()
        place = len(tree.node)
        if side is not None:
            side[parent] = place
        node = origins[point].node if point in origins else None
        match points.terms[point]:
            case Ite():
                value, below = None, points.below(point)[1:]
            case Const(constant):
                value, below = constant, []
            case _:
                raise CannotWriteBack("a node of a tree is neither a test nor a leaf any more")
        if node is None:
            raise CannotWriteBack("a node of a tree does not know where it came from")
        tree.node.append(node)
        tree.then.append(-1)
        tree.otherwise.append(-1)
        tree.value.append(value)
        if below:
            stack += [(below[1], tree.otherwise, place), (below[0], tree.then, place)]
    return tree


def descendants(left: Iterable[int], right: Iterable[int]) -> list[tuple[int, int]]:
    """For each node of a model's tree when it is met and when it is left, root first.

    Node b lies below node a, or is it, if ``met[a] <= met[b] < left[a]``.
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
