"""Terms are immutable values, equal up to the order of the operands of + * and or."""

from __future__ import annotations

import copy
import math
import pickle
import random
import subprocess
import sys
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxyuse.errors import LanguageError, ParseError
from proxyuse.lang.build import add, const, lookup, member, vector
from proxyuse.lang.nodes import (
    FALSE,
    MISSING,
    TRUE,
    Add,
    And,
    Argmax,
    Call,
    Compare,
    Const,
    Function,
    Ite,
    Lookup,
    Member,
    Mul,
    Not,
    Relation,
    Term,
    Var,
    Vector,
)
from proxyuse.lang.parse import parse_term
from proxyuse.lang.positions import Points, Position, decomposition_id
from proxyuse.program import Program

X, Y, Z = Var("x"), Var("y"), Var("z")


def same(first, second):
    a, b = parse_term(first), parse_term(second)
    assert (a == b) == (hash(a) == hash(b)) == (a.digest == b.digest)
    return a == b


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("x + y + z", "z + (y + x)"),
        ("x * y * z", "(z * y) * x"),
        ("a and b and c", "c and (a and b)"),
        ("a or b", "b or a"),
        ("ite(x + y <= 3, a * b, c)", "ite(y + x <= 3, b * a, c)"),
        ("x - y", "-1 * y + x"),
        ("x + 1 + 1", "1 + x + 1"),
        ("x in {'a', 'b'}", "x in {'b', 'a', 'b'}"),
        ("table(x, {1: 2, 3: 4}, 0)", "table(x, {3: 4, 1: 2}, 0)"),
        ("x <= 1", "x <= 1.0"),
    ],
)
def test_order_and_nesting_of_associative_operators_do_not_matter(first, second):
    assert same(first, second)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("x <= 3", "3 >= x"),
        ("x <= 3", "not (x > 3)"),
        ("3 >= x", "not (x > 3)"),
        ("x == 1", "1 == x"),
        ("x == 1", "x == true"),
        ("x == 1", "x == '1'"),
        ("x + x", "2 * x"),
        ("x + x", "x + x + x"),
        ("x * (y + z)", "x * y + x * z"),
        ("x and x", "x"),
        ("not not x", "x"),
        ("x", "'x'"),
        ("x <= 3", "x <=? 3"),
        ("x <= 3", "float32(x) <= 3"),
        ("x in {1}", "x in? {1}"),
        ("x in {1}", "x == 1"),
        ("[x, y]", "[y, x]"),
        ("div(x, y)", "div(y, x)"),
        ("ite(a, b, c)", "ite(a, c, b)"),
        ("argmax([x, y])", "argmax([x, y], 0, 1)"),
        ("table(x, {1: 2}, 0)", "table(x, {1: 2}, 1)"),
        ("x + y", "x * y"),
        ("0", "-0.0"),
        ("x + 0", "x"),
        ("[1]", "1"),
        ("argmax([x, y], 'a, b')", "argmax([x, y], 'a', 'b')"),
        ("x in {'a\\', \\'b'}", "x in {'a', 'b'}"),
    ],
)
def test_nothing_else_is_an_equivalence(first, second):
    assert not same(first, second)


def test_one_is_not_true_and_not_a_string():
    assert len({Const(1.0), Const(True), Const("1"), Const((1.0,)), Const("true")}) == 5


def test_missing_equals_missing():
    assert Const(math.nan) == Const(float("nan")) == MISSING


def test_a_term_is_not_equal_to_its_text():
    assert Var("x") != "x"
    assert Const(1.0) != 1.0


@given(st.permutations(range(6)))
def test_a_sum_is_the_same_however_its_operands_are_ordered(order):
    parts: list[Term] = [X, Y, Const(1.0), Ite(TRUE, X, Y), Add((X, Y)), parse_term("x * y")]
    assert add(*(parts[i] for i in order)) == add(*parts)


def test_written_order_is_kept():
    assert str(parse_term("b + a")) == "b + a"


# Immutability


