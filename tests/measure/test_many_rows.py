"""Engines and whole audits on hundreds and thousands of rows, where other loops run than on few."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

import proxyuse as pu
from proxyuse.detect.candidates import Candidates
from proxyuse.lang.positions import Spot
from proxyuse.measure.engine import ENGINES, Measurement
from proxyuse.measure.sample import Sample
from tests.measure.by_rows import ByRows
from tests.measure.large_cases import FORMS, LargeCase, large_case


def sets_of(case: LargeCase, rng: np.random.Generator, most: int) -> list[list[Spot]]:
    """A random choice of positions, and of sets of positions of one computation."""
    points = case.program.points
    candidates = list(Candidates(points, subsets=4))
    chosen = rng.permutation(len(candidates))[:most]
    sets = []
    for candidate in (candidates[i] for i in chosen.tolist()):
        spots = list(candidate.spots)
        sets.append([spots[int(rng.integers(len(spots)))]])
        some: list[Spot] = []
        for index in rng.permutation(len(spots))[: int(rng.integers(2, 40))].tolist():
            if all(points.disjoint(spots[index], other) for other in some):
                some.append(spots[index])
        if len(some) > 1:
            sets.append(sorted(some))
    return sets


def check_case(case: LargeCase, seed: int, most: int = 12) -> None:
    """Every engine agrees with the measures written out, wherever it answers."""
    rng = np.random.default_rng(seed)
    by_rows = case.by_rows
    sample = Sample(case.program, case.population, threads=1 + seed % 2)
    engines = [engine for engine in (kind.of(sample) for kind in ENGINES) if engine is not None]
    together = Measurement(sample)
    for spots in sets_of(case, rng, most):
        where = case.form, seed, by_rows.rows, spots
        if len(np.unique(by_rows.value(spots[0]), axis=0)) * len(spots) > 2000:
            continue
        changed, changing = by_rows.effects(spots)
        influence, reach = by_rows.influence(spots), by_rows.reach(spots)
        assert together.influence(spots) == pytest.approx(influence, abs=1e-9), where
        assert together.reach(spots) == pytest.approx(reach, abs=1e-9), where
        for engine in engines:
            named = engine.method, *where
            answer, reached = engine.influence(spots), engine.reach(spots)
            assert answer is None or answer == pytest.approx(influence, abs=1e-9), named
            assert reached is None or reached == pytest.approx(reach, abs=1e-9), named
            effects = engine.effects(spots)
            if effects is not None:
                np.testing.assert_allclose(effects.changed, changed, rtol=0, atol=1e-9)
                np.testing.assert_allclose(effects.changing, changing, rtol=0, atol=1e-9)
            bound = engine.occurrence_bound(spots)
            assert bound is None or bound >= influence - 1e-9, named
            if len(spots) == 1:
                assert engine.influences(spots) == [answer], named
                assert engine.reaches(spots) == [reached], named


@pytest.mark.parametrize("form", FORMS)
def test_hundreds_of_rows(form: str) -> None:
    check_case(large_case(FORMS.index(form), 300, form), seed=FORMS.index(form))


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("first", range(0, 200, 20))
def test_random_models(form: str, first: int) -> None:
    for seed in range(first, first + 20):
        rows = (257, 700, 1500, 5000)[seed % 4]
        check_case(large_case(seed, rows, form, compound=seed % 3 == 0), seed)


# Whole audits: bounded first, against everything measured


def check_audits(case: LargeCase, epsilon: float, delta: float) -> None:
    """An audit that bounds first finds the witnesses of one that measures everything."""
    given = {"model": case.program, "X": case.data, "protected": list(case.protected)}
    options = given | {"epsilon": epsilon, "delta": delta, "weights": case.weights}
    no_sums = {"subsets": 0, "search": 0, "grow": 0}
    everything = pu.audit(**options, measure="all", budget=pu.Budget(**no_sums))
    bounded = pu.audit(**options, budget=pu.Budget(**no_sums, positions=0))
    alone = [spots[0] for spots in everything.decompositions.spots if len(spots) == 1]
    counts = Counter(everything.program.points.term_at(spot).digest for spot in alone)
    where = case.form, epsilon, delta
    wanted, found = (witnesses_of_terms(audit, counts) for audit in (everything, bounded))
    assert found.keys() == wanted.keys(), where
    for key, values in wanted.items():
        assert found[key] == pytest.approx(values, abs=1e-9), (*where, key)
    influences = dict(zip(everything.decompositions.spots, everything.decompositions.influences,
                          strict=True))  # fmt: skip
    by_rows = ByRows(bounded.program, case.columns, case.weights, case.protected)
    for item in bounded.bounded or ():
        assert item.bound >= influences[(item.spot,)] - 1e-9, (*where, item)
        assert item.reach == pytest.approx(by_rows.reach([item.spot])), (*where, item)


def witnesses_of_terms(audit: pu.Audit, counts: Counter[bytes]) -> dict[Any, Any]:
    """The witnesses that are terms, at one position or at all of them, with their numbers."""
    return {
        (w.protected, tuple(w.decomposition.spots)): (w.association, w.influence, w.reach)
        for w in audit.witnesses
        if not w.decomposition.spots[0].operands
        and w.occurrences in (1, counts[w.expression.digest])
    }
