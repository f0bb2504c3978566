"""A line on the terminal that says how far long work has come, and how long it may still take.

It appears after a second, on standard error and on terminals only, and is wiped away at the end.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from proxyuse.detect.progress import Progress

PATIENCE = 1.0
WIDTH = 24


class Bar:
    """What `audit` calls with its progress."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._start = time.monotonic()
        self._shown = False
        self._stage = "reading"

    def stage(self, name: str) -> None:
        """Another stage of the work begins."""
        self._stage = name
        self._draw(name)

    def __call__(self, progress: Progress) -> None:
        """Show how far detection has come."""
        done, total = progress.done, max(progress.total, 1)
        spent = time.monotonic() - self._start
        filled = WIDTH * done // total
        left = f", about {_duration(spent * (total - done) / done)} left" if done > 3 else ""
        bar = "#" * filled + "." * (WIDTH - filled)
        self._draw(f"[{bar}] {done:,} of {total:,} measurements, {_duration(spent)}{left}")

    def _draw(self, text: str) -> None:
        if time.monotonic() - self._start >= PATIENCE:
            self._stream.write(f"\r\x1b[K{text}")
            self._stream.flush()
            self._shown = True

    def close(self) -> None:
        """Wipe the line away."""
        if self._shown:
            self._stream.write("\r\x1b[K")
            self._stream.flush()


def _duration(seconds: float) -> str:
    """A time in words.

    Examples
    --------
    >>> _duration(7.4), _duration(100), _duration(7300)
    ('7 s', '1 min 40 s', '2 h 1 min')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


@contextmanager
def bar(quiet: bool) -> Iterator[Bar | None]:
    """A bar on standard error, or nothing where that is no terminal or nobody wants one."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    found = Bar(sys.stderr)
    try:
        yield found
    finally:
        found.close()
