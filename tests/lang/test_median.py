"""``median(v, w)`` is the weighted median of the entries of a vector."""

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
ROWS = {"x": [1.0, 5.0, NAN], "y": [2.0, 4.0, 3.0], "z": [3.0, 3.0, 4.0]}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("median([x, y, z], [1, 1, 1])", [2.0, 4.0, NAN]),
        ("median([x, y, z], [3, 1, 1])", [1.0, 5.0, NAN]),
        ("median([x, y, z], [2, 1, 1])", [1.0, 4.0, NAN]),
        ("median([z, y], [1, 1])", [2.0, 3.0, 3.0]),
        ("median([z, y], [1, 1.125])", [2.0, 4.0, 3.0]),
        ("median([y, z], [0, 0])", [2.0, 3.0, 3.0]),
        ("median([y], [7])", [2.0, 4.0, 3.0]),
        ("median([y, z, 9], [1, 1, missing])", [NAN, NAN, NAN]),
        ("median([y, z, inf], [y, 1, 1])", [2.0, 4.0, 3.0]),
        ("median([4, 1, 2], [1, 1, 1]) + y", [4.0, 6.0, 5.0]),
        ("median(ite(y == 4, [1, 2], [3, 4]), [1, 1])", [3.0, 1.0, 3.0]),
    ],
)
def test_the_value_of_a_median(text, expected):
    program = Program.parse(f"lambda x, y, z . {text}")
    np.testing.assert_array_equal(program.predict(ROWS), expected)


@given(st.lists(st.tuples(st.integers(-4, 4), st.integers(0, 5)), min_size=1, max_size=40))
def test_half_of_the_weight_is_on_each_side(pairs):
    entries, weights = (tuple(map(float, column)) for column in zip(*pairs, strict=True))
    program = Program(Call(Function.MEDIAN, (Const(entries), Const(weights))))
    (median,) = program.predict({"x": [0]})
    total = sum(weights)
    assert median in entries
    assert sum(w for e, w in pairs if e < median) * 2 < total or median == min(entries)
    assert sum(w for e, w in pairs if e <= median) * 2 >= total


@pytest.mark.parametrize("text", ["median([x, y], [1, 2])", "median([x, y + 1], [y, 2]) * 2"])
def test_its_text_parses_back(text):
    term = parse_term(text)
    assert str(term) == text
    assert parse_term(str(term)) == term


def test_it_takes_two_arguments():
    with pytest.raises(LanguageError, match=r"median takes 2 argument\(s\)"):
        Call(Function.MEDIAN, (Var("x"),))
    with pytest.raises(ParseError):
        parse_term("median([x])")


KINDS = {"n": "number", "b": "boolean", "c": "category"}


def test_it_is_a_number():
    assert check_kinds(parse_term("median([n, b], [1, 1])"), KINDS) == "number"


@pytest.mark.parametrize("text", ["median(n, [1])", "median([n], 1)", "median([n, n], [1])"])
def test_entries_and_weights_must_have_the_same_length(text):
    with pytest.raises(KindError, match="median needs two vectors of the same length"):
        check_kinds(parse_term(text), KINDS)


def test_constants_fold():
    assert str(Program.parse("median([3, 1, 2], [1, 1, 1]) + 1").simplified()) == "3"


def test_an_entry_has_influence_where_it_moves_the_median():
    data = {"x": [0.0, 0.0, 1.0, 1.0], "z": [0, 0, 1, 1]}
    text = "median([ite(x <= 0.5, 0, 1), {}, {}], [1, 1, 1])"
    influences = []
    for low, high in ((0, 1), (2, 2)):
        program = Program.parse(text.format(low, high))
        table = audit(program, data, "z", epsilon=1.0, delta=0).to_frame()
        by_term = dict(zip(table["term"].tolist(), table["influence"].tolist(), strict=True))
        influences.append(by_term["x <= 0.5"])
    assert influences == [0.5, 0.0]
