"""Program points, sites and positions.

A *point* is one occurrence of a sub-term; equal sub-terms at two points are two occurrences.
`Points` numbers them in preorder, with the operands of ``+ * and or`` in canonical order (see
`order`), so that equal terms have equal points however they were written. A *site* is a point, or
some of the operands of an operator there. A *position* is a site as a printable path.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import NamedTuple, TypeVar, overload

import numpy as np

from proxyuse.errors import LanguageError
from proxyuse.input_limits import POSITIONS
from proxyuse.lang.build import rebuild
from proxyuse.lang.nodes import Associative, Const, Term, Var, children
from proxyuse.lang.order import canonical_order
from proxyuse.lang.packed import Array, Forest, PackedIte


@dataclass(frozen=True, slots=True)
class Position:
    """A path from the root of a program, or some of the operands there.

    Children are numbered from 0 in canonical order.

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
            raise LanguageError("a position needs two tuples of non-negative integers")
        numbers = (*self.path, *self.operands)
        if any(type(number) is not int or number < 0 for number in numbers):
            raise LanguageError("the steps of a position must be non-negative integers")
        if len(set(self.operands)) < len(self.operands):
            raise LanguageError("a position lists the same operand twice; remove the duplicate")
        object.__setattr__(self, "operands", tuple(sorted(self.operands)))

    def __str__(self) -> str:
        return _position_text(self.path, self.operands)

    @classmethod
    def parse(cls, text: str) -> Position:
        """Parse the text that `str` prints."""
        match = re.fullmatch(r"(root|\d+(?:\.\d+)*)(?:\{(\d+(?:,\d+)*)\})?", text)
        if match is None or any(len(number) > 18 for number in re.findall(r"\d+", text)):
            raise LanguageError(f"{text!r} is not a position; write it like 2.0.1 or 2.0{{0,2}}")
        path = () if match[1] == "root" else tuple(map(int, match[1].split(".")))
        return cls(path, tuple(map(int, match[2].split(","))) if match[2] else ())


def _position_text(path: Sequence[int], operands: Sequence[int]) -> str:
    text = ".".join(map(str, path)) or "root"
    return text + (f"{{{','.join(map(str, operands))}}}" if operands else "")


class Site(NamedTuple):
    """A point of a program, or some operands of the operator there."""

    point: int
    operands: tuple[int, ...] = ()


