"""Print results: colors on a terminal only, JSON as in files."""

from __future__ import annotations

import json
import os
import re
import sys

# Unprintable characters, except line ends and the bold of headings.
_CONTROL = re.compile(
    r"(?!\x1b\[[01]m)[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]"
)


def print_text(plain: str, colored: str | None = None) -> None:
    """Print a text; on a terminal that allows colors, its colored form."""
    colors = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    print(harmless(colored if colors and colored is not None else plain))


def harmless(text: str) -> str:
    r"""Replace control characters, which could steer a terminal; names come from foreign files.

    Examples
    --------
    >>> harmless("a\x1b]0;title\x07b\n\x1b[1mc\x1b[0m")
    'a?]0;title?b\n\x1b[1mc\x1b[0m'
    """
    return _CONTROL.sub("?", text)


def print_json(value: object) -> None:
    """Print JSON, with escapes if the output is not Unicode."""
    ascii_only = not sys.stdout.encoding.lower().startswith("utf")
    print(json.dumps(value, allow_nan=False, ensure_ascii=ascii_only, indent=1, default=_plain))


def _plain(value: object) -> object:
    """Return a struct as JSON values."""
    import msgspec  # not at the top, because `doctor` runs without it

    return msgspec.to_builtins(value)
