"""Requests: epsilon as a share of the highest association."""

from __future__ import annotations

import math

import numpy as np
import pytest

import proxyuse as pu
from proxyuse.errors import DataError
from proxyuse.report.document import document
from proxyuse.report.findings.headline import witness_rule
from tests.constant_repairs import by_constants

N_ROWS = 2000
DATA = {
    "x": ["a", "b"] * 1000,
    "coin": ["a", "a", "b", "b"] * 500,
    "die": [f"{value}" for value in np.arange(N_ROWS) % 20],
}
PROGRAM = pu.Program.parse("ite(x == 'a', 0, 1)")


@pytest.mark.parametrize(
    ("protected", "epsilon"), [("coin", 0.5), ("die", math.log(2) / math.log(20) / 2)]
)
def test_a_percentage_is_a_share_of_what_a_test_can_reach(protected, epsilon):
    audit = pu.audit(PROGRAM, DATA, protected, epsilon="50%")
    assert audit.epsilon == audit.settings.epsilon == pytest.approx(epsilon)
    assert audit.requested_epsilon == "50%"
    thresholds = document(audit).thresholds
    assert (thresholds.epsilon, thresholds.requested_epsilon) == (audit.epsilon, "50%")
    assert "(50% of the highest for a test)" in witness_rule(thresholds)


def test_the_certificate_records_the_number_and_the_request():
    certificate = pu.certify(pu.audit(PROGRAM, DATA, "die", epsilon="50%"))
    assert certificate.settings.epsilon == pytest.approx(math.log(2) / math.log(20) / 2)
    assert certificate.requested_epsilon == "50%"
    assert pu.verify(certificate, PROGRAM, DATA).ok
    assert pu.certify(pu.audit(PROGRAM, DATA, "die")).requested_epsilon is None


def test_a_repair_takes_a_percentage():
    data = {"z": [1, 1, 0, 0] * 50, "y": [0, 1, 0, 1] * 50}
    program = pu.Program.parse("ite(z == 1, 'a', ite(y == 1, 'a', 'b'))")
    repaired = by_constants(program, data, protected="z", epsilon="50%")
    assert repaired.before.epsilon == repaired.after.epsilon == 0.5
    assert not repaired.after.witnesses


@pytest.mark.parametrize("protected", ["coin", ["coin", "x"]])
def test_attributes_with_the_same_ceiling_share_a_percentage(protected):
    assert pu.audit(PROGRAM, DATA, protected, epsilon="100%").epsilon == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"protected": ["coin", "die"], "epsilon": "50%"},
            r"50% is a different number .* \(0.5 for 'coin', 0.1157 for 'die'\); audit them one at",
        ),
        (
            {"protected": "die", "epsilon": "50%", "association": "cramers-v"},
            "a percentage .* needs normalized mutual information",
        ),
        ({"protected": "die", "epsilon": "0%"}, "expected a number .* or a percentage"),
        ({"protected": "die", "epsilon": "101%"}, "expected a number .* or a percentage"),
        ({"protected": "die", "epsilon": "half"}, "expected a number .* or a percentage"),
    ],
)
def test_what_is_no_percentage_is_refused(options, message):
    with pytest.raises(DataError, match=f"(?s){message}"):
        pu.audit(PROGRAM, DATA, **options)
