"""Repairs of random programs, checked by brute force, and of the paper's example."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import proxyuse as pu
from proxyuse.lang.nodes import Var
from proxyuse.measure.naive import NaiveEngine
from tests.brute import Sample, Tree, key, mass_of, without_idle_marks
from tests.forest_cases import forest_case
from tests.strategies import Case, cases

epsilons = st.sampled_from([0.0, 0.05, 0.2, 0.5, 1.0])
deltas = st.sampled_from([Fraction(0), Fraction(1, 10), Fraction(1, 4)])


def repaired(case: Case, epsilon: float, delta: Fraction, **options: Any) -> pu.Repair:
    return pu.repair(
        case.program,
        case.data,
        protected=case.protected,
        epsilon=epsilon,
        delta=float(delta),
        weights=case.weights,
        missing_protected="category",
        **options,
    )


def check_repaired(case: Case, repair: pu.Repair, epsilon: float, delta: Fraction) -> None:
    """No witness by brute force, no larger, and no worse than a constant."""
    sample = case.sample
    tree = Tree(without_idle_marks(repair.program.term, case.never_missing))
    for decomposition in tree.decompositions():
        influence = sample.influence(tree, decomposition.places)
        if influence > delta:
            for name in case.protected:
                assert sample.association(decomposition.term, name) < epsilon
    assert repair.program.size <= case.program.size
    said = [key(value) for value in sample.values(case.term)]
    now = [key(value) for value in sample.values(repair.program.term)]
    pairs = list(zip(said, now, sample.weights, strict=True))
    agreement = mass_of([w for old, new, w in pairs if old == new]) / sample.total
    constants = [mass_of([w for old, _, w in pairs if old == v]) / sample.total for v in set(said)]
    assert agreement >= max(constants)
    if not any(isinstance(value, tuple) for value in said):
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
    return pu.repair(
        case.program,
        data,
        protected={z.name: z.column.decode() for z in population.protected},
        epsilon=epsilon,
        delta=delta,
        weights=population.weights,
    )


@pytest.mark.parametrize("seed", range(40))
def test_sums_of_trees_are_repaired(seed):
    repair = repaired_forest(seed, 0.05, 0.05)
    engine = NaiveEngine(repair.after.program, repair.after.population)
    for found in repair.after.decompositions:
        for z, table in zip(found.associations, engine.tables(found.expression), strict=True):
            association = pu.NormalizedMutualInformation()(table.masses)
            influence = engine.influence(found.spots)
            assert association < 0.05 or influence <= 0.05, z
    assert repair.program.size <= repair.original.size
    assert repair.used.before == 1.0
