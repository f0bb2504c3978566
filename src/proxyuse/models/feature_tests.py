"""Questions that models ask about features, and how they are said of a column.

A question compares a number with a threshold. Its answer for each row is a test: a comparison of a
column, a set of its values, or the same answer for every row. Many tests are kept as columns.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from proxyuse.lang.build import member
from proxyuse.lang.evaluate import Array
from proxyuse.lang.nodes import FALSE, TRUE, Compare, Const, Precision, Relation, Term, Var

ALWAYS_TRUE, ALWAYS_FALSE = -2, -3
"""In place of a test: a question with the same answer for every row."""


@dataclass(frozen=True, slots=True)
class Test:
    """A test of a feature, and whether what was asked for is its opposite.

    Sets of values read best from the smaller side; a tree then exchanges its branches.
    """

    term: Term
    opposite: bool = False


@dataclass(frozen=True, slots=True)
class Bound:
    """A question about a number: is it at most a threshold (or below it), rounded to a float type?

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
        found = np.asarray(numbers, dtype=np.float64)
        with np.errstate(all="ignore"):
            if self.precision is Precision.FLOAT32:
                found = found.astype(np.float32).astype(np.float64)
            below = found < self.threshold if self.strict else found <= self.threshold
        return np.where(np.isnan(found), self.missing, below)

    def of(self, term: Term, missing: bool | None = None) -> Test:
        """The comparison of a term, with another answer for missing numbers if given."""
        relation = Relation.LT if self.strict else Relation.LE
        lost = self.missing if missing is None else missing
        return Test(Compare(relation, term, Const(self.threshold), self.precision, lost))


@dataclass(frozen=True, slots=True, eq=False)
class TestColumns:
    """Many tests as columns.

    Attributes
    ----------
    shapes : comparisons whose constant is not meant, or whole tests.
    shape : which shape each test has, or `ALWAYS_TRUE` or `ALWAYS_FALSE`.
    cut : the number it compares with; missing where the shape is the whole test.
    opposite : whether what was asked for is the opposite of the test.
    """

    shapes: list[Term]
    shape: Array
    cut: Array
    opposite: Array
    _numbers: dict[bytes, int] = field(default_factory=dict)

    @classmethod
    def empty(cls, count: int) -> TestColumns:
        """Columns to be filled."""
        return cls(
            [],
            np.full(count, ALWAYS_TRUE, dtype=np.int32),
            np.full(count, np.nan),
            np.zeros(count, dtype=np.bool_),
        )

    def shape_of(self, term: Term) -> int:
        """The number of a shape; equal shapes are one."""
        number = self._numbers.setdefault(term.digest, len(self.shapes))
        if number == len(self.shapes):
            self.shapes.append(term)
        return number

    def put(self, index: int, test: Test) -> None:
        """Put a test in its row."""
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
        """Put comparisons of one column with several numbers in their rows."""
        for lost in (False, True):
            chosen = missing == lost
            if chosen.any():
                shape = Compare(relation, column, Const(0.0), precision, lost)
                self.shape[rows[chosen]] = self.shape_of(shape)
                self.cut[rows[chosen]] = cut[chosen]


def up_to(name: str, cut: float, missing: bool) -> Term:
    """Whether a column is at most a number, said with the shorter of two equivalent numbers."""
    after = _shorter(cut)
    if after is not None:
        return Compare(Relation.LT, Var(name), Const(after), Precision.FLOAT64, missing)
    return Compare(Relation.LE, Var(name), Const(cut), Precision.FLOAT64, missing)


def beyond(name: str, cut: float, missing: bool) -> Term:
    """Whether a column is above a number, said with the shorter of two equivalent numbers."""
    after = _shorter(cut)
    if after is not None:
        return Compare(Relation.GE, Var(name), Const(after), Precision.FLOAT64, missing)
    return Compare(Relation.GT, Var(name), Const(cut), Precision.FLOAT64, missing)


def _shorter(cut: float) -> float | None:
    """The next number, if it is far shorter to write: 30 instead of 29.999999999999996."""
    after = np.nextafter(cut, math.inf)
    short, long = is_short(np.array([after, cut])).tolist()
    return float(after) if short and not long else None


def is_short(numbers: Array) -> Array:
    """Which numbers can be written with 12 digits."""
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
    """About the largest float64 number that is at most each threshold once it is rounded."""
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


def only_missing(name: str, present: bool, lost: bool, *, numbers: bool) -> Test:
    """The test that says `present` of every value of a column and `lost` where it is missing."""
    if present == lost:
        return Test(TRUE if present else FALSE)
    return Test(where_missing(name, numbers=numbers), opposite=present)


def where_missing(name: str, *, numbers: bool) -> Term:
    """Whether a column of numbers or categories is missing: it never has the value compared."""
    if numbers:
        return Compare(Relation.GT, Var(name), Const(math.inf), Precision.FLOAT64, True)
    return member(Var(name), ["\0"], missing=True)
