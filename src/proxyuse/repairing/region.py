"""A tree of ites with constant leaves, evaluated on every row.

For each node, one small array holds the constant that each row gets when it starts at this node.
The output with a different test or leaf then follows by walking up from the change to the root:
O(n) per node on the path, for a tree of any size.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from proxyuse.lang.build import rebuild
from proxyuse.lang.evaluate import Array, truth_of
from proxyuse.lang.nodes import Const, Ite, Term, Value, children, value_text
from proxyuse.lang.positions import Points, Site

MOST_NODES = 1 << 14  # so that the codes of the constants fit into 16 bits


class Region:
    """An ite and everything in its branches, down to constants.

    Parameters
    ----------
    points : the points of the program.
    root : the point of the ite.
    nodes : the points of all its ites, as returned by `ite_points`.
    values : returns the values of a term on all rows.
    rows : the number of rows.

    Attributes
    ----------
    constants : the distinct constants of the leaves. The code of a constant is its index.
    node_codes : for each node, the code that each row gets when it starts at this node.
    below : for each node, in preorder, its guard and its two branches.
    """

    def __init__(
        self,
        points: Points,
        root: int,
        nodes: list[int],
        values: Callable[[Term], Array],
        rows: int,
    ) -> None:
        self.points, self.root, self.rows = points, root, rows
        self._values = values
        self._truths: dict[int, Array] = {}
        self.constants: list[Value] = []
        self._codes: dict[str, int] = {}
        self.node_codes: dict[int, Array] = {}
        self.below = {point: points.below(point) for point in nodes}
        for point in reversed(nodes):
            guard, then, otherwise = self.below[point]
            sides = (self._side(then), self._side(otherwise))
            self.node_codes[point] = np.where(self.truth(points.terms[guard]), *sides)

    def code(self, value: Value) -> int:
        """The code of a constant. A new constant gets the next code."""
        code = self._codes.setdefault(value_text(value), len(self.constants))
        if code == len(self.constants):
            self.constants.append(value)
        return code

    def truth(self, guard: Term) -> Array:
        """The rows where a guard holds, cached per guard object."""
        if id(guard) not in self._truths:
            truth = truth_of(self._values(guard))
            self._truths[id(guard)] = np.broadcast_to(truth, (self.rows,))
        return self._truths[id(guard)]

    def _side(self, point: int) -> Array:
        term = self.points.terms[point]
        if isinstance(term, Const):
            return np.array([self.code(term.value)], dtype=np.int16)
        return self.node_codes[point]

    def codes(self, point: int) -> Array:
        """The code that each row gets when it starts at a node or leaf."""
        return np.broadcast_to(self._side(point), (self.rows,))

    def inside(self, point: int) -> list[int]:
        """The nodes inside a node, including itself, in preorder."""
        return [node for node in self.below if point <= node < self.points.end(point)]

    def reaching(self, start: int, point: int) -> Array:
        """The rows that reach a node or leaf when all rows start at a node around it."""
        reach = np.ones(self.rows, dtype=np.bool_)
        while point != start:
            above = self.points.parents[point]
            holds = self.truth(self.points.terms[self.below[above][0]])
            reach &= holds if point == self.below[above][1] else ~holds
            point = above
        return reach

    def codes_with(self, new: Mapping[Site, Const]) -> Array:
        """The code of each row with constants at some positions in the region."""
        changed: dict[int, Array] = {}
        guards: dict[int, Array] = {}
        dirty: set[int] = set()
        for site, value in new.items():
            point = site.point
            if point in self.below:
                code = np.array([self.code(value.value)], dtype=np.int16)
                changed[point] = np.broadcast_to(code, (self.rows,))
                above = self.points.parents[point] if point != self.root else -1
            else:
                above = self._owner(point)
                if above not in guards:  # many positions may share a guard
                    guards[above] = self._guard_with(above, new)
            while above >= self.root and above not in dirty:
                dirty.add(above)
                above = self.points.parents[above] if above != self.root else -1
        for point in sorted(dirty - changed.keys(), reverse=True):
            guard, then, otherwise = self.below[point]
            holds = guards.get(point)
            if holds is None:
                holds = self.truth(self.points.terms[guard])
            sides = (changed.get(p, self._side(p)) for p in (then, otherwise))
            changed[point] = np.where(holds, *sides)
        return changed.get(self.root, self.node_codes[self.root])

    def _owner(self, point: int) -> int:
        """The node in whose guard a point lies."""
        while point not in self.below:
            point = self.points.parents[point]
        return point

    def _guard_with(self, node: int, new: Mapping[Site, Const]) -> Array:
        """The rows where the guard of a node holds, with constants inside it."""
        guard = self.below[node][0]
        end = self.points.end(guard)
        inside = {site: value for site, value in new.items() if guard <= site.point < end}
        if Site(guard) in inside:
            return np.array([bool(inside[Site(guard)].value)])
        term = self.points.terms[guard]
        if len(inside) == 1 and len(children(term)) <= 2:
            ((site, value),) = inside.items()
            if not site.operands and self.points.parents[site.point] == guard:
                parts = list(children(term))
                parts[term._order[self.points.steps[site.point]]] = value
                return truth_of(self._values(rebuild(term, tuple(parts))))
        return truth_of(self._values(self.points.rebuilt(inside)[guard]))


def region_at(points: Points, point: int) -> tuple[int, list[int]] | None:
    """The region around a point: its root, and the points of its ites in preorder.

    The largest region, or the smallest if some leaf of the largest is not a constant. None if
    neither has only constant leaves, or if the point is in no ite.
    """
    lowest = point
    while lowest >= 0 and not isinstance(points.terms[lowest], Ite):
        lowest = points.parents[lowest]
    if lowest < 0:
        return None
    highest = lowest
    while points.parents[highest] >= 0 and points.steps[highest] > 0:
        above = points.parents[highest]
        if not isinstance(points.terms[above], Ite):
            break
        highest = above
    for root in (highest, lowest):
        nodes = ite_points(points, root)
        if nodes is not None and len(nodes) < MOST_NODES:
            return root, nodes
    return None


def ite_points(points: Points, root: int) -> list[int] | None:
    """The points of the ites of a tree in preorder; None if some leaf is not a constant."""
    ites: list[int] = []
    stack = [root]
    while stack:
        point = stack.pop()
        match points.terms[point]:
            case Const():
                continue
            case Ite():
                ites.append(point)
                _, then, otherwise = points.below(point)
                stack += (otherwise, then)
            case _:
                return None
    return ites
