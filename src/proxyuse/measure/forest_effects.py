"""Influence row by row, for trees and sums of trees.

The loops that count what holes in trees change say it for one hole by row and by cell too, so the
effects of a test or a variable, at one node or at hundreds, cost what counting it cost. Of a
subtree each distinct leaf value is tried, in the rows near enough to another output.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from proxyuse.lang.evaluate import Array
from proxyuse.lang.nodes import Ite, Var
from proxyuse.lang.positions import Spot
from proxyuse.measure.effects import Effects, Tries, effects_of
from proxyuse.measure.forests import ForestEngine


class EffectsEngine(ForestEngine):
    """The fast engine, with the effects of what stands in trees."""

    def effects(self, spots: Sequence[Spot]) -> Effects | None:
        """The influence of one computation row by row; see `NaiveEngine.effects`."""
        if self._forest is None:
            return super().effects(spots)
        if len(spots) == 1 and spots[0].operands:
            found = self._subset_effects(spots[0])
            return super().effects(spots) if found is None else found
        nodes = [self._node_at.get(spot.point, -1) for spot in spots]
        if min(nodes) < 0 or any(spot.operands for spot in spots):
            return super().effects(spots)
        self._tick(0)
        term = self.points.terms[spots[0].point]
        if isinstance(term, Ite):
            return self._subtree_effects(np.array(nodes))
        # A variable at one node acts through its test.
        return self._hole_effects(np.array(nodes), not isinstance(term, Var) or len(nodes) == 1)

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

    def _subset_effects(self, spot: Spot) -> Effects | None:
        """Of some trees of a sum together; only for two classes."""
        shape = self._subset_shape(spot)
        if shape is None:
            return None
        ranges, close = shape
        changed, changing = ranges.changed(self.weights), ranges.changing(self.weights)
        for row, others in close:
            changed[row] += self.weights[others].sum()
            changing[others] += self.weights[row]
        return Effects(changed / self.total, changing / self.total)
