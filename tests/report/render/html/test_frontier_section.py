"""The section on what compliance costs: a picture that fits its figures, and a table."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxyuse.report.render.html.frontier_section import (
    APART,
    HEIGHT,
    nice_ticks,
    picture,
)
from proxyuse.report.render.html.page import page_text
from proxyuse.report.repair_document import repair_document
from tests.browser import chromium_browser, opened_page  # noqa: F401
from tests.frontier_cases import EPSILONS, example


def drawn(**changes: Any) -> Any:
    """The picture of a frontier, with some changes."""
    result = repair_document(example())
    assert result.frontier is not None
    frontier = msgspec.structs.replace(result.frontier, **changes)
    return picture(msgspec.structs.replace(result, frontier=frontier))


def points() -> Any:
    """The points of the result."""
    result = repair_document(example())
    assert result.frontier is not None
    return result.frontier.points


def test_a_better_model_is_drawn_higher():
    shown = drawn()
    heights = [point["y"] for point in shown["points"]]
    assert heights == sorted(heights, reverse=True)
    assert [point["text"] for point in shown["points"]] == [f"{e:g}" for e in EPSILONS]
    for point in shown["points"]:
        assert 0 <= point["high"] < point["y"] < point["low"] <= HEIGHT
    original, constant = shown["lines"]
    assert (original["text"], constant["text"]) == ("original model", "best constant")
    assert original["y"] == heights[-1] < constant["y"]
    assert shown["requested"] == shown["points"][1]["x"]


def test_labels_of_close_lines_do_not_overlap():
    first, second = drawn(constant=points()[-1].utility)["lines"]
    assert first["y"] == second["y"]
    assert second["at"] - first["at"] >= APART


def test_a_point_that_was_not_measured_leaves_a_gap():
    unknown = [msgspec.structs.replace(point, utility=None) for point in points()]
    shown = drawn(points=(unknown[0], *points()[1:]))
    assert shown["points"][0]["y"] is None
    assert shown["path"].startswith(f"M{shown['points'][1]['x']} ")
    assert drawn(points=tuple(unknown)) is None


@given(st.floats(-1e6, 1e6), st.floats(0, 1e6))
def test_ticks_are_few_and_enclose_the_values(low, width):
    ticks = nice_ticks(low, low + width)
    assert 2 <= len(ticks) <= 9
    assert ticks == sorted(set(ticks))
    slack = 1e-6 * max(1.0, abs(low) + width)
    assert ticks[0] - slack <= low
    assert ticks[-1] + slack >= low + width


def test_the_section_is_on_the_page_and_in_its_contents():
    page = page_text(example().before, repair=example())
    assert '<a href="#frontier">Cost</a>' in page
    (section,) = re.findall(r'<section id="frontier".*?</section>', page, re.DOTALL)
    assert section.count("<circle") == len(EPSILONS)
    assert section.count("<tr") == len(EPSILONS) + 2
    assert section.count('class="hit"') == 1
    assert page == page_text(example().before, repair=example())


def test_the_picture_is_visible_and_fits_a_narrow_window(opened):
    page = opened(page_text(example().before, repair=example()), width=420)
    svg = page.locator("#frontier svg")
    box = svg.bounding_box()
    assert box["width"] <= 420
    assert box["height"] > 100
    for text in page.locator("#frontier svg text").all():
        own = text.bounding_box()
        assert own["x"] >= box["x"] - 1
        assert own["x"] + own["width"] <= box["x"] + box["width"] + 1


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_points_stand_out_from_the_page(opened, scheme):
    page = opened(page_text(example().before, repair=example()), color_scheme=scheme)
    colors = page.evaluate(
        "[getComputedStyle(document.querySelector('#frontier circle')).fill,"
        " getComputedStyle(document.body).backgroundColor]"
    )
    assert colors[0] != colors[1]
