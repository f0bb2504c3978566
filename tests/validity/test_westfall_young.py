"""Westfall and Young's test, and the parts it is made of."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest
from scipy import stats

from proxyuse.measure.association.information import mutual_information
from proxyuse.measure.association.measures.adjusted_mutual_information import (
    AdjustedMutualInformation,
)
from proxyuse.measure.association.measures.cramers_v import CramersV
from proxyuse.measure.association.measures.normalized_mutual_information import (
    NormalizedMutualInformation,
)
from proxyuse.measure.association.row_sets import RowSets, packed, row_codes, unpacked
from proxyuse.measure.association.support import Support, support_of
from proxyuse.validity.permutations import blocks, shuffles
from proxyuse.validity.permutations import westfall_young as joint_test
from proxyuse.validity.permutations.blocks import blocks_of
from proxyuse.validity.permutations.comparison import Comparison, threshold
from proxyuse.validity.permutations.correction import holm
from proxyuse.validity.permutations.scores import Scale
from proxyuse.validity.permutations.shuffles import Shuffles, random_subset
from proxyuse.validity.permutations.westfall_young import CALIBRATION, westfall_young

NMI = NormalizedMutualInformation()

# The parts


@pytest.mark.parametrize(("available", "wanted"), [(6, 3), (5, 4), (6, 1), (4, 0), (5, 5)])
def test_all_subsets_are_equally_likely(available, wanted):
    rng = np.random.default_rng(0)
    rows = packed(np.arange(8) < available)[0]
    drawn = [int(random_subset(rows, available, wanted, 8, rng)[0]) for _ in range(4000)]
    counts = np.unique(drawn, return_counts=True)[1]
    expected = 4000 / comb(available, wanted)
    assert len(counts) == comb(available, wanted)
    assert np.abs(counts - expected).max() <= 4.5 * np.sqrt(expected)


@pytest.mark.parametrize("wanted", [3, 1000, 2345, 4990])
def test_large_subsets_have_their_size_and_every_row_its_chance(wanted):
    rng = np.random.default_rng(0)
    rows = packed(np.ones(5000, dtype=np.bool_))[0]
    drawn = [random_subset(rows, 5000, wanted, 5000, rng) for _ in range(200)]
    every = unpacked(np.array(drawn), 5000)
    assert set(every.sum(axis=1).tolist()) == {wanted}
    share = wanted / 5000
    spread = every.sum(axis=0).var() / (200 * share * (1 - share))
    assert 0.85 < spread < 1.15


def attributes(sizes, n=200, seed=0):
    rng = np.random.default_rng(seed)
    return [support_of(rng.integers(0, size, n).astype(float), n) for size in sizes]


@pytest.mark.parametrize("sizes", [(2,), (2, 3), (4, 5), (2, 150)])
@pytest.mark.parametrize("few", [0, 1 << 12])
def test_attributes_are_permuted_together(sizes, few, monkeypatch):
    monkeypatch.setattr(shuffles, "FEW_ROWS", few)
    protected = attributes(sizes)
    permuted = Shuffles(protected, 3).drawn(range(5))
    before = sorted(zip(*(z.codes.tolist() for z in protected), strict=True))
    arrangements = set()
    for number in range(5):
        codes = [row_codes(each[number], 200).tolist() for each in permuted]
        assert sorted(zip(*codes, strict=True)) == before
        arrangements.add(str(codes))
    assert len(arrangements) == 5
    unpermuted = Shuffles(protected, 3).unpermuted()
    assert [row_codes(each[0], 200).tolist() for each in unpermuted] == [
        z.codes.tolist() for z in protected
    ]


@pytest.mark.parametrize("few", [0, 1 << 12])
def test_a_permutation_depends_on_its_number_and_the_seed_alone(few, monkeypatch):
    monkeypatch.setattr(shuffles, "FEW_ROWS", few)
    protected = attributes((2, 3))
    drawn = Shuffles(protected, 1).drawn(range(10))
    later = Shuffles(protected, 1).drawn([7])
    other = Shuffles(protected, 2).drawn([7])
    for every, one, another in zip(drawn, later, other, strict=True):
        assert (every[7] == one[0]).all()
        assert (one != another).any()


def test_scores_rise_with_the_association_and_follow_the_fitted_tail():
    rng = np.random.default_rng(0)
    permuted = rng.gamma([[0.5], [7.5], [60.0]], 2.0, (3, 4000))
    scale = Scale.fitted(permuted)
    values = np.linspace(0, 400, 3000)[None].repeat(3, axis=0)
    scores = scale.scores(values)
    assert (np.diff(scores) > 0).all()
    for row, shape in enumerate((0.5, 7.5, 60.0)):
        known = -stats.gamma(shape, scale=2.0).logsf(values[row])
        near = known < 30
        assert scores[row][near] == pytest.approx(known[near], rel=0.15, abs=0.1)


def test_a_constant_has_no_score():
    scale = Scale.fitted(np.array([[0.3, 0.3 + 1e-16, 0.3], [0.1, 0.2, 0.3]]))
    assert scale.scores(np.array([[0.9], [0.2]])).tolist()[0] == [-np.inf]
    assert scale.varies.tolist() == [False, True]


# The joint test


def family(sizes=(2, 2, 3, 2, 6), n=120, seed=0, related=(0,)):
    rng = np.random.default_rng(seed)
    protected = attributes((2, 3), n, seed)
    codes = []
    for i, size in enumerate(sizes):
        drawn = rng.integers(0, size, n)
        if i in related:
            drawn = np.where(rng.random(n) < 0.45, protected[0].codes % size, drawn)
        codes.append(drawn)
    return protected, codes


def joint(protected, codes, permutations=99, *, seed=0, measure=NMI, weights=None, **options):
    n = len(protected[0].codes)
    sets = [(i, RowSets.of(c, int(c.max()) + 1)) for i, c in enumerate(codes)]
    comparison = Comparison(measure, protected, weights)
    return westfall_young(
        lambda: blocks_of(iter(sets), n), len(codes), comparison, Shuffles(protected, seed),
        permutations, **options,
    )  # fmt: skip


def written_out(protected, codes, permutations, seed=0, weights=None):
    """Step-down by the book, from tables that are counted one by one."""
    n = len(protected[0].codes)
    measure = mutual_information if weights is None else NMI

    def measured(x, z, permuted):
        cells = x * len(z) + row_codes(permuted, n)
        masses = np.bincount(cells, weights, (x.max() + 1) * len(z))
        return measure(masses.reshape(-1, len(z)).astype(float))

    def informations(arrangements):
        return np.array(
            [
                [measured(x, z, one) for one in each]
                for x in codes
                for z, each in zip(protected, arrangements, strict=True)
            ]
        )

    drawn = Shuffles(protected, seed)
    scale = Scale.fitted(informations(drawn.others(CALIBRATION)))
    observed = threshold(informations(drawn.unpermuted()))
    permuted = informations(drawn.drawn(range(permutations)))
    scores, those = scale.scores(observed)[:, 0], scale.scores(permuted)
    order = np.argsort(-scores, kind="stable")
    adjusted, so_far = np.empty(len(scores)), 0.0
    for rank, pair in enumerate(order):
        highest = those[order[rank:]].max(axis=0)
        p = (1 + np.sum(highest >= scores[pair])) / (1 + permutations)
        so_far = max(so_far, p)
        adjusted[pair] = so_far
    p_values = (1 + np.sum(permuted >= observed, axis=1)) / (1 + permutations)
    shape = len(codes), len(protected)
    return p_values.reshape(shape), adjusted.reshape(shape)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_the_joint_test_matches_a_direct_computation(seed, weighted):
    protected, codes = family(sizes=(2, 2, 3, 2, 6, 300), seed=seed)
    weights = np.random.default_rng(seed).choice([0.2, 1.0, 2.5], 120) if weighted else None
    result = joint(protected, codes, seed=seed, weights=weights)
    p_values, adjusted = written_out(protected, codes, 99, seed, weights)
    assert result.p_values.tolist() == p_values.tolist()
    assert result.adjusted.tolist() == adjusted.tolist()


@pytest.mark.parametrize(
    "change",
    [
        {(blocks, "BLOCK_SETS"): 3},
        {(joint_test, "CHUNK"): 7},
        {(joint_test, "KEPT_BYTES"): 1},
        {"threads": 2},
    ],
    ids=["small blocks", "small chunks", "nothing kept", "threads"],
)
def test_blocks_and_threads_change_nothing(change, monkeypatch):
    protected, codes = family(sizes=(2, 3, 300, 2, 5, 2, 1), n=400)
    before = joint(protected, codes)
    options = {}
    for what, value in change.items():
        if isinstance(what, str):
            options[what] = value
        else:
            monkeypatch.setattr(*what, value)
    after = joint(protected, codes, **options)
    assert after.p_values.tolist() == before.p_values.tolist()
    assert after.adjusted.tolist() == before.adjusted.tolist()


def test_fewer_segments_can_only_raise_adjusted_p_values(monkeypatch):
    protected, codes = family(related=(0, 1, 3))
    fine = joint(protected, codes)
    monkeypatch.setattr(joint_test, "MOST_MAXIMA", 3 * 99)
    coarse = joint(protected, codes)
    assert coarse.p_values.tolist() == fine.p_values.tolist()
    assert (coarse.adjusted >= fine.adjusted).all()
    assert coarse.adjusted.max() <= 1


@pytest.mark.parametrize("measure", [NMI, CramersV(), AdjustedMutualInformation()])
@pytest.mark.parametrize("many", [False, True])
def test_other_methods_of_counting_give_the_same_p_values(measure, many, monkeypatch):
    """Equal weights as weights, and an attribute of which each row's value is kept."""
    protected, codes = family(sizes=(2, 3, 5))
    before = joint(protected, codes, measure=measure)
    if many:
        monkeypatch.setattr(shuffles, "MOST_SETS", 1)
        after = joint(protected, codes, measure=measure)
    else:
        if isinstance(measure, AdjustedMutualInformation):
            measure = measure.weighted(np.ones(120))
        after = joint(protected, codes, measure=measure, weights=np.ones(120))
    clear = before.p_values < 0.3  # adjusted information is cut off at 0
    assert after.p_values[clear].tolist() == before.p_values[clear].tolist()


