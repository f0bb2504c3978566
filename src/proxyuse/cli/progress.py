"""The progress of long work, on standard error.

On a terminal it is one line, redrawn and wiped away at the end, with a bar after a second.
Elsewhere, as in the log of a CI job, it is a new line every ten seconds.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TextIO

from proxyuse.detect.progress import Progress

PATIENCE = 1.0
BETWEEN_LINES = 10.0
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


class Lines(Bar):
    """Writes a line every few seconds, whether or not the work reports anything meanwhile."""

    def __init__(self, stream: TextIO, interval: float = BETWEEN_LINES) -> None:
        super().__init__(None)
        self._output = stream
        self._interval = interval
        self._stage = "starting"
        self._progress: Progress | None = None
        self._closed = threading.Event()
        self._writer = threading.Thread(target=self._write, daemon=True)
        self._writer.start()

    def stage(self, name: str) -> None:
        """Another stage of the work begins."""
        self._stage, self._progress = name, None

    def __call__(self, progress: Progress) -> None:
        """Note how far detection has come."""
        self._progress = progress

    def _write(self) -> None:
        while not self._closed.wait(self._interval):
            text = line(self._stage, self._progress, time.monotonic() - self._start)
            with suppress(OSError, ValueError):  # nobody reads it any more
                self._output.write(text + "\n")
                self._output.flush()

    def close(self) -> None:
        """Write nothing any more."""
        self._closed.set()
        self._writer.join()


def line(stage: str, progress: Progress | None, seconds: float) -> str:
    """What a log says of work in progress.

    Examples
    --------
    >>> line("reading the data", None, 10.2)
    'proxyuse: reading the data, 10 s'
    >>> line("measuring", Progress(12_000, 45_000), 20.1)
    'proxyuse: 12,000 of 45,000 measurements done (27%), 20 s'
    """
    text = stage
    if progress is not None and progress.total:
        share = round(100 * progress.done / progress.total)
        text = f"{progress.done:,} of {progress.total:,} measurements done ({share}%)"
    return f"proxyuse: {text}, {_duration(seconds)}"


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
    """Progress on standard error: a bar on a terminal, else lines; nothing if `quiet`."""
    shown: Bar | None = None
    if not quiet:
        shown = Bar(sys.stderr) if sys.stderr.isatty() else Lines(sys.stderr)
    found = shown or Bar(None)
    try:
        yield found
    finally:
        found.close()
