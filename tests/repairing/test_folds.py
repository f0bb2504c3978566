"""Folds: equal sizes, clusters and copies together, whatever the order of the rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from proxyuse.data.columns import as_column
from proxyuse.data.copies import copied_rows
from proxyuse.data.population import Population
from proxyuse.measure.sample import Sample
from proxyuse.program import Program
from proxyuse.repairing.folds import content_ranks, folds

ROWS = 403
PROGRAM = Program.parse("ite(job == 'cook', pay, ite(old == 1, 1, 2))")


def people(seed: int = 0, rows: int = ROWS) -> dict[str, Any]:
    """Rows that all differ."""
    rng = np.random.default_rng(seed)
    return {
        "job": rng.choice(["cook", "clerk", "smith"], rows),
        "pay": rng.normal(size=rows),
        "old": rng.integers(0, 2, rows),
        "z": rng.integers(0, 2, rows),
    }


def fold_of(data: dict[str, Any], number: int, clusters: Any = None, ranks: Any = None) -> Any:
    """The fold of each row."""
    sample = Sample(PROGRAM, Population.build(data, protected="z", clusters=clusters))
    masks = np.array(list(folds(sample, number, ranks)))
    assert masks.shape == (number, len(data["z"]))
    assert (masks.sum(axis=0) == 1).all()  # each row is in one fold
    return masks.argmax(axis=0)


@pytest.mark.parametrize("number", [2, 3, 5, 10])
def test_folds_have_equal_sizes_up_to_one(number: int) -> None:
    sizes = np.bincount(fold_of(people(), number), minlength=number)
    assert sizes.sum() == ROWS
    assert sizes.max() - sizes.min() <= 1


@pytest.mark.parametrize("number", [2, 5])
def test_folds_do_not_depend_on_the_order_of_the_rows(number: int) -> None:
    data = people()
    plain = fold_of(data, number)
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(ROWS)
        moved = {name: values[order] for name, values in data.items()}
        assert (fold_of(moved, number) == plain[order]).all()


@pytest.mark.parametrize("clustered", [False, True])
def test_rows_that_only_another_column_distinguishes_keep_their_folds(clustered: bool) -> None:
    """The program reads three columns with few values; the answers are not among them."""
    data = {**people(), "pay": np.repeat([1.0, 2.0], [200, ROWS - 200])}
    y = np.random.default_rng(3).normal(size=ROWS)
    clusters = np.arange(ROWS) // 2 if clustered else None

    def fold_with(order: Any) -> Any:
        moved = {name: values[order] for name, values in data.items()}
        ranks = content_ranks([as_column("y", y[order])])
        return fold_of(moved, 5, None if clusters is None else clusters[order], ranks)

    order = np.random.default_rng(4).permutation(ROWS)
    assert (fold_with(order) == fold_with(np.arange(ROWS))[order]).all()


def test_folds_are_no_neighborhoods() -> None:
    """Rows sorted by pay are spread over the folds, and so are the groups."""
    data = people(rows=4000)
    data["pay"] = np.sort(data["pay"])
    fold = fold_of(data, 5)
    for values in (data["pay"] > 0, data["z"] == 1, data["old"] == 1):
        shares = [values[fold == one].mean() for one in range(5)]
        assert max(shares) - min(shares) < 0.1  # five standard errors of a share are 0.09


def test_clusters_stay_together_and_are_divided_equally() -> None:
    clusters = np.random.default_rng(1).permutation(np.repeat(np.arange(83), 5)[:ROWS])
    data = people()
    fold = fold_of(data, 4, clusters)
    own = {cluster: set(fold[clusters == cluster].tolist()) for cluster in range(81)}
    assert all(len(found) == 1 for found in own.values())
    sizes = np.bincount([min(found) for found in own.values()], minlength=4)
    assert sizes.max() - sizes.min() <= 1
    order = np.random.default_rng(2).permutation(ROWS)
    moved = {name: values[order] for name, values in data.items()}
    names = np.array([f"person {cluster * 7 % 83}" for cluster in clusters])
    assert (fold_of(moved, 4, names[order]) == fold[order]).all()


def test_copies_of_a_row_stay_together() -> None:
    data = people(rows=100)
    twice = {name: np.tile(values, 3) for name, values in data.items()}
    assert (
        copied_rows(Population.build(twice, protected="z", variables=PROGRAM.variables)) is not None
    )
    fold = fold_of(twice, 5).reshape(3, 100)
    assert (fold == fold[0]).all()
    sizes = np.bincount(fold[0], minlength=5)
    assert sizes.tolist() == [20] * 5
