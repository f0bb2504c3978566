"""Statistics on known populations: what is promised is kept, and the raw estimate does not."""

from __future__ import annotations

from itertools import groupby, pairwise
from math import sqrt

import pytest

from scripts.validity_simulation import (
    ALPHA,
    EPSILON,
    adult,
    coverage,
    independence,
    influences,
)

pytestmark = pytest.mark.slow


def at_most_alpha(share, runs):
    """Within two standard errors of a share of alpha."""
    return share <= ALPHA + 2 * sqrt(ALPHA * (1 - ALPHA) / runs)


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        (("Bonferroni", "Holm", "Benjamini-Hochberg"), "no correction"),
        (("Westfall-Young", "bounds"), "10 of 10 splits"),
    ],
)
def test_false_confirmations_are_at_most_alpha(right, wrong):
    rates = independence(500, [*right, wrong])
    for method in right:
        assert at_most_alpha(rates[method], 500), (method, rates[method])
    for method in ("raw estimate", wrong):
        assert rates[method] > 4 * ALPHA


def test_lower_bounds_of_associations_hold_and_raw_estimates_do_not():
    cells = list(coverage(1000))
    for seen in cells:
        assert seen.bound >= 1 - ALPHA - 0.02, seen
        assert seen.raw < 0.65, seen
        assert seen.corrected <= seen.mean, seen
        assert seen.corrected <= seen.association + 0.02, seen  # 6 rows of a kind are few
        if seen.n >= 1000 and seen.kind != "256 x 7":
            assert seen.corrected == pytest.approx(seen.association, abs=0.005), seen
    for seen in cells:
        if seen.association <= EPSILON:
            assert at_most_alpha(seen.confirmed, 1000), seen
    at = [seen for seen in cells if seen.association == EPSILON]
    assert all(seen.passing > 0.4 for seen in at)


def test_more_rows_confirm_more_often_above_epsilon():
    above = [seen for seen in coverage(300) if seen.association > EPSILON]
    for _, sizes in groupby(above, key=lambda seen: seen.kind):
        shares = [seen.confirmed for seen in sizes]
        assert all(more >= fewer for fewer, more in pairwise(shares))
        assert shares[-1] > 0.75


def test_lower_bounds_of_influences_hold():
    for kind, share in influences(500).items():
        assert share >= 1 - ALPHA - 0.02, kind


def test_samples_of_adult():
    samples = list(adult(200, sizes=(250, 1000, 4000)))
    assert all(at_most_alpha(seen.alarms, 200) for seen in samples)
    assert samples[0].raw_alarms > 4 * ALPHA
    assert all(more.found > fewer.found for fewer, more in pairwise(samples))
