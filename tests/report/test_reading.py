"""What is shown of a computation says the same of every audited row."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import proxyuse as pu
from proxyuse.data.columns import as_column
from proxyuse.lang import parse_term
from proxyuse.lang.nodes import Compare, Const, Precision, Relation, Var
from proxyuse.program import Program
from proxyuse.report.reading import reading, shortest_between, shown_text
from proxyuse.report.render.text import repair_text
from proxyuse.report.repair_document import repair_document
from tests.constant_repairs import by_constants

ORDERED = [Relation.LE, Relation.LT, Relation.GE, Relation.GT]
finite = st.floats(allow_nan=False, allow_infinity=False, width=64)
near = st.floats(-1000, 1000)


@pytest.mark.parametrize(
    ("text", "values", "shown"),
    [
        ("x <= 37.50000002507943", [37, 38], "x <= 37"),
        ("x > 12.99999995883857", [12, 13], "x > 12"),
        ("x < 12.00000003", [12, 13], "x < 13"),
        ("x >= 12.00000003", [12, 13], "x >= 13"),
        ("x <= 5059.999706578878", [5013, 5060], "x <= 5059"),
        ("x <= 0.123456789", [0.121, 0.1236], "x <= 0.123"),
        ("x <= 30.5", [30, 31], "x <= 30.5"),
        ("x <= -7.300000000004", [-8, -7], "x <= -8"),
        ("x <= 12.345", [1, 2], "x <= 12"),
        ("float32(x) <= 37.50000002507943", [37, 38], "x <= 37"),
        ("float32(x) <= 0.1", [0.1, 0.2], "x <= 0"),
        ("x <=? 37.50000002507943", [37, None, 38], "x <=? 37"),
        ("x <=? 37.50000002507943", [37, 38], "x <= 37"),
        ("x == 37.50000002507943", [37, 38], "x == 37.50000002507943"),
        ("x + 1 <= 37.50000002507943", [37, 38], "x + 1 <= 37.50000002507943"),
        ("2 * fill(x, 38.6)", [37, 38], "2 * x"),
        ("2 * fill(x, 38.6)", [37, None], "2 * fill(x, 38.6)"),
    ],
)
def test_thresholds_are_shown_short(text, values, shown):
    x = as_column("x", pd.Series(values, dtype=float))
    assert str(reading(parse_term(text), {"x": x})) == shown


@given(
    st.lists(near | finite, min_size=1, max_size=8),
    near | finite,
    st.sampled_from(ORDERED),
    st.sampled_from(Precision),
    st.booleans(),
    st.integers(0, 3),
)
def test_the_same_rows_are_on_each_side(values, limit, relation, precision, missing, digits):
    short = [round(value, digits) for value in values]
    rows = np.array([*values, *short, limit, np.nextafter(limit, 0), np.nan])
    term = Compare(relation, Var("x"), Const(limit), precision, missing)
    shown = reading(term, {"x": as_column("x", rows)})
    with np.errstate(over="ignore"):
        displayed, meant = (Program(part).predict({"x": rows}) for part in (shown, term))
    assert displayed.tolist() == meant.tolist()


@given(near, near, near)
def test_no_shorter_number_is_between(a, b, c):
    low, value, high = sorted((a, b, c))
    short = shortest_between(value, low, high)
    if not low <= value < high:
        return
    assert low <= short < high
    whole = np.ceil(low)
    if whole < high and round(value, 1) != value:
        assert short == int(short)


def test_weights_are_rounded_and_said_to_be():
    text = "0.024184611 * fill(age, 38.6) + table(job, {'a': 1.1674878, missing: 2}, 0)"
    people = pu.Population.build(
        {"age": [1, 2], "job": ["a", "b"], "z": [0, 1]}, protected="z", variables=["age", "job"]
    )
    shown = "0.0242 * age + table(job, {'a': 1.17}, 0)"
    assert shown_text(parse_term(text), people.columns) == (shown, True)


def test_negative_weights_of_a_sum_are_rounded():
    sum_of = "{} * x - {} * y - {}"
    exact, short = sum_of.format(*["0.123456"] * 3), sum_of.format(*["0.123"] * 3)
    assert shown_text(parse_term(exact), {}) == (short, True)


def test_short_weights_are_not_said_to_be_rounded():
    assert shown_text(parse_term("2 * age + 0.5"), {}) == ("2 * age + 0.5", False)


def test_the_number_that_a_rounded_sum_is_compared_with_is_rounded():
    text = "0.123456 * age + 1 <= 37.50000002507943"
    assert shown_text(parse_term(text), {}) == ("0.123 * age + 1 <= 37.5", True)


def test_the_beginning_of_a_large_computation_is_short_too():
    age = as_column("age", [36, 37, 38])
    test = "ite(age <= 37.50000002507943, {}, 0)"
    text = "1"
    for _ in range(300):
        text = test.format(text)
    shown, _ = shown_text(parse_term(text), {"age": age})
    assert shown.startswith("ite(age <= 37, ite(age <= 37, ite(")
    assert len(shown) == 200


def test_a_test_that_is_shown_as_its_column_needs_no_parentheses():
    husband = as_column("husband", [True, False])
    term = parse_term("2 * (husband > 0.5) + 1")
    assert shown_text(term, {"husband": husband})[0] == "2 * husband + 1"


def test_an_imputed_value_is_left_out_of_a_test():
    age = as_column("age", [36, 37, 38])
    term = parse_term("fill(age, 36.4) <= 37.50000002507943")
    assert shown_text(term, {"age": age}) == ("age <= 37", False)


@given(st.lists(near, min_size=1, max_size=6), st.lists(near, min_size=1, max_size=4))
def test_what_is_shown_is_the_text_of_the_reading(values, limits):
    x = as_column("x", values)
    tests = [f"x <= {limit!r}" for limit in limits]
    term = parse_term(f"ite({' and '.join(tests)}, 'yes', 'no')")
    shown, rounded = shown_text(term, {"x": x}, most=10**6)
    assert not rounded
    assert parse_term(shown) == reading(term, {"x": x})


@pytest.mark.parametrize(
    ("test", "words"),
    [
        ("age <=? 30.00000001", "age <=? 30.00000001"),
        ("job in? {'a', 'b'}", "job in? {'a', 'b'}"),
    ],
)
def test_what_holds_where_a_value_is_missing_is_said(test, words):
    assert shown_text(parse_term(test), {}) == (words, False)


def test_only_what_is_printed_is_short():
    data = {"x": [36, 37, 38, 39], "z": [0, 0, 1, 1]}
    program = pu.Program.parse("ite(x <= 37.50000002507943, 'no', 'yes')")
    audit = pu.audit(program, data, protected="z", variables=False)
    assert "The model tests `x <= 37`.\n" in str(audit)
    assert "x <= 37.50000002507943" in {w.term for w in audit.witnesses}
    assert pu.Program.parse(str(audit.program)) == program


def test_a_repair_shows_short_thresholds_and_keeps_exact_ones():
    rng = np.random.default_rng(0)
    x = rng.integers(30, 45, 400)
    data = {"x": x, "y": rng.integers(0, 2, 400), "z": x > 37}
    program = pu.Program.parse("ite(x <= 37.50000002507943, 'no', ite(y == 1, 'yes', 'no'))")
    result = repair_document(by_constants(program, data, protected="z", variables=False))
    removed, change = result.steps[0].removed, result.steps[0].changes[0]
    assert (removed.term, removed.reading) == ("x <= 37.50000002507943", "x <= 37")
    assert "37.50000002507943" not in repair_text(result)
    assert change.reading in repair_text(result)
