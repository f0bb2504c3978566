"""Evaluation: the value of a term on many rows at once.

Values are NumPy arrays whose first axis is the rows (a single row if the term is constant):

====================  =========================================================
number                float64, NaN where missing
boolean               bool, or float64 (0, 1, NaN) if some are missing
category              int32, an index into a `Vocabulary`, -1 where missing
vector of k           float64 with k columns
====================  =========================================================

This is the only definition of the operators; constant folding uses it too. Columns come in as
arrays, and kinds are assumed to match (see `check_kinds`). The cost is one array operation per node
object; sub-terms that are shared as objects are computed once.
"""

from __future__ import annotations

from collections.abc import Mapping
from threading import Lock
from typing import Any, NamedTuple, assert_never

import numpy as np
import numpy.typing as npt

from proxyuse.lang.nodes import (
    Add,
    And,
    Argmax,
    Call,
    Compare,
    Const,
    Function,
    Ite,
    Lookup,
    Member,
    Mul,
    Not,
    Or,
    Precision,
    Relation,
    Term,
    Value,
    Var,
    Vector,
    children,
    is_missing,
)

Array = npt.NDArray[Any]

NO_CATEGORY = -1
"""The code of a missing category."""

_LOCK = Lock()


class Vocabulary:
    """Integer codes for categories; a new category gets the next code."""

    def __init__(self) -> None:
        self.words: list[str] = []
        self._codes: dict[str, int] = {}

    def code(self, word: str) -> int:
        """Return the code of a category. Thread-safe."""
        if word not in self._codes:
            with _LOCK:
                if word not in self._codes:
                    self.words.append(word)
                    self._codes[word] = len(self.words) - 1
        return self._codes[word]

    def decode(self, codes: Array) -> Array:
        """Turn codes back into categories, as an object array with None where missing."""
        words: Array = np.empty(len(self.words) + 1, dtype=object)
        words[: len(self.words)] = self.words
        words[-1] = None
        decoded: Array = words[codes]
        return decoded


Values = dict[int, Array]
"""Values by the `id()` of the node object."""


def evaluate(
    root: Term,
    columns: Mapping[str, Array],
    vocabulary: Vocabulary,
    known: Mapping[int, Array] | None = None,
) -> Array:
    """Return the values of `root`: one per row, or a single one if it is constant.

    Intermediate values are freed after their last use, and the child that needs the most memory is
    evaluated first. A term of n nodes therefore needs about log2(n) columns at a time, however
    deep or wide it is. `known` holds values that need not be computed.
    """
    return Evaluator(root, known)(columns, vocabulary)


def evaluate_all(
    root: Term,
    columns: Mapping[str, Array],
    vocabulary: Vocabulary,
    known: Mapping[int, Array] | None = None,
) -> Values:
    """Return the values of `root` and of every node object below it, except those in `known`."""
    return Evaluator(root, known).values(columns, vocabulary, keep=True)


class Evaluator:
    """`evaluate` for several evaluations of the same term: the steps are planned once.

    Parameters
    ----------
    root : the term.
    known : values that need not be computed, and that are the same in every evaluation.

    Examples
    --------
    >>> from proxyuse.lang.parse import parse_term
    >>> square_of = Evaluator(parse_term("x * x"))
    >>> [square_of({"x": np.array([x])}, Vocabulary()).tolist() for x in (2.0, 3.0)]
    [[4.0], [9.0]]
    """

    def __init__(self, root: Term, known: Mapping[int, Array] | None = None) -> None:
        self._root = root
        self._known = known or {}
        self._steps = _steps(root, self._known)

    def __call__(self, columns: Mapping[str, Array], vocabulary: Vocabulary) -> Array:
        """Return the values of the term, as `evaluate` does."""
        return self.values(columns, vocabulary, keep=False)[id(self._root)]

    def values(self, columns: Mapping[str, Array], vocabulary: Vocabulary, *, keep: bool) -> Values:
        """Return the values of the root, and with `keep` those of all computed nodes."""
        root, known = id(self._root), self._known
        values: Values = {root: known[root]} if root in known else {}
        with np.errstate(all="ignore"):
            for term, reads, last_reads in self._steps:
                parts = [known[part] if part in known else values[part] for part in reads]
                values[id(term)] = apply(term, parts, columns, vocabulary)
                if not keep:
                    for part in last_reads:
                        del values[part]
        return values


