"""What confirmation promises: long tails, training rows, copies, clusters, partial sums."""

from __future__ import annotations

import math
from math import comb

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier

import proxyuse as pu
from proxyuse.data.copies import copied_rows
from proxyuse.data.population import Population
from proxyuse.lang.parse import parse_term
from proxyuse.measure.association.support import Support
from proxyuse.validity.association_bounds import information_bounds
from proxyuse.validity.fitted import Choices
from proxyuse.validity.levels import log_sets
from proxyuse.validity.remarks import Clusters, ConfirmationLevel, CopiedRows
from proxyuse.validity.sample import Observed, Sample, spread
from proxyuse.verdict import ConstantAttribute, NearlyUnique, TooFewRows

MASKED = pu.Program.parse(
    "ite(vitamins == 1, ite(engaged == 1, 'a', 'b'), ite(engaged == 1, 'b', 'a'))"
)


def confirmed(audit):
    return {w.term for w in audit.witnesses if w.validity is not None and w.validity.confirmed}


def lows(audit, interval="association_interval"):
    """The lower bound of each witness."""
    return {w.id: getattr(w.validity, interval)[0] for w in audit.witnesses}


def assessed(audit):
    assert audit.validity is not None
    return audit.validity


# Long tails


def tail(n, levels, rng):
    """Half of the rows have z = x, the others one of many levels."""
    x = rng.integers(0, 2, n)
    return x, np.where(rng.random(n) < 0.5, x, 2 + rng.integers(0, levels, n))


@pytest.mark.parametrize("levels", [50, 5000, 40_000])
@pytest.mark.parametrize("n", [300, 1000, 5000])
def test_a_long_tail_of_the_attribute_makes_no_false_bound(n, levels):
    truth = 0.5 * math.log(2) / (0.5 * math.log(4) + 0.5 * math.log(4 * levels))
    passed, runs = 0, 20
    for run in range(runs):
        x, z = tail(n, levels, np.random.default_rng([n, levels, run]))
        columns = np.unique(z, return_inverse=True)[1]
        table = np.zeros((2, columns.max() + 1))
        np.add.at(table, (x, columns), 1)
        lower = information_bounds(Sample(table, table), 0.05).lower
        passed += lower >= truth
        assert lower > truth / 6
    assert passed <= 3


def test_values_seen_once_are_merged_and_add_entropy():
    head = np.array([[50.0, 0.0], [0.0, 50.0]])
    singles = np.hstack([head, np.array([[1.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 1.0]])])
    whole, merged = Sample(singles, singles), Sample(singles, singles).merged()
    assert whole.rare_mass == 4
    assert merged.counts.tolist() == [[50, 0, 2], [0, 50, 2]]
    assert information_bounds(whole, 0.05).lower < information_bounds(merged, 0.05).lower


# Training rows


def test_a_tree_that_fits_noise_is_not_confirmed_on_its_training_rows():
    false, naive = 0, 0
    for run in range(5):
        rng = np.random.default_rng(run)
        X, z = rng.normal(size=(200, 5)), rng.integers(0, 2, 200)
        model = DecisionTreeClassifier(max_depth=8, random_state=0).fit(X, z)
        false += bool(confirmed(pu.audit(model, X, {"z": z}, validity="confirm")))
        held_out = pu.Confirmation(rows="held-out")
        naive += bool(confirmed(pu.audit(model, X, {"z": z}, validity=held_out)))
    assert false == 0
    assert naive >= 2  # what the rows seem to say, if they are taken as held out


def test_a_proxy_is_confirmed_on_training_rows():
    rng = np.random.default_rng(0)
    z = rng.integers(0, 2, 1000)
    X = pd.DataFrame(
        {"x": np.where(rng.random(1000) < 0.1, 1 - z, z) + rng.normal(0, 0.1, 1000),
         "w": rng.normal(size=1000)}
    )  # fmt: skip
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, X["x"] > 0.5)
    audit = pu.audit(model, X, {"z": z}, validity=pu.Confirmation(rows="training"))
    assert any(term.startswith("x <= 0.") for term in confirmed(audit))


