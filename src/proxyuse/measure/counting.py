"""Measures from counts of blocks of rows, in any thread or process.

A *plan* is built from a program and a question about it, and can be pickled. ``plan.count(block)``
counts some rows. The counts of different blocks add up with ``+``, in any order, to the same bytes.
``plan.finish(counts)`` turns the counts of all rows into one of three results: `Measures`; the plan
of a second pass, if the question depends on the distribution of a value; or None, if counting
cannot answer the question. Threads, processes and data larger than memory differ only in how they
map ``plan.count`` over blocks. `measured` is the loop for one process.

Weights become masses in fixed point (`whole_masses`), so sums do not depend on their order.

`contexts/counting.py` contains the plans for single positions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import add
from typing import Any, NamedTuple, Protocol, Self, TypeVar

import numpy as np

from proxyuse.data.columns import Column
from proxyuse.data.population import Population
from proxyuse.lang.evaluate import Array, Vocabulary
from proxyuse.lang.nodes import Term
from proxyuse.lang.positions import Points
from proxyuse.measure.fixed_point import whole_masses
from proxyuse.measure.forests.counting import product
from proxyuse.measure.influence import QuantitativeInputInfluence
from proxyuse.measure.parallel import mapped
from proxyuse.measure.sample import Sample
from proxyuse.program import Program
from proxyuse.settings import Influence

__all__ = [
    "Block", "Counts", "Measures", "Plan", "Rows", "Variances", "blocks_of", "measured", "product",
    "whole_masses",
]  # fmt: skip

T = TypeVar("T")


class Rows(Protocol):
    """One program on some rows, as `contexts` reads it. `Sample` implements this protocol."""

    n_rows: int

    @property
    def loss(self) -> Influence:
        """The loss whose mean is the influence."""
        ...

    @property
    def points(self) -> Points:
        """The program's points."""
        ...

    @property
    def vocabulary(self) -> Vocabulary:
        """The codes of categories in these rows."""
        ...

    def value(self, term: Term) -> Array:
        """Return the value of a term in each row, or a single entry if the term is constant."""
        ...

    def values(self, term: Term) -> Array:
        """Return the value of a term in each row."""
        ...

    def reached(self, point: int) -> Array:
        """Return which rows evaluate a point."""
        ...

    def shared(self, kind: Callable[[Any], T]) -> T:
        """Return the shared instance of a class for these rows."""
        ...


@dataclass(slots=True, eq=False)
class Block:
    """Some rows of a table, which can be counted in another process.

    Attributes
    ----------
    columns : the program's inputs.
    masses : the mass of each row, an integer.
    """

    columns: Mapping[str, Column]
    masses: Array
    _sample: Sample | None = field(default=None, repr=False)

    def __len__(self) -> int:
        return len(self.masses)

    def __reduce__(self) -> tuple[type[Block], tuple[Any, ...]]:
        return Block, (self.columns, self.masses)

    def rows(self, program: Program, influence: Influence | None = None) -> Sample:
        """Return the program on these rows; the values of the last program are cached."""
        known, influence = self._sample, influence or QuantitativeInputInfluence()
        if known is None or known.program is not program or known.loss != influence:
            population = Population(self.columns, self.masses.astype(np.float64), ())
            self._sample = known = Sample(program, population, influence=influence)
        return known


def blocks_of(population: Population, variables: Sequence[str], size: int) -> Iterator[Block]:
    """Yield the rows of a population in blocks of `size` rows."""
    masses, _ = whole_masses(population.weights)
    for start in range(0, population.n_rows, size):
        rows = np.arange(start, min(start + size, population.n_rows))
        columns = {name: population.columns[name].take(rows) for name in variables}
        yield Block(columns, masses[rows])


class Variances(NamedTuple):
    """The sampling variance of an influence.

    It is the variance of the weighted mean of ``changed + changing`` (see `row_effects`).

    Attributes
    ----------
    sampling : the variance if each row is one observation, regardless of its mass.
    counts : the variance if a row of mass m is m observations.
    """

    sampling: float
    counts: float


class Measures(NamedTuple):
    """The measures of a computation, from the counts of all rows.

    Attributes
    ----------
    influence, reach : see `proxyuse.measure.engine.Engine`.
    total, squares, heaviest : the sum of all masses, the sum of their squares, and the largest
        mass. Influence bounds compute the effective sample size from them. Without variances, only
        the total is counted.
    variances : the variances of the influence, if the plan requests them.
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
        """Return the counts of both sets of rows."""
        ...


class Plan(Protocol):
    """A question about a program that counting can answer. Plans can be pickled."""

    def count(self, block: Block) -> Any:
        """Return the counts of some rows."""
        ...

    def finish(self, counts: Any) -> Measures | Plan | None:
        """Return the measures, the plan of another pass over all rows, or None to decline."""
        ...


def measured(plan: Plan, blocks: Sequence[Block], threads: int = 1) -> Measures | None:
    """Count all blocks, pass by pass, and return the measures.

    Examples
    --------
    >>> from proxyuse.lang.positions import Site
    >>> from proxyuse.measure.contexts.counting import PositionPlan
    >>> program = Program.parse("ite(2 * x + y > 7, 1, 0)")
    >>> data = {"x": [1, 2, 3, 4], "y": [2, 0, 2, 1], "z": list("aabb")}
    >>> people = Population.build(data, protected="z")
    >>> blocks = list(blocks_of(people, program.variables, size=3))
    >>> measured(PositionPlan(program, Site(1)), blocks).influence
    0.5
    """
    return followed(plan, lambda step: mapped(step.count, blocks, threads))


def followed(plan: Plan, count_all: Callable[[Any], Iterator[Any]]) -> Measures | None:
    """Follow a plan through its passes; `count_all` counts every block with one plan."""
    step: Measures | Plan | None = plan
    while step is not None and not isinstance(step, Measures):
        step = step.finish(reduce(add, count_all(step)))
    return step
