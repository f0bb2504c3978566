"""What every engine owes the definition, as one check for all of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from proxyuse.detect.candidates import Candidates
from proxyuse.lang.positions import Points, Spot
from proxyuse.measure.association import NormalizedMutualInformation
from proxyuse.measure.effects import Effects
from proxyuse.measure.engine import ENGINES, Engine, Measurement
from proxyuse.measure.influence import QuantitativeInputInfluence, SquaredChange
from proxyuse.measure.reference import Reference
from proxyuse.measure.sample import Sample
from proxyuse.population import Population
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
    """The definition with the options of a sample."""
    influence = options.pop("influence", None) or QuantitativeInputInfluence()
    sampling = options.pop("sampling", None)
    options.pop("threads", None)
    return Reference(
        program,
        population,
        loss="squared change" if isinstance(influence, SquaredChange) else "change",
        pairs=sampling.draw(population.weights) if sampling else None,
        **options,
    )


def sets_of(points: Points, subsets: int = 16, most: int = 4) -> Iterator[list[Spot]]:
    """Each position of each computation alone, some pairs of them, and all of them."""
    for candidate in Candidates(points, subsets=subsets):
        yield from ([spot] for spot in candidate.spots)
        pairs = [list(p) for p in combinations(candidate.spots, 2) if points.disjoint(*p)]
        yield from pairs[:most]
        plain = [spot for spot in candidate.spots if not spot.operands]
        if len(plain) > 2:
            yield plain


def effects_of(reference: Reference, spots: Sequence[Spot]) -> Effects:
    """Both means over all pairs of rows, written out value by value."""
    context = reference.points.replace(dict.fromkeys(spots, reference.hole))
    own = reference.values(reference.points.term_at(spots[0]))
    actual = reference._with(context, own)
    weights = reference.weights
    changed, changing = np.zeros(len(weights)), np.zeros(len(weights))
    for value, mass in zip(*reference._distinct(own), strict=True):
        losses = reference._losses(actual, reference._with(context, value[None])).astype(float)
        changed += mass * losses
        changing[_same_bits(own, value)] = np.dot(losses, weights)
    return Effects(changed / weights.sum(), changing / weights.sum())


def _same_bits(values: Any, value: Any) -> Any:
    if values.dtype != np.float64:
        return values == value
    same = (values == value) & (np.signbit(values) == np.signbit(value))
    same = same | (np.isnan(values) & np.isnan(value))
    return same.all(axis=1) if same.ndim == 2 else same


def check_engines(program: Program, population: Population, **options: Any) -> None:
    """Every engine, and all of them together, agree with the definition wherever they answer."""
    reference = defined(program, population, **options)
    sample = Sample(program, population, **options)
    together = Measurement(sample)
    engines = [engine for engine in (kind.of(sample) for kind in ENGINES) if engine is not None]
    sets = list(sets_of(program.points))
    singles = [spots[0] for spots in sets if len(spots) == 1]
    for spots in sets:
        where = str(program), spots
        wanted = reference.influence(spots)
        assert together.influence(spots) == pytest.approx(wanted, rel=1e-9, abs=1e-12), where
        assert together.reach(spots) == pytest.approx(reference.reach(spots), abs=1e-12), where
        for engine in engines:
            check_engine(engine, reference, spots, wanted)
    wanted_each = [reference.influence([spot]) for spot in singles]
    assert together.influences(singles) == pytest.approx(wanted_each, rel=1e-9, abs=1e-12)
    reaches = [reference.reach([spot]) for spot in singles]
    assert together.reaches(singles) == pytest.approx(reaches, abs=1e-12)
    for engine in engines:
        answers = zip(engine.influences(singles), wanted_each, strict=True)
        assert all(a is None or a == pytest.approx(w, rel=1e-9, abs=1e-12) for a, w in answers)
    if sample.pairs is None:  # a bound is for influence over all pairs
        check_bounds(together, reference)
    check_associations(together, reference)


def check_engine(
    engine: Engine, reference: Reference, spots: Sequence[Spot], wanted: float
) -> None:
    where = engine.method, str(reference.program), spots
    influence, reach, effects = engine.influence(spots), engine.reach(spots), engine.effects(spots)
    if influence is not None:
        assert influence == pytest.approx(wanted, rel=1e-9, abs=1e-12), where
    if reach is not None:
        assert reach == pytest.approx(reference.reach(spots), abs=1e-12), where
    if effects is not None:
        for half, right in zip(effects, effects_of(reference, spots), strict=True):
            np.testing.assert_allclose(half, right, rtol=0, atol=1e-9, err_msg=str(where))


def check_bounds(together: Measurement, reference: Reference) -> None:
    points = together.points
    for candidate in Candidates(points, subsets=8):
        spots = candidate.spots
        if len(spots) < 2 or any(spot.operands for spot in spots):
            continue
        bound = together.occurrence_bound(spots)
        some = [[spot] for spot in spots] + [list(pair) for pair in combinations(spots, 2)][:3]
        assert bound >= max(map(reference.influence, [*some, spots])) - 1e-9


def check_associations(together: Measurement, reference: Reference) -> None:
    terms = [candidate.term for candidate in Candidates(together.points, subsets=16)]
    wanted = np.array([reference.associations(term) for term in terms])
    wanted = wanted.reshape(len(terms), len(together.protected_names))
    np.testing.assert_allclose(together.associations(terms, NMI), wanted, rtol=0, atol=1e-9)
