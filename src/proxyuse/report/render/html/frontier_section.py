"""The frontier of a repair on the page: a picture, and a table to decide from."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from proxyuse.report.findings.frontier import (
    ORIGINAL,
    TITLE,
    described,
    frontier_notes,
    frontier_sentences,
    frontier_table,
)
from proxyuse.report.render.html.untrusted_text import PAGE
from proxyuse.report.repair_result import FrontierPoint, FrontierResult, RepairResult
from proxyuse.words import all_visible

WIDTH, HEIGHT = 720, 320
LEFT, RIGHT, TOP, BOTTOM = 64, 120, 28, 46
TICKS = 5
CONSTANT = "best constant"
APART = 16
"""The smallest distance between two labels."""


def frontier_section(result: RepairResult) -> dict[str, Any] | None:
    """The content of the section; None without a frontier."""
    frontier = result.frontier
    if frontier is None:
        return None
    heads, lines = frontier_table(result, PAGE)
    requested = [False, *(point.requested for point in frontier.points)]
    return {
        "title": TITLE,
        "sentences": frontier_sentences(result),
        "notes": frontier_notes(result, PAGE),
        "picture": picture(result),
        "heads": heads,
        "lines": list(zip(requested, lines, strict=True)),
    }


def picture(result: RepairResult) -> dict[str, Any] | None:
    """Positions and texts of the picture; a template draws them. None if nothing was measured."""
    frontier = result.frontier
    assert frontier is not None
    values = _values(frontier)
    if not any(point.utility is not None for point in frontier.points):
        return None
    ticks = nice_ticks(min(values), max(values))
    low, high = min(ticks[0], *values), max(ticks[-1], *values)
    right, bottom = WIDTH - RIGHT, HEIGHT - BOTTOM

    def down(value: float) -> float:
        return round(bottom - (bottom - TOP) * (value - low) / (high - low), 1)

    step = (right - LEFT) / len(frontier.points)
    points = [
        _point(point, round(LEFT + step * (index + 0.5), 1), down)
        for index, point in enumerate(frontier.points)
    ]
    drawn = [point for point in points if point["y"] is not None]
    references = [(frontier.original, ORIGINAL), (frontier.constant, CONSTANT)]
    lines = [{"y": down(value), "text": text} for value, text in references if value is not None]
    return {
        "width": WIDTH,
        "height": HEIGHT,
        "left": LEFT,
        "right": right,
        "top": TOP,
        "bottom": bottom,
        "label": described(result),
        "across": frontier.varies,
        "up": all_visible(result.utility.name),
        "ticks": [
            {"y": down(tick), "text": text}
            for tick, text in zip(ticks, tick_texts(ticks), strict=True)
        ],
        "points": points,
        "path": _path(drawn, right),
        "lines": _apart(lines),
        "requested": next(point["x"] for point in points if point["requested"]),
    }


def _values(frontier: FrontierResult) -> list[float]:
    """Every height that is drawn."""
    values = [v for v in (frontier.original, frontier.constant) if v is not None]
    for point in frontier.points:
        if point.utility is not None:
            error = point.error or 0.0
            values += [point.utility - error, point.utility + error]
    return values


def _point(point: FrontierPoint, x: float, down: Any) -> dict[str, Any]:
    drawn: dict[str, Any] = {
        "x": x,
        "y": None,
        "text": point.value,
        "requested": point.requested,
    }
    if point.utility is None:
        return drawn
    error = point.error or 0.0
    return {
        **drawn,
        "y": down(point.utility),
        "low": down(point.utility - error),
        "high": down(point.utility + error),
        "title": f"{point.utility:.4f}",
    }


def _path(points: Sequence[dict[str, Any]], right: float) -> str:
    """A line of steps: a model stays available until the next point has a better one."""
    first, *others = points
    steps = "".join(f"H{point['x']}V{point['y']}" for point in others)
    return f"M{first['x']} {first['y']}{steps}H{right}"


def _apart(lines: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The lines with the heights of their labels, which do not overlap."""
    ordered = sorted(lines, key=lambda line: float(line["y"]))
    placed: list[dict[str, Any]] = []
    for line in ordered:
        at = float(line["y"])
        if placed:
            at = max(at, float(placed[-1]["at"]) + APART)
        placed.append({**line, "at": at})
    return placed


def nice_ticks(low: float, high: float) -> list[float]:
    """Round numbers from a little below some values to a little above them.

    Examples
    --------
    >>> nice_ticks(0.5, 0.873), nice_ticks(12.0, 12.0)
    ([0.5, 0.6, 0.7, 0.8, 0.9], [11.0, 11.5, 12.0, 12.5, 13.0])
    """
    if not high > low:
        size = abs(high) * 0.1 or 1.0
        low, high = low - size / 2, high + size / 2
    rough = (high - low) / TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    step = power * next(m for m in (1, 2, 5, 10) if m * power >= rough * 0.999)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [float(f"{index * step:.10g}") for index in range(first, last + 1)]


def tick_texts(ticks: Sequence[float]) -> list[str]:
    """The ticks with equally many decimals.

    Examples
    --------
    >>> tick_texts([0.75, 0.8, 0.85]), tick_texts([0.0, 1000.0])
    (['0.75', '0.80', '0.85'], ['0', '1,000'])
    """
    decimals = max(len(f"{tick:.10g}".partition(".")[2]) for tick in ticks)
    if any("e" in f"{tick:.10g}" for tick in ticks):
        return [f"{tick:.4g}" for tick in ticks]
    return [f"{tick:,.{decimals}f}" for tick in ticks]
