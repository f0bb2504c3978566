"""Parse the text of a policy into rules, strictly.

A rule that does not mean what its author intended allows what nobody allowed. So an unknown key, a
value of the wrong type, and a rule that can never match are errors that name the line.
`policy.schema.json` describes the same format for editors, as far as a schema can.

A parser takes a node and the key it belongs to, and returns the value or raises `InvalidNode`.
"""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Callable, Iterable
from collections.abc import Mapping as MappingOf
from datetime import date
from typing import Any

from proxyuse.errors import ParseError, ProxyUseError
from proxyuse.judge.rules import KINDS, Conditions, Range, Rule
from proxyuse.judge.strict_yaml import (
    InvalidNode,
    Location,
    Mapping,
    Node,
    Scalar,
    Sequence,
    read_yaml,
)
from proxyuse.lang.nodes import Term
from proxyuse.lang.parse import parse_term
from proxyuse.words import shortened

VERSION = 1

_Parser = Callable[[Node, str], Any]


def read_rules(text: str, file: str) -> tuple[Rule, ...]:
    """Parse the rules of a policy; `file` is its name in messages."""
    root = read_yaml(text, file)
    try:
        parsers = {"version": _version, "rules": _items}
        content = _entries(root, "", parsers, ("version", "rules"))
        rules: list[Rule] = []
        for node in content["rules"]:
            rules.append(_rule(node, rules))
    except InvalidNode as error:
        raise error.in_file(file) from None
    return tuple(rules)


def _rule(node: Node, earlier: list[Rule]) -> Rule:
    """Parse a rule and check it against the earlier ones; errors name the rule."""
    number = len(earlier) + 1
    name = node.entries.get("name") if isinstance(node, Mapping) else None
    label = f"rule {number}{f' {_brief(name.text)}' if isinstance(name, Scalar) else ''}"
    try:
        rule = Rule(number, **_entries(node, "", _RULE, ("name", "decision", "reason")))
        for other in earlier:
            if other.name == rule.name:
                raise InvalidNode(node.location, f"rule {other.number} has the same name")
            if other.when == Conditions() and other.expires is None:
                raise InvalidNode(
                    node.location,
                    f"it can never match: rule {other.number} {other.name!r} has no `when` and "
                    "matches everything; move that rule to the end",
                )
    except InvalidNode as error:
        raise InvalidNode(error.location, f"{label}: {error}") from None
    return rule


def _entries(
    node: Node, key: str, parsers: MappingOf[str, _Parser], required: tuple[str, ...] = ()
) -> dict[str, Any]:
    """Parse the values of a mapping, each with the parser of its key."""
    if not isinstance(node, Mapping):
        raise _wrong(node, key, f"a mapping with the keys {', '.join(parsers)}")
    values: dict[str, Any] = {}
    for name, value in node.entries.items():
        path = f"{key}.{name}" if key else name
        if name not in parsers:
            raise _unknown_key(node.keys[name], path, name, parsers)
        values[name] = parsers[name](value, path)
    for name in required:
        if name not in values:
            raise InvalidNode(node.location, f"missing key {f'{key}.' if key else ''}{name}")
    return values


def _unknown_key(
    location: Location, path: str, name: str, parsers: MappingOf[str, _Parser]
) -> InvalidNode:
    shown = path if path.isprintable() and len(path) <= 60 else _brief(path)
    return InvalidNode(location, f"unknown key {shown}; {_suggestion(name, parsers)}")


def _suggestion(word: str, known: Iterable[str]) -> str:
    known = list(known)
    close = difflib.get_close_matches(word.casefold().replace("-", "_"), known, n=1)
    return f"did you mean {close[0]}?" if close else f"use one of {', '.join(known)}"


def _content(node: Node) -> str:
    """Describe what the file has, for a message."""
    match node:
        case Scalar(type="nothing"):
            return "nothing"
        case Scalar(type="text"):
            return _brief(node.text)
        case Scalar():
            return shortened(node.text)
        case Sequence(items=items):
            return "a list" if items else "an empty list"
        case Mapping(entries=entries):
            return "a mapping" if entries else "an empty mapping"


def _brief(text: str) -> str:
    return shortened(repr(text))


def _wrong(node: Node, key: str, expected: str) -> InvalidNode:
    where = f"{key}: " if key else ""
    return InvalidNode(node.location, f"{where}expected {expected}, got {_content(node)}")


def _text(node: Node, key: str) -> str:
    if not isinstance(node, Scalar) or node.type == "nothing":
        raise _wrong(node, key, "text")
    if node.type != "text":
        raise InvalidNode(
            node.location,
            f"{key}: expected text, got {_content(node)}, which YAML reads as {node.type}; "
            f'write "{shortened(node.text)}"',
        )
    if not node.text.strip():
        raise _wrong(node, key, "text that is not blank")
    return node.text


def _sentence(node: Node, key: str) -> str:
    """Parse a text to be printed: one line, without control characters."""
    text = " ".join(_text(node, key).split())
    if any(unicodedata.category(character) in ("Cc", "Cs") for character in text):
        raise _wrong(node, key, "text without control characters")
    return text


