"""Build terms from parts: flatten, sort and convert arguments that constructors only check."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import assert_never

from proxyuse.errors import LanguageError
from proxyuse.lang.nodes import (
    MISSING,
    Add,
    And,
    Argmax,
    Call,
    Compare,
    Const,
    Ite,
    Lookup,
    Member,
    Mul,
    Not,
    Or,
    Term,
    Var,
    Vector,
    need_terms,
    sorted_values,
    value_text,
)


def const(value: object) -> Const:
    """Make a constant from a Python or NumPy scalar, a sequence of numbers, or None for missing.

    Examples
    --------
    >>> const(3) == const(3.0), const(1) == const(True), const([1, 0])
    (True, False, <Const [1, 0]>)
    """
    if hasattr(value, "tolist"):
        value = value.tolist()
    if value is None:
        return MISSING
    if isinstance(value, list | tuple):
        numbers = [const(item).value for item in value]
        return Const(tuple(numbers))  # type: ignore[arg-type]  # Const checks
    if isinstance(value, int) and not isinstance(value, bool):
        value = exact_float(value)
    return Const(value)  # type: ignore[arg-type]  # Const checks


def exact_float(value: int) -> float:
    """Convert an integer to a float, or raise an error if float64 cannot hold it exactly."""
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number) or int(number) != value:
        digits = str(value) if abs(value) < 10**30 else "with more than 30 digits"
        raise LanguageError(f"float64 cannot hold the integer {digits} exactly; use a smaller one")
    return number


def _flat(cls: type[Add] | type[Mul] | type[And] | type[Or], parts: Iterable[Term]) -> Term:
    """Apply an associative operator; operands with the same operator are merged into it."""
    operands: list[Term] = []
    for part in parts:
        need_terms(cls.tag, (part,))
        operands.extend(part.operands) if isinstance(part, cls) else operands.append(part)
    return operands[0] if len(operands) == 1 else cls(tuple(operands))


def add(*parts: Term) -> Term:
    """Return the sum of the parts, flattened; the sum of a single part is the part itself."""
    return _flat(Add, parts)


def mul(*parts: Term) -> Term:
    """Return the product of the parts, flattened."""
    return _flat(Mul, parts)


def conj(*parts: Term) -> Term:
    """Return the conjunction of the parts, flattened."""
    return _flat(And, parts)


def disj(*parts: Term) -> Term:
    """Return the disjunction of the parts, flattened."""
    return _flat(Or, parts)


def vector(*items: Term) -> Term:
    """Make a vector; it is a constant if all items are."""
    if not items:
        raise LanguageError("a vector needs at least one item")
    items = tuple(
        Const(float(item.value)) if isinstance(item, Const) and type(item.value) is bool else item
        for item in items
    )
    if all(isinstance(item, Const) for item in items):
        return const([item.value for item in items if isinstance(item, Const)])
    return Vector(items)


def member(operand: Term, members: Iterable[object], missing: bool = False) -> Member:
    """Make a membership test; members are converted and sorted."""
    values = [const(value).value for value in members]
    return Member(operand, tuple(sorted_values(values)), missing)


def lookup(operand: Term, entries: Iterable[tuple[object, object]], default: object) -> Lookup:
    """Make a lookup table; keys are converted and sorted, and must be distinct."""
    pairs = [(const(key).value, const(value).value) for key, value in entries]
    by_text = {value_text(key): (key, value) for key, value in pairs}
    if len(by_text) < len(pairs):
        raise LanguageError("a table has two entries with the same key; remove one of them")
    keys = sorted_values(key for key, _ in pairs)
    ordered = tuple(by_text[value_text(key)] for key in keys)
    return Lookup(operand, ordered, const(default).value)


def rebuild(term: Term, parts: tuple[Term, ...]) -> Term:
    """Return the same node with other children (in written order), flattened if needed."""
    match term:
        case Const() | Var():
            return term
        case Add() | Mul() | And() | Or():
            return _flat(type(term), parts)
        case Not():
            return Not(parts[0])
        case Compare(relation, _, _, precision, missing):
            return Compare(relation, parts[0], parts[1], precision, missing)
        case Member(_, members, missing):
            return Member(parts[0], members, missing)
        case Ite():
            return Ite(*parts)
        case Vector():
            return vector(*parts)
        case Argmax(_, labels):
            return Argmax(parts[0], labels)
        case Lookup(_, entries, default):
            return Lookup(parts[0], entries, default)
        case Call(function, _):
            return Call(function, parts)
        case _:
            assert_never(term)
