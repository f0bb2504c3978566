"""A thousand sums, products and conditions against brute force, independent of the engines."""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from proxyuse.data.population import Population
from proxyuse.detect.operators import Operator
from proxyuse.detect.partial_sums import search_partial_sums
from proxyuse.lang.nodes import Add, And, Mul, Or
from proxyuse.lang.positions import operand_choices
from proxyuse.measure.association.measures.normalized_mutual_information import (
    NormalizedMutualInformation,
)
from proxyuse.measure.association.measures.squared_correlation import SquaredCorrelation
from proxyuse.measure.bounds.gram import Moments
from proxyuse.measure.engine import Measurement
from proxyuse.measure.sample import Sample
from proxyuse.program import Program

ROWS = 24
NUMBER_OF_PROGRAMS = 1000
COMBINE = {"sum": np.add, "product": np.multiply, "and": np.minimum, "or": np.maximum}
SIGNS = {"sum": " + ", "product": " * ", "and": " and ", "or": " or "}


class Case:
    """Operands on some rows, how they are combined, and two protected attributes.

    All numbers are multiples of 1/8, so sums are exact in any order.
    """

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.kind = ("sum", "sum", "trees", "product", "and", "or")[seed % 6]
        self.count = int(rng.choice([3, 4, 5, 6, 7, 10], p=[0.2, 0.2, 0.25, 0.2, 0.1, 0.05]))
        z = rng.integers(0, 2, ROWS)
        z[:2] = 0, 1
        self.weights = rng.integers(1, 5, ROWS) / 4 if seed % 3 == 0 else np.ones(ROWS)
        self.z = {"z": z, "y": rng.integers(0, 3, ROWS)}
        self.data: dict[str, Any] = {}
        for i in range(self.count):
            follows = rng.random(ROWS) < rng.choice([0.0, 0.4, 0.7])
            x = np.where(follows, z, rng.integers(-1, 3, ROWS)).astype(float)
            if self.kind in ("and", "or"):
                x = (x > (0 if self.kind == "and" else 1)).astype(float)
            self.data[f"x{i}"] = x
        if self.kind == "trees" and seed % 4 == 2:
            self.data["x0"][rng.random(ROWS) < 0.2] = np.nan
        self.rng = rng
        self.texts, self.operands = zip(*map(self._operand, range(self.count)), strict=True)
        self.threshold = float(rng.choice([-0.25, 0.375, 0.625, 1.125]))
        self.limits = (
            float(rng.choice([0.05, 0.15, 0.3])),
            float(rng.choice([0.0, 0.09876, 0.25123])),
        )

    def _operand(self, i: int) -> tuple[str, Any]:
        x = self.data[f"x{i}"]
        if self.kind in ("and", "or"):
            return f"(x{i} == 1)", x
        if self.kind == "product":
            return f"x{i}", x
        if self.kind == "sum":
            factor = float(self.rng.choice([-1.5, -1.0, 0.5, 1.0, 2.0]))
            return f"{factor} * x{i}", factor * x
        cut, low, high = float(self.rng.integers(-1, 2)), -0.5, float(self.rng.integers(1, 9)) / 8
        with np.errstate(invalid="ignore"):
            return f"ite(x{i} <= {cut}, {low}, {high})", np.where(x <= cut, low, high)

    @property
    def program(self) -> Program:
        operator = SIGNS["sum" if self.kind == "trees" else self.kind].join(self.texts)
        if self.kind in ("and", "or"):
            return Program.parse(f"ite({operator}, 1, 0)")
        return Program.parse(f"ite({operator} > {self.threshold}, 1, 0)")

    def combined(self, subset: tuple[int, ...]) -> Any:
        operation = COMBINE["sum" if self.kind == "trees" else self.kind]
        return operation.reduce([self.operands[i] for i in subset])

    def witness_for(self, subset: tuple[int, ...]) -> list[bool]:
        """Whether a set is a witness for each attribute, by the definitions over all pairs."""
        epsilon, delta = self.limits
        part = self.combined(subset)
        others = tuple(i for i in range(self.count) if i not in subset)
        operation = COMBINE["sum" if self.kind == "trees" else self.kind]
        whole = operation(self.combined(others)[:, None], part[None, :]) if others else part[None]
        threshold = 0.5 if self.kind in ("and", "or") else self.threshold
        outputs = whole > threshold
        changed = outputs != np.diagonal(outputs)[:, None]
        mass = self.weights / self.weights.sum()
        influential = float(mass @ changed @ mass) > delta
        return [influential and nmi(part, z, mass) >= epsilon for z in self.z.values()]

    def minimal(self) -> set[tuple[frozenset[int], int]]:
        """The minimal witnesses of two or more operands, each with its attribute."""
        passing = {
            frozenset(subset): self.witness_for(subset)
            for size in range(1, self.count)
            for subset in combinations(range(self.count), size)
        }
        smallest: list[list[frozenset[int]]] = [[], []]  # in order of size, so minimal ones first
        for subset, flags in passing.items():
            for attribute, passes in enumerate(flags):
                if passes and not any(inner <= subset for inner in smallest[attribute]):
                    smallest[attribute].append(subset)
        return {(s, a) for a in range(2) for s in smallest[a] if len(s) > 1}


