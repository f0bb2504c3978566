"""Pages in a real browser, for tests: Debian's chromium, driven by Playwright.

A test that takes `opened` opens HTML from a file and works with it. The test fails if the page logs
a warning or an error, or sends a network request. Without chromium or Playwright, these tests are
skipped; in CI, where the variable ``CI`` is set, they fail.

Use it as ``from tests.browser import chromium_browser, opened_page  # noqa: F401``.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

CHROMIUM = "/usr/bin/chromium"


@dataclass
class Opened:
    """Opens pages, and records their console messages and requests.

    Attributes
    ----------
    messages : warnings and errors on the console, and uncaught errors.
    requests : requested addresses, other than the pages' own files and ``data:``.
    """

    browser: Browser
    folder: Path
    messages: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def __call__(self, html: str, *, width: int = 1200, height: int = 900, **options: Any) -> Page:
        """Open HTML in a page of its own; `options` are those of a browser context."""
        path = self.folder / f"page-{len(self.browser.contexts)}.html"
        path.write_text(html, encoding="utf-8")
        context = self.browser.new_context(viewport={"width": width, "height": height}, **options)
        page = context.new_page()
        page.on("console", lambda message: self._log(message.type, message.text))
        page.on("pageerror", lambda error: self._log("error", str(error)))
        page.on("request", lambda request: self._request(request.url, path))
        page.goto(path.as_uri())
        return page

    def _log(self, kind: str, text: str) -> None:
        if kind in ("error", "warning"):
            self.messages.append(f"{kind}: {text}")

    def _request(self, address: str, own: Path) -> None:
        if not address.startswith((own.as_uri(), "data:")):
            self.requests.append(address)


def left_out(why: str) -> NoReturn:
    """Say why a test is left out; in CI that is a failure."""
    if os.environ.get("CI"):
        pytest.fail(f"the page was not opened in a browser: {why}")
    pytest.skip(f"left out: {why}")


@pytest.fixture(scope="module", name="chromium")
def chromium_browser() -> Iterator[Browser]:
    """A browser without a window."""
    path = CHROMIUM if Path(CHROMIUM).exists() else shutil.which("chromium")
    if path is None:
        left_out(f"there is no {CHROMIUM}; install Debian's package chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        left_out("Playwright is not installed; pip install playwright")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(name="opened")
def opened_page(chromium: Browser, tmp_path: Path) -> Iterator[Opened]:
    """A function that opens HTML in the browser; see `Opened`."""
    opened = Opened(chromium, tmp_path)
    yield opened
    for context in chromium.contexts:
        context.close()
    if opened.messages or opened.requests:
        pytest.fail(f"the page said {opened.messages} and asked for {opened.requests}")
