"""An audit finds what the authors of the paper found, and says so."""

from __future__ import annotations

import re
from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import proxyuse as pu
from proxyuse.datasets import load_adult, load_contraceptive, load_student
from proxyuse.detect.progress import Clock
from proxyuse.detect.witnesses import groups_of
from proxyuse.errors import (
    Canceled,
    DataError,
    KindError,
    TranslationError,
)
from proxyuse.report.reading import shown_text
from proxyuse.validity.content import COLUMNS as VALIDITY_COLUMNS

COLUMNS = [
    "protected", "id", "term", "positions", "occurrences", "association", "influence", "reach",
    "size", "witness",
]  # fmt: skip


def encoded(frame):
    """Words become their number in sorted order."""
    return frame.apply(lambda c: c if c.dtype.kind in "if" else pd.factorize(c, sort=True)[0])


def found(result, term):
    """Occurrences, association and influence of every decomposition of a term."""
    rows = result.to_frame(full_terms=True)
    rows = rows[rows["term"] == term]
    return sorted(zip(rows["occurrences"], rows["association"], rows["influence"], strict=True))


# The paper's own examples, with the numbers of the authors' artifact


@cache
def adult_tree():
    people = encoded(load_adult().iloc[:32561].dropna().drop(columns="fnlwgt"))
    assert len(people) == 30_162
    X, _, y, _ = train_test_split(
        people.drop(columns="income"), people["income"], train_size=1000, random_state=0
    )
    marital = X["marital_status"].copy()
    X = X.assign(marital_status=0)
    return DecisionTreeClassifier(max_depth=5, random_state=0).fit(X, y), X, marital


@cache
def adult_audit():
    model, X, marital = adult_tree()
    return pu.audit(model, X, {"marital": marital}, epsilon=0.05, delta=0.05)


def test_adult_whole_program():
    rows = adult_audit().to_frame()
    (root,) = rows[rows["positions"] == "root"].itertuples()
    assert root.association == pytest.approx(0.0612869655522, abs=1e-12)
    assert root.influence == pytest.approx(0.315168, abs=1e-12)
    assert root.reach == 1.0


def test_adult_relationship_is_a_proxy_for_marital_status():
    result = adult_audit()
    ((occurrences, association, influence),) = found(result, "relationship <= 0.5")
    assert occurrences == 1
    assert association == pytest.approx(0.383606651953, abs=1e-12)
    assert influence == pytest.approx(0.136436, abs=1e-12)
    first = groups_of(result.witnesses)[0]
    assert first.strongest.term == "relationship <= 0.5"
    assert first.representative.term == result.witnesses[0].term == "relationship"
    assert result.complete


def test_contraceptive_education_is_a_proxy_for_religion():
    women = load_contraceptive()
    X = women.drop(columns="method").assign(wife_religion=0)
    model = DecisionTreeClassifier(max_depth=5, random_state=0).fit(X, women["method"])
    result = pu.audit(model, X, {"religion": women["wife_religion"]}, epsilon=0.005, delta=0.05)
    rows = found(result, "wife_education <= 3.5")
    assert [row[0] for row in rows] == [1, 1, 2]
    assert [row[1] for row in rows] == pytest.approx([0.0224913] * 3, abs=5e-8)
    assert [row[2] for row in rows] == pytest.approx([0.118530, 0.218281, 0.336812], abs=5e-7)
    assert all(result.to_frame().query("term == 'wife_education <= 3.5'")["witness"])


def test_student_study_time_is_a_proxy_for_drinking():
    pupils = load_student("por")
    grades = pupils[["G1", "G2", "G3"]].sum(axis=1)
    X = encoded(pupils.drop(columns=["G1", "G2", "G3", "Dalc"])).assign(Walc=0)
    model = DecisionTreeClassifier(max_depth=5, random_state=0).fit(X, grades >= grades.mean())
    result = pu.audit(model, X, {"alcohol": pupils["Walc"]}, epsilon=0.01, delta=0.05)
    rows = found(result, "studytime <= 1.5")
    assert any(
        row[1:] == (pytest.approx(0.0128584, abs=5e-8), pytest.approx(0.149078, abs=5e-7))
        for row in rows
    )
    assert "studytime <= 1.5" in {w.term for w in result.witnesses}


