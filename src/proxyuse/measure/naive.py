"""The definition written out: every measure by evaluating the program itself.

With k distinct values of the computation p1 and a context p2 of m nodes above it, influence
costs O(k n m): for each distinct value v, its mass times the mass of the rows for which p2 says
something else with v in place of p1. That is the sum over all pairs of rows, with equal
values of p1 taken together. Values of all sub-terms are kept: O(n) memory for each node.

The engine is made for one program and one population and answers questions about positions. It
does not know which questions are worth asking.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from types import ModuleType
from typing import Any, Self

import numpy as np

from proxyuse.lang.evaluate import (
    Array,
    Values,
    Vocabulary,
    evaluate,
    evaluate_all,
    truth_of,
)
from proxyuse.lang.nodes import Const, Ite, Term, Var, children
from proxyuse.lang.positions import Spot
from proxyuse.measure.association import Association, association_of_values, needs_values
from proxyuse.measure.effects import Effects, Tries, effects_of
from proxyuse.measure.engine import Way
from proxyuse.measure.influence import Influence, QuantitativeInputInfluence, Sampling
from proxyuse.measure.movable import Movable
from proxyuse.measure.row_sets import RowSets
from proxyuse.measure.support import BINS, MAX_SUPPORT, Support, cut, support_of, taken_together
from proxyuse.measure.tables import JointTable, joint_masses, labels_of
from proxyuse.population import Population
from proxyuse.program import Frame, Program


def _quiet(steps: int) -> None:
    """Report no progress."""


class NaiveEngine:
    """Measures of one program on one population.

    Parameters
    ----------
    program, population
        The population must hold the program's variables.
    influence : the loss that influence is the mean of.
    sampling : how to sample pairs of rows; None computes influence exactly.
    max_support, bins : when and how long lists of numbers are cut into bins.
    tick : called often during long work with how many measurements are done since the last call;
        may raise to stop it.
    threads : how many threads may count at the same time.
    compiled : whether to count with compiled loops; None, where it pays.
    vocabulary : numbers for categories, where outputs of several programs are to be compared.

    Examples
    --------
    >>> program = Program.parse("ite(x <= 1, 0, 1)")
    >>> population = Population.build({"x": [1, 2, 3, 4], "z": list("aabb")}, protected="z")
    >>> engine = NaiveEngine(program, population)
    >>> engine.influence([Spot(1)]), engine.reach([Spot(1)])
    (0.375, 1.0)
    """

    def __init__(
        self,
        program: Program,
        population: Population,
        *,
        influence: Influence | None = None,
        sampling: Sampling | None = None,
        max_support: int = MAX_SUPPORT,
        bins: int | None = BINS,
        tick: Callable[[int], None] = _quiet,
        threads: int = 1,
        compiled: bool | None = None,
        vocabulary: Vocabulary | None = None,
    ) -> None:
        self._options: dict[str, Any] = {
            "influence": influence, "sampling": sampling, "max_support": max_support,
            "bins": bins, "tick": tick, "threads": threads, "compiled": compiled,
        }  # fmt: skip
        self.program = program
        self.threads = threads
        self._compiled = compiled
        self.points = program.points
        self.population = population
        self.n_rows = population.n_rows
        self.weights = population.weights
        self.total = population.total
        self._loss: Influence = influence or QuantitativeInputInfluence()
        self._max_support = max_support
        self._bins = bins
        self._tick = tick
        columns = (population.columns[name] for name in program.variables)
        self.frame = Frame(columns, vocabulary)
        self.frame.check_program(program)
        self.vocabulary = self.frame.vocabulary
        self.ways: Counter[Way] = Counter()
        self._reached: dict[int, Array] = {0: np.ones(self.n_rows, dtype=np.bool_)}
        self._pairs = sampling.draw(self.weights) if sampling else None
        self._supports: dict[str, Support] = {}
        self.binned: set[Term] = set()
        self.long: set[Term] = set()
        self._hole = Var("u" + "'" * (1 + max(map(len, program.inputs), default=0)))
        self.protected = [self._protected(z.column) for z in population.protected]
        self._names = [
            (z.name, labels_of(support, frame.vocabulary))
            for z, (frame, support) in zip(population.protected, self.protected, strict=True)
        ]

    def __getstate__(self) -> dict[str, Any]:
        """What is kept in a file or a copy: not the loops, which are code."""
        return {k: v for k, v in self.__dict__.items() if not isinstance(v, ModuleType)}

    def of(self, program: Program) -> Self:
        """The same engine for another program on the same population."""
        return type(self)(program, self.population, vocabulary=self.vocabulary, **self._options)

    def on(self, population: Population) -> Self:
        """The same engine for the same program on another population."""
        return type(self)(self.program, population, **self._options)

    @cached_property
    def _values(self) -> Values:
        """The values of every node object of the program."""
        return evaluate_all(self.program.term, self.frame.arrays, self.vocabulary)

    @cached_property
    def _scale(self) -> float:
        with np.errstate(all="ignore"):
            actual = self._full(self._values[id(self.program.term)])
            return self._loss.scale(actual, self.weights)

    def _full(self, values: Array) -> Array:
        return np.broadcast_to(values, (self.n_rows, *values.shape[1:]))

    def _protected(self, column: object) -> tuple[Frame, Support]:
        frame = Frame([column])  # type: ignore[list-item]
        (values,) = frame.arrays.values()
        support = support_of(values, self.n_rows)
        return frame, cut(support, self.weights, self._bins, self._max_support)

    def values(self, term: Term) -> Array:
        """What a term computes, on all rows."""
        if isinstance(term, Var):
            return self.frame.arrays[term.name]
        return self._full(evaluate(term, self.frame.arrays, self.vocabulary, self._values))

    def support(self, term: Term) -> Support:
        """The distinct values of a term, not cut; those of variables are kept."""
        if not isinstance(term, Var):
            return support_of(self.values(term), self.n_rows)
        if term.name not in self._supports:
            self._supports[term.name] = support_of(self.values(term), self.n_rows)
        return self._supports[term.name]

    def association_support(self, term: Term) -> Support:
        """The distinct values of a term; long numbers are cut into bins."""
        return cut(self.support(term), self.weights, self._bins, self._max_support)

    @property
    def bins(self) -> int | None:
        """Into how many bins association puts long lists of numbers."""
        return self._bins

    @property
    def max_support(self) -> int:
        """The longest list of numbers that is not put into bins."""
        return self._max_support

    @property
    def protected_names(self) -> tuple[str, ...]:
        """The protected attributes."""
        return tuple(name for name, _ in self._names)

    def expect(self, terms: Sequence[Term]) -> None:
        """Influence will be asked for these computations only; nothing is prepared for others."""

    def associations(self, terms: Sequence[Term], measure: Association) -> Array:
        """The association of each computation with each protected attribute."""
        found = np.empty((len(terms), len(self._names)))
        for place, term in enumerate(terms):
            self._tick(1)
            if needs_values(measure):
                found[place] = self._by_values(measure, *self.valued(term))
            else:
                found[place] = [measure(table.masses) for table in self.tables(term)]
        return found

    def valued(self, term: Term) -> tuple[Array, Sequence[Array]]:
        """A term's values, not cut, and their masses with each protected attribute."""
        support = self.support(term)
        return support.values, joint_masses(support, [z for _, z in self.protected], self.weights)

    def _by_values(self, measure: Association, values: Array, tables: Sequence[Array]) -> Array:
        """The associations of a measure that looks at values."""
        others = [z.middles for _, z in self.protected]
        pairs = zip(tables, others, strict=True)
        return np.array([association_of_values(measure, t, values, z) for t, z in pairs])

    def influences(self, spots: Sequence[Spot]) -> list[float]:
        """The influence of what stands at each position, through that position alone."""
        found = []
        for spot in spots:
            found.append(self.influence([spot]))
            self._tick(1)
        return found

    def reaches(self, spots: Sequence[Spot]) -> list[float]:
        """The share of rows that evaluate each position."""
        return [self.reach([spot]) for spot in spots]

    def masses(self, terms: Sequence[Term]) -> list[list[Array]]:
        """For each computation the masses by value, or bin, with each protected attribute."""
        return [[table.masses for table in self.tables(term)] for term in terms]

    def row_sets(self, terms: Sequence[Term]) -> Iterator[tuple[int, RowSets]]:
        """Which rows have which value, or bin, of each computation, in any order, with its place.

        One is made after the other, so few of them need to be in memory.
        """
        for place, term in enumerate(terms):
            self._tick(0)
            support = self.association_support(term)
            yield place, RowSets.of(support.codes, len(support))

    def tables(self, term: Term) -> list[JointTable]:
        """The joint table with each protected attribute; long numbers are cut into bins."""
        support = self.association_support(term)
        tables = joint_masses(support, [z for _, z in self.protected], self.weights)
        return self._tables_of(term, support, tables)

    def _tables_of(self, term: Term, support: Support, tables: Sequence[Array]) -> list[JointTable]:
        """The masses of a term's values, or bins, as joint tables; notes if there are many."""
        if support.binned:
            self.binned.add(term)
        elif len(support) > self._max_support:
            self.long.add(term)
        order = np.arange(len(support))
        if support.values.dtype == np.int32:  # categories in order of their words
            order = np.argsort(labels_of(support, self.vocabulary))
        short = Support(
            np.empty(0, dtype=np.intp),
            support.values[order],
            None if support.upper is None else support.upper[order],
        )
        return [
            JointTable(masses[order], name, columns, short, self.vocabulary)
            for masses, (name, columns) in zip(tables, self._names, strict=True)
        ]

    def association_of(self, values: Array, measure: Association) -> Array:
        """The association of any values, one a row, with each protected attribute."""
        support = support_of(self._full(values), self.n_rows)
        others = [z for _, z in self.protected]
        if needs_values(measure):
            tables = joint_masses(support, others, self.weights)
            return self._by_values(measure, support.values, tables)
        support = cut(support, self.weights, self._bins, self._max_support)
        return np.array([measure(t) for t in joint_masses(support, others, self.weights)])

    def reach(self, spots: Sequence[Spot]) -> float:
        """The share of rows that evaluate at least one of the positions."""
        reached = np.zeros(self.n_rows, dtype=np.bool_)
        for spot in spots:
            reached = reached | self.reached(spot.point)
        return float(self.weights[reached].sum() / self.total)

    def reached(self, point: int) -> Array:
        """Which rows evaluate a point."""
        path = []
        while point not in self._reached:
            path.append(point)
            point = self.points.parents[point]
        for child in reversed(path):
            rows = self._reached[point]
            above, step = self.points.terms[point], self.points.steps[child]
            if isinstance(above, Ite) and step > 0:
                guard = truth_of(self.values(above.guard))
                rows = rows & (guard if step == 1 else ~guard)
            self._reached[child] = rows
            point = child
        return self._reached[point]

    def influence(self, spots: Sequence[Spot]) -> float:
        """The influence of one computation through disjoint positions at which it stands."""
        self.ways[Way.PROGRAM if self._pairs is None else Way.PAIRS] += 1
        if self._scale == 0:
            return 0.0
        values = self.values(self.points.term_at(spots[0]))
        if self._pairs is not None:
            context = self.points.replace(dict.fromkeys(spots, self._hole))
            return self._sampled(context, values, *self._pairs)
        pairs = self._tries(spots, values).pairs(self.weights)
        return pairs / (self.total * self.total) / self._scale

    def effects(self, spots: Sequence[Spot]) -> Effects | None:
        """The influence of one computation row by row; see `Effects`.

        It costs about what `influence` does. None where influence is sampled, or is the mean of
        something else than whether the output changes.
        """
        if not self._counts_changes:
            return None
        values = self.values(self.points.term_at(spots[0]))
        return effects_of(self._tries(spots, values), self.weights, self.total)

    @property
    def _counts_changes(self) -> bool:
        """Whether influence is the exact share of pairs of rows that change the output."""
        return self._pairs is None and isinstance(self._loss, QuantitativeInputInfluence)

    def _tries(self, spots: Sequence[Spot], values: Array) -> Tries:
        """Some disjoint positions with one value of each kind."""
        support = support_of(values, self.n_rows, signed_zero=True)
        kinds = self.kinds_of_value(spots, support)
        first = np.unique(kinds, return_index=True)[1]
        context = self.points.replace(dict.fromkeys(spots, self._hole))
        actual = self._with(context, values)

        def losses(value: int) -> Array:
            self._tick(0)
            return self._losses(actual, self._with(context, support.values[value : value + 1]))

        masses = np.bincount(kinds, support.masses(self.weights))
        return Tries(np.arange(self.n_rows), kinds[support.codes], masses, map(losses, first))

    def kinds_of_value(self, spots: Sequence[Spot], support: Support) -> Array:
        """A number for each distinct value; values with equal numbers act alike."""
        return np.arange(len(support))

    def values_with(self, new: Mapping[Spot, Const], point: int = 0) -> Array:
        """What stands at a point on all rows, once constants are put at some positions."""
        built = self.points.rebuilt(new)
        term = built.get(point, self.points.terms[point])
        return self._full(evaluate(term, self.frame.arrays, self.vocabulary, self._values))

    def _with(self, context: Term, values: Array) -> Array:
        columns = {**self.frame.arrays, self._hole.name: values}
        return self._full(evaluate(context, columns, self.vocabulary, self._values))

    def _losses(self, actual: Array, changed: Array) -> Array:
        with np.errstate(all="ignore"):
            return np.broadcast_to(self._loss.loss(actual, changed), (self.n_rows,))

    def _sampled(self, context: Term, values: Array, rows: Array, others: Array) -> float:
        columns = {name: column[rows] for name, column in self.frame.arrays.items()}

        def output(hole: Array) -> Array:
            found = evaluate(context, {**columns, self._hole.name: hole}, self.vocabulary)
            return np.broadcast_to(found, (len(rows), *found.shape[1:]))

        self._tick(0)
        with np.errstate(all="ignore"):
            losses = self._loss.loss(output(values[rows]), output(values[others]))
        return float(np.mean(losses)) / self._scale

    @cached_property
    def _movable(self) -> Movable:
        columns, known = self.frame.arrays, self._values
        return Movable(self.points, columns, self.vocabulary, known, self.weights, self._hole)

    def occurrence_bound(self, spots: Sequence[Spot]) -> float:
        """An upper bound on the influence of one computation through any set of its positions."""
        values = self.values(self.points.term_at(spots[0]))
        moved = self._movable.pairs(spots, values, self._tick)
        return self._bound(moved / (self.total * self.total))

    def operands_bound(self, operator: int, operands: Sequence[int]) -> float:
        """An upper bound on the influence of any subset of some operands of one operator."""
        values = [self.values(part) for part in children(self.points.terms[operator])]
        return self._bound(self._movable.rows(operator, operands, values) / self.total)

    def _bound(self, movable: float) -> float:
        """What the share of movable pairs or rows says of a loss that may pass 1: 0 or nothing."""
        return movable if self._loss.bounded or movable == 0 else math.inf

    def operands_tables(self, operator: int, operands: Sequence[int]) -> list[Array]:
        """The masses of all operands' values, taken together, with each protected attribute."""
        below = self.points.below(operator)
        parts = (self.support(self.points.terms[below[step]]) for step in operands)
        others = [z for _, z in self.protected]
        return joint_masses(taken_together(parts, self.n_rows), others, self.weights)
