"""The compiled counts of a column agree with its support and its bins."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxyuse.lang.evaluate import Array
from proxyuse.measure.association.column_kernel import crossed
from proxyuse.measure.association.column_tables import count_numbers
from proxyuse.measure.association.joint_table import joint_masses
from proxyuse.measure.association.support import cut, support_of

SPECIAL = [0.0, -0.0, 0.1, -2.5, 1e300, -1e300, 5e-324, float("inf"), float("-inf"), float("nan")]


@st.composite
def columns(draw: Any) -> Array:
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rows = draw(st.sampled_from([1, 2, 5, 64, 500]))
    kind = draw(st.sampled_from(["whole", "wide", "normal", "special", "constant"]))
    match kind:
        case "whole":
            values = rng.integers(-3, draw(st.sampled_from([1, 40, 2000])), rows).astype(float)
        case "wide":
            values = rng.integers(0, 10**7, rows).astype(float)
        case "normal":
            values = rng.normal(size=rows)
        case "special":
            values = rng.choice(SPECIAL, rows)
        case _:
            values = np.full(rows, rng.choice(SPECIAL))
    missing = draw(st.sampled_from([0.0, 0.2]))
    return np.where(rng.random(rows) < missing, np.nan, values)


@given(
    values=columns(),
    bins=st.sampled_from([None, 2, 16]),
    max_support=st.sampled_from([2, 30, 256]),
    widths=st.sampled_from([(1, 2, 5), (2, 300), (10_000,)]),
)
def test_numbers_are_counted_by_value_or_bin(
    values: Array, bins: int | None, max_support: int, widths: tuple[int, ...]
) -> None:
    rng = np.random.default_rng(len(values))
    rows = len(values)
    protected = [support_of(rng.integers(0, k, rows).astype(float), rows) for k in widths]
    support, tables = count_numbers(values, protected, bins, max_support)
    expected = cut(support_of(values, rows), np.ones(rows), bins, max_support)
    np.testing.assert_equal(support.values, expected.values)
    np.testing.assert_equal(support.upper, expected.upper)
    masses = joint_masses(expected, protected, np.ones(rows))
    for table, expected_table in zip(tables, masses, strict=True):
        np.testing.assert_array_equal(table, expected_table)


@given(seed=st.integers(0, 2**32 - 1), kind=st.sampled_from(["normal", "crowded", "whole", "few"]))
def test_numbers_beyond_thresholds_are_counted(seed: int, kind: str) -> None:
    rng = np.random.default_rng(seed)
    rows = int(rng.integers(2, 400))
    values = {
        "normal": rng.normal(size=rows),
        "crowded": np.where(rng.random(rows) < 0.9, 1.0, rng.normal(size=rows) * 1e6),
        "whole": rng.integers(-5, 5, rows).astype(float),
        "few": np.full(rows, 2.5),
    }[kind]
    thresholds = np.where(rng.random(rows) < 0.1, 1e9, rng.normal(size=rows) * 3)
    low = rng.random(rows) < 0.5
    below = (values < thresholds[:, None]).sum(axis=1)
    expected = int(np.where(low, rows - below, below).sum())
    count = crossed(values, thresholds, low, np.full(rows, 1e-12))
    assert count == expected or (count is None and kind != "normal")  # equal numbers crowd


@pytest.mark.parametrize("distance", [0.0, 1e-9, -1e-9])
def test_numbers_near_a_threshold_are_not_counted(distance: float) -> None:
    values = np.arange(10.0)
    thresholds = np.array([2.5, 4.0 + distance, 7.5])
    low = np.array([True, False, True])
    slack = np.array([0.4, 1e-6, 0.4])
    assert crossed(values, thresholds, low, slack) is None
    assert crossed(values, thresholds + 0.25, low, slack / 4) == 7 + 5 + 2
