"""The table of thresholds counts what an audit at each pair finds, or says that it is unknown."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest

import proxyuse as pu
from proxyuse.validity import threshold_tables

TREE = "ite(a <= 1, ite(b <= 2, 1, ite(a <= 0, 0, 1)), ite(c <= 1, 1, ite(b <= 0, 1, 0)))"
EPSILONS, DELTAS = [0.01, 0.1, 0.3], [0.01, 0.05, 0.2]


def people(rows=800):
    rng = np.random.default_rng(5)
    z, y = rng.integers(0, 2, rows), rng.integers(0, 3, rows)
    a = np.where(rng.random(rows) < 0.8, 2 * z, rng.integers(0, 3, rows))
    b = np.where(rng.random(rows) < 0.5, y, rng.integers(0, 4, rows))
    return {"a": a, "b": b, "c": rng.integers(0, 3, rows), "z": z, "y": y}


def audited(source=TREE, **options):
    chosen = {"epsilon": 0.1, "delta": 0.05, "validity": "confirm", **options}
    return pu.audit(pu.Program.parse(source), people(), ["y", "z"], **chosen)


@pytest.mark.parametrize("protected", ["y", "z"])
def test_each_cell_is_what_an_audit_at_these_thresholds_finds(protected):
    table = audited().threshold_table(protected, epsilons=EPSILONS, deltas=DELTAS)
    assert (table.epsilons, table.deltas) == ((0.01, 0.1, 0.3), (0.01, 0.05, 0.2))
    for y, delta in enumerate(table.deltas):
        for x, epsilon in enumerate(table.epsilons):
            witnesses = [
                w
                for w in audited(epsilon=epsilon, delta=delta).witnesses
                if w.protected == protected
            ]
            confirmed = sum(w.validity.confirmed for w in witnesses)
            assert (table.witnesses[y][x], table.confirmed[y][x]) == (len(witnesses), confirmed)


def test_the_thresholds_of_the_audit_are_in_the_table():
    table = audited(epsilon=0.17, delta=0.03).threshold_table("z")
    assert 0.17 in table.epsilons
    assert 0.03 in table.deltas
    assert list(table.epsilons) == sorted(table.epsilons)


def test_looser_pairs_are_unknown_where_combinations_were_searched():
    linear = "ite(0.7 * a + 0.2 * b - 0.4 * c + 0.1 * a * b > 1.2, 1, 0)"
    table = audited(linear).threshold_table("z", epsilons=EPSILONS, deltas=DELTAS)
    known = np.array([[n is not None for n in row] for row in table.witnesses])
    assert known.tolist() == [[False] * 3, [False, True, True], [False, True, True]]
    assert [[n is not None for n in row] for row in table.confirmed] == known.tolist()


def test_looser_pairs_are_unknown_where_influences_were_not_measured():
    audit = audited(budget=pu.Budget(positions=0))
    assert np.isnan(audit.decompositions.influences).any()
    table = audit.threshold_table("z", epsilons=EPSILONS, deltas=DELTAS)
    assert table.witnesses[0][0] is None
    assert table.witnesses[1][1] == sum(w.protected == "z" for w in audit.witnesses)


def test_confirmed_ones_are_counted_only_with_confirmation():
    for validity in (None, "permutation"):
        table = audited(validity=validity).threshold_table("z")
        assert {n for row in table.confirmed for n in row} == {None}
        assert table.witnesses[0][0]


def test_without_bounds_on_influence_confirmed_counts_are_unknown():
    program = "ite(a <= 1, 2 * b, 3 * c)"
    audit = audited(program, influence=pu.SquaredChange())
    table = audit.threshold_table("z")
    own = table.deltas.index(0.05), table.epsilons.index(0.1)
    bounded = audit.witnesses[0].validity.influence_interval is not None
    assert table.witnesses[own[0]][own[1]] > 0
    assert (table.confirmed[own[0]][own[1]] is not None) is bounded


def test_beyond_the_limit_on_work_confirmed_counts_are_unknown(monkeypatch):
    whole = audited().threshold_table("z", epsilons=EPSILONS, deltas=DELTAS)
    monkeypatch.setattr(threshold_tables, "MOST", 8)  # four for each attribute
    part = audited().threshold_table("z", epsilons=EPSILONS, deltas=DELTAS)
    assert part.witnesses == whole.witnesses
    pairs = [
        (some, known)
        for rows in zip(part.confirmed, whole.confirmed, strict=True)
        for some, known in zip(*rows, strict=True)
    ]
    assert all(some in (None, known) for some, known in pairs)
    assert {some is None for some, _ in pairs} == {True, False}


def test_the_default_attribute_is_the_one_with_the_finding():
    audit = audited()
    assert audit.witnesses[0].protected == "z"
    assert audit.threshold_table().protected == "z"
    with pytest.raises(pu.DataError, match="pass one of y, z"):
        audit.threshold_table("x")


def test_the_frame_has_a_row_for_each_pair():
    table = audited().threshold_table("z", epsilons=EPSILONS, deltas=DELTAS)
    frame = table.to_frame()
    assert list(frame) == ["protected", "epsilon", "delta", "witnesses", "confirmed"]
    row = frame[(frame["epsilon"] == 0.3) & (frame["delta"] == 0.05)]
    assert row["witnesses"].tolist() == [table.witnesses[1][2]]
    unknown = audited(validity=None).threshold_table("z").to_frame()
    assert isinstance(unknown["confirmed"].dtype, pd.Int64Dtype)
    assert unknown["confirmed"].isna().all()


def test_a_copy_of_an_audit_has_no_table():
    copy = pickle.loads(pickle.dumps(audited()))
    assert copy.threshold_tables() == ()
    with pytest.raises(pu.DataError, match="run the audit again"):
        copy.threshold_table()


def test_confirmed_counts_of_an_attribute_that_cannot_be_decided_are_unknown():
    data = {**people(), "ids": [f"p{i}" for i in range(800)]}
    audit = pu.audit(pu.Program.parse(TREE), data, ["ids", "z"])
    assert audit.validity is not None
    assert set(audit.validity.undecidable) == {"ids"}
    counts = {t.protected: t.confirmed for t in audit.threshold_tables()}
    assert {n for row in counts["ids"] for n in row} == {None}
    assert any(n is not None for row in counts["z"] for n in row)
