"""Partial sums are found and confirmed on rows that did not choose them, and noise is not."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import proxyuse as pu
from proxyuse.lang.build import add
from proxyuse.lang.nodes import Compare, Const, Ite, Relation, Var
from proxyuse.measure.row_order import first_half
from proxyuse.program import Program
from proxyuse.validity.chosen_sums import can_split
from tests.validity.noise_runs import RUNS

PLANTED = [(20, 1020, 0.26), (50, 780, 0.34), (100, 700, 0.38), (200, 600, 0.41)]
"""The number of stumps that follow the attribute, of others, and how many rows they get wrong."""

EVERY_STUMP = pu.Budget(positions=10_000)
"""Every stump is measured, not only bounded."""


def votes(names, shares):
    """A weighted vote of stumps, one per column."""
    stumps = [
        Ite(Compare(Relation.LE, Var(name), Const(0.5)), Const(-share), Const(share))
        for name, share in zip(names, shares, strict=True)
    ]
    term = Ite(Compare(Relation.GT, add(*stumps), Const(0.0)), Const(1.0), Const(0.0))
    return Program(term, tuple(names))


def planted(seed, rows, follow, others, flipped):
    rng = np.random.default_rng(seed)
    z = rng.integers(0, 2, rows)
    data = {f"x{i}": np.where(rng.random(rows) < flipped, 1 - z, z) for i in range(follow)}
    data |= {f"w{i}": rng.integers(0, 2, rows) for i in range(others)}
    shares = rng.uniform(0.9, 1.1, len(data)).round(3).tolist()
    return votes(list(data), shares), data | {"z": z}


def sums_of(audit):
    return [witness for witness in audit.witnesses if witness.decomposition.sites[0].operands]


def stumps_of(audit):
    """The influence of each stump alone."""
    found, terms = audit.decompositions, audit.program.points.terms
    return [
        influence
        for influence, sites in zip(found.influences, found.sites, strict=True)
        if len(sites) == 1 and not sites[0].operands and isinstance(terms[sites[0].point], Ite)
        if sites[0].point > 0
    ]


def test_a_planted_sum_is_reported_and_confirmed():
    program, data = planted(0, 2000, 50, 780, 0.34)
    audit = pu.audit(program, data, "z", budget=EVERY_STUMP)
    assert max(stumps_of(audit)) < 0.02
    (confirmed,) = [witness for witness in sums_of(audit) if witness.confirmed]
    text = program.text_of(confirmed.expression)
    assert 20 < text.count("ite(x") > text.count("ite(w")
    irreducible = [witness for witness in sums_of(audit) if not witness.confirmed]
    assert irreducible
    assert min(witness.size for witness in irreducible) < confirmed.size


def test_sums_of_trees_of_a_large_forest_are_searched():
    program, data = planted(1, 2000, 50, 100, 0.36)
    small, large = (
        pu.audit(program, data, "z", budget=pu.Budget(positions=positions))
        for positions in (4096, 0)
    )
    assert [w.id for w in sums_of(small)] == [w.id for w in sums_of(large)]
    assert any(witness.confirmed for witness in sums_of(large))
    assert any("of the 150 terms of the score were searched" in text for text in large.searched)


@pytest.mark.slow
@pytest.mark.parametrize(("follow", "others", "flipped"), PLANTED)
def test_planted_sums_are_reported_in_all_and_confirmed_in_most_samples(follow, others, flipped):
    seen: Counter[str] = Counter()
    for seed in range(20):
        program, data = planted(seed, 2000, follow, others, flipped)
        audit = pu.audit(program, data, "z", budget=EVERY_STUMP)
        assert max(stumps_of(audit)) < 0.02
        seen["reported"] += bool(sums_of(audit))
        seen["confirmed"] += any(witness.confirmed for witness in sums_of(audit))
    assert seen["reported"] == 20
    assert seen["confirmed"] >= 18


def noise_confirmed(runs, rows, epsilon):
    """In how many runs a partial sum is found, and confirmed, if the attribute is a coin."""
    seen: Counter[str] = Counter()
    for run in range(runs):
        program, data = planted(run, rows, 30, 30, 0.4)
        data["z"] = np.random.default_rng([run, 1]).integers(0, 2, rows)
        sums = sums_of(pu.audit(program, data, "z", epsilon))
        seen["found"] += bool(sums)
        seen["confirmed"] += any(witness.confirmed for witness in sums)
    return seen


def test_a_coin_has_no_confirmed_sum():
    seen = noise_confirmed(10, 300, 0.02)
    assert seen["found"] > 5
    assert seen["confirmed"] == 0


@pytest.mark.slow
@pytest.mark.parametrize("rows", [200, 1000])
def test_coins_have_a_confirmed_sum_in_at_most_5_percent_of_runs(rows):
    seen = noise_confirmed(RUNS, rows, 0.01)
    assert seen["found"] > RUNS / 2
    assert seen["confirmed"] == 0


def test_the_order_of_rows_does_not_matter():
    program, data = planted(2, 1000, 30, 60, 0.36)
    order = np.random.default_rng(0).permutation(1000)
    moved = {name: values[order] for name, values in data.items()}
    first, second = (
        {w.id: (w.verdict, w.influence) for w in sums_of(pu.audit(program, rows, "z"))}
        for rows in (data, moved)
    )
    assert first == second


def test_rows_of_one_cluster_choose_or_test_together():
    program, data = planted(3, 600, 30, 30, 0.36)
    data = {name: np.repeat(values, 2) for name, values in data.items()}
    person = np.repeat(np.arange(600), 2)
    audit = pu.audit(program, data, "z", clusters=person)
    assert audit._evidence is not None
    assert audit._evidence.first_half is not None
    first = audit._evidence.first_half()
    assert (first[::2] == first[1::2]).all()
    assert 200 < first[::2].sum() < 400


def test_halves_do_not_depend_on_the_attribute_among_equal_rows():
    """Rows with equal content are split too, and their attribute is in both halves."""
    rng = np.random.default_rng(0)
    data = {"x": rng.integers(0, 2, 4000), "z": rng.integers(0, 2, 4000)}
    audit = pu.audit(pu.Program.parse("ite(x <= 0, 0, 1)"), data, "z")
    first = first_half(audit.measurement.sample, None)
    for x in (0, 1):
        for z in (0, 1):
            share = first[(data["x"] == x) & (data["z"] == z)].mean()
            assert 0.45 < share < 0.55


def test_a_row_that_stands_for_several_records_is_not_split():
    program, data = planted(4, 800, 30, 30, 0.3)
    weights = np.random.default_rng(0).integers(1, 4, 800)
    audit = pu.audit(program, data, "z", weights=weights, validity=None)
    population = audit.population
    assert can_split(population, "sampling")
    assert not can_split(population, "counts")
