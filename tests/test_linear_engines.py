"""Sums that meet a threshold: all their subsets, counted in drawers, agree with the definition."""

from __future__ import annotations

import pickle
from itertools import combinations
from typing import Any

import numpy as np
import pytest

import proxyuse as pu
from proxyuse.lang.evaluate import Array
from proxyuse.lang.nodes import Add
from proxyuse.lang.positions import Spot
from proxyuse.measure.association import NormalizedMutualInformation
from proxyuse.measure.naive import NaiveEngine
from proxyuse.measure.trial_engine import TrialEngine
from proxyuse.population import Population

ROWS = 120


def column(rng: np.random.Generator, kind: str) -> Array:
    match kind:
        case "continuous":
            return rng.normal(size=ROWS)
        case "eighths":
            return rng.integers(-8, 8, ROWS) / 8
        case "mostly zero":
            return np.where(rng.random(ROWS) < 0.9, 0.0, rng.normal(size=ROWS) * 1e5)
        case "missing":
            return np.where(rng.random(ROWS) < 0.1, np.nan, rng.normal(size=ROWS))
        case "infinite":
            return np.where(rng.random(ROWS) < 0.05, np.inf, rng.normal(size=ROWS))
        case _:
            return np.full(ROWS, 0.25)


KINDS = ("continuous", "eighths", "mostly zero", "missing", "infinite", "constant")
PROGRAMS = (
    "{sum} >= 0.125",
    "ite({sum} < 0, 'no', 'yes')",
    "sigmoid({sum}) > 0.5",
    "ite(d > 0, ite({sum} <= 0.5, 1, 0), 2)",
    "2 * ({sum}) + d >= -0.25",
    "float32: ite({sum} <= 0.125, 1, 0)",
)


def case(seed: int) -> tuple[pu.Program, Population]:
    rng = np.random.default_rng(seed)
    kinds = rng.choice(KINDS, 4, p=[0.4, 0.2, 0.15, 0.1, 0.05, 0.1])
    data = {name: column(rng, kind) for name, kind in zip("abcd", kinds, strict=True)}
    weights = rng.integers(-8, 8, 3) / 4 if seed % 2 else rng.normal(size=3).round(3)
    total = " + ".join(f"{w} * {name}" for w, name in zip(weights.tolist(), "abc", strict=True))
    text = PROGRAMS[seed % len(PROGRAMS)].replace("{sum}", total)
    program = pu.Program.parse(text.replace("+ -", "- "))
    z = rng.integers(0, 3, ROWS)
    own: dict[str, Any] = {} if seed % 5 else {"weights": rng.integers(1, 4, ROWS)}
    return program, Population.build(data, protected={"z": z}, variables=program.variables, **own)


def spots(program: pu.Program) -> list[Spot]:
    points = program.points
    every = [Spot(point) for point in range(len(points))]
    for point, term in enumerate(points.terms):
        if isinstance(term, Add):
            operands = range(len(term.operands))
            every += [
                Spot(point, chosen)
                for size in range(2, len(term.operands))
                for chosen in combinations(operands, size)
            ]
    return every


@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "NumPy"])
@pytest.mark.parametrize("seed", range(24))
def test_subsets_of_sums_agree_with_the_definition(seed: int, compiled: bool) -> None:
    program, population = case(seed)
    naive = NaiveEngine(program, population)
    fast = TrialEngine(program, population, compiled=compiled)
    measure = NormalizedMutualInformation()
    every = spots(program)
    terms = [program.points.term_at(spot) for spot in every]
    assert fast.influences(every) == naive.influences(every), str(program)
    np.testing.assert_array_equal(
        fast.associations(terms, measure), naive.associations(terms, measure)
    )


@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "NumPy"])
@pytest.mark.parametrize("seed", range(40))
def test_values_on_the_edge_of_a_bin_fall_where_the_definition_puts_them(
    seed: int, compiled: bool
) -> None:
    rng = np.random.default_rng(seed)
    rows = int(rng.integers(4, 40))
    data = {"a": rng.integers(0, 6, rows) / rng.choice([1.0, 3.0]), "b": np.zeros(rows)}
    program = pu.Program.parse("a + b > 1")
    population = Population.build(
        data,
        protected={"z": rng.integers(0, 2, rows)},
        variables=program.variables,
        weights=rng.integers(1, 4, rows) / 10,
    )
    options: dict[str, Any] = {"bins": 2, "max_support": 2}
    naive = NaiveEngine(program, population, **options)
    fast = TrialEngine(program, population, compiled=compiled, **options)
    (total,) = (term for term in program.points.terms if isinstance(term, Add))
    measure = NormalizedMutualInformation()
    expected = naive.associations([total], measure)
    np.testing.assert_allclose(fast.associations([total], measure), expected, atol=1e-12)


@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "NumPy"])
@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("a * b > 0", {"a": [-1, -2, 1e-30, 1], "b": [1e-300] * 4}),
        ("a * b > 0", {"a": [-1, -2, 1e-290, 1], "b": [1e-50] * 4}),
        (
            "a * b * c > 1e-120",
            {"a": [1e200, 1.000001e200, 0.99e200, 0.9e200], "b": [1e-160] * 4, "c": [1e-160] * 4},
        ),
        (
            "a * b * c > 1e250",
            {"a": [1e200, 1e100, 1e260, 1e10], "b": [1e200] * 4, "c": [1e-200] * 4},
        ),
    ],
)
def test_products_too_large_or_small_to_be_held(
    text: str, data: dict[str, list[float]], compiled: bool
) -> None:
    program = pu.Program.parse(text)
    columns = {name: np.array(values, dtype=float) for name, values in data.items()}
    population = Population.build(
        columns, protected={"z": [0, 1, 0, 1]}, variables=program.variables
    )
    naive = NaiveEngine(program, population)
    fast = TrialEngine(program, population, compiled=compiled)
    assert fast.influences(spots(program)) == naive.influences(spots(program))


def test_a_copy_of_an_engine_does_not_ask_for_numba() -> None:
    program, population = case(0)
    engine = TrialEngine(program, population, compiled=True)
    engine.influences(spots(program))
    assert b"tally_kernel" not in pickle.dumps(engine)