def _texts(node: Node, key: str, parser: _Parser = _text) -> tuple[Any, ...]:
    """Parse a value or a list of distinct values."""
    if not isinstance(node, Sequence):
        return (parser(node, key),)
    values: list[Any] = []
    for item in _items(node, key):
        value = parser(item, key)
        if value in values:
            raise InvalidNode(item.location, f"{key}: duplicate value {_content(item)}")
        values.append(value)
    return tuple(values)


def _items(node: Node, key: str) -> tuple[Node, ...]:
    if not isinstance(node, Sequence) or not node.items:
        raise _wrong(node, key, "a list with at least one item")
    return node.items


def _version(node: Node, key: str) -> int:
    if not isinstance(node, Scalar) or not node.plain or node.text != str(VERSION):
        raise _wrong(node, key, f"{VERSION}, the only version this proxyuse reads")
    return VERSION


def _decision(node: Node, key: str) -> str:
    if not isinstance(node, Scalar) or node.text not in ("allow", "deny"):
        raise _wrong(node, key, "allow or deny")
    return node.text


def _date(node: Node, key: str) -> date:
    expected = "a date such as 2027-01-31"
    if not isinstance(node, Scalar) or not re.fullmatch(r"\d{4}-\d\d-\d\d", node.text, re.ASCII):
        raise _wrong(node, key, expected)
    try:
        return date.fromisoformat(node.text)
    except ValueError:
        raise _wrong(node, key, "a day of the calendar") from None


def _truth(node: Node, key: str) -> bool:
    if not isinstance(node, Scalar) or not node.plain or node.text not in ("true", "false"):
        raise _wrong(node, key, "true or false, without quotes")
    return node.text == "true"


def _share(node: Node, key: str) -> float:
    number = r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?"
    if (
        not isinstance(node, Scalar)
        or not node.plain
        or not re.fullmatch(number, node.text, re.ASCII)
        or not 0 <= float(node.text) <= 1
    ):
        raise _wrong(node, key, "a number from 0 to 1, without quotes")
    return float(node.text)


def _association(node: Node, key: str) -> Range:
    return _range(node, key, upper=1.0)


def _influence(node: Node, key: str) -> Range:
    return _range(node, key, upper=float("inf"))  # a squared change can exceed 1


def _range(node: Node, key: str, upper: float) -> Range:
    """Parse a range that is neither unbounded nor empty, for values between 0 and `upper`."""
    result = Range(**_entries(node, key, dict.fromkeys(Range.__slots__, _share)))
    for one, other in (("at_least", "above"), ("at_most", "below")):
        if getattr(result, one) is not None and getattr(result, other) is not None:
            raise InvalidNode(node.location, f"{key}: use either {one} or {other}, not both")
    if result == Range():
        raise _wrong(node, key, f"one or two of {', '.join(Range.__slots__)}")
    low = max(x for x in (result.at_least, result.above, 0.0) if x is not None)
    high = min(x for x in (result.at_most, result.below, upper) if x is not None)
    touching = low == high and (result.above == low or result.below == high)
    if low > high or touching:
        raise InvalidNode(node.location, f"{key}: no number is in this range")
    return result


def _kind(node: Node, key: str) -> str:
    kind = _text(node, key)
    if kind not in KINDS:
        message = f"{key}: unknown kind {_content(node)}; {_suggestion(kind, KINDS)}"
        raise InvalidNode(node.location, message)
    return kind


def _term(node: Node, key: str) -> Term:
    text = _text(node, key)
    try:
        return parse_term(text)
    except ParseError as error:
        message = f"{key}: {_content(node)} is not a term: {error} (of the term)"
        raise InvalidNode(node.location, message) from None
    except ProxyUseError as error:
        message = f"{key}: {_content(node)} is not a term: {error}"
        raise InvalidNode(node.location, message) from None


def _id(node: Node, key: str) -> str:
    if not re.fullmatch(r"[0-9a-f]{16}", text := _text(node, key)):
        raise _wrong(node, key, "the id of a witness (16 characters, 0-9 and a-f)")
    return text


def _names(node: Node, key: str) -> tuple[str, ...]:
    return _texts(node, key)


def _when(node: Node, key: str) -> Conditions:
    parsers: dict[str, _Parser] = {
        "protected": _names,
        "variables": _variables,
        "kind": lambda node, key: _texts(node, key, _kind),
        "association": _association,
        "influence": _influence,
        "explicit": _truth,
        "term": lambda node, key: _texts(node, key, _term),
        "id": lambda node, key: _texts(node, key, _id),
    }
    if isinstance(node, Scalar) and node.type == "nothing":
        node = Mapping(node.location, {}, {})
    values = _entries(node, key, parsers)
    if not values:
        raise InvalidNode(
            node.location, f"{key} is empty; add a condition, or remove {key} to match everything"
        )
    return Conditions(**values.pop("variables", {}), **values)


def _variables(node: Node, key: str) -> dict[str, tuple[str, ...]]:
    values: dict[str, tuple[str, ...]] = _entries(node, key, {"only": _names, "any": _names})
    if not values:
        raise _wrong(node, key, "only, any or both, with names of variables")
    if "only" in values and "any" in values and set(values["only"]).isdisjoint(values["any"]):
        raise InvalidNode(node.location, f"{key}: no variable is in both only and any")
    return values


_RULE: dict[str, _Parser] = {
    "name": _sentence,
    "decision": _decision,
    "reason": _sentence,
    "expires": _date,
    "when": _when,
}
