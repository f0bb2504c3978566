"""What a program would say, and what would be measured, with constants in places.

In a sum of trees a constant at a test, or at the variable it reads, leads all rows to one side of
the node: the arrays that say where rows go are changed there, and everything else is counted as
before. So of a forest with a constant at hundreds of places no program is built.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from proxyuse.lang.build import rebuild
from proxyuse.lang.evaluate import Array, constant, evaluate, truth_of
from proxyuse.lang.nodes import Const, Ite, Var, children
from proxyuse.lang.positions import Spot
from proxyuse.measure.forest_plan import ForestPlan
from proxyuse.measure.forest_wiring import Wiring
from proxyuse.measure.forests import ForestEngine

_SHARED = (
    "_plan", "_forest", "_compiles", "_loops", "_categories", "_tallies", "_masses",
    "_cell_masses", "_node_of_test", "_side_masses", "_node_at", "_readers",
)  # fmt: skip


class _Changed(NamedTuple):
    """Where rows go with constants in places, and which nodes say one."""

    wiring: Wiring
    covered: list[tuple[int, Const]]


class TrialEngine(ForestEngine):
    """The fast engine, asked what would be."""

    def values_with(self, new: Mapping[Spot, Const], point: int = 0) -> Array:
        """What stands at a point on all rows, once constants are put at some positions."""
        inner = self._summed and point in self._node_at
        changed = None if inner or not self._summed else self._change(new)
        if changed is None:
            return super().values_with(new, point)
        plan = self._trees
        if point == 0 and not changed.covered:
            said = self._after(changed)._stand[2]
            values, known = self._said_values
            if known[np.unique(said)].all():
                return np.asarray(values[said])
        ends = self._after(changed)._stand[0]
        trees = self._values_at(ends)
        for node, value in changed.covered:
            tree = int(plan.tree_of[node])
            there = (ends[tree] >= plan.leaf_from[node]) & (ends[tree] < plan.leaf_to[node])
            root = self.points.terms[plan.roots[tree]]
            trees[id(root)][there] = constant(value.value, self.vocabulary)
        found = evaluate(self.points.terms[point], self.frame.arrays, self.vocabulary, trees)
        return self._full(found)

    @cached_property
    def _said_values(self) -> tuple[Array, Array]:
        """The output of each number in which outputs are counted, as far as they occur."""
        said, outputs = self._stand[2], self.outputs()
        numbers, first = np.unique(said, return_index=True)
        size = int(self._trees.vote.outputs.max()) + 1
        values = np.zeros(size, dtype=outputs.dtype)
        known = np.zeros(size, dtype=np.bool_)
        values[numbers], known[numbers] = outputs[first], True
        return values, known

    def influence_after(self, spots: Sequence[Spot], new: Mapping[Spot, Const]) -> float:
        """The influence of what stands at some positions, once constants are put at others."""
        changed = self._change(new) if self._forest is not None else None
        if changed is not None and not changed.covered and len(spots) > 1:
            found = self._after(changed)._known_together(spots)
            if found is not None:
                return float(found.influence)
        program = self.program.replaced(new)
        program.fitting_kinds |= self.program.fitting_kinds
        digest = self.points.term_at(spots[0]).digest
        there = [Spot(p) for p, term in enumerate(program.points.terms) if term.digest == digest]
        return self.of(program).influence(there) if there else 0.0

    def _change(self, new: Mapping[Spot, Const]) -> _Changed | None:
        """Where rows go with constants in places; None if one of them is not in a tree."""
        if any(spot.operands or spot.point not in self._node_at for spot in new):
            return None
        plan: ForestPlan = self._trees
        nodes, covered = self._wiring.nodes.copy(), list[tuple[int, Const]]()
        for spot, value in new.items():
            node, term = self._node_at[spot.point], self.points.terms[spot.point]
            if isinstance(term, Ite):
                covered.append((node, value))
                continue
            holds = value.value
            if isinstance(term, Var):
                test = self.points.terms[spot.point - 1]
                test = rebuild(test, (value, *children(test)[1:]))
                holds = bool(truth_of(evaluate(test, {}, self.vocabulary))[0])
            nodes[node, 2:] = plan.left[node] if holds else plan.right[node]
        return _Changed(self._wiring._replace(nodes=nodes), covered)

    def _after(self, changed: _Changed) -> TrialEngine:
        """The same program with rows led elsewhere."""
        other = self.of(self.program)
        for name in _SHARED:
            if name in self.__dict__:
                other.__dict__[name] = self.__dict__[name]
        other.__dict__["_wiring"] = changed.wiring
        other.__dict__["_slots"] = None  # they know the tests, not where rows are led
        return other
