"""Whether any computation can reach epsilon."""

from __future__ import annotations

import numpy as np
import pytest

import proxyuse as pu
from proxyuse.report.document import document
from proxyuse.report.findings.headline import headline
from proxyuse.verdict import EpsilonOutOfReach, Verdict

N_ROWS = 2000


def people(seed=0):
    random = np.random.default_rng(seed)
    return {
        "x": random.choice(list("ab"), N_ROWS),
        "die": [f"{value}" for value in random.integers(1, 21, N_ROWS)],
        "coin": random.random(N_ROWS) < 0.5,
        "income": random.normal(size=N_ROWS),
    }


PEOPLE = people()
PROGRAM = pu.Program.parse("ite(x == 'a', 0, 1)")


def test_a_test_cannot_reach_a_high_association_with_twenty_values():
    audit = pu.audit(PROGRAM, PEOPLE, "die", epsilon=0.3)
    verdict = audit.verdicts["die"]
    assert verdict.verdict is audit.verdict is Verdict.UNDECIDED
    (reason,) = verdict.reasons
    assert isinstance(reason, EpsilonOutOfReach)
    assert reason.epsilon == 0.3
    assert reason.highest == pytest.approx(np.log(2) / np.log(20), abs=0.002)
    sentence = headline(document(audit))
    assert "No computation in this model can reach an association of 0.3 with die" in sentence
    assert "Choose epsilon below that, or group the values of die." in sentence


def test_sixteen_groups_of_a_number_limit_a_test_to_a_quarter():
    verdict = pu.audit(PROGRAM, PEOPLE, "income", epsilon=0.3).verdicts["income"]
    (reason,) = verdict.reasons
    assert isinstance(reason, EpsilonOutOfReach)
    assert reason.highest == pytest.approx(0.25, abs=0.002)
    assert pu.audit(PROGRAM, PEOPLE, "income", epsilon=0.2).verdict is Verdict.NOT_FOUND


def test_an_epsilon_in_reach_is_decided():
    assert pu.audit(PROGRAM, PEOPLE, "coin", epsilon=0.9).verdict is Verdict.NOT_FOUND
    assert pu.audit(PROGRAM, PEOPLE, "die", epsilon=0.2).verdict is Verdict.NOT_FOUND
    wide = pu.Program.parse("ite(x == 'a', 0, die)")  # a computation with many values
    data = {**PEOPLE, "die": np.random.default_rng(1).integers(1, 21, N_ROWS)}
    assert pu.audit(wide, data, {"z": PEOPLE["die"]}, epsilon=0.3).verdict is not Verdict.UNDECIDED


@pytest.mark.parametrize("share", [0.5, 0.01])
def test_a_test_could_be_a_copy_of_an_attribute_with_two_values(share):
    z = np.random.default_rng(3).random(N_ROWS) < share
    audit = pu.audit(PROGRAM, PEOPLE, {"z": z}, epsilon=1, validity=None)
    assert audit.verdict is Verdict.NOT_FOUND


def test_a_model_without_influence_uses_nothing_at_any_epsilon():
    constant = {**PEOPLE, "x": ["a"] * N_ROWS}
    assert pu.audit(PROGRAM, constant, "die", epsilon=0.3).verdict is Verdict.NOT_FOUND


def test_other_measures_have_no_known_ceiling():
    audit = pu.audit(PROGRAM, PEOPLE, "die", epsilon=0.3, association="cramers-v")
    assert audit.verdict is Verdict.NOT_FOUND
