"""Kinds that do not fit are found before anything is computed, and the message helps."""

from __future__ import annotations

from contextlib import suppress

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
        ("c in {'a', missing}", "boolean"),
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
        ("c == 1", "in `c == 1`: `c` holds categories where a number is needed"),
        ("n == 'a'", "in `n == 'a'`: `'a'` holds categories"),
        ("exp(c)", "in `exp(c)`: `c` holds categories where a number is needed"),
        ("[n, c]", "in `[n, c]`: `c` holds categories where a number is needed"),
        ("n and b", "in `n and b`: `n` holds numbers where true/false is needed; compare it with"),
        ("b or c", "in `b or c`: `c` holds categories where true/false is needed"),
        ("not n", "in `not n`: `n` holds numbers where true/false is needed"),
        ("ite(n, 1, 2)", "in `ite(n, 1, 2)`: `n` holds numbers where true/false is needed; com"),
        ("ite(b, 1, 'a')", "the branches are of different kinds: category and number"),
        ("ite(b, 1, true)", "the branches are of different kinds: boolean and number"),
        ("ite(b, [1, 2], [1, 2, 3])", "different kinds: vector of 2 and vector of 3"),
        ("c in {1}", "in `c in {1}`: `c` holds categories, its members are numbers; convert"),
        ("n in {'a'}", "`n` holds numbers, its members are categories; convert the column or"),
        ("n in {1, 'a'}", "its members are categories"),
        ("table(c, {1: 2}, 0)", "`c` holds categories, its keys are numbers"),
        ("table(n, {1: 2}, 'a')", "the entries are of different kinds: category and number"),
        ("argmax(n)", "in `argmax(n)`: argmax needs a vector, not a number"),
        ("argmax([n, m], 'a')", "1 labels for a vector of 2"),
        ("argmax([n, m], 'a', 1)", "the labels are of different kinds: category and number"),
        ("softmax(n)", "in `softmax(n)`: softmax needs a vector, not a number"),
        ("[n, m] + 1", "in `[n, m] + 1`: a vector and a number cannot be added"),
        ("[n, m] + [1, 2, 3]", "vectors of different lengths"),
        ("[n, m] <= 1", "`[n, m]` is a vector of 2 where a number is needed"),
        ("[[n, m], 1]", "`[n, m]` is a vector of 2 where a number is needed"),
        ("exp([n, m])", "is a vector of 2 where a number is needed"),
    ],
)
def test_kinds_that_do_not_fit_are_named_with_the_sub_term(text, message):
    with pytest.raises(KindError) as caught:
        check_kinds(parse_term(text), KINDS)
    assert message in str(caught.value)
    assert str(caught.value).startswith("in `")


def test_a_long_sub_term_is_cut_short_in_the_message():
    text = "c + " + " + ".join(["n"] * 100)
    with pytest.raises(KindError, match=r"\.\.\.`: `c` holds") as caught:
        check_kinds(parse_term(text), KINDS)
    assert len(str(caught.value)) < 250


def test_a_kind_error_is_an_error_of_the_data():
    with pytest.raises(DataError, match="`x` holds categories where a number is needed"):
        Program.parse("x <= 1").predict({"x": ["a", "b"]})


def test_numbers_read_as_text_are_refused_with_advice():
    with pytest.raises(KindError, match="or convert the column"):
        Program.parse("x + 1").predict({"x": ["1", "2"]})


@pytest.mark.xfail(reason="the advice is to compare with ==, which the program does", strict=True)
def test_the_advice_for_a_category_compared_with_a_number_is_not_to_compare():
    with pytest.raises(KindError) as caught:
        check_kinds(parse_term("n == 'a'"), KINDS)
    assert "compare it with ==" not in str(caught.value)


@pytest.mark.xfail(reason="fits by kind, then fails in NumPy", raises=(TypeError, ValueError))
@pytest.mark.parametrize(
    "text",
    ["[n, n] in {[1, 2]}", "table([n, n], {[1, 2]: 3}, 4)", "missing in {'a'}",
     "ite(n > 1, missing, missing) in {'a'}", "table(missing, {'a': 1}, 0)"],
)  # fmt: skip
def test_what_fits_by_kind_can_be_computed(text):
    with suppress(KindError):
        Program.parse(text).predict({"n": [1.0, 2.0]})
