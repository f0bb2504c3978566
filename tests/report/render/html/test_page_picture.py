"""The picture in a browser: what is drawn, and what happens when it is used."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import proxyuse as pu
from proxyuse.lang.text import name_text
from proxyuse.report.document import document
from proxyuse.report.render.html.picture import SCRIPTS, STYLES, asset
from proxyuse.report.render.html.points import as_script_text, points
from tests.browser import Opened, chromium_browser, left_out, opened_page  # noqa: F401
from tests.constant_repairs import by_constants

pytestmark = pytest.mark.slow

if TYPE_CHECKING:
    from playwright.sync_api import Page

POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'"
HOSTILE = "<img src=x onerror=alert(1)>\u202e'\""
PROGRAM = (
    "ite(husband == 1, ite(age > 30, 'a', 'b'), "
    f"ite(age > 50 and pay > 0.2, 'a', ite({name_text(HOSTILE)} > 0, 'b', 'c')))"
)

# Where a point is on the screen, and what a canvas shows there.
PLACE = """id => {
  const data = JSON.parse(document.getElementById("points").textContent);
  const canvas = document.querySelector(".picture-canvas");
  const scale = ProxyusePicture.chart.scale(echarts.getInstanceByDom(canvas));
  const at = data.columns.id.indexOf(id);
  const box = canvas.getBoundingClientRect();
  return [box.left + scale.x(data.columns.association[0][at]),
          box.top + scale.y(data.columns.influence[at])];
}"""
COLOUR = """([x, y]) => {
  const canvas = document.querySelector(".picture-canvas canvas");
  const box = canvas.getBoundingClientRect();
  const ratio = canvas.width / box.width;
  const copy = new OffscreenCanvas(1, 1).getContext("2d", {willReadFrequently: true});
  copy.drawImage(canvas, (box.left - x) * ratio, (box.top - y) * ratio);
  return [...copy.getImageData(0, 0, 1, 1).data];
}"""
DRAWN = """() => echarts.getInstanceByDom(document.querySelector(".picture-canvas")).getOption()
  .series.flatMap(({ data }) => data.map(([x, y]) => [x, y]))"""
SERIES = """() => Object.fromEntries(
  echarts.getInstanceByDom(document.querySelector(".picture-canvas")).getOption().series
    .filter(one => one).map(one => [one.id, one.data.length]))"""
HEARD = "window.heard = []; document.addEventListener('proxyuse:select', e => heard.push(e.detail))"


def page_of(columns: dict[str, Any], before: str = "") -> str:
    styles = "".join(f"<style>{asset(name)}</style>" for name in STYLES)
    scripts = "".join(f"<script>{asset(name)}</script>" for name in SCRIPTS)
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Picture</title>'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">{styles}</head>'
        f'<body>{before}<div id="picture"></div><script type="application/json" id="points">'
        f"{as_script_text(columns)}</script>{scripts}</body></html>"
    )


@pytest.fixture(scope="module")
def content() -> dict[str, Any]:
    """Two protected attributes, confidence bounds, and a repair."""
    drawn = np.random.default_rng(0)
    rows = 600
    married = drawn.random(rows) < 0.5
    data = {
        "husband": np.where(drawn.random(rows) < 0.9, married, ~married).astype(int),
        "age": drawn.integers(20, 60, rows),
        "pay": drawn.random(rows),
        HOSTILE: drawn.integers(0, 2, rows),
        "married": np.where(married, "yes", "no"),
        "city": drawn.choice(["north", "south"], rows),
    }
    program = pu.Program.parse(PROGRAM)
    repair = by_constants(program, data, protected=["married", "city"], epsilon=0.15, delta=0.02)
    audit = repair.before.validated("confirm")
    return points(audit, document(audit), repair.after)


@pytest.fixture
def page(opened: Opened, content: dict[str, Any]) -> Page:
    shown = opened(page_of({**content, "after": None}))
    shown.wait_for_selector("#picture[data-drawn]")
    shown.evaluate(HEARD)
    return shown


def witness_of(content: dict[str, Any], term: str) -> str:
    columns = content["columns"]
    return next(
        str(id_)
        for id_, text, witness in zip(
            columns["id"], columns["term"], columns["witness"][0], strict=True
        )
        if text == term and witness
    )


def test_every_point_is_drawn_and_a_witness_stands_out(page: Page, content: dict[str, Any]):
    columns = content["columns"]
    witnesses = sum(columns["witness"][0])
    assert page.locator("#picture").get_attribute("data-drawn") == str(len(columns["id"]))
    assert page.evaluate(SERIES) == {
        "before-curve": 0,  # no collection
        "before-points": len(columns["id"]) - witnesses,
        "before-diamond": witnesses,
        "before-rect": 0,
    }
    red, _, blue, opaque = page.evaluate(
        COLOUR, page.evaluate(PLACE, witness_of(content, "husband == 1"))
    )
    assert red > blue + 60
    assert opaque > 200
    count = page.locator(".picture-count").inner_text()
    assert count.startswith(f"{witnesses} computations above both thresholds")


def test_pointing_at_a_point_shows_its_figures_without_drawing_again(
    page: Page, content: dict[str, Any]
):
    page.evaluate(
        "window.drawings = 0; echarts.getInstanceByDom(document.querySelector('.picture-canvas'))"
        ".on('rendered', () => drawings++)"
    )
    page.mouse.move(*page.evaluate(PLACE, witness_of(content, "husband == 1")))
    text = page.locator(".picture-tooltip").inner_text()
    index = content["columns"]["id"].index(witness_of(content, "husband == 1"))
    assert "husband" in text
    assert str(content["columns"]["association"][0][index]) in text
    assert str(content["columns"]["influence"][index]) in text
    assert page.evaluate("drawings") == 0


def test_a_click_selects_and_tells_the_page(page: Page, content: dict[str, Any]):
    page.mouse.click(*page.evaluate(PLACE, witness_of(content, "husband == 1")))
    heard = page.evaluate("heard")
    assert len(heard) == 1
    assert heard[0]["protected"] == 0
    index = content["columns"]["id"].index(heard[0]["id"])
    assert content["columns"]["witness"][0][index]
    panel = page.locator(".picture-details")
    assert panel.locator("strong").inner_text() == "Witness"
    low = content["columns"]["low"]["association"][0][index]
    high = content["columns"]["high"]["association"][0][index]
    assert f"{low:g} to {high:g}" in panel.inner_text()
    assert page.locator(".picture-bar").count() == 6  # two bars with two caps each
    assert page.locator(".picture-around").count() >= 1
    page.mouse.click(*page.evaluate(PLACE, heard[0]["id"]))  # `husband` lies at the same place
    assert len({one["id"] for one in page.evaluate("heard")}) == 2


def test_lines_lead_to_what_a_point_is_part_of_and_to_its_parts(
    page: Page, content: dict[str, Any]
):
    columns = content["columns"]
    index = columns["term"].index("age > 50 and pay > 0.2")
    select(page, 0, columns["id"][index])
    assert page.locator(".picture-inside").count() == columns["parent"].count(index) > 0
    chain, above = 0, index
    while columns["parent"][above] >= 0:
        chain, above = chain + 1, columns["parent"][above]
    assert page.locator(".picture-around").count() == chain
    page.locator(".picture-kin button", has_text="pay > 0.2").last.click()
    assert page.evaluate("heard").pop()["id"] in columns["id"]


def select(page: Page, protected: int, id_: str) -> None:
    page.evaluate(
        "detail => document.dispatchEvent(new CustomEvent('proxyuse:select', {detail}))",
        {"protected": protected, "id": id_},
    )


def test_the_page_may_select_a_point_of_another_attribute(page: Page, content: dict[str, Any]):
    select(page, 1, content["columns"]["id"][1])
    assert page.locator("#picture-protected").input_value() == "1"
    assert "association with city" in page.locator(".picture-details").inner_text()
    select(page, 0, "no such id")
    assert page.locator("#picture-protected").input_value() == "1"


def test_points_are_found_and_selected_by_keyboard(page: Page, content: dict[str, Any]):
    page.locator("#picture-find").focus()
    page.keyboard.type("husband")
    matching = sum("husband" in term for term in content["columns"]["term"])
    assert page.locator(".picture-results-count").inner_text() == f"{matching} matches"
    assert page.locator("#picture-results [role=option]").count() == matching
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    active = page.locator("#picture-find").get_attribute("aria-activedescendant")
    wanted = page.locator(f"#{active}").get_attribute("data-id")
    assert page.locator(f"#{active}").get_attribute("aria-selected") == "true"
    page.keyboard.press("Enter")
    assert page.evaluate("heard")[0]["id"] == wanted
    assert page.locator("#picture-results").is_hidden()


def test_thresholds_move_by_keys_and_are_not_the_audited_ones(page: Page, content: dict[str, Any]):
    slider = page.get_by_role("slider", name="Try another association threshold")
    before = page.locator(".picture-count").inner_text()
    slider.focus()
    page.keyboard.press("Home")
    above = sum(value > content["delta"] for value in content["columns"]["influence"])
    assert slider.get_attribute("aria-valuenow") == "0"
    text = page.locator(".picture-count").inner_text()
    assert text.startswith(f"{above} computations above both thresholds")
    assert f"{above} computations" in (slider.get_attribute("aria-valuetext") or "")
    assert "audited" in page.locator(".picture-trying").inner_text()
    page.keyboard.press("ArrowRight")
    assert slider.get_attribute("aria-valuenow") == "0.005"
    page.get_by_role("button", name="Back to the audited thresholds").click()
    assert page.locator(".picture-count").inner_text() == before
    assert page.locator(".picture-trying").is_hidden()


@pytest.mark.parametrize(("name", "across", "up"), [("association", -80, 0), ("influence", 0, -90)])
def test_thresholds_can_be_dragged(page: Page, name: str, across: int, up: int):
    slider = page.get_by_role("slider", name=f"Try another {name} threshold")
    before = float(slider.get_attribute("aria-valuenow") or "nan")
    box = slider.bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + across, y + up, steps=4)
    page.mouse.up()
    after = float(slider.get_attribute("aria-valuenow") or "nan")
    assert (after < before) if name == "association" else (after > before)
    moved = slider.bounding_box()
    assert moved is not None
    where = (moved["x"] + moved["width"] / 2) if across else (moved["y"] + moved["height"] / 2)
    assert where == pytest.approx((x + across) if across else (y + up), abs=2)


def test_kinds_and_variables_filter(page: Page, content: dict[str, Any]):
    columns, kinds = content["columns"], content["kinds"]
    tests = columns["kind"].count(kinds.index("test"))
    page.get_by_role("checkbox", name=re.compile("^test")).uncheck()
    left = len(columns["id"]) - tests
    assert page.locator(".picture-drawn").inner_text() == f"{left} points drawn"
    assert f"of the {left} shown" in page.locator(".picture-count").inner_text()
    page.get_by_role("checkbox", name=re.compile("^test")).check()
    page.locator("#picture-variables summary").click()
    page.get_by_label("Search variables").fill("pa")
    assert page.locator(".picture-menu-list label:visible").all_inner_texts() == ["pay"]
    page.get_by_role("checkbox", name="pay").check()
    pay = content["variables"].index("pay")
    left = sum(pay in some for some in columns["variables"])
    assert page.locator(".picture-drawn").inner_text() == f"{left} points drawn"
    page.keyboard.press("Escape")
    assert not page.locator("#picture-variables[open]").count()


def test_the_wheel_zooms_and_all_can_be_shown_again(page: Page, content: dict[str, Any]):
    id_ = content["columns"]["id"][0]
    before = page.evaluate(PLACE, id_)
    box = page.locator(".picture-canvas").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.wheel(0, -600)
    page.wait_for_function(
        f"([x, y]) => Math.abs(({PLACE})('{id_}')[0] - x) > 5", arg=before, timeout=5000
    )
    page.get_by_role("button", name="Reset zoom").click()
    assert page.evaluate(PLACE, id_) == pytest.approx(before, abs=0.5)
    page.locator(".picture-plot").focus()
    page.keyboard.press("+")
    page.keyboard.press("ArrowRight")
    assert page.evaluate(PLACE, id_) != pytest.approx(before, abs=0.5)
    page.keyboard.press("0")
    page.locator("#picture-spread").check()
    assert page.evaluate(PLACE, id_) != pytest.approx(before, abs=0.5)


def test_before_and_after_lie_over_each_other(opened: Opened, content: dict[str, Any]):
    page = opened(page_of(content))
    page.wait_for_selector("#picture[data-drawn]")
    before, after = content["columns"], content["after"]
    joined = sum(number >= 0 for number in after["previous"])
    drawn = page.evaluate(SERIES)
    assert joined > 0
    assert drawn["moved"] == 3 * joined  # two ends and a gap
    assert drawn["after-points"] + drawn["after-diamond"] == len(after["id"])
    count = page.locator(".picture-count").inner_text()
    assert count.startswith(
        f"{sum(before['witness'][0])} computations above both thresholds before the repair, "
        f"{sum(after['witness'][0])} after it"
    )
    page.get_by_role("radio", name="After").check()
    assert page.locator(".picture-drawn").inner_text() == f"{len(after['id'])} points drawn"
    assert "moved" not in page.evaluate(SERIES)


def test_colors_follow_the_system_and_the_page(page: Page, content: dict[str, Any]):
    index = page.evaluate(PLACE, witness_of(content, "husband == 1"))
    light = page.evaluate(COLOUR, index)
    page.emulate_media(color_scheme="dark")
    dark = color_after(page, index, light)
    assert sum(dark[:3]) > sum(light[:3]) + 60
    page.evaluate("document.documentElement.dataset.theme = 'light'")
    assert color_after(page, index, dark) == light


def color_after(page: Page, index: Any, before: list[int]) -> list[int]:
    """The color once the picture has been drawn again; the old one if that never happens."""
    for _ in range(50):
        color: list[int] = page.evaluate(COLOUR, index)
        if color != before:
            return color
        page.wait_for_timeout(100)
    return before


def test_on_paper_the_picture_is_as_wide_as_a_page(page: Page, content: dict[str, Any]):
    page.emulate_media(media="print")
    page.wait_for_selector(".picture-printing")
    box = page.locator(".picture-plot").bounding_box()
    assert box is not None
    assert box["width"] <= 42 * 16
    assert page.locator(".picture-controls").is_hidden()
    red, _, blue, _ = page.evaluate(
        COLOUR, page.evaluate(PLACE, witness_of(content, "husband == 1"))
    )
    assert red > blue + 60
    page.emulate_media(media="screen")
    page.wait_for_selector(".picture-printing", state="detached")


def test_names_from_data_stay_text(page: Page):
    assert page.locator("#picture img").count() == 0
    page.locator("#picture-find").fill("onerror")
    assert page.locator("#picture-results [role=option]").count() > 0
    page.keyboard.press("Enter")
    assert "<img src=x" in page.locator(".picture-details .picture-term").inner_text()
    assert page.locator("#picture img").count() == 0


def test_explicit_use_has_a_look_of_its_own(opened: Opened):
    data = {"z": [0, 1] * 30, "age": list(range(60))}
    audit = pu.audit(pu.Program.parse("ite(z == 1, age > 30, age > 20)"), data, "z")
    page = opened(page_of(points(audit, document(audit))))
    page.wait_for_selector("#picture[data-drawn]")
    assert page.evaluate(SERIES)["before-rect"] == 1
    assert "the protected attribute itself" in page.locator(".picture-legend").inner_text()


def many(content: dict[str, Any], wanted: int) -> dict[str, Any]:
    """The columns of a program as large as many small ones, with points spread over the plane."""
    columns = content["columns"]
    drawn = np.random.default_rng(1)
    own = len(columns["id"])
    places = [i % own for i in range(wanted)]
    values = drawn.random((2, wanted)).round(4)
    association, influence = values.tolist()
    return {
        **content,
        "after": None,
        "protected": content["protected"][:1],
        "columns": {
            "id": [f"{i:016x}" for i in range(wanted)],
            "term": [(columns["term"][i] * 9)[:160] for i in places],
            "association": [association],
            "influence": influence,
            "reach": [columns["reach"][i] for i in places],
            "size": drawn.integers(1, 300, wanted).tolist(),
            "occurrences": [1] * wanted,
            "kind": [columns["kind"][i] for i in places],
            "variables": [columns["variables"][i] for i in places],
            "parent": [(i - 1) // 2 for i in range(wanted)],
            "witness": [(values > 0.9).all(axis=0).astype(int).tolist()],
            "explicit": [[0] * wanted],
            **{end: {"association": [[None] * wanted], "influence": [None] * wanted}
               for end in ("low", "high")},
        },
    }  # fmt: skip


def test_twenty_thousand_points_are_no_trouble(opened: Opened, content: dict[str, Any]):
    columns = many(content, 20_000)
    (association,), influence = columns["columns"]["association"], columns["columns"]["influence"]
    html = page_of(columns)
    assert len(html.encode()) < 10e6
    page = opened(html)
    page.wait_for_selector("#picture[data-drawn='20000']")
    drawn = page.evaluate(DRAWN)
    assert {tuple(index) for index in drawn} == set(zip(association, influence, strict=True))
    assert len(drawn) == 20_000
    page.mouse.click(600, 500)
    assert page.locator(".picture-details .picture-term").count() == 1
    page.get_by_role("button", name="Zoom in").click()


def test_of_many_points_at_one_place_those_that_look_the_same_are_drawn_once(
    opened: Opened, content: dict[str, Any]
):
    columns = many(content, 8_000)
    own = columns["columns"]
    values = [0.001 * (i % 100) for i in range(8_000)]
    own.update(association=[values], influence=values, size=[1, 300] * 4_000, witness=[[0] * 8_000])
    page = opened(page_of(columns))
    page.wait_for_selector("#picture[data-drawn='8000']")
    assert len(page.evaluate(DRAWN)) == 100  # each place has computations of one size
    label = page.locator(".picture-drawn").inner_text()
    assert label == "8,000 points drawn, overlapping ones as one marker"
    page.locator("#picture-find").fill("a")
    assert len(page.evaluate(DRAWN)) == 200  # those found lie above the others


def test_a_program_without_computations_gives_an_empty_picture(opened: Opened):
    audit = pu.audit(pu.Program.parse("lambda x . 1"), {"x": [1, 2], "z": [0, 1]}, "z")
    page = opened(page_of(points(audit, document(audit))))
    page.wait_for_selector("#picture[data-drawn='0']")
    assert (
        page.locator(".picture-count")
        .inner_text()
        .startswith("0 computations above both thresholds")
    )


@pytest.mark.parametrize(
    ("ci", "outcome"), [("", pytest.skip.Exception), ("1", pytest.fail.Exception)]
)
def test_without_a_browser_tests_are_left_out_loudly_and_fail_in_ci(
    ci: str, outcome: type[BaseException], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("CI", ci)
    with pytest.raises(outcome, match="no browser"):
        left_out("no browser")
