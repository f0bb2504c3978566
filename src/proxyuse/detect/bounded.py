"""Decompositions that were not measured, because a bound shows that they are not witnesses.

There can be millions, so they are stored in columns. Objects are created on demand.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np

from proxyuse.lang.evaluate import Array
from proxyuse.lang.nodes import Term, variables
from proxyuse.lang.positions import Site, SiteColumn
from proxyuse.measure.forests.plan import ForestPlan
from proxyuse.program import Program


@dataclass(frozen=True, slots=True, eq=False)
class BoundedDecomposition:
    """A computation at one position, with an upper bound on its influence.

    Attributes
    ----------
    expression, site : the computation and its position.
    reach : the share of rows that evaluate it.
    bound : an upper bound on its influence.
    """

    program: Program
    expression: Term
    site: Site
    reach: float
    bound: float

    @property
    def term(self) -> str:
        """The beginning of the computation's text."""
        return self.program.brief(self.expression)


class Bounded(Sequence[BoundedDecomposition]):
    """Every subtree and every test of a forest at its position, with its bound.

    Subtrees come first, then tests, each in order of the trees. Measured ones are included.
    """

    def __init__(
        self,
        program: Program,
        plan: ForestPlan,
        reach: Array,
        subtree_bounds: Array,
        test_bounds: Array,
        test_associations: Array,
    ) -> None:
        self.program = program
        self._plan = plan
        self.reach = reach
        self.subtree_bounds = subtree_bounds
        self.test_bounds = test_bounds
        self.test_associations = test_associations

    @property
    def computations(self) -> int:
        """The number of distinct tests plus the largest possible number of distinct subtrees."""
        return len(self.test_associations) + len(self.reach)

    def tests_on(self, column: str) -> Array:
        """The numbers of the distinct tests that read a column."""
        tests = self._plan.forest.tests
        shapes = [i for i, shape in enumerate(tests.shapes) if column in variables(shape)]
        return np.flatnonzero(np.isin(tests.shape, shapes))

    def test(self, number: int) -> tuple[Term, SiteColumn]:
        """A distinct test and all its positions."""
        points = self._plan.points_of(self._plan.nodes_of_test(number))
        return self._plan.forest.tests.term(number), SiteColumn(np.sort(points) + 1)

    def __len__(self) -> int:
        return 2 * len(self.reach)

    @overload
    def __getitem__(self, index: int) -> BoundedDecomposition: ...

    @overload
    def __getitem__(self, index: slice) -> list[BoundedDecomposition]: ...

    def __getitem__(self, index: int | slice) -> BoundedDecomposition | list[BoundedDecomposition]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        test, node = divmod(range(len(self))[index], len(self.reach))
        forest = self._plan.forest
        term = forest.tests.term(int(forest.test[node])) if test else forest.term(node)
        bounds = self.test_bounds if test else self.subtree_bounds
        return BoundedDecomposition(
            self.program,
            term,
            Site(self._plan.point_of(node) + test),
            float(self.reach[node]),
            float(bounds[node]),
        )

    def __repr__(self) -> str:
        return f"<{len(self)} bounded decompositions>"
