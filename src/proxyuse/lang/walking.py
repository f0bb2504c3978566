"""Walking through packed trees: every test becomes a range of whole numbers.

A test looks at one *column*: a number cut at the constants it is compared with, a category, or,
for anything else, the truth of the test itself. On a column a row has a code from 0 on, -1 where
the value is missing, and a test holds for a range of codes. So a step through a tree is one
comparison of whole numbers, whatever the test. What the codes mean follows from the trees alone,
so rows can be encoded in blocks, in any order.
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
from proxyuse.lang.nodes import Compare, Const, Precision, Relation, Term, Var
from proxyuse.lang.packed import Forest, PackedIte

_UPPER = (Relation.GT, Relation.GE, Relation.NE)
"""Relations whose opposite is a range that begins with the smallest codes, or is one code."""


@dataclass(frozen=True, slots=True, eq=False)
class CodeColumn:
    """What some tests look at.

    Attributes
    ----------
    operand : the term whose values are encoded; the test itself if there are no cuts or words.
    precision : numbers are rounded to it first.
    cuts : numbers, ascending; a code is how many of them are below the value.
    words : categories; a code is the index of one, the number of words for any other.
    """

    operand: Term
    precision: Precision = Precision.FLOAT64
    cuts: Array | None = None
    words: tuple[str, ...] | None = None

    @property
    def variable(self) -> str | None:
        """The variable whose values are encoded, if it is one."""
        plain = self.cuts is not None or self.words is not None
        return self.operand.name if plain and isinstance(self.operand, Var) else None

    @property
    def count(self) -> int:
        """How many codes there are from 0 on."""
        if self.cuts is not None:
            return len(self.cuts) + 1
        return 2 if self.words is None else len(self.words) + 1

    def encode(self, columns: Mapping[str, Array], vocabulary: Vocabulary) -> Array:
        """The code of each row. O(log cuts) for each."""
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
        places = [vocabulary.code(word) for word in self.words]  # which may add words
        known = np.full(len(vocabulary.words) + 1, len(self.words), dtype=np.int32)
        known[places] = np.arange(len(self.words))
        known[-1] = -1
        assert NO_CATEGORY == -1
        return known[values]


@dataclass(frozen=True, slots=True, eq=False)
class Wiring:
    """Trees joined to columns of codes.

    Attributes
    ----------
    columns : what tests look at.
    nodes : for each inner node, side by side: its column, the first code for which a row goes to
        the first child, how many codes do, and the two children (an inner node, or -1 - leaf).
    swapped : for each inner node whether the first child is where the test does not hold.
    """

    columns: tuple[CodeColumn, ...]
    nodes: Array
    swapped: Array

    def encode(self, columns: Mapping[str, Array], vocabulary: Vocabulary, n_rows: int) -> Array:
        """The codes of each row on each column, row by row."""
        codes = np.empty((n_rows, len(self.columns)), dtype=np.int32)
        for index, column in enumerate(self.columns):
            codes[:, index] = column.encode(columns, vocabulary)
        return codes


def wired(forest: Forest) -> Wiring:
    """Join trees to the columns that their tests look at. O(n log n) for n tests."""
    tests = forest.tests
    column_of = np.zeros(len(tests), dtype=np.int32)
    first = np.zeros(len(tests), dtype=np.int64)
    count = np.ones(len(tests), dtype=np.int64)
    swapped = np.zeros(len(tests), dtype=np.bool_)
    columns: list[CodeColumn] = []
    by_shape = np.argsort(tests.shape, kind="stable")
    ends = np.searchsorted(tests.shape[by_shape], np.arange(len(tests.shapes) + 1))
    groups: dict[tuple[bytes, Precision, bool], list[int]] = {}
    for number, shape in enumerate(tests.shapes):
        key = _column_key(shape)
        if key is None:
            for test in by_shape[ends[number] : ends[number + 1]].tolist():
                column_of[test] = len(columns)
                columns.append(CodeColumn(tests.term(test)))
        else:
            groups.setdefault(key, []).append(number)
    for (_, precision, words), numbers in groups.items():
        own = [by_shape[ends[number] : ends[number + 1]] for number in numbers]
        shapes = [tests.shapes[number] for number in numbers]
        index = len(columns)
        operand = shapes[0].left  # type: ignore[union-attr]
        made = _words_column if words else _numbers_column
        columns.append(made(operand, precision, shapes, own, tests.cut, first, count, swapped))
        column_of[np.concatenate(own)] = index
        # What no range can say becomes a column of its own.
        for test in (t for some in own for t in some.tolist() if count[t] < 0):
            first[test], count[test], swapped[test] = 0, 1, False
            column_of[test] = len(columns)
            columns.append(CodeColumn(tests.term(test)))
    at = forest.test
    exchanged = swapped[at]
    left = np.where(exchanged, forest.otherwise, forest.then)
    right = np.where(exchanged, forest.then, forest.otherwise)
    nodes = np.column_stack([column_of[at], first[at], count[at], left, right])
    return Wiring(tuple(columns), np.ascontiguousarray(nodes, dtype=np.int32), exchanged)


def _column_key(shape: Term) -> tuple[bytes, Precision, bool] | None:
    """What a test looks at: equal for tests of one column. None for what no range can say."""
    match shape:
        case Compare(_, left, Const(str()), _, _):
            return left.digest, Precision.FLOAT64, True
        case Compare(_, left, Const(float() as value), precision, _) if value == value:
            return left.digest, precision, False
        case _:
            return None


def _numbers_column(
    operand: Term, precision: Precision, shapes: Sequence[Term], own: Sequence[Array],
    cuts: Array, first: Array, count: Array, swapped: Array,
) -> CodeColumn:  # fmt: skip
    """A column of numbers; where each test's codes begin, and how many they are, is written."""
    uppers, edges = [], []
    for shape, tests in zip(shapes, own, strict=True):
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
        uppers.append(numbers)
    boundaries = np.unique(np.concatenate(edges))
    for shape, tests, numbers in zip(shapes, own, uppers, strict=True):
        assert isinstance(shape, Compare)
        relation, missing = shape.relation, shape.missing
        turned = relation in _UPPER
        lost = missing != turned  # whether missing values belong to the range
        if relation in (Relation.EQ, Relation.NE):
            at = np.searchsorted(boundaries, numbers)
            first[tests], count[tests] = at - lost, 1 + lost
            if lost:
                count[tests[at > 0]] = -1
        else:
            edge = numbers
            if relation in (Relation.LT, Relation.GE):
                edge = np.nextafter(numbers, -np.inf)
            codes = np.searchsorted(boundaries, edge) + 1
            if relation in (Relation.LT, Relation.GE):
                codes = np.where(numbers == -np.inf, 0, codes)  # nothing is below it
            first[tests], count[tests] = -int(lost), codes + lost
        swapped[tests] = turned
    return CodeColumn(operand, precision, cuts=boundaries)


