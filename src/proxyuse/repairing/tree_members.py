"""A forest in which some tests of collections have a constant instead.

`tree_search` chooses the constants. This module measures what they do, without building the changed
program: the influence of the collections of all levels, on the same pairs of rows and in one walk;
the utility; and the derivatives of both by a constant at each node.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from proxyuse.lang.evaluate import Array
from proxyuse.measure.collective import BETA, MAX_PAIRS, share_interval
from proxyuse.measure.forests import counting
from proxyuse.measure.forests.counting import Intervention, RowOutcomes
from proxyuse.measure.forests.engine import ForestEngine
from proxyuse.measure.pair_sampling import PAIRS
from proxyuse.measure.parallel import mapped
from proxyuse.repairing.row_pairs import RowPairs
from proxyuse.repairing.stand_ins import StandIns
from proxyuse.repairing.utility import Utility

GRADIENT_PAIRS = 1 << 14
"""The pairs for derivatives, and for the comparison of nodes."""

BLOCK = 1 << 12


@dataclass(frozen=True, slots=True, eq=False)
class RankedTests:
    """The tests of a collection in order, for one protected attribute.

    Attributes
    ----------
    tests : the numbers of the tests, the most associated one first.
    sizes : the sizes of the collections of all levels, ascending.
    """

    tests: Array
    sizes: Array


@dataclass(frozen=True, slots=True)
class Worst:
    """The level with the largest influence: its share of pairs, its attribute and its size."""

    share: float
    which: int
    size: int


class Promise(NamedTuple):
    """A node, a constant for its test, and by how much that lowers the influence to first order."""

    node: int
    constant: bool
    drop: float


class TreeMembers:
    """A forest in which some nodes have a constant instead of their test.

    Parameters
    ----------
    engine : measures the forest.
    ranked : the collections, one per protected attribute.
    utility : the utility to preserve.
    pairs : the pairs of rows on which influence is measured.
    """

    def __init__(
        self,
        engine: ForestEngine,
        ranked: Sequence[RankedTests],
        utility: Utility,
        pairs: RowPairs,
    ) -> None:
        self.engine, self.ranked, self.pairs = engine, ranked, pairs
        self.plan, self.decision, self.forest = (
            engine.plan,
            engine.plan.decision,
            engine.plan.forest,
        )
        self.nodes = self.plan.code_ranges.nodes.copy()
        self.ranks = [self._rank(own.tests) for own in ranked]
        self.replaced: dict[int, bool] = {}
        self.stand_ins = StandIns(engine, utility)
        self._ends = np.empty((len(self.forest.starts), engine.sample.n_rows), dtype=np.int32)
        self._stale = set(range(len(self._ends)))  # trees whose rows must be walked again
        self._state: State | None = None

    def _rank(self, tests: Array) -> Array:
        place = np.full(len(self.forest.tests), -1, dtype=np.int32)
        place[tests] = np.arange(len(tests), dtype=np.int32)
        return np.asarray(place[self.forest.test])

    def set(self, constants: Iterable[tuple[int, bool]]) -> None:
        """Replace the tests at some nodes with constants."""
        for node, constant in constants:
            branch = self.forest.then if constant else self.forest.otherwise
            self.nodes[node, 3:5] = branch[node]
            self.replaced[node] = constant
            self._stale.add(int(self.plan.tree_of[node]))
        self._state = None

    def unset(self, nodes: Iterable[int]) -> None:
        """Restore the tests at some nodes."""
        for node in nodes:
            self.nodes[node, 3:5] = self.plan.code_ranges.nodes[node, 3:5]
            del self.replaced[node]
            self._stale.add(int(self.plan.tree_of[node]))
        self._state = None

    @property
    def remaining(self) -> bool:
        """Whether any member is left."""
        return any(len(self.open_nodes(rank)) for rank in self.ranks)

    def open_nodes(self, rank: Array) -> Array:
        """Return the nodes of a collection that are not replaced."""
        return np.flatnonzero((rank >= 0) & (self.nodes[:, 3] != self.nodes[:, 4]))

    @property
    def state(self) -> State:
        """The leaves and classes of all rows; computed again after every change."""
        if self._state is None:
            self._walk(sorted(self._stale))
            self._stale.clear()
            self._state = State(self, self._ends)
        return self._state

    def _walk(self, trees: list[int]) -> None:
        """Find the leaf of each row in some trees."""
        from proxyuse.measure.forests import loops  # loads numba

        starts = self.forest.starts[trees]

        def walk(start: int) -> None:
            codes = self.engine.codes[start : start + BLOCK]
            ends = np.empty((len(trees), len(codes)), dtype=np.int32)
            loops.find_all_leaves(self.nodes, codes, starts, ends)
            self._ends[trees, start : start + BLOCK] = ends

        list(self.mapped(walk, self.engine.sample.n_rows))

    def gain(self) -> float:
        """Return the sum of the contributions of all rows to the utility."""
        return self.stand_ins.gain(self.state.outcomes.leads)

    # Influence

    def shares(self, which: int, pairs: RowPairs) -> Array:
        """Return the influence of the collection of each size from 0 on."""
        from proxyuse.repairing import tree_loops  # loads numba

        state, size = self.state, len(self.ranked[which].tests) + 1
        intervention, changeable = state.intervention(which)
        chosen = np.flatnonzero(changeable[pairs.rows])
        decision, outcomes = self.decision, state.outcomes

        def count(start: int) -> Array:
            part, changed = chosen[start : start + BLOCK], np.zeros(size)
            rows = pairs.rows[part]
            tree_loops.count_changed(
                self.nodes, self.engine.codes, rows, pairs.others[part], pairs.masses[part],
                self.ranks[which], intervention.first, outcomes.ends, decision.sums,
                decision.scores, decision.slack, outcomes.leads[rows], outcomes.classes[rows],
                changed,
            )  # fmt: skip
            return changed

        return sum(self.mapped(count, len(chosen)), start=np.zeros(size))

    def worst(self, pairs: RowPairs) -> Worst:
        """Return the level with the largest influence."""
        found = []
        for which, own in enumerate(self.ranked):
            shares = self.shares(which, pairs)[own.sizes]
            index = int(np.argmax(shares))
            found.append(Worst(float(shares[index]), which, int(own.sizes[index])))
        return max(found, key=lambda worst: worst.share)

    @cached_property
    def level(self) -> float:
        """The error probability of each side of each interval."""
        draws = (MAX_PAIRS // PAIRS).bit_length()
        return BETA / (2 * draws * sum(len(own.sizes) for own in self.ranked))

    def upper(self) -> float:
        """Return an upper bound on the influence of all levels together."""
        return max(float(self.bounds(which)[1].max()) for which in range(len(self.ranked)))

    def bounds(self, which: int) -> tuple[Array, Array]:
        """Return bounds on the influence of the collection of each level, on all pairs."""
        shares = self.shares(which, self.pairs)[self.ranked[which].sizes]
        if not self.pairs.drawn:
            return shares, shares
        count = len(self.pairs)
        each = [share_interval(round(s * count), count, self.level) for s in shares.tolist()]
        low, high = (np.array(side) for side in zip(*each, strict=True))
        return low, high

    # Nodes to replace

    def _effects(
        self, pairs: RowPairs, which: int, size: int, reads: int, gradient: Array
    ) -> Array:
        from proxyuse.repairing import tree_loops  # loads numba

        state = self.state
        intervention, _ = state.intervention(which)
        steep = np.abs(gradient).max(axis=1)
        chosen = np.flatnonzero(steep > 1e-3 * steep.max(initial=0.0))

        def add(start: int) -> Array:
            part, effect = chosen[start : start + BLOCK], np.zeros((len(self.nodes), 2))
            tree_loops.add_effects(
                self.nodes, self.engine.codes, pairs.rows[part], pairs.others[part],
                self.ranks[which], size, reads, intervention.first, state.outcomes.ends,
                self.forest.then, self.decision.scores, np.ascontiguousarray(gradient[part]),
                effect,
            )  # fmt: skip
            return effect

        return sum(self.mapped(add, len(chosen)), start=np.zeros((len(self.nodes), 2)))

    def _moved(self, pairs: RowPairs, which: int, size: int) -> Array:
        """The leads of the rows of each pair if the collection reads the other row."""
        from proxyuse.repairing import tree_loops  # loads numba

        state = self.state
        first, ends = state.intervention(which)[0].first, state.outcomes.ends
        leads = state.outcomes.leads[pairs.rows]

        def find(start: int) -> None:
            part = slice(start, start + BLOCK)
            tree_loops.find_leads(
                self.nodes, self.engine.codes, pairs.rows[part], pairs.others[part],
                self.ranks[which], size, first, ends, self.decision.scores, leads[part],
            )  # fmt: skip

        list(self.mapped(find, len(leads)))
        return leads

    def promising(self, worst: Worst) -> list[Promise]:
        """Return a constant for each node of a collection, the largest drop per loss first."""
        which, size = worst.which, worst.size
        pairs = self.pairs.first(GRADIENT_PAIRS)
        own, moved = self.state.outcomes.leads[pairs.rows], self._moved(pairs, which, size)
        distance = np.abs(moved - own).max(axis=1)
        scale = float(np.mean(distance[distance > 0])) if distance.any() else 1.0
        by_own, by_moved = self.stand_ins.influence_gradients(own, moved, scale)
        masses = pairs.masses[:, None]
        drop = -self._effects(pairs, which, size, 0, masses * by_own)
        drop -= self._effects(pairs, which, size, size, masses * by_moved)
        gradient = self.stand_ins.utility_gradient(self.state.outcomes.leads, scale)
        loss = -self._effects(RowPairs.same(len(gradient)), which, size, 0, gradient)
        nodes = self.open_nodes(self.ranks[which])
        nodes = nodes[self.ranks[which][nodes] < size]
        constant = np.argmin(loss[nodes], axis=1)
        helps = drop[nodes, constant] > 0
        constant = np.where(helps, constant, np.argmax(drop[nodes], axis=1))
        drop, loss = drop[nodes, constant], loss[nodes, constant]
        least = 1e-3 * max(float(np.abs(loss).mean()), 1e-300)
        ratio = np.where(drop > 0, drop / np.maximum(loss, least), -np.maximum(loss, 0.0))
        order = np.argsort(-ratio, kind="stable")
        return [Promise(int(nodes[i]), bool(constant[i]), float(drop[i])) for i in order]

    def mapped(self, function: Callable[[int], Any], count: int) -> Iterator[Any]:
        """Call a function with the start of each block of some rows or pairs."""
        return mapped(function, range(0, count, BLOCK), self.engine.sample.threads)

    def reachable(self) -> dict[int, bool]:
        """Return the replaced nodes that are not in a branch that is no longer taken."""
        reached: dict[int, bool] = {}
        stack = [start for start in self.forest.starts.tolist() if start >= 0]
        while stack:
            node = stack.pop()
            if node in self.replaced:
                reached[node] = self.replaced[node]
            stack += {child for child in self.nodes[node, 3:5].tolist() if child >= 0}
        return reached


class State:
    """The rows in a forest with constants."""

    def __init__(self, members: TreeMembers, ends: Array) -> None:
        from proxyuse.measure.forests import loops  # loads numba

        self._members = members
        decision, rows = members.decision, ends.shape[1]
        self.outcomes = RowOutcomes(
            ends,
            np.empty((rows, len(decision.base)), dtype=np.int64),
            np.empty(rows, dtype=np.int64),
            np.empty((rows, len(decision.sums.columns))),
            np.empty(rows, dtype=np.int64),
        )
        loops.decide_rows(
            decision.sums, decision.scores, decision.base, decision.slack, ends, *self.outcomes[1:]
        )
        self._interventions: dict[int, tuple[Intervention, Array]] = {}

    def intervention(self, which: int) -> tuple[Intervention, Array]:
        """Return the intervention on the remaining members, and the rows that it might change."""
        if which not in self._interventions:
            members = self._members
            intervention = Intervention.at(members.plan, members.open_nodes(members.ranks[which]))
            changeable = np.zeros(len(self.outcomes.margin), dtype=np.bool_)
            changeable[counting.changeable_rows(self.outcomes, intervention)[1]] = True
            self._interventions[which] = intervention, changeable
        return self._interventions[which]
