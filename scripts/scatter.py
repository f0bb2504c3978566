"""Points and lines in a plane as SVG, in the manner of the other figures of the documentation."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from benchmarks.figure import COLOURS, HEIGHT, MARGIN, WIDTH

Scale = Callable[[float], float]


@dataclass(frozen=True, slots=True)
class Axis:
    """What one direction shows, and where its marks are; the first and the last end it.

    Equal distances are equal ratios if it is logarithmic.
    """

    name: str
    marks: tuple[float, ...]
    logarithmic: bool = False

    def scale(self, start: float, end: float) -> Scale:
        """From values to places in the figure."""
        place: Scale = math.log if self.logarithmic else float
        low, high = place(self.marks[0]), place(self.marks[-1])
        return lambda value: start + (place(value) - low) / (high - low) * (end - start)


@dataclass(frozen=True, slots=True)
class Cloud:
    """Points of one kind, joined by lines or not."""

    name: str
    points: tuple[tuple[float, float], ...]
    joined: bool = False


Segment = tuple[tuple[float, float], tuple[float, float]]


def scatter(
    title: str,
    across: Axis,
    up: Axis,
    clouds: Sequence[Cloud],
    line: tuple[str, Segment],
    names_above: float = 0.0,
) -> str:
    """Points of some kinds, and a named straight line; names stand above a share of the height."""
    x = across.scale(MARGIN, WIDTH - MARGIN / 2)
    y = up.scale(HEIGHT - MARGIN, MARGIN)
    middle = (HEIGHT - MARGIN + MARGIN) / 2
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        'font-family="sans-serif" font-size="12">',
        f"<title>{title}</title>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        _text(WIDTH / 2, 20, title, "middle", size=14),
        _text((WIDTH + MARGIN / 2) / 2, HEIGHT - 18, across.name, "middle"),
        f'<text transform="translate(14 {middle:.1f}) rotate(-90)" text-anchor="middle">'
        f"{up.name}</text>",
    ]
    for mark in across.marks:
        parts.append(_line((x(mark), y(up.marks[0])), (x(mark), y(up.marks[-1])), "#ddd"))
        parts.append(_text(x(mark), HEIGHT - MARGIN + 16, _number(mark), "middle"))
    for mark in up.marks:
        parts.append(_line((x(across.marks[0]), y(mark)), (x(across.marks[-1]), y(mark)), "#ddd"))
        parts.append(_text(MARGIN - 6, y(mark) + 4, f"{mark:g}", "end"))
    name, ends = line
    start, end = ((x(a), y(b)) for a, b in ends)
    parts.append(_line(start, end, "#888"))
    names = [(name, "#666")]
    for cloud, color in zip(clouds, COLOURS, strict=False):
        parts += [
            f'<circle cx="{x(a):.1f}" cy="{y(b):.1f}" r="3" fill="{color}" fill-opacity="0.6"/>'
            for a, b in cloud.points
        ]
        if cloud.joined:
            places = [(x(a), y(b)) for a, b in cloud.points]
            parts += [_line(start, end, color) for start, end in pairwise(places)]
        names.append((cloud.name, color))
    for row, (name, color) in enumerate(names):
        above = HEIGHT - MARGIN - names_above * (HEIGHT - 2 * MARGIN) - 12 - 16 * row
        parts.append(_text(MARGIN + 10, above, name, "start", color))
    return "\n".join([*parts, "</svg>", ""])


def _number(mark: float) -> str:
    return f"{mark:,.0f}" if mark >= 1000 else f"{mark:g}"


def _text(x: float, y: float, text: str, anchor: str, color: str = "black", size: int = 12) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{color}" '
        f'font-size="{size}">{text}</text>'
    )


def _line(start: tuple[float, float], end: tuple[float, float], color: str) -> str:
    (x1, y1), (x2, y2) = start, end
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{color}"/>'
