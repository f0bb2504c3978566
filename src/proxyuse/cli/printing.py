"""Answers on standard output: colors on a terminal only, JSON as it is written to files."""

from __future__ import annotations

import json
import os
import re
import sys

# Whatever is not printable, but for line ends and the bold of our own headings.
_STEERING = re.compile(
    r"(?!\x1b\[[01]m)[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]"
)


def print_text(plain: str, colored: str | None = None) -> None:
    """Print a text, its colored form on a terminal that wants colors."""
    wants = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    print(harmless(colored if wants and colored is not None else plain))


def harmless(text: str) -> str:
    r"""Text without what could steer a terminal; names in it may come from strangers.

    Examples
    --------
    >>> harmless("a\x1b]0;title\x07b\n\x1b[1mc\x1b[0m")
    'a?]0;title?b\n\x1b[1mc\x1b[0m'
    """
    return _STEERING.sub("?", text)


def print_json(value: object) -> None:
    """Print JSON; where the output cannot hold all characters, with escapes."""
    narrow = not sys.stdout.encoding.lower().startswith("utf")
    print(json.dumps(value, allow_nan=False, ensure_ascii=narrow, indent=1))
