"""Every measure of association, compared with other libraries and in every engine."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from scipy.stats import pearsonr
from scipy.stats.contingency import association as scipy_association
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import adjusted_mutual_info_score, mutual_info_score
from sklearn.metrics.cluster import expected_mutual_information
from sklearn.tree import DecisionTreeClassifier

import proxyuse as pu
from proxyuse.data.population import Population
from proxyuse.detect.candidates import Candidates
from proxyuse.measure.association import chance
from proxyuse.measure.association.chance import expected_by_row, expected_information, rounded
from proxyuse.measure.association.function import FunctionAssociation
from proxyuse.measure.association.information import entropy, mutual_information
from proxyuse.measure.association.measures.adjusted_mutual_information import (
    AdjustedMutualInformation,
    Normalizer,
)
from proxyuse.measure.association.measures.cramers_v import CramersV
from proxyuse.measure.association.measures.normalized_mutual_information import (
    NormalizedMutualInformation,
)
from proxyuse.measure.association.measures.squared_correlation import SquaredCorrelation
from proxyuse.measure.association.names import ASSOCIATIONS
from proxyuse.measure.association.protocol import (
    Association,
    associations_below,
    associations_of,
    for_weights,
)
from proxyuse.measure.association.registry import association_from, built_in_association
from proxyuse.measure.engine import Measurement
from proxyuse.measure.reference import Reference
from proxyuse.measure.sample import Sample
from proxyuse.program import Program
from proxyuse.verification.certify import certify
from proxyuse.verification.verify import verify
from tests.forest_cases import forest_case
from tests.strategies import Case, cases

NORMALIZERS: tuple[Normalizer, ...] = ("joint", "max", "arithmetic", "geometric", "min")


def gini_gain(masses: Any) -> float:
    """The relative decrease of Gini impurity of the columns, given the rows."""
    shares = masses / masses.sum()
    blind = 1 - (shares.sum(axis=0) ** 2).sum()
    seeing = 1 - (shares**2 / shares.sum(axis=1, keepdims=True)).sum()
    return 0.0 if blind == 0 else float(np.clip(1 - seeing / blind, 0, 1))


MEASURES: list[Association] = [
    *map(association_from, ASSOCIATIONS),  # whatever is in the folder
    AdjustedMutualInformation("min"),
    FunctionAssociation(gini_gain),
]


def sample(rng: np.random.Generator, most: int = 400) -> tuple[Any, Any]:
    n = int(rng.integers(2, most))
    x = rng.choice(rng.integers(1, 30), n)
    z = np.where(rng.random(n) < rng.random(), x % 3, rng.choice(rng.integers(1, 6), n))
    return x, z


def table_of(x: Any, z: Any) -> Any:
    _, rows = np.unique(x, return_inverse=True)
    _, columns = np.unique(z, return_inverse=True)
    masses = np.zeros((rows.max() + 1, columns.max() + 1))
    np.add.at(masses, (rows, columns), 1)
    return masses


# Information expected by chance


def test_the_mean_of_all_permutations_is_that_of_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        masses = table_of(*sample(rng, 2000))
        expected = expected_mutual_information(masses.astype(int), int(masses.sum()))
        actual = expected_information(masses.sum(axis=1), masses.sum(axis=0))
        assert actual == pytest.approx(expected, rel=0, abs=1e-10)


@pytest.mark.parametrize("x", ["0011222", "0123456", "0000001", "0101010", "000", "01"])
def test_the_mean_of_all_permutations_is_one(x: str) -> None:
    labels, z = [int(c) for c in x], [0, 1, 1, 0, 1, 1, 0][: len(x)]
    every = [mutual_info_score(labels, again) for again in sorted(set(permutations(z)))]
    expected = expected_information(np.bincount(labels), np.bincount(z))
    assert expected == pytest.approx(np.mean(every), abs=1e-12)


def test_counts_far_from_the_mean_do_not_matter(monkeypatch: Any) -> None:
    rows, columns = np.array([3000.0, 5, 1, 6994]), np.array([1.0, 4000, 5999])
    truncated = expected_information(rows, columns)
    monkeypatch.setattr(chance, "TAIL", 1e9)  # every count
    assert truncated == pytest.approx(expected_information(rows, columns), rel=1e-12)


def test_large_means_use_a_formula(monkeypatch: Any) -> None:
    rows, columns = np.array([1e8, 9e8]), np.array([4e8, 6e8])
    summed = expected_information(rows, columns)
    monkeypatch.setattr(chance, "CHUNK", 1)
    assert summed == pytest.approx(expected_information(rows, columns), rel=0, abs=1e-16)
    assert expected_information(rows * 1e20, columns * 1e20) == pytest.approx(5e-30)


def test_rows_of_many_tables_at_once() -> None:
    rng = np.random.default_rng(1)
    columns = np.array([20.0, 0, 30, 50])
    parts = [rng.multinomial(100, rng.dirichlet(np.ones(size))) for size in (1, 2, 5, 40)]
    by_row = expected_by_row(np.concatenate(parts).astype(float), columns)
    starts = np.cumsum([0, *map(len, parts[:-1])])
    expected = [expected_information(part, columns) for part in parts]
    np.testing.assert_allclose(np.add.reduceat(by_row, starts), expected, atol=1e-14)


def test_weighted_margins_are_scaled_and_rounded() -> None:
    rows, columns = np.array([1.3, 2.6]), np.array([1.95, 1.95])
    scaled = expected_information(rows, columns, effective=30)
    assert scaled == expected_information(np.array([10, 20]), np.array([15, 15]))
    assert rounded(np.array([1.0, 1, 1]), 10).sum() == 10


@pytest.mark.parametrize(
    ("rows", "columns", "effective", "message"),
    [
        ([1.5, 2], [3.5], None, "not integers"),
        ([1, 2], [1, 3], None, "sum to 3 and its columns to 4"),
        ([-1, 2], [1], None, "nonnegative"),
        ([1, 2], [1, 2], 0, "effective: expected"),
    ],
)
def test_invalid_margins_are_refused(
    rows: Any, columns: Any, effective: float | None, message: str
) -> None:
    with pytest.raises(pu.DataError, match=message):
        expected_information(np.array(rows), np.array(columns), effective)


# The measures themselves


@pytest.mark.parametrize("normalizer", [n for n in NORMALIZERS if n != "joint"])
def test_adjusted_mutual_information_is_that_of_scikit_learn(normalizer: Any) -> None:
    rng = np.random.default_rng(2)
    measure = AdjustedMutualInformation(normalizer)
    compared = 0
    for _ in range(100):
        x, z = sample(rng)
        if len(set(x)) == 1 or len(set(z)) == 1:
            continue  # 1 there for two constants
        expected = adjusted_mutual_info_score(z, x, average_method=normalizer)
        assert measure(table_of(x, z)) == pytest.approx(np.clip(expected, 0, 1), abs=1e-10)
        compared += 1
    assert compared > 50


def test_adjusted_by_the_joint_entropy() -> None:
    masses = np.array([[5.0, 1, 2], [0, 7, 3]])
    by_chance = expected_information(masses.sum(axis=1), masses.sum(axis=0))
    expected = (mutual_information(masses) - by_chance) / (entropy(masses.ravel()) - by_chance)
    assert AdjustedMutualInformation()(masses) == pytest.approx(expected, abs=1e-14)


@pytest.mark.parametrize("normalizer", ["joint", "max"])
def test_mutual_information_bounds_the_adjusted_measure(normalizer: Any) -> None:
    rng = np.random.default_rng(3)
    measure = AdjustedMutualInformation(normalizer)
    assert measure.information_bound
    for _ in range(200):
        masses = table_of(*sample(rng, 60))
        most = mutual_information(masses) / max(entropy(masses.sum(axis=0)), 1e-300)
        assert measure(masses) <= most + 1e-12


def test_independent_variables_have_no_adjusted_information_on_average() -> None:
    rng = np.random.default_rng(4)
    z = np.arange(300) % 2
    tables = [table_of(rng.integers(0, 60, 300), z) for _ in range(100)]
    adjusted, raw = AdjustedMutualInformation(), NormalizedMutualInformation()
    assert np.mean([adjusted(t) for t in tables]) < 0.005
    assert np.mean([raw(t) for t in tables]) > 0.015


@pytest.mark.parametrize("normalizer", NORMALIZERS)
def test_adjusted_information_where_there_is_nothing_to_adjust(normalizer: Any) -> None:
    measure = AdjustedMutualInformation(normalizer)
    assert measure(np.array([[4.0]])) == 0
    assert measure(np.array([[4.0, 2.0]])) == 0
    assert measure(np.array([[4.0], [2.0]])) == 0
    assert measure(np.eye(2)) == measure(np.diag([3.0, 4.0, 5.0])) == 1
    assert measure(np.ones((4, 3))) == 0


def test_only_the_smaller_entropy_calls_a_one_way_relation_perfect() -> None:
    one_way = np.array([[30.0, 0], [20, 0], [0, 40]])
    values = {n: AdjustedMutualInformation(n)(one_way) for n in NORMALIZERS}
    assert values.pop("min") == pytest.approx(1)
    assert max(values.values()) < 0.9


@pytest.mark.parametrize("options", [{"normalizer": "mean"}, {"rows_per_mass": 0}])
def test_options_of_adjusted_information_are_checked(options: Any) -> None:
    with pytest.raises(pu.DataError, match=f"{next(iter(options))}: expected"):
        AdjustedMutualInformation(**options)


def test_cramers_v_is_that_of_scipy() -> None:
    rng = np.random.default_rng(5)
    for _ in range(200):
        masses = table_of(*sample(rng))
        if min(masses.shape) < 2:
            assert CramersV()(masses) == 0
            continue
        expected = scipy_association(masses.astype(int), method="cramer", correction=False)
        assert CramersV()(masses) == pytest.approx(expected, abs=1e-12)


def test_cramers_v_is_one_where_the_longer_side_determines_the_other() -> None:
    one_way = np.array([[30.0, 0], [20, 0], [0, 7]])
    assert CramersV()(one_way) == CramersV()(one_way.T) == 1
    assert CramersV()(np.array([[30.0, 0], [20, 1], [0, 7]])) < 1
    assert CramersV()(np.array([[30.0, 0], [20, 0], [0, 7], [0, 0]])) == 1


@pytest.mark.parametrize("measure", [*map(AdjustedMutualInformation, NORMALIZERS), CramersV()])
def test_many_tables_at_once_are_the_same(measure: Any) -> None:
    rng = np.random.default_rng(6)
    whole = rng.integers(0, 4, (30, 5, 3)).astype(float)
    whole[:, 0, 0] += 1
    whole[::3, 2] = 0
    for tables in (whole, whole * 0.37):
        one_by_one = [measure(t[t.sum(axis=1) > 0]) for t in tables]
        np.testing.assert_allclose(associations_of(measure, tables), one_by_one, atol=1e-13)
        below, starts = tables.reshape(-1, 3), np.arange(30) * 5
        np.testing.assert_allclose(
            associations_below(measure, below, starts), one_by_one, atol=1e-13
        )


# Squared correlation


def valued(x: Any, z: Any, weights: Any = None) -> float:
    """Squared correlation through the table of distinct values."""
    rows, by_row = np.unique(x, return_inverse=True, axis=0)
    columns, by_column = np.unique(z, return_inverse=True, axis=0)
    masses = np.zeros((len(rows), len(columns)))
    np.add.at(masses, (by_row, by_column), 1 if weights is None else weights)
    return SquaredCorrelation()(masses, rows=rows, columns=columns)


def test_squared_correlation_of_numbers_is_that_of_numpy_and_scipy() -> None:
    rng = np.random.default_rng(7)
    for scale in (1e-200, 1e-3, 1, 1e150):
        x = rng.normal(size=80) * scale
        z = np.round(x / scale + rng.normal(size=80), 1)
        assert valued(x, z) == pytest.approx(np.corrcoef(x / scale, z)[0, 1] ** 2, abs=1e-12)
        assert valued(x, z) == pytest.approx(pearsonr(x / scale, z).statistic ** 2, abs=1e-12)
        assert valued(x, z > 0) == pytest.approx(np.corrcoef(x / scale, z > 0)[0, 1] ** 2)
    weights = rng.integers(1, 5, 80)
    expected = np.cov(x / scale, z, fweights=weights)
    expected = expected[0, 1] ** 2 / expected[0, 0] / expected[1, 1]
    assert valued(x, z, weights) == pytest.approx(expected, abs=1e-12)


def test_squared_correlation_of_numbers_far_from_zero() -> None:
    x = 1e9 + np.arange(20.0)
    z = np.arange(20) % 3 + 0.0
    assert valued(x, z) == pytest.approx(np.corrcoef(np.arange(20.0), z)[0, 1] ** 2, abs=1e-9)


def test_a_number_and_a_category_have_the_correlation_ratio() -> None:
    rng = np.random.default_rng(8)
    z = rng.integers(0, 4, 200).astype(np.int32)
    x = rng.normal(size=200) + (z == 2)
    means = np.array([x[z == v].mean() for v in range(4)])
    ratio = ((means[z] - x.mean()) ** 2).sum() / ((x - x.mean()) ** 2).sum()
    assert valued(x, z) == pytest.approx(ratio, abs=1e-12)
    assert valued(z, x) == pytest.approx(ratio, abs=1e-12)


def test_two_categories_have_the_largest_correlation_of_any_scores() -> None:
    rng = np.random.default_rng(9)
    x = rng.integers(0, 4, 300).astype(np.int32)
    z = np.where(rng.random(300) < 0.4, x, rng.integers(0, 3, 300)).astype(np.int32)
    largest = valued(x, z)
    for _ in range(200):
        scores = rng.normal(size=4)[x], rng.normal(size=4)[z]
        assert np.corrcoef(*scores)[0, 1] ** 2 <= largest + 1e-12
    pairs = np.unique(x, return_inverse=True)[1], np.unique(z, return_inverse=True)[1]
    two = valued(x == 1, (z == 1).astype(np.int32))
    assert two == pytest.approx(np.corrcoef(pairs[0] == 1, pairs[1] == 1)[0, 1] ** 2)
    assert valued(x, x) == 1
    assert SquaredCorrelation()(table_of(x, z)) == pytest.approx(largest)  # without values


def test_a_vector_has_the_multiple_correlation() -> None:
    rng = np.random.default_rng(10)
    x = rng.integers(0, 5, (150, 2)).astype(float)
    x = np.column_stack([x, x[:, 0] + x[:, 1], np.ones(150)])  # of rank 2
    z = x[:, 0] - 0.5 * x[:, 1] + rng.integers(0, 4, 150)
    fitted = x @ np.linalg.lstsq(x, z)[0]
    assert valued(x, z) == pytest.approx(np.corrcoef(fitted, z)[0, 1] ** 2, abs=1e-12)


def test_rows_without_a_number_are_left_out_of_a_correlation() -> None:
    x = np.array([1.0, 2, 3, np.nan, np.inf, 4])
    z = np.array([0.0, 1, 1, 1, 0, np.nan])
    assert valued(x, z) == pytest.approx(np.corrcoef([1, 2, 3], [0, 1, 1])[0, 1] ** 2)
    assert valued(np.full(4, np.nan), np.arange(4.0)) == 0
    assert valued(np.ones(4), np.arange(4.0)) == 0
    categories = np.array([-1, -1, 0, 0], dtype=np.int32)  # a missing category is a value
    assert valued(categories, np.array([1.0, 1, 2, 2])) == 1


# A user's functions


def test_a_measure_has_the_name_of_its_function() -> None:
    def named(masses: Any, power: int) -> float:
        return float(masses.max() / masses.sum()) ** power

    assert FunctionAssociation(gini_gain).name == "gini_gain"
    assert FunctionAssociation(functools.partial(named, power=2)).name == "named"
    assert FunctionAssociation(functools.partial(named, power=1))(np.eye(2)) == 0.5


@pytest.mark.parametrize("wrong", [float("nan"), -0.1, 1.5, None, "0.5", True, np.ones(1), 1j])
def test_the_result_of_a_function_is_checked(wrong: Any) -> None:
    def mine(masses: Any) -> Any:
        return wrong

    with pytest.raises(pu.DataError, match=r"'mine' returned .* table of 2 rows and 3 columns"):
        FunctionAssociation(mine)(np.ones((2, 3)))
    with pytest.raises(pu.DataError, match="'mine' returned"):
        pu.audit(Program.parse("x"), {"x": [1, 2]}, {"z": [0, 1]}, association=mine)


def test_a_function_cannot_change_the_tables() -> None:
    def careless(masses: Any) -> float:
        masses[:] = 0
        return 0.5

    masses = np.eye(2)
    assert FunctionAssociation(careless)(masses) == 0.5
    assert masses.sum() == 2


@pytest.mark.parametrize("wrong", [CramersV, "phi", 3, type("Named", (), {"name": "x"})()])
def test_an_option_that_is_not_a_measure_is_refused(wrong: Any) -> None:
    with pytest.raises(pu.DataError, match=r"association: expected .*cramers-v"):
        pu.audit(Program.parse("x"), {"x": [1, 2]}, {"z": [0, 1]}, association=wrong)


@pytest.mark.parametrize("name", ASSOCIATIONS)
def test_measures_by_name(name: str) -> None:
    measure = association_from(name)
    assert built_in_association(measure.name) == measure
    assert built_in_association("gini_gain") is None
    rows = {"x": [1, 2, 2], "z": [0, 1, 1]}
    assert pu.audit(Program.parse("x"), rows, "z", association=name).measures[0] == measure.name


# Through engines and audits


def check_definition(program: Program, population: Population) -> None:
    together = Measurement(Sample(program, population))
    terms = [candidate.term for candidate in Candidates(program.points, subsets=64)]
    for measure in MEASURES:
        measure = for_weights(measure, population.weights)
        reference = Reference(program, population, association=measure)
        expected = np.array([reference.associations(term) for term in terms])
        actual = together.associations(terms, measure)
        expected = expected.reshape(actual.shape)
        np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-9, err_msg=measure.name)
        assert ((actual >= 0) & (actual <= 1)).all()


@given(cases(most_rows=8))
def test_engines_agree_on_random_programs(case: Case) -> None:
    program = case.program
    population = Population.build(
        case.data, protected=case.protected, weights=case.weights, variables=program.variables
    )
    check_definition(program, population)


@pytest.mark.parametrize("seed", range(20))
def test_engines_agree_on_sums_of_trees(seed: int) -> None:
    case = forest_case(seed)
    check_definition(case.program, case.population)


@pytest.fixture(scope="module")
def people() -> dict[str, Any]:
    rng = np.random.default_rng(11)
    n = 300
    z = rng.integers(0, 3, n)
    return {
        "a": z + rng.normal(size=n),
        "b": rng.normal(size=n),
        "c": np.round(z * rng.random(n), 1),
        "z": np.array(["u", "v", "w"])[z],
        "age": z * 10 + rng.normal(size=n),  # cut into bins
        "y": (z + rng.normal(size=n) > 1).astype(int),
        "w": rng.random(n) + 0.5,
    }


MODELS = {
    "tree": DecisionTreeClassifier(max_depth=4, random_state=0),
    "forest": RandomForestClassifier(4, max_depth=4, random_state=0),
    "linear": LogisticRegression(),
}


@pytest.mark.slow
@pytest.mark.parametrize("weights", [None, "w"])
@pytest.mark.parametrize("measure", MEASURES, ids=lambda m: m.name)
@pytest.mark.parametrize("kind", MODELS)
def test_every_measure_audits_every_kind_of_model(
    kind: str, measure: Any, weights: str | None, people: dict[str, Any]
) -> None:
    X = np.column_stack([people[name] for name in "abc"])
    model = MODELS[kind].fit(X, people["y"])
    program = pu.translate(model, ["a", "b", "c"])
    option = measure.function if isinstance(measure, FunctionAssociation) else measure
    audit = pu.audit(program, people, ["z", "age"], 0.05, 0.01, association=option, weights=weights)
    assert audit.measures[0] == measure.name
    assert audit.witnesses
    used = for_weights(measure, audit.population.weights)
    reference = Reference(audit.program, audit.population, association=used)
    some = list(audit.decompositions)[:: max(1, len(audit.decompositions) // 40)]
    expected = [reference.associations(d.expression) for d in some]
    actual = [list(d.associations.values()) for d in some]
    np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-9)
    if kind == "tree":
        assert verify(certify(audit), program, people, association=option).ok


def test_correlation_uses_values_without_bins_and_mentions_none(
    people: dict[str, Any],
) -> None:
    program = Program.parse("ite(a <= 1, 0, 1)")
    z = (people["z"] == "u").astype(float)
    audit = pu.audit(program, people, {"z": z}, association=SquaredCorrelation())
    by_term = {d.term: d.associations["z"] for d in audit.decompositions}
    assert by_term["a"] == pytest.approx(np.corrcoef(people["a"], z)[0, 1] ** 2, abs=1e-12)
    assert not any("bins" in str(note) for note in audit.notes)


def test_each_row_is_one_observation_whatever_its_weight_unless_rows_per_mass_is_set() -> None:
    rng = np.random.default_rng(12)
    data = {"x": rng.integers(0, 20, 200), "z": rng.integers(0, 2, 200)}
    program = Program.parse("x")

    def association(measure: Association, weights: Any = None) -> float:
        audit = pu.audit(program, data, "z", association=measure, weights=weights)
        return next(iter(audit.decompositions)).associations["z"]

    plain = association(AdjustedMutualInformation())
    for scale in (0.001, 7.0, 1000.0):
        scaled = association(AdjustedMutualInformation(), np.full(200, scale))
        assert scaled == pytest.approx(plain, abs=1e-12)
    counted = association(AdjustedMutualInformation(rows_per_mass=1), np.full(200, 1000.0))
    raw = association(NormalizedMutualInformation())
    assert plain < 0.5 * counted
    assert counted == pytest.approx(raw, abs=1e-3)


def test_any_object_with_the_interface_is_a_measure() -> None:
    @dataclass(frozen=True)
    class Half:
        name: str = "half"
        information_bound: bool = True

        def __call__(self, masses: Any) -> float:
            return 0.5 * NormalizedMutualInformation()(masses)

    audit = pu.audit(Program.parse("x"), {"x": [1, 2]}, {"z": [0, 1]}, association=Half())
    assert audit.measures[0] == "half"
    assert [w.association for w in audit.witnesses] == [0.5]