def test_the_shares_of_all_tests_and_of_all_stumps_are_those_of_their_kinds():
    choices = Choices(columns=2, tests={"x": 3, "y": 7}, rows=100)
    tests = [("x", 3), ("y", 7)]
    of_tests = sum(
        number * math.exp(choices.log_share(parse_term(f"{name} <= 1"), 0.0))
        for name, number in tests
    )
    assert of_tests == pytest.approx(5 / 8)
    of_stumps = sum(  # four assignments of two labels to two leaves
        4 * number * math.exp(choices.log_share(parse_term(f"ite({name} <= 1, 'a', 'b')"), 0.0))
        for name, number in tests
    )
    assert of_stumps < 1 / 8


def test_a_large_tree_is_never_confirmed_on_training_rows():
    choices = Choices(columns=5, tests={"x": 100}, rows=1000)
    term = parse_term("ite(x <= 1, 'a', 'b')")
    shares = []
    for number in range(100):
        shares.append(choices.log_share(term, 0.0))
        term = parse_term(f"ite(x <= {number}, 'a', {term})")
    assert shares == sorted(shares, reverse=True)
    assert math.exp(shares[-1]) == 0


# Copies and clusters


def people(n, rng, discrete=False):
    numbers = rng.normal(size=(n, 3))
    frame = pd.DataFrame(np.floor(2 * numbers) if discrete else numbers, columns=list("abc"))
    return frame.assign(z=rng.integers(0, 2, n))


@pytest.mark.parametrize("n", [10, 30, 100])
@pytest.mark.parametrize("columns", [["a"], ["a", "b", "c"]])
def test_repeated_rows_are_copies(n, columns):
    frame = people(n, np.random.default_rng(n))
    repeated = frame.loc[frame.index.repeat(10)]
    clusters = copied_rows(Population.build(repeated, protected="z", variables=columns))
    assert clusters is not None
    assert (clusters == np.repeat(clusters[::10], 10)).all()
    assert len(np.unique(clusters)) == n


def test_copies_of_some_rows_are_found():
    rng = np.random.default_rng(0)
    frame = people(500, rng)
    some = pd.concat([frame, frame.sample(112, random_state=0)])
    clusters = copied_rows(Population.build(some, protected="z"))
    assert clusters is not None
    assert len(np.unique(clusters)) == 500


@pytest.mark.parametrize("n", [100, 1000])
def test_equal_rows_of_discrete_data_are_not_copies(n):
    for run in range(20):
        frame = people(n, np.random.default_rng([n, run]), discrete=True)
        for columns in (["a"], ["a", "b"], ["a", "b", "c"]):
            assert copied_rows(Population.build(frame, protected="z", variables=columns)) is None


def whole_numbers(n, determined, rng):
    """People with four whole numbers; the attribute is a coin, or follows from the first one."""
    frame = pd.DataFrame(rng.integers(0, 10, (n, 4)), columns=list("abcd"))
    return frame.assign(z=frame["a"] > 4 if determined else rng.random(n) < 0.5)


@pytest.mark.parametrize("mean", [2, 5])
def test_people_with_whole_numbers_who_appear_several_times_are_copies(mean):
    for run in range(5):
        rng = np.random.default_rng([mean, run])
        frame = whole_numbers(100, False, rng).drop_duplicates(list("abcd"))
        repeated = frame.loc[frame.index.repeat(rng.geometric(1 / mean, len(frame)))]
        clusters = copied_rows(Population.build(repeated, protected="z", variables=list("abcd")))
        assert clusters is not None
        assert len(np.unique(clusters)) == len(frame)


@pytest.mark.parametrize("determined", [True, False])
def test_people_with_whole_numbers_who_appear_once_are_not_copies(determined):
    for run in range(10):
        frame = whole_numbers(1000, determined, np.random.default_rng(run))
        assert copied_rows(Population.build(frame, protected="z", variables=list("abcd"))) is None


