"""Repair of collective witnesses: many weak computations that together change many decisions.

A collection of tests or operands (`detect.collections`) is repaired by constants at some positions
of some members, until no collection of a level at or above epsilon has an influence above delta.
Intervals count by their upper end. `tree_search` chooses the constants for trees, and
`written_members` for other programs.

- **Members** are the candidates with an association of at least epsilon, except those that are a
  witness by themselves and were judged appropriate.
- **Levels** are the distinct associations of the members. Their collections are nested.
- A collection that was judged appropriate, before the repair or in its course, is not repaired.

Constants do not change what the remaining members compute, so their associations stay the same. But
influence depends on the whole program, and tests can disappear with the branches above them. So
every step ends with measurements of the new program, which decide whether another step follows.
Every step removes a variable occurrence, so there is a last one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from proxyuse.completed_audit import Audit
from proxyuse.detect.collections import (
    LEVELS,
    Candidates,
    Curve,
    CurvePoint,
    candidates_of,
)
from proxyuse.detect.collective_witness import Kind
from proxyuse.judge.judgment import judgment_of
from proxyuse.lang.evaluate import Array
from proxyuse.lang.nodes import Const, Var, variables
from proxyuse.lang.positions import Cover, Site
from proxyuse.measure.collective import collective_influences
from proxyuse.program import Program
from proxyuse.repairing import tree_search, written_members
from proxyuse.repairing.best_constants import BestConstants
from proxyuse.repairing.row_pairs import RowPairs
from proxyuse.repairing.steps import RemovedCollections, RepairedProgram, SearchStep
from proxyuse.repairing.tree_members import RankedTests, TreeMembers
from proxyuse.repairing.workbench import Workbench
from proxyuse.request import engine_for

COLLECTIONS_FIRST = 1 << 24
"""Rows times nodes from which collections are repaired before single computations."""

MOST_LEVELS = 24
"""The levels measured one by one; of more levels, those of `LEVELS` are measured."""

DOUBTFUL = 8
"""The levels of trees whose interval is narrowed before the collection is repaired further."""

STRICTER = 0.02
"""By what share of delta the target falls if a measurement contradicts the search."""


@dataclass(frozen=True, slots=True, eq=False)
class RepairedCollection:
    """What a repair did to the collection of one protected attribute.

    Attributes
    ----------
    protected : the attribute.
    kind : "tests" or "operands".
    members, positions : how many members there were, at how many positions.
    replaced_members, replaced_positions : how many members have a constant at some position, and at
        how many positions.
    variables : the variables that the members read.
    before, after : the influence of the collections of all levels from epsilon on.
    utility : the utility before and after the constants, on the rows used.
    """

    protected: str
    kind: Kind
    members: int
    positions: int
    replaced_members: int
    replaced_positions: int
    variables: tuple[str, ...]
    before: Curve
    after: Curve
    utility: tuple[float, float]


class CollectiveSearch:
    """Constants that remove collective witnesses from a program.

    Parameters
    ----------
    bench : the program under repair.
    before : the audit of the program before the repair.
    """

    def __init__(self, bench: Workbench, before: Audit) -> None:
        self.bench, self.before = bench, before
        self._attempts = 0

    @property
    def first(self) -> bool:
        """Whether collections are repaired before single computations.

        In a large program, constants at single tests remove most violations of larger computations
        as well, and in less time than a search for each of them.
        """
        rows = self.bench.request.population.n_rows
        return rows * self.bench.original.size >= COLLECTIONS_FIRST

    def constants(
        self, program: Program, audit: Audit, names: Collection[str] | None
    ) -> tuple[tuple[str, ...], dict[Site, Const]] | None:
        """Return constants that remove collective witnesses, and the attributes that have one.

        Parameters
        ----------
        program, audit : a program and its audit.
        names : the protected attributes whose collections are repaired; None for all.

        Returns None if there are none.
        """
        candidates = self._candidates(program)
        ranked = [] if candidates is None else self._ranked(candidates, audit, names)
        if candidates is None or not ranked:
            return None
        members = self._trees(candidates, ranked)
        violated = self._violated(candidates, ranked, members)
        if not violated:
            return None
        if members is None:
            new = self._written(program, candidates, ranked, audit)
        else:
            new = self._in_trees(candidates, members)
        return self._names(violated), new

    def violated(self, program: Program, audit: Audit) -> tuple[str, ...]:
        """Return the attributes with a level whose influence may be above delta."""
        candidates = self._candidates(program)
        ranked = [] if candidates is None else self._ranked(candidates, audit, None)
        if candidates is None or not ranked:
            return ()
        return self._names(self._violated(candidates, ranked, self._trees(candidates, ranked)))

    def _names(self, attributes: Sequence[int]) -> tuple[str, ...]:
        return tuple(self.bench.request.population.protected[a].name for a in attributes)

    # What is to be repaired

    def _candidates(self, program: Program) -> Candidates | None:
        return candidates_of(self.bench.measurement(program), self.bench.request.association)

    def _ranked(
        self, candidates: Candidates, audit: Audit, names: Collection[str] | None
    ) -> list[_Ranked]:
        """The members of each attribute whose collection may have to be repaired."""
        found = []
        for attribute, protected in enumerate(self.bench.request.population.protected):
            if names is not None and protected.name not in names:
                continue
            own = self._members(candidates, attribute, audit)
            if len(own.tests) and not self._is_appropriate(protected.name, audit):
                found.append(own)
        return found

    def _members(self, candidates: Candidates, attribute: int, audit: Audit) -> _Ranked:
        associations = candidates.associations[:, attribute]
        count = int(np.count_nonzero(associations >= audit.epsilon))
        numbers = candidates.ordered(attribute)[:count]
        name = self.bench.request.population.protected[attribute].name
        if exempt := self._judged_appropriate(name, audit):
            terms = (candidates.term(number).digest for number in numbers.tolist())
            numbers = numbers[[digest not in exempt for digest in terms]]
        own = associations[numbers]
        sizes = np.flatnonzero(np.append(own[1:] != own[:-1], True)[: len(own)]) + 1
        return _Ranked(numbers, sizes, attribute, own[sizes - 1])

    def _judged_appropriate(self, protected: str, audit: Audit) -> set[bytes]:
        """The computations that are witnesses by themselves and judged appropriate."""
        oracle = self.bench.goal.oracle
        if oracle is None:
            return set()
        judged = ((w, judgment_of(oracle, w)) for w in audit.witnesses if w.protected == protected)
        return {w.expression.digest for w, j in judged if j is not None and j.appropriate}

    def _is_appropriate(self, protected: str, audit: Audit) -> bool:
        """Whether the collection of an attribute was judged appropriate, now or at the start."""
        oracle = self.bench.goal.oracle
        if oracle is None:
            return False
        audits = {id(a): a for a in (self.before, audit)}.values()
        collections = (a.collections_with(oracle).get(protected) for a in audits)
        judgments = [judgment_of(oracle, collection) for collection in collections]
        return any(judgment is not None and judgment.appropriate for judgment in judgments)

    def _trees(self, candidates: Candidates, ranked: Sequence[_Ranked]) -> TreeMembers | None:
        if candidates.engine is None:
            return None
        pairs = RowPairs.of(candidates.measurement.sample)
        return TreeMembers(candidates.engine, ranked, self.bench.utility, pairs)

    def _violated(
        self, candidates: Candidates, ranked: Sequence[_Ranked], members: TreeMembers | None
    ) -> list[int]:
        """The attributes with a level whose influence may be above delta."""
        delta = self.bench.request.settings.delta
        found = []
        for which, own in enumerate(ranked):
            open_sizes = own.measured
            if members is not None:
                low, high = members.bounds(which)
                open_sizes = own.sizes[high > delta]
                if (low > delta).any() or len(open_sizes) > DOUBTFUL:
                    found.append(own.attribute)
                    continue
            if self._highest(candidates, own, open_sizes) > delta:
                found.append(own.attribute)
        return found

    def _highest(self, candidates: Candidates, own: _Ranked, sizes: Array) -> float:
        """An upper bound on the influence of the collections of some sizes."""
        if len(sizes) == 0:
            return 0.0
        family = candidates.family(own.tests)
        delta = self.bench.request.settings.delta
        return max(known.high for known in collective_influences(family, sizes.tolist(), delta))

    # Constants

    def _in_trees(self, candidates: Candidates, members: TreeMembers) -> dict[Site, Const]:
        delta, constants = self.bench.request.settings.delta, dict[int, bool]()
        while not constants:
            constants = tree_search.constants_for(members, delta * (1 - STRICTER * self._attempts))
            self._attempts += 1
        assert candidates.engine is not None
        points = candidates.engine.plan.points_of(np.array(list(constants)))
        return {
            Site(point + 1): Const(value)
            for point, value in zip(points.tolist(), constants.values(), strict=True)
        }

    def _written(
        self, program: Program, candidates: Candidates, ranked: Sequence[_Ranked], audit: Audit
    ) -> dict[Site, Const]:
        bench = self.bench
        best = BestConstants(bench.trials(audit).context)
        numbers = dict.fromkeys(n for own in ranked for n in own.tests.tolist())
        sites = sorted({site for number in numbers for site in candidates.sites(number)})
        trials = [best.at([site])[0] for site in sites]

        def highest(new: written_members.New) -> float:
            changed = program.replaced(new)
            changed.checked_kinds |= program.checked_kinds
            measurement = engine_for(bench.request, changed, bench.clock)
            known = candidates_of(measurement, bench.request.association)
            if known is None:
                return 0.0
            each = (self._members(known, own.attribute, audit) for own in ranked)
            return max((self._highest(known, own, own.measured) for own in each), default=0.0)

        return written_members.constants_for(trials, bench.request.settings.delta, highest)

    # The result

    def done(self, repaired: RepairedProgram, after: Audit) -> tuple[RepairedCollection, ...]:
        """Return what the repair did to each collection."""
        bench, utility = self.bench, self.bench.utility
        values = [bench.value(bench.original), *(step.value for step in repaired.steps)]
        steps = [i for i, s in enumerate(repaired.steps) if _is_collective(s)]
        if not steps:
            return ()
        around = values[steps[0]], values[steps[-1] + 1]
        names = {n for i in steps for n in _names(repaired.steps[i])}
        sites = [site for i in steps for site in repaired.steps[i].new]
        covered = Cover(bench.original.points, sites)
        first = self._candidates(bench.original)
        assert first is not None
        last = self._candidates(repaired.program)
        result = []
        for attribute, protected in enumerate(bench.request.population.protected):
            if protected.name not in names:
                continue
            own = self._members(first, attribute, self.before)
            terms = [first.term(number) for number in own.tests.tolist()]
            positions = [first.sites(number) for number in own.tests.tolist()]
            replaced = [sum(self._is_gone(covered, site) for site in own) for own in positions]
            curve = Curve(protected.name, ())
            if last is not None:
                curve = self._curve(last, self._members(last, attribute, after))
            result.append(
                RepairedCollection(
                    protected.name,
                    first.kind,
                    len(terms),
                    sum(map(len, positions)),
                    sum(map(bool, replaced)),
                    sum(replaced),
                    tuple(dict.fromkeys(name for term in terms for name in variables(term))),
                    self._curve(first, own),
                    curve,
                    (utility.better(around[0]), utility.better(around[1])),
                )
            )
        return tuple(result)

    def _is_gone(self, covered: Cover, site: Site) -> bool:
        """Whether constants cover a position, or every variable inside it."""
        points = self.bench.original.points
        inside = (point for start, end in points.covers(site) for point in range(start, end))
        return covered.holds(site) or all(
            covered.holds(Site(point)) for point in inside if isinstance(points.terms[point], Var)
        )

    def _curve(self, candidates: Candidates, own: _Ranked) -> Curve:
        name = self.bench.request.population.protected[own.attribute].name
        sizes = own.measured.tolist()
        if not sizes:
            return Curve(name, ())
        delta = self.bench.request.settings.delta
        influences = collective_influences(candidates.family(own.tests), sizes, delta)
        points = zip(own.levels_of(sizes), sizes, influences, strict=True)
        return Curve(name, tuple(CurvePoint(*point) for point in points))


@dataclass(frozen=True, slots=True, eq=False)
class _Ranked(RankedTests):
    """The members of one attribute, with the level of each size."""

    attribute: int
    levels: Array

    @property
    def measured(self) -> Array:
        """The sizes that are measured one by one."""
        if len(self.sizes) <= MOST_LEVELS:
            return self.sizes
        last = {int(np.count_nonzero(self.levels >= level)) for level in LEVELS}
        return self.sizes[sorted({i - 1 for i in last if i} | {len(self.sizes) - 1})]

    def levels_of(self, sizes: Sequence[int]) -> Iterator[float]:
        """Return the level of each size."""
        known = dict(zip(self.sizes.tolist(), self.levels.tolist(), strict=True))
        return (known[size] for size in sizes)


def _is_collective(step: SearchStep) -> bool:
    return isinstance(step.removed, RemovedCollections)


def _names(step: SearchStep) -> tuple[str, ...]:
    return step.removed.protected if isinstance(step.removed, RemovedCollections) else ()
