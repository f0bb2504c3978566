"""Collective influence agrees with the definition, exactly or within its interval."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proxyuse.data.population import Population
from proxyuse.detect.collections import Candidates, candidates_of
from proxyuse.measure import collective
from proxyuse.measure.collective import Family, collective_influences
from proxyuse.measure.engine import ENGINES, Measurement
from proxyuse.measure.forests.collections import FamilyOfTests
from proxyuse.measure.pair_sampling import PAIRS
from proxyuse.measure.reference import Reference
from proxyuse.measure.sample import Sample
from proxyuse.program import Program
from tests.forest_cases import forest_case
from tests.measure.agreement import NMI, defined, measured, population_of
from tests.small_programs import PROGRAMS, people
from tests.strategies import Case, cases


def candidates(measurement: Measurement) -> Candidates:
    found = candidates_of(measurement, NMI)
    assert found is not None
    return found


def by_definition(reference: Reference, found: Candidates, numbers: Any) -> float:
    return reference.collective_influence([found.sites(number) for number in numbers])


def check_prefixes(measurement: Measurement, reference: Reference) -> Candidates:
    """Compare each prefix of the candidates with the definition, and check its bound."""
    found = candidates(measurement)
    order = found.ordered(0)[:6]
    family = found.family(order)
    sizes = range(1, len(order) + 1)
    for size, known in zip(sizes, collective_influences(family, sizes, 0.05), strict=True):
        right = by_definition(reference, found, order[:size].tolist())
        assert known.exact
        assert known.influence == pytest.approx(right, rel=1e-9, abs=1e-12)
    if len(order):
        check_bound(reference, found, family, order)
    return found


def check_bound(reference: Reference, found: Candidates, family: Family, order: Any) -> None:
    """No part of a collection has more influence than its bound."""
    size = min(len(order), 5)
    bound = family.bound(size)
    for count in range(1, size + 1):
        for part in combinations(order[:size].tolist(), count):
            assert by_definition(reference, found, part) <= bound + 1e-9


@given(cases(most_rows=8))
def test_random_programs(case: Case) -> None:
    population = population_of(case)
    check_prefixes(measured(case.program, population), defined(case.program, population))


@given(cases(most_rows=6), st.lists(st.floats(0.125, 4), min_size=6, max_size=6))
def test_random_programs_with_fractional_weights(case: Case, weights: list[float]) -> None:
    population = population_of(case, weights[: len(case.weights)])
    check_prefixes(measured(case.program, population), defined(case.program, population))


@pytest.mark.parametrize("name", PROGRAMS)
def test_each_kind_of_program(name: str) -> None:
    program = Program.parse(PROGRAMS[name])
    population = Population.build(people(60), protected=["z", "q"], variables=program.variables)
    measurement = Measurement(Sample(program, population), ENGINES)
    found = check_prefixes(measurement, Reference(program, population))
    assert isinstance(found.family(found.ordered(0)), FamilyOfTests) == (name != "linear")


@pytest.mark.parametrize("seed", range(24))
def test_trees(seed: int) -> None:
    case = forest_case(seed)
    measurement = Measurement(Sample(case.program, case.population), ENGINES)
    check_prefixes(measurement, Reference(case.program, case.population))


# A thousand small programs: trees, linear models, and programs as people write them

NUMBER_OF_PROGRAMS = 1000


def linear_case(seed: int) -> tuple[Program, Population]:
    """A linear decision or score, with missing values, weights and categories."""
    rng = np.random.default_rng(seed)
    rows = int(rng.integers(2, 16))
    data: dict[str, Any] = {
        "a": rng.integers(-2, 4, rows) / 2.0,
        "b": rng.normal(size=rows).round(2),
        "c": rng.choice(["u", "v", "w"], rows),
        "d": rng.integers(0, 3, rows).astype(float),
        "z": rng.integers(0, 2, rows),
        "q": rng.choice(["l", "m", "n"], rows),
    }
    if seed % 3 == 0:
        data["a"][rng.random(rows) < 0.3] = np.nan
    factors = rng.choice([-2.0, -0.5, 0.25, 1.0, 3.0], 4).tolist()
    total = (
        f"{factors[0]} * a + {factors[1]} * b + ite(c == 'u', {factors[2]}, 0) "
        f"+ ite(d <= 1, {factors[3]}, 0.25)"
    )
    forms = (f"ite({total} > 0.3, 1, 0)", total, f"sigmoid({total}) > 0.5")
    program = Program.parse(forms[seed % len(forms)])
    weights = rng.choice([0.5, 1.0, 2.25], rows) if seed % 2 else None
    return program, Population.build(
        data, protected=["z", "q"], weights=weights, variables=program.variables
    )


def check_many(first: int, count: int) -> int:
    """Compare programs with the definition; returns the number of collections compared."""
    compared = 0
    for seed in range(first, first + count):
        if seed % 2:
            case = forest_case(seed)
            program, population = case.program, case.population
        else:
            program, population = linear_case(seed)
        reference = Reference(program, population)
        measurement = Measurement(Sample(program, population), ENGINES)
        compared += min(6, len(check_prefixes(measurement, reference)))
    return compared


def test_some_small_programs() -> None:
    assert check_many(5000, 10) > 20


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, NUMBER_OF_PROGRAMS, 100))
def test_a_thousand_small_programs(first: int) -> None:
    assert check_many(first, 100) > 200


@pytest.mark.slow
@settings(max_examples=300)
@given(cases(most_rows=6))
def test_hundreds_of_written_programs(case: Case) -> None:
    population = population_of(case)
    check_prefixes(measured(case.program, population), defined(case.program, population))


@pytest.mark.slow
def test_intervals_miss_at_most_at_their_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each side of an interval at level 0.1 misses in at most 10% of draws, up to chance."""
    monkeypatch.setattr(collective, "EXACT_WORK", 0)
    monkeypatch.setattr(collective, "BETA", 0.1 * 2 * 5)  # two sides, 5 sizes of the draw
    monkeypatch.setattr(collective, "PAIRS", 1 << 8)
    monkeypatch.setattr(collective, "MAX_PAIRS", 1 << 12)
    missed = intervals = 0
    for seed in range(1, 600, 2):
        case = forest_case(seed)
        reference = Reference(case.program, case.population)
        found = candidates(Measurement(Sample(case.program, case.population), ENGINES))
        order = found.ordered(0)[:4]
        if len(order) < 2:
            continue
        (known,) = collective_influences(found.family(order), [len(order)], 2.0)
        right = by_definition(reference, found, order.tolist())
        intervals += 1
        missed += not known.low - 1e-12 <= right <= known.high + 1e-12
    assert intervals > 100
    assert missed <= 0.2 * intervals + 3 * np.sqrt(0.2 * 0.8 * intervals)


