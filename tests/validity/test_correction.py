"""P-values corrected for how many there are."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from proxyuse.validity.permutations.correction import (
    ADJUSTMENTS,
    benjamini_hochberg,
    bonferroni,
    holm,
)

SETS = [
    np.array([0.04]),
    np.array([0.01, 0.04, 0.03, 0.005]),
    np.array([0.02, 0.02, 0.02, 0.5, 0.5]),
    np.array([1.0, 1.0, 0.9]),
    *(np.random.default_rng(seed).uniform(size=7) ** 2 for seed in range(5)),
]


@pytest.mark.parametrize("p_values", SETS, ids=len)
def test_benjamini_hochberg_agrees_with_scipy(p_values):
    expected = stats.false_discovery_control(p_values, method="bh")
    assert benjamini_hochberg(p_values) == pytest.approx(expected, abs=1e-15)


def closed(p_values):
    """A hypothesis falls if Bonferroni's test rejects every set of hypotheses that holds it."""
    count = len(p_values)
    every = [s for k in range(1, count + 1) for s in combinations(range(count), k)]
    return [
        min(1.0, max(len(s) * min(p_values[list(s)]) for s in every if i in s))
        for i in range(count)
    ]


@pytest.mark.parametrize("p_values", SETS, ids=len)
def test_holm_is_the_closed_test_of_bonferroni(p_values):
    assert holm(p_values) == pytest.approx(closed(p_values), abs=1e-15)


@pytest.mark.parametrize("p_values", SETS, ids=len)
def test_order_of_the_corrections(p_values):
    first, second, third = (f(p_values) for f in (benjamini_hochberg, holm, bonferroni))
    assert (p_values <= first).all()
    assert (first <= second + 1e-15).all()
    assert (second <= third).all()
    assert third.max() <= 1


@pytest.mark.parametrize("name", ADJUSTMENTS)
@pytest.mark.parametrize("p_values", SETS, ids=len)
def test_adjusted_values_keep_the_order_and_follow_their_hypotheses(name, p_values):
    adjust = ADJUSTMENTS[name]
    adjusted = adjust(p_values)
    order = np.argsort(p_values, kind="stable")
    assert (np.diff(adjusted[order]) >= 0).all()
    shuffled = np.random.default_rng(0).permutation(len(p_values))
    assert adjust(p_values[shuffled]).tolist() == adjusted[shuffled].tolist()


@pytest.mark.parametrize("name", ADJUSTMENTS)
def test_no_tests_at_all(name):
    assert ADJUSTMENTS[name](np.empty(0)).shape == (0,)
