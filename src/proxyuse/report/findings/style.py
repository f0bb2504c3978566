"""How a format writes the names, the code and the figures inside a sentence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from proxyuse.words import one_line, shortened

MOST_NAME = 60
MOST_CODE = 200
MOST_QUOTE = 1000


def _same(text: str, meaning: str) -> str:
    return text


def _quoted(text: str) -> str:
    return shortened(text, MOST_QUOTE)


@dataclass(frozen=True, slots=True)
class Style:
    """How a format writes parts of a sentence.

    Attributes
    ----------
    name : a name of a column, an attribute or a person.
    code : a computation.
    figure : a number, with the glossary entry that explains it.
    quote : the words of a person, such as a reason.
    """

    name: Callable[[str], str]
    code: Callable[[str], str]
    figure: Callable[[str, str], str] = _same
    quote: Callable[[str], str] = _quoted


def plain_name(text: str) -> str:
    """A name on one line, shortened."""
    return shortened(one_line(text), MOST_NAME)


def plain_code(text: str, most: int = MOST_CODE) -> str:
    """A computation in backticks, on one line, shortened.

    Examples
    --------
    >>> plain_code("age  <= 30"), plain_code("x + y + z", 8)
    ('`age <= 30`', '`x + y...`')
    """
    return f"`{shortened(one_line(text), most)}`"


TEXT = Style(plain_name, plain_code)
"""For a terminal, `print` and plain text in other formats."""
