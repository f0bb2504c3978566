"""The report in a browser: it can be used, says nothing on the console, asks for nothing."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pytest

import proxyuse as pu
from proxyuse.report.findings.glossary import DEFINITIONS
from proxyuse.report.render.html.page import page_text
from tests.browser import Opened, chromium_browser, opened_page  # noqa: F401
from tests.constant_repairs import by_constants
from tests.report.render.html.test_page import hostile_page, people, small_audit

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.slow

WIDTHS = [360, 820, 1600]
WIDER = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
LINES = "[...document.querySelectorAll('#witness-table tbody tr')]"


@pytest.fixture(scope="module")
def report() -> str:
    return page_text(small_audit(protected=["pregnant", "old"], epsilon=0.0, delta=0.0))


@pytest.fixture(scope="module")
def hostile() -> str:
    return hostile_page()


@pytest.fixture(scope="module")
def repaired() -> str:
    program = pu.Program.parse("ite(vitamins == 1, 'a', ite(age <= 30, 'a', 'b'))")
    done = by_constants(program, people(), protected="pregnant", unconfirmed=True)
    return page_text(done.before, repair=done)


@pytest.mark.parametrize("width", WIDTHS)
def test_no_page_is_wider_than_the_screen(opened: Opened, report: str, width: int) -> None:
    assert opened(report, width=width).evaluate(WIDER) <= 0


@pytest.mark.parametrize("width", WIDTHS)
def test_hostile_names_run_nothing_and_break_no_layout(
    opened: Opened, hostile: str, width: int
) -> None:
    page = opened(hostile, width=width)
    page.locator("#open-all").click()
    assert page.evaluate(WIDER) <= 0
    assert page.locator("main img").count() == 0
    assert "<script>alert(1)</script>" in page.locator("h1").inner_text()


def test_a_number_tells_its_meaning(opened: Opened, report: str) -> None:
    page = opened(report)
    meaning = page.locator("#about-association")
    assert not meaning.is_visible()
    page.locator(".figures .n[popovertarget=about-association]").first.click()
    assert meaning.is_visible()
    assert DEFINITIONS["Association"] in meaning.inner_text()
    page.keyboard.press("Escape")
    assert not meaning.is_visible()


def test_the_table_sorts_by_click_and_by_key(opened: Opened, report: str) -> None:
    page = opened(report)
    head = page.locator("#witness-table th", has_text="influence")
    numbers = f"() => {LINES}.map(line => Number(line.cells[3].textContent))"
    head.locator("button.sort").click()
    assert head.get_attribute("aria-sort") == "descending"
    assert page.evaluate(numbers) == sorted(page.evaluate(numbers), reverse=True)
    head.locator("button.sort").press("Enter")
    assert head.get_attribute("aria-sort") == "ascending"
    assert page.evaluate(numbers) == sorted(page.evaluate(numbers))
    assert page.locator("#witness-table th[aria-sort]").count() == 1


def test_a_line_shows_its_witness(opened: Opened, report: str) -> None:
    page = opened(report)
    page.evaluate("window.heard = []; document.addEventListener('proxyuse:select', "
                  "event => heard.push(event.detail))")  # fmt: skip
    line = page.locator("#witness-table tbody tr").nth(4)
    index, id_ = line.get_attribute("data-protected"), line.get_attribute("data-id")
    line.locator("td.num").first.click()
    assert page.evaluate("heard") == [{"protected": int(index or ""), "id": id_}]
    section = page.locator(f"#witness-{index}-{id_}")
    assert "selected" in (section.get_attribute("class") or "")
    assert section.locator("h4", has_text="In the model").is_visible()
    assert line.get_attribute("aria-current") == "true"


def test_a_point_opens_its_witness(opened: Opened, report: str) -> None:
    page = opened(report)
    section = page.locator("section.witness").nth(5)
    index, id_ = section.get_attribute("data-protected"), section.get_attribute("data-id")
    assert section.locator("details.more").get_attribute("open") is None
    page.evaluate(
        "detail => document.dispatchEvent(new CustomEvent('proxyuse:select', {detail}))",
        {"protected": int(index or ""), "id": id_},
    )
    assert section.locator("details.more").get_attribute("open") is not None


def test_more_lines_come_on_demand(opened: Opened) -> None:
    generator = np.random.default_rng(0)
    data = {name: generator.integers(0, 2, 60) for name in "abcdefgh"}
    program = pu.Program.parse("ite(a + b + c + d + e + f + g + h >= 4, 1, 0)")
    audit = pu.audit(program, {**data, "z": data["a"]}, "z", epsilon=0.0, delta=0.0, all_sets=True)
    page = opened(page_text(audit))
    assert page.evaluate(f"{LINES}.length") == 200
    page.locator("#show-rest").click()
    assert page.evaluate(f"{LINES}.length") == len(audit.witnesses)
    assert not page.locator("#show-rest").is_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_colors_follow_the_system_until_the_switch(
    opened: Opened, report: str, scheme: str
) -> None:
    page = opened(report, color_scheme=scheme)

    def dark() -> bool:
        color = page.evaluate("getComputedStyle(document.body).backgroundColor")
        return sum(map(int, color[4:-1].split(","))) < 200

    assert dark() == (scheme == "dark")
    page.locator("#theme").click()
    assert dark() == (scheme == "light")


def contrast(page: Page, selector: str) -> float:
    """The contrast of a text with what is behind it, as WCAG has it."""
    found: float = page.evaluate(
        """selector => {
          const rgb = text => text.match(/[\\d.]+/g).map(Number);
          const light = ([r, g, b]) => [r, g, b].map(v => v / 255)
            .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
            .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
          let node = document.querySelector(selector);
          const text = light(rgb(getComputedStyle(node).color));
          let back = rgb(getComputedStyle(node).backgroundColor);
          while (back.length > 3 && back[3] === 0) {
            node = node.parentElement;
            back = rgb(getComputedStyle(node).backgroundColor);
          }
          const behind = light(back);
          return (Math.max(text, behind) + 0.05) / (Math.min(text, behind) + 0.05);
        }""",
        selector,
    )
    return found


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_texts_stand_out(opened: Opened, hostile: str, scheme: str) -> None:
    page = opened(hostile, color_scheme=scheme)
    for selector in ("h1", ".lead", ".facts dt", ".badge", ".badge.mark", ".badge.accent", "main a",
                     ".figures .n", ".witness .id", "details > summary"):  # fmt: skip
        assert contrast(page, selector) >= 4.5, selector


def test_the_repair_is_there_and_in_the_picture(opened: Opened, repaired: str) -> None:
    page = opened(repaired)
    assert "→ 0" in page.locator("#repair .cost").inner_text()
    assert page.locator("#picture canvas").count() >= 1


def test_it_prints_open_light_and_without_controls(opened: Opened, repaired: str) -> None:
    page = opened(repaired, color_scheme="dark")
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator("details.more:not([open])").count() == 0
    assert not page.locator("#theme").is_visible()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.evaluate("document.documentElement.dataset.theme") is None
    assert len(page.pdf()) > 10_000


def test_it_says_all_but_the_picture_without_scripts(opened: Opened, report: str) -> None:
    page = opened(report, java_script_enabled=False)
    assert page.locator("section.witness").count() > 5
    assert page.locator("noscript").first.is_visible()
    assert not page.locator("#theme").is_visible()


def test_no_menu_leaves_the_screen(opened: Opened, report: str) -> None:
    page = opened(report)
    page.locator("#picture-variables summary").click()
    for width in (360, 900, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        box = page.locator(".picture-menu-body").bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width


def test_bounds_of_a_witness_lie_inside_the_picture(opened: Opened) -> None:
    page = opened(page_text(small_audit(validity="confirm")))
    page.locator("#witness-table tbody td.num").first.click()
    ends = page.evaluate(
        "[...document.querySelectorAll('.picture-bar')].flatMap(bar => [+bar.getAttribute('x1'), "
        "+bar.getAttribute('x2')])"
    )
    right = page.evaluate(
        "+document.querySelector('#picture-clip rect').getAttribute('width') + 62"
    )
    assert ends
    assert max(ends) <= right


def test_a_finger_scrolls_past_the_picture(opened: Opened, report: str) -> None:
    page = opened(report, width=375, height=700, has_touch=True, is_mobile=True)
    page.evaluate("document.querySelector('.picture-canvas').scrollIntoView({behavior: 'instant'})")
    before = page.evaluate("scrollY")
    session = page.context.new_cdp_session(page)

    def touch(kind: str, *heights: int) -> None:
        points = [{"x": 180, "y": height} for height in heights]
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
        page.wait_for_timeout(16)

    touch("touchStart", 400)
    for height in range(390, 240, -10):
        touch("touchMove", height)
    touch("touchEnd")
    page.wait_for_function("before => scrollY > before + 80", arg=before, timeout=5_000)


def test_headings_go_down_by_one(opened: Opened, repaired: str) -> None:
    nothing = page_text(small_audit(epsilon=0.99, validity="confirm", variables=False))
    for html in (repaired, nothing):
        levels = opened(html).evaluate(
            "[...document.querySelectorAll('main :is(h1, h2, h3, h4)')].map(h => +h.tagName[1])"
        )
        assert levels[0] == 1
        assert all(to <= now + 1 for now, to in pairwise(levels))


def test_what_is_wide_can_be_scrolled_by_keyboard(opened: Opened, report: str) -> None:
    page = opened(report, width=320)
    page.locator("#open-all").click()
    page.wait_for_selector(".scroll[tabindex='0']")
    wide = "one => one.scrollWidth > one.clientWidth + 1"
    places = page.locator(".scroll, .drawing")
    for locator in places.all():
        assert (locator.get_attribute("tabindex") == "0") == locator.evaluate(wide)


def test_without_scripts_nothing_is_offered_that_needs_one(opened: Opened, report: str) -> None:
    page = opened(report, java_script_enabled=False)
    assert not page.locator(".needs-script").is_visible()
    assert not page.locator("#picture").is_visible()
    page.locator(".figures .n[popovertarget=about-association]").first.click()
    assert page.locator("#about-association").is_visible()
    page.emulate_media(media="print")
    assert page.locator("details.more h4").last.is_visible()
