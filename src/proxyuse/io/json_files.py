"""JSON documents: written as text, and checked when read, because a file may be foreign."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from proxyuse.errors import DataError, FileError
from proxyuse.io.reading import unreadable

MAX_DEPTH = 64


def json_text(value: object) -> str:
    """Return JSON values as the text of a file; equal values in the same order give equal text."""
    text = json.dumps(value, allow_nan=False, ensure_ascii=False, indent=1) + "\n"
    return text.encode("utf-8", "backslashreplace").decode("utf-8")  # lone surrogates are escaped


@dataclass(frozen=True, slots=True)
class DocumentFormat:
    """A kind of JSON document that names its format and version.

    Attributes
    ----------
    noun : the kind of document in messages, such as "a certificate".
    marker : the value of its entry ``format``.
    version : the latest version that this package reads.
    advice : what to do about a file that is not such a document.
    max_bytes : the maximum size of a file.
    """

    noun: str
    marker: str
    version: int
    advice: str
    max_bytes: int

    def read(self, path: Path) -> dict[str, Any]:
        """Read a file and check its format and version; raise a `FileError` if they are wrong."""
        try:
            with path.open("rb") as file:
                raw = file.read(self.max_bytes + 1)
        except (OSError, ValueError) as error:
            raise unreadable(path, error) from None
        if len(raw) > self.max_bytes:
            raise FileError(f"{path}: too large for {self.noun}; check the path")
        try:
            return self.parsed(raw)
        except DataError as error:
            raise FileError(f"{path}: {error}") from None

    def parsed(self, text: str | bytes) -> dict[str, Any]:
        """Parse JSON and check its format and version; raise a `DataError` if they are wrong.

        Duplicate keys and numbers that are not finite are errors.

        Examples
        --------
        >>> letters = DocumentFormat("a letter", "letter", 1, "write it again", 1000)
        >>> letters.parsed('{"format": "letter", "version": 1}')
        {'format': 'letter', 'version': 1}
        >>> letters.parsed('{"format": "letter", "format": "letter"}')
        Traceback (most recent call last):
            ...
        proxyuse.errors.DataError: not a letter: duplicate key "format"; write it again
        """
        try:
            content = json.loads(
                text, parse_constant=_number, parse_float=_number, object_pairs_hook=_unique
            )
        except UnicodeDecodeError:
            raise self.mismatch("not a text file") from None
        except RecursionError:
            raise self.mismatch("nested too deeply") from None
        except json.JSONDecodeError as error:
            raise self.mismatch(f"not JSON ({error})") from None
        except ValueError as error:
            raise self.mismatch(str(error)) from None
        if not isinstance(content, dict) or content.get("format") != self.marker:
            raise self.mismatch(f'no "format": "{self.marker}"')
        version = content.get("version")
        if isinstance(version, int) and version > self.version:
            raise DataError(
                f"{self.noun} of format version {version}; this proxyuse reads up to version "
                f"{self.version}; upgrade proxyuse"
            )
        return content

    def mismatch(self, reason: str) -> DataError:
        """Return the error for content that is not such a document."""
        return DataError(f"not {self.noun}: {reason}; {self.advice}")


def check_depth(content: object) -> None:
    """Raise a `ValueError` if JSON values are nested so deeply that encoding them can fail.

    Examples
    --------
    >>> check_depth([[{"a": [1]}]])
    """
    level = [content]
    for _ in range(MAX_DEPTH):
        inner: list[object] = []
        for value in level:
            match value:
                case dict():
                    inner += value.values()
                case list():
                    inner += value
        level = inner
    if level:
        raise ValueError("nested too deeply")


def _number(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:40]} is not a finite number")
    return number


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content: dict[str, Any] = {}
    for key, value in pairs:
        if key in content:
            raise ValueError(f"duplicate key {json.dumps(key[:60])}")
        content[key] = value
    return content
