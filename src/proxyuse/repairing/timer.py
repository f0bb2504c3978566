"""How much time is left, and how it is divided."""

from __future__ import annotations

import math
import time


class Timer:
    """A limit on the time of some work.

    Parameters
    ----------
    seconds : the time from now; None for no limit.
    """

    def __init__(self, seconds: float | None) -> None:
        self._end = math.inf if seconds is None else time.monotonic() + seconds

    @property
    def left(self) -> float:
        """The seconds that are left; infinite without a limit."""
        return self._end - time.monotonic()

    @property
    def over(self) -> bool:
        """Whether no time is left."""
        return self.left <= 0

    @property
    def limited(self) -> bool:
        """Whether there is a limit."""
        return self._end < math.inf

    @property
    def deadline(self) -> float | None:
        """The end on the monotonic clock; None without a limit."""
        return None if self._end == math.inf else self._end

    def share(self, share: float) -> Timer:
        """A timer for a share of the time that is left."""
        return Timer(None if self._end == math.inf else max(0.0, self.left * share))
