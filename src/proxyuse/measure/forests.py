"""Sums of trees under a vote or a threshold, all decompositions at once.

The idea. A row's output depends on a tree only through the leads it gives the classes. Leads are
whole numbers (`forest_plan`), so "what if this tree said something else" is an addition. Written
``lead`` for a row's leads, ``own`` for the leaf at which it ends and |.| for masses:

- a leaf value changes a row's output if ``lead - own + value`` has another winner;
- a subtree at node s changes it for the mass of the rows that, started at s, end in such a leaf;
- a test changes it if the leaf on the other side is such a leaf;
- a computation at several nodes (a test or a variable, a hole) changes the leads by the sum, over
  the trees, of what each says with the hole in another cell. A row's walk through a tree with the
  hole left open visits the leaves in order of the cells; only the steps between neighbouring
  cells are added, and a running sum over the cells gives the leads in each of them.

Bounds before work: a row whose winner leads by more than a tree, or all trees with a hole, can
move is not looked at. With many trees that leaves few rows for single tests and subtrees.

The cost for n rows, T trees of depth D and L leaves: walking O(n T D); singles O(L + D^2) for
each row and tree that is near; holes O(D) for each leaf a walk visits and O(1) for each cell of a
variable; masses of leaf values by Z on bitsets, O(n T L D / 64). The loops are in `forest_kernel`
(compiled) and `forest_rows` (NumPy), with the same results. Compiled, trees of up to a few hundred
leaves are not walked but filled, many rows at a time, O(L) for each row and tree: `shallow_plan`.

Invariants. Every count is a sum over rows, so blocks of rows are counted in any order, in any
thread. What the program rounds on its way is honoured: where a winner leads by less than the
slack, the program's own sum decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import ModuleType
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np

from proxyuse.lang.evaluate import Array, Values, constant, evaluate, evaluate_all
from proxyuse.lang.nodes import Ite, Term, Var
from proxyuse.lang.positions import Spot
from proxyuse.measure import forest_rows
from proxyuse.measure.association import Association, associations_below, needs_values
from proxyuse.measure.effects import Ranges
from proxyuse.measure.engine import Way
from proxyuse.measure.forest_plan import ForestPlan, forest_plan
from proxyuse.measure.forest_wiring import Wiring, wired
from proxyuse.measure.influence import QuantitativeInputInfluence, differ
from proxyuse.measure.parallel import mapped, worth_compiling
from proxyuse.measure.row_sets import RowSets
from proxyuse.measure.shallow_plan import Slots, paths, slots_of
from proxyuse.measure.support import Support
from proxyuse.measure.tables import JointTable
from proxyuse.measure.trees import MOST_MASS, MOST_WEIGHT, Tested, TreeEngine

T = TypeVar("T")

BLOCK = 1 << 13
VARIABLE_BLOCK = 1 << 9  # so that what compiled loops add to stays in the cache
FEW = 16  # computations of which tables are made one by one
SECONDS_A_WALK = 1e-5  # of one row through one tree in NumPy, with each variable in turn
SECONDS_A_NODE = 3e-4  # of one node in NumPy, for what it takes beside the rows


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


class ForestEngine(TreeEngine):
    """The fast engine, with the counts of a sum of trees where the program is one."""

    @cached_property
    def _forest(self) -> ForestPlan | None:
        exact = self._pairs is None and isinstance(self._loss, QuantitativeInputInfluence)
        return forest_plan(self.program) if exact else None

    @property
    def _summed(self) -> bool:
        """Whether the program is a sum of trees and not left to the counts of one tree."""
        return self._plan is None and self._forest is not None

    @property
    def _trees(self) -> ForestPlan:
        assert self._forest is not None
        return self._forest

    # The forest on this population

    @property
    def _tested(self) -> Tested:
        return self._trees if self._plan is None else self._plan

    @cached_property
    def _compiles(self) -> bool:
        if self._compiled is not None or self._plan is not None:
            return super()._compiles
        walks, nodes = self.n_rows * self._trees.trees, len(self._trees.points)
        seconds = walks * SECONDS_A_WALK + nodes * SECONDS_A_NODE
        return worth_compiling(seconds, "forest_kernel")

    @cached_property
    def _loops(self) -> ModuleType:
        """The loops over rows: compiled ones, if they are worth loading."""
        if not self._compiles:
            return forest_rows
        from proxyuse.measure import forest_kernel  # loads numba

        return forest_kernel

    @cached_property
    def _categories(self) -> list[bool]:
        """Which variables hold categories rather than numbers."""
        return [self.frame.arrays[name].dtype == np.int32 for name in self._trees.variables]

    @cached_property
    def _wiring(self) -> Wiring:
        return wired(self._trees, [tally.cells for tally in self._tallies], self._categories)

    @cached_property
    def _masses(self) -> Array:
        """The rows' weights, as whole numbers where pairs of rows can be counted in them."""
        whole = self.population.whole_weights and self.total < MOST_MASS
        return self.weights.astype(np.int64) if whole else self.weights

    @cached_property
    def _cell_masses(self) -> list[Array]:
        """For each variable the masses of its cells, the missing number first."""
        found = []
        for tally, words in zip(self._tallies, self._categories, strict=True):
            masses = tally.cell_tables[0].sum(axis=1).astype(self._masses.dtype)
            last = np.zeros(1, dtype=masses.dtype) if words else masses[-1:]
            found.append(np.concatenate([last, masses if words else masses[:-1]]))
        return found

    @cached_property
    def _node_of_test(self) -> Array:
        """One node for each test."""
        nodes = np.empty(len(self._trees.tests), dtype=np.intp)
        nodes[self._wiring.test] = np.arange(len(self._wiring.test))
        return nodes

    @cached_property
    def _side_masses(self) -> Array:
        """For each test the mass of the rows that it leads to the left, and to the right."""
        wiring = self._wiring
        found = np.empty((len(self._node_of_test), 2), dtype=self._masses.dtype)
        for test, node in enumerate(self._node_of_test.tolist()):
            masses = self._cell_masses[wiring.variable[node]]
            begin = wiring.held[node]
            left = wiring.lookup[begin : begin + len(masses)]
            found[test] = masses @ left, masses @ ~left
        return found

    def _blocks(self) -> list[slice]:
        return [slice(s, min(s + BLOCK, self.n_rows)) for s in range(0, self.n_rows, BLOCK)]

    # Masses of leaves, for each node above them

    @cached_property
    def _pair_counts(self) -> list[Array]:
        """For each protected attribute the masses by pair and protected value."""
        plan, sizes = self._trees, [len(z) for _, z in self.protected]
        whole = self.population.whole_weights and self.weights.max() < MOST_WEIGHT
        count = self._marked_pairs if whole else self._weighed_pairs
        total = np.zeros((len(plan.pairs.node), 1 + sum(sizes) - len(sizes)))
        for part in mapped(count, self._blocks(), self.threads):
            self._tick(0)
            total += part
        tables, first = [], 1
        for size in sizes:
            others = total[:, first : first + size - 1]
            tables.append(np.column_stack([total[:, 0] - others.sum(axis=1), others]))
            first += size - 1
        return tables

    @cached_property
    def _pair_masses(self) -> Array:
        """The masses by pair."""
        return np.asarray(self._pair_counts[0].sum(axis=1).astype(self._masses.dtype))

    def _marked_pairs(self, block: slice) -> Array:
        """Count on bitsets: each binary digit of the weights, with and without each value of Z."""
        plan, rows = self._trees, block.stop - block.start
        weights = self.weights[block].astype(np.int64)
        sets = [np.ones(rows, dtype=np.bool_)]
        sets += [z.codes[block] == v for _, z in self.protected for v in range(1, len(z))]
        digits = range(int(weights.max()).bit_length())
        marks = np.stack([_packed(s & (weights >> d & 1 == 1)) for d in digits for s in sets])
        counts = np.zeros((len(plan.pairs.node), len(marks)), dtype=np.int64)
        self._loops.count_leaves(
            self._wiring, self._left_sets(block), marks, plan.parent, plan.leaf_parent,
            plan.pairs.first, counts,
        )  # fmt: skip
        by_digit = counts.reshape(len(counts), len(digits), len(sets))
        return np.tensordot(by_digit, 1 << np.arange(len(digits)), axes=(1, 0))

    def _left_sets(self, block: slice) -> Array:
        """For each test, as bits, the rows that it leads to the left."""
        wiring, nodes = self._wiring, self._wiring.nodes[self._node_of_test]
        sets = np.zeros((len(nodes), (block.stop - block.start + 63) // 64), dtype=np.uint64)
        for column in range(wiring.codes.shape[1]):
            own = np.flatnonzero(nodes[:, 0] == column)
            rows = np.ascontiguousarray(wiring.codes[block, column]) < nodes[own, 1, None]
            packed = np.packbits(rows, axis=1, bitorder="little")
            sets.view(np.uint8)[own, : packed.shape[1]] = packed
        return sets

    def _weighed_pairs(self, block: slice) -> Array:
        """Add up weights of any kind, node by node, for all rows."""
        plan, wiring = self._trees, self._wiring
        weights = self.weights[block]
        codes = [z.codes[block] for _, z in self.protected]
        total = np.zeros((len(plan.pairs.node), 1 + sum(len(z) - 1 for _, z in self.protected)))
        bits = np.unpackbits(self._left_sets(block).view(np.uint8), axis=1, bitorder="little")
        left = bits[:, : len(weights)].astype(np.bool_)
        for tree in range(plan.trees):
            ends: dict[int, Array] = {}
            for node in range(plan.first_node[tree + 1] - 1, plan.first_node[tree] - 1, -1):
                sides = [
                    ends.pop(child) if child >= 0 else np.full(len(weights), -1 - child)
                    for child in wiring.nodes[node, 2:].tolist()
                ]
                ends[node] = np.where(left[wiring.test[node]], *sides)
                first, last = plan.leaf_from[node], plan.leaf_to[node]
                pairs = plan.pairs.first[first:last] + plan.depth[node]
                own, column = ends[node] - first, 1
                total[pairs, 0] = np.bincount(own, weights, minlength=last - first)
                for (_, z), code in zip(self.protected, codes, strict=True):
                    cells = np.bincount(own * len(z) + code, weights, len(z) * (last - first))
                    parts = cells.reshape(-1, len(z))[:, 1:]
                    total[pairs, column : column + len(z) - 1] = parts
                    column += len(z) - 1
        return total

    # One position at a time

    @cached_property
    def _stand(self) -> tuple[Array, Array, Array]:
        """The leaf at which each row ends in each tree, its leads and its output."""
        plan = self._trees
        ends = np.empty((plan.trees, self.n_rows), dtype=np.int32)
        leads = np.empty((self.n_rows, len(plan.base)), dtype=np.int64)
        said = np.empty(self.n_rows, dtype=np.intp)
        given: tuple[Any, ...] = (self._wiring, ends, leads, said)
        find = self._loops.stand
        if self._slots is not None:
            from proxyuse.measure import shallow_kernel  # loads numba

            given = (self._wiring, self._slots, ends, leads, said)
            find = shallow_kernel.stand
        self._map(lambda block: find(*given, *block))
        return ends, leads, said

    def _map(self, count: Callable[[tuple[int, int]], T], size: int = BLOCK) -> list[T]:
        """Count each block of rows, from its first row to its last."""
        starts = range(0, self.n_rows, size)
        blocks = [(start, min(start + size, self.n_rows)) for start in starts]
        found = []
        for part in mapped(count, blocks, self.threads):
            self._tick(0)
            found.append(part)
        return found

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
    def _singles(self) -> tuple[Array, Array]:
        """Influence and reach by program point; missing where no tree's node stands."""
        plan, kind = self._trees, self._masses.dtype
        pair_masses = self._pair_masses
        stand = self._stand
        order = np.lexsort((plan.pairs.leaf, plan.pairs.node))
        first_mass = np.concatenate([[0], np.cumsum(plan.leaf_to - plan.leaf_from)])
        by_node = first_mass, pair_masses[order]

        def count(block: tuple[int, int]) -> tuple[Array, Array]:
            flips = np.zeros((len(plan.points), 2), dtype=kind)
            changes = np.zeros(len(plan.points), dtype=kind)
            self._loops.count_singles(
                self._wiring, *stand, plan.first_leaf, plan.leaf_from, plan.leaf_to,
                *self._ranges, *by_node, self._masses, flips, changes, *block,
            )  # fmt: skip
            return flips, changes

        flips, subtrees = (np.sum(parts, axis=0) for parts in zip(*self._map(count), strict=True))
        left, right = self._side_masses[self._wiring.test].T
        tests = flips[:, 0] * right + flips[:, 1] * left
        influence = np.full(len(self.points), np.nan)
        reach = np.full(len(self.points), np.nan)
        ended = pair_masses[plan.pairs.first[:-1]]  # a leaf's first node is its root
        below = np.concatenate([[0], np.cumsum(ended)])
        reached = (below[plan.leaf_to] - below[plan.leaf_from]) / self.total
        for step, found in enumerate((subtrees, tests, tests)):  # of a test, and its variable
            influence[plan.points + step] = found / (self.total * self.total)
            reach[plan.points + step] = reached
        return influence, reach

    def influences(self, spots: Sequence[Spot]) -> list[float]:
        """The influence of what stands at each position, through that position alone."""
        if not self._summed:
            return super().influences(spots)
        found = self._at_points(self._singles[0], spots)
        self.ways[Way.FOREST] += int(np.count_nonzero(~np.isnan(found)))
        for place in np.flatnonzero(np.isnan(found)).tolist():
            found[place] = self.influence([spots[place]])
        return found.tolist()  # type: ignore[no-any-return]

    def reaches(self, spots: Sequence[Spot]) -> list[float]:
        """The share of rows that evaluate each position."""
        if not self._summed:
            return super().reaches(spots)
        found = self._at_points(self._singles[1], spots)
        for place in np.flatnonzero(np.isnan(found)).tolist():
            found[place] = self.reach([spots[place]])
        return found.tolist()  # type: ignore[no-any-return]

    def _at_points(self, known: Array, spots: Sequence[Spot]) -> Array:
        """What is known at positions; missing for sets of operands."""
        found = known[[spot[0] for spot in spots]]
        found[[place for place, spot in enumerate(spots) if spot[1]]] = np.nan
        return found

    def influence(self, spots: Sequence[Spot]) -> float:
        """The influence of one computation through disjoint positions at which it stands."""
        alone = len(spots) == 1 or self._whole_variable(spots) is not None
        if self._forest is None or (self._plan is not None and alone):
            return super().influence(spots)
        if len(spots) == 1:
            spot = spots[0]
            known: float | None = float(self._singles[0][spot.point])
            if spot.operands:
                known = self._subset(spot)
            if known is None or known != known:
                return super().influence(spots)
            self.ways[Way.FOREST] += 1
            return known
        found = self._known_together(spots)
        if found is None:
            return super().influence(spots)
        self.ways[Way.FOREST] += 1
        return float(found.influence)

    def reach(self, spots: Sequence[Spot]) -> float:
        """The share of rows that evaluate at least one of the positions."""
        alone = len(spots) == 1 or self._whole_variable(spots) is not None
        if self._forest is None or (self._plan is not None and alone):
            return super().reach(spots)
        if len(spots) == 1:
            known = float(self._singles[1][spots[0].point])
            return super().reach(spots) if known != known else known
        found = self._known_together(spots)
        return super().reach(spots) if found is None else float(found.reach)

    # Several positions at once

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

    @cached_property
    def _slots(self) -> Slots | None:
        """The slots of small trees that choose between two classes, if loops are compiled."""
        two = self._compiles and len(self._trees.base) == 1
        return slots_of(self._trees, self._wiring) if two else None

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

    @cached_property
    def _room(self) -> Array:
        """By how much each row's leads must change before its output does."""
        _, leads, said = self._stand
        return forest_rows.rooms(self._wiring, leads, said)

    def occurrence_bound(self, spots: Sequence[Spot]) -> float:
        """An upper bound on the influence through any set of these disjoint positions."""
        found = self._known_together(spots) if self._forest is not None else None
        return super().occurrence_bound(spots) if found is None else float(found.bound)

    # Sets of trees

    @cached_property
    def _tree_at(self) -> dict[int, int]:
        """The tree that stands at a program point."""
        return {point: tree for tree, point in enumerate(self._trees.roots.tolist())}

    def _subset(self, spot: Spot) -> float | None:
        """The influence of some trees of a sum together; only for two classes. O(n log n)."""
        shape = self._subset_shape(spot)
        if shape is None:
            return None
        ranges, close = shape
        pairs = ranges.pairs(self.weights)
        pairs += sum(float(self.weights[r] * self.weights[at].sum()) for r, at in close)
        return pairs / (self.total * self.total)

    def _subset_shape(self, spot: Spot) -> tuple[Ranges, list[tuple[int, Array]]] | None:
        """Which sums of some trees keep each row's output, and rows with others that do not.

        Sort what they add to the lead. For each row there are sums with which one class wins for
        sure, from the smallest on, and sums with which the other one does, up to the largest; in
        between the program's own operations decide, pair by pair.
        """
        plan, below = self._trees, self.points.below(spot.point)
        trees = [self._tree_at.get(below[step], -1) for step in spot.operands]
        if min(trees) < 0 or len(plan.base) != 1:
            return None
        ends, leads, _ = self._stand
        added = np.zeros(self.n_rows, dtype=np.int64)
        for tree in trees:
            added += plan.scores[ends[tree], 0]
        missing = added - leads[:, 0]  # what they must add for a tie
        order = np.argsort(added, kind="stable")
        side: Literal["left", "right"] = "left" if plan.slack else "right"
        low = np.searchsorted(added[order], missing - plan.slack, side)
        high = np.searchsorted(added[order], missing + plan.slack, "right")
        all_rows, rank = np.arange(self.n_rows), np.empty(self.n_rows, dtype=np.intp)
        rank[order] = all_rows
        above = (leads[:, 0] > 0) & (plan.vote.outputs[0] != plan.vote.outputs[1])
        under = (leads[:, 0] <= 0) & (plan.vote.outputs[0] != plan.vote.outputs[1])
        first, last = np.where(above, low, 0), np.where(under, high, self.n_rows)
        unsure = np.flatnonzero((low < high) | (np.abs(leads[:, 0]) <= plan.slack))
        close: list[tuple[int, Array]] = []
        if plan.slack and len(unsure) and (above | under).any():
            tips, close = self._close_sums(spot, unsure, order, low, high)
            first[unsure] = np.where(tips[0], low[unsure], 0)
            last[unsure] = np.where(tips[1], high[unsure], self.n_rows)
        return Ranges(all_rows, first, last, self.n_rows, rank), close

    def _close_sums(
        self, spot: Spot, rows: Array, order: Array, low: Array, high: Array
    ) -> tuple[tuple[Array, Array], list[tuple[int, Array]]]:
        """For rows near a tie, whether small and large sums change the output, and which between.

        Each row comes with the rows whose sums are too close to tell and change its output.
        """
        values = self.values(self.points.term_at(spot))
        close = []
        with np.errstate(all="ignore"):
            said = self._outcome(spot, rows, values[rows])
            tips = [np.broadcast_to(values[order[[i]]], values[rows].shape) for i in (0, -1)]
            first, last = (differ(said, self._outcome(spot, rows, tip)) for tip in tips)
            for place, row in enumerate(rows.tolist()):
                others = order[low[row] : high[row]]
                outcomes = self._outcome(spot, np.full(len(others), row), values[others])
                changed = differ(np.broadcast_to(said[[place]], outcomes.shape), outcomes)
                close.append((row, others[changed]))
        return (first, last), close

    def operands_bound(self, operator: int, operands: Sequence[int]) -> float:
        """An upper bound on the influence of any subset of some operands of one operator.

        For trees, the share of rows whose lead all of them together can move far enough.
        """
        below = self.points.below(operator)
        trees = [self._tree_at.get(below[step], -1) for step in operands] if self._summed else [-1]
        if min(trees) < 0:
            return super().operands_bound(operator, operands)
        ends, leads, _ = self._stand
        reach = np.zeros(self.n_rows, dtype=np.int64)
        for tree in trees:
            scores = self._trees.scores[ends[tree]]
            low, high = scores.min(axis=0), scores.max(axis=0)
            if scores.shape[1] > 1:
                reach += 2 * (high - low).max()
            else:
                reach += np.where(leads[:, 0] > 0, scores[:, 0] - low, high - scores[:, 0])
        return float(self.weights[self._room <= reach].sum() / self.total)

    def support(self, term: Term) -> Support:
        """The distinct values of a term, not cut; those of trees from their leaves."""
        tree = self._tree_of_term.get(id(term)) if self._summed else None
        if tree is None:
            return super().support(term)
        plan, ends = self._trees, self._stand[0][tree]
        leaves = np.arange(plan.first_leaf[tree], plan.first_leaf[tree + 1])
        numbers = plan.value_of[leaves]
        present = np.bincount(numbers[ends - leaves[0]], minlength=numbers.max() + 1) > 0
        place = np.cumsum(present) - 1
        first = np.full(len(present), -1)
        first[numbers[::-1]] = np.arange(len(leaves))[::-1]
        said = np.concatenate([constant(plan.leaves[leaf], self.vocabulary) for leaf in leaves])
        return Support(place[numbers[ends - leaves[0]]], said[first[present]])

    @cached_property
    def _tree_of_term(self) -> dict[int, int]:
        """The tree that a node object is."""
        points = enumerate(self._trees.roots.tolist())
        return {id(self.points.terms[point]): tree for tree, point in points}

    # Association

    @cached_property
    def _value_masses(self) -> list[Array]:
        """For each protected attribute the masses of each node's distinct values, in order."""
        pairs = self._trees.pairs
        return [np.add.reduceat(t[pairs.order], pairs.groups) for t in self._pair_counts]

    def associations(self, terms: Sequence[Term], measure: Association) -> Array:
        """The association of each computation with each protected attribute."""
        if not self._summed or needs_values(measure):
            return super().associations(terms, measure)
        if len(terms) <= FEW:
            return super(TreeEngine, self).associations(terms, measure)
        asked = self._trees.places.asked(terms)
        found = np.empty((len(terms), len(self.protected)))
        if len(asked.at_test):
            found[asked.at_test] = self._each(self._test_tables, measure)[asked.tests]
        if len(asked.at_node):
            found[asked.at_node] = self._node_associations(measure)[asked.nodes]
        # Subtrees with too many values to take them raw are left to be cut into bins.
        others = np.union1d(asked.others, asked.at_node[found[asked.at_node, 0] < 0])
        found[others] = super().associations([terms[i] for i in others], measure)
        return found

    def masses(self, terms: Sequence[Term]) -> list[list[Array]]:
        """For each computation the masses by value, or bin, with each protected attribute."""
        if not self._summed or len(terms) <= FEW:
            return super().masses(terms)
        asked, pairs = self._trees.places.asked(terms), self._trees.pairs
        found: list[list[Array]] = [[] for _ in terms]
        if len(asked.at_test):
            self._take(found, asked.at_test, asked.tests, self._test_tables)
        others = asked.others.tolist()
        ends = np.append(pairs.starts[1:], len(pairs.groups)).tolist()
        for place, node in zip(asked.at_node.tolist(), asked.nodes.tolist(), strict=True):
            own = slice(int(pairs.starts[node]), ends[node])
            if own.stop - own.start > self._max_support:
                others.append(place)
                continue
            present = self._value_present[own]
            found[place] = [masses[own][present] for masses in self._value_masses]
        rest = super().masses([terms[i] for i in others])
        for place, tables in zip(others, rest, strict=True):
            found[place] = tables
        return found

    @cached_property
    def _value_present(self) -> Array:
        """Which of the nodes' distinct values occur."""
        return np.asarray(self._value_masses[0].sum(axis=1) > 0)

    def row_sets(self, terms: Sequence[Term]) -> Iterator[tuple[int, RowSets]]:
        """Which rows have which value, or bin, of each computation, with its place."""
        if not self._summed:
            yield from super().row_sets(terms)
            return
        plan, asked = self._trees, self._trees.places.asked(terms)
        tests = self._packed_tests if len(asked.at_test) or len(asked.at_node) else None
        for place, test in zip(asked.at_test.tolist(), asked.tests.tolist(), strict=True):
            assert tests is not None
            yield place, RowSets(2, tests[[test]])
        wanted: dict[int, list[int]] = {}
        for place, node in zip(asked.at_node.tolist(), asked.nodes.tolist(), strict=True):
            wanted.setdefault(node, []).append(place)
        others = asked.others.tolist()
        for tree in sorted({int(plan.tree_of[node]) for node in wanted}):
            assert tests is not None
            for node, sets in self._node_sets(tree, tests):
                short = sets.size <= self._max_support
                for place in wanted.get(node, ()):
                    if short:
                        yield place, sets
                    else:
                        others.append(place)
        for place, sets in super().row_sets([terms[i] for i in others]):
            yield others[place], sets

    def _node_sets(self, tree: int, tests: Array) -> Iterator[tuple[int, RowSets]]:
        """For each node of a tree which rows, started there, come to which value."""
        plan = self._trees
        ends: dict[int, Array] = {}
        for node in range(plan.first_node[tree + 1] - 1, plan.first_node[tree] - 1, -1):
            holds = tests[plan.test_of[node]]
            sides = [
                ends.pop(child) if child >= 0 else self._all_rows
                for child in (int(plan.left[node]), int(plan.right[node]))
            ]
            leaves = np.concatenate([sides[0] & holds, sides[1] & ~holds])
            ends[node] = leaves
            values = plan.value_of[plan.leaf_from[node] : plan.leaf_to[node]]
            order = np.argsort(values, kind="stable")
            groups = np.flatnonzero(np.diff(values[order], prepend=-1))
            words = np.bitwise_or.reduceat(leaves[order], groups, axis=0)
            yield node, RowSets(len(groups), words[1:])

    def _node_associations(self, measure: Association) -> Array:
        """The association of each subtree; -1 where it has too many values to take them raw."""
        plan = self._trees
        starts = plan.pairs.starts
        tables = self._value_masses
        found = np.column_stack([associations_below(measure, t, starts) for t in tables])
        sizes = np.diff(np.append(starts, len(plan.pairs.groups)))
        found[sizes > self._max_support] = -1
        return found

    def valued(self, term: Term) -> tuple[Array, Sequence[Array]]:
        """A term's values, not cut, and their masses with each protected attribute."""
        places = self._trees.places if self._summed else None
        if places is not None and (node := places.nodes.get(term.digest)) is not None:
            pairs = self._trees.pairs
            ends = np.append(pairs.starts, len(pairs.groups))
            own = slice(ends[node], ends[node + 1])
            leaves = pairs.leaf[pairs.order[pairs.groups[own]]]
            said = [constant(self._trees.leaves[leaf], self.vocabulary) for leaf in leaves]
            return np.concatenate(said), [table[own] for table in self._value_masses]
        if places is not None and term.digest in places.tests:
            tables = self.tables(term)
            return tables[0].support.values, [table.masses for table in tables]
        return super().valued(term)

    def tables(self, term: Term) -> list[JointTable]:
        """The joint table with each protected attribute; long numbers are cut into bins."""
        if not self._summed:
            return super().tables(term)
        if isinstance(term, Var) and term.name in self._trees.variables:
            tally = self._tallies[self._trees.variables.index(term.name)]
            return self._tables_of(term, tally.support, tally.tables)
        if (number := self._trees.places.tests.get(term.digest)) is not None:
            both = np.array([False, True])
            return [self._table(i, t[number], both) for i, t in enumerate(self._test_tables)]
        return super().tables(term)

    # What the rest of the engine asks for

    def outputs(self) -> Array:
        """What the program says of each row."""
        known = self._tree_values if self._forest is not None else {}
        found = evaluate(self.program.term, self.frame.arrays, self.vocabulary, known)
        return self._full(found)

    @cached_property
    def _values(self) -> Values:
        """The values of the trees and of every node object above them."""
        known = self._tree_values if self._summed else {}
        return evaluate_all(self.program.term, self.frame.arrays, self.vocabulary, known)

    @cached_property
    def _tree_values(self) -> Values:
        """What each tree says of each row."""
        return self._values_at(self._stand[0])

    def _values_at(self, ends: Array) -> Values:
        """What each tree says of each row, given the leaves at which the rows end."""
        plan = self._trees

        def values_of(tree: int) -> Array:
            leaves = plan.leaves[plan.first_leaf[tree] : plan.first_leaf[tree + 1]]
            said = np.concatenate([constant(leaf, self.vocabulary) for leaf in leaves])
            return np.asarray(np.take(said, ends[tree] - plan.first_leaf[tree], axis=0))

        found = mapped(values_of, range(plan.trees), self.threads)
        terms = (self.points.terms[point] for point in plan.roots.tolist())
        return {id(term): values for term, values in zip(terms, found, strict=True)}


def _packed(rows: Array) -> Array:
    """A boolean array as words of 64 bits."""
    words = np.zeros((len(rows) + 63) // 64, dtype=np.uint64)
    packed = np.packbits(rows, bitorder="little")
    words.view(np.uint8)[: len(packed)] = packed
    return words


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
