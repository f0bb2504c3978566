"""Labels beside the points of a figure: short, drawable, without overlaps."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from proxyuse.lang.evaluate import Array
from proxyuse.words import one_line, shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Annotation
    from matplotlib.transforms import Bbox

FONT_SIZE = 7.5
_AROUND = (
    (1, 0), (-1, 0), (1, 1), (1, -1), (-1, 1), (-1, -1), (2, 1), (2, -1), (-2, 1), (-2, -1),
    (0, 1), (0, -1),
)  # fmt: skip
_DISTANCES = (6, 12, 20, 32, 48, 70)  # points
_NEAR = 6  # points; what is not further needs no line to its point
_MARKER = 8  # pixels around a point that its marker may cover
_CELL = 4.0  # pixels; where points are dense, the area they cover counts


@dataclass(frozen=True)
class Label:
    """A text and its point, in data coordinates."""

    text: str
    at: tuple[float, float]


def cut_lines(text: str, width: int, lines: int) -> str:
    """A text on a few lines; the last one ends in an ellipsis if the text was cut.

    Examples
    --------
    >>> print(cut_lines("whether relationship is one of 'Husband', 'Wife', 'Own-child'", 24, 2))
    whether relationship is
    one of 'Husband', …
    """
    text = one_line(shortened(text, 4 * width * lines))
    wrapped = textwrap.wrap(text, width, max_lines=lines, placeholder=" …", break_on_hyphens=False)
    return "\n".join(wrapped)


def drawable(text: str, ax: Axes) -> str:
    """A text with a question mark for each character that the font of the axes lacks."""
    from matplotlib.font_manager import FontProperties, findfont, get_font

    families = ax.xaxis.label.get_fontproperties().get_family()
    fonts = [get_font(findfont(FontProperties(family=[family]))) for family in families]
    return "".join(
        c if c == "\n" or any(font.get_char_index(ord(c)) for font in fonts) else "?" for c in text
    )


def draw_labels(ax: Axes, labels: list[Label], taken: Array, color: str) -> None:
    """Draw labels so that they cover neither each other nor the taken points.

    A label without enough space is omitted; only the first may cover points.
    """
    points = np.unique(np.round(ax.transData.transform(taken) / _CELL), axis=0) * _CELL
    inside = ax.get_window_extent()
    boxes: list[Bbox] = [text.get_window_extent() for text in ax.texts if text.get_text()]
    for label in labels:
        room = _Room(ax, label)
        others = points[np.abs(points - room.at).max(axis=1) > _CELL]
        best: tuple[int, int, tuple[int, int], Bbox] | None = None
        for order, (distance, side) in enumerate(product(_DISTANCES, _AROUND)):
            offset = distance * side[0], distance * side[1]
            box = room.box(offset)
            fits = inside.contains(*box.min) and inside.contains(*box.max)
            line = np.linspace(room.at, room.corner(box), 20)
            if not fits or any(
                box.padded(2).overlaps(other) or _within(other, line).any() for other in boxes
            ):
                continue
            covered = int(np.count_nonzero(_within(box.padded(_MARKER), others)))
            if best is None or (covered, order) < best[:2]:
                best = covered, order, offset, box
            if not covered:
                break
        if best is not None and (not best[0] or label is labels[0]):
            boxes.append(best[3])
            text = _draw(ax, label, best[2], color)
            if best[0]:
                _set_off(text, ax)


class _Room:
    """The space that a label takes, in pixels."""

    def __init__(self, ax: Axes, label: Label) -> None:
        text = _draw(ax, label, (1, 1))
        box = text.get_window_extent()
        text.remove()
        self.at: Array = ax.transData.transform(label.at)
        self._size = np.array([box.width, box.height])
        self._pixels = ax.figure.dpi / 72  # of a point

    def box(self, offset: tuple[int, int]) -> Bbox:
        """The bounding box at an offset."""
        from matplotlib.transforms import Bbox

        start = self.at + np.array(offset) * self._pixels
        start -= self._size * (1 - np.sign(offset)) / 2
        return Bbox([start, start + self._size])

    def corner(self, box: Bbox) -> Array:
        """The position within a box that is nearest to the point."""
        nearest: Array = np.clip(self.at, box.min, box.max)
        return nearest


def _within(box: Bbox, points: Array) -> Array:
    return np.asarray(np.all((box.min <= points) & (points <= box.max), axis=1))


def _draw(ax: Axes, label: Label, offset: tuple[int, int], color: str = "black") -> Annotation:
    """Draw a label, with a line to its point if that is far."""
    sides = int(np.sign(offset[0])), int(np.sign(offset[1]))
    line = {
        "arrowstyle": "-", "color": color, "linewidth": 0.5, "alpha": 0.6, "shrinkA": 0,
        "shrinkB": 3, "relpos": ((1 - sides[0]) / 2, (1 - sides[1]) / 2),
    }  # fmt: skip
    return ax.annotate(
        label.text, label.at, xytext=offset, textcoords="offset points",
        ha={1: "left", 0: "center", -1: "right"}[sides[0]],
        va={1: "bottom", 0: "center", -1: "top"}[sides[1]],
        fontsize=FONT_SIZE, color=color, zorder=5, parse_math=False, usetex=False,
        arrowprops=line if max(map(abs, offset)) > _NEAR else None,
    )  # fmt: skip


def _set_off(text: Annotation, ax: Axes) -> None:
    """Outline a text that covers points in the background color."""
    from matplotlib.patheffects import withStroke

    text.set_path_effects([withStroke(linewidth=1.6, foreground=ax.get_facecolor())])
