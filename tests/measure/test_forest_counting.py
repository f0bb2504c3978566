"""Counts of forest blocks add up to the same bytes in any order and in any process."""

from __future__ import annotations

import multiprocessing
import pickle
from collections.abc import Callable, Iterator, Sequence
from itertools import islice, pairwise
from typing import Any

import numpy as np
import pytest

from proxyuse.data.population import Population
from proxyuse.errors import LimitExceeded
from proxyuse.input_limits import limits
from proxyuse.lang.evaluate import Array
from proxyuse.measure.association.measures.normalized_mutual_information import (
    NormalizedMutualInformation,
)
from proxyuse.measure.forests import counting
from proxyuse.measure.forests import subtrees as forest_subtrees
from proxyuse.measure.forests.counting import Block, Intervention, SubtreeSwap
from proxyuse.measure.forests.engine import ForestEngine
from proxyuse.measure.forests.plan import ForestPlan
from proxyuse.measure.forests.subtrees import SubtreeBatch, batches, count_subtrees
from proxyuse.measure.forests.variable_values import ValueClasses, count_value_classes
from proxyuse.measure.sample import Sample
from proxyuse.program import Program
from tests.measure.large_cases import large_case

FORMS = ["label", "threshold", "vote", "class sums", "sum", "boosted classes"]
Counts = tuple[Array, ...]
Question = tuple[Callable[..., Counts], Any]


def passing(plan: ForestPlan, block: Block, _: None) -> Counts:
    return counting.count_passing(plan, block, counting.decide_rows(plan, block))


def meeting(plan: ForestPlan, block: Block, number: Array) -> Counts:
    count = int(number.max()) + 1
    return counting.count_meeting(plan, block, counting.decide_rows(plan, block), number, count)


def subtrees(plan: ForestPlan, block: Block, batch: SubtreeBatch) -> Counts:
    return (count_subtrees(plan, block, batch),)


def value_classes(
    plan: ForestPlan, block: Block, question: tuple[Intervention, ValueClasses]
) -> Counts:
    intervention, classes = question
    outcomes = counting.decide_rows(plan, block)
    met, rows = counting.changeable_rows(outcomes, intervention)
    by_row, by_class = count_value_classes(plan, block, outcomes, intervention, rows, classes)
    pairs = counting.product(block.masses, by_row)
    return by_class, np.array([pairs, block.masses[met].sum()], dtype=object)


def swap(plan: ForestPlan, block: Block, question: tuple[SubtreeSwap, Array]) -> Counts:
    subtree, masses = question
    outcomes = counting.decide_rows(plan, block)
    by_row, by_value, met = counting.count_swap(plan, block, outcomes, subtree, masses)
    pairs = counting.product(block.masses, by_row)
    return by_value, np.array([pairs, block.masses[met].sum()], dtype=object)


def questions(engine: ForestEngine) -> list[Question]:
    """One question of each kind about the forest of an engine."""
    plan = engine.plan
    nodes = plan.nodes_of_test(int(np.argmax(np.bincount(plan.forest.test))))
    roots = np.arange(min(3, len(plan.forest.test)))
    subtree = SubtreeSwap.at(plan, roots[:1])
    values = engine.values_of(subtree)
    masses = np.bincount(values, engine.masses, minlength=len(subtree.leaf_of)).astype(np.int64)
    widths = [len(z) for z in engine.sample.attributes]
    return [
        (passing, None),
        (meeting, plan.forest.test.astype(np.int64)),
        (subtrees, SubtreeBatch.of(plan, roots[::-1], widths)),
        (
            value_classes,
            (
                Intervention.at(plan, nodes),
                ValueClasses.of(plan, nodes, engine.codes, engine.masses),
            ),
        ),
        (swap, (subtree, masses)),
    ]


