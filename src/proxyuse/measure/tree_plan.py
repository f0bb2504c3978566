"""A program that is one decision tree, laid out as arrays, and the walks over it.

All of this depends on the program alone (the walks also on what its tests say in each cell of
their variables), so it is made once and kept.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Sequence
from dataclasses import dataclass, field

import numpy as np

from proxyuse.lang.evaluate import Array
from proxyuse.lang.nodes import Const, Ite, Term, Value, is_missing, sorted_values
from proxyuse.measure.cells import Test, by_variable, tested_variable
from proxyuse.measure.places import Places
from proxyuse.program import Program, kept

MOST_CLASSES = 16


@dataclass(frozen=True, slots=True, eq=False)
class Level:
    """Row sets of one depth of a walk: each parent is split by a test into two."""

    parents: Array
    tests: Array
    inside: Array
    outside: Array


@dataclass(frozen=True, slots=True, eq=False)
class Walk:
    """The walks for all variables, one after the other, from where a path first tests them.

    A walk splits the rows that come to a test of its variable by the tests of other variables
    below; its own tests narrow the cells in which the variable's new value may lie. It ends in
    subtrees, or leaves, that do not test the variable. Row sets are numbered: those that reach
    the inner nodes come first, then one of no use for each class, then those of the walks.

    Attributes
    ----------
    entries : for each variable the nodes that its walk starts from; no row reaches two of them.
    levels, size : the splits by depth, and how many row sets there are.
    steps, registers : the same depth-first, in which few row sets are alive: a row of four
        numbers each, the set to split, the test, and the two parts; or, at an end, the set, -1,
        the subtree and the number of the end. `registers` is how many sets that needs.
    end_nodes, end_rows : the subtree and the row set of each end.
    allowed : for each variable, by end of its walk and cell, whether the new value may lie there
        (0 or 1).
    """

    entries: tuple[Array, ...]
    levels: tuple[Level, ...]
    size: int
    steps: Array
    registers: int
    end_nodes: Array
    end_rows: Array
    allowed: tuple[Array, ...]

    def ends_of(self, variable: int) -> slice:
        """Where the ends of a variable's walk are."""
        first = sum(map(len, self.allowed[:variable]))
        return slice(first, first + len(self.allowed[variable]))


@dataclass(frozen=True, slots=True, eq=False)
class TreePlan:
    """A decision tree as arrays over its inner nodes in preorder.

    Attributes
    ----------
    points : the program point of each inner node; its test and the tested variable follow.
    tests, test_of : the distinct tests, and which one each node has.
    variables, variable_of : the variables, and which one each test reads.
    left, right : children; from len(points) on, leaves by class.
    after : for each node, the next one that is not inside its subtree.
    depths : the nodes of each depth.
    classes : the constants at the leaves.
    places : which terms are tests and subtrees.
    tests_of, readers : for each variable its tests, and how many nodes have one of them.
    """

    points: Array
    tests: tuple[Test, ...]
    test_of: Array
    variables: tuple[str, ...]
    variable_of: Array
    left: Array
    right: Array
    after: Array
    depths: tuple[Array, ...]
    classes: tuple[Value, ...]
    places: Places
    tests_of: tuple[tuple[Test, ...], ...]
    readers: tuple[int, ...]
    _walks: dict[tuple[bytes, ...], Walk] = field(default_factory=dict)

    def walk(self, truths: Sequence[Array]) -> Walk:
        """The walks, given what the tests of each variable say in its cells."""
        key = tuple(truth.tobytes() for truth in truths)
        if key not in self._walks:
            self._walks.clear()
            self._walks[key] = _walk(self, truths)
        return self._walks[key]


@kept
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
    names, variable_of, tests_of = by_variable(ordered)
    return TreePlan(
        points=np.array(inner),
        tests=ordered,
        test_of=np.array(test_of),
        variables=names,
        variable_of=variable_of,
        left=np.array([end[0] for end in ends]),
        right=np.array([end[1] for end in ends]),
        after=np.searchsorted(inner, [points.end(point) for point in inner]),
        depths=_by_depth(ends),
        classes=classes,
        places=Places(
            tests={test.digest: i for i, test in enumerate(ordered)},
            nodes={points.terms[p].digest: node for node, p in enumerate(inner)},
        ),
        tests_of=tests_of,
        readers=tuple(np.bincount(variable_of[test_of]).tolist()),
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
    first = size = registers = len(reads)
    splits: dict[int, list[tuple[int, int, int, int]]] = defaultdict(list)
    steps: list[tuple[int, int, int, int]] = []
    ends: list[tuple[int, int]] = []
    entries: list[Array] = []
    all_allowed: list[Array] = []
    for variable, truth in enumerate(truths):
        own = dict(zip(np.flatnonzero(plan.variable_of == variable).tolist(), truth, strict=True))
        below = reads[:, variable].tolist()
        starts = _first_readers(own, below, left, right, tests)
        entries.append(np.array(starts))
        anything = np.ones(truth.shape[1], dtype=np.bool_)
        stack = [(node, node, node, 0, anything) for node in starts]
        narrowed: list[Array] = []
        while stack:
            node, rows, register, depth, allowed = stack.pop()
            if not below[node]:
                steps.append((register, -1, node, len(ends)))
                ends.append((node, rows))
                narrowed.append(allowed)
            elif tests[node] in own:
                holds = own[tests[node]]
                for child, kept in ((left[node], allowed & holds), (right[node], allowed & ~holds)):
                    if kept.any():
                        stack.append((child, rows, register, depth, kept))
            else:
                # What is below one part is done before the other part is looked at, so all
                # splits of one depth can use the same two registers.
                inside = first + 2 * depth
                registers = max(registers, inside + 2)
                steps.append((register, tests[node], inside, inside + 1))
                splits[depth].append((rows, tests[node], size, size + 1))
                stack.append((left[node], size, inside, depth + 1, allowed))
                stack.append((right[node], size + 1, inside + 1, depth + 1, allowed))
                size += 2
        all_allowed.append(np.array(narrowed, dtype=np.float64))
    return Walk(
        entries=tuple(entries),
        levels=tuple(Level(*map(np.array, zip(*splits[d], strict=True))) for d in sorted(splits)),
        size=size,
        steps=np.array(steps),
        registers=registers,
        end_nodes=np.array([node for node, _ in ends]),
        end_rows=np.array([rows for _, rows in ends]),
        allowed=tuple(all_allowed),
    )


def _first_readers(
    own: Container[int], below: list[bool], left: list[int], right: list[int], tests: list[int]
) -> list[int]:
    """The nodes that test a variable, with no such node above them."""
    found = []
    stack = [0]
    while stack:
        node = stack.pop()
        if node < len(tests) and tests[node] in own:
            found.append(node)
        elif below[node]:
            stack += [left[node], right[node]]
    return found
