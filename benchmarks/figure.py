"""A log-log plot of measured times as SVG, with the straight line that fits best."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

WIDTH, HEIGHT, MARGIN = 460, 320, 56
COLOURS = ("#1b6ca8", "#c8553d", "#3a7d44")


@dataclass(frozen=True, slots=True)
class Curve:
    """Times (in seconds) of one thing for several sizes."""

    name: str
    sizes: tuple[float, ...]
    seconds: tuple[float, ...]

    @property
    def exponent(self) -> float:
        """The slope of the straight line through the logarithms: time grows as size to it."""
        slope, _ = np.polyfit(np.log(self.sizes), np.log(self.seconds), 1)
        return float(slope)


def log_log(title: str, across: str, curves: list[Curve]) -> str:
    """The plot."""
    low_x, high_x = _decades([size for curve in curves for size in curve.sizes])
    low_y, high_y = _decades([time for curve in curves for time in curve.seconds])

    def x(value: float) -> float:
        return MARGIN + (math.log10(value) - low_x) / (high_x - low_x) * (WIDTH - 1.5 * MARGIN)

    def y(value: float) -> float:
        share = (math.log10(value) - low_y) / (high_y - low_y)
        return HEIGHT - MARGIN - share * (HEIGHT - 2 * MARGIN)

    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        'font-family="sans-serif" font-size="12">',
        f"<title>{title}</title>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        f'<text x="{WIDTH / 2}" y="20" text-anchor="middle" font-size="14">{title}</text>',
        f'<text x="{WIDTH / 2}" y="{HEIGHT - 12}" text-anchor="middle">{across}</text>',
    ]
    for power in range(low_x, high_x + 1):
        at = x(10.0**power)
        lines.append(_line(at, y(10.0**low_y), at, y(10.0**high_y), "#ddd", 1))
        lines.append(
            f'<text x="{at:.1f}" y="{HEIGHT - MARGIN + 16}" text-anchor="middle">'
            f"{10**power:,}</text>"
        )
    for power in range(low_y, high_y + 1):
        at = y(10.0**power)
        lines.append(_line(x(10.0**low_x), at, x(10.0**high_x), at, "#ddd", 1))
        label = f"{10.0**power:g} s" if power >= 0 else f"{10.0 ** (power + 3):g} ms"
        lines.append(f'<text x="{MARGIN - 6}" y="{at + 4:.1f}" text-anchor="end">{label}</text>')
    for number, curve in enumerate(curves):
        lines += _drawn(curve, number, x, y)
    return "\n".join([*lines, "</svg>", ""])


def _drawn(curve: Curve, number: int, x: object, y: object) -> list[str]:
    assert callable(x)
    assert callable(y)
    color = COLOURS[number % len(COLOURS)]
    slope, start = np.polyfit(np.log(curve.sizes), np.log(curve.seconds), 1)
    ends = [
        (size, math.exp(start + slope * math.log(size)))
        for size in (curve.sizes[0], curve.sizes[-1])
    ]
    (x1, y1), (x2, y2) = ((x(size), y(time)) for size, time in ends)
    lines = [_line(x1, y1, x2, y2, color, 1.5)]
    for size, time in zip(curve.sizes, curve.seconds, strict=True):
        lines.append(f'<circle cx="{x(size):.1f}" cy="{y(time):.1f}" r="3.5" fill="{color}"/>')
    lines.append(
        f'<text x="{MARGIN + 10}" y="{MARGIN + 4 + 16 * number}" fill="{color}">'
        f"{curve.name}: exponent {slope:.2f}</text>"
    )
    return lines


def _line(x1: float, y1: float, x2: float, y2: float, color: str, width: float) -> str:
    return (
        f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{color}" '
        f'stroke-width="{width}"/>'
    )


def _decades(values: list[float]) -> tuple[int, int]:
    """The powers of ten around all values."""
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return low, max(high, low + 1)
