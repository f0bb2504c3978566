"""Take the screenshot of the report on the front page.

``python -m scripts.report_picture docs/figures/report.png`` runs the demo, opens its report in
Chromium and takes a screenshot of the answer and the chart.
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
    """Run the demo and return the path of its report."""
    report = folder / "report.html"
    command = [sys.executable, "-m", "proxyuse", "demo", "--report", str(report)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return report


def take_picture(report: Path, to: Path) -> None:
    """Open a report, wait until everything is drawn, and take a screenshot."""
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
    parser.add_argument("to", type=Path, help="path of the screenshot")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        take_picture(demo_report(Path(folder)), options.to)
