"""Terms as text: infix, the fewest parentheses, indented where a line would be too long.

Printing lays a term out by one template a node; the template's breaks are spaces while the
term fits on the line and new lines otherwise. What is printed parses back to an equal term.
Cost: linear in the length of the text. No recursion.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice
from typing import assert_never

from proxyuse.errors import LanguageError
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

LINE_WIDTH = 88
MOST_POINTS = 50_000_000
DEEPEST_INDENT = 40
MOST_SHORT = 200  # characters of a text that is kept whole

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
        pieces = list(_template(term, precision))
        templates[id(term)] = pieces
        widths[id(term)] = _width(pieces, widths)
    return templates, widths


def _width(pieces: Iterable[_Piece], widths: Mapping[int, int]) -> int:
    """How many characters a template takes on one line, from those of its children."""
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


def _template(term: Term, precision: Precision) -> Iterable[_Piece]:
    """How a term is written, piece by piece; what is wide is made as it is asked for."""
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
    """The operands after the first with a minus sign where they start with a negative number."""
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
    >>> brief(parse_term("ite(age <= 30, 'no', 'yes')"), Precision.FLOAT64, 16)
    'ite(age <= 30...'
    """
    return shortened(beginning(term, precision, most + 1), most)


def briefs(terms: Sequence[Term], precision: Precision, most: int = 60) -> list[str]:
    """What `brief` says of each of many terms; what is said of a term is used for those around it.

    Examples
    --------
    >>> from proxyuse.lang.parse import parse_term
    >>> briefs([parse_term("ite(age <= 30, 'no', 'yes')")], Precision.FLOAT64, 16)
    ['ite(age <= 30...']
    """
    known: dict[int, str] = {}
    for term in sorted(terms, key=lambda term: term.size):
        known[id(term)] = _first(term, precision, most + 1, known)
    return [shortened(known[id(term)], most) for term in terms]


def beginning(term: Term, precision: Precision, most: int) -> str:
    """The first characters of a term's text on one line.

    Written from the left and only as far as asked, so it costs the same however large the term.

    Examples
    --------
    >>> from proxyuse.lang.parse import parse_term
    >>> beginning(parse_term("ite(age <= 30, 'no', 'yes')"), Precision.FLOAT64, 13)
    'ite(age <= 30'
    """
    return _first(term, precision, most, {})


def _first(term: Term, precision: Precision, most: int, known: Mapping[int, str]) -> str:
    """The beginning of a term's text; that of some nodes is `known`, by their identity."""
    out: list[str] = []
    room = most
    waiting: list[Iterator[_Piece]] = [iter((_Slot(term),))]
    while waiting and room > 0:
        piece = next(waiting[-1], None)
        match piece:
            case None:
                waiting.pop()
                continue
            case str():
                text = piece
            case _Break(flat):
                text = flat
            case _Slot(child, parentheses):
                text = "(" if parentheses else ""
                if parentheses:
                    waiting.append(iter(")"))
                if id(child) in known:
                    waiting.append(iter((known[id(child)],)))
                else:
                    waiting.append(iter(_template(child, precision)))
            case _:
                assert_never(piece)
        out.append(text)
        room -= len(text)
    return "".join(out)[:most]


class Texts:
    """Beginnings and lengths of many terms that share parts; each node object is looked at once.

    Examples
    --------
    >>> from proxyuse.lang.parse import parse_term
    >>> term, texts = parse_term("ite(age <= 30, 'no', 'yes')"), Texts(Precision.FLOAT64)
    >>> texts.length(term), len(str(term)), texts.beginning(term, 13)
    (27, 27, 'ite(age <= 30')
    """

    def __init__(self, precision: Precision) -> None:
        self._precision = precision
        self._widths: dict[int, int] = {}
        self._short: dict[int, str] = {}  # whole texts
        self._kept: list[Term] = []  # while a node is alive, no other has its `id`

    def length(self, term: Term) -> int:
        """How many characters a term has on one line."""
        widths = self._widths
        stack = [] if id(term) in widths else [term]
        while stack:
            node = stack[-1]
            pending = [part for part in children(node) if id(part) not in widths]
            if pending:
                stack += pending
                continue
            stack.pop()
            if id(node) not in widths:
                self._add(node)
        return widths[id(term)]

    def beginning(self, term: Term, most: int) -> str:
        """The same as the function of this name."""
        self.length(term)
        return _first(term, self._precision, most, self._short)

    def _add(self, node: Term) -> None:
        """A node whose parts are known."""
        pieces = list(_template(node, self._precision))
        width = self._widths[id(node)] = _width(pieces, self._widths)
        if width <= MOST_SHORT:
            self._short[id(node)] = "".join(map(self._whole, pieces))
        self._kept.append(node)

    def _whole(self, piece: _Piece) -> str:
        match piece:
            case str():
                return piece
            case _Break(flat):
                return flat
            case _Slot(child, parentheses):
                text = self._short[id(child)]
                return f"({text})" if parentheses else text
            case _:
                assert_never(piece)


def _tests(root: Term) -> Iterator[Term]:
    """Every node object, with the shapes of tests for what is in packed trees."""
    forests: dict[int, Forest] = {}
    for term in postorder(root, enter_packed=False):
        if isinstance(term, PackedIte):
            forests[id(term.forest)] = term.forest
        yield term
    for forest in forests.values():
        for shape in forest.tests.shapes:
            yield from postorder(shape)


def precision_of(term: Term) -> Precision:
    """The precision to print by: float32 if every comparison of numbers has it, else float64."""
    used = {
        node.precision
        for node in _tests(term)
        if isinstance(node, Compare) and not compares_words(node)
    }
    return Precision.FLOAT32 if used == {Precision.FLOAT32} else Precision.FLOAT64