@pytest.mark.parametrize(
    ("term", "field"),
    [(X, "name"), (Const(1.0), "value"), (Add((X, Y)), "operands"), (Not(X), "operand"),
     (parse_term("x <= 1"), "precision"), (parse_term("ite(x, y, z)"), "guard"), (X, "anything"),
     (X, "_digest"), (Add((X, Y)), "tag")],
)  # fmt: skip
def test_a_term_cannot_be_changed(term, field):
    before = term.digest
    with pytest.raises((AttributeError, TypeError)):
        setattr(term, field, None)
    with pytest.raises((AttributeError, TypeError)):
        delattr(term, field)
    assert term.digest == before


EVERY = parse_term(
    "ite(not (x in? {'a', 'b'}) and (float32(y) <=? 3 or b), argmax(softmax([z, 1] + [2, 3]), "
    "'p', missing), table(w, {1: 'p', missing: 'q'}, 's'))"
)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_term_survives_pickling(protocol):
    again = pickle.loads(pickle.dumps(EVERY, protocol))
    assert again == EVERY
    assert str(again) == str(EVERY)


def test_a_copy_is_equal_and_as_written():
    for again in (copy.copy(EVERY), copy.deepcopy(EVERY)):
        assert again == EVERY
        assert str(again) == str(EVERY)


def test_a_program_survives_pickling_and_copying():
    program = Program.parse("lambda y, x . float32: ite(x <= 1, 0, 1)")
    for again in (pickle.loads(pickle.dumps(program)), copy.deepcopy(program), copy.copy(program)):
        assert again == program
        assert again.inputs == ("y", "x")
        assert str(again) == str(program)


# Constructors


@pytest.mark.parametrize(
    "build",
    [
        lambda: Const(1),
        lambda: Const(None),  # type: ignore[arg-type]
        lambda: Const(np.float64(1)),
        lambda: Const(()),
        lambda: Const((1.0, True)),
        lambda: Const([1.0]),  # type: ignore[arg-type]
        lambda: Const(b"x"),  # type: ignore[arg-type]
        lambda: Var(3),  # type: ignore[arg-type]
        lambda: Var(None),  # type: ignore[arg-type]
        lambda: Add(()),
        lambda: Add((X,)),
        lambda: Add((X, Add((Y, Z)))),
        lambda: And((And((X, Y)), Z)),
        lambda: add(),
        lambda: Member(X, ()),
        lambda: Member(X, ("b", "a")),
        lambda: Member(X, ("a", "a")),
        lambda: member(X, []),
        lambda: Lookup(X, (), 0.0),
        lambda: Lookup(X, ((2.0, 1.0), (1.0, 1.0)), 0.0),
        lambda: lookup(X, [(1.0, 1.0), (1.0, 2.0)], 0.0),
        lambda: Vector(()),
        lambda: Vector((Const(1.0), Const(2.0))),
        lambda: vector(),
        lambda: vector(X, Const("a")),
        lambda: Call(Function.EXP, (X, Y)),
        lambda: Call(Function.DIV, (X,)),
        lambda: const(2**53 + 1),
        lambda: const(b"x"),
        lambda: const(1j),
        lambda: const(Decimal(1)),
        lambda: const([]),
        lambda: Program(X, ["y"]),
        lambda: Program(X, ["x", "x"]),
    ],
)
def test_invalid_terms_are_refused(build):
    with pytest.raises(LanguageError):
        build()


