"""Noise as a protected attribute: the hardest cells of the grid in `scripts.noise_simulation`."""

from __future__ import annotations

import pytest

from scripts.noise_simulation import RUNS, Cell, simulate, too_many

HARDEST = [
    Cell("fair coin", "tree", 100),
    Cell("20-sided die", "logistic pipeline", 300),
    Cell("id", "logistic pipeline", 300),
    Cell("tail of 5,000 levels", "logistic pipeline", 1000),
    Cell("tail of 40,000 levels", "logistic pipeline", 1000),
    Cell("ten copies of each row", "logistic pipeline", 1000),
    Cell("unequal weights", "logistic pipeline", 300),
    Cell("training rows", "tree", 300),
]


@pytest.mark.slow
@pytest.mark.parametrize("cell", HARDEST, ids=lambda cell: f"{cell.noise}, {cell.model}")
def test_noise_is_confirmed_in_at_most_5_percent_of_runs(cell):
    seen = simulate(cell)
    assert seen.runs == RUNS
    assert not too_many(seen.confirmed, seen.runs), seen


def test_a_rate_is_too_high_only_if_chance_does_not_explain_it():
    assert not too_many(10, 200)  # 5%
    assert not too_many(17, 200)
    assert too_many(19, 200)
