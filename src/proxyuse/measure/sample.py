"""One program on one population, as arrays.

A `Sample` evaluates terms and knows the protected attributes, the weights and the measurement
options. Engines, joint tables and repairs all read from it. It measures nothing itself.

Values are computed on demand and cached for the nodes of the program, up to `MAX_BYTES`. An engine
that computes a large part of the program faster, such as a sum of trees, can put its values into
`Sample.known`, or a function that computes them into `Sample.supplies`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from proxyuse.data.columns import Column
from proxyuse.data.population import Population
from proxyuse.lang.evaluate import Array, Values, Vocabulary, evaluate, evaluate_all, truth_of
from proxyuse.lang.nodes import Const, Ite, Term, Var, children, postorder
from proxyuse.lang.packed import PackedIte
from proxyuse.lang.positions import Site
from proxyuse.measure.association.support import Support, cut, support_of
from proxyuse.measure.fixed_point import fixed_point, whole_masses
from proxyuse.measure.influence import QuantitativeInputInfluence, counts_pairs, draw_pairs
from proxyuse.program import Frame, Program
from proxyuse.settings import (
    BEST_CUT,
    CUT_GROUPS,
    PROTECTED_BINS,
    PROTECTED_VALUES,
    Bins,
    Influence,
    Sampling,
    most_values,
)

MAX_BYTES = 1 << 28
"""Memory limit for cached values of the program's nodes."""

MAX_REACHED = 1 << 10
"""The number of points whose reaching rows are cached, unless a program is deeper."""

MANY_ROWS = 1 << 12
"""With at least this many rows, compiled loops save more time than loading them takes."""

T = TypeVar("T")


def _no_progress(steps: int) -> None:
    """Ignore progress."""


