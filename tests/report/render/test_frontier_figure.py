"""The figure of a frontier shows each point, the original model and the requested thresholds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure

import proxyuse as pu
from tests.frontier_cases import EPSILONS, example, points_of


def test_each_point_has_its_utility_and_its_error():
    ax = example().plot_frontier(ax=Figure().subplots())
    (bars,) = (known for known in ax.containers if isinstance(known, ErrorbarContainer))
    points = points_of(example())
    expected = [point.utility for point in points]
    assert bars.lines[0].get_ydata() == pytest.approx(expected, abs=1e-4)
    spans = [np.ptp(segment[:, 1]) / 2 for segment in bars.lines[2][0].get_segments()]
    assert spans == pytest.approx([point.error for point in points], abs=1e-4)
    assert [label.get_text() for label in ax.get_xticklabels()] == [f"{e:g}" for e in EPSILONS]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("epsilon", "accuracy")


def test_the_original_the_constant_and_the_request_are_lines():
    ax = example().plot_frontier(ax=Figure().subplots())
    point = points_of(example())[0]
    lines: Any = ax.lines
    levels = {line.get_ydata()[0] for line in lines if list(line.get_xdata()) == [0, 1]}
    assert levels == {round(point.original.utility, 4), point.constant}
    assert [text.get_text() for text in ax.texts] == ["original model", "best constant"]
    uprights = [line.get_xdata()[0] for line in lines if list(line.get_ydata()) == [0, 1]]
    assert uprights == [1]


def test_the_same_figure_gives_the_same_bytes(tmp_path):
    files = [
        pu.save_figure(example().plot_frontier(ax=Figure().subplots()), tmp_path / name)
        for name in ("a.svg", "b.svg")
    ]
    assert files[0].read_bytes() == files[1].read_bytes()
