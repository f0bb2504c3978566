"""JUnit XML has a test for each group of witnesses, and agrees with the exit code."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as XML

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import proxyuse as pu
from proxyuse.report.document import document
from proxyuse.report.render.junit import audit_junit
from proxyuse.report.standing import exit_code
from tests.command_line import run

PROGRAM = "ite(vitamins == 1, ite(engaged == 1, 'a', 'b'), ite(engaged == 1, 'b', 'a'))"
DATA = {
    "vitamins": [1, 1, 0, 0] * 30,
    "engaged": [1, 0, 1, 0] * 30,
    "pregnant": [1, 1, 0, 0] * 30,
    "promised": [1, 0, 1, 0] * 30,
}


def audited(protected="pregnant", **options):
    return pu.audit(pu.Program.parse(PROGRAM), DATA, protected, **options)


def read(found, **options):
    """The suites, after a look at their counts and at the exit code."""
    result = document(found, **options)
    text = audit_junit(result)
    assert text.startswith('<?xml version="1.0" encoding="UTF-8"?>\n')
    suites = XML.fromstring(text.encode("utf-8"))
    tags = {"tests": "testcase", "failures": "failure", "errors": "error", "skipped": "skipped"}
    for element in [suites, *suites]:
        for name, tag in tags.items():
            assert counted(element)[name] == len(element.findall(f".//{tag}"))
    assert sum(counted(suite)["tests"] for suite in suites) == counted(suites)["tests"]
    names = [(case.get("classname"), case.get("name")) for case in suites.iter("testcase")]
    assert len(set(names)) == len(names)
    ends = counted(suites)
    assert exit_code(result) == (1 if ends["failures"] else 3 if ends["errors"] else 0)
    return suites


def counted(element):
    return {name: int(element.get(name)) for name in ("tests", "failures", "errors", "skipped")}


def test_a_protected_attribute_is_a_suite_and_a_group_a_test():
    audit = audited(["pregnant", "promised"])
    suites = read(audit)
    assert [suite.get("name") for suite in suites] == [
        "proxy use of pregnant",
        "proxy use of promised",
        "the audit",
    ]
    assert counted(suites[0]) == {"tests": 2, "failures": 1, "errors": 0, "skipped": 0}
    first, other = suites[0].findall("testcase")
    assert first.get("classname") == "proxyuse.pregnant"
    assert first.get("name").startswith("vitamins (")
    failure = first.find("failure")
    assert failure.get("message").startswith("The model uses a proxy for pregnant. The model reads")
    assert "more related witness" in failure.text
    assert other.get("name") == "no other proxy use found"
    assert len(other) == 0


def test_where_nothing_is_found_all_pass():
    suites = read(audited(epsilon=1, delta=0.9))
    assert counted(suites) == {"tests": 2, "failures": 0, "errors": 0, "skipped": 0}
    assert suites[0].find("testcase").get("name") == "no proxy use found"


def test_what_was_judged_appropriate_is_skipped_with_the_reason():
    suites = read(audited(), oracle=lambda w: pu.Judgment(True, "medicine", "Ada"))
    assert counted(suites[0]) == {"tests": 2, "failures": 0, "errors": 0, "skipped": 1}
    assert suites.find(".//skipped").get("message") == "Judged appropriate by Ada: medicine"


def test_a_group_fails_if_one_of_its_witnesses_is_a_violation():
    def oracle(witness):
        return pu.Judgment(True, "medicine") if witness.term == "vitamins" else None

    suites = read(audited(), oracle=oracle)
    assert counted(suites[0])["failures"] == 1
    failure = suites.find(".//failure")
    assert "vitamins == 1" in failure.get("message")
    assert "1 judged appropriate" in failure.text


@pytest.mark.parametrize("rows", [16, 120])
@pytest.mark.parametrize("fail_on", ["confirmed", "possible"])
def test_possible_witnesses_are_skipped_unless_they_count(rows, fail_on):
    few = pd.DataFrame(DATA).head(rows)
    audit = pu.audit(pu.Program.parse(PROGRAM), few, "pregnant", fail_on=fail_on)
    suites = read(audit)
    fails = rows == 120 or fail_on == "possible"
    assert counted(suites[0])["failures"] == fails
    assert counted(suites[0])["skipped"] == (not fails)
    if not fails:
        assert "Possible, but not confirmed" in suites.find(".//skipped").get("message")


@pytest.mark.parametrize("fail_on", ["confirmed", "possible"])
def test_what_cannot_be_decided_is_an_error(fail_on):
    suites = read(audited(validity=pu.Permutation(permutations=3), fail_on=fail_on))
    assert suites.find(".//error").get("type") == "cannot be decided"
    assert counted(suites)["failures"] == (fail_on == "possible")


def test_an_attribute_that_cannot_be_decided_is_an_error():
    suites = read(audited({"pregnant": DATA["pregnant"], "religion": ["a"] * 120}))
    assert counted(suites[0])["errors"] == 0
    assert counted(suites[1]) == {"tests": 1, "failures": 0, "errors": 1, "skipped": 0}
    assert "religion has only one value" in suites[1].find(".//error").get("message")


def test_what_is_not_settled_is_an_error():
    suites = read(audited(delta=0.9, variables=False))
    error = suites.find(".//error")
    assert error.get("type") == "not settled"
    assert error.text.count(" not measured") == 2  # both variables
    assert counted(suites) == {"tests": 2, "failures": 0, "errors": 1, "skipped": 0}


def test_partial_sums_that_were_searched_are_no_error():
    numbers = np.random.default_rng(0).normal(size=(120, 16)).round(2)
    wide = pd.DataFrame(numbers, columns=[f"x{i}" for i in range(16)])
    program = pu.Program.parse(f"ite({' + '.join(wide.columns)} > 0, 1, 0)")
    audit = pu.audit(program, wide.assign(z=[0, 1] * 60), "z", epsilon=0.3)
    assert audit.searched
    assert counted(read(audit)) == {"tests": 2, "failures": 0, "errors": 0, "skipped": 0}


def test_names_that_look_alike_on_one_line_stay_apart():
    values = DATA["pregnant"]
    audit = audited({"a\nb": values, "a b": values, "a\tb": DATA["promised"]})
    suites = read_counts(audit)
    assert [counted(suite)["tests"] for suite in suites] == [2, 2, 2, 1]


def read_counts(found):
    return XML.fromstring(audit_junit(document(found)).encode("utf-8"))


@given(st.text(min_size=1, max_size=60))
def test_any_name_is_only_text(name):
    values = [0, 1] * 30
    program = pu.Program.parse("ite(x == 1, 'a', 'b')")
    audit = pu.audit(program, {"x": values}, {name: values})
    suites = read(audit, oracle=lambda w: pu.Judgment(True, f"<b>&{name}", f"'{name}\""))
    assert counted(suites)["skipped"] == 1


@pytest.mark.parametrize("name", ["]]><x/>", "\x00\x0b\ufffe\ud800", "<script>", "n" * 10**4])
def test_hostile_names(name):
    values = [0, 1] * 30
    program = pu.Program.parse("ite(x == 1, 'a', 'b')")
    suites = read(pu.audit(program, {"x": values}, {name: values}))
    assert len(suites) == 2
    assert {element.tag for element in suites.iter()} == {
        "testsuites", "testsuite", "properties", "property", "testcase", "failure",
    }  # fmt: skip
    assert len(suites[0].get("name")) < 250


def test_the_command_line_writes_what_show_prints(tmp_path: Path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("model.txt").write_text(PROGRAM)
    pd.DataFrame(DATA).to_csv("people.csv", index=False)
    words = ("audit", "--model", "model.txt", "--data", "people.csv", "--protected", "pregnant")
    run(*words, "--output", "a.json", "--junit", "a.xml", "--quiet", code=1, capsys=capsys)
    out, _ = run("show", "a.json", "--junit", code=1, capsys=capsys)
    assert out == Path("a.xml").read_text("utf-8")
    _, err = run(*words, "--junit", "none/a.xml", code=2, capsys=capsys)
    assert "does not exist" in err
