"""Whether a JSON value fits a schema.

Schemas of documents are JSON Schemas (2020-12), for other programs too. Here they are read with the
few keywords they use, so that a file from a stranger is looked at before anything relies on it, and
no library is needed for it.
"""

from __future__ import annotations

import json
from typing import Any

_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "number": (int, float),
    "integer": (int,),
    "boolean": (bool,),
    "null": (type(None),),
}
KEYWORDS = frozenset(
    ["$schema", "$id", "$defs", "$ref", "title", "description", "type", "properties", "required",
     "items", "enum", "const", "anyOf", "minimum", "maximum", "minItems"]
)  # fmt: skip
"""What a schema here may use."""


def first_mistake(value: object, whole: dict[str, Any]) -> str | None:
    """Where and how a value does not fit a schema; None if it fits.

    Examples
    --------
    >>> ages = {"type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age"]}
    >>> first_mistake({"age": 3}, ages), first_mistake({"age": "x"}, ages), first_mistake({}, ages)
    (None, 'age is "x" where integer is wanted', 'age is missing')
    """
    return _mistake(value, whole, whole, "")


def _mistake(value: Any, part: dict[str, Any], whole: dict[str, Any], at: str) -> str | None:
    if "$ref" in part:
        part = whole["$defs"][part["$ref"].removeprefix("#/$defs/")]
    if "anyOf" in part:
        found = [_mistake(value, choice, whole, at) for choice in part["anyOf"]]
        return None if None in found else found[-1]
    wrong = _wrong(value, part)
    if wrong is not None:
        return f"{at or 'the whole'} is {_brief(value)} where {wrong} is wanted"
    return _mistake_inside(value, part, whole, at)


def _wrong(value: Any, part: dict[str, Any]) -> str | None:
    """What is wanted instead of a value, looking at it from outside."""
    if "type" in part:
        wanted = part["type"] if isinstance(part["type"], list) else [part["type"]]
        if not any(_is(value, name) for name in wanted):
            return " or ".join(wanted)
    if "const" in part and value != part["const"]:
        return _brief(part["const"])
    if "enum" in part and value not in part["enum"]:
        return "one of " + ", ".join(map(_brief, part["enum"]))
    if isinstance(value, int | float):
        if value < part.get("minimum", value):
            return f"at least {part['minimum']}"
        if value > part.get("maximum", value):
            return f"at most {part['maximum']}"
    if isinstance(value, list) and len(value) < part.get("minItems", 0):
        return f"a list of {part['minItems']} or more"
    return None


def _mistake_inside(value: Any, part: dict[str, Any], whole: dict[str, Any], at: str) -> str | None:
    below = f"{at}." if at else ""
    if isinstance(value, dict):
        for name in part.get("required", ()):
            if name not in value:
                return f"{below}{name} is missing"
        for name, inner in part.get("properties", {}).items():
            if name in value and (found := _mistake(value[name], inner, whole, f"{below}{name}")):
                return found
    if isinstance(value, list) and "items" in part:
        for place, item in enumerate(value):
            if found := _mistake(item, part["items"], whole, f"{at}[{place}]"):
                return found
    return None


def _is(value: object, name: str) -> bool:
    if isinstance(value, bool):
        return name == "boolean"
    if name == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, _TYPES[name])


def _brief(value: object) -> str:
    text = json.dumps(value, ensure_ascii=True)
    return text if len(text) <= 60 else text[:57] + "..."
