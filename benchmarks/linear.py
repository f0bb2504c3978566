"""Audits of linear classifiers."""

from __future__ import annotations

import numpy as np

import proxyuse as pu
from benchmarks import samples
from benchmarks.timing import compare

SINGLE_TERMS = pu.Budget(subsets=0, search=0, grow=0)


def single_terms() -> None:
    """Ten terms, each by itself: how the time grows with a hundred times the rows."""

    def audit_of(rows: int) -> pu.Audit:
        program, X, z = data[rows]
        return pu.audit(program, X, protected={"z": z}, budget=SINGLE_TERMS)

    few, many = 10_000, 1_000_000
    data = {rows: samples.linear(10, rows) for rows in (few, many)}
    compare(lambda: audit_of(many), lambda: audit_of(few))


def subsets() -> None:
    """Every subset of twelve terms, against sorting a column for each."""
    program, X, z = samples.linear(12, 10_000)
    column = X[:, 0].copy()

    def sort() -> None:
        for _ in range(4_095):
            np.sort(column)

    compare(lambda: pu.audit(program, X, protected={"z": z}), sort)
