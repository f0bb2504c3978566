"""Class shares that predict a label are the closest ones to the shares at hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from proxyuse.models.label_shares import LEAD, closest_shares


@st.composite
def nodes(draw):
    """The shares of a node, often with ties and empty classes, and the class that must lead."""
    counts = draw(st.lists(st.integers(0, 9), min_size=2, max_size=5).filter(any))
    return np.array(counts) / sum(counts), draw(st.integers(0, len(counts) - 1))


def least_total_change(own, index, lead):
    """The smallest sum of absolute changes, by linear programming over shares and changes."""
    size = len(own)
    one, none = np.eye(size), np.zeros((size, size))
    others = np.delete(np.arange(size), index)
    ahead = np.hstack([one[others] - one[index], none[others]])  # other - label <= -lead
    changes = np.vstack([np.hstack([one, -one]), np.hstack([-one, -one])])
    solution = linprog(
        np.r_[np.zeros(size), np.ones(size)],
        A_ub=np.vstack([ahead, changes]),
        b_ub=np.r_[np.full(size - 1, -lead), own, -own],
        A_eq=np.r_[np.ones(size), np.zeros(size)][None],
        b_eq=[1],
    )
    return solution.fun


def feasible_shares(size, index, lead, rng):
    """Random shares in which a class leads."""
    for shares in rng.dirichlet(np.ones(size), 400):
        if np.all(np.delete(shares, index) + lead <= shares[index]):
            yield shares


@given(nodes())
def test_the_label_leads_and_the_shares_add_up_to_1(node):
    own, index = node
    shares = closest_shares(own, index)
    others = np.delete(shares, index)
    assert (shares[index] > others).all()
    assert (np.float32(shares[index]) > others.astype(np.float32)).all()
    assert shares.sum() == pytest.approx(1, abs=1e-15)
    assert (shares >= 0).all()


@pytest.mark.parametrize("lead", [LEAD, 0.05])
@given(node=nodes())
def test_no_shares_with_the_label_are_closer(lead, node):
    own, index = node
    change = np.abs(closest_shares(own, index, lead) - own).sum()
    assert change == pytest.approx(least_total_change(own, index, lead), abs=1e-9)


@given(nodes(), st.integers(0, 2**32 - 1))
def test_no_shares_with_the_label_have_smaller_squares_or_a_larger_likelihood(node, seed):
    own, index = node
    shares = closest_shares(own, index)
    seen = own > 0
    for other in feasible_shares(len(own), index, LEAD, np.random.default_rng(seed)):
        assert np.square(shares - own).sum() <= np.square(other - own).sum() + 1e-12
        likelihood = own[seen] @ np.log(shares[seen])
        assert likelihood >= own[seen] @ np.log(other[seen]) - 1e-5


def test_shares_that_lead_by_more_stay():
    np.testing.assert_allclose(closest_shares(np.array([0.2, 0.7, 0.1]), 1), [0.2, 0.7, 0.1])