def test_the_masked_example():
    data = {"vitamins": [1, 1, 0, 0], "engaged": [1, 0, 1, 0], "pregnant": [1, 1, 0, 0]}
    program = pu.Program.parse(
        "ite(vitamins == 1, ite(engaged == 1, 'ad1', 'ad2'), ite(engaged == 1, 'ad2', 'ad1'))"
    )
    result = pu.audit(program, data, "pregnant", epsilon=1, delta=0)
    assert found(result, "vitamins == 1") == [(1, 1.0, 0.5)]
    assert found(result, str(program)) == [(1, 0.0, 0.5)]
    assert [w.term for w in result.witnesses] == ["vitamins", "vitamins == 1"]


def test_the_example_of_four_products():
    data = {"purchase": ["a1", "a2", "n1", "n2"], "pregnant": [True, True, False, False]}
    guard = "purchase == 'a1' or purchase == 'n1'"
    result = pu.audit(pu.Program.parse(f"ite({guard}, 1, 0)"), data, "pregnant")
    assert found(result, guard) == [(1, 0.0, 0.5)]
    assert found(result, f"ite({guard}, 1, 0)") == [(1, 0.0, 0.5)]
    assert {row[1] for row in found(result, "purchase")} == {0.5}
    ((_, association, influence),) = found(result, "purchase == 'a1'")
    assert association == pytest.approx(0.2075, abs=5e-5)
    assert influence == pytest.approx(0.3125, abs=1e-12)


# The table


def test_the_table_has_a_row_for_each_decomposition_and_protected_attribute():
    result = adult_audit()
    rows = result.to_frame()
    assert list(rows.columns) == [*COLUMNS, *VALIDITY_COLUMNS]
    assert len(rows) == len(result.decompositions)
    assert rows["id"].is_unique
    assert rows["witness"].sum() == len(result.witnesses)
    above = (rows["association"] >= 0.05) & (rows["influence"] > 0.05)
    assert (above == rows["witness"]).all()


def test_the_table_of_nothing_has_all_columns():
    result = pu.audit(pu.Program.parse("1"), {"z": [0, 1]}, "z", validity=None)
    assert list(result.to_frame().columns) == COLUMNS
    assert len(result.to_frame()) == 0


def test_every_row_can_be_found_in_the_program_again():
    result = adult_audit()
    points = result.program.points
    for decomposition in result.decompositions:
        for position in decomposition.positions:
            assert points.term_at(points.site(position)) == decomposition.expression


def test_a_position_leads_to_a_node_of_the_tree():
    model, _, _ = adult_tree()
    result = adult_audit()
    (witness,) = [w for w in result.witnesses if w.term == "relationship <= 0.5"]
    origin = result.program.origin(witness.positions[0])
    assert origin is not None
    assert model.tree_.threshold[origin.node] == 0.5
    assert model.feature_names_in_[model.tree_.feature[origin.node]] == "relationship"


# Several protected attributes, and ways to name them


PEOPLE = pd.DataFrame(
    {
        "age": [20, 30, 40, 50, 60, 70, 25, 35],
        "pay": [1, 2, 3, 4, 4, 3, 2, 1],
        "sex": list("fmfmfmfm"),
        "student": [1, 1, 0, 0, 0, 0, 1, 0],
    }
)
PROGRAM = pu.Program.parse("ite(age <= 32, ite(pay <= 1, 0, 1), ite(sex == 'f', pay, 0))")


def test_several_protected_attributes_at_once_equal_separate_audits():
    both = pu.audit(PROGRAM, PEOPLE, ["student", "sex"], epsilon=0.2)
    parts = [pu.audit(PROGRAM, PEOPLE, name, epsilon=0.2) for name in ("student", "sex")]
    together = both.to_frame().sort_values(["protected", "id"], ignore_index=True)
    apart = pd.concat([part.to_frame() for part in parts]).sort_values(
        ["protected", "id"], ignore_index=True
    )
    # A strongest set of occurrences is looked for only where some attribute calls for it.
    keys = ["protected", "id"]
    merged = apart.merge(together, on=keys, suffixes=("", "_together"))
    assert len(merged) == len(apart)
    for column in COLUMNS[2:]:
        assert (merged[column] == merged[f"{column}_together"]).all()
    witnesses = {(w.protected, w.id) for w in both.witnesses}
    assert witnesses == {(w.protected, w.id) for part in parts for w in part.witnesses}


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table, dict])
def test_any_table_gives_the_same_audit(make):
    expected = pu.audit(PROGRAM, PEOPLE, "student").to_frame()
    data = make({name: PEOPLE[name].tolist() for name in PEOPLE})
    pd.testing.assert_frame_equal(pu.audit(PROGRAM, data, "student").to_frame(), expected)


