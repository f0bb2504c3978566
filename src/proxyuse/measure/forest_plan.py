"""Trees that are added up, laid out as arrays over all their nodes and leaves.

Which programs are such sums, and how the sum becomes a decision, is told in `vote`. All of this
depends on the program alone, so it is made once and kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from proxyuse.lang.evaluate import Array
from proxyuse.lang.nodes import Const, Ite, Value
from proxyuse.lang.positions import Points
from proxyuse.measure.cells import Test, by_variable, tested_variable
from proxyuse.measure.vote import Vote, fixed_point, form_of, leaf_numbers, vote_of
from proxyuse.program import Program, kept


@dataclass(frozen=True, slots=True, eq=False)
class ForestPlan:
    """Trees as arrays; inner nodes and leaves are numbered tree by tree, each in preorder.

    Attributes
    ----------
    roots : the program point of each tree.
    points : the program point of each inner node; its test and the tested variable follow.
    tree_of, depth : of each inner node.
    tests, test_of : the distinct tests, and which one each node has.
    variables, variable_of : the variables, and which one each test reads.
    tests_of : the tests of each variable.
    left, right : children of a node: an inner node, or -1 - leaf.
    first_node, first_leaf : where each tree's nodes and leaves begin, and the end of the last.
    leaf_from, leaf_to : the leaves below each node.
    leaves : the constant at each leaf.
    values : the same as numbers (leaves x entries).
    value_of : equal for leaves of one tree that hold the same value.
    parent, leaf_parent : the node above each node (-1 for a root) and each leaf.
    vote : how the values become a decision.
    scores : what each leaf adds to each class's lead over the first class, as whole numbers.
    base : the leads without any tree.
    slack : by how much the program's own scores may differ, in the same unit.
    """

    roots: Array
    points: Array
    tree_of: Array
    depth: Array
    tests: tuple[Test, ...]
    test_of: Array
    variables: tuple[str, ...]
    variable_of: Array
    tests_of: tuple[tuple[Test, ...], ...]
    left: Array
    right: Array
    first_node: Array
    first_leaf: Array
    leaf_from: Array
    leaf_to: Array
    leaves: tuple[Value, ...]
    values: Array
    value_of: Array
    parent: Array
    leaf_parent: Array
    vote: Vote
    scores: Array
    base: Array
    slack: int

    @property
    def trees(self) -> int:
        """How many trees there are."""
        return len(self.roots)


@kept
def forest_plan(program: Program) -> ForestPlan | None:
    """The plan of a program that is a sum of trees as above, else None; linear in its size."""
    points = program.points
    form = form_of(points)
    if form is None:
        return None
    layout = _Layout(points)
    for point in (operand for _, operands in form.sums for operand in operands):
        if not isinstance(points.terms[point], Const) and not layout.add(point):
            return None
    vote = vote_of(points, form, layout.tree_at, layout.leaves)
    return None if vote is None else layout.plan(vote)


class _Layout:
    """Collects trees; `add` says whether a point is one."""

    def __init__(self, points: Points) -> None:
        self.points = points
        self.tree_at: dict[int, int] = {}
        self.nodes: list[int] = []
        self.tree_of: list[int] = []
        self.depth: list[int] = []
        self.test_of: list[int] = []
        self.tests: dict[bytes, tuple[int, Test]] = {}
        self.sides: tuple[list[int], list[int]] = [], []
        self.spans: tuple[list[int], list[int]] = [], []
        self.first_node = [0]
        self.first_leaf = [0]
        self.leaves: list[Value] = []

    def add(self, root: int) -> bool:
        points, tree = self.points, len(self.tree_at)
        self.tree_at[root] = tree
        stack: list[tuple[int, int, int, int]] = [(root, -1, 0, 0)]
        open_nodes: list[int] = []
        while stack:
            point, parent, side, depth = stack.pop()
            while open_nodes and self.nodes[open_nodes[-1]] != points.parents[point]:
                self.spans[1][open_nodes.pop()] = len(self.leaves)
            term = points.terms[point]
            if isinstance(term, Const):
                if parent < 0:
                    return False
                self.sides[side][parent] = -1 - len(self.leaves)
                self.leaves.append(term.value)
                continue
            if not isinstance(term, Ite):
                return False
            guard, then, otherwise = points.below(point)
            test = points.terms[guard]
            if tested_variable(test) is None:
                return False
            node = len(self.nodes)
            if parent >= 0:
                self.sides[side][parent] = node
            self.nodes.append(point)
            self.tree_of.append(tree)
            self.depth.append(depth)
            number, _ = self.tests.setdefault(test.digest, (len(self.tests), test))  # type: ignore[arg-type]
            self.test_of.append(number)
            for ends in (*self.sides, self.spans[1]):
                ends.append(0)
            self.spans[0].append(len(self.leaves))
            open_nodes.append(node)
            stack += [(otherwise, node, 1, depth + 1), (then, node, 0, depth + 1)]
        for node in open_nodes:
            self.spans[1][node] = len(self.leaves)
        self.first_node.append(len(self.nodes))
        self.first_leaf.append(len(self.leaves))
        return True

    def plan(self, vote: Vote) -> ForestPlan | None:
        values = leaf_numbers(self.leaves, vote)
        fixed = None if values is None else fixed_point(values, self.first_leaf, vote)
        if values is None or fixed is None:
            return None
        scores, base, slack = fixed
        tests = tuple(test for _, test in self.tests.values())
        names, variable_of, tests_of = by_variable(tests)
        value_of = _same_values(values, self.first_leaf)
        parent, leaf_parent = _parents(*self.sides, len(self.leaves))
        return ForestPlan(
            roots=np.array(list(self.tree_at)),
            points=np.array(self.nodes),
            tree_of=np.array(self.tree_of),
            depth=np.array(self.depth),
            tests=tests,
            test_of=np.array(self.test_of),
            variables=names,
            variable_of=variable_of,
            tests_of=tests_of,
            left=np.array(self.sides[0]),
            right=np.array(self.sides[1]),
            first_node=np.array(self.first_node),
            first_leaf=np.array(self.first_leaf),
            leaf_from=np.array(self.spans[0]),
            leaf_to=np.array(self.spans[1]),
            leaves=tuple(self.leaves),
            values=values,
            value_of=value_of,
            parent=parent,
            leaf_parent=leaf_parent,
            vote=vote,
            scores=scores,
            base=base,
            slack=slack,
        )


def _same_values(values: Array, first_leaf: list[int]) -> Array:
    numbers = np.empty(len(values), dtype=np.intp)
    for start, end in pairwise(first_leaf):
        found = np.unique(values[start:end], axis=0, return_inverse=True)[1]
        numbers[start:end] = found.ravel()
    return numbers


def _parents(left: list[int], right: list[int], leaves: int) -> tuple[Array, Array]:
    parent = np.full(len(left), -1)
    leaf_parent = np.empty(leaves, dtype=np.intp)
    for children_ in (np.array(left), np.array(right)):
        nodes = np.arange(len(children_))
        inner = children_ >= 0
        parent[children_[inner]] = nodes[inner]
        leaf_parent[-1 - children_[~inner]] = nodes[~inner]
    return parent, leaf_parent
