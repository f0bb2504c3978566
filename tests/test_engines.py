"""The fast engine says what the naive engine says, on every decomposition of random programs."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given, settings

from proxyuse.detect.candidates import Candidates
from proxyuse.measure.naive import NaiveEngine
from proxyuse.measure.trees import TreeEngine
from proxyuse.population import Population
from tests.strategies import Case, cases


def check_same_counts(case: Case) -> None:
    program = case.program
    population = Population.build(
        case.data, protected=case.protected, weights=case.weights, variables=program.variables
    )
    naive, fast = NaiveEngine(program, population), TreeEngine(program, population)
    points = program.points
    pairs = population.total**2
    for candidate in Candidates(points, 64):
        sets = [[spot] for spot in candidate.spots]
        sets += [list(pair) for pair in combinations(candidate.spots, 2) if points.disjoint(*pair)]
        for spots in sets:
            expected = round(naive.influence(spots) * pairs)
            assert round(fast.influence(spots) * pairs) == expected, (str(candidate.term), spots)


@given(cases(most_rows=8))
def test_both_engines_count_the_same_pairs(case: Case) -> None:
    check_same_counts(case)


@pytest.mark.slow
@settings(max_examples=2000)
@given(cases(most_rows=12))
def test_both_engines_count_the_same_pairs_on_thousands_of_programs(case: Case) -> None:
    check_same_counts(case)
