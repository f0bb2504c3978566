"""The scripts and styles of the chart, in the order in which the page includes them."""

from __future__ import annotations

from importlib import resources

SCRIPTS = (
    "echarts.common.min.js",
    "picture_data.js",
    "picture_elements.js",
    "picture_cells.js",
    "picture_chart.js",
    "picture_thresholds.js",
    "picture_overlay.js",
    "picture_details.js",
    "picture_find.js",
    "picture_controls.js",
    "picture.js",
)
STYLES = ("picture.css",)


def asset(name: str) -> str:
    """The text of a file in ``assets``.

    Examples
    --------
    >>> all(asset(name) for name in (*SCRIPTS, *STYLES))
    True
    """
    return (
        resources.files("proxyuse.report.render.html")
        .joinpath("assets", name)
        .read_text(encoding="utf-8")
    )
