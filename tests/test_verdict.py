"""The verdict: how witnesses, attributes and reasons combine, and what the exit code is."""

from __future__ import annotations

from typing import Any, get_args

import msgspec
import numpy as np
import pytest

import proxyuse as pu
from proxyuse.report.diff import compare, diff_exit_code
from proxyuse.report.document import document
from proxyuse.report.findings.headline import headline
from proxyuse.report.findings.verdict import advice, reason_sentence
from proxyuse.report.render.text import diff_text
from proxyuse.report.saved import read_document
from proxyuse.report.standing import exit_code
from proxyuse.settings import FailOn
from proxyuse.verdict import (
    CollectiveUse,
    ColumnsMissing,
    ConstantAttribute,
    EpsilonOutOfReach,
    InfluenceUnbounded,
    JudgedAppropriate,
    NearlyUnique,
    NotConfirmed,
    NotExhausted,
    NotTested,
    ReadsColumns,
    Reason,
    StepsNotAnalyzed,
    TermsUnsettled,
    TimeLimitReached,
    TooFewPermutations,
    TooFewRows,
    Verdict,
    attribute_verdict,
    exit_code_of,
    overall,
)

RNG = np.random.default_rng(0)
Z = RNG.integers(0, 2, 400)
DATA: dict[str, Any] = {
    "strong": np.where(RNG.random(400) < 0.97, Z, 1 - Z),
    "number": RNG.normal(size=400),
    "z": Z,
    "coin": RNG.integers(0, 2, 400),
    "constant": ["a"] * 400,
}
PROGRAM = pu.Program.parse("ite(strong == 1, 'a', 'b')")
NOISE = pu.Program.parse("ite(number > 0, 'a', 'b')")
REASONS: dict[str, Reason] = {
    "not settled": TermsUnsettled(3),
    "time limit": TimeLimitReached(60),
    "not analyzed": StepsNotAnalyzed(("scale", "reduce")),
    "not exhausted": NotExhausted(1),
    "columns missing": ColumnsMissing(("age",)),
    "constant": ConstantAttribute(300),
    "too few rows": TooFewRows(4, 60),
    "nearly unique": NearlyUnique(299, 300),
    "no influence bounds": InfluenceUnbounded("my influence", 2),
    "too few permutations": TooFewPermutations(2),
    "not confirmed": NotConfirmed(14),
    "not tested": NotTested(14),
    "judged appropriate": JudgedAppropriate(2),
    "epsilon out of reach": EpsilonOutOfReach(0.3, 0.2),
    "explicit use": ReadsColumns(("age",), confirmed=True),
    "collection": CollectiveUse(22, distributed=True, confirmed=True),
}


def test_the_examples_have_every_reason():
    assert {type(reason) for reason in REASONS.values()} == set(get_args(Reason))


@pytest.mark.parametrize("kind", REASONS)
def test_a_reason_is_written_to_a_file_and_read_again(kind):
    content = msgspec.to_builtins(REASONS[kind])
    assert content["kind"] == kind
    assert msgspec.convert(content, Reason) == REASONS[kind]


@pytest.mark.parametrize("kind", REASONS)
def test_a_reason_says_why_and_what_to_do(kind):
    why = reason_sentence(REASONS[kind], "sex", 300)
    assert why.endswith(".")
    what = advice(REASONS[kind], "sex")
    assert what.endswith(".") or kind in ("judged appropriate", "explicit use")


def test_squared_change_lacks_bounds_only_on_these_rows():
    reason = InfluenceUnbounded(pu.SquaredChange().name, 2)
    assert "these rows are too few" in reason_sentence(reason, "sex", 120)
    assert advice(reason, "sex").startswith("Audit more rows, ")


def test_columns_without_values_are_named_as_code():
    assert reason_sentence(ColumnsMissing(("age",)), "sex", 300).startswith("`age` has no value")


def test_confirmed_comes_before_undecided_before_possible_before_not_found():
    order = [Verdict.CONFIRMED, Verdict.UNDECIDED, Verdict.POSSIBLE, Verdict.NOT_FOUND]
    for index, verdict in enumerate(order):
        assert overall(reversed(order[index:])) is verdict


def test_an_incomplete_search_hides_no_confirmed_violation():
    incomplete = [TermsUnsettled(1)]
    assert attribute_verdict([Verdict.CONFIRMED], incomplete).verdict is Verdict.CONFIRMED
    assert attribute_verdict([Verdict.POSSIBLE], incomplete).verdict is Verdict.UNDECIDED
    assert attribute_verdict([], incomplete).verdict is Verdict.UNDECIDED
    assert attribute_verdict([], []).verdict is Verdict.NOT_FOUND


@pytest.mark.parametrize("fail_on", get_args(FailOn))
@pytest.mark.parametrize("violations", [0, 2])
@pytest.mark.parametrize("verdict", Verdict)
def test_the_exit_code(verdict, violations, fail_on):
    code = exit_code_of(verdict, violations, fail_on)
    if verdict is Verdict.CONFIRMED or (fail_on == "possible" and violations):
        assert code == 1
    else:
        assert code == (3 if verdict is Verdict.UNDECIDED else 0)


# Audits


def audited(program: pu.Program = PROGRAM, protected: object = "z", **options: Any) -> pu.Audit:
    return pu.audit(program, DATA, protected, **options)


