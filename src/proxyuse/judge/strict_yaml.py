"""YAML read strictly: texts, lists and tables, each of which knows its line and column.

YAML allows more than a file of rules needs, and guesses: `no` is false, `1:30` is ninety, a key
given twice wins the second time, a few lines of aliases unfold to gigabytes. Here a key stands
once, aliases, anchors and tags are refused, depth and length have a limit, and a value stays the
text that was written, beside what YAML would take it for; who asks for a value says what it must
be. Nothing of a file is run. This module does not know what the tables mean.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from proxyuse.errors import FileError
from proxyuse.lang.text import shortened

MOST_BYTES = 1_000_000
_DEEPEST = 20

_TAKEN = {
    "str": "text",
    "int": "a number",
    "float": "a number",
    "null": "nothing",
    "timestamp": "a date",
}


@dataclass(frozen=True, slots=True)
class Place:
    """Where something stands, both counted from 1."""

    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Scalar:
    """One value: its text, whether it is without quotes, and what YAML takes it for."""

    place: Place
    text: str
    plain: bool
    taken: str


@dataclass(frozen=True, slots=True)
class Listing:
    """A list."""

    place: Place
    items: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """Values by key, and where each key stands."""

    place: Place
    entries: dict[str, Part]
    keys: dict[str, Place]


Part = Scalar | Listing | Table


class WrongPart(Exception):
    """Something in a file that does not fit: what, and where."""

    def __init__(self, place: Place, text: str) -> None:
        super().__init__(text)
        self.place = place

    def told(self, file: str) -> FileError:
        """The error for the user."""
        return FileError(f"{file}, line {self.place.line}, column {self.place.column}: {self}")


def read_yaml(text: str, file: str) -> Part:
    """Read a text with one YAML document.

    Parameters
    ----------
    text : the document.
    file : what it is called in messages.

    Raises
    ------
    FileError
        If it is not YAML, or uses what is refused here.
    """
    try:
        yaml = importlib.import_module("yaml")
    except ImportError as error:
        raise FileError(
            f"{file} is YAML, and reading it needs PyYAML, which is not installed: "
            "pip install 'proxyuse[files]'"
        ) from error
    if len(text) > MOST_BYTES:
        raise FileError(f"{file} is longer than {MOST_BYTES:,} characters; is it the right file?")
    try:
        found = _part(yaml, text)
    except WrongPart as error:
        raise error.told(file) from None
    except yaml.MarkedYAMLError as error:
        raise _marked(error).told(file) from None
    except yaml.reader.ReaderError as error:
        said = f"a character that YAML does not allow (code {error.character}); take it out"
        raise WrongPart(_place_of(text, error.position), said).told(file) from None
    if found is None:
        raise FileError(f"{file} is empty; is it the right file?")
    return found


def _marked(error: Any) -> WrongPart:
    mark = error.problem_mark or error.context_mark
    began = error.context_mark
    since = f" ({error.context} that began in line {began.line + 1})" if began else ""
    return WrongPart(
        _place(mark),
        f"this is not valid YAML: {error.problem}{since}; mend it there: indent with spaces, and "
        "put a text that has a colon, a bracket or a quote in it between quotes",
    )


def _place(mark: Any) -> Place:
    return Place(mark.line + 1, mark.column + 1)


def _place_of(text: str, position: int) -> Place:
    before = text[:position]
    return Place(before.count("\n") + 1, position - before.rfind("\n"))


def _part(yaml: Any, text: str) -> Part | None:
    """Put the one document of a text together from the parser's events, without recursion."""
    loader = yaml.SafeLoader(text)
    open_: list[tuple[Place, list[Part]]] = [(Place(1, 1), [])]
    try:
        for event in _events(yaml, loader):
            place = _place(event.start_mark)
            if isinstance(event, yaml.ScalarEvent):
                open_[-1][1].append(_scalar(yaml, loader, event))
            elif isinstance(event, yaml.CollectionStartEvent):
                open_.append((place, []))
                if len(open_) > _DEEPEST:
                    raise WrongPart(place, "this is nested too deeply; is it the right file?")
            elif isinstance(event, yaml.CollectionEndEvent):
                began, parts = open_.pop()
                ends_list = isinstance(event, yaml.SequenceEndEvent)
                whole = Listing(began, tuple(parts)) if ends_list else _table(began, parts)
                open_[-1][1].append(whole)
            elif isinstance(event, yaml.DocumentStartEvent) and open_[-1][1]:
                raise WrongPart(place, "a second document begins here; keep one in a file")
    except (ValueError, OverflowError):  # "\UFFFFFFFF", a version of 5,000 digits
        said = "a number or the code of a character is too large here; mend it"
        raise WrongPart(_place(loader.get_mark()), said) from None
    finally:
        loader.dispose()
    return open_[0][1][0] if open_[0][1] else None


def _events(yaml: Any, loader: Any) -> Iterator[Any]:
    """The parser's events, as long as nothing is given a name or a type."""
    while loader.check_event():
        event = loader.get_event()
        place = _place(event.start_mark)
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) is not None:
            sign = "*" if isinstance(event, yaml.AliasEvent) else "&"
            raise WrongPart(
                place,
                f"{sign}{event.anchor} is an alias or an anchor, which are not read here; write "
                "out what is meant (a text that begins with & or * goes between quotes)",
            )
        if getattr(event, "tag", None) is not None:
            raise WrongPart(
                place,
                f"{_brief(event.tag)} is a tag, which is not read here; leave it out "
                "(a text that begins with ! goes between quotes)",
            )
        yield event


def _scalar(yaml: Any, loader: Any, event: Any) -> Scalar:
    plain = event.style is None
    tag = loader.resolve(yaml.ScalarNode, event.value, (plain, not plain))
    kind = tag.rpartition(":")[2]
    if kind == "bool":
        taken = "true" if event.value.lower() in ("true", "yes", "on") else "false"
    else:
        taken = _TAKEN.get(kind, "a sign of its own")
    return Scalar(_place(event.start_mark), event.value, plain, taken)


def _table(place: Place, parts: list[Part]) -> Table:
    entries: dict[str, Part] = {}
    keys: dict[str, Place] = {}
    for key, value in zip(parts[::2], parts[1::2], strict=True):
        if not isinstance(key, Scalar):
            raise WrongPart(key.place, "a key must be a single word")
        if key.text in keys:
            raise WrongPart(
                key.place,
                f"the key {_brief(key.text)} stands here and in line {keys[key.text].line}; "
                "keep one of them",
            )
        entries[key.text] = value
        keys[key.text] = key.place
    return Table(place, entries, keys)


def _brief(text: str) -> str:
    return shortened(repr(text))
