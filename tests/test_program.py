"""A program is a function of named inputs that can be run on any table."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from proxyuse.errors import DataError, LanguageError
from proxyuse.lang.nodes import Var
from proxyuse.program import Origin, Program

DATA = {"age": [25.0, 25.0, 60.0], "sex": ["F", "M", "F"], "unused": [object()] * 3}
PROGRAM = Program.parse("ite(age <= 30 and sex == 'F', 0, 1)")

each_table = pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table, dict])


@each_table
def test_a_program_predicts_on_any_table(make):
    data = make({name: DATA[name] for name in ("sex", "age")})
    assert PROGRAM.predict(data).tolist() == [0.0, 1.0, 1.0]


@each_table
def test_categories_are_returned_as_strings(make):
    program = Program.parse("ite(age <= 30, sex, 'old')")
    data = make({name: DATA[name] for name in ("sex", "age")})
    assert program.predict(data).tolist() == ["F", "M", "old"]


def test_unused_columns_may_have_unsupported_types():
    assert PROGRAM.predict(DATA).tolist() == [0.0, 1.0, 1.0]


def test_the_columns_of_an_array_are_the_inputs_in_order():
    array = np.array([[1.0, 10.0], [2.0, 20.0]])
    assert Program.parse("a - b").predict(array).tolist() == [-9.0, -18.0]
    assert Program.parse("lambda b, a . a - b").predict(array).tolist() == [9.0, 18.0]


def test_an_array_has_as_many_columns_as_there_are_inputs():
    with pytest.raises(DataError, match="X: expected 3 columns, got 2"):
        Program.parse("a + b + c").predict(np.zeros((4, 2)))


def test_a_missing_column_is_named_with_those_there_are():
    with pytest.raises(DataError, match=r"has no column 'age'; did you mean 'Age'"):
        PROGRAM.predict({"Age": [1], "sex": ["F"]})


@pytest.mark.parametrize(
    "data", [None, "age", [[1, 2]], 3, np.zeros(3), {}, {"age": [1, 2], "sex": ["F"]}]
)
def test_anything_but_a_table_is_refused(data):
    with pytest.raises(DataError):
        PROGRAM.predict(data)


def test_inputs_are_the_variables_in_order_of_appearance():
    assert Program.parse("ite(b <= a, c, a + d)").inputs == ("b", "a", "c", "d")
    assert Program.parse("lambda d, c, b, a, z . ite(b <= a, c, d)").inputs == tuple("dcbaz")
    assert Program.parse("1").inputs == ()


def test_every_variable_is_an_input_and_no_input_appears_twice():
    with pytest.raises(LanguageError, match="'y' is not an input; add it to the inputs"):
        Program(Var("y"), ["x"])
    with pytest.raises(LanguageError, match=r"^the input 'x' appears twice$"):
        Program(Var("x"), ["y", "x", "x"])


def test_a_constant_program_has_the_same_output_for_every_row():
    assert Program.parse("'yes'").predict(DATA).tolist() == ["yes"] * 3
    assert Program.parse("[1, 2]").predict(DATA).tolist() == [[1.0, 2.0]] * 3


def test_a_prediction_is_a_new_array():
    data = {"x": np.array([1.0, 2.0])}
    Program.parse("x").predict(data)[:] = 0
    assert data["x"].tolist() == [1.0, 2.0]


def test_no_rows_give_no_predictions():
    assert Program.parse("x + 1").predict({"x": np.zeros(0)}).tolist() == []


def test_no_rows_give_no_vectors():
    assert Program.parse("argmax([x, 1])").predict({"x": np.zeros(0)}).tolist() == []
    assert Program.parse("[x, 1]").predict({"x": np.zeros(0)}).shape == (0, 2)


@pytest.mark.parametrize(
    ("text", "values", "expected"),
    [
        ("x <= 1", [0.0, None], [True, False]),
        ("x <=? 1", [2.0, None], [False, True]),
        ("x != 1", [2.0, None], [True, False]),
        ("not (x == 1)", [1.0, None], [False, True]),
        ("x == missing", [1.0, None], [False, False]),
        ("x in {1}", [1.0, None], [True, False]),
        ("x in? {1}", [2.0, None], [False, True]),
        ("ite(x <= 1, 1, 2)", [0.0, None], [1.0, 2.0]),
        ("table(x, {1: 5, missing: 6}, 7)", [1.0, None], [5.0, 6.0]),
        ("table(x, {1: 5}, 7)", [1.0, None], [5.0, 7.0]),
        ("x == 'a'", ["a", None], [True, False]),
        ("x !=? 'a'", ["a", None], [False, True]),
        ("x or false == true", [True, None], [True, False]),
        ("not x", [True, None], [False, True]),
    ],
)
def test_a_missing_value_fails_every_comparison_unless_it_is_marked(text, values, expected):
    assert Program.parse(text).predict({"x": values}).tolist() == expected


def test_a_missing_value_passes_through_arithmetic_and_branches():
    assert math.isnan(Program.parse("2 * x + 1").predict({"x": [None, 1.0]})[0])
    outputs = Program.parse("ite(x <= 1, missing, 'b')").predict({"x": [1, 2]})
    assert outputs.tolist() == [None, "b"]


def test_a_sum_is_evaluated_in_written_order():
    data = {"a": [1e16], "b": [1.0], "c": [-1e16]}
    assert Program.parse("a + b + c").predict(data).tolist() == [0.0]
    assert Program.parse("a + c + b").predict(data).tolist() == [1.0]


def test_a_comparison_rounds_its_left_side_only():
    data = {"x": [0.1, np.float32(0.1), 0.1 + 1e-12]}
    single = float(np.float32(0.1))
    assert Program.parse("x <= 0.1").predict(data).tolist() == [True, False, False]
    assert Program.parse("float32: x <= 0.1").predict(data).tolist() == [False] * 3
    assert Program.parse(f"float32: x == {single!r}").predict(data).tolist() == [True] * 3


def test_ties_of_argmax_go_to_the_first():
    assert Program.parse("argmax([x, 1, 1], 'a', 'b', 'c')").predict(
        {"x": [0, 1, 2]}
    ).tolist() == ["b", "a", "a"]  # fmt: skip


def test_functions_do_not_warn_at_their_edges():
    program = Program.parse("[exp(x), log(x), sqrt(x), sigmoid(x), div(1, x), abs(x)]")
    outputs = program.predict({"x": [-1e308, -1.0, 0.0, 1e308]})
    assert outputs[2].tolist() == [1.0, -math.inf, 0.0, 0.5, math.inf, 0.0]
    assert outputs[0, 3] == 0.0
    assert outputs[3, 3] == 1.0
    shares = Program.parse("softmax([x, 1000, 0])").predict({"x": [1000.0]})
    assert shares.tolist() == [[0.5, 0.5, 0.0]]


def test_booleans_count_as_zero_and_one_among_numbers():
    assert Program.parse("2 * b + 1").predict({"b": [True, False]}).tolist() == [3.0, 1.0]
    assert Program.parse("b <= 0.5").predict({"b": [True, False]}).tolist() == [False, True]
    assert Program.parse("b == true").predict({"b": [True, False]}).tolist() == [True, False]


def test_programs_are_equal_if_term_and_inputs_are():
    assert Program.parse("x + y") == Program.parse("lambda x, y . y + x")
    assert hash(Program.parse("x + y")) == hash(Program.parse("lambda x, y . y + x"))
    assert Program.parse("x + y") != Program.parse("y + x")
    assert Program.parse("x") != "x"


def test_repr_is_short():
    program = Program.parse("ite(x <= 1, y + 2 * x, 0)")
    assert repr(program) == "<Program of 2 inputs: 10 nodes>"
    assert len(repr(Program(Var("v0"), [f"v{i}" for i in range(9999)]))) < 50


def test_the_text_of_an_origin():
    assert str(Origin("classifier", tree=3, node=17)) == "classifier, tree 3, node 17"
    assert str(Origin(coefficient=0)) == "coefficient 0"
    assert str(Origin()) == ""
