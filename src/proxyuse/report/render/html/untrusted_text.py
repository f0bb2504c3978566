r"""Untrusted text on a page: column names, values, reasons.

The templates escape all text. This module does the rest. Invisible characters become visible
(`proxyuse.words.one_line`), so that two names that look equal are equal. A name is isolated from
the text around it, so that right-to-left text does not reorder the sentence. Long text is cut.

Our own sentences mark isolated names, computations, figures and links with control characters.
`one_line` removes these from untrusted text, and the filter `words` turns them into elements.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from proxyuse.report.findings.style import MOST_NAME, Style
from proxyuse.words import one_line, shortened

if TYPE_CHECKING:
    from markupsafe import Markup

MOST_WORDS = 240

_BEGIN, _END = "\u2068", "\u2069"  # first strong isolate, pop directional isolate
_CODE, _CODE_END = "\x01", "\x02"
_FIGURE, _ABOUT, _FIGURE_END = "\x03", "\x04", "\x05"
_LINK, _TARGET, _LINK_END = "\x06", "\x07", "\x08"
_TAGS = {
    _BEGIN: "<bdi>",
    _END: "</bdi>",
    _CODE: "<em>",
    _CODE_END: "</em>",
    _FIGURE: '<button type="button" class="n" popovertarget="about-',
    _ABOUT: '">',
    _FIGURE_END: "</button>",
    _LINK: '<a href="#',
    _TARGET: '">',
    _LINK_END: "</a>",
}


def name(text: str) -> str:
    r"""A short name, isolated from the text around it.

    Examples
    --------
    >>> name("married")
    '\u2068married\u2069'
    """
    return f"{_BEGIN}{shortened(one_line(text), MOST_NAME)}{_END}"


def isolated(text: str, most: int = MOST_WORDS) -> str:
    """Any untrusted text, isolated from the text around it."""
    return f"{_BEGIN}{shortened(one_line(text), most)}{_END}"


def figure(text: str, about: str) -> str:
    """A number with the glossary entry that explains it."""
    return f"{_FIGURE}{about}{_ABOUT}{text}{_FIGURE_END}"


def _emphasized(text: str) -> str:
    return f"{_CODE}{isolated(text)}{_CODE_END}"


def linked(anchor: str) -> Style:
    """The style of a page, with computations as links to an element."""
    return replace(PAGE, code=lambda text: f"{_LINK}{anchor}{_TARGET}{isolated(text)}{_LINK_END}")


def words(text: str) -> Markup:
    """The template filter: escapes a text, isolates names in it and makes figures clickable.

    Examples
    --------
    >>> print(words(f"a proxy for {name('<b>')}."))
    a proxy for <bdi>&lt;b&gt;</bdi>.
    >>> print(words(figure("98.0%", "guess")))
    <button type="button" class="n" popovertarget="about-guess">98.0%</button>
    """
    from markupsafe import Markup, escape

    html = str(escape(text))
    for mark, tag in _TAGS.items():
        html = html.replace(mark, tag)
    return Markup(html)


PAGE = Style(name, _emphasized, figure, isolated)
"""How the sentences of `report.findings` are written on a page, before the filter `words`."""
