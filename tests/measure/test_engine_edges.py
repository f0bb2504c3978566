"""Edge cases of fast counting: signed zeros, the ends of number ranges, large masses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import proxyuse as pu
from proxyuse.data.population import Population
from proxyuse.detect.candidates import Candidates
from proxyuse.lang.positions import Site
from proxyuse.measure.association.measures.normalized_mutual_information import (
    NormalizedMutualInformation,
)
from proxyuse.measure.engine import Measurement
from proxyuse.measure.reference import Reference
from proxyuse.program import Program
from tests.measure.agreement import defined, measured

RNG = np.random.default_rng(5)
ROWS = 100


def engines(
    text: str, data: dict[str, Any], weights: Any = None
) -> tuple[Program, Reference, Measurement]:
    program = Program.parse(text)
    rows = len(next(iter(data.values())))
    population = Population.build(
        data, protected={"z": np.arange(rows) % 2}, weights=weights, variables=program.variables
    )
    return program, defined(program, population), measured(program, population)


HUGE = np.array([1e38, 3.3e38, 3.41e38, 5e38, 2e39, 1e300, -1e39, 7.0])
EDGES: list[tuple[str, dict[str, Any]]] = [
    ("ite(x <= 1, 0, -0.0)", {"x": RNG.integers(0, 4, ROWS)}),
    ("ite(x <= 1, -0.0, ite(x <= 2, 0, 1))", {"x": RNG.integers(0, 4, ROWS)}),
    ("div(1, ite(x <= 1, 0, -0.0)) > 0", {"x": RNG.integers(0, 4, ROWS)}),
    ("float32: ite(x + w <= 1e39, 0, 1)", {"x": RNG.choice(HUGE, ROWS), "w": RNG.random(ROWS)}),
    ("float32: ite(x <= y, 0, 1)", {"x": RNG.choice(HUGE, ROWS), "y": RNG.choice(HUGE, ROWS)}),
    ("float32: ite(1e300 > x, 0, 1)", {"x": RNG.choice(HUGE, ROWS)}),
    (
        "ite(a + b <= 0.1, 0, 1)",
        {"a": RNG.normal(size=ROWS), "b": np.where(np.arange(ROWS) == 3, np.nan, 0.5)},
    ),
    ("ite(a * k + b <= 0.1, 0, 1)", {"a": RNG.normal(size=ROWS), "b": RNG.normal(size=ROWS),
                                     "k": RNG.integers(-1, 2, ROWS)}),
    ("a * k + b", {"a": RNG.normal(size=ROWS), "b": np.where(np.arange(ROWS) % 9, 1.5, np.nan),
                   "k": RNG.integers(-1, 2, ROWS)}),
    ("sigmoid(1000 * a + b)", {"a": RNG.normal(size=ROWS), "b": RNG.normal(size=ROWS)}),
]  # fmt: skip


@pytest.mark.parametrize(("text", "data"), EDGES, ids=[text for text, _ in EDGES])
def test_both_engines_count_the_same_pairs(text: str, data: dict[str, Any]) -> None:
    program, reference, together = engines(text, data)
    for candidate in Candidates(program.points, subsets=64):
        for site in candidate.sites:
            expected = round(reference.influence([site]) * ROWS**2)
            assert round(together.influence([site]) * ROWS**2) == expected, str(candidate.term)
        associations = together.associations([candidate.term], NormalizedMutualInformation())[0]
        np.testing.assert_allclose(associations, reference.associations(candidate.term), atol=1e-12)


def test_the_sign_of_zero_survives_where_all_zeros_are_negative() -> None:
    x = np.array([-0.0, 1.0, 2.0, 3.0])[np.arange(ROWS) % 4]
    program, reference, together = engines("div(1, x) <= 0", {"x": x})
    quotient = program.points.below(0)[0]
    variable = [str(term) for term in program.points.terms].index("x")
    for point in (quotient, variable):
        assert reference.influence([Site(point)]) == pytest.approx(2 * 0.25 * 0.75)
        assert together.influence([Site(point)]) == pytest.approx(2 * 0.25 * 0.75)


def test_masses_too_large_to_count_pairs_in_64_bits_are_left_to_the_contexts() -> None:
    rows = 60_000
    data = {"x": np.arange(rows) % 10, "y": np.arange(rows) % 7}
    text = "ite(x <= 4, ite(y <= 2, 0, 1), ite(x <= 7, 1, 0))"
    heavy, light = (
        pu.audit(Program.parse(text), data, {"z": np.arange(rows) % 2}, weights=np.full(rows, w))
        for w in (65_535, 1)
    )
    for one, other in zip(heavy.decompositions, light.decompositions, strict=True):
        assert one.influence == pytest.approx(other.influence, abs=1e-12)


def test_a_sum_of_influences_does_not_pass_a_threshold_by_rounding() -> None:
    for ones in range(1, 60):
        a = np.repeat([0, 1], [60 - ones, ones])
        g = np.arange(60) % 2
        program = Program.parse("ite(g <= 0, ite(a <= 0, 1, 0), ite(a <= 0, 2, 3))")
        exact = 2 * ones * (60 - ones) / 60**2
        audit = pu.audit(program, {"g": g, "a": a}, {"z": a}, epsilon=0.9, delta=exact)
        assert not [w for w in audit.witnesses if w.term in ("a", "a <= 0")]


def test_a_custom_measure_gets_the_same_tables_from_both_engines() -> None:
    class FullTables:
        name = "a measure that needs full tables"
        information_bound = False

        def __call__(self, masses: Any) -> float:
            assert (masses.sum(axis=1) > 0).all()
            return 1 / len(masses)

    text = "ite(x <= 1, ite(x <= 100, 'a', 'b'), ite(x <= 2, 'c', 'b'))"
    audit = pu.audit(
        Program.parse(text), {"x": [0, 1, 2, 3, 4]}, {"z": [0, 1, 0, 1, 0]},
        association=FullTables(),
    )  # fmt: skip
    by_term = {d.term: d.associations["z"] for d in audit.decompositions}
    assert by_term["x <= 100"] == 1
    assert by_term["x <= 1"] == 1 / 2


@pytest.mark.parametrize("weight", [1e-200, 1e200])
def test_weights_too_small_or_large_to_add_are_refused(weight: float) -> None:
    with pytest.raises(pu.DataError, match="scale them"):
        pu.audit(Program.parse("x"), {"x": [1, 2]}, {"z": [0, 1]}, weights=[weight, weight])


def test_asking_for_all_sets_never_finds_less() -> None:
    guards = "".join(f"ite(a <= {i}, {i % 2}, " for i in range(12)) + "0" + ")" * 12
    data = {"a": np.arange(ROWS) % 12}
    z = {"z": np.arange(ROWS) % 12 > 5}
    budget = pu.Budget(subsets=100)
    for epsilon in (0.05, 0.9):
        some = pu.audit(Program.parse(guards), data, z, epsilon, 0.2, budget=budget)
        more = pu.audit(Program.parse(guards), data, z, epsilon, 0.2, budget=budget, all_sets=True)
        assert {w.term for w in some.witnesses} <= {w.term for w in more.witnesses}
        assert more.complete == some.complete
        assert pu.NoteKind.NOT_LISTED in {note.kind for note in more.notes}
