"""Interval analysis: the values a term can take if some of its inputs are unknown.

Each row gets a set of possible values: an interval of numbers (and whether the number can be
missing), the booleans that can occur, or a category, or any category. The set contains every value
that can occur, and may contain more. If it contains one value, nothing can change that row. For a
tree with constant leaves whose holes vary independently, the sets are exact.

Endpoints are computed with the program's own float operations in the program's own order, which are
monotone. Only functions that are not correctly rounded are widened.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import assert_never

import numpy as np

from proxyuse.errors import LanguageError
from proxyuse.lang.evaluate import Array, Vocabulary, apply
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
    Var,
    Vector,
    children,
)


@dataclass(frozen=True, slots=True, eq=False)
class Interval:
    """Numbers or vectors from `low` to `high`, empty if low > high, and possibly missing."""

    low: Array
    high: Array
    missing: Array

    @property
    def fixed(self) -> Array:
        """Whether each row has one possible value."""
        one: Array = np.where(self.missing, self.low > self.high, self.low == self.high)
        return np.asarray(one.all(axis=1)) if one.ndim == 2 else one


@dataclass(frozen=True, slots=True, eq=False)
class Truth:
    """The booleans that can occur."""

    true: Array
    false: Array

    @property
    def fixed(self) -> Array:
        """Whether each row has one possible value."""
        return self.true ^ self.false


@dataclass(frozen=True, slots=True, eq=False)
class Label:
    """A category, or any category where `varies`."""

    codes: Array
    varies: Array

    @property
    def fixed(self) -> Array:
        """Whether each row has one possible value."""
        return ~self.varies


ValueSet = Interval | Truth | Label


def singleton(values: Array) -> ValueSet:
    """Return the set that contains only the value of each row."""
    if values.dtype == np.bool_:
        return Truth(values, ~values)
    if values.dtype == np.int32:
        return Label(values, np.zeros(len(values), dtype=np.bool_))
    missing = np.isnan(values)
    low, high = np.where(missing, np.inf, values), np.where(missing, -np.inf, values)
    return Interval(low, high, missing)


def union(first: ValueSet, second: ValueSet) -> ValueSet:
    """Return the union of two sets."""
    everywhere = np.array([True])
    return _union_where(first, second, everywhere, everywhere)


def _union_where(
    first: ValueSet, second: ValueSet, use_first: Array, use_second: Array
) -> ValueSet:
    """Return the union of `first`, where it can be used, and `second`, where it can be used."""
    if isinstance(first, Label) or isinstance(second, Label):
        a, b = _label(first), _label(second)
        codes = np.where(use_first, a.codes, b.codes)
        both = use_first & use_second & (a.codes != b.codes)
        return Label(codes, both | (use_first & a.varies) | (use_second & b.varies))
    if isinstance(first, Truth) and isinstance(second, Truth):
        return Truth(
            (use_first & first.true) | (use_second & second.true),
            (use_first & first.false) | (use_second & second.false),
        )
    c, d = _interval(first), _interval(second)
    if c.low.ndim == 2 or d.low.ndim == 2:
        use_first, use_second = use_first[:, None], use_second[:, None]
        c, d = _columns(c), _columns(d)
    return Interval(
        np.minimum(np.where(use_first, c.low, np.inf), np.where(use_second, d.low, np.inf)),
        np.maximum(np.where(use_first, c.high, -np.inf), np.where(use_second, d.high, -np.inf)),
        (use_first & c.missing) | (use_second & d.missing),
    )


def _columns(numbers: Interval) -> Interval:
    """Give numbers a second axis, so that they broadcast with vectors."""
    if numbers.low.ndim == 2:
        return numbers
    return Interval(numbers.low[:, None], numbers.high[:, None], numbers.missing[:, None])


def _label(value_set: ValueSet) -> Label:
    """Convert to categories; a missing constant becomes a missing category."""
    if isinstance(value_set, Label):
        return value_set
    rows = len(_interval(value_set).low)
    return Label(np.full(rows, -1, dtype=np.int32), np.zeros(rows, dtype=np.bool_))


def _interval(value_set: ValueSet) -> Interval:
    match value_set:
        case Interval():
            return value_set
        case Truth(true, false):
            never = np.zeros(len(true), dtype=np.bool_)
            return Interval(
                np.where(false, 0.0, np.where(true, 1.0, np.inf)),
                np.where(true, 1.0, np.where(false, 0.0, -np.inf)),
                never,
            )
        case Label():
            raise LanguageError("expected a number, got a category")
        case _:
            assert_never(value_set)


def _truth(value_set: ValueSet) -> Truth:
    if isinstance(value_set, Truth):
        return value_set
    numbers = _interval(value_set)  # a boolean with missing values
    can = (numbers.low <= 1.0) & (numbers.high >= 1.0)
    return Truth(can, numbers.missing | ((numbers.low < 1.0) & (numbers.high >= numbers.low)))


def possible_values(
    root: Term,
    columns: Mapping[str, Array],
    vocabulary: Vocabulary,
    holes: Mapping[str, ValueSet],
    known: Mapping[int, ValueSet],
) -> ValueSet:
    """Return the values of `root` if the variables in `holes` take any of their values.

    `known` holds the values of node objects without a hole. The cost is linear in the number of
    rows and of all other nodes.
    """
    results: dict[int, ValueSet] = {}
    stack: list[tuple[Term, bool]] = [(root, False)]
    with np.errstate(all="ignore"):
        while stack:
            term, ready = stack.pop()
            if id(term) in results:
                continue
            if id(term) in known:
                results[id(term)] = known[id(term)]
            elif isinstance(term, Var) and term.name in holes:
                results[id(term)] = holes[term.name]
            elif not ready:
                stack.append((term, True))
                stack.extend((part, False) for part in children(term))
            else:
                parts = [results[id(part)] for part in children(term)]
                results[id(term)] = applied(term, parts, columns, vocabulary)
    return results[id(root)]


def applied(
    term: Term, parts: list[ValueSet], columns: Mapping[str, Array], vocabulary: Vocabulary
) -> ValueSet:
    """Return the possible values of one node, given those of its children."""
    match term:
        case Const() | Var():
            return singleton(apply(term, [], columns, vocabulary))
        case Add() | Mul():
            return _combined(term, [_interval(part) for part in parts])
        case And() | Or():
            truths = [_truth(part) for part in parts]
            true, false = truths[0].true, truths[0].false
            for other in truths[1:]:
                if isinstance(term, And):
                    true, false = true & other.true, false | other.false
                else:
                    true, false = true | other.true, false & other.false
            return Truth(true, false)
        case Not():
            inner = _truth(parts[0])
            return Truth(inner.false, inner.true)
        case Compare(relation, _, _, precision, missing):
            return _compared(relation, parts, precision, missing)
        case Ite():
            guard = _truth(parts[0])
            return _union_where(parts[1], parts[2], guard.true, guard.false)
        case Vector():
            items = [_interval(part) for part in parts]
            return Interval(
                _side_by_side([item.low for item in items]),
                _side_by_side([item.high for item in items]),
                _side_by_side([item.missing for item in items]),
            )
        case Member() | Lookup():
            return _where_fixed(term, parts, columns, vocabulary)
        case Argmax():
            return _largest(term, _interval(parts[0]), vocabulary)
        case Call(function):
            return _called(term, function, parts, columns, vocabulary)
        case _:
            assert_never(term)


def _combined(term: Add | Mul, parts: list[Interval]) -> Interval:
    """Add or multiply intervals from left to right."""
    if any(part.low.ndim == 2 for part in parts):
        parts = [_columns(part) for part in parts]
    low, high, missing = parts[0].low, parts[0].high, parts[0].missing
    for part in parts[1:]:
        empty = (low > high) | (part.low > part.high)
        undefined: Array  # where inf - inf or 0 * inf can occur
        if isinstance(term, Add):
            lowest, highest = low + part.low, high + part.high
            undefined = ((low == -np.inf) & (part.high == np.inf)) | (
                (high == np.inf) & (part.low == -np.inf)
            )
        else:
            ends = [low * part.low, low * part.high, high * part.low, high * part.high]
            lowest, highest = np.min(ends, axis=0), np.max(ends, axis=0)
            undefined = (_holds_zero(low, high) & _holds_infinity(part.low, part.high)) | (
                _holds_zero(part.low, part.high) & _holds_infinity(low, high)
            )
        missing = missing | part.missing | (undefined & ~empty)
        low = np.where(empty, np.inf, np.where(undefined, -np.inf, lowest))
        high = np.where(empty, -np.inf, np.where(undefined, np.inf, highest))
    return Interval(low, high, missing)


def _holds_zero(low: Array, high: Array) -> Array:
    return (low <= 0) & (high >= 0)


def _holds_infinity(low: Array, high: Array) -> Array:
    return np.isinf(low) | np.isinf(high)


def _side_by_side(columns: list[Array]) -> Array:
    return np.column_stack(np.broadcast_arrays(*columns))


def reordered(term: Add | Mul | And | Or, parts: list[ValueSet]) -> ValueSet:
    """Return the possible values of an operator for any order of its operands.

    Sums and products are widened by the rounding error of another order.
    """
    outcome = applied(term, parts, {}, Vocabulary())
    if not isinstance(outcome, Interval):
        return outcome
    intervals = [_interval(part) for part in parts]
    if outcome.low.ndim == 2:
        intervals = [_columns(part) for part in intervals]
    ends = [np.maximum(np.abs(part.low), np.abs(part.high)) for part in intervals]
    largest = ends[0]
    for end in ends[1:]:
        largest = largest + end if isinstance(term, Add) else largest * end
    slack = np.nan_to_num(largest * (len(parts) * 2.0**-52), nan=np.inf)
    return Interval(outcome.low - slack, outcome.high + slack, outcome.missing)


def _compared(
    relation: Relation, parts: list[ValueSet], precision: Precision, missing: bool
) -> Truth:
    if any(isinstance(part, Label) for part in parts):
        a, b = _label(parts[0]), _label(parts[1])
        absent = (a.codes == -1) | (b.codes == -1)
        outcome = (a.codes == b.codes) if relation is Relation.EQ else (a.codes != b.codes)
        holds = np.where(absent, missing, outcome)
        varies = a.varies | b.varies
        return Truth(holds | varies, ~holds | varies)
    left, right = _interval(parts[0]), _interval(parts[1])
    if precision is Precision.FLOAT32:
        rounded = [end.astype(np.float32).astype(np.float64) for end in (left.low, left.high)]
        left = Interval(rounded[0], rounded[1], left.missing)
    present = (left.low <= left.high) & (right.low <= right.high)
    can_eq = (left.low <= right.high) & (right.low <= left.high)
    can_ne = ~((left.low == left.high) & (right.low == right.high) & (left.low == right.low))
    can_lt, can_gt = left.low < right.high, left.high > right.low
    can_le, can_ge = left.low <= right.high, left.high >= right.low
    true, false = {
        Relation.EQ: (can_eq, can_ne),
        Relation.NE: (can_ne, can_eq),
        Relation.LT: (can_lt, can_ge),
        Relation.LE: (can_le, can_gt),
        Relation.GT: (can_gt, can_le),
        Relation.GE: (can_ge, can_lt),
    }[relation]
    absent = left.missing | right.missing
    return Truth(
        (true & present) | (absent & missing), (false & present) | (absent & (not missing))
    )


def _where_fixed(
    term: Term, parts: list[ValueSet], columns: Mapping[str, Array], vocabulary: Vocabulary
) -> ValueSet:
    """Return the exact value where all parts are fixed, and any possible value elsewhere."""
    fixed: Array = np.array([True])
    for part in parts:
        fixed = fixed & part.fixed
    if isinstance(term, Call) and term.function is Function.DIV:  # division distinguishes 0 from -0
        divisor = _interval(parts[1])
        fixed = fixed & ~_holds_zero(divisor.low, divisor.high)
    exact = singleton(apply(term, [_representative(part) for part in parts], columns, vocabulary))
    anything = _anything(term, exact, vocabulary)
    return _union_where(exact, anything, np.ones_like(fixed), ~fixed)


def _representative(value_set: ValueSet) -> Array:
    match value_set:
        case Interval(low, _, missing):
            return np.where(missing, np.nan, low)
        case Truth(true):
            return true
        case Label(codes):
            return codes
        case _:
            assert_never(value_set)


def _anything(term: Term, like: ValueSet, vocabulary: Vocabulary) -> ValueSet:
    both = np.array([True])
    if isinstance(term, Lookup):
        values = [value for _, value in term.entries] + [term.default]
        results = [singleton(apply(Const(value), [], {}, vocabulary)) for value in values]
        total = results[0]
        for result in results[1:]:
            total = union(total, result)
        return total
    if isinstance(like, Truth):
        return Truth(both, both)
    if isinstance(like, Label):
        return Label(like.codes, both)
    return Interval(np.full_like(like.low, -np.inf), np.full_like(like.high, np.inf), both)


def _largest(term: Argmax, scores: Interval, vocabulary: Vocabulary) -> ValueSet:
    """Apply argmax: entry c can win unless another entry is certainly larger."""
    width = scores.low.shape[1]
    labels = term.labels or tuple(float(c) for c in range(width))
    result: ValueSet | None = None
    seen = np.zeros(len(scores.low), dtype=np.bool_)
    for c, label in enumerate(labels):
        before, after = scores.low[:, :c], scores.low[:, c + 1 :]
        wins = np.asarray((scores.high[:, c : c + 1] > before).all(axis=1))
        wins &= np.asarray((scores.high[:, c : c + 1] >= after).all(axis=1))
        wins |= np.asarray(scores.missing.any(axis=1))
        mine = singleton(apply(Const(label), [], {}, vocabulary))
        result = mine if result is None else _union_where(result, mine, seen, wins)
        seen = seen | wins
    assert result is not None
    return result


def _called(
    term: Term,
    function: Function,
    parts: list[ValueSet],
    columns: Mapping[str, Array],
    vocabulary: Vocabulary,
) -> ValueSet:
    if function is Function.FILL:
        return _filled(_interval(parts[0]), _interval(parts[1]))
    if function not in (Function.EXP, Function.LOG, Function.SQRT, Function.SIGMOID):
        return _where_fixed(term, parts, columns, vocabulary)
    x = _interval(parts[0])
    low = apply(term, [x.low], columns, vocabulary)
    high = apply(term, [x.high], columns, vocabulary)
    missing = x.missing
    if function in (Function.LOG, Function.SQRT):
        missing = missing | (x.low < 0)
        low = np.where(x.low < 0, -np.inf, low)
        high = np.where(x.high < 0, -np.inf, high)
    varies = x.low < x.high
    return Interval(
        np.where(varies, np.nextafter(low, -np.inf), np.where(x.low > x.high, np.inf, low)),
        np.where(varies, np.nextafter(high, np.inf), np.where(x.low > x.high, -np.inf, high)),
        missing,
    )


def _filled(x: Interval, other: Interval) -> Interval:
    """Return the values of x and, where x can be missing, those of the other number."""
    low = np.where(x.missing, np.minimum(x.low, other.low), x.low)
    high = np.where(x.missing, np.maximum(x.high, other.high), x.high)
    return Interval(low, high, x.missing & other.missing)
