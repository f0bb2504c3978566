"""The scripts on runtime and on three kinds of models: counts, fits and what their pages say."""

from __future__ import annotations

import sys
from functools import cache

import numpy as np
import pytest

import proxyuse as pu
from examples.paper.experiment import load
from tests.examples.reproductions import reproduced

pytestmark = pytest.mark.slow


@cache
def script(name):
    """The module of a script."""
    return sys.modules[load(name).reproduce.__module__]


@cache
def people():
    return script("runtime").adult()


@cache
def small_runs():
    """The models of the paper's size on few rows, and larger models on fewer still."""
    runtime = script("runtime")
    sizes = {"tree": (4, 40), "forest": (1, 4), "logistic": (3, 5, 8)}
    return runtime.by_rows(people(), (200, 400)), runtime.by_size(people(), sizes, rows=200)


# Runtime

SIZES = (200, 400, 800, 1_600)


@pytest.mark.parametrize("power", [0.5, 1, 2])
def test_the_fit_finds_the_exponent_of_a_power_law(power):
    sizes = np.array([500, 1_000, 4_000, 16_000, 64_000, 1_000_000])
    fit = script("runtime").growth(sizes, 3e-6 * sizes**power)
    assert fit.exponent == pytest.approx(power, abs=1e-12)
    assert fit.used.sum() >= 3
    assert fit.slow


def test_what_is_fixed_counts_for_a_quarter_at_most():
    sizes = np.array([1, 10, 100, 1_000, 10_000, 100_000, 1_000_000])
    fit = script("runtime").growth(sizes, 1.0 + 1e-3 * sizes)
    assert fit.used.sum() == 3  # a thousand rows take twice the time of the fastest
    assert fit.slow
    assert 0.9 < fit.exponent < 1
    everywhere = np.polyfit(np.log(sizes), np.log(1.0 + 1e-3 * sizes), 1)[0]
    assert everywhere < fit.exponent


def test_the_three_largest_are_fitted_where_all_take_about_as_long():
    runtime = script("runtime")
    fit = runtime.growth([1, 2, 4, 8, 16], [1.0, 1.0, 1.0, 1.1, 1.2])
    assert fit.used.tolist() == [False, False, True, True, True]
    assert not fit.slow
    assert 0 < fit.exponent < 0.2
    runs = [runtime.Run(rows, 1, 9, True, 1.0 + rows / 100) for rows in (1, 2, 4, 8, 16)]
    (row,) = runtime.exponents_table({"rows": {"tree": runs}}).rows
    assert row[3:] == ("3 of 5", "the three largest")


def test_only_complete_audits_are_fitted():
    runtime = script("runtime")
    runs = [runtime.Run(100, 1, n, n != 800, n * (9 if n == 800 else 1.0)) for n in (1, *SIZES)]
    fit = runtime.fitted(runs, "decompositions")
    assert fit.used.tolist() == [False, True, True, False, True]
    assert fit.exponent == pytest.approx(1, abs=1e-12)
    (row,) = runtime.exponents_table({"decompositions": {"forest": runs}}).rows
    assert row == (
        "forest of 3", "decompositions", "1.00", "3 of 5", "at least 4 times the fastest",
    )  # fmt: skip


def test_thresholds_change_only_which_sums_of_trees_are_listed_in_the_small_models():
    runtime = script("runtime")
    sample = runtime.drawn(people(), 1_000)
    for kind, size in runtime.SMALL.items():
        model = runtime.trained(kind, size, people())
        found = [runtime.audited(model, sample, at).decompositions for at in (0, 0.05)]
        sums = [{d.id for d in every if any(s.operands for s in d.sites)} for every in found]
        terms = [{d.id for d in every} - some for every, some in zip(found, sums, strict=True)]
        assert terms[0] == terms[1]
        if kind != "forest":
            assert sums[0] == sums[1]
        assert len(sums[0] ^ sums[1]) <= 3  # pairs of three trees


@pytest.mark.slow
def test_the_small_models_have_as_many_decompositions_as_the_authors_timed():
    by_rows, _ = small_runs()
    counts = {kind: {run.decompositions for run in runs} for kind, runs in by_rows.items()}
    assert counts["tree"] == {37}
    assert counts["logistic"] == {38}
    assert counts["forest"] <= {33, 34, 35}  # with those pairs of trees that are minimal witnesses
    assert [run.rows for run in by_rows["tree"]] == [200, 400]
    assert all(run.complete for runs in by_rows.values() for run in runs)


@pytest.mark.slow
def test_every_set_of_terms_of_a_regression_is_measured():
    _, by_size = small_runs()
    for run in by_size["logistic"]:
        assert run.decompositions == 2**run.size + run.size + 1
        assert run.complete
    assert by_size["tree"][0].decompositions < by_size["tree"][1].decompositions
    assert by_size["forest"][0].decompositions < by_size["forest"][1].decompositions


