"""A strict subset of YAML, read with PyYAML, in which every value knows its line.

Full YAML allows more than a policy needs: `no` is false, `1:30` is ninety, the second of two equal
keys wins, a few lines of aliases expand to gigabytes. Here scalars follow the core rules of
YAML 1.2, keys are unique, aliases, anchors and tags are errors, and depth and length are limited.
"""

from __future__ import annotations

import importlib
import re
from dataclasses import dataclass
from typing import Any

from proxyuse.errors import FileError
from proxyuse.input_limits import POLICY_BYTES, POLICY_DEPTH
from proxyuse.io.typed import Path, shown

_WORDS = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")
_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")


@dataclass(frozen=True, slots=True)
class Location:
    """A line and a column, both counted from 1."""

    line: int
    column: int

    def error(self, file: str, message: str) -> FileError:
        """Return an error at this location of a file."""
        return FileError(f"{file}, line {self.line}, column {self.column}: {message}")


@dataclass(frozen=True, slots=True)
class Document:
    """The content of a file, and the location of each value by its path.

    A value with a key is located at its key.
    """

    content: object
    locations: dict[Path, Location]

    def location(self, path: Path) -> Location:
        """Return the location of a value; for an unknown path, that of the value around it."""
        while path not in self.locations:
            path = path[:-1]
        return self.locations[path]


def read_yaml(text: str, file: str) -> Document:
    r"""Read a text with one YAML document.

    Parameters
    ----------
    text : the document.
    file : the name of the file, for messages.

    Raises
    ------
    FileError
        If the text is not YAML, or uses a feature that is not allowed here.

    Examples
    --------
    >>> document = read_yaml("limits:\n  - 0.5\n  - no\n", "a.yaml")
    >>> document.content, document.location(("limits", 1))
    ({'limits': [0.5, 'no']}, Location(line=3, column=5))
    """
    try:
        yaml = importlib.import_module("yaml")
    except ImportError as error:
        raise FileError(
            f"reading {file} needs PyYAML, which is not installed: pip install 'proxyuse[files]'"
        ) from error
    POLICY_BYTES.check(len(text), file)
    try:
        _check_features(yaml, text, file)
        root = yaml.compose(text, Loader=yaml.SafeLoader)
        if root is None:
            raise FileError(f"{file} is empty")
        locations: dict[Path, Location] = {}
        return Document(_value(yaml, root, (), locations), locations)
    except _Invalid as error:
        raise error.location.error(file, str(error)) from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise _location(mark).error(file, _syntax_error(error)) from None
    except yaml.reader.ReaderError as error:
        message = f"YAML does not allow this character (code {error.character}); remove it"
        raise _location_at(text, error.position).error(file, message) from None


class _Invalid(Exception):
    """A feature of YAML that is not allowed here."""

    def __init__(self, location: Location, message: str) -> None:
        super().__init__(message)
        self.location = location


def _check_features(yaml: Any, text: str, file: str) -> None:
    """Refuse aliases, anchors, tags and deep nesting before anything is built from the text."""
    depth, location = 0, Location(1, 1)
    try:
        for event in yaml.parse(text, Loader=yaml.SafeLoader):
            location = _location(event.end_mark)
            if isinstance(event, yaml.CollectionEndEvent):
                depth -= 1
            elif isinstance(event, yaml.NodeEvent):
                _check_node(yaml, event)
                depth += isinstance(event, yaml.CollectionStartEvent)
            if depth > POLICY_DEPTH.value:
                place = f"{file}, line {location.line}, column {location.column}: it"
                raise POLICY_DEPTH.exceeded(depth, place, at_least=True)
    except (ValueError, OverflowError):  # "\\UFFFFFFFF", a version with 5,000 digits
        raise _Invalid(location, "a number or a character code after this is too large") from None


def _check_node(yaml: Any, event: Any) -> None:
    location = _location(event.start_mark)
    if event.anchor is not None:
        sign = "*" if isinstance(event, yaml.AliasEvent) else "&"
        raise _Invalid(
            location,
            f"aliases and anchors are not allowed ({shown(sign + event.anchor)}); repeat the "
            "value, or quote text that starts with & or *",
        )
    if getattr(event, "tag", None) is not None:
        raise _Invalid(
            location,
            f"tags are not allowed ({shown(event.tag)}); remove the tag, or quote text that "
            "starts with !",
        )


def _value(yaml: Any, node: Any, path: Path, locations: dict[Path, Location]) -> object:
    """Convert a node of PyYAML and note its location; the depth is limited."""
    locations.setdefault(path, _location(node.start_mark))
    if isinstance(node, yaml.ScalarNode):
        return _scalar(node.value) if node.style is None else node.value
    if isinstance(node, yaml.SequenceNode):
        items = enumerate(node.value)
        return [_value(yaml, item, (*path, index), locations) for index, item in items]
    mapping: dict[str, object] = {}
    for key, value in node.value:
        location = _location(key.start_mark)
        if not isinstance(key, yaml.ScalarNode):
            raise _Invalid(location, "expected text as a key, got a list or a mapping")
        name, inner = key.value, (*path, key.value)
        if name in mapping:
            first = locations[inner].line
            raise _Invalid(location, f"duplicate key {shown(name)}, first in line {first}")
        locations[inner] = location
        mapping[name] = _value(yaml, value, inner, locations)
    return mapping


def _scalar(text: str) -> object:
    """Convert a scalar without quotes by the core rules of YAML 1.2."""
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    return float(text) if _NUMBER.fullmatch(text) else text


def _syntax_error(error: Any) -> str:
    start = error.context_mark
    since = f" ({error.context}, which starts in line {start.line + 1})" if start else ""
    return (
        f"invalid YAML: {error.problem}{since}; indent with spaces, and quote text that contains "
        "a colon, a bracket or a quote"
    )


def _location(mark: Any) -> Location:
    return Location(mark.line + 1, mark.column + 1)


def _location_at(text: str, position: int) -> Location:
    before = text[:position]
    return Location(before.count("\n") + 1, position - before.rfind("\n"))
