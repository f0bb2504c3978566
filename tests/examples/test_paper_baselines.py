"""Removing features leaves proxies, and repair does not."""

from __future__ import annotations

import sys
from functools import cache
from typing import Any

import pytest

from examples.paper import experiment
from proxyuse.lang.nodes import variables
from tests.examples.reproductions import reproduced

pytestmark = pytest.mark.slow

script: Any = sys.modules[experiment.load("baselines").reproduce.__module__]


@cache
def cuts() -> dict[float, Any]:
    return {epsilon: script.cut(epsilon) for epsilon in script.THRESHOLDS}


@pytest.mark.slow
def test_repair_leaves_no_witness_and_removal_does():
    left = {epsilon for epsilon, at in cuts().items() if at.audit.witnesses}
    assert left == {0.5, 0.1, 0.05}
    for at in cuts().values():
        assert at.repair.before.witnesses
        assert at.repair.after.witnesses == []
        assert at.repair.after.complete


@pytest.mark.slow
def test_a_computation_is_closer_to_the_attribute_than_any_of_its_features():
    for epsilon, read in (
        (0.1, {"age", "sex", "capital_loss", "education_num"}),
        (0.05, {"age"}),
    ):
        (witness,) = cuts()[epsilon].audit.witnesses
        assert set(variables(witness.expression)) == read
        assert witness.association >= epsilon > script.strongest_feature(witness)
    assert cuts()[0.05].audit.witnesses[0].term == "age <= 29.5"


def test_the_table_names_its_columns_apart():
    table = script.cuts_table([cuts()[0.5], cuts()[0.1]])
    assert len(set(table.names)) == len(table.names) == len(table.rows[0])
    row = dict(zip(table.names, table.rows[0], strict=True))
    assert row["features removed"] == "0"
    assert (row["witnesses before repair"], row["witnesses after repair"]) == ("1", "0")
    assert row["of them without a feature that reaches the threshold"] == "1"


def test_one_witness_reads_no_feature_above_the_threshold():
    (witness,) = cuts()[0.5].repair.before.witnesses
    assert witness.term == "relationship <= 0.5"
    assert max(script.associations().values()) < 0.5 <= witness.association
    assert "relationship" in cuts()[0.5].features
    assert "relationship" not in cuts()[0.3].features  # a lower threshold takes all of it


@pytest.mark.slow
def test_over_several_samples_removal_keeps_more_accuracy_and_leaves_witnesses():
    rows = {float(row[0]): row[1:] for row in script.samples_table().rows}
    assert rows[0.1][0] == rows[0.5][0] == "5"
    assert {row[1] for row in rows.values()} == {"0"}
    better = [at for at, row in rows.items() if float(row[2]) > float(row[3])]
    assert better == [0.5, 0.3, 0.1, 0.05, 0.02]


def test_in_the_first_sample_repair_is_the_more_accurate_at_lower_thresholds():
    better = [at.epsilon for at in cuts().values() if at.repaired > at.removed]
    assert better == [0.05, 0.03, 0.02, 0.01]


def test_features_that_would_be_removed_and_are_no_witnesses():
    rows = {row[0].strip("`"): row[1:] for row in script.features_table().rows}
    data = script.adult()
    full = data.accuracy(data.trained(data.features).predict(data.other_X))
    assert list(rows)[:2] == ["relationship", "sex"]
    _, influence, removed, witness, accuracy = rows["sex"]
    assert (float(influence), removed, witness) == (0, "yes", "")
    assert float(accuracy) == pytest.approx(full, abs=0.0005)
    _, influence, removed, witness, accuracy = rows["capital_loss"]
    assert 0 < float(influence) <= script.DELTA
    assert (removed, witness) == ("yes", "")
    assert full - float(accuracy) > 0.001


@pytest.mark.slow
def test_the_page_has_the_tables_and_the_pictures():
    page = reproduced("baselines")
    assert len(page.tables) == 3
    assert [picture.name for picture in page.pictures] == [
        "baselines-accuracy", "baselines-computations",
    ]  # fmt: skip
