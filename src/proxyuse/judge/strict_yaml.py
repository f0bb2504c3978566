"""A strict subset of YAML: text, lists and mappings that know their line and column.

Full YAML guesses and allows more than a policy needs: `no` is false, `1:30` is ninety, the second
of two equal keys wins, a few lines of aliases expand to gigabytes. Here keys are unique, aliases,
anchors and tags are errors, depth and length are limited, and a scalar keeps its text next to the
type YAML gives it. PyYAML parses; nothing in a file is executed.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

from proxyuse.errors import FileError
from proxyuse.words import shortened

MAX_BYTES = 1_000_000
_MAX_DEPTH = 20

_TYPES = {
    "str": "text",
    "int": "a number",
    "float": "a number",
    "null": "nothing",
    "timestamp": "a date",
}


@dataclass(frozen=True, slots=True)
class Location:
    """A line and a column, both counted from 1."""

    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Scalar:
    """A single value: its text, whether it is unquoted, and the type YAML gives it."""

    location: Location
    text: str
    plain: bool
    type: str


@dataclass(frozen=True, slots=True)
class Sequence:
    """A list."""

    location: Location
    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Mapping:
    """Values by key, and the location of each key."""

    location: Location
    entries: dict[str, Node]
    keys: dict[str, Location]


Node = Scalar | Sequence | Mapping


class InvalidNode(Exception):
    """An error at one location of a file."""

    def __init__(self, location: Location, message: str) -> None:
        super().__init__(message)
        self.location = location

    def in_file(self, file: str) -> FileError:
        """Return the error for the user."""
        at = self.location
        return FileError(f"{file}, line {at.line}, column {at.column}: {self}")


def read_yaml(text: str, file: str) -> Node:
    """Read a text with one YAML document.

    Parameters
    ----------
    text : the document.
    file : the name of the file, for messages.

    Raises
    ------
    FileError
        If the text is not YAML, or uses a feature that is not allowed here.
    """
    try:
        yaml = importlib.import_module("yaml")
    except ImportError as error:
        raise FileError(
            f"reading {file} needs PyYAML, which is not installed: pip install 'proxyuse[files]'"
        ) from error
    if len(text) > MAX_BYTES:
        raise FileError(f"{file} has more than {MAX_BYTES:,} characters; is it the right file?")
    loader = None
    try:
        loader = _strict_loader(yaml)(text)
        root = loader.get_single_node()
        if root is None:
            raise FileError(f"{file} is empty")
        return _node(yaml, root)
    except InvalidNode as error:
        raise error.in_file(file) from None
    except yaml.MarkedYAMLError as error:
        raise _syntax_error(error).in_file(file) from None
    except yaml.reader.ReaderError as error:
        message = f"YAML does not allow this character (code {error.character}); remove it"
        raise InvalidNode(_offset(text, error.position), message).in_file(file) from None
    except (ValueError, OverflowError):  # "\UFFFFFFFF", a version with 5,000 digits
        at = _location(loader.get_mark()) if loader is not None else Location(1, 1)
        message = "a number or a character code is too large"
        raise InvalidNode(at, message).in_file(file) from None
    finally:
        if loader is not None:
            loader.dispose()


def _strict_loader(yaml: Any) -> Any:
    """Return a loader class that refuses aliases, anchors, tags and deep nesting."""

    class StrictLoader(yaml.SafeLoader):  # type: ignore[misc, name-defined, unused-ignore]
        depth = 0

        def compose_node(self, parent: Any, index: Any) -> Any:
            event = self.peek_event()
            at = _location(event.start_mark)
            if isinstance(event, yaml.AliasEvent) or event.anchor is not None:
                sign = "*" if isinstance(event, yaml.AliasEvent) else "&"
                raise InvalidNode(
                    at,
                    f"aliases and anchors are not allowed ({sign}{event.anchor}); repeat the "
                    "value, or quote a text that starts with & or *",
                )
            if event.tag is not None:
                raise InvalidNode(
                    at,
                    f"tags are not allowed ({_brief(event.tag)}); remove it, or quote a text that "
                    "starts with !",
                )
            self.depth += 1
            if self.depth > _MAX_DEPTH:
                raise InvalidNode(at, "nested too deeply; is it the right file?")
            node = super().compose_node(parent, index)
            self.depth -= 1
            return node

    return StrictLoader


def _syntax_error(error: Any) -> InvalidNode:
    start = error.context_mark
    since = f" ({error.context}, which starts in line {start.line + 1})" if start else ""
    return InvalidNode(
        _location(error.problem_mark or start),
        f"invalid YAML: {error.problem}{since}; indent with spaces, and quote text that contains "
        "a colon, a bracket or a quote",
    )


def _location(mark: Any) -> Location:
    return Location(mark.line + 1, mark.column + 1)


def _offset(text: str, position: int) -> Location:
    before = text[:position]
    return Location(before.count("\n") + 1, position - before.rfind("\n"))


def _node(yaml: Any, node: Any) -> Node:
    """Convert a node of PyYAML; the loader has limited the depth."""
    at = _location(node.start_mark)
    if isinstance(node, yaml.SequenceNode):
        return Sequence(at, tuple(_node(yaml, item) for item in node.value))
    if isinstance(node, yaml.ScalarNode):
        kind = node.tag.rpartition(":")[2]
        if kind == "bool":
            kind = "true" if node.value.lower() in ("true", "yes", "on") else "false"
        return Scalar(at, node.value, node.style is None, _TYPES.get(kind, kind))
    entries: dict[str, Node] = {}
    keys: dict[str, Location] = {}
    for key, value in node.value:
        here = _location(key.start_mark)
        if not isinstance(key, yaml.ScalarNode):
            raise InvalidNode(here, "expected a single word as a key")
        if key.value in keys:
            first = keys[key.value].line
            raise InvalidNode(here, f"duplicate key {_brief(key.value)}, first in line {first}")
        entries[key.value] = _node(yaml, value)
        keys[key.value] = here
    return Mapping(at, entries, keys)


def _brief(text: str) -> str:
    return shortened(repr(text))