def test_a_program_written_in_another_order_gives_the_same_ids():
    first = pu.Program.parse("ite(age <= 32 and pay <= 2 or sex == 'f', pay + age, 0)")
    second = pu.Program.parse("ite(sex == 'f' or pay <= 2 and age <= 32, age + pay, 0)")

    def rows(program):
        table = pu.audit(program, PEOPLE, "student").to_frame()
        return table.drop(columns="term").sort_values("id", ignore_index=True)

    pd.testing.assert_frame_equal(rows(first), rows(second))


@pytest.mark.parametrize("wording", ["sex", ["sex"], ("sex",), {"gender": "sex"}])
def test_a_tree_fitted_on_an_array_takes_the_names_of_the_data(wording):
    X = PEOPLE[["age", "pay"]]
    model = DecisionTreeClassifier(random_state=0).fit(X.to_numpy(), PEOPLE["student"])
    assert pu.audit(model, PEOPLE[["age", "pay", "sex"]], wording).program.inputs == ("age", "pay")


def test_a_tree_fitted_on_an_array_can_be_audited_on_an_array():
    X = PEOPLE[["age", "pay"]].to_numpy(dtype=float)
    model = DecisionTreeRegressor(random_state=0).fit(X, PEOPLE["student"])
    result = pu.audit(model, X, {"student": PEOPLE["student"].to_numpy()})
    assert result.witnesses[0].term.startswith("x0")


def test_explicit_use_is_reported():
    result = pu.audit(PROGRAM, PEOPLE, "sex", epsilon=0.5)
    assert [(use.column, use.how) for use in result.explicit] == [("sex", "declared")]
    assert [w.term for w in result.witnesses if w.explicit] == ["sex"]
    assert "(the protected attribute itself)" in str(result)
    assert pu.audit(PROGRAM, PEOPLE, "student").explicit == ()


def test_weights_count_rows_more_than_once():
    times = np.array([1, 2, 3, 1, 2, 1, 1, 2])
    repeated = PEOPLE.loc[PEOPLE.index.repeat(times)].reset_index(drop=True)
    first = pu.audit(PROGRAM, PEOPLE, "student", weights=times, validity=None).to_frame()
    second = pu.audit(PROGRAM, repeated, "student", validity=None).to_frame()
    pd.testing.assert_frame_equal(first, second)


def test_missing_protected_values_are_refused_dropped_or_counted():
    lacking = PEOPLE.assign(student=[1, 1, 0, 0, np.nan, 0, 1, 0])
    with pytest.raises(DataError, match='pass missing_protected="drop"'):
        pu.audit(PROGRAM, lacking, "student")
    dropped = pu.audit(PROGRAM, lacking, "student", missing_protected="drop")
    assert dropped.population.n_rows == 7
    assert dropped.note_sentences(pu.NoteKind.DROPPED) == [
        "Dropped 1 row without a value for 'student'."
    ]
    counted = pu.audit(PROGRAM, lacking, "student", missing_protected="category")
    assert counted.population.n_rows == 8


# Progress, and leaving out what is not needed


def test_progress_is_reported_to_the_end():
    seen: list[pu.Progress] = []
    pu.audit(PROGRAM, PEOPLE, "student", progress=seen.append)
    assert seen
    assert seen[-1].done == seen[-1].total > 0
    assert [p.done for p in seen] == sorted(p.done for p in seen)


def test_steps_that_were_not_announced_raise_the_total():
    seen: list[pu.Progress] = []
    clock = Clock(seen.append, interval=0)
    clock.total = 2
    for _ in range(3):
        clock.tick(1)
    assert seen == [pu.Progress(1, 2), pu.Progress(2, 2), pu.Progress(3, 3)]


def test_returning_false_cancels():
    with pytest.raises(Canceled, match="canceled after 1 of"):
        pu.audit(PROGRAM, PEOPLE, "student", progress=lambda _: False)


def test_returning_nothing_goes_on():
    assert pu.audit(PROGRAM, PEOPLE, "student", progress=lambda _: None).complete


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.3])
def test_measuring_what_is_needed_finds_the_same_witnesses(epsilon):
    model, X, marital = adult_tree()
    few = pu.Budget(positions=0)
    quick = pu.audit(model, X, {"marital": marital}, epsilon=epsilon, budget=few)
    full = pu.audit(model, X, {"marital": marital}, epsilon=epsilon)
    positions = {d.expression: d.occurrences for d in full.decompositions}
    for d in full.decompositions:
        positions[d.expression] = max(d.occurrences, positions[d.expression])
    # Of sets between one position and all of them, a full audit adds the strongest.
    wanted = [
        w
        for w in full.witnesses
        if w.decomposition.occurrences in (1, positions[w.decomposition.expression])
    ]
    assert [w.id for w in quick.witnesses] == [w.id for w in wanted]
    assert {w.expression for w in wanted} == {w.expression for w in full.witnesses}
    assert full.bounded is None
    assert quick.bounded is not None
    bounds = {entry.site.point: entry.bound for entry in quick.bounded}
    for found in full.decompositions:
        if len(found.sites) == 1 and found.sites[0].point in bounds:
            assert found.influence is not None
            assert found.influence <= bounds[found.sites[0].point]


