"""One step of a measurement, in this process: ``python -m benchmarks.child STEP FOLDER ENTRY ...``.

Prints a line of JSON for each fact. The limits on cores and memory come first: libraries look at
them when they are imported.

Steps
-----
prepare : fit the model and save it in the folder.
audit : load the model, time `predict`, then a first audit, later ones, and confirmed ones.
variant : load the model, time a plain audit and a variant of it.
rows : load the model, time one audit of a number of rows.
shap, permutation : other tools on the same model and rows.
"""

from __future__ import annotations

import os
import pickle
import resource
import sys
from pathlib import Path
from typing import Any

from benchmarks.entries import ENTRIES, Entry
from benchmarks.timing import cpu_seconds, peak_memory, tell, typical_cpu_seconds

THREAD_COUNTS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "POLARS_MAX_THREADS",
    "NUMBA_NUM_THREADS",
)
MOST_MEMORY = 12 << 30  # bytes; a process that wants more fails, instead of the machine
WARM_UP_ROWS = 5_000


def limit_process() -> None:
    """Keep to one core, and to memory that the machine can spare."""
    for name in THREAD_COUNTS:
        os.environ[name] = "1"
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))


def prepare(folder: Path, entry: Entry) -> None:
    """Fit the model and save it; the other steps begin where a user does, with a fitted model."""
    import benchmarks.deployed

    case = getattr(benchmarks.deployed, entry.case)()
    with (folder / f"{entry.case}.pickle").open("wb") as file:
        pickle.dump(case, file)


def _load(folder: Path, entry: Entry) -> Any:
    with (folder / f"{entry.case}.pickle").open("rb") as file:
        return pickle.load(file)


def audit(folder: Path, entry: Entry) -> None:
    """Audits, each from the model on, beside `predict` of the estimator and the pipeline."""
    case = _load(folder, entry)
    prepared = case.model[:-1].transform(case.X)
    estimator = typical_cpu_seconds(lambda: case.model[-1].predict(prepared))
    pipeline = typical_cpu_seconds(lambda: case.model.predict(case.X))
    tell(E=estimator, P=pipeline, rows=len(case.X), before=peak_memory())
    import proxyuse as pu

    audits: list[pu.Audit] = []

    def plain() -> pu.Audit:
        return pu.audit(case.model, case.X, case.protected, validity=None)

    first = cpu_seconds(lambda: audits.append(plain()))
    tell(
        first=first,
        memory=peak_memory(),
        complete=audits[0].complete,
        witnesses=len(audits[0].witnesses),
        decompositions=len(audits[0].decompositions),
    )
    audits.clear()
    tell(again=typical_cpu_seconds(plain))
    tell(confirmed=typical_cpu_seconds(lambda: pu.audit(case.model, case.X, case.protected)))


def variant(folder: Path, entry: Entry) -> None:
    """A variant against the plain audit, each after one that is not counted."""
    import proxyuse as pu
    from benchmarks.variants import audit_options

    case = _load(folder, entry)
    if entry.variant == "distributed":
        distributed(case)
        return
    plain, other = (audit_options(case, name) for name in ("", entry.variant))
    base = typical_cpu_seconds(lambda: pu.audit(case.model, case.X, validity=None, **plain), 30)
    tell(plain=base)
    tell(
        again=typical_cpu_seconds(lambda: pu.audit(case.model, case.X, validity=None, **other), 30)
    )
    tell(memory=peak_memory())


def distributed(case: Any) -> None:
    """What collections and partial sums take beside the rest of the audit."""
    import proxyuse as pu

    def rest() -> pu.Audit:
        return pu.audit(case.model, case.X, case.protected, budget=pu.Budget(grow=0))

    def everything() -> object:
        return pu.audit(case.model, case.X, case.protected).collections

    everything()
    plain = typical_cpu_seconds(rest, 30)
    tell(plain=plain, again=typical_cpu_seconds(everything, 30) - plain)
    tell(memory=peak_memory())


def rows(folder: Path, entry: Entry, number: int) -> None:
    """One audit of a number of rows, after one of few rows that loads what is loaded once."""
    import proxyuse as pu

    case = _load(folder, entry)
    few, many = case.taking(WARM_UP_ROWS), case.taking(number)
    pu.audit(few.model, few.X, few.protected, validity=None)
    spent = cpu_seconds(lambda: pu.audit(many.model, many.X, many.protected, validity=None))
    tell(seconds=spent, memory=peak_memory())


def shap(folder: Path, entry: Entry) -> None:
    """SHAP values of the estimator on transformed rows."""
    from benchmarks.others import shap_values

    tell(**shap_values(_load(folder, entry)))


def permutation(folder: Path, entry: Entry) -> None:
    """scikit-learn's permutation importance of the pipeline on raw rows."""
    from benchmarks.others import permutation_importances

    tell(**permutation_importances(_load(folder, entry)))


STEPS = {
    "prepare": prepare,
    "audit": audit,
    "variant": variant,
    "shap": shap,
    "permutation": permutation,
}


def main() -> None:
    """Do one step."""
    limit_process()
    step, folder, name, *more = sys.argv[1:]
    entry = next(entry for entry in ENTRIES if entry.name == name)
    if step == "rows":
        rows(Path(folder), entry, int(more[0]))
    else:
        STEPS[step](Path(folder), entry)


if __name__ == "__main__":
    main()
