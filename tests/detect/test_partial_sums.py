"""The search of partial sums finds what enumerating all subsets finds."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxyuse.data.population import Population
from proxyuse.detect.operators import Operator, PartialSums, SumBudget
from proxyuse.detect.partial_sums import search_partial_sums
from proxyuse.lang.nodes import Add, And, Mul, Or
from proxyuse.lang.positions import Site, operand_choices
from proxyuse.measure.association.measures.normalized_mutual_information import (
    NormalizedMutualInformation,
)
from proxyuse.measure.association.measures.squared_correlation import SquaredCorrelation
from proxyuse.measure.bounds.screen import screen_for
from proxyuse.measure.engine import Measurement
from proxyuse.measure.reference import Reference
from proxyuse.measure.sample import Sample
from proxyuse.program import Program

NMI = NormalizedMutualInformation()
SEARCH_ONLY = SumBudget(screened=0, measured=0, bounded=0)

PROGRAMS = {
    "sum": "ite({}{} > 0.3, 1, 0)",
    "regression": "{}{}",
    "product": "ite({}{} > 0.1, 1, 0)",
    "and": "ite({}{}, 1, 0)",
    "or": "ite({}{}, 1, 0)",
}
SIGNS = {"sum": " + ", "regression": " + ", "product": " * ", "and": " and ", "or": " or "}


def people(seed: int, operands: int, rows: int, kind: str) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    z = rng.integers(0, 2, rows)
    data: dict[str, Any] = {"z": z, "y": np.array(["l", "m", "n"])[rng.integers(0, 3, rows)]}
    noise = rng.normal(size=rows)
    for i in range(operands):
        x = rng.normal(size=rows) + z * rng.normal() * 0.8 + noise * rng.normal()
        if kind in ("and", "or"):
            x = (x > (-0.8 if kind == "and" else 0.8)).astype(float)
        elif rng.random() < 0.4:
            x = np.round(x)
        data[f"x{i}"] = x
    return data


def program_of(kind: str, operands: int, seed: int) -> Program:
    rng = np.random.default_rng(seed + 1)
    if kind in ("and", "or"):
        parts = [f"(x{i} == 1)" for i in range(operands)]
    elif kind == "product":
        parts = [f"x{i}" for i in range(operands)]
    else:
        parts = [f"{rng.normal():.3f} * x{i}" for i in range(operands)]
    return Program.parse(PROGRAMS[kind].format("", SIGNS[kind].join(parts)))


def engine_for(program: Program, data: dict[str, Any], **options: Any) -> Measurement:
    return Measurement(Sample(program, population_of(program, data, options), **options))


def defined(program: Program, data: dict[str, Any], **options: Any) -> Reference:
    return Reference(program, population_of(program, data, options), **options)


def population_of(program: Program, data: dict[str, Any], options: dict[str, Any]) -> Population:
    weights = options.pop("weights", None)
    protected = options.pop("protected", ["z", "y"])
    return Population.build(data, protected=protected, weights=weights, variables=program.variables)


def operator_of(engine: Measurement | Reference) -> Operator:
    points = engine.points
    for point, term in enumerate(points.terms):
        if isinstance(term, Add | Mul | And | Or) and len(operand_choices(points, point)) > 2:
            return Operator(term, (point,), tuple(operand_choices(points, point)), False)
    raise AssertionError("no operator")


def screen_of(engine: Measurement, max_support: int = 16, bins: int | None = 4) -> Any:
    supports = [z for _, z in engine.protected]
    return screen_for(supports, engine.weights, NMI, groups=bins, max_support=max_support)


class Every:
    """Each subset with its measures, by the definition."""

    def __init__(self, engine: Reference, operator: Operator, epsilon: float, delta: float):
        self.steps = operator.steps
        point = operator.points[0]
        below = engine.points.below(point)
        self.passing: dict[frozenset[int], list[bool]] = {}
        for size in range(1, len(self.steps)):
            for subset in combinations(self.steps, size):
                site = Site(point, subset) if size > 1 else Site(below[subset[0]])
                term = engine.points.term_at(site)
                associations = engine.associations(term)
                influence = engine.influence([site])
                self.passing[frozenset(subset)] = [
                    bool(a >= epsilon and influence > delta) for a in associations
                ]

    def witness(self, subset: frozenset[int], attribute: int) -> bool:
        return self.passing[subset][attribute]

    def minimal(self, appropriate: frozenset[frozenset[int]] = frozenset()) -> set[frozenset[int]]:
        minimal = set()
        for subset, passing in self.passing.items():
            for attribute, passes in enumerate(passing):
                inside = (s for s in self.passing if s < subset and s not in appropriate)
                if (
                    len(subset) > 1
                    and passes
                    and not any(self.passing[s][attribute] for s in inside)
                ):
                    minimal.add(subset)
        return minimal


def found_in(result: PartialSums) -> set[frozenset[int]]:
    return {frozenset(witness.steps) for witness in result.witnesses}


kinds = st.sampled_from(sorted(PROGRAMS))
thresholds = st.tuples(st.sampled_from([0.02, 0.05, 0.1, 0.2]), st.sampled_from([0.0, 0.05, 0.2]))


@given(kinds, st.integers(0, 10**6), st.integers(3, 5), thresholds, st.booleans(), st.booleans())
def test_exhausting_finds_exactly_the_minimal_witnesses(
    kind, seed, operands, limits, screened, weighted
):
    data = people(seed, operands, 60, kind)
    weights = np.random.default_rng(seed).integers(0, 4, 60) + 0.5 if weighted else None
    options = {"max_support": 16, "bins": 4, "weights": weights}
    program = program_of(kind, operands, seed)
    naive = defined(program, data, **options)
    engine = engine_for(program, data, **options)
    operator = operator_of(engine)
    epsilon, delta = limits
    screen = screen_of(engine) if screened else None
    result = search_partial_sums(engine, operator, NMI, epsilon=epsilon, delta=delta, screen=screen)
    assert result.exhausted
    assert result.searched is None
    assert found_in(result) == Every(naive, operator, epsilon, delta).minimal()


@given(kinds, st.integers(0, 10**6), st.integers(3, 5), thresholds)
def test_searching_finds_irreducible_witnesses_only(kind, seed, operands, limits):
    data = people(seed, operands, 60, kind)
    program = program_of(kind, operands, seed)
    naive = defined(program, data, max_support=16, bins=4)
    engine = engine_for(program, data, max_support=16, bins=4)
    operator = operator_of(engine)
    epsilon, delta = limits
    result = search_partial_sums(
        engine, operator, NMI, epsilon=epsilon, delta=delta, screen=screen_of(engine),
        budget=SEARCH_ONLY,
    )  # fmt: skip
    every = Every(naive, operator, epsilon, delta)
    for subset in found_in(result):
        assert any(
            every.witness(subset, a) and not any(every.witness(subset - {i}, a) for i in subset)
            for a in range(2)
        )
    if not result.exhausted:
        assert result.searched is not None
        assert result.searched.number == operands
        assert result.searched.measured <= result.searched.subsets == operator.subsets


@given(st.integers(0, 10**6), st.integers(3, 5), thresholds)
def test_the_search_continues_past_what_was_judged_appropriate(seed, operands, limits):
    data = people(seed, operands, 60, "sum")
    program = program_of("sum", operands, seed)
    naive = defined(program, data, max_support=16, bins=4)
    engine = engine_for(program, data, max_support=16, bins=4)
    operator = operator_of(engine)
    every = Every(naive, operator, *limits)
    first = min((tuple(sorted(s)) for s, p in every.passing.items() if any(p)), default=None)
    if first is None:
        return
    point = operator.points[0]
    site = Site(point, first) if len(first) > 1 else Site(naive.points.below(point)[first[0]])
    judged = naive.points.term_at(site)
    result = search_partial_sums(
        engine, operator, NMI, epsilon=limits[0], delta=limits[1],
        appropriate=lambda term: term.digest == judged.digest,
    )  # fmt: skip
    assert found_in(result) == every.minimal(frozenset([frozenset(first)]))


def test_all_subsets_are_listed_with_their_measures():
    program, data = program_of("sum", 5, 3), people(3, 5, 50, "sum")
    engine = engine_for(program, data)
    operator = operator_of(engine)
    result = search_partial_sums(engine, operator, NMI, epsilon=0.5, delta=0.5, all_subsets=True)
    assert len(result.listed) == result.subsets == result.measured == 25
    for subset in result.listed:
        assert subset.influence == engine.influence([Site(operator.points[0], subset.steps)])
        assert subset.associations == pytest.approx(engine.associations((subset.term,), NMI)[0])


def test_a_bound_on_what_operands_can_move_settles_an_operator_at_once():
    program = Program.parse("ite(a + b + c > 1000, 1, 0)")
    data = {name: np.arange(40.0) for name in "abc"} | {"z": [0, 1] * 20}
    engine = engine_for(program, data, protected=["z"])
    operator = replace(operator_of(engine), unique=True)
    result = search_partial_sums(engine, operator, NMI, epsilon=0.0, delta=0.0)
    assert (result.exhausted, result.measured) == (True, 0)


def test_two_operands_that_say_together_what_neither_says_alone_are_found_among_many():
    rng = np.random.default_rng(0)
    rows, operands = 3000, 60
    data = {f"x{i}": rng.normal(size=rows) for i in range(operands)}
    z = rng.integers(0, 2, rows)
    data["x7"] = 5 * rng.normal(size=rows)
    data["x31"] = 3.0 * z - data["x7"] + 0.1 * rng.normal(size=rows)
    program = Program.parse(f"ite({' + '.join(data)} > 1, 1, 0)")
    engine = engine_for(program, data | {"z": z}, protected=["z"])
    operator = operator_of(engine)
    result = search_partial_sums(
        engine, operator, NMI, epsilon=0.2, delta=0.05, screen=screen_of(engine, 256, 16)
    )
    assert not result.exhausted
    assert {"x7 + x31"} & {program.text_of(witness.term) for witness in result.witnesses}
    assert result.measured < 5000


def test_equal_operands_are_one_decomposition_at_disjoint_positions():
    program = Program.parse("ite(a + a + b + b + c > 2, 1, 0)")
    rng = np.random.default_rng(1)
    data = {name: rng.integers(0, 3, 80).astype(float) for name in "abc"}
    data["z"] = (data["a"] + data["b"] > 2).astype(int)
    engine = engine_for(program, data, protected=["z"])
    result = search_partial_sums(
        engine, operator_of(engine), NMI, epsilon=0.0, delta=0.0, all_subsets=True
    )
    texts = [program.text_of(subset.term) for subset in result.listed]
    assert len(set(texts)) == len(texts)
    (both,) = [f for f in result.listed if program.text_of(f.term) == "a + b"]
    assert {len(positions) for positions in both.positions} == {1, 2}
    for positions in both.positions:
        for first, second in combinations(positions, 2):
            assert engine.points.disjoint(first, second)


def test_a_subset_that_stands_elsewhere_is_an_occurrence_of_that_term():
    program = Program.parse("ite(a + b + c > 2, ite(a + b > 1, 1, 2), 0)")
    rng = np.random.default_rng(2)
    data = {name: rng.integers(0, 3, 90).astype(float) for name in "abc"}
    data["z"] = (data["a"] + data["b"] > 2).astype(int)
    engine = engine_for(program, data, protected=["z"])
    points = engine.points
    there = [Site(p) for p, t in enumerate(points.terms) if program.text_of(t) == "a + b"]
    result = search_partial_sums(
        engine, operator_of(engine), NMI, epsilon=0.1, delta=0.0, all_subsets=True,
        elsewhere=lambda term: there if program.text_of(term) == "a + b" else (),
    )  # fmt: skip
    (both,) = [f for f in result.listed if program.text_of(f.term) == "a + b"]
    assert max(both.positions, key=len) == tuple(sorted([both.positions[0][0], *there]))


def test_a_certificate_settles_squared_correlation_of_any_number_of_operands():
    rng = np.random.default_rng(4)
    data = {f"x{i}": rng.normal(size=2000) for i in range(40)}
    program = Program.parse(f"ite({' + '.join(data)} > 1, 1, 0)")
    engine = engine_for(program, data | {"z": rng.integers(0, 2, 2000)}, protected=["z"])
    operator, squared = operator_of(engine), SquaredCorrelation()
    settled = search_partial_sums(engine, operator, squared, epsilon=0.1, delta=0.0)
    assert (settled.exhausted, settled.measured, settled.searched) == (True, 0, None)
    open_one = search_partial_sums(engine, operator, squared, epsilon=0.001, delta=0.9)
    assert not open_one.exhausted


def test_sums_of_vectors_are_searched_by_their_coordinates():
    text = "argmax([x0, 0.5] + [x1, x0] + [0.3 * x2, x3] + [x3, x2])"
    data = people(5, 4, 200, "sum")
    engine = engine_for(Program.parse(text), data, protected=["z"])
    operator = operator_of(engine)
    result = search_partial_sums(
        engine, operator, NMI, epsilon=0.0, delta=0.0, budget=SEARCH_ONLY,
        singles={step: (np.zeros(1), 0.0) for step in operator.steps},
    )  # fmt: skip
    assert result.witnesses
    assert {len(witness.steps) for witness in result.witnesses} == {2}
    assert result.searched is not None
    assert (result.searched.operands, result.searched.number) == ("terms", 4)