# Errors


def refused(kind=DataError, match=None, **changed):
    call = {"model": PROGRAM, "X": PEOPLE, "protected": "student", **changed}
    with pytest.raises(kind, match=match):
        pu.audit(**call)


@pytest.mark.parametrize("epsilon", [-0.1, 1.1, float("nan"), float("inf")])
def test_epsilon_lies_between_0_and_1(epsilon):
    refused(match="epsilon: expected a number between 0 and 1, or", epsilon=epsilon)


@pytest.mark.parametrize("delta", [-0.1, float("nan"), -float("inf")])
def test_delta_is_not_negative(delta):
    refused(match="delta: expected a number of at least 0, got", delta=delta)


def test_a_missing_column_is_named():
    message = "the program reads the column 'pay', but the data has no such column; columns: 'age'"
    refused(match=message, X=PEOPLE.drop(columns="pay"))
    message = r"the protected attribute 'Sex' is not a column .* did you mean 'sex'\?"
    refused(match=message, protected="Sex")
    refused(match="weights: the data has no column 'w'", weights="w")


def test_values_of_another_index_are_refused():
    refused(match=r"the index of 'sex' differs from the index of the data; align it first",
            protected={"sex": PEOPLE["sex"].iloc[::-1]})  # fmt: skip


def test_no_rows_are_refused():
    refused(match="the data has no rows", X=PEOPLE.iloc[:0])


def test_one_row_has_nothing_to_compare():
    result = pu.audit(PROGRAM, PEOPLE.iloc[:1], "student", epsilon=0)
    assert not result.witnesses
    assert set(result.to_frame()["influence"]) == {0.0}


@pytest.mark.parametrize(
    ("kind", "changed"),
    [
        (DataError, {"X": None}),
        (DataError, {"X": "people.csv"}),
        (DataError, {"X": [[1, 2], [3, 4]]}),
        (DataError, {"protected": None}),
        (DataError, {"protected": []}),
        (DataError, {"protected": ["sex", "sex"]}),
        (DataError, {"protected": [0, 1]}),
        (DataError, {"protected": PEOPLE[["sex"]]}),
        (DataError, {"missing_protected": "ignore"}),
        (DataError, {"max_support": 0}),
        (DataError, {"bins": 0}),
        (DataError, {"weights": -np.ones(8)}),
        (KindError, {"X": PEOPLE.assign(age=list("abcdefgh"))}),
        (KindError, {"X": PEOPLE.assign(age=1j)}),
        (TranslationError, {"model": None}),
        (TranslationError, {"model": "ite(age <= 32, 0, 1)"}),
        (TranslationError, {"model": DecisionTreeClassifier()}),
    ],
)
def test_what_cannot_be_audited_is_refused(kind, changed):
    refused(kind, **changed)


@pytest.mark.parametrize(
    "changed",
    [{"epsilon": "0.1"}, {"epsilon": None}, {"epsilon": [0.1]}, {"delta": "0"}, {"delta": None},
     {"max_support": "9"}, {"bins": "16"}, {"bins": 2.5},
     {"budget": 5}, {"budget": pu.Budget}, {"sampling": 100}, {"sampling": pu.Sampling},
     {"association": "nmi"}, {"association": pu.NormalizedMutualInformation},
     {"influence": "qii"}, {"influence": pu.SquaredChange}, {"progress": 5},
     {"influence": pu.SquaredChange(), "model": pu.Program.parse("[age, pay]")}],
)  # fmt: skip
def test_an_option_of_the_wrong_type_is_refused(changed):
    refused(DataError, **changed)


# Words


def test_findings_read_as_sentences():
    text = str(adult_audit())
    confirmed = sum(witness.confirmed for witness in adult_audit().witnesses)
    assert text.startswith(f"The model uses a proxy for marital ({confirmed} confirmed witnesses")
    assert re.search(r"Measured \d+ decompositions on 1,000 rows\. Every column, test, bran", text)
    assert "1. The model reads `relationship` in 3 places." in text
    guess = (
        r"you can guess marital correctly ([\d.]+)% to ([\d.]+)% of the time; without it,\s+47\.8%"
    )
    ((low, high),) = re.findall(guess, text)
    assert float(low) <= 81.4 <= float(high)
    assert "Swapping in another person's value changes 14.9% of decisions." in text
    (association,) = re.findall(r"1\.  marital +~([\d.]+) +\d\.\d{3} +0\.149 ", text)
    assert abs(float(association) - 0.383) < 0.02
    assert any(witness.id in text for witness in adult_audit().witnesses)


