"""The shared test suite that compares every engine with the definition.

`check_engines` asks each engine of `ENGINES` every question about a program. An engine answers or
declines; an answer must agree with `measure.reference`. Every test that calls `check_engines` tests
an engine as soon as it is in `ENGINES`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import combinations, islice
from typing import Any

import numpy as np
import pytest

from proxyuse.data.population import Population
from proxyuse.detect.candidates import Candidates
from proxyuse.lang.nodes import Associative
from proxyuse.lang.positions import Points, Site, operand_choices
from proxyuse.measure.association.measures.normalized_mutual_information import (
    NormalizedMutualInformation,
)
from proxyuse.measure.engine import ENGINES, Engine, Measurement
from proxyuse.measure.influence import (
    Moved,
    QuantitativeInputInfluence,
    SquaredChange,
    draw_pairs,
)
from proxyuse.measure.reference import MovedBy, Reference
from proxyuse.measure.row_effects import RowEffects
from proxyuse.measure.sample import Sample
from proxyuse.program import Program
from tests.strategies import Case

NMI = NormalizedMutualInformation()


def population_of(case: Case, weights: Any = None) -> Population:
    return Population.build(
        case.data,
        protected=case.protected,
        weights=case.weights if weights is None else weights,
        variables=case.program.variables,
    )


def measured(program: Program, population: Population, **options: Any) -> Measurement:
    return Measurement(Sample(program, population, **options))


def defined(program: Program, population: Population, **options: Any) -> Reference:
    """Return the reference with the options of a sample."""
    influence = options.pop("influence", None) or QuantitativeInputInfluence()
    sampling = options.pop("sampling", None)
    options.pop("threads", None)
    return Reference(
        program,
        population,
        loss=_loss(influence),
        pairs=draw_pairs(sampling, population.weights) if sampling else None,
        **options,
    )


def _loss(influence: Any) -> Any:
    match influence:
        case SquaredChange():
            return "squared change"
        case Moved():
            return MovedBy(influence.by, influence.relative)
        case _:
            return "change"


def sets_of(points: Points, subsets: int = 16, most: int = 4) -> Iterator[list[Site]]:
    """Yield each position of each computation alone, some pairs, and all together."""
    for candidate in Candidates(points, subsets=subsets):
        yield from ([site] for site in candidate.sites)
        pairs = [list(p) for p in combinations(candidate.sites, 2) if points.disjoint(*p)]
        yield from pairs[:most]
        plain = [site for site in candidate.sites if not site.operands]
        if len(plain) > 2:
            yield plain


def effects_of(reference: Reference, sites: Sequence[Site]) -> RowEffects:
    """Compute the row effects from the definition, value by value."""
    context = reference.points.replace(dict.fromkeys(sites, reference.hole))
    own = reference.values(reference.points.term_at(sites[0]))
    output = reference._output(context, [reference.hole])
    actual, weights = output(own), reference.weights
    changed, changing = np.zeros(len(weights)), np.zeros(len(weights))
    for value, mass in zip(*reference._distinct(own), strict=True):
        losses = reference._losses(actual, output(value[None])).astype(float)
        changed += mass * losses
        changing[_same_bits(own, value)] = np.dot(losses, weights)
    return RowEffects(changed / weights.sum(), changing / weights.sum())


def _same_bits(values: Any, value: Any) -> Any:
    if values.dtype != np.float64:
        return values == value
    same = (values == value) & (np.signbit(values) == np.signbit(value))
    same = same | (np.isnan(values) & np.isnan(value))
    return same.all(axis=1) if same.ndim == 2 else same


def check_engines(
    program: Program,
    population: Population,
    *,
    engines: tuple[type[Engine], ...] = ENGINES,
    **options: Any,
) -> frozenset[tuple[type[Engine], str]]:
    """Check each engine, and all of them together, against the definition.

    Returns which engine answered which question.
    """
    reference = defined(program, population, **options)
    sample = Sample(program, population, **options)
    suite = _Suite(reference, exact=sample.pairs is None)
    for kind in engines:
        if (engine := kind.of(sample)) is not None:
            suite.check(engine)
    together = Measurement(sample, engines)
    answered = suite.answered
    suite.check(together)
    unanswered = suite.questions - {question for kind, question in suite.answered - answered}
    assert unanswered <= {"effects"}, unanswered
    check_associations(together, reference)
    return answered


class _Suite:
    """The questions about one program, with the answers of the definition."""

    def __init__(self, reference: Reference, exact: bool) -> None:
        self.reference, self.exact = reference, exact
        # Every engine is compared with the same figures.
        self._influence = cache(lambda sites: reference.influence(list(sites)))
        self._effects = cache(lambda sites: effects_of(reference, list(sites)))
        points = reference.points
        self.sets = list(sets_of(points))
        self.singles = [sites[0] for sites in self.sets if len(sites) == 1]
        self.influences = [self._influence(tuple(sites)) for sites in self.sets]
        self.reaches = [reference.reach(sites) for sites in self.sets]
        self.together = [
            [s for s in candidate.sites if not s.operands]
            for candidate in Candidates(points, subsets=8)
        ]
        self.operators = [
            (point, operand_choices(points, point)[:4])
            for point, term in enumerate(points.terms)
            if isinstance(term, Associative)
        ]
        self.answered: frozenset[tuple[Any, str]] = frozenset()
        self.questions = {"influence", "influences", "reach", "reaches", "effects"}
        self.questions = self.questions if self.sets else set()

    def _note(self, engine: Any, question: str, answer: Any) -> bool:
        if answer is not None:
            self.answered |= {(type(engine), question)}
        return answer is not None

    def check(self, engine: Any) -> None:
        """Ask one engine, or a `Measurement`, every question."""
        named = getattr(engine, "method", "all engines"), str(self.reference.program)
        for sites, influence, reach in zip(self.sets, self.influences, self.reaches, strict=True):
            where = (*named, sites)
            answer = engine.influence(sites)
            if self._note(engine, "influence", answer):
                assert answer == pytest.approx(influence, rel=1e-9, abs=1e-12), where
            answer = engine.reach(sites)
            if self._note(engine, "reach", answer):
                assert answer == pytest.approx(reach, abs=1e-12), where
            effects = engine.effects(sites)
            if self._note(engine, "effects", effects):
                for half, right in zip(effects, self._effects(tuple(sites)), strict=True):
                    np.testing.assert_allclose(half, right, 1e-9, 1e-9, err_msg=str(where))
        self._check_lists(engine, named)
        if self.exact:  # a bound is for influence over all pairs
            self._check_bounds(engine, named)

    def _check_lists(self, engine: Any, named: tuple[str, str]) -> None:
        pairs = zip(self.sets, self.influences, self.reaches, strict=True)
        alone = [(influence, reach) for sites, influence, reach in pairs if len(sites) == 1]
        for question, column in (("influences", 0), ("reaches", 1)):
            answers = getattr(engine, question)(self.singles)
            assert len(answers) == len(self.singles), named
            for site, answer, right in zip(self.singles, answers, alone, strict=True):
                if self._note(engine, question, answer):
                    assert answer == pytest.approx(right[column], rel=1e-9, abs=1e-12), (
                        *named, question, site,
                    )  # fmt: skip

    def _check_bounds(self, engine: Any, named: tuple[str, str]) -> None:
        for sites in self.together:
            if len(sites) < 2:
                continue
            bound = engine.occurrence_bound(sites)
            if self._note(engine, "occurrence_bound", bound):
                some = [*((site,) for site in sites), *islice(combinations(sites, 2), 3)]
                highest = max(map(self._influence, [*some, tuple(sites)]))
                assert bound >= highest - 1e-9, (*named, sites)
        for point, steps in self.operators:
            if len(steps) < 2:
                continue
            bound = engine.operands_bound(point, steps)
            if self._note(engine, "operands_bound", bound):
                for subset in self._subsets(point, steps):
                    assert bound >= self._influence((subset,)) - 1e-9, (*named, subset)

    def _subsets(self, point: int, steps: list[int]) -> Iterator[Site]:
        """Yield the site of every subset of some operands."""
        points = self.reference.points
        every = len(points.below(point))
        for count in range(1, len(steps) + 1):
            for some in combinations(steps, count):
                if count == 1:
                    yield Site(points.below(point)[some[0]])
                else:
                    yield Site(point) if count == every else Site(point, tuple(sorted(some)))


def check_associations(together: Measurement, reference: Reference) -> None:
    terms = [candidate.term for candidate in Candidates(together.points, subsets=16)]
    expected = np.array([reference.associations(term) for term in terms])
    expected = expected.reshape(len(terms), len(together.protected_names))
    np.testing.assert_allclose(together.associations(terms, NMI), expected, rtol=0, atol=1e-9)
