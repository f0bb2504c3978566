"""Sums of trees: both kinds of loops count what the naive engine counts."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from proxyuse.detect.candidates import Candidates
from proxyuse.measure.association import NormalizedMutualInformation
from proxyuse.measure.forests import ForestEngine
from proxyuse.measure.naive import NaiveEngine
from tests.forest_cases import ForestCase, forest_case

NMI = NormalizedMutualInformation()


def check_case(case: ForestCase, *, compiled: bool, threads: int = 1) -> None:
    program, population = case.program, case.population
    naive = NaiveEngine(program, population)
    fast = ForestEngine(program, population, compiled=compiled, threads=threads)
    points = program.points
    pairs = population.total**2
    candidates = list(Candidates(points, 16))
    terms = [candidate.term for candidate in candidates]
    expected = naive.associations(terms, NMI)
    np.testing.assert_allclose(fast.associations(terms, NMI), expected, rtol=0, atol=1e-12)
    for candidate in candidates:
        for one, other in zip(
            naive.tables(candidate.term), fast.tables(candidate.term), strict=True
        ):
            np.testing.assert_allclose(one.masses, other.masses, rtol=1e-12)
            assert one.rows == other.rows
        sets = [[spot] for spot in candidate.spots]
        sets += [list(p) for p in combinations(candidate.spots, 2) if points.disjoint(*p)][:12]
        plain = [spot for spot in candidate.spots if not spot.operands]
        if len(plain) > 2:
            sets.append(plain)
        largest = 0.0
        for spots in sets:
            wanted = naive.influence(spots) * pairs
            largest = max(largest, wanted)
            where = (str(program), str(candidate.term), spots)
            assert fast.influence(spots) * pairs == pytest.approx(wanted, rel=1e-12, abs=1e-9), (
                where
            )
            assert fast.reach(spots) == pytest.approx(naive.reach(spots), rel=1e-12), where
        if len(plain) > 1:
            assert fast.occurrence_bound(plain) * pairs >= largest - 1e-9


@pytest.mark.parametrize("seed", range(120))
def test_compiled_loops_count_what_the_definition_says(seed: int) -> None:
    check_case(forest_case(seed), compiled=True, threads=1 + seed % 3)


@pytest.mark.parametrize("seed", range(120, 200))
def test_plain_loops_count_what_the_definition_says(seed: int) -> None:
    check_case(forest_case(seed), compiled=False, threads=1 + seed % 2)
