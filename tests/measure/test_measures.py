"""Association, supports, bins and the sampling plan, each by itself."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.metrics import mutual_info_score

from proxyuse.errors import DataError
from proxyuse.measure.association.information import entropy, mutual_information
from proxyuse.measure.association.measures.normalized_mutual_information import (
    NormalizedMutualInformation,
)
from proxyuse.measure.association.support import cut, support_of
from proxyuse.measure.influence import (
    QuantitativeInputInfluence,
    SquaredChange,
    differ,
    draw_pairs,
)
from proxyuse.settings import Sampling
from tests.brute import in_bins, key

nmi = NormalizedMutualInformation()

# Association

sides = st.integers(1, 5)


@st.composite
def tables(draw, smallest=0):
    rows, columns = draw(sides), draw(sides)
    cells = st.lists(st.integers(smallest, 9), min_size=columns, max_size=columns)
    table = np.array(draw(st.lists(cells, min_size=rows, max_size=rows)), dtype=np.float64)
    assume(table.any())
    return table


def entropy_of(counts):
    shares = counts[counts > 0] / counts.sum()
    return -float(np.sum(shares * np.log(shares)))


@given(tables())
def test_association_is_mutual_information_over_joint_entropy(table):
    joint = entropy_of(table.ravel())
    assume(joint > 0)
    xs, zs = np.indices(table.shape)
    weights = table.ravel().astype(int)
    information = mutual_info_score(np.repeat(xs.ravel(), weights), np.repeat(zs.ravel(), weights))
    assert nmi(table) == pytest.approx(information / joint, rel=0, abs=1e-12)


@given(tables())
def test_association_is_symmetric_and_between_0_and_1(table):
    assert 0 <= nmi(table) <= 1
    assert nmi(table) == pytest.approx(nmi(table.T), rel=0, abs=1e-12)


@given(st.lists(st.floats(1e-3, 1e3), min_size=2, max_size=12), st.data())
def test_a_perfect_proxy_has_association_exactly_1_in_any_order(masses, data):
    order = data.draw(st.permutations(range(len(masses))))
    table = np.zeros((len(masses), len(masses)))
    table[range(len(masses)), order] = masses
    assert nmi(table) == 1.0


@given(tables(smallest=1))
def test_only_a_perfect_proxy_has_association_1(table):
    assert nmi(table) < 1
    nearly = np.diag([1e12, 1e12])
    nearly[0, 1] = 1e-6
    assert nmi(nearly) < 1


@given(st.lists(st.integers(1, 9), min_size=1), st.lists(st.integers(1, 9), min_size=1))
def test_independent_whole_masses_have_association_exactly_0(by_row, by_column):
    assert nmi(np.outer(by_row, by_column).astype(np.float64)) == 0.0


@given(st.lists(st.floats(0.1, 10), min_size=1, max_size=6))
def test_a_constant_tells_nothing(masses):
    assert nmi(np.array([masses])) == 0.0
    assert nmi(np.array([masses]).T) == 0.0


@given(tables())
def test_values_that_do_not_occur_change_nothing(table):
    wider = np.pad(table, ((0, 1), (1, 0)))
    assert nmi(wider) == pytest.approx(nmi(table), rel=0, abs=1e-12)


@given(tables(), st.sampled_from([0.125, 3.0, 1e6]))
def test_scaling_all_masses_changes_nothing(table, factor):
    assert nmi(table * factor) == pytest.approx(nmi(table), rel=0, abs=1e-12)


@given(tables())
def test_entropy_and_mutual_information_are_in_nats(table):
    assert entropy(table.ravel()) == pytest.approx(entropy_of(table.ravel()), abs=1e-12)
    separate = entropy_of(table.sum(axis=0)) + entropy_of(table.sum(axis=1))
    assert mutual_information(table) == pytest.approx(
        max(0.0, separate - entropy_of(table.ravel())), abs=1e-12
    )


def test_the_association_of_one_product():
    assert nmi(np.array([[1.0, 0.0], [1.0, 2.0]])) == pytest.approx(0.2075, abs=5e-5)


# Supports


def test_a_missing_number_is_one_value_and_both_zeros_are_one():
    support = support_of(np.array([0.0, math.nan, -0.0, 2.0, math.nan]), 5)
    assert len(support) == 3
    assert support.codes.tolist() == [0, 2, 0, 1, 2]


def test_vectors_are_compared_as_a_whole_with_missing_entries():
    rows = np.array([[1.0, math.nan], [1.0, 2.0], [1.0, math.nan], [-0.0, 2.0], [0.0, 2.0]])
    support = support_of(rows, 5)
    assert len(support) == 3
    assert support.codes[0] == support.codes[2]
    assert support.codes[3] == support.codes[4]
    for code, row in zip(support.codes, rows, strict=True):
        assert np.array_equal(support.values[code], row, equal_nan=True)


def test_a_constant_has_one_value_on_all_rows():
    support = support_of(np.array([7.0]), 4)
    assert support.codes.tolist() == [0, 0, 0, 0]
    assert support.values.tolist() == [7.0]


numbers = st.one_of(st.integers(-4, 12).map(lambda i: i / 8), st.just(math.nan), st.just(-0.0))
columns = st.lists(st.tuples(numbers, st.integers(1, 4)), min_size=1, max_size=12)


@given(columns)
def test_rows_share_a_code_exactly_when_they_share_a_value(column):
    values = [value for value, _ in column]
    support = support_of(np.array(values), len(values))
    masses = support.masses(np.array([float(weight) for _, weight in column]))
    for i, value in enumerate(values):
        assert key(float(support.values[support.codes[i]])) == key(value)
        assert masses[support.codes[i]] == sum(w for v, w in column if key(v) == key(value))
    assert len(support) == len(set(map(key, values)))


# Bins


@given(columns, st.integers(1, 5), st.integers(1, 4))
def test_a_bin_is_the_floor_of_the_mass_below_and_half_the_mass_at_a_value(
    column, bins, max_support
):
    values = [value for value, _ in column]
    weights = [float(weight) for _, weight in column]
    support = support_of(np.array(values), len(values))
    binned = cut(support, np.array(weights), bins, max_support)
    expected = in_bins(values, [Fraction(w) for w in weights], bins, max_support)
    pairs = set(zip(binned.codes.tolist(), expected, strict=True))
    assert len(pairs) == len(set(expected)) == len({code for code, _ in pairs})
    assert binned.binned == any(group[0] == "bin" for group in expected)
    if binned.binned:
        assert binned.upper is not None
        for code, value in zip(binned.codes, values, strict=True):
            low, high = binned.values[code], binned.upper[code]
            assert low <= value <= high or (math.isnan(low) and math.isnan(value))


def test_ties_fall_into_one_bin_and_missing_into_its_own():
    values = np.array([1.0, 1.0, 1.0, 2.0, 3.0, math.nan])
    binned = cut(support_of(values, 6), np.ones(6), 2, 2)
    assert binned.codes.tolist() == [0, 0, 0, 1, 1, 2]


def test_numbers_are_not_cut_unless_there_are_more_than_the_limit():
    values = np.arange(257.0)
    support = support_of(values, 257)
    assert cut(support, np.ones(257), 16, 257) is support
    assert cut(support, np.ones(257), None, 1) is support
    binned = cut(support, np.ones(257), 16, 256)
    assert len(binned) == 16
    assert binned.masses(np.ones(257)).tolist() == [16.0] * 8 + [17.0] + [16.0] * 7


def test_categories_and_booleans_are_never_binned():
    codes = support_of(np.arange(9, dtype=np.int32), 9)
    truths = support_of(np.array([True, False]), 2)
    assert cut(codes, np.ones(9), 2, 1) is codes
    assert cut(truths, np.ones(2), 1, 1) is truths


# Losses


def test_outputs_differ_unless_they_are_the_same_value_or_both_missing():
    first = np.array([1.0, math.nan, math.nan, 0.0, 2.0])
    second = np.array([1.0, math.nan, 1.0, -0.0, 3.0])
    assert differ(first, second).tolist() == [False, False, True, False, True]
    assert QuantitativeInputInfluence().scale(first, np.ones(5)) == 1


def test_vectors_differ_when_one_entry_does():
    first = np.array([[1.0, math.nan], [1.0, 2.0]])
    second = np.array([[1.0, math.nan], [1.0, 3.0]])
    assert differ(first, second).tolist() == [False, True]


def test_squared_change_needs_finite_numbers():
    change = SquaredChange()
    assert change.loss(np.array([1.0, 2.0]), np.array([3.0, 2.0])).tolist() == [4.0, 0.0]
    assert change.scale(np.array([0.0, 4.0]), np.array([3.0, 1.0])) == 6.0
    with pytest.raises(DataError):
        change.loss(np.array([1.0]), np.array([math.nan]))
    with pytest.raises(DataError):
        change.loss(np.array([1], dtype=np.int32), np.array([2], dtype=np.int32))


# Sampling


@given(st.floats(0.005, 0.9), st.floats(1e-6, 0.9))
def test_pairs_are_the_fewest_that_hoeffding_allows(alpha, beta):
    pairs = Sampling(alpha=alpha, beta=beta).pairs
    least = math.log(2 / beta) / (2 * alpha * alpha)
    assert least <= pairs * (1 + 1e-12)
    assert pairs - 1 < least * (1 + 1e-12)


@pytest.mark.parametrize("wrong", [{"alpha": 0}, {"alpha": 1}, {"beta": 0}, {"beta": 1.5}])
def test_alpha_and_beta_outside_0_and_1_are_refused(wrong):
    with pytest.raises(DataError, match="expected a number above 0 and below 1"):
        Sampling(**wrong)


def test_rows_are_drawn_by_weight_and_independently():
    weights = np.array([1.0, 0.0, 3.0, 4.0])
    sampling = Sampling(alpha=0.01, beta=0.001, seed=3)
    rows, others = draw_pairs(sampling, weights)
    assert len(rows) == len(others) == sampling.pairs
    joint = np.zeros((4, 4))
    np.add.at(joint, (rows, others), 1 / sampling.pairs)
    shares = weights / weights.sum()
    assert np.abs(joint - np.outer(shares, shares)).max() < 0.01
    assert not joint[1].any()
    assert not joint[:, 1].any()


def test_the_same_seed_draws_the_same_pairs():
    first, again = (draw_pairs(Sampling(seed=5), np.ones(9)) for _ in range(2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, draw_pairs(Sampling(seed=6), np.ones(9)))
