"""Influences that are estimated where exact ones take too long."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import proxyuse as pu
from proxyuse.detect.candidates import Candidates
from proxyuse.measure import engine as engine_module
from proxyuse.measure import settled_pairs
from proxyuse.measure.engine import Measurement
from proxyuse.measure.sample import Sample
from proxyuse.measure.settled_pairs import SettledPairs
from tests.measure.large_cases import FORMS, large_case

THREE_CLASSES = "argmax([0.7 * a + b, 0.3 * a - b, 0.5 * b - a], 'p', 'q', 'r')"


def people(rows: int, seed: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    a = rng.normal(size=rows)
    return {"a": a, "b": rng.normal(size=rows), "z": a + 0.3 * rng.normal(size=rows) > 0}


@pytest.fixture
def no_exact_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Estimate whatever the other engines decline."""
    monkeypatch.setattr(settled_pairs, "EXACT_WORK", 0)
    monkeypatch.setattr(settled_pairs, "LARGEST_WORK", 0)
    monkeypatch.setattr(engine_module, "CHEAP_WORK", 0)


@pytest.mark.usefixtures("no_exact_work")
@pytest.mark.parametrize("form", FORMS)
def test_intervals_contain_the_influence(form: str) -> None:
    """At one position and at several; the chance of a failure is one in a million for each."""
    case = large_case(FORMS.index(form), 400, form)
    estimates = SettledPairs.of(Sample(case.program, case.population, settle_at=0.05))
    assert estimates is not None
    points = case.program.points
    for candidate in list(Candidates(points, subsets=2))[:12]:
        for sites in (candidate.sites[:1], candidate.sites):
            if len(sites) > 1 and any(site.operands for site in sites):
                continue
            estimate = estimates.influence(sites)
            if sites[0].point == 0:
                assert (
                    estimate is None
                )  # nothing lies above the root, so exact figures cost nothing
                continue
            drawn = estimates.drawn[tuple(sites)]
            assert estimate == drawn.influence
            exact = case.by_rows.influence(sites)
            assert abs(drawn.influence - exact) <= drawn.error
            if drawn.settled:
                assert (drawn.influence > 0.05) == (exact > 0.05)


@pytest.mark.usefixtures("no_exact_work")
@pytest.mark.parametrize("form", FORMS)
def test_bounds_lie_above_every_set_of_positions(form: str) -> None:
    case = large_case(50 + FORMS.index(form), 300, form)
    estimates = SettledPairs.of(Sample(case.program, case.population, settle_at=0.05))
    assert estimates is not None
    for candidate in list(Candidates(case.program.points))[:15]:
        bound = estimates.occurrence_bound(candidate.sites)
        if bound is not None:
            for sites in (candidate.sites[:1], candidate.sites[-1:], candidate.sites):
                assert bound >= case.by_rows.influence(sites) - 1e-9


def test_the_engine_is_not_used_if_influence_must_be_exact() -> None:
    case = large_case(1, 300, "sum")
    assert SettledPairs.of(Sample(case.program, case.population)) is None
    engines = Measurement(Sample(case.program, case.population)).engines
    assert not any(isinstance(engine, SettledPairs) for engine in engines)


@pytest.mark.usefixtures("no_exact_work")
def test_an_audit_finds_the_same_witnesses_with_estimates() -> None:
    data = people(2000, 0)
    program = pu.Program.parse(THREE_CLASSES)
    estimated = pu.audit(program, data, "z")
    exact = pu.audit(program, data, "z", exact=True)
    assert estimated.complete
    assert {w.key for w in estimated.witnesses} == {w.key for w in exact.witnesses}
    assert exact.witnesses
    assert (exact.decompositions.errors == 0).all()
    counted = {
        tuple(sites): influence
        for sites, influence in zip(
            exact.decompositions.sites, exact.decompositions.influences, strict=True
        )
    }
    errors = estimated.decompositions.errors
    assert (errors > 0).any()
    for sites, influence, error in zip(
        estimated.decompositions.sites, estimated.decompositions.influences, errors, strict=True
    ):
        if not np.isnan(influence):
            assert abs(influence - counted[tuple(sites)]) <= error + 1e-12
    assert any("random pairs" in text for text in estimated.note_sentences())


@pytest.mark.usefixtures("no_exact_work")
def test_computations_that_cannot_be_witnesses_are_left_out_by_default() -> None:
    data = people(500, 1)
    program = pu.Program.parse(THREE_CLASSES)
    needed, everything = (
        pu.audit(program, data, "z", epsilon=0.3, measure=measure) for measure in ("needed", "all")
    )
    skipped = np.isnan(needed.decompositions.influences)
    assert skipped.any()
    assert (needed.decompositions.associations[skipped] < 0.3).all()
    assert not np.isnan(everything.decompositions.influences).any()
    assert {w.key for w in needed.witnesses} == {w.key for w in everything.witnesses}


@pytest.mark.usefixtures("no_exact_work")
def test_an_estimate_that_stays_close_to_delta_leaves_the_audit_incomplete(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(settled_pairs, "MAX_PAIRS", 1 << 14)
    data = people(2000, 0)
    program = pu.Program.parse(THREE_CLASSES)
    exact = pu.audit(program, data, "z", exact=True)
    together = next(w for w in exact.witnesses if w.occurrences == 3)
    close = pu.audit(program, data, "z", delta=together.influence)
    assert not close.complete
    assert ("influences", "a") in [(item.what, item.term) for item in close.unsettled]


@pytest.mark.usefixtures("no_exact_work")
def test_estimates_do_not_depend_on_the_order_of_rows() -> None:
    program, data = pu.Program.parse(THREE_CLASSES), people(700, 2)
    order = np.random.default_rng(0).permutation(700)
    shuffled = {name: values[order] for name, values in data.items()}
    first, second = (pu.audit(program, rows, "z", epsilon=0.01) for rows in (data, shuffled))
    assert (first.decompositions.errors > 0).any()
    np.testing.assert_array_equal(first.decompositions.influences, second.decompositions.influences)
