"""Row effects: both directions agree with the definition in every engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from proxyuse.data.population import Population
from proxyuse.lang.positions import Points, Site
from proxyuse.measure import distinct_values
from proxyuse.measure.engine import Measurement
from proxyuse.measure.influence import SquaredChange
from proxyuse.measure.row_effects import RowEffects, TriedValues
from proxyuse.models.registry import translate
from proxyuse.program import Program
from proxyuse.settings import Sampling
from tests.brute import Place, key
from tests.forest_cases import forest_case
from tests.measure.agreement import defined, measured, population_of, sets_of
from tests.measure.agreement import effects_of as by_definition
from tests.strategies import Case, cases


def check(engine: Measurement, sites: Sequence[Site], expected: RowEffects) -> None:
    where = str(engine.program), sites
    effects = engine.effects(sites)
    assert effects is not None, where
    for half, right in zip(effects, expected, strict=True):
        np.testing.assert_allclose(half, right, rtol=0, atol=1e-12, err_msg=str(where))
        mean = float(np.average(half, weights=engine.sample.weights))
        assert mean == pytest.approx(engine.influence(sites), abs=1e-12), where


def check_effects(program: Program, population: Population, **options: Any) -> None:
    reference, engine = defined(program, population), measured(program, population, **options)
    for sites in sets_of(program.points):
        check(engine, sites, by_definition(reference, sites))


# Against all pairs of rows


def place_of(points: Points, site: Site) -> Place:
    below = points.below(site.point)
    operands = frozenset(points.written[below[step]] for step in site.operands)
    return Place(points.written[site.point], operands)


def by_brute_force(case: Case, sites: Sequence[Site]) -> RowEffects:
    """Both means over all pairs of rows, with another interpreter."""
    sample, tree = case.sample, case.tree
    places = frozenset(place_of(case.program.points, site) for site in sites)
    rows = len(sample.rows)
    changes = [key(old) != key(new) for _, old, new in sample.changes(tree, places)]
    matrix = np.array(changes, dtype=float).reshape(rows, rows)
    shares = np.array([float(weight / sample.total) for weight in sample.weights])
    return RowEffects(matrix @ shares, shares @ matrix)


@given(cases(most_rows=5))
def test_the_definition_is_a_mean_over_all_pairs_of_rows(case: Case) -> None:
    reference = defined(case.program, population_of(case))
    engine = measured(case.program, population_of(case))
    for sites in sets_of(reference.points, most=3):
        expected = by_brute_force(case, sites)
        check(engine, sites, expected)
        for half, right in zip(by_definition(reference, sites), expected, strict=True):
            np.testing.assert_allclose(half, right, rtol=0, atol=1e-12)


# Against the definition


@given(cases(most_rows=8))
def test_every_engine_agrees_with_the_definition(case: Case) -> None:
    check_effects(case.program, population_of(case))


@pytest.mark.slow
@settings(max_examples=1500)
@given(cases(most_rows=12))
def test_every_engine_agrees_with_the_definition_on_thousands_of_programs(case: Case) -> None:
    check_effects(case.program, population_of(case))


@pytest.mark.parametrize("seed", range(12))
def test_sums_of_trees_agree_with_the_definition(seed: int) -> None:
    case = forest_case(seed)
    check_effects(case.program, case.population, threads=1 + seed % 3)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(100, 1100, 100))
def test_hundreds_of_sums_of_trees_agree_with_the_definition(first: int) -> None:
    for seed in range(first, first + 100):
        case = forest_case(seed)
        check_effects(case.program, case.population)


# Models, with missing values and fractional weights


ROWS = 90


def sample(missing: bool) -> tuple[Any, Any]:
    rng = np.random.default_rng(3)
    X = rng.integers(0, 6, (ROWS, 3)) / 4
    y = (X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=ROWS) / 3 > 1.5).astype(int)
    if missing:
        X[rng.random(X.shape) < 0.1] = np.nan
    return X, y


MODELS: dict[str, tuple[Any, bool]] = {
    "tree": (DecisionTreeClassifier(max_depth=4, random_state=0), True),
    "regression tree": (DecisionTreeRegressor(max_depth=3, random_state=0), True),
    "deep regression tree": (DecisionTreeRegressor(max_leaf_nodes=30, random_state=0), False),
    "forest": (RandomForestClassifier(5, max_depth=3, random_state=0), True),
    "regression forest": (RandomForestRegressor(3, max_depth=2, random_state=0), True),
    "logistic": (LogisticRegression(), False),
}


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("name", MODELS)
def test_models_have_the_effects_of_the_definition(name: str, weighted: bool) -> None:
    model, missing = MODELS[name]
    X, y = sample(missing)
    if "regression" in name:
        y = y + X[:, 0] / 3 + np.arange(ROWS) / 7
        y = np.nan_to_num(y)
    program = translate(model.fit(X, y), ["a", "b", "c"])
    data = dict(zip("abc", X.T, strict=True))
    weights = np.random.default_rng(0).random(ROWS) + 0.1 if weighted else None
    population = Population.build(data, protected={"z": np.arange(ROWS) % 3}, weights=weights)
    check_effects(program, population)


def test_categories_and_sums_under_a_threshold() -> None:
    rng = np.random.default_rng(1)
    data = {
        "a": np.where(rng.random(ROWS) < 0.2, np.nan, rng.normal(size=ROWS)),
        "b": rng.normal(size=ROWS),
        "job": rng.choice(["x", "y", "z"], ROWS),
    }
    population = Population.build(data, protected={"s": np.arange(ROWS) % 2})
    for text in (
        "ite(0.1 * a + b > 0.3, job, 'x')",
        "ite(job in {'x', 'y'}, a + b, a * b)",
        "sigmoid(1000 * a + b)",
        "ite(job == 'x', ite(a <= 0, 1, 2), ite(a <= b, 2, 3))",
    ):
        program = Program.parse(text)
        check_effects(program, population)


# Questions without an answer


def small_engine(**options: Any) -> Measurement:
    population = Population.build({"x": [1, 2, 3, 4]}, protected={"z": [0, 0, 1, 1]})
    return measured(Program.parse("ite(x <= 1, 0, 1)"), population, **options)


def test_the_effects_of_a_test_by_hand() -> None:
    effects = small_engine().effects([Site(1)])
    assert effects is not None
    assert effects.changed.tolist() == [0.75, 0.25, 0.25, 0.25]
    assert effects.changing.tolist() == [0.75, 0.25, 0.25, 0.25]


def test_the_two_directions_differ() -> None:
    population = Population.build(
        {"x": [1, 1, 1, 2], "y": [1, 2, 2, 2]}, protected={"z": [0, 0, 1, 1]}
    )
    engine = measured(Program.parse("ite(x <= 1, ite(y <= 1, 0, 1), 2)"), population)
    assert str(engine.points.terms[4]) == "ite(y <= 1, 0, 1)"
    effects = engine.effects([Site(4)])
    assert effects is not None
    assert effects.changed.tolist() == [0.75, 0.25, 0.25, 0]  # the last row never reaches it
    assert effects.changing.tolist() == [0.5, 0.25, 0.25, 0.25]


@pytest.mark.parametrize(
    "options", [{"influence": SquaredChange()}, {"sampling": Sampling(alpha=0.1)}]
)
def test_other_losses_and_sampled_influence_have_no_shares_of_pairs(
    options: dict[str, Any],
) -> None:
    assert small_engine(**options).effects([Site(1)]) is None


def test_the_mean_losses_of_squared_change() -> None:
    losses = small_engine(influence=SquaredChange()).mean_losses([Site(1)])
    assert losses is not None
    assert losses.changed.tolist() == losses.changing.tolist() == [0.75, 0.25, 0.25, 0.25]


@pytest.mark.parametrize(
    ("values", "most", "answered"), [(65, 1000, 0), (64, 1000, 1), (65, 10**9, 1)]
)
def test_effects_are_declined_if_they_take_too_long(
    values: int, most: int, answered: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(distinct_values, "MAX_WORK", most)
    x = np.arange(200.0) % values
    population = Population.build({"x": x, "y": x[::-1]}, protected={"z": x > 3})
    engine = measured(Program.parse("ite(x == y, 0, 1)"), population)
    (at,) = (Site(p) for p, term in enumerate(engine.points.terms) if str(term) == "x")
    assert (engine.effects([at]) is not None) == answered


# From tried values


@pytest.mark.parametrize("seed", range(20))
def test_tried_values_have_the_means_of_the_matrix_of_changes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    classes, n = int(rng.integers(1, 6)), 12
    class_of = rng.integers(0, classes, n)
    rows = np.flatnonzero(rng.random(n) < 0.7)
    weights = rng.integers(1, 5, n).astype(float)
    losses = rng.random((classes, len(rows))) < 0.5
    matrix = np.zeros((n, n))  # by row and row of the value
    matrix[rows] = losses.T[:, class_of]
    masses = np.bincount(class_of, weights, minlength=classes)
    effects = TriedValues(rows, class_of, masses, iter(losses)).effects(weights, 1.0)
    np.testing.assert_array_equal(effects.changed, matrix @ weights)
    np.testing.assert_array_equal(effects.changing, weights @ matrix)
    pairs = TriedValues(rows, class_of, masses, iter(losses)).pairs(weights)
    assert pairs == weights @ matrix @ weights