def test_each_attribute_has_its_verdict():
    audit = audited(protected=["z", "coin", "constant"])
    assert {name: known.verdict for name, known in audit.verdicts.items()} == {
        "z": Verdict.CONFIRMED,
        "coin": Verdict.NOT_FOUND,
        "constant": Verdict.UNDECIDED,
    }
    assert audit.verdicts["constant"].reasons == (ConstantAttribute(400),)
    assert audit.verdict is Verdict.CONFIRMED
    assert exit_code(document(audit)) == 1


def test_noise_is_never_called_a_proxy():
    audit = audited(NOISE, "coin", max_support=1000, epsilon=0.05)
    assert audit.witnesses
    assert audit.verdict is Verdict.POSSIBLE
    assert audit.verdicts["coin"].reasons == (NotConfirmed(len(audit.witnesses)),)
    text = headline(document(audit))
    assert text.startswith("No proxy use of coin was confirmed. 1 computation is above the ")
    assert "The model uses" not in str(audit)
    assert exit_code(document(audit)) == 0


def test_without_validity_witnesses_are_possible_and_fail():
    audit = audited(validity=None)
    assert {witness.verdict for witness in audit.witnesses} == {Verdict.POSSIBLE}
    assert audit.verdicts["z"].reasons == (NotTested(len(audit.witnesses)),)
    assert audit.fail_on == "possible"
    assert exit_code(document(audit)) == 1
    assert audit.validated("confirm").verdict is Verdict.CONFIRMED


def test_confirmation_needs_validity_to_fail_on_it():
    with pytest.raises(pu.DataError, match='fail_on="confirmed" needs validity'):
        audited(validity=None, fail_on="confirmed")


def test_what_was_judged_appropriate_does_not_count():
    audit = audited()
    verdicts = audit.verdicts_with(lambda witness: pu.Judgment(True, "sold to all"))
    assert verdicts["z"].verdict is Verdict.NOT_FOUND
    assert verdicts["z"].reasons == (JudgedAppropriate(len(audit.witnesses)),)


def test_one_row_cannot_be_decided():
    audit = pu.audit(PROGRAM, {"strong": [1], "z": [0]}, "z")
    assert audit.verdicts["z"].reasons[0] == ConstantAttribute(1)
    assert str(audit).startswith("Proxy use of z cannot be decided. z has only one value in this")


def test_a_time_limit_cannot_be_decided():
    audit = audited(NOISE, "coin", time_limit=1e-9)
    assert audit.verdicts["coin"].reasons == (TimeLimitReached(1e-9),)


def test_a_column_without_values_cannot_be_decided():
    data = DATA | {"strong": [float("nan")] * 400}
    audit = pu.audit(PROGRAM, data, "z")
    assert audit.verdicts["z"].reasons == (ColumnsMissing(("strong",)),)
    assert audit.complete


def test_strict_asks_for_every_space_to_be_exhausted():
    names = [f"x{i}" for i in range(16)]
    data = {name: RNG.normal(size=300).round(2) for name in names}
    program = pu.Program.parse(f"ite({' + '.join(names)} > 0, 1, 0)")
    options: dict[str, Any] = {"protected": {"z": [0, 1] * 150}, "epsilon": 0.4}
    loose = pu.audit(program, data, **options)
    assert loose.searched
    assert loose.complete
    strict = pu.audit(program, data, strict=True, **options)
    assert not strict.complete
    assert strict.verdicts["z"].reasons == (NotExhausted(len(strict.searched)),)


def test_confirmed_groups_are_shown_first_and_witnesses_keep_their_order():
    noise = RNG.normal(size=400)  # a number is nearly unique, so its association is high
    program = pu.Program.parse("ite(noise > 0, ite(strong == 1, 'a', 'b'), 'c')")
    data = DATA | {"noise": noise, "strong": np.where(RNG.random(400) < 0.85, Z, 1 - Z)}
    audit = pu.audit(program, data, "z", epsilon=0.1, max_support=1000, bins=None)
    first = audit.witnesses[0]
    strengths = [witness.association for witness in audit.witnesses if witness.group == 0]
    assert first.group == 0
    assert max(strengths) == max(witness.association for witness in audit.witnesses)
    shown = str(audit)
    confirmed = next(w for w in audit.witnesses if w.confirmed)
    assert shown.index(f"`{confirmed.term}`") < shown.index("Possible means: ")


# Saved results


def test_a_later_result_that_cannot_be_decided_is_not_clean():
    before = document(audited(protected="z"))
    after = document(audited(protected=["z", "constant"]))
    changes = compare(before, after)
    assert changes.after.undecided == ("constant",)
    assert (changes.result, diff_exit_code(changes)) == ("cannot be decided", 3)
    assert "Proxy use of constant cannot be decided on the later rows." in diff_text(changes)


@pytest.mark.parametrize("verdict", ["possible", "not found", "cannot be decided"])
def test_a_file_cannot_hide_a_confirmed_violation(verdict, tmp_path):
    content = msgspec.to_builtins(document(audited()))
    content["verdict"] = content["protected"][0]["verdict"] = verdict
    path = tmp_path / "a.json"
    path.write_bytes(msgspec.json.encode(content))
    with pytest.raises(pu.FileError, match="the number of confirmed witnesses does not match"):
        read_document(path)
