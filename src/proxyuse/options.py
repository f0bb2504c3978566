"""Options: how they are declared, checked, documented and read from files and command lines.

An option is a field of a subclass of `Options`. Its annotation states its type, bounds and help
text; its value is the default. The declarations are in `settings`.
"""

from __future__ import annotations

import functools
import inspect
import math
import numbers
import textwrap
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta

from proxyuse.errors import DataError

_Kind = TypeVar("_Kind", bound="Options")
_Function = TypeVar("_Function", bound=Callable[..., object])
_LONGEST = 60  # characters of a value in a message
PLACEHOLDER = "{options}"
_NOUNS = {int: "an integer", float: "a number"}

Share = Annotated[float, Meta(ge=0, le=1)]
OpenShare = Annotated[float, Meta(gt=0, lt=1)]
Count = Annotated[int, Meta(ge=1)]
CountOrZero = Annotated[int, Meta(ge=0)]


def about(
    text: str,
    group: str | None = None,
    title: str | None = None,
    off: str | None = None,
    percent: bool = False,
) -> Meta:
    """Describe an option: help, group on the command line, type in words, help of ``--no-...``.

    A number with `percent` may also be a text such as ``"50%"``, until it is resolved.
    """
    extra = {"group": group, "off": off, "percent": percent}
    return Meta(description=text, title=title, extra=extra)


