"""Collective witnesses are found and confirmed, and noise is not."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import proxyuse as pu
from proxyuse.lang.build import add
from proxyuse.lang.nodes import Compare, Const, Ite, Relation, Var
from proxyuse.methods import Confirmation
from proxyuse.program import Program
from proxyuse.report.document import document
from proxyuse.validity.collections import Collections
from proxyuse.validity.sample import Observed, halves
from proxyuse.verdict import Verdict
from tests.validity.noise_runs import RUNS

TREES = 100


def votes(names, share=1.0):
    """A sum of stumps, one per column, against a threshold."""
    stumps = [
        Ite(Compare(Relation.LE, Var(name), Const(0.5)), Const(-share), Const(share))
        for name in names
    ]
    term = Ite(Compare(Relation.GT, add(*stumps), Const(0.0)), Const(1.0), Const(0.0))
    return Program(term, tuple(names))


def noisy_copies(z, number, flipped, rng):
    """Columns that agree with an attribute except for some rows, which differ by column."""
    return {f"x{i}": np.where(rng.random(len(z)) < flipped, 1 - z, z) for i in range(number)}


def planted(seed, rows, number=TREES // 2, flipped=0.13):
    """A vote of stumps. Half of them are noisy copies of the attribute, the others are not.

    The copies agree too often for a single one to be influential.
    """
    rng = np.random.default_rng(seed)
    z = rng.integers(0, 2, rows)
    data = noisy_copies(z, number, flipped, rng)
    others = {f"w{i}": rng.integers(0, 2, rows) for i in range(number + 1)}
    return votes([*data, *others]), {**data, **others, "z": z}


def audited(seed, rows, **options):
    program, data = planted(seed, rows)
    return pu.audit(program, data, "z", budget=pu.Budget(grow=0), **options)


def test_a_planted_collection_is_found_and_confirmed():
    audit = audited(0, 2000)
    collection = audit.collections["z"]
    assert {member.term for member in collection.members} == {f"x{i} <= 0.5" for i in range(50)}
    assert min(member.association for member in collection.members) > 0.2
    assert collection.distributed
    assert collection.single.bound < 0.02
    assert collection.measured.low > 0.2
    assert collection.verdict is Verdict.CONFIRMED
    assert collection.confirmed is not None
    assert collection.confirmed.members == 50
    assert 0.2 < collection.confirmed.influence < collection.measured.high
    assert "50 tests in 50 trees, on " in str(audit)


def test_associations_of_members_are_as_precise_as_a_report_may_be():
    x = np.repeat([0, 0, 1, 1], [197, 3, 4, 196])
    data = {"x": x, "y": x[::-1].copy(), "z": np.repeat([0, 1, 0, 1], [197, 3, 4, 196])}
    audit = pu.audit(pu.Program.parse("ite(x <= 0, ite(y <= 0, 0, 1), 1)"), data, "z")
    result = document(audit)
    known = result.protected[0].collection
    assert known is not None
    tests = [w for w in result.witnesses if w.operator == "compare"]
    ranges = [w.association_range for w in tests if w.association_range is not None]
    assert len(ranges) == len(tests) == 2
    assert known.association_low == min(low for low, _ in ranges)
    assert known.association_high == max(high for _, high in ranges)
    assert [member.association_range for member in known.strongest] == ranges


def in_trees(seed, rows, flipped=0.11):
    """A vote of trees of depth 2. One test in each of them is a noisy copy of the attribute."""
    rng = np.random.default_rng(seed)
    z = rng.integers(0, 2, rows)
    data = noisy_copies(z, TREES, flipped, rng)
    data |= {f"w{i}": rng.integers(0, 2, rows) for i in range(2 * TREES)}

    def split(name, low, high):
        return Ite(Compare(Relation.LE, Var(name), Const(0.5)), low, high)

    low, high = Const(-1.0), Const(1.0)
    trees = [
        split(f"w{2 * i}", split(f"x{i}", low, high), split(f"w{2 * i + 1}", low, high))
        for i in range(TREES)
    ]
    term = Ite(Compare(Relation.GT, add(*trees), Const(0.0)), Const(1.0), Const(0.0))
    return Program(term, tuple(data)), {**data, "z": z}


@pytest.mark.slow
@pytest.mark.parametrize("plant", [partial(planted, flipped=0.11), in_trees])
def test_planted_collections_are_found_in_all_and_confirmed_in_most_samples(plant):
    verdicts = []
    for seed in range(20):
        program, data = plant(seed, 2000)
        audit = pu.audit(program, data, "z", budget=pu.Budget(grow=0))
        collection = audit.collections["z"]
        members = {member.term for member in collection.members}
        assert members == {f"{name} <= 0.5" for name in data if name.startswith("x")}
        assert min(member.association for member in collection.members) >= 0.25
        assert collection.single.bound < 0.02
        assert collection.distributed
        assert collection.influence > 0.2
        verdicts.append(collection.verdict)
    assert set(verdicts) <= {Verdict.CONFIRMED, Verdict.POSSIBLE}
    assert verdicts.count(Verdict.CONFIRMED) >= 18


def noise_confirmed(runs, rows=1000, epsilon=0.02):
    """In how many runs a collection is confirmed if the attribute is a coin."""
    confirmed, parts = 0, 20
    for part in range(parts):
        program, data = planted(part, rows)
        del data["z"]
        rng = np.random.default_rng([part, 1])
        number = len(range(part, runs, parts))
        coins = {f"z{i}": rng.integers(0, 2, rows) for i in range(number)}
        audit = pu.audit(program, data, coins, epsilon, validity=None, budget=pu.Budget(grow=0))
        # The attributes share alpha, so k attributes at k times alpha are k audits.
        assert audit._evidence is not None
        collections = Collections(audit._evidence, Confirmation(alpha=0.05 * number))
        found = (collections.of(attribute) for attribute in range(number))
        verdicts = [collection.verdict for collection in found if collection is not None]
        confirmed += verdicts.count(Verdict.CONFIRMED)
    return confirmed


def test_a_coin_has_no_confirmed_collection():
    assert noise_confirmed(20, rows=200) == 0


@pytest.mark.slow
def test_coins_have_a_confirmed_collection_in_at_most_5_percent_of_runs():
    assert noise_confirmed(RUNS, rows=200) == 0
    assert noise_confirmed(RUNS, rows=1000) == 0


@pytest.mark.slow
@pytest.mark.parametrize("plant", [planted, in_trees])
def test_a_permuted_attribute_is_confirmed_in_at_most_5_percent_of_runs(plant):
    """Whole audits: terms, partial sums and collections together."""
    plants = [plant(seed, 300) for seed in range(20)]
    for run in range(RUNS):
        program, data = plants[run % len(plants)]
        z = np.random.default_rng([run, 2]).permutation(data["z"])
        assert pu.audit(program, {**data, "z": z}, "z", 0.02).verdict is not Verdict.CONFIRMED


@pytest.mark.slow
def test_members_just_below_epsilon_are_confirmed_in_at_most_5_percent_of_samples():
    """The copies have an association of 0.0631, and together they change many decisions."""
    for seed in range(RUNS):
        program, data = planted(seed, 600, number=20, flipped=0.3)
        audit = pu.audit(program, data, "z", 0.0632, budget=pu.Budget(grow=0))
        found = audit.collections.get("z")
        assert found is None or found.verdict is not Verdict.CONFIRMED


def test_members_chosen_by_chance_are_not_confirmed():
    """At a small epsilon, chance alone makes members that change many decisions together."""
    rng = np.random.default_rng(9)
    data = {f"w{i}": rng.integers(0, 2, 300) for i in range(31)}
    program, coin = votes(list(data)), rng.integers(0, 2, 300)
    audit = pu.audit(program, data | {"z": coin}, "z", 0.0015, budget=pu.Budget(grow=0))
    collection = audit.collections["z"]
    assert collection.measured.low > 0.05
    assert collection.verdict is Verdict.POSSIBLE
    assert collection.confirmed is not None
    assert collection.confirmed.members == 0


def test_rows_of_one_cluster_are_in_the_same_half():
    program, data = planted(0, 1000)
    data = {name: np.repeat(values, 3) for name, values in data.items()}
    person = np.repeat(np.arange(1000), 3)
    audit = pu.audit(program, data, "z", clusters=person, budget=pu.Budget(grow=0))
    assert audit._evidence is not None
    observed = Observed.of(audit._evidence, "sampling")
    first = halves(audit._evidence, observed)
    by_person = first.reshape(1000, 3)
    assert (by_person.all(axis=1) | ~by_person.any(axis=1)).all()
    assert 1200 < first.sum() < 1800
    part = observed.taking(first)
    assert part.observations == by_person.all(axis=1).sum()
    assert audit.collections["z"].verdict is Verdict.CONFIRMED


def test_the_order_of_rows_does_not_matter():
    program, data = planted(1, 600)
    order = np.random.default_rng(0).permutation(600)
    moved = {name: values[order] for name, values in data.items()}
    first, second = (
        pu.audit(program, rows, "z", budget=pu.Budget(grow=0)).collections["z"]
        for rows in (data, moved)
    )
    assert first.influence == second.influence
    assert first.confirmed == second.confirmed
    assert first.id == second.id


def test_a_collection_needs_shares_of_pairs():
    rng = np.random.default_rng(0)
    data = {"x": rng.normal(size=50), "y": rng.normal(size=50), "z": rng.integers(0, 2, 50)}
    audit = pu.audit(pu.Program.parse("2 * x + y"), data, "z", influence=pu.SquaredChange())
    assert audit.collections == {}
    assert audit.searched == (
        "Weakly associated computations were not taken together, because their influence is "
        "sampled or is not a share of decisions.",
    )


def parity(names, odd=False):
    """A tree that says whether an odd number of columns is 1."""
    if not names:
        return str(int(odd))
    first, *others = names
    return f"ite({first} <= 0.5, {parity(others, odd)}, {parity(others, not odd)})"


def test_a_part_with_more_influence_than_the_whole_is_found():
    """With another person's values, three columns flip the parity, and four do not."""
    rng = np.random.default_rng(0)
    z = rng.integers(0, 2, 1000)
    flipped = {"a": 0.005, "b": 0.005, "c": 0.005, "d": 0.13}
    data = {name: np.where(rng.random(1000) < share, 1 - z, z) for name, share in flipped.items()}
    program = pu.Program.parse(parity(list(flipped)))
    audit = pu.audit(program, {**data, "z": z}, "z", delta=0.3, validity=None)
    collection = audit.collections["z"]
    assert {member.term for member in collection.members} == {f"{n} <= 0.5" for n in "abc"}
    assert collection.influence > 0.45
    assert collection.verdict is Verdict.POSSIBLE
    levels = {point.members: point.influence.influence for point in
              audit.collective_curve("z").points}  # fmt: skip
    assert levels[4] < 0.3 < levels[3]


def test_a_collection_whose_parts_may_change_more_is_not_found_but_not_excluded():
    z = np.random.default_rng(0).integers(0, 2, 1000)
    data = {"a": z, "b": z, "z": z}
    known = pu.audit(pu.Program.parse(parity(["a", "b"])), data, "z", validity=None)
    collection = known.collections["z"]
    assert collection.influence == 0
    assert collection.verdict is Verdict.NOT_FOUND
    assert collection.bound == 1
