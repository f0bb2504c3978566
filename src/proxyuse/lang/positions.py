"""Where things stand in a term: canonical order, program points and positions.

Equal terms at two places are two program points. `Points` lists them all, once, in preorder,
with the operands of ``+ * and or`` in canonical order, so that equal terms have equal points
however they were written. Canonical order compares the operands' canonical texts (prefix form,
word by word); sub-terms that are equal are skipped, so a comparison costs no more than the
distance to the first difference.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cmp_to_key
from hashlib import blake2b
from typing import NamedTuple

from proxyuse.errors import LanguageError
from proxyuse.lang.build import rebuild
from proxyuse.lang.nodes import (
    Associative,
    Const,
    Term,
    children,
    label,
    postorder,
)
from proxyuse.lang.text import MOST_POINTS


def canonical_order(root: Term) -> tuple[int, ...]:
    """For each child in canonical order, its place in written order."""
    if not hasattr(root, "_order"):
        for term in postorder(root):
            if not hasattr(term, "_order"):
                parts = children(term)
                order: Sequence[int] = range(len(parts))
                if isinstance(term, Associative):
                    key = cmp_to_key(_compare)
                    order = sorted(order, key=lambda i: key(parts[i]))
                object.__setattr__(term, "_order", tuple(order))
    return root._order


def _compare(first: Term, second: Term) -> int:
    """-1, 0 or 1 by canonical text; both terms' inner orders are known already."""
    stack = [(first, second)]
    while stack:
        a, b = stack.pop()
        if a.digest == b.digest:
            continue
        word_a, word_b = label(a), label(b)
        if word_a != word_b:
            return -1 if word_a < word_b else 1
        parts_a, parts_b = children(a), children(b)
        pairs = zip(a._order, b._order, strict=True)
        stack.extend(reversed([(parts_a[i], parts_b[j]) for i, j in pairs]))
    return 0


@dataclass(frozen=True, slots=True)
class Position:
    """A path from the root (children counted from 0 in canonical order), or some operands there.

    Examples
    --------
    >>> print(Position((2, 0)), Position((1,), (0, 2)), Position(()))
    2.0 1{0,2} root
    >>> Position.parse("1{0,2}") == Position((1,), (0, 2))
    True
    """

    path: tuple[int, ...]
    operands: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if type(self.path) is not tuple or type(self.operands) is not tuple:
            raise LanguageError("a position is made of two tuples of whole numbers from 0 on")
        numbers = (*self.path, *self.operands)
        if any(type(number) is not int or number < 0 for number in numbers):
            raise LanguageError("a position is made of whole numbers from 0 on")
        if len(set(self.operands)) < len(self.operands):
            raise LanguageError("a position names an operand twice")
        object.__setattr__(self, "operands", tuple(sorted(self.operands)))

    def __str__(self) -> str:
        return _position_text(self.path, self.operands)

    @classmethod
    def parse(cls, text: str) -> Position:
        """Read what `str` prints."""
        match = re.fullmatch(r"(root|\d+(?:\.\d+)*)(?:\{(\d+(?:,\d+)*)\})?", text)
        if match is None or any(len(number) > 18 for number in re.findall(r"\d+", text)):
            raise LanguageError(f"{text!r} is not a position: write it like 2.0.1 or 2.0{{0,2}}")
        path = () if match[1] == "root" else tuple(map(int, match[1].split(".")))
        return cls(path, tuple(map(int, match[2].split(","))) if match[2] else ())


def _position_text(path: Sequence[int], operands: Sequence[int]) -> str:
    text = ".".join(map(str, path)) or "root"
    return text + (f"{{{','.join(map(str, operands))}}}" if operands else "")


class Spot(NamedTuple):
    """A position inside one `Points`: a point's number, and the operands if only some."""

    point: int
    operands: tuple[int, ...] = ()


