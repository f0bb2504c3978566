"""Python source of a program: a module that stands alone.

A program's rows become calls of one function. Its tests become ``if`` statements, a tree inside
a sum becomes a function of its own, and the few operators that Python lacks come along as small
functions (`proxyuse.models.python_runtime`). Names of columns and categories are data from
elsewhere: they stand in the source as quoted text only.

Python nests statements, brackets and calls only so deep. Of the two branches of a test one is
indented and the other follows, so that a long chain stays flat; what is nested deeper than a
reader would follow is computed first and kept in the row under a number.
"""

from __future__ import annotations

import builtins
import keyword
import math
from dataclasses import replace
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
    Relation,
    Term,
    Var,
    Vector,
    children,
    compares_words,
    is_missing,
    postorder,
)
from proxyuse.models.python_fragments import (
    ADD,
    AND,
    ATOM,
    CHOICE,
    COMPARE,
    MUL,
    NOT,
    OR,
    SIGN,
    Piece,
    alike,
    constant_text,
    listed,
    made_of,
    truth_of,
)
from proxyuse.models.python_runtime import parts_text
from proxyuse.program import Program

MOST_NESTED, MOST_CALLS, MOST_INDENTED = 20, 50, 15
MOST_IN_LINE, MOST_OPERANDS = 60, 8

_UNLESS = {
    Relation.LT: Relation.GE,
    Relation.GE: Relation.LT,
    Relation.LE: Relation.GT,
    Relation.GT: Relation.LE,
}


def python_source(program: Program, name: str = "predict") -> str:
    """Write a program as a Python module that needs nothing but the standard library.

    Parameters
    ----------
    program : Program
    name : what the function is called. It takes one row, a mapping of the names of columns to
        values (numbers, words, true/false; None or NaN where missing), and says what
        `Program.predict` says of that row: a number, a truth value, a word, a tuple of numbers
        for a vector, None where the program says the missing value.

    Returns
    -------
    str
        The same for the same program. Numbers are computed by the same operations in the same
        order. Exponentials and logarithms are Python's, which may differ from NumPy's in the last
        bit, and so may what is computed from them.

    Examples
    --------
    >>> text = python_source(Program.parse("ite(age <= 30 and sex == 'F', 0, 1)"))
    >>> print(text[text.index("def predict") :])
    def predict(row):
        \"\"\"What the program says of a row, a mapping of column names to values.\"\"\"
        row = {name: _value(row[name]) for name in _COLUMNS}
        if row['age'] <= 30.0 and row['sex'] == 'F':
            return 0.0
        return 1.0
    <BLANKLINE>
    >>> module = {}
    >>> exec(text, module)
    >>> module["predict"]({"age": 25, "sex": "F"})
    0.0
    """
    if (
        not name.isidentifier()
        or keyword.iskeyword(name)
        or name.startswith("_")
        or name in ("math", "struct")
        or hasattr(builtins, name)
    ):
        raise LanguageError(
            f"a function cannot be called {name!r} here; take a name of letters and digits that "
            "Python does not use itself"
        )
    return _Writer().module(program, name)


