"""Cross-validation: how rows are split, what is counted, and what is reported."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import proxyuse as pu
from proxyuse.completed_audit import Audit
from proxyuse.data.population import Population
from proxyuse.measure.association.measures.cramers_v import CramersV
from proxyuse.methods import CrossValidation
from proxyuse.notes import RowCount
from proxyuse.program import Program
from proxyuse.report.document import document
from proxyuse.report.findings.remarks import remark_sentence
from proxyuse.validity.cross_validation import strata_of, validation_rows
from proxyuse.validity.remarks import OtherWitnesses, SmallPart, SplitProcedure, ValueLacking
from proxyuse.verdict import Verdict
from tests.measure.agreement import defined


def people(rows: int, seed: int = 0) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    z, s = rng.integers(0, 2, rows), rng.integers(0, 3, rows)
    a = z + rng.normal(size=rows)
    b = np.round(rng.normal(size=rows), 1)
    return {
        "a": a,
        "b": b,
        "c": s + rng.integers(0, 2, rows),
        "z": np.array(["f", "m"])[z],
        "s": s,
        "long": rng.normal(size=rows),
        "y": (a + b + rng.normal(size=rows) > 0.5).astype(int),
        "w": rng.integers(1, 4, rows),
    }


def audited(kind: Any, data: dict[str, Any], protected: Any = "z", **options: Any) -> Audit:
    X = np.column_stack([data[name] for name in "abc"])
    program = pu.translate(kind.fit(X, data["y"]), list("abc"))
    return pu.audit(program, data, protected, 0.05, 0.02, **options)


# Splitting


@pytest.mark.parametrize("share", [0.5, 0.2, 0.77])
def test_every_stratum_is_split_in_proportion(share: float) -> None:
    strata = np.random.default_rng(1).permutation(np.repeat(np.arange(7), [1, 1, 2, 3, 10, 50, 33]))
    for seed in range(30):
        rows = validation_rows(strata, share, np.random.default_rng(seed))
        assert abs(rows.sum() - share * 100) < 1
        for stratum in range(7):
            own = rows[strata == stratum]
            assert abs(own.sum() - share * len(own)) < 1


def test_a_single_row_goes_to_a_part_at_random_and_so_does_every_other() -> None:
    strata = np.repeat([0, 1, 2, 3], [1, 1, 1, 9])
    drawn = [validation_rows(strata, 0.5, np.random.default_rng([5, i])) for i in range(2000)]
    assert np.allclose(np.mean(drawn, axis=0), 0.5, atol=0.06)
    together = [rows[0] == rows[1] for rows in drawn]
    assert 0.1 < np.mean(together) < 0.9


def test_strata_are_the_joint_values_of_all_protected_attributes_as_they_are_cut() -> None:
    data = people(600)
    audit = audited(DecisionTreeClassifier(max_depth=1), data, ["z", "s", "long"])
    sample = audit._evidence.engine.sample  # type: ignore[union-attr]
    bins = sample.protected[2][1].codes
    strata = strata_of(sample)
    joint = list(zip(data["z"], data["s"], bins, strict=True))
    pairs = set(zip(strata.tolist(), joint, strict=True))
    assert len(pairs) == len(set(strata.tolist())) == len(set(joint))
    assert len(set(bins.tolist())) == 16


def test_some_of_the_rows_of_a_population() -> None:
    data = {"x": [1, 2, 3, 4], "flag": [True, None, False, True], "z": list("abab")}
    whole = Population.build(data, protected="z", weights=[1, 0, 2, 3])
    part = whole.taking(np.array([False, True, True]))
    assert part.columns["x"].values.tolist() == [3, 4]
    assert part.columns["flag"].values.dtype == np.bool_  # none is missing any more
    assert (part.weights.tolist(), part.total, part.n_rows) == ([2, 3], 5, 2)
    assert part.kept is not None
    assert part.kept.tolist() == [False, False, True, True]
    with pytest.raises(pu.DataError, match="no rows"):
        whole.taking(np.zeros(3, dtype=bool))


# What is counted


def by_definition(audit: Audit, options: CrossValidation, **engine: Any) -> dict[Any, int]:
    """In how many splits each witness is one in both parts, by the definition."""
    evidence = audit._evidence
    assert evidence is not None
    measure = cast("Any", evidence.association)
    strata = strata_of(evidence.engine.sample)
    counts = dict.fromkeys([(w.protected, w.id) for w in audit.witnesses], 0)
    for split in range(options.splits):
        rng = np.random.default_rng([options.seed, split])
        rows = validation_rows(strata, options.share, rng)
        parts = [
            defined(audit.program, audit.population.taking(part), association=measure, **engine)
            for part in (rows, ~rows)
        ]
        for w in audit.witnesses:
            index = evidence.engine.protected_names.index(w.protected)
            sites = w.decomposition.sites
            counts[w.protected, w.id] += all(
                part.associations(w.expression)[index] >= audit.epsilon
                and part.influence(sites) > audit.delta
                for part in parts
            )
    return counts


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"weights": "w"},
        {"protected": ["z", "s"]},
        {"protected": ["z", "long"], "max_support": 20, "bins": 4},
        {"association": CramersV()},
        {"all_sets": True},
        {"budget": pu.Budget(positions=0)},
    ],
    ids=str,
)
@pytest.mark.parametrize(
    "kind",
    [
        DecisionTreeClassifier(max_depth=3, random_state=0),
        RandomForestClassifier(3, max_depth=2, random_state=0),
        LogisticRegression(),
    ],
    ids=lambda kind: type(kind).__name__,
)
def test_confirmations_are_splits_in_which_both_parts_have_the_witness(
    kind: Any, options: dict[str, Any]
) -> None:
    audit = audited(kind, people(120), **options)
    assert audit.witnesses
    method = CrossValidation(splits=3, at_least=2, share=0.4, seed=7)
    validated = audit.validated(method)
    settings = {k: v for k, v in options.items() if k in ("max_support", "bins")}
    expected = by_definition(audit, method, **settings)
    for w in validated.witnesses:
        assert w.validity is not None
        assert w.validity.confirmations == expected[w.protected, w.id]
        assert w.validity.splits == 3
        assert w.validity.confirmed == (w.validity.confirmations >= 2)
    assert validated.validity is not None
    assert validated.validity.tested == (None,)
    procedure = validated.validity.remarks[0]
    assert procedure == SplitProcedure(splits=3, share=0.4, rows=120, needed=2)
    assert remark_sentence(procedure) == (
        "The rows were split at random 3 times, with 40% of 120 for validation, in proportion to "
        "the protected values. A witness is confirmed if it is one in both parts of at least 2 "
        "splits. This guarantees no error rate."
    )


def test_the_seed_decides_and_threads_do_not() -> None:
    data = people(150)
    kind = DecisionTreeClassifier(max_depth=4, random_state=0)

    def counts(threads: int, seed: int) -> list[int | None]:
        method = CrossValidation(splits=6, seed=seed)
        audit = audited(kind, data, threads=threads, validity=method)
        return [w.validity.confirmations for w in audit.witnesses if w.validity is not None]

    assert counts(1, 3) == counts(2, 3)
    assert counts(1, 3) != counts(1, 4)


def test_a_proxy_is_confirmed_and_most_noise_is_not() -> None:
    rng = np.random.default_rng(3)
    z = rng.integers(0, 2, 400)
    data = {"proxy": np.where(rng.random(400) < 0.05, 1 - z, z), "z": z}
    texts = []
    for i in range(60):  # of many variables without a link to z, some pass the threshold
        data[f"n{i}"] = rng.integers(0, 2, 400)
        texts.append(f"ite(n{i} == 1, 1, 0)")
    program = Program.parse(f"ite(proxy == 1, 100, 0) + {' + '.join(texts)}")
    audit = pu.audit(
        program, data, "z", 0.003, 0.0,
        budget=pu.Budget(subsets=0, search=0, grow=0), validity="cross-validation",
    )  # fmt: skip
    by_term = {w.term: w for w in audit.witnesses}
    proxy = by_term["proxy == 1"].validity
    assert proxy is not None
    assert (proxy.verdict, proxy.confirmations) == (Verdict.CONFIRMED, 10)
    noise = [w for term, w in by_term.items() if term.startswith("n") and "==" in term]
    confirmed = [w for w in noise if w.validity is not None and w.validity.confirmed]
    assert len(noise) > 5
    assert len(confirmed) < len(noise) / 3  # what is strong in the sample is so in its parts


# Remarks


def test_witnesses_of_parts_alone_are_reported_and_not_confirmed() -> None:
    rng = np.random.default_rng(4)
    data = {"x": rng.integers(0, 100, 800), "z": rng.integers(0, 2, 800)}  # halves show more
    audit = pu.audit(
        Program.parse("ite(x <= 49, x, 0 - x)"), data, "z", 0.02, 0.01,
        max_support=256, validity=CrossValidation(splits=4),
    )  # fmt: skip
    assert not audit.witnesses
    assert audit.validity is not None
    others = audit.validity.remarks[1]
    assert isinstance(others, OtherWitnesses)
    assert others.reason == "parts only"
    assert ("ite(x <= 49, x, 0 - x)", "z") in others.examples
    sentence = remark_sentence(others)
    assert "computations are witnesses in both parts of enough splits, but not on" in sentence
    assert "`ite(x <= 49, x, 0 - x)` for z" in sentence


def test_a_set_of_occurrences_that_a_part_does_not_list_is_measured_there() -> None:
    rng = np.random.default_rng(5)
    z = rng.integers(0, 2, 300)
    data = {"x": z * 3 + rng.integers(0, 4, 300), "k": rng.integers(0, 6, 300)}
    guards = "".join(f"ite(x <= {i % 6}, ite(k == {i % 6}, {i % 3}, 1), " for i in range(6))
    program = Program.parse(guards + "2" + ")" * 6)
    audit = pu.audit(program, data, {"z": z}, 0.2, 0.05)
    assert any(w.occurrences > 1 for w in audit.witnesses)
    method = CrossValidation(splits=4)
    validated = audit.validated(method)
    expected = by_definition(audit, method)
    actual = {
        (w.protected, w.id): w.validity.confirmations for w in validated.witnesses if w.validity
    }
    assert actual == expected


def test_rare_values_and_small_parts_are_reported() -> None:
    data = people(60)
    data["z"] = np.array(["f", "m"])[(np.arange(60) < 30).astype(int)]
    data["z"][7] = "x"  # once only
    audit = audited(DecisionTreeClassifier(max_depth=2), data, validity=CrossValidation(splits=5))
    assert audit.validity is not None
    _, lacking, small, *_ = audit.validity.remarks
    assert lacking == ValueLacking("z", 5, 5)
    assert remark_sentence(lacking) == (
        "In 5 of 5 splits, one part has no row with some value of z, because too few rows have "
        "that value."
    )
    assert small == SmallPart(RowCount(30))
    assert remark_sentence(small) == (
        "The smaller part has 30 rows, too few for a reliable answer."
    )


def test_a_part_below_min_cell_is_not_counted_in_reports() -> None:
    data = {"x": np.arange(6), "z": (np.arange(6) > 2).astype(int)}
    audit = pu.audit(Program.parse("ite(x <= 2, 'a', 'b')"), data, "z", validity=CrossValidation())
    assert audit.validity is not None
    assert SmallPart(RowCount(3)) in audit.validity.remarks
    summary = document(audit, min_cell=5).validity
    assert summary is not None
    assert "The smaller part has fewer than 5 rows, too few for a reliable answer." in (
        summary.remarks
    )
    assert not any("3 rows" in text for text in summary.remarks)


@pytest.mark.parametrize(("rows", "share"), [(3, 0.5), (20, 0.01), (20, 0.96)])
def test_too_few_rows_are_refused(rows: int, share: float) -> None:
    data = {"x": np.arange(rows), "z": np.arange(rows) % 2}
    with pytest.raises(pu.DataError, match=f"{rows} rows cannot be split"):
        pu.audit(Program.parse("x"), data, "z", validity=CrossValidation(share=share))


@pytest.mark.parametrize("rows", [4, 5, 7])
def test_few_rows_do_not_crash(rows: int) -> None:
    data = {"x": np.arange(rows), "z": (np.arange(rows) > 0).astype(int)}
    audit = pu.audit(
        Program.parse("ite(x <= 0, 'a', 'b')"), data, "z", 0.5, 0, validity="cross-validation"
    )
    assert audit.witnesses
    for w in audit.witnesses:
        assert w.validity is not None
        assert w.validity.confirmations == 0  # z is constant in one of the parts
