"""Permutation tests of what was detected."""

from __future__ import annotations

import numpy as np
import pytest

import proxyuse as pu
from proxyuse.detect.detection import Budget
from proxyuse.errors import DataError
from proxyuse.measure.association import NormalizedMutualInformation, mutual_information
from proxyuse.measure.bit_counts import common, counter
from proxyuse.measure.correlation import SquaredCorrelation
from proxyuse.measure.naive import NaiveEngine
from proxyuse.measure.other_associations import AdjustedMutualInformation, CramersV
from proxyuse.measure.row_sets import RowSets, packed, unpacked
from proxyuse.measure.support import Support, support_of
from proxyuse.measure.trial_engine import TrialEngine
from proxyuse.validity import joint_permutations, joint_tables, shuffles
from proxyuse.validity.correction import holm
from proxyuse.validity.information import reached
from proxyuse.validity.joint_permutations import CALIBRATION, westfall_young
from proxyuse.validity.joint_tables import Comparison, blocks_of
from proxyuse.validity.options import CORRECTIONS, Permutation
from proxyuse.validity.permutation import permutations_needed, permute
from proxyuse.validity.random_subsets import random_subset
from proxyuse.validity.scores import Scale
from proxyuse.validity.shuffles import Shuffles, codes_of
from proxyuse.verdict import Verdict

NMI = NormalizedMutualInformation()

TREE = "ite(a <= 3, ite(b <= 5, 0, 1), ite(b <= 2, ite(a <= 7, 1, 0), 0))"
THREE = "ite(a <= 3, ite(b <= 5, 'x', 'y'), ite(b <= 2, ite(c == 'u', 'z', 'y'), 'x'))"
FOREST = (
    "ite(ite(a <= 3, ite(b <= 5, 1, 2), 4) + ite(c == 'u', ite(a <= 6, 0, 3), 1) "
    "+ ite(b <= 2, ite(a <= 8, 2, 2), 0) > 4, 1, 0)"
)
LINEAR = "ite(2 * a + 0.5 * b + x > 12, 1, 0)"
PROGRAMS = {"tree": TREE, "three classes": THREE, "forest": FOREST, "linear": LINEAR}


def people(n=300, seed=0):
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 10, (2, n)).astype(float)
    return {
        "a": a,
        "b": b,
        "c": np.array(["u", "v", "w"])[rng.integers(0, 3, n)],
        "x": rng.normal(size=n),
        "z": (a + rng.normal(scale=3, size=n) > 5).astype(int),
        "q": np.array(["l", "m", "n"])[rng.integers(0, 3, n)],
    }


def evidence_of(program=TREE, data=None, protected=("z", "q"), threads=1, **options):
    found = pu.audit(
        pu.Program.parse(program), data or people(), list(protected), 0.0, 0.0,
        threads=threads, **options,
    )  # fmt: skip
    assert found._evidence is not None
    return found._evidence


# What engines hand over


def in_some_order(tables):
    return [sorted(map(tuple, table[table.sum(axis=1) > 0].tolist())) for table in tables]


