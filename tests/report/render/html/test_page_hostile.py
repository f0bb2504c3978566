"""Hostile text as features, categories, classes, protected names and values, reasons.

Wherever it comes out, nothing runs, nothing breaks and nothing is raised.
"""

from __future__ import annotations

import io
import json
import xml.dom.minidom
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import proxyuse as pu
from proxyuse.lang.nodes import Compare, Const, Ite, Relation, Term, Var
from proxyuse.report.document import document
from proxyuse.report.render.html.page import page_text
from proxyuse.report.render.junit import audit_junit
from proxyuse.report.render.sarif import audit_sarif
from proxyuse.words import one_line
from tests.browser import Opened, chromium_browser, opened_page  # noqa: F401

pytestmark = pytest.mark.slow

RUNS = "window.ran = 1"
HOSTILE = (
    f"<script>{RUNS}</script>",
    f"</script><script>{RUNS}</script>",
    f'"quoted" & &amp; onmouseover="{RUNS}"',
    f"' onclick='{RUNS}",
    f"<img src=x onerror={RUNS}>",
    f"`${{{RUNS}}}` {{{{ 7 * 7 }}}} {{% raw %}}",
    "--> <!-- ]]> <![CDATA[",
    "\u202eturned\u2069\u2068\u200f",
    "שלום 👨‍👩‍👧",
    "x" * 10_000,
    "W" * 300,
    "nul\x00esc\x1b[2J\u2028end",
    "line\nbreak\r\ttab",
    "lone\ud800half\udfff",
    "\u0301" * 2_000,
    "$\\frac{a}{b}$",
)
WIDER = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


def feature(text: str) -> str:
    return f"F {text}"


def hostile_audit() -> pu.Audit:
    """Each text is a feature, a category of it and a class; some are protected, too."""
    generator = np.random.default_rng(0)
    z = generator.integers(0, 2, 300)
    data: dict[str, Any] = {}
    term: Term = Const("else")
    for text in HOSTILE:
        turned = generator.random(300) < 0.08
        data[feature(text)] = np.where(z ^ turned, f"C {text}", f"D {text}")
        test = Compare(Relation.EQ, Var(feature(text)), Const(f"C {text}"))
        term = Ite(test, Const(f"L {text}"), term)
    protected = {
        f"P {text}": np.where(z == 1, f"V {text}", f"U {text}")
        for text in HOSTILE[:2] + HOSTILE[7:13]
    }
    return pu.audit(pu.Program(term, list(data)), data, protected, epsilon=0.0, delta=0.0)


def judge(witness: pu.Witness) -> pu.Judgment:
    text = HOSTILE[len(witness.term) % len(HOSTILE)]
    return pu.Judgment(False, f"R {text}", f"B {text}")


@pytest.fixture(scope="module")
def audit() -> pu.Audit:
    return hostile_audit()


@pytest.fixture(scope="module")
def page(audit: pu.Audit) -> str:
    return page_text(audit, oracle=judge)


def drawn(audit: pu.Audit) -> str:
    pytest.importorskip("matplotlib").use("Agg")
    from matplotlib.figure import Figure

    pages = []
    for z in audit.population.protected[::3]:
        figure = Figure()
        audit.plot(z.name, ax=figure.subplots())
        file = io.StringIO()
        figure.savefig(file, format="svg")
        pages.append(file.getvalue())
        xml.dom.minidom.parseString(pages[-1].encode())
    return "".join(pages)


def junit_text(audit: pu.Audit) -> str:
    text = audit_junit(document(audit, oracle=judge))
    xml.dom.minidom.parseString(text.encode())
    return text


def sarif_text(audit: pu.Audit) -> str:
    return json.dumps(audit_sarif(document(audit, oracle=judge)), ensure_ascii=True)


@pytest.mark.parametrize(
    "rendered", [sarif_text, junit_text, drawn, lambda audit: audit._repr_html_()],
    ids=["sarif", "junit", "plot", "notebook"],
)  # fmt: skip
def test_every_door_takes_every_text(audit: pu.Audit, rendered: Callable[[pu.Audit], str]) -> None:
    text = rendered(audit).encode("utf-8").decode("utf-8")
    assert not set("\x00\x1b\u202e") & set(text)
    if rendered is not sarif_text:  # which is JSON
        assert "<script>" not in text
        assert "<img" not in text


def test_a_notebook_runs_none_of_it(audit: pu.Audit, opened: Opened) -> None:
    shown = opened(f"<!doctype html><title>notebook</title>{audit._repr_html_()}", width=700)
    assert shown.evaluate("window.ran") is None
    assert shown.evaluate(WIDER) <= 0


@pytest.mark.parametrize("width", [320, 1280])
def test_features_categories_and_classes_stay_text_and_in_their_place(
    opened: Opened, page: str, width: int
) -> None:
    shown = opened(page, width=width)
    shown.wait_for_selector("#picture[data-drawn]")
    shown.locator("#open-all").click()
    text = shown.locator("main").inner_text()
    for letter in "FCL":  # features, categories, classes
        assert f"{letter} <script>{RUNS}" in text
    assert "⟨U+202E⟩turned" in text
    assert "⟨U+D800⟩" in text
    assert shown.locator("main img").count() == 0
    for index in range(shown.locator("#picture-protected option").count()):
        shown.locator("#picture-protected").select_option(str(index))
    shown.locator("#picture-find").fill("script")
    shown.keyboard.press("ArrowDown")
    assert shown.evaluate(WIDER) <= 0
    shown.keyboard.press("Enter")
    shown.locator("#picture-variables summary").click()
    assert shown.evaluate(WIDER) <= 0
    names = shown.locator(".picture-menu-list")
    assert names.evaluate("list => list.scrollWidth - list.clientWidth") <= 0
    assert shown.evaluate("window.ran") is None


def test_a_printed_page_is_no_wider_than_paper(opened: Opened, page: str) -> None:
    shown = opened(page, width=688)  # what the margins leave of A4
    shown.wait_for_selector("#picture[data-drawn]")
    shown.emulate_media(media="print")
    shown.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert shown.evaluate(WIDER) <= 0


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("e" + "\u0301" * 6, "e" + "\u0301" * 4 + "⟨U+0301⟩" * 2),
        ("pay\u200d", "pay⟨U+200D⟩"),
        ("👨‍👩‍👧", "👨‍👩‍👧"),
        ("\u06cc\u200c\u062e", "\u06cc\u200c\u062e"),  # Persian letters, not joined
        ("naïve", "naïve"),
    ],
)
def test_marks_in_a_row_and_joiners_of_nothing_are_made_visible(text: str, shown: str) -> None:
    assert one_line(text) == shown
