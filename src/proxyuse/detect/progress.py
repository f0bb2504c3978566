"""Reporting the progress of long work, and stopping it: on request, or at a time limit."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from proxyuse.errors import Canceled


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of detection: `done` of `total` measurements. A search may raise the total.

    Each computation counts once for its association and once per position for its influence.
    """

    done: int
    total: int


ProgressCallback = Callable[[Progress], bool | None]
"""Called a few times a second; returning False cancels."""


class OutOfTime(Exception):
    """The time limit was reached. Detection catches it; callers never see it."""


class WorkEnded(Exception):
    """The time of `Clock.ending_at` was reached. Who set the time catches it."""


class Clock:
    """Calls the progress callback now and then, and stops the work on request or at a deadline.

    Parameters
    ----------
    callback : called with a `Progress`; None for no reports.
    interval : seconds between two reports.
    limit : seconds from now to the deadline; None for no deadline.
    now : returns the time in seconds.

    Attributes
    ----------
    stopped : whether the work ended at the deadline.
    """

    def __init__(
        self,
        callback: ProgressCallback | None,
        interval: float = 0.1,
        *,
        limit: float | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._callback = callback
        self._interval = interval
        self._now = now
        self._next = 0.0
        self._deadline = math.inf if limit is None else now() + limit
        self._armed = False
        self._end = math.inf
        self.limit = limit
        self.stopped = False
        self.done = 0
        self.total = 0

    def restarted(self) -> Clock:
        """A clock whose time limit starts now. Without a limit, this clock."""
        if self.limit is None:
            return self
        return Clock(self._callback, self._interval, limit=self.limit, now=self._now)

    @contextmanager
    def until_deadline(self) -> Iterator[None]:
        """End the work inside this block at the deadline. Outside, the deadline is ignored.

        So the deadline never interrupts work whose result is always needed, such as running the
        program once on all rows.
        """
        self._armed = self.limit is not None
        try:
            yield
        except OutOfTime:
            self.stopped = True
        finally:
            self._armed = False

    @contextmanager
    def ending_at(self, time: float | None) -> Iterator[None]:
        """Raise `WorkEnded` inside this block when the time is reached; None never ends it."""
        self._end = math.inf if time is None else time
        try:
            yield
        finally:
            self._end = math.inf

    def expect(self, steps: int) -> None:
        """Announce some more steps."""
        self.total += steps

    def tick(self, steps: int = 0) -> None:
        """Count some steps, report if a report is due, and stop at the deadline or the end."""
        self.done += steps
        self.total = max(self.total, self.done)
        if self._callback is None and not self._armed and self._end == math.inf:
            return
        now = self._now()
        if now >= self._end:
            raise WorkEnded
        if self._armed and now >= self._deadline:
            raise OutOfTime
        if now >= self._next:
            self._next = now + self._interval
            self.report()

    def report(self) -> None:
        """Report now."""
        if self._callback is not None and self._callback(Progress(self.done, self.total)) is False:
            raise Canceled(f"canceled after {self.done} of {self.total} measurements")
