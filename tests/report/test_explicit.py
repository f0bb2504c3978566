"""Explicit use in results and in every format."""

from __future__ import annotations

import xml.etree.ElementTree as XML
from pathlib import Path

import jsonschema
import numpy as np
import pytest

import proxyuse as pu
from proxyuse.report.diff import compare, diff_exit_code
from proxyuse.report.document import document
from proxyuse.report.findings.headline import headline
from proxyuse.report.render.junit import audit_junit
from proxyuse.report.render.markdown import audit_markdown
from proxyuse.report.render.notebook import audit_html
from proxyuse.report.render.sarif import audit_sarif
from proxyuse.report.render.text import audit_text, diff_text
from proxyuse.report.saved import as_text, decoded
from proxyuse.report.standing import exit_code
from proxyuse.verdict import Verdict
from tests.documents import plain, schema

N_ROWS = 3000
RANDOM = np.random.default_rng(0)
PEOPLE = {
    "age": RANDOM.integers(18, 90, N_ROWS).astype(float),
    "x": RANDOM.normal(size=N_ROWS),
    "sex": RANDOM.choice(list("fm"), N_ROWS),
}
PROGRAM = pu.Program.parse("ite(age > 35 and x > 0, 'a', 'b')")
DERIVED = {"under20": "age < 20"}
VALUES = {"under25": PEOPLE["age"] < 25}


def result_of(protected, program=PROGRAM, oracle=None, **options):
    return document(pu.audit(program, PEOPLE, protected, **options), oracle=oracle)


def allowed(witness):
    return pu.Judgment(True, "age is allowed", "Ada") if witness.term == "age" else None


def test_the_result_has_the_column_its_influence_and_the_closest_tests():
    result = result_of(DERIVED)
    (z,) = result.protected
    assert (z.derived_from, z.expression, z.verdict) == (("age",), "age < 20", Verdict.CONFIRMED)
    (use,) = z.explicit
    assert (use.column, use.how, use.verdict, use.judgment) == (
        "age", "declared", Verdict.CONFIRMED, None,
    )  # fmt: skip
    assert use.influence_low is not None
    assert use.influence is not None
    assert 0.05 < use.influence_low < use.influence
    assert [test.reading for test in use.tests] == ["age > 35"]
    assert exit_code(result) == 1
    jsonschema.validate(plain(result), schema("audit"))
    assert decoded(plain(result)) == result


def test_a_rule_has_its_accuracy_on_held_out_rows():
    (use,) = result_of(VALUES).protected[0].explicit
    assert (use.how, use.accuracy, use.others) == ("predicts", 0.995, 0.95)
    assert use.accuracy_low is not None
    assert 0.99 <= use.accuracy_low < 1


def test_every_format_says_it():
    audit = pu.audit(PROGRAM, PEOPLE, DERIVED)
    result = document(audit)
    first = "The model uses under20 explicitly: it reads `age`, which determines under20."
    assert headline(result) == first
    text = " ".join(audit_text(result).split())
    assert text.startswith(first)
    assert "The model reads `age`, and under20 is derived from it: `age < 20`." in text
    assert "closest to under20 is `age > 35`" in text
    assert "The model reads <code>age</code>, and under20" in audit_markdown(result)
    assert "is derived from it" in audit_html(audit)


def test_the_page_says_it(tmp_path):
    path = pu.audit(PROGRAM, PEOPLE, DERIVED).to_html(tmp_path / "report.html")
    page = Path(path).read_text("utf-8")
    assert '<h2 id="explicit">Explicit use</h2>' in page
    assert "; derived from <em><bdi>age</bdi></em>: <em><bdi>age &lt; 20</bdi></em>" in page


@pytest.mark.parametrize(
    ("protected", "options", "level", "code"),
    [
        (DERIVED, {}, "error", 1),
        (DERIVED, {"validity": None}, "warning", 1),
        (DERIVED, {"validity": "permutation"}, "note", 0),
    ],
)
def test_it_is_a_result_of_its_own_for_code_scanning(protected, options, level, code):
    result = result_of(protected, **options)
    (entry,) = audit_sarif(result)["runs"][0]["results"]
    assert (entry["ruleId"], entry["kind"], entry["level"]) == ("explicit-use", "fail", level)
    rules = audit_sarif(result)["runs"][0]["tool"]["driver"]["rules"]
    assert rules[entry["ruleIndex"]]["id"] == "explicit-use"
    assert entry["properties"]["column"] == "age"
    assert exit_code(result) == code