class SiteColumn(Sequence[Site]):
    """An array of points, viewed as a sequence of sites that are created on demand."""

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
    """Looks up the points of a term that contains packed trees. O(log n) per point.

    `starts` are the points outside of packed trees, and the first point of each packed tree.
    """

    def __init__(
        self, starts: list[int], terms: list[Term], columns: list[list[int]], size: int
    ) -> None:
        self.starts, self.terms, self.size = starts, terms, size
        self.parents, self.steps, self.numbers = columns

    def _tree(self, point: int) -> tuple[int, int, PackedIte | None]:
        """Return the index of the last start up to a point, the offset, and the packed tree."""
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
            parent = _points_of_test(forest, at.node).parents[at.inside - 1]
            return base + int(forest.offsets[at.node]) + (1 + parent if parent >= 0 else 0)
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
        parent = spans.parent[at.node] if at.leaf < 0 else spans.leaf_parent[at.leaf]
        return 1 if forest.then[parent] == child else 2

    def path(self, point: int) -> tuple[int, list[int]] | None:
        """Return the first point of the packed tree around a point, and the reversed steps from it.

        None if the point is outside of packed trees, or the first of one.
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
            parent = parents[node]
            steps.append(1 if then[parent] == node else 2)
            node = parent
        return self.starts[index], steps

    def written(self, point: int) -> int:
        index, past, tree = self._tree(point)
        if tree is None:
            return self.numbers[index]
        at = tree.forest.locate(tree.node, past)
        if at.inside:  # only tests can differ from written order
            inside = _points_of_test(tree.forest, at.node).written[at.inside - 1]
            past += inside - (at.inside - 1)
        return self.numbers[index] + past


def _points_of_test(forest: Forest, node: int) -> Points:
    return _test_points(forest, int(forest.test[node]))


def _test_points(forest: Forest, test: int) -> Points:
    tests = forest.tests
    if test not in tests.points:
        tests.points[test] = Points(tests.term(test))
    points: Points = tests.points[test]
    return points


T = TypeVar("T")


class _Column(Sequence[T]):
    """A sequence with one entry per point, computed on demand."""

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
    parents : the parent of each point (-1 for the root).
    steps : the index of each point among its siblings, in canonical order.
    written : the number of each point if children were in written order.
    trees : the packed trees, each with its first point.

    Notes
    -----
    Time and memory are linear in the number of points outside of packed trees. Points in packed
    trees are computed on demand, O(log n) each.
    """

    def __init__(self, root: Term) -> None:
        POSITIONS.check(root.points, "the program")
        canonical_order(root)
        self.terms: Sequence[Term]
        self.parents: Sequence[int]
        self.steps: Sequence[int]
        self.written: Sequence[int]
        terms: list[Term] = []
        rows: list[tuple[int, int, int]] = []
        starts: list[int] = []
        self.trees: list[tuple[int, PackedIte]] = []
        self.highest: dict[int, int] = {}  # a cache of `highest_equivalent`
        self._constants: dict[int, int] = {}
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
            starts_of = [written + 1]
            for part in parts[:-1]:
                starts_of.append(starts_of[-1] + part.points)
            below = [(parts[i], point, step, starts_of[i]) for step, i in enumerate(term._order)]
            stack.extend(reversed(below))
            point += 1
        self._starts, self._terms = starts, terms
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
        """Return the first point after the sub-term at `point`."""
        return point + self.terms[point].points

    def below(self, point: int) -> list[int]:
        """Return the points of the children, in canonical order."""
        term, child = self.terms[point], point + 1
        parts = children(term)
        points = []
        for index in term._order:
            points.append(child)
            child += parts[index].points
        return points

    def of_variables(self, names: Collection[str]) -> dict[str, Array]:
        """Return the points of some variables. Each distinct test of a packed tree is read once."""
        found: dict[str, list[Array]] = {name: [] for name in names}
        outside = zip(self._starts, self._terms, strict=True)
        for start, term in outside:
            if isinstance(term, Var) and term.name in found:
                found[term.name].append(np.array([start]))
        for start, tree in self.trees:
            forest = tree.forest
            tests = forest.test[tree.node : forest.spans.end[tree.node]]
            order = np.argsort(tests, kind="stable")
            distinct, counts = np.unique(tests, return_counts=True)
            first = start - int(forest.offsets[tree.node]) + 1
            points = first + forest.offsets[tree.node + order]
            for test, own in zip(
                distinct.tolist(), np.split(points, np.cumsum(counts)[:-1]), strict=True
            ):
                for inside, term in enumerate(_test_points(forest, test).terms):
                    if isinstance(term, Var) and term.name in found:
                        found[term.name].append(own + inside)
        empty = np.zeros(0, dtype=np.int64)
        return {name: np.sort(np.concatenate([empty, *at])) for name, at in found.items()}

    def constants_below(self, point: int) -> int:
        """Return how many children of the term at a point are constants."""
        if point not in self._constants:
            parts = children(self.terms[point])
            self._constants[point] = sum(isinstance(part, Const) for part in parts)
        return self._constants[point]

    def path(self, point: int) -> tuple[int, ...]:
        """Return the steps from the root to a point."""
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
        """Return the position of a site."""
        return Position(self.path(site.point), site.operands)

    def text(self, site: Site) -> str:
        """Return the text of a site's position."""
        return _position_text(self.path(site.point), site.operands)

    def site(self, position: Position) -> Site:
        """Return the site at a position, or raise an error if the program has no such position."""
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
        """Return the sub-term at a site; for some operands, the operator applied to them."""
        term = self.terms[site.point]
        if not site.operands:
            return term
        chosen = sorted(term._order[i] for i in site.operands)
        parts = children(term)
        return rebuild(term, tuple(parts[i] for i in chosen))

    def covers(self, site: Site) -> list[tuple[int, int]]:
        """Return the ranges of points that a site covers."""
        if not site.operands:
            return [(site.point, self.end(site.point))]
        below = self.below(site.point)
        return [(below[i], self.end(below[i])) for i in site.operands]

    def disjoint(self, first: Site, second: Site) -> bool:
        """Return whether two sites have no point in common."""
        return all(
            a_end <= b or b_end <= a
            for a, a_end in self.covers(first)
            for b, b_end in self.covers(second)
        )

    def replace(self, new: Mapping[Site, Term]) -> Term:
        """Return the whole term with new terms at disjoint sites.

        Some operands of an operator become one operand at the end: ``(the others) op new``.
        Only the nodes above the sites are rebuilt: linear in their number and width.
        """
        return self.rebuilt(new)[0] if new else self.terms[0]

    def rebuilt(
        self, new: Mapping[Site, Term], rule: Callable[[Term], Term] | None = None
    ) -> dict[int, Term]:
        """Return the new term at each point that `replace` changes, and at the points above.

        A rule is applied to each rebuilt node, innermost first.
        """
        changed: dict[int, Term] = {}
        removed: dict[int, list[int]] = {}  # operator -> operands to remove
        added: dict[int, list[Term]] = {}  # operator -> operands to append
        dirty: set[int] = set()
        for site, term in new.items():
            if site.operands:
                removed.setdefault(site.point, []).extend(site.operands)
                added.setdefault(site.point, []).append(term)
                ancestor = site.point
            else:
                changed[site.point] = term
                ancestor = self.parents[site.point]
            while ancestor >= 0 and ancestor not in dirty:
                dirty.add(ancestor)
                ancestor = self.parents[ancestor]
        for point in sorted(dirty, reverse=True):
            term = self.terms[point]
            parts = list(children(term))
            for step, child in enumerate(self.below(point)):
                if child in changed:
                    parts[term._order[step]] = changed[child]
            dropped = {term._order[i] for i in removed.get(point, ())}
            remaining = [part for i, part in enumerate(parts) if i not in dropped]
            built = rebuild(term, (*remaining, *added.get(point, ())))
            changed[point] = built if rule is None else rule(built)
        return changed


