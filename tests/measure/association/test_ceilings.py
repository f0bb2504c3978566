"""The highest association that distributions allow."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxyuse.measure.association.ceilings import two_valued_ceiling
from proxyuse.measure.association.measures.normalized_mutual_information import (
    NormalizedMutualInformation,
)

MASSES = st.lists(st.integers(1, 50), min_size=3, max_size=7).map(np.array)


def divided(masses, group):
    """The joint table of an attribute with a two-valued function of it."""
    inside = np.isin(np.arange(len(masses)), group)
    return np.array([np.where(inside, masses, 0), np.where(inside, 0, masses)], dtype=float)


@given(MASSES)
def test_it_is_the_best_division_of_the_values(masses):
    groups = (
        group
        for size in range(1, len(masses))
        for group in itertools.combinations(range(len(masses)), size)
    )
    best = max(NormalizedMutualInformation()(divided(masses, group)) for group in groups)
    assert two_valued_ceiling(masses) == pytest.approx(best)


@given(MASSES, st.integers(0, 2**32 - 1))
def test_no_two_valued_computation_is_above_it(masses, seed):
    shares = np.random.default_rng(seed).random(len(masses))
    table = np.array([masses * shares, masses * (1 - shares)])
    assert NormalizedMutualInformation()(table) <= two_valued_ceiling(masses) + 1e-9


def test_known_values():
    assert two_valued_ceiling(np.array([1.0, 99.0])) == 1
    assert two_valued_ceiling(np.array([5.0])) == 1
    assert two_valued_ceiling(np.ones(20)) == pytest.approx(math.log(2) / math.log(20))
    assert two_valued_ceiling(np.ones(16)) == pytest.approx(0.25)
    assert two_valued_ceiling(np.ones(1000)) == pytest.approx(math.log(2) / math.log(1000))
