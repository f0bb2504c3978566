"""Outputs and SHAP show nothing of a masked proxy, detection does, and it has its limit."""

from __future__ import annotations

import sys
from functools import cache
from typing import Any

import pytest

from examples.paper import experiment
from tests.examples.reproductions import reproduced

script: Any = sys.modules[experiment.load("masked").reproduce.__module__]


@cache
def views() -> tuple[Any, Any]:
    return script.masked(), script.split()


def test_the_masked_example_is_seen_by_detection_and_not_from_outside():
    seen, _ = views()
    assert seen.output == 0
    assert seen.inputs == {"vitamins": 1, "engaged": 0}
    assert seen.weights == pytest.approx({"vitamins": 0.25, "engaged": 0.25})
    assert seen.apart == pytest.approx(0, abs=1e-9)
    assert (seen.guard.term, seen.guard.influence) == ("vitamins == 1", 0.5)
    assert seen.guard.associations["pregnant"] == 1


def test_a_proxy_split_in_two_is_seen_where_it_is_computed_and_only_there():
    _, seen = views()
    assert seen.output == 0
    assert set(seen.inputs.values()) == {0}
    assert seen.weights == pytest.approx({"x1": 1 / 6, "x2": 1 / 6, "engaged": 1 / 6})
    assert seen.apart == pytest.approx(0, abs=1e-9)
    assert seen.guard.associations["pregnant"] == 1
    assert seen.guard.influence == 0.5


def test_of_two_trees_that_decide_the_same_one_has_no_witness_and_the_other_two():
    last, first = (script.in_tree(text) for text in script.TREES.values())
    assert last.complete
    assert last.witnesses == []
    assert {d.associations["pregnant"] for d in last.decompositions} == {0}
    assert first.complete
    assert len(first.witnesses) == 2
    for witness in first.witnesses:
        assert witness.association == 1
        assert witness.influence > 0
        assert witness.term.startswith("ite(x1 == 1")
    rows = script.trees_table().rows
    assert [(row[0], *row[2:]) for row in rows] == [
        ("asks `engaged` last", "0", "0"), ("asks `engaged` first", "1", "2"),
    ]  # fmt: skip


@pytest.mark.parametrize("seed", range(4))
def test_what_shap_says_does_not_hang_on_the_seed_of_its_tree(seed: int):
    X, pregnant = script.halves()
    decisions = script.pu.Program.parse(script.SPLIT).predict(X).astype(int)
    tree = script.DecisionTreeClassifier(random_state=seed).fit(X, decisions)
    values = script.shap.TreeExplainer(tree)(X).values[:, :, 1]
    assert abs(values).mean(axis=0) == pytest.approx([1 / 6] * 3)
    apart = values[pregnant == 1].mean(axis=0) - values[pregnant == 0].mean(axis=0)
    assert apart == pytest.approx([0] * 3, abs=1e-9)


def test_the_page_has_the_figures_that_are_stated():
    page = reproduced("masked")
    assert [line.same for line in page.compared] == [True] * 3
    assert len(page.tables[0].rows) == 6
    assert len(page.tables) == 2