@pytest.mark.parametrize(
    "build",
    [
        lambda: const(10**400),
        lambda: const(-(10**400)),
        lambda: const(["a"]),
        lambda: const([True]),
        lambda: const([[1, 2]]),
        lambda: Add((1, 2)),  # type: ignore[arg-type]
        lambda: Add([X, Y]),  # type: ignore[arg-type]
        lambda: Add("xy"),  # type: ignore[arg-type]
        lambda: Not("x"),  # type: ignore[arg-type]
        lambda: Ite(1, 2, 3),  # type: ignore[arg-type]
        lambda: Compare("~", X, Y),  # type: ignore[arg-type]
        lambda: Compare("<=", X, Y),  # type: ignore[arg-type]
        lambda: Compare(Relation.LE, X, 1.0),  # type: ignore[arg-type]
        lambda: Compare(Relation.LE, X, Y, "float32"),  # type: ignore[arg-type]
        lambda: Member(X, (math.nan,)),
        lambda: Member(X, [1.0]),  # type: ignore[arg-type]
        lambda: Member(X, (1,)),
        lambda: member(X, [b"a"]),
        lambda: Lookup(X, ((1, 2),), 0),
        lambda: Lookup(X, ((1.0, 2.0),), 0),
        lambda: Lookup(X, [(1.0, 2.0)], 0.0),  # type: ignore[arg-type]
        lambda: lookup(X, [(b"a", 1)], 0),
        lambda: Argmax(X, (1,)),
        lambda: Argmax(X, ["a", "b"]),  # type: ignore[arg-type]
        lambda: Argmax(X, "ab"),  # type: ignore[arg-type]
        lambda: Call("exp", (X,)),  # type: ignore[arg-type]
        lambda: Call("foo", (X,)),  # type: ignore[arg-type]
        lambda: Call(Function.EXP, [X]),  # type: ignore[arg-type]
        lambda: Vector((TRUE, X)),
        lambda: Vector([X, Y]),  # type: ignore[arg-type]
        lambda: vector(1, 2),  # type: ignore[arg-type]
        lambda: Program("x"),  # type: ignore[arg-type]
        lambda: Program(X, ["x", 3]),  # type: ignore[list-item]
        lambda: Program(X, "xy"),
        lambda: Program(X, "x"),
    ],
)
def test_arguments_of_the_wrong_type_are_refused(build):
    with pytest.raises(LanguageError):
        build()


@pytest.mark.parametrize("members", [[None], [math.nan, 1], ["a", np.float32("nan")]])
def test_the_missing_value_is_not_a_member_of_a_set(members):
    for missing in (False, True):
        with pytest.raises(
            LanguageError, match=r"cannot contain the missing value; write `in\?` to include it"
        ):
            member(X, members, missing)


def test_a_missing_member_is_refused_in_text_too():
    with pytest.raises(
        ParseError, match=r"cannot contain the missing value; write `in\?` to include it"
    ):
        parse_term("x in {'a', missing}")


def test_members_and_tables_take_ordinary_values():
    assert member(X, [2, np.int64(1), 2.0]) == Member(X, (1.0, 2.0))
    assert member(X, [True, "a"]) == Member(X, (True, "a"))
    assert lookup(X, [(2, 3), (1, "a")], 0) == Lookup(X, ((1.0, "a"), (2.0, 3.0)), 0.0)
    made = lookup(X, [(None, None), ("a", [1, 2])], None)
    assert str(made) == "table(x, {'a': [1, 2], missing: missing}, missing)"


def test_keys_that_convert_to_the_same_constant_are_duplicates():
    with pytest.raises(LanguageError, match="two entries with the same key"):
        lookup(X, [(1, 2), (1.0, 3)], 0)
    assert len(lookup(X, [(1, 2), (True, 3)], 0).entries) == 2


def test_booleans_in_a_vector_become_numbers():
    assert vector(TRUE, X) == Vector((Const(1.0), X))
    assert vector(TRUE, FALSE) == Const((1.0, 0.0))


def test_a_vector_can_have_a_missing_entry():
    assert const([None]) == Const((math.nan,)) == vector(MISSING)
    assert const([None, 1]) == Const((math.nan, 1.0))
    assert const([None]) != MISSING


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (3, 3.0), (np.int64(3), 3.0), (np.float32(0.5), 0.5), (np.bool_(True), True), (True, True),
        (np.str_("a"), "a"), ([1, 2], (1.0, 2.0)), (np.array([1, 2]), (1.0, 2.0)), (2**53, 2.0**53),
        (-(2**70), -(2.0**70)),
    ],
)  # fmt: skip
def test_python_and_numpy_values_become_constants(value, expected):
    made = const(value)
    assert made.value == expected
    assert type(made.value) is type(expected)


def test_none_is_the_missing_value():
    assert const(None) == MISSING == const(math.nan) == const(np.float32("nan"))


# Digests


def test_digests_and_ids_are_the_same_on_every_machine():
    # Reports, judgments and certificates refer to computations by these. If they change, every
    # recorded reference breaks.
    term = parse_term(
        "ite(age <= 30 and sex == 'F' or b in? {1, -0.0}, x * y + 0.1, float32(x) <= 1)"
    )
    assert term.digest.hex() == "6f65e9227390cee01039e096851853c8"
    positions = [Position((0, 1), (0, 1)), Position(())]
    assert decomposition_id(term, positions) == "8b9110a2df441a6f"
    assert decomposition_id(term, positions[::-1]) == "8b9110a2df441a6f"


