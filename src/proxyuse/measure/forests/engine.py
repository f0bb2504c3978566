"""The engine for trees and sums of trees: influence from counts on packed trees.

**Idea.** A tree affects a row's output only through what its leaf adds to the leads of the
classes. Leads are integers (`decision`), so the effect of an intervention is an addition:

- for a test at some nodes: where does the row end if these nodes take the other branch?
- for a variable at some nodes: the same for each cell of its values, all cells in one walk;
- for a subtree at some nodes: the same for each value that the subtree takes on some row.

If the output is a number, its lead is the number itself, and a row changes if its lead moves at
all, or with `Moved`, by more than a threshold.

**Bounds first.** A row can change only if some nodes can move its leads by at least its margin, and
most nodes are reached by few rows. One pass bounds every single node (`passing`). Each question is
then answered exactly, on the rows that can change.

**Invariant.** All sums are sums of integers, so the result does not depend on the order of rows,
blocks or threads. If rounding could decide, the program's own float operations do.

**Cost**, for n rows and T trees of depth D: O(n T D) once, for the first pass. Then O(k D) per
question, where k is the number of rows that can change times the number of affected trees.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import ClassVar, NamedTuple, TypeVar

import numpy as np

from proxyuse.lang.evaluate import Array
from proxyuse.lang.nodes import Add, Call, Var, Vector, children
from proxyuse.lang.packed import PackedIte
from proxyuse.lang.positions import Points, Site
from proxyuse.lang.walking import leaf_values
from proxyuse.measure.association.joint_tables import JointTables
from proxyuse.measure.association.protocol import Association, needs_values
from proxyuse.measure.forests import counting
from proxyuse.measure.forests.counting import Block, Intervention, RowOutcomes, SubtreeSwap
from proxyuse.measure.forests.plan import ForestPlan, forest_plan
from proxyuse.measure.forests.squares import Squares
from proxyuse.measure.forests.subtrees import (
    batch_associations,
    batches,
    count_subtrees,
    subtree_groups,
)
from proxyuse.measure.forests.variable_values import (
    Cells,
    ValueClasses,
    count_cells,
    count_value_classes,
)
from proxyuse.measure.influence import Moved, SquaredChange
from proxyuse.measure.parallel import mapped
from proxyuse.measure.row_effects import RowEffects
from proxyuse.measure.sample import Sample

T = TypeVar("T")

MAX_BYTES = 1 << 26
"""Memory limit for cached row-by-row results, which the statistics read again."""


class Target(NamedTuple):
    """The test, variable or subtree (its kind) at some nodes."""

    kind: str
    nodes: Array


class Counted(NamedTuple):
    """What a computation changes, row by row.

    Attributes
    ----------
    by_row : the mass of the values that change the row's output.
    by_value : the mass of the rows whose output the row's value changes.
    reached : whether the row evaluates one of the sites.
    """

    by_row: Array
    by_value: Array
    reached: Array


class ForestEngine:
    """Measures of a program made of trees; the module docstring explains the algorithm."""

    method: ClassVar[str] = "from counts of the trees"
    compiled: ClassVar[bool] = True

    def __init__(self, sample: Sample, plan: ForestPlan) -> None:
        self.sample, self.plan = sample, plan
        self.masses, self.total = sample.masses, int(sample.masses.sum())
        self._counted: dict[tuple[str, bytes], Counted] = {}
        self._last_test: tuple[int, Points, tuple[int, int]] | None = None

    @classmethod
    def of(cls, sample: Sample) -> ForestEngine | None:
        """Return the engine of a sample if the program is made of trees, else None."""
        return sample.shared(cls._of)

    @classmethod
    def _of(cls, sample: Sample) -> ForestEngine | None:
        squared = type(sample.loss) is SquaredChange and sample.pairs is None
        if not (sample.counts_pairs or squared):
            return None
        plan = forest_plan(sample.program)
        if plan is None:
            return None
        if not sample.counts_changes and not plan.decision.is_number:
            return None
        if isinstance(sample.loss, Moved):
            plan = plan.moved(sample.loss.by, sample.loss.relative)
        engine = cls(sample, plan)
        sample.supplies.update(engine.supplies())
        return engine

    def supplies(self) -> dict[int, Callable[[], Array]]:
        """Return functions that compute the values of sums of trees, by the id of their nodes."""
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
        """Return the value of the only tree in each row."""
        return np.asarray(leaf_values(self.plan.forest, self.sample.vocabulary)[self.ends[0]])

    def _core_values(self) -> Array:
        """Return the sum of the trees: one number per row, or one per row and class."""
        return self.totals if self.plan.forest.leaves.ndim == 2 else self.totals[:, 0].copy()

    def _column(self, index: int) -> Array:
        return np.ascontiguousarray(self.totals[:, index])

    # Rows, in blocks

    @cached_property
    def codes(self) -> Array:
        """The codes of all rows."""
        sample = self.sample
        return self.plan.code_ranges.encode(sample.frame.arrays, sample.vocabulary, sample.n_rows)

    @cached_property
    def blocks(self) -> list[tuple[Block, RowOutcomes]]:
        """The rows in blocks, each with its outcomes."""
        size, rows = counting.BLOCK, self.sample.n_rows
        starts = range(0, rows, size)
        codes = self.codes
        attributes = np.array([z.codes for z in self.sample.attributes], dtype=np.int32)
        blocks = [
            Block(codes[s : s + size], self.masses[s : s + size], attributes[:, s : s + size])
            for s in starts
        ]
        outcomes = mapped(lambda b: counting.decide_rows(self.plan, b), blocks, self.sample.threads)
        return list(zip(blocks, outcomes, strict=True))

    def _map(self, count: Callable[[Block, RowOutcomes], T]) -> list[T]:
        """Count each block, using all available threads."""
        return list(mapped(lambda pair: count(*pair), self.blocks, self.sample.threads))

    @cached_property
    def totals(self) -> Array:
        """The program's own sums, by row and sum."""
        return np.concatenate([outcomes.totals for _, outcomes in self.blocks])

    @cached_property
    def ends(self) -> Array:
        """The leaf of each row in each tree."""
        return np.concatenate([outcomes.ends for _, outcomes in self.blocks], axis=1)

    @cached_property
    def squares(self) -> Squares | None:
        """The squared changes, if they are the influence; then masses are times squares."""
        return Squares(self) if isinstance(self.sample.loss, SquaredChange) else None

    # Bounds

    @cached_property
    def passing(self) -> tuple[Array, Array]:
        """The mass that reaches each node, and the part that its subtree or test might change."""
        parts = self._map(lambda b, s: counting.count_passing(self.plan, b, s))
        by_leaf, near = (_added(column) for column in zip(*parts, strict=True))
        upto = np.concatenate([[0], np.cumsum(by_leaf)])
        spans = self.plan.forest.spans
        near = near if self.squares is None else self.squares.singles()
        return upto[spans.last_leaf] - upto[spans.first_leaf], near

    def together(self, number: Array, count: int) -> tuple[Array, Array]:
        """Return the mass that computations at several nodes might change, and their reach.

        `number` holds the index of the computation at each node, or -1.
        """
        if self.squares is not None:
            return self.squares.together(number, count)
        parts = self._map(lambda b, s: counting.count_meeting(self.plan, b, s, number, count))
        near, reach = (_added(column) for column in zip(*parts, strict=True))
        return near, reach

    def bound_and_reach(self, nodes: Array) -> tuple[float, float]:
        """Return a bound on the influence through any subset of some nodes, and their reach."""
        intervention = Intervention.at(self.plan, nodes)

        def masses(block: Block, outcomes: RowOutcomes) -> tuple[int, int]:
            met, changeable = counting.changeable_rows(outcomes, intervention)
            return int(block.masses[changeable].sum()), int(block.masses[met].sum())

        near, reach = (sum(column) for column in zip(*self._map(masses), strict=True))
        bound = near if self.squares is None else self.squares.bound(nodes)
        return bound / self.total, reach / self.total

    def bound_of(self, nodes: Array) -> float:
        """Return an upper bound on the influence through any subset of some nodes."""
        return self.bound_and_reach(nodes)[0]

    def bound(self, target: Target) -> float:
        """Return a tighter bound than `bound_of`, for O(n log n) more on n rows.

        The bound is the share of pairs of a row that the nodes might change and a row on which
        the computation has a different effect.
        """
        if self.squares is not None:
            return self.bound_of(target.nodes)
        intervention = Intervention.at(self.plan, target.nodes)
        parts = self._map(lambda b, s: counting.changeable_rows(s, intervention)[1])
        starts = np.arange(len(parts)) * counting.BLOCK
        pairs = zip(parts, starts, strict=True)
        changeable = np.concatenate([part + start for part, start in pairs])
        kinds = self._effect_classes(target)
        others = self.total - np.bincount(kinds, self.masses).astype(np.int64)[kinds[changeable]]
        return counting.product(self.masses[changeable], others) / (self.total * self.total)

    def _effect_classes(self, target: Target) -> Array:
        """Group the rows so that the computation has the same effect within a group."""
        if target.kind == "subtree":
            return self.values_of(SubtreeSwap.at(self.plan, target.nodes))
        code_ranges = self.plan.code_ranges.nodes[target.nodes, :3]
        kinds = [
            counting.cells_between(
                self.codes[:, column], code_ranges[code_ranges[:, 0] == column, 1:]
            )
            for column in np.unique(code_ranges[:, 0]).tolist()
        ]
        if len(kinds) == 1:
            return kinds[0]
        _, together = np.unique(np.column_stack(kinds), axis=0, return_inverse=True)
        return np.asarray(together.ravel())

    def reaches_of(self, node_sets: Sequence[Array]) -> Array:
        """Return the share of rows that reach each of several sets of nodes."""
        bits = np.zeros((-(-len(node_sets) // 64), len(self.plan.forest.test)), dtype=np.uint64)
        for index, nodes in enumerate(node_sets):
            bits[index // 64, nodes] |= np.uint64(1) << np.uint64(index % 64)
        parts = self._map(lambda b, s: counting.count_reach(self.plan, b, s, bits, len(node_sets)))
        return _added(parts) / self.total

    def min_margin(self, mass: float) -> int:
        """Return how far leads must move before rows of more than this mass can change."""
        if self.squares is not None:
            return 0
        margin = np.concatenate([outcomes.margin for _, outcomes in self.blocks])
        order = np.argsort(margin)
        upto = np.cumsum(self.masses[order])
        index = int(np.searchsorted(upto, mass, side="right"))
        return int(margin[order[index]]) if index < len(order) else 2**62

    def share(self, rows: Array) -> float:
        """Return the share of some rows in the total mass."""
        return int(self.masses[rows].sum()) / self.total

    def share_of(self, counted: Counted) -> float:
        """Return the share of pairs of rows that change the output."""
        if self.squares is not None:
            return float(np.dot(self.masses, counted.by_row)) / (self.total * self.total)
        return counting.product(self.masses, counted.by_row) / (self.total * self.total)

    @cached_property
    def equal_subtrees(self) -> Array:
        """A group number for each node; equal subtrees share it. O(n log n) for n nodes."""
        return subtree_groups(self.plan)

    def subtree_associations(
        self, nodes: Array, measure: Association, epsilon: float
    ) -> dict[int, Array]:
        """Return the association of the subtree at each node with each protected attribute.

        It follows from the number of rows at each leaf if all rows start at the node (see
        `subtrees`). Associations below epsilon can be off in the last digits.
        """
        sample = self.sample
        if needs_values(measure):
            terms = [self.plan.forest.term(node) for node in nodes.tolist()]
            associations = sample.shared(JointTables).associations(terms, measure)
            return dict(zip(nodes.tolist(), associations, strict=True))
        unit = sample.total / self.total  # a power of two
        result: dict[int, Array] = {}
        for batch in batches(self.plan, nodes, [len(z) for z in sample.attributes]):
            sample.tick(0)
            parts = self._map(lambda b, s, batch=batch: count_subtrees(self.plan, b, batch))  # type: ignore[misc]
            associations = batch_associations(
                batch,
                _added(parts) * unit,
                measure,
                sample.attributes,
                groups=sample.groups,
                max_support=sample.max_support,
                best_cut=sample.best_cut,
                epsilon=epsilon,
            )
            result |= dict(zip(batch.roots.tolist(), associations, strict=True))
        return result

    # Questions about positions

    def target(self, sites: Sequence[Site]) -> Target | None:
        """Return the test, variable or subtree at some sites, or None for anything else."""
        if self.squares is not None and not self.squares.precise:
            return None
        kinds, nodes = set(), []
        for site in sites:
            at = None if site.operands else self.plan.locate(site.point)
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
        index = int(self.plan.forest.test[node])
        if self._last_test is None or self._last_test[0] != index:  # sites come in preorder
            points = Points(self.plan.forest.tests.term(index))
            variables = [p for p, term in enumerate(points.terms) if isinstance(term, Var)]
            ends = min(variables, default=len(points)), max(variables, default=-1)
            self._last_test = index, points, ends
        _, points, (first_variable, last_variable) = self._last_test
        first, end = inside - 1, points.end(inside - 1)
        return "variable" if first <= first_variable and last_variable < end else None

    def influence(self, sites: Sequence[Site]) -> float | None:
        """Return the influence of one computation through all the sites together."""
        counted = self.counted(sites)
        return None if counted is None else self.share_of(counted)

    def influences(self, sites: Sequence[Site]) -> list[float | None]:
        """Return the influence through each site alone."""
        return [self.influence([site]) for site in sites]

    def reach(self, sites: Sequence[Site]) -> float | None:
        """Return the share of rows that evaluate at least one of the sites."""
        target = self.target(sites)
        if target is None:
            return None
        if len(target.nodes) == 1:
            return int(self.passing[0][target.nodes[0]]) / self.total
        return self.bound_and_reach(target.nodes)[1]

    def reaches(self, sites: Sequence[Site]) -> list[float | None]:
        """Return the share of rows that evaluate each site."""
        return [self.reach([site]) for site in sites]

    def effects(self, sites: Sequence[Site]) -> RowEffects | None:
        """Return the influence of one computation, row by row."""
        counted = self.counted(sites)
        if counted is None:
            return None
        unit = self.total if self.squares is None else self.total / self.sample.scale
        return RowEffects(counted.by_row / unit, counted.by_value / unit)

    def occurrence_bound(self, sites: Sequence[Site]) -> float | None:
        """Return an upper bound on the influence through every subset of the sites."""
        target = self.target(sites)
        return None if target is None else self.bound(target)

    def operands_bound(self, operator: int, operands: Sequence[int]) -> float | None:
        """Return an upper bound on the influence of every subset of some trees of a sum."""
        below = self.sample.points.below(operator)
        starts, order = self.plan.by_point
        tree_at = dict(zip(starts, order, strict=True))
        trees = [tree_at.get(below[step], -1) for step in operands]
        if min(trees) < 0:
            return None
        if self.squares is not None:
            return self.squares.operands(trees) if self.squares.precise else None
        span = int(self.plan.extremes.tree_span[trees].sum())
        near = self._map(lambda b, s: int(b.masses[s.margin <= span].sum()))
        return sum(near) / self.total

    # Counting what a computation changes

    def counted(self, sites: Sequence[Site]) -> Counted | None:
        """Count what the computation at some sites changes; None if it is not in a tree."""
        target = self.target(sites)
        return None if target is None else self.count(target)

    def count(self, target: Target) -> Counted:
        """Count what a computation at some nodes changes; recent results are cached."""
        key = target.kind, target.nodes.tobytes()
        if key not in self._counted:
            while self._counted and (len(self._counted) + 1) * 17 * self.sample.n_rows > MAX_BYTES:
                del self._counted[next(iter(self._counted))]
            self._counted[key] = self._count(target)
        return self._counted[key]

    def _count(self, target: Target) -> Counted:
        if self.squares is not None:
            return Counted(*self.squares.of(target.kind, target.nodes))
        match target.kind:
            case "subtree":
                return self._count_subtree(target.nodes)
            case "variable" if len(target.nodes) > 1:
                return self._count_variable(target.nodes)
            case _:  # a variable at one node acts through its test
                return self._count_test(target.nodes)

    def _count_test(self, nodes: Array) -> Counted:
        plan = self.plan
        intervention = Intervention.at(plan, nodes, opposite=True)
        column, first, count = plan.code_ranges.nodes[nodes[0], :3].tolist()
        others = np.zeros((2, self.codes.shape[1]), dtype=np.int32)
        others[0, column], others[1, column] = first, first + count  # in the range, and past it
        own = self.codes[:, column] - first
        holds = (own >= 0) & (own < count)
        mass = int(self.masses[holds].sum()), int(self.masses[~holds].sum())

        def changed(block: Block, outcomes: RowOutcomes) -> tuple[Array, Array]:
            reached, rows = counting.changeable_rows(outcomes, intervention)
            code = block.codes[rows, column] - first
            chosen = ((code >= 0) & (code < count)).astype(np.int64)
            moved = counting.count_intervened(
                plan, block, outcomes, intervention, rows, others, chosen
            )
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
        plan, intervention = self.plan, Intervention.at(self.plan, nodes)
        columns = np.unique(plan.code_ranges.nodes[nodes, 0]).tolist()
        if len(columns) == 1:
            codes = self.codes[:, columns[0]]
            cells = Cells.of(plan, columns[0], codes, self.masses)
            return self._count_values(
                intervention, cells.below[codes + 1], partial(count_cells, cells=cells)
            )
        classes = ValueClasses.of(plan, nodes, self.codes, self.masses)
        return self._count_values(
            intervention, classes.class_of, partial(count_value_classes, classes=classes)
        )

    def _count_values(
        self, intervention: Intervention, value: Array, count: Callable[..., tuple[Array, Array]]
    ) -> Counted:
        """Count what each value of a variable changes; `value` is the index of each row's value."""

        def counted(block: Block, outcomes: RowOutcomes) -> tuple[Array, Array, Array]:
            reached, rows = counting.changeable_rows(outcomes, intervention)
            return *count(self.plan, block, outcomes, intervention, rows), reached

        by_row, by_value, reached = zip(*self._map(counted), strict=True)
        return Counted(np.concatenate(by_row), _added(by_value)[value], np.concatenate(reached))

    def values_of(self, swap: SubtreeSwap) -> Array:
        """Return the index of the subtree's value for each row."""
        parts = self._map(lambda b, s: counting.count_values(self.plan, b, swap))
        return np.concatenate(parts)

    def _count_subtree(self, nodes: Array) -> Counted:
        plan = self.plan
        swap = SubtreeSwap.at(plan, nodes)
        values = self.values_of(swap)
        masses = np.bincount(values, self.masses, minlength=len(swap.leaf_of)).astype(np.int64)
        parts = self._map(lambda b, s: counting.count_swap(plan, b, s, swap, masses))
        by_row, by_value, reached = zip(*parts, strict=True)
        changing = np.sum(by_value, axis=0)[values]
        return Counted(np.concatenate(by_row), changing, np.concatenate(reached))


def _added(parts: Sequence[Array]) -> Array:
    """Add up the arrays of all blocks without stacking them."""
    total = parts[0].copy()
    for part in parts[1:]:
        total += part
    return total
