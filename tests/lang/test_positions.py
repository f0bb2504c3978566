"""Positions are paths in canonical order, the same however a program was written."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier

from proxyuse.errors import LanguageError
from proxyuse.lang.build import rebuild
from proxyuse.lang.nodes import (
    Associative,
    Term,
    Var,
    children,
)
from proxyuse.lang.order import canonical_order
from proxyuse.lang.parse import parse_term
from proxyuse.lang.positions import (
    Points,
    Position,
    Site,
    decomposition_id,
    operand_choices,
)
from proxyuse.models.registry import translate
from proxyuse.program import Origin, Program

PAIRS = [
    ("x + y + z", "z + x + y"),
    ("ite(x * y <= 3 and b or c, y + x + 2, 0)", "ite(c or (b and y * x <= 3), 2 + (x + y), 0)"),
    ("(a + b) * (c + d) * 2", "2 * (d + c) * (b + a)"),
    ("ite(a, b, c) + ite(a, b, d) + a", "a + ite(a, b, d) + ite(a, b, c)"),
]


def listing(points):
    """Return the path and the digest of the sub-term at each point."""
    return [(points.path(p), points.terms[p].digest) for p in range(len(points))]


def shuffled(term, seed):
    """Return the same term with the operands of + * and or in another order."""
    source = random.Random(seed)
    parts = [shuffled(part, source.random()) for part in children(term)]
    if isinstance(term, Associative):
        source.shuffle(parts)
    return rebuild(term, tuple(parts))


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_canonical_order_does_not_depend_on_written_order(first, second):
    assert listing(Points(parse_term(first))) == listing(Points(parse_term(second)))


@given(st.integers(0, 10_000))
def test_every_shuffling_of_a_program_has_the_same_positions_and_ids(seed):
    first = parse_term("ite(a*b*(c+d+1) <= 3 and (e or f or a > b), a+b+a+ite(e, a+b, b), d+c*a)")
    second = shuffled(first, seed)
    points, others = Points(first), Points(second)
    assert listing(points) == listing(others)
    for point in range(len(points)):
        position = points.position(Site(point))
        assert decomposition_id(points.terms[point], [position]) == decomposition_id(
            others.terms[point], [others.position(Site(point))]
        )
        for operands in ((0, 1), (1, 2), (0, 2)):
            if isinstance(points.terms[point], Associative) and len(points.below(point)) > 2:
                site = Site(point, operands)
                assert points.term_at(site) == others.term_at(site)


def test_children_are_in_canonical_order():
    term = parse_term("z + 3 + y * x + x")
    parts = children(term)
    ordered = [str(parts[i]) for i in canonical_order(term)]
    assert ordered == ["y * x", "3", "x", "z"]
    assert [str(t) for t in Points(term).terms] == [
        "z + 3 + y * x + x", "y * x", "x", "y", "3", "x", "z",
    ]  # fmt: skip


def test_the_points_of_variables_are_those_of_their_terms():
    X, y = load_iris(return_X_y=True)
    forest = RandomForestClassifier(5, random_state=0).fit(X, y)
    for program in (
        translate(forest),
        Program.parse("ite(x0 + x1 * x0 > x2, x0, ite(x1 == x1, 2, x3))"),
    ):
        terms = program.points.terms
        found = program.points.of_variables(["x0", "x1", "x9"])
        assert list(found) == ["x0", "x1", "x9"]
        for name, points in found.items():
            expected = [i for i, term in enumerate(terms) if term == Var(name)]
            assert points.tolist() == expected
        assert len(found["x0"]) > 1


def test_points_are_numbered_in_preorder():
    points = Points(parse_term("ite(x <= 1, y, z)"))
    assert list(map(str, points.terms)) == ["ite(x <= 1, y, z)", "x <= 1", "x", "1", "y", "z"]
    assert points.parents == [-1, 0, 1, 1, 0, 0]
    assert points.steps == [0, 0, 0, 1, 1, 2]
    assert points.below(0) == [1, 4, 5]
    assert [points.end(p) for p in range(6)] == [6, 4, 3, 4, 5, 6]


def test_written_numbers_are_a_permutation_to_written_order():
    points = Points(parse_term("z + y * x"))
    assert sorted(points.written) == list(range(len(points)))
    assert [str(points.terms[i]) for i in np.argsort(points.written)] == [
        "z + y * x", "z", "y * x", "y", "x",
    ]  # fmt: skip


paths = st.lists(st.integers(0, 10**6), max_size=5).map(tuple)


@given(paths, st.lists(st.integers(0, 99), unique=True, max_size=4).map(tuple))
def test_a_position_parses_back_from_its_text(path, operands):
    position = Position(path, operands)
    assert Position.parse(str(position)) == position


@pytest.mark.parametrize(
    "text", ["", "x", "0.", ".0", "-1", "0{}", "0{1,}", "{0}", "root.0", "0 1"]
)
def test_invalid_position_texts_are_refused(text):
    with pytest.raises(LanguageError, match="is not a position; write it like"):
        Position.parse(text)


@pytest.mark.parametrize("text", ["3", "0.0.0", "0{0,1}", "root{0,3}", "1.0"])
def test_a_position_outside_the_program_is_refused(text):
    program = Program.parse("x + y + z")
    with pytest.raises(LanguageError, match="no position"):
        program.points.site(Position.parse(text))
    for position in (text, Position.parse(text)):
        with pytest.raises(LanguageError, match="no position"):
            program.origin(position)


@pytest.mark.parametrize(
    ("path", "operands", "message"),
    [
        ((-1,), (), "non-negative integers"),
        ((0, -1, 0), (), "non-negative integers"),
        ((), (-1, 0), "non-negative integers"),
        ((1.0,), (), "non-negative integers"),
        ((True,), (), "non-negative integers"),
        ("0", (), "non-negative integers"),
        ((), (0, 0), "lists the same operand twice"),
        ((2,), (1, 0, 1), "lists the same operand twice"),
    ],
)
def test_invalid_positions_cannot_be_constructed(path, operands, message):
    with pytest.raises(LanguageError, match=message):
        Position(path, operands)


def test_a_repeated_operand_is_refused():
    with pytest.raises(LanguageError, match="lists the same operand twice"):
        Position.parse("root{1,1}")


def test_the_order_of_operands_in_a_position_does_not_matter():
    assert Position((), (1, 0)) == Position((), (0, 1)) == Position.parse("root{1,0}")
    assert hash(Position((), (1, 0))) == hash(Position((), (0, 1)))
    assert Position((3,), (2, 0, 1)).operands == (0, 1, 2)
    assert str(Position((3,), (2, 0, 1))) == "3{0,1,2}"


def test_every_site_round_trips_through_its_position():
    points = Points(parse_term("ite(a and b and c, w + x + y * 2 * z, 0)"))
    for point, term in enumerate(points.terms):
        assert points.site(points.position(Site(point))) == Site(point)
        if isinstance(term, Associative):
            assert points.site(points.position(Site(point, (0, 2)))) == Site(point, (0, 2))


def at(text, position):
    points = Points(parse_term(text))
    return points, points.site(Position.parse(position))


@pytest.mark.parametrize(
    ("text", "position", "expected"),
    [
        ("z + 3 + y * x + x", "root", "z + 3 + y * x + x"),
        ("z + 3 + y * x + x", "root{0,3}", "z + y * x"),
        ("z + 3 + y * x + x", "0", "y * x"),
        ("z + 3 + y * x + x", "0.1", "y"),
        ("ite(b and a and c, 1, 2)", "0{0,2}", "a and c"),
        ("x + y + z", "root{1}", "y"),
        ("x + y + z", "root{0,1,2}", "x + y + z"),
    ],
)
def test_the_term_at_a_position(text, position, expected):
    points, site = at(text, position)
    assert str(points.term_at(site)) == expected


@pytest.mark.parametrize(
    ("text", "position", "result"),
    [
        ("x", "root", "u"),
        ("x + y + z", "1", "x + u + z"),
        ("x + y + z", "root{0,2}", "y + u"),
        ("x + y + z", "root{0,1,2}", "u"),
        ("3 + x + y", "root{1,2}", "3 + u"),
        ("z * (y + x)", "0", "z * u"),
        ("ite(x <= 1, x, x)", "0.0", "ite(u <= 1, x, x)"),
        ("ite(x <= 1, x, x)", "2", "ite(x <= 1, x, u)"),
        ("not (a and b and c)", "0{0,1}", "not (c and u)"),
        ("[x, 1]", "0", "[u, 1]"),
        ("argmax([x, y], 'a', 'b')", "0.1", "argmax([x, u], 'a', 'b')"),
    ],
)
def test_replacing_changes_only_the_site(text, position, result):
    points, site = at(text, position)
    assert str(points.replace({site: Var("u")})) == result


def test_replacing_at_several_sites_at_once():
    points = Points(parse_term("ite(x + y + z <= 1, x, x + y)"))
    sites = ["0.0{0,1}", "1", "2.1"]
    new: dict[Site, Term] = {points.site(Position.parse(site)): Var("u") for site in sites}
    assert str(points.replace(new)) == "ite(z + u <= 1, u, x + u)"


def test_two_subsets_of_one_operator_can_be_replaced_together():
    points = Points(parse_term("a + b + c + d"))
    new = {Site(0, (0, 1)): parse_term("u"), Site(0, (2, 3)): parse_term("v")}
    assert str(points.replace(new)) == "u + v"


def test_a_sum_put_into_a_sum_is_flattened():
    points = Points(parse_term("x + y"))
    assert points.replace({Site(1): parse_term("u + v")}) == parse_term("u + v + y")


def test_a_constant_put_into_a_vector_of_constants_makes_a_constant():
    points = Points(parse_term("argmax([x, 1])"))
    assert points.replace({Site(2): parse_term("3")}) == parse_term("argmax([3, 1])")


@given(st.integers(0, 10_000))
def test_replacing_a_term_by_itself_changes_nothing(seed):
    term = shuffled(parse_term("ite(a*b*(c+d+1) <= 3 and (e or f), a+b+a+[x, y], d+c*a)"), seed)
    points = Points(term)
    for point in range(len(points)):
        assert points.replace({Site(point): points.terms[point]}) == term


def test_sites_are_disjoint_if_they_share_no_point():
    points = Points(parse_term("x + y + z * w"))
    assert points.disjoint(Site(0, (0, 1)), Site(0, (2,)))
    assert not points.disjoint(Site(0, (0, 1)), Site(0, (1, 2)))
    assert not points.disjoint(Site(0), Site(1))
    assert points.disjoint(Site(2), Site(3))


def test_operand_choices_exclude_constants():
    points = Points(parse_term("x + 3 + y"))
    chosen = operand_choices(points, 0)
    assert [str(points.term_at(Site(0, (i,)))) for i in chosen] == ["x", "y"]


# Ids


def test_an_id_distinguishes_terms_and_positions():
    term = parse_term("ite(x <= 1, x, x)")
    ids = {
        decomposition_id(Var("x"), [Position((1,))]),
        decomposition_id(Var("x"), [Position((2,))]),
        decomposition_id(Var("x"), [Position((1,)), Position((2,))]),
        decomposition_id(Var("y"), [Position((1,))]),
        decomposition_id(term, [Position(())]),
    }
    assert len(ids) == 5


def test_an_id_does_not_depend_on_the_order_of_the_positions():
    positions = [Position((1,)), Position((0, 0)), Position((), (0, 1))]
    assert decomposition_id(Var("x"), positions) == decomposition_id(Var("x"), positions[::-1])


# Origins


def test_a_sub_term_without_an_origin_inherits_that_of_its_nearest_ancestor():
    term = parse_term("z + ite(x <= 1, 2, y)")
    program = Program(term, None, {0: Origin("sum"), 2: Origin(tree=0, node=0), 7: Origin(node=2)})
    origins = {
        str(program.points.terms[p]): str(program.origin(program.points.position(Site(p))))
        for p in range(len(program.points))
    }
    assert origins == {
        "z + ite(x <= 1, 2, y)": "sum",
        "z": "sum",
        "ite(x <= 1, 2, y)": "tree 0, node 0",
        "x <= 1": "tree 0, node 0",
        "x": "tree 0, node 0",
        "1": "tree 0, node 0",
        "2": "tree 0, node 0",
        "y": "node 2",
    }


def test_a_parsed_program_has_no_origins():
    assert Program.parse("x + y").origin(Position((0,))) is None


def test_a_subset_of_operands_comes_from_its_operator():
    program = Program(parse_term("x + y + z"), None, {0: Origin("sum"), 1: Origin("x")})
    assert program.origin(Position((), (0, 1))) == Origin("sum")
    assert program.origin(Position((0,))) == Origin("x")


def test_origin_accepts_the_text_of_a_position():
    program = Program(parse_term("x + y + z"), None, {0: Origin("sum"), 1: Origin("x")})
    assert program.origin("root{1,0}") == Origin("sum")
    assert program.origin("0") == Origin("x")
    with pytest.raises(LanguageError, match="is not a position; write it like"):
        program.origin("first")


def test_origins_follow_node_objects_wherever_canonical_order_puts_them():
    y, x = Var("y"), Var("x")
    term = parse_term("1 + 2")
    term = rebuild(term, (y, x))
    program = Program.traced(term, ["x", "y"], {id(y): Origin("first"), id(x): Origin("second")})
    assert program.origin(Position((0,))) == Origin("second")
    assert program.origin(Position((1,))) == Origin("first")
