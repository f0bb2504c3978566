"""Simplification that preserves meaning: constant folding and its consequences.

Rounding is preserved, too: a sum of constants and variables stays as it is, because
``(2 + x) + 3`` and ``x + 5`` can differ in the last bit.
"""

from __future__ import annotations

from collections.abc import Callable, Container

import numpy as np

from proxyuse.errors import KindError
from proxyuse.lang.build import rebuild
from proxyuse.lang.evaluate import Vocabulary, apply, constant, first_value
from proxyuse.lang.kinds import BOOLEAN, check_kinds
from proxyuse.lang.nodes import (
    FALSE,
    TRUE,
    And,
    Compare,
    Const,
    Ite,
    Member,
    Not,
    Or,
    Term,
    Var,
    children,
    is_missing,
    postorder,
)
from proxyuse.lang.packed import Forest, PackedIte
from proxyuse.lang.pickling import flatten


def rewritten(root: Term, rule: Callable[[Term], Term], *, enter_packed: bool = True) -> Term:
    """Apply a rule to every node, children first; unchanged nodes are shared.

    Unless `enter_packed`, the rule is applied to each packed tree as a whole.
    """
    new: dict[int, Term] = {}
    for term in postorder(root, enter_packed=enter_packed):
        parts = () if term.packed and not enter_packed else children(term)
        changed = tuple(new[id(part)] for part in parts)
        same = all(a is b for a, b in zip(parts, changed, strict=True))
        new[id(term)] = rule(term if same else rebuild(term, changed))
    return new[id(root)]


def simplify(root: Term) -> Term:
    """Fold constants, and drop branches that are never taken and guards that decide nothing.

    Examples
    --------
    >>> from proxyuse.lang import parse_term
    >>> print(simplify(parse_term("ite(1 + 1 == 2 and not false, ite(x <= 3, y, y), z)")))
    y
    """
    return rewritten(root, simplify_node)


def simplify_node(term: Term) -> Term:
    """Simplify one node whose children are simplified."""
    folded = _folded(term)
    if not all(_can_be_boolean(part) for part in _booleans(folded)):
        return folded
    match folded:
        case Ite(Const(value), then, otherwise):
            return then if value is True else otherwise
        case Ite(_, then, otherwise) if then == otherwise and flatten(then) == flatten(otherwise):
            return then
        case And(operands) if FALSE in operands:
            return FALSE
        case Or(operands) if TRUE in operands:
            return TRUE
        case And(operands):
            return _without(folded, operands, TRUE)
        case Or(operands):
            return _without(folded, operands, FALSE)
        case _:
            return folded


def _booleans(term: Term) -> tuple[Term, ...]:
    """Return the children of a node that must be boolean."""
    match term:
        case And(operands) | Or(operands):
            return operands
        case Ite(guard):
            return (guard,)
        case _:
            return ()


def _can_be_boolean(part: Term) -> bool:
    return not isinstance(part, Const) or type(part.value) is bool or is_missing(part.value)


def _without(term: And | Or, operands: tuple[Term, ...], neutral: Term) -> Term:
    """Drop neutral operands, unless a single operand that may be missing would remain."""
    remaining = tuple(part for part in operands if part != neutral)
    if len(remaining) == len(operands):
        return term
    if len(remaining) == 1 and not isinstance(remaining[0], And | Or | Not | Compare | Member):
        return term
    return rebuild(term, remaining)


def _folded(term: Term) -> Term:
    """Fold a node whose children are constants, unless their kinds do not match."""
    parts = children(term)
    constants = [part.value for part in parts if isinstance(part, Const)]
    if not parts or len(constants) < len(parts):
        return term
    try:
        kind = check_kinds(term, {})
    except KindError:
        return term
    vocabulary = Vocabulary()
    with np.errstate(all="ignore"):
        values = [constant(value, vocabulary) for value in constants]
        value = first_value(apply(term, values, {}, vocabulary), vocabulary)
    if kind == BOOLEAN and isinstance(value, float) and not is_missing(value):
        value = value == 1.0  # booleans beside missing values are stored as floats
    return Const(value)


def without_missing_directions(root: Term, complete: Container[str]) -> Term:
    """Remove the "true if missing" mark from tests of variables that are never missing.

    The mark has no effect there, but makes equal tests look different: scikit-learn marks every
    node of a tree, with an arbitrary direction if no value was missing in training.
    """

    def never_missing(term: Term) -> bool:
        match term:
            case Var(name):
                return name in complete
            case Const(value):
                return not is_missing(value)
            case _:
                return False

    def rule(term: Term) -> Term:
        match term:
            case PackedIte():
                forest = term.forest
                if id(forest) not in forests:
                    shapes = forest.tests.shapes
                    new = [rewritten(shape, rule) for shape in shapes]
                    same = all(a is b for a, b in zip(shapes, new, strict=True))
                    forests[id(forest)] = forest if same else forest.with_tests(new)
                return forests[id(forest)].term(term.node)
            case Compare(relation, left, right, precision, True) if never_missing(
                left
            ) and never_missing(right):
                return Compare(relation, left, right, precision)
            case Member(operand, members, True) if never_missing(operand):
                return Member(operand, members)
            case _:
                return term

    forests: dict[int, Forest] = {}
    return rewritten(root, rule, enter_packed=False)
