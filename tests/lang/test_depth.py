"""Deep terms work: no operation of the language recurses."""

from __future__ import annotations

import copy
import pickle
import sys

import pytest

from proxyuse.auditing import audit
from proxyuse.lang.kinds import check_kinds
from proxyuse.lang.parse import parse_term
from proxyuse.lang.positions import Points, Site
from proxyuse.lang.rewrite import simplify, without_missing_directions
from proxyuse.program import Program

DEPTH = 10_000

DEEP = {
    "else": lambda n: "".join(f"ite(x <= {i}, {i % 3}, " for i in range(n)) + "0" + ")" * n,
    "then": lambda n: "ite(x <= 5, " * n + "y" + ", 1)" * n,
    "guard": lambda n: "ite(" * n + "x <= 3" + ", x <= 1, x <= 2)" * n,
    "sums and products": lambda n: "(x + 2 * " * n + "y" + ")" * n,
    "and and or": lambda n: "(x <= 1 and (y <= 2 or " * n + "x <= 3" + "))" * n,
    "not": lambda n: "not " * n + "(x <= 1)",
    "parentheses": lambda n: "(" * n + "x" + ")" * n,
    "minus": lambda n: "-" * n + "x",
    "exp": lambda n: "exp(" * n + "x" + ")" * n,
    "comparison": lambda n: "(" * n + "x" + " <= 1)" * n,
}
DATA = {"x": [1.0, 3.0, 7.0, 9.0], "y": [1.0, 2.0, 3.0, 4.0], "z": [0, 0, 1, 1]}


SLOW = (
    "comparison",
    "exp",
    "not",
    "then",
    "else",
    "guard",
    "and and or",
    "sums and products",
)  # similar to the others, but slower


@pytest.mark.parametrize(
    "shape",
    [pytest.param(shape, marks=pytest.mark.slow if shape in SLOW else ()) for shape in DEEP],
)
def test_depth_uses_memory_and_not_the_call_stack(shape):
    assert sys.getrecursionlimit() < DEPTH
    term = parse_term(DEEP[shape](DEPTH))
    assert parse_term(str(term)) == term
    other = pickle.loads(pickle.dumps(term))
    assert other == term
    assert hash(other) == hash(term)
    assert copy.deepcopy(term) == term
    assert len(repr(term)) < 300
    kinds = {"x": "number", "y": "number"}
    assert check_kinds(term, kinds) in ("number", "boolean")
    assert simplify(term).size <= term.size
    assert without_missing_directions(term, set()) is term
    points = Points(term)
    assert len(points) == term.points
    deepest = max(range(len(points)), key=lambda p: len(points.path(p)) if p % 500 == 0 else 0)
    site = Site(deepest)
    assert points.site(points.position(site)) == site
    assert points.replace({site: points.terms[deepest]}) == term
    assert len(Program(term, list(DATA)).predict(DATA)) == 4


@pytest.mark.slow
def test_deep_terms_have_the_right_values():
    def outputs(shape, n):
        return Program(parse_term(DEEP[shape](n)), list(DATA)).predict(DATA).tolist()

    assert outputs("not", DEPTH) == [True, False, False, False]
    assert outputs("not", DEPTH + 1) == [False, True, True, True]
    assert outputs("minus", DEPTH + 1) == [-1.0, -3.0, -7.0, -9.0]
    assert outputs("then", DEPTH) == [1.0, 2.0, 1.0, 1.0]
    assert outputs("else", DEPTH) == [1.0, 0.0, 1.0, 0.0]


@pytest.mark.parametrize("shape", ["not", "exp", "sums and products", "comparison"])
def test_a_chain_of_some_depth_can_be_audited(shape):
    program = Program.parse(DEEP[shape](30))
    assert audit(program, DATA, "z").decompositions


@pytest.mark.slow
def test_a_deep_tree_can_be_audited():
    # Most occurrences of x behave alike on four rows, but `measure="all"` lists each of them.
    depth = 1000
    assert depth >= sys.getrecursionlimit()
    program = Program.parse(DEEP["else"](depth))
    every = audit(program, DATA, "z", epsilon=0.5, measure="all")
    assert every.complete
    assert len(every.decompositions) == 3 * depth + 1
    needed = audit(program, DATA, "z", epsilon=0.5)
    assert needed.complete
    assert [w.id for w in needed.witnesses] == [w.id for w in every.witnesses]
    assert needed.bounded is not None
    assert {d.id for d in needed.decompositions} < {d.id for d in every.decompositions}
