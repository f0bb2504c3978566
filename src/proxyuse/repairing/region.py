"""A tree of ites with constants at its leaves, on some rows.

For each node it is known what every row says that starts there, as the number of a constant: one
small array a node. What the tree says with another test or another leaf then follows by going up
from the change to the root, whatever the tree's size: O(n) for each node on the way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from proxyuse.lang.build import rebuild
from proxyuse.lang.evaluate import Array, truth_of
from proxyuse.lang.nodes import Const, Ite, Term, Value, children, value_text
from proxyuse.lang.positions import Points, Site

MOST_NODES = 1 << 14  # numbers of constants then fit into 16 bits


class Region:
    """An ite and everything in its branches, down to constants.

    Parameters
    ----------
    points : of the program.
    root : the point of the ite.
    nodes : the points of all its ites, as `nodes_of` finds them.
    values : what a term says on all rows.
    rows : how many rows there are.

    Attributes
    ----------
    constants : what the leaves say, each once.
    said : for each node the number of the constant that each row says which starts there.
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
        self._numbers: dict[str, int] = {}
        self.said: dict[int, Array] = {}
        self.below = {point: points.below(point) for point in nodes}
        for point in reversed(nodes):
            guard, then, otherwise = self.below[point]
            sides = (self._side(then), self._side(otherwise))
            self.said[point] = np.where(self.truth(points.terms[guard]), *sides)

    def number(self, value: Value) -> int:
        """The number of a constant; a new one gets the next."""
        number = self._numbers.setdefault(value_text(value), len(self.constants))
        if number == len(self.constants):
            self.constants.append(value)
        return number

    def truth(self, guard: Term) -> Array:
        """Where a guard holds; kept for each object."""
        if id(guard) not in self._truths:
            found = truth_of(self._values(guard))
            self._truths[id(guard)] = np.broadcast_to(found, (self.rows,))
        return self._truths[id(guard)]

    def _side(self, point: int) -> Array:
        term = self.points.terms[point]
        if isinstance(term, Const):
            return np.array([self.number(term.value)], dtype=np.int16)
        return self.said[point]

    def codes(self, point: int) -> Array:
        """What each row says that starts at a node or leaf."""
        return np.broadcast_to(self._side(point), (self.rows,))

    def inside(self, point: int) -> list[int]:
        """The nodes in a node, itself included, in preorder."""
        return [node for node in self.below if point <= node < self.points.end(point)]

    def coming(self, start: int, point: int) -> Array:
        """Which of all rows, started at one node, come to another one inside it."""
        there = np.ones(self.rows, dtype=np.bool_)
        while point != start:
            above = self.points.parents[point]
            holds = self.truth(self.points.terms[self.below[above][0]])
            there &= holds if point == self.below[above][1] else ~holds
            point = above
        return there

    def codes_with(self, new: Mapping[Site, Const]) -> Array:
        """What each row says with constants at some positions in the region."""
        changed: dict[int, Array] = {}
        guards: dict[int, Array] = {}
        dirty: set[int] = set()
        for site, value in new.items():
            point = site.point
            if point in self.below:
                number = np.array([self.number(value.value)], dtype=np.int16)
                changed[point] = np.broadcast_to(number, (self.rows,))
                above = self.points.parents[point] if point != self.root else -1
            else:
                above = self._owner(point)
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
        return changed.get(self.root, self.said[self.root])

    def _owner(self, point: int) -> int:
        """The node in whose guard a point lies."""
        while point not in self.below:
            point = self.points.parents[point]
        return point

    def _guard_with(self, node: int, new: Mapping[Site, Const]) -> Array:
        """Where the guard of a node holds, with constants in it."""
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
    """The region in which a point lies: its root, and the points of its ites in preorder.

    The largest one, or the smallest if that does not end in constants. None if it lies in no ite
    or none that ends in constants.
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
        nodes = nodes_of(points, root)
        if nodes is not None and len(nodes) < MOST_NODES:
            return root, nodes
    return None


def nodes_of(points: Points, root: int) -> list[int] | None:
    """The points of all ites that an ite ends in constants through, or None."""
    found: list[int] = []
    stack = [root]
    while stack:
        point = stack.pop()
        match points.terms[point]:
            case Const():
                continue
            case Ite():
                found.append(point)
                _, then, otherwise = points.below(point)
                stack += (otherwise, then)
            case _:
                return None
    return found
