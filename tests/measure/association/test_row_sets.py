"""Row sets, as tables and as bits, agree with the values of each row."""

from __future__ import annotations

import numpy as np
import pytest

import proxyuse as pu
from proxyuse.measure.association.bit_counts import common
from proxyuse.measure.association.row_sets import RowSets, packed
from tests.measure.agreement import NMI, measured
from tests.small_programs import PROGRAMS, people


def in_some_order(tables):
    return [sorted(map(tuple, table[table.sum(axis=1) > 0].tolist())) for table in tables]


@pytest.mark.parametrize("weights", [None, "whole", "any"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_tables_and_row_sets_agree(name, weights):
    rng = np.random.default_rng(5)
    chosen = {"whole": rng.integers(1, 5, 300), "any": rng.integers(1, 9, 300) / 8}.get(weights)
    data, program = people(), pu.Program.parse(PROGRAMS[name])
    population = pu.Population.build(data, protected=["z", "q"], weights=chosen)
    joint = measured(program, population, max_support=20, bins=4).joint
    terms = pu.audit(program, data, ["z", "q"]).decompositions.computations
    expected = [in_some_order([t.masses for t in joint.tables(term, NMI)]) for term in terms]
    assert [in_some_order(joint.parts(term)[0][1]) for term in terms] == expected
    seen = {}
    for index, sets in joint.row_sets(terms):
        assert isinstance(sets, RowSets)
        codes = sets.codes_of(300)
        seen[index] = in_some_order(
            np.bincount(codes * len(z) + z.codes, population.weights, sets.size * len(z)).reshape(
                sets.size, len(z)
            )
            for z in joint.sample.attributes
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
    rng = np.random.default_rng(0)
    first, second = rng.random((7, rows)) < 0.4, rng.random((6, rows)) < 0.6
    expected = first.astype(np.int64) @ second.T.astype(np.int64)
    assert common(packed(first), packed(second)).tolist() == expected.tolist()
