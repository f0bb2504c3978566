"""The measures written out with one array per program point, for thousands of rows.

Like `tests.brute`, it shares only the nodes and the numbering of positions with the library. Every
value is a float64 array with one entry per row: a boolean is 0 or 1, a category is a large whole
number, and a missing value is NaN. For each distinct value of a computation, the points above it
are computed once for all rows. One influence therefore costs (distinct values) x (points above)
array operations.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from proxyuse.lang.evaluate import Array
from proxyuse.lang.nodes import (
    Add,
    And,
    Argmax,
    Call,
    Compare,
    Const,
    Function,
    Ite,
    Member,
    Mul,
    Not,
    Or,
    Relation,
    Term,
    Value,
    Var,
    Vector,
)
from proxyuse.lang.packing import unpack_trees
from proxyuse.lang.positions import Points, Site
from proxyuse.program import Program

FIRST_WORD = 1e9

RELATIONS = {
    Relation.EQ: np.equal,
    Relation.NE: np.not_equal,
    Relation.LT: np.less,
    Relation.LE: np.less_equal,
    Relation.GT: np.greater,
    Relation.GE: np.greater_equal,
}


class ByRows:
    """A program on rows; `columns` hold numbers, truth values, or words with None for missing."""

    def __init__(
        self, program: Program, columns: Mapping[str, Any], weights: Any, protected: Any
    ) -> None:
        self.points = Points(unpack_trees(program.term))
        self.words: dict[str, float] = {}
        self.columns = {name: self._column(column) for name, column in columns.items()}
        self.rows = len(next(iter(self.columns.values())))
        self.weights = np.ones(self.rows) if weights is None else np.asarray(weights, dtype=float)
        self.protected = [self._column(column) for column in protected.values()]
        self.known: dict[int, Array] = {}
        for point in reversed(range(len(self.points))):
            self.known[point] = self._applied(point, self.known)

    def _column(self, column: Any) -> Array:
        column = np.asarray(column)
        if column.dtype.kind in "OU":
            words = [np.nan if word is None else self._number(word) for word in column.tolist()]
            return np.array(words, dtype=float)
        return np.asarray(column, dtype=float)

    def _number(self, value: Value) -> Any:
        if isinstance(value, str):
            return self.words.setdefault(value, FIRST_WORD + len(self.words))
        return value if isinstance(value, tuple) else float(value)

    # Values

    def _applied(self, point: int, known: Mapping[int, Array], extra: Sequence[Array] = (),
                 without: Iterable[int] = ()) -> Array:  # fmt: skip
        """The value at a point from those below it."""
        term = self.points.terms[point]
        below, gone = self.points.below(point), set(without)
        steps = sorted(set(range(len(below))) - gone, key=lambda step: term._order[step])
        parts = [known[below[step]] for step in steps] + list(extra)
        with np.errstate(all="ignore"):
            return np.asarray(self._value(term, parts), dtype=float)

    def _value(self, term: Term, parts: list[Array]) -> Any:
        match term:
            case Const(value):
                number = np.asarray(self._number(value), dtype=float)
                return np.broadcast_to(number, (self.rows, *number.shape))
            case Var(name):
                return self.columns[name]
            case Ite():
                chosen = _truth(parts[0])
                return np.where(chosen[:, None] if parts[1].ndim == 2 else chosen, *parts[1:])
            case Compare(relation, _, _, precision, missing):
                left, right = parts
                if precision.value == "float32" and left.max(initial=0) < FIRST_WORD:
                    left = left.astype(np.float32).astype(float)
                holds = RELATIONS[relation](left, right)
                return np.where(np.isnan(left) | np.isnan(right), missing, holds)
            case Member(_, members, missing):
                holds = np.isin(parts[0], [self._number(value) for value in members])
                return np.where(np.isnan(parts[0]), missing, holds)
            case Not():
                return ~_truth(parts[0])
            case And():
                return np.all([_truth(part) for part in parts], axis=0)
            case Or():
                return np.any([_truth(part) for part in parts], axis=0)
            case Add() | Mul():
                total = parts[0]
                for part in parts[1:]:
                    total = total + part if isinstance(term, Add) else total * part
                return total
            case Vector():
                return np.stack(parts, axis=1)
            case Argmax(_, labels):
                best = np.argmax(np.where(np.isnan(parts[0]), np.inf, parts[0]), axis=1)
                names = [self._number(v) for v in labels] or range(parts[0].shape[1])
                return np.array(list(names), dtype=float)[best]
            case Call(Function.FILL, _):
                return np.where(np.isnan(parts[0]), parts[1], parts[0])
            case Call(Function.DIV, _):
                return parts[0] / (parts[1] if parts[0].ndim == 1 else parts[1][:, None])
            case Call(Function.SIGMOID, _):
                return 1.0 / (1.0 + np.exp(-parts[0]))
        raise AssertionError(term)

    def value(self, site: Site) -> Array:
        """What stands at a position, on all rows."""
        if not site.operands:
            return self.known[site.point]
        steps = range(len(self.points.below(site.point)))
        return self._applied(site.point, self.known, without=set(steps) - set(site.operands))

    def outputs(self, sites: Sequence[Site], value: Array) -> Array:
        """The output of all rows with one value, or one for each row, at disjoint positions."""
        value = np.broadcast_to(value, (self.rows, *value.shape[1:]))
        known, dirty = dict(self.known), set[int]()
        for site in sites:
            above = site.point if site.operands else self.points.parents[site.point]
            if not site.operands:
                known[site.point] = value
            while above >= 0 and above not in dirty:
                dirty.add(above)
                above = self.points.parents[above]
        for point in sorted(dirty, reverse=True):
            gone = [site.operands for site in sites if site.operands and site.point == point]
            steps = [step for operands in gone for step in operands]
            known[point] = self._applied(point, known, [value] * len(gone), steps)
        return known[0]

    # Measures

    def effects(self, sites: Sequence[Site]) -> tuple[Array, Array]:
        """By row, the mass of the values that change its output; and of the rows its value does."""
        own = self.value(sites[0])
        actual = self.outputs(sites, own)
        bits = np.where(np.isnan(own), np.nan, own).view(np.int64)
        _, first, codes = np.unique(bits, axis=0, return_index=True, return_inverse=True)
        codes = codes.ravel()
        masses = np.bincount(codes, self.weights)
        changed, changing = np.zeros(self.rows), np.zeros(len(first))
        for index, row in enumerate(first):
            differ = ~_same(actual, self.outputs(sites, own[row : row + 1]))
            changed += masses[index] * differ
            changing[index] = self.weights[differ].sum()
        return changed / self.weights.sum(), changing[codes] / self.weights.sum()

    def influence(self, sites: Sequence[Site]) -> float:
        """The share of pairs of rows that change the output."""
        return self.mean(self.effects(sites)[0])

    def mean(self, values: Array) -> float:
        """The mean of one value per row."""
        return float(np.dot(values, self.weights) / self.weights.sum())

    def reach(self, sites: Sequence[Site]) -> float:
        """The share of rows that evaluate at least one of the positions."""
        reached = np.zeros(self.rows, dtype=np.bool_)
        for site in sites:
            rows, point = np.ones(self.rows, dtype=np.bool_), site.point
            while point > 0:
                above, step = self.points.parents[point], self.points.steps[point]
                if isinstance(self.points.terms[above], Ite) and step > 0:
                    guard = _truth(self.known[above + 1])
                    rows &= guard if step == 1 else ~guard
                point = above
            reached |= rows
        return float(self.weights[reached].sum() / self.weights.sum())


def _truth(values: Array) -> Array:
    """A missing value is not true."""
    return np.asarray((values != 0) & ~np.isnan(values))


def _same(first: Array, second: Array) -> Array:
    same = (first == second) | (np.isnan(first) & np.isnan(second))
    return np.asarray(same.all(axis=1) if same.ndim == 2 else same)
