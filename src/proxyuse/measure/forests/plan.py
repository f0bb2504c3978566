"""The plan for a program made of trees: everything that follows from the program alone.

A plan is made of plain arrays, so it can be sent to another process that counts rows there (see
`counting`).
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from proxyuse.lang.evaluate import Array
from proxyuse.lang.nodes import Const
from proxyuse.lang.packed import Forest, Location
from proxyuse.lang.packing import pack_trees
from proxyuse.lang.positions import Points
from proxyuse.lang.walking import CodeRanges
from proxyuse.measure.forests.decision import Decision, Form, decision_of, form_of
from proxyuse.program import Program, cached_per_program


class Extremes(NamedTuple):
    """The range of the leads below each node.

    Attributes
    ----------
    low, high : the smallest and largest score of the first lead, in the first branch, the second
        branch, and both.
    span : how far any lead can move; at least 1.
    tree_span : the span of each tree; 0 for a constant.
    """

    low: Array
    high: Array
    span: Array
    tree_span: Array


@dataclass(frozen=True, eq=False)
class ForestPlan:
    """The trees of a program, their positions, and how they decide.

    Attributes
    ----------
    forest : the trees.
    form : the position of the sums in the program.
    decision : how the values of the trees become the output.
    points : the program point of each tree.
    """

    forest: Forest
    form: Form
    decision: Decision
    points: Array

    def moved(self, by: float, relative: bool) -> ForestPlan:
        """Return the plan that counts only moves of the output by more than a threshold."""
        return replace(self, decision=self.decision.moved(by, relative))

    @property
    def code_ranges(self) -> CodeRanges:
        """The trees as arrays that compiled loops walk on columns of codes."""
        return self.forest.code_ranges

    @cached_property
    def tree_of(self) -> Array:
        """The tree of each inner node."""
        counts = np.diff(self.forest.first_node)
        return np.repeat(np.arange(len(counts), dtype=np.int32), counts)

    @cached_property
    def extremes(self) -> Extremes:
        """The range of the leads below each node, in linear time."""
        from proxyuse.measure.forests import loops  # loads numba

        forest, scores = self.forest, self.decision.scores
        low, high = (np.empty((len(forest.test), 3), dtype=np.int64) for _ in range(2))
        span = np.empty(len(forest.test), dtype=np.int64)
        loops.find_extremes(forest.then, forest.otherwise, scores, low, high, span)
        factor = 1 if scores.shape[1] == 1 else 2
        span = np.maximum(span * factor, 1)
        trees = np.zeros(len(forest.starts), dtype=np.int64)
        roots = forest.starts >= 0
        trees[roots] = span[forest.starts[roots]]
        return Extremes(low, high, span, trees)

    @property
    def directed(self) -> bool:
        """Whether there is one lead, and its sign decides."""
        return self.decision.scores.shape[1] == 1 and not self.decision.is_number

    @cached_property
    def by_point(self) -> tuple[list[int], list[int]]:
        """The points at which trees begin, ascending, and which trees these are."""
        order = np.argsort(self.points)
        return self.points[order].tolist(), order.tolist()

    def locate(self, point: int) -> Location | None:
        """Return the node or leaf at a program point, or None outside of trees."""
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
        """Return the program point of an inner node."""
        return int(self.points_of(np.array([node]))[0])

    def points_of(self, nodes: Array) -> Array:
        """Return the program points of inner nodes."""
        trees, offsets = self.tree_of[nodes], self.forest.offsets
        return np.asarray(self.points[trees] + offsets[nodes] - offsets[self.forest.starts[trees]])

    def points_above(self, points: Points) -> list[int]:
        """Return the program points outside of trees and constants, in preorder."""
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
        """Return the nodes with a test."""
        order, starts = self.nodes_by_test
        return order[starts[test] : starts[test + 1]]


@cached_per_program
def forest_plan(program: Program) -> ForestPlan | None:
    """Return the plan of a program that is made of trees, or None for other programs.

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
