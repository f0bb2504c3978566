"""The shape of a computation: the part that stays the same if retraining changes only numbers.

Knows nothing about witnesses and judgments.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence

from proxyuse.lang.build import lookup, member, rebuild
from proxyuse.lang.nodes import (
    Argmax,
    Compare,
    Const,
    Lookup,
    Member,
    Term,
    Value,
    children,
    is_missing,
    postorder,
)
from proxyuse.lang.order import canonical_order
from proxyuse.lang.rewrite import rewritten
from proxyuse.lang.text import term_text

_WORD = re.compile(r"""'(?:\\.|[^'\\])*' | `(?:\\.|[^`\\])*` | \w+""", re.VERBOSE | re.DOTALL)


def shape_of(term: Term) -> str:
    """Return the text of a term with ``#`` in place of every number.

    Categories, booleans and missing values stay. The order of the operands of ``+ * and or`` does
    not depend on the numbers, and the precision of comparisons is omitted. Terms that differ only
    in these have the same shape.

    Examples
    --------
    >>> from proxyuse.lang import parse_term
    >>> shape_of(parse_term("ite(age <= 30.5 and job == 'clerk', 1, x - 0.25)"))
    "ite(age <= # and job == 'clerk', #, # + x)"
    >>> shape_of(parse_term("2 * x - 7 * y")) == shape_of(parse_term("3 * y + 0.5 * x"))
    True
    """
    text = term_text(_sorted(rewritten(term, _without_numbers)), width=sys.maxsize)
    return _WORD.sub(lambda word: "#" if word[0].isdecimal() else word[0], text)


def _without_numbers(term: Term) -> Term:
    """Replace the numbers of a node with 0, or with their index where they must differ."""
    match term:
        case Const(value):
            return Const(_blank(value))
        case Compare(relation, left, right, _, missing):
            return Compare(relation, left, right, missing=missing)
        case Member(operand, members, missing):
            return member(operand, _numbered(members), missing)
        case Lookup(operand, entries, default):
            keys = _numbered([key for key, _ in entries])
            values = [_blank(value) for _, value in entries]
            return lookup(operand, zip(keys, values, strict=True), _blank(default))
        case Argmax(operand, labels):
            return Argmax(operand, tuple(map(_blank, labels)))
        case _:
            return term


def _blank(value: Value, number: int = 0) -> Value:
    if isinstance(value, tuple):
        return (float(number), *(0.0 for _ in value[1:]))
    if isinstance(value, float) and not is_missing(value):
        return float(number)
    return value


def _numbered(values: Sequence[Value]) -> list[Value]:
    return [_blank(value, index) for index, value in enumerate(values)]


def _sorted(root: Term) -> Term:
    """Write a term in canonical order."""
    canonical_order(root)  # caches the order of all terms inside
    new: dict[int, Term] = {}
    for term in postorder(root):
        parts = children(term)
        new[id(term)] = rebuild(term, tuple(new[id(parts[i])] for i in canonical_order(term)))
    return new[id(root)]
