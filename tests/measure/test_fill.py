"""``fill(x, y)`` is x, or y where x is missing."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxyuse import audit
from proxyuse.errors import KindError, LanguageError, ParseError
from proxyuse.lang.kinds import check_kinds
from proxyuse.lang.nodes import Call, Const, Function, Var
from proxyuse.lang.parse import parse_term
from proxyuse.program import Program

NAN = math.nan
ROWS = {"x": [1.0, NAN, NAN, -math.inf], "y": [5.0, 6.0, NAN, 7.0], "b": [True, None, False, None]}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("fill(x, 3)", [1.0, 3.0, 3.0, -math.inf]),
        ("fill(x, y)", [1.0, 6.0, NAN, -math.inf]),
        ("fill(x, missing)", [1.0, NAN, NAN, -math.inf]),
        ("fill(missing, y)", [5.0, 6.0, NAN, 7.0]),
        ("fill(b, 0.5)", [1.0, 0.5, 0.0, 0.5]),
        ("fill(x, true)", [1.0, 1.0, 1.0, -math.inf]),
        ("fill(missing, 2)", [2.0, 2.0, 2.0, 2.0]),
        ("2 * fill(x, 3) + fill(y, x)", [7.0, 12.0, NAN, -math.inf]),
        ("fill(x + y, 0)", [6.0, 0.0, 0.0, -math.inf]),
    ],
)
def test_the_value_of_fill(text, expected):
    program = Program.parse(f"lambda x, y, b . {text}")
    np.testing.assert_array_equal(program.predict(ROWS), expected)


@given(st.lists(st.one_of(st.none(), st.floats(allow_nan=False)), min_size=1), st.floats())
def test_only_missing_values_are_replaced(values, fill):
    program = Program(Call(Function.FILL, (Var("x"), Const(fill))))
    held = [math.nan if value is None else value for value in values]
    expected = [fill if value is None else value for value in values]
    np.testing.assert_array_equal(program.predict({"x": held}), expected)


@pytest.mark.parametrize("text", ["fill(x, 3)", "fill(x + 1, y) * 2", "fill(fill(x, y), -1)"])
def test_its_text_parses_back(text):
    term = parse_term(text)
    assert str(term) == text
    assert parse_term(str(term)) == term


def test_its_arguments_are_not_exchanged():
    assert parse_term("fill(x, y)") != parse_term("fill(y, x)")


def test_it_takes_two_arguments():
    with pytest.raises(LanguageError, match=r"fill takes 2 argument\(s\)"):
        Call(Function.FILL, (Var("x"),))
    with pytest.raises(ParseError):
        parse_term("fill(x)")


KINDS = {"n": "number", "b": "boolean", "c": "category"}


@pytest.mark.parametrize("text", ["fill(n, 1)", "fill(b, n)", "fill(missing, b)"])
def test_it_is_a_number(text):
    assert check_kinds(parse_term(text), KINDS) == "number"


@pytest.mark.parametrize("text", ["fill(c, 1)", "fill(n, 'a')", "fill([n, b], 1)", "fill(n, [1])"])
def test_it_takes_numbers_only(text):
    with pytest.raises(KindError, match="where a number is needed"):
        check_kinds(parse_term(text), KINDS)


def test_constants_fold():
    assert str(Program.parse("fill(missing, 2) + fill(1, 7)").simplified()) == "3"


def test_a_filled_value_has_influence_where_the_value_is_missing():
    data = {"x": [1.0, 1.0, NAN, NAN], "z": [0, 0, 1, 1]}
    result = audit(Program.parse("ite(fill(x, 5) <= 3, 'a', 'b')"), data, "z", epsilon=1.0, delta=0)
    table = result.to_frame()
    influence = dict(zip(table["term"].tolist(), table["influence"].tolist(), strict=True))
    assert influence["fill(x, 5)"] == influence["x"] == 0.5
    assert {witness.term for witness in result.witnesses} >= {"x", "fill(x, 5)"}
