"""The page of a large model: few points, exact counts, and a small file."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier

import proxyuse as pu
from proxyuse.report.document import document
from proxyuse.report.release import figure, release_of
from proxyuse.report.render.html.cells import MOST_POINTS, counted_cells, single_points
from proxyuse.report.render.html.page import page_text
from proxyuse.report.render.html.points import points
from tests.browser import Opened, chromium_browser, opened_page  # noqa: F401
from tests.report.render.html.test_page_picture import page_of

pytestmark = pytest.mark.slow

if TYPE_CHECKING:
    from typing import Any

    from playwright.sync_api import Page

MOST_BYTES = 3_000_000
MOST = 500


def audited_forest(trees: int, rows: int) -> pu.Audit:
    """A forest of which everything is measured."""
    random = np.random.default_rng(0)
    married = random.random(rows) < 0.5
    frame = pd.DataFrame(
        {
            "husband": np.where(random.random(rows) < 0.9, married, ~married).astype(int),
            "age": random.integers(18, 80, rows) + 8 * married,
            "hours": random.normal(40, 12, rows),
            "gain": random.lognormal(3, 1, rows),
        }
    )
    income = frame["husband"] + frame["age"] / 60 + random.normal(0, 0.8, rows) > 1.3
    model = RandomForestClassifier(n_estimators=trees, random_state=0).fit(frame, income)
    people = frame.assign(married=married, city=random.choice(["a", "b", "c"], rows))
    return pu.audit(model, people, ["married", "city"], measure="all")


@cache
def forest_audit() -> pu.Audit:
    return audited_forest(trees=3, rows=800)


@cache
def forest_columns() -> dict[str, Any]:
    audit = forest_audit()
    return points(audit, document(audit), most=MOST)


def printed(attribute: int) -> list[float]:
    """The association of each computation as the page may show it."""
    audit = forest_audit()
    measured, release = audit.decompositions, release_of(audit, document(audit).min_cell)
    singles = set(single_points(measured, audit.epsilon, audit.delta, MOST))
    rounded = release.rounded(measured.associations)[:, attribute].tolist()
    name = measured.protected[attribute]
    exact = measured.associations[:, attribute].tolist()
    return [
        release.association(term, name, exact[index]).value
        if index in singles
        else figure(rounded[index])
        for index, term in enumerate(measured.terms)
    ]


def counted_above(associations: list[float], epsilon: float, delta: float) -> int:
    influences = forest_audit().decompositions.influences.tolist()
    return sum(
        association >= epsilon and figure(influence) > delta
        for association, influence in zip(associations, influences, strict=True)
    )


@pytest.mark.slow
def test_the_page_of_a_large_forest_stays_below_3_mb():
    audit = audited_forest(trees=60, rows=1_500)
    counted = len(audit.decompositions) - MOST_POINTS
    assert counted > 5 * MOST_POINTS
    page = page_text(audit)
    assert len(page.encode()) < MOST_BYTES
    text = re.sub(r"<[^>]+>", "", page)
    assert f"{MOST_POINTS:,} computations are drawn as single points" in text
    assert f"{counted:,} computations far below the thresholds are counted" in text


def test_every_computation_is_a_point_or_in_a_cell():
    audit, columns = forest_audit(), forest_columns()["columns"]
    assert len(columns["id"]) == MOST
    for counts in columns["cells"]["counts"]:
        assert sum(n for *_, n in counts) == len(audit.decompositions) - MOST


def test_witnesses_and_what_is_near_the_thresholds_are_points():
    audit, columns = forest_audit(), forest_columns()["columns"]
    assert audit.witnesses
    assert {w.id for w in audit.witnesses} <= set(columns["id"])
    measured = audit.decompositions
    near = (measured.associations.max(axis=1) >= audit.epsilon / 2) & (
        measured.influences >= audit.delta / 2
    )
    assert set(np.flatnonzero(near)) <= set(
        single_points(measured, audit.epsilon, audit.delta, MOST)
    )


def test_all_near_the_thresholds_are_points_even_if_there_are_more_than_allowed():
    measured = forest_audit().decompositions
    singles = single_points(measured, 0.001, 0.0001, most=10)
    near = (measured.associations.max(axis=1) >= 0.0005) & (measured.influences >= 0.00005)
    assert singles == np.flatnonzero(near).tolist()
    assert len(singles) > 10


@pytest.mark.parametrize("attribute", [0, 1])
@pytest.mark.parametrize("epsilon", [0, 0.005, 0.05, 0.2])
@pytest.mark.parametrize("delta", [0, 0.005, 0.03])
def test_counts_are_exact_at_multiples_of_the_step(attribute: int, epsilon: float, delta: float):
    columns = forest_columns()["columns"]
    step = columns["cells"]["step"]
    above = sum(
        association >= epsilon and influence > delta
        for association, influence in zip(
            columns["association"][attribute], columns["influence"], strict=True
        )
    )
    in_cells = sum(
        n
        for column, row, _, n in columns["cells"]["counts"][attribute]
        if column * step >= epsilon - 1e-9 and row * step >= delta - 1e-9
    )
    assert above + in_cells == counted_above(printed(attribute), epsilon, delta)


@pytest.mark.parametrize("attribute", [0, 1])
def test_figures_that_withhold_counts_stay_on_their_side_of_epsilon(attribute: int):
    audit = forest_audit()
    exact = audit.decompositions.associations[:, attribute].tolist()
    for shown, association in zip(printed(attribute), exact, strict=True):
        assert (shown >= audit.epsilon) == (association >= audit.epsilon)


def test_a_small_audit_has_no_cells():
    audit = forest_audit()
    everything = list(range(len(audit.decompositions)))
    assert single_points(audit.decompositions, 0.1, 0.05, most=10**6) == everything
    assert counted_cells(audit.decompositions, everything, everything) is None


@pytest.fixture
def page(opened: Opened) -> Page:
    page = opened(page_of(forest_columns()))
    page.wait_for_selector("#picture[data-drawn]")
    return page


def test_moving_a_threshold_into_the_cells_keeps_the_count_right(page: Page):
    count = page.locator(".picture-count")
    audit = forest_audit()
    witnesses = sum(w.protected == "married" for w in audit.witnesses)
    assert count.inner_text().startswith(f"{witnesses:,} computations above both thresholds")
    for name in ("association", "influence"):
        page.get_by_role("slider", name=f"Try another {name} threshold").focus()
        page.keyboard.press("Home")
    exact = counted_above(printed(0), 0, 0)
    assert count.inner_text().startswith(f"{exact:,} computations above both thresholds")
    assert "exact at multiples of 0.005" in page.locator(".picture-trying").inner_text()


def test_between_multiples_of_the_step_the_count_is_a_range(page: Page):
    epsilon, delta = 0.003, 0.001
    ends = page.evaluate(
        """([epsilon, delta]) => {
          const P = ProxyusePicture;
          const data = P.read(document.getElementById("points").textContent);
          const state = { protected: 0, side: "before", variables: new Set(),
            kinds: new Set(data.kinds.keys()), query: "", epsilon, delta };
          return P.above(data, state, P.visiblePoints(data, state), P.visibleCells(data, state));
        }""",
        [epsilon, delta],
    )["before"]
    assert ends["least"] < ends["most"]
    assert ends["least"] <= counted_above(printed(0), epsilon, delta) <= ends["most"]


def test_search_says_that_it_covers_the_single_points(page: Page):
    page.locator("#picture-find").fill("husband")
    matches = sum("husband" in term for term in forest_columns()["columns"]["term"])
    text = page.locator(".picture-results-count").inner_text()
    assert text == f"{matches:,} matches among the single points"


def test_the_tooltip_of_a_cell_says_how_many_it_holds(page: Page):
    cells = json.loads(page.locator("#points").text_content() or "")["columns"]["cells"]
    total = sum(n for *_, n in cells["counts"][0])
    assert f"{total:,} computations in cells" in page.locator(".picture-drawn").inner_text()
    texts = page.evaluate(
        """() => {
          const P = ProxyusePicture;
          const data = P.read(document.getElementById("points").textContent);
          const state = { protected: 0, side: "before", variables: new Set(),
            kinds: new Set(data.kinds.keys()), query: "" };
          const scale = P.chart.scale(echarts.getInstanceByDom(
            document.querySelector(".picture-canvas")));
          const cells = P.visibleCells(data, state);
          const [column, row, n] = cells.before.find(([, row]) => row >= 0);
          const { step } = data.sides.before.cells;
          const cell = P.cellAt(data, cells, scale, scale.x((column + 0.5) * step),
            scale.y((row + 0.5) * step));
          const tooltip = document.createElement("div");
          P.fillCellTooltip(tooltip, data, cell);
          return [tooltip.textContent, String(n)];
        }"""
    )
    assert texts[0].startswith(f"{int(texts[1]):,} computation")
