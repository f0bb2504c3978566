"""A program that is one decision tree, laid out as arrays, and the walks over it.

All of this depends on the program alone (the walks also on what its tests say in each cell of
their variables), so it is made once and kept.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from proxyuse.lang.evaluate import Array
from proxyuse.lang.nodes import Const, Ite, Term, Value, is_missing, sorted_values
from proxyuse.measure.cells import Test, tested_variable
from proxyuse.program import Program

MOST_CLASSES = 16


@dataclass(frozen=True, slots=True, eq=False)
class Level:
    """Row sets of one depth of a walk: each parent is split by a test into two."""

    parents: Array
    tests: Array
    inside: Array
    outside: Array


@dataclass(frozen=True, slots=True, eq=False)
class Ends:
    """Where a walk for one variable ends: in a subtree that does not test it.

    Attributes
    ----------
    nodes : the subtrees, or leaves.
    slots : the rows that come there whatever the variable's value.
    allowed : in which cells of the variable its new value must lie to lead there (0 or 1).
    """

    nodes: Array
    slots: Array
    allowed: Array


@dataclass(frozen=True, slots=True, eq=False)
class Walk:
    """The walks for all variables: row sets by slot, slot 0 holding all rows, and the ends."""

    slots: int
    levels: tuple[Level, ...]
    ends: tuple[Ends, ...]


@dataclass(frozen=True, slots=True, eq=False)
class TreePlan:
    """A decision tree as arrays over its inner nodes in preorder.

    Attributes
    ----------
    points : the program point of each inner node; its test and the tested variable follow.
    tests, test_of : the distinct tests, and which one each node has.
    variables, variable_of : the variables, and which one each test reads.
    left, right : children; from len(points) on, leaves by class.
    depths : the nodes of each depth.
    classes : the constants at the leaves.
    node_of_term, test_of_term : places by digest.
    """

    points: Array
    tests: tuple[Test, ...]
    test_of: Array
    variables: tuple[str, ...]
    variable_of: Array
    left: Array
    right: Array
    depths: tuple[Array, ...]
    classes: tuple[Value, ...]
    node_of_term: dict[bytes, int]
    test_of_term: dict[bytes, int]
    _walks: dict[tuple[bytes, ...], Walk] = field(default_factory=dict)

    def walk(self, truths: Sequence[Array]) -> Walk:
        """The walks, given what the tests of each variable say in its cells."""
        key = tuple(truth.tobytes() for truth in truths)
        if key not in self._walks:
            self._walks.clear()
            self._walks[key] = _walk(self, truths)
        return self._walks[key]

    def readers(self, variable: int) -> Array:
        """The nodes that test a variable."""
        return np.flatnonzero(self.variable_of[self.test_of] == variable)


@lru_cache(maxsize=8)
def tree_plan(program: Program) -> TreePlan | None:
    """The plan of a program that is a decision tree over a few classes, else None."""
    points = program.points
    inner = [p for p, term in enumerate(points.terms) if isinstance(term, Ite)]
    tests: dict[bytes, tuple[int, Test]] = {}
    branches: list[tuple[int, int]] = []
    test_of: list[int] = []
    for point in inner:
        guard, *both = points.below(point)
        test = points.terms[guard]
        if tested_variable(test) is None:
            return None
        if not all(isinstance(points.terms[branch], Const | Ite) for branch in both):
            return None
        found = tests.setdefault(test.digest, (len(tests), test))  # type: ignore[arg-type]
        test_of.append(found[0])
        branches.append((both[0], both[1]))
    leaves = [points.terms[b] for pair in branches for b in pair]
    classes = tuple(sorted_values(_output(leaf) for leaf in leaves if isinstance(leaf, Const)))
    kinds = {type(value) for value in classes}
    if not inner or inner[0] != 0 or not 2 <= len(classes) <= MOST_CLASSES:
        return None
    if len(kinds) > 1 or kinds == {tuple} or any(map(is_missing, classes)):
        return None
    place = {value: len(inner) + c for c, value in enumerate(classes)}
    node_at = {point: node for node, point in enumerate(inner)}
    ends = [
        [node_at[p] if p in node_at else place[_output(points.terms[p])] for p in pair]
        for pair in branches
    ]
    ordered = tuple(test for _, test in tests.values())
    read = [str(tested_variable(test)) for test in ordered]
    names = tuple(dict.fromkeys(read))
    number = {name: i for i, name in enumerate(names)}
    return TreePlan(
        points=np.array(inner),
        tests=ordered,
        test_of=np.array(test_of),
        variables=names,
        variable_of=np.array([number[name] for name in read]),
        left=np.array([end[0] for end in ends]),
        right=np.array([end[1] for end in ends]),
        depths=_by_depth(ends),
        classes=classes,
        node_of_term={points.terms[p].digest: node for node, p in enumerate(inner)},
        test_of_term={test.digest: i for i, test in enumerate(ordered)},
    )


def _output(leaf: Term) -> Value:
    """What a leaf says; as outputs, 0 and -0 are one."""
    assert isinstance(leaf, Const)
    return 0.0 if type(leaf.value) is float and leaf.value == 0 else leaf.value


def _by_depth(ends: list[list[int]]) -> tuple[Array, ...]:
    depths: dict[int, list[int]] = defaultdict(list)
    depth = [0] * len(ends)
    for node, pair in enumerate(ends):  # parents come first
        depths[depth[node]].append(node)
        for child in pair:
            if child < len(ends):
                depth[child] = depth[node] + 1
    return tuple(np.array(depths[d]) for d in range(len(depths)))


def _walk(plan: TreePlan, truths: Sequence[Array]) -> Walk:
    nodes = len(plan.points)
    left, right, tests = plan.left.tolist(), plan.right.tolist(), plan.test_of.tolist()
    reads = np.zeros((nodes + len(plan.classes), len(plan.variables)), dtype=np.bool_)
    for node in range(nodes - 1, -1, -1):
        reads[node] = reads[left[node]] | reads[right[node]]
        reads[node, plan.variable_of[tests[node]]] = True
    splits: dict[int, list[tuple[int, int, int, int]]] = defaultdict(list)
    slots = 1
    all_ends: list[Ends] = []
    for variable, truth in enumerate(truths):
        own = dict(zip(np.flatnonzero(plan.variable_of == variable).tolist(), truth, strict=True))
        below = reads[:, variable].tolist()
        ends: list[tuple[int, int, Array]] = []
        stack = [(0, 0, 0, np.ones(truth.shape[1], dtype=np.bool_))]
        while stack:
            node, slot, depth, allowed = stack.pop()
            if not below[node]:
                ends.append((node, slot, allowed))
            elif tests[node] in own:
                holds = own[tests[node]]
                for child, kept in ((left[node], allowed & holds), (right[node], allowed & ~holds)):
                    if kept.any():
                        stack.append((child, slot, depth, kept))
            else:
                splits[depth].append((slot, tests[node], slots, slots + 1))
                stack.append((left[node], slots, depth + 1, allowed))
                stack.append((right[node], slots + 1, depth + 1, allowed))
                slots += 2
        all_ends.append(
            Ends(
                np.array([end[0] for end in ends]),
                np.array([end[1] for end in ends]),
                np.array([end[2] for end in ends], dtype=np.float64),
            )
        )
    levels = tuple(Level(*map(np.array, zip(*splits[d], strict=True))) for d in sorted(splits))
    return Walk(slots, levels, tuple(all_ends))
