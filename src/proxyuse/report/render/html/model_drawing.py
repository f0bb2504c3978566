"""A decision tree as a drawing, with a computation highlighted in it.

The tree is drawn as an outline with one box per line, indented by depth, so deep trees stay narrow
and tests fit as words. A small tree is drawn completely. A large one is reduced to the paths from
the root to the computation, its surroundings, and boxes that say how much is omitted. This module
computes positions and texts; a template draws them.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from proxyuse.data.columns import Column
from proxyuse.lang.nodes import Const, Ite, value_text
from proxyuse.lang.packed import PackedIte
from proxyuse.lang.positions import Points, Site
from proxyuse.program import Program
from proxyuse.report.reading import shown_text
from proxyuse.report.render.html.location import clause
from proxyuse.words import count, one_line, shortened

WHOLE = 40  # boxes of a tree that is drawn whole
BELOW = 2  # levels below the computation that are drawn
MOST_TARGETS = 4  # places of one computation that are drawn in one tree
MOST_PATH = 12  # boxes on the path to it
KEPT = 4  # of these, at each end, where there are more
MOST_BOXES = 70
MOST_LABEL = 64

LINE, HEIGHT, STEP = 38, 28, 48
_CHARACTER, _WIDE, _PADDING, _BOLD = 7.0, 13.5, 26, 1.12


@dataclass(frozen=True, slots=True)
class Box:
    """A box with a text.

    Attributes
    ----------
    x, y, width : where it is.
    text, title : what stands in it, and the whole of it where that was cut.
    kind : "test", "leaf" or "more".
    hit : whether it is the computation.
    inside : whether it is part of the computation.
    """

    x: int
    y: int
    width: int
    text: str
    title: str
    kind: str
    hit: bool
    inside: bool


@dataclass(frozen=True, slots=True)
class Edge:
    """A line from a test to one of its two branches."""

    x: int
    top: int
    bottom: int
    side: str
    on: bool


@dataclass(frozen=True, slots=True)
class Drawing:
    """A drawing, and how many tests of the tree it omits."""

    width: int
    height: int
    boxes: Sequence[Box]
    edges: Sequence[Edge]
    left_out: int


def tree_drawing(
    program: Program, columns: Mapping[str, Column], sites: Sequence[Site]
) -> Drawing | None:
    """The tree that contains the first of some sites; None if there is none.

    Examples
    --------
    >>> program = Program.parse("ite(a == 1, 0, ite(b == 2, 1, 2))")
    >>> drawing = tree_drawing(program, {}, [Site(program.points.below(6)[0])])
    >>> [(box.text, box.hit) for box in drawing.boxes]
    [('a == 1?', False), ('0', False), ('b == 2?', True), ('1', False), ('2', False)]
    """
    root = _root(program.points, sites[0].point)
    if root is None:
        return None
    return _Outline(program, columns, root, sites).drawing()


def _node(points: Points, point: int) -> int | None:
    """The tree node of a point, which may be the node itself, its test or its leaf."""
    while point >= 0:
        above = points.parents[point]
        if isinstance(points.terms[point], Ite):
            return point
        if above >= 0 and isinstance(points.terms[above], Ite):
            return point if points.steps[point] else above
        point = above
    return None


def _root(points: Points, point: int) -> int | None:
    """The root of the nearest tree around a point."""
    node = _node(points, point)
    if node is None:
        return None
    while node > 0 and points.steps[node] and isinstance(points.terms[points.parents[node]], Ite):
        node = points.parents[node]
    return node


class _Outline:
    """Lays out one drawing."""

    def __init__(
        self, program: Program, columns: Mapping[str, Column], root: int, sites: Sequence[Site]
    ) -> None:
        self._points = program.points
        self._columns = columns
        self._root = root
        here = [s for s in sites if root <= s.point < self._points.end(root)]
        here = here or [sites[0]]
        self._hits = {node for site in here if (node := self._target(site)) is not None}
        branch = isinstance(self._points.terms[here[0].point], Ite)  # equal terms at all sites
        self._inner = [] if branch else [s.point for s in here]
        self._skips: dict[int, int] = {}  # a node on the path, and the node at which to continue
        self._shown = self._chosen(sorted(self._hits))

    def _target(self, site: Site) -> int | None:
        if site.point < self._root:
            return self._root
        node = _node(self._points, site.point)
        return node if node is not None and node >= self._root else self._root

    def _branches(self, node: int) -> list[int]:
        if not isinstance(self._points.terms[node], Ite):
            return []
        return self._points.below(node)[1:]

    def _chosen(self, hits: Sequence[int]) -> set[int] | None:
        """The nodes to draw; None for all."""
        if self._count(self._root) <= WHOLE:
            return None
        chosen = {self._root}
        for hit in hits[:MOST_TARGETS]:
            way = [hit]
            while way[-1] != self._root:
                way.append(self._points.parents[way[-1]])
            if len(way) > MOST_PATH:
                self._skips.setdefault(way[-KEPT - 1], way[KEPT])
                way = [*way[:KEPT], way[KEPT], *way[-KEPT - 1 :]]
            chosen.update(way)
            level = [hit]
            for _ in range(BELOW if len(hits) == 1 else 1):
                level = [below for node in level for below in self._branches(node)]
                chosen.update(level)
        return chosen

    def _count(self, node: int) -> int:
        """The number of boxes of a tree, counted up to `WHOLE`."""
        boxes, stack = 0, [node]
        while stack and boxes <= WHOLE:
            boxes += 1
            stack += self._branches(stack.pop())
        return boxes

    def _tests(self, node: int) -> int:
        """The number of tests of a tree; a packed tree knows it."""
        tests, stack = 0, [node]
        while stack:
            inner = stack.pop()
            term = self._points.terms[inner]
            if isinstance(term, PackedIte):
                tests += term.tests
                continue
            branches = self._branches(inner)
            tests += bool(branches)
            stack += branches
        return tests

    def drawing(self) -> Drawing:
        """Lay out the nodes from the root down, the true branch first."""
        boxes: list[Box] = []
        edges: list[Edge] = []
        left_out = 0
        leading = self._hits | self._above(self._hits)
        stack: list[tuple[int, int, int, str, bool]] = [(self._root, 0, -1, "", False)]
        while stack:
            node, depth, parent, side, inside = stack.pop()
            skipped = self._skips.get(node)
            hidden = skipped is None and self._hidden(node, len(boxes))
            hit = node in self._hits and not hidden
            inside = inside or (hit and not self._only_test(node))
            label, kind = self._label(node, hidden, skipped)
            place = len(boxes)
            boxes.append(_box(label, kind, depth, place, hit, inside))
            if parent >= 0:
                above, middle = boxes[parent], boxes[place].y + HEIGHT // 2
                on = node in leading
                edges.append(Edge(above.x + 14, above.y + HEIGHT, middle, side, on))
            if skipped is not None:
                stack.append((skipped, depth + 1, place, "", inside))
            elif hidden:
                left_out += self._tests(node)
            else:
                sides = zip(self._branches(node), ("yes", "no"), strict=False)
                stack += [(below, depth + 1, place, word, inside) for below, word in sides][::-1]
        width = max(box.x + box.width for box in boxes) + 2
        return Drawing(width, len(boxes) * LINE, boxes, edges, left_out)

    def _hidden(self, node: int, drawn: int) -> bool:
        if self._shown is None or not self._branches(node):
            return False
        return node not in self._shown or (drawn > MOST_BOXES and node not in self._hits)

    def _above(self, hits: set[int]) -> set[int]:
        found: set[int] = set()
        for hit in hits:
            while hit != self._root and hit >= 0:
                hit = self._points.parents[hit]
                if hit in found:  # and so is what is above it
                    break
                found.add(hit)
        return found

    def _only_test(self, node: int) -> bool:
        """Whether the computation is in the test of a node, and not the node with its branches."""
        if not self._branches(node):
            return False
        end = self._points.end(node + 1)
        return any(node < point < end for point in self._inner)

    def _label(self, node: int, hidden: bool, skipped: int | None) -> tuple[str, str]:
        term = self._points.terms[node]
        if skipped is not None:
            return f"… {count(self._between(node, skipped), 'more test')} in between", "more"
        if hidden:
            return f"… {count(self._tests(node), 'more test')}", "more"
        match term:
            case Ite(guard):
                return f"{clause(guard, self._columns)}?", "test"
            case Const(value):
                return one_line(_short(value_text(value))), "leaf"
            case _:
                return one_line(shown_text(term, self._columns, MOST_LABEL)[0]), "leaf"

    def _between(self, node: int, below: int) -> int:
        found = 0
        while below != node:
            below = self._points.parents[below]
            found += 1
        return found


def _box(title: str, kind: str, depth: int, line: int, hit: bool, inside: bool) -> Box:
    text = shortened(title, MOST_LABEL)
    x, y = 1 + depth * STEP, 4 + line * LINE
    width = round(_width(text) * (_BOLD if hit else 1)) + _PADDING
    return Box(x, y, width, text, title if text != title else "", kind, hit, inside)


def _short(text: str) -> str:
    """A number with four digits; any other text unchanged."""
    try:
        return f"{float(text):.4g}"
    except ValueError:
        return text


def _width(text: str) -> float:
    """The approximate width of a text; fonts differ."""
    wide = sum(unicodedata.east_asian_width(c) in "WF" for c in text)
    return wide * _WIDE + (len(text) - wide) * _CHARACTER