def test_a_small_example_that_is_repeated_has_independent_rows():
    data = {"vitamins": [1, 1, 0, 0] * 250, "engaged": [1, 0] * 500, "pregnant": [1, 1, 0, 0] * 250}
    audit = pu.audit(MASKED, data, "pregnant", 0.5, 0.1, validity="confirm")
    assert confirmed(audit) == {"vitamins", "vitamins == 1"}
    assert not any(isinstance(r, CopiedRows) for r in assessed(audit).remarks)


def test_real_data_have_no_copies_that_matter():
    from proxyuse.datasets import load_adult

    adult = load_adult().dropna().drop(columns="fnlwgt").iloc[:5000]
    population = Population.build(
        adult, protected="marital_status", variables=["relationship", "age", "hours_per_week"]
    )
    assert copied_rows(population) is None


def test_copies_count_as_one_observation():
    rng = np.random.default_rng(1)
    frame = people(200, rng)
    frame["z"] = np.where(rng.random(200) < 0.1, rng.integers(0, 2, 200), frame["a"] > 0)
    program = pu.Program.parse("ite(a <= 0, 0, ite(b + c <= 0, 0, 1))")
    once = pu.audit(program, frame, "z", 0.1, 0.05, max_support=16)
    repeated = frame.loc[frame.index.repeat(10)].reset_index(drop=True)
    many = pu.audit(program, repeated, "z", 0.1, 0.05, max_support=16)
    (copies,) = [r for r in assessed(many).remarks if isinstance(r, CopiedRows)]
    assert copies.rows.rows == 1800
    assert lows(once)
    for key, low in lows(many).items():
        assert low == pytest.approx(lows(once)[key], abs=1e-9)


def test_named_clusters_count_as_one_observation():
    rng = np.random.default_rng(2)
    person = np.repeat(np.arange(50), 20)
    z = rng.integers(0, 2, 50)[person]
    data = {"x": z + rng.normal(0, 0.3, 1000), "z": z, "person": person}
    program = pu.Program.parse("ite(x <= 0.5, 0, 1)")
    free = pu.audit(program, data, "z", validity="confirm")
    clustered = pu.audit(program, data, "z", clusters="person", validity="confirm")
    assert Clusters(1000, 50) in assessed(clustered).remarks
    assert lows(clustered)
    for key, low in lows(clustered).items():
        assert low < lows(free)[key]
        assert lows(clustered, "influence_interval")[key] < lows(free, "influence_interval")[key]


def test_every_row_its_own_cluster_changes_nothing():
    rng = np.random.default_rng(3)
    weights = rng.random(300) + 0.5
    codes = Support(rng.integers(0, 3, 300), np.arange(3.0))
    other = Support(rng.integers(0, 2, 300), np.arange(2.0))
    plain = Observed(False, weights, weights**2)
    single = Observed(False, weights, weights**2, np.arange(300))
    effects = rng.random(300)
    assert spread(single, effects) == pytest.approx(spread(plain, effects))
    first, second = (
        information_bounds(observed.sample(codes, other), 0.01) for observed in (plain, single)
    )
    assert first == pytest.approx(second)


@given(st.integers(2, 5), st.integers(5, 40))
def test_the_variance_of_clusters_of_equal_rows_is_that_of_one_row(size, n):
    rng = np.random.default_rng([size, n])
    effects, clusters = rng.random(n), np.repeat(np.arange(n), size)
    ones = np.ones(n * size)
    many = Observed(False, ones, ones * size, clusters)
    once = Observed(True, np.ones(n), np.ones(n))
    assert many.size == pytest.approx(n)
    assert spread(many, effects[clusters]) == pytest.approx(spread(once, effects))


@pytest.mark.parametrize(("clusters", "message"), [("nobody", "no column"), ([1, 2], "values")])
def test_clusters_must_be_a_column_or_one_value_per_row(clusters, message):
    data = {"x": [0.0, 1.0, 2.0], "z": [0, 1, 1]}
    with pytest.raises(pu.ProxyUseError, match=message):
        pu.audit(pu.Program.parse("x"), data, "z", clusters=clusters)


# Levels


@pytest.mark.parametrize("operands", [3, 4, 9, 40])
def test_the_levels_of_all_partial_sums_of_an_operator_add_up(operands):
    total = sum(comb(operands, m) * math.exp(-log_sets(m, operands)) for m in range(2, operands))
    assert total == pytest.approx(1)


