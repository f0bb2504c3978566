"""Repairs of random programs, checked by brute force, and of the paper's example."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import proxyuse as pu
from proxyuse.datasets import load_adult
from proxyuse.lang.nodes import Compare, Const, Member, Term, Var, variables
from proxyuse.lang.positions import Site
from proxyuse.measure.interventions import Interventions
from proxyuse.repairing.effort import SearchBudget
from tests.brute import Tree, key, mass_of, without_idle_marks
from tests.constant_repairs import by_constants
from tests.forest_cases import forest_case
from tests.measure.agreement import defined, measured
from tests.strategies import Case, cases

epsilons = st.sampled_from([0.0, 0.05, 0.2, 0.5, 1.0])
deltas = st.sampled_from([Fraction(0), Fraction(1, 10), Fraction(1, 4)])


def repaired(case: Case, epsilon: float, delta: Fraction, **options: Any) -> pu.Repair:
    return by_constants(
        case.program,
        case.data,
        protected=case.protected,
        epsilon=epsilon,
        delta=float(delta),
        weights=case.weights,
        missing_protected="category",
        utility="agreement",
        unconfirmed=True,
        effort=SearchBudget(),
        **options,
    )


def check_repaired(case: Case, repair: pu.Repair, epsilon: float, delta: Fraction) -> None:
    """No witness by brute force, not larger than before, and not worse than a constant."""
    sample = case.sample
    tree = Tree(without_idle_marks(repair.program.term, case.never_missing))
    for decomposition in tree.decompositions():
        influence = sample.influence(tree, decomposition.places)
        if influence > delta:
            for name in case.protected:
                assert sample.association(decomposition.term, name) < epsilon
    assert repair.program.size <= case.program.size
    before = [key(value) for value in sample.values(case.term)]
    after = [key(value) for value in sample.values(repair.program.term)]
    rows = list(zip(before, after, sample.weights, strict=True))
    agreement = mass_of([w for old, new, w in rows if old == new]) / sample.total
    constants = [mass_of([w for old, _, w in rows if old == v]) / sample.total for v in set(before)]
    assert agreement >= max(constants)
    assert repair.used.after == pytest.approx(float(agreement))


@given(cases(), epsilons, deltas)
def test_random_programs_are_repaired(case: Case, epsilon: float, delta: Fraction):
    repair = repaired(case, epsilon, delta)
    check_repaired(case, repair, epsilon, delta)
    assert repair.after.violations() == []


@pytest.mark.slow
@settings(max_examples=1500)
@given(cases(), epsilons, deltas)
def test_many_random_programs_are_repaired(case: Case, epsilon: float, delta: Fraction):
    check_repaired(case, repaired(case, epsilon, delta), epsilon, delta)


def repaired_forest(seed: int, epsilon: float, delta: float) -> pu.Repair:
    case = forest_case(seed)
    population = case.population
    data = {name: column.decode() for name, column in population.columns.items()}
    return by_constants(
        case.program,
        data,
        protected={z.name: z.column.decode() for z in population.protected},
        epsilon=epsilon,
        delta=delta,
        weights=population.weights,
        unconfirmed=True,
        effort=SearchBudget(),
    )


@pytest.mark.parametrize("seed", range(40))
def test_sums_of_trees_are_repaired(seed):
    repair = repaired_forest(seed, 0.05, 0.05)
    reference = defined(repair.after.program, repair.after.population)
    for decomposition in repair.after.decompositions:
        associations = reference.associations(decomposition.expression)
        for z, association in zip(decomposition.associations, associations, strict=True):
            influence = reference.influence(decomposition.sites)
            assert association < 0.05 or influence <= 0.05, z
    assert repair.program.size <= repair.original.size
    assert repair.used.before == 1.0


# Interventions: a program with constants at some positions, without building the changed program


def count_terms(seed: int, matches: Callable[[Term], bool]) -> int:
    return sum(map(matches, forest_case(seed).program.points.terms))


WITH_TESTS = [s for s in range(60) if count_terms(s, lambda t: isinstance(t, Compare | Member))]
WITH_REPEATED_X = [s for s in range(100) if count_terms(s, lambda t: t == Var("x")) >= 4]


@pytest.mark.parametrize("seed", WITH_TESTS)
def test_interventions_compute_the_outputs_of_a_changed_program(seed):
    case = forest_case(seed)
    engine = measured(case.program, case.population)
    rng = np.random.default_rng(seed)
    points = engine.points
    inside = [p for p, t in enumerate(points.terms) if isinstance(t, Compare | Member)]
    sites = [Site(p) for p in inside if p == inside[0] or rng.random() < 0.4]
    new = {site: Const(bool(rng.random() < 0.5)) for site in sites}
    assert new, "every case must contain a test"
    changed = engine.of(case.program.replaced(new))
    assert Interventions(engine).values_with(new).tolist() == pytest.approx(
        changed.sample.outputs().tolist(), nan_ok=True
    )


@pytest.mark.parametrize("seed", WITH_REPEATED_X)
def test_interventions_compute_the_influence_of_the_remaining_positions(seed):
    case = forest_case(seed)
    engine = measured(case.program, case.population)
    points = engine.points
    sites = [Site(p) for p, t in enumerate(points.terms) if t == Var("x")]
    new = dict.fromkeys(sites[::2], Const(1.0))
    changed = case.program.replaced(new)
    remaining = [Site(p) for p, t in enumerate(changed.points.terms) if t == Var("x")]
    expected = defined(changed, case.population).influence(remaining) if remaining else 0.0
    influence = Interventions(engine).influence_after(sites[1::2], new)
    assert influence == pytest.approx(expected, abs=1e-12)


# The paper's example


@cache
def adult() -> tuple[Any, ...]:
    people = load_adult().iloc[:32561].dropna().drop(columns="fnlwgt")
    people = people.apply(lambda c: c if c.dtype.kind in "if" else pd.factorize(c, sort=True)[0])
    X, _, y, _ = train_test_split(
        people.drop(columns="income"), people["income"], train_size=1000, random_state=0
    )
    marital = X["marital_status"].copy()
    X = X.assign(marital_status=0, relationship=0)
    return DecisionTreeClassifier(max_depth=5, random_state=0).fit(X, y), X, y, marital


def no_bare_variable(witness: pu.Witness) -> pu.Judgment | None:
    if isinstance(witness.expression, Var):
        return pu.Judgment(True, "this test ignores bare variables")
    return None


def test_adult_without_bare_variables():
    model, X, y, marital = adult()
    repair = by_constants(
        model, X, y, protected={"marital": marital}, epsilon=0.06, delta=0.08,
        oracle=no_bare_variable, collections=False, unconfirmed=True, effort=SearchBudget(),
    )  # fmt: skip
    (violation,) = repair.before.violations(no_bare_variable)
    assert violation.witness.association == pytest.approx(0.0989491109888, abs=1e-12)
    assert violation.witness.influence == pytest.approx(0.106904, abs=1e-12)
    used = {"sex", "capital_loss", "age", "hours_per_week"}
    assert used <= set(variables(violation.witness.expression))
    assert repair.used.before == pytest.approx(0.857)
    assert repair.used.after >= 0.827
    assert repair.deployed.native
    assert np.mean(repair.model.predict(X) == y) == pytest.approx(repair.used.after)


def test_adult_with_bare_variables():
    model, X, y, marital = adult()
    repair = by_constants(
        model, X, y, protected={"marital": marital}, epsilon=0.06, delta=0.08,
        unconfirmed=True, effort=SearchBudget(),
    )  # fmt: skip
    assert "age" in {witness.term for witness in repair.before.witnesses}
    assert repair.used.after >= 0.82
    assert repair.after.violations() == []
    verified = pu.verify(
        repair.certificate, repair.model, X, protected={"marital": marital}, original=model
    )
    assert verified.ok, str(verified)


# Certificates


def test_a_certificate_is_about_the_repaired_model():
    rng = np.random.default_rng(0)
    rooms = rng.integers(1, 5, 300).astype(float)
    people = pd.DataFrame(
        {
            "rooms": rooms,
            "age": rng.integers(20, 70, 300).astype(float),
            "town": rng.choice(["a", "b", "c"], 300),
            "married": rooms + rng.normal(0, 0.5, 300) > 2.5,
        }
    )
    y = (rooms + (people["town"] == "a") + rng.normal(0, 0.3, 300) > 3).astype(int)
    columns = ["rooms", "age", "town"]
    encode = ColumnTransformer(
        [("n", StandardScaler(), ["rooms", "age"]), ("w", OneHotEncoder(), ["town"])]
    )
    for last in (LogisticRegression(), GradientBoostingClassifier(n_estimators=4, random_state=0)):
        model = Pipeline([("encode", encode), ("model", last)]).fit(people[columns], y)
        repair = by_constants(model, people, y, protected="married", epsilon=0.1, delta=0.05)
        assert repair.steps
        assert repair.deployed.native
        verified = pu.verify(repair.certificate, repair.model, people, original=model)
        assert verified.ok, str(verified)


@pytest.mark.parametrize("loss", [pu.Moved(100), pu.Moved(0.2, relative=True), pu.SquaredChange()])
def test_a_price_is_repaired_by_its_own_measure(loss: Any) -> None:
    rng = np.random.default_rng(0)
    member = rng.integers(0, 2, 400)
    data = {"member": member, "power": rng.integers(40, 200, 400), "z": member}
    program = pu.Program.parse(
        "ite(power <= 90, ite(member == 1, 300, 310), ite(member == 1, 400, 650)) + power"
    )
    options: Any = {"protected": "z", "epsilon": 0.3, "delta": 0.05, "influence": loss}
    repair = by_constants(program, data, unconfirmed=True, **options)
    assert repair.before.witnesses
    assert not repair.after.witnesses
    assert not pu.audit(repair.program, data, **options).witnesses


def test_a_repair_that_makes_all_outputs_equal_is_measured_by_decisions() -> None:
    """Squared change is undefined there. The search must not stop."""
    x = np.arange(80) % 2
    data = {"x": x, "y": x, "v": np.arange(80) % 5, "z": x}
    program = pu.Program.parse("ite(x <= 0, 1.5, 2.5) * ite(y <= 5, 1, 2) + ite(v <= 9, 0, 1)")
    loss = pu.SquaredChange()
    repair = by_constants(
        program, data, protected="z", epsilon=0.3, delta=0.05, influence=loss, unconfirmed=True
    )
    assert not repair.after.witnesses
