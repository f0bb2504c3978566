"""What the texts of a report share: the answer in one sentence, what is lacking, text on one line.

Names of columns and whole documents may come from strangers, so a text is put on one line before
it is printed: nobody can write a line of the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from proxyuse.output.validity_words import describe_validity, share_confirmed, uses
from proxyuse.words import listed


def headline(document: Mapping[str, Any], name: Callable[[str], str] = str, found: str = "") -> str:
    """The answer in one sentence.

    Parameters
    ----------
    document : an audit.
    name : how a name is written.
    found : what is added if there are witnesses.
    """
    protected = document["protected"]
    if document["witnesses"]:
        itself = {witness["protected"] for witness in document["witnesses"] if witness["explicit"]}
        used = listed(
            f"{name(z['name'])} itself" if z["name"] in itself else f"a proxy for {name(z['name'])}"
            for z in protected
            if z["witnesses"]
        )
        begin = uses(document.get("validity"))
        return f"{begin} {used}{found}{_judgments(document)}{_confirmed(document)}."
    names = listed(name(z["name"]) for z in protected)
    if document["complete"]:
        return f"No proxy use of {names} was found at these thresholds."
    return f"No proxy use of {names} was found, but not everything could be settled."


def _judgments(document: Mapping[str, Any]) -> str:
    """How many of the witnesses were judged appropriate, if some were."""
    witnesses = len(document["witnesses"])
    appropriate = witnesses - document["violations"]
    if not appropriate:
        return ""
    if not document["violations"]:
        return ", and all of it was judged appropriate"
    was = "was" if appropriate == 1 else "were"
    return f"; {appropriate:,} of {witnesses:,} witnesses {was} judged appropriate"


def _confirmed(document: Mapping[str, Any]) -> str:
    """How many of the witnesses are confirmed, if that was asked."""
    asked = document.get("validity")
    return "" if asked is None else f"; {share_confirmed(asked, len(document['witnesses']))}"


def verdict_text(
    document: Mapping[str, Any], witness: Mapping[str, Any], name: Callable[[str], str] = str
) -> str:
    """Whether a witness is confirmed, and by what; nothing if that was not asked."""
    asked, said = document.get("validity"), witness.get("validity")
    if asked is None or said is None:
        return ""
    return describe_validity(said, asked, document["thresholds"], name(witness["protected"]))


def lacking(near: Mapping[str, Any]) -> str:
    """What a computation lacks to be a witness."""
    lacks = [
        f"{near[f'{name}_short_by']:.3f} {name}"
        for name in ("association", "influence")
        if near[f"{name}_short_by"]
    ]
    return ", ".join(lacks) or "influence: at the threshold"


def shortened(text: str, most: int) -> str:
    """The beginning of a text.

    Examples
    --------
    >>> shortened("a long text", 8), shortened("short", 8)
    ('a lon...', 'short')
    """
    return text if len(text) <= most else text[: most - 3] + "..."


def one_line(text: str) -> str:
    r"""A text on one line, without what a terminal would obey.

    Examples
    --------
    >>> one_line("a\n\nb\x1b[2J")
    'a b?[2J'
    """
    line = " ".join(text.split())
    return line if line.isprintable() else "".join(c if c.isprintable() else "?" for c in line)


def on_lines(value: Any) -> Any:
    """A document in which each text is on one line."""
    if isinstance(value, str):
        return one_line(value)
    if isinstance(value, Mapping):
        return {name: on_lines(inner) for name, inner in value.items()}
    return [on_lines(inner) for inner in value] if isinstance(value, list) else value
