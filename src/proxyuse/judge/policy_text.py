"""From the text of a policy to its rules, with care.

A rule that is not what its author meant lets through what nobody allowed: an unknown key, a value
of another type, a rule that can never match are errors that name the line. `policy.schema.json`
says the same to editors, as far as a schema can.

A check takes what stands in the file and what it is called, and gives the value or raises
`WrongPart`.
"""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from datetime import date
from typing import Any

from proxyuse.errors import ParseError, ProxyUseError
from proxyuse.judge.rules import KINDS, Conditions, Range, Rule
from proxyuse.judge.strict_yaml import (
    Listing,
    Part,
    Place,
    Scalar,
    Table,
    WrongPart,
    read_yaml,
)
from proxyuse.lang.nodes import Term
from proxyuse.lang.parse import parse_term
from proxyuse.lang.text import shortened

VERSION = 1

_Check = Callable[[Part, str], Any]


def read_rules(text: str, file: str) -> tuple[Rule, ...]:
    """Read the rules of a policy; `file` is what it is called in messages."""
    whole = read_yaml(text, file)
    try:
        found = _entries(whole, "", {"version": _version, "rules": _listed}, ("version", "rules"))
        rules: list[Rule] = []
        for part in found["rules"]:
            rules.append(_rule(part, rules))
    except WrongPart as error:
        raise error.told(file) from None
    return tuple(rules)


def _rule(part: Part, before: list[Rule]) -> Rule:
    """Read a rule and compare it with those before it; what is wrong is told with its name."""
    number = len(before) + 1
    name = part.entries.get("name") if isinstance(part, Table) else None
    called = f"rule {number}{f' {_brief(name.text)}' if isinstance(name, Scalar) else ''}"
    try:
        found = _entries(part, "", _RULE, ("name", "decision", "reason"))
        rule = Rule(number, **found)
        for other in before:
            if other.name == rule.name:
                raise WrongPart(part.place, f"rule {other.number} has this name too; change one")
            if other.when == Conditions() and other.expires is None:
                raise WrongPart(
                    part.place,
                    f"it can never match, for rule {other.number} {other.name!r} has no `when` and "
                    "matches everything; move that one to the end",
                )
    except WrongPart as error:
        raise WrongPart(error.place, f"{called}: {error}") from None
    return rule


def _entries(
    part: Part, at: str, checks: Mapping[str, _Check], required: tuple[str, ...] = ()
) -> dict[str, Any]:
    """The values of a table, each of which was asked whether it fits its key."""
    if not isinstance(part, Table):
        keys = ", ".join(checks)
        raise WrongPart(part.place, f"{_said(part, at)}; give a table with keys out of: {keys}")
    found: dict[str, Any] = {}
    for key, value in part.entries.items():
        called = f"{at}.{key}" if at else key
        if key not in checks:
            raise _unknown_key(part.keys[key], called, key, checks)
        found[key] = checks[key](value, called)
    for key in required:
        if key not in found:
            where = f" in {at}" if at else ""
            raise WrongPart(part.place, f"the key {key} is missing{where}; add it")
    return found


def _unknown_key(place: Place, called: str, key: str, checks: Mapping[str, _Check]) -> WrongPart:
    shown = called if called.isprintable() and len(called) <= 60 else _brief(called)
    return WrongPart(place, f"{shown} is not a key that is known here; {_near(key, checks)}")


def _near(word: str, known: Iterable[str]) -> str:
    known = list(known)
    close = difflib.get_close_matches(word.casefold().replace("-", "_"), known)
    return f"did you mean {' or '.join(close)}?" if close else f"there are: {', '.join(known)}"


def _said(part: Part, at: str) -> str:
    """What stands in the file, for a message."""
    at = at or "this"
    match part:
        case Scalar(taken="nothing"):
            return f"{at} is empty"
        case Scalar():
            return f"{at} is {_brief(part.text) if part.taken == 'text' else shortened(part.text)}"
        case Listing(items=items):
            return f"{at} is {'a list' if items else 'an empty list'}"
        case Table(entries=entries):
            return f"{at} is {'a table' if entries else 'an empty table'}"


def _brief(text: str) -> str:
    return shortened(repr(text))


def _wrong(part: Part, at: str, wanted: str) -> WrongPart:
    return WrongPart(part.place, f"{_said(part, at)}; give {wanted}")


def _text(part: Part, at: str) -> str:
    if not isinstance(part, Scalar) or part.taken == "nothing":
        raise _wrong(part, at, "a text")
    if part.taken != "text":
        raise WrongPart(
            part.place,
            f"{_said(part, at)}, which YAML takes for {part.taken}, and a text is wanted; "
            f'put it between quotes: "{shortened(part.text)}"',
        )
    if not part.text.strip():
        raise _wrong(part, at, "a text that is not blank")
    return part.text


def _sentence(part: Part, at: str) -> str:
    """A text that is printed: on one line, without control characters."""
    text = " ".join(_text(part, at).split())
    if any(unicodedata.category(character) in ("Cc", "Cs") for character in text):
        raise _wrong(part, at, "a text without control characters")
    return text


