"""Audits as data frames: the figures of every decomposition, and short texts for large models."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

import proxyuse as pu
from tests.strategies import Case, cases

PEOPLE = {
    "a": [1, 2, 3, 4, 5, 6, 7, 8] * 5,
    "b": [0, 1, 1, 0, 1, 1, 0, 0] * 5,
    "z": [0, 0, 0, 1, 1, 1, 1, 0] * 5,
}
GUARDS = [f"ite(a <= {cut} and b == 1, {cut}, b)" for cut in range(1, 9)]
REPEATED = pu.Program.parse(f"ite({' + '.join(GUARDS)} > 4, 1, 0)")


def audited(**options: Any) -> pu.Audit:
    small = pu.Budget(subsets=0, search=0, grow=0)
    options = {"validity": None} | options
    return pu.audit(REPEATED, PEOPLE, "z", 0.05, 0.01, budget=small, **options)


@given(cases(), st.booleans())
def test_each_row_is_a_decomposition_and_a_protected_attribute(case: Case, full_terms: bool):
    audit = pu.audit(
        case.program,
        case.data,
        case.protected,
        0.1,
        0.05,
        weights=case.weights,
        all_sets=True,
        validity=None,
    )
    frame = audit.to_frame(full_terms)
    witnesses = {w.key for w in audit.witnesses}
    write = case.program.text_of if full_terms else case.program.brief
    expected = [
        {
            "protected": name,
            "id": d.id,
            "term": write(d.expression),
            "occurrences": d.occurrences,
            "association": association,
            "influence": np.nan if d.influence is None else d.influence,
            "reach": d.reach,
            "size": d.size,
            "witness": (name, d.id) in witnesses,
        }
        for d in audit.decompositions
        for name, association in d.associations.items()
    ]
    columns = [name for name in frame.columns if name != "positions"]
    pd.testing.assert_frame_equal(
        frame[columns], pd.DataFrame(expected, columns=columns), check_dtype=False
    )


def test_terms_are_short_unless_the_whole_text_is_wanted():
    audit = audited()
    short, full = audit.to_frame(), audit.to_frame(full_terms=True)
    assert short["term"].str.len().max() == 60
    assert list(full["term"]) == [d.term for d in audit.decompositions]
    assert full["term"].str.len().max() > 60
    pd.testing.assert_frame_equal(short.drop(columns="term"), full.drop(columns="term"))


def test_a_few_positions_are_written_out_and_more_are_counted():
    audit = audited()
    frame = audit.to_frame()
    assert frame["occurrences"].max() > 5
    for row, d in zip(frame.itertuples(), audit.decompositions, strict=True):
        texts = [str(position) for position in d.positions]
        if len(texts) <= 5:
            assert row.positions == "; ".join(texts)
        else:
            more = f"; ... ({len(texts) - 5:,} more)"
            assert row.positions == "; ".join(texts[:5]) + more


def test_validity_is_told_of_witnesses_only():
    audit = audited(validity="confirm")
    frame = audit.to_frame()
    assert list(frame["verdict"].notna()) == list(frame["witness"])
    verdicts = {w.id: w.validity.verdict.value for w in audit.witnesses if w.validity}
    witnesses = frame[frame["witness"]]
    assert dict(zip(witnesses["id"], witnesses["verdict"], strict=True)) == verdicts
    assert verdicts
