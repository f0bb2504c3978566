"""Guess rates are out of sample, and the order of the rows does not matter."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import proxyuse as pu
from proxyuse.data.population import Population
from proxyuse.measure.guessing import cut_rates, folds, guesses
from proxyuse.measure.row_order import content_keys
from proxyuse.measure.sample import Sample

PROGRAM = pu.Program.parse("ite(x > 1, y, x)")


def sample_of(data, **options):
    most = options.pop("max_support", None)
    return Sample(PROGRAM, Population.build(data, protected="z", **options), max_support=most)


def by_definition(values, protected, fold, weights):
    """The most common protected value among the rows of other folds with the same value."""
    right = {"informed": 0.0, "blind": 0.0}
    for row in range(len(values)):
        overall: dict[float, float] = defaultdict(float)
        same: dict[float, float] = defaultdict(float)
        for other in np.flatnonzero(fold != fold[row]).tolist():
            overall[protected[other]] += weights[other]
            if values[other] == values[row]:
                same[protected[other]] += weights[other]
        commonest = max(overall, key=lambda z: (overall[z], -z))
        guess = max(same, key=lambda z: (same[z], overall[z], -z)) if same else commonest
        right["informed"] += weights[row] * (protected[row] == guess)
        right["blind"] += weights[row] * (protected[row] == commonest)
    return {name: mass / sum(weights) for name, mass in right.items()}


rows = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 40), st.integers(0, 4), st.integers(1, 3)),
    min_size=2,
    max_size=60,
)


@given(rows, st.randoms())
def test_guesses_follow_the_definition_in_any_order(people, random):
    moved = random.sample(people, len(people))
    found = []
    for listed in (people, moved):
        x, y, z, w = (np.array(column, dtype=float) for column in zip(*listed, strict=True))
        sample = sample_of({"x": x, "y": y, "z": z, "w": w}, weights="w")
        (fold,), values = folds(sample), sample.values(PROGRAM.term)
        (guess,) = guesses(sample, PROGRAM.term)
        expected = by_definition(values, z, fold, w)
        assert guess.informed == pytest.approx(expected["informed"])
        assert guess.blind == pytest.approx(expected["blind"])
        found.append(guess)
    assert found[0] == found[1]


def test_a_sparse_table_gives_the_same_rates(monkeypatch):
    rng = np.random.default_rng(3)
    data = {"x": rng.integers(0, 9, 400), "y": rng.integers(0, 30, 400)}
    data["z"] = (data["x"] + data["y"] + rng.integers(0, 6, 400)) % 7
    dense = guesses(sample_of(data), PROGRAM.term)
    monkeypatch.setattr("proxyuse.measure.guessing.DENSE", 0)
    rare = {**data, "y": data["y"] * 1000}
    assert guesses(sample_of(rare), pu.Program.parse("ite(x > 1, y, x)").term) == pytest.approx(
        dense
    )


@pytest.mark.parametrize("rows", [40, 250, 300, 2000])
def test_a_number_without_repeats_does_not_reveal_a_coin(rows):
    informed = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        data = {"x": rng.normal(size=rows), "y": rng.normal(size=rows)}
        data["z"] = rng.integers(0, 2, rows)
        (guess,) = guesses(sample_of(data), PROGRAM.term)
        informed.append(guess.informed)
        assert guess.informed <= guess.blind + 3 / np.sqrt(rows)
    assert abs(np.mean(informed) - 0.5) < 1.2 / np.sqrt(rows)


def test_a_copy_of_the_attribute_is_always_right():
    data = {"x": [0, 1] * 30, "y": [1] * 60, "z": [0, 1] * 30}
    (guess,) = guesses(sample_of(data), pu.Program.parse("x").term)
    assert (guess.informed, guess.blind) == (1.0, 0.5)


def test_every_fold_has_the_same_distribution_of_the_attribute():
    rng = np.random.default_rng(1)
    z = rng.choice([0, 1, 2], 500, p=[0.7, 0.25, 0.05])
    (fold,) = folds(sample_of({"x": rng.normal(size=500), "y": [0] * 500, "z": z}))
    counts = np.array([np.bincount(fold[z == value], minlength=10) for value in range(3)])
    assert counts.shape == (3, 10)
    assert (np.ptp(counts, axis=1) <= 1).all()


def test_an_attribute_with_a_value_per_row_is_spread_over_the_folds():
    (fold,) = folds(sample_of({"x": range(40), "y": [0] * 40, "z": range(40)}))
    assert np.bincount(fold).tolist() == [20, 20]


@pytest.mark.parametrize("column", ["x", "x + y"])
def test_copied_rows_do_not_reveal_a_coin(column):
    informed = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        people = np.repeat(np.arange(100), 10)
        data = {"x": rng.normal(size=100), "y": rng.normal(size=100), "z": rng.integers(0, 2, 100)}
        copies = {name: values[people] for name, values in data.items()}
        sample = sample_of(copies, max_support=1000)
        (guess,) = guesses(sample, pu.Program.parse(column).term)
        informed.append(guess.informed)
    assert abs(np.mean(informed) - 0.5) < 0.1


def test_rows_of_a_named_cluster_are_in_one_fold_in_any_order():
    rng = np.random.default_rng(0)
    person = np.repeat(np.arange(50), 8)
    data = {"x": rng.normal(size=50)[person], "y": rng.integers(0, 3, 400), "w": rng.random(400)}
    data |= {"z": rng.integers(0, 2, 50)[person], "person": person}
    found = []
    for order in (np.arange(400), rng.permutation(400)):
        moved = {name: values[order] for name, values in data.items()}
        sample = sample_of(moved, weights="w", clusters="person", max_support=400)
        (fold,) = folds(sample)
        assert all(len(set(fold[moved["person"] == number])) == 1 for number in range(50))
        found.append(guesses(sample, pu.Program.parse("x").term)[0])
    assert found[0] == found[1]
    assert abs(found[0].informed - 0.5) < 0.2


def test_a_cluster_of_all_rows_leaves_nothing_to_learn_from():
    data = {"x": [0, 1] * 20, "y": [0] * 40, "z": [0, 1] * 20, "person": [1] * 40}
    (guess,) = guesses(sample_of(data, clusters="person"), pu.Program.parse("x").term)
    assert (guess.informed, guess.blind) == (1.0, 0.5)


def test_equal_rows_get_different_keys():
    keys = content_keys(sample_of({"x": [1] * 5000, "y": [2] * 5000, "z": [0, 1] * 2500}))
    assert len(set(keys.tolist())) == 5000
    odd = [keys[::2] % 2, keys[1::2] % 2]  # no relation to the attribute
    assert np.mean(odd, axis=1) == pytest.approx([0.5, 0.5], abs=0.05)


def test_the_cut_of_a_number_is_learned_from_the_other_folds():
    rng = np.random.default_rng(4)
    masses = rng.integers(0, 4, (3, 6, 2)).astype(float)  # by fold, group and protected value
    measure = pu.NormalizedMutualInformation()
    right = 0.0
    for own in masses:
        others = masses.sum(axis=0) - own
        sides = [np.array([others[:k].sum(axis=0), others[k:].sum(axis=0)]) for k in range(1, 6)]
        cut = 1 + int(np.argmax([measure(table) for table in sides]))
        commonest = int(np.argmax(others.sum(axis=0)))
        for part in (slice(0, cut), slice(cut, 6)):
            counts = others[part].sum(axis=0)
            guess = commonest if counts[0] == counts[1] else int(np.argmax(counts))
            right += own[part].sum(axis=0)[guess]
    assert cut_rates([(masses, False)])[0] == right


@pytest.mark.parametrize("missing", [False, True])
def test_a_long_number_is_guessed_by_its_cut(missing):
    rng = np.random.default_rng(0)
    z = rng.integers(0, 2, 2000)
    x = np.where(rng.random(2000) < 0.85, z, 1 - z) + rng.random(2000)
    if missing:
        x[:200] = np.nan
    (guess,) = guesses(sample_of({"x": x, "y": [0] * 2000, "z": z}), pu.Program.parse("x").term)
    assert guess.informed == pytest.approx(0.815 if missing else 0.85, abs=0.03)
    assert guess.blind < 0.53