def test_finding_nothing_claims_nothing():
    result = pu.audit(PROGRAM, PEOPLE, "student", epsilon=1, delta=0.9, validity=None)
    assert str(result).startswith("No proxy use of student found at these thresholds.")
    assert repr(result).startswith("<Audit: not found, 0 witnesses among")


def test_what_is_not_settled_is_said():
    rng = np.random.default_rng(0)
    data = {name: rng.integers(0, 9, 40) for name in "ab"} | {"z": rng.integers(0, 2, 40)}
    program = pu.Program.parse("ite(a * b - a * a <= 9, b - a, a * 2 - b)")
    result = pu.audit(program, data, "z", 0, 0.95, variables=False)
    assert not result.complete
    assert result.unsettled
    assert "not settled: " in str(result)
    assert "not complete" in repr(result)


def test_sets_of_occurrences_that_were_not_exhausted_are_said_and_leave_an_audit_complete():
    rng = np.random.default_rng(0)
    data = {name: rng.integers(0, 9, 40) for name in "ab"} | {"z": rng.integers(0, 2, 40)}
    program = pu.Program.parse("ite(a * b - a * a <= 9, b - a, a * 2 - b)")
    result = pu.audit(program, data, "z", 0, 0.86, budget=pu.Budget(occurrences=0))
    assert result.complete
    assert result.searched[0].startswith("Combinations of the positions of 2 terms were searched")
    assert "none has more influence than 0.8725 (`b`)" in result.searched[0]
    assert result.searched[0] in str(result)


def test_partial_sums_that_are_searched_are_said_and_do_not_make_an_audit_incomplete():
    names = [f"v{i}" for i in range(6)]
    rng = np.random.default_rng(0)
    data = {name: rng.integers(0, 9, 40) for name in names} | {"z": rng.integers(0, 2, 40)}
    program = pu.Program.parse(f"ite({' + '.join(names)} <= 20, 0, 1)")
    few = pu.Budget(subsets=4, search=4, grow=4)
    searched = pu.audit(program, data, "z", 0.2, 0.05, budget=few)
    assert searched.complete
    (sentence,) = searched.searched
    assert sentence.startswith(
        "Partial sums of the 6 terms of the score were searched, but not exhaustively: "
    )
    assert sentence.endswith(" of 56 were measured.")
    assert pu.audit(program, data, "z", 0.2, 0.05).searched == ()


@pytest.mark.parametrize(
    "result",
    [
        adult_audit,
        lambda: pu.audit(PROGRAM, PEOPLE, "student"),
        lambda: pu.audit(PROGRAM, PEOPLE, "sex", delta=0.99),
    ],
)
def test_no_word_promises_anything(result):
    promised = r"\b(un)?fair|\b(un)?bias|discriminat|complian|\bsafe|guarant|\bclean\b|\bok\b"
    assert not re.search(promised, str(result()), re.IGNORECASE)


@pytest.mark.parametrize(
    ("guard", "words"),
    [
        ("retired <= 0.5", "not retired"),
        ("retired > 0.5", "retired"),
        ("age <= 0.5", "age <= 0.5"),
        ("job in {'a', 'b'}", "job in {'a', 'b'}"),
        ("job != 'a'", "job != 'a'"),
        ("age", "age"),
        ("age + 1 <= 2", "age + 1 <= 2"),
    ],
)
def test_a_computation_is_told_in_words(guard, words):
    data = {"retired": [True, False], "age": [1, 2], "job": ["a", "b"], "z": [0, 1]}
    program = pu.Program.parse(guard)
    people = pu.Population.build(data, protected="z", variables=list(data))
    assert shown_text(program.term, people.columns) == (words, False)


@pytest.mark.slow
def test_a_large_tree_can_be_audited():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(5000, 10)).round(1)).rename(columns="f{}".format)
    y = X.sum(axis=1) + rng.normal(size=5000) > 0
    z = X["f0"] + rng.normal(size=5000) > 0
    model = DecisionTreeClassifier(max_leaf_nodes=500, random_state=0).fit(X, y)
    quick = pu.audit(model, X, {"z": z}, epsilon=0.01, budget=pu.Budget(positions=0))
    assert quick.complete
