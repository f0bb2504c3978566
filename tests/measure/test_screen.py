"""A screen never rules out a witness: its bounds are at least the association."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from proxyuse.lang.evaluate import Array
from proxyuse.lang.nodes import Add, Var
from proxyuse.measure.association.joint_table import joint_masses
from proxyuse.measure.association.measures.normalized_mutual_information import (
    NormalizedMutualInformation,
)
from proxyuse.measure.association.support import cut, support_of
from proxyuse.measure.bounds.screen import Screen

NMI = NormalizedMutualInformation()


def numbers(seed: int, rows: int, levels: int = 0) -> tuple[Array, Array, Array]:
    """Values with ties, outliers and missing numbers, a protected attribute, and weights.

    The attribute has up to `levels` further values, each in a few rows.
    """
    rng = np.random.default_rng(seed)
    z = rng.integers(0, rng.integers(2, 5), rows)
    values = rng.normal(size=rows) + z * rng.exponential() * rng.choice([0.1, 1.0])
    if rng.random() < 0.5:
        values = np.round(values * rng.choice([2, 10, 100])) / 7
    if rng.random() < 0.3:
        values = np.exp(values * 3)
    if rng.random() < 0.3:
        values[rng.random(rows) < 0.1] = np.nan
    if rng.random() < 0.3:
        values[0] = -0.0
    weights = np.ones(rows)
    if rng.random() < 0.5:
        weights = rng.integers(1, 4, rows) / rng.choice([1.0, 3.0])
    if levels:
        rare = rng.random(rows) < rng.choice([0.5, 1.0])
        z = np.where(rare, 5 + z + 4 * rng.integers(0, levels, rows), z)
    return values, z, weights


def grouped(values: Array, z: Array, weights: Array, bins: int | None, most: int) -> float:
    support = cut(support_of(values, len(values)), weights, bins, most)
    other = support_of(z.astype(float), len(z))
    return NMI(joint_masses(support, [other], weights)[0])


def best_cut(values: Array, z: Array, weights: Array, groups: int, most: int) -> float:
    support = support_of(values, len(values))
    distinct, masses = support.values, support.masses(weights)
    held = ~np.isnan(distinct)
    other = support_of(z.astype(float), len(z))
    table = joint_masses(support, [other], weights)[0]
    if held.sum() <= most:
        return NMI(table)
    mass = masses[held]
    group = np.floor(groups * (np.cumsum(mass) - mass / 2) / mass.sum())
    best = 0.0
    for boundary in range(1, groups):
        low = np.append(group < boundary, np.zeros((~held).sum(), dtype=bool))
        if not low.any() or low[held].all():
            continue  # a cut has values on both sides
        parts = [table[low].sum(axis=0), table[held & ~low].sum(axis=0), table[~held].sum(axis=0)]
        best = max(best, NMI(np.array([p for p in parts if p.sum() > 0])))
    return best


seeds = st.integers(0, 10**6)
epsilons = st.sampled_from([0.0, 0.02, 0.1, 0.5])
row_counts = st.sampled_from([30, 400, 3000])
further_values = st.sampled_from([0, 150])


@given(
    seeds,
    st.sampled_from([30, 400, 3000]),
    st.sampled_from([None, 2, 16]),
    epsilons,
    further_values,
)
def test_bounds_lie_above_the_association_in_groups_and_are_exact_from_epsilon_on(
    seed, rows, bins, epsilon, levels
):
    values, z, weights = numbers(seed, rows, levels)
    other = support_of(z.astype(float), rows)
    screen = Screen.of([other], weights, groups=bins, max_support=20)
    (bound,) = screen.bounds(values, epsilon)
    exact = grouped(values, z, weights, bins, 20)
    assert bound >= exact - 1e-9
    if bound >= epsilon and bins is not None and (weights == np.floor(weights)).all():
        assert bound == pytest.approx(exact, rel=0, abs=1e-9)


@given(seeds, row_counts, st.sampled_from([4, 256]), epsilons, further_values)
@example(77782, 3000, 256, 0.0, 0)
@example(0, 3000, 256, 0.02, 150)
def test_bounds_lie_above_the_best_cut_and_are_exact_from_epsilon_on(
    seed, rows, groups, epsilon, levels
):
    values, z, weights = numbers(seed, rows, levels)
    other = support_of(z.astype(float), rows)
    screen = Screen.of([other], weights, groups=groups, max_support=20, best_cut=True)
    (bound,) = screen.bounds(values, epsilon)
    exact = best_cut(values, z, weights, groups, 20)
    assert bound >= exact - 1e-9
    if bound >= epsilon and (weights == np.floor(weights)).all():
        assert bound == pytest.approx(exact, rel=0, abs=1e-9)


def test_values_without_a_bound_are_never_excluded():
    rows = 500
    z = support_of((np.arange(rows) % 2).astype(float), rows)
    screen = Screen.of([z], np.ones(rows), groups=16, max_support=20)
    values = np.arange(float(rows))
    values[3] = np.inf
    assert screen.bounds(values)[0] > 1


def test_every_subset_of_two_or_more_is_screened_once():
    rng = np.random.default_rng(0)
    operands = rng.normal(size=(6, 200))
    z = support_of((np.arange(200) % 2).astype(float), 200)
    screen = Screen.of([z, z], np.ones(200), groups=4, max_support=20)
    operator = Add((Var("a"), Var("b")))
    parts = screen.subsets(operator, operands, [0, 1 << 2], 0.0)
    passing = [pair for part in parts for pair in part]
    masks = [mask for mask, _ in passing]
    assert sorted(masks) == [m for m in range(1 << 6) if m.bit_count() > 1]
    assert {attributes for mask, attributes in passing if mask >> 2 & 1} == {0b01}
    assert {attributes for mask, attributes in passing if not mask >> 2 & 1} == {0b11}
