"""P-values of single tables, drawn and exact."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from scipy import stats

from proxyuse.errors import DataError
from proxyuse.measure.association.measures.adjusted_mutual_information import (
    AdjustedMutualInformation,
)
from proxyuse.measure.association.measures.cramers_v import CramersV
from proxyuse.measure.association.measures.normalized_mutual_information import (
    NormalizedMutualInformation,
)
from proxyuse.validity.permutations import random_tables as drawing
from proxyuse.validity.permutations.comparison import Statistic
from proxyuse.validity.permutations.exact_tables import exact_p_values
from proxyuse.validity.permutations.random_tables import drawn_p_values, random_tables

NMI = NormalizedMutualInformation()


def some_tables(count, total, shape=(2, 2), seed=0):
    rng = np.random.default_rng(seed)
    size = shape[0] * shape[1]
    drawn = [rng.multinomial(total, rng.dirichlet(np.ones(size))) for _ in range(count)]
    return np.array(drawn).reshape(count, *shape)


def over_all_permutations(table, measure):
    """The definition: every permutation of the columns' labels over the rows of the data."""
    cells = [(i, j) for i, row in enumerate(table) for j, n in enumerate(row) for _ in range(n)]
    x, z = np.array(cells).T
    count = reach = 0
    for permuted in permutations(z.tolist()):
        counts = np.zeros(table.shape)
        np.add.at(counts, (x, np.array(permuted)), 1)
        kept = counts[counts.sum(axis=1) > 0]
        reach += measure(kept) >= measure(table[table.sum(axis=1) > 0] * 1.0) - 1e-12
        count += 1
    return reach / count


@pytest.mark.parametrize("measure", [NMI, CramersV(), AdjustedMutualInformation()])
@pytest.mark.parametrize("table", [[[3, 1], [0, 2]], [[2, 1], [1, 2]], [[1, 3], [2, 0]]])
def test_exact_is_over_all_permutations(table, measure):
    table = np.array(table)
    (p_value,) = exact_p_values(table[None], measure)
    assert p_value == pytest.approx(over_all_permutations(table, measure), abs=1e-12)


@pytest.mark.parametrize("total", [8, 50, 400, 20_000])
def test_exact_agrees_with_fisher_where_half_of_the_rows_are_of_one_value(total):
    """Then chances and associations fall alike on both sides."""
    rng = np.random.default_rng(total)
    half = total // 2
    tables = []
    for _ in range(30):
        a, b = rng.binomial(half, rng.uniform(0.3, 0.6, size=2))
        tables.append([[a, b], [half - a, half - b]])
    p_values = exact_p_values(np.array(tables), NMI)
    expected = [stats.fisher_exact(np.array(table)).pvalue for table in tables]
    assert p_values == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("total", [1, 2, 30, 1000])
def test_exact_agrees_with_the_hypergeometric_distribution(total):
    for table in some_tables(40, total):
        first, second = int(table[:, 0].sum()), int(table[0].sum())
        a = np.arange(max(0, first + second - total), min(first, second) + 1)
        every = np.array([[a, second - a], [first - a, total - first - second + a]])
        reached = NMI.many(every.transpose(2, 0, 1) * 1.0) >= NMI(table * 1.0) - 1e-13
        expected = stats.hypergeom(total, first, second).pmf(a)[reached].sum()
        (p_value,) = exact_p_values(table[None], NMI)
        assert p_value == pytest.approx(expected, rel=1e-9, abs=1e-290)


def test_exact_of_a_million_rows_is_cheap_and_never_0():
    tables = np.array([[[250_200, 249_800], [249_800, 250_200]], [[400_000, 1], [2, 599_997]]])
    p_values = exact_p_values(tables, NMI)
    known = stats.hypergeom(1_000_000, 500_000, 500_000)
    assert p_values[0] == pytest.approx(2 * known.sf(250_199), rel=1e-7)
    assert 0 < p_values[1] < 1e-300


