"""Tables, wide sums, squared change and paths: the fast computations give the same results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import proxyuse as pu
from proxyuse.data.population import Population
from proxyuse.frame import _Paths
from proxyuse.lang.evaluate import NO_CATEGORY, Vocabulary, apply, missing_in
from proxyuse.lang.nodes import Lookup, Var, is_missing, sorted_values
from proxyuse.lang.positions import Site
from proxyuse.measure import sample as sample_module
from proxyuse.measure.association.information import entropy, mutual_information
from proxyuse.measure.contexts import context_analysis
from proxyuse.measure.contexts.engine import Contexts
from proxyuse.measure.contexts.squared import SquaredShifts
from proxyuse.measure.influence import SquaredChange
from proxyuse.measure.sample import Sample
from tests.measure.agreement import check_engines, defined, measured

ROWS = 40


def people(seed: int, names: str, words: str = "", **own: Any) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    numbers = {name: rng.normal(size=ROWS).round(2) for name in names}
    return numbers | {name: rng.choice(list("pqrs"), ROWS) for name in words} | own


def population(program: pu.Program, data: dict[str, Any], seed: int) -> Population:
    rng = np.random.default_rng(seed)
    return Population.build(
        data,
        protected={"z": rng.integers(0, 2, ROWS)},
        weights=rng.integers(1, 4, ROWS) if seed % 2 else None,
        variables=program.variables,
    )


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("kind", ["numbers", "booleans", "words"])
def test_a_table_finds_the_last_entry_that_equals_a_value(kind: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    vocabulary = Vocabulary()
    operand: Any
    pool: list[Any] = [0.0, -0.0, 1.0, 2.5, -3.0, float("inf"), True, False, float("nan")]
    if kind == "words":
        pool = ["a", "b", "c", "d", float("nan")]
        operand = rng.integers(NO_CATEGORY, 5, ROWS).astype(np.int32)
        for word in "ebadc":
            vocabulary.code(word)
    elif kind == "booleans":
        operand = rng.random(ROWS) < 0.5
    else:
        operand = rng.choice([0.0, -0.0, 1.0, 2.5, 7.0, np.inf, -np.inf, np.nan], ROWS)
    chosen = rng.choice(len(pool), rng.integers(1, len(pool)), replace=False)
    keys = sorted_values(pool[i] for i in chosen)
    entries = tuple((key, float(row)) for row, key in enumerate(keys))
    expected = np.full(ROWS, -1.0)
    for key, result in entries:
        if is_missing(key):
            expected[missing_in(operand)] = result
        else:
            value = vocabulary.code(key) if isinstance(key, str) else key
            expected[operand == value] = result
    actual = apply(Lookup(Var("x"), entries, -1.0), [operand], {}, vocabulary)
    assert actual.tolist() == expected.tolist()


@pytest.mark.parametrize("seed", range(4))
def test_positions_with_only_constants_beside_them_agree_with_the_definition(seed: int) -> None:
    program = pu.Program.parse(
        "table(c, {'p': 0.5, 'q': -1, 'r': 0.5}, 0.25) + 2 * (a + 1) + abs(b) >= 0.5"
    )
    data = population(program, people(seed, "ab", "c"), seed)
    check_engines(program, data)
    (category,) = (p for p, t in enumerate(program.points.terms) if t == Var("c"))
    assert Contexts(Sample(program, data)).influence([Site(category)]) is not None


@pytest.mark.parametrize("rows", [0, 10**9], ids=["compiled", "NumPy"])
@pytest.mark.parametrize("seed", range(4))
def test_wide_sums_agree_with_the_definition(
    seed: int, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(context_analysis, "WIDE", 1)
    monkeypatch.setattr(sample_module, "MANY_ROWS", rows)
    data = people(seed, "abde")
    data["e"] = data["e"] * 1e15 if seed == 2 else data["e"]
    data["d"] = np.where(data["d"] > 1, np.nan, data["d"]) if seed == 3 else data["d"]
    program = pu.Program.parse("a + 0.1 * b - 3 * d + e >= 0.125")
    check_engines(program, population(program, data, seed))


@pytest.mark.parametrize("text", [
    "a + 2 * b - 0.5 * d",
    "ite(a > 0, a * b + d, div(b, 4))",
    "fill(a, 1) + b * d * 3",
])  # fmt: skip
@pytest.mark.parametrize("seed", range(4))
def test_squared_changes_follow_from_means_and_variances(text: str, seed: int) -> None:
    program = pu.Program.parse(text)
    data = population(program, people(seed, "abd"), seed)
    reference = defined(program, data, influence=SquaredChange())
    engine = SquaredShifts(Sample(program, data, influence=SquaredChange()))
    sites = [Site(point) for point in range(len(program.points))]
    influences = {site: engine.influence([site]) for site in sites}
    answered = [site for site in sites if influences[site] is not None]
    assert len(answered) >= 3
    for site in answered:
        assert influences[site] == pytest.approx(reference.influence([site]), rel=1e-12, abs=0)
    check_engines(program, data, influence=SquaredChange())


def test_squared_changes_that_rounding_could_affect_are_declined() -> None:
    program = pu.Program.parse("a + b")
    data = people(0, "ab")
    data["b"] = data["b"] * 1e9
    sample = Sample(program, population(program, data, 0), influence=SquaredChange())
    assert SquaredShifts(sample).influence([Site(1)]) is None


def test_paths_equal_the_positions_and_are_computed_on_demand() -> None:
    program = pu.Program.parse("ite(a > 1 and b > 2, ite(a > 3, 1, 2), a + b + 3)")
    paths = _Paths(program.points)
    last = len(program.points) - 1
    assert paths[last] == program.points.text(Site(last))
    assert len(paths) <= 1 + len(program.points.path(last))
    for point in range(len(program.points)):
        assert paths[point] == program.points.text(Site(point))


@pytest.mark.parametrize("seed", range(12))
def test_what_operands_together_tell_is_that_of_their_joint_values(seed: int) -> None:
    rng = np.random.default_rng(seed)
    columns = rng.integers(0, 4, (3, ROWS)).astype(float)
    columns[0, rng.random(ROWS) < 0.3] = np.nan
    z = rng.integers(0, rng.choice([2, ROWS]), ROWS)
    weights = rng.random(ROWS) + 0.1 if seed % 2 else np.ones(ROWS)
    program = pu.Program.parse("a + b + c")
    people = Population.build(
        dict(zip("abc", columns, strict=True)), protected={"z": z}, weights=weights
    )
    engine = measured(program, people)
    steps = [0, 2] if seed % 3 else [0, 1, 2]
    ((information, whole),) = engine.operands_information(0, steps)
    below = engine.sample.points.below(0)
    names = [program.text_of(engine.sample.points.terms[below[step]]) for step in steps]
    values = np.column_stack([np.nan_to_num(columns["abc".index(name)], nan=9) for name in names])
    joint = np.unique(values, axis=0, return_inverse=True)[1].ravel()
    table = np.zeros((ROWS, ROWS))
    np.add.at(table, (joint, z), weights)
    assert information == pytest.approx(mutual_information(table), rel=0, abs=1e-12)
    assert whole == pytest.approx(entropy(table.sum(axis=0)), rel=0, abs=1e-12)
