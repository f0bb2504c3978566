"""Blocks of work in several threads, and whether compiled code is worth loading.

Everything that is counted adds up over blocks of rows, so threads are a matter of mapping:
NumPy's and the compiled loops let go of the interpreter's lock while they count.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from typing import TypeVar

A = TypeVar("A")
B = TypeVar("B")

WORTH_LOADING = 1.0
"""Seconds of work in plain NumPy from which on numba is loaded, which takes about as long."""


def mapped(function: Callable[[A], B], items: Iterable[A], threads: int) -> Iterator[B]:
    """The results in order of the items; with one thread, nothing but `map`."""
    if threads == 1:
        yield from map(function, items)
        return
    with ThreadPoolExecutor(threads) as pool:
        yield from pool.map(function, items)


def worth_compiling(seconds: float) -> bool:
    """Whether to use compiled loops for what takes NumPy about this many seconds."""
    if "numba" in sys.modules:
        return True
    return seconds >= WORTH_LOADING and find_spec("numba") is not None
