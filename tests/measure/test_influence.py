"""Moves of a number by more than a threshold: which count, and how they are named."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxyuse.errors import DataError
from proxyuse.measure.influence import Moved, influence_from, influence_named
from proxyuse.settings import check_influence_name

NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("moved", "old", "new", "counts"),
    [
        (Moved(1), 2.0, 3.0, False),  # by exactly the threshold
        (Moved(1), 2.0, 3.5, True),
        (Moved(1), 2.0, 0.5, True),
        (Moved(0), 2.0, 2.0, False),
        (Moved(1), NAN, NAN, False),
        (Moved(1), NAN, 2.0, True),
        (Moved(1), 2.0, NAN, True),
        (Moved(1), INF, INF, False),
        (Moved(1), INF, -INF, True),
        (Moved(1), 2.0, INF, True),
        (Moved(0.5, relative=True), 2.0, 3.0, False),
        (Moved(0.5, relative=True), -2.0, -3.5, True),
        (Moved(0.5, relative=True), 0.0, 1e-300, True),  # any change of 0
        (Moved(0.5, relative=True), 0.0, 0.0, False),
        (Moved(0.5, relative=True), INF, 1.0, True),
        (Moved(0.5, relative=True), INF, INF, False),
        (Moved(0.5, relative=True), 1.0, NAN, True),
        (Moved(2, relative=True), 1e300, -1e300, False),
    ],
)
def test_which_moves_count(moved, old, new, counts):
    assert moved.loss(np.array([old]), np.array([new])).tolist() == [counts]


def test_booleans_move_by_one():
    before, after = np.array([True, False]), np.array([False, False])
    assert Moved(0.5).loss(before, after).tolist() == [True, False]
    assert Moved(1).loss(before, after).tolist() == [False, False]


@given(st.floats(0, 1e300), st.booleans())
def test_the_name_of_a_move_states_its_threshold_exactly(by, relative):
    moved = Moved(by, relative)
    assert Moved.named(moved.name) == moved
    assert influence_named(moved.name) == moved
    assert influence_from(f"moved:{moved.threshold}") == moved


@pytest.mark.parametrize("name", ["moved", "moved by more than 1e2", "moved by more than -1", "x"])
def test_other_names_are_not_moves(name):
    assert Moved.named(name) is None


@pytest.mark.parametrize("by", [-1, float("nan"), float("inf"), "100", True, None])
def test_a_threshold_is_a_finite_number_of_at_least_0(by):
    with pytest.raises(DataError, match="by: expected a number of at least 0"):
        Moved(by)


@pytest.mark.parametrize(
    "name", ["moved", "moved:", "moved:x", "moved:-1", "moved:nan", "moved:1%%"]
)
def test_a_wrong_threshold_is_refused(name):
    with pytest.raises(DataError, match="influence: expected"):
        influence_from(name)
    with pytest.raises(DataError, match="influence: expected"):
        check_influence_name(name)


def test_moves_need_numbers():
    with pytest.raises(DataError, match="moved by more than 1 needs a program whose output"):
        Moved(1).scale(np.array([0], dtype=np.int32), np.ones(1))