class Points:
    """Every program point of a term in canonical preorder; point 0 is the term itself.

    Attributes
    ----------
    terms : the sub-term at each point.
    parents : the point above (-1 for the root).
    steps : which child of its parent, in canonical order.
    written : the number the point would have if children stood in written order.

    Linear in the number of points, time and memory.
    """

    def __init__(self, root: Term) -> None:
        if root.points > MOST_POINTS:
            raise LanguageError(
                f"the program has {root.points} positions, more than {MOST_POINTS}: "
                "shared sub-terms make it far larger than it looks"
            )
        canonical_order(root)
        self.terms: list[Term] = []
        self.parents: list[int] = []
        self.steps: list[int] = []
        self.written: list[int] = []
        stack: list[tuple[Term, int, int, int]] = [(root, -1, 0, 0)]
        while stack:
            term, parent, step, written = stack.pop()
            point = len(self.terms)
            self.terms.append(term)
            self.parents.append(parent)
            self.steps.append(step)
            self.written.append(written)
            parts = children(term)
            starts = [written + 1]
            for part in parts[:-1]:
                starts.append(starts[-1] + part.points)
            rows = [(parts[i], point, step, starts[i]) for step, i in enumerate(term._order)]
            stack.extend(reversed(rows))

    def __len__(self) -> int:
        return len(self.terms)

    def end(self, point: int) -> int:
        """One past the last point inside the sub-term at `point`."""
        return point + self.terms[point].points

    def below(self, point: int) -> list[int]:
        """The points of the children, in canonical order."""
        terms, end, child = self.terms, self.end(point), point + 1
        found = []
        while child < end:
            found.append(child)
            child += terms[child]._points  # known of every part of a term that has a digest
        return found

    def path(self, point: int) -> tuple[int, ...]:
        """The steps from the root."""
        steps = []
        while point > 0:
            steps.append(self.steps[point])
            point = self.parents[point]
        return tuple(reversed(steps))

    def position(self, spot: Spot) -> Position:
        """A spot as a path."""
        return Position(self.path(spot.point), spot.operands)

    def text(self, spot: Spot) -> str:
        """A spot as its position is printed."""
        return _position_text(self.path(spot.point), spot.operands)

    def spot(self, position: Position) -> Spot:
        """A path as a spot; an error if there is no such position."""
        point = 0
        for step in position.path:
            below = self.below(point)
            if step >= len(below):
                raise LanguageError(f"the program has no position {position}")
            point = below[step]
        term = self.terms[point]
        bad = position.operands and not isinstance(term, Associative)
        if bad or any(i >= len(children(term)) for i in position.operands):
            raise LanguageError(f"the program has no position {position}")
        return Spot(point, position.operands)

    def term_at(self, spot: Spot) -> Term:
        """The sub-term at a spot; for some operands, the operator over them, as written."""
        term = self.terms[spot.point]
        if not spot.operands:
            return term
        chosen = sorted(term._order[i] for i in spot.operands)
        parts = children(term)
        return rebuild(term, tuple(parts[i] for i in chosen))

    def covers(self, spot: Spot) -> list[tuple[int, int]]:
        """The ranges of points that a spot replaces."""
        if not spot.operands:
            return [(spot.point, self.end(spot.point))]
        below = self.below(spot.point)
        return [(below[i], self.end(below[i])) for i in spot.operands]

    def disjoint(self, first: Spot, second: Spot) -> bool:
        """Whether two spots share no point."""
        return all(
            a_end <= b or b_end <= a
            for a, a_end in self.covers(first)
            for b, b_end in self.covers(second)
        )

    def replace(self, new: Mapping[Spot, Term]) -> Term:
        """The whole term with new terms at disjoint spots.

        Some operands of an operator become one operand behind the rest: ``(the rest) op new``.
        Only the nodes above the spots are built anew: linear in their number and width.
        """
        return self.rebuilt(new)[0] if new else self.terms[0]

    def rebuilt(
        self, new: Mapping[Spot, Term], rule: Callable[[Term], Term] | None = None
    ) -> dict[int, Term]:
        """What stands at each point that `replace` changes: new terms, and the nodes above them.

        A rule is applied to each node that is built anew, those inside it first.
        """
        changed: dict[int, Term] = {}
        removed: dict[int, list[int]] = {}  # operator -> its operands to take out
        added: dict[int, list[Term]] = {}  # operator -> what is put behind the rest
        dirty: set[int] = set()
        for spot, term in new.items():
            if spot.operands:
                removed.setdefault(spot.point, []).extend(spot.operands)
                added.setdefault(spot.point, []).append(term)
                above = spot.point
            else:
                changed[spot.point] = term
                above = self.parents[spot.point]
            while above >= 0 and above not in dirty:
                dirty.add(above)
                above = self.parents[above]
        for point in sorted(dirty, reverse=True):
            term = self.terms[point]
            parts = list(children(term))
            for step, child in enumerate(self.below(point)):
                if child in changed:
                    parts[term._order[step]] = changed[child]
            gone = {term._order[i] for i in removed.get(point, ())}
            kept = [part for i, part in enumerate(parts) if i not in gone]
            built = rebuild(term, (*kept, *added.get(point, ())))
            changed[point] = built if rule is None else rule(built)
        return changed


