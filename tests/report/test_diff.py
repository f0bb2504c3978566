"""Two audits are compared by what witnesses do, not by where they stand."""

from __future__ import annotations

import copy
import time

import jsonschema
import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import proxyuse as pu
from proxyuse.errors import DataError
from proxyuse.report import diff
from proxyuse.report.diff_result import DiffResult
from proxyuse.report.document import document
from proxyuse.report.render import text as rendered
from proxyuse.report.saved import decoded
from tests.documents import plain, schema
from tests.report import hidden_tables

CHANGES = ("new", "around", "gone", "stronger", "weaker", "same")


def people(n_rows=400, seed=0, noise=5.0):
    random = np.random.default_rng(seed)
    z = random.random(n_rows) < 0.5
    return {
        "age": np.where(z, 50, 30) + random.normal(0, noise, n_rows),
        "wage": np.where(z, 9, 4) + random.normal(0, 2, n_rows),
        "noise": random.normal(0, 1, n_rows),
        "z": z,
    }


def audited(text, data=None, about=None, **options):
    data = people() if data is None else data
    audit = pu.audit(pu.Program.parse(text), data, options.pop("protected", "z"), **options)
    return plain(document(audit, about=about))


def compare(old, new, **options):
    """The comparison of two results that are plain values, as a plain value."""
    return plain(diff.compare(decoded(old), decoded(new), **options))


def diff_exit_code(found):
    return diff.diff_exit_code(msgspec.convert(found, DiffResult))


def diff_text(found):
    return rendered.diff_text(msgspec.convert(found, DiffResult))


def counts(found):
    return {name: len(found[name]) for name in CHANGES if found[name]}


FIRST = "ite(age <= 40, 0, ite(noise <= 0, 0, 1))"


def test_a_document_is_the_same_as_itself():
    old = audited(FIRST)
    found = compare(old, old)
    assert counts(found) == {"same": len(old["witnesses"])}
    assert {entry["matched"] for entry in found["same"]} == {"id"}
    assert found["differences"] == []
    assert diff_exit_code(found) == 0
    assert diff_text(found).startswith("No new witnesses")


def test_after_retraining_a_moved_threshold_is_not_new():
    old, new = audited(FIRST), audited("ite(age <= 41.5, 0, ite(noise <= 0.1, 0, 1))")
    found = compare(old, new, tolerance=0.2)
    assert not found["new"]
    guard = next(e for e in found["same"] if e["new"]["operator"] == "compare")
    assert guard["matched"] == "variables"
    assert (guard["old"]["term"], guard["new"]["term"]) == ("age <= 40", "age <= 41.5")
    assert not found["new_groups"]
    assert diff_exit_code(found) == 0


def test_a_computation_that_moved_is_matched_by_its_text():
    old, new = audited(FIRST), audited("ite(noise <= 0, 0, ite(age <= 40, 0, 1))")
    guard = next(
        entry
        for name in ("stronger", "weaker", "same")
        for entry in compare(old, new)[name]
        if entry["new"]["term"] == "age <= 40"
    )
    assert guard["matched"] == "term"
    assert guard["old"]["id"] != guard["new"]["id"]


def test_another_variable_is_new_and_a_new_group():
    old, new = audited(FIRST), audited("ite(age <= 40, 0, ite(wage <= 6.5, 0, 1))", epsilon=0.05)
    found = compare(old, new)
    assert diff_exit_code(found) == 1
    assert ["wage"] in [entry["new"]["variables"] for entry in found["new"]]
    assert [group["representative"]["variables"] for group in found["new_groups"]] == [["wage"]]
    assert "epsilon: was 0.1, is 0.05" in found["differences"]
    text = diff_text(found)
    assert "1 group reads variables that no earlier witness read" in text
    assert "New groups\n- z: `wage`" in text
    assert "wage" in text
    backwards = compare(new, old)
    assert ["wage"] in [entry["old"]["variables"] for entry in backwards["gone"]]
    assert all("noise" in entry["new"]["variables"] for entry in backwards["new"])


def test_one_more_of_a_kind_is_new():
    old, new = audited(FIRST), audited("ite(age <= 40, 0, ite(age <= 45, 0, 1))")
    found = compare(old, new)
    assert found["new"]
    assert not found["new_groups"]
    assert diff_exit_code(found) == 1


@pytest.mark.parametrize(("by", "change"), [(-0.1, "around"), (0.0, "around"), (0.1, "new")])
@pytest.mark.parametrize("name", ["association", "influence"])
def test_what_lies_around_a_known_one_is_new_only_if_it_is_stronger(by, change, name):
    old = audited(FIRST)
    new = copy.deepcopy(old)
    best = max(witness[name] for witness in old["witnesses"])
    one = copy.deepcopy(new["witnesses"][-1])
    one |= {"id": "0" * 16, "term": "another", "variables": ["other"], name: best + by}
    new["witnesses"].append(one)
    found = compare(old, new)
    assert counts(found) == {change: 1, "same": len(old["witnesses"])}
    assert diff_exit_code(found) == (change == "new")
    assert {"around": "related to known", "new": "new"}[change] in diff_text(found).lower()


def test_stronger_and_weaker():
    old, new = audited(FIRST, people(noise=9)), audited(FIRST, people(noise=2))
    found, backwards = compare(old, new), compare(new, old)
    assert {entry["new"]["term"] for entry in found["stronger"]} >= {"age", "age <= 40"}
    assert all(e["association_change"] > 0.01 for e in found["stronger"])
    assert {entry["new"]["term"] for entry in backwards["weaker"]} >= {"age <= 40"}
    assert "Stronger" in diff_text(found)
    assert not compare(old, new, tolerance=1)["stronger"]


