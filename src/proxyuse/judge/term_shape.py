"""The shape of a computation: what stays when a model is trained again and only numbers move.

Knows nothing of witnesses or judgments.
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
    """A term's text with ``#`` for every number; categories, truth values and missing stay.

    Operands of ``+ * and or`` stand in an order that does not depend on the numbers, and nothing
    is said of the precision of comparisons, so terms that differ in nothing else have one shape.

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
    """The node with numbers that say nothing: 0, or their place where they must differ."""
    match term:
        case Const(value):
            return Const(_blank(value))
        case Compare(relation, left, right, _, missing):
            return Compare(relation, left, right, missing=missing)
        case Member(operand, members, missing):
            return member(operand, _places(members), missing)
        case Lookup(operand, entries, default):
            keys = _places([key for key, _ in entries])
            values = [_blank(value) for _, value in entries]
            return lookup(operand, zip(keys, values, strict=True), _blank(default))
        case Argmax(operand, labels):
            return Argmax(operand, tuple(map(_blank, labels)))
        case _:
            return term


def _blank(value: Value, place: int = 0) -> Value:
    if isinstance(value, tuple):
        return (float(place), *(0.0 for _ in value[1:]))
    if isinstance(value, float) and not is_missing(value):
        return float(place)
    return value


def _places(values: Sequence[Value]) -> list[Value]:
    return [_blank(value, place) for place, value in enumerate(values)]


def _sorted(root: Term) -> Term:
    """The same term, written in canonical order."""
    canonical_order(root)  # of all below it too
    new: dict[int, Term] = {}
    for term in postorder(root):
        parts = children(term)
        new[id(term)] = rebuild(term, tuple(new[id(parts[i])] for i in canonical_order(term)))
    return new[id(root)]
