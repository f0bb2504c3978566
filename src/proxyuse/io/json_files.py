"""JSON documents: written as text, and checked when read, because a file may be foreign."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from proxyuse.errors import DataError, FileError, LimitExceeded
from proxyuse.input_limits import JSON_DEPTH, JSON_VALUES, Limit
from proxyuse.io.reading import read_bytes
from proxyuse.words import json_escaped

MAX_DEPTH = 64


def json_text(value: object) -> str:
    """Return JSON values as the text of a file; equal values in the same order give equal text."""
    text = json.dumps(value, allow_nan=False, ensure_ascii=False, indent=1)
    return json_escaped(text) + "\n"


@dataclass(frozen=True, slots=True)
class DocumentFormat:
    """A kind of JSON document that names its format and version.

    Attributes
    ----------
    noun : the kind of document in messages, such as "a certificate".
    marker : the value of its entry ``format``.
    version : the latest version that this package reads.
    advice : what to do about a file that is not such a document.
    limit : the limit on the size of a file.
    """

    noun: str
    marker: str
    version: int
    advice: str
    limit: Limit

    def read(self, path: Path) -> dict[str, Any]:
        """Read a file and check its format and version; raise a `FileError` if they are wrong."""
        raw = read_bytes(path, self.limit)
        try:
            return self.parsed(raw)
        except LimitExceeded as error:
            raise error.within(path) from None
        except DataError as error:
            raise FileError(f"{path}: {error}") from None

    def parsed(self, text: str | bytes) -> dict[str, Any]:
        """Parse JSON and check its format and version; raise a `DataError` if they are wrong.

        Duplicate keys and numbers that are not finite are errors.

        Examples
        --------
        >>> from proxyuse.input_limits import RESULT_BYTES
        >>> letters = DocumentFormat("a letter", "letter", 1, "write it again", RESULT_BYTES)
        >>> letters.parsed('{"format": "letter", "version": 1}')
        {'format': 'letter', 'version': 1}
        >>> letters.parsed('{"format": "letter", "format": "letter"}')
        Traceback (most recent call last):
            ...
        proxyuse.errors.DataError: not a letter: duplicate key "format"; write it again
        """
        check_json(text, self.noun)
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


def check_json(text: str | bytes, subject: str) -> None:
    """Raise `LimitExceeded` if JSON has too many values, or nests too deeply; builds none of them.

    Examples
    --------
    >>> from proxyuse.input_limits import limits
    >>> check_json('{"a": [1, 2]}', "the document")
    >>> with limits(json_depth=2):
    ...     check_json('[["[", [1]]]', "the document")
    Traceback (most recent call last):
        ...
    proxyuse.errors.LimitExceeded: the document has 3 levels, more than the limit `json_depth` of \
2; if you trust the input, raise the limit: --limit json_depth=3, or \
proxyuse.limits(json_depth=3) in Python
    """
    raw = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    n_values, depth = 1, 0
    for signs in _outside_texts(raw):
        n_values += sum(signs.count(sign) for sign in (b",", b"[", b"{"))
        depths = depth + np.cumsum(_BRACKETS[np.frombuffer(signs, dtype=np.uint8)], dtype=np.int64)
        JSON_DEPTH.check(int(depths.max(initial=0)), subject)
        depth = int(depths[-1]) if len(depths) else depth
    JSON_VALUES.check(n_values, subject)


def _outside_texts(raw: bytes) -> Iterator[bytes]:
    """Yield what is outside of texts, a block at a time, because it takes much memory."""
    start = 0
    while start < len(raw):
        block = raw[start : start + _BLOCK]
        whole = _WHOLE.match(block)
        assert whole is not None
        if whole.end():
            yield _TEXT.sub(b"", whole[0])
            start += whole.end()
        else:  # a text that is longer than the block
            text = _TEXT.match(raw, start)
            assert text is not None
            start = text.end()


_BLOCK = 1 << 18
_TEXT = re.compile(rb'"(?:[^"\\]|\\.)*+"?', re.DOTALL)
_WHOLE = re.compile(rb'(?:[^"]++|"(?:[^"\\]|\\.)*+")*+', re.DOTALL)
_BRACKETS = np.zeros(256, dtype=np.int8)
_BRACKETS[list(b"[{")] = 1
_BRACKETS[list(b"]}")] = -1


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
