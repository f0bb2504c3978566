"""The docstrings of this project become Markdown for the site's page on the API.

A griffe extension, loaded by mkdocstrings. Its own reader of numpydoc takes what stands behind
``name :`` for a type. Here it is most often a description, or begins one that goes on in the next
line, so the sections of names are made lists of sentences before they are read. Types stand in
the signature above them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import griffe

from proxyuse.options import PLACEHOLDER

SECTION = re.compile(r"^(Parameters|Attributes|Returns|Raises)\n-+\n", re.MULTILINE)
SECTION_END = re.compile(r"\n\n(?=\S)|\Z")
ENTRY = re.compile(r"(?P<names>[\w, ]+?)(?: :(?P<first>.*))?")


class PlainSections(griffe.Extension):
    """Rewrite the sections of names in each docstring."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Called for each object that was loaded."""
        if obj.docstring is not None:
            if PLACEHOLDER in obj.docstring.value:  # a decorator writes the options there
                function = getattr(import_module(obj.module.path), obj.name)
                obj.docstring.value = function.__doc__
            obj.docstring.value = with_lists(obj.docstring.value)


def with_lists(text: str) -> str:
    r"""A docstring with a list in place of each section of names.

    Examples
    --------
    >>> print(with_lists("Cut.\n\nParameters\n---\nk, m : int\n    How many.\n\nMore."))
    Cut.
    <BLANKLINE>
    **Parameters**
    <BLANKLINE>
    - `k`, `m`: int. How many.
    <BLANKLINE>
    More.
    """
    while section := SECTION.search(text):
        end = SECTION_END.search(text, section.end())
        assert end is not None
        lines = text[section.end() : end.start()].splitlines()
        listed = [f"**{section[1]}**", "", *_entries(lines)]
        text = text[: section.start()] + "\n".join(listed) + text[end.start() :]
    return text


def _entries(lines: list[str]) -> Iterator[str]:
    """An item for each line that is not indented, with the indented ones below it."""
    items: list[list[str]] = []
    for line in lines:
        if line.startswith(" "):
            items[-1].append(line.strip())
        else:
            items.append([line])
    for head, *below in items:
        entry = ENTRY.fullmatch(head)
        names, first = (entry["names"], entry["first"] or "") if entry else (head, "")
        shown = ", ".join(f"`{name}`" for name in names.split(", "))
        text = _sentence(first.strip(), " ".join(below))
        yield f"- {shown}: {text}" if text else f"- {shown}"


def _sentence(first: str, below: str) -> str:
    """What stands behind the colon and what stands below it; a sentence ends before a capital."""
    if not first or not below:
        return first or below
    new = below[0].isupper() and first[-1] not in ".;,"
    return f"{first}. {below}" if new else f"{first} {below}"