def _words_column(
    operand: Term, precision: Precision, shapes: Sequence[Term], own: Sequence[Array],
    cuts: Array, first: Array, count: Array, swapped: Array,
) -> CodeColumn:  # fmt: skip
    """A column of categories; each test of it is its shape."""
    words: dict[str, int] = {}
    for shape, tests in zip(shapes, own, strict=True):
        assert isinstance(shape, Compare)
        assert isinstance(shape.right, Const)
        index = words.setdefault(str(shape.right.value), len(words))
        turned = shape.relation is Relation.NE
        lost = shape.missing != turned
        first[tests], count[tests] = index - lost, 1 + lost
        if (lost and index > 0) or shape.relation not in (Relation.EQ, Relation.NE):
            count[tests] = -1
        swapped[tests] = turned
    return CodeColumn(operand, words=tuple(words))


def codes_of(
    forest: Forest, columns: Mapping[str, Array], vocabulary: Vocabulary, n_rows: int
) -> Array:
    """The codes of rows; kept for the last rows asked for, as long as the arrays are the same."""
    arrays = [columns[name] for name in forest.variables]
    kept = forest.encoded
    if kept and kept[0] is vocabulary and all(map(operator.is_, kept[1], arrays)):
        codes: Array = kept[2]
        return codes
    codes = forest.wiring.encode(columns, vocabulary, n_rows)
    forest.encoded[:] = [vocabulary, arrays, codes]
    return codes


def tree_values(term: PackedIte, columns: Mapping[str, Array], vocabulary: Vocabulary) -> Array:
    """What a packed tree says of each row."""
    from proxyuse.lang import packed_loops  # loads numba

    forest, node = term.forest, term.node
    if any(name not in columns for name in forest.variables):
        forest, node = forest.only(node), 0
    n_rows = max((len(columns[name]) for name in forest.variables), default=1)
    codes = codes_of(forest, columns, vocabulary, n_rows)
    leaves = np.empty(len(codes), dtype=np.int32)
    packed_loops.find_leaves(forest.wiring.nodes, codes, node, leaves)
    return leaf_values(forest, vocabulary)[leaves]


def leaf_values(forest: Forest, vocabulary: Vocabulary) -> Array:
    """What each leaf says, as the values that terms have."""
    if forest.labels:
        return stacked_constants(forest.labels, vocabulary)[forest.leaves]
    return forest.leaves
