"""How numbers and names are written in a sentence; used by every layer.

Names of columns may come from a foreign file. `one_line` keeps them from adding lines to a message
and from steering a terminal.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import ROUND_HALF_UP, Decimal


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
    """
    step = Decimal(1).scaleb(-decimals)
    return str(Decimal(repr(float(value))).quantize(step, ROUND_HALF_UP))


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


def one_line(text: str) -> str:
    r"""A text on one line, without control characters.

    Examples
    --------
    >>> one_line("a\n\nb\x1b[2J")
    'a b?[2J'
    """
    line = " ".join(text.split())
    return line if line.isprintable() else "".join(c if c.isprintable() else "?" for c in line)
