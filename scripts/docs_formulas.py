"""Formulas of the documentation become MathML when the site is built; browsers draw it themselves.

A hook of mkdocs. The pages write formulas between dollar signs, as code hosts read them too;
arithmatex finds them and this turns what it marks into MathML, so no page needs a script.
"""

from __future__ import annotations

import html
import re
from typing import Any

from latex2mathml.converter import convert

MARKED = re.compile(
    r'<(?P<tag>span|div) class="arithmatex">\\[(\[](?P<formula>.*?)\\[)\]]</(?P=tag)>'
    r"(?P<mark>[.,;:)]*)",
    re.DOTALL,
)


def on_page_content(content: str, **_: Any) -> str:
    """Turn the marked formulas of a page into MathML, together with the mark that ends them."""
    return MARKED.sub(_mathml, content)


def _mathml(match: re.Match[str]) -> str:
    tag = match["tag"]
    display = "block" if tag == "div" else "inline"
    formula = convert(html.unescape(match["formula"]), display=display)
    return f'<{tag} class="formula">{formula}{match["mark"]}</{tag}>'
