"""The engine protocol, the list of engines, and the object that queries them.

**Vocabulary.** A *sample* is one program on one population. A *computation* is a term of the
program. A *site* is one position of a computation: a point of the program, or some operands of an
associative operator at that point. A computation that occurs several times has several sites, and
they never overlap.

**What engines compute.** For a computation at some sites, an engine computes

- its *influence*: how often the output changes if the computation takes the value of another row;
- its *reach*: the share of rows that evaluate at least one of the sites;
- its *effects*: the influence, broken down by row;
- *bounds* on the influence of many sets of sites or operands at once.

**How they share the work.** No engine is fast for every program, so each one answers or declines:
a method that returns None passes the question on to the next engine. `ENGINES` is the full list, in
order; the first answer wins. The last engine, `DistinctValues`, answers everything that sampling
does not. Engines differ in speed and coverage, never in the result, with one exception:
`SettledPairs` and `TreeSums` estimate an influence that takes too long to compute, and state the
error; audits can turn it off. `reference.py` defines every number, and one test suite compares all
other engines with it.

**Who calls them.** Callers hold a `Measurement`, which builds the engines for a sample and queries
them in order. Associations need no engine: they follow from joint tables (`association`).

To write an engine of your own, see "Add an engine" in the documentation.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Protocol, TypeVar

from proxyuse.data.population import Population
from proxyuse.lang.evaluate import Array
from proxyuse.lang.nodes import Term
from proxyuse.lang.positions import Points, Site
from proxyuse.measure.association.joint_table import JointTable
from proxyuse.measure.association.joint_tables import JointTables
from proxyuse.measure.association.protocol import Association
from proxyuse.measure.association.support import Support
from proxyuse.measure.contexts.engine import Contexts
from proxyuse.measure.distinct_values import DistinctValues, exact_work
from proxyuse.measure.drawn_pairs import DrawnPairs
from proxyuse.measure.forests.engine import ForestEngine
from proxyuse.measure.forests.partial_sums import TreeSums
from proxyuse.measure.guessing import Guess, guesses
from proxyuse.measure.pair_sampling import DrawnInfluence
from proxyuse.measure.row_effects import RowEffects
from proxyuse.measure.sample import Sample
from proxyuse.measure.settled_pairs import SettledPairs
from proxyuse.program import Frame, Program

T = TypeVar("T")


class Engine(Protocol):
    """What an engine must provide.

    An engine is built for one sample by `of`. After that, every method may return None to decline.
    A method that measures several sites returns a list with None for each site it declines. An
    engine must decline rather than approximate: if it returns a number, the number agrees with
    `Reference` up to rounding. An engine inherits from nothing.

    The sites passed to one call hold equal terms and do not overlap. All of them change together:
    influence takes the value of the computation in another row and puts it at every site.

    Attributes
    ----------
    method : how the engine measures influence, as a phrase such as "from sampled pairs of rows".
        Audits report how many influences each method measured.
    compiled : whether the engine needs compiled loops. Loading them takes about a second, so
        `Measurement` skips these engines for small samples.
    """

    method: ClassVar[str]
    compiled: ClassVar[bool]

    @classmethod
    def of(cls, sample: Sample) -> Engine | None:
        """Return an engine for a sample, or None if it cannot answer any question about it.

        Must be cheap: expensive work belongs in the first method that needs it.
        """
        ...

    def influence(self, sites: Sequence[Site]) -> float | None:
        """Return the influence of one computation through all the sites together."""
        ...

    def influences(self, sites: Sequence[Site]) -> list[float | None]:
        """Return the influence through each site alone; the sites may hold different terms.

        Equal to calling `influence` once per site. An engine can share work between the sites.
        """
        ...

    def reach(self, sites: Sequence[Site]) -> float | None:
        """Return the share of rows, by weight, that evaluate at least one of the sites.

        Only `ite` is lazy: it evaluates its guard and one branch.
        """
        ...

    def reaches(self, sites: Sequence[Site]) -> list[float | None]:
        """Return the share of rows that evaluate each site."""
        ...

    def effects(self, sites: Sequence[Site]) -> RowEffects | None:
        """Return the influence of one computation, row by row, for confidence bounds."""
        ...

    def occurrence_bound(self, sites: Sequence[Site]) -> float | None:
        """Return an upper bound on the influence through every subset of the sites."""
        ...

    def operands_bound(self, operator: int, operands: Sequence[int]) -> float | None:
        """Return an upper bound on the influence of every subset of some operands.

        Parameters
        ----------
        operator : the point of an associative operator (a sum, product, ``and`` or ``or``).
        operands : the operands' steps below that point, in canonical order.
        """
        ...


ENGINES: tuple[type[Engine], ...] = (
    DrawnPairs, ForestEngine, TreeSums, Contexts, SettledPairs, DistinctValues,
)  # fmt: skip
"""All engines, in the order in which `Measurement` queries them: the fastest first."""

_VALUE_BY_VALUE: tuple[type[Engine], ...] = (SettledPairs, DistinctValues)

CHEAP_WORK = 1 << 22
"""The limit of work (see `exact_work`) for an influence that is not needed."""

SMALL = 1 << 13
"""The number of rows times points below which loading compiled loops does not pay off."""


class Measurement:
    """The measures of one program on one population.

    Parameters
    ----------
    sample : the program and the population as arrays.
    kinds : the engine classes to query, in order. By default those of `ENGINES` that are worth
        loading for a sample of this size.

    Attributes
    ----------
    sample, kinds : the parameters.
    joint : the joint tables of computations with the protected attributes.
    engines : the engines that fit the sample, in order.
    methods : the number of influences that each method measured.

    Examples
    --------
    >>> program = Program.parse("ite(x <= 1, 0, 1)")
    >>> people = Population.build({"x": [1, 2, 3, 4], "z": list("aabb")}, protected="z")
    >>> measurement = Measurement(Sample(program, people))
    >>> measurement.influence([Site(1)]), measurement.reach([Site(1)])
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
        """Drop the engines: their cached results are large and can be recomputed."""
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
        """Return the measures of another program on the same population."""
        return Measurement(self.sample.of(program), self.kinds)

    def on(self, population: Population) -> Measurement:
        """Return the measures of the same program on another population."""
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
        """The names of the protected attributes."""
        return self.sample.protected_names

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return self.sample.n_rows

    @property
    def weights(self) -> Array:
        """The weight of each row."""
        return self.sample.weights

    @property
    def protected(self) -> list[tuple[Frame, Support]]:
        """Each protected attribute as a frame, and its support."""
        return self.sample.protected

    def values(self, term: Term) -> Array:
        """Return the value of a term in each row."""
        return self.sample.values(term)

    # Association

    def associations(self, terms: Sequence[Term], measure: Association) -> Array:
        """Return the association of each computation with each protected attribute."""
        return self.joint.associations(terms, measure)

    def tables(self, term: Term, measure: Association) -> list[JointTable]:
        """Return the joint table of a computation with each protected attribute."""
        return self.joint.tables(term, measure)

    def guesses(self, term: Term) -> list[Guess]:
        """Return how often each protected attribute is guessed right with a computation."""
        return guesses(self.sample, term)

    def operands_information(
        self, operator: int, operands: Sequence[int]
    ) -> list[tuple[float, float]]:
        """Return what some operands together tell about each attribute, and its entropy."""
        return self.joint.operands_information(operator, operands)

    # Influence, reach and bounds

    def influence(self, sites: Sequence[Site]) -> float:
        """Return the influence of one computation through all the sites together."""
        for engine in self.engines:
            result = engine.influence(sites)
            if result is not None:
                self.methods[engine.method] += 1
                return result
        raise AssertionError("no engine measures the influence")

    def influences(
        self, sites: Sequence[Site], needed: Sequence[bool] | None = None
    ) -> list[float]:
        """Return the influence through each site alone; NaN if it is not `needed` and takes long.

        By default all are needed.
        """

        def query(engine: Engine, rest: Sequence[Site]) -> list[float | None]:
            if needed is None or not isinstance(engine, _VALUE_BY_VALUE):
                return engine.influences(rest)
            is_needed = dict(zip(sites, needed, strict=True))
            chosen = [is_needed[site] or self._is_cheap([site]) for site in rest]
            answers = iter(engine.influences([s for s, c in zip(rest, chosen, strict=True) if c]))
            return [next(answers) if flag else math.nan for flag in chosen]

        return self._each(sites, query, self.methods)

    def influence_if_cheap(self, sites: Sequence[Site]) -> float:
        """Return the influence through disjoint sites; NaN if measuring it takes long."""
        for engine in self.engines:
            if isinstance(engine, _VALUE_BY_VALUE) and not self._is_cheap(sites):
                return math.nan
            result = engine.influence(sites)
            if result is not None:
                self.methods[engine.method] += 1
                return result
        raise AssertionError("no engine measures the influence")

    def _is_cheap(self, sites: Sequence[Site]) -> bool:
        return exact_work(self.sample, sites) <= CHEAP_WORK

    @property
    def drawn(self) -> dict[tuple[Site, ...], DrawnInfluence]:
        """The influences that were estimated from random pairs of rows, by their sites."""
        kinds = SettledPairs, TreeSums
        engines = (engine for engine in self.engines if isinstance(engine, kinds))
        return {sites: drawn for engine in engines for sites, drawn in engine.drawn.items()}

    def reach(self, sites: Sequence[Site]) -> float:
        """Return the share of rows that evaluate at least one of the sites."""
        return self._first(lambda engine: engine.reach(sites))

    def reaches(self, sites: Sequence[Site]) -> list[float]:
        """Return the share of rows that evaluate each site."""
        return self._each(sites, lambda engine, rest: engine.reaches(rest), Counter())

    def effects(self, sites: Sequence[Site]) -> RowEffects | None:
        """Return the influence of one computation, row by row, as shares of pairs.

        None if influence is sampled, if it is not a share of pairs, or if the effects would take
        too long to compute.
        """
        return self.mean_losses(sites) if self.sample.counts_pairs else None

    def mean_losses(self, sites: Sequence[Site]) -> RowEffects | None:
        """Return the mean loss of one computation, row by row, for any loss; None as `effects`."""
        answers = (engine.effects(sites) for engine in self.engines)
        return next((effects for effects in answers if effects is not None), None)

    def occurrence_bound(self, sites: Sequence[Site]) -> float:
        """Return an upper bound on the influence through every subset of the sites."""
        return self._first(lambda engine: engine.occurrence_bound(sites))

    def operands_bound(self, operator: int, operands: Sequence[int]) -> float:
        """Return an upper bound on the influence of every subset of some operands."""
        return self._first(lambda engine: engine.operands_bound(operator, operands))

    def _first(self, query: Callable[[Engine], T | None]) -> T:
        """Return the first answer to a question."""
        answers = (query(engine) for engine in self.engines)
        return next(answer for answer in answers if answer is not None)

    def _each(
        self,
        sites: Sequence[Site],
        query: Callable[[Engine, Sequence[Site]], list[float | None]],
        methods: Counter[str],
    ) -> list[float]:
        """Query each engine about the sites that all engines before it declined."""
        result: dict[int, float] = {}
        remaining = list(range(len(sites)))
        for engine in self.engines:
            if not remaining:
                break
            answers = query(engine, [sites[i] for i in remaining])
            answered = {
                i: answer
                for i, answer in zip(remaining, answers, strict=True)
                if answer is not None
            }
            if answered:
                methods[engine.method] += len(answered)
            result |= answered
            remaining = [i for i in remaining if i not in answered]
        return [result[i] for i in range(len(sites))]
