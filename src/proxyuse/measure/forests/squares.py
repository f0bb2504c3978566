"""The squared change of computations in a sum of trees, and bounds on it.

The output is a sum of leaf values, so a computation moves it by the difference of some leaves. A
squared change can be large even if few rows reach a computation, so reach bounds nothing. But a
node moves the output by at most the range of the leaves below it, and the mean square of these
ranges bounds every single node in one pass.

All figures here are in the unit of masses: a row that moves by x counts as its mass times
``x^2 / (2 Var p)``, so that the share of all rows is the influence. They are floats, so the last
digits can depend on the order of blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from proxyuse.lang.evaluate import Array
from proxyuse.measure.forests import counting
from proxyuse.measure.forests.counting import Block, Intervention, RowOutcomes, SubtreeSwap
from proxyuse.measure.forests.variable_values import Cells, ValueClasses
from proxyuse.measure.parallel import mapped

if TYPE_CHECKING:
    from proxyuse.measure.forests.engine import ForestEngine

T = TypeVar("T")

MIN_SPREAD = 2.0**-16
"""The smallest spread of outputs, relative to the numbers that are added."""


class Squares:
    """Squared changes of the sum of trees of an engine.

    Attributes
    ----------
    factor : what a squared move of the lead by 1 counts for.
    precise : whether the outputs differ by much more than the program's rounding errors.
    """

    def __init__(self, engine: ForestEngine) -> None:
        self.engine, self.plan = engine, engine.plan
        decision = engine.plan.decision
        unit = decision.unit * float(decision.sums.divisors[0])
        scale = engine.sample.scale
        self.factor = 1.0 / (unit * unit * scale)
        size = decision.size / float(decision.sums.divisors[0])
        self.precise = scale >= (MIN_SPREAD * size) ** 2

    def _map(self, count: Callable[[Block, RowOutcomes], T]) -> list[T]:
        engine = self.engine
        return list(mapped(lambda pair: count(*pair), engine.blocks, engine.sample.threads))

    # Bounds

    def singles(self) -> Array:
        """Bound the subtree and the test of each node, in O(rows x trees x depth)."""
        from proxyuse.measure.forests import square_loops  # loads numba

        forest, (low, high, _, _) = self.plan.forest, self.plan.extremes

        def bound(block: Block, outcomes: RowOutcomes) -> Array:
            near = np.zeros((len(forest.test), 2))
            square_loops.bound_singles(
                forest.then, forest.spans.parent, forest.spans.leaf_parent, low, high,
                self.plan.decision.scores, outcomes.ends, block.masses, near,
            )  # fmt: skip
            return near

        return np.asarray(np.sum(self._map(bound), axis=0) * self.factor)

    def together(self, number: Array, count: int) -> tuple[Array, Array]:
        """Bound computations at several nodes, and count their reach; see `ForestEngine`."""
        from proxyuse.measure.forests import square_loops  # loads numba

        forest, trees = self.plan.forest, np.unique(self.plan.tree_of[number >= 0])

        def bound(block: Block, outcomes: RowOutcomes) -> tuple[Array, Array]:
            near, reach = np.zeros(count), np.zeros(count, dtype=np.int64)
            square_loops.bound_together(
                number, forest.spans.parent, forest.spans.leaf_parent, self.plan.extremes.span,
                trees, outcomes.ends, block.masses, near, reach,
            )  # fmt: skip
            return near, reach

        near, reach = (np.sum(part, axis=0) for part in zip(*self._map(bound), strict=True))
        return near * self.factor, reach

    def bound(self, nodes: Array) -> float:
        """Bound the mass of any subset of some nodes."""
        return float(sum(self._moves(Intervention.at(self.plan, nodes))))

    def _moves(self, intervention: Intervention) -> Iterator[float]:
        for block, outcomes in self.engine.blocks:
            moves = np.zeros(len(block))
            for tree in intervention.trees.tolist():
                leaves = outcomes.ends[tree]
                moves += np.where(intervention.first[leaves] >= 0, intervention.down[leaves], 0)
            yield float(np.dot(block.masses, moves * moves)) * self.factor

    def operands(self, trees: list[int]) -> float:
        """Bound any subset of some trees, as a share of all rows."""
        span = float(self.plan.extremes.tree_span[trees].sum())
        return span * span * self.factor

    # Exact squares, by row and by value

    def of(self, kind: str, nodes: Array) -> tuple[Array, Array, Array]:
        """Return the squares of a computation at some nodes.

        Returns
        -------
        For each row, the sum of its squares over all values, the sum of the squares of its value
        over all rows, and whether it evaluates one of the nodes.
        """
        match kind:
            case "subtree":
                return self._of_subtree(nodes)
            case "variable" if len(nodes) > 1:
                return self._of_variable(nodes)
            case _:  # a variable at one node acts through its test
                return self._of_test(nodes)

    def _of_test(self, nodes: Array) -> tuple[Array, Array, Array]:
        plan, masses = self.plan, self.engine.masses
        intervention = Intervention.at(plan, nodes)
        column, first, count = plan.code_ranges.nodes[nodes[0], :3].tolist()
        others = np.zeros((2, self.engine.codes.shape[1]), dtype=np.int32)
        others[0, column], others[1, column] = first, first + count  # in the range, and past it
        own = self.engine.codes[:, column] - first
        holds = (own >= 0) & (own < count)
        squares = self._squares(intervention, others, holds.astype(np.int64))
        mass = float(masses[holds].sum()), float(masses[~holds].sum())
        weighted = squares * masses
        with_true, with_false = float(weighted[~holds].sum()), float(weighted[holds].sum())
        return (
            squares * np.where(holds, mass[1], mass[0]),
            np.where(holds, with_true, with_false),
            self._reached(intervention),
        )

    def _of_variable(self, nodes: Array) -> tuple[Array, Array, Array]:
        """Try all values in one walk if the variable is one column, otherwise one by one."""
        plan, engine = self.plan, self.engine
        intervention = Intervention.at(plan, nodes)
        columns = np.unique(plan.code_ranges.nodes[nodes, 0]).tolist()
        reached = self._reached(intervention)
        if len(columns) > 1:
            classes = ValueClasses.of(plan, nodes, engine.codes, engine.masses)
            by_row, by_class = np.zeros(len(engine.masses)), np.zeros(len(classes.masses))
            for index, mass in enumerate(classes.masses.tolist()):
                engine.sample.tick(0)
                chosen = np.full(len(engine.masses), index)
                squares = self._squares(intervention, classes.others, chosen)
                by_row += mass * squares
                by_class[index] = np.dot(engine.masses, squares)
            return by_row, by_class[classes.class_of], reached
        codes = engine.codes[:, columns[0]]
        cells = Cells.of(plan, columns[0], codes, engine.masses)
        parts = self._map(lambda b, s: self._cells(intervention, cells, b, s))
        by_row = np.concatenate([part[0] for part in parts]) * self.factor
        turns = np.sum([part[1] for part in parts], axis=0)
        by_cell = np.cumsum(turns)[:-1] * self.factor
        return by_row, by_cell[cells.below[codes + 1]], reached

    def _of_subtree(self, nodes: Array) -> tuple[Array, Array, Array]:
        """Use the means and variances of the subtree's values."""
        swap, scores = SubtreeSwap.at(self.plan, nodes), self.plan.decision.scores
        masses = self.engine.masses.astype(np.float64)
        values = self.engine.values_of(swap)
        own = scores[swap.leaf_of, 0].astype(np.float64)[values]
        spans, ends = self.plan.forest.spans, self.engine.ends[swap.trees]
        low, high = (side[swap.nodes, None] for side in (spans.first_leaf, spans.last_leaf))
        times = ((ends >= low) & (ends < high)).sum(axis=0)
        weights = masses * times.astype(np.float64) ** 2

        def squares(of: Array) -> Array:
            """Sum the squared distances of each value from the values of weighted rows."""
            total = float(of.sum())
            if total == 0:
                return np.zeros(len(own))
            mean = float(np.dot(of, own)) / total
            around = float(np.dot(of, (own - mean) ** 2)) / total
            return np.asarray(total * ((own - mean) ** 2 + around))

        by_row = squares(masses) * times.astype(np.float64) ** 2 * self.factor
        return by_row, squares(weights) * self.factor, times > 0

    def _reached(self, intervention: Intervention) -> Array:
        parts = self._map(lambda b, s: counting.changeable_rows(s, intervention)[0])
        return np.concatenate(parts)

    def _squares(self, intervention: Intervention, others: Array, chosen: Array) -> Array:
        """Return each row's squared move if its intervened tests read chosen rows of codes."""
        from proxyuse.measure.forests import square_loops  # loads numba

        plan, squares, start = self.plan, np.empty(len(chosen)), 0
        for block, outcomes in self.engine.blocks:
            steps = np.zeros(len(block), dtype=np.int64)
            own = slice(start, start + len(block))
            square_loops.find_steps(
                plan.code_ranges.nodes, block.codes, np.arange(len(block)), others, chosen[own],
                intervention.mask, intervention.first, intervention.trees, plan.decision.scores,
                outcomes.ends, steps,
            )  # fmt: skip
            squares[own] = steps.astype(np.float64) ** 2 * self.factor
            start += len(block)
        return squares

    def _cells(
        self, intervention: Intervention, cells: Cells, block: Block, outcomes: RowOutcomes
    ) -> tuple[Array, Array]:
        from proxyuse.measure.forests import square_loops  # loads numba

        plan = self.plan
        met = counting.changeable_rows(outcomes, intervention)[0]
        by_row, turns = np.zeros(len(block)), np.zeros(len(cells.codes) + 1)
        square_loops.try_value_ranges(
            plan.code_ranges.nodes, block.codes, np.flatnonzero(met), intervention.mask,
            intervention.first, intervention.trees, cells.below, cells.upto,
            plan.decision.scores, outcomes.ends, block.masses, by_row, turns,
        )  # fmt: skip
        return by_row, turns
