"""Two things timed in turns, in one process."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from statistics import median
from typing import Any

RUNS = 7
PATIENCE = 30.0  # seconds after which no further run is begun


def tell(**facts: object) -> None:
    """Hand facts to the process that started this one, at once: it may end this one any time."""
    print(json.dumps(facts), flush=True)


def seconds(call: Callable[[], Any]) -> float:
    """How long a call takes."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def compare(measured: Callable[[], Any], base: Callable[[], Any]) -> None:
    """Tell how many times longer one call takes than another.

    Medians of several runs, in turns, after one of each that is not counted but told: it pays
    for compilation and for what is kept from one call to the next.
    """
    base()
    bases = [seconds(base) for _ in range(RUNS)]
    tell(base=median(bases), begun=time.time())
    first = seconds(measured)
    times: list[float] = []
    while not times or (len(times) < RUNS and sum(times) < PATIENCE):
        bases.append(seconds(base))
        times.append(seconds(measured))
    tell(
        value=median(times) / median(bases),
        first=first / median(bases),
        base=median(bases),
        runs=len(times),
    )