def test_a_computation_with_as_many_values_as_rows_does_not_affect_the_others():
    protected, codes = family(sizes=(2, 2, 2))
    result = joint(protected, [*codes, np.arange(120)])
    assert result.p_values[3].tolist() == result.adjusted[3].tolist() == [1.0, 1.0]
    assert result.adjusted[0, 0] == 0.01


def test_many_copies_of_a_test_cost_nothing():
    """The maximum knows that they are the same, Holm does not."""
    protected, codes = family(sizes=(2, 2))
    result = joint(protected[:1], [codes[0]] * 50 + [codes[1]] * 50, 199)
    assert result.adjusted[:50].max() <= 0.01
    assert holm(result.p_values[:, 0])[:50].min() >= 0.25


def test_the_chance_of_any_false_confirmation_is_at_most_alpha():
    """Computations of different length, most of them alike, and two attributes alike."""
    runs, false = 200, 0
    for run in range(runs):
        rng = np.random.default_rng(run)
        n = 50
        z = rng.integers(0, 2, n)
        protected = [Support(z, np.arange(2.0)), Support(z ^ (rng.random(n) < 0.1), np.arange(2.0))]
        x = rng.normal(size=n)
        codes = [(x > cut).astype(int) for cut in (-1.0, -0.5, 0.0, 0.7)]
        codes += [np.digitize(x, [-1, -0.3, 0.3, 1]), rng.integers(0, 20, n)]
        false += joint(protected, codes, 39, seed=run).adjusted.min() <= 0.05
    assert false <= runs * 0.05 + 3 * np.sqrt(runs * 0.05 * 0.95)
