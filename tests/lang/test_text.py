"""A program has a text form; what is printed parses back to an equal program."""

from __future__ import annotations

import math
import pickle
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from proxyuse.errors import LanguageError, ParseError
from proxyuse.lang.build import add, conj, disj, lookup, member, mul, vector
from proxyuse.lang.nodes import (
    ARITY,
    FALSE,
    TRUE,
    Add,
    Argmax,
    Call,
    Compare,
    Const,
    Function,
    Ite,
    Mul,
    Not,
    Precision,
    Relation,
    Term,
    Var,
    is_missing,
    postorder,
)
from proxyuse.lang.parse import parse_program, parse_term
from proxyuse.lang.text import (
    KEYWORDS,
    beginning,
    brief,
    briefs,
    name_text,
    term_text,
)
from proxyuse.program import Program
from proxyuse.words import shortened

FIXTURES = Path(__file__).parents[1] / "fixtures"


def cases(name):
    """Return pairs of blocks of text; the top of each file explains its format."""
    blocks = (FIXTURES / name).read_text(encoding="utf-8").split("\n====\n")[1:]
    pairs = [block.rstrip("\n").split("\n----\n") for block in blocks]
    assert all(len(pair) == 2 for pair in pairs)
    return [pytest.param(*pair, id=pair[0].split("\n")[0]) for pair in pairs]


# Any term, whether or not its kinds match: text does not depend on kinds.

WEIRD = [
    "", " ", "'", '"', "`", "\\", "\\\\'", "\\u{41}", "\n", "\r\n", "\t", "\0", "a b", "x.y", "1",
    "😀", "‏", "\u202eabc", "\ud800", "\udfff\ud800", "é", "é", "変数", "²", "_", "  ",
    *sorted(map(str, KEYWORDS)),
]  # fmt: skip
words = st.sampled_from(WEIRD) | st.text(st.characters(), max_size=4) | st.sampled_from("xyz")
numbers = st.floats() | st.sampled_from(
    [-0.0, 0.0, 1e308, -1e308, 5e-324, math.inf, -math.inf, math.nan, -1.0, 1.0, 2.0**70, 1e16]
)
values = numbers | st.booleans() | words | st.lists(numbers, min_size=1, max_size=3).map(tuple)
present = values.filter(lambda value: not is_missing(value))


UNARY = [function for function in Function if ARITY[function] == 1]
BINARY = [function for function in Function if ARITY[function] == 2]


@cache
def _deeper(depth):
    inner = terms(depth)
    several = st.lists(inner, min_size=1, max_size=4)
    return st.one_of(
        st.builds(lambda parts: add(*parts), several),
        st.builds(lambda parts: mul(*parts), several),
        st.builds(lambda parts: conj(*parts), several),
        st.builds(lambda parts: disj(*parts), several),
        st.builds(Not, inner),
        st.builds(
            Compare,
            st.sampled_from(Relation),
            inner,
            inner,
            st.sampled_from(Precision),
            st.booleans(),
        ),
        st.builds(member, inner, st.lists(present, min_size=1, max_size=3), st.booleans()),
        st.builds(Ite, inner, inner, inner),
        several.filter(_fit_in_a_vector).map(lambda items: vector(*items)),
        st.builds(Argmax, inner, st.lists(values, max_size=3).map(tuple)),
        st.builds(
            lookup,
            inner,
            st.lists(st.tuples(words | st.integers(0, 9).map(float), values), min_size=1,
                     max_size=3, unique_by=lambda pair: pair[0]),
            values,
        ),
        st.builds(lambda f, x: Call(f, (x,)), st.sampled_from(UNARY), inner),
        st.builds(lambda f, x, y: Call(f, (x, y)), st.sampled_from(BINARY), inner, inner),
    )  # fmt: skip


def _fit_in_a_vector(items):
    """Return whether all constants are numbers or booleans, as a vector requires."""
    return all(type(item.value) in (float, bool) for item in items if isinstance(item, Const))


@st.composite
def terms(draw, depth=3):
    if depth == 0 or draw(st.integers(0, 3)) == 0:
        return draw(st.builds(Var, words) | st.builds(Const, values))
    return draw(_deeper(depth - 1))


X, Y = Var("x"), Var("y")


@given(terms())
@example(Add((X, Const(-0.0))))
@example(Add((X, Mul((Const(-1.0), Const(3.0))))))
@example(Add((X, Mul((Const(-1.0), Add((X, Y)))))))
@example(Add((X, Mul((Const(-math.inf), Const(-2.0), Y)))))
@example(Add((Mul((Const(-1.0), X)), Const(-1.0))))
@example(Mul((X, Const(-2.0), Add((Const(-1.0), Const(-1.0))))))
def test_printed_text_parses_back_to_an_equal_term(term):
    assert parse_term(str(term)) == term


