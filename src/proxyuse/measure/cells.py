"""Divide a variable into the cells that some tests distinguish.

The cell of a value decides all tests of one variable against constants (``age <= 30.5``,
``sex == 'F'``, ``job in {...}``). Counting rows by cell once gives the counts for every test.
Values in one cell act alike wherever only these tests read the variable.

The cells of numbers are intervals, from one breakpoint (exclusive) to the next (inclusive). The
last two cells are "above all breakpoints" and "missing". Breakpoints are exact: each is the largest
number that passes a test in the precision of its comparison. The cells of categories are groups of
categories that no test distinguishes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from proxyuse.lang.evaluate import NO_CATEGORY, Array, Vocabulary, apply, constant, truth_of
from proxyuse.lang.nodes import Compare, Const, Member, Precision, Relation, Term, Value, Var

Test = Compare | Member
"""A test of one variable against constants."""


def tested_variable(term: Term) -> str | None:
    """Return the variable that a term tests against constants, or None for other terms."""
    match term:
        case Compare(_, Var(name), Const()) | Member(Var(name)):
            return name
        case _:
            return None


def by_variable(
    tests: Sequence[Test],
) -> tuple[tuple[str, ...], Array, tuple[tuple[Test, ...], ...]]:
    """Return the variables that tests read, the index of each test's variable, and its tests."""
    read = [str(tested_variable(test)) for test in tests]
    names = tuple(dict.fromkeys(read))
    groups: dict[str, list[Test]] = {name: [] for name in names}
    for test, name in zip(tests, read, strict=True):
        groups[name].append(test)
    number = {name: i for i, name in enumerate(names)}
    return names, np.array([number[name] for name in read]), tuple(map(tuple, groups.values()))


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """The cell of each row, and the outcome of each test in each cell."""

    codes: Array
    truth: Array  # tests x cells

    @property
    def count(self) -> int:
        """The number of cells."""
        return int(self.truth.shape[1])


def cells_of(values: Array, tests: Sequence[Test], vocabulary: Vocabulary) -> Cells:
    """Divide a column by its tests, in O(n log t) for t tests."""
    if values.dtype == np.int32:
        for test in tests:
            for value in _constants(test):
                constant(value, vocabulary)
        every: Array = np.arange(NO_CATEGORY, len(vocabulary.words), dtype=np.int32)
        truth, cell = np.unique(_outcomes(tests, every, vocabulary), axis=1, return_inverse=True)
        codes = cell.ravel()[values - NO_CATEGORY]
    else:
        numbers = values.astype(np.float64, copy=False)
        points, truth = _cut_numbers(tuple(tests))
        codes = np.searchsorted(points, numbers, side="left")
        codes[np.isnan(numbers)] = len(points) + 1
    return Cells(codes.astype(_narrow(truth)), truth)


@lru_cache(maxsize=256)
def _cut_numbers(tests: tuple[Test, ...]) -> tuple[Array, Array]:
    """Return the breakpoints of tests of a number, and the outcome of each test per cell."""
    points = np.unique([point for test in tests for point in _breakpoints(test)])
    samples = np.concatenate([points, [np.inf, np.nan]])
    return points, _outcomes(tests, samples, Vocabulary())


def breakpoints(tests: Sequence[Test]) -> Array:
    """Return the sorted numbers after which the outcome of a test can change."""
    return _cut_numbers(tuple(tests))[0]


def _narrow(truth: Array) -> type[np.uint8] | type[np.int32]:
    """Return the smallest integer type for the indices of cells and their number."""
    return np.uint8 if truth.shape[1] < 256 else np.int32


def _outcomes(tests: Sequence[Test], samples: Array, vocabulary: Vocabulary) -> Array:
    with np.errstate(all="ignore"):
        return np.array([_outcome(test, samples, vocabulary) for test in tests])


def _outcome(test: Test, samples: Array, vocabulary: Vocabulary) -> Array:
    parts = [samples]
    if isinstance(test, Compare):
        assert isinstance(test.right, Const)
        parts.append(constant(test.right.value, vocabulary))
    return np.broadcast_to(truth_of(apply(test, parts, {}, vocabulary)), (len(samples),))


def _constants(test: Test) -> tuple[Value, ...]:
    if isinstance(test, Member):
        return test.members
    assert isinstance(test.right, Const)
    return (test.right.value,)


def _breakpoints(test: Test) -> list[float]:
    """Return the numbers after which the outcome of a test can change."""
    points: list[float] = []
    for value in _constants(test):
        if isinstance(value, str | tuple) or value != value:
            continue
        number = float(value)
        single = isinstance(test, Compare) and test.precision is Precision.FLOAT32
        relation = test.relation if isinstance(test, Compare) else Relation.EQ
        if relation not in (Relation.LT, Relation.GE):
            points.append(_largest_float32_upto(number) if single else number)
        if relation not in (Relation.LE, Relation.GT):
            below = float(np.nextafter(number, -np.inf))
            points.append(_largest_float32_upto(below) if single else below)
    return points


def _largest_float32_upto(bound: float) -> float:
    """Return the largest float64 that is at most `bound` when rounded to float32.

    Examples
    --------
    >>> tau = _largest_float32_upto(0.1)
    >>> float(np.float32(tau)) <= 0.1 < float(np.float32(np.nextafter(tau, 1.0)))
    True
    """
    with np.errstate(all="ignore"):
        single = np.float32(bound)
        if float(single) > bound:
            single = np.nextafter(single, np.float32(-np.inf))
        above = np.nextafter(single, np.float32(np.inf))
        if np.isinf(single):
            return float(single) if single > 0 else _HIGHEST_BELOW_MINUS_INFINITY
        upper = 2.0**128 if np.isinf(above) else float(above)
        middle = (float(single) + upper) / 2  # exact: one bit more than float32 has
        if float(np.float32(middle)) <= bound:
            return middle
        return float(np.nextafter(middle, -np.inf))


_HIGHEST_BELOW_MINUS_INFINITY = -(2.0**128) * (1 - 2.0**-25)  # rounds to -inf, the next does not
