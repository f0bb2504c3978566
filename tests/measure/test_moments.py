"""The Gram matrix gives correlations, candidates and bounds for partial sums."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxyuse.lang.evaluate import Array
from proxyuse.measure.bounds.gram import Moments


def drawn(seed: int, operands: int) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(seed)
    target = rng.normal(size=50)
    columns = rng.normal(size=(operands, 50)) + rng.normal(size=(operands, 1)) * target
    if rng.random() < 0.3:
        columns[-1] = -columns[0]
    if rng.random() < 0.3:
        columns[-1] = 2.0
    return columns, target, rng.integers(1, 4, 50).astype(float)


def squared_correlation(x: Array, z: Array, weights: Array) -> float:
    x, z = x - np.average(x, weights=weights), z - np.average(z, weights=weights)
    own = weights @ x**2
    return float((weights @ (x * z)) ** 2 / (own * (weights @ z**2))) if own > 1e-9 else 0.0


@given(st.integers(0, 10**6), st.integers(2, 6))
def test_the_certificate_lies_above_every_subset(seed, operands):
    columns, target, weights = drawn(seed, operands)
    bound = Moments.of(columns, target, weights).certificate()
    for size in range(1, operands + 1):
        for subset in combinations(range(operands), size):
            total = columns[list(subset)].sum(axis=0)
            assert squared_correlation(total, target, weights) <= bound + 1e-9


@given(st.integers(0, 10**6), st.integers(2, 6))
def test_squared_correlations_of_sums_follow_from_the_gram_matrix(seed, operands):
    columns, target, weights = drawn(seed, operands)
    moments = Moments.of(columns, target, weights)
    total = columns[[0, 1]].sum(axis=0)
    if np.var(total) > 1e-6:
        actual = moments.squared_correlation([0, 1])
        assert actual == pytest.approx(squared_correlation(total, target, weights))


@given(st.integers(0, 10**6), st.integers(3, 6), st.sampled_from([1, -1]))
def test_a_path_takes_the_best_next_operand_and_every_operand_once(seed, operands, sign):
    columns, target, weights = drawn(seed, operands)
    moments = Moments.of(columns, target, weights)
    order = list(moments.forward((), sign, np.ones(operands, dtype=np.bool_)))
    assert sorted(order) == list(range(operands))


@given(st.integers(0, 10**6), st.integers(4, 7), st.sampled_from([1, -1]))
def test_swaps_keep_the_size_and_do_not_lose_correlation(seed, operands, sign):
    columns, target, weights = drawn(seed, operands)
    moments = Moments.of(columns, target, weights)
    before = [0, 1]
    after = moments.swapped(before, sign, np.ones(operands, dtype=np.bool_), 16)
    assert len(set(after)) == len(before)
    signed = [
        np.sign(sign * moments.target[list(s)].sum()) * moments.squared_correlation(s)
        for s in (before, after)
    ]
    assert signed[1] >= signed[0] - 1e-9 or not np.isfinite(signed).all()


def test_the_certificate_of_independent_operands_is_close_to_the_best_sum():
    rng = np.random.default_rng(0)
    target = rng.normal(size=4000)
    columns = rng.normal(size=(5, 4000)) + target
    moments = Moments.of(columns, target, np.ones(4000))
    assert moments.certificate() == pytest.approx(moments.squared_correlation(range(5)), abs=0.01)
