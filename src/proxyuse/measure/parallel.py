"""Blocks of work in several threads.

Counts add up over blocks of rows, so threads are a matter of mapping: NumPy's loops and the
compiled ones release the interpreter's lock while they count.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sized
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

A = TypeVar("A")
B = TypeVar("B")


def available_cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):  # not on every system
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def mapped(function: Callable[[A], B], items: Iterable[A], threads: int) -> Iterator[B]:
    """The results in order of the items; with one thread or one item, nothing but `map`."""
    if isinstance(items, Sized):
        threads = min(threads, len(items))
    if threads <= 1:
        yield from map(function, items)
        return
    with ThreadPoolExecutor(threads) as pool:
        yield from pool.map(function, items)
