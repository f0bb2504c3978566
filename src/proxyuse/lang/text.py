"""Terms as text: infix, with as few parentheses as possible, broken over lines if too long.

Each node has a template; its breaks are printed as spaces if the node fits on the line and as line
breaks otherwise. The text parses back to an equal term. Cost: linear in the length of the text,
without recursion.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice
from typing import assert_never

from proxyuse.input_limits import POSITIONS
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
    Term,
    Var,
    Vector,
    children,
    compares_words,
    postorder,
    quoted,
    value_text,
)
from proxyuse.lang.packed import Forest, PackedIte
from proxyuse.words import shortened

LINE_WIDTH = 88
MAX_INDENT_LEVEL = 40

KEYWORDS = frozenset(
    ["ite", "and", "or", "not", "in", "true", "false", "missing", "inf", "argmax", "table",
     "lambda", *Function, *Precision]
)  # fmt: skip

# Precedence of the operators; a child that binds less tightly needs parentheses.
OR, AND, NOT, COMPARE, ADD, MUL, ATOM = range(7)

_NAME = re.compile(r"[^\W\d]\w*\Z")


@dataclass(frozen=True, slots=True)
class _Break:
    """A space (or nothing), or a line break that indents by `shift` levels."""

    flat: str = " "
    shift: int = 0


@dataclass(frozen=True, slots=True)
class _Slot:
    """A child, with or without parentheses."""

    term: Term
    parentheses: bool = False


_Piece = str | _Break | _Slot

_OPEN = _Break("", +1)
_CLOSE = _Break("", -1)
_LINE = _Break(" ")


def name_text(name: str) -> str:
    """Write a variable name, in backquotes unless it is a plain word.

    Examples
    --------
    >>> name_text("age"), name_text("capital-gain"), name_text("in")
    ('age', '`capital-gain`', '`in`')
    """
    return name if _NAME.match(name) and name not in KEYWORDS else quoted(name, "`")


def term_text(term: Term, precision: Precision = Precision.FLOAT64, width: int = LINE_WIDTH) -> str:
    """Write a term as text; comparisons that do not have `precision` are marked with their own.

    Examples
    --------
    >>> from proxyuse.lang import parse_term
    >>> term_text(parse_term("ite(not(age>30), 1, -2*x + y)"))
    'ite(not age > 30, 1, -2 * x + y)'
    """
    POSITIONS.check(term.points, "the term")
    templates, widths = _laid_out(term, precision)
    out: list[str] = []
    column = 0
    # The remaining pieces, each with its indentation level and whether its term is broken over
    # several lines.
    stack: list[tuple[_Piece, int, bool]] = [(_Slot(term), 0, False)]
    while stack:
        piece, level, broken = stack.pop()
        match piece:
            case str():
                out.append(piece)
                column += len(piece)
            case _Break(flat):
                if broken:
                    column = 2 * min(level, MAX_INDENT_LEVEL)
                    out.append("\n" + " " * column)
                else:
                    out.append(flat)
                    column += len(flat)
            case _Slot(child, parentheses):
                wide = column + widths[id(child)] + 2 * parentheses > width
                pieces = templates[id(child)]
                if parentheses:
                    pieces = ["(", _OPEN, *pieces, _CLOSE, ")"]
                levels = accumulate(p.shift if isinstance(p, _Break) else 0 for p in pieces)
                laid = [(p, level + shift, wide) for p, shift in zip(pieces, levels, strict=True)]
                stack.extend(reversed(laid))
            case _:
                assert_never(piece)
    return "".join(out)


def _laid_out(root: Term, precision: Precision) -> tuple[dict[int, list[_Piece]], dict[int, int]]:
    """Return the template and the one-line width of every node of `root`."""
    templates: dict[int, list[_Piece]] = {}
    widths: dict[int, int] = {}
    for term in postorder(root):
        pieces = list(_template(term, precision))
        templates[id(term)] = pieces
        widths[id(term)] = _width(pieces, widths)
    return templates, widths


def _width(pieces: Iterable[_Piece], widths: Mapping[int, int]) -> int:
    """Return the one-line width of a template, given the widths of its children."""
    total = 0
    for piece in pieces:
        match piece:
            case str():
                total += len(piece)
            case _Break(flat):
                total += len(flat)
            case _Slot(child, parentheses):
                total += widths[id(child)] + 2 * parentheses
            case _:
                assert_never(piece)
    return total


def binding(term: Term) -> int:
    """Return the precedence of a term's outermost operator."""
    match term:
        case Or():
            return OR
        case And():
            return AND
        case Not():
            return NOT
        case Compare() | Member():
            return COMPARE
        case Add():
            return ADD
        case Mul():
            return MUL
        case Const() | Var() | Ite() | Vector() | Argmax() | Lookup() | Call():
            return ATOM
        case _:
            assert_never(term)


def _slot(term: Term, at_least: int) -> _Slot:
    return _Slot(term, binding(term) < at_least)


def _template(term: Term, precision: Precision) -> Iterable[_Piece]:
    """Return the pieces of a term's text; long ones are generated lazily."""
    match term:
        case Const(value):
            return [value_text(value)]
        case Var(name):
            return [name_text(name)]
        case Add(operands):
            return _sum(operands)
        case Mul() | And() | Or():
            return _chain(term.operands, f"{term.tag} ", binding(term) + 1)
        case Not(operand):
            return ["not ", _slot(operand, NOT)]
        case Compare(relation, left, right, compared_in, missing):
            sign = f" {relation}{'?' if missing else ''} "
            if compared_in is (Precision.FLOAT64 if compares_words(term) else precision):
                return [_slot(left, ADD), sign, _slot(right, ADD)]
            return [f"{compared_in}(", _Slot(left), ")", sign, _slot(right, ADD)]
        case Member(operand, members, missing):
            inside = ", ".join(map(value_text, members))
            return [_slot(operand, ADD), f" in{'?' if missing else ''} {{{inside}}}"]
        case Ite():
            return _call("ite(", children(term), ")")
        case Vector(items):
            return _call("[", items, "]")
        case Argmax(operand, labels):
            tail = "".join(f", {value_text(v)}" for v in labels)
            return _call("argmax(", (operand,), f"{tail})")
        case Lookup(operand, entries, default):
            inside = ", ".join(f"{value_text(k)}: {value_text(v)}" for k, v in entries)
            return _call("table(", (operand,), f", {{{inside}}}, {value_text(default)})")
        case Call(function, arguments):
            return _call(f"{function}(", arguments, ")")
        case _:
            assert_never(term)


