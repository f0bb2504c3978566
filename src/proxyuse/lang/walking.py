"""Walking through packed trees: every test becomes a range of integer codes.

Each test reads one *code column*: a number, cut at the constants it is compared with; a category;
or, for any other test, the result of the test. A row has one code per column (-1 if the value is
missing), and a test is true for a contiguous range of codes. A step through a tree is therefore a
single comparison of integers, whatever the test. The codes depend on the trees alone, so rows can
be encoded in blocks and in any order.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from proxyuse.lang.evaluate import (
    NO_CATEGORY,
    Array,
    Vocabulary,
    evaluate,
    stacked_constants,
    truth_of,
)
from proxyuse.lang.nodes import Compare, Const, Precision, Relation, Term
from proxyuse.lang.packed import Forest, PackedIte

_UPPER = (Relation.GT, Relation.GE, Relation.NE)
"""Relations whose negation is a range that starts at the smallest code, or a single code."""


@dataclass(frozen=True, slots=True, eq=False)
class CodeColumn:
    """A value that tests read, and its encoding as integers.

    Attributes
    ----------
    operand : the term whose values are encoded; the test itself if there are no cuts or words.
    precision : the float type to which numbers are rounded first.
    cuts : ascending numbers; the code is the number of cuts below the value.
    words : categories; the code is the index of the value, or ``len(words)`` for any other.
    """

    operand: Term
    precision: Precision = Precision.FLOAT64
    cuts: Array | None = None
    words: tuple[str, ...] | None = None

    @property
    def count(self) -> int:
        """The number of codes, not counting -1."""
        if self.cuts is not None:
            return len(self.cuts) + 1
        return 2 if self.words is None else len(self.words) + 1

    def encode(self, columns: Mapping[str, Array], vocabulary: Vocabulary) -> Array:
        """Return the code of each row. O(log cuts) per row."""
        values = evaluate(self.operand, columns, vocabulary)
        if self.cuts is not None:
            with np.errstate(all="ignore"):
                numbers = values.astype(np.float64, copy=False)
                if self.precision is Precision.FLOAT32:
                    numbers = numbers.astype(np.float32).astype(np.float64)
            codes = np.searchsorted(self.cuts, numbers, side="left").astype(np.int32)
            return np.where(np.isnan(numbers), np.int32(-1), codes)
        if self.words is None:
            return np.where(truth_of(values), np.int32(0), np.int32(1))
        if values.dtype != np.int32:  # nothing but missing values
            return np.full(len(values), -1, dtype=np.int32)
        word_codes = [vocabulary.code(word) for word in self.words]  # may extend the vocabulary
        recoded = np.full(len(vocabulary.words) + 1, len(self.words), dtype=np.int32)
        recoded[word_codes] = np.arange(len(self.words))
        recoded[-1] = -1
        assert NO_CATEGORY == -1
        return recoded[values]


@dataclass(frozen=True, slots=True, eq=False)
class CodeRanges:
    """The test of each inner node of a forest as a range of integer codes.

    Attributes
    ----------
    columns : the code columns that the tests read.
    nodes : one row per inner node: its code column, the first code of the range, the length of
        the range, the child for codes in the range and the other child (an inner node, or
        -1 - leaf).
    swapped : for each inner node, whether codes in the range fail the test.
    """

    columns: tuple[CodeColumn, ...]
    nodes: Array
    swapped: Array

    def encode(self, columns: Mapping[str, Array], vocabulary: Vocabulary, n_rows: int) -> Array:
        """Return the codes as an array with one row per row and one column per code column."""
        codes = np.empty((n_rows, len(self.columns)), dtype=np.int32)
        for index, column in enumerate(self.columns):
            codes[:, index] = column.encode(columns, vocabulary)
        return codes


def code_ranges(forest: Forest) -> CodeRanges:
    """Turn every test of a forest into a range of codes. O(n log n) for n tests."""
    tests = forest.tests
    column_of = np.zeros(len(tests), dtype=np.int32)
    first = np.zeros(len(tests), dtype=np.int64)
    count = np.ones(len(tests), dtype=np.int64)
    swapped = np.zeros(len(tests), dtype=np.bool_)
    columns: list[CodeColumn] = []
    by_shape = np.argsort(tests.shape, kind="stable")
    ends = np.searchsorted(tests.shape[by_shape], np.arange(len(tests.shapes) + 1))
    groups: dict[tuple[bytes, Precision, bool], list[int]] = {}
    for shape_index, shape in enumerate(tests.shapes):
        key = _column_key(shape)
        if key is None:
            for test in by_shape[ends[shape_index] : ends[shape_index + 1]].tolist():
                column_of[test] = len(columns)
                columns.append(CodeColumn(tests.term(test)))
        else:
            groups.setdefault(key, []).append(shape_index)
    for (_, precision, words), indices in groups.items():
        members = [by_shape[ends[i] : ends[i + 1]] for i in indices]
        shapes = [tests.shapes[i] for i in indices]
        column_index = len(columns)
        operand = shapes[0].left  # type: ignore[union-attr]
        make = _words_column if words else _numbers_column
        columns.append(make(operand, precision, shapes, members, tests.cut, first, count, swapped))
        column_of[np.concatenate(members)] = column_index
        # A test that is not a range of codes gets a column of its own.
        for test in (t for some in members for t in some.tolist() if count[t] < 0):
            first[test], count[test], swapped[test] = 0, 1, False
            column_of[test] = len(columns)
            columns.append(CodeColumn(tests.term(test)))
    test_of = forest.test
    exchanged = swapped[test_of]
    left = np.where(exchanged, forest.otherwise, forest.then)
    right = np.where(exchanged, forest.then, forest.otherwise)
    nodes = np.column_stack([column_of[test_of], first[test_of], count[test_of], left, right])
    return CodeRanges(tuple(columns), np.ascontiguousarray(nodes, dtype=np.int32), exchanged)


def _column_key(shape: Term) -> tuple[bytes, Precision, bool] | None:
    """Return the key of the code column that a test reads; None if it needs one of its own."""
    match shape:
        case Compare(_, left, Const(str()), _, _):
            return left.digest, Precision.FLOAT64, True
        case Compare(_, left, Const(float() as value), precision, _) if value == value:
            return left.digest, precision, False
        case _:
            return None


def _numbers_column(
    operand: Term, precision: Precision, shapes: Sequence[Term], members: Sequence[Array],
    cuts: Array, first: Array, count: Array, swapped: Array,
) -> CodeColumn:  # fmt: skip
    """Make a column of numbers, and write each test's range to `first`, `count` and `swapped`.

    The cuts are the largest numbers on the lower side of each boundary. A count of -1 marks a test
    that is not a range.
    """
    compared, edges = [], []
    for shape, tests in zip(shapes, members, strict=True):
        assert isinstance(shape, Compare)
        numbers = cuts[tests]
        if isinstance(shape.right, Const) and np.isnan(numbers).any():  # the shape is the test
            numbers = np.where(np.isnan(numbers), float(shape.right.value), numbers)  # type: ignore[arg-type]
        below = np.nextafter(numbers, -np.inf)
        match shape.relation:
            case Relation.LE | Relation.GT:
                edges.append(numbers)
            case Relation.LT | Relation.GE:
                edges.append(below)
            case _:
                edges += [below, numbers]
        compared.append(numbers)
    boundaries = np.unique(np.concatenate(edges))
    for shape, tests, numbers in zip(shapes, members, compared, strict=True):
        assert isinstance(shape, Compare)
        relation, missing = shape.relation, shape.missing
        negated = relation in _UPPER
        with_missing = missing != negated  # whether missing values belong to the range
        if relation in (Relation.EQ, Relation.NE):
            codes = np.searchsorted(boundaries, numbers)
            first[tests], count[tests] = codes - with_missing, 1 + with_missing
            if with_missing:
                count[tests[codes > 0]] = -1
        else:
            edge = numbers
            if relation in (Relation.LT, Relation.GE):
                edge = np.nextafter(numbers, -np.inf)
            codes = np.searchsorted(boundaries, edge) + 1
            if relation in (Relation.LT, Relation.GE):
                codes = np.where(numbers == -np.inf, 0, codes)  # no number is below it
            first[tests], count[tests] = -int(with_missing), codes + with_missing
        swapped[tests] = negated
    return CodeColumn(operand, precision, cuts=boundaries)


def _words_column(
    operand: Term, precision: Precision, shapes: Sequence[Term], members: Sequence[Array],
    cuts: Array, first: Array, count: Array, swapped: Array,
) -> CodeColumn:  # fmt: skip
    """Make a column of categories, and write each test's range; see `_numbers_column`."""
    words: dict[str, int] = {}
    for shape, tests in zip(shapes, members, strict=True):
        assert isinstance(shape, Compare)
        assert isinstance(shape.right, Const)
        index = words.setdefault(str(shape.right.value), len(words))
        negated = shape.relation is Relation.NE
        with_missing = shape.missing != negated
        first[tests], count[tests] = index - with_missing, 1 + with_missing
        if (with_missing and index > 0) or shape.relation not in (Relation.EQ, Relation.NE):
            count[tests] = -1
        swapped[tests] = negated
    return CodeColumn(operand, words=tuple(words))