class Options(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Base of every class of options: checks each value against its declaration.

    Examples
    --------
    >>> class Rounds(Options, frozen=True):
    ...     most: typing.Annotated[int, msgspec.Meta(ge=1)] = 3
    >>> Rounds(most=0)
    Traceback (most recent call last):
        ...
    proxyuse.errors.DataError: most: expected an integer of at least 1, got 0
    """

    def __post_init__(self) -> None:
        for option in options_of(type(self)):
            value = option.checked(getattr(self, option.name))
            msgspec.structs.force_setattr(self, option.name, value)


class Option(msgspec.Struct, frozen=True):
    """One declared option.

    Attributes
    ----------
    name : its name in Python.
    key : its name in a project file; with hyphens, its name on the command line.
    kind : its type, without None.
    annotation : its type in a signature.
    optional : whether it can be None.
    default : the default value.
    meta : bounds, help text, and in `extra` the group on the command line.
    """

    name: str
    key: str
    kind: Any
    annotation: Any
    optional: bool
    default: Any
    meta: msgspec.Meta

    @property
    def help(self) -> str:
        """The help text."""
        return self.meta.description or ""

    @property
    def flag(self) -> str:
        """The option on the command line, such as ``--time-limit``."""
        return f"--{self.key.replace('_', '-')}"

    @property
    def group(self) -> str | None:
        """The group of the option on the command line; None if it is not offered there."""
        return (self.meta.extra or {}).get("group")

    @property
    def off(self) -> str:
        """The help text of the flag that switches the option off."""
        return (self.meta.extra or {}).get("off") or ""

    @property
    def percent(self) -> bool:
        """Whether a number may also be a percentage, a text such as ``"50%"``."""
        return bool((self.meta.extra or {}).get("percent"))

    @property
    def choices(self) -> tuple[str, ...]:
        """The values of an option that is a choice."""
        return literals(self.kind)

    @property
    def items(self) -> type[Options] | None:
        """The class of an option that is a table of options."""
        return self.kind if _is_options(self.kind) else None

    @property
    def expected(self) -> str:
        """What a value must be, in words."""
        if self.choices:
            choices = [f"'{choice}'" for choice in self.choices]
            if self.number is not None:
                choices.append(" ".join([_NOUNS[self.number], *_bounds(self.meta)]))
            return listed(choices)
        if self.items is not None:
            return f"a {self.items.__name__}"
        if self.number is not None:
            percent = ", or a percentage such as '50%'" * self.percent
            return " ".join([_NOUNS[self.number], *_bounds(self.meta)]) + percent
        words = {bool: "true or false", str: "a non-empty string", Path: "the path of a file"}
        words[object] = "a column name"
        if self.names is not None:
            names = listed([f"'{name}'" for name in self.names]) if self.names else "a name"
            return f"{names}, or a list of different names"
        named = _is_union(self.kind) and str in typing.get_args(self.kind)
        return "a name" if named else words.get(self.kind, "a value")

    @property
    def number(self) -> type[int] | type[float] | None:
        """The type of the numbers that an option takes, alone or beside choices."""
        parts = typing.get_args(self.kind) if _is_union(self.kind) else (self.kind,)
        return next((part for part in parts if part in (int, float)), None)

    @property
    def names(self) -> tuple[str, ...] | None:
        """The names that an option with several names allows, all if empty; None for others."""
        if typing.get_origin(self.kind) is not tuple:
            return None
        return literals(typing.get_args(self.kind)[0])

    def checked(self, value: object) -> Any:
        """Return the value in the declared type; raise an error if it does not fit."""
        if value is None and self.optional:
            return None
        fitting = _fitting(self, value)
        if fitting is _UNFIT:
            hint = f"; pass for example {self.items.__name__}()" if self.items else ""
            raise DataError(self.refusal(value, self._or_none) + hint)
        return fitting

    @property
    def _or_none(self) -> str:
        """The end of a list of expected values, if None is one of them."""
        comma = "," * (" or " in self.expected)
        return f"{comma} or None" * self.optional

    def refusal(self, value: object, alternative: str = "") -> str:
        """Say which value is wrong and what is expected."""
        return f"{self.name}: expected {self.expected}{alternative}, got {shown(value)}"

    def from_plain(self, value: object) -> Any:
        """Return the value of an option in a file. None is written ``"none"``."""
        none = self.optional and self.default is not None
        if none and value == "none":
            return None
        if self.items is not None and isinstance(value, Mapping):
            return self.items(**from_table(options_of(self.items), value))
        # an object in Python, else a name
        named = self.kind is object or (_is_union(self.kind) and self.number is None)
        fitting = (
            _UNFIT if named and not (isinstance(value, str) and value) else _fitting(self, value)
        )
        if fitting is _UNFIT:
            expected = "a table" if self.items else self.expected + " or 'none'" * none
            raise DataError(f"expected {expected}, got {shown(value)}")
        return fitting

    def from_text(self, text: str) -> Any:
        """Return the value of an option on the command line; of a table, the values by key."""
        if self.items is not None:
            return _pairs(options_of(self.items), text)
        if self.number is not None:
            return self.from_plain(_number(text))
        return self.from_plain(text)


def options_of(kind: type[Options]) -> tuple[Option, ...]:
    """Return the options of a class, in order."""
    return _declared(kind)


@functools.cache
def _declared(kind: type[Options]) -> tuple[Option, ...]:
    return tuple(_option(field) for field in msgspec.structs.fields(kind))


def from_keywords(kind: type[_Kind], values: Mapping[str, Any]) -> _Kind:
    """Create options from the keywords of a call."""
    refuse_unknown(values, [option.name for option in options_of(kind)])
    return kind(**values)


def refuse_unknown(names: Iterable[str], known: Iterable[str]) -> None:
    """Raise an error for the first name that is not known."""
    known = list(known)
    for name in names:
        if name not in known:
            raise DataError(unknown(name, known))


def from_table(options: Iterable[Option], table: Mapping[str, object]) -> dict[str, Any]:
    """Return the values of a table of a file, by key; an error names the key.

    Examples
    --------
    >>> class Rounds(Options, frozen=True):
    ...     most: typing.Annotated[int, msgspec.Meta(ge=1)] = 3
    >>> from_table(options_of(Rounds), {"most": 2})
    {'most': 2}
    >>> from_table(options_of(Rounds), {"msot": 2})
    Traceback (most recent call last):
        ...
    proxyuse.errors.DataError: unknown option 'msot'; did you mean 'most'?
    """
    known = {option.key: option for option in options}
    refuse_unknown(table, known)
    values: dict[str, Any] = {}
    for key, value in table.items():
        try:
            values[key] = known[key].from_plain(value)
        except DataError as error:
            raise DataError(f"{key}: {error}") from None
    return values


def unknown(name: str, known: Iterable[str]) -> str:
    """Say that a name is unknown, with the closest known name or all of them."""
    import difflib

    names = list(known)
    close = difflib.get_close_matches(name.casefold().replace("-", "_"), names, n=1)
    hint = f"did you mean '{close[0]}'?" if close else f"known options: {', '.join(names)}"
    return f"unknown option '{name}'; {hint}"


def shown(value: object) -> str:
    """Return a value as it stands in a message."""
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def listed(names: Iterable[str]) -> str:
    """Join names with commas and a final "or"."""
    *first, last = names
    return f"{', '.join(first)} or {last}" if first else last


def percentage(value: object) -> float | None:
    """Return the share that a text such as ``"50%"`` denotes; None for any other value.

    Examples
    --------
    >>> percentage("50%"), percentage("0.5"), percentage("120%")
    (0.5, None, None)
    """
    if not isinstance(value, str) or not value.strip().endswith("%"):
        return None
    number = _number(value.strip()[:-1].strip())
    return number / 100 if isinstance(number, int | float) and 0 < number <= 100 else None


def literals(kind: Any) -> tuple[str, ...]:
    """Return the values of a `Literal`, also of one in a union; none for other types."""
    parts = typing.get_args(kind) if _is_union(kind) else (kind,)
    choices = [part for part in parts if typing.get_origin(part) is Literal]
    return typing.get_args(choices[0]) if choices else ()


# Documentation


def documented(kind: type[Options], names: Iterable[str]) -> Callable[[_Function], _Function]:
    """Return a decorator that writes options into the signature and the docstring of a function.

    The function takes them as ``**options``. The line ``{options}`` of its docstring is replaced.

    Parameters
    ----------
    kind : the class that declares the options.
    names : the names of the options that the function takes as keywords.
    """
    chosen = set(names)

    def decorate(function: _Function) -> _Function:
        signature = inspect.signature(function)
        parameters = list(signature.parameters.values())
        own = [p for p in parameters if p.kind is not inspect.Parameter.VAR_KEYWORD]
        added = [
            inspect.Parameter(
                option.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=option.default,
                annotation=option.annotation,
            )
            for option in options_of(kind)
            if option.name in chosen
        ]
        function.__signature__ = signature.replace(parameters=[*own, *added])  # type: ignore[attr-defined]
        listed_names = {*chosen, *(p.name for p in own)}
        entries = [_entry(option) for option in options_of(kind) if option.name in listed_names]
        text = inspect.cleandoc(function.__doc__ or "")
        function.__doc__ = text.replace(PLACEHOLDER, "\n".join(entries))
        return function

    return decorate


def _entry(option: Option) -> str:
    """Return the paragraph of an option in a docstring."""
    kind = option.meta.title or ("bool" if option.kind is bool else option.expected)
    default = f"{option.items.__name__}()" if option.items else shown(option.default)
    ending = "optional" if option.default is None else f"default {default}"
    indent = " " * 4
    text = textwrap.fill(option.help, 96, initial_indent=indent, subsequent_indent=indent)
    return f"{option.name} : {kind}, {ending}\n{text}"


# Declarations


def _option(field: msgspec.structs.FieldInfo) -> Option:
    """Read one declaration."""
    kind, optional = field.type, False
    metas: list[msgspec.Meta] = []
    while True:
        if typing.get_origin(kind) is typing.Annotated:
            kind, *own = typing.get_args(kind)
            metas += own
        elif type(None) in typing.get_args(kind) and _is_union(kind):
            optional = True
            rest = [part for part in typing.get_args(kind) if part is not type(None)]
            kind = typing.Union[tuple(rest)]  # noqa: UP007
        elif _is_union(kind) and any(
            typing.get_origin(part) is typing.Annotated for part in typing.get_args(kind)
        ):
            parts = [_plain_kind(part, metas) for part in typing.get_args(kind)]
            kind = typing.Union[tuple(parts)]  # noqa: UP007
        else:
            break
    annotation = typing.Optional[kind] if optional else kind  # noqa: UP045
    default = field.default if field.default is not msgspec.NODEFAULT else None
    known = {name: value for meta in metas for name, value in _known(meta)}
    meta = msgspec.Meta(**known)
    return Option(field.name, field.encode_name, kind, annotation, optional, default, meta)


def _plain_kind(part: Any, metas: list[msgspec.Meta]) -> Any:
    """Return a part of a union without its bounds, which are added to `metas`."""
    if typing.get_origin(part) is not typing.Annotated:
        return part
    kind, *own = typing.get_args(part)
    metas += own
    return kind


def _known(meta: msgspec.Meta) -> list[tuple[str, Any]]:
    names = ("ge", "gt", "le", "lt", "title", "description", "extra")
    return [(name, getattr(meta, name)) for name in names if getattr(meta, name) is not None]


def _is_union(kind: Any) -> bool:
    return typing.get_origin(kind) in (typing.Union, types.UnionType)


def _is_options(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, Options)


def _bounds(meta: msgspec.Meta) -> list[str]:
    """Return the bounds of a number, in words."""
    match meta.ge, meta.gt, meta.le, meta.lt:
        case low, None, high, None if low is not None and high is not None:
            return [f"between {low:g} and {high:g}"]
        case None, low, None, high if low is not None and high is not None:
            return [f"above {low:g} and below {high:g}"]
        case low, None, None, None if low is not None:
            return [f"of at least {low:g}"]
        case None, low, None, None if low is not None:
            return [f"above {low:g}"]
        case _:
            return []


# Values

_UNFIT: Any = object()


def _fitting(option: Option, value: object) -> Any:
    """Return the value in the type of an option, or `_UNFIT`."""
    kind = option.kind
    if option.choices and (isinstance(value, str) or not _is_union(kind)):
        return value if isinstance(value, str) and value in option.choices else _UNFIT
    if option.items is not None:
        return value if isinstance(value, option.items) else _UNFIT
    if kind is bool:
        return bool(value) if _is_boolean(value) else _UNFIT
    if option.percent and isinstance(value, str):
        return value if percentage(value) is not None else _UNFIT
    if option.number is not None:
        return _fitting_number(option, value)
    if kind is str:
        return value if isinstance(value, str) and value.strip() else _UNFIT
    if kind is Path:
        usable = isinstance(value, str | Path) and str(value) and "\0" not in str(value)
        return Path(value) if usable else _UNFIT  # type: ignore[arg-type]
    if option.names is not None:
        return _fitting_names(value, option.names)
    return value  # checked where it is used


def _fitting_number(option: Option, value: object) -> Any:
    whole = option.number is int
    if not isinstance(value, numbers.Integral if whole else numbers.Real) or _is_boolean(value):
        return _UNFIT
    try:
        number: float = int(value) if whole else float(value)  # type: ignore[call-overload]
        finite = math.isfinite(number)
    except OverflowError:  # an integer that no float can hold
        return _UNFIT
    meta = option.meta
    fits = (
        finite
        and (meta.ge is None or number >= meta.ge)
        and (meta.gt is None or number > meta.gt)
        and (meta.le is None or number <= meta.le)
        and (meta.lt is None or number < meta.lt)
    )
    return number if fits else _UNFIT


def _fitting_names(value: object, known: tuple[str, ...]) -> Any:
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, list | tuple) or not names:
        return _UNFIT
    if not all(isinstance(name, str) and name and (not known or name in known) for name in names):
        return _UNFIT
    return tuple(names) if len(set(names)) == len(names) else _UNFIT


def _is_boolean(value: object) -> bool:
    """Return whether a value is a boolean of Python or NumPy, without importing NumPy."""
    kind = type(value)
    return kind is bool or (kind.__module__ == "numpy" and kind.__name__ in ("bool", "bool_"))


def _number(text: str) -> object:
    """Return the number that a text denotes; the text itself if it denotes none."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _pairs(options: Iterable[Option], text: str) -> dict[str, Any]:
    """Read a text such as ``subsets=4096,grow=128``."""
    options = tuple(options)
    values: dict[str, object] = {}
    for item in text.split(","):
        key, equals, value = (part.strip() for part in item.partition("="))
        if not equals:
            keys = ", ".join(option.key for option in options)
            raise DataError(f"expected KEY=VALUE, got {item.strip()!r}; keys: {keys}")
        if key in values:
            raise DataError(f"{key}: occurs twice; pass one value")
        values[key] = _number(value)
    return from_table(options, values)
