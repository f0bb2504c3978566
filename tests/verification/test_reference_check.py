"""Measures that differ from the definition are found."""

from __future__ import annotations

from dataclasses import replace

import pytest

import proxyuse as pu
from proxyuse.verification import reference_check
from proxyuse.verification.reference_check import remeasured
from tests.certified import (
    AUDIT,
    CERTIFICATE,
    N,
    audited,
    checked,
)


def counted(audit, **options):
    options = {"sample": 5, "seed": 1, "everything": False, **options}
    return remeasured(
        audit, [], pu.NormalizedMutualInformation(), pu.QuantitativeInputInfluence(),
        tick=lambda steps: None, **options,
    )  # fmt: skip


@pytest.mark.parametrize("what", ["influences", "associations"])
@pytest.mark.parametrize("index", range(len(AUDIT.decompositions)))
def test_a_measure_that_differs_from_the_definition_is_found(index, what):
    audit = audited()
    assert not counted(audit).differences
    values = getattr(audit.decompositions, what)
    values[index] += 1e-9
    assert len(counted(audit).differences) == (1 if what == "influences" else 2)


def test_a_sample_is_recomputed_if_there_are_many_decompositions(monkeypatch):
    monkeypatch.setattr(reference_check, "SMALL", 10)
    assert counted(AUDIT).drawn == 5
    assert counted(AUDIT, everything=True).drawn == len(AUDIT.decompositions)
    result = checked(CERTIFICATE, sample=0)
    strongest = {pair["id"] for pair in CERTIFICATE.content["front"]}
    always = len(strongest | {w.id for w in AUDIT.witnesses})
    assert f"{always} of {len(AUDIT.decompositions)} decompositions" in result.checks[-1].message
    monkeypatch.setattr(reference_check, "MAX_COST", 20_000)
    assert 0 < counted(AUDIT, sample=100).costly < len(AUDIT.decompositions)
    assert counted(AUDIT, everything=True).costly == 0
    monkeypatch.setattr(reference_check, "MAX_VALUES", 20 * AUDIT.program.size)
    assert counted(AUDIT) == replace(counted(AUDIT), rows=20, differences=())
    assert counted(AUDIT, everything=True).rows == N