def test_the_influence_of_joint_values_follows_from_neither_alone() -> None:
    """Two tests that each decide alone cancel out if they change together."""
    program = Program.parse("ite(x <= 1, ite(y <= 1, 0, 1), ite(y <= 1, 1, 0))")
    data = {"x": [1, 2] * 4, "y": [1, 2] * 4, "z": [0, 1] * 4}
    population = Population.build(data, protected="z", variables=program.variables)
    found = candidates(measured(program, population))
    family = found.family(found.ordered(0))
    one, both = collective_influences(family, [1, 2], 0.05)
    assert one.influence == 0.5
    assert both.influence == 0
    assert family.bound(2) == 1


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("weighted", [False, True])
def test_intervals_of_drawn_pairs_contain_the_influence(
    name: str, weighted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collective, "EXACT_WORK", 0)
    program = Program.parse(PROGRAMS[name])
    rng = np.random.default_rng(3)
    population = Population.build(
        people(200),
        protected="z",
        weights=rng.exponential(size=200) + 0.1 if weighted else None,
        variables=program.variables,
    )
    measurement = Measurement(Sample(program, population), ENGINES)
    reference = Reference(program, population)
    found = candidates(measurement)
    order = found.ordered(0)
    sizes = range(1, len(order) + 1)
    drawn = collective_influences(found.family(order), sizes, 0.05)
    for size, known in zip(sizes, drawn, strict=True):
        right = by_definition(reference, found, order[:size].tolist())
        assert known.low - 1e-12 <= right <= known.high + 1e-12
        assert known.exact == (size == 1 or name == "linear")
        assert known.high - known.low < 0.06
        assert not known.low <= 0.05 < known.high


def test_more_pairs_are_drawn_only_for_collections_close_to_the_threshold(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(collective, "EXACT_WORK", 0)
    program = Program.parse(PROGRAMS["forest"])
    population = Population.build(people(200), protected="z", variables=program.variables)
    found = candidates(Measurement(Sample(program, population), ENGINES))
    family = found.family(found.ordered(0))
    size = len(family)
    (far,) = collective_influences(family, [size], 1.0)
    (near,) = collective_influences(family, [size], far.influence)
    assert far.pairs == PAIRS
    assert near.pairs > PAIRS
    assert near.high - near.low < far.high - far.low
