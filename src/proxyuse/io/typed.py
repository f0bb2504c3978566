"""Convert data from a file to typed objects, with errors that people can act on.

msgspec checks the data against the types. Its errors name a path in the data and the type; this
module turns them into messages such as ``when.explicit: expected true or false, got "yes"``.

Declare the pattern of a text as ``Meta(extra_json_schema={"pattern": ...})``. ``Meta(pattern=...)``
can crash the interpreter at exit (msgspec 0.22, https://github.com/msgspec/msgspec/issues/717).
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterable
from typing import Any, NamedTuple, TypeVar

import msgspec
from msgspec import inspect

T = TypeVar("T")

Path = tuple[str | int, ...]
"""The keys and the indexes that lead to a value."""

_MAX_LENGTH = 60
_UNKNOWN = re.compile(r"Object contains unknown field `(?P<key>.*?)`?", re.DOTALL)
_MISSING = re.compile(r"Object missing required field `(?P<key>\w+)`")
_AT = re.compile(r"(?P<what>.*?)(?: - at `\$(?P<path>[\w.\[\]]*)`)?", re.DOTALL)


class InvalidValue(Exception):
    """A value that does not fit its type.

    Attributes
    ----------
    path : the path of the value. For an unknown key, the path of that key.
    """

    def __init__(self, path: Path, message: str) -> None:
        super().__init__(message)
        self.path = path


def typed(value: object, target: type[T], *, every_key: bool = False) -> T:
    """Convert dicts, lists and scalars to a type.

    Parameters
    ----------
    value : the data, as a YAML, TOML or JSON reader returns it.
    target : a msgspec Struct. A ValueError from its ``__post_init__`` is reported as written. To
        replace the description of a type in messages, set ``Meta(extra={"expected": ...})``.
    every_key : whether keys are required even if their fields have defaults.

    Raises
    ------
    InvalidValue
        If the data does not fit.

    Examples
    --------
    >>> class Person(msgspec.Struct, forbid_unknown_fields=True):
    ...     age: int
    ...     member: bool = False
    >>> typed({"age": 3}, Person)
    Person(age=3, member=False)
    >>> for person in ({"age": "x"}, {"age": 3, "members": True}, {}):
    ...     try:
    ...         typed(person, Person)
    ...     except InvalidValue as error:
    ...         print(error.path, error)
    ('age',) expected an integer, got "x"
    ('members',) unknown key; did you mean 'member'?
    () missing key 'age'
    """
    try:
        result = msgspec.convert(value, target)
    except msgspec.ValidationError as error:
        raise _explained(error, value, target) from None
    except UnicodeEncodeError:  # a key or a choice; other texts may have one
        raise InvalidValue(
            (), "a text has half of a surrogate pair, which is no character"
        ) from None
    _check_texts_and_keys(value, target, every_key=every_key)
    return result


def suggestion(word: str, known: Iterable[str]) -> str:
    """Suggest the known word that is most similar, or list them all.

    Examples
    --------
    >>> suggestion("Decison", ["name", "decision"]), suggestion("x", ["name", "decision"])
    ("did you mean 'decision'?", 'use one of name, decision')
    """
    words = list(known)
    close = difflib.get_close_matches(word.casefold().replace("-", "_"), words, n=1)
    return f"did you mean {close[0]!r}?" if close else f"use one of {', '.join(words)}"


def shown(value: object) -> str:
    """Describe a value in a message."""
    match value:
        case None:
            return "nothing"
        case dict():
            return "a mapping" if value else "an empty mapping"
        case list() | tuple():
            return "a list" if value else "an empty list"
    return _shortened(json.dumps(value, default=str))


def path_text(path: Path, first: int = 1) -> str:
    """Write a path as text; `first` is the index of the first item of a list.

    Examples
    --------
    >>> path_text(("rules", 0, "when", "term"))
    'rules[1].when.term'
    """
    text = "".join(f"[{step + first}]" if isinstance(step, int) else f".{step}" for step in path)
    return _shortened(text.removeprefix(".") if text.isprintable() else repr(text[1:]))


def _shortened(text: str) -> str:
    return text if len(text) <= _MAX_LENGTH else text[: _MAX_LENGTH - 3] + "..."


class _Member(NamedTuple):
    """A member of a union, with the description and the pattern in its metadata."""

    kind: inspect.Type
    expected: str | None = None
    pattern: str | None = None


def _members(kind: inspect.Type, outer: _Member | None = None) -> list[_Member]:
    """Return the members of a union, or the type itself."""
    match kind:
        case inspect.Metadata():
            expected = (kind.extra or {}).get("expected", outer and outer.expected)
            pattern = (kind.extra_json_schema or {}).get("pattern", outer and outer.pattern)
            return _members(kind.type, _Member(kind, expected, pattern))
        case inspect.UnionType():
            return [member for one in kind.types for member in _members(one, outer)]
    return [_Member(kind) if outer is None else outer._replace(kind=kind)]


def _structs(kind: inspect.Type) -> list[inspect.StructType]:
    return [one.kind for one in _members(kind) if isinstance(one.kind, inspect.StructType)]


def _struct(kind: inspect.Type, value: object) -> inspect.StructType | None:
    """Return the struct among the members of a type; of several, the one that the value names."""
    structs = _structs(kind)
    if len(structs) > 1 and isinstance(value, dict):
        structs.sort(key=lambda one: one.tag_field is None or value.get(one.tag_field) != one.tag)
    return structs[0] if structs else None


def _keys(struct: inspect.StructType | None) -> list[str]:
    if struct is None:
        return []
    tag = [] if struct.tag_field is None else [struct.tag_field]
    return tag + [field.encode_name for field in struct.fields]


def _inner(kind: inspect.Type, value: object, step: str | int) -> inspect.Type | None:
    """Return the type of one item of a value of a type."""
    if isinstance(step, str):
        struct = _struct(kind, value)
        if struct is None:
            return None
        if step == struct.tag_field:
            return inspect.LiteralType(tuple(one.tag for one in _structs(kind)))
        return next((field.type for field in struct.fields if field.encode_name == step), None)
    kinds = [one.kind for one in _members(kind)]
    lists = [one.item_type for one in kinds if isinstance(one, inspect.CollectionType)]
    return lists[0] if lists else None


def _explained(error: msgspec.ValidationError, value: Any, target: type) -> InvalidValue:
    """Turn an error of msgspec into one for people."""
    match = _AT.fullmatch(str(error))
    assert match is not None  # the pattern matches every text
    steps = re.findall(r"\w+|\[\d+\]", match["path"] or "")
    path: Path = tuple(int(step[1:-1]) if step[0] == "[" else step for step in steps)
    if error.__cause__ is not None:
        return InvalidValue(path, str(error.__cause__))
    kind = inspect.type_info(target)
    for step in path:
        inner = _inner(kind, value, step)
        if inner is None:  # an unknown key that looks like the path of an error
            break
        value, kind = value[step], inner
    if unknown := _UNKNOWN.fullmatch(match["what"]):
        key = unknown["key"]
        known = _keys(_struct(kind, value))
        return InvalidValue((*path, key), f"unknown key; {suggestion(key, known)}")
    if missing := _MISSING.fullmatch(match["what"]):
        return InvalidValue(path, f"missing key {missing['key']!r}")
    return _unexpected(path, value, kind)


def _check_texts_and_keys(value: object, target: type, *, every_key: bool) -> None:
    """Check the patterns of texts, and the presence of keys if `every_key` is set."""
    values: list[tuple[Path, Any, inspect.Type | None]] = [((), value, inspect.type_info(target))]
    while values:
        path, value, kind = values.pop()
        if kind is None or isinstance(kind, inspect.StrType):
            continue
        match value:
            case str():
                patterns = [one.pattern for one in _members(kind) if one.pattern is not None]
                if patterns and not any(re.search(pattern, value) for pattern in patterns):
                    raise _unexpected(path, value, kind)
            case dict():
                struct = _struct(kind, value)
                if struct is None:
                    continue
                missing = [key for key in _keys(struct) if key not in value]
                if missing and every_key:
                    raise InvalidValue(path, f"missing key {missing[0]!r}")
                fields = [(field.encode_name, field.type) for field in struct.fields]
                values += [((*path, key), value[key], of) for key, of in fields if key in value]
            case list():
                of_items = _inner(kind, value, 0)
                values += [((*path, index), item, of_items) for index, item in enumerate(value)]


def _unexpected(path: Path, value: object, kind: inspect.Type) -> InvalidValue:
    all_members = _members(kind)
    members = [
        one for one in all_members if _is_list(one) == isinstance(value, list)
    ] or all_members
    expected = " or ".join(
        dict.fromkeys(
            one.expected if one.expected and _may_fit(one, value) else _description(one.kind)
            for one in members
        )
    )
    return InvalidValue(path, f"expected {expected}, got {shown(value)}{_advice(members, value)}")


def _is_list(member: _Member) -> bool:
    return isinstance(member.kind, inspect.CollectionType)


def _may_fit(member: _Member, value: object) -> bool:
    """Whether details are of interest: the pattern of a text is, unless the value is a number."""
    return isinstance(value, str) or not isinstance(member.kind, inspect.StrType)


def _description(kind: inspect.Type) -> str:
    match kind:
        case inspect.LiteralType(values=values):
            words = list(map(str, values))
            return f"one of {', '.join(words)}" if len(words) > 3 else " or ".join(words)
        case inspect.FloatType() | inspect.IntType():
            noun = "a number" if isinstance(kind, inspect.FloatType) else "an integer"
            return f"{noun}{_bounds(kind)}"
        case inspect.StructType(fields=fields):
            if kind.tag_field is not None:
                return f"a mapping with the key {kind.tag_field}"
            return f"a mapping with the keys {', '.join(field.encode_name for field in fields)}"
        case inspect.CollectionType(min_length=min_length):
            return "a list with at least one item" if min_length else "a list"
        case inspect.StrType():
            return "text"
    return _DESCRIPTIONS.get(type(kind), type(kind).__name__)


def _bounds(kind: inspect.IntType | inspect.FloatType) -> str:
    match kind.ge, kind.gt, kind.le, kind.lt:
        case low, None, None, None if low is not None:
            return f" of {low} or more"
        case low, None, high, None if low is not None:
            return f" from {low} to {high}"
        case None, low, None, high if low is not None and high is not None:
            return f" above {low} and below {high}"
    return ""


_DESCRIPTIONS: dict[type, str] = {
    inspect.BoolType: "true or false",
    inspect.DateType: "a date such as 2027-01-31",
    inspect.DictType: "a mapping",
    inspect.NoneType: "nothing",
}


def _advice(members: list[_Member], value: object) -> str:
    """Suggest quotes, no quotes, or a similar word."""
    kinds = {type(one.kind) for one in members}
    if inspect.StrType in kinds and isinstance(value, bool | int | float):
        return "; put it in quotes"
    if not isinstance(value, str):
        return ""
    number = {inspect.IntType, inspect.FloatType} & kinds and re.fullmatch(r"[\d.]+", value)
    if number or (inspect.BoolType in kinds and value in ("true", "false")):
        return "; remove the quotes"
    literals = [one.kind for one in members if isinstance(one.kind, inspect.LiteralType)]
    words = [str(word) for literal in literals for word in literal.values]
    close = difflib.get_close_matches(value.casefold(), words, n=1)
    return f"; did you mean {close[0]!r}?" if close else ""
