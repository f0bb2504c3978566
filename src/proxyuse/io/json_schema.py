"""Validates JSON values against a JSON Schema (2020-12).

Supports only the keywords that the schemas of this package use, so no library is needed. Files from
untrusted sources are validated before anything else reads them.
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
"""The supported keywords."""


def first_mistake(value: object, schema: dict[str, Any]) -> str | None:
    """The first violation of a schema by a value, or None.

    Examples
    --------
    >>> ages = {"type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age"]}
    >>> first_mistake({"age": 3}, ages), first_mistake({"age": "x"}, ages), first_mistake({}, ages)
    (None, 'age: expected integer, got "x"', 'age is missing')
    """
    return _mistake(value, schema, schema, "")


def _mistake(value: Any, part: dict[str, Any], schema: dict[str, Any], path: str) -> str | None:
    if "$ref" in part:
        part = schema["$defs"][part["$ref"].removeprefix("#/$defs/")]
    if "anyOf" in part:
        mistakes = [_mistake(value, choice, schema, path) for choice in part["anyOf"]]
        return None if None in mistakes else mistakes[-1]
    expected = _expected(value, part)
    if expected is not None:
        return f"{path}{': ' if path else ''}expected {expected}, got {_brief(value)}"
    return _mistake_inside(value, part, schema, path)


def _expected(value: Any, part: dict[str, Any]) -> str | None:
    """What a schema expects instead of a value, or None; the items of the value are not checked."""
    if "type" in part:
        types = part["type"] if isinstance(part["type"], list) else [part["type"]]
        if not any(_is(value, name) for name in types):
            return " or ".join(types)
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
        return f"a list of {part['minItems']} or more items"
    return None


def _mistake_inside(
    value: Any, part: dict[str, Any], schema: dict[str, Any], path: str
) -> str | None:
    prefix = f"{path}." if path else ""
    if isinstance(value, dict):
        for name in part.get("required", ()):
            if name not in value:
                return f"{prefix}{name} is missing"
        for name, inner in part.get("properties", {}).items():
            if name in value:
                mistake = _mistake(value[name], inner, schema, f"{prefix}{name}")
                if mistake:
                    return mistake
    if isinstance(value, list) and "items" in part:
        for index, item in enumerate(value):
            if mistake := _mistake(item, part["items"], schema, f"{path}[{index}]"):
                return mistake
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
