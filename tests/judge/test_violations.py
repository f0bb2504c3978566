"""A witness is a violation unless someone judged it appropriate, with a reason."""

from __future__ import annotations

import pytest

import proxyuse as pu

DATA = {"vitamins": [1, 1, 0, 0], "pregnant": [1, 1, 0, 0]}


@pytest.fixture
def found():
    return pu.audit(pu.Program.parse("ite(vitamins == 1, 'a', 'b')"), DATA, "pregnant")


def test_what_nobody_judged_is_a_violation(found):
    assert [v.witness for v in found.violations()] == found.witnesses
    assert [v.judgment for v in found.violations(lambda witness: None)] == [None] * 3


def test_what_is_judged_appropriate_is_none(found):
    assert found.violations(lambda witness: pu.Judgment(True, "sold to all")) == []


def test_what_is_judged_against_keeps_its_judgment(found):
    against = pu.Judgment(False, "names the pregnant", "a rule")
    assert {v.judgment for v in found.violations(lambda witness: against)} == {against}


@pytest.mark.parametrize("answer", [True, False, "yes", 1])
def test_an_answer_without_a_reason_is_refused(found, answer):
    with pytest.raises(pu.DataError, match="return a Judgment"):
        found.violations(lambda witness: answer)


@pytest.mark.parametrize(
    ("appropriate", "reason", "message"),
    [(True, "", "reason"), (True, "  ", "reason"), (False, None, "reason"), ("no", "x", "True or")],
)
def test_a_judgment_needs_a_reason(appropriate, reason, message):
    with pytest.raises(pu.DataError, match=message):
        pu.Judgment(appropriate, reason)
