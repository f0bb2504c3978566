"""Confirmation of a best cut pays for choosing the cut on the same rows."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
import pytest

import proxyuse as pu
from proxyuse.validity.association_bounds import information_bounds
from proxyuse.validity.levels import Levels
from proxyuse.validity.sample import Sample
from proxyuse.verdict import Verdict

X = pu.Program.parse("x")


def interval(witness: pu.Witness) -> tuple[float, float]:
    assert witness.validity is not None
    assert witness.validity.association_interval is not None
    return witness.validity.association_interval


@pytest.mark.parametrize("weighted", [False, True])
def test_the_bound_is_that_of_the_table_at_a_share_of_the_level(weighted: bool) -> None:
    rng = np.random.default_rng(0)
    z = rng.integers(0, 2, 500)
    x = rng.normal(size=500) + 2 * z
    x[:20] = np.nan
    weights = rng.choice([1.0, 3.0], 500) if weighted else np.ones(500)
    audit = pu.audit(X, {"x": x}, {"z": z}, 0.01, 0, weights=weights, validity="confirm")
    (witness,) = audit.witnesses
    cut = witness.cut
    assert cut is not None
    assert len(witness.table.masses) == 3
    sides = np.where(np.isnan(x), 2, x > cut.threshold)
    masses, squares = np.zeros((3, 2)), np.zeros((3, 2))
    np.add.at(masses, (sides, z), weights)
    np.add.at(squares, (sides, z), weights**2)
    table = Sample.of(masses, squares, weights.max())
    assert audit._evidence is not None
    level = Levels.of(audit._evidence, 0.05, None).of_association(witness.decomposition)
    expected = information_bounds(table, level / cut.candidates)
    assert interval(witness) == pytest.approx((expected.lower, expected.upper))
    assert interval(witness)[0] < information_bounds(table, level).lower


def test_a_vector_pays_for_each_of_its_coordinates() -> None:
    rng = np.random.default_rng(0)
    z = rng.integers(0, 2, 400)
    data = {"x": rng.normal(size=400) + 2 * z, "w": rng.normal(size=400)}
    program = pu.Program.parse("argmax([x, w])")
    audit = pu.audit(program, data, {"z": z}, 0.01, 0, validity="confirm")
    by_term = {witness.term: witness for witness in audit.witnesses}
    assert by_term["[x, w]"].association == by_term["x"].association
    assert interval(by_term["[x, w]"])[0] < interval(by_term["x"])[0]


def test_an_association_at_epsilon_is_rarely_confirmed_and_a_strong_one_is() -> None:
    distance = NormalDist().inv_cdf(0.75)
    false, true = 0, 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        z = rng.integers(0, 2, 1000)
        x = rng.normal(size=1000) + np.where(z, distance, -distance)
        for epsilon in (0.1042, 0.03):  # of the population: 0.1042
            audit = pu.audit(X, {"x": x}, {"z": z}, epsilon, 0, validity="confirm")
            confirmed = sum(
                w.validity is not None and w.validity.verdict is Verdict.CONFIRMED
                for w in audit.witnesses
            )
            if epsilon == 0.03:
                true += confirmed
            else:
                false += confirmed
    assert false <= 2
    assert true >= 36
