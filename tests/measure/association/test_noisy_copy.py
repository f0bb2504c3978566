"""A noisy copy has the requested association and the distribution of the attribute."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import proxyuse as pu
from proxyuse.measure.association.noisy_copy import noisy_copy

masses = st.lists(st.floats(0.05, 10), min_size=2, max_size=6).map(np.array)


@given(masses, st.floats(0.001, 1))
def test_the_copy_has_the_requested_association(attribute, association):
    copy = noisy_copy(attribute, association)
    assert copy is not None
    shares = attribute / attribute.sum()
    table = copy.copied * np.diag(shares) + (1 - copy.copied) * np.outer(shares, shares)
    assert table.sum(axis=0) == pytest.approx(shares)
    assert table.sum(axis=1) == pytest.approx(shares)
    assert pu.NormalizedMutualInformation()(table) == pytest.approx(association, abs=1e-9)
    assert copy.informed == pytest.approx(table.max(axis=1).sum())
    assert copy.blind == pytest.approx(shares.max())


@pytest.mark.parametrize(
    ("agreement", "association"), [(0.99, 0.849), (0.9, 0.361), (0.75, 0.104), (0.6, 0.0148)]
)
def test_for_an_even_attribute_it_is_the_documented_agreement(agreement, association):
    copy = noisy_copy(np.array([1.0, 1.0]), association)
    assert copy is not None
    assert copy.informed == pytest.approx(agreement, abs=5e-4)
    assert copy.blind == 0.5


def test_a_rare_value_is_never_the_best_guess_of_a_weak_copy():
    copy = noisy_copy(np.array([95.0, 5.0]), 0.1)
    assert copy is not None
    assert copy.informed == pytest.approx(copy.blind) == pytest.approx(0.95)
    assert 0.3 < copy.copied < 0.5


def test_there_is_none_for_a_constant_or_without_association():
    assert noisy_copy(np.array([3.0, 0.0]), 0.1) is None
    assert noisy_copy(np.array([3.0, 1.0]), 0.0) is None
    assert noisy_copy(np.ones(300), 0.1) is None
