"""Sums of trees on a population: where rows end, what they say there, and what that tells.

A plan (`forest_plan`) joined to rows (`forest_wiring`) gives, for each row, its leaf in each tree,
its leads and its output. Nothing is changed here, only counted: for every node the masses of the
leaves below it by value of Z, on bitsets, O(n T L D / 64) for n rows, T trees of depth D and L
leaves. Tables and associations of all subtrees follow from them by adding.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cached_property
from types import ModuleType
from typing import Any, TypeVar

import numpy as np

from proxyuse.lang.evaluate import Array, Values, constant, evaluate, evaluate_all
from proxyuse.lang.nodes import Term
from proxyuse.measure import forest_rows
from proxyuse.measure.association import Association, associations_below, needs_values
from proxyuse.measure.forest_plan import ForestPlan, forest_plan
from proxyuse.measure.forest_wiring import Wiring, wired
from proxyuse.measure.parallel import mapped, worth_compiling
from proxyuse.measure.places import Asked, Places
from proxyuse.measure.row_sets import RowSets, packed, unpacked, words_for
from proxyuse.measure.shallow_plan import Slots, slots_of
from proxyuse.measure.support import Support
from proxyuse.measure.trees import MOST_MASS, MOST_WEIGHT, Tested, TreeEngine

T = TypeVar("T")

BLOCK = 1 << 13
FEW = 16  # computations of which tables are made one by one
SECONDS_A_WALK = 1e-5  # of one row through one tree in NumPy, with each variable in turn
SECONDS_A_NODE = 3e-4  # of one node in NumPy, for what it takes beside the rows


class ForestTables(TreeEngine):
    """The fast engine, with what a sum of trees says where the program is one."""

    @cached_property
    def _forest(self) -> ForestPlan | None:
        return forest_plan(self.program) if self._counts_changes else None

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

    @property
    def _places(self) -> Places | None:
        return self._trees.places if self._summed else super()._places

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
        marks = packed(np.stack([s & (weights >> d & 1 == 1) for d in digits for s in sets]))
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
        sets = np.zeros((len(nodes), words_for(block.stop - block.start)), dtype=np.uint64)
        for column in range(wiring.codes.shape[1]):
            own = np.flatnonzero(nodes[:, 0] == column)
            rows = np.ascontiguousarray(wiring.codes[block, column]) < nodes[own, 1, None]
            sets[own] = packed(rows)
        return sets

    def _weighed_pairs(self, block: slice) -> Array:
        """Add up weights of any kind, node by node, for all rows."""
        plan, wiring = self._trees, self._wiring
        weights = self.weights[block]
        codes = [z.codes[block] for _, z in self.protected]
        total = np.zeros((len(plan.pairs.node), 1 + sum(len(z) - 1 for _, z in self.protected)))
        left = unpacked(self._left_sets(block), len(weights))
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
    def _slots(self) -> Slots | None:
        """The slots of small trees that choose between two classes, if loops are compiled."""
        two = self._compiles and len(self._trees.base) == 1
        return slots_of(self._trees, self._wiring) if two else None

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

    # Masses, row sets and associations; those of tests are the tree engine's

    @cached_property
    def _value_masses(self) -> list[Array]:
        """For each protected attribute the masses of each node's distinct values, in order."""
        pairs = self._trees.pairs
        return [np.add.reduceat(t[pairs.order], pairs.groups) for t in self._pair_counts]

    def associations(self, terms: Sequence[Term], measure: Association) -> Array:
        """The association of each computation with each protected attribute."""
        if self._summed and len(terms) <= FEW and not needs_values(measure):
            return super(TreeEngine, self).associations(terms, measure)
        return super().associations(terms, measure)

    def _subtree_associations(self, measure: Association) -> Array:
        if not self._summed:
            return super()._subtree_associations(measure)
        starts, tables = self._trees.pairs.starts, self._value_masses
        found = np.column_stack([associations_below(measure, t, starts) for t in tables])
        found[self._value_counts > self._max_support] = -1
        return found

    @cached_property
    def _value_counts(self) -> Array:
        """How many distinct values each node's leaves have."""
        pairs = self._trees.pairs
        return np.diff(np.append(pairs.starts, len(pairs.groups)))

    def masses(self, terms: Sequence[Term]) -> list[list[Array]]:
        """For each computation the masses by value, or bin, with each protected attribute."""
        if self._summed and len(terms) <= FEW:
            return super(TreeEngine, self).masses(terms)
        return super().masses(terms)

    def _put_subtrees(self, found: list[list[Array]], asked: Asked) -> None:
        if not self._summed:
            super()._put_subtrees(found, asked)
            return
        starts, sizes = self._trees.pairs.starts.tolist(), self._value_counts.tolist()
        for place, node in zip(asked.at_node.tolist(), asked.nodes.tolist(), strict=True):
            if sizes[node] <= self._max_support:
                own = slice(starts[node], starts[node] + sizes[node])
                present = self._value_present[own]
                found[place] = [masses[own][present] for masses in self._value_masses]

    @cached_property
    def _value_present(self) -> Array:
        """Which of the nodes' distinct values occur."""
        return np.asarray(self._value_masses[0].sum(axis=1) > 0)

    def _subtree_sets(self, wanted: Collection[int], tests: Array) -> Iterator[tuple[int, RowSets]]:
        if not self._summed:
            yield from super()._subtree_sets(wanted, tests)
            return
        plan = self._trees
        for tree in sorted({int(plan.tree_of[node]) for node in wanted}):
            ends: dict[int, Array] = {}
            for node in range(plan.first_node[tree + 1] - 1, plan.first_node[tree] - 1, -1):
                holds = tests[plan.test_of[node]]
                sides = [
                    ends.pop(child) if child >= 0 else self._all_rows
                    for child in (int(plan.left[node]), int(plan.right[node]))
                ]
                ends[node] = np.concatenate([sides[0] & holds, sides[1] & ~holds])
                if node in wanted and self._value_counts[node] <= self._max_support:
                    yield node, self._by_value(node, ends[node])

    def _by_value(self, node: int, leaves: Array) -> RowSets:
        """Which rows, started at a node, come to which value, from those of its leaves."""
        values = self._trees.value_of[self._trees.leaf_from[node] : self._trees.leaf_to[node]]
        order = np.argsort(values, kind="stable")
        groups = np.flatnonzero(np.diff(values[order], prepend=-1))
        words = np.bitwise_or.reduceat(leaves[order], groups, axis=0)
        return RowSets(len(groups), words[1:])

    def valued(self, term: Term) -> tuple[Array, Sequence[Array]]:
        """A term's values, not cut, and their masses with each protected attribute."""
        node = self._trees.places.nodes.get(term.digest) if self._summed else None
        if node is None:
            return super().valued(term)
        pairs = self._trees.pairs
        own = slice(pairs.starts[node], pairs.starts[node] + self._value_counts[node])
        leaves = pairs.leaf[pairs.order[pairs.groups[own]]]
        said = [constant(self._trees.leaves[leaf], self.vocabulary) for leaf in leaves]
        return np.concatenate(said), [table[own] for table in self._value_masses]

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
