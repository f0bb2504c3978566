"""Tests of features, expressed as tests of raw columns.

A model compares a feature with a threshold. As a test of the raw column, this is a comparison, a
set of values, or a constant. Many tests are stored as columns.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from proxyuse.lang.build import member
from proxyuse.lang.evaluate import Array
from proxyuse.lang.nodes import FALSE, TRUE, Compare, Const, Precision, Relation, Term, Var

ALWAYS_TRUE, ALWAYS_FALSE = -2, -3
"""Stand for tests with the same answer for every row."""


@dataclass(frozen=True, slots=True)
class Test:
    """A test of a column, and whether the feature's test is its negation.

    Sets of values are easier to read on the smaller side; a tree then swaps its branches.
    """

    term: Term
    opposite: bool = False


@dataclass(frozen=True, slots=True)
class Bound:
    """Whether a number, rounded to a float type, is at most a threshold (or below it).

    `missing` is the answer for a missing number.
    """

    threshold: float
    precision: Precision
    missing: bool
    strict: bool

    def holds(self, number: float) -> bool:
        """The answer for one number."""
        return bool(self.hold(np.array([number]))[0])

    def hold(self, numbers: Array) -> Array:
        """The answer for each number."""
        rounded = np.asarray(numbers, dtype=np.float64)
        with np.errstate(all="ignore"):
            if self.precision is Precision.FLOAT32:
                rounded = rounded.astype(np.float32).astype(np.float64)
            below = rounded < self.threshold if self.strict else rounded <= self.threshold
        return np.where(np.isnan(rounded), self.missing, below)

    def of(self, term: Term, missing: bool | None = None) -> Test:
        """The comparison of a term; `missing` overrides the answer for missing numbers."""
        relation = Relation.LT if self.strict else Relation.LE
        if_missing = self.missing if missing is None else missing
        return Test(Compare(relation, term, Const(self.threshold), self.precision, if_missing))


@dataclass(frozen=True, slots=True, eq=False)
class TestColumns:
    """Many tests, stored as columns.

    Attributes
    ----------
    shapes : comparisons with a placeholder constant, or complete tests.
    shape : the index of each test's shape, or `ALWAYS_TRUE` or `ALWAYS_FALSE`.
    cut : the constant of each comparison; NaN if the shape is a complete test.
    opposite : whether the feature's test is the negation.
    """

    shapes: list[Term]
    shape: Array
    cut: Array
    opposite: Array
    _numbers: dict[bytes, int] = field(default_factory=dict)

    @classmethod
    def empty(cls, count: int) -> TestColumns:
        """Columns for `count` tests, to be filled in."""
        return cls(
            [],
            np.full(count, ALWAYS_TRUE, dtype=np.int32),
            np.full(count, np.nan),
            np.zeros(count, dtype=np.bool_),
        )

    def shape_of(self, term: Term) -> int:
        """The index of a shape; equal shapes share an index."""
        number = self._numbers.setdefault(term.digest, len(self.shapes))
        if number == len(self.shapes):
            self.shapes.append(term)
        return number

    def put(self, index: int, test: Test) -> None:
        """Store a test in its row."""
        self.opposite[index] = test.opposite
        match test.term:
            case Const(value):
                self.shape[index] = ALWAYS_TRUE if value is True else ALWAYS_FALSE
            case Compare(relation, left, Const(float() as cut), precision, missing):
                shape = Compare(relation, left, Const(0.0), precision, missing)
                self.shape[index], self.cut[index] = self.shape_of(shape), cut
            case term:
                self.shape[index] = self.shape_of(term)

    def put_comparisons(
        self, rows: Array, relation: Relation, column: Term, cut: Array, precision: Precision,
        missing: Array,
    ) -> None:  # fmt: skip
        """Store comparisons of one column with several numbers in their rows."""
        for if_missing in (False, True):
            selected = missing == if_missing
            if selected.any():
                shape = Compare(relation, column, Const(0.0), precision, if_missing)
                self.shape[rows[selected]] = self.shape_of(shape)
                self.cut[rows[selected]] = cut[selected]


def up_to(name: str, cut: float, missing: bool) -> Term:
    """Whether a column is at most a number, written with the shorter of two equivalent cuts."""
    after = _shorter(cut)
    if after is not None:
        return Compare(Relation.LT, Var(name), Const(after), Precision.FLOAT64, missing)
    return Compare(Relation.LE, Var(name), Const(cut), Precision.FLOAT64, missing)


def beyond(name: str, cut: float, missing: bool) -> Term:
    """Whether a column is above a number, written with the shorter of two equivalent cuts."""
    after = _shorter(cut)
    if after is not None:
        return Compare(Relation.GE, Var(name), Const(after), Precision.FLOAT64, missing)
    return Compare(Relation.GT, Var(name), Const(cut), Precision.FLOAT64, missing)


def _shorter(cut: float) -> float | None:
    """The next float if it has far fewer digits: 30 instead of 29.999999999999996."""
    after = np.nextafter(cut, math.inf)
    short, long = is_short(np.array([after, cut])).tolist()
    return float(after) if short and not long else None


def is_short(numbers: Array) -> Array:
    """Whether each number can be written with 12 digits."""
    with np.errstate(all="ignore"):
        size = np.floor(np.log10(np.abs(numbers)))
        scale = 10.0 ** (11 - np.clip(size, -11, 33))  # a power of ten that float64 holds
        return np.asarray((numbers == 0) | (np.rint(numbers * scale) / scale == numbers))


def hold_each(
    numbers: Array, thresholds: Array, precision: Precision, missing: Array, strict: bool
) -> Array:
    """Whether each number is at most its threshold; see `Bound.hold`."""
    with np.errstate(all="ignore"):
        if precision is Precision.FLOAT32:
            numbers = numbers.astype(np.float32).astype(np.float64)
        below = numbers < thresholds if strict else numbers <= thresholds
    return np.where(np.isnan(numbers), missing, below)


def last_rounded(thresholds: Array, precision: Precision, strict: bool) -> Array:
    """Approximately the largest float64 number that rounds to at most each threshold."""
    if precision is Precision.FLOAT64:
        return thresholds
    last = thresholds.astype(np.float32)
    above = last >= thresholds if strict else last > thresholds
    last = np.where(above, np.nextafter(last, np.float32(-np.inf)), last)
    following = np.nextafter(last, np.float32(np.inf))
    return (last.astype(np.float64) + following.astype(np.float64)) / 2


def comparisons(
    column: Term, thresholds: Array, precision: Precision, missing: Array, strict: bool
) -> TestColumns:
    """Comparisons of a number with each threshold."""
    tests = TestColumns.empty(len(thresholds))
    relation = Relation.LT if strict else Relation.LE
    rows = np.arange(len(thresholds))
    tests.put_comparisons(rows, relation, column, thresholds, precision, missing)
    return tests


def only_missing(name: str, present: bool, if_missing: bool, *, numbers: bool) -> Test:
    """A test with the answer `present` for every value, and another for a missing value."""
    if present == if_missing:
        return Test(TRUE if present else FALSE)
    return Test(where_missing(name, numbers=numbers), opposite=present)


def where_missing(name: str, *, numbers: bool) -> Term:
    """Whether a column is missing: no number or category passes the comparison."""
    if numbers:
        return Compare(Relation.GT, Var(name), Const(math.inf), Precision.FLOAT64, True)
    return member(Var(name), ["\0"], missing=True)