@pytest.mark.parametrize("measure", [NMI, CramersV(), AdjustedMutualInformation()])
def test_drawn_agrees_with_exact(measure):
    tables = some_tables(25, 60)
    tables = tables[[measure(t * 1.0) > 0 for t in tables]]
    exact = exact_p_values(tables, measure)
    drawn = drawn_p_values(list(tables), measure, 4000, [3])
    error = np.sqrt(exact * (1 - exact) / 4000)
    assert (np.abs(drawn - exact) <= 4.5 * error + 1 / 2000).all()


@pytest.mark.parametrize("draw", [drawing._filled, drawing._shuffled])
@pytest.mark.parametrize(("rows", "columns"), [([5, 3, 4], [6, 6]), ([4, 8], [3, 0, 4, 5])])
def test_drawn_tables_have_the_margins_and_the_chances_of_permutations(draw, rows, columns):
    drawn = draw(np.array([rows]), np.array([columns]), 6000, np.random.default_rng(1))[0]
    assert (drawn.sum(axis=2) == rows).all()
    assert (drawn.sum(axis=1) == columns).all()
    kept = [j for j, count in enumerate(columns) if count]
    known = stats.random_table(rows, np.array(columns)[kept])
    distinct, counts = np.unique(drawn[:, :, kept].reshape(6000, -1), axis=0, return_counts=True)
    chances = np.array([known.pmf(t.reshape(len(rows), -1)) for t in distinct])
    assert (np.abs(counts - 6000 * chances) <= 5 * np.sqrt(6000 * chances) + 2).all()


def test_a_computation_of_unique_values_gives_no_information():
    tables = [np.array([[1, 0], [0, 1], [1, 0], [0, 1]]), np.array([[2, 2]])]
    assert drawn_p_values(tables, NMI, 50, [0]).tolist() == [1.0, 1.0]


def test_equal_associations_count():
    """Every table with these margins has the same association, or its mirror image has."""
    tables = [np.array([[0, 1], [3, 2]]), np.array([[1, 0], [2, 3]])]
    assert exact_p_values(np.array(tables), NMI).tolist() == [1.0, 1.0]
    assert drawn_p_values(tables, NMI, 200, [0]).tolist() == [1.0, 1.0]


def test_neither_threads_nor_other_tables_of_another_shape_change_anything():
    two, three = some_tables(30, 80), some_tables(20, 80, (3, 2))
    both = [*two, *three]
    alone = drawn_p_values(list(two), NMI, 99, [7])
    assert drawn_p_values(both, NMI, 99, [7], threads=2)[:30].tolist() == alone.tolist()
    assert drawn_p_values(list(two), NMI, 99, [8]).tolist() != alone.tolist()


def test_as_many_records_as_can_be_drawn():
    table = np.array([[3 * 10**8, 10**8], [2 * 10**8, 3 * 10**8]])
    assert drawn_p_values([table], NMI, 9, [0]).tolist() == [0.1]
    with pytest.raises(DataError, match="cannot draw tables"):
        drawn_p_values([2 * table], NMI, 9, [0])
    margin = np.array([[1, 10**9 - 1]])
    drawn = random_tables(margin, margin, 3, np.random.default_rng(0))
    assert (drawn.sum(axis=2) == margin).all()
    assert (drawn.sum(axis=3) == margin).all()


def test_information_is_mutual_information():
    from sklearn.metrics import mutual_info_score

    table = np.array([[5, 2, 0], [1, 7, 3]])
    x, z = np.indices(table.shape).reshape(2, -1)
    expected = mutual_info_score(np.repeat(x, table.ravel()), np.repeat(z, table.ravel()))
    assert Statistic(NMI, 18).of(table[None]) == pytest.approx([expected], abs=1e-14)


@pytest.mark.parametrize("method", ["drawn", "exact"])
def test_p_values_are_valid_under_independence(method):
    rng = np.random.default_rng(11)
    tables = []
    for _ in range(1500):
        x, z = rng.random((2, 40)) < [[0.3], [0.5]]
        tables.append(np.bincount(2 * x + z, minlength=4).reshape(2, 2))
    if method == "drawn":
        p_values = drawn_p_values(tables, NMI, 99, [0])
    else:
        p_values = exact_p_values(np.array(tables), NMI)
    for level in (0.01, 0.05, 0.2):
        assert np.mean(p_values <= level) <= level + 3 * np.sqrt(level * (1 - level) / 1500)
