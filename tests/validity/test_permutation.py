"""Permutation tests of what was detected."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import proxyuse as pu
from proxyuse.errors import DataError
from proxyuse.measure.association.measures.adjusted_mutual_information import (
    AdjustedMutualInformation,
)
from proxyuse.measure.association.measures.cramers_v import CramersV
from proxyuse.measure.association.measures.normalized_mutual_information import (
    NormalizedMutualInformation,
)
from proxyuse.measure.association.measures.squared_correlation import SquaredCorrelation
from proxyuse.measure.association.row_sets import row_codes
from proxyuse.measure.reference import Reference
from proxyuse.methods import CORRECTIONS, Permutation
from proxyuse.report.findings.remarks import remark_sentence
from proxyuse.settings import Budget
from proxyuse.validity.permutations.shuffles import Shuffles
from proxyuse.validity.permutations.test import permutations_needed, permute
from proxyuse.validity.remarks import WeightsKept
from proxyuse.verdict import Verdict
from tests.small_programs import LINEAR, PROGRAMS, TREE, people

NMI = NormalizedMutualInformation()


def evidence_of(program=TREE, data=None, protected=("z", "q"), threads=1, **options):
    audit = pu.audit(
        pu.Program.parse(program), data or people(), list(protected), 0.0, 0.0,
        threads=threads, **options,
    )  # fmt: skip
    assert audit._evidence is not None
    return audit._evidence


@pytest.mark.parametrize("correction", CORRECTIONS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_strong_witnesses_are_confirmed_and_others_possible(name, correction):
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


def test_a_witness_that_many_permutations_reach_is_decided_even_if_few_were_drawn():
    rng = np.random.default_rng(3)
    data = {"x": rng.random(200), "y": rng.integers(0, 2, 200), "z": rng.integers(0, 2, 200)}
    data["y"][:120] = data["z"][:120]
    text = "ite(y == 1, ite(x <= 0.5, 0, 1), ite(x <= 0.2, 1, 0))"
    evidence = evidence_of(text, data, ("z",))
    answer = permute(evidence, Permutation(99, "bonferroni"))
    verdicts = {w.term: answer.validities["z", w.id].verdict for w in evidence.witnesses}
    p_values = {w.term: answer.validities["z", w.id].p_value or 0 for w in evidence.witnesses}
    assert verdicts["y == 1"] is Verdict.UNDECIDED
    assert p_values["x <= 0.5"] > 0.02
    assert verdicts["x <= 0.5"] is Verdict.POSSIBLE


@pytest.mark.parametrize("correction", CORRECTIONS)
def test_threads_change_nothing_and_seeds_do(correction):
    def validities(threads, seed=0):
        options = Permutation(permutations=99, correction=correction, seed=seed)
        return permute(evidence_of(threads=threads), options).validities

    assert validities(1) == validities(2)
    assert validities(1) != validities(1, seed=1)


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


def sentences(answer):
    return [remark_sentence(remark) for remark in answer.remarks]


@pytest.mark.parametrize("correction", ["bonferroni", "holm"])
def test_too_few_permutations_leave_every_witness_undecided(correction):
    evidence = evidence_of(protected=["z"])
    computations = evidence.decompositions.computations
    tests = len(computations)
    enough = int(np.ceil(tests / 0.05)) - 1

    def verdicts(permutations, exact=False):
        options = Permutation(permutations, correction, exact=exact)
        answer = permute(evidence, options)
        by_term = {w.term: answer.validities["z", w.id].verdict for w in evidence.witnesses}
        return by_term, sentences(answer)

    by_term, remarks = verdicts(enough - 1)
    assert by_term["a <= 3"] is by_term["a"] is Verdict.UNDECIDED
    assert remarks[-1].startswith(f"{enough - 1} permutations are too few to decide on ")
    assert remarks[-1].endswith(
        f" witnesses: with {tests} tests, at least {enough} are needed. Draw more, request exact "
        "p-values, or use the Westfall-Young correction."
    )
    by_term, remarks = verdicts(enough)
    assert by_term["a <= 3"] is by_term["a"] is Verdict.CONFIRMED
    by_term, remarks = verdicts(enough // 3, exact=True)
    assert by_term["a <= 3"] is Verdict.CONFIRMED  # two values
    assert by_term["a"] is Verdict.UNDECIDED  # ten
    tables = (evidence.engine.joint.parts(term)[0][1][0] for term in computations)
    two = sum(z.shape == (2, 2) for z in tables)
    assert f"{two} p-values are exact." in remarks
    assert remarks[-1].endswith("Draw more, or use the Westfall-Young correction.")


def test_a_witness_that_more_permutations_cannot_confirm_is_possible():
    evidence = evidence_of(protected=["q"])
    answer = permute(evidence, Permutation(19, "holm"))
    for validity in answer.validities.values():
        assert validity.p_value is not None
        assert (validity.verdict is Verdict.UNDECIDED) == (validity.p_value <= 0.05)


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
    for key, validity in one.validities.items():
        assert validity.p_value == other.validities[key].p_value
        assert validity.adjusted_p_value == other.validities[key].adjusted_p_value


@pytest.mark.parametrize("correction", CORRECTIONS)
def test_equal_weights_are_no_weights(correction):
    options = Permutation(99, correction)
    plain = permute(evidence_of(), options)
    assert permute(evidence_of(weights=np.full(300, 0.7)), options) == plain


@pytest.mark.parametrize("correction", ["westfall-young", "holm"])
def test_rows_keep_their_weights(correction):
    """Counted by the definition: the attribute is permuted, the weights stay with the rows."""
    weights = np.random.default_rng(0).choice([0.1, 3.0], 300)
    evidence = evidence_of(weights=weights, protected=["z"])
    answer = permute(evidence, Permutation(199, correction))
    ((_, z),) = evidence.engine.sample.protected
    shuffles = Shuffles([z], 0)
    (permuted,), (observed,) = shuffles.drawn(range(199)), shuffles.unpermuted()
    seen = set()
    for witness in evidence.witnesses:
        (x,) = evidence.engine.sample.association_supports(witness.expression)
        observed_one, *values = (
            NMI(
                np.bincount(
                    x.codes * len(z) + row_codes(one, 300), weights, len(x) * len(z)
                ).reshape(-1, len(z))
            )
            for one in (observed[0], *permuted)
        )
        assert observed_one == pytest.approx(witness.association)
        expected = (1 + np.sum(np.array(values) >= observed_one - 1e-12)) / 200
        assert answer.validities[witness.key].p_value == expected
        seen.add(expected)
    plain = permute(evidence_of(protected=["z"]), Permutation(199, correction))
    assert {validity.p_value for validity in plain.validities.values()} != seen
    assert WeightsKept() in answer.remarks
    with pytest.raises(DataError, match="integer weights"):
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


@pytest.mark.parametrize(
    ("correction", "expected"),
    [
        ("westfall-young", ", corrected by Westfall-Young: the chance of confirming even one "
         "of the computations that are jointly independent of the protected attribute is at most "
         "5%."),
        ("benjamini-hochberg", ", corrected by Benjamini-Hochberg: the expected share of "
         "independent computations among the confirmed ones is at most 5%, so some of the "
         "confirmed ones may be independent."),
        ("none", ". Not corrected for the number of tests: about 5% of the independent "
         "computations pass."),
    ],
)  # fmt: skip
def test_the_remarks_describe_the_tests(correction, expected):
    evidence = evidence_of("ite(b <= 5, 0, 1)", protected=["z"])
    answer = permute(evidence, Permutation(1999, correction))
    assert sentences(answer) == [
        f"Permutation test of 3 computations with 1,999 permutations (seed 0){expected}",
        "The test does not check whether the association reaches epsilon. It does not check "
        "influence.",
    ]


def test_the_remarks_describe_the_limits_of_the_tests():
    counts = np.random.default_rng(0).integers(1, 3, 300)
    answer = permute(evidence_of(weights=counts), Permutation(1, exact=True, weights="counts"))
    _, exact, records, _, few = sentences(answer)
    assert exact.startswith("Exact p-values were requested, but no test allows them")
    assert f"over the {counts.sum()} records" in records
    assert few.startswith("1 permutation is too few to decide on ")
    assert few.endswith(": at least 19 are needed. Draw more.")
    for remark in sentences(answer):
        assert remark[0] == remark[0].upper()
        assert remark[-1] == "."
        assert "=" not in remark


# Best cuts


@pytest.mark.parametrize("program", ["x + w", "[x, w]"])
@pytest.mark.parametrize("weights", [None, "sampling", "counts"])
@pytest.mark.parametrize("correction", ["westfall-young", "holm"])
def test_the_cut_is_chosen_again_in_every_permutation(program, weights, correction):
    """Counted by the definition on permuted attributes."""
    rng = np.random.default_rng(7)
    x, w = rng.normal(size=(2, 120))
    x[:9] = np.nan
    data = {"x": x, "w": w, "z": rng.integers(0, 3, 120)}
    chosen = {"sampling": rng.choice([0.5, 2.0], 120), "counts": rng.integers(1, 3, 120)}
    options = Permutation(29, correction, weights=weights or "sampling")
    evidence = evidence_of(program, data, ["z"], weights=chosen.get(weights))
    answer = permute(evidence, options)
    witness = next(w for w in evidence.witnesses if str(w.expression) == program)
    assert witness.table.divided
    p_value = answer.validities[witness.key].p_value
    copies = chosen["counts"] if weights == "counts" else np.ones(120, dtype=int)
    people = {name: np.repeat(column, copies) for name, column in data.items()}
    masses = np.repeat(chosen["sampling"], copies) if weights == "sampling" else None
    ((_, z),) = evidence.engine.sample.protected
    z = replace(z, codes=np.repeat(z.codes, copies))
    (permuted,) = Shuffles([z], 0).drawn(range(29))
    reached = 0
    for one in permuted:
        shuffled = {"z": row_codes(one, len(z.codes))}
        population = pu.Population.build(people, protected=shuffled, weights=masses)
        again = Reference(pu.Program.parse(program), population, max_support=16)
        found = again.associations(again.program.term)[0]
        reached += found >= witness.association - 1e-12
    if correction == "westfall-young" or weights == "sampling" or program == "[x, w]":
        assert p_value == (1 + reached) / 30
    else:  # from random tables instead of permuted rows
        assert p_value == pytest.approx((1 + reached) / 30, abs=0.3)


def test_noise_with_many_values_has_uniform_p_values():
    p_values = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        data = {"x": rng.normal(size=150), "z": rng.integers(0, 2, 150)}
        evidence = evidence_of("x", data, ["z"])
        answer = permute(evidence, Permutation(199, "holm", seed=seed))
        (validity,) = answer.validities.values()
        assert validity.p_value is not None
        p_values.append(validity.p_value)
    assert 0.4 < np.mean(p_values) < 0.6
    assert np.mean(np.array(p_values) <= 0.1) < 0.2