def nmi(first: Any, second: Any, mass: Any) -> float:
    """Mutual information divided by joint entropy, from dictionaries of probabilities."""
    joint: dict[tuple[float, float], float] = {}
    for a, b, m in zip(first.tolist(), second.tolist(), mass.tolist(), strict=True):
        joint[a, b] = joint.get((a, b), 0.0) + m
    own: dict[float, float] = {}
    other: dict[float, float] = {}
    for (a, b), p in joint.items():
        own[a], other[b] = own.get(a, 0.0) + p, other.get(b, 0.0) + p
    entropy = -sum(p * math.log(p) for p in joint.values())
    shared = sum(p * math.log(p / (own[a] * other[b])) for (a, b), p in joint.items())
    return shared / entropy if entropy > 1e-12 else 0.0


def near_a_threshold(case: Case) -> bool:
    """Whether rounding decides if some set passes; such cases say nothing."""
    mass = case.weights / case.weights.sum()
    return any(
        abs(nmi(case.combined(subset), z, mass) - case.limits[0]) < 1e-9
        for size in range(1, case.count)
        for subset in combinations(range(case.count), size)
        for z in case.z.values()
    )


def search(case: Case) -> Any:
    program = case.program
    population = Population.build(
        {**case.data, **case.z},
        protected=list(case.z),
        weights=case.weights,
        variables=program.variables,
    )
    engine = Measurement(Sample(program, population, max_support=ROWS))
    points = engine.points
    for point, term in enumerate(points.terms):
        if isinstance(term, Add | Mul | And | Or):
            operator = Operator(term, (point,), tuple(operand_choices(points, point)), False)
            epsilon, delta = case.limits
            result = search_partial_sums(
                engine, operator, NormalizedMutualInformation(), epsilon=epsilon, delta=delta
            )
            return result, [term._order[step] for step in range(case.count)]
    raise AssertionError("no operator")


def check(seed: int) -> int:
    """Compare one program with brute force; returns the number of witnesses."""
    case = Case(seed)
    if near_a_threshold(case):
        return 0
    result, order = search(case)
    assert result.exhausted
    found = {
        frozenset(order[step] for step in witness.steps): witness for witness in result.witnesses
    }
    minimal = case.minimal()
    assert set(found) == {subset for subset, _ in minimal}, seed
    epsilon, _ = case.limits
    for subset, attribute in minimal:
        assert found[subset].associations[attribute] >= epsilon - 1e-9
    return len(minimal)


def test_exhausting_some_programs_finds_the_minimal_witnesses():
    assert sum(map(check, range(30))) > 5


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, NUMBER_OF_PROGRAMS, 100))
def test_exhausting_a_thousand_programs_finds_the_minimal_witnesses(first):
    assert sum(map(check, range(first, first + 100))) > 20


# The certificate for squared correlation


def check_certificate(seed: int) -> tuple[float, float]:
    """Compare the bound with the largest squared correlation of all partial sums."""
    rng = np.random.default_rng(seed)
    count, rows = int(rng.integers(3, 9)), int(rng.integers(12, 60))
    z = rng.integers(0, 2, rows) if seed % 2 else rng.normal(size=rows)
    noise = rng.normal(size=(count, rows)) @ np.diag(rng.exponential(size=rows))
    operands = noise + np.outer(rng.normal(size=count) * rng.choice([0.0, 0.5, 2.0]), z)
    if seed % 5 == 0:
        operands = np.round(operands)
    if seed % 7 == 0:
        operands[1] = operands[0]
    weights = rng.exponential(size=rows) + 0.01 if seed % 3 else np.ones(rows)
    sets = np.array([[m >> i & 1 for i in range(count)] for m in range(1, 1 << count)], dtype=float)
    sums = sets @ operands
    mass = weights / weights.sum()
    centered, goal = sums - (sums @ mass)[:, None], z - z @ mass
    spread, total = (centered**2) @ mass, float((goal**2) @ mass)
    held = (spread > 1e-9) & (total > 1e-9)
    squared = (centered @ (mass * goal)) ** 2 / np.where(held, spread * total, 1.0)
    best = float(squared[held].max(initial=0.0))
    bound = Moments.of(operands, z, weights).certificate()
    assert bound >= best - 1e-9, seed
    assert not excluded(operands, z, weights, 0.999 * best), seed
    return best, bound


def excluded(operands: Any, z: Any, weights: Any, epsilon: float) -> bool:
    """Whether the search settles the space without measuring a set."""
    data = {f"x{i}": x for i, x in enumerate(operands)}
    program = Program.parse(f"ite({' + '.join(data)} > 0.1, 1, 0)")
    population = Population.build(
        {**data, "z": z}, protected="z", weights=weights, variables=program.variables
    )
    engine = Measurement(Sample(program, population, max_support=1000))
    points = engine.points
    (point,) = [p for p, term in enumerate(points.terms) if isinstance(term, Add)]
    term = points.terms[point]
    assert isinstance(term, Add)
    operator = Operator(term, (point,), tuple(operand_choices(points, point)), False)
    result = search_partial_sums(
        engine, operator, SquaredCorrelation(), epsilon=epsilon, delta=1.0,
        singles={step: (np.zeros(1), 0.0) for step in operator.steps},
    )  # fmt: skip
    return result.exhausted and result.measured == 0


def test_the_certificate_never_excludes_a_partial_sum():
    figures = [check_certificate(seed) for seed in range(100)]
    tight = [best > 0.9 * bound for best, bound in figures]
    assert sum(tight) > 30


@pytest.mark.slow
def test_the_certificate_never_excludes_a_partial_sum_in_a_thousand_cases():
    for seed in range(100, 1100):
        check_certificate(seed)
