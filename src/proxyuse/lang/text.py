"""Terms as text: infix, the fewest parentheses, indented where a line would be too long.

Printing lays a term out by one template a node; the template's breaks are spaces while the
term fits on the line and new lines otherwise. What is printed parses back to an equal term.
Cost: linear in the length of the text. No recursion.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from itertools import accumulate
from typing import assert_never

from proxyuse.errors import LanguageError
from proxyuse.lang.build import rebuild
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

LINE_WIDTH = 88
MOST_POINTS = 50_000_000
DEEPEST_INDENT = 40

KEYWORDS = frozenset(
    ["ite", "and", "or", "not", "in", "true", "false", "missing", "inf", "argmax", "table",
     "lambda", *Function, *Precision]
)  # fmt: skip

# How tightly an operator binds; a child that binds less tightly stands in parentheses.
OR, AND, NOT, COMPARE, ADD, MUL, ATOM = range(7)

_NAME = re.compile(r"[^\W\d]\w*\Z")


@dataclass(frozen=True, slots=True)
class _Break:
    """A space (or nothing) on one line; a new line, one level in or out, when broken."""

    flat: str = " "
    shift: int = 0


@dataclass(frozen=True, slots=True)
class _Slot:
    """A child, in parentheses or not."""

    term: Term
    parentheses: bool = False


_Piece = str | _Break | _Slot

_OPEN = _Break("", +1)
_CLOSE = _Break("", -1)
_LINE = _Break(" ")


def name_text(name: str) -> str:
    """How a variable is written: bare if it is a plain word, else in backquotes.

    Examples
    --------
    >>> name_text("age"), name_text("capital-gain"), name_text("in")
    ('age', '`capital-gain`', '`in`')
    """
    return name if _NAME.match(name) and name not in KEYWORDS else quoted(name, "`")


def term_text(term: Term, precision: Precision = Precision.FLOAT64, width: int = LINE_WIDTH) -> str:
    """Print a term; only comparisons in another than the given precision say theirs.

    Examples
    --------
    >>> from proxyuse.lang import parse_term
    >>> term_text(parse_term("ite(not(age>30), 1, -2*x + y)"))
    'ite(not age > 30, 1, -2 * x + y)'
    """
    if term.points > MOST_POINTS:
        raise LanguageError(
            f"a term with {term.points} positions is too large to print: shared sub-terms make "
            "it far larger than it looks"
        )
    templates, widths = _laid_out(term, precision)
    out: list[str] = []
    column = 0
    # Pieces still to be printed, each with the level of a line that starts there and whether
    # the term it belongs to is broken over lines.
    stack: list[tuple[_Piece, int, bool]] = [(_Slot(term), 0, False)]
    while stack:
        piece, level, broken = stack.pop()
        match piece:
            case str():
                out.append(piece)
                column += len(piece)
            case _Break(flat):
                if broken:
                    column = 2 * min(level, DEEPEST_INDENT)
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
    """The template and the one-line width of every node below `root`."""
    templates: dict[int, list[_Piece]] = {}
    widths: dict[int, int] = {}
    for term in postorder(root):
        pieces = _template(term, precision)
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
        templates[id(term)] = pieces
        widths[id(term)] = total
    return templates, widths


def binding(term: Term) -> int:
    """How tightly a term's outermost operator binds."""
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


def _template(term: Term, precision: Precision) -> list[_Piece]:
    match term:
        case Const(value):
            return [value_text(value)]
        case Var(name):
            return [name_text(name)]
        case Add(operands):
            return _sum(operands)
        case Mul() | And() | Or():
            pieces: list[_Piece] = [_slot(term.operands[0], binding(term) + 1)]
            for operand in term.operands[1:]:
                pieces += [_LINE, f"{term.tag} ", _slot(operand, binding(term) + 1)]
            return pieces
        case Not(operand):
            return ["not ", _slot(operand, NOT)]
        case Compare(relation, left, right, own_precision, missing):
            sign = f" {relation}{'?' if missing else ''} "
            if own_precision is (Precision.FLOAT64 if compares_words(term) else precision):
                return [_slot(left, ADD), sign, _slot(right, ADD)]
            return [f"{own_precision}(", _Slot(left), ")", sign, _slot(right, ADD)]
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


def _call(head: str, arguments: tuple[Term, ...], tail: str) -> list[_Piece]:
    pieces: list[_Piece] = [head, _OPEN]
    for number, argument in enumerate(arguments):
        pieces += [",", _LINE] if number else []
        pieces.append(_Slot(argument))
    return [*pieces, _CLOSE, tail]


def _sum(operands: tuple[Term, ...]) -> list[_Piece]:
    """The operands after the first with a minus sign where they start with a negative number."""
    pieces: list[_Piece] = [_slot(operands[0], MUL)]
    for operand in operands[1:]:
        pieces.append(_LINE)
        match operand:
            case Const(float() as value) if value < 0:
                pieces.append(f"- {value_text(-value)}")
            case Mul((Const(-1.0), factor)) if not isinstance(factor, Const):
                pieces += ["- ", _slot(factor, MUL)]
            case Mul((Const(float() as value), *factors)) if value < 0:
                pieces.append(f"- {value_text(-value)}")
                for factor in factors:
                    pieces += [" * ", _slot(factor, ATOM)]
            case _:
                pieces += ["+ ", _slot(operand, MUL)]
    return pieces


def shortened(text: str, most: int = 60) -> str:
    """A text that may be long, for a message or a note."""
    return text if len(text) <= most else text[: most - 3] + "..."


def brief(term: Term, precision: Precision, most: int = 60) -> str:
    """The beginning of a term's text, for a message or a note; cheap however large the term.

    Examples
    --------
    >>> from proxyuse.lang.parse import parse_term
    >>> brief(parse_term("ite(age <= 30, 'no', 'yes')"), Precision.FLOAT64)
    "ite(age <= 30, 'no', 'yes')"
    """
    pruned, _ = _beginning(term, 64)
    return shortened(term_text(pruned, precision, width=sys.maxsize), most)


def _beginning(term: Term, room: int) -> tuple[Term, int]:
    """A term of which only the first nodes are left, and how many more there was room for."""
    if room <= 0:
        return Var("..."), 0
    parts = []
    room -= 1
    for part in children(term):
        kept, room = _beginning(part, room)
        parts.append(kept)
    return rebuild(term, tuple(parts)), room


def precision_of(term: Term) -> Precision:
    """The precision to print by: float32 if every comparison of numbers has it, else float64."""
    used = {
        node.precision
        for node in postorder(term)
        if isinstance(node, Compare) and not compares_words(node)
    }
    return Precision.FLOAT32 if used == {Precision.FLOAT32} else Precision.FLOAT64
