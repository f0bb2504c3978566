"""Trees and sums of trees: influence from counts of packed columns.

The idea. A row's output depends on a tree only through the leads it gives the classes. Leads are
whole numbers (`decision`), so "what if this tree said something else" is an addition:

- a test at some nodes: where does the row end if these nodes go the other way?
- a variable at some nodes: the same for each cell of its values, all cells in one walk;
- a subtree at some nodes: the same for each value that the subtree takes on some row.

Bounds come first: a row whose winner leads by more than some nodes can move is not looked at, and
most nodes are passed by few rows. So everything is bounded in one pass (`bounds`), and what is
then asked for is counted exactly, for the rows near enough.

The cost for n rows, T trees of depth D: O(n T D) for the pass, once; then for each question
O(k D) with k the rows near enough times the trees that the question is about.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import ClassVar, NamedTuple, TypeVar

import numpy as np

from proxyuse.lang.evaluate import Array
from proxyuse.lang.nodes import Add, Call, Var, Vector, children
from proxyuse.lang.packed import PackedIte
from proxyuse.lang.positions import Points, Spot
from proxyuse.lang.walking import leaf_values
from proxyuse.measure.association import Association, needs_values
from proxyuse.measure.effects import Effects
from proxyuse.measure.forests import counting
from proxyuse.measure.forests.counting import Block, Graft, Hole, Standing
from proxyuse.measure.forests.plan import ForestPlan, forest_plan
from proxyuse.measure.forests.subtrees import (
    batch_associations,
    batches,
    count_subtrees,
    subtree_groups,
)
from proxyuse.measure.forests.sweeping import Cells, Kinds, count_cells, count_kinds
from proxyuse.measure.joint_tables import JointTables
from proxyuse.measure.parallel import mapped
from proxyuse.measure.sample import Sample

T = TypeVar("T")

KEPT_BYTES = 1 << 26
"""Memory for what computations change, row by row; statistics ask for it again."""


class Target(NamedTuple):
    """What some positions are about: a test, a variable or a subtree, at some nodes."""

    kind: str
    nodes: Array


class Counted(NamedTuple):
    """What a computation changes.

    Attributes
    ----------
    by_row : for each row the mass of the values that change its output.
    by_value : for each row the mass of the rows whose output its value changes.
    reached : which rows evaluate one of the positions.
    """

    by_row: Array
    by_value: Array
    reached: Array


class ForestEngine:
    """Measures of a program that is made of trees; see the module's docstring for how."""

    method: ClassVar[str] = "from counts of the trees"
    compiled: ClassVar[bool] = True

    def __init__(self, sample: Sample, plan: ForestPlan) -> None:
        self.sample, self.plan = sample, plan
        self.masses, self.total = sample.masses, int(sample.masses.sum())
        self._counted: dict[tuple[str, bytes], Counted] = {}

    @classmethod
    def of(cls, sample: Sample) -> ForestEngine | None:
        """An engine for a program on a population, if it is made of trees."""
        if not sample.counts_changes:
            return None
        plan = forest_plan(sample.program)
        if plan is None:
            return None
        engine = cls(sample, plan)
        sample.supplies.update(engine.supplies())
        return engine

    def supplies(self) -> dict[int, Callable[[], Array]]:
        """How to compute the values of the sums of trees, by the identity of their node objects."""
        points, form, sums = self.sample.points, self.plan.form, self.plan.decision.sums
        core = points.terms[form.core]
        if len(sums.columns) == 0 or isinstance(core, PackedIte):
            return {id(core): self._tree_values} if len(form.sums) == 1 else {}
        if not isinstance(core, Vector):
            return {id(core): self._core_values}
        items = [points.terms[point] for point in points.below(form.core)]
        operands = [children(item)[0] if isinstance(item, Call) else item for item in items]
        return {
            id(term): partial(self._column, index)
            for index, term in enumerate(operands)
            if isinstance(term, Add)
        }

    def _tree_values(self) -> Array:
        """What the only tree says of each row."""
        return np.asarray(leaf_values(self.plan.forest, self.sample.vocabulary)[self.ends[0]])

    def _core_values(self) -> Array:
        """The sum of what the trees say: a number per row, or one per class."""
        return self.totals if self.plan.forest.leaves.ndim == 2 else self.totals[:, 0].copy()

    def _column(self, index: int) -> Array:
        return np.ascontiguousarray(self.totals[:, index])

    # Rows, in blocks

    @cached_property
    def codes(self) -> Array:
        """The codes of all rows."""
        sample = self.sample
        return self.plan.wiring.encode(sample.frame.arrays, sample.vocabulary, sample.n_rows)

    @cached_property
    def blocks(self) -> list[tuple[Block, Standing]]:
        """The rows in blocks, each with where they stand."""
        size, rows = counting.BLOCK, self.sample.n_rows
        starts = range(0, rows, size)
        codes = self.codes
        attributes = np.array([z.codes for z in self.sample.attributes], dtype=np.int32)
        blocks = [
            Block(codes[s : s + size], self.masses[s : s + size], attributes[:, s : s + size])
            for s in starts
        ]
        standing = mapped(lambda b: counting.stand(self.plan, b), blocks, self.sample.threads)
        return list(zip(blocks, standing, strict=True))

    def _map(self, count: Callable[[Block, Standing], T]) -> list[T]:
        """Count each block, in as many threads as there may be."""
        return list(mapped(lambda pair: count(*pair), self.blocks, self.sample.threads))

    @cached_property
    def totals(self) -> Array:
        """The program's own sums, by row and sum."""
        return np.concatenate([standing.totals for _, standing in self.blocks])

    @cached_property
    def ends(self) -> Array:
        """The leaf at which each row ends, by tree."""
        return np.concatenate([standing.ends for _, standing in self.blocks], axis=1)

    # Bounds

    @cached_property
    def passing(self) -> tuple[Array, Array]:
        """The mass that passes each node, and of it what subtree and test there might change."""
        parts = self._map(lambda b, s: counting.count_passing(self.plan, b, s))
        by_leaf, near = (_added(column) for column in zip(*parts, strict=True))
        upto = np.concatenate([[0], np.cumsum(by_leaf)])
        spans = self.plan.forest.spans
        return upto[spans.last_leaf] - upto[spans.first_leaf], near

    def together(self, number: Array, count: int) -> tuple[Array, Array]:
        """Of computations at several nodes: the mass they might change, and that meets them.

        `number` says which one stands at each node, -1 for none.
        """
        parts = self._map(lambda b, s: counting.count_meeting(self.plan, b, s, number, count))
        near, reach = (_added(column) for column in zip(*parts, strict=True))
        return near, reach

    def bound_and_reach(self, nodes: Array) -> tuple[float, float]:
        """An upper bound on the influence of a computation at any of some nodes, and its reach."""
        hole = Hole.at(self.plan, nodes)

        def masses(block: Block, standing: Standing) -> tuple[int, int]:
            met, movable = counting.movable_rows(standing, hole)
            return int(block.masses[movable].sum()), int(block.masses[met].sum())

        near, reach = (sum(column) for column in zip(*self._map(masses), strict=True))
        return near / self.total, reach / self.total

    def bound_of(self, nodes: Array) -> float:
        """An upper bound on the influence of a computation at any of some nodes."""
        return self.bound_and_reach(nodes)[0]

    def bound(self, target: Target) -> float:
        """An upper bound on the influence of a computation through any set of some nodes.

        The share of pairs of a row that the nodes might change and a row on which the computation
        has another effect. Closer than `bound_of`, for O(n log n) more on n rows.
        """
        hole = Hole.at(self.plan, target.nodes)
        parts = self._map(lambda b, s: counting.movable_rows(s, hole)[1])
        starts = np.arange(len(parts)) * counting.BLOCK
        pairs = zip(parts, starts, strict=True)
        movable = np.concatenate([part + start for part, start in pairs])
        kinds = self._kinds(target)
        others = self.total - np.bincount(kinds, self.masses).astype(np.int64)[kinds[movable]]
        return counting.product(self.masses[movable], others) / (self.total * self.total)

    def _kinds(self, target: Target) -> Array:
        """A number for each row; where it is the same, the computation does the same."""
        if target.kind == "subtree":
            return self.values_of(Graft.at(self.plan, target.nodes))
        wiring = self.plan.wiring.nodes[target.nodes, :3]
        kinds = [
            counting.cells_between(self.codes[:, column], wiring[wiring[:, 0] == column, 1:])
            for column in np.unique(wiring[:, 0]).tolist()
        ]
        if len(kinds) == 1:
            return kinds[0]
        _, together = np.unique(np.column_stack(kinds), axis=0, return_inverse=True)
        return np.asarray(together.ravel())

    def reaches_of(self, places: Sequence[Array]) -> Array:
        """The share of rows that pass one of some nodes, for each of several sets of nodes."""
        bits = np.zeros((-(-len(places) // 64), len(self.plan.forest.test)), dtype=np.uint64)
        for index, nodes in enumerate(places):
            bits[index // 64, nodes] |= np.uint64(1) << np.uint64(index % 64)
        parts = self._map(lambda b, s: counting.count_reach(self.plan, b, s, bits, len(places)))
        return _added(parts) / self.total

    def least_room(self, mass: float) -> int:
        """How far leads must move, at least, before rows of more than some mass can change."""
        room = np.concatenate([standing.room for _, standing in self.blocks])
        order = np.argsort(room)
        upto = np.cumsum(self.masses[order])
        index = int(np.searchsorted(upto, mass, side="right"))
        return int(room[order[index]]) if index < len(order) else 2**62

    def share(self, rows: Array) -> float:
        """The share of some rows in the total mass."""
        return int(self.masses[rows].sum()) / self.total

    def share_of(self, counted: Counted) -> float:
        """The share of pairs of rows that change the output."""
        return counting.product(self.masses, counted.by_row) / (self.total * self.total)

    @cached_property
    def equal_subtrees(self) -> Array:
        """A number for each node; equal subtrees have the same one. O(n log n)."""
        return subtree_groups(self.plan)

    def subtree_associations(
        self, nodes: Array, measure: Association, epsilon: float
    ) -> dict[int, Array]:
        """The association of the subtree at each node with each protected attribute.

        From how many rows end at each leaf if all start at the node; see `subtrees`. Those below
        epsilon may be off in the last digits.
        """
        sample = self.sample
        if needs_values(measure):
            terms = [self.plan.forest.term(node) for node in nodes.tolist()]
            found = sample.shared(JointTables).associations(terms, measure)
            return dict(zip(nodes.tolist(), found, strict=True))
        unit = sample.total / self.total  # a power of two
        result: dict[int, Array] = {}
        for batch in batches(self.plan, nodes, [len(z) for z in sample.attributes]):
            sample.tick(0)
            parts = self._map(lambda b, s, batch=batch: count_subtrees(self.plan, b, batch))  # type: ignore[misc]
            found = batch_associations(
                batch,
                _added(parts) * unit,
                measure,
                sample.attributes,
                bins=sample.bins,
                max_support=sample.max_support,
                epsilon=epsilon,
            )
            result |= dict(zip(batch.roots.tolist(), found, strict=True))
        return result

    # Questions about positions

    def target(self, spots: Sequence[Spot]) -> Target | None:
        """What positions are about, if it is something that is counted here."""
        kinds, nodes = set(), []
        for spot in spots:
            at = None if spot.operands else self.plan.locate(spot.point)
            if at is None or at.leaf >= 0:
                return None
            kinds.add(self._kind(at.node, at.inside))
            nodes.append(at.node)
        kind = kinds.pop()
        return None if kinds or kind is None else Target(kind, np.array(nodes))

    def _kind(self, node: int, inside: int) -> str | None:
        if inside == 0:
            return "subtree"
        if inside == 1:
            return "test"
        test = Points(self.plan.forest.tests.term(int(self.plan.forest.test[node])))
        variables = (point for point, term in enumerate(test.terms) if isinstance(term, Var))
        first, end = inside - 1, test.end(inside - 1)
        return "variable" if all(first <= point < end for point in variables) else None

    def influence(self, spots: Sequence[Spot]) -> float | None:
        """The influence of one computation through disjoint positions at which it stands."""
        counted = self.counted(spots)
        return None if counted is None else self.share_of(counted)

    def influences(self, spots: Sequence[Spot]) -> list[float | None]:
        """The influence of what stands at each position, through that position alone."""
        return [self.influence([spot]) for spot in spots]

    def reach(self, spots: Sequence[Spot]) -> float | None:
        """The share of rows that evaluate at least one of the positions."""
        target = self.target(spots)
        if target is None:
            return None
        if len(target.nodes) == 1:
            return int(self.passing[0][target.nodes[0]]) / self.total
        return self.bound_and_reach(target.nodes)[1]

    def reaches(self, spots: Sequence[Spot]) -> list[float | None]:
        """The share of rows that evaluate each position."""
        return [self.reach([spot]) for spot in spots]

    def effects(self, spots: Sequence[Spot]) -> Effects | None:
        """The influence of one computation row by row."""
        counted = self.counted(spots)
        if counted is None:
            return None
        return Effects(counted.by_row / self.total, counted.by_value / self.total)

    def occurrence_bound(self, spots: Sequence[Spot]) -> float | None:
        """An upper bound on the influence through any set of these disjoint positions."""
        target = self.target(spots)
        return None if target is None else self.bound(target)

    def operands_bound(self, operator: int, operands: Sequence[int]) -> float | None:
        """An upper bound on the influence of any subset of some trees of a sum."""
        below = self.sample.points.below(operator)
        starts, order = self.plan.by_point
        tree_at = dict(zip(starts, order, strict=True))
        trees = [tree_at.get(below[step], -1) for step in operands]
        if min(trees) < 0:
            return None
        span = int(self.plan.extremes.tree_span[trees].sum())
        near = self._map(lambda b, s: int(b.masses[s.room <= span].sum()))
        return sum(near) / self.total

    # Counting what a computation changes

    def counted(self, spots: Sequence[Spot]) -> Counted | None:
        """What the computation at some positions changes, row by row; None if not known here."""
        target = self.target(spots)
        if target is None:
            return None
        return self.count(target)

    def count(self, target: Target) -> Counted:
        """What a computation at some nodes changes, row by row; the last results are kept."""
        key = target.kind, target.nodes.tobytes()
        if key not in self._counted:
            while self._counted and (len(self._counted) + 1) * 17 * self.sample.n_rows > KEPT_BYTES:
                del self._counted[next(iter(self._counted))]
            self._counted[key] = self._count(target)
        return self._counted[key]

    def _count(self, target: Target) -> Counted:
        match target.kind:
            case "subtree":
                return self._count_subtree(target.nodes)
            case "variable" if len(target.nodes) > 1:
                return self._count_variable(target.nodes)
            case _:  # a variable at one node acts through its test
                return self._count_test(target.nodes)

    def _count_test(self, nodes: Array) -> Counted:
        plan = self.plan
        hole = Hole.at(plan, nodes, opposite=True)
        column, first, count = plan.wiring.nodes[nodes[0], :3].tolist()
        others = np.zeros((2, self.codes.shape[1]), dtype=np.int32)
        others[0, column], others[1, column] = first, first + count  # in the range, and behind it
        own = self.codes[:, column] - first
        holds = (own >= 0) & (own < count)
        mass = int(self.masses[holds].sum()), int(self.masses[~holds].sum())

        def changed(block: Block, standing: Standing) -> tuple[Array, Array]:
            reached, rows = counting.movable_rows(standing, hole)
            code = block.codes[rows, column] - first
            chosen = ((code >= 0) & (code < count)).astype(np.int64)
            moved = counting.count_held(plan, block, standing, hole, rows, others, chosen)
            every = np.zeros(len(block), dtype=np.bool_)
            every[rows[moved]] = True
            return every, reached

        flags, reached = (
            np.concatenate(column) for column in zip(*self._map(changed), strict=True)
        )
        by_row = np.where(flags, np.where(holds, mass[1], mass[0]), 0)
        with_true = int(self.masses[flags & ~holds].sum())
        with_false = int(self.masses[flags & holds].sum())
        return Counted(by_row, np.where(holds, with_true, with_false), reached)

    def _count_variable(self, nodes: Array) -> Counted:
        plan, hole = self.plan, Hole.at(self.plan, nodes)
        columns = np.unique(plan.wiring.nodes[nodes, 0]).tolist()
        if len(columns) == 1:
            codes = self.codes[:, columns[0]]
            cells = Cells.of(plan, columns[0], codes, self.masses)
            return self._swept(hole, cells.below[codes + 1], partial(count_cells, cells=cells))
        kinds = Kinds.of(plan, nodes, self.codes, self.masses)
        return self._swept(hole, kinds.kind, partial(count_kinds, kinds=kinds))

    def _swept(
        self, hole: Hole, value: Array, count: Callable[..., tuple[Array, Array]]
    ) -> Counted:
        """What each value of a variable changes; `value` numbers that of each row."""

        def swept(block: Block, standing: Standing) -> tuple[Array, Array, Array]:
            reached, rows = counting.movable_rows(standing, hole)
            return *count(self.plan, block, standing, hole, rows), reached

        by_row, by_value, reached = zip(*self._map(swept), strict=True)
        return Counted(np.concatenate(by_row), _added(by_value)[value], np.concatenate(reached))

    def values_of(self, graft: Graft) -> Array:
        """Which of a subtree's values each row has, whether it comes there or not."""
        parts = self._map(lambda b, s: counting.count_values(self.plan, b, graft))
        return np.concatenate(parts)

    def _count_subtree(self, nodes: Array) -> Counted:
        plan = self.plan
        graft = Graft.at(plan, nodes)
        values = self.values_of(graft)
        masses = np.bincount(values, self.masses, minlength=len(graft.leaf_of)).astype(np.int64)
        parts = self._map(lambda b, s: counting.count_graft(plan, b, s, graft, masses))
        by_row, by_value, reached = zip(*parts, strict=True)
        changing = np.sum(by_value, axis=0)[values]
        return Counted(np.concatenate(by_row), changing, np.concatenate(reached))


def _added(parts: Sequence[Array]) -> Array:
    """The sum of the arrays of all blocks, without stacking them."""
    total = parts[0].copy()
    for part in parts[1:]:
        total += part
    return total
