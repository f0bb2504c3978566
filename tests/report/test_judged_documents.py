"""Judgments go into the result, its exit code and its words."""

from __future__ import annotations

import json

import pytest

import proxyuse as pu
from proxyuse.report.document import document
from proxyuse.report.render.markdown import audit_markdown
from proxyuse.report.render.text import audit_text, witness_text, witnesses_of
from proxyuse.report.saved import as_text, read_document
from proxyuse.report.standing import exit_code
from tests.documents import plain

DATA = {"vitamins": [1, 1, 0, 0] * 50, "pregnant": [1, 1, 0, 0] * 50}
FOUND = pu.audit(pu.Program.parse("ite(vitamins == 1, 'a', 'b')"), DATA, "pregnant")


def all_allowed(witness):
    return pu.Judgment(True, "sold to all", "rule 'shop'")


def variables_allowed(witness):
    if witness.size == 1:
        return pu.Judgment(True, "a variable by itself", "rule 'bare'")
    return pu.Judgment(False, "names the pregnant", "rule 'rest'") if witness.size == 3 else None


@pytest.mark.parametrize(
    ("oracle", "violations", "verdict", "code", "headline"),
    [
        (
            None,
            3,
            "confirmed",
            1,
            "The model uses a proxy for pregnant (3 confirmed witnesses).",
        ),
        (
            variables_allowed,
            2,
            "confirmed",
            1,
            "The model uses a proxy for pregnant (2 confirmed witnesses).\n"
            "1 of 3 witnesses was judged appropriate.",
        ),
        (
            all_allowed,
            0,
            "not found",
            0,
            "All 3 witnesses of proxy use of pregnant were judged appropriate.",
        ),
    ],
    ids=["nobody", "some", "all"],
)
def test_only_violations_fail(oracle, violations, verdict, code, headline, tmp_path):
    found = document(FOUND, oracle=oracle)
    assert (found.violations, found.verdict) == (violations, verdict)
    assert FOUND.verdict_with(oracle) == verdict
    assert exit_code(found) == code
    assert audit_text(found).startswith(f"{headline}\n")
    assert len(FOUND.violations(oracle)) == violations
    path = tmp_path / "a.json"
    path.write_text(as_text(found))
    assert read_document(path) == found


def test_reason_and_rule_are_told():
    result = document(FOUND, oracle=variables_allowed)
    assert "Judged appropriate by rule 'bare': a variable by itself" in audit_text(result)
    guard = next(w for w in result.witnesses if w.size == 3)
    (witness,) = witnesses_of(result, guard.id)
    text = witness_text(result, witness)
    assert "Judged inappropriate by rule 'rest': names the pregnant" in text
    assert "1 of 3 witnesses" in audit_markdown(result)


@pytest.mark.parametrize(
    "change",
    [{"violations": 0}, {"verdict": "possible"}, {"verdict": "not found"}],
    ids=str,
)
def test_a_file_that_contradicts_its_witnesses_is_refused(change, tmp_path):
    path = tmp_path / "a.json"
    path.write_text(json.dumps(plain(document(FOUND)) | change))
    with pytest.raises(pu.FileError, match="does not match the witnesses"):
        read_document(path)