@pytest.mark.parametrize("weights", [None, "whole", "any"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_engines_agree_on_tables_and_rows(name, weights):
    rng = np.random.default_rng(5)
    chosen = {"whole": rng.integers(1, 5, 300), "any": rng.integers(1, 9, 300) / 8}.get(weights)
    data, program = people(), pu.Program.parse(PROGRAMS[name])
    population = pu.Population.build(data, protected=["z", "q"], weights=chosen)
    naive = NaiveEngine(program, population, max_support=20, bins=4)
    fast = TrialEngine(program, population, max_support=20, bins=4)
    terms = pu.audit(program, data, ["z", "q"]).decompositions.computations
    expected = [in_some_order([t.masses for t in naive.tables(term)]) for term in terms]
    assert [in_some_order(tables) for tables in naive.masses(terms)] == expected
    few = terms[:3]
    assert [in_some_order(tables) for tables in fast.masses(few)] == expected[:3]
    assert [in_some_order(tables) for tables in fast.masses(terms)] == expected
    for engine in (naive, fast):
        seen = {}
        for place, sets in engine.row_sets(terms):
            codes = sets.codes_of(300)
            seen[place] = in_some_order(
                np.bincount(
                    codes * len(z) + z.codes, population.weights, sets.size * len(z)
                ).reshape(sets.size, len(z))
                for _, z in engine.protected
            )
        assert [seen[i] for i in range(len(terms))] == expected


@pytest.mark.parametrize("size", [1, 2, 5, 300])
def test_row_sets_are_the_rows(size):
    codes = np.random.default_rng(0).integers(0, size, 131)
    sets = RowSets.of(codes, size)
    assert (sets.words is None) == (size > 256)
    assert sets.codes_of(131).tolist() == codes.tolist()


# The parts


@pytest.mark.parametrize("rows", [1, 64, 700, 70_000])
def test_bits_are_counted_alike(rows):
    pytest.importorskip("numba")
    rng = np.random.default_rng(0)
    first, second = rng.random((7, rows)) < 0.4, rng.random((6, rows)) < 0.6
    expected = first.astype(np.int64) @ second.T.astype(np.int64)
    assert common(packed(first), packed(second)).tolist() == expected.tolist()
    assert counter(0, compiled=True)(packed(first), packed(second)).tolist() == expected.tolist()


@pytest.mark.parametrize(("available", "wanted"), [(6, 3), (5, 4), (6, 1), (4, 0), (5, 5)])
def test_all_subsets_are_equally_likely(available, wanted):
    from math import comb

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
    given = attributes(sizes)
    permuted = Shuffles(given, 3).drawn(range(5))
    before = sorted(zip(*(z.codes.tolist() for z in given), strict=True))
    arrangements = set()
    for number in range(5):
        codes = [codes_of(each[number], 200).tolist() for each in permuted]
        assert sorted(zip(*codes, strict=True)) == before
        arrangements.add(str(codes))
    assert len(arrangements) == 5
    unpermuted = Shuffles(given, 3).as_they_are()
    assert [codes_of(each[0], 200).tolist() for each in unpermuted] == [
        z.codes.tolist() for z in given
    ]


@pytest.mark.parametrize("few", [0, 1 << 12])
def test_a_permutation_depends_on_its_number_and_the_seed_alone(few, monkeypatch):
    monkeypatch.setattr(shuffles, "FEW_ROWS", few)
    given = attributes((2, 3))
    drawn = Shuffles(given, 1).drawn(range(10))
    later = Shuffles(given, 1).drawn([7])
    other = Shuffles(given, 2).drawn([7])
    for every, one, another in zip(drawn, later, other, strict=True):
        assert (every[7] == one[0]).all()
        assert (one != another).any()


def test_scores_rise_with_the_association_and_follow_the_fitted_tail():
    from scipy import stats

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


def test_what_never_varies_has_no_score():
    scale = Scale.fitted(np.array([[0.3, 0.3 + 1e-16, 0.3], [0.1, 0.2, 0.3]]))
    assert scale.scores(np.array([[0.9], [0.2]])).tolist()[0] == [-np.inf]
    assert scale.varies.tolist() == [False, True]


# The joint test


def family(sizes=(2, 2, 3, 2, 6), n=120, seed=0, related=(0,)):
    rng = np.random.default_rng(seed)
    given = attributes((2, 3), n, seed)
    codes = []
    for i, size in enumerate(sizes):
        drawn = rng.integers(0, size, n)
        if i in related:
            drawn = np.where(rng.random(n) < 0.45, given[0].codes % size, drawn)
        codes.append(drawn)
    return given, codes


def joint(given, codes, permutations=99, *, seed=0, measure=NMI, weights=None, **options):
    compiled = options.pop("compiled", False)
    n = len(given[0].codes)
    sets = [(i, RowSets.of(c, int(c.max()) + 1)) for i, c in enumerate(codes)]
    comparison = Comparison(measure, given, weights, counter(0, compiled))
    return westfall_young(
        lambda: blocks_of(iter(sets), n), len(codes), comparison, Shuffles(given, seed),
        permutations, **options,
    )  # fmt: skip


def written_out(given, codes, permutations, seed=0):
    """Step-down by the book, from tables that are counted one by one."""
    n = len(given[0].codes)

    def informations(arrangements):
        return np.array(
            [
                [
                    mutual_information(
                        np.bincount(x * len(z) + codes_of(one, n), minlength=(x.max() + 1) * len(z))
                        .reshape(-1, len(z))
                        .astype(float)
                    )
                    for one in each
                ]
                for x in codes
                for z, each in zip(given, arrangements, strict=True)
            ]
        )

    drawn = Shuffles(given, seed)
    scale = Scale.fitted(informations(drawn.others(CALIBRATION)))
    observed = reached(informations(drawn.as_they_are()))
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
    shape = len(codes), len(given)
    return p_values.reshape(shape), adjusted.reshape(shape)


@pytest.mark.parametrize("seed", range(3))
def test_the_joint_test_is_the_one_written_out(seed):
    given, codes = family(seed=seed)
    found = joint(given, codes, seed=seed)
    p_values, adjusted = written_out(given, codes, 99, seed)
    assert found.p_values.tolist() == p_values.tolist()
    assert found.adjusted.tolist() == adjusted.tolist()


@pytest.mark.parametrize(
    "change",
    [
        {(joint_tables, "BLOCK_SETS"): 3},
        {(joint_permutations, "CHUNK"): 7},
        {(joint_permutations, "KEPT_BYTES"): 1},
        {"threads": 2},
        {"compiled": True},
    ],
    ids=str,
)
def test_blocks_threads_and_compiled_loops_change_nothing(change, monkeypatch):
    given, codes = family(sizes=(2, 3, 300, 2, 5, 2, 1), n=400)
    before = joint(given, codes)
    options = {}
    for what, value in change.items():
        if what == "compiled":
            pytest.importorskip("numba")
        if isinstance(what, str):
            options[what] = value
        else:
            monkeypatch.setattr(*what, value)
    after = joint(given, codes, **options)
    assert after.p_values.tolist() == before.p_values.tolist()
    assert after.adjusted.tolist() == before.adjusted.tolist()


def test_fewer_segments_can_only_raise_what_is_adjusted(monkeypatch):
    given, codes = family(related=(0, 1, 3))
    fine = joint(given, codes)
    monkeypatch.setattr(joint_permutations, "MOST_MAXIMA", 3 * 99)
    coarse = joint(given, codes)
    assert coarse.p_values.tolist() == fine.p_values.tolist()
    assert (coarse.adjusted >= fine.adjusted).all()
    assert coarse.adjusted.max() <= 1


@pytest.mark.parametrize("measure", [NMI, CramersV(), AdjustedMutualInformation()])
@pytest.mark.parametrize("many", [False, True])
def test_other_ways_of_counting_give_the_same_p_values(measure, many, monkeypatch):
    """Equal weights as weights, and an attribute of which each row's value is kept."""
    given, codes = family(sizes=(2, 3, 5))
    before = joint(given, codes, measure=measure)
    if many:
        monkeypatch.setattr(shuffles, "MOST_SETS", 1)
        after = joint(given, codes, measure=measure)
    else:
        if isinstance(measure, AdjustedMutualInformation):
            measure = measure.weighed(np.ones(120))
        after = joint(given, codes, measure=measure, weights=np.ones(120))
    clear = before.p_values < 0.3  # adjusted information is cut off at 0
    assert after.p_values[clear].tolist() == before.p_values[clear].tolist()


def test_a_computation_with_as_many_values_as_rows_tells_nothing_and_spoils_nothing():
    given, codes = family(sizes=(2, 2, 2))
    found = joint(given, [*codes, np.arange(120)])
    assert found.p_values[3].tolist() == found.adjusted[3].tolist() == [1.0, 1.0]
    assert found.adjusted[0, 0] == 0.01


def test_many_copies_of_a_test_cost_nothing():
    """The maximum knows that they are the same, Holm does not."""
    given, codes = family(sizes=(2, 2))
    found = joint(given[:1], [codes[0]] * 50 + [codes[1]] * 50, 199)
    assert found.adjusted[:50].max() <= 0.01
    assert holm(found.p_values[:, 0])[:50].min() >= 0.25


def test_the_chance_of_any_false_confirmation_is_at_most_alpha():
    """Computations of different length, most of them alike, and two attributes alike."""
    runs, false = 200, 0
    for run in range(runs):
        rng = np.random.default_rng(run)
        n = 50
        z = rng.integers(0, 2, n)
        given = [Support(z, np.arange(2.0)), Support(z ^ (rng.random(n) < 0.1), np.arange(2.0))]
        x = rng.normal(size=n)
        codes = [(x > cut).astype(int) for cut in (-1.0, -0.5, 0.0, 0.7)]
        codes += [np.digitize(x, [-1, -0.3, 0.3, 1]), rng.integers(0, 20, n)]
        false += joint(given, codes, 39, seed=run).adjusted.min() <= 0.05
    assert false <= runs * 0.05 + 3 * np.sqrt(runs * 0.05 * 0.95)


# As part of an audit


@pytest.mark.parametrize("correction", CORRECTIONS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_strong_is_confirmed_and_what_is_not_is_possible(name, correction):
    budget = Budget(subsets=8)
    evidence = evidence_of(PROGRAMS[name], people(600), budget=budget)
    answer = permute(evidence, Permutation(permutations=999, correction=correction))
    computations = evidence.decompositions.computations
    assert answer.tested == 2 * len(computations)
    assert set(answer.validities) == {(w.protected, w.id) for w in evidence.witnesses}
    verdicts = {
        (w.protected, w.term): answer.validities[w.protected, w.id].verdict
        for w in evidence.witnesses
    }
    assert verdicts["z", "a"] is Verdict.CONFIRMED
    if correction in ("westfall-young", "holm"):
        assert Verdict.CONFIRMED not in {v for (z, _), v in verdicts.items() if z == "q"}


@pytest.mark.parametrize("correction", CORRECTIONS)
def test_threads_change_nothing_and_seeds_do(correction):
    def found(threads, seed=0):
        options = Permutation(permutations=99, correction=correction, seed=seed)
        return permute(evidence_of(threads=threads), options).validities

    assert found(1) == found(2)
    assert found(1) != found(1, seed=1)


@pytest.mark.parametrize("correction", ["westfall-young", "none"])
@pytest.mark.parametrize(
    "measure", [SquaredCorrelation(), CramersV(), AdjustedMutualInformation()], ids=repr
)
def test_other_measures(measure, correction):
    evidence = evidence_of(LINEAR, protected=["z"], association=measure)
    answer = permute(evidence, Permutation(permutations=99, correction=correction))
    by_term = {w.term: answer.validities["z", w.id] for w in evidence.witnesses}
    assert by_term["a"].p_value == 0.01
    assert by_term["a"].confirmed


@pytest.mark.parametrize("correction", ["bonferroni", "holm"])
def test_too_few_permutations_for_any_answer(correction):
    evidence = evidence_of(protected=["z"])
    tests = len(evidence.decompositions.computations)
    enough = int(np.ceil(tests / 0.05)) - 1

    def verdicts(permutations, exact=False):
        options = Permutation(permutations, correction, exact=exact)
        answer = permute(evidence, options)
        by_term = {w.term: answer.validities["z", w.id].verdict for w in evidence.witnesses}
        return by_term, answer.remarks

    by_term, remarks = verdicts(enough - 1)
    assert by_term["a <= 3"] is by_term["a"] is Verdict.UNDECIDED
    assert f"{tests} tests need at least {enough:,}" in remarks[-1]
    by_term, remarks = verdicts(enough)
    assert by_term["a <= 3"] is by_term["a"] is Verdict.CONFIRMED
    by_term, remarks = verdicts(enough // 3, exact=True)
    assert by_term["a <= 3"] is Verdict.CONFIRMED  # two values
    assert by_term["a"] is Verdict.UNDECIDED  # ten
    assert any("over all permutations" in remark for remark in remarks)


def test_what_would_not_pass_with_more_permutations_either_is_possible():
    evidence = evidence_of(protected=["q"])
    answer = permute(evidence, Permutation(19, "holm"))
    for said in answer.validities.values():
        assert said.p_value is not None
        assert (said.verdict is Verdict.UNDECIDED) == (said.p_value <= 0.05)


@pytest.mark.parametrize(
    ("correction", "at_least", "needed"),
    [("bonferroni", 1, 1999), ("holm", 1, 1999), ("benjamini-hochberg", 1, 1999),
     ("benjamini-hochberg", 10, 199), ("westfall-young", 1, 19), ("none", 1, 19)],
)  # fmt: skip
def test_permutations_needed(correction, at_least, needed):
    p_values = np.full(100, 0.5)
    p_values[:at_least] = 1 / 100
    assert permutations_needed(p_values, Permutation(99, correction)) == needed


@pytest.mark.parametrize("correction", CORRECTIONS)
def test_counts_are_records(correction):
    """Rows that stand for several records are as good as the records themselves."""
    data = people(80)
    counts = np.random.default_rng(1).integers(1, 4, 80)
    every = {name: np.repeat(column, counts) for name, column in data.items()}
    options = Permutation(99, correction, weights="counts")
    one = permute(evidence_of(data=data, weights=counts), options)
    other = permute(evidence_of(data=every), options)
    assert set(one.validities) == set(other.validities)
    for key, said in one.validities.items():
        assert said.p_value == other.validities[key].p_value
        assert said.adjusted_p_value == other.validities[key].adjusted_p_value


@pytest.mark.parametrize("correction", CORRECTIONS)
def test_equal_weights_are_no_weights(correction):
    options = Permutation(99, correction)
    plain = permute(evidence_of(), options)
    assert permute(evidence_of(weights=np.full(300, 0.7)), options) == plain


@pytest.mark.parametrize("correction", ["westfall-young", "holm"])
def test_rows_keep_their_weights(correction):
    weights = np.random.default_rng(0).uniform(0.5, 2, 300)
    evidence = evidence_of(weights=weights, protected=["z"])
    answer = permute(evidence, Permutation(199, correction))
    assert any("kept their weights" in remark for remark in answer.remarks)
    by_term = {w.term: answer.validities["z", w.id] for w in evidence.witnesses}
    assert by_term["a"].p_value == 1 / 200
    with pytest.raises(DataError, match="whole number"):
        permute(evidence, Permutation(199, correction, weights="counts"))


@pytest.mark.parametrize("correction", ["westfall-young", "holm"])
def test_raw_values_that_occur_once_and_a_constant_attribute(correction):
    data = {**people(), "one": np.zeros(300)}
    evidence = evidence_of("ite(x > 0, 1, 0)", data, ("z", "one"), bins=None)
    answer = permute(evidence, Permutation(99, correction))
    by_term = {(w.protected, w.term): answer.validities[w.protected, w.id]
               for w in evidence.witnesses}  # fmt: skip
    assert by_term["z", "x"].p_value == 1
    assert by_term["one", "x > 0"].p_value == 1
    assert answer.tested == 6


def test_the_remarks_say_what_was_done():
    answer = permute(evidence_of(), Permutation(99, exact=True))
    text = "\n".join(answer.remarks)
    assert answer.tested is not None
    assert f"{answer.tested} tests ({answer.tested // 2} computations x 2 protected" in text
    assert "99 permutations" in text
    assert "Westfall-Young" in text
    assert "exact=True changed nothing" in text
    assert "nothing of epsilon, and nothing of influence" in text
