"""The sentences about the validity of a witness."""

from __future__ import annotations

from typing import Any

import pytest

from proxyuse.report.findings.validity import verdict_sentences
from proxyuse.report.result import Method, Thresholds, WitnessValidity
from proxyuse.validity.content import figures
from proxyuse.verdict import Validity, Verdict

LIMITS = Thresholds(0.1, 0.05)
CONFIRM = {"method": "confirm", "alpha": 0.05, "weights": "sampling", "tested": 1234}
PERMUTATION = {
    "method": "permutation", "alpha": 0.05, "permutations": 1000, "correction": "holm",
    "tested": 311,
}  # fmt: skip
SPLITS = {"method": "cross-validation", "splits": 10, "at_least": None, "tested": None}


def verdict_of(verdicts: dict[str, str], verdict: str = "", **numbers: Any) -> WitnessValidity:
    careful = ("possible", "cannot be decided", "confirmed")
    overall = verdict or next(v for v in careful if v in verdicts.values())
    by_method = {name: Verdict(word) for name, word in verdicts.items()}
    return WitnessValidity(Verdict(overall), by_method, **numbers)


def method(options: dict[str, Any]) -> Method:
    options = dict(options)
    return Method(options.pop("method"), options.pop("tested"), options)


PASSES = "Possible: it passes in this sample, but "
ALL = "each valid for all 1,234 tests"


@pytest.mark.parametrize(
    ("methods", "validity", "sentences"),
    [
        (
            [CONFIRM],
            verdict_of({"confirm": "confirmed"}, association_low=0.41, influence_low=0.08),
            "Confirmed: the population's association is at least 0.41 and its influence is at "
            f"least 0.08 (95% lower bounds, {ALL}).",
        ),
        (
            [{**CONFIRM, "alpha": 0.1, "tested": 1}],
            verdict_of({"confirm": "confirmed"}, association_low=0.41, influence_low=0.08),
            "Confirmed: the population's association is at least 0.41 and its influence is at "
            "least 0.08 (90% lower bounds).",
        ),
        (
            [CONFIRM],
            verdict_of({"confirm": "possible"}, association_low=0.2, influence_low=0.05),
            f"{PASSES}the population's influence could be as low as 0.05 (95% lower bound, valid "
            "for all 1,234 tests; threshold 0.05).",
        ),
        (
            [PERMUTATION],
            verdict_of({"permutation": "confirmed"}, p_value=0.001, adjusted_p_value=0.004),
            "Confirmed: the p-value is 0.004 after correction for 311 tests (0.001 before), so the "
            "association is rarely this strong when z is shuffled.",
        ),
        (
            [{**PERMUTATION, "tested": 1}],
            verdict_of({"permutation": "confirmed"}, p_value=0.001, adjusted_p_value=0.001),
            "Confirmed: the p-value is 0.001, so the association is rarely this strong when z is "
            "shuffled.",
        ),
        (
            [{**PERMUTATION, "correction": "none"}],
            verdict_of({"permutation": "possible"}, p_value=0.2, adjusted_p_value=0.2),
            f"{PASSES}the p-value is 0.2, not corrected for the number of tests, above 0.05, so "
            "the association is often this strong when z is shuffled.",
        ),
        (
            [PERMUTATION],
            verdict_of({"permutation": "cannot be decided"}, p_value=0.001, adjusted_p_value=0.311),
            "Cannot be decided: with 1,000 permutations and 311 tests, no p-value can be small "
            "enough.",
        ),
        (
            [SPLITS],
            verdict_of({"cross-validation": "confirmed"}, confirmations=10, splits=10),
            "Confirmed: it was found again in 10 of 10 splits.",
        ),
        (
            [{**SPLITS, "at_least": 9}],
            verdict_of({"cross-validation": "possible"}, confirmations=3, splits=10),
            f"{PASSES}it was found again in 3 of 10 splits, and 9 are needed.",
        ),
        (
            [CONFIRM, PERMUTATION, SPLITS],
            verdict_of(
                {"confirm": "possible", "permutation": "confirmed",
                 "cross-validation": "confirmed"},
                association_low=0.03, influence_low=0.01, p_value=0.001, adjusted_p_value=0.0015,
                confirmations=10, splits=10,
            ),
            f"{PASSES}the population's association could be as low as 0.03 and its influence could "
            f"be as low as 0.01 (95% lower bounds, {ALL}; thresholds 0.1 and 0.05). The "
            "permutation test confirms it: the p-value is 0.0015 after correction for 311 tests "
            "(0.001 before), so the association is rarely this strong when z is shuffled. "
            "Cross-validation confirms it: it was found again in 10 of 10 splits.",
        ),
        (
            [CONFIRM, {**SPLITS, "splits": 1}],
            verdict_of(
                {"confirm": "confirmed", "cross-validation": "possible"},
                association_low=0.41, influence_low=0.08, confirmations=0, splits=1,
            ),
            f"{PASSES}it was found again in 0 of 1 split, and 1 is needed. The confidence bounds "
            "confirm it: the population's association is at least 0.41 and its influence is at "
            f"least 0.08 (95% lower bounds, {ALL}).",
        ),
        (
            [CONFIRM],
            verdict_of({"confirm": "possible"}, association_low=0.2),
            f"{PASSES}there is no confidence bound for its influence.",
        ),
        (
            [CONFIRM],
            verdict_of({"confirm": "cannot be decided"}, association_low=0.2),
            "Cannot be decided: there is no confidence bound for its influence.",
        ),
        ([CONFIRM], verdict_of({"confirm": "possible"}), "Possible."),
    ],
)  # fmt: skip
def test_a_verdict_names_its_method(methods, validity, sentences):
    assert (
        verdict_sentences(validity, [method(options) for options in methods], LIMITS, "z")
        == sentences
    )


def test_numbers_are_rounded_conservatively():
    printed = figures(
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
    assert printed == {
        "p_value": 0.0124, "adjusted_p_value": 0.0501, "association_low": 0.0999,
        "association_high": 0.2001, "influence_low": 0.3, "influence_high": 0.7,
        "corrected_association": None, "confirmations": 3, "splits": 10,
    }  # fmt: skip