def codes_of(
    forest: Forest, columns: Mapping[str, Array], vocabulary: Vocabulary, n_rows: int
) -> Array:
    """Return the codes of rows; cached for the arrays of the last call."""
    arrays = [columns[name] for name in forest.variables]
    cached = forest.encoded
    if cached and cached[0] is vocabulary and all(map(operator.is_, cached[1], arrays)):
        codes: Array = cached[2]
        return codes
    codes = forest.code_ranges.encode(columns, vocabulary, n_rows)
    forest.encoded[:] = [vocabulary, arrays, codes]
    return codes


def tree_values(term: PackedIte, columns: Mapping[str, Array], vocabulary: Vocabulary) -> Array:
    """Return the value of a packed tree for each row. O(depth) per row."""
    from proxyuse.lang import packed_loops  # loads numba

    forest, node = term.forest, term.node
    if any(name not in columns for name in forest.variables):
        forest, node = forest.only(node), 0
    n_rows = max((len(columns[name]) for name in forest.variables), default=1)
    codes = codes_of(forest, columns, vocabulary, n_rows)
    leaves = np.empty(len(codes), dtype=np.int32)
    packed_loops.find_leaves(forest.code_ranges.nodes, codes, node, leaves)
    return leaf_values(forest, vocabulary)[leaves]


def leaf_values(forest: Forest, vocabulary: Vocabulary) -> Array:
    """Return the value of each leaf in the representation of `evaluate`."""
    if forest.labels:
        return stacked_constants(forest.labels, vocabulary)[forest.leaves]
    return forest.leaves