def _texts(part: Part, at: str, one: _Check = _text) -> tuple[Any, ...]:
    """A text, or a list of them, each once."""
    if not isinstance(part, Listing):
        return (one(part, at),)
    found: list[Any] = []
    for item in _listed(part, at):
        value = one(item, at)
        if value in found:
            raise WrongPart(item.place, f"{_said(item, at)} a second time; keep one of them")
        found.append(value)
    return tuple(found)


def _listed(part: Part, at: str) -> tuple[Part, ...]:
    if not isinstance(part, Listing) or not part.items:
        raise _wrong(part, at, "a list with at least one entry, each of which begins with a dash")
    return part.items


def _version(part: Part, at: str) -> int:
    if not isinstance(part, Scalar) or not part.plain or part.text != str(VERSION):
        raise _wrong(part, at, f"{VERSION}, the only version that this proxyuse reads")
    return VERSION


def _decision(part: Part, at: str) -> str:
    if not isinstance(part, Scalar) or part.text not in ("allow", "deny"):
        raise _wrong(part, at, "allow or deny")
    return part.text


def _date(part: Part, at: str) -> date:
    wanted = "a date such as 2027-01-31"
    if not isinstance(part, Scalar) or not re.fullmatch(r"\d{4}-\d\d-\d\d", part.text, re.ASCII):
        raise _wrong(part, at, wanted)
    try:
        return date.fromisoformat(part.text)
    except ValueError:
        raise _wrong(part, at, f"{wanted}; the calendar has no such day") from None


def _truth(part: Part, at: str) -> bool:
    if not isinstance(part, Scalar) or not part.plain or part.text not in ("true", "false"):
        raise _wrong(part, at, "true or false, without quotes")
    return part.text == "true"


def _share(part: Part, at: str) -> float:
    number = r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?"
    if (
        not isinstance(part, Scalar)
        or not part.plain
        or not re.fullmatch(number, part.text, re.ASCII)
        or not 0 <= float(part.text) <= 1
    ):
        raise _wrong(part, at, "a number from 0 to 1, without quotes")
    return float(part.text)


def _association(part: Part, at: str) -> Range:
    return _range(part, at, most=1.0)


def _influence(part: Part, at: str) -> Range:
    return _range(part, at, most=float("inf"))  # a squared change may pass 1


def _range(part: Part, at: str, most: float) -> Range:
    """A range that has an end and is not empty, given that values lie between 0 and `most`."""
    found = Range(**_entries(part, at, dict.fromkeys(Range.__slots__, _share)))
    for one, other in (("at_least", "above"), ("at_most", "below")):
        if getattr(found, one) is not None and getattr(found, other) is not None:
            raise WrongPart(part.place, f"{at} has both {one} and {other}; keep one of them")
    if found == Range():
        raise _wrong(part, at, f"one or two of {', '.join(Range.__slots__)}")
    low = max(x for x in (found.at_least, found.above, 0.0) if x is not None)
    high = min(x for x in (found.at_most, found.below, most) if x is not None)
    touching = low == high and (found.above == low or found.below == high)
    if low > high or touching:
        raise WrongPart(part.place, f"{at} can never hold: no number lies in it; change an end")
    return found


def _kind(part: Part, at: str) -> str:
    kind = _text(part, at)
    if kind not in KINDS:
        raise WrongPart(part.place, f"{_said(part, at)}, which is no kind; {_near(kind, KINDS)}")
    return kind


def _term(part: Part, at: str) -> Term:
    text = _text(part, at)
    try:
        return parse_term(text)
    except ParseError as error:
        said = f"{_said(part, at)}, which is no computation: {error} (within the text); mend it"
        raise WrongPart(part.place, said) from None
    except ProxyUseError as error:
        raise WrongPart(
            part.place, f"{_said(part, at)}, which is no computation: {error}"
        ) from None


def _id(part: Part, at: str) -> str:
    if not re.fullmatch(r"[0-9a-f]{16}", text := _text(part, at)):
        raise _wrong(part, at, "the id of a witness: 16 of the characters 0-9 and a-f")
    return text


def _names(part: Part, at: str) -> tuple[str, ...]:
    return _texts(part, at)


def _when(part: Part, at: str) -> Conditions:
    checks: dict[str, _Check] = {
        "protected": _names,
        "variables": _variables,
        "kind": lambda part, at: _texts(part, at, _kind),
        "association": _association,
        "influence": _influence,
        "explicit": _truth,
        "term": lambda part, at: _texts(part, at, _term),
        "id": lambda part, at: _texts(part, at, _id),
    }
    if isinstance(part, Scalar) and part.taken == "nothing":
        part = Table(part.place, {}, {})
    found = _entries(part, at, checks)
    if not found:
        raise WrongPart(
            part.place,
            f"{at} is empty; add a condition, or leave out {at} if the rule is to match everything",
        )
    return Conditions(**found.pop("variables", {}), **found)


def _variables(part: Part, at: str) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = _entries(part, at, {"only": _names, "any": _names})
    if not found:
        raise _wrong(part, at, "only, any or both, each with names of variables")
    if "only" in found and "any" in found and set(found["only"]).isdisjoint(found["any"]):
        raise WrongPart(part.place, f"{at} can never hold: nothing in any is in only")
    return found


_RULE: dict[str, _Check] = {
    "name": _sentence,
    "decision": _decision,
    "reason": _sentence,
    "expires": _date,
    "when": _when,
}
