"""Sums of trees: both kinds of loops count what the naive engine counts."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from sklearn.tree import DecisionTreeRegressor

from proxyuse.detect.candidates import Candidates
from proxyuse.lang.build import add
from proxyuse.lang.nodes import Compare, Const, Relation
from proxyuse.lang.parse import parse_term
from proxyuse.measure import shallow_plan
from proxyuse.measure.association import NormalizedMutualInformation
from proxyuse.measure.forest_plan import forest_plan
from proxyuse.measure.forests import ForestEngine
from proxyuse.measure.naive import NaiveEngine
from proxyuse.models.registry import translate
from proxyuse.population import Population
from proxyuse.program import Program
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


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "NumPy"])
def test_loops_count_what_the_definition_says(seed: int, compiled: bool) -> None:
    check_case(forest_case(seed), compiled=compiled, threads=1 + seed % 3)


@pytest.mark.parametrize("seed", range(30))
def test_loops_for_trees_with_many_leaves_count_the_same(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shallow_plan, "MOST_LEAVES", 0)
    check_case(forest_case(seed), compiled=True)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(100, 2100, 100))
def test_loops_count_what_the_definition_says_of_thousands(first: int) -> None:
    for seed in range(first, first + 100):
        check_case(forest_case(seed), compiled=seed % 4 != 0)


def test_most_random_cases_are_counted_as_sums_of_trees() -> None:
    """Else the tests above would test the contexts against the definition."""
    plans = [forest_plan(forest_case(seed).program) for seed in range(200)]
    assert sum(plan is not None for plan in plans) > 190
    assert sum(plan is not None and plan.slack > 0 for plan in plans) > 60
    assert sum(plan is not None and plan.slack == 0 for plan in plans) > 60


def test_a_winner_by_rounding_wins() -> None:
    """0.1 + 0.2 + 0.3 is not 0.3 + 0.2 + 0.1 in floating point, and which one decides."""
    trees = " + ".join(f"ite(x <= {cut}, {low}, {high})" for cut, low, high in [
        (1, 0.1, 0.3), (2, 0.2, 0.2), (3, 0.3, 0.1),
    ])  # fmt: skip
    x = np.arange(5.0)
    for limit in (0.1 + 0.2 + 0.3, 0.3 + 0.2 + 0.1):
        program = Program.parse(f"ite({trees} > {limit!r}, 'above', 'not above')")
        population = Population.build({"x": x}, protected={"z": x > 2})
        check_case(ForestCase("threshold", program, population), compiled=True)
        check_case(ForestCase("threshold", program, population), compiled=False)


def test_a_subtree_with_more_values_than_association_takes_is_cut_into_bins() -> None:
    rng = np.random.default_rng(0)
    x = rng.permutation(700) / 7
    tree = DecisionTreeRegressor(random_state=0).fit(x[:, None], rng.normal(size=700))
    other = parse_term("ite(x <= 3, 0.5, 0.25)")
    total = add(translate(tree, ["x"]).term, other)
    program = Program(Compare(Relation.GT, total, Const(0.0)), ("x",))
    population = Population.build({"x": x}, protected={"z": x > 40})
    fast = ForestEngine(program, population, compiled=False)
    naive = NaiveEngine(program, population)
    root = program.points.terms[int(fast._trees.roots[0])]
    for engine in (fast, naive):
        (table,) = engine.tables(root)
        assert table.binned
    assert fast.associations([root], NMI) == naive.associations([root], NMI)
    assert root in fast.binned
