"""Collections of tests in trees: the nodes of several tests read the codes of another row.

See `measure.collective`. A pair is a walk through the trees that contain one of the tests, and only
for rows whose margin these tests can overcome.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from proxyuse.lang.evaluate import Array
from proxyuse.measure.collective import OVERHEAD
from proxyuse.measure.forests import counting
from proxyuse.measure.forests.counting import Intervention
from proxyuse.measure.forests.engine import ForestEngine, Target
from proxyuse.measure.forests.pair_sampling import changed_pairs
from proxyuse.measure.sample import Sample

MAX_BYTES = 1 << 27
"""Memory for the interventions of several sizes."""

STEPS = 8
"""The typical number of nodes on a path below the first node of a collection."""


class FamilyOfTests:
    """Tests of a forest in an order, each at all its nodes.

    Attributes
    ----------
    engine : the engine of the trees.
    tests : the numbers of the tests, in order.
    """

    def __init__(self, engine: ForestEngine, tests: Array) -> None:
        self.engine, self.tests = engine, tests
        parts = [engine.plan.nodes_of_test(test) for test in tests.tolist()]
        self._nodes = np.concatenate([np.empty(0, dtype=np.int32), *parts])
        self._ends = np.cumsum([len(part) for part in parts])
        self._known: dict[int, tuple[Intervention, Array]] = {}

    @property
    def sample(self) -> Sample:
        """The program and the rows."""
        return self.engine.sample

    def __len__(self) -> int:
        return len(self.tests)

    def nodes(self, size: int) -> Array:
        """Return the nodes of the first tests."""
        return self._nodes[: self._ends[size - 1]]

    def _intervention(self, size: int) -> tuple[Intervention, Array]:
        """The intervention on the first tests, and whether it might change each row."""
        if size not in self._known:
            intervention = Intervention.at(self.engine.plan, self.nodes(size))
            changeable = np.zeros(self.sample.n_rows, dtype=np.bool_)
            start = 0
            for block, outcomes in self.engine.blocks:
                changeable[start + counting.changeable_rows(outcomes, intervention)[1]] = True
                start += len(block)
            while self._known and (len(self._known) + 1) * intervention.bytes > MAX_BYTES:
                del self._known[next(iter(self._known))]
            self._known[size] = intervention, changeable
        return self._known[size]

    def changed(self, size: int, rows: Array, others: Array) -> Array:
        """Walk the pairs through the trees."""
        intervention, changeable = self._intervention(size)
        changed = np.zeros(len(rows), dtype=np.bool_)
        chosen = np.flatnonzero(changeable[rows])
        if len(chosen):
            changed[chosen] = changed_pairs(self.engine, intervention, rows[chosen], others[chosen])
        return changed

    def exact(self, size: int) -> float | None:
        """Return the influence of a single test."""
        if size > 1:
            return None
        return self.engine.share_of(self.engine.count(Target("test", self.nodes(1))))

    def codes(self, index: int) -> Array:
        """Return whether the test holds in each row, as a number."""
        node = self.engine.plan.nodes_of_test(int(self.tests[index]))[0]
        column, first, count = self._ranges[node]
        codes = self.engine.codes[:, column] - first
        return np.asarray((codes >= 0) & (codes < count), dtype=np.intp)

    @cached_property
    def _ranges(self) -> Array:
        return self.engine.plan.code_ranges.nodes[:, :3]

    def work(self, size: int) -> int:
        """Rows that might change, times affected trees, times the length of a walk."""
        intervention, changeable = self._intervention(size)
        rows = int(np.count_nonzero(changeable))
        return (rows + OVERHEAD) * len(intervention.trees) * STEPS

    def bound(self, size: int) -> float:
        """Return the share of rows whose margin the tests can overcome."""
        return self.engine.share(self._intervention(size)[1])