def blocks_of(engine: ForestEngine, sizes: Sequence[int], seed: int) -> list[Block]:
    """The rows in blocks of some sizes, in random order."""
    rows = np.random.default_rng(seed).permutation(engine.sample.n_rows)
    attributes = np.array([z.codes for z in engine.sample.attributes], dtype=np.int32)
    ends = [0, *np.cumsum(sizes).tolist(), len(rows)]
    chosen = [rows[start:end] for start, end in pairwise(ends) if start < end]
    return [
        Block(engine.codes[own], engine.masses[own], np.ascontiguousarray(attributes[:, own]))
        for own in chosen
    ]


def added(parts: Sequence[Counts]) -> bytes:
    columns = zip(*parts, strict=True)
    return pickle.dumps([sum(column[1:], column[0]).tolist() for column in columns])


def engines_of(form: str, fractional: bool) -> Iterator[ForestEngine]:
    """Engines of random programs; some programs have no trees to count."""
    for seed in range(12):
        case = large_case(seed, 300, form)
        weights = np.random.default_rng(seed).uniform(0.1, 3, 300) if fractional else None
        population = Population.build(
            case.columns,
            protected=case.protected,
            weights=weights,
            variables=case.program.variables,
        )
        engine = ForestEngine.of(Sample(case.program, population))
        if engine is not None:
            yield engine


@pytest.mark.parametrize("fractional", [False, True], ids=["rows", "weights"])
@pytest.mark.parametrize("form", FORMS)
def test_blocks_add_up_to_the_same_bytes(form: str, fractional: bool) -> None:
    for engine in islice(engines_of(form, fractional), 3):
        partitions = [
            blocks_of(engine, sizes, order)
            for order, sizes in enumerate([[], [100], [1, 50, 50, 120]])
        ]
        for count, question in questions(engine):
            results = {
                added([count(engine.plan, block, question) for block in blocks])
                for blocks in partitions
            }
            assert len(results) == 1, count.__name__


def counted_elsewhere(sent: bytes) -> bytes:
    count, plan, block, question = pickle.loads(sent)
    return pickle.dumps([column.tolist() for column in count(plan, block, question)])


def test_another_process_counts_the_same_bytes() -> None:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        for form in FORMS:
            engine = next(engines_of(form, fractional=True))
            for count, question in questions(engine):
                for block in blocks_of(engine, [100, 100], seed=1):
                    sent = pickle.dumps((count, engine.plan, block, question))
                    here = [column.tolist() for column in count(engine.plan, block, question)]
                    assert pool.apply(counted_elsewhere, (sent,)) == pickle.dumps(here)


def chain(levels: int, last: str) -> ForestEngine:
    """The engine of a chain of tests that all hold for most rows."""
    tests = "".join(f"ite(a <= {40 + level}, " for level in range(levels))
    program = Program.parse(tests + "9" + "".join(f", {last.format(n)})" for n in range(levels)))
    random = np.random.default_rng(0)
    columns = {"a": random.integers(0, 200, 120), "z": random.integers(0, 3, 120)}
    population = Population.build(columns, protected="z", variables=program.variables)
    engine = ForestEngine.of(Sample(program, population))
    assert engine is not None
    return engine


def test_tables_by_value_give_the_same_associations(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = chain(160, "1")
    roots = np.arange(160)
    measure = NormalizedMutualInformation()
    known = engine.subtree_associations(roots, measure, 0.01)
    rows = [len(batch.values) for batch in batches(engine.plan, roots, [3])]
    assert rows == [2 * 160]
    monkeypatch.setattr(forest_subtrees, "DEEP", 1000)
    assert sum(len(b.cells) for b in batches(engine.plan, roots, [3])) > 160 * 160 / 2
    other = engine.subtree_associations(roots, measure, 0.01)
    for root in roots.tolist():
        assert known[root] == pytest.approx(other[root], abs=1e-12)


def test_a_chain_with_many_values_is_refused_before_the_work() -> None:
    engine = chain(160, "{0}")
    with limits(audit_steps=10_000), pytest.raises(LimitExceeded, match="13,040 steps"):
        next(batches(engine.plan, np.arange(160), [3]))