@given(terms())
def test_what_is_printed_twice_is_the_same_text(term):
    assert str(parse_term(str(term))) == str(term)


@given(terms(), st.integers(0, 30))
def test_narrow_lines_parse_back_too(term, width):
    assert parse_term(term_text(term, width=width)) == term


@given(terms(), st.lists(words, max_size=3))
def test_a_program_parses_back_with_its_inputs_and_precision(term, unused):
    program = Program(term)
    assert Program.parse(str(program)) == program
    inputs = (*dict.fromkeys(unused + list(reversed(program.variables))),)
    program = Program(term, inputs)
    again = Program.parse(str(program))
    assert again == program
    assert again.inputs == inputs


@given(terms())
def test_a_sub_term_is_printed_with_the_precision_of_its_program(term):
    program = Program(Ite(Compare(Relation.LE, X, Y, Precision.FLOAT32), term, FALSE))
    header = "float32:" if program.precision is Precision.FLOAT32 else ""
    assert parse_program(header + program.text_of(term)).term == term
    assert "\n" not in program.text_of(term)


@given(words)
def test_every_name_can_be_written(name):
    assert parse_term(name_text(name)) == Var(name)
    assert Program.parse(f"lambda {name_text(name)} . 1").inputs == (name,)


@given(words)
def test_every_category_can_be_written(word):
    assert parse_term(str(Const(word))) == Const(word)
    assert str(Const(word)).isprintable()


@pytest.mark.parametrize("name", sorted(map(str, KEYWORDS)))
def test_a_keyword_is_a_name_in_backquotes_only(name):
    assert name_text(name) == f"`{name}`"
    assert parse_term(f"`{name}`") == Var(name)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0.0), ("-0.0", -0.0), ("1e308", 1e308), ("5e-324", 5e-324), (".5", 0.5), ("5.", 5.0),
        ("inf", math.inf), ("-inf", -math.inf), ("123456789", 123456789.0), ("1E+2", 100.0),
        ("9007199254740992", 2.0**53), ("-36893488147419103232", -(2.0**65)), ("0.1", 0.1),
        ("9007199254740993.0", 2.0**53), ("1e22", 1e22), ("1e-400", 0.0),
    ],
)  # fmt: skip
def test_numbers_are_parsed_as_in_python(text, value):
    assert parse_term(text) == Const(value)


@pytest.mark.parametrize(
    "text",
    ["9007199254740993", "-9007199254740993", "1e309", "1e400", "-1e400", "1" + "0" * 400,
     "9" * 5000, "x in {9007199254740993}", "table(x, {1: 1e400}, 0)", "[x, 1e400]"],
)  # fmt: skip
def test_a_number_that_float64_cannot_hold_is_refused(text):
    with pytest.raises(ParseError) as caught:
        parse_term(text)
    error = caught.value
    assert error.expected == "a number that fits in float64"
    assert text[error.column - 1].isdigit()
    assert not text[error.column - 2 : error.column - 1].isdigit()


@pytest.mark.parametrize("text", ["x + 1", "lambda y, x . float32: x <= y", " x"])
def test_a_byte_order_mark_at_the_start_is_skipped(text):
    assert Program.parse("\ufeff" + text) == Program.parse(text)


def test_a_byte_order_mark_elsewhere_is_refused():
    with pytest.raises(ParseError, match="line 1, column 5: expected a term or an operator"):
        parse_term("x + \ufeffy")


@pytest.mark.parametrize("text", [None, 3, b"x", ["x"], Path("x")])
def test_only_strings_are_parsed(text):
    for read in (Program.parse, parse_program, parse_term):
        with pytest.raises(LanguageError, match="a program must be a string, not"):
            read(text)


def test_zero_and_minus_zero_are_two_constants():
    assert parse_term("0") != parse_term("-0.0")


def test_missing_is_a_number_that_equals_itself():
    assert parse_term("missing") == Const(math.nan) == Const(-math.nan)


@pytest.mark.parametrize(("written", "printed"), cases("text.txt"))
def test_printing_normalizes_a_program(written, printed):
    program = Program.parse(written)
    assert str(program) == printed
    assert Program.parse(printed) == program


