"""Times and memory of this process, and two calls timed alternately."""

from __future__ import annotations

import json
import resource
import time
from collections.abc import Callable
from statistics import median
from typing import Any

RUNS = 7
PATIENCE = 30.0  # seconds after which no further run is started


def tell(**facts: object) -> None:
    """Pass facts to the parent process at once: it may end this one at any time."""
    print(json.dumps(facts), flush=True)


def cpu_seconds(call: Callable[[], Any]) -> float:
    """The CPU time of a call, all threads of this process included."""
    start = time.process_time()
    call()
    return time.process_time() - start


def typical_cpu_seconds(call: Callable[[], Any], patience: float = 5.0) -> float:
    """The median CPU time of some calls after a first one; of the first one if it takes long."""
    first = cpu_seconds(call)
    if first > patience:
        return first
    times: list[float] = []
    while not times or (len(times) < RUNS and sum(times) < patience):
        times.append(cpu_seconds(call))
    return median(times)


def seconds(call: Callable[[], Any]) -> float:
    """The time a call takes."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def peak_memory() -> float:
    """The most memory this process has used, in GB; Linux counts in kilobytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


def compare(measured: Callable[[], Any], base: Callable[[], Any]) -> None:
    """Tell how many times longer one call takes than another.

    Medians of several runs, alternating, after one of each that is not counted: it pays for
    compilation and for what is cached between calls.
    """
    base()
    bases = [seconds(base) for _ in range(RUNS)]
    first = seconds(measured)
    times: list[float] = []
    while not times or (len(times) < RUNS and sum(times) < PATIENCE):
        bases.append(seconds(base))
        times.append(seconds(measured))
    tell(value=median(times) / median(bases), first=first / median(bases), runs=len(times))