def _chain(operands: tuple[Term, ...], sign: str, at_least: int) -> Iterator[_Piece]:
    for number, operand in enumerate(operands):
        if number:
            yield _LINE
            yield sign
        yield _slot(operand, at_least)


def _call(head: str, arguments: tuple[Term, ...], tail: str) -> Iterator[_Piece]:
    yield head
    yield _OPEN
    for number, argument in enumerate(arguments):
        if number:
            yield ","
            yield _LINE
        yield _Slot(argument)
    yield _CLOSE
    yield tail


def _sum(operands: tuple[Term, ...]) -> Iterator[_Piece]:
    """Write a sum, with a minus sign before operands that start with a negative number."""
    yield _slot(operands[0], MUL)
    for operand in islice(operands, 1, None):
        yield _LINE
        match operand:
            case Const(float() as value) if value < 0:
                yield f"- {value_text(-value)}"
            case Mul((Const(-1.0), factor)) if not isinstance(factor, Const):
                yield "- "
                yield _slot(factor, MUL)
            case Mul((Const(float() as value), *factors)) if value < 0:
                yield f"- {value_text(-value)}"
                for factor in factors:
                    yield " * "
                    yield _slot(factor, ATOM)
            case _:
                yield "+ "
                yield _slot(operand, MUL)


def brief(term: Term, precision: Precision, max_length: int = 60) -> str:
    """Return the start of a term's text, for a message or a note; fast for terms of any size.

    Examples
    --------
    >>> from proxyuse.lang.parse import parse_term
    >>> brief(parse_term("ite(age <= 30, 'no', 'yes')"), Precision.FLOAT64)
    "ite(age <= 30, 'no', 'yes')"
    >>> brief(parse_term("ite(age <= 30, 'no', 'yes')"), Precision.FLOAT64, 16)
    'ite(age <= 30...'
    """
    return shortened(beginning(term, precision, max_length + 1), max_length)


def briefs(terms: Sequence[Term], precision: Precision, max_length: int = 60) -> list[str]:
    """Return `brief` of many terms; the text of a term is reused in the terms around it.

    Examples
    --------
    >>> from proxyuse.lang.parse import parse_term
    >>> briefs([parse_term("ite(age <= 30, 'no', 'yes')")], Precision.FLOAT64, 16)
    ['ite(age <= 30...']
    """
    known: dict[int, str] = {}
    for term in sorted(terms, key=lambda term: term.size):
        known[id(term)] = _first(term, precision, max_length + 1, known)
    return [shortened(known[id(term)], max_length) for term in terms]


def beginning(
    term: Term,
    precision: Precision,
    length: int,
    shown: Callable[[Term], Term] | None = None,
) -> str:
    """Return the first characters of a term's text on one line.

    The text is generated only as far as needed, so the cost does not depend on the term's size.
    Each node that is printed is replaced with `shown` of it, before its children are.

    Examples
    --------
    >>> from proxyuse.lang.parse import parse_term
    >>> beginning(parse_term("ite(age <= 30, 'no', 'yes')"), Precision.FLOAT64, 13)
    'ite(age <= 30'
    """
    return _first(term, precision, length, {}, shown)


def _first(
    term: Term,
    precision: Precision,
    length: int,
    known: Mapping[int, str],
    shown: Callable[[Term], Term] | None = None,
) -> str:
    """Return the start of a term's text; `known` has the texts of some nodes by `id()`."""
    out: list[str] = []
    remaining = length
    pending: list[Iterator[_Piece]] = [iter((_Slot(term),))]
    while pending and remaining > 0:
        piece = next(pending[-1], None)
        match piece:
            case None:
                pending.pop()
                continue
            case str():
                text = piece
            case _Break(flat):
                text = flat
            case _Slot(child, parentheses):
                if shown is not None:
                    child = shown(child)
                    parentheses = parentheses and binding(child) < ATOM
                text = "(" if parentheses else ""
                if parentheses:
                    pending.append(iter(")"))
                if id(child) in known:
                    pending.append(iter((known[id(child)],)))
                else:
                    pending.append(iter(_template(child, precision)))
            case _:
                assert_never(piece)
        out.append(text)
        remaining -= len(text)
    return "".join(out)[:length]


def _tests(root: Term) -> Iterator[Term]:
    """Yield every node object outside of packed trees, and the shapes of the tests inside them."""
    forests: dict[int, Forest] = {}
    for term in postorder(root, enter_packed=False):
        if isinstance(term, PackedIte):
            forests[id(term.forest)] = term.forest
        yield term
    for forest in forests.values():
        for shape in forest.tests.shapes:
            yield from postorder(shape)


def precision_of(term: Term) -> Precision:
    """Return float32 if all comparisons of numbers have that precision, otherwise float64."""
    used = {
        node.precision
        for node in _tests(term)
        if isinstance(node, Compare) and not compares_words(node)
    }
    return Precision.FLOAT32 if used == {Precision.FLOAT32} else Precision.FLOAT64