class Cover:
    """The points covered by a set of sites.

    A query takes time linear in the depth of a point, for any number of sites.
    """

    def __init__(self, points: Points, sites: Iterable[Site]) -> None:
        self._parents = points.parents
        self._points = points
        self._roots = {start for site in sites for start, _ in points.covers(site)}

    def holds(self, site: Site) -> bool:
        """Return whether the sites cover all of another site."""
        return all(self._inside(start) for start, _ in self._points.covers(site))

    def touches(self, site: Site) -> bool:
        """Return whether the sites cover another site, or at least one of its operands."""
        return any(self._inside(start) for start, _ in self._points.covers(site))

    def _inside(self, point: int) -> bool:
        while point >= 0:
            if point in self._roots:
                return True
            point = self._parents[point]
        return False


def operand_choices(points: Points, point: int) -> list[int]:
    """Return the operands of an associative operator that can form partial sums: no constants."""
    parts = children(points.terms[point])
    order = points.terms[point]._order
    return [step for step, i in enumerate(order) if not isinstance(parts[i], Const)]


def decomposition_id(term: Term, positions: Iterable[Position | str]) -> str:
    """Return a hash of a term and its positions (or their texts), the same on every machine."""
    hasher = blake2b(term.digest, digest_size=8)
    for text in sorted(map(str, positions)):
        hasher.update(text.encode() + b";")
    return hasher.hexdigest()


MAX_HASHED_TEXTS = 256
"""An id hashes the texts of up to this many positions; of more, the numbers of their points."""


def sites_id(term: Term, points: Points, sites: Sequence[Site]) -> str:
    """Return the id of a term at some sites; see `MAX_HASHED_TEXTS`."""
    if len(sites) <= MAX_HASHED_TEXTS:
        return decomposition_id(term, map(points.text, sites))
    return decomposition_id(term, (f"#{site.point}{site.operands or ''}" for site in sites))