class Cover:
    """The points that some spots replace, to be asked whether they hold others.

    Asking costs the depth of a point, however many spots there are.
    """

    def __init__(self, points: Points, spots: Iterable[Spot]) -> None:
        self._parents = points.parents
        self._points = points
        self._roots = {start for spot in spots for start, _ in points.covers(spot)}

    def holds(self, spot: Spot) -> bool:
        """Whether everything that a spot replaces is replaced."""
        return all(self._inside(start) for start, _ in self._points.covers(spot))

    def touches(self, spot: Spot) -> bool:
        """Whether something at or above the parts of a spot is replaced."""
        return any(self._inside(start) for start, _ in self._points.covers(spot))

    def _inside(self, point: int) -> bool:
        while point >= 0:
            if point in self._roots:
                return True
            point = self._parents[point]
        return False


def survivors(old: Points, built: Mapping[int, Term], new: Points) -> list[int]:
    """For each point of a term that was rebuilt the point it was before, -1 for what is new.

    `built` says what became of each point that changed (see `Points.rebuilt`); what stands below
    the others is as it was.
    """
    found = [-1] * len(new)
    stack = [(0, 0)]  # a point of the new term, and a point of the old one that led to it
    while stack:
        point, before = stack.pop()
        term = new.terms[point]
        if before not in built:
            size = new.end(point) - point
            found[point : point + size] = range(before, before + size)
            continue
        inside = [(built.get(child, old.terms[child]), child) for child in old.below(before)]
        taken = next((child for part, child in inside if part is term), None)
        if taken is not None:  # what stood around it is gone
            stack.append((point, taken))
            continue
        if isinstance(term, Const):
            continue
        found[point] = before
        for child in new.below(point):
            match = next((pair for pair in inside if pair[0] is new.terms[child]), None)
            if match is not None:
                inside.remove(match)
                stack.append((child, match[1]))
            else:
                stack += _flattened(old, built, inside, child, new.terms[child])
    return found


def _flattened(
    old: Points, built: Mapping[int, Term], inside: list[tuple[Term, int]], child: int, term: Term
) -> list[tuple[int, int]]:
    """Where an operand came from that stood in an operator inside the operator."""
    for _, before in inside:
        while before in built:
            below = [(built.get(p, old.terms[p]), p) for p in old.below(before)]
            match = next((p for part, p in below if part is term), None)
            if match is not None:
                return [(child, match)]
            same = [p for part, p in below if part is built[before]]
            if not same:
                break
            before = same[0]
        else:
            match = next((p for p in old.below(before) if old.terms[p] is term), None)
            if match is not None:
                return [(child, match)]
    return []


def operand_choices(points: Points, point: int) -> list[int]:
    """The operands of an associative operator of which subsets are taken: all but constants."""
    parts = children(points.terms[point])
    order = points.terms[point]._order
    return [step for step, i in enumerate(order) if not isinstance(parts[i], Const)]


def decomposition_id(term: Term, positions: Iterable[Position | str]) -> str:
    """A hash of a term and its positions (or their texts), the same on every machine."""
    hasher = blake2b(term.digest, digest_size=8)
    for text in sorted(map(str, positions)):
        hasher.update(text.encode() + b";")
    return hasher.hexdigest()
