"""Runs the command, with one thread per library: threads do not survive the fork of a process."""

import os
import sys

_THREADS = (
    "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS",
    "ARROW_IO_THREADS",
)  # fmt: skip

if __name__ == "__main__":
    os.environ |= dict.fromkeys(_THREADS, "1") | {"PROXYUSE_TRACEBACK": "1"}
    from scripts.fuzz.command import main

    sys.exit(main())