def test_the_largest_models_pass_ten_thousand_decompositions():
    runtime = script("runtime")
    columns = runtime.LARGER["logistic"][-1]
    assert columns == people().X.shape[1] == 14
    assert 10_000 < 2**columns - 1 < 16_384  # the budget of an audit: all of them are listed
    tree = runtime.trained("tree", runtime.LARGER["tree"][-1], people()).tree_
    assert tree.n_leaves == runtime.LARGER["tree"][-1]
    forest = runtime.trained("forest", runtime.LARGER["forest"][-1], people())
    guards = [sum(t.tree_.n_leaves - 1 for t in forest.estimators_), tree.n_leaves - 1]
    assert all(3 * number > 10_000 for number in guards)  # test, branch and variable of each


def test_what_is_not_exhausted_in_a_forest_are_occurrences_of_age():
    runtime = script("runtime")
    thousand = runtime.People(*(some[:1_000] for some in vars(people()).values()))
    audit = runtime.audited(runtime.trained("forest", 6, people()), thousand)
    assert audit.complete
    assert "positions of `age` were searched, but not exhaustively" in audit.searched[0]


def test_one_sentence_says_how_far_occurrences_in_a_large_tree_were_searched():
    runtime = script("runtime")
    thousand = runtime.People(*(some[:1_000] for some in vars(people()).values()))
    model = runtime.trained("tree", 4_000, people())
    X, protected = thousand.X[list(model.feature_names_in_)], {"marital": thousand.marital}
    audit = pu.audit(model, X, protected, 0.05, 0.05, validity=None)
    assert audit.complete
    (sentence,) = audit.searched
    assert "terms were searched, but not exhaustively" in sentence
    assert "`age <= " in sentence  # the one of the largest bound


def test_marital_status_is_not_among_the_columns():
    assert "marital_status" not in people().X.columns


def test_drawn_rows_are_near_adult_and_no_copies():
    runtime = script("runtime")
    sample = runtime.drawn(people(), 60_000)
    assert len(sample.X) == 60_000
    assert not sample.X.duplicated().any()
    words = sample.X.columns.drop([*runtime.NUMBERS, "age_squared"])
    assert sample.X[words].isin(people().X[words].to_dict("list")).all().all()
    assert (sample.X["capital_gain"] == 0).mean() == pytest.approx(0.92, abs=0.01)
    assert sample.X["age"].mean() == pytest.approx(people().X["age"].mean(), rel=0.01)
    assert (sample.X["age_squared"] == sample.X["age"] ** 2).all()


def test_tables_and_picture_of_a_small_run():
    runtime = script("runtime")
    by_rows, by_size = small_runs()
    assert [row[0] for row in runtime.rows_table(by_rows).rows] == ["200", "400"]
    table = runtime.sizes_table(by_size)
    assert table.rows[-1][:3] == ("logistic regression", "8 columns", "265")
    assert {row[-1] for row in table.rows} <= {"yes", "no"}
    ax = runtime.draw(by_rows, by_size)
    assert [axes.get_xlabel() for axes in ax.figure.axes] == ["rows", "decompositions"]
    assert {text.get_text() for text in ax.texts} >= {"slope 1", "slope 2"}


@pytest.mark.slow
def test_all_of_the_runtime_experiment():
    result = reproduced("runtime")
    assert not result.compared
    exponents, _, rows, sizes = result.tables
    assert [row[:2] for row in exponents.rows] == [
        (model, across)
        for across in ("rows", "decompositions")
        for model in ("tree", "forest of 3", "logistic regression")
    ]
    assert [row[0] for row in rows.rows][-1] == "1,000,000"
    assert {row[-1] for row in rows.rows} == {"yes"}
    largest = {row[0]: int(row[2].replace(",", "")) for row in sizes.rows}
    assert min(largest.values()) > 10_000
    assert {row[-1] for row in sizes.rows if row[0] != "forest of 3"} == {"yes"}


# Three models


@cache
def three_models():
    models = script("similar")
    return models.three(models.people())


def three_audits():
    return {name: audit for name, (_, audit) in three_models().items()}


def frames():
    return {name: audit.to_frame(full_terms=True) for name, audit in three_audits().items()}


def test_the_three_models_are_of_similar_size_and_settled():
    counts = {name: len(audit.decompositions) for name, audit in three_audits().items()}
    assert counts["logistic regression"] == 71
    assert all(abs(count - 71) <= 0.2 * 71 for count in counts.values())
    assert all(audit.complete for audit in three_audits().values())


