"""A program that is trees, or a sum of trees: all that follows from the program alone.

Everything here is plain arrays, so a plan can be sent to another process and rows can be counted
there; see `counting`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from proxyuse.lang.evaluate import Array
from proxyuse.lang.nodes import And, Compare, Const, Ite, Member, Not, Or, Term, Var
from proxyuse.lang.packed import Forest, Location
from proxyuse.lang.packing import pack_trees
from proxyuse.lang.positions import Points
from proxyuse.lang.walking import Wiring
from proxyuse.measure.forests.decision import Decision, Form, decision_of, form_of
from proxyuse.program import Program, kept


class Part(NamedTuple):
    """A computation inside tests.

    Attributes
    ----------
    nodes : the node of each of its positions.
    offsets : how far behind the node's program point each position is.
    decides : whether each of the tests depends on it alone.
    """

    term: Term
    nodes: Array
    offsets: Array
    decides: bool

    @classmethod
    def of(cls, term: Term, places: Sequence[tuple[Array, int]], decides: bool) -> Part:
        """From the nodes of some tests, with the point inside these tests."""
        nodes = np.concatenate([some for some, _ in places])
        offsets = np.concatenate([np.full(len(some), 1 + point) for some, point in places])
        order = np.lexsort((offsets, nodes))
        return cls(term, nodes[order], offsets[order], decides)


@dataclass(frozen=True, eq=False)
class ForestPlan:
    """Trees, where they stand in the program, and how they decide.

    Attributes
    ----------
    forest : the trees.
    form : where the sums of the program stand.
    decision : how what trees say becomes the output.
    points : the program point of each tree.
    """

    forest: Forest
    form: Form
    decision: Decision
    points: Array

    @property
    def wiring(self) -> Wiring:
        """The trees joined to columns of codes."""
        return self.forest.wiring

    @cached_property
    def tree_of(self) -> Array:
        """The tree of each inner node."""
        counts = np.diff(self.forest.first_node)
        return np.repeat(np.arange(len(counts), dtype=np.int32), counts)

    @cached_property
    def extremes(self) -> tuple[Array, Array]:
        """The smallest and largest score below each node: first side, second side, both.

        Only meant where there is one score; with several, of the first.
        """
        forest, scores = self.forest, self.decision.scores[:, 0]
        low, high = (np.empty((len(forest.test), 3), dtype=np.int64) for _ in range(2))
        padded = np.append(scores, scores[-1])
        for side, children in enumerate((forest.then, forest.otherwise)):
            inner, leaf = np.maximum(children, 0), -1 - children
            first = np.where(children >= 0, forest.spans.first_leaf[inner], leaf)
            last = np.where(children >= 0, forest.spans.last_leaf[inner], leaf + 1)
            ends = np.stack([first, last], axis=1).ravel()
            low[:, side] = np.minimum.reduceat(padded, ends)[::2]
            high[:, side] = np.maximum.reduceat(padded, ends)[::2]
        low[:, 2], high[:, 2] = low[:, :2].min(axis=1), high[:, :2].max(axis=1)
        return low, high

    @cached_property
    def spans(self) -> tuple[Array, Array]:
        """How far leads can move below each node, and in each tree; at least 1."""
        forest, scores = self.forest, self.decision.scores
        ends = np.stack([forest.spans.first_leaf, forest.spans.last_leaf], axis=1)
        padded = np.vstack([scores, scores[-1:]])
        low, high = (f.reduceat(padded, ends.ravel())[::2] for f in (np.minimum, np.maximum))
        factor = 1 if scores.shape[1] == 1 else 2
        below = np.maximum((high - low).max(axis=1) * factor, 1)
        roots = forest.starts >= 0
        trees = np.zeros(len(roots), dtype=np.int64)
        trees[roots] = below[forest.starts[roots]]
        return below, trees

    @cached_property
    def by_point(self) -> tuple[list[int], list[int]]:
        """The points at which trees begin, ascending, and which trees these are."""
        order = np.argsort(self.points)
        return self.points[order].tolist(), order.tolist()

    def locate(self, point: int) -> Location | None:
        """What stands at a program point, if it is inside a tree."""
        starts, trees = self.by_point
        index = bisect_right(starts, point) - 1
        if index < 0:
            return None
        start = int(self.forest.starts[trees[index]])
        past = point - starts[index]
        if start < 0 or past >= self.forest.extent(start):
            return None
        return self.forest.locate(start, past)

    def point_of(self, node: int) -> int:
        """The program point of an inner node."""
        return int(self.points_of(np.array([node]))[0])

    def points_of(self, nodes: Array) -> Array:
        """The program points of inner nodes."""
        trees, offsets = self.tree_of[nodes], self.forest.offsets
        return np.asarray(self.points[trees] + offsets[nodes] - offsets[self.forest.starts[trees]])

    def points_above(self, points: Points) -> list[int]:
        """The program points that are in no tree and no constant, in preorder."""
        trees = set(self.points.tolist())
        above, stack = [], [0]
        while stack:
            point = stack.pop()
            if point in trees or isinstance(points.terms[point], Const):
                continue
            above.append(point)
            stack += reversed(points.below(point))
        return above

    @cached_property
    def nodes_by_test(self) -> tuple[Array, Array]:
        """Nodes sorted by test, and where each test's nodes begin."""
        order = np.argsort(self.forest.test, kind="stable").astype(np.int32)
        counts = np.bincount(self.forest.test, minlength=len(self.forest.tests))
        return order, np.concatenate([[0], np.cumsum(counts)])

    def nodes_of_test(self, test: int) -> Array:
        """The nodes that have a test."""
        order, starts = self.nodes_by_test
        return order[starts[test] : starts[test + 1]]

    @cached_property
    def parts(self) -> tuple[Part, ...] | None:
        """The computations inside tests, variables among them, in order of their first node.

        None if one of them is a choice: it might equal a subtree. Linear in the number of nodes,
        and of points in the distinct shapes of tests.
        """
        tests = self.forest.tests
        shape = tests.shape[self.forest.test]
        order = np.argsort(shape, kind="stable")
        ends = np.searchsorted(shape[order], np.arange(len(tests.shapes) + 1))
        places: dict[bytes, list[tuple[Array, int]]] = {}
        terms: dict[bytes, Term] = {}
        undecided: set[bytes] = set()
        for number, root in enumerate(tests.shapes):
            nodes, points = order[ends[number] : ends[number + 1]], Points(root)
            variables = [point for point, term in enumerate(points.terms) if isinstance(term, Var)]
            for point, term in enumerate(points.terms):
                if isinstance(term, Ite):
                    return None
                if point == 0 or isinstance(term, Const):
                    continue
                terms.setdefault(term.digest, term)
                places.setdefault(term.digest, []).append((nodes, point))
                if not all(point <= variable < points.end(point) for variable in variables):
                    undecided.add(term.digest)
        # A test may also be a part of another one. Only then all of them are looked at.
        tests_inside = any(isinstance(t, Compare | Member | Not | And | Or) for t in terms.values())
        if tests_inside or any(root.digest in places for root in tests.shapes):
            for test in range(len(tests)):
                digest = tests.term(test).digest
                if digest in places:
                    places[digest].append((self.nodes_of_test(test), 0))
        return tuple(
            Part.of(terms[digest], found, digest not in undecided)
            for digest, found in places.items()
        )


@kept
def forest_plan(program: Program) -> ForestPlan | None:
    """The plan of a program that is made of trees, else None.

    Linear in the number of nodes that are not packed, and in the columns of those that are.
    """
    points = program.points
    form = form_of(points)
    if form is None:
        return None
    operands = dict.fromkeys(point for _, some in form.sums for point in some)
    trees = [point for point in operands if not isinstance(points.terms[point], Const)]
    if not trees:
        return None
    forest = pack_trees([points.terms[point] for point in trees])
    if forest is None or len(forest.test) == 0:
        return None
    tree_at = {point: tree for tree, point in enumerate(trees)}
    decision = decision_of(points, form, tree_at, forest)
    if decision is None:
        return None
    return ForestPlan(forest, form, decision, np.array(trees, dtype=np.int64))
