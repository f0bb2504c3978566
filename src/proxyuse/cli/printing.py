"""Print results: colors on a terminal only, JSON as in files."""

from __future__ import annotations

import json
import os
import re
import sys

from proxyuse.words import json_escaped, visible

_LINE_ENDS = re.compile("(\n)")
_LINE_ENDS_AND_BOLD = re.compile(r"(\n|\x1b\[[01]m)")  # the bold of headings


def print_text(plain: str, colored: str | None = None) -> None:
    """Print a text; on a terminal that allows colors, its colored form."""
    colors = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    print(harmless(plain) if colored is None or not colors else harmless(colored, bold=True))


def harmless(text: str, *, bold: bool = False) -> str:
    r"""Make control characters visible, which could steer a terminal, except line ends.

    Parameters
    ----------
    text : names in it may come from foreign files.
    bold : whether to keep what makes our headings bold.

    Examples
    --------
    >>> harmless("a\x1b]0;title\nb"), harmless("\x1b[1mc\x1b[0m", bold=True)
    ('a\u27e8U+001B\u27e9]0;title\nb', '\x1b[1mc\x1b[0m')
    """
    parts = (_LINE_ENDS_AND_BOLD if bold else _LINE_ENDS).split(text)  # kept ones at odd indices
    return "".join(part if i % 2 else visible(part) for i, part in enumerate(parts))


def print_json(value: object) -> None:
    """Print JSON, with escapes if the output is not Unicode."""
    ascii_only = not sys.stdout.encoding.lower().startswith("utf")
    text = json.dumps(value, allow_nan=False, ensure_ascii=ascii_only, indent=1, default=_plain)
    print(json_escaped(text))


def _plain(value: object) -> object:
    """Return a struct as JSON values."""
    import msgspec  # not at the top, because `doctor` runs without it

    return msgspec.to_builtins(value)
