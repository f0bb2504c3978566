"""Rules on one column that predict a protected attribute."""

from __future__ import annotations

import numpy as np
import pytest

from proxyuse.measure.association.support import support_of
from proxyuse.validity.column_rules import Rows, predict

LEVEL = 0.001


def predicted(column, attribute, weights=None, *, alike=True, seed=0):
    column, attribute = np.asarray(column), np.asarray(attribute)
    n_rows = len(column)
    weights = np.ones(n_rows) if weights is None else weights
    fitting = np.random.default_rng(seed).random(n_rows) < 0.5
    squares = weights if alike else weights**2
    rows = Rows(fitting, weights, squares, alike)
    return predict(support_of(column, n_rows), support_of(attribute, n_rows), rows, LEVEL)


def ages(n_rows=4000, seed=0):
    return np.random.default_rng(seed).integers(18, 90, n_rows).astype(float)


@pytest.mark.parametrize(
    "attribute",
    [
        lambda age: age > 60,
        lambda age: (age > 30) & (age <= 60),
        lambda age: np.digitize(age, [30, 45, 60, 75]).astype(float),
        lambda age: age > 84,
    ],
)
def test_a_few_cuts_are_found(attribute):
    age = ages()
    prediction = predicted(age, attribute(age))
    assert prediction.accuracy == prediction.others == 1
    assert prediction.accuracy_low > 0.99
    assert prediction.others_low > 0.9


def test_a_continuous_column_has_its_cut_between_two_rows():
    income = np.random.default_rng(0).lognormal(10, 1, 5000)
    prediction = predicted(income, income > 41_300)
    assert prediction.accuracy > 0.998


def test_few_values_have_a_value_each():
    codes = np.random.default_rng(0).integers(0, 12, 4000).astype(np.int32)
    assert predicted(codes, np.isin(codes, [1, 4, 5, 9])).accuracy == 1


def test_five_percent_noise_is_visible():
    age = ages()
    noisy = (age > 60) ^ (np.random.default_rng(1).random(len(age)) < 0.05)
    prediction = predicted(age, noisy)
    assert prediction.accuracy == pytest.approx(0.95, abs=0.02)
    assert prediction.accuracy_low < 0.99


def test_always_guessing_the_common_value_predicts_none_of_the_others():
    age, rare = ages(), np.random.default_rng(1).random(4000) < 0.005
    prediction = predicted(age, rare)
    assert prediction.accuracy > 0.99
    assert prediction.others == prediction.others_low == 0


def test_missing_numbers_are_an_interval_of_their_own():
    age = ages()
    age[::7] = np.nan
    assert predicted(age, np.isnan(age)).accuracy == 1


def test_what_has_too_many_values_has_no_rule():
    ids = np.arange(4000).astype(np.int32)
    assert predicted(ids, ages() > 60) is None  # categories
    assert predicted(ages(), ids) is None
    assert predicted(ages(), np.zeros(4000)) is None


def test_a_number_that_repeats_in_clusters_of_equal_rows_remembers_nobody():
    # Ten equal rows for each of 200 people, and a coin for each person.
    random = np.random.default_rng(0)
    number, coin = random.normal(size=200).repeat(10), (random.random(200) < 0.5).repeat(10)
    assert predicted(number, coin).accuracy < 0.75


def test_unequal_weights_carry_less_information():
    age = ages()
    weights = np.random.default_rng(0).lognormal(0, 1, len(age))
    equal, unequal = predicted(age, age > 60), predicted(age, age > 60, weights, alike=False)
    assert unequal.accuracy == 1
    assert unequal.accuracy_low < equal.accuracy_low


def test_the_lower_bound_holds():
    age = ages(2000)
    noise = np.random.default_rng(5)
    missed = 0
    for run in range(200):
        noisy = (age > 60) ^ (noise.random(len(age)) < 0.02)
        missed += predicted(age, noisy, seed=run).accuracy_low > 0.98
    assert missed <= 2  # about 0.2 expected
