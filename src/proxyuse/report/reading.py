"""Computations as people read them: the same on the audited rows, with shorter numbers.

A model's thresholds have many digits. On given rows, only the side on which each value lies
matters. So a threshold is shown as the number with the fewest decimals that splits the column in
the same way. Imputed values are left out where no value is missing. Weights are shown with three
digits; only this changes what is computed.

The text of a program or a witness stays exact and can be parsed.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from proxyuse.data.columns import Column, Kind
from proxyuse.lang.nodes import (
    Add,
    Call,
    Compare,
    Const,
    Function,
    Lookup,
    Mul,
    Not,
    Precision,
    Relation,
    Term,
    Value,
    Var,
    Vector,
    is_missing,
)
from proxyuse.lang.rewrite import rewritten
from proxyuse.lang.text import beginning
from proxyuse.words import one_line, shortened

MOST_DECIMALS = 17
MOST_TEXT = 200
WEIGHT_DIGITS = 3


def reading(term: Term, columns: Mapping[str, Column]) -> Term:
    """Shorten the thresholds of a term; every row gets the same result.

    Examples
    --------
    >>> from proxyuse.data.columns import as_column
    >>> from proxyuse.lang import parse_term
    >>> age = as_column("age", [36, 37, 38])
    >>> print(reading(parse_term("age <= 37.50000002507943"), {"age": age}))
    age <= 37
    """
    return rewritten(term, lambda node: _read(node, columns))


def shown_text(
    term: Term, columns: Mapping[str, Column], most: int = MOST_TEXT
) -> tuple[str, bool]:
    """Return a computation on one line for display, and whether weights were rounded.

    Only the text that is shown is generated, so the cost does not depend on the term's size. Each
    threshold takes O(log n) for n rows; a column is sorted once.

    Examples
    --------
    >>> from proxyuse.lang import parse_term
    >>> shown_text(parse_term("0.123456 * age + 1"), {})
    ('0.123 * age + 1', True)
    """
    rounded = False

    def shown(node: Term) -> Term:
        nonlocal rounded
        exact = _read(node, columns)
        short = _with_short_weights(exact)
        rounded = rounded or short != exact
        return short

    text = beginning(term, Precision.FLOAT64, most + 1, shown)
    return shortened(one_line(text), most), rounded


def shortest_between(value: float, low: float, high: float) -> float:
    """Return the number in [low, high) with the fewest decimals; on a tie, the nearest to a value.

    A value with at most one decimal is returned unchanged.

    Examples
    --------
    >>> shortest_between(5059.9997, 5013, 5060), shortest_between(0.1234567, 0.121, 0.1236)
    (5059.0, 0.123)
    """
    if round(value, 1) == value and low <= value < high:
        return value
    for decimals in range(MOST_DECIMALS + 1):
        near = round(value, decimals)
        step = 10.0**-decimals
        steps = (near, round(near - step, decimals), round(near + step, decimals))
        fitting = [number for number in steps if low <= number < high]
        if fitting:
            return min(fitting, key=lambda number: abs(number - value))
    return value


def _read(node: Term, columns: Mapping[str, Column]) -> Term:
    match node:
        case Compare(relation, Call(Function.FILL, (Var(name), _)), right, precision, missing) if (
            _complete(name, columns)
        ):
            return _read(Compare(relation, Var(name), right, precision, missing), columns)
        case Compare(relation, Var(name) as left, Const(value) as right, precision, True) if (
            _complete(name, columns) and not is_missing(value)
        ):
            return _read(Compare(relation, left, right, precision), columns)
        case Compare(relation, Var(name), Const(float() as limit)) if name in columns:
            column = columns[name]
            if column.kind is Kind.BOOLEAN and limit == 0.5 and not node.missing:
                return Not(Var(name)) if relation in (Relation.LE, Relation.LT) else Var(name)
            if column.kind is not Kind.NUMBER or relation not in _ORDERED or is_missing(limit):
                return node
            return _with_short_threshold(node, relation, limit, column)
        case Call(Function.FILL, (Var(name), _)) if _complete(name, columns):
            return Var(name)
        case Lookup(Var(name) as operand, entries, default) if _complete(name, columns):
            kept = tuple((key, value) for key, value in entries if not is_missing(key))
            return Lookup(operand, kept, default) if kept else node
        case _:
            return node


_ORDERED = (Relation.LE, Relation.LT, Relation.GE, Relation.GT)


_SORTED: WeakKeyDictionary[Column, npt.NDArray[np.float64]] = WeakKeyDictionary()
"""The numbers of each column in ascending order, without missing values."""


def _in_order(column: Column) -> npt.NDArray[np.float64]:
    if column not in _SORTED:
        _SORTED[column] = np.sort(column.values[~np.isnan(column.values)])
    return _SORTED[column]


def _complete(name: str, columns: Mapping[str, Column]) -> bool:
    return name in columns and not columns[name].any_missing


def _with_short_threshold(node: Compare, relation: Relation, limit: float, column: Column) -> Term:
    """Simplify a comparison: `float32(x) <= 37.500002` becomes `x <= 37`."""
    numbers = _in_order(column)
    to_the_low_side = relation in (Relation.LE, Relation.GT)
    rounding = np.dtype(node.precision.value).type

    def above(number: np.float64) -> bool:
        compared = float(rounding(number))
        return compared > limit if to_the_low_side else compared >= limit

    with np.errstate(over="ignore"):
        first = bisect_left(numbers, True, key=above)
    low = float(numbers[first - 1]) if first else -math.inf
    high = float(numbers[first]) if first < len(numbers) else math.inf
    if to_the_low_side:
        short = shortest_between(limit, low, high)
        fits = low <= short < high
    else:  # values at the limit are on the high side, so mirror everything
        short = -shortest_between(-limit, -high, -low)
        fits = low < short <= high
    if not fits:  # the limit splits only the float32 values, not the original ones
        return node
    return Compare(relation, node.left, Const(short + 0.0), Precision.FLOAT64, node.missing)


def _with_short_weights(node: Term) -> Term:
    """Round factors, summands, and entries of vectors and lookups to few digits.

    A sum is rounded, so the number that it is compared with is too. The text of a sum writes the
    negative factors of its operands itself, so they are rounded with the sum.
    """
    match node:
        case Compare(relation, Add() | Mul() as left, Const(float()) as right):
            limit = _short_constant(right)
            return Compare(relation, left, limit, node.precision, node.missing)
        case Add(operands):
            return Add(tuple(map(_short_operand, operands)))
        case Mul(operands):
            return Mul(tuple(map(_short_constant, operands)))
        case Vector(items):
            return Vector(tuple(_short_constant(item) for item in items))
        case Const(tuple()):
            return _short_constant(node)
        case Lookup(operand, entries, default):
            short = tuple((key, _short_weight(value)) for key, value in entries)
            return Lookup(operand, short, _short_weight(default))
        case _:
            return node


def _short_operand(term: Term) -> Term:
    if isinstance(term, Mul):
        return Mul(tuple(map(_short_constant, term.operands)))
    return _short_constant(term)


def _short_constant(term: Term) -> Term:
    return Const(_short_weight(term.value)) if isinstance(term, Const) else term


def _short_weight(value: Value) -> Value:
    match value:
        case tuple():
            return tuple(float(f"{entry:.{WEIGHT_DIGITS}g}") for entry in value)
        case float():
            return float(f"{value:.{WEIGHT_DIGITS}g}")
        case _:
            return value
