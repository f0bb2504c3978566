"""Counts of outcomes by group add up over blocks of rows."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from proxyuse.measure.outcomes import ClassCounts, MeanCounts

numbers = st.floats(-1e6, 1e6).map(lambda x: round(x, 3)) | st.just(float("nan"))


@given(st.lists(st.tuples(st.integers(0, 2), numbers, st.integers(1, 5)), min_size=1, max_size=30),
       st.integers(0, 30))  # fmt: skip
def test_the_counts_of_two_blocks_add_up(rows, cut):
    groups, outputs, weights = (np.array(column) for column in zip(*rows, strict=True))
    weights = weights.astype(float)
    whole = MeanCounts.of(groups, outputs, weights, 3)
    parts = [MeanCounts.of(groups[s], outputs[s], weights[s], 3)
             for s in (slice(0, cut), slice(cut, None))]  # fmt: skip
    both = parts[0] + parts[1]
    np.testing.assert_allclose(both.means, whole.means, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(both.variances(), whole.variances(), rtol=1e-7, atol=1e-6)
    for group in range(3):
        own = (groups == group) & np.isfinite(outputs)
        if own.any():
            mean = np.average(outputs[own], weights=weights[own])
            np.testing.assert_allclose(whole.means[group], mean, rtol=1e-9, atol=1e-9)
            spread = np.sum(weights[own] ** 2 * (outputs[own] - mean) ** 2)
            expected = spread / weights[own].sum() ** 2
            np.testing.assert_allclose(whole.variances()[group], expected, rtol=1e-6, atol=1e-6)


def test_the_variance_of_large_outputs_keeps_its_digits():
    outputs = 1e9 + np.array([0.0, 1.0, 2.0, 3.0])
    counts = MeanCounts.of(np.zeros(4, dtype=int), outputs, np.ones(4), 1)
    assert counts.variances()[0] == 1.25 / 4


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(1, 5)), min_size=1))
def test_the_variance_of_a_rate_is_that_of_a_weighted_mean_of_flags(rows):
    groups, classes, weights = (np.array(column) for column in zip(*rows, strict=True))
    counts = ClassCounts.of(groups, classes, weights.astype(float), (3, 3))
    with np.errstate(invalid="ignore"):
        rates, variances = counts.rates(), counts.variances()
    for group in set(groups.tolist()):
        own = groups == group
        for label in range(3):
            flags = classes[own] == label
            rate = np.average(flags, weights=weights[own])
            assert np.isclose(rates[group, label], rate)
            expected = np.sum(weights[own] ** 2 * (flags - rate) ** 2) / weights[own].sum() ** 2
            assert np.isclose(variances[group, label], expected)
