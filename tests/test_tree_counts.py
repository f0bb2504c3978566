"""Trees are counted on bitsets; what is counted is what the naive engine says."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proxyuse.detect.candidates import Candidates
from proxyuse.lang.build import const, member
from proxyuse.lang.nodes import (
    Compare,
    Const,
    Ite,
    Precision,
    Relation,
    Term,
    Value,
    Var,
)
from proxyuse.lang.positions import Spot
from proxyuse.measure.cells import cells_of
from proxyuse.measure.naive import NaiveEngine
from proxyuse.measure.tree_counts import TreeCounts, count_tree
from proxyuse.measure.tree_plan import tree_plan
from proxyuse.measure.trees import TreeEngine
from proxyuse.population import Population
from proxyuse.program import Frame, Program

NUMBERS = [-1.0, -0.5, 0.0, 0.1, 0.25, 1.0, 3.0, float(np.float32(0.1)), float("inf")]
WORDS = ["a", "b", "c"]


@st.composite
def guards(draw: Any) -> Term:
    missing = draw(st.booleans())
    if draw(st.integers(0, 3)) == 0:
        if draw(st.booleans()):
            return member(Var("word"), draw(st.sets(st.sampled_from(WORDS), min_size=1)), missing)
        relation = draw(st.sampled_from([Relation.EQ, Relation.NE]))
        return Compare(relation, Var("word"), const(draw(st.sampled_from(WORDS))), missing=missing)
    name = draw(st.sampled_from(["x", "y", "flag"]))
    if draw(st.integers(0, 5)) == 0:
        return member(Var(name), draw(st.sets(st.sampled_from(NUMBERS), min_size=1)), missing)
    return Compare(
        draw(st.sampled_from(list(Relation))),
        Var(name),
        Const(draw(st.sampled_from(NUMBERS))),
        draw(st.sampled_from(list(Precision))),
        missing,
    )


@st.composite
def trees(draw: Any, classes: list[Value], depth: int) -> Term:
    if depth == 0 or draw(st.integers(0, 4)) == 0:
        return Const(draw(st.sampled_from(classes)))
    return Ite(
        draw(guards()),
        draw(trees(classes, depth - 1)),
        draw(trees(classes, depth - 1)),
    )


@st.composite
def trees_on_rows(draw: Any, most_rows: int) -> tuple[Program, Population]:
    classes: list[Value] = draw(
        st.sampled_from([[0.0, 1.0], ["no", "yes"], [False, True], [0.0, 1.0, 2.0], list("pqrst")])
    )
    term = draw(trees(classes, 5).filter(lambda term: isinstance(term, Ite)))
    rows = draw(st.sampled_from([1, 2, most_rows, 64, 65]))
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    near = np.concatenate([NUMBERS, np.nextafter(NUMBERS, 9.0), np.nextafter(NUMBERS, -9.0)])
    holes = draw(st.sampled_from([0.0, 0.3]))
    data: dict[str, Any] = {
        name: np.where(rng.random(rows) < holes, np.nan, rng.choice(near, rows))
        for name in ("x", "y")
    }
    if draw(st.booleans()):
        data["y"] = np.full(rows, rng.choice(near))
    data["flag"] = rng.random(rows) < 0.5
    words = rng.choice([*WORDS, "d"], rows)
    data["word"] = [None if rng.random() < holes else str(word) for word in words]
    if all(word is None for word in data["word"]):
        data["word"][0] = "a"
    most = draw(st.sampled_from([1, 3, 1000]))
    weights = rng.integers(0, most + 1, rows) + (np.arange(rows) == 0) if most > 1 else None
    protected = {"z": rng.integers(0, draw(st.integers(1, 7)), rows), "other": data["x"] > 0}
    program = Program(term)
    population = Population.build(
        data, protected=protected, weights=weights, variables=program.variables
    )
    return program, population


def check_counts(program: Program, population: Population, compiled: bool) -> None:
    naive = NaiveEngine(program, population)
    trees_engine = TreeEngine(program, population, compiled=compiled)
    pairs = population.total**2
    for candidate in Candidates(program.points, 0):
        sets = [[spot] for spot in candidate.spots]
        if len(candidate.spots) > 1:
            sets.append(candidate.spots)
        for spots in sets:
            expected = round(naive.influence(spots) * pairs)
            assert round(trees_engine.influence(spots) * pairs) == expected, str(candidate.term)
            assert trees_engine.reach(spots) == pytest.approx(naive.reach(spots), abs=1e-15)
        both = zip(naive.tables(candidate.term), trees_engine.tables(candidate.term), strict=True)
        for wanted, found in both:
            np.testing.assert_array_equal(found.masses, wanted.masses)
            assert found.rows == wanted.rows
            assert found.columns == wanted.columns


@pytest.fixture(params=["NumPy", "compiled"], scope="module")
def compiled(request: Any) -> bool:
    if request.param == "compiled":
        pytest.importorskip("numba")
    return bool(request.param == "compiled")


@given(case=trees_on_rows(12))
def test_trees_are_counted_as_the_definition_says(
    compiled: bool, case: tuple[Program, Population]
) -> None:
    check_counts(*case, compiled)


@pytest.mark.slow
@settings(max_examples=2000)
@given(case=trees_on_rows(40))
def test_thousands_of_trees_are_counted_as_the_definition_says(
    compiled: bool, case: tuple[Program, Population]
) -> None:
    check_counts(*case, compiled)


def counts_of(program: Program, population: Population, **options: Any) -> TreeCounts | None:
    engine = TreeEngine(program, population, compiled=False)
    plan = tree_plan(program)
    if plan is None:  # all leaves are equal
        return None
    cells = [tally.cells for tally in engine._tallies]
    protected = [z for _, z in engine.protected]
    return count_tree(plan, cells, protected, population.weights, **options)


def check_equal(first: TreeCounts | None, second: TreeCounts | None) -> None:
    if first is not None:
        for field in dataclasses.fields(TreeCounts):
            np.testing.assert_equal(getattr(first, field.name), getattr(second, field.name))


@given(
    case=trees_on_rows(300),
    block_rows=st.sampled_from([64, 128, None]),
    threads=st.sampled_from([1, 3]),
)
def test_blocks_of_rows_add_up_in_any_number_of_threads(
    compiled: bool, case: tuple[Program, Population], block_rows: int | None, threads: int
) -> None:
    whole = counts_of(*case, compiled=False)
    parts = counts_of(*case, compiled=compiled, block_rows=block_rows, threads=threads)
    check_equal(whole, parts)


def test_hundreds_of_cells_and_protected_values_are_counted(compiled: bool) -> None:
    rng = np.random.default_rng(0)
    rows = 3000
    term: Term = Const(1.0)
    for bound in range(300):
        term = Ite(Compare(Relation.LE, Var("x"), Const(float(bound))), Const(bound % 3.0), term)
    program = Program(term)
    x = rng.integers(0, 310, rows) - 0.5
    population = Population.build({"x": x}, protected={"z": rng.integers(0, 256, rows)})
    check_equal(
        counts_of(program, population, compiled=False),
        counts_of(program, population, compiled=compiled, block_rows=1024, threads=3),
    )
    engine = TreeEngine(program, population, threads=3, compiled=compiled)
    whole = NaiveEngine(program, population)
    spots = [Spot(point) for point, term in enumerate(program.points.terms) if term == Var("x")]
    assert engine.influence(spots) == whole.influence(spots)
    assert engine.reach(spots) == 1


def test_a_tree_of_two_classes_over_plain_tests_has_a_plan() -> None:
    plan = tree_plan(Program.parse("ite(x <= 1, ite(word == 'a', 0, 1), ite(x <= 1, 1, 0))"))
    assert plan is not None
    assert len(plan.points) == 3
    assert len(plan.tests) == 2
    assert plan.variables == ("x", "word")


@pytest.mark.parametrize(
    "text",
    ["x", "ite(x <= y, 0, 1)", "ite(x <= 1, y, 1)", "ite(x <= 1 and y <= 1, 0, 1)",
     "ite(x <= 1, 0, 0)", "ite(x <= 1, 0, 1) + 1", "ite(x <= 1, [0, 1], [1, 0])"],
)  # fmt: skip
def test_other_programs_have_none(text: str) -> None:
    assert tree_plan(Program.parse(text)) is None


@pytest.mark.parametrize("bound", [0.1, float(np.float32(0.1)), 0.5, -3.3, 1e-46, 3.4e38, 0.0])
@pytest.mark.parametrize("relation", list(Relation))
def test_cells_are_cut_exactly_where_a_float32_comparison_turns(
    bound: float, relation: Relation
) -> None:
    around = float(np.float32(bound))
    steps = [np.nextafter(np.float32(around), np.float32(side)) for side in (-np.inf, np.inf)]
    middles = [(around + float(step)) / 2 for step in steps]
    numbers = np.array([around, bound, *map(float, steps), *middles, np.inf, -np.inf, np.nan])
    numbers = np.concatenate(
        [numbers, np.nextafter(numbers, -np.inf), np.nextafter(numbers, np.inf)]
    )
    test = Compare(relation, Var("x"), Const(bound), Precision.FLOAT32)
    cells = cells_of(numbers, [test], Frame([]).vocabulary)
    wanted = Program(test).predict({"x": numbers})
    np.testing.assert_array_equal(cells.truth[0][cells.codes], wanted)
