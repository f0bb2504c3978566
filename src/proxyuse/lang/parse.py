"""The parser: text to terms, by precedence climbing over an explicit stack.

The grammar, loosest binding first::

    program  ::= ["lambda" name ("," name)* "."] ["float32" ":"] term
    term     ::= term "or" term | term "and" term | "not" term
               | term relation ["?"] term | term "in" ["?"] "{" value ("," value)* "}"
               | term ("+" | "-") term | term "*" term | "-" term | atom
    atom     ::= number | string | name | "true" | "false" | "missing" | "inf" | "(" term ")"
               | "ite(" term "," term "," term ")" | "[" term ("," term)* "]"
               | "argmax(" term ("," value)* ")" | function "(" term ("," term)* ")"
               | "table(" term "," "{" value ":" value ("," value ":" value)* "}" "," value ")"
    relation ::= "==" | "!=" | "<" | "<=" | ">" | ">="

``float32(x) <= 3`` is a comparison that rounds its left side; ``float32(x)`` alone is not a term.
After the header ``float32:`` every comparison rounds, except those with a string and those written
``float64(x) <= 3``. A ``?`` after a relation or ``in`` means "true if a value is missing".
``a - b`` is ``a + -1 * b``. Names that are not plain words are written in backquotes, strings in
single or double quotes.

Each grammar rule is a generator that yields the rules it needs, so nesting uses memory and not the
call stack. Cost: linear in the length of the text.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any

from proxyuse.errors import LanguageError, ParseError
from proxyuse.input_limits import PROGRAM_BYTES, PROGRAM_WORDS
from proxyuse.lang.build import add, conj, disj, exact_float, lookup, member, mul, vector
from proxyuse.lang.nodes import (
    ARITY,
    FALSE,
    MISSING,
    TRUE,
    Argmax,
    Call,
    Compare,
    Const,
    Function,
    Ite,
    Mul,
    Not,
    Precision,
    Relation,
    Term,
    Value,
    Var,
    compares_words,
)
from proxyuse.lang.text import ADD, AND, COMPARE, KEYWORDS, MUL, NOT, OR

_TOKEN = re.compile(
    r"""(?P<space>\s+)
      | (?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)
      | (?P<word>[^\W\d]\w*)
      | (?P<quoted>`(?:[^`\\]|\\.)*`)
      | (?P<string>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")
      | (?P<sign><=|>=|==|!=|[-+*<>()\[\]{},:.?])
    """,
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\(?:u\{([0-9a-fA-F]+)\}|(.))", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "'": "'", '"': '"', "`": "`", "\\": "\\"}
_INFIX = {"or": OR, "and": AND, "in": COMPARE, "+": ADD, "-": ADD, "*": MUL} | dict.fromkeys(
    Relation, COMPARE
)

_Rule = Generator["_Rule", Any, Any]


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    start: int


@dataclass(frozen=True, slots=True)
class Parsed:
    """A parsed program: the term, and the inputs if there is a lambda."""

    term: Term
    inputs: tuple[str, ...] | None


def parse_program(text: str) -> Parsed:
    """Parse a program: an optional ``lambda ... .``, an optional ``float32:``, and a term."""
    parser = _Parser(text)
    inputs = parser.header()
    return Parsed(parser.whole(), inputs)


def parse_term(text: str) -> Term:
    """Parse a term.

    Examples
    --------
    >>> parse_term("x2 + x1 + 3") == parse_term("3 + (x1 + x2)")
    True
    >>> parse_term("ite(age <= 30, 1)")
    Traceback (most recent call last):
    proxyuse.errors.ParseError: line 1, column 17: expected ',', got ')'
    """
    return _Parser(text).whole()


@dataclass(frozen=True, slots=True)
class _Chain:
    """An operator whose operands may be chains of the same operator, in parentheses.

    Merging the operands once, when the outermost chain is complete, takes linear time.
    """

    binding: int
    parts: list[Term | _Chain]

    def append(self, part: Term | _Chain) -> None:
        same = isinstance(part, _Chain) and part.binding == self.binding
        self.parts.append(part if same else _closed(part))


def _closed(part: Term | _Chain) -> Term:
    """Return the term of a chain."""
    if not isinstance(part, _Chain):
        return part
    operands: list[Term] = []
    stack: list[Term | _Chain] = [part]
    while stack:
        last = stack.pop()
        if isinstance(last, _Chain):
            stack.extend(reversed(last.parts))
        else:
            operands.append(last)
    return {OR: disj, AND: conj, ADD: add, MUL: mul}[part.binding](*operands)


class _Parser:
    def __init__(self, text: str) -> None:
        if not isinstance(text, str):
            raise LanguageError(f"a program must be a string, not {type(text).__name__}")
        PROGRAM_BYTES.check(len(text), "the program")
        self.text = text.removeprefix("\ufeff")
        self.tokens = self._tokens()
        self.at = 0
        self.precision = Precision.FLOAT64

    def _tokens(self) -> list[_Token]:
        tokens: list[_Token] = []
        start = 0
        while start < len(self.text):
            match = _TOKEN.match(self.text, start)
            if match is None:
                char = self.text[start]
                if char in "'\"`":
                    raise self._error_at(start, f"a closing {char}", "the end of the text")
                raise self._error_at(start, "a term or an operator", f"'{char}'")
            assert match.lastgroup is not None
            if match.lastgroup != "space":
                tokens.append(_Token(match.lastgroup, match.group(), start))
                if len(tokens) > PROGRAM_WORDS.value:
                    raise PROGRAM_WORDS.exceeded(len(tokens), "the program", at_least=True)
            start = match.end()
        tokens.append(_Token("end", "", len(self.text)))
        return tokens

    def _error_at(self, start: int, expected: str, got: str) -> ParseError:
        line = self.text.count("\n", 0, start) + 1
        column = start - (self.text.rfind("\n", 0, start) + 1) + 1
        return ParseError(line, column, expected, got)

    def _unexpected(self, expected: str) -> ParseError:
        token = self.tokens[self.at]
        shown = token.text if len(token.text) <= 40 else token.text[:37] + "..."
        got = "the end of the text" if token.kind == "end" else f"'{shown}'"
        return self._error_at(token.start, expected, got)

    def _peek(self, text: str) -> bool:
        token = self.tokens[self.at]
        return token.text == text and token.kind in ("sign", "word")

    def _accept(self, text: str) -> bool:
        accepted = self._peek(text)
        self.at += accepted
        return accepted

    def _expect(self, text: str) -> None:
        if not self._accept(text):
            raise self._unexpected(f"'{text}'")

    def header(self) -> tuple[str, ...] | None:
        inputs: list[str] | None = None
        if self._accept("lambda"):
            inputs = []
            seen: set[str] = set()
            while not self._accept("."):
                if inputs:
                    if not self._peek(","):
                        raise self._unexpected("',' or '.'")
                    self.at += 1
                inputs.append(self._name())
                if inputs[-1] in seen:
                    self.at -= 1
                    raise self._unexpected("an input that is not listed yet")
                seen.add(inputs[-1])
        after = self.tokens[self.at + 1 : self.at + 2]
        if after and after[0].text == ":" and self._accept("float32"):
            self._expect(":")
            self.precision = Precision.FLOAT32
        return None if inputs is None else tuple(inputs)

    def _name(self) -> str:
        token = self.tokens[self.at]
        if token.kind == "quoted" or (token.kind == "word" and token.text not in KEYWORDS):
            self.at += 1
            return self._unquoted(token) if token.kind == "quoted" else token.text
        raise self._unexpected("a name")

    def _unquoted(self, token: _Token) -> str:
        def replace(match: re.Match[str]) -> str:
            if match[1] is None:
                if match[2] not in _ESCAPES:
                    raise self._error_at(
                        token.start, "an escape such as \\n, \\' or \\u{e9}", f"'\\{match[2]}'"
                    )
                return _ESCAPES[match[2]]
            code = int(match[1], 16)
            if code > 0x10FFFF:
                raise self._error_at(token.start, "a Unicode character", f"'\\u{{{match[1]}}}'")
            return chr(code)

        return _ESCAPE.sub(replace, token.text[1:-1])

    def whole(self) -> Term:
        stack: list[_Rule] = [self._term(OR)]
        result: Any = None
        while stack:
            try:
                stack.append(stack[-1].send(result))
                result = None
            except StopIteration as stop:
                stack.pop()
                result = stop.value
        if self.tokens[self.at].kind != "end":
            raise self._unexpected("an operator or the end of the text")
        term: Term = result
        return term

    def _term(self, loosest: int) -> _Rule:
        """Parse a term whose outermost operator binds at least as tightly as `loosest`."""
        return _closed((yield self._open_term(loosest)))

    def _open_term(self, loosest: int) -> _Rule:
        """Do the same, but return an operator with operands as a `_Chain`."""
        compared = loosest <= COMPARE and self.tokens[self.at].text in set(Precision)
        left: Term | _Chain = yield (self._rounded() if compared else self._operand())
        while True:
            token = self.tokens[self.at]
            binding = _INFIX.get(token.text, -1) if token.kind in ("sign", "word") else -1
            if binding < loosest or binding < OR or (binding == COMPARE and compared):
                return left
            self.at += 1
            if binding == COMPARE:
                left = yield self._comparison(token.text, _closed(left))
                compared = True
                continue
            compared = False
            chain = _Chain(binding, [])
            chain.append(left)
            self.at -= 1
            while self._continues(token.text, binding):
                minus = self.tokens[self.at].text == "-"
                self.at += 1
                right: Term | _Chain = yield self._open_term(binding + 1)
                chain.append(negate(_closed(right)) if minus else right)
            left = chain

    def _continues(self, operator: str, binding: int) -> bool:
        return any(self._peek(sign) for sign in (("+", "-") if binding == ADD else (operator,)))

    def _comparison(self, sign: str, left: Term, marked: Precision | None = None) -> _Rule:
        missing = self._accept("?")
        if sign == "in":
            start = self.tokens[self.at].start
            self._expect("{")
            members = [self._value()]
            while self._accept(","):
                members.append(self._value())
            self._expect("}")
            return self._built(start, lambda: member(left, members, missing))
        right: Term = yield self._term(COMPARE + 1)
        comparison = Compare(Relation(sign), left, right, marked or self.precision, missing)
        if marked is None and compares_words(comparison):
            return Compare(comparison.relation, left, right, Precision.FLOAT64, missing)
        return comparison

    def _operand(self) -> _Rule:
        token = self.tokens[self.at]
        if token.kind == "number":
            self.at += 1
            return Const(self._float(token))
        if token.kind == "string":
            self.at += 1
            return Const(self._unquoted(token))
        if token.kind == "quoted":
            return Var(self._name())
        if token.kind == "word":
            return (yield self._word(token.text))
        if self._accept("-"):
            return negate((yield self._term(MUL + 1)))
        if self._accept("("):
            inside = yield self._open_term(OR)
            self._expect(")")
            return inside
        if self._accept("["):
            start = self.tokens[self.at - 1].start
            items = yield self._terms("]")
            return self._built(start, lambda: vector(*items))
        raise self._unexpected("a term")

    def _word(self, word: str) -> _Rule:
        literals = {"true": TRUE, "false": FALSE, "missing": MISSING, "inf": Const(float("inf"))}
        if word not in KEYWORDS:
            return Var(self._name())
        start = self.tokens[self.at].start
        if word in ("and", "or", "in", "lambda", *Precision):
            raise self._unexpected("a term")
        self.at += 1
        if word in literals:
            return literals[word]
        if word == "not":
            return Not((yield self._term(NOT)))
        self._expect("(")
        if word == "ite":
            guard = yield self._term(OR)
            self._expect(",")
            then = yield self._term(OR)
            self._expect(",")
            otherwise = yield self._term(OR)
            self._expect(")")
            return Ite(guard, then, otherwise)
        if word == "argmax":
            return (yield self._argmax())
        if word == "table":
            return (yield self._table(start))
        arguments = yield self._terms(")")
        function = Function(word)
        arity = ARITY[function]
        if len(arguments) != arity:
            expected = f"{arity} argument{'s' * (arity > 1)} for {word}"
            raise self._error_at(start, expected, f"{len(arguments)}")
        return Call(function, tuple(arguments))

    def _terms(self, closing: str) -> _Rule:
        terms: list[Term] = [(yield self._term(OR))]
        while not self._accept(closing):
            if not self._accept(","):
                raise self._unexpected(f"',' or '{closing}'")
            terms.append((yield self._term(OR)))
        return terms

    def _argmax(self) -> _Rule:
        operand = yield self._term(OR)
        labels: list[Value] = []
        while not self._accept(")"):
            if not self._accept(","):
                raise self._unexpected("',' or ')'")
            labels.append(self._value())
        return Argmax(operand, tuple(labels))

    def _table(self, start: int) -> _Rule:
        operand = yield self._term(OR)
        self._expect(",")
        self._expect("{")
        entries = [self._entry()]
        while self._accept(","):
            entries.append(self._entry())
        self._expect("}")
        self._expect(",")
        default = self._value()
        self._expect(")")
        return self._built(start, lambda: lookup(operand, entries, default))

    def _entry(self) -> tuple[Value, Value]:
        key = self._value()
        self._expect(":")
        return key, self._value()

    def _rounded(self) -> _Rule:
        """Parse `float32(left) <= right`; only a comparison may follow."""
        precision = Precision(self.tokens[self.at].text)
        self.at += 1
        self._expect("(")
        left = yield self._term(OR)
        self._expect(")")
        token = self.tokens[self.at]
        if token.text not in set(Relation):
            raise self._unexpected(f"a comparison after {precision}(...)")
        self.at += 1
        return (yield self._comparison(token.text, left, precision))

    def _value(self) -> Value:
        """Parse a constant: a literal, a negated number, or a vector of numbers."""
        token = self.tokens[self.at]
        if self._accept("["):
            numbers = [self._number()]
            while not self._accept("]"):
                self._expect(",")
                numbers.append(self._number())
            return tuple(numbers)
        if token.kind == "string":
            self.at += 1
            return self._unquoted(token)
        for word, value in (("true", True), ("false", False)):
            if self._accept(word):
                return value
        return self._number()

    def _number(self) -> float:
        """Parse a number, negated or not, or the missing value."""
        if self._accept("missing"):
            return float("nan")
        sign = -1.0 if self._accept("-") else 1.0
        token = self.tokens[self.at]
        if token.kind != "number" and not self._peek("inf"):
            raise self._unexpected("a constant")
        self.at += 1
        return sign * (self._float(token) if token.kind == "number" else math.inf)

    def _float(self, token: _Token) -> float:
        """Return the value of a number; it is an error if float64 cannot hold it exactly."""
        try:
            number = exact_float(int(token.text)) if token.text.isdecimal() else float(token.text)
        except (LanguageError, ValueError):
            number = math.inf
        if number == math.inf:
            raise self._error_at(token.start, "a number that fits in float64", "a larger one")
        return number

    def _built(self, start: int, build: Callable[[], Term]) -> Term:
        """Build a term; an error gets the position in the text."""
        try:
            return build()
        except LanguageError as error:
            raise self._error_at(start, "a valid term", str(error)) from None


def negate(term: Term) -> Term:
    """Return ``-term``: a negative number, or a product with a negative first factor."""
    match term:
        case Const(float() as value):
            return Const(-value)
        case Mul((Const(float() as value), *rest)):
            return Mul((Const(-value), *rest))
        case _:
            return mul(Const(-1.0), term)
