"""Counts of blocks add up to the same bytes in any order, and to the measures of the definition."""

from __future__ import annotations

import multiprocessing
import pickle
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import proxyuse as pu
from proxyuse.data.population import Population
from proxyuse.detect.candidates import Candidates
from proxyuse.lang.positions import Site
from proxyuse.measure import sample as sample_module
from proxyuse.measure.contexts import engine as engine_module
from proxyuse.measure.contexts import row_views, unchanged_ranges
from proxyuse.measure.contexts.counting import PositionPlan
from proxyuse.measure.contexts.engine import Contexts
from proxyuse.measure.counting import Block, Measures, Plan, blocks_of, measured, whole_masses
from proxyuse.measure.row_effects import RowEffects
from proxyuse.measure.sample import Sample
from proxyuse.program import Program
from proxyuse.validity.sample import Observed, spread
from tests.measure.agreement import defined, effects_of, population_of
from tests.strategies import Case, cases

fractions = st.floats(0.125, 4).map(lambda weight: weight + 0.1)


def single_sites(program: Program) -> list[Site]:
    candidates = Candidates(program.points, subsets=8)
    return [site for candidate in candidates for site in candidate.sites]


def cut(program: Program, population: Population, parts: int, seed: int) -> list[Block]:
    """Return the rows in up to `parts` blocks, in random order."""
    masses, _ = whole_masses(population.weights)
    rows = np.random.default_rng(seed).permutation(population.n_rows)
    blocks = []
    for own in np.array_split(rows, min(parts, len(rows))):
        columns = {name: population.columns[name].take(own) for name in program.variables}
        blocks.append(Block(columns, masses[own]))
    random.Random(seed).shuffle(blocks)
    return blocks


def passes(plan: Plan, partitions: Sequence[Sequence[Block]]) -> Iterator[bytes]:
    """Check that all partitions of the rows give the same bytes; the counts of each pass."""
    step: Any = plan
    while step is not None and not isinstance(step, Measures):
        counts = [reduce(add, map(step.count, blocks)) for blocks in partitions]
        data = [pickle.dumps(some) for some in counts]
        assert all(some == data[0] for some in data)
        yield data[0]
        step = step.finish(counts[0])


def spread_of(population: Population, effects: RowEffects, squares: Any) -> float:
    return spread(Observed(True, population.weights, squares), effects.changed + effects.changing)


def check_counting(program: Program, population: Population) -> int:
    """Compare every position with the definition, and return how many could be counted.

    Variances depend on the unit of the weights, so they are compared in fixed point.
    """
    masses, total = whole_masses(population.weights)
    fixed = replace(population, weights=masses.astype(np.float64))
    exact, reference = defined(program, population), defined(program, fixed)
    partitions = [cut(program, population, parts, seed=parts) for parts in (1, 2, 5)]
    answered = 0
    for site in single_sites(program):
        where = str(program), site
        plan = PositionPlan(program, site, variances=True)
        assert list(passes(plan, partitions))
        measures = measured(plan, partitions[2])
        alone = Contexts(Sample(program, population)).influence([site])
        assert (measures is None) == (alone is None), where
        if measures is None:
            continue
        answered += 1
        plain = measured(PositionPlan(program, site), partitions[1])
        assert plain is not None
        assert plain.influence == measures.influence == alone
        assert measures.influence == pytest.approx(exact.influence([site]), rel=0, abs=1e-12), where
        assert measures.reach == pytest.approx(exact.reach([site]), rel=0, abs=1e-12), where
        effects, weights = effects_of(reference, [site]), fixed.weights
        assert measures.variances is not None
        for variance, squares in zip(measures.variances, (weights * weights, weights), strict=True):
            expected = spread_of(fixed, effects, squares)
            assert variance == pytest.approx(expected, rel=1e-9, abs=1e-12), where
        assert measures.total == total
        assert measures.squares == sum(mass * mass for mass in masses.tolist())
        assert measures.heaviest == masses.max()
    return answered


@given(cases(most_rows=9))
def test_random_programs_with_whole_weights(case: Case) -> None:
    check_counting(case.program, population_of(case))


@given(cases(most_rows=7), st.lists(fractions, min_size=7, max_size=7))
def test_random_programs_with_fractional_weights(case: Case, weights: list[float]) -> None:
    population = population_of(case, weights[: len(case.weights)])
    check_counting(case.program, population)


PROGRAMS = (
    "ite(2 * x + y > 1, 'yes', 'no')",
    "float32: ite(0.1 * x + 0.3 * y + 0.7 * share > 0.35, 1, 0)",
    "sigmoid(0.5 * x - share) > 0.5",
    "sigmoid(0.5 * x - 2 * share)",
    "ite(fill(x + y, 0.5) <= 0.25, job, 'none')",
    "ite(job == 'clerk', ite(x <= 0, 1, 2), ite(share <= y, 2, 3))",
    "ite(job in {'clerk', 'cook'} and not (x > 0.5), y, 0)",
    "fill(x, 0.25) + y",
    "argmax([x + y, 2 * share, ite(flag, 0.5, y)], 'p', 'q', 'r')",
    "exp(y) * 2",
    "job",
)