class Sample:
    """A program and the rows it is measured on.

    Parameters
    ----------
    program, population
        The population must hold the program's variables.
    influence : the loss whose mean is the influence.
    sampling : how to draw pairs of rows; None computes influence over all pairs.
    max_support, bins : how to measure the association of numbers with more than `max_support`
        distinct values; see `settings`. By default `max_support` depends on the number of rows.
    tick : called often during long work with the number of measurements finished since the last
        call; may raise to stop the work.
    threads : the number of threads that may count at the same time.
    vocabulary : the codes of categories, if the outputs of several programs are compared.
    settle_at : a threshold of influence. An influence that takes too long to compute may be
        estimated if its whole interval lies on one side of the threshold. None computes all
        influences exactly.

    Attributes
    ----------
    weights : the weights of the rows in fixed point: their sums are exact in any order.
    loss : the loss whose mean is the influence.
    pairs : the drawn rows X and X', or None.
    protected : for each protected attribute its column as a frame, and its (binned) support.
    known : values by the identity of the node object.
    hole : a variable that the program does not use, and whose name starts no other name.

    Examples
    --------
    >>> program = Program.parse("ite(x <= 1, 0, 1)")
    >>> people = Population.build({"x": [1, 2, 3, 4], "z": list("aabb")}, protected="z")
    >>> sample = Sample(program, people)
    >>> sample.outputs().tolist(), sample.protected_names
    ([0.0, 1.0, 1.0, 1.0], ('z',))
    """

    def __init__(
        self,
        program: Program,
        population: Population,
        *,
        influence: Influence | None = None,
        sampling: Sampling | None = None,
        max_support: int | None = None,
        bins: Bins = BEST_CUT,
        tick: Callable[[int], None] = _no_progress,
        threads: int = 1,
        vocabulary: Vocabulary | None = None,
        settle_at: float | None = None,
    ) -> None:
        # Parts of the rows are measured in the same way as all rows.
        max_support = most_values(max_support, population.n_rows)
        self._options: dict[str, Any] = {
            "influence": influence, "sampling": sampling, "max_support": max_support,
            "bins": bins, "tick": tick, "threads": threads, "settle_at": settle_at,
        }  # fmt: skip
        self.program = program
        self.points = program.points
        self.population = population
        self.n_rows = population.n_rows
        self.weights = fixed_point(population.weights)
        self.total = float(self.weights.sum())
        self.loss: Influence = influence or QuantitativeInputInfluence()
        self.pairs = draw_pairs(sampling, population.weights) if sampling else None
        self.max_support = max_support
        self.bins = bins
        self.tick = tick
        self.threads = threads
        self.settle_at = settle_at
        columns = (population.columns[name] for name in program.variables)
        self.frame = Frame(columns, vocabulary)
        self.frame.check_program(program)
        self.vocabulary = self.frame.vocabulary
        self.protected = [self._attribute(z.column) for z in population.protected]
        self.protected_names = tuple(z.name for z in population.protected)
        self.hole = Var("u" + "'" * (1 + max(map(len, program.inputs), default=0)))
        self._clear()

    def _clear(self) -> None:
        """Clear all computed values."""
        self.known: Values = {}
        self._recent: dict[int, None] = {}  # keys of `known` that were evaluated here, oldest first
        self._bytes = 0
        self._reached: dict[int, Array] = {}
        self._most_reached = MAX_REACHED
        self._supports: dict[str, Support] = {}
        self._shared: dict[type, Any] = {}
        self.supplies: dict[int, Callable[[], Array]] = {}

    def _supply(self) -> None:
        """Fill in the values that an engine computes for parts of the program."""
        while self.supplies:
            key, compute = self.supplies.popitem()
            self.known[key] = compute()

    def __getstate__(self) -> dict[str, Any]:
        """Drop computed values: they are large and refer to nodes by id."""
        computed = {
            "known", "_recent", "_bytes", "_reached", "_supports", "_shared", "_own", "supplies",
            "points",
        }  # fmt: skip
        return {name: value for name, value in self.__dict__.items() if name not in computed}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.points = self.program.points
        self._clear()

    def of(self, program: Program) -> Sample:
        """Return the sample of another program on the same population, with the same codes."""
        return Sample(program, self.population, vocabulary=self.vocabulary, **self._options)

    def on(self, population: Population) -> Sample:
        """Return the sample of the same program on another population."""
        return Sample(self.program, population, **self._options)

    def shared(self, kind: Callable[[Sample], T]) -> T:
        """Return the shared instance of a class for this sample, so that engines share work."""
        key: Any = kind
        if key not in self._shared:
            self._shared[key] = kind(self)
        return self._shared[key]  # type: ignore[no-any-return]

    def _attribute(self, column: Column) -> tuple[Frame, Support]:
        frame = Frame([column])
        (values,) = frame.arrays.values()
        support = support_of(values, self.n_rows)
        return frame, cut(support, self.weights, PROTECTED_BINS, PROTECTED_VALUES)

    # Properties

    @property
    def best_cut(self) -> bool:
        """Whether numbers with many values are measured by their best cut."""
        return self.bins == BEST_CUT

    @property
    def groups(self) -> int | None:
        """The number of groups for numbers with many values; None keeps their values."""
        return CUT_GROUPS if isinstance(self.bins, str) else self.bins

    @property
    def attributes(self) -> list[Support]:
        """The supports of the protected attributes."""
        return [support for _, support in self.protected]

    @cached_property
    def unit_weights(self) -> bool:
        """Whether every row has weight 1."""
        return bool((self.weights == 1).all())

    @cached_property
    def masses(self) -> Array:
        """The weights as integers: multiples of one power of two."""
        return whole_masses(self.population.weights)[0]

    @property
    def many_rows(self) -> bool:
        """Whether compiled loops are worth loading."""
        return self.n_rows >= MANY_ROWS

    @property
    def counts_changes(self) -> bool:
        """Whether influence is the exact share of pairs of rows that change the output."""
        return self.pairs is None and isinstance(self.loss, QuantitativeInputInfluence)

    @property
    def counts_pairs(self) -> bool:
        """Whether influence is the exact share of pairs of rows with some property.

        The property is that the output changes, or that it moves by more than a threshold.
        """
        return self.pairs is None and counts_pairs(self.loss)

    @cached_property
    def scale(self) -> float:
        """The number that divides the mean loss."""
        with np.errstate(all="ignore"):
            return self.loss.scale(self.outputs(), self.weights)

    # Values

    @cached_property
    def _own(self) -> frozenset[int]:
        """The identities of the program's node objects and of its packed trees' columns."""
        nodes = list(postorder(self.program.term, enter_packed=False))
        forests = (node.forest for node in nodes if isinstance(node, PackedIte))
        return frozenset(map(id, (*nodes, *forests)))

    def _owns(self, term: Term) -> bool:
        """Return whether a node object belongs to the program, which keeps it alive."""
        return id(term.forest if isinstance(term, PackedIte) else term) in self._own

    def full(self, values: Array) -> Array:
        """Return one value per row, without copying a constant."""
        return np.broadcast_to(values, (self.n_rows, *values.shape[1:]))

    def values(self, term: Term) -> Array:
        """Return the value of a term in each row.

        Costs one array operation per node without a cached value. Values of the program's nodes
        are cached.
        """
        return self.full(self.value(term))

    def value(self, term: Term) -> Array:
        """Return the value of a term in each row, or a single entry if the term is constant."""
        if isinstance(term, Var):
            return self.frame.arrays[term.name]
        key = id(term)
        if key in self.known:
            if key in self._recent:
                self._recent[key] = self._recent.pop(key)
            return self.known[key]
        if self.supplies:
            self._supply()
            return self.value(term)
        if not self._owns(term):
            return evaluate(term, self.frame.arrays, self.vocabulary, self.inside(term))
        inputs = (self.frame.arrays, self.vocabulary, self.known)
        if 8 * self.n_rows * term.points <= MAX_BYTES - self._bytes:
            for part, values in evaluate_all(term, *inputs).items():
                self._keep(part, values)
        else:
            self._keep(key, evaluate(term, *inputs))
        return self.known[key]

    def _keep(self, key: int, values: Array) -> None:
        self.known[key] = values
        self._recent[key] = None
        self._bytes += values.nbytes
        while self._bytes > MAX_BYTES and len(self._recent) > 1:
            oldest = next(iter(self._recent))
            del self._recent[oldest]
            self._bytes -= self.known.pop(oldest).nbytes

    def inside(self, term: Term) -> Values:
        """Return the values of the largest unchanged parts of a changed term."""
        values: Values = {}
        stack = [term]
        while stack:
            part = stack.pop()
            if self._owns(part):
                values[id(part)] = self.value(part)
            else:
                stack.extend(children(part))
        return values

    def outputs(self) -> Array:
        """Return the program's output in each row."""
        return self.values(self.program.term)

    def values_with(self, new: Mapping[Site, Const], point: int = 0) -> Array:
        """Return the values at a point if constants replace the terms at some positions."""
        term = self.points.rebuilt(new).get(point, self.points.terms[point])
        return self.values(term)

    # Supports and reach

    def support(self, term: Term) -> Support:
        """Return the distinct values of a term, not grouped; cached for variables."""
        if not isinstance(term, Var):
            return support_of(self.values(term), self.n_rows)
        if term.name not in self._supports:
            self._supports[term.name] = support_of(self.values(term), self.n_rows)
        return self._supports[term.name]

    def association_supports(self, term: Term) -> list[Support]:
        """Return the support of a term, with numbers grouped if there are too many distinct ones.

        A vector that is measured by its best cut has one support per coordinate.
        """
        values = self.values(term)
        if self.is_cut_vector(values):
            each = (support_of(column, self.n_rows) for column in values.T)
            return [cut(support, self.weights, CUT_GROUPS, 0) for support in each]
        return [cut(self.support(term), self.weights, self.groups, self.max_support)]

    def is_cut_vector(self, values: Array) -> bool:
        """Return whether vectors, one per row, are measured by the best cut of a coordinate."""
        if not self.best_cut or values.ndim == 1:
            return False
        if any(self._is_long(column) for column in values.T):
            return True
        return len(support_of(values, self.n_rows)) > self.max_support

    def _is_long(self, numbers: Array) -> bool:
        """Return whether there are more than `max_support` numbers."""
        some = numbers[: 4 * self.max_support]  # they usually tell
        return any(len(np.unique(part)) > self.max_support for part in (some, numbers))

    def reached(self, point: int) -> Array:
        """Return which rows evaluate a point; only `ite` skips one of its branches."""
        if len(self._reached) > self._most_reached:
            self._forget_reached(point)
        self._reached.setdefault(0, np.ones(self.n_rows, dtype=np.bool_))
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

    def _forget_reached(self, point: int) -> None:
        """Keep only the points above a point, so that a deep program is not walked again."""
        kept: dict[int, Array] = {}
        while point >= 0:
            if point in self._reached:
                kept[point] = self._reached[point]
            point = self.points.parents[point]
        self._reached = kept
        self._most_reached = max(MAX_REACHED, 2 * len(kept))
