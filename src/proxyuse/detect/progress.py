"""Telling the caller how far long work has come, and stopping when told to."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from proxyuse.errors import Cancelled


@dataclass(frozen=True, slots=True)
class Progress:
    """How far detection has come: `done` of `total` measurements; a search may add some.

    Of each computation the association is measured, and the influence at each of its positions.
    """

    done: int
    total: int


ProgressCallback = Callable[[Progress], bool | None]
"""Called a few times a second; returning False cancels."""


class Clock:
    """Calls the caller's progress callback now and then, and stops the work if told to."""

    def __init__(self, callback: ProgressCallback | None, interval: float = 0.1) -> None:
        self._callback = callback
        self._interval = interval
        self._next = 0.0
        self.done = 0
        self.total = 0

    def tick(self, steps: int = 0) -> None:
        """Report if it is time, some steps further."""
        self.done += steps
        if self._callback is None:
            return
        now = time.monotonic()
        if now >= self._next:
            self._next = now + self._interval
            self.report()

    def report(self) -> None:
        """Report now."""
        if self._callback is not None and self._callback(Progress(self.done, self.total)) is False:
            raise Cancelled(f"cancelled after {self.done} of {self.total} measurements")