def test_partial_sums_have_their_own_share_of_the_level():
    rng = np.random.default_rng(0)
    data = {name: rng.integers(0, 3, 2000) for name in "abcd"}
    data["z"] = (data["a"] + data["b"] > 2).astype(int)
    program = pu.Program.parse("ite(a + b + c + d <= 4, 0, 1)")
    audit = pu.audit(program, data, "z", 0.25, 0.05, validity="confirm")
    (level,) = [r for r in assessed(audit).remarks if isinstance(r, ConfirmationLevel)]
    assert level.operators == 1
    found = audit.decompositions
    sums = [i for i in range(len(found.computations)) if not found.is_written(i)]
    assert found.written == len(found.computations) - len(sums)
    assert {program.text_of(found.computations[i]) for i in sums} == {"a + b"}
    assert confirmed(audit) == {"a + b"}


def test_a_time_limit_does_not_lower_the_number_of_tests():
    data = {"x": np.arange(100) % 7, "z": np.arange(100) % 2}
    program = pu.Program.parse("ite(x <= 3, ite(x <= 1, 0, 1), ite(x <= 5, 1, 0))")
    everything = pu.audit(program, data, "z")
    limited = pu.audit(program, data, "z", time_limit=1e-9)
    assert limited.decompositions.tested >= everything.decompositions.tested


# Cannot be decided


def undecidable(data, protected="z", **options):
    program = pu.Program.parse("ite(x <= 0, 0, 1)")
    return assessed(pu.audit(program, data, protected, validity="confirm", **options)).undecidable


def test_a_constant_attribute_cannot_be_decided():
    assert undecidable({"x": [1.0, -1.0] * 50, "z": [1] * 100}) == {"z": ConstantAttribute(100)}


@pytest.mark.parametrize("n", [1, 2, 10])
def test_a_handful_of_rows_cannot_be_decided(n):
    (reason,) = undecidable({"x": np.arange(n) - 0.5, "z": np.arange(n) % 2}).values()
    if n == 1:
        assert reason == ConstantAttribute(1)
        return
    assert isinstance(reason, TooFewRows | NearlyUnique)


def test_an_id_cannot_be_decided():
    names = [f"person {number}" for number in range(300)]
    (reason,) = undecidable({"x": np.arange(300) - 150.0, "z": names}).values()
    assert reason == NearlyUnique(300, 300)


def test_the_number_of_rows_that_is_needed_is_enough():
    def data(n):
        z = np.arange(n) % 2
        return {"x": np.where(z == 1, 1.0, -1.0), "z": z}

    (reason,) = undecidable(data(20), epsilon=0.5).values()
    assert isinstance(reason, TooFewRows)
    assert reason.needed is not None
    assert 20 < reason.needed < 1000
    assert undecidable(data(reason.needed + reason.needed % 2), epsilon=0.5) == {}
    assert undecidable(data(reason.needed * 9 // 20 * 2), epsilon=0.5) != {}


def test_thresholds_that_no_rows_could_confirm_say_nothing_about_the_rows():
    z = np.arange(100) % 2
    assert undecidable({"x": z - 0.5, "z": z}, epsilon=1) == {}
    assert undecidable({"x": z - 0.5, "z": z}, delta=1) == {}


def test_each_attribute_is_decided_on_its_own():
    n = 400
    data = {
        "x": np.arange(n) - 200.0,
        "coin": np.arange(n) % 2,
        "same": np.zeros(n),
        "name": [f"person {number}" for number in range(n)],
    }
    found = undecidable(data, ["coin", "same", "name"])
    assert set(found) == {"same", "name"}


@pytest.mark.parametrize(
    "measure", ["cramers-v", "squared-correlation", "adjusted-mutual-information"]
)
def test_other_measures_are_decided_too(measure):
    few, many = ({"x": np.arange(n) % 2 - 0.5, "z": np.arange(n) % 2} for n in (6, 300))
    assert undecidable(few, association=measure).keys() == {"z"}
    assert undecidable(many, association=measure) == {}
