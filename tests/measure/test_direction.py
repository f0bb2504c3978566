"""Direction: up and down add up to the influence, and agree with all pairs of rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import proxyuse as pu
from proxyuse.data.population import Population
from proxyuse.lang.positions import Site
from proxyuse.measure import direction
from proxyuse.measure.direction import SwapCounts, swap_counts
from proxyuse.measure.engine import Measurement
from proxyuse.measure.output_scale import Scale, scale_of
from proxyuse.measure.sample import Sample
from proxyuse.program import Program
from tests.brute import key, lost
from tests.forest_cases import forest_case
from tests.measure.agreement import defined, measured, population_of, sets_of
from tests.measure.test_row_effects import place_of
from tests.small_programs import PROGRAMS, people
from tests.strategies import Case, cases


def scale_for(engine: Measurement) -> Scale:
    return scale_of(engine.program.term, engine.sample.outputs())


def add_up(counts: SwapCounts, influence: float, scale: Scale) -> None:
    """The shares of all groups make up the influence; with two classes, so do up and down."""
    total = counts.masses.sum()
    assert counts.changed.sum() / total == pytest.approx(influence, abs=1e-12)
    if scale.kind == "class":
        assert (counts.up + counts.down).sum() / total == pytest.approx(influence, abs=1e-12)
    assert (counts.up + counts.down <= counts.changed + 1e-9).all()


def groups_of(rows: int) -> Any:
    return np.arange(rows) % min(rows, 3)


# Against all pairs of rows, with another interpreter


def ranked(scale: Scale, value: Any) -> float:
    if lost(value):
        return float("nan")
    if scale.kind == "number":
        return float(value)
    text = f"'{value}'" if isinstance(value, str) else pu.lang.nodes.value_text(value)
    return float(text == scale.labels[1])


def by_brute_force(case: Case, sites: Sequence[Site], scale: Scale, groups: Any) -> Any:
    sample = case.sample
    places = frozenset(place_of(case.program.points, site) for site in sites)
    sums = np.zeros((3, int(groups.max()) + 1))
    count = len(sample.rows)
    for index, (weight, old, new) in enumerate(sample.changes(case.tree, places)):
        row = groups[index // count]
        changed = key(old) != key(new)
        by = ranked(scale, new) - ranked(scale, old) if scale.directed else 0.0
        flags = [changed, changed and by > 0, changed and by < 0]
        sums[:, row] += float(weight / sample.total) * np.array(flags)
    return sums


@given(cases(most_rows=5))
def test_up_and_down_are_those_of_all_pairs_of_rows(case: Case) -> None:
    engine = measured(case.program, population_of(case))
    scale, groups = scale_for(engine), groups_of(engine.n_rows)
    if scale.kind == "none":
        return
    for sites in sets_of(engine.points, most=3):
        counts = swap_counts(engine, sites, groups, scale)
        expected = by_brute_force(case, sites, scale, groups)
        for part, right in zip((counts.changed, counts.up, counts.down), expected, strict=True):
            np.testing.assert_allclose(part, right, rtol=1e-9, atol=1e-9)


# Against the influence


@given(cases(most_rows=10))
def test_the_shares_of_all_groups_add_up_to_the_influence(case: Case) -> None:
    population = population_of(case)
    reference, engine = defined(case.program, population), measured(case.program, population)
    scale = scale_for(engine)
    for sites in sets_of(engine.points, most=3):
        counts = swap_counts(engine, sites, groups_of(engine.n_rows), scale)
        add_up(counts, reference.influence(sites), scale)


@pytest.mark.slow
@settings(max_examples=1500)
@given(cases(most_rows=12))
def test_the_shares_add_up_on_thousands_of_programs(case: Case) -> None:
    population = population_of(case)
    reference, engine = defined(case.program, population), measured(case.program, population)
    scale = scale_for(engine)
    for sites in sets_of(engine.points):
        counts = swap_counts(engine, sites, groups_of(engine.n_rows), scale)
        add_up(counts, reference.influence(sites), scale)


@pytest.mark.parametrize("seed", range(24))
def test_the_shares_add_up_in_forests(seed: int) -> None:
    case = forest_case(seed)
    reference = defined(case.program, case.population)
    engine = measured(case.program, case.population)
    scale = scale_for(engine)
    for sites in sets_of(engine.points, most=20):
        counts = swap_counts(engine, sites, groups_of(engine.n_rows), scale)
        add_up(counts, reference.influence(sites), scale)


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("weighted", [False, True], ids=["equal", "weighted"])
def test_every_way_to_compute_it_agrees(name: str, weighted: bool, monkeypatch: Any) -> None:
    """From row effects, by trying each value, and from random pairs within their error."""
    data = people(400)
    weights = np.random.default_rng(1).integers(1, 9, 400) if weighted else None
    population = Population.build(
        data, protected="z", weights=weights, variables=Program.parse(PROGRAMS[name]).variables
    )
    engine = Measurement(Sample(Program.parse(PROGRAMS[name]), population))
    groups, scale = np.asarray(data["z"]), scale_for(engine)
    for sites in sets_of(engine.points, most=12):
        exact = swap_counts(engine, sites, groups, scale)
        assert exact.pairs is None
        tried = direction._by_value(direction._Swap(engine.sample, sites, scale, False), groups)
        drawn = swap_counts(engine, sites, groups, scale, drawn=True)
        assert drawn.within is not None
        for part in ("changed", "up", "down"):
            one, other, third = (getattr(side, part) for side in (exact, tried, drawn))
            np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)
            assert np.abs((one - third) / exact.masses).max() <= 2 * drawn.within


def test_random_pairs_do_not_depend_on_the_order_of_rows() -> None:
    data = people(300)
    program = Program.parse("2 * a + 0.5 * b + x")
    order = np.random.default_rng(5).permutation(300)
    found = []
    for rows in (np.arange(300), order):
        table = {name: np.asarray(column)[rows] for name, column in data.items()}
        population = Population.build(table, protected="z", variables=program.variables)
        engine = Measurement(Sample(program, population))
        counts = swap_counts(engine, [Site(1)], table["z"], Scale("number"), drawn=True)
        found.append((counts.up.tolist(), counts.moved))
    assert found[0][0] == found[1][0]
    np.testing.assert_array_equal(found[0][1], found[1][1])


def test_the_mean_change_of_a_number_is_that_of_all_pairs() -> None:
    data = people(200)
    program = Program.parse("2 * a + ite(b <= 4, 10, 0)")
    population = Population.build(data, protected="z", variables=program.variables)
    engine = Measurement(Sample(program, population))
    site = next(Site(p) for p, t in enumerate(engine.points.terms) if str(t) == "b <= 4")
    counts = swap_counts(engine, [site], data["z"], Scale("number"))
    holds = data["b"] <= 4
    for group in (0, 1):
        own = holds[data["z"] == group]
        assert counts.moved is not None
        assert counts.moved[group] / len(own) == pytest.approx(10 * (holds.mean() - own.mean()))
        assert counts.up[group] / len(own) == pytest.approx((~own).mean() * holds.mean())


@pytest.mark.parametrize("text", ["2 * a + ite(b <= 4, 10, 0)", "ite(a + b > 9, 1, 0)"])
@pytest.mark.parametrize("influence", [pu.Moved(3), pu.Moved(0.5, relative=True)], ids=str)
def test_moves_up_and_down_make_up_the_share_of_moves(text: str, influence: Any) -> None:
    data = people(150)
    program = Program.parse(text)
    population = Population.build(data, protected="z", variables=program.variables)
    engine = Measurement(Sample(program, population, influence=influence))
    scale = scale_for(engine)
    for sites in sets_of(engine.points, most=8):
        counts = swap_counts(engine, sites, data["z"], scale)
        total = (counts.up + counts.down).sum() / counts.masses.sum()
        assert total == pytest.approx(engine.influence(sites), abs=1e-12)
        drawn = swap_counts(engine, sites, data["z"], scale, drawn=True)
        assert drawn.within is not None
        assert np.abs((counts.up - drawn.up) / counts.masses).max() <= 2 * drawn.within


@pytest.mark.parametrize("text", ["ite(a + b > 9, 1, 0)", PROGRAMS["tree"], "2 * a + b"])
def test_a_squared_change_has_the_directions_of_a_change(text: str) -> None:
    data = people(150)
    program = Program.parse(text)
    population = Population.build(data, protected="z", variables=program.variables)
    squared, plain = (
        Measurement(Sample(program, population, influence=influence))
        for influence in (pu.SquaredChange(), None)
    )
    scale = scale_for(plain)
    for sites in sets_of(plain.points, most=8):
        for drawn in (False, True):
            one, other = (
                swap_counts(e, sites, data["z"], scale, drawn=drawn) for e in (squared, plain)
            )
            np.testing.assert_allclose(one.up, other.up, rtol=1e-9, atol=1e-9)
            np.testing.assert_allclose(one.down, other.down, rtol=1e-9, atol=1e-9)


def test_the_counts_of_blocks_of_rows_add_up() -> None:
    data = people(300)
    program = Program.parse(PROGRAMS["tree"])
    population = Population.build(data, protected="z", variables=program.variables)
    sample = Sample(program, population)
    effects = Measurement(sample).effects([Site(1)])
    assert effects is not None
    scale = Scale("class", ("0", "1"))
    parts = [
        direction.counted_changes(
            effects.changed[rows], sample.outputs()[rows], data["z"][rows],
            sample.weights[rows], scale, sample,
        )
        for rows in (slice(None), slice(0, 170), slice(170, 300))
    ]  # fmt: skip
    both = parts[1] + parts[2]
    np.testing.assert_allclose(both.up, parts[0].up)
    np.testing.assert_allclose(both.down, parts[0].down)


# Models

RNG = np.random.default_rng(0)
X = {"a": RNG.integers(0, 9, 400).astype(float), "b": RNG.normal(size=400).round(2)}
FRAME = np.column_stack(list(X.values()))
Y = (X["a"] + X["b"] > 4.5).astype(int)
Z = (X["a"] + RNG.normal(scale=2, size=400) > 4).astype(int)


@pytest.mark.parametrize(
    "model",
    [DecisionTreeClassifier(max_depth=4), RandomForestClassifier(7, max_depth=5, random_state=0),
     LogisticRegression(), LinearRegression(), RandomForestRegressor(5, max_depth=4)],
    ids=lambda model: type(model).__name__,
)  # fmt: skip
def test_the_directions_of_a_model_make_up_its_influences(model: Any) -> None:
    fitted = model.fit(FRAME, Y)
    found = pu.audit(fitted, FRAME, {"z": Z}, epsilon=0, delta=0)
    number = "Regress" in type(model).__name__ and "Logistic" not in type(model).__name__
    assert found.scale.kind == ("number" if number else "class")
    assert number or found.scale.names == ("0", "1")
    shares = np.bincount(Z) / len(Z)
    for witness in found.witnesses[:12]:
        groups = found.direction(witness).groups
        changed = shares @ [(group.up or 0) + (group.down or 0) for group in groups]
        assert changed == pytest.approx(witness.influence, abs=2e-4)


def test_a_variable_in_a_forest_is_swapped_in_its_column(monkeypatch: Any) -> None:
    """A variable at all its positions is swapped in the data; the trees stay packed."""
    forest = RandomForestRegressor(5, max_depth=4, random_state=0).fit(FRAME, Y + X["b"])
    found = pu.audit(forest, FRAME, {"z": Z}, epsilon=0, delta=0)
    witness = next(w for w in found.witnesses if w.term == "x0")
    sites, groups = witness.decomposition.sites, Z
    exact, whole = (
        direction._by_value(
            direction._Swap(found.measurement.sample, sites, found.scale, everywhere), groups
        )
        for everywhere in (False, True)
    )
    np.testing.assert_allclose(exact.up, whole.up)
    np.testing.assert_allclose(exact.down, whole.down)
