"""Counting that travels: measures from blocks of rows, wherever they are.

A *plan* is made from the program and a question about it. It can be pickled. ``plan.count(block)``
counts some rows; counts of different blocks add up with ``+``, in any order, to the same bytes.
``plan.finish(counts)`` turns the counts of all rows into `Measures`, or into the plan of a second
pass if the question needs to know the distribution of a value first, or into None if the question
cannot be answered by counting. Threads, processes and data larger than memory differ only in how
they map ``plan.count`` over blocks; `measured` is the loop for one process.

Weights are masses in fixed point (`whole_masses`), so that sums do not depend on their order.

`contexts/counting.py` has the plans for single positions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import add
from typing import Any, NamedTuple, Protocol, Self, TypeVar

import numpy as np

from proxyuse.columns import Column
from proxyuse.lang.evaluate import Array, Vocabulary
from proxyuse.lang.nodes import Term
from proxyuse.lang.positions import Points
from proxyuse.measure.forests.counting import product
from proxyuse.measure.masses import whole_masses
from proxyuse.measure.parallel import mapped
from proxyuse.measure.sample import Sample
from proxyuse.population import Population
from proxyuse.program import Program

__all__ = [
    "Block", "Counts", "Measures", "Plan", "Rows", "Variances", "blocks_of", "measured", "product",
    "whole_masses",
]  # fmt: skip

T = TypeVar("T")


class Rows(Protocol):
    """One program on some rows: what contexts read. A `Sample` is one."""

    n_rows: int

    @property
    def points(self) -> Points:
        """The program's points."""
        ...

    @property
    def vocabulary(self) -> Vocabulary:
        """The codes of categories in these rows."""
        ...

    def value(self, term: Term) -> Array:
        """The value of a term in each row, or a single entry if the term is constant."""
        ...

    def values(self, term: Term) -> Array:
        """The value of a term in each row."""
        ...

    def reached(self, point: int) -> Array:
        """Which rows evaluate a point."""
        ...

    def shared(self, kind: Callable[[Any], T]) -> T:
        """The one instance of a class for these rows."""
        ...


@dataclass(slots=True, eq=False)
class Block:
    """Some rows of a table, to be counted here or elsewhere.

    Attributes
    ----------
    columns : the program's inputs.
    masses : of each row, a whole number.
    """

    columns: Mapping[str, Column]
    masses: Array
    _sample: Sample | None = field(default=None, repr=False)

    def __len__(self) -> int:
        return len(self.masses)

    def __reduce__(self) -> tuple[type[Block], tuple[Any, ...]]:
        return Block, (self.columns, self.masses)

    def rows(self, program: Program) -> Sample:
        """The program on these rows; values computed for the last program are kept."""
        if self._sample is None or self._sample.program is not program:
            population = Population(self.columns, self.masses.astype(np.float64), ())
            self._sample = Sample(program, population)
        return self._sample


def blocks_of(population: Population, variables: Sequence[str], size: int) -> Iterator[Block]:
    """The rows of a population in blocks of a given size."""
    masses, _ = whole_masses(population.weights)
    for start in range(0, population.n_rows, size):
        rows = np.arange(start, min(start + size, population.n_rows))
        columns = {name: population.columns[name].take(rows) for name in variables}
        yield Block(columns, masses[rows])


class Variances(NamedTuple):
    """How much an influence varies from sample to sample: the variance of the weighted mean.

    It is that of ``changed + changing`` (see `proxyuse.measure.effects`).

    Attributes
    ----------
    sampling : if each row is one observation, however heavy.
    counts : if a row of mass m is m observations.
    """

    sampling: float
    counts: float


class Measures(NamedTuple):
    """What is known about a computation once all rows are counted.

    Attributes
    ----------
    influence, reach : see `proxyuse.measure.engine.Engine`.
    total, squares, heaviest : the sum of all masses, that of their squares, and the largest mass.
        Influence bounds need these to know how many observations the rows are worth. Without
        variances, only the total is counted.
    variances : of the influence, if the plan asks for them.
    """

    influence: float
    reach: float
    total: int
    squares: int = 0
    heaviest: int = 0
    variances: Variances | None = None


class Counts(Protocol):
    """Counts of some rows."""

    def __add__(self, other: Self, /) -> Self:
        """The counts of both sets of rows."""
        ...


class Plan(Protocol):
    """A question about a program, ready to be counted. Plans can be pickled."""

    def count(self, block: Block) -> Any:
        """The counts of some rows."""
        ...

    def finish(self, counts: Any) -> Measures | Plan | None:
        """The measures, or the plan of another pass over all rows; None declines."""
        ...


def measured(plan: Plan, blocks: Sequence[Block], threads: int = 1) -> Measures | None:
    """Count all blocks, pass by pass.

    Examples
    --------
    >>> from proxyuse.lang.positions import Spot
    >>> from proxyuse.measure.contexts.counting import PositionPlan
    >>> program = Program.parse("ite(2 * x + y > 7, 1, 0)")
    >>> data = {"x": [1, 2, 3, 4], "y": [2, 0, 2, 1], "z": list("aabb")}
    >>> people = Population.build(data, protected="z")
    >>> blocks = list(blocks_of(people, program.variables, size=3))
    >>> measured(PositionPlan(program, Spot(1)), blocks).influence
    0.5
    """
    return followed(plan, lambda step: mapped(step.count, blocks, threads))


def followed(plan: Plan, count_all: Callable[[Any], Iterator[Any]]) -> Measures | None:
    """Follow a plan through its passes; `count_all` counts every block with one plan."""
    step: Measures | Plan | None = plan
    while step is not None and not isinstance(step, Measures):
        step = step.finish(reduce(add, count_all(step)))
    return step
