"""The bounds of squared change hold for outputs with short, long and rare tails."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest
from scipy.stats import binom

from proxyuse.lang.evaluate import Array
from proxyuse.measure.row_effects import RowEffects
from proxyuse.validity.sample import Observed
from proxyuse.validity.squared_change_bounds import squared_change_bounds
from proxyuse.verdict import Interval


class Sum(NamedTuple):
    """An output that is the sum of a computation and an independent rest.

    Attributes
    ----------
    own, rest : draw some values.
    truth : the squared change of the computation.
    """

    own: Callable[[np.random.Generator, int], Array]
    rest: Callable[[np.random.Generator, int], Array]
    truth: float


def normal(rng: np.random.Generator, size: int) -> Array:
    return rng.normal(size=size)


def lognormal(rng: np.random.Generator, size: int) -> Array:
    return rng.lognormal(size=size)


def coin(rng: np.random.Generator, size: int) -> Array:
    return 10.0 * (rng.random(size) < 0.5)


def rare(rng: np.random.Generator, size: int) -> Array:
    return 100.0 * (rng.random(size) < 0.05)


LOGNORMAL = (math.e - 1) * math.e
COIN, RARE = 25.0, 100.0**2 * 0.05 * 0.95
CASES = {
    "normal": Sum(normal, normal, 0.5),
    "lognormal": Sum(lognormal, lognormal, 0.5),
    "lognormal rest": Sum(normal, lognormal, 1 / (1 + LOGNORMAL)),
    "rare rest": Sum(coin, rare, COIN / (COIN + RARE)),
    "rare": Sum(rare, coin, RARE / (COIN + RARE)),
}


def drawn_bounds(case: Sum, rng: np.random.Generator, rows: int, level: float) -> Interval | None:
    own = case.own(rng, rows)
    squares = (own - own.mean()) ** 2
    losses = squares.mean() + squares
    observed = Observed(True, np.ones(rows), np.ones(rows))
    outputs = own + case.rest(rng, rows)
    return squared_change_bounds(RowEffects(losses, losses), outputs, observed, level)


def wrong_bounds(case: Sum, rows: int, level: float, runs: int) -> tuple[int, int]:
    """How many lower bounds are too high, and how many upper bounds are too low."""
    rng = np.random.default_rng(0)
    drawn = (drawn_bounds(case, rng, rows, level) for _ in range(runs))
    bounds = [bound for bound in drawn if bound is not None]
    return sum(low > case.truth for low, _ in bounds), sum(high < case.truth for _, high in bounds)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("rows", [200, 1000])
def test_few_bounds_are_wrong(name: str, rows: int) -> None:
    most = binom.ppf(0.999, 200, 0.05)
    assert max(wrong_bounds(CASES[name], rows, 0.05, runs=200)) <= most


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("rows", [100, 300, 1000, 5000])
@pytest.mark.parametrize("level", [0.05, 0.001])
def test_no_more_bounds_are_wrong_than_the_level_allows(name: str, rows: int, level: float) -> None:
    most = binom.ppf(0.999, 2000, level)
    assert max(wrong_bounds(CASES[name], rows, level, runs=2000)) <= most


def test_bounds_are_useful() -> None:
    rng = np.random.default_rng(0)
    low, high = drawn_bounds(CASES["normal"], rng, 5000, 0.001) or (0, 0)
    assert 0.42 < low < 0.5 < high < 0.58


def test_bounds_at_a_smaller_level_are_wider() -> None:
    wide, narrow = (
        drawn_bounds(CASES["normal"], np.random.default_rng(0), 2000, level)
        for level in (0.001, 0.05)
    )
    assert wide is not None
    assert narrow is not None
    assert wide[0] < narrow[0] < narrow[1] < wide[1]


def test_bounds_hold_at_very_small_levels() -> None:
    rng = np.random.default_rng(0)
    low, high = drawn_bounds(CASES["normal"], rng, 20_000, 1e-30) or (1, 0)
    assert 0.3 < low < 0.5 < high < 0.8


def test_few_rows_have_no_bounds() -> None:
    assert drawn_bounds(CASES["normal"], np.random.default_rng(0), 100, 0.05) is None
    assert drawn_bounds(CASES["normal"], np.random.default_rng(0), 300, 0.001) is None


def test_one_row_that_dominates_leaves_no_bounds() -> None:
    rng = np.random.default_rng(0)
    own, rest = rng.normal(size=(2, 1000))
    rest[0] = 1000
    losses = 1 + own**2
    observed = Observed(True, np.ones(1000), np.ones(1000))
    assert squared_change_bounds(RowEffects(losses, losses), own + rest, observed, 0.05) is None


def test_equal_weights_of_any_size_give_the_same_bounds() -> None:
    rng = np.random.default_rng(0)
    own, rest = rng.normal(size=(2, 1000))
    losses = RowEffects(1 + own**2, 1 + own**2)
    bounds = [
        squared_change_bounds(losses, own + rest, Observed(True, w, w * w), 0.05)
        for w in (np.ones(1000), np.full(1000, 3.0))
    ]
    assert bounds[0] == pytest.approx(bounds[1])


def test_unequal_weights_widen_the_bounds() -> None:
    rng = np.random.default_rng(0)
    own, rest = rng.normal(size=(2, 4000))
    losses = RowEffects(1 + own**2, 1 + own**2)
    weights = np.where(np.arange(4000) % 2, 1.0, 3.0)
    even = squared_change_bounds(
        losses, own + rest, Observed(True, np.ones(4000), np.ones(4000)), 0.05
    )
    uneven = squared_change_bounds(losses, own + rest, Observed(False, weights, weights**2), 0.05)
    assert even is not None
    assert uneven is not None
    assert uneven[0] < even[0]
    assert even[1] < uneven[1]


def test_a_computation_that_few_rows_reach_has_no_upper_bound() -> None:
    rng = np.random.default_rng(0)
    outputs = rng.normal(size=5000)
    losses = np.zeros(5000)
    losses[:5] = 1.0
    observed = Observed(True, np.ones(5000), np.ones(5000))
    low, high = squared_change_bounds(RowEffects(losses, losses), outputs, observed, 0.001) or (
        1,
        1,
    )
    assert low == 0
    assert high == math.inf
