"""Which rows have which value: what engines hand over, as tables and as sets of rows."""

from __future__ import annotations

import numpy as np
import pytest

import proxyuse as pu
from proxyuse.measure.bit_counts import common, counter
from proxyuse.measure.naive import NaiveEngine
from proxyuse.measure.row_sets import RowSets, packed
from proxyuse.measure.trial_engine import TrialEngine
from tests.small_programs import PROGRAMS, people


def in_some_order(tables):
    return [sorted(map(tuple, table[table.sum(axis=1) > 0].tolist())) for table in tables]


@pytest.mark.parametrize("weights", [None, "whole", "any"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_engines_agree_on_tables_and_rows(name, weights):
    rng = np.random.default_rng(5)
    chosen = {"whole": rng.integers(1, 5, 300), "any": rng.integers(1, 9, 300) / 8}.get(weights)
    data, program = people(), pu.Program.parse(PROGRAMS[name])
    population = pu.Population.build(data, protected=["z", "q"], weights=chosen)
    naive = NaiveEngine(program, population, max_support=20, bins=4)
    fast = TrialEngine(program, population, max_support=20, bins=4)
    terms = pu.audit(program, data, ["z", "q"]).decompositions.computations
    expected = [in_some_order([t.masses for t in naive.tables(term)]) for term in terms]
    assert [in_some_order(tables) for tables in naive.masses(terms)] == expected
    few = terms[:3]
    assert [in_some_order(tables) for tables in fast.masses(few)] == expected[:3]
    assert [in_some_order(tables) for tables in fast.masses(terms)] == expected
    for engine in (naive, fast):
        seen = {}
        for place, sets in engine.row_sets(terms):
            codes = sets.codes_of(300)
            seen[place] = in_some_order(
                np.bincount(
                    codes * len(z) + z.codes, population.weights, sets.size * len(z)
                ).reshape(sets.size, len(z))
                for _, z in engine.protected
            )
        assert [seen[i] for i in range(len(terms))] == expected


@pytest.mark.parametrize("size", [1, 2, 5, 300])
def test_row_sets_are_the_rows(size):
    codes = np.random.default_rng(0).integers(0, size, 131)
    sets = RowSets.of(codes, size)
    assert (sets.words is None) == (size > 256)
    assert sets.codes_of(131).tolist() == codes.tolist()


@pytest.mark.parametrize("rows", [1, 64, 700, 70_000])
def test_bits_are_counted_alike(rows):
    pytest.importorskip("numba")
    rng = np.random.default_rng(0)
    first, second = rng.random((7, rows)) < 0.4, rng.random((6, rows)) < 0.6
    expected = first.astype(np.int64) @ second.T.astype(np.int64)
    assert common(packed(first), packed(second)).tolist() == expected.tolist()
    assert counter(0, compiled=True)(packed(first), packed(second)).tolist() == expected.tolist()