@pytest.mark.parametrize(("text", "message"), cases("errors.txt"))
def test_an_error_has_a_position_and_what_was_expected(text, message):
    with pytest.raises(ParseError) as caught:
        parse_program(text)
    error = caught.value
    assert str(error) == message
    assert message.startswith(
        f"line {error.line}, column {error.column}: expected {error.expected}"
    )
    assert str(pickle.loads(pickle.dumps(error))) == message


def test_a_lambda_must_name_every_variable():
    with pytest.raises(
        LanguageError, match=r"^the variable 'b' is not an input; add it to the inputs$"
    ):
        Program.parse("lambda a . a + b")


PIECES = [
    *"+-*<>()[]{},:.?'\"`\\=!", "<=", ">=", "==", "!=", " ", "\n", "x", "y", "1", "2.5", "1e9",
    "'a'", '"b"', "`c d`", "\\u{41}", "§", "\ud800", "½", "٣", *sorted(map(str, KEYWORDS)),
    "ite(", "float32(", "float32:", "lambda x .", "in {1, 2}", "table(x, {1: 2}, 3)", "[1, 2]",
]  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), max_size=25).map(" ".join))
@example("[true, x]")
@example("table([x, 1], {[1, missing]: 'a', [missing, 1]: 'b'}, true)")
def test_any_text_is_parsed_or_raises_a_proxyuse_error(text):
    parsed = None
    with suppress(ParseError, LanguageError):
        parsed = parse_program(text)
    if parsed is not None:
        assert parse_term(str(parsed.term)) == parsed.term


@given(st.lists(st.sampled_from(PIECES), max_size=25).map("".join) | st.text(max_size=30))
def test_any_characters_are_parsed_or_raise_a_proxyuse_error(text):
    with suppress(ParseError, LanguageError):
        parse_program(text)


@given(terms(), st.sampled_from(Precision), st.integers(0, 300))
def test_a_beginning_is_a_prefix_of_the_whole_text(term, precision, length):
    whole = term_text(term, precision, width=sys.maxsize)
    assert beginning(term, precision, length) == whole[:length]
    assert brief(term, precision, length + 3) == shortened(whole, length + 3)


@given(terms(), st.sampled_from(Precision), st.integers(3, 100))
def test_briefs_of_many_terms_equal_the_brief_of_each(term, precision, length):
    inside = list(postorder(term))
    expected = [brief(part, precision, length) for part in inside]
    assert briefs(inside, precision, length) == expected
    assert briefs(inside[::-1], precision, length) == expected[::-1]


@given(terms(), st.sampled_from(Precision), st.integers(0, 300))
def test_the_beginning_is_that_of_the_text(term, precision, length):
    whole = term_text(term, precision, width=sys.maxsize)
    assert beginning(term, precision, length) == whole[:length]


def test_the_beginning_of_a_deep_or_wide_or_shared_term_is_cheap():
    deep: Term = X
    wide = add(*(Mul((Const(float(i)), X)) for i in range(2, 5_000)))
    shared = add(X, Y)
    for i in range(2_000):
        deep = Ite(Compare(Relation.LE, X, Const(float(i))), deep, Y)
        shared = Ite(Compare(Relation.LE, X, Const(float(i))), shared, shared)  # 2^2,000 points
    for term in (deep, wide, shared):
        assert len(beginning(term, Precision.FLOAT64, 100)) == 100


def test_a_short_term_is_printed_on_one_line():
    assert str(Ite(Compare(Relation.LE, X, Y), TRUE, FALSE)) == "ite(x <= y, true, false)"


def test_a_long_term_is_indented_by_two_for_each_level():
    term = parse_term("ite(a <= 1, ite(b <= 2, x, y), z)")
    assert term_text(term, width=10) == (
        "ite(\n  a <= 1,\n  ite(\n    b <= 2,\n    x,\n    y\n  ),\n  z\n)"
    )


def test_lines_that_can_be_broken_keep_to_the_width():
    term = parse_term(" + ".join(f"ite(a{i} <= {i}, {i} * b, c)" for i in range(40)))
    assert max(map(len, str(term).split("\n"))) <= 88


def test_indentation_stops_growing_at_depth_40():
    term: Term = X
    for i in range(100):
        term = Ite(Compare(Relation.LE, X, Const(float(i))), term, Y)
    indents = [len(line) - len(line.lstrip()) for line in str(term).split("\n")]
    assert max(indents) == 80
    assert {2 * level for level in range(41)} == set(indents)
    assert parse_term(str(term)) == term


def test_repr_is_short_and_names_the_node_class():
    assert repr(Compare(Relation.LE, X, Y)) == "<Compare x <= y>"
    assert repr(add(*[X] * 300)) == "<Add ... 301 nodes ...>"