def test_the_digest_of_a_name_does_not_depend_on_the_version_of_python():
    # U+1FAE8 is new in Unicode 15: it is printable from Python 3.12 on.
    assert Var("\U0001fae8").digest.hex() == "bc5863802f9d0579e74a64acc1ea6018"
    assert Var("größe").digest.hex() == "a22d420a74d066787cda5c6616823380"
    term = parse_term(
        "`größe` <= 3 and `\U0001fae8` in {'é', '変', '\\u{d800}'} and "
        "table(x, {'é': 'ß'}, 'q') == argmax([x, y], '²', '½')"
    )
    assert term.digest.hex() == "4678def26bff673de37fde0ffac78f74"
    assert decomposition_id(term, [Position((0,))]) == "3b3568f5421bcf2b"


@pytest.mark.parametrize("character", ["é", "\ud800", "変", "\U0001fae8", "\n", "'", "`"])
@pytest.mark.parametrize("make", [Var, Const])
def test_a_name_differs_from_its_escape_sequence(make, character):
    code = ord(character)
    spelled = [f"\\x{code:02x}", f"\\u{code:04x}", f"\\U{code:08x}", f"\\u{{{code:x}}}"]
    spelled += [f"\\{character}", f"\\\\{character}", repr(character)]
    assert len({make(text) for text in [character, *spelled]}) == 8


@given(st.text(st.sampled_from("\\é変xu'e9, 1"), max_size=6), st.data())
def test_names_are_equal_only_if_spelled_the_same(name, data):
    other = data.draw(st.text(st.sampled_from("\\é変xu'e9, 1"), max_size=6))
    escaped = name.encode("ascii", "backslashreplace").decode("ascii")
    for second in (other, escaped):
        assert (Var(name) == Var(second)) == (name == second)
        assert (member(X, [name]) == member(X, [second])) == (name == second)


def test_digests_do_not_depend_on_the_process():
    code = "from proxyuse.lang import parse_term; print(parse_term('b + a * \"c\"').digest.hex())"
    digests = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert digests == {parse_term("'c' * a + b").digest.hex() + "\n"}


# Structural sharing


def shared(levels):
    term: Term = X
    for _ in range(levels):
        term = Ite(Compare(Relation.LE, X, Y), term, term)
    return term


def test_a_term_with_2_to_the_60_positions_can_be_used():
    term, again = shared(60), shared(60)
    assert term.points > 2**60
    assert term.size > 2**60
    assert term == again
    assert hash(term) == hash(again)
    assert term != shared(61)
    program = Program(term)
    assert program.predict({"x": [1.0, 3.0], "y": [2.0, 2.0]}).tolist() == [1.0, 3.0]
    assert program.simplified().term == X
    assert "nodes" in repr(term)
    assert pickle.loads(pickle.dumps(term)) == term


def test_asking_for_2_to_the_60_positions_is_a_clear_error():
    with pytest.raises(LanguageError, match="positions, more than the limit `positions`"):
        Points(shared(60))


def test_printing_2_to_the_60_positions_is_a_clear_error():
    term = shared(60)
    program = Program(term)
    for printed in (lambda: str(term), lambda: str(program), lambda: program.text_of(term)):
        with pytest.raises(LanguageError, match="positions, more than the limit `positions`"):
            printed()


def test_many_operands_in_random_order_are_one_sum():
    names = [f"v{i}" for i in range(2000)]
    first = add(*map(Var, names))
    random.Random(0).shuffle(names)
    assert add(*map(Var, names)) == first


def test_size_counts_nodes():
    assert parse_term("x <= 3").size == 3
    assert parse_term("ite(x <= 3, 1, 0)").size == 6
    assert parse_term("x + y + 1").size == 4
    assert parse_term("x in {'a', 'b', 'c'}").size == 3
    assert parse_term("table(x, {1: 2, 3: 4}, 0)").size == 3
    assert isinstance(parse_term("x * y"), Mul)
