"""Progress on standard error.

On a terminal, one line is redrawn and cleared at the end; a bar appears after a second. Elsewhere,
for example in the log of a CI job, a new line is written every ten seconds.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TextIO

from proxyuse.detect.progress import Progress

BAR_DELAY = 1.0  # seconds
LINE_INTERVAL = 10.0  # seconds
WIDTH = 24


class Bar:
    """A progress callback for `audit`; without a stream it shows nothing."""

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream
        self._start = time.monotonic()
        self._stage = "starting"

    def stage(self, name: str) -> None:
        """Start a stage of the work."""
        self._start, self._stage = time.monotonic(), name
        self._draw(f"{name} ...")

    def __call__(self, progress: Progress) -> None:
        """Show the progress of detection, or the stage if the rest cannot be counted."""
        done, total = progress.done, progress.total
        elapsed = time.monotonic() - self._start
        if elapsed < BAR_DELAY:
            return
        if done >= total:
            self._draw(f"{self._stage}, {_duration(elapsed)} ...")
            return
        filled = WIDTH * done // total
        remaining = f", about {_duration(elapsed * (total - done) / done)} left" if done > 3 else ""
        bar = "#" * filled + "." * (WIDTH - filled)
        self._draw(f"[{bar}] {done:,} of {total:,} measurements, {_duration(elapsed)}{remaining}")

    def _draw(self, text: str) -> None:
        if self._stream is not None:
            self._stream.write(f"\r\x1b[K{text}")
            self._stream.flush()

    def close(self) -> None:
        """Clear the line and stop."""
        self._draw("")
        self._stream = None


class Lines(Bar):
    """A progress callback that writes a line every few seconds, even without news."""

    def __init__(self, stream: TextIO, interval: float = LINE_INTERVAL) -> None:
        super().__init__(None)
        self._output = stream
        self._interval = interval
        self._progress: Progress | None = None
        self._closed = threading.Event()
        self._writer = threading.Thread(target=self._write, daemon=True)
        self._writer.start()

    def stage(self, name: str) -> None:
        """Start a stage of the work."""
        self._stage, self._progress = name, None

    def __call__(self, progress: Progress) -> None:
        """Remember the progress of detection."""
        self._progress = progress

    def _write(self) -> None:
        while not self._closed.wait(self._interval):
            text = line(self._stage, self._progress, time.monotonic() - self._start)
            with suppress(OSError, ValueError):  # the stream was closed
                self._output.write(text + "\n")
                self._output.flush()

    def close(self) -> None:
        """Stop writing."""
        self._closed.set()
        self._writer.join()


def line(stage: str, progress: Progress | None, seconds: float) -> str:
    """Format a progress line for a log.

    Examples
    --------
    >>> line("reading the data", None, 10.2)
    'proxyuse: reading the data, 10 s'
    >>> line("auditing the model", Progress(12_000, 45_000), 20.1)
    'proxyuse: 12,000 of 45,000 measurements done (27%), 20 s'
    >>> line("auditing the model", Progress(45_000, 45_000), 70.3)
    'proxyuse: auditing the model, 1 min 10 s'
    """
    text = stage
    if progress is not None and progress.done < progress.total:
        share = round(100 * progress.done / progress.total)
        text = f"{progress.done:,} of {progress.total:,} measurements done ({share}%)"
    return f"proxyuse: {text}, {_duration(seconds)}"


def _duration(seconds: float) -> str:
    """Format a duration.

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
    """Show progress on standard error: a bar on a terminal, lines elsewhere."""
    shown: Bar | None = None
    if not quiet:
        shown = Bar(sys.stderr) if sys.stderr.isatty() else Lines(sys.stderr)
    progress = shown or Bar(None)
    try:
        yield progress
    finally:
        progress.close()
