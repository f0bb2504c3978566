"""Where the parallel jobs of a model run: in threads of this process."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext
from typing import Any


def in_this_process() -> AbstractContextManager[Any]:
    """Keep scikit-learn from starting a process for each of the `n_jobs` of a model.

    A damaged model can ask for thousands. Threads give the same results; there are at most as many
    as processors.
    """
    if "joblib" not in sys.modules:
        return nullcontext()
    import joblib

    class Threads(joblib.parallel.ThreadingBackend):  # type: ignore[misc]
        def effective_n_jobs(self, n_jobs: int) -> int:
            return int(min(super().effective_n_jobs(n_jobs), joblib.cpu_count()))

    context: AbstractContextManager[Any] = joblib.parallel_config(backend=Threads())
    return context
