"""Map a function over blocks of rows in several threads.

Counts add up over blocks, so threads only need to map. NumPy and the compiled loops release the
interpreter's lock while they count.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sized
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

A = TypeVar("A")
B = TypeVar("B")


def available_cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):  # not on every system
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def mapped(function: Callable[[A], B], items: Iterable[A], threads: int) -> Iterator[B]:
    """Yield the results in order of the items; one thread or one item uses plain `map`."""
    if isinstance(items, Sized):
        threads = min(threads, len(items))
    if threads <= 1:
        yield from map(function, items)
        return
    with ThreadPoolExecutor(threads) as pool:
        yield from pool.map(function, items)
