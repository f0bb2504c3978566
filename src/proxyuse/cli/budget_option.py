"""``--budget``: how much work detection may spend on combinations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from proxyuse.detect.budget import BUDGET_KEYS, Budget
from proxyuse.errors import DataError


def budget_from(texts: Sequence[str], start: Budget | None = None) -> Budget:
    """A budget from texts such as ``subsets=4096,occurrences=1024``.

    Parameters
    ----------
    texts : what was given, once for each ``--budget``.
    start : the values of what is not named; the defaults if not given.

    Examples
    --------
    >>> budget_from(["subsets=4096,grow=128", "search=9"])
    Budget(subsets=4096, search=9, grow=128, occurrences=256, positions=4096)
    """
    values: dict[str, int] = {}
    for text in texts:
        for item in text.split(","):
            name, equals, number = (part.strip() for part in item.partition("="))
            if not equals or name not in BUDGET_KEYS:
                raise DataError(
                    f"--budget {text}: expected KEY=NUMBER, got {item.strip()!r}; "
                    f"keys: {', '.join(BUDGET_KEYS)}"
                )
            if not number.isascii() or not number.isdigit() or len(number) > 18:
                raise DataError(
                    f"--budget {text}: {name} is {number!r}; give a whole number of 0 or more"
                )
            if name in values:
                raise DataError(f"--budget names {name} twice; give one value")
            values[name] = int(number)
    return replace(start or Budget(), **values)
