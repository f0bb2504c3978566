"""A line on the terminal that says how far long work has come, and how long it may still take.

It is on standard error and on terminals only, and is wiped away at the end. Its bar appears after a
second.
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
    """What `audit` calls with its progress; without a stream it shows nothing."""

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream
        self._start = time.monotonic()

    def stage(self, name: str) -> None:
        """Another stage of the work begins."""
        self._start = time.monotonic()
        self._draw(f"{name} ...")

    def __call__(self, progress: Progress) -> None:
        """Show how far detection has come."""
        done, total = progress.done, max(progress.total, 1)
        spent = time.monotonic() - self._start
        if spent < PATIENCE:
            return
        filled = WIDTH * done // total
        left = f", about {_duration(spent * (total - done) / done)} left" if done > 3 else ""
        bar = "#" * filled + "." * (WIDTH - filled)
        self._draw(f"[{bar}] {done:,} of {total:,} measurements, {_duration(spent)}{left}")

    def _draw(self, text: str) -> None:
        if self._stream is not None:
            self._stream.write(f"\r\x1b[K{text}")
            self._stream.flush()

    def close(self) -> None:
        """Wipe the line away, and show nothing any more."""
        self._draw("")
        self._stream = None


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
def bar(quiet: bool = False) -> Iterator[Bar]:
    """A bar on standard error that shows nothing where that is no terminal, or nobody wants one."""
    found = Bar(None if quiet or not sys.stderr.isatty() else sys.stderr)
    try:
        yield found
    finally:
        found.close()
