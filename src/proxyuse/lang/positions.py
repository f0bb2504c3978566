"""Where things stand in a term: canonical order, program points and positions.

Equal terms at two places are two program points. `Points` lists them all, once, in preorder,
with the operands of ``+ * and or`` in canonical order, so that equal terms have equal points
however they were written; see `order`.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import NamedTuple, TypeVar, overload

from proxyuse.errors import LanguageError
from proxyuse.lang.build import rebuild
from proxyuse.lang.nodes import Associative, Const, Term, children
from proxyuse.lang.order import canonical_order
from proxyuse.lang.packed import Array, Forest, PackedIte
from proxyuse.lang.text import MOST_POINTS


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


class Site(NamedTuple):
    """A position inside one `Points`: a point's number, and the operands if only some."""

    point: int
    operands: tuple[int, ...] = ()


class SiteColumn(Sequence[Site]):
    """Single points as sites, each made when it is asked for."""

    __slots__ = ("points",)

    def __init__(self, points: Array) -> None:
        self.points = points

    def __len__(self) -> int:
        return len(self.points)

    @overload
    def __getitem__(self, index: int) -> Site: ...

    @overload
    def __getitem__(self, index: slice) -> list[Site]: ...

    def __getitem__(self, index: int | slice) -> Site | list[Site]:
        if isinstance(index, slice):
            return [Site(point) for point in self.points[index].tolist()]
        return Site(int(self.points[index]))

    def __iter__(self) -> Iterator[Site]:
        return (Site(point) for point in self.points.tolist())


class _Index:
    """What stands at a point of a term that has packed trees in it.

    `starts` are the points of all nodes that are not in a tree, and of the trees.
    """

    def __init__(
        self, starts: list[int], terms: list[Term], columns: list[list[int]], size: int
    ) -> None:
        self.starts, self.terms, self.size = starts, terms, size
        self.parents, self.steps, self.numbers = columns

    def _tree(self, point: int) -> tuple[int, int, PackedIte | None]:
        """The last start up to a point, how far the point is past it, and the tree it is in."""
        if not 0 <= point < self.size:
            raise IndexError(point)
        index = bisect_right(self.starts, point) - 1
        past, term = point - self.starts[index], self.terms[index]
        return index, past, term if past and isinstance(term, PackedIte) else None

    def term(self, point: int) -> Term:
        index, past, tree = self._tree(point)
        if tree is None:
            return self.terms[index]
        at = tree.forest.locate(tree.node, past)
        if at.leaf >= 0:
            return tree.forest.term(-1 - at.leaf)
        if at.inside == 0:
            return tree.forest.term(at.node)
        return _points_of_test(tree.forest, at.node).terms[at.inside - 1]

    def parent(self, point: int) -> int:
        index, past, tree = self._tree(point)
        if tree is None:
            return self.parents[index]
        forest = tree.forest
        at = forest.locate(tree.node, past)
        base = self.starts[index] - int(forest.offsets[tree.node])
        if at.inside:
            above = _points_of_test(forest, at.node).parents[at.inside - 1]
            return base + int(forest.offsets[at.node]) + (1 + above if above >= 0 else 0)
        spans = forest.spans
        node = spans.leaf_parent[at.leaf] if at.leaf >= 0 else spans.parent[at.node]
        return base + int(forest.offsets[node])

    def step(self, point: int) -> int:
        index, past, tree = self._tree(point)
        if tree is None:
            return self.steps[index]
        forest = tree.forest
        at = forest.locate(tree.node, past)
        if at.inside:
            return _points_of_test(forest, at.node).steps[at.inside - 1]
        child = at.node if at.leaf < 0 else -1 - at.leaf
        spans = forest.spans
        above = spans.parent[at.node] if at.leaf < 0 else spans.leaf_parent[at.leaf]
        return 1 if forest.then[above] == child else 2

    def path(self, point: int) -> tuple[int, list[int]] | None:
        """The first point of the tree that a point is in, and the steps from there, last first.

        None if the point is in no tree, or is its first.
        """
        index, past, tree = self._tree(point)
        if tree is None:
            return None
        forest = tree.forest
        at = forest.locate(tree.node, past)
        steps: list[int] = []
        node = at.node
        if at.inside:
            inside = _points_of_test(forest, at.node).path(at.inside - 1)
            steps += [*reversed(inside), 0]
        elif at.leaf >= 0:
            steps.append(self.step(point))
            node = int(forest.spans.leaf_parent[at.leaf])
        parents, then = forest.lists
        while node != tree.node:
            above = parents[node]
            steps.append(1 if then[above] == node else 2)
            node = above
        return self.starts[index], steps

    def written(self, point: int) -> int:
        index, past, tree = self._tree(point)
        if tree is None:
            return self.numbers[index]
        at = tree.forest.locate(tree.node, past)
        if at.inside:  # only inside a test may the written order be another one
            inside = _points_of_test(tree.forest, at.node).written[at.inside - 1]
            past += inside - (at.inside - 1)
        return self.numbers[index] + past


