"""One computation at several nodes of a sum of trees, changed at all of them together.

A test or a variable at some nodes is a *hole*. A row's walk through a tree with the hole left open
visits the leaves in order of the cells that the hole may be in; only the steps between
neighbouring cells are added, and a running sum over the cells gives the leads in each of them:
O(D) for each leaf a walk visits in a tree of depth D, and O(1) for each cell of a variable. The
loops that count holes say for one hole by row and by cell too what changes, so its effects cost
what its influence does.

A subtree at some nodes is a *graft*: each of its distinct leaf values is tried in all places, in
the rows near enough to another output.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from proxyuse.lang.evaluate import Array
from proxyuse.lang.nodes import Ite, Term, Var
from proxyuse.lang.positions import Spot
from proxyuse.measure import forest_rows
from proxyuse.measure.effects import Effects, Tries, effects_of
from proxyuse.measure.forest_tables import BLOCK, ForestTables
from proxyuse.measure.forest_wiring import Wiring
from proxyuse.measure.shallow_plan import paths

VARIABLE_BLOCK = 1 << 9  # so that what compiled loops add to stays in the cache


class Together(NamedTuple):
    """Of computations at several nodes each: influence, reach, and a bound for any set of nodes."""

    influence: Any
    reach: Any
    bound: Any


class Grafts(NamedTuple):
    """One subtree at some nodes, where its leaves are tried.

    Attributes
    ----------
    nodes : at which it stands.
    reached : which rows come to one of them.
    rows : those of them whose output could change.
    inside : nodes x `rows`, whether a row comes to a node.
    own : the leaves, of the first node, at which `rows` end.
    shifts : how much higher the same leaf's number is at each node than at the first.
    leaves : of the first node, one for each distinct value.
    value_of : of all leaves of the first node, which of these values each has.
    """

    nodes: Array
    reached: Array
    rows: Array
    inside: Array
    own: Array
    shifts: Array
    leaves: Array
    value_of: Array


@dataclass(frozen=True, slots=True, eq=False)
class Holes:
    """Computations that stand at several nodes each; see `forest_kernel.count_variables`."""

    of_node: Array
    nodes: Array
    begins: Array
    first: Array
    mixed: Array
    intervals: Array
    first_cell: Array
    ordered: Array
    tests: bool
    masses: Array


class ForestHoles(ForestTables):
    """The fast engine, with what changing a computation at several nodes does."""

    @cached_property
    def _sides(self) -> Array:
        """The leaves to the left and to the right of each node, from and to."""
        plan, children_ = self._trees, self._wiring.nodes[:, 2:]
        leaf, inner = -1 - children_, np.maximum(children_, 0)
        low = np.where(children_ >= 0, plan.leaf_from[inner], leaf)
        high = np.where(children_ >= 0, plan.leaf_to[inner], leaf + 1)
        return np.stack([low, high], axis=2)

    @cached_property
    def _ranges(self) -> tuple[Array, Array]:
        """The lowest and highest score of the leaves to the left of each node, right, and both.

        With more than two classes, 0 and by how much the lead of one over another can change.
        """
        scores = self._trees.scores
        scores = np.vstack([scores, scores[-1:]])
        ends = self._sides.reshape(-1, 2)
        below = [f.reduceat(scores, ends.ravel())[::2] for f in (np.minimum, np.maximum)]
        low, high = (part.reshape(-1, 2, scores.shape[1]) for part in below)
        low = np.concatenate([low, low.min(axis=1, keepdims=True)], axis=1)
        high = np.concatenate([high, high.max(axis=1, keepdims=True)], axis=1)
        if scores.shape[1] == 1:
            return low[..., 0].copy(), high[..., 0].copy()
        widest = 2 * (high - low).max(axis=2)
        return np.zeros_like(widest), widest

    @cached_property
    def _room(self) -> Array:
        """By how much each row's leads must change before its output does."""
        _, leads, said = self._stand
        return forest_rows.rooms(self._wiring, leads, said)

    # Tests and variables

    def expect(self, terms: Sequence[Term]) -> None:
        """Influence will be asked for these computations only: others are counted when asked."""
        if self._forest is None:
            return
        names = {term.name for term in terms if isinstance(term, Var)}
        tests = self._trees.places.tests
        self._expected = (
            np.array([v for v, name in enumerate(self._trees.variables) if name in names], int),
            np.array(sorted({tests[t.digest] for t in terms if t.digest in tests}), dtype=int),
        )

    @cached_property
    def _expected(self) -> tuple[Array, Array]:
        """The variables and the tests that are counted at once."""
        return np.arange(len(self._trees.variables)), np.arange(len(self._trees.tests))

    @cached_property
    def _node_at(self) -> dict[int, int]:
        """The node of each program point that is a node, its test, or the tested variable."""
        nodes = enumerate(self._trees.points.tolist())
        return {point + step: node for node, point in nodes for step in range(3)}

    @cached_property
    def _readers(self) -> tuple[list[int], list[int]]:
        """How many nodes read each variable, and how many have each test."""
        return np.bincount(self._wiring.variable).tolist(), np.bincount(self._wiring.test).tolist()

    def _known_together(self, spots: Sequence[Spot]) -> Together | None:
        """What is counted of a test, a variable or a subtree at some of its nodes."""
        places = [self._node_at.get(spot.point) for spot in spots]
        if any(spot.operands for spot in spots) or None in places:
            return None
        nodes = np.array(places)
        term = self.points.terms[spots[0].point]
        if isinstance(term, Ite):
            return self._subtrees_together(nodes)
        tests = not isinstance(term, Var)
        number = self._wiring.test if tests else self._wiring.variable
        name = int(number[nodes[0]])
        if len(nodes) == self._readers[tests][name] and name in self._expected[tests]:
            found = self._tests_together if tests else self._variables_together
            place = int(np.searchsorted(self._expected[tests], name))
            return Together(*(column[place] for column in found))
        found = self._together(self._hole_at(nodes, tests))
        return Together(*(column[0] for column in found))

    def _hole_at(self, nodes: Array, tests: bool) -> Holes:
        """One hole: the test of some nodes, or the variable they read."""
        number = self._wiring.test if tests else self._wiring.variable
        chosen = np.full(len(number), -1, dtype=np.int32)
        chosen[nodes] = 0
        return self._holes(chosen, number[nodes[:1]], tests)

    @cached_property
    def _tests_together(self) -> Together:
        """Of each expected test at all its nodes."""
        return self._everywhere(self._wiring.test, self._expected[1], tests=True)

    @cached_property
    def _variables_together(self) -> Together:
        """Of each expected variable in all tests of it."""
        return self._everywhere(self._wiring.variable, self._expected[0], tests=False)

    def _everywhere(self, number: Array, names: Array, *, tests: bool) -> Together:
        """Of tests or variables at all their nodes; `number` says which one a node has."""
        hole = np.full(int(number.max()) + 1, -1, dtype=np.int32)
        hole[names] = np.arange(len(names))
        return self._together(self._holes(hole[number], names, tests))

    def _holes(self, chosen: Array, names: Array, tests: bool) -> Holes:
        """Holes at nodes: `chosen` has each node's hole, `names` each hole's test or variable."""
        numbers = np.arange(len(names))
        first, intervals = _above_of_same_hole(chosen, self._wiring, self._trees.parent)
        if tests:
            masses = self._side_masses[names]
            first_cell = numbers
            ordered = np.ones(len(names), dtype=np.bool_)
            mixed = np.isin(numbers, chosen[(chosen >= 0) & ~first])
        else:
            parts = [self._cell_masses[name] for name in names]
            masses = np.concatenate(parts)
            first_cell = np.concatenate([[0], np.cumsum([len(part) for part in parts])])
            ordered = ~np.isin(numbers, chosen[~self._wiring.ordered & (chosen >= 0)])
            widths = np.append(np.diff(first_cell) - 1, 0)[chosen]  # the missing number is none
            intervals[:, 1] = np.minimum(intervals[:, 1], widths)
            cuts = self._wiring.nodes[:, 1]
            idle = (cuts <= intervals[:, 0]) | (cuts >= intervals[:, 1])
            mixed = np.isin(numbers, chosen[idle & (chosen >= 0)]) | ~ordered
        inside = np.flatnonzero(chosen >= 0)
        nodes = inside[np.argsort(chosen[inside], kind="stable")].astype(np.int32)
        begins = np.searchsorted(chosen[nodes], np.arange(len(names) + 1))
        return Holes(
            chosen, nodes, begins, first, mixed, intervals, first_cell, ordered, tests, masses
        )

    def _together(self, holes: Holes) -> Together:
        if holes.tests and self._slots is not None and not holes.mixed.any():
            from proxyuse.measure import shallow_kernel  # loads numba

            given: tuple[Any, ...] = self._where(holes)
            given = (*given, self._slots, *paths(self._trees, self._slots, holes.of_node))
            count, by = shallow_kernel.count_tests, list[Array]()
        else:
            count, given = self._loop(holes)
            by = [self._masses[:0]] * 2

        def counted(block: tuple[int, int]) -> Array:
            found = np.zeros((3, len(holes.ordered)), dtype=self._masses.dtype)
            count(*given, holes.masses, self._masses, *found, *by, *block)
            return found

        changes, reach, bounds = np.sum(self._map(counted, self._block_of(holes)), axis=0)
        pairs = self.total * self.total
        return Together(changes / pairs, reach / self.total, bounds / pairs)

    def _where(self, holes: Holes) -> tuple[Any, ...]:
        """What all loops over holes are given."""
        trees = np.unique(self._trees.tree_of[holes.nodes])
        return (self._wiring, *self._stand, holes.of_node, holes.nodes, holes.begins, trees)

    def _loop(self, holes: Holes) -> tuple[Callable[..., None], tuple[Any, ...]]:
        """The loop that counts any holes, and what it is given beside masses and results."""
        given = (*self._where(holes), holes.mixed, holes.first, self._sides, *self._ranges)
        if holes.tests:
            return self._loops.count_tests, given
        given = (*given, holes.intervals, holes.first_cell, holes.ordered)
        return self._loops.count_variables, given

    def _block_of(self, holes: Holes) -> int:
        """How many rows are counted at a time."""
        return VARIABLE_BLOCK if self._compiles and not holes.tests else BLOCK

    def _hole_effects(self, nodes: Array, tests: bool) -> Effects:
        """Of a test at some nodes, or of the variable that they read."""
        holes, wiring = self._hole_at(nodes, tests), self._wiring
        count, given = self._loop(holes)
        by_row = np.zeros(self.n_rows, dtype=self._masses.dtype)

        def counted(block: tuple[int, int]) -> Array:
            found = np.zeros((3, 1), dtype=by_row.dtype)
            by_cell = np.zeros(holes.masses.size, dtype=by_row.dtype)
            count(*given, holes.masses, self._masses, *found, by_row, by_cell, *block)
            return by_cell

        by_cell = np.sum(self._map(counted, self._block_of(holes)), axis=0)
        column, cut = wiring.nodes[nodes[0], :2]
        if tests:
            cells = (wiring.codes[:, column] >= cut).astype(np.intp)
        else:
            cells = 1 + wiring.codes[:, wiring.variable[nodes[0]]]
        return Effects(by_row / self.total, by_cell[cells] / self.total)

    # Subtrees

    def _subtrees_together(self, nodes: Array) -> Together:
        """Of one subtree at several nodes: it moves the leads once for each that a row reaches.

        The leads with which a class wins are a convex set. Where each class has an output of its
        own and all nodes move the leads the same way, no smaller number of nodes changes what all
        of them do not, and their influence bounds that of any set of them.
        """
        key = tuple(nodes.tolist())
        if key not in self._subtrees:
            self._subtrees[key] = self._count_subtrees(nodes)
        return self._subtrees[key]

    def _count_subtrees(self, nodes: Array) -> Together:
        plan, outputs = self._trees, self._wiring.outputs
        grafts = self._grafts(nodes)
        rows, said = grafts.rows, self._stand[2][grafts.rows]
        leaves = np.arange(plan.leaf_from[nodes[0]], plan.leaf_to[nodes[0]])
        masses = np.zeros(len(grafts.leaves), dtype=self._masses.dtype)
        pairs = plan.pairs.first[leaves] + plan.depth[nodes[0]]
        np.add.at(masses, grafts.value_of, self._pair_masses[pairs])
        scores = plan.scores[leaves + grafts.shifts[:, None]]  # nodes x leaves x classes
        alike = bool((scores == scores[0]).all()) and len(set(outputs.tolist())) == len(outputs)
        weights = self._masses[rows]
        changes, bound = weights[:0].sum(), weights[:0].sum()
        for leaf, mass in zip(grafts.leaves.tolist(), masses, strict=True):
            said_now, unsure = self._grafted(grafts, leaf)
            changed = said_now != said
            changes += mass * weights[changed].sum()
            open_ = unsure | (self._room[rows] <= 0) | (not alike)
            bound += mass * weights[changed | open_].sum()
        reach = self._masses[grafts.reached].sum() / self.total
        return Together(
            changes / (self.total * self.total), reach, bound / (self.total * self.total)
        )

    def _grafts(self, nodes: Array) -> Grafts:
        """One subtree at some nodes, ready for its leaves to be tried there."""
        plan = self._trees
        there = self._stand[0][plan.tree_of[nodes]]
        inside = (there >= plan.leaf_from[nodes, None]) & (there < plan.leaf_to[nodes, None])
        reached = np.asarray(inside.any(axis=0))
        low, high = (ends[nodes, 2] for ends in self._ranges)
        rows = np.flatnonzero(reached & (self._room <= (high - low).sum()))
        own = forest_rows.leaves_below(self._wiring, rows, np.full(len(rows), nodes[0]))
        begin, end = plan.leaf_from[nodes[0]], plan.leaf_to[nodes[0]]
        _, first, value_of = np.unique(
            plan.value_of[begin:end], return_index=True, return_inverse=True
        )
        shifts = plan.leaf_from[nodes] - begin  # copies have the same leaves
        return Grafts(nodes, reached, rows, inside[:, rows], own, shifts, begin + first, value_of)

    def _grafted(self, grafts: Grafts, leaf: int) -> tuple[Array, Array]:
        """What the program says with a leaf in place of a subtree, and where that was close."""
        plan, wiring, rows = self._trees, self._wiring, grafts.rows
        ends, leads, _ = self._stand
        tried = leads[rows]
        for inside, shift in zip(grafts.inside, grafts.shifts, strict=True):
            step = plan.scores[leaf + shift] - plan.scores[grafts.own + shift]
            tried = tried + np.where(inside[:, None], step, 0)
        said, unsure = forest_rows.outputs_of(wiring, tried)
        if unsure.any():
            moved = ends[:, rows[unsure]]
            parts = zip(grafts.nodes, grafts.shifts, grafts.inside[:, unsure], strict=True)
            for node, shift, here in parts:
                moved[plan.tree_of[node], here] = leaf + shift
            said[unsure] = forest_rows.exact_outputs(wiring, moved)
        return said, unsure

    @cached_property
    def _subtrees(self) -> dict[tuple[int, ...], Together]:
        """What was counted of subtrees at several nodes."""
        return {}

    def _subtree_effects(self, nodes: Array) -> Effects:
        """Of one subtree at some nodes."""
        grafts = self._grafts(nodes)
        said = self._stand[2][grafts.rows]
        leaves = np.empty((1, self.n_rows), dtype=np.int32)
        begin = nodes[:1].astype(np.int32)
        self._map(lambda block: self._loops.find_leaves(self._wiring, begin, leaves, *block))
        kinds = grafts.value_of[leaves[0] - self._trees.leaf_from[nodes[0]]]
        masses = np.bincount(kinds, self.weights, minlength=len(grafts.leaves))
        losses = (self._grafted(grafts, leaf)[0] != said for leaf in grafts.leaves.tolist())
        return effects_of(Tries(grafts.rows, kinds, masses, losses), self.weights, self.total)


def _above_of_same_hole(holes: Array, wiring: Wiring, parent: Array) -> tuple[Array, Array]:
    """Which nodes have none of their hole above them, and which cells can come to each node."""
    first = holes >= 0
    at, child, above = np.arange(len(holes)), np.arange(len(holes)), parent.copy()
    low, high = np.zeros(len(holes), dtype=np.intp), np.full(len(holes), np.iinfo(np.int32).max)
    while len(at):
        there = above >= 0
        at, child, above = at[there], child[there], above[there]
        same = (holes[at] >= 0) & (holes[at] == holes[above])
        first[at[same]] = False
        cut, left = wiring.nodes[above, 1], wiring.nodes[above, 2] == child
        np.minimum.at(high, at[same & left], cut[same & left])
        np.maximum.at(low, at[same & ~left], cut[same & ~left])
        child, above = above, parent[above]
    return first, np.column_stack([low, high])
