"""Blocks of work in several threads.

Counts add up over blocks of rows, so threads are a matter of mapping: NumPy's loops and the
compiled ones release the interpreter's lock while they count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

A = TypeVar("A")
B = TypeVar("B")


def mapped(function: Callable[[A], B], items: Iterable[A], threads: int) -> Iterator[B]:
    """The results in order of the items; with one thread, nothing but `map`."""
    if threads == 1:
        yield from map(function, items)
        return
    with ThreadPoolExecutor(threads) as pool:
        yield from pool.map(function, items)
