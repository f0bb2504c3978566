r"""Strangers' text on a page: names of columns, values, reasons.

The templates escape everything. What is left to do here: characters that cannot be seen are made
visible, so that two names which look alike are alike; a name is isolated from the text around it,
so that one written from right to left does not turn the sentence; and a long one is cut.

A text of ours may hold the two marks that isolate a name. `visible` lets no stranger write them,
and the filter `words` turns them into a ``bdi`` element.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from proxyuse.report.findings.style import Style

if TYPE_CHECKING:
    from markupsafe import Markup

MOST_NAME = 60
MOST_WORDS = 240
MOST_MARKS = 4

_BEGIN, _END = "\u2068", "\u2069"  # first strong isolate, pop directional isolate
_JOINERS = "\u200c\u200d"  # emoji and some scripts are written with them; Latin letters are not


def visible(text: str) -> str:
    r"""A text on one line whose characters can all be seen.

    Examples
    --------
    >>> visible("a\tb\n c"), visible("safe\u202etxt.exe"), visible("nul\x00")
    ('a b c', 'safe\u27e8U+202E\u27e9txt.exe', 'nul\u27e8U+0000\u27e9')
    """
    text = " ".join(text.split())
    if text.isascii() and text.isprintable():
        return text
    shown = []
    marks = 0  # in a row above or below one letter: more than a few would cover other lines
    before = " "
    for c in text:
        marks = marks + 1 if unicodedata.category(c) in ("Mn", "Me") else 0
        joins = c in _JOINERS and not before.isascii()
        seen = (c.isprintable() and marks <= MOST_MARKS) or joins
        shown.append(c if seen else _named(c))
        before = c
    return "".join(shown)


def _named(character: str) -> str:
    if unicodedata.category(character) == "Zs":
        return " "
    return f"\u27e8U+{ord(character):04X}\u27e9"


def all_visible(value: Any) -> Any:
    """The same for every text in a document; the names in mappings stay."""
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, Mapping):
        return {name: all_visible(inner) for name, inner in value.items()}
    return [all_visible(inner) for inner in value] if isinstance(value, list | tuple) else value


def cut(text: str, most: int = MOST_WORDS) -> str:
    """The beginning of a text.

    Examples
    --------
    >>> cut("a long text", 8), cut("short", 8)
    ('a long …', 'short')
    """
    return text if len(text) <= most else f"{text[: most - 2].rstrip()} …"


def name(text: str) -> str:
    r"""A name, short and apart from the text around it.

    Examples
    --------
    >>> name("married")
    '\u2068married\u2069'
    """
    return f"{_BEGIN}{cut(visible(text), MOST_NAME)}{_END}"


def said(text: str, most: int = MOST_WORDS) -> str:
    """The same for what a computation does."""
    return f"{_BEGIN}{cut(visible(text), most)}{_END}"


def words(text: str) -> Markup:
    """The filter: escaped, with the names in it isolated.

    Examples
    --------
    >>> print(words(f"a proxy for {name('<b>')}."))
    a proxy for <bdi>&lt;b&gt;</bdi>.
    """
    from markupsafe import Markup, escape

    return Markup(str(escape(text)).replace(_BEGIN, "<bdi>").replace(_END, "</bdi>"))


PAGE = Style(name, said)
"""How the sentences of `report.findings` are written on a page, before the filter `words`."""