class _Step(NamedTuple):
    """A step of an evaluation, with nodes by their `id()`.

    Attributes
    ----------
    term : the node that is computed.
    reads : the nodes whose values are read, in order.
    last_reads : those of them that no later step reads.
    """

    term: Term
    reads: tuple[int, ...]
    last_reads: tuple[int, ...]


def _steps(root: Term, known: Mapping[int, Array]) -> list[_Step]:
    """List the steps of an evaluation with what each reads."""
    steps: list[_Step] = []
    read_later = {id(root)}
    for term, step in reversed(_schedule(root, known)):
        reads = tuple(id(part) for part in _used(term, step))
        last_reads = tuple(
            dict.fromkeys(p for p in reads if p not in read_later and p not in known)
        )
        read_later.update(reads)
        if step > 1:
            reads = (id(term), *reads)
        steps.append(_Step(term, reads, last_reads))
    steps.reverse()
    return steps


_ALL = 0
"""The step that computes a node from all its children at once."""


def _used(term: Term, step: int) -> tuple[Term, ...]:
    """Return the children that a step reads; see `_schedule`."""
    parts = _parts(term)
    if step == _ALL:
        return parts
    return parts[:2] if step == 1 else parts[step : step + 1]


def _schedule(root: Term, known: Mapping[int, Array]) -> list[tuple[Term, int]]:
    """List the steps of an evaluation, children before parents, skipping known nodes.

    An operator with many operands takes a step for each of them: step i combines the value so far
    with operand i, from left to right. Any other node takes one step. Of the children, the one that
    needs the most columns at a time comes first (Sethi and Ullman): while the others are evaluated,
    only its value is kept.
    """
    needs: dict[int, int] = {}
    for term in _unknown(root, known):
        columns = sorted((needs.get(id(part), 0) for part in _parts(term)), reverse=True)
        if _is_long(term):
            columns = [columns[0], 0, columns[1]]
        most = max((kept + need for kept, need in enumerate(columns)), default=0)
        needs[id(term)] = max(1, most)
    steps: list[tuple[Term, int]] = []
    seen: set[int] = set()
    stack: list[tuple[Term, int]] = [(root, -1)]
    while stack:
        term, step = stack.pop()
        if step >= 0:
            steps.append((term, step))
            continue
        if id(term) in seen or id(term) in known:
            continue
        seen.add(id(term))
        parts = _parts(term)
        if _is_long(term):
            for index in range(len(parts) - 1, 0, -1):
                stack += [(term, index), (parts[index], -1)]
            stack.append((parts[0], -1))
            parts = (max(parts, key=lambda part: needs.get(id(part), 0)),)
        else:
            stack.append((term, _ALL))
            parts = tuple(sorted(parts, key=lambda part: needs.get(id(part), 0)))
        stack.extend((part, -1) for part in parts)
    return steps


def _is_long(term: Term) -> bool:
    return isinstance(term, Add | Mul | And | Or) and len(term.operands) > 2


def _unknown(root: Term, known: Mapping[int, Array]) -> list[Term]:
    """List the node objects to evaluate, children before parents, skipping known ones."""
    order: list[Term] = []
    seen: set[int] = set()
    stack: list[tuple[Term, bool]] = [(root, False)]
    while stack:
        term, ready = stack.pop()
        if ready:
            order.append(term)
        elif id(term) not in seen and id(term) not in known:
            seen.add(id(term))
            stack.append((term, True))
            stack.extend((part, False) for part in reversed(_parts(term)))
    return order


def _parts(term: Term) -> tuple[Term, ...]:
    """Return the children that a node is computed from; a packed tree is walked instead."""
    return () if term.packed else children(term)


