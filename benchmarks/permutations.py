"""Permutation tests of all that was detected in a tree, against detecting it once."""

from __future__ import annotations

import numba  # noqa: F401

import proxyuse as pu
from benchmarks import samples
from benchmarks.timing import compare
from proxyuse.methods import Correction, Permutation

PERMUTATIONS = 1000


def westfall_young() -> None:
    """Rows are permuted for all computations at once."""
    _test("westfall-young")


def holm() -> None:
    """Tables with the same margins are drawn for each computation."""
    _test("holm")


def _test(correction: Correction) -> None:
    """48,842 rows, a protected attribute of two values, more than 1,000 decompositions."""
    data = samples.adult()
    _, program = samples.tree()
    options = Permutation(permutations=PERMUTATIONS, correction=correction)

    def audit() -> pu.Audit:
        return pu.audit(program, data.X, protected={"married": data.married}, validity=None)

    audited = audit()
    assert len(audited.decompositions) >= 1000
    compare(lambda: audited.validated(options), audit)
