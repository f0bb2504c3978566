"""A variable cut into the cells that some tests can tell apart.

Tests of one variable against constants (``age <= 30.5``, ``sex == 'F'``, ``job in {...}``) are
all decided by which cell the value lies in. Counting rows by cell once gives the counts for
every test; equal cells act alike wherever only these tests read the variable.

Cells of numbers are intervals (from one breakpoint, exclusive, to the next, inclusive), the last
two being "above all" and "missing". Breakpoints are exact: the largest number that a test
still lets through in the precision of its comparison. Cells of categories are those that no test
tells apart.
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
    """The variable that a term tests against constants, if it is such a test."""
    match term:
        case Compare(_, Var(name), Const()) | Member(Var(name)):
            return name
        case _:
            return None


def by_variable(
    tests: Sequence[Test],
) -> tuple[tuple[str, ...], Array, tuple[tuple[Test, ...], ...]]:
    """The variables that tests read, in order; which one each reads; and the tests of each."""
    read = [str(tested_variable(test)) for test in tests]
    names = tuple(dict.fromkeys(read))
    groups: dict[str, list[Test]] = {name: [] for name in names}
    for test, name in zip(tests, read, strict=True):
        groups[name].append(test)
    number = {name: i for i, name in enumerate(names)}
    return names, np.array([number[name] for name in read]), tuple(map(tuple, groups.values()))


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """Which cell each row is in, and what each test says in each cell."""

    codes: Array
    truth: Array  # tests x cells

    @property
    def count(self) -> int:
        """How many cells there are."""
        return int(self.truth.shape[1])


def cells_of(values: Array, tests: Sequence[Test], vocabulary: Vocabulary) -> Cells:
    """Cut a column by tests of it; O(n log t) for t tests."""
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
    """The breakpoints of tests of a number, and what each test says in each cell; kept."""
    points = np.unique([point for test in tests for point in _breakpoints(test)])
    samples = np.concatenate([points, [np.inf, np.nan]])
    return points, _outcomes(tests, samples, Vocabulary())


def breakpoints(tests: Sequence[Test]) -> Array:
    """The numbers after which one of the tests may say something else, in order."""
    return _cut_numbers(tuple(tests))[0]


def _narrow(truth: Array) -> type[np.uint8] | type[np.int32]:
    """The smallest type that holds a cell's number and the number of cells."""
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
    """The numbers after which the test may say something else."""
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
    """The largest float64 that, rounded to float32, is at most `bound`.

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