class _Writer:
    """Writes one module."""

    def __init__(self) -> None:
        self.pieces: dict[int, Piece] = {}
        self.expressions: dict[int, Piece] = {}
        self.functions: list[str] = []
        self.constants: list[str] = []
        self.kept: list[str] = []
        self.used: set[str] = {"_value"}

    def module(self, program: Program, name: str) -> str:
        """The whole text."""
        for term in postorder(program.term):
            piece = self._branched(term) if isinstance(term, Ite) else self._of(term)
            self.pieces[id(term)] = piece
        body = self._body(program.term, final=True)
        main = [
            f"def {name}(row):",
            '    """What the program says of a row, a mapping of column names to values."""',
            "    row = {name: _value(row[name]) for name in _COLUMNS}",
            *(f"    {line}" for line in self.kept),
            *body,
        ]
        columns = listed("(", [constant_text(column) for column in program.variables], ",)")
        head = [
            f"# Source of a program of {program.size} nodes over {len(program.inputs)} inputs;",
            f"# the digest of its term is {program.term.digest.hex()}.",
            "# A missing value is NaN, of which every comparison is false: `x <= 3` stops it, and",
            "# `not x > 3` lets it pass.",
            "",
            "import math",
            *(["import struct"] if "_float32" in self.used else []),
            "",
            f"_COLUMNS = {columns if program.variables else '()'}",
            *self.constants,
        ]
        blocks = ["\n".join(head), *parts_text(self.used), *self.functions, "\n".join(main)]
        return "\n\n\n".join(blocks) + "\n"

    # Statements

    def _branched(self, term: Ite) -> Piece:
        """What is to be known of a test before its statements are written."""
        guard = self._used(term.guard)
        branches = [
            self.pieces[id(part)] if isinstance(part, Ite) else self._used(part)
            for part in (term.then, term.otherwise)
        ]
        then, otherwise = (
            piece.nested if isinstance(part, Ite) else 0
            for piece, part in zip(branches, (term.then, term.otherwise), strict=True)
        )
        return Piece(
            "",
            nested=min(_indented(then, otherwise)),
            calls=max(guard.calls, *(piece.calls for piece in branches)),
            width=max(piece.width for piece in branches),
            truth=all(piece.truth for piece in branches),
            missing=any(piece.missing for piece in branches),
        )

    def _body(self, root: Term, *, final: bool = False) -> list[str]:
        """The statements that return what a term says."""
        width = self.pieces[id(root)].width
        lines: list[str] = []
        stack = [(root, 1)]
        while stack:
            term, indent = stack.pop()
            space = "    " * indent
            if not isinstance(term, Ite):
                lines.append(f"{space}return {self._returned(term, width, final)}")
                continue
            guard = self._used(term.guard).as_truth
            then, otherwise = (
                self.pieces[id(part)].nested if isinstance(part, Ite) else 0
                for part in (term.then, term.otherwise)
            )
            first, second = _indented(then, otherwise)
            if first <= second:
                lines.append(f"{space}if {guard.text}:")
                stack += [(term.otherwise, indent), (term.then, indent + 1)]
            else:
                lines.append(f"{space}if not {guard.at(COMPARE)}:")
                stack += [(term.then, indent), (term.otherwise, indent + 1)]
        return lines

    def _returned(self, term: Term, width: int, final: bool) -> str:
        piece = self._used(term)
        if width != piece.width:  # a missing value among vectors
            return constant_text((math.nan,) * width)
        if not final or width or not piece.missing:
            return piece.text
        if isinstance(term, Const):
            return "None"
        return self._call("_said", piece).text

    # Expressions

    def _used(self, term: Term) -> Piece:
        """A term as an expression; what is nested too deep is computed before."""
        if id(term) not in self.expressions:
            piece = self._chosen(term) if isinstance(term, Ite) else self.pieces[id(term)]
            if piece.nested > MOST_NESTED or piece.calls > MOST_CALLS:
                place = len(self.kept) + 1
                self.kept.append(f"row[{place}] = {piece.text}")
                piece = replace(piece, text=f"row[{place}]", binds=ATOM, nested=0, calls=0)
            self.expressions[id(term)] = piece
        return self.expressions[id(term)]

    def _chosen(self, term: Ite) -> Piece:
        """A test inside an expression: in line if it is short, else a function of its own."""
        whole = self.pieces[id(term)]
        if not isinstance(term.then, Ite) and not isinstance(term.otherwise, Ite):
            then, otherwise = (
                self._returned(part, whole.width, False) for part in (term.then, term.otherwise)
            )
            guard = self._used(term.guard).as_truth
            text = f"{then} if {guard.at(OR)} else {otherwise}"
            if len(text) <= MOST_IN_LINE and "\n" not in text:
                parts = [self._used(part).nested for part in children(term)]
                return replace(whole, text=text, binds=CHOICE, nested=1 + max(parts))
        name = f"_part_{len(self.functions) + 1}"
        self.functions.append("\n".join([f"def {name}(row):", *self._body(term)]))
        return replace(whole, text=f"{name}(row)", nested=0, calls=whole.calls + 1)

    def _call(self, function: str, *arguments: Piece, more: str = "") -> Piece:
        self.used.add(function)
        inside = [piece.text for piece in arguments]
        return made_of(arguments, f"{function}({', '.join(inside)}{more})")

    def _over_list(self, function: str, parts: list[Piece]) -> Piece:
        self.used.add(function)
        return made_of(parts, listed(f"{function}([", [part.text for part in parts], "])"))

    def _constant(self, kind: str, text: str) -> str:
        """The name of a constant of the module."""
        name = f"_{kind}_{len(self.constants) + 1}"
        self.constants.append(f"{name} = {text}")
        return name

    def _of(self, term: Term) -> Piece:
        parts = [self._used(part) for part in children(term)]
        match term:
            case Const(value):
                signed = isinstance(value, float) and math.copysign(1.0, value) < 0
                return Piece(
                    constant_text(value),
                    SIGN if signed else ATOM,
                    width=len(value) if isinstance(value, tuple) else 0,
                    truth=isinstance(value, bool),
                    missing=is_missing(value),
                )
            case Var(name):
                return Piece(f"row[{constant_text(name)}]")
            case Add() | Mul():
                return self._arithmetic(term, parts)
            case And() | Or():
                word = " and " if isinstance(term, And) else " or "
                truths = [part.as_truth.at(NOT) for part in parts]
                return truth_of(parts, word.join(truths), AND if isinstance(term, And) else OR)
            case Not():
                return truth_of(parts, f"not {parts[0].as_truth.at(COMPARE)}", NOT)
            case Compare():
                return self._compared(term, parts)
            case Member(_, members, missing):
                shown = listed("{", [constant_text(value) for value in members], "}")
                if len(members) > MOST_OPERANDS:
                    shown = self._constant("SET", shown)
                if missing:
                    found = self._call("_in_or_missing", parts[0], more=f", {shown}")
                    return truth_of(parts, found.text, ATOM)
                return truth_of(parts, f"{parts[0].at(ADD)} in {shown}", COMPARE)
            case Vector():
                entries = [part.text for part in parts]
                return made_of(parts, listed("(", entries, ",)"), width=len(parts), missing=False)
            case Argmax(_, labels):
                place = self._call("_argmax", parts[0])
                if not labels:
                    return replace(place, text=f"float({place.text})", missing=False)
                texts, width = alike(labels)
                return replace(
                    place,
                    text=listed("(", texts, ",)") + f"[{place.text}]",
                    width=width,
                    missing=not width and any(map(is_missing, labels)),
                )
            case Lookup():
                return self._looked_up(term, parts)
            case Call(function, _):
                return self._called(function, parts)
            case Ite():
                raise AssertionError("a test is made of statements")
            case _:
                assert_never(term)

    def _arithmetic(self, term: Add | Mul, parts: list[Piece]) -> Piece:
        adds = isinstance(term, Add)
        width = max(part.width for part in parts)
        if width:
            made = self._over_list("_vector_sum" if adds else "_vector_product", parts)
            return replace(made, width=width)
        if len(parts) > MOST_OPERANDS:
            return self._over_list("_sum" if adds else "_product", parts)
        if adds:
            return made_of(parts, " + ".join(part.at(MUL) for part in parts), ADD)
        return made_of(parts, " * ".join(part.at(SIGN) for part in parts), MUL)

    def _compared(self, term: Compare, parts: list[Piece]) -> Piece:
        """A comparison; Python's are false of NaN, but for ``!=``, which is true."""
        left, right = parts
        if term.precision is Precision.FLOAT32 and not compares_words(term):
            left = self._call("_float32", left)

        def pair(relation: Relation) -> str:
            return f"{left.at(ADD)} {relation.value} {right.at(ADD)}"

        match term.relation, term.missing:
            case (Relation.NE, False):
                return truth_of(parts, self._call("_differ", left, right).text, ATOM)
            case (Relation.EQ, True):
                return truth_of(parts, f"not {self._call('_differ', left, right).text}", NOT)
            case (Relation.NE, True) | (_, False):
                return truth_of(parts, pair(term.relation), COMPARE)
            case (relation, _):
                return truth_of(parts, "not " + pair(_UNLESS[relation]), NOT)

    def _looked_up(self, term: Lookup, parts: list[Piece]) -> Piece:
        values = [value for _, value in term.entries]
        (*texts, default), width = alike((*values, term.default))
        said = list(zip((key for key, _ in term.entries), texts, strict=True))
        missing = next((text for key, text in said if is_missing(key)), default)
        pairs = [f"{constant_text(key)}: {text}" for key, text in said if not is_missing(key)]
        table = self._constant("TABLE", listed("{", pairs, "}"))
        found = self._call("_looked_up", parts[0], more=f", {table}, {default}, {missing}")
        lost = not width and any(map(is_missing, (*values, term.default)))
        return replace(found, width=width, missing=lost)

    def _called(self, function: Function, parts: list[Piece]) -> Piece:
        if function is Function.ABS:
            return made_of(parts, f"abs({parts[0].text})")
        if function is Function.DIV and parts[0].width:
            return replace(self._call("_vector_div", *parts), width=parts[0].width)
        width = parts[0].width if function is Function.SOFTMAX else 0
        return replace(self._call(f"_{function.value}", *parts), width=width)


def _indented(then: int, otherwise: int) -> tuple[int, int]:
    """How far a test is indented if its first branch is, and if its second is.

    The first is, unless that goes too far: then the one with less inside it, and so it never
    goes far, for each further step takes twice as many tests.
    """
    first, second = max(1 + then, otherwise), max(then, 1 + otherwise)
    return (first, max(first, second)) if first <= MOST_INDENTED else (first, second)