@pytest.mark.parametrize(
    ("options", "oracle", "outcome"),
    [
        ({}, None, "failure"),
        ({"validity": "permutation"}, None, "skipped"),
        ({}, allowed, "skipped"),
    ],
)
def test_it_is_a_test_for_ci_servers(options, oracle, outcome):
    suites = XML.fromstring(audit_junit(result_of(DERIVED, oracle=oracle, **options)))
    case = suites.find(".//testcase[@name='explicit use: age']")
    assert case is not None
    assert [entry.tag for entry in case] == [outcome]


def test_an_appropriate_use_is_suppressed_and_passes():
    result = result_of(DERIVED, oracle=allowed)
    assert headline(result) == "The explicit use of under20 was judged appropriate."
    assert exit_code(result) == 0
    assert "Judged appropriate by Ada: age is allowed." in " ".join(audit_text(result).split())
    (entry,) = audit_sarif(result)["runs"][0]["results"]
    assert entry["suppressions"][0]["justification"] == "age is allowed"


def test_a_possible_use_does_not_sound_certain():
    result = result_of(DERIVED, validity=None)
    assert headline(result).startswith("The model may use under20 explicitly: it reads `age`")
    assert "above the thresholds" not in headline(result)


def test_it_says_what_to_do_until_it_is_judged():
    step = (
        "If the model may read it, record that with `proxyuse judge`. Otherwise train the model "
        "without it."
    )
    assert step in " ".join(audit_text(result_of(DERIVED)).split())
    assert step in audit_markdown(result_of(DERIVED))
    assert step not in " ".join(audit_text(result_of(DERIVED, oracle=allowed)).split())


def test_what_a_witness_already_shows_is_shown_once():
    program = pu.Program.parse("ite(sex == 'f', 'a', ite(x > 0, 'a', 'b'))")
    for protected in ("sex", {"female": PEOPLE["sex"] == "f"}):
        result = result_of(protected, program)
        (use,) = result.protected[0].explicit
        assert use.confirmed
        assert use.repeats_witness
        assert "Explicit use" not in audit_text(result)
        rules = {entry["ruleId"] for entry in audit_sarif(result)["runs"][0]["results"]}
        assert rules == {"proxy-use"}


def test_a_column_without_influence_does_not_count():
    program = pu.Program.parse("ite(x > 0 or age > 88, 'a', 'b')")
    result = result_of(DERIVED, program)
    assert headline(result) == "No proxy use of under20 found at these thresholds."
    assert "not above the threshold of 0.05, so it does not count" in " ".join(
        audit_text(result).split()
    )
    assert exit_code(result) == 0


def test_a_comparison_names_columns_that_are_newly_used():
    before = result_of(DERIVED, pu.Program.parse("ite(x > 0, 'a', 'b')"))
    after = result_of(DERIVED)
    diff = compare(before, after)
    assert [(use.protected, use.column) for use in diff.new_explicit] == [("under20", "age")]
    assert diff_exit_code(diff) == 1
    assert diff_text(diff).startswith("The model newly uses a column that determines")
    assert diff_exit_code(compare(after, after)) == 0
    jsonschema.validate(plain(diff), schema("diff"))


def test_known_uses_pass_an_assertion(tmp_path):
    known = tmp_path / "known.json"
    known.write_text(as_text(result_of(DERIVED)))
    pu.assert_no_proxy_use(PROGRAM, PEOPLE, DERIVED, known=known)
    known.write_text(as_text(result_of(DERIVED, pu.Program.parse("ite(x > 0, 'a', 'b')"))))
    with pytest.raises(AssertionError, match="newly uses a column"):
        pu.assert_no_proxy_use(PROGRAM, PEOPLE, DERIVED, known=known)
    pu.assert_no_proxy_use(PROGRAM, PEOPLE, DERIVED, known=known, oracle=allowed)


def test_a_certificate_lists_explicit_uses():
    audit = pu.audit(PROGRAM, PEOPLE, DERIVED)
    certificate = pu.certify(audit)
    (use,) = certificate.explicit
    assert (use.protected, use.column, use.how, use.influence) == (
        "under20", "age", "declared", audit.explicit[0].influence,
    )  # fmt: skip
    assert "are used explicitly: 'age' for 'under20'." in certificate.claim
    assert pu.verify(certificate, PROGRAM, PEOPLE).ok
    judged = pu.certify(audit, allowed)
    assert "are used explicitly" not in judged.claim
    assert pu.verify(judged, PROGRAM, PEOPLE, oracle=allowed).ok
    unchecked = {check.name: check.ok for check in pu.verify(judged, PROGRAM, PEOPLE).checks}
    assert unchecked["judgments"] is None
    other = {check.name: check.ok for check in pu.verify(
        judged, PROGRAM, PEOPLE, oracle=lambda witness: None).checks}  # fmt: skip
    assert other["judgments"] is False
