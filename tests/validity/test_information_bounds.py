"""Each correction in the bounds for normalized mutual information is needed.

The tests compare the bounds with a known population, and with their formulas as written by other
libraries. Without the correction named in a test, that test fails.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics.cluster import expected_mutual_information

from proxyuse.measure.association.measures.normalized_mutual_information import (
    NormalizedMutualInformation,
)
from proxyuse.validity.association_bounds import information_bounds
from proxyuse.validity.sample import Sample


def population(values: int, agreement: float) -> np.ndarray:
    """Two uniform variables that are equal with probability `agreement`, else independent."""
    return agreement * np.eye(values) / values + (1 - agreement) / values**2


def drawn_tables(shares: np.ndarray, rows: int, tables: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    drawn = rng.multinomial(rows, shares.ravel(), size=tables)
    return drawn.reshape(tables, *shares.shape).astype(np.float64)


def information_and_entropy(table: np.ndarray) -> tuple[float, float]:
    joint = stats.entropy(table.ravel())
    return stats.entropy(table.sum(axis=0)) + stats.entropy(table.sum(axis=1)) - joint, joint


def expected_by_chance(table: np.ndarray) -> float:
    return float(expected_mutual_information(table.astype(int), int(table.sum())))


@pytest.mark.parametrize("shape", [(2, 2), (5, 5), (9, 2)])
def test_the_corrected_association_follows_its_formula(shape: tuple[int, int]) -> None:
    table = np.random.default_rng(1).integers(3, 40, shape).astype(np.float64) ** 2
    n, (information, entropy) = table.sum(), information_and_entropy(table)
    chance = expected_by_chance(table)
    miller_madow = (shape[0] + shape[1] - 2) / (2 * n)
    expected = (information - chance) / (entropy + chance + miller_madow)
    corrected = information_bounds(Sample(table, table), 0.05).corrected
    assert corrected == pytest.approx(expected, rel=1e-9)


def test_the_joint_entropy_is_corrected_for_every_value_of_both_sides() -> None:
    """The Miller-Madow term: without it the entropy stays too low by 8 / 2n = 0.008 on average."""
    shares = population(5, agreement=0.3)
    entropies = []
    for table in drawn_tables(shares, rows=500, tables=1000):
        information, _ = information_and_entropy(table)
        corrected = information_bounds(Sample(table, table), 0.05).corrected
        entropies.append((information - expected_by_chance(table)) / corrected)
    error = np.std(entropies) / np.sqrt(len(entropies))
    assert np.mean(entropies) == pytest.approx(stats.entropy(shares.ravel()), abs=4 * error)
    assert 4 * error < 0.004


def test_the_lower_bound_divides_by_the_corrected_entropy() -> None:
    """At level 1/2 the spread is 0: the bound is the corrected ratio with unseen cells added.

    Five values that agree in each of 100 rows: log(2) / 2 observations that were possibly missed
    fall into the 20 cells off the diagonal, and Miller and Madow add 8 / 200 to the entropy.
    """
    table = np.diag(np.full(5, 20.0))
    with_unseen = table + np.log(2) / 2 / 20 * (1 - np.eye(5))
    information, entropy = information_and_entropy(with_unseen)
    chance = expected_by_chance(table)
    expected = (information - chance) / (entropy + chance + 8 / 200)
    lower = information_bounds(Sample(table, table), level=0.5).lower
    assert lower == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("agreement", [0.1, 0.15, 0.2])
def test_the_upper_bound_covers_a_weak_association(agreement: float) -> None:
    """The ``z^2 / 2nH`` term: without it, 100 rows exclude the truth in 15% of samples, not 5%."""
    shares = population(2, agreement)
    truth = NormalizedMutualInformation()(shares)
    tables = drawn_tables(shares, rows=100, tables=2000)
    covered = [information_bounds(Sample(t, t), level=0.05).upper >= truth for t in tables]
    assert np.mean(covered) >= 0.95


def test_a_sample_without_association_does_not_exclude_a_weak_one() -> None:
    table = np.full((2, 2), 25.0)
    z = stats.norm.ppf(0.95)
    upper = information_bounds(Sample(table, table), level=0.05).upper
    assert upper == pytest.approx(z**2 / (2 * 100 * np.log(4)))
