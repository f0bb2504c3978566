"""Python source of a program: a standalone module.

The module predicts one row per call. Tests become ``if`` statements, each tree in a sum becomes a
function, and operators that Python lacks come along as small functions
(`proxyuse.models.python_runtime`). Names of columns and categories are untrusted data, so they
appear in the source only as quoted text.

Python limits how deep statements, brackets and calls can nest. Of the two branches of a test, one
is indented and the other follows, so a long chain stays flat. Expressions that are nested too
deeply are computed first and stored in the row under a number.
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
    composed,
    constant_text,
    listed,
    literals,
    truth_of,
)
from proxyuse.models.python_runtime import function_sources
from proxyuse.program import Program

MAX_NESTED, MAX_CALLS, MAX_INDENTED = 20, 50, 15
MAX_INLINE, MAX_OPERANDS = 60, 8

_OPPOSITE = {
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
    name : the name of the function. It takes one row, a mapping of column names to values
        (numbers, strings, booleans; None or NaN for a missing value). It returns the prediction of
        `Program.predict` for that row: a number, a boolean, a string, a tuple of numbers for a
        vector, or None for the missing value.

    Returns
    -------
    str
        Equal programs have equal source. Numbers are computed by the same operations in the same
        order. Exponentials and logarithms come from Python, so they may differ from NumPy's in the
        last bit.

    Examples
    --------
    >>> text = python_source(Program.parse("ite(age <= 30 and sex == 'F', 0, 1)"))
    >>> print(text[text.index("def predict") :])
    def predict(row):
        \"\"\"The prediction for one row, a mapping of column names to values.\"\"\"
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
            f"a function cannot be called {name!r}; use an identifier that is not a Python keyword "
            "or built-in and does not start with an underscore"
        )
    return _Writer().module(program, name)


class _Writer:
    """Writes the source of one module."""

    def __init__(self) -> None:
        self.pieces: dict[int, Piece] = {}
        self.expressions: dict[int, Piece] = {}
        self.functions: list[str] = []
        self.constants: list[str] = []
        self.stored: list[str] = []
        self.used: set[str] = {"_value"}

    def module(self, program: Program, name: str) -> str:
        """The source of the module."""
        for term in postorder(program.term):
            piece = self._branched(term) if isinstance(term, Ite) else self._expression(term)
            self.pieces[id(term)] = piece
        body = self._body(program.term, final=True)
        main = [
            f"def {name}(row):",
            '    """The prediction for one row, a mapping of column names to values."""',
            "    row = {name: _value(row[name]) for name in _COLUMNS}",
            *(f"    {line}" for line in self.stored),
            *body,
        ]
        columns = listed("(", [constant_text(column) for column in program.variables], ",)")
        head = [
            f"# Source of a program of {program.size} nodes over {len(program.inputs)} inputs;",
            f"# the digest of its term is {program.term.digest.hex()}.",
            "# A missing value is NaN, for which every comparison is false: `x <= 3` is false and",
            "# `not x > 3` is true.",
            "",
            "import math",
            *(["import struct"] if "_float32" in self.used else []),
            "",
            f"_COLUMNS = {columns if program.variables else '()'}",
            *self.constants,
        ]
        blocks = ["\n".join(head), *function_sources(self.used), *self.functions, "\n".join(main)]
        return "\n\n\n".join(blocks) + "\n"

    # Statements

    def _branched(self, term: Ite) -> Piece:
        """The properties of a test, known before its statements are written."""
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
        """The statements that return the value of a term."""
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
        return self._call("_output", piece).text

    # Expressions

    def _used(self, term: Term) -> Piece:
        """A term as an expression; one that is nested too deeply is computed first."""
        if id(term) not in self.expressions:
            piece = self._chosen(term) if isinstance(term, Ite) else self.pieces[id(term)]
            if piece.nested > MAX_NESTED or piece.calls > MAX_CALLS:
                key = len(self.stored) + 1
                self.stored.append(f"row[{key}] = {piece.text}")
                piece = replace(piece, text=f"row[{key}]", binds=ATOM, nested=0, calls=0)
            self.expressions[id(term)] = piece
        return self.expressions[id(term)]

    def _chosen(self, term: Ite) -> Piece:
        """A test inside an expression: inline if it is short, else a function."""
        whole = self.pieces[id(term)]
        if not isinstance(term.then, Ite) and not isinstance(term.otherwise, Ite):
            then, otherwise = (
                self._returned(part, whole.width, False) for part in (term.then, term.otherwise)
            )
            guard = self._used(term.guard).as_truth
            text = f"{then} if {guard.at(OR)} else {otherwise}"
            if len(text) <= MAX_INLINE and "\n" not in text:
                parts = [self._used(part).nested for part in children(term)]
                return replace(whole, text=text, binds=CHOICE, nested=1 + max(parts))
        name = f"_part_{len(self.functions) + 1}"
        self.functions.append("\n".join([f"def {name}(row):", *self._body(term)]))
        return replace(whole, text=f"{name}(row)", nested=0, calls=whole.calls + 1)

    def _call(self, function: str, *arguments: Piece, more: str = "") -> Piece:
        self.used.add(function)
        inside = [piece.text for piece in arguments]
        return composed(arguments, f"{function}({', '.join(inside)}{more})")

    def _over_list(self, function: str, parts: list[Piece]) -> Piece:
        self.used.add(function)
        return composed(parts, listed(f"{function}([", [part.text for part in parts], "])"))

    def _constant(self, kind: str, text: str) -> str:
        """Add a constant to the module and return its name."""
        name = f"_{kind}_{len(self.constants) + 1}"
        self.constants.append(f"{name} = {text}")
        return name

    def _expression(self, term: Term) -> Piece:
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
                members_text = listed("{", [constant_text(value) for value in members], "}")
                if len(members) > MAX_OPERANDS:
                    members_text = self._constant("SET", members_text)
                if missing:
                    test = self._call("_in_or_missing", parts[0], more=f", {members_text}")
                    return truth_of(parts, test.text, ATOM)
                return truth_of(parts, f"{parts[0].at(ADD)} in {members_text}", COMPARE)
            case Vector():
                entries = [part.text for part in parts]
                return composed(parts, listed("(", entries, ",)"), width=len(parts), missing=False)
            case Argmax(_, labels):
                index = self._call("_argmax", parts[0])
                if not labels:
                    return replace(index, text=f"float({index.text})", missing=False)
                texts, width = literals(labels)
                return replace(
                    index,
                    text=listed("(", texts, ",)") + f"[{index.text}]",
                    width=width,
                    missing=not width and any(map(is_missing, labels)),
                )
            case Lookup():
                return self._lookup(term, parts)
            case Call(function, _):
                return self._called(function, parts)
            case Ite():
                raise AssertionError("tests are written as statements")
            case _:
                assert_never(term)

    def _arithmetic(self, term: Add | Mul, parts: list[Piece]) -> Piece:
        adds = isinstance(term, Add)
        width = max(part.width for part in parts)
        if width:
            vector = self._over_list("_vector_sum" if adds else "_vector_product", parts)
            return replace(vector, width=width)
        if len(parts) > MAX_OPERANDS:
            return self._over_list("_sum" if adds else "_product", parts)
        if adds:
            return composed(parts, " + ".join(part.at(MUL) for part in parts), ADD)
        return composed(parts, " * ".join(part.at(SIGN) for part in parts), MUL)

    def _compared(self, term: Compare, parts: list[Piece]) -> Piece:
        """A comparison. For NaN, Python's ``!=`` is true and all others are false."""
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
                return truth_of(parts, "not " + pair(_OPPOSITE[relation]), NOT)

    def _lookup(self, term: Lookup, parts: list[Piece]) -> Piece:
        values = [value for _, value in term.entries]
        (*texts, default), width = literals((*values, term.default))
        entries = list(zip((key for key, _ in term.entries), texts, strict=True))
        missing = next((text for key, text in entries if is_missing(key)), default)
        pairs = [f"{constant_text(key)}: {text}" for key, text in entries if not is_missing(key)]
        table = self._constant("TABLE", listed("{", pairs, "}"))
        value = self._call("_lookup", parts[0], more=f", {table}, {default}, {missing}")
        may_miss = not width and any(map(is_missing, (*values, term.default)))
        return replace(value, width=width, missing=may_miss)

    def _called(self, function: Function, parts: list[Piece]) -> Piece:
        if function is Function.ABS:
            return composed(parts, f"abs({parts[0].text})")
        if function is Function.DIV and parts[0].width:
            return replace(self._call("_vector_div", *parts), width=parts[0].width)
        width = parts[0].width if function is Function.SOFTMAX else 0
        return replace(self._call(f"_{function.value}", *parts), width=width)


def _indented(then: int, otherwise: int) -> tuple[int, int]:
    """The depth of indentation if the first branch is indented, and if the second is.

    The first branch is indented, up to a limit. Beyond it, the shallower branch is. The depth stays
    small then, because each further level needs twice as many tests.
    """
    first, second = max(1 + then, otherwise), max(then, 1 + otherwise)
    return (first, max(first, second)) if first <= MAX_INDENTED else (first, second)
