"""Engines and whole audits on hundreds and thousands of rows, where other loops run than on few."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

import proxyuse as pu
from proxyuse.detect.candidates import Candidates
from proxyuse.lang.positions import Site
from proxyuse.measure.engine import ENGINES, Measurement
from proxyuse.measure.forests.engine import ForestEngine
from proxyuse.measure.sample import Sample
from proxyuse.program import Program
from tests.measure.by_rows import ByRows
from tests.measure.large_cases import FORMS, LargeCase, large_case


def sets_of(case: LargeCase, rng: np.random.Generator, most: int) -> list[list[Site]]:
    """A random choice of positions, and of sets of positions of one computation."""
    points = case.program.points
    candidates = list(Candidates(points, subsets=4))
    chosen = rng.permutation(len(candidates))[:most]
    sets = []
    for candidate in (candidates[i] for i in chosen.tolist()):
        sites = list(candidate.sites)
        sets.append([sites[int(rng.integers(len(sites)))]])
        some: list[Site] = []
        for index in rng.permutation(len(sites))[: int(rng.integers(2, 40))].tolist():
            if all(points.disjoint(sites[index], other) for other in some):
                some.append(sites[index])
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
    for sites in sets_of(case, rng, most):
        where = case.form, seed, by_rows.rows, sites
        if len(np.unique(by_rows.value(sites[0]), axis=0)) * len(sites) > 2000:
            continue
        changed, changing = by_rows.effects(sites)
        influence, reach = by_rows.mean(changed), by_rows.reach(sites)
        assert together.influence(sites) == pytest.approx(influence, abs=1e-9), where
        assert together.reach(sites) == pytest.approx(reach, abs=1e-9), where
        for engine in engines:
            named = engine.method, *where
            answer, reached = engine.influence(sites), engine.reach(sites)
            assert answer is None or answer == pytest.approx(influence, abs=1e-9), named
            assert reached is None or reached == pytest.approx(reach, abs=1e-9), named
            effects = engine.effects(sites)
            if effects is not None:
                np.testing.assert_allclose(effects.changed, changed, rtol=0, atol=1e-9)
                np.testing.assert_allclose(effects.changing, changing, rtol=0, atol=1e-9)
            bound = engine.occurrence_bound(sites)
            assert bound is None or bound >= influence - 1e-9, named
            if len(sites) == 1:
                assert engine.influences(sites) == [answer], named
                assert engine.reaches(sites) == [reached], named


@pytest.mark.parametrize("form", FORMS)
def test_hundreds_of_rows(form: str) -> None:
    check_case(large_case(FORMS.index(form), 300, form), seed=FORMS.index(form))


@pytest.mark.parametrize("form", FORMS)
def test_blocks_of_rows_add_up(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("proxyuse.measure.forests.counting.BLOCK", 100)
    check_case(large_case(40 + FORMS.index(form), 1030, form), seed=1, most=6)


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("first", range(0, 200, 20))
def test_random_models(form: str, first: int) -> None:
    for seed in range(first, first + 20):
        rows = (257, 700, 1500, 5000)[seed % 4]
        check_case(large_case(seed, rows, form, compound=seed % 3 == 0), seed)


# Whole audits: bounded first, against everything measured


def check_audits(case: LargeCase, epsilon: float, delta: float, **options: Any) -> None:
    """An audit that bounds first finds the witnesses of one that measures everything."""
    audit = partial(
        pu.audit, case.program, case.data, list(case.protected), epsilon, delta,
        weights=case.weights, budget=pu.Budget(subsets=0, search=0, grow=0, positions=0), **options,
    )  # fmt: skip
    everything, bounded = audit(measure="all", validity=None), audit()
    alone = [sites[0] for sites in everything.decompositions.sites if len(sites) == 1]
    counts = Counter(everything.program.points.term_at(site).digest for site in alone)
    where = case.form, epsilon, delta
    expected, actual = (witnesses_of_terms(audit, counts) for audit in (everything, bounded))
    assert actual.keys() == expected.keys(), where
    for key, values in expected.items():
        assert actual[key] == pytest.approx(values, abs=1e-9), (*where, key)
    influences = dict(zip(everything.decompositions.sites, everything.decompositions.influences,
                          strict=True))  # fmt: skip
    by_rows = ByRows(bounded.program, case.columns, case.weights, case.protected)
    for item in bounded.bounded or ():
        assert item.bound >= influences[(item.site,)] - 1e-9, (*where, item)
        assert item.reach == pytest.approx(by_rows.reach([item.site])), (*where, item)


def witnesses_of_terms(audit: pu.Audit, counts: Counter[bytes]) -> dict[Any, Any]:
    """The witnesses that are terms, at one position or at all of them, with their numbers."""
    return {
        (w.protected, tuple(w.decomposition.sites)): (w.association, w.influence, w.reach)
        for w in audit.witnesses
        if not w.decomposition.sites[0].operands
        and w.occurrences in (1, counts[w.expression.digest])
    }


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_audits_that_bound_first(form: str) -> None:
    check_audits(large_case(3, 257, form, compound=True), 0.01, 0.02)


@pytest.mark.slow
@pytest.mark.parametrize("association", ["adjusted-mutual-information", "cramers-v"])
@pytest.mark.parametrize("form", ["label", "sum", "vote", "boosted"])
def test_audits_that_bound_first_with_other_associations(form: str, association: str) -> None:
    check_audits(large_case(17, 257, form), 0.01, 0.02, association=association)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["number", "sum", "boosted"])
def test_audits_that_bound_first_with_squared_correlation(form: str) -> None:
    case = large_case(17, 257, form)
    case = replace(case, protected={"z": case.protected["z"]})
    check_audits(case, 0.01, 0.02, association="squared-correlation")


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("first", range(100, 160, 20))
def test_random_audits_that_bound_first(form: str, first: int) -> None:
    for seed in range(first, first + 20):
        case = large_case(seed, (257, 400, 900)[seed % 3], form, compound=seed % 5 == 0)
        if len(case.program.points) <= 800:
            check_audits(case, (0.005, 0.05, 0.0)[seed % 3], (0.02, 0.1, 0.0, 0.05)[seed % 4])


def check_bounds(text: str, columns: dict[str, Any]) -> None:
    """No bound of a single position is below its influence."""
    rows = len(columns["x"])
    case = LargeCase("text", Program.parse(text), columns, None, {"z": np.arange(rows) % 2})
    check_audits(case, 0.0, 0.0)


def test_a_number_may_move_either_way() -> None:
    columns = {"x": [0, 1, 1, 2], "y": [0, 0, 0, 1]}
    check_bounds("ite(x <= 1, 1, 5)", columns)
    check_bounds("ite(x <= 1, 5, 1)", columns)
    check_bounds("ite(x <= 1, 0.5, -2) + ite(y <= 0, ite(x <= 0, 1, 3), -1)", columns)


def test_near_a_tie_the_sum_of_the_program_decides_the_class() -> None:
    """0.1 + 0.2 is above 0.3 in floating point, whatever the rounded lead says."""
    for limit in ("0.3", "0.30000000000000004", "0.30000000000000007"):
        for relation in (">", ">="):
            check_bounds(
                f"ite(ite(x <= 1, 0.1, 0.05) + ite(y <= 0, 0.2, 0.3) {relation} {limit}, 1, 0)",
                {"x": [0, 0, 1, 2, 0], "y": [0, 0, 0, 0, 1]},
            )


def test_equal_subtrees_may_matter_together_only() -> None:
    same = "ite(x <= 1, 1, 0)"
    columns: dict[str, Any] = {"x": np.arange(6.0), "y": [0, 1] * 3}
    program = Program.parse(f"{same} + ite(y <= 0, {same}, {same}) + ite(x <= 1, 3, 2) > 3.5")
    audit = pu.audit(
        program, columns, {"z": columns["x"] <= 1}, 0.1, 0.05, budget=pu.Budget(positions=0)
    )
    witnesses = {w.term: w.occurrences for w in audit.witnesses}
    assert audit.bounded is not None
    assert witnesses[same] == 3
    check_bounds(str(program.term), columns)


@pytest.mark.parametrize(
    "test",
    ["fill(x, 1) <= 2", "x + y > 0.5", "x <= 2 and y > 0", "not (x <= 2)", "y <= x",
     "2 * fill(x, 1) - 1 <= 2", "x <= 1 or (x <= 3 and not (x <= 2))"],
)  # fmt: skip
def test_computations_inside_tests_are_measured(test: str) -> None:
    rng = np.random.default_rng(0)
    x = np.where(rng.random(300) < 0.2, np.nan, rng.integers(0, 5, 300))
    columns = {"x": x, "y": rng.integers(0, 3, 300).astype(float)}
    check_bounds(f"ite({test}, ite(x <= 2, 1, 0), ite(y <= 1, 0, 1))", columns)
    check_bounds(f"ite({test}, 1, 0) + ite({test}, 2, 0) + ite(y <= 1, 0, 2) > 1.5", columns)


# Drawn influences


@pytest.mark.parametrize("seed", range(3))
def test_an_estimated_interval_contains_the_exact_influence(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("proxyuse.detect.forest_terms.EXACT_WORK", 0)
    case = large_case(seed, 900, "boosted")
    audit = partial(
        pu.audit, case.program, case.data, list(case.protected), 0.0, 0.01,
        weights=case.weights, budget=pu.Budget(positions=0),
    )  # fmt: skip
    drawn, exact = audit(), audit(exact=True)
    errors = drawn.decompositions.errors
    assert (errors > 0).any()
    assert (exact.decompositions.errors == 0).all()
    counted = dict(zip(map(tuple, exact.decompositions.sites), exact.decompositions.influences,
                       strict=True))  # fmt: skip
    for sites, influence, error in zip(
        drawn.decompositions.sites, drawn.decompositions.influences, errors, strict=True
    ):
        if influence == influence:
            assert abs(influence - counted[tuple(sites)]) <= error + 1e-12
    assert {w.key for w in drawn.witnesses} == {w.key for w in exact.witnesses}


def test_every_form_of_trees_uses_the_forest_engine() -> None:
    for form in FORMS:
        case = large_case(7, 300, form)
        engines = Measurement(Sample(case.program, case.population)).engines
        assert any(isinstance(e, ForestEngine) for e in engines) == (form != "linear")
