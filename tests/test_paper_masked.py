"""Outputs and SHAP show nothing of a masked proxy, detection does, and it has its limit."""

from __future__ import annotations

import sys
from functools import cache
from typing import Any

import pytest

from proxyuse import reproduction

script: Any = sys.modules[reproduction.load("masked").reproduce.__module__]


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
    assert seen.tree == 1


def test_a_proxy_split_in_two_is_seen_where_it_is_computed_and_only_there():
    _, seen = views()
    assert seen.output == 0
    assert set(seen.inputs.values()) == {0}
    assert seen.weights == pytest.approx({"x1": 1 / 6, "x2": 1 / 6, "engaged": 1 / 6})
    assert seen.apart == pytest.approx(0, abs=1e-9)
    assert seen.guard.associations["pregnant"] == 1
    assert seen.guard.influence == 0.5
    assert seen.tree == 0


def test_the_page_has_the_figures_that_are_stated():
    page = script.reproduce()
    assert [line.same for line in page.compared] == [True] * 3
    assert len(page.tables[0].rows) == 7