@pytest.mark.parametrize(
    ("by", "tolerance", "change"),
    [(0.02, 0.01, "stronger"), (0.01, 0.01, "same"), (-0.02, 0.01, "weaker"), (0.02, 0.03, "same")],
)
@pytest.mark.parametrize("name", ["association", "influence"])
def test_the_tolerance_is_a_limit(by, tolerance, change, name):
    old = audited(FIRST)
    new = copy.deepcopy(old)
    new["witnesses"][0][name] += by
    found = compare(old, new, tolerance=tolerance)
    assert len(found["same"]) == len(old["witnesses"]) - (change != "same")
    assert len(found[change]) >= 1


def test_one_up_and_one_down_is_stronger():
    old = audited(FIRST)
    new = copy.deepcopy(old)
    new["witnesses"][0]["association"] -= 0.1
    new["witnesses"][0]["influence"] += 0.1
    assert len(compare(old, new)["stronger"]) == 1


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ({}, {"delta": 0.2}, "delta: was 0.05, is 0.2"),
        ({}, {"protected": ["z", "noise"]}, "the protected attribute 'noise' was not audited"),
        ({"protected": ["z", "noise"]}, {}, "'noise' was audited before and is not now"),
        ({}, {"data": people(300)}, "number of rows: was 400, is 300"),
        ({}, {"influence": pu.SquaredChange()}, "measure of influence: was quantitative"),
        ({"about": {"data": {"sha256": "1"}}}, {"about": {"data": {"sha256": "2"}}}, "data.sha256"),
        ({}, {"about": {"data": "new.csv"}}, "data: was not given, is new.csv"),
        ({"variables": False}, {}, "the earlier search was incomplete"),
    ],
)
def test_different_questions_are_said_to_be(old, new, message):
    differences = compare(audited(FIRST, **old), audited(FIRST, **new))["differences"]
    assert any(message in text for text in differences), differences


def test_not_settled_is_neither_clean_nor_new():
    old, new = audited("ite(noise <= 0, 0, 1)"), audited("ite(noise <= 0, 0, 1)", variables=False)
    found = compare(old, new)
    assert diff_exit_code(found) == 3
    assert found["result"] == "cannot be decided"
    assert "The search is incomplete" in diff_text(found)


def test_a_cut_text_is_no_exact_match():
    old = audited(FIRST)
    new = copy.deepcopy(old)
    for side in (old, new):
        for witness in side["witnesses"]:
            witness["term_cut"] = True
    for witness in new["witnesses"]:
        witness["id"] += "x"
    matched = {entry["matched"] for entry in compare(old, new)["same"]}
    assert matched == {"variables"}


@pytest.mark.parametrize(
    ("old", "new"),
    [(FIRST, FIRST), (FIRST, "ite(wage <= 6, 0, 1)"), ("ite(noise <= 0, 0, 1)", FIRST)],
)
def test_comparisons_fit_the_published_schema(old, new):
    found = compare(audited(old), audited(new))
    jsonschema.Draft202012Validator.check_schema(schema("diff"))
    jsonschema.validate(found, schema("diff"))


def test_a_strangers_file_does_not_command_the_terminal():
    old, new = audited("ite(noise <= 0, 0, 1)"), audited(FIRST)
    for witness in new["witnesses"]:
        witness["reading"] = witness["protected"] = "\x1b[2Jgone\n"
    assert "\x1b" not in diff_text(compare(old, new))


@pytest.mark.parametrize("wrong", [-0.1, float("nan")])
def test_a_tolerance_is_a_number_of_0_or_more(wrong):
    old = audited(FIRST)
    with pytest.raises(DataError, match="tolerance"):
        compare(old, old, tolerance=wrong)


shares = st.lists(st.integers(0, 20).map(lambda n: n / 20), max_size=7)


@given(shares, shares)
def test_the_closest_two_are_always_taken_next(old, new):
    one = decoded(audited(FIRST)).witnesses[0]
    sides = [
        [msgspec.structs.replace(one, association=x, id=f"{i}") for i, x in enumerate(side)]
        for side in (old, new)
    ]
    pairs = list(diff._closest(range(len(old)), range(len(new)), *sides))
    left_old, left_new = set(range(len(old))), set(range(len(new)))
    for first, second in pairs:
        gap = abs(old[first] - new[second])
        least = min(abs(old[a] - new[b]) for a in left_old for b in left_new)
        assert gap == pytest.approx(least, abs=1e-12)
        left_old.remove(first)
        left_new.remove(second)
    assert not left_old or not left_new


def test_thousands_of_witnesses_are_matched_quickly():
    old = audited(FIRST)
    one = old["witnesses"][0]
    random = np.random.default_rng(0)
    for side in (old, new := copy.deepcopy(old)):
        side["witnesses"] = [
            {**one, "id": f"{side is new}{i}", "term": f"{side is new}{i}", "association": share}
            for i, share in enumerate(random.random(5000).tolist())
        ]
    start = time.process_time()
    found = compare(old, new)
    assert time.process_time() - start < 5
    assert not found["new"]
    assert not found["gone"]


def test_a_comparison_prints_ranges_as_ranges():
    tables = np.array([[3, 197], [180, 20]]), np.array([[3, 197], [150, 50]])
    old, new = (document(hidden_tables.audited(counts)[0]) for counts in tables)
    result = diff.compare(old, new)
    (pair, *_) = result.weaker
    for side, known in ((pair.old, old), (pair.new, new)):
        assert side is not None
        assert side.association_range is not None
        assert side.association_range == known.by_key()["z", side.id].association_range
    printed = [f"~{round(known.witnesses[0].association, 3):g}" for known in (old, new)]
    assert f"association {printed[0]} -> {printed[1]}, influence " in rendered.diff_text(result)