def test_the_most_associated_computation_is_the_relationship_in_all_three():
    for name, rows in frames().items():
        first = rows.loc[rows["association"].idxmax()]
        assert "relationship" in first["term"]
        if name != "logistic regression":
            assert first["term"] == "relationship <= 0.5"
            assert first["association"] == pytest.approx(0.383606651953, abs=1e-12)


def test_the_guard_decides_more_often_in_the_tree_than_in_the_forest():
    most = {
        name: rows.loc[rows["term"] == "relationship <= 0.5", "influence"].max()
        for name, rows in frames().items()
    }
    assert most["tree"] > most["forest of 3"] > 0.05
    guards = [w for w in three_audits()["forest of 3"].witnesses if w.term == "relationship <= 0.5"]
    strongest = max(guards, key=lambda w: w.influence)
    assert len(strongest.positions) == 2  # as the picture says
    assert max(len(w.positions) for w in guards) == 3  # once in each tree


def test_in_the_regression_the_relationship_needs_other_terms():
    rows = frames()["logistic regression"]
    alone = rows[rows["term"] == "relationship"].iloc[0]
    assert alone["association"] == pytest.approx(0.3828, abs=5e-5)
    assert 0.045 < alone["influence"] <= 0.05
    assert not alone["witness"]
    strong = rows[rows["witness"] & (rows["association"] > 0.2)]
    assert len(strong) > 10
    assert strong["term"].str.contains("relationship").all()
    first = script("similar").most_associated(three_audits()["logistic regression"])
    assert first.term.count("*") == 2
    assert "sex" in first.term


def test_sums_of_trees_are_witnesses_and_the_decision_of_the_forest_is_not():
    rows = frames()["forest of 3"]
    assert not rows.loc[rows["positions"] == "root", "witness"].item()
    total = rows[rows["positions"] == "0.0"].iloc[0]
    assert total["witness"]
    assert total["association"] > 0.25
    assert total["influence"] == rows.loc[rows["witness"], "influence"].max()


def test_two_of_three_trees_and_all_sums_are_witnesses():
    rows = frames()["forest of 3"].set_index("positions")
    alone = rows.loc[["0.0.0", "0.0.1", "0.0.2"]]
    assert alone["witness"].tolist() == [False, True, True]
    assert (alone["association"] > 0.25).all()
    assert alone["influence"].iloc[0] == pytest.approx(0.0139, abs=5e-5)
    assert rows.loc["0.0", "witness"]
    pairs = ["0.0{0,1}", "0.0{0,2}", "0.0{1,2}"]
    assert not set(pairs) & set(rows.index)  # each has a tree in it that is a witness
    model, _ = three_models()["forest of 3"]
    similar = script("similar")
    every = similar.audited(model, similar.people(), all_sets=True).to_frame()
    assert every.set_index("positions").loc[pairs, "witness"].all()


def test_the_whole_tree_is_the_most_influential_witness_of_all():
    witnesses = {name: rows[rows["witness"]] for name, rows in frames().items()}
    most = {name: rows["influence"].max() for name, rows in witnesses.items()}
    assert max(most, key=most.__getitem__) == "tree"
    tree = witnesses["tree"]
    assert tree.loc[tree["influence"].idxmax(), "positions"] == "root"


def test_the_regression_has_the_most_witnesses():
    counts = {name: len(audit.witnesses) for name, audit in three_audits().items()}
    assert counts["logistic regression"] > 2 * max(counts["tree"], counts["forest of 3"])
    regression = three_audits()["logistic regression"]
    most = max(regression.witnesses, key=lambda w: w.influence)
    assert most.term.count("*") == 5  # as the picture says


def test_the_smallest_sets_alone_are_about_as_many_as_in_the_other_models():
    similar = script("similar")
    model, every = three_models()["logistic regression"]
    smallest = similar.audited(model, similar.people()).witnesses
    sets = [set(w.expression.operands) for w in smallest if str(w.positions[0]).startswith("0.0{")]
    assert sets
    assert not any(one < other for one in sets for other in sets)
    assert {w.id for w in smallest} < {w.id for w in every.witnesses}
    others = [len(three_audits()[name].witnesses) for name in ("tree", "forest of 3")]
    assert min(others) <= len(smallest) <= max(others)


def test_the_page_of_the_three_models():
    result = reproduced("similar")
    table, strongest = result.tables
    assert [row[0] for row in table.rows] == ["tree", "forest of 3", "logistic regression"]
    assert [row[3] for row in table.rows][-1] == "71"
    assert all(0.8 < float(row[column]) < 0.9 for row in table.rows for column in (1, 2))
    assert strongest.rows[0][1] == "`relationship <= 0.5`"
    assert not result.compared  # the paper's figures are not at hand
