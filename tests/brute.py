"""A brute-force implementation of proxy use, as a reference for the library.

Plain Python, one row at a time, over every decomposition and every pair of rows. It shares only the
node classes with the library. A missing value is None or nan. Suitable for a handful of rows and
terms of a few dozen nodes.
"""

from __future__ import annotations

import math
import operator
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from typing import Any

from proxyuse.lang.nodes import (
    Add,
    And,
    Argmax,
    Call,
    Compare,
    Const,
    Ite,
    Lookup,
    Member,
    Mul,
    Not,
    Or,
    Term,
    Var,
    Vector,
)

Row = Mapping[str, Any]

# Values


def lost(value: Any) -> bool:
    """Whether a value is missing."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def key(value: Any) -> Any:
    """Return a key that two values share exactly if they are equal."""
    if isinstance(value, tuple):
        return tuple(map(key, value))
    if lost(value):
        return "missing", None
    return ("category", value) if isinstance(value, str) else ("number", value + 0.0)


# Terms


def parts(term: Term) -> tuple[Term, ...]:
    """The direct sub-terms as written."""
    match term:
        case Add(operands) | Mul(operands) | And(operands) | Or(operands):
            return operands
        case Not(operand) | Member(operand) | Argmax(operand) | Lookup(operand):
            return (operand,)
        case Compare(_, left, right):
            return (left, right)
        case Ite(guard, then, otherwise):
            return (guard, then, otherwise)
        case Vector(items):
            return items
        case Call(_, arguments):
            return arguments
        case _:
            return ()


def own_words(term: Term) -> tuple[Any, ...]:
    """Return what identifies a node apart from its sub-terms."""
    match term:
        case Const(value):
            return (type(value).__name__, repr(value))
        case Var(name):
            return (name,)
        case Compare(relation, _, _, precision, missing):
            return (relation.value, precision.value, missing)
        case Member(_, members, missing):
            return (repr(members), missing)
        case Argmax(_, labels):
            return (repr(labels),)
        case Lookup(_, entries, default):
            return (repr(entries), repr(default))
        case Call(function, _):
            return (function.value,)
        case _:
            return ()


def is_associative(term: Term) -> bool:
    return isinstance(term, Add | Mul | And | Or)


def form(term: Term) -> str:
    """The same text for terms that are equal up to the order of operands, and only for them."""
    inner = [form(part) for part in parts(term)]
    if is_associative(term):
        inner.sort()
    name = "Ite" if isinstance(term, Ite) else type(term).__name__  # packed or not
    return repr((name, own_words(term), inner))


def size(term: Term) -> int:
    """The number of nodes; the literal set or table of a test or lookup is a constant."""
    return 1 + isinstance(term, Member | Lookup) + sum(map(size, parts(term)))


def count_points(term: Term) -> int:
    return 1 + sum(map(count_points, parts(term)))


# Positions


@dataclass(frozen=True)
class Place:
    """A position: a point by its number in written preorder, or some operands of it."""

    point: int
    operands: frozenset[int] = frozenset()  # points too


@dataclass(frozen=True)
class Decomposition:
    """A computation p1 and the positions at which it is replaced."""

    term: Term
    places: frozenset[Place]


class Tree:
    """All points of a term, numbered in written preorder."""

    def __init__(self, root: Term) -> None:
        self.root = root
        self.terms: list[Term] = []
        self.below: list[list[int]] = []
        self._number(root)

    def _number(self, term: Term) -> int:
        point = len(self.terms)
        self.terms.append(term)
        self.below.append([])
        self.below[point] = [self._number(part) for part in parts(term)]
        return point

    def inside(self, place: Place) -> set[int]:
        """The points that a position takes up."""
        roots = place.operands or {place.point}
        return {p for r in roots for p in range(r, r + count_points(self.terms[r]))}

    def term_at(self, place: Place) -> Term:
        term = self.terms[place.point]
        if not place.operands:
            return term
        assert isinstance(term, Add | Mul | And | Or)
        return type(term)(tuple(self.terms[p] for p in sorted(place.operands)))

    def places(self) -> Iterator[Place]:
        """Every position of a term that is not a constant."""
        for point, term in enumerate(self.terms):
            if isinstance(term, Const):
                continue
            yield Place(point)
            if is_associative(term):
                varying = [p for p in self.below[point] if not isinstance(self.terms[p], Const)]
                for length in range(2, len(varying)):
                    for some in combinations(varying, length):
                        yield Place(point, frozenset(some))

    @cached_property
    def computations(self) -> dict[str, list[Place]]:
        """The positions of each computation, by the form of its term."""
        found: dict[str, list[Place]] = {}
        for place in self.places():
            found.setdefault(form(self.term_at(place)), []).append(place)
        return found

    def are_disjoint(self, places: Sequence[Place]) -> bool:
        return all(not self.inside(a) & self.inside(b) for a, b in combinations(places, 2))

    def sets(self, places: Sequence[Place]) -> Iterator[frozenset[Place]]:
        """Every non-empty set of disjoint positions."""
        for length in range(1, len(places) + 1):
            for some in combinations(places, length):
                if self.are_disjoint(some):
                    yield frozenset(some)

    def decompositions(self) -> Iterator[Decomposition]:
        for places in self.computations.values():
            for some in self.sets(places):
                yield Decomposition(self.term_at(places[0]), some)

    def count(self) -> int:
        """Return an upper bound on the number of decompositions."""
        return sum(2 ** len(places) for places in self.computations.values())


# Meaning

RELATIONS: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def truth(value: Any) -> bool:
    """A missing value is not true."""
    return not lost(value) and bool(value)


def number(value: Any) -> float:
    return math.nan if lost(value) else float(value)


def single(value: float) -> float:
    """Rounded to float32."""
    return float(struct.unpack("f", struct.pack("f", value))[0])


def combined(kind: type, operands: Sequence[Any]) -> Any:
    """An associative operator, from left to right."""
    if issubclass(kind, And):
        return all(map(truth, operands))
    if issubclass(kind, Or):
        return any(map(truth, operands))
    width = max((len(o) for o in operands if isinstance(o, tuple)), default=0)
    if width:
        columns = [o if isinstance(o, tuple) else (o,) * width for o in operands]
        return tuple(combined(kind, column) for column in zip(*columns, strict=True))
    total = number(operands[0])
    for operand in operands[1:]:
        total = total + number(operand) if issubclass(kind, Add) else total * number(operand)
    return total


def divided(x: float, y: float) -> float:
    if y != 0:
        return x / y
    return math.nan if x == 0 or math.isnan(x) else math.copysign(math.inf, x) * math.copysign(1, y)


def called(function: str, arguments: Sequence[Any]) -> Any:
    if function == "softmax":
        if any(map(lost, arguments[0])):
            return (math.nan,) * len(arguments[0])
        powers = [math.exp(x - max(arguments[0])) for x in arguments[0]]
        return tuple(power / sum(powers) for power in powers)
    if function == "median":
        return median(*arguments)
    x = number(arguments[0])
    if function == "div":
        return divided(x, number(arguments[1]))
    if function == "fill":
        return number(arguments[1]) if math.isnan(x) else x
    if math.isnan(x):
        return x
    match function:
        case "exp":
            return math.exp(x)
        case "log":
            return math.log(x) if x > 0 else (-math.inf if x == 0 else math.nan)
        case "sqrt":
            return math.sqrt(x) if x >= 0 else math.nan
        case "abs":
            return abs(x)
        case "sigmoid":
            return 1.0 / (1.0 + math.exp(-x))
    raise AssertionError(function)


def median(entries: Sequence[float], weights: Sequence[float]) -> float:
    """The weighted median."""
    if any(map(lost, (*entries, *weights))):
        return math.nan
    pairs = sorted(zip(entries, weights, strict=True), key=lambda pair: pair[0])
    total = 0.0
    for entry, weight in pairs:
        total += weight
        if total >= sum(weights) / 2:
            return entry
    return pairs[0][0]


def applied(term: Term, values: Sequence[Any], row: Row) -> Any:
    """The value of a node from the values of its parts."""
    match term:
        case Const(value):
            return value
        case Var(name):
            return row[name]
        case Add() | Mul() | And() | Or():
            return combined(type(term), values)
        case Not():
            return not truth(values[0])
        case Compare(relation, _, _, precision, missing):
            left, right = values
            if lost(left) or lost(right):
                return missing
            if precision.value == "float32" and not isinstance(left, str):
                left = single(left)
            return RELATIONS[relation.value](left, right)
        case Member(_, members, missing):
            return missing if lost(values[0]) else key(values[0]) in map(key, members)
        case Vector():
            return tuple(map(number, values))
        case Argmax(_, labels):
            scores = values[0]
            missing_scores = [i for i, score in enumerate(scores) if lost(score)]
            best = missing_scores[0] if missing_scores else scores.index(max(scores))
            return labels[best] if labels else float(best)
        case Lookup(_, entries, default):
            return next((v for k, v in entries if key(k) == key(values[0])), default)
        case Call(function, _):
            return called(function.value, values)
    raise AssertionError(term)


NO_PLACES: frozenset[Place] = frozenset()


def run(
    tree: Tree,
    row: Row,
    holes: frozenset[Place] = NO_PLACES,
    u: Any = None,
    visited: set[int] | None = None,
    point: int = 0,
) -> Any:
    """Evaluate a program on a row, with `u` at the holes; records the points it visits."""
    if visited is not None:
        visited.add(point)
    if Place(point) in holes:
        return u
    term, below = tree.terms[point], tree.below[point]

    def of(child: int) -> Any:
        return run(tree, row, holes, u, visited, child)

    if isinstance(term, Ite):
        return of(below[1] if truth(of(below[0])) else below[2])
    if is_associative(term):
        gone = [hole.operands for hole in holes if hole.point == point and hole.operands]
        kept = [child for child in below if not any(child in some for some in gone)]
        return applied(term, [of(child) for child in kept] + [u] * len(gone), row)
    return applied(term, [of(child) for child in below], row)


def interpret(term: Term, row: Row) -> Any:
    return run(Tree(term), row)


# Measures


def mass_of(weights: Sequence[Fraction]) -> Fraction:
    return sum(weights, Fraction(0))


def in_bins(
    values: Sequence[Any], weights: Sequence[Fraction], bins: int | None, max_support: int
) -> list[Any]:
    """Keys of values; more than `max_support` numbers are put into bins of equal mass."""
    keys = [key(value) for value in values]
    numeric = all(lost(v) or isinstance(v, float) for v in values)
    distinct = {k for k in keys if k[0] == "number"} if numeric else set()
    if bins is None or len(distinct) <= max_support:
        return keys
    pairs = [(k[1], w) for k, w in zip(keys, weights, strict=True) if k[0] == "number"]
    total = mass_of([w for _, w in pairs])

    def place(k: Any) -> Any:
        if k[0] != "number":
            return k
        less = mass_of([w for x, w in pairs if x < k[1]])
        equal = mass_of([w for x, w in pairs if x == k[1]])
        index = math.floor(bins * (less + equal / 2) / total + Fraction(1, 10**9))
        return "bin", min(index, bins - 1)

    return [place(k) for k in keys]


def masses(keys: Sequence[Any], weights: Sequence[Fraction]) -> dict[Any, Fraction]:
    found: dict[Any, Fraction] = {}
    for k, weight in zip(keys, weights, strict=True):
        found[k] = found.get(k, Fraction(0)) + weight
    return found


def association(xs: Sequence[Any], zs: Sequence[Any], weights: Sequence[Fraction]) -> float:
    """``1 - (H(X|Z) + H(Z|X)) / H(X, Z)``, from keys."""
    by_x, by_z = masses(xs, weights), masses(zs, weights)
    joint = masses(list(zip(xs, zs, strict=True)), weights)
    if len(by_x) == 1 or len(by_z) == 1:
        return 0.0  # nothing is told by, or about, a constant
    if len(joint) == len(by_x) == len(by_z):
        return 1.0
    total = mass_of(weights)

    def entropy(cells: Mapping[Any, Fraction], given: Callable[[Any], Fraction]) -> float:
        return math.fsum(
            float(mass / total) * math.log(given(cell) / mass) for cell, mass in cells.items()
        )

    of_x_given_z = entropy(joint, lambda cell: by_z[cell[1]])
    of_z_given_x = entropy(joint, lambda cell: by_x[cell[0]])
    of_both = entropy(joint, lambda cell: total)
    return min(1.0, max(0.0, 1.0 - (of_x_given_z + of_z_given_x) / of_both))


def are_independent(xs: Sequence[Any], zs: Sequence[Any], weights: Sequence[Fraction]) -> bool:
    by_x, by_z = masses(xs, weights), masses(zs, weights)
    joint = masses(list(zip(xs, zs, strict=True)), weights)
    total = mass_of(weights)
    return all(
        joint.get((x, z), Fraction(0)) * total == by_x[x] * by_z[z] for x in by_x for z in by_z
    )


class Sample:
    """Rows of a positive weight, with the protected attributes' values."""

    def __init__(
        self,
        rows: Sequence[Row],
        weights: Sequence[float],
        protected: Mapping[str, Sequence[Any]],
    ) -> None:
        kept = [i for i, weight in enumerate(weights) if weight > 0]
        self.rows = [rows[i] for i in kept]
        self.weights = [Fraction(weights[i]) for i in kept]
        self.protected = {name: [zs[i] for i in kept] for name, zs in protected.items()}
        self.total = mass_of(self.weights)

    def values(self, term: Term) -> list[Any]:
        return [interpret(term, row) for row in self.rows]

    def association(
        self,
        term: Term,
        protected: str,
        bins: int | str | None = "best-cut",
        max_support: int | None = None,
    ) -> float:
        most = max(16, min(256, len(self.rows) // 10)) if max_support is None else max_support
        values = self.values(term)
        zs = in_bins(self.protected[protected], self.weights, 16, 256)
        if not isinstance(bins, str):
            return association(in_bins(values, self.weights, bins, most), zs, self.weights)
        vectors = any(isinstance(v, tuple) for v in values)
        if vectors and len({key(v) for v in values}) > most:
            return max(self.best_cut(part, zs) for part in zip(*values, strict=True))
        numbers = all(lost(v) or isinstance(v, float) for v in values)
        if numbers and len({key(v) for v in values if not lost(v)}) > most:
            return self.best_cut(values, zs)
        return association([key(v) for v in values], zs, self.weights)

    def best_cut(self, values: Sequence[Any], zs: Sequence[Any]) -> float:
        """The largest association of a number in two parts between its 256 groups."""
        groups = in_bins(values, self.weights, 256, 0)
        held = sorted({group[1] for group in groups if group[0] == "bin"})
        cuts = [
            [(k[0], k[1] < boundary) if k[0] == "bin" else k for k in groups]
            for boundary in held[1:]
        ]
        return max((association(xs, zs, self.weights) for xs in cuts), default=0.0)

    def changes(self, tree: Tree, places: frozenset[Place]) -> Iterator[tuple[Fraction, Any, Any]]:
        """For each pair of rows its weight and the outputs without and with the change."""
        inner = self.values(tree.term_at(next(iter(places))))
        outputs: dict[tuple[int, str], Any] = {}

        def says(i: int, u: Any) -> Any:
            if (i, repr(u)) not in outputs:
                outputs[i, repr(u)] = run(tree, self.rows[i], places, u)
            return outputs[i, repr(u)]

        for i, weight in enumerate(self.weights):
            for j, other in enumerate(self.weights):
                yield weight * other, says(i, inner[i]), says(i, inner[j])

    def influence(self, tree: Tree, places: frozenset[Place]) -> Fraction:
        """Return the probability that the value of another row changes the output."""
        changed = [m for m, old, new in self.changes(tree, places) if key(old) != key(new)]
        return mass_of(changed) / self.total**2

    def squared_change(self, tree: Tree, places: frozenset[Place]) -> Fraction:
        """``E (p - p2(X, p1(X')))^2 / (2 Var p)``; undefined if the output never varies."""
        outputs = [Fraction(number(v)) for v in self.values(tree.root)]
        pairs = list(zip(outputs, self.weights, strict=True))
        mean = mass_of([w * p for p, w in pairs]) / self.total
        variance = mass_of([w * (p - mean) ** 2 for p, w in pairs]) / self.total
        squares = [
            mass * (Fraction(number(old)) - Fraction(number(new))) ** 2
            for mass, old, new in self.changes(tree, places)
        ]
        return mass_of(squares) / self.total**2 / (2 * variance)

    def reach(self, tree: Tree, places: frozenset[Place]) -> Fraction:
        """The share of rows that evaluate one of the positions."""
        reached = Fraction(0)
        for row, weight in zip(self.rows, self.weights, strict=True):
            visited: set[int] = set()
            run(tree, row, visited=visited)
            if any(place.point in visited for place in places):
                reached += weight
        return reached / self.total


def without_idle_marks(term: Term, never_missing: set[str]) -> Term:
    """Return the term as an audit reads it.

    The "true if missing" mark has no effect on a variable that is never missing, and is removed.
    """

    def present(part: Term) -> bool:
        if isinstance(part, Var):
            return part.name in never_missing
        return isinstance(part, Const) and not lost(part.value)

    def again(part: Term) -> Term:
        return without_idle_marks(part, never_missing)

    match term:
        case Compare(relation, left, right, precision, missing):
            kept = missing and not (present(left) and present(right))
            return Compare(relation, again(left), again(right), precision, kept)
        case Member(operand, members, missing):
            return Member(again(operand), members, missing and not present(operand))
        case Add(operands) | Mul(operands) | And(operands) | Or(operands):
            return type(term)(tuple(map(again, operands)))
        case Not(operand):
            return Not(again(operand))
        case Ite(guard, then, otherwise):
            return Ite(again(guard), again(then), again(otherwise))
        case Vector(items):
            return Vector(tuple(map(again, items)))
        case Argmax(operand, labels):
            return Argmax(again(operand), labels)
        case Lookup(operand, entries, default):
            return Lookup(again(operand), entries, default)
        case Call(function, arguments):
            return Call(function, tuple(map(again, arguments)))
        case _:
            return term
