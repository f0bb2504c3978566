"""Results do not depend on the order of the rows."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from proxyuse.data.population import Population
from proxyuse.measure.association.joint_tables import JointTables
from proxyuse.measure.association.measures.normalized_mutual_information import (
    NormalizedMutualInformation,
)
from proxyuse.measure.association.support import bins_of
from proxyuse.measure.fixed_point import fixed_point
from proxyuse.measure.row_order import content_order
from proxyuse.measure.sample import Sample
from proxyuse.program import Program

N = 400


def _people(seed: int) -> dict[str, np.ndarray]:
    draw = np.random.default_rng(seed)
    job = draw.choice(np.array(["nurse", "clerk", "driver", None], dtype=object), N)
    pay = np.where(draw.random(N) < 0.1, np.nan, draw.normal(size=N).round(1))
    return {
        "job": job,
        "pay": pay,
        "old": draw.random(N) < 0.4,
        "z": draw.choice(np.array(["a", "b", "c"]), N),
        "w": draw.random(N) * 3,
    }


def _sample(people: dict[str, np.ndarray], rows: np.ndarray, factor: float = 1.0) -> Sample:
    program = Program.parse("ite(job == 'nurse', pay, ite(old, 1, 2))")
    data = {name: values[rows] for name, values in people.items() if name != "w"}
    return Sample(
        program, Population.build(data, protected="z", weights=people["w"][rows] * factor)
    )


@pytest.mark.parametrize("seed", range(5))
def test_the_order_by_content_is_that_of_shuffled_rows(seed: int) -> None:
    people = _people(seed)
    rows = np.random.default_rng(seed).permutation(N)
    plain = content_order(_sample(people, np.arange(N)))
    assert sorted(plain.tolist()) == list(range(N))
    for factor in (1.0, 0.37):
        shuffled = rows[content_order(_sample(people, rows, factor))]
        assert np.array_equal(shuffled, plain)  # no two rows have the same weight


def test_the_order_by_content_is_computed_once() -> None:
    sample = _sample(_people(0), np.arange(N))
    assert content_order(sample) is content_order(sample)


def test_the_order_by_content_depends_on_every_column() -> None:
    people = _people(1)
    sample = _sample(people, np.arange(N))
    order = content_order(sample)
    rows = [
        tuple(str(people[name][row]) for name in ("job", "pay", "old")) for row in order.tolist()
    ]
    changes = sum(one != other for one, other in pairwise(rows))
    assert changes + 1 == len(set(rows))  # equal rows are neighbors


# Fractional weights


def _associations(values: np.ndarray, z: np.ndarray, weights: np.ndarray) -> np.ndarray:
    program = Program.parse("x")
    people = Population.build({"x": values, "z": z}, protected="z", weights=weights)
    return JointTables(Sample(program, people)).associations(
        [program.term], NormalizedMutualInformation()
    )


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("values", [5, 390])
def test_the_order_of_rows_does_not_change_an_association(seed: int, values: int) -> None:
    draw = np.random.default_rng(seed)
    x = draw.integers(0, values, N).astype(float)
    z, weights, rows = draw.integers(0, 3, N), draw.random(N) * 3, draw.permutation(N)
    z = z.astype(str)
    plain = _associations(x, z, weights)
    assert np.array_equal(_associations(x[rows], z[rows], weights[rows]), plain)


@pytest.mark.parametrize("seed", [1, 7, 19, 36, 39])
@pytest.mark.parametrize("factor", [0.37, 0.1, 3.3])
def test_weights_times_a_constant_leave_values_in_their_bins(seed: int, factor: float) -> None:
    masses = np.random.default_rng(seed).integers(1, 4, N).astype(float)  # some on a boundary
    values = np.arange(len(masses), dtype=float)
    plain = bins_of(values, masses, 16, 256)
    scaled = bins_of(values, fixed_point(masses * factor), 16, 256)
    assert plain is not None
    assert scaled is not None
    assert np.array_equal(plain, scaled)
