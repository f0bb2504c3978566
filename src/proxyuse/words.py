"""How numbers and names are written in a sentence; used by every layer.

Names of columns may come from a foreign file. `visible` keeps their control and formatting
characters out of everything that a person reads, in every format: such a character could steer a
terminal, reorder a line, or make two names look equal. `one_line` also keeps them from adding
lines, and `json_escaped` is the same for JSON, where nothing of a text may be lost.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

MOST_FIXED = 1e15  # a float has no decimals beyond this, and a decimal has 28 digits
MOST_MARKS = 4  # consecutive combining marks; more of them would cover other lines

_JOINERS = "\u200c\u200d"  # invisible, except after emoji and letters of scripts without case
_JOINED = ("Lo", "Mc", "Mn", "So", "Sk")
BLANKS = "\u2800\u3164\uffa0"  # blank, although Unicode calls them printable
# Characters that JSON does not escape but that end a line, change the text direction or are
# invisible. Listed here because str.isprintable depends on the version of Python.
_INVISIBLE = re.compile(
    "[\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff"
    f"\ufff9-\ufffb\U000e0000-\U000e007f{BLANKS}]"
)


def percent(share: float) -> str:
    """A share with one decimal; 0% and 100% only if it is exactly that.

    Examples
    --------
    >>> percent(0.98), percent(0.0421), percent(1.0), percent(0.99996), percent(1e-9)
    ('98.0%', '4.2%', '100%', 'over 99.9%', 'under 0.1%')
    """
    if 0 < share < 0.001:
        return "under 0.1%"
    if 0.999 < share < 1:
        return "over 99.9%"
    return f"{100 * share:.0f}%" if share in (0, 1) else f"{100 * Decimal(fixed(share, 3)):.1f}%"


def fixed(value: float, decimals: int = 3) -> str:
    """A number with a fixed number of decimals; halves are rounded up, as people expect.

    Every format rounds a printed figure with this function, so 0.1095 is 0.110 and 11.0%.

    Examples
    --------
    >>> fixed(0.1095), f"{100 * 0.1095:.1f}", percent(0.1095)
    ('0.110', '10.9', '11.0%')
    >>> fixed(1e300)
    '1e+300'
    """
    if not abs(value) < MOST_FIXED:
        return f"{value:.4g}"
    step = Decimal(1).scaleb(-decimals)
    return str(Decimal(repr(float(value))).quantize(step, ROUND_HALF_UP))


def short_number(value: float) -> str:
    """A number with thousands separators and without needless decimals.

    Examples
    --------
    >>> short_number(41300.0), short_number(0.5), short_number(-1234.5), short_number(1e300)
    ('41,300', '0.5', '-1,234.5', '1e+300')
    """
    return f"{value + 0.0:,}".removesuffix(".0")


def short_decimals(text: str, digits: int) -> str:
    """The text of a program with fewer decimals; integer parts and quoted words stay as they are.

    Examples
    --------
    >>> short_decimals("age <= 60.500000553198625 and job == 'a 0.12345'", 6)
    "age <= 60.5 and job == 'a 0.12345'"
    >>> short_decimals("[-0.44431918, 41234.5678, 0.25, 50]", 3)
    '[-0.444, 41235, 0.25, 50]'
    """

    def shorter(found: re.Match[str]) -> str:
        if found["number"] is None:
            return found[0]
        value = float(found["number"])
        return f"{value:.{digits}g}" if value < 10 ** (digits - 1) else f"{value:.0f}"

    return _DECIMALS.sub(shorter, text)


_DECIMALS = re.compile(
    r"""'(?:[^'\\]|\\.)*'|`[^`]*`|(?P<number>\b[0-9]+\.[0-9]{4,}(?:e[-+]?[0-9]+)?)"""
)


def confidence(alpha: float) -> str:
    """The confidence level that belongs to an error probability.

    Examples
    --------
    >>> confidence(0.05), confidence(0.001), confidence(0.1)
    ('95%', '99.9%', '90%')
    """
    return f"{round(100 * (1 - alpha), 9):.12g}%"


def count(number: int, one: str, many: str | None = None) -> str:
    """A number with its noun.

    Examples
    --------
    >>> count(1, "row"), count(2000, "row"), count(2, "witness", "witnesses")
    ('1 row', '2,000 rows', '2 witnesses')
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def listed(names: Iterable[str]) -> str:
    """Names in a sentence.

    Examples
    --------
    >>> listed(["a"]), listed(["a", "b"]), listed(["a", "b", "c"])
    ('a', 'a and b', 'a, b and c')
    """
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def shortened(text: str, most: int = 60) -> str:
    """The start of a text.

    Examples
    --------
    >>> shortened("a long text", 8), shortened("short", 8)
    ('a lon...', 'short')
    """
    return text if len(text) <= most else text[: most - 3] + "..."


def visible(text: str) -> str:
    r"""A text without control, formatting and other invisible characters; each is named instead.

    Examples
    --------
    >>> visible("safe\u202etxt.exe"), visible("a\n\x1b[2J")
    ('safe\u27e8U+202E\u27e9txt.exe', 'a\u27e8U+000A\u27e9\u27e8U+001B\u27e9[2J')
    >>> visible("blank\u3164")
    'blank\u27e8U+3164\u27e9'
    """
    if text.isascii() and text.isprintable():
        return text
    characters = []
    marks = 0
    before = ""
    for c in text:
        category = unicodedata.category(c)
        marks = marks + 1 if category in ("Mn", "Me") else 0
        joins = c in _JOINERS and before in _JOINED
        seen = (c.isprintable() and marks <= MOST_MARKS and c not in BLANKS) or joins
        characters.append(c if seen else _named(c))
        before = category
    return "".join(characters)


def _named(character: str) -> str:
    if unicodedata.category(character) == "Zs":
        return " "
    return f"\u27e8U+{ord(character):04X}\u27e9"


def one_line(text: str) -> str:
    r"""A `visible` text on one line.

    Examples
    --------
    >>> one_line("a\tb\n c"), one_line("nul\x00")
    ('a b c', 'nul\u27e8U+0000\u27e9')
    """
    return visible(" ".join(text.split()))


def all_visible(value: Any, text: Callable[[str], str] = one_line) -> Any:
    """The same for every text in a document; keys of mappings stay as they are.

    Parameters
    ----------
    value : a document of mappings, lists and values.
    text : `one_line` or `visible`.
    """
    if isinstance(value, str):
        return text(value)
    if isinstance(value, Mapping):
        return {name: all_visible(inner, text) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [all_visible(inner, text) for inner in value]
    return value


def json_escaped(text: str) -> str:
    r"""A JSON text with escapes for invisible characters; it has the same values.

    Examples
    --------
    >>> json_escaped('{"name": "safe\u202etxt.exe"}')
    '{"name": "safe\\u202etxt.exe"}'
    """
    return _INVISIBLE.sub(_escaped, text)


def _escaped(character: re.Match[str]) -> str:
    units = character[0].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i : i + 2].hex()}" for i in range(0, len(units), 2))
