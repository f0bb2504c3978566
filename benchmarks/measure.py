"""Measure one entry in this process: ``python -m benchmarks.measure tree``.

Prints a line of JSON for each thing it finds out. The limits on cores come first: libraries look
at them when they are imported.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module

from benchmarks.entries import ENTRIES, Entry
from benchmarks.timing import tell

THREAD_COUNTS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "POLARS_MAX_THREADS",
    "NUMBA_NUM_THREADS",
)


def measure(entry: Entry) -> None:
    """Limit this process to the entry's cores and measure."""
    for name in THREAD_COUNTS:
        os.environ[name] = str(entry.cores)
    if hasattr(os, "sched_setaffinity"):
        allowed = sorted(os.sched_getaffinity(0))
        if len(allowed) < entry.cores:
            tell(absent=f"this machine has {len(allowed)} core only")
            return
        os.sched_setaffinity(0, allowed[: entry.cores])
    module, function = entry.function.split(":")
    getattr(import_module(module), function)()


if __name__ == "__main__":
    measure(next(entry for entry in ENTRIES if entry.name == sys.argv[1]))
