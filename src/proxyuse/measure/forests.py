"""Sums of trees under a vote or a threshold, all decompositions at once.

The idea. A row's output depends on a tree only through the leads it gives the classes. Leads are
whole numbers (`forest_plan`), so "what if this tree said something else" is an addition. Written
``lead`` for a row's leads, ``own`` for the leaf at which it ends and |.| for masses:

- a leaf value changes a row's output if ``lead - own + value`` has another winner;
- a subtree at node s changes it for the mass of the rows that, started at s, end in such a leaf;
- a test changes it if the leaf on the other side is such a leaf;
- a computation at several nodes changes the leads by the sum of what it changes in each tree
  (`forest_holes`);
- some trees together change it for the sums of theirs that fall on the other side of the tie.

Bounds before work: a row whose winner leads by more than a tree, or all trees with a hole, can
move is not looked at. With many trees that leaves few rows for single tests and subtrees.

The cost for n rows, T trees of depth D and L leaves: walking O(n T D); singles O(L + D^2) for
each row and tree that is near. The loops are in `forest_kernel` (compiled) and `forest_rows`
(NumPy), with the same results. Compiled, trees of up to a few hundred leaves are not walked but
filled, many rows at a time, O(L) for each row and tree: `shallow_plan`.

Invariants. Every count is a sum over rows, so blocks of rows are counted in any order, in any
thread. What the program rounds on its way is honoured: where a winner leads by less than the
slack, the program's own sum decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Literal

import numpy as np

from proxyuse.lang.evaluate import Array
from proxyuse.lang.nodes import Ite, Var
from proxyuse.lang.positions import Spot
from proxyuse.measure.effects import Effects, Ranges, effects_of
from proxyuse.measure.engine import Way
from proxyuse.measure.forest_holes import ForestHoles
from proxyuse.measure.influence import differ


class ForestEngine(ForestHoles):
    """The fast engine, with the counts of a sum of trees where the program is one."""

    # One position at a time

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
                shape = self._sums(spot)
                pairs = self.total * self.total
                known = None if shape is None else shape.pairs(self.weights) / pairs
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

    def occurrence_bound(self, spots: Sequence[Spot]) -> float:
        """An upper bound on the influence through any set of these disjoint positions."""
        found = self._known_together(spots) if self._forest is not None else None
        return super().occurrence_bound(spots) if found is None else float(found.bound)

    def effects(self, spots: Sequence[Spot]) -> Effects | None:
        """The influence of one computation row by row; see `NaiveEngine.effects`."""
        if self._forest is None:
            return super().effects(spots)
        if len(spots) == 1 and spots[0].operands:
            shape = self._sums(spots[0])
            if shape is None:
                return super().effects(spots)
            return effects_of(shape, self.weights, self.total)
        nodes = [self._node_at.get(spot.point, -1) for spot in spots]
        if min(nodes) < 0 or any(spot.operands for spot in spots):
            return super().effects(spots)
        self._tick(0)
        term = self.points.terms[spots[0].point]
        if isinstance(term, Ite):
            return self._subtree_effects(np.array(nodes))
        # A variable at one node acts through its test.
        return self._hole_effects(np.array(nodes), not isinstance(term, Var) or len(nodes) == 1)

    # Sets of trees

    @cached_property
    def _tree_at(self) -> dict[int, int]:
        """The tree that stands at a program point."""
        return {point: tree for tree, point in enumerate(self._trees.roots.tolist())}

    def _sums(self, spot: Spot) -> Ranges | None:
        """Which sums of some trees keep each row's output; only for two classes. O(n log n).

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
        return Ranges(all_rows, first, last, self.n_rows, rank, beside=close)

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
