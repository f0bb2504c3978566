"""Engines: who measures influence, reach and bounds, and in which order they are asked.

Each engine answers a question about a sample or declines with None. `ENGINES` is the whole list;
the first answer counts. Engines differ in speed and in what they answer, never in the answer.
Callers hold a `Measurement`, which asks them. Associations need no engine: see `joint_tables`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Protocol, TypeVar

from proxyuse.lang.evaluate import Array
from proxyuse.lang.nodes import Term
from proxyuse.lang.positions import Points, Spot
from proxyuse.measure.association import Association
from proxyuse.measure.contexts.engine import Contexts
from proxyuse.measure.distinct_values import DistinctValues, exact_work
from proxyuse.measure.drawing import DrawnInfluence
from proxyuse.measure.drawn_pairs import DrawnPairs
from proxyuse.measure.effects import Effects
from proxyuse.measure.forests.engine import ForestEngine
from proxyuse.measure.joint_tables import JointTables
from proxyuse.measure.sample import Sample
from proxyuse.measure.settled_pairs import SettledPairs
from proxyuse.measure.support import Support
from proxyuse.measure.tables import JointTable
from proxyuse.population import Population
from proxyuse.program import Frame, Program

T = TypeVar("T")


class Engine(Protocol):
    """Measures of one program on one population; every answer may be None, which declines.

    Attributes
    ----------
    method : how the engine measures influence, as a phrase for a note.
    compiled : whether the engine needs compiled loops, which take a second to load.
    """

    method: ClassVar[str]
    compiled: ClassVar[bool]

    @classmethod
    def of(cls, sample: Sample) -> Engine | None:
        """The engine for a sample, or None if it has nothing to say about it."""
        ...

    def influence(self, spots: Sequence[Spot]) -> float | None:
        """The influence of one computation through disjoint positions where it stands."""
        ...

    def influences(self, spots: Sequence[Spot]) -> list[float | None]:
        """The influence of the computation at each position, through that position alone."""
        ...

    def reach(self, spots: Sequence[Spot]) -> float | None:
        """The share of rows that evaluate at least one of the positions."""
        ...

    def reaches(self, spots: Sequence[Spot]) -> list[float | None]:
        """The share of rows that evaluate each position."""
        ...

    def effects(self, spots: Sequence[Spot]) -> Effects | None:
        """The influence of one computation, row by row; see `Effects`."""
        ...

    def occurrence_bound(self, spots: Sequence[Spot]) -> float | None:
        """An upper bound on the influence through any set of these disjoint positions."""
        ...

    def operands_bound(self, operator: int, operands: Sequence[int]) -> float | None:
        """An upper bound on the influence of any subset of some operands of one operator."""
        ...


ENGINES: tuple[type[Engine], ...] = (
    DrawnPairs, ForestEngine, Contexts, SettledPairs, DistinctValues,
)  # fmt: skip
"""All engines, in the order in which they are asked."""

_VALUE_BY_VALUE: tuple[type[Engine], ...] = (SettledPairs, DistinctValues)

CHEAP_WORK = 1 << 22
"""Work (see `exact_work`) up to which an influence is measured even if it is not needed."""

SMALL = 1 << 13
"""Rows times positions below which loading compiled loops takes longer than measuring."""


class Measurement:
    """The measures of one program on one population.

    Parameters
    ----------
    sample : the program and the population as arrays.
    kinds : the engines to ask, in this order; if not given, those of `ENGINES` that pay off here.

    Attributes
    ----------
    sample, kinds : as given.
    joint : the joint tables with the protected attributes.
    engines : those that have something to say about the sample, in order.
    methods : for each method, how many influences it measured.

    Examples
    --------
    >>> program = Program.parse("ite(x <= 1, 0, 1)")
    >>> people = Population.build({"x": [1, 2, 3, 4], "z": list("aabb")}, protected="z")
    >>> measurement = Measurement(Sample(program, people))
    >>> measurement.influence([Spot(1)]), measurement.reach([Spot(1)])
    (0.375, 1.0)
    >>> dict(measurement.methods)
    {'from thresholds and branches': 1}
    """

    def __init__(self, sample: Sample, kinds: tuple[type[Engine], ...] | None = None) -> None:
        self.sample, self.kinds = sample, kinds
        self.joint = sample.shared(JointTables)
        self.methods: Counter[str] = Counter()
        self.engines = self._engines()

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the engines: what they computed is large, and can be computed again."""
        return {name: value for name, value in self.__dict__.items() if name != "engines"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.engines = self._engines()

    def _engines(self) -> tuple[Engine, ...]:
        kinds = self.kinds
        if kinds is None:
            small = self.sample.n_rows * len(self.sample.points) < SMALL
            kinds = tuple(kind for kind in ENGINES if not (small and kind.compiled))
        engines = (kind.of(self.sample) for kind in kinds)
        return tuple(engine for engine in engines if engine is not None)

    def of(self, program: Program) -> Measurement:
        """Another program on the same population."""
        return Measurement(self.sample.of(program), self.kinds)

    def on(self, population: Population) -> Measurement:
        """The same program on another population."""
        return Measurement(self.sample.on(population), self.kinds)

    @property
    def program(self) -> Program:
        """The program."""
        return self.sample.program

    @property
    def points(self) -> Points:
        """The program's points."""
        return self.sample.points

    @property
    def protected_names(self) -> tuple[str, ...]:
        """The protected attributes."""
        return self.sample.protected_names

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return self.sample.n_rows

    @property
    def weights(self) -> Array:
        """How much each row counts."""
        return self.sample.weights

    @property
    def protected(self) -> list[tuple[Frame, Support]]:
        """Each protected attribute as a frame, and its support."""
        return self.sample.protected

    @property
    def bins(self) -> int | None:
        """The number of bins that association puts long lists of numbers into."""
        return self.sample.bins

    @property
    def max_support(self) -> int:
        """The longest list of numbers that is not put into bins."""
        return self.sample.max_support

    def values(self, term: Term) -> Array:
        """The values of a term on all rows."""
        return self.sample.values(term)

    # Association

    def associations(self, terms: Sequence[Term], measure: Association) -> Array:
        """The association of each computation with each protected attribute."""
        return self.joint.associations(terms, measure)

    def tables(self, term: Term) -> list[JointTable]:
        """The joint table of a computation with each protected attribute."""
        return self.joint.tables(term)

    def operands_tables(self, operator: int, operands: Sequence[int]) -> list[Array]:
        """The masses of the joint values of some operands with each protected attribute."""
        return self.joint.operands_tables(operator, operands)

    # Influence, reach and bounds

    def influence(self, spots: Sequence[Spot]) -> float:
        """The influence of one computation through disjoint positions where it stands."""
        for engine in self.engines:
            result = engine.influence(spots)
            if result is not None:
                self.methods[engine.method] += 1
                return result
        raise AssertionError("no engine measures the influence")

    def influences(
        self, spots: Sequence[Spot], needed: Sequence[bool] | None = None
    ) -> list[float]:
        """The influence of the computation at each position, through that position alone.

        NaN where it is not `needed` and takes long; all are needed by default.
        """

        def ask(engine: Engine, some: Sequence[Spot]) -> list[float | None]:
            if needed is None or not isinstance(engine, _VALUE_BY_VALUE):
                return engine.influences(some)
            wanted = dict(zip(spots, needed, strict=True))
            cheap = [wanted[spot] or self._is_cheap([spot]) for spot in some]
            answers = iter(engine.influences([s for s, c in zip(some, cheap, strict=True) if c]))
            return [next(answers) if flag else math.nan for flag in cheap]

        return self._each(spots, ask, self.methods)

    def influence_if_cheap(self, spots: Sequence[Spot]) -> float:
        """The influence through disjoint positions; NaN if measuring it takes long."""
        for engine in self.engines:
            if isinstance(engine, _VALUE_BY_VALUE) and not self._is_cheap(spots):
                return math.nan
            result = engine.influence(spots)
            if result is not None:
                self.methods[engine.method] += 1
                return result
        raise AssertionError("no engine measures the influence")

    def _is_cheap(self, spots: Sequence[Spot]) -> bool:
        return exact_work(self.sample, spots) <= CHEAP_WORK

    @property
    def drawn(self) -> dict[tuple[Spot, ...], DrawnInfluence]:
        """The influences that were estimated from drawn pairs of rows, by their positions."""
        engines = (engine for engine in self.engines if isinstance(engine, SettledPairs))
        return {spots: drawn for engine in engines for spots, drawn in engine.drawn.items()}

    def reach(self, spots: Sequence[Spot]) -> float:
        """The share of rows that evaluate at least one of the positions."""
        return self._first(lambda engine: engine.reach(spots))

    def reaches(self, spots: Sequence[Spot]) -> list[float]:
        """The share of rows that evaluate each position."""
        return self._each(spots, lambda engine, some: engine.reaches(some), Counter())

    def effects(self, spots: Sequence[Spot]) -> Effects | None:
        """The influence of one computation, row by row.

        None if influence is sampled, has another loss than whether the output changes, or if
        computing the effects takes too long.
        """
        answers = (engine.effects(spots) for engine in self.engines)
        return next((effects for effects in answers if effects is not None), None)

    def occurrence_bound(self, spots: Sequence[Spot]) -> float:
        """An upper bound on the influence through any set of these disjoint positions."""
        return self._first(lambda engine: engine.occurrence_bound(spots))

    def operands_bound(self, operator: int, operands: Sequence[int]) -> float:
        """An upper bound on the influence of any subset of some operands of one operator."""
        return self._first(lambda engine: engine.operands_bound(operator, operands))

    def _first(self, ask: Callable[[Engine], T | None]) -> T:
        answers = (ask(engine) for engine in self.engines)
        return next(answer for answer in answers if answer is not None)

    def _each(
        self,
        spots: Sequence[Spot],
        ask: Callable[[Engine, Sequence[Spot]], list[float | None]],
        methods: Counter[str],
    ) -> list[float]:
        """Ask each engine about the positions that those before it declined."""
        result: dict[int, float] = {}
        remaining = list(range(len(spots)))
        for engine in self.engines:
            if not remaining:
                break
            answers = ask(engine, [spots[i] for i in remaining])
            answered = {
                i: answer
                for i, answer in zip(remaining, answers, strict=True)
                if answer is not None
            }
            if answered:
                methods[engine.method] += len(answered)
            result |= answered
            remaining = [i for i in remaining if i not in answered]
        return [result[i] for i in range(len(spots))]
