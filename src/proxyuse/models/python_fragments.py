"""Fragments of Python source: constants, and expressions with their properties.

`python_source` combines them. `constant_text` is the only function that quotes untrusted text.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import assert_never

from proxyuse.lang.nodes import Value, is_missing
from proxyuse.words import BLANKS

LINE_WIDTH = 100
_ESCAPES = {ord(blank): f"\\u{ord(blank):04x}" for blank in BLANKS}

# Python's operator precedence, weakest first
CHOICE, OR, AND, NOT, COMPARE, ADD, MUL, SIGN, ATOM = range(9)


@dataclass(frozen=True, slots=True)
class Piece:
    """A term as a Python expression.

    Attributes
    ----------
    text : the expression; empty for an `Ite`, which is written as statements.
    binds : the precedence of its outermost operator.
    nested : the nesting depth; for an `Ite`, the depth of indentation.
    calls : the depth of nested function calls.
    width : the number of entries of a vector; 0 for other values.
    truth : whether it is a boolean that is never missing.
    missing : whether it can be the missing value.
    """

    text: str
    binds: int = ATOM
    nested: int = 0
    calls: int = 0
    width: int = 0
    truth: bool = False
    missing: bool = True

    def at(self, binds: int) -> str:
        """The expression, in parentheses if its context binds more tightly."""
        return self.text if self.binds >= binds else f"({self.text})"

    @property
    def as_truth(self) -> Piece:
        """The expression as a boolean; a missing value is false."""
        if self.truth:
            return self
        return replace(self, text=f"{self.at(ADD)} == 1", binds=COMPARE, truth=True)


def constant_text(value: Value) -> str:
    """The Python literal of a constant."""
    match value:
        case bool():
            return repr(value)
        case str():
            return repr(value).translate(_ESCAPES)
        case float():
            if math.isfinite(value):
                return repr(value)
            return "math.nan" if math.isnan(value) else "math.inf" if value > 0 else "-math.inf"
        case tuple():
            entries = ", ".join(map(constant_text, value))
            return f"({entries},)" if len(value) == 1 else f"({entries})"
        case _:
            assert_never(value)


def composed(
    parts: Sequence[Piece],
    text: str,
    binds: int = ATOM,
    *,
    width: int = 0,
    missing: bool = True,
) -> Piece:
    """An expression composed of others."""
    nested = 1 + max(part.nested for part in parts)
    calls = max(part.calls for part in parts)
    return Piece(text, binds, nested, calls, width, missing=missing)


def truth_of(parts: Sequence[Piece], text: str, binds: int) -> Piece:
    """A boolean expression composed of others."""
    return replace(composed(parts, text, binds, missing=False), truth=True)


def literals(values: tuple[Value, ...]) -> tuple[list[str], int]:
    """Literals of constants, and their width if they are vectors.

    Among vectors, the missing value becomes a vector of NaN.
    """
    width = max(len(value) if isinstance(value, tuple) else 0 for value in values)
    missing = (math.nan,) * width
    return [constant_text(missing if width and is_missing(v) else v) for v in values], width


def listed(begin: str, items: list[str], end: str) -> str:
    """Items in brackets, on one line if they fit, else one per line."""
    if end.startswith(",") and len(items) > 1:
        end = end[1:]
    text = begin + ", ".join(items) + end
    if len(text) <= LINE_WIDTH and "\n" not in text:
        return text
    lines = "".join(f"    {item},\n" for item in items)
    return f"{begin}\n{lines}{end.removeprefix(',')}"