def people(seed: int, rows: int = 60, **options: Any) -> Population:
    rng = np.random.default_rng(seed)
    missing = rng.random((3, rows)) < 0.1
    jobs = rng.choice(["clerk", "cook", "a\0", "a"], rows).astype(object)
    data = {
        "x": np.where(missing[0], np.nan, rng.integers(-8, 8, rows) / 8),
        "y": rng.integers(-4, 5, rows) / 4 * rng.choice([-1.0, 1.0], rows),  # with -0
        "share": rng.random(rows),
        "job": [None if hidden else job for hidden, job in zip(missing[1], jobs, strict=True)],
        "flag": [None if hidden else bool(rng.random() < 0.5) for hidden in missing[2]],
    }
    return Population.build(data, protected={"z": rng.integers(0, 2, rows)}, **options)


@pytest.mark.parametrize("weights", ["one", "whole", "fractional"])
@pytest.mark.parametrize("text", PROGRAMS)
def test_numbers_categories_and_missing_values(text: str, weights: str) -> None:
    rng = np.random.default_rng(3)
    drawn = {"whole": rng.integers(1, 5, 60), "fractional": rng.random(60) + 0.01}
    population = people(1, weights=drawn.get(weights))
    assert check_counting(Program.parse(text), population)


def test_blocks_can_have_different_forms() -> None:
    """Only one block has a missing threshold, and only the other one a zero factor."""
    program = Program.parse("ite(x * y > share, 1, 0)")
    data = {
        "x": [1.0, 2.0, 3.0, 4.0], "y": [1.0, 0.5, 0.0, 2.0], "share": [1.0, np.nan, 2.0, 3.0],
        "z": list("aabb"),
    }  # fmt: skip
    population = Population.build(data, protected="z")
    check_counting(program, population)


def test_rows_that_do_not_reach_a_position_do_not_determine_its_form() -> None:
    program = Program.parse("ite(flag, ite(x * y > share, 1, 0), 2)")
    data = {
        "flag": [True, True, False, False], "x": [1.0, 2.0, 3.0, 4.0], "y": [1.0, 0.5, 0.0, 2.0],
        "share": [1.0, 2.0, 2.0, np.nan], "z": list("aabb"),
    }  # fmt: skip
    population = Population.build(data, protected="z")
    site = next(s for s in single_sites(program) if str(program.points.term_at(s)) == "x")
    plan = PositionPlan(program, site)
    assert measured(plan, cut(program, population, 2, seed=0)) is not None
    check_counting(program, population)


# Elsewhere


def counted_elsewhere(data: bytes) -> bytes:
    plan, block = pickle.loads(data)
    return pickle.dumps(plan.count(block))


def test_another_process_counts_the_same_bytes() -> None:
    program = Program.parse("ite(2 * x + y > share, job, 'none')")
    population = people(2, weights=np.random.default_rng(0).random(60) + 0.1)
    blocks = list(blocks_of(population, program.variables, size=25))
    assert [len(block) for block in blocks] == [25, 25, 10]
    sites = single_sites(program)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        for site in sites:
            step: Any = PositionPlan(program, site, variances=True)
            while step is not None and not isinstance(step, Measures):
                sent = [pickle.dumps((step, block)) for block in blocks]
                received = pool.map(counted_elsewhere, sent)
                assert received == [pickle.dumps(step.count(block)) for block in blocks]
                step = step.finish(reduce(add, map(pickle.loads, reversed(received))))
            assert step == measured(PositionPlan(program, site, variances=True), blocks)


# The engine


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give each thread its rows, however few."""
    monkeypatch.setattr(row_views, "MIN_ROWS", 1)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("fractional", [False, True])
@pytest.mark.parametrize("text", PROGRAMS)
def test_threads_change_nothing(text: str, fractional: bool) -> None:
    program = Program.parse(text)
    weights = np.random.default_rng(3).random(60) + 0.01 if fractional else None
    population = people(4, weights=weights)
    engines = [Contexts(Sample(program, population, threads=threads)) for threads in (1, 2, 5)]
    for site in single_sites(program):
        assert len({engine.influence([site]) for engine in engines}) == 1
        effects = [pickle.dumps(engine.effects([site])) for engine in engines]
        assert effects[1:] == effects[:-1]


@pytest.mark.parametrize("seed", range(6))
def test_whole_columns_and_ranges_give_identical_numbers(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sample_module, "MANY_ROWS", 0)
    whole: list[Any] = []
    across = unchanged_ranges.pairs_across

    def recorded(*arguments: Any) -> Any:
        whole.append(across(*arguments))
        return whole[-1]

    monkeypatch.setattr(engine_module, "pairs_across", recorded)
    rng = np.random.default_rng(seed)
    rows = 300
    data = {name: rng.normal(size=rows) for name in "abc"} | {"z": rng.integers(0, 2, rows)}
    people = Population.build(data, protected="z")
    program = pu.Program.parse("ite(0.3 * a - 1.2 * b + 0.7 * c > 0.1, 1, 0)")
    engine = Contexts(Sample(program, people))
    blocks = list(blocks_of(people, program.variables, size=64))
    for site in single_sites(program):
        measures = measured(PositionPlan(program, site), blocks)
        assert measures is not None
        assert engine.influence([site]) == measures.influence
    assert any(pairs is not None for pairs in whole)
