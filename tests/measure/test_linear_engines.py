"""Sums below a threshold: all subsets, counted in buckets, agree with the definition."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest

import proxyuse as pu
from proxyuse.data.population import Population
from proxyuse.lang.evaluate import Array
from proxyuse.lang.nodes import Add
from proxyuse.lang.positions import Site
from proxyuse.measure import sample as sample_module
from proxyuse.measure.association.measures.normalized_mutual_information import (
    NormalizedMutualInformation,
)
from tests.measure.agreement import defined, measured

ROWS = 120


@pytest.fixture(params=[0, 10**9], ids=["compiled", "NumPy"], autouse=True)
def many_rows(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Count with compiled loops however few rows there are, and without them."""
    monkeypatch.setattr(sample_module, "MANY_ROWS", request.param)


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


def sites(program: pu.Program) -> list[Site]:
    points = program.points
    every = [Site(point) for point in range(len(points))]
    for point, term in enumerate(points.terms):
        if isinstance(term, Add):
            operands = range(len(term.operands))
            every += [
                Site(point, chosen)
                for size in range(2, len(term.operands))
                for chosen in combinations(operands, size)
            ]
    return every


@pytest.mark.parametrize("seed", range(12))
def test_subsets_of_sums_agree_with_the_definition(seed: int) -> None:
    program, population = case(seed)
    reference, together = defined(program, population), measured(program, population)
    measure = NormalizedMutualInformation()
    every = sites(program)
    terms = [program.points.term_at(site) for site in every]
    expected = [reference.influence([site]) for site in every]
    assert together.influences(every) == pytest.approx(expected, rel=1e-12, abs=0), str(program)
    np.testing.assert_allclose(
        together.associations(terms, measure),
        [reference.associations(term) for term in terms],
        rtol=0,
        atol=1e-12,
    )


@pytest.mark.parametrize("seed", range(40))
def test_values_on_the_edge_of_a_bin_fall_where_the_definition_puts_them(
    seed: int,
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
    reference = defined(program, population, **options)
    together = measured(program, population, **options)
    (total,) = (term for term in program.points.terms if isinstance(term, Add))
    measure = NormalizedMutualInformation()
    expected = [reference.associations(total)]
    np.testing.assert_allclose(together.associations([total], measure), expected, atol=1e-12)


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
def test_products_that_overflow_or_underflow(text: str, data: dict[str, list[float]]) -> None:
    program = pu.Program.parse(text)
    columns = {name: np.array(values, dtype=float) for name, values in data.items()}
    population = Population.build(
        columns, protected={"z": [0, 1, 0, 1]}, variables=program.variables
    )
    reference, together = defined(program, population), measured(program, population)
    expected = [reference.influence([site]) for site in sites(program)]
    assert together.influences(sites(program)) == expected
