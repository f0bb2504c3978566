"""Blocks of work in several threads, and whether compiled code is worth loading.

Everything that is counted adds up over blocks of rows, so threads are a matter of mapping:
NumPy's and the compiled loops let go of the interpreter's lock while they count.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import TypeVar

_HERE = Path(__file__).parent / "__pycache__"

A = TypeVar("A")
B = TypeVar("B")

WORTH_LOADING = 1.0
"""Seconds of work in plain NumPy from which on numba is loaded, which takes about as long."""

WORTH_COMPILING = 20.0
"""The same where the loops were not compiled yet on this machine, which takes far longer."""


def mapped(function: Callable[[A], B], items: Iterable[A], threads: int) -> Iterator[B]:
    """The results in order of the items; with one thread, nothing but `map`."""
    if threads == 1:
        yield from map(function, items)
        return
    with ThreadPoolExecutor(threads) as pool:
        yield from pool.map(function, items)


def worth_compiling(seconds: float, kernel: str) -> bool:
    """Whether to use a module of compiled loops for what takes NumPy about this many seconds.

    A process that has loaded numba wants it.
    """
    if "numba" in sys.modules:
        return True
    limit = WORTH_LOADING if is_kept(kernel) else WORTH_COMPILING
    return seconds >= limit and find_spec("numba") is not None


def is_kept(kernel: str) -> bool:
    """Whether compiled loops were kept on disk: numba writes an index for each of them."""
    folder = os.environ.get("NUMBA_CACHE_DIR")
    try:
        places = Path(folder).rglob("*.nbi") if folder else _HERE.glob("*.nbi")
        return any(path.name.startswith(kernel) for path in places)
    except OSError:
        return False