def _points_of_test(forest: Forest, node: int) -> Points:
    return Points(forest.tests.term(int(forest.test[node])))


T = TypeVar("T")


class _Column(Sequence[T]):
    """A column over all points, of which an entry is worked out when it is asked for."""

    def __init__(self, index: _Index, at: Callable[[int], T]) -> None:
        self._index, self._at = index, at

    def __len__(self) -> int:
        return self._index.size

    def path(self, point: int) -> tuple[int, list[int]] | None:
        """See `_Index.path`."""
        return self._index.path(point)

    @overload
    def __getitem__(self, point: int) -> T: ...

    @overload
    def __getitem__(self, point: slice) -> list[T]: ...

    def __getitem__(self, point: int | slice) -> T | list[T]:
        if isinstance(point, slice):
            return [self._at(i) for i in range(*point.indices(len(self)))]
        return self._at(point + len(self) if point < 0 else point)


class Points:
    """Every program point of a term in canonical preorder; point 0 is the term itself.

    Attributes
    ----------
    terms : the sub-term at each point.
    parents : the point above (-1 for the root).
    steps : which child of its parent, in canonical order.
    written : the number the point would have if children stood in written order.
    trees : the packed trees, each with its first point.

    Linear in the number of points that are not in packed trees, time and memory. Those in packed
    trees are worked out when they are asked for, O(log n) each.
    """

    def __init__(self, root: Term) -> None:
        if root.points > MOST_POINTS:
            raise LanguageError(
                f"the program has {root.points} positions, more than {MOST_POINTS}: "
                "shared sub-terms make it far larger than it looks"
            )
        canonical_order(root)
        self.terms: Sequence[Term]
        self.parents: Sequence[int]
        self.steps: Sequence[int]
        self.written: Sequence[int]
        terms: list[Term] = []
        rows: list[tuple[int, int, int]] = []
        starts: list[int] = []
        self.trees: list[tuple[int, PackedIte]] = []
        stack: list[tuple[Term, int, int, int]] = [(root, -1, 0, 0)]
        point = 0
        while stack:
            term, parent, step, written = stack.pop()
            terms.append(term)
            rows.append((parent, step, written))
            starts.append(point)
            if isinstance(term, PackedIte):
                self.trees.append((point, term))
                point += term.points
                continue
            parts = children(term)
            at = [written + 1]
            for part in parts[:-1]:
                at.append(at[-1] + part.points)
            below = [(parts[i], point, step, at[i]) for step, i in enumerate(term._order)]
            stack.extend(reversed(below))
            point += 1
        columns = [list(column) for column in zip(*rows, strict=True)]
        if self.trees:
            index = _Index(starts, terms, columns, point)
            self.terms = _Column(index, index.term)
            self.parents, self.steps, self.written = (
                _Column(index, at) for at in (index.parent, index.step, index.written)
            )
        else:
            self.terms = terms
            self.parents, self.steps, self.written = columns

    def __len__(self) -> int:
        return len(self.terms)

    def end(self, point: int) -> int:
        """One past the last point inside the sub-term at `point`."""
        return point + self.terms[point].points

    def below(self, point: int) -> list[int]:
        """The points of the children, in canonical order."""
        term, child = self.terms[point], point + 1
        parts = children(term)
        found = []
        for step in term._order:
            found.append(child)
            child += parts[step].points
        return found

    def path(self, point: int) -> tuple[int, ...]:
        """The steps from the root."""
        steps = []
        while point > 0:
            if self.trees and (inside := self.terms.path(point)) is not None:  # type: ignore[attr-defined]
                point, below = inside
                steps.extend(below)
                continue
            steps.append(self.steps[point])
            point = self.parents[point]
        return tuple(reversed(steps))

    def position(self, site: Site) -> Position:
        """A site as a path."""
        return Position(self.path(site.point), site.operands)

    def text(self, site: Site) -> str:
        """A site as its position is printed."""
        return _position_text(self.path(site.point), site.operands)

    def site(self, position: Position) -> Site:
        """A path as a site; an error if there is no such position."""
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
        return Site(point, position.operands)

    def term_at(self, site: Site) -> Term:
        """The sub-term at a site; for some operands, the operator over them, as written."""
        term = self.terms[site.point]
        if not site.operands:
            return term
        chosen = sorted(term._order[i] for i in site.operands)
        parts = children(term)
        return rebuild(term, tuple(parts[i] for i in chosen))

    def covers(self, site: Site) -> list[tuple[int, int]]:
        """The ranges of points that a site replaces."""
        if not site.operands:
            return [(site.point, self.end(site.point))]
        below = self.below(site.point)
        return [(below[i], self.end(below[i])) for i in site.operands]

    def disjoint(self, first: Site, second: Site) -> bool:
        """Whether two sites share no point."""
        return all(
            a_end <= b or b_end <= a
            for a, a_end in self.covers(first)
            for b, b_end in self.covers(second)
        )

    def replace(self, new: Mapping[Site, Term]) -> Term:
        """The whole term with new terms at disjoint sites.

        Some operands of an operator become one operand behind the rest: ``(the rest) op new``.
        Only the nodes above the sites are built anew: linear in their number and width.
        """
        return self.rebuilt(new)[0] if new else self.terms[0]

    def rebuilt(
        self, new: Mapping[Site, Term], rule: Callable[[Term], Term] | None = None
    ) -> dict[int, Term]:
        """What stands at each point that `replace` changes: new terms, and the nodes above them.

        A rule is applied to each node that is built anew, those inside it first.
        """
        changed: dict[int, Term] = {}
        removed: dict[int, list[int]] = {}  # operator -> its operands to take out
        added: dict[int, list[Term]] = {}  # operator -> what is put behind the rest
        dirty: set[int] = set()
        for site, term in new.items():
            if site.operands:
                removed.setdefault(site.point, []).extend(site.operands)
                added.setdefault(site.point, []).append(term)
                above = site.point
            else:
                changed[site.point] = term
                above = self.parents[site.point]
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
    """The points that some sites replace, to be asked whether they hold others.

    Asking costs the depth of a point, however many sites there are.
    """

    def __init__(self, points: Points, sites: Iterable[Site]) -> None:
        self._parents = points.parents
        self._points = points
        self._roots = {start for site in sites for start, _ in points.covers(site)}

    def holds(self, site: Site) -> bool:
        """Whether everything that a site replaces is replaced."""
        return all(self._inside(start) for start, _ in self._points.covers(site))

    def touches(self, site: Site) -> bool:
        """Whether something at or above the parts of a site is replaced."""
        return any(self._inside(start) for start, _ in self._points.covers(site))

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


MOST_TEXTS = 256
"""Positions up to which an id is made of their texts; of more, of their points' numbers."""


def sites_id(term: Term, points: Points, sites: Sequence[Site]) -> str:
    """The same for sites. Of very many, the numbers of their points take the place of texts."""
    if len(sites) <= MOST_TEXTS:
        return decomposition_id(term, map(points.text, sites))
    return decomposition_id(term, (f"#{site.point}{site.operands or ''}" for site in sites))
