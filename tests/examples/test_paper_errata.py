"""What the paper has otherwise, and the evidence for what is done here."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import proxyuse as pu
from examples.paper import experiment
from proxyuse.data.table import Table
from proxyuse.models.checks import compare
from proxyuse.models.translation import DOUBLE
from proxyuse.program import Frame
from tests.examples.reproductions import reproduced

pytestmark = pytest.mark.slow

script: Any = sys.modules[experiment.load("errata").reproduce.__module__]


def page() -> experiment.Reproduced:
    return reproduced("errata")


@pytest.mark.slow
def test_the_reversed_p_value_finds_no_proxy_and_looks_right_under_independence():
    shares = {float(row[0]): (float(row[1]), float(row[2])) for row in page().tables[0].rows}
    assert shares[0] == pytest.approx((0.05, 0.05), abs=0.035)
    assert shares[0.6][0] > 0.95
    assert shares[0.45][1] == shares[0.6][1] == 0
    assert all(share < 0.05 for at, (_, share) in shares.items() if at)  # hardly ever
    here = [share for share, _ in shares.values()]
    printed = [share for _, share in shares.values()]
    assert here == sorted(here)
    assert printed == sorted(printed, reverse=True)


def test_the_two_p_values_are_each_others_complement():
    for strength in (0.0, 0.5):
        here, printed = script.p_values(strength, 1)
        assert here + printed == pytest.approx(1, abs=0.12)  # different permutations


@pytest.mark.slow
def test_with_p_for_p1_the_masked_example_has_no_proxy_use():
    rows = {(row[0], row[1]): row[2:] for row in page().tables[1].rows}
    assert rows["masked", "`vitamins == 1`"] == ("0.5", "1", "yes", "0", "no")
    _, of_p1, witness, of_p, by_p = rows["open", "`engaged == 1`"]
    assert (of_p1, witness, by_p) == ("0", "no", "yes")
    assert float(of_p) > 0.1


def test_thresholds_decide_by_their_signs():
    rows = page().tables[2].rows
    for row in rows:
        assert row[-1] == row[4]  # as it is read here
    printed = {(row[0] == "masked", row[1]): row[4:8] for row in rows}
    assert printed[True, "(1, 0)"] == ("yes", "no", "yes", "no")
    assert printed[True, "(1, 0.5)"] == ("no", "no", "yes", "no")
    assert printed[False, "(1, 0)"] == ("no", "no", "yes", "no")
    qualitative = [  # a perfect proxy is a witness, and one that decides nothing is not
        printed[True, "(1, 0)"][i] == "yes" and printed[False, "(1, 0)"][i] == "no"
        for i in range(4)
    ]
    assert qualitative == [True, False, False, False]


def test_a_step_of_repair_keeps_the_size_and_loses_a_variable():
    trace = script.steps()
    sizes = [size for _, size, _, _ in trace]
    occurrences = [count for _, _, count, _ in trace]
    assert sizes == [23, 13, 13]
    assert occurrences == sorted(set(occurrences), reverse=True)
    assert "0.5 + age <= 1" in trace[-1][3]


@pytest.mark.parametrize("rows", [100, 10_000])
def test_the_association_of_noise_is_a_formula_unless_it_is_cut(rows: int):
    assert script.noise(rows, None) == pytest.approx(script.formula(rows), abs=1e-9)
    assert script.noise(rows, 16) < script.noise(rows, None) / 5


def test_a_program_may_differ_from_its_model_by_rounding_and_no_more():
    program = pu.Program.parse("x <= 0")
    table = Table.of({"x": [-1, 0, 1e-12, 1]}, ["x"])
    frame = Frame([table.column("x")])
    printed = np.array([True, True, False, False])
    rounded = compare(program, printed, np.array([True, True, True, False]), frame, DOUBLE)
    assert (rounded.by_rounding.tolist(), rounded.wrong.tolist()) == ([2], [])
    rounded.require("model")
    wrong = compare(program, printed, np.array([True, True, False, True]), frame, DOUBLE)
    assert (wrong.by_rounding.tolist(), wrong.wrong.tolist()) == ([], [3])
    with pytest.raises(pu.TranslationError):
        wrong.require("model")


def test_the_page_has_its_pictures_and_leaves_the_masked_figures_to_another():
    assert not page().compared
    assert [picture.name for picture in page().pictures] == ["errata-p-value", "errata-supports"]
