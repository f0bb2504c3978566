"""A picture of the report for the front page, taken in a browser.

``python -m scripts.report_picture docs/figures/report.png`` makes the report of the demonstration,
opens it in chromium and takes a picture of its answer and its picture of all computations.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

CHROMIUM = "/usr/bin/chromium"
WIDTH, HEIGHT = 1280, 900


def demo_report(folder: Path) -> Path:
    """The report that the demonstration writes."""
    report = folder / "report.html"
    command = [sys.executable, "-m", "proxyuse", "demo", "--report", str(report)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return report


def take_picture(report: Path, to: Path) -> None:
    """Open a report, wait until everything is drawn, and keep what is seen."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light")
        page.goto(report.resolve().as_uri())
        page.wait_for_selector("#picture[data-drawn]")
        page.wait_for_timeout(500)  # the chart fades in
        box = page.locator("#picture").bounding_box()
        assert box is not None
        height = box["y"] + box["height"] + 24
        page.screenshot(
            path=to, full_page=True, clip={"x": 0, "y": 0, "width": WIDTH, "height": height}
        )
        browser.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("to", type=Path, help="where the picture goes")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        take_picture(demo_report(Path(folder)), options.to)
