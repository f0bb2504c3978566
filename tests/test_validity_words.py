"""Whether a witness is real, in words: what was tested, and no more."""

from __future__ import annotations

import pytest

from proxyuse.output.validity_words import confidence, describe_validity, share_confirmed
from proxyuse.validity.content import figures
from proxyuse.validity.options import CrossValidation, Permutation
from proxyuse.validity.wanted import Wanted
from proxyuse.verdict import Validity, Verdict

LIMITS = {"epsilon": 0.1, "delta": 0.05}
CONFIRM = {"way": "confirm", "alpha": 0.05, "weights": "sampling", "tested": 1234}
PERMUTATION = {
    "way": "permutation", "alpha": 0.05, "permutations": 1000, "correction": "holm", "tested": 311,
}  # fmt: skip
SPLITS = {"way": "cross-validation", "splits": 10, "at_least": None, "tested": None}


def said(verdicts: dict[str, str], verdict: str = "", **numbers: float) -> dict[str, object]:
    careful = ("possible", "cannot be decided", "confirmed")
    overall = verdict or next(v for v in careful if v in verdicts.values())
    return {"verdict": overall, "by_way": verdicts, **numbers}


@pytest.mark.parametrize(
    ("ways", "found", "told"),
    [
        (
            [CONFIRM],
            said({"confirm": "confirmed"}, association_low=0.41, influence_low=0.08),
            "Confirmed: with 95 % confidence for all 1,234 tests at once its association is at "
            "least 0.41, and with the same confidence its influence is at least 0.08.",
        ),
        (
            [{**CONFIRM, "alpha": 0.1, "tested": 1}],
            said({"confirm": "confirmed"}, association_low=0.41, influence_low=0.08),
            "Confirmed: with 90 % confidence its association is at least 0.41, and with the same "
            "confidence its influence is at least 0.08.",
        ),
        (
            [CONFIRM],
            said({"confirm": "possible"}, association_low=0.03, influence_low=0.08),
            "Possible: in this sample it passes, but with 95 % confidence for all 1,234 tests at "
            "once its association may be as low as 0.03 (threshold 0.1).",
        ),
        (
            [CONFIRM],
            said({"confirm": "possible"}, association_low=0.2, influence_low=0.05),
            "Possible: in this sample it passes, but with 95 % confidence for all 1,234 tests at "
            "once its influence may be as low as 0.05 (threshold 0.05).",
        ),
        (
            [PERMUTATION],
            said({"permutation": "confirmed"}, p_value=0.001, adjusted_p_value=0.004),
            "Confirmed: p = 0.004 after correction for 311 tests (with z permuted among the rows, "
            "an association as strong as this one has a chance of about 0.001).",
        ),
        (
            [{**PERMUTATION, "correction": "none"}],
            said({"permutation": "possible"}, p_value=0.2, adjusted_p_value=0.2),
            "Possible: in this sample it passes, but p = 0.2, not corrected for the number of "
            "tests, which is above 0.05 (with z permuted among the rows, an association as strong "
            "as this one has a chance of about 0.2).",
        ),
        (
            [PERMUTATION],
            said({"permutation": "cannot be decided"}, p_value=0.001, adjusted_p_value=0.311),
            "It cannot be decided with 1,000 permutations and 311 tests: no p-value could be small "
            "enough.",
        ),
        (
            [SPLITS],
            said({"cross-validation": "confirmed"}, confirmations=10, splits=10),
            "Confirmed: found again in 10 of 10 splits.",
        ),
        (
            [{**SPLITS, "at_least": 9}],
            said({"cross-validation": "possible"}, confirmations=3, splits=10),
            "Possible: in this sample it passes, but it was found again in 3 of 10 splits, and 9 "
            "are needed.",
        ),
        (
            [CONFIRM, SPLITS],
            said(
                {"confirm": "possible", "cross-validation": "confirmed"},
                association_low=0.03, influence_low=0.01, confirmations=10, splits=10,
            ),
            "Possible: in this sample it passes, but with 95 % confidence for all 1,234 tests at "
            "once its association may be as low as 0.03 (threshold 0.1) and its influence may be "
            "as low as 0.01 (threshold 0.05). In favour of it: found again in 10 of 10 splits.",
        ),
        (
            [CONFIRM],
            said({"confirm": "possible"}, association_low=0.2),
            "Possible: in this sample it passes, but no bound is known for its influence.",
        ),
        ([CONFIRM], said({"confirm": "possible"}), "Possible."),
    ],
)  # fmt: skip
def test_a_verdict_says_by_what(ways, found, told):
    assert describe_validity(found, {"ways": ways}, LIMITS, "z") == told


@pytest.mark.parametrize(
    ("confirmed", "undecided", "witnesses", "told"),
    [
        (0, 0, 3, "none of the 3 witnesses is confirmed"),
        (1, 0, 3, "1 of 3 witnesses is confirmed"),
        (2, 1, 3, "2 of 3 witnesses are confirmed (1 could not be decided)"),
        (3, 0, 3, "all 3 witnesses are confirmed"),
        (1, 0, 1, "the witness is confirmed"),
        (0, 0, 1, "the witness is not confirmed"),
    ],
)
def test_how_many_are_confirmed(confirmed, undecided, witnesses, told):
    asked = {"confirmed": confirmed, "undecided": undecided}
    assert share_confirmed(asked, witnesses) == told


@pytest.mark.parametrize(
    ("alpha", "told"), [(0.05, "95 %"), (0.1, "90 %"), (0.001, "99.9 %"), (1e-6, "99.9999 %")]
)
def test_confidence_is_what_alpha_leaves(alpha, told):
    assert confidence(alpha) == told


def test_numbers_are_rounded_to_the_careful_side():
    found = figures(
        Validity(
            Verdict.POSSIBLE,
            p_value=0.0123401,
            adjusted_p_value=0.0500001,
            association_interval=(0.09999, 0.20001),
            influence_interval=(0.3, 0.7),
            confirmations=3,
            splits=10,
        )
    )
    assert found == {
        "p_value": 0.0124, "adjusted_p_value": 0.0501, "association_low": 0.0999,
        "association_high": 0.2001, "influence_low": 0.3, "influence_high": 0.7,
        "corrected_association": None, "confirmations": 3, "splits": 10,
    }  # fmt: skip


def test_options_by_name_go_to_the_ways_they_belong_to():
    asked = Wanted(
        ("permutation", "cross-validation"), seed=3, alpha=0.01, exact_p_values=True,
        correction="holm", validation_share=0.3,
    )  # fmt: skip
    permutation, splits = asked.methods() or ()
    assert permutation == Permutation(correction="holm", seed=3, alpha=0.01, exact=True)
    assert splits == CrossValidation(seed=3, share=0.3)
    assert asked.stray() == []
    assert Wanted(confirmed_only=True).stray() == ["confirmed_only"]
    assert Wanted(splits=3).over(Wanted(("confirm",), splits=9)) == Wanted(("confirm",), splits=3)
    assert Wanted().methods() is None
