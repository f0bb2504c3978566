"""Parts of Python's text: constants, and expressions with what is to be known of them.

`python_source` puts them together. Text from elsewhere is quoted here, by `constant_text`, and
nowhere else.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import assert_never

from proxyuse.lang.nodes import Value, is_missing

LINE_WIDTH = 100

# How tightly Python binds
CHOICE, OR, AND, NOT, COMPARE, ADD, MUL, SIGN, ATOM = range(9)


@dataclass(frozen=True, slots=True)
class Piece:
    """A term as an expression of Python.

    Attributes
    ----------
    text : the expression; of an `Ite`, which is made of statements, nothing.
    binds : how tightly.
    nested : how many expressions are inside each other; of an `Ite`, how far it is indented.
    calls : how many functions of parts call each other.
    width : how many entries a vector has; 0 of anything else.
    truth : whether it is true or false and never missing.
    missing : whether it may be the missing value.
    """

    text: str
    binds: int = ATOM
    nested: int = 0
    calls: int = 0
    width: int = 0
    truth: bool = False
    missing: bool = True

    def at(self, binds: int) -> str:
        """The expression where something stands around it that binds so tightly."""
        return self.text if self.binds >= binds else f"({self.text})"

    @property
    def as_truth(self) -> Piece:
        """Whether it is true; a missing value is not."""
        if self.truth:
            return self
        return replace(self, text=f"{self.at(ADD)} == 1", binds=COMPARE, truth=True)


def constant_text(value: Value) -> str:
    """A constant of the language as Python writes it."""
    match value:
        case bool() | str():
            return repr(value)
        case float():
            if math.isfinite(value):
                return repr(value)
            return "math.nan" if math.isnan(value) else "math.inf" if value > 0 else "-math.inf"
        case tuple():
            entries = ", ".join(map(constant_text, value))
            return f"({entries},)" if len(value) == 1 else f"({entries})"
        case _:
            assert_never(value)


def made_of(
    parts: Sequence[Piece],
    text: str,
    binds: int = ATOM,
    *,
    width: int = 0,
    missing: bool = True,
) -> Piece:
    """An expression made of others."""
    nested = 1 + max(part.nested for part in parts)
    calls = max(part.calls for part in parts)
    return Piece(text, binds, nested, calls, width, missing=missing)


def truth_of(parts: Sequence[Piece], text: str, binds: int) -> Piece:
    """An expression made of others that is true or false."""
    return replace(made_of(parts, text, binds, missing=False), truth=True)


def alike(values: tuple[Value, ...]) -> tuple[list[str], int]:
    """Constants of one kind, and the width if they are vectors; a missing one is a vector then."""
    width = max(len(value) if isinstance(value, tuple) else 0 for value in values)
    lost = (math.nan,) * width
    return [constant_text(lost if width and is_missing(v) else v) for v in values], width


def listed(begin: str, items: list[str], end: str) -> str:
    """Items between brackets, each on a line of its own if there is no room for all."""
    if end.startswith(",") and len(items) > 1:
        end = end[1:]
    text = begin + ", ".join(items) + end
    if len(text) <= LINE_WIDTH and "\n" not in text:
        return text
    lines = "".join(f"    {item},\n" for item in items)
    return f"{begin}\n{lines}{end.removeprefix(',')}"