def apply(
    term: Term, parts: list[Array], columns: Mapping[str, Array], vocabulary: Vocabulary
) -> Array:
    """Compute the value of one node from the values of its children."""
    match term:
        case Ite() if term.packed and not parts:
            from proxyuse.lang.walking import tree_values  # imports this module

            return tree_values(term, columns, vocabulary)  # type: ignore[arg-type]
        case Const(value):
            return constant(value, vocabulary)
        case Var(name):
            return columns[name]
        case Add() | Mul():
            return _combined(np.add if isinstance(term, Add) else np.multiply, _aligned(parts))
        case And() | Or():
            truth = truth_of(parts[0])
            for part in parts[1:]:
                truth = truth & truth_of(part) if isinstance(term, And) else truth | truth_of(part)
            return truth
        case Not():
            return ~truth_of(parts[0])
        case Compare(relation, _, _, precision, missing):
            return compare(relation, parts[0], parts[1], precision, missing)
        case Member(_, members, missing):
            keys = _keys(members, parts[0], vocabulary)
            absent = missing_in(parts[0])
            is_member = np.isin(parts[0], keys) & ~absent
            return is_member | absent if missing else is_member
        case Ite():
            then, otherwise = unified(parts[1], parts[2])
            guard = truth_of(parts[0])
            if then.ndim == 2:
                guard = guard[:, None]
            chosen: Array = np.where(guard, then, otherwise)
            return chosen
        case Vector():
            items = [part.astype(np.float64, copy=False) for part in parts]
            return np.column_stack(np.broadcast_arrays(*items))
        case Argmax(_, labels):
            best: Array = np.argmax(parts[0], axis=1)
            names = (
                stacked_constants(labels, vocabulary)
                if labels
                else np.arange(float(parts[0].shape[1]))
            )
            return np.asarray(names[best])
        case Lookup(_, entries, default):
            return _looked_up(parts[0], entries, default, vocabulary)
        case Call(function):
            return _called(function, parts)
        case _:
            assert_never(term)


def constant(value: Value, vocabulary: Vocabulary) -> Array:
    """Return a constant as an array with one row."""
    match value:
        case bool():
            return np.array([value])
        case str():
            return np.array([vocabulary.code(value)], dtype=np.int32)
        case tuple():
            return np.array([value], dtype=np.float64)
        case float():
            return np.array([value], dtype=np.float64)
        case _:
            assert_never(value)


def truth_of(values: Array) -> Array:
    """Convert to a bool array; a missing value is not true."""
    if values.dtype == np.bool_:
        return values
    truth: Array = values == 1.0
    return truth


def missing_in(values: Array) -> Array:
    """Return a mask of the rows whose value is missing."""
    if values.dtype == np.bool_:
        return np.zeros(len(values), dtype=np.bool_)
    if values.dtype == np.int32:
        absent: Array = values == NO_CATEGORY
        return absent
    return np.isnan(values)


def unified(first: Array, second: Array) -> tuple[Array, Array]:
    """Bring two values to one representation; a missing constant takes the other side's kind."""
    if first.dtype == second.dtype and first.ndim == second.ndim:
        return first, second
    if first.ndim != second.ndim:
        widened = [v if v.ndim == 2 else v.astype(np.float64)[:, None] for v in (first, second)]
        return widened[0], widened[1]
    if np.int32 in (first.dtype, second.dtype):
        return _as_codes(first), _as_codes(second)
    return first.astype(np.float64, copy=False), second.astype(np.float64, copy=False)


def _as_codes(values: Array) -> Array:
    if values.dtype == np.int32:
        return values
    return np.full(values.shape, NO_CATEGORY, dtype=np.int32)


def compare(
    relation: Relation, left: Array, right: Array, precision: Precision, missing: bool
) -> Array:
    """Compare; the left side is rounded to `precision`, and a missing value gives `missing`."""
    left, right = unified(left, right)
    absent = missing_in(left) | missing_in(right)
    if precision is Precision.FLOAT32 and left.dtype == np.float64:
        left = left.astype(np.float32).astype(np.float64)
    match relation:
        case Relation.EQ:
            holds = left == right
        case Relation.NE:
            holds = left != right
        case Relation.LT:
            holds = left < right
        case Relation.LE:
            holds = left <= right
        case Relation.GT:
            holds = left > right
        case Relation.GE:
            holds = left >= right
        case _:
            assert_never(relation)
    result: Array = (holds | absent) if missing else (holds & ~absent)
    return result


def _combined(operation: np.ufunc, parts: list[Array]) -> Array:
    """Add or multiply from left to right, in one new array if all parts have the same shape."""
    result = parts[0].astype(np.float64, copy=False)
    for index, part in enumerate(parts[1:]):
        in_place = index > 0 and (part.shape == result.shape or part.size == 1)
        result = operation(result, part, out=result if in_place else None)
    return result


def _aligned(parts: list[Array]) -> list[Array]:
    """Turn numbers into columns if there are vectors, so that they combine row by row."""
    if all(part.ndim == 1 for part in parts):
        return parts
    return [part if part.ndim == 2 else part[:, None] for part in parts]


def _keys(values: tuple[Value, ...], like: Array, vocabulary: Vocabulary) -> Array:
    """Return constants in the representation of an array, without those of another kind."""
    if like.dtype == np.int32:
        codes = [vocabulary.code(value) for value in values if isinstance(value, str)]
        return np.array(codes, dtype=np.int32)
    return np.array([value for value in values if isinstance(value, float | bool)], np.float64)


