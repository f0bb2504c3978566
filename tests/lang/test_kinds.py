"""Kinds that do not match raise an error before evaluation, with advice."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

from proxyuse.errors import DataError, KindError
from proxyuse.lang.kinds import check_kinds
from proxyuse.lang.parse import parse_term
from proxyuse.program import Program

KINDS = {"n": "number", "m": "number", "b": "boolean", "c": "category", "d": "category"}


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("1", "number"),
        ("true", "boolean"),
        ("'a'", "category"),
        ("missing", "missing"),
        ("[1, 2]", "vector of 2"),
        ("n + m * b", "number"),
        ("n <= m", "boolean"),
        ("c == d", "boolean"),
        ("c != 'a'", "boolean"),
        ("b == true", "boolean"),
        ("b <= 0.5", "boolean"),
        ("c == missing", "boolean"),
        ("b and not b or n > 1", "boolean"),
        ("b and missing", "boolean"),
        ("c in? {'a'}", "boolean"),
        ("missing in {'a'}", "boolean"),
        ("table(missing, {'a': 1}, 0)", "number"),
        ("b in {1}", "boolean"),
        ("n in {1, 2}", "boolean"),
        ("b in {true}", "boolean"),
        ("ite(b, 1, n)", "number"),
        ("ite(b, 'a', c)", "category"),
        ("ite(b, missing, c)", "category"),
        ("ite(b, missing, missing)", "missing"),
        ("ite(b, [1, 2], [n, m])", "vector of 2"),
        ("argmax([n, m])", "number"),
        ("argmax([n, m], 'a', 'b')", "category"),
        ("argmax([n, m], true, false)", "boolean"),
        ("softmax([n, m])", "vector of 2"),
        ("[n, b, 1] + [1, 2, 3]", "vector of 3"),
        ("2 * [n, m]", "vector of 2"),
        ("[n, m] * [1, 2] * n", "vector of 2"),
        ("table(c, {'a': 1}, 0)", "number"),
        ("table(c, {'a': 'x'}, missing)", "category"),
        ("table(n, {1: true}, false)", "boolean"),
        ("exp(n) + sigmoid(b) + div(n, m)", "number"),
    ],
)
def test_the_kind_of_a_term(text, kind):
    assert check_kinds(parse_term(text), KINDS) == kind


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ite(b, 1 + c, 2)", "in `1 + c`: `c` holds categories where a number is needed; compare"),
        ("n * 'a'", "in `n * 'a'`: `'a'` holds categories where a number is needed"),
        ("not (c <= 3)", "in `c <= 3`: `c` holds categories where a number is needed; compare it"),
        ("c == 1", "in `c == 1`: this compares categories with numbers, which are never equal; co"),
        ("n == 'a'", "compares categories with numbers, which are never equal; convert the column"),
        ("n != c", "are never equal; convert the column or change the program"),
        ("b == 'a'", "compares true/false with categories, which are never equal; convert"),
        ("[n, m] == 'a'", "compares categories with vector of 2, which are never equal"),
        ("c < 'a'", "in `c < 'a'`: `c` holds categories where a number is needed"),
        ("[n, m] in {[1, 2]}", "`[n, m]` is a vector of 2; test its entries instead"),
        ("[n, m] in {1}", "`[n, m]` is a vector of 2; test its entries instead"),
        ("n in {[1, 2]}", "`n` holds numbers, but the members are vector of 2"),
        ("table([n, m], {[1, 2]: 3}, 4)", "is a vector of 2; test its entries instead"),
        ("exp(c)", "in `exp(c)`: `c` holds categories where a number is needed"),
        ("[n, c]", "in `[n, c]`: `c` holds categories where a number is needed"),
        ("n and b", "in `n and b`: `n` holds numbers where true/false is needed; compare it with"),
        ("b or c", "in `b or c`: `c` holds categories where true/false is needed"),
        ("not n", "in `not n`: `n` holds numbers where true/false is needed"),
        ("ite(n, 1, 2)", "in `ite(n, 1, 2)`: `n` holds numbers where true/false is needed; com"),
        ("ite(b, 1, 'a')", "the branches have different kinds: category and number"),
        ("ite(b, 1, true)", "the branches have different kinds: boolean and number"),
        ("ite(b, [1, 2], [1, 2, 3])", "different kinds: vector of 2 and vector of 3"),
        ("c in {1}", "in `c in {1}`: `c` holds categories, but the members are numbers; convert"),
        ("n in {'a'}", "`n` holds numbers, but the members are categories; convert the column or"),
        ("n in {1, 'a'}", "the members are categories"),
        ("table(c, {1: 2}, 0)", "`c` holds categories, but the keys are numbers"),
        ("table(n, {1: 2}, 'a')", "the entries have different kinds: category and number"),
        ("argmax(n)", "in `argmax(n)`: argmax needs a vector, not a number"),
        ("argmax([n, m], 'a')", "1 labels for a vector of 2"),
        ("argmax([n, m], 'a', 1)", "the labels have different kinds: category and number"),
        ("softmax(n)", "in `softmax(n)`: softmax needs a vector, not a number"),
        ("[n, m] + 1", "in `[n, m] + 1`: cannot add a vector and a number"),
        ("[n, m] + [1, 2, 3]", "vectors have different lengths"),
        ("[n, m] <= 1", "`[n, m]` is a vector of 2 where a number is needed"),
        ("[[n, m], 1]", "`[n, m]` is a vector of 2 where a number is needed"),
        ("exp([n, m])", "is a vector of 2 where a number is needed"),
    ],
)
def test_a_kind_error_names_the_sub_term(text, message):
    with pytest.raises(KindError) as caught:
        check_kinds(parse_term(text), KINDS)
    assert message in str(caught.value)
    assert str(caught.value).startswith("in `")


def test_a_long_sub_term_is_cut_short_in_the_message():
    text = "c + " + " + ".join(["n"] * 100)
    with pytest.raises(KindError, match=r"\.\.\.`: `c` holds") as caught:
        check_kinds(parse_term(text), KINDS)
    assert len(str(caught.value)) < 250


def test_a_kind_error_is_a_data_error():
    with pytest.raises(DataError, match="`x` holds categories where a number is needed"):
        Program.parse("x <= 1").predict({"x": ["a", "b"]})


def test_numbers_stored_as_text_are_refused_with_advice():
    with pytest.raises(KindError, match="or convert the column"):
        Program.parse("x + 1").predict({"x": ["1", "2"]})


def test_the_advice_for_a_category_compared_with_a_number_is_not_to_compare():
    with pytest.raises(KindError) as caught:
        check_kinds(parse_term("n == 'a'"), KINDS)
    assert "compare it with ==" not in str(caught.value)


@pytest.mark.parametrize("text", ["[n, n] in {[1, 2]}", "table([n, n], {[1, 2]: 3}, 4)"])
def test_a_vector_cannot_be_looked_up(text):
    with pytest.raises(KindError, match="test its entries instead"):
        Program.parse(text).predict({"n": [1.0, 2.0]})


# Every value of x is missing, so its kind is unknown.


@pytest.mark.parametrize("empty", ["x", "missing", "ite(n > 1, missing, missing)"])
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(x) in {'a'}", [False, False]),
        ("(x) in? {'a'}", [True, True]),
        ("(x) in {1}", [False, False]),
        ("(x) in {true}", [False, False]),
        ("table(x, {'a': 1}, 0)", [0.0, 0.0]),
        ("table(x, {'a': 'b', missing: 'c'}, 'd')", ["c", "c"]),
        ("(x) == 'a'", [False, False]),
        ("(x) !=? c", [True, True]),
        ("(x) <= 1", [False, False]),
        ("ite(b, x, c)", [None, "q"]),
        ("not (x)", [True, True]),
        ("(x) or b", [True, False]),
        ("ite(x, 1, 2)", [2.0, 2.0]),
        ("argmax([1, 2] + (x))", [0.0, 0.0]),
    ],
)
def test_a_value_that_is_always_missing_is_allowed_everywhere(text, expected, empty):
    program = Program.parse(re.sub(r"\bx\b", empty, text))
    data = {"n": [1.0, 2.0], "b": [True, False], "c": ["p", "q"], "x": [None, None]}
    assert program.predict(data).tolist() == expected


@pytest.mark.parametrize("column", [[None, None], [math.nan, math.nan], np.full(2, np.nan)])
def test_a_column_without_values_has_no_kind(column):
    for text in ("x == 'a'", "x <= 1", "x and true", "x in {'a'}"):
        assert Program.parse(text).predict({"x": column}).tolist() == [False, False]


def test_a_column_with_a_value_has_a_kind():
    with pytest.raises(KindError, match="are never equal"):
        Program.parse("x == 'a'").predict({"x": [None, 1.0]})
