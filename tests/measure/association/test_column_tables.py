"""The counts of a column agree with its support, its bins and its cells."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxyuse.lang.build import member
from proxyuse.lang.evaluate import Array, Vocabulary
from proxyuse.lang.nodes import Compare, Const, Precision, Relation, Var
from proxyuse.measure.association.column_kernel import crossed
from proxyuse.measure.association.column_tables import count_column
from proxyuse.measure.association.joint_table import joint_masses
from proxyuse.measure.association.support import cut, support_of
from proxyuse.measure.cells import Test as CellTest
from proxyuse.measure.cells import cells_of

SPECIAL = [0.0, -0.0, 0.1, -2.5, 1e300, -1e300, 5e-324, float("inf"), float("-inf"), float("nan")]


@st.composite
def columns(draw: Any) -> Array:
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rows = draw(st.sampled_from([1, 2, 5, 64, 500]))
    kind = draw(st.sampled_from(["whole", "wide", "normal", "special", "constant", "bool", "word"]))
    match kind:
        case "whole":
            values = rng.integers(-3, draw(st.sampled_from([1, 40, 2000])), rows).astype(float)
        case "wide":
            values = rng.integers(0, 10**7, rows).astype(float)
        case "normal":
            values = rng.normal(size=rows)
        case "special":
            values = rng.choice(SPECIAL, rows)
        case "constant":
            values = np.full(rows, rng.choice(SPECIAL))
        case "bool":
            return np.asarray(rng.random(rows) < rng.random())
        case _:
            return np.asarray(rng.integers(-1, 3, rows), dtype=np.int32)
    holes = draw(st.sampled_from([0.0, 0.2]))
    return np.where(rng.random(rows) < holes, np.nan, values)


def words() -> Vocabulary:
    vocabulary = Vocabulary()
    for word in "abc":
        vocabulary.code(word)
    return vocabulary


def some_tests(values: Array) -> list[CellTest]:
    x = Var("x")
    if values.dtype == np.int32:
        return [member(x, {"a", "d"}), Compare(Relation.EQ, x, Const("b"))]
    bounds = [*values[:3].astype(float).tolist(), 0.1, 1e6]
    return [
        Compare(relation, x, Const(bound), precision, missing)
        for bound in bounds
        for relation, precision, missing in (
            (Relation.LE, Precision.FLOAT32, False),
            (Relation.GT, Precision.FLOAT64, True),
            (Relation.EQ, Precision.FLOAT64, False),
        )
    ]


@given(
    values=columns(),
    weighted=st.booleans(),
    bins=st.sampled_from([None, 2, 16]),
    max_support=st.sampled_from([2, 30, 256]),
)
def test_a_column_is_counted_as_its_support_and_cells_say(
    values: Array, weighted: bool, bins: int | None, max_support: int
) -> None:
    rng = np.random.default_rng(len(values))
    rows = len(values)
    weights = rng.integers(1, 9, rows).astype(float) if weighted else None
    mass = np.ones(rows) if weights is None else weights
    protected = [support_of(rng.integers(0, k, rows).astype(float), rows) for k in (1, 2, 5)]
    found = count_column(values, some_tests(values), words(), protected, weights, bins, max_support)
    support = cut(support_of(values, rows), mass, bins, max_support)
    np.testing.assert_equal(found.support.values, support.values)
    np.testing.assert_equal(found.support.upper, support.upper)
    for table, wanted in zip(found.tables, joint_masses(support, protected, mass), strict=True):
        np.testing.assert_array_equal(table, wanted)
    cells = cells_of(values, some_tests(values), words())
    np.testing.assert_array_equal(found.cells.codes, cells.codes)
    np.testing.assert_array_equal(found.cells.truth, cells.truth)
    for table, z in zip(found.cell_tables, protected, strict=True):
        by_cell = np.zeros((cells.count, len(z)))
        np.add.at(by_cell, (cells.codes, z.codes), mass)
        np.testing.assert_array_equal(table, by_cell)


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
