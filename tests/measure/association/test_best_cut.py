"""The association of a number with many values is that of its best cut."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import proxyuse as pu
from proxyuse.data.population import Population
from proxyuse.lang.evaluate import Array
from proxyuse.measure.association.best_cut import TIES, WIDE, BestCut
from proxyuse.measure.association.measures.cramers_v import CramersV
from proxyuse.measure.engine import Measurement
from proxyuse.measure.reference import Reference
from proxyuse.measure.sample import Sample
from proxyuse.program import Program
from tests.measure.agreement import NMI, defined, measured

X = Program.parse("x")
SPECIAL = [0.0, -0.0, 1e300, -1e300, 5e-324, float("inf"), float("-inf"), float("nan")]
seeds = st.integers(0, 2**32 - 1)


def numbers(rng: np.random.Generator, rows: int) -> Array:
    """Numbers with ties, missing and special values, or none of these."""
    values = rng.normal(size=rows)
    match rng.integers(4):
        case 0:
            values = np.round(values * 20) / 20
        case 1:
            values = np.where(rng.random(rows) < 0.1, rng.choice(SPECIAL, rows), values)
        case 2:
            values = np.where(rng.random(rows) < 0.3, values[0], np.exp(3 * values))
    return np.where(rng.random(rows) < rng.choice([0.0, 0.1]), np.nan, values)


def people(seed: int, rows: int) -> tuple[dict[str, Array], Array, dict[str, Any]]:
    """Columns of numbers, weights, and two protected attributes, one of them a long number."""
    rng = np.random.default_rng(seed)
    data = {"x": numbers(rng, rows), "w": numbers(rng, rows)}
    noise = rng.normal(size=rows)
    z = (np.nan_to_num(data["x"], posinf=9, neginf=-9) + noise > 0.5).astype(int)
    weights = [np.ones(rows), rng.integers(1, 4, rows).astype(float), rng.random(rows) + 0.01]
    return data, weights[rng.integers(3)], {"z": z + (noise > 1), "long": noise}


def association(x: Array, z: Array, weights: Array | None = None, **options: Any) -> float:
    population = Population.build({"x": x}, protected={"z": z}, weights=weights)
    return float(measured(X, population, **options).associations([X.term], NMI)[0, 0])


PROGRAMS = (
    "x", "x + w", "2 * x", "ite(x > 0, x, w)", "exp(x)", "ite(x > w, x, 0)", "x * w",
    "argmax([x, w, 0.1])", "[x, w]", "[x, 1, w + x]", "[div(0, 0), x]",
)  # fmt: skip


@pytest.mark.parametrize("text", PROGRAMS)
@settings(max_examples=settings().max_examples // 5)
@given(seed=seeds, rows=st.sampled_from([40, 300, 700]))
def test_engines_agree_with_the_definition(text: str, rows: int, seed: int) -> None:
    data, weights, protected = people(seed, rows)
    program = Program.parse(text)
    population = Population.build(data, protected=protected, weights=weights)
    together, reference = measured(program, population), defined(program, population)
    for term in dict.fromkeys(program.points.terms):
        expected = reference.associations(term)
        found = together.associations([term], NMI)[0]
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)
        of_values = together.joint.association_of(together.values(term), NMI)
        np.testing.assert_allclose(of_values, expected, rtol=0, atol=1e-9)
        for table, own in zip(together.tables(term, NMI), expected, strict=True):
            assert NMI(table.masses) == pytest.approx(own, rel=0, abs=2 * TIES)


def test_the_compiled_counts_of_many_rows_agree_with_the_definition() -> None:
    rows = 5000
    rng = np.random.default_rng(1)
    data, _, protected = people(2, rows)
    data["w"] = np.round(rng.exponential(300, rows))
    population = Population.build(data, protected=protected)
    program = Program.parse("[x + 0.5 * w, w + 1, exp(x)]")
    together, reference = measured(program, population), defined(program, population)
    assert together.sample.many_rows
    for term in dict.fromkeys(program.points.terms):
        found = together.associations([term], NMI)[0]
        np.testing.assert_allclose(found, reference.associations(term), rtol=0, atol=1e-9)


@given(seed=seeds, rows=st.sampled_from([30, 300]))
def test_no_cut_between_the_groups_is_better(seed: int, rows: int) -> None:
    data, weights, protected = people(seed, rows)
    population = Population.build(data, protected=protected, weights=weights)
    joint = measured(X, population).joint
    (table, _) = joint.tables(X.term, NMI)
    if not table.divided:
        return
    best = joint.associations([X.term], NMI)[0, 0]
    values = joint.sample.values(X.term)
    z, mass = joint.sample.attributes[0], joint.sample.weights
    held = ~np.isnan(values)
    for threshold in np.unique(values[held])[:-1]:
        below = held & (values <= threshold)
        share = mass[below].sum() / mass[held].sum()
        if abs(256 * share - round(256 * share)) > 1e-9:
            continue  # not a boundary between groups
        rows_of = np.where(held, np.where(below, 0, 1), 2)
        masses = np.zeros((3, len(z)))
        np.add.at(masses, (rows_of, z.codes), mass)
        assert NMI(masses[masses.sum(axis=1) > 0]) <= best + 1e-9


@given(seed=seeds, factor=st.sampled_from([3.0, 0.1, 1e6, 1 / 7]))
@example(seed=5, factor=0.1)
def test_scaling_all_weights_changes_nothing(seed: int, factor: float) -> None:
    data, weights, protected = people(seed, 200)
    for z in protected.values():
        plain = association(data["x"], z, weights)
        assert association(data["x"], z, factor * weights) == pytest.approx(plain, rel=0, abs=1e-9)


@given(seed=seeds)
def test_the_order_of_rows_changes_nothing(seed: int) -> None:
    data, weights, protected = people(seed, 200)
    order = np.random.default_rng(seed).permutation(200)
    for z in protected.values():
        plain = association(data["x"], z, weights)
        assert association(data["x"][order], z[order], weights[order]) == plain


@given(seed=seeds)
def test_increasing_functions_of_the_number_change_nothing(seed: int) -> None:
    data, weights, protected = people(seed, 200)
    x = np.where(np.isinf(data["x"]), np.nan, data["x"]) / 1e300
    ranks = np.where(np.isnan(x), np.nan, np.unique(x, return_inverse=True)[1])
    for increasing in (ranks, np.exp(ranks / 50), -1 / (1 + ranks), 3 * ranks - 7):
        for z in protected.values():
            assert association(increasing, z, weights) == association(ranks, z, weights)


def test_the_number_of_rows_sets_how_many_values_are_measured_as_they_are() -> None:
    for rows, most in ((100, 16), (1000, 100), (5000, 256)):
        population = Population.build({"x": np.arange(rows)}, protected={"z": np.arange(rows) % 2})
        assert Sample(X, population).max_support == most
        assert Reference(X, population).max_support == most
        part = Measurement(Sample(X, population)).on(population.taking(np.arange(rows) < 20))
        assert part.sample.max_support == most  # parts are measured in the same way


def test_a_number_with_few_values_is_measured_as_it_is_and_has_a_cut_beside() -> None:
    x = np.repeat([1.0, 2.0, 3.0, 4.0], 50)
    z = x > 2
    population = Population.build({"x": x}, protected={"z": z})
    (table,) = measured(X, population).tables(X.term, NMI)
    assert len(table.rows) == 4
    assert not table.divided
    assert table.cut is not None
    assert (table.cut.threshold, table.cut.above, table.cut.candidates) == (2.0, 3.0, 3)
    assert table.cut.association == 1.0
    assert association(x, z) == pytest.approx(0.5)


def test_the_table_of_a_number_with_many_values_is_that_of_its_cut() -> None:
    x = np.append(np.arange(1000.0), [np.nan] * 10)
    z = np.append(np.arange(1000) >= 250, [True] * 10)
    population = Population.build({"x": x}, protected={"z": z})
    (table,) = measured(X, population).tables(X.term, NMI)
    assert table.masses.tolist() == [[250.0, 0.0], [0.0, 750.0], [0.0, 10.0]]
    assert table.cut is not None
    assert (table.cut.threshold, table.cut.above, table.cut.candidates) == (249.0, 250.0, 255)
    assert table.divided


def test_the_best_coordinate_of_a_vector_is_cut() -> None:
    rng = np.random.default_rng(0)
    data = {"x": rng.normal(size=600), "w": rng.normal(size=600)}
    program = Program.parse("[x, w]")
    population = Population.build(data, protected={"z": data["w"] > 1})
    (table,) = measured(program, population).tables(program.term, NMI)
    assert table.cut is not None
    assert table.cut.coordinate == 1
    assert table.cut.candidates == 2 * 255
    assert table.cut.association > 0.9


def test_bins_and_raw_values_are_available_on_request() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=3000)
    z = x + rng.normal(size=3000) > 0
    cut, binned, raw = (association(x, z, bins=bins) for bins in ("best-cut", 16, None))
    assert raw == pytest.approx(np.log(2) / np.log(3000), abs=0.001)
    assert binned < 0.1 < cut


def test_other_measures_of_tables_are_cut_and_those_of_values_are_not() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=3000)
    population = Population.build({"x": x}, protected={"z": x > 0.2})
    together = measured(X, population)
    assert together.associations([X.term], CramersV())[0, 0] > 0.98
    squared = together.associations([X.term], pu.SquaredCorrelation())[0, 0]
    expected = np.corrcoef(x, x > 0.2)[0, 1] ** 2
    assert squared == pytest.approx(expected)

    def right(masses: Array) -> float:
        assert masses.shape == (2, 2)
        return float(np.trace(masses) / masses.sum())

    audit = pu.audit(X, {"x": x}, {"z": x > 0.2}, association=right, validity=None)
    assert audit.decompositions[0].associations["z"] == pytest.approx(0.998, abs=0.002)


@pytest.mark.parametrize(("right", "cut", "binned"), [(0.8, 0.163, 0.080), (0.99, 0.849, 0.234)])
def test_a_number_is_no_longer_measured_below_the_test_it_allows(right, cut, binned) -> None:
    """The figures that the design quotes: two normal distributions, apart as far as needed."""
    from statistics import NormalDist

    rows = 20_000
    distance = NormalDist().inv_cdf(right)
    shares = (np.arange(rows // 2) + 0.5) / (rows // 2)
    normal = np.array([NormalDist().inv_cdf(share) for share in shares])
    x = np.concatenate([normal - distance, normal + distance])
    z = np.repeat([0, 1], rows // 2)
    assert association(x, z) == pytest.approx(cut, abs=0.003)
    assert association(x, z, bins=16) == pytest.approx(binned, abs=0.003)


def test_a_linear_term_that_tells_the_attribute_for_75_percent_is_found() -> None:
    rng = np.random.default_rng(0)
    rows = 4000
    z = rng.integers(0, 2, rows)
    x = np.where(rng.random(rows) < 0.75, z, 1 - z) - 0.5 + rng.uniform(-0.4, 0.4, rows)
    data = {"x": x, "w": rng.normal(size=rows), "z": z}
    program = Program.parse("ite(2 * x + 0.5 * w > 0, 1, 0)")
    audit = pu.audit(program, data, "z", validity="confirm")
    found = {witness.term: witness for witness in audit.witnesses}
    assert found["x"].association == pytest.approx(0.107, abs=0.01)
    assert found["x"].influence == pytest.approx(0.49, abs=0.02)
    assert pu.audit(program, data, "z", bins=16, validity=None).witnesses == []


@given(seed=seeds, rows=st.sampled_from([5, 300, 3000]), missing=st.booleans())
def test_with_many_protected_values_the_best_cuts_are_those_of_all_tables(
    seed: int, rows: int, missing: bool
) -> None:
    """Equal to the last bit, whether the other cuts are measured or not."""
    rng = np.random.default_rng(seed)
    groups, width = int(rng.choice([2, 16, 256])), int(rng.choice([WIDE, 500]))
    z = rng.integers(0, width, rows) // rng.choice([1, 1, 30, width])
    group = rng.choice([rng.integers(0, groups, rows), z * groups // width, np.minimum(z, 1)])
    weights = rng.choice([np.ones(rows), rng.integers(1, 4, rows), rng.random(rows) + 0.01])
    table = np.bincount(group * width + z, weights, groups * width).reshape(groups, width)
    rule = BestCut(NMI, missing and groups > 2)
    every = rule.each(table[None])[0]
    cuts, found = rule.best(table)
    assert np.array_equal(found, every[cuts])
    assert {*np.flatnonzero(every >= every.max() - TIES)} <= {*cuts}
    assert rule(table) == every.max()
    assert np.array_equal(rule.table(table, cuts[0]), rule.tables(table[None])[0, cuts[0]])