def stacked_constants(values: tuple[Value, ...], vocabulary: Vocabulary) -> Array:
    """Return constants of one kind as an array, one per row."""
    if all(type(value) is float for value in values):
        return np.array(values, dtype=np.float64)
    arrays = [constant(value, vocabulary) for value in values]
    kinds = {array.dtype for array in arrays}
    if np.dtype(np.int32) in kinds:
        arrays = [_as_codes(array) for array in arrays]
    width = max(array.size for array in arrays)
    if width > 1:
        arrays = [array if array.ndim == 2 else np.full((1, width), np.nan) for array in arrays]
    return np.concatenate(arrays)


def _looked_up(
    operand: Array,
    entries: tuple[tuple[Value, Value], ...],
    default: Value,
    vocabulary: Vocabulary,
) -> Array:
    """Return the entry of each row, in O(n log k) for n rows and k entries."""
    results = stacked_constants((*(value for _, value in entries), default), vocabulary)
    missing = next((i for i, (key, _) in enumerate(entries) if is_missing(key)), len(entries))
    key_types = str if operand.dtype == np.int32 else (float, bool)
    keyed = [i for i, (key, _) in enumerate(entries) if i != missing and isinstance(key, key_types)]
    keys = _keys(tuple(entries[index][0] for index in keyed), operand, vocabulary)
    indices = np.array([*keyed, len(entries)])
    if operand.dtype == np.int32:
        by_code = np.full(len(vocabulary.words) + 1, len(entries))  # a missing value has code -1
        by_code[keys] = indices[:-1]
        by_code[NO_CATEGORY] = missing
        return np.asarray(results[by_code[operand]])
    numbers = operand.astype(np.float64, copy=False)
    order = np.argsort(keys, kind="stable")  # among equal keys, such as 1 and true, the last wins
    rank = np.searchsorted(keys, numbers, side="right", sorter=order) - 1
    candidate = order[rank] if len(keys) else rank
    match = keys[candidate] == numbers if len(keys) else np.zeros(len(numbers), dtype=np.bool_)
    entry = indices[np.where(match, candidate, -1)]
    return np.asarray(results[np.where(np.isnan(numbers), missing, entry)])


def _called(function: Function, parts: list[Array]) -> Array:
    x = parts[0].astype(np.float64, copy=False)
    match function:
        case Function.EXP:
            return np.exp(x)
        case Function.LOG:
            return np.log(x)
        case Function.SQRT:
            return np.sqrt(x)
        case Function.ABS:
            return np.abs(x)
        case Function.SIGMOID:
            result: Array = 1.0 / (1.0 + np.exp(-x))
            return result
        case Function.SOFTMAX:
            powers = np.exp(x - np.max(x, axis=1, keepdims=True))
            shares: Array = powers / np.sum(powers, axis=1, keepdims=True)
            return shares
        case Function.FILL:
            return np.asarray(np.where(np.isnan(x), parts[1], x))
        case Function.MEDIAN:
            return _median(*np.broadcast_arrays(x, parts[1]))
        case Function.DIV:
            dividend, divisor = _aligned([x, parts[1]])
            quotient: Array = dividend / divisor
            return quotient
        case _:
            assert_never(function)


def _median(entries: Array, weights: Array) -> Array:
    """Return the weighted median of each row, NaN if an entry or a weight is missing.

    Sorts and adds like scikit-learn's AdaBoostRegressor, so that rounding agrees.
    """
    order = np.argsort(entries, axis=1)
    cumulative = np.cumsum(np.take_along_axis(weights, order, axis=1), axis=1)
    middle = np.argmax(cumulative >= 0.5 * cumulative[:, -1:], axis=1)
    rows = np.arange(len(entries))
    absent = np.isnan(entries).any(axis=1) | np.isnan(weights).any(axis=1)
    return np.where(absent, np.nan, entries[rows, order[rows, middle]])


def first_value(values: Array, vocabulary: Vocabulary) -> Value:
    """Return the value of the first row as a constant."""
    if values.dtype == np.bool_:
        return bool(values[0])
    if values.dtype == np.int32:
        return float("nan") if values[0] == NO_CATEGORY else vocabulary.words[values[0]]
    if values.ndim == 2:
        return tuple(float(v) for v in values[0])
    return float(values[0])
