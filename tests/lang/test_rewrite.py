"""Rewriting preserves meaning."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxyuse.lang.build import add, conj, disj, lookup, member, mul, vector
from proxyuse.lang.nodes import (
    Argmax,
    Call,
    Compare,
    Const,
    Function,
    Ite,
    Not,
    Precision,
    Relation,
    Var,
)
from proxyuse.lang.parse import parse_term
from proxyuse.lang.rewrite import simplify, without_missing_directions
from proxyuse.program import Program

# Terms whose kinds match, with many constants to fold. Values are small integers, so sums do not
# depend on the order of their operands.

ROWS: dict[str, list[Any]] = {
    "n": [-1.0, 0.0, 1.0, 2.0, None, 3.0],
    "m": [1.0, None, -2.0, 0.5, 0.0, 1.0],
    "b": [True, False, True, False, True, False],
    "c": ["p", "q", None, "p", "r", "q"],
}
leaves = {
    "number": st.sampled_from([-1.0, 0.0, 1.0, 2.0, 0.5]).map(Const)
    | st.sampled_from("nm").map(Var),
    "boolean": st.booleans().map(Const) | st.just(Var("b")),
    "category": st.sampled_from("pqs").map(Const) | st.just(Var("c")),
    "vector": st.just(Const((1.0, -1.0))),
}


def several(part):
    return st.lists(part, min_size=1, max_size=3)


@cache
def of(kind, depth):
    """Return a strategy for terms of a kind with a maximum depth."""
    if depth == 0:
        return leaves[kind]
    number, boolean = of("number", depth - 1), of("boolean", depth - 1)
    category, pairs, same = of("category", depth - 1), of("vector", depth - 1), of(kind, depth - 1)
    made: dict[str, list[Any]] = {
        "number": [
            several(number).map(lambda parts: add(*parts)),
            several(number).map(lambda parts: mul(*parts)),
            st.builds(lambda x: Call(Function.ABS, (x,)), number),
            st.builds(Argmax, pairs),
            st.builds(lambda x: lookup(x, [("p", 1.0), ("s", 2.0)], -1.0), category),
        ],
        "boolean": [
            several(boolean).map(lambda parts: conj(*parts)),
            several(boolean).map(lambda parts: disj(*parts)),
            st.builds(Not, boolean),
            st.builds(
                Compare, st.sampled_from(Relation), number, number, st.sampled_from(Precision),
                st.booleans(),
            ),
            st.builds(Compare, st.just(Relation.EQ), category, category),
            st.builds(member, category, st.just(["p", "s"]), st.booleans()),
            st.builds(member, number, st.just([1.0, 2.0]), st.booleans()),
        ],
        "category": [st.builds(lambda v: Argmax(v, ("p", "q")), pairs)],
        "vector": [
            st.builds(vector, number, number),
            st.builds(lambda x: Call(Function.SOFTMAX, (x,)), pairs),
            st.builds(mul, number, pairs),
        ],
    }  # fmt: skip
    return st.one_of(leaves[kind], st.builds(Ite, boolean, same, same), *made[kind])


terms = st.sampled_from(["number", "boolean", "category", "vector"]).flatmap(lambda k: of(k, 5))


def outputs(program):
    return program.predict(ROWS).tolist()


@given(terms)
def test_simplifying_preserves_meaning_never_grows_and_is_idempotent(term):
    program = Program(term, list(ROWS))
    simple = simplify(term)
    np.testing.assert_equal(outputs(Program(simple, list(ROWS))), outputs(program))
    assert simple.size <= term.size
    assert simple.points <= term.points
    assert simplify(simple) == simple


@pytest.mark.parametrize(
    ("text", "simple"),
    [
        ("1 + 2 * 3", "7"),
        ("ite(1 <= 2, x, y)", "x"),
        ("ite(1 > 2, x, y)", "y"),
        ("ite(missing, x, y)", "y"),
        ("ite(x <= 1, y, y)", "y"),
        ("ite(x <= 1, y + z, z + y)", "ite(x <= 1, y + z, z + y)"),
        ("ite(x <= 1, y + z, y + z)", "y + z"),
        ("x <= 1 and true", "x <= 1"),
        ("x in {1} and true", "x in {1}"),
        ("not x or false", "not x"),
        ("x and true", "x and true"),
        ("x or false", "x or false"),
        ("ite(x, y, z) and true", "ite(x, y, z) and true"),
        ("x and y and true", "x and y"),
        ("true and missing", "false"),
        ("missing or true", "true"),
        ("[1 == 1, x]", "[1, x]"),
        ("table('a', {'a': true}, missing)", "true"),
        ("argmax([1, 0], true, missing)", "true"),
        ("missing in {'a'}", "false"),
        ("x <= 1 and y <= 2 and 1 == 1", "x <= 1 and y <= 2"),
        ("x and false", "false"),
        ("x or true", "true"),
        ("x <= 1 or false", "x <= 1"),
        ("true and true", "true"),
        ("false or false", "false"),
        ("not (1 == 2)", "true"),
        ("2 + x + 3", "2 + x + 3"),
        ("0 * x", "0 * x"),
        ("x + 0", "x + 0"),
        ("not not x", "not not x"),
        ("'a' == 'a'", "true"),
        ("'a' in {'b'}", "false"),
        ("missing == missing", "false"),
        ("missing <=? 1", "true"),
        ("table('a', {'a': 'x'}, 'y')", "'x'"),
        ("argmax([1, 3, 3], 'a', 'b', 'c')", "'b'"),
        ("[1, 2] + [3, 4]", "[4, 6]"),
        ("[1 + 1, 2]", "[2, 2]"),
        ("exp(0) + sqrt(4) + abs(-1) + div(1, 2)", "4.5"),
        ("log(-1)", "missing"),
        ("exp(1000)", "inf"),
        ("div(1, 0)", "inf"),
        ("float32(0.1) <= 0.1", "false"),
        ("0.1 <= 0.1", "true"),
        ("ite(ite(true, x <= 1 and y <= 1, b) and z <= 1, 1, 0)",
         "ite(x <= 1 and y <= 1 and z <= 1, 1, 0)"),
        ("x", "x"),
    ],
)  # fmt: skip
def test_constants_are_folded(text, simple):
    assert str(simplify(parse_term(text))) == simple


def test_unchanged_terms_are_shared():
    term = parse_term("ite(x <= 1, y, z)")
    assert simplify(term) is term
    program = Program(term)
    assert program.simplified() is program


def test_a_simplified_program_keeps_its_inputs():
    program = Program.parse("ite(true, x, y)").simplified()
    assert program.inputs == ("x", "y")
    assert program.variables == ("x",)


def unchanged(text, data):
    program = Program.parse(text)
    np.testing.assert_equal(
        program.simplified().predict(data).tolist(), program.predict(data).tolist()
    )


@pytest.mark.parametrize("text", ["x and true", "x or false", "true and missing", "x and missing"])
def test_a_missing_boolean_keeps_its_value(text):
    unchanged(text, {"x": [True, None]})


@pytest.mark.parametrize(
    "text",
    ["ite(table('a', {'a': true}, missing), 1, 2)", "ite(argmax([1, 0], true, missing), 1, 2)"],
)
def test_a_folded_boolean_is_a_boolean(text):
    unchanged(text, {"x": [1]})


def test_branches_that_round_differently_are_kept_apart():
    data = {"a": [0.1], "b": [0.2], "c": [0.3], "g": [False]}
    unchanged("ite(g, a + b + c, c + b + a) == 0.6", data)


def test_a_boolean_in_a_vector_can_be_folded():
    unchanged("[1 == 1, x]", {"x": [1.0]})


@pytest.mark.parametrize(
    "text",
    ["softmax(1)", "argmax(3)", "[1, 2] + [1, 2, 3]", "1 + 'a'", "not 3", "exp('a')", "'a' == 1",
     "[1, 2] in {[1, 2]}", "table('a', {1: 2}, 3)", "1 and 2", "ite(1, x, y)", "ite('a', 1, 2)"],
)  # fmt: skip
def test_constants_whose_kinds_do_not_match_are_not_folded(text):
    assert str(simplify(parse_term(text))) == text


def test_missing_marks_are_removed_for_complete_variables():
    term = parse_term("x <=? 1 and y <=? 1 and x in? {1} and x + 1 <=? y and x <=? missing")
    assert str(without_missing_directions(term, {"x"})) == (
        "x <= 1 and y <=? 1 and x in {1} and x + 1 <=? y and x <=? missing"
    )


@given(terms)
def test_removing_missing_marks_preserves_meaning(term):
    complete = {name for name, values in ROWS.items() if None not in values}
    again = without_missing_directions(term, complete)
    np.testing.assert_equal(outputs(Program(again, list(ROWS))), outputs(Program(term, list(ROWS))))
