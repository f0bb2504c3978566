"""Audits of trees and forests, against one call of `predict` on the same rows.

numba is loaded up front, so compiled loops count at every size. What loading them from disk, or
compiling them, takes is part of the first call, which has a column of its own.
"""

from __future__ import annotations

import resource

import numba  # noqa: F401

import proxyuse as pu
from benchmarks import samples
from benchmarks.timing import compare, tell

# Subsets of trees are another matter: there are 2^100 of them. So are sets of occurrences between
# one and all: looking for the strongest has a budget of its own.
NO_SUBSETS = pu.Budget(subsets=0, search=0, grow=0, occurrences=0)

MILLION = 1_000_000


def tree() -> None:
    """Guards, subtrees and variables, each occurrence and all together."""
    data = samples.adult()
    model, program = samples.tree()
    compare(
        lambda: pu.audit(program, data.X, protected={"married": data.married}),
        lambda: model.predict(data.X),
    )


def forest(**options: object) -> None:
    """Guards, subtrees and variables of a forest."""
    data = samples.adult()
    model, program = samples.forest()
    keywords = {"budget": NO_SUBSETS, **options}
    compare(
        lambda: pu.audit(program, data.X, protected={"married": data.married}, **keywords),  # type: ignore[arg-type]
        lambda: model.predict(data.X),
    )


def forest_without_variables() -> None:
    """Guards and subtrees of a forest."""
    forest(variables=False)


def seven_values() -> None:
    """A protected attribute of seven values, against one of two."""
    data = samples.adult()
    _, program = samples.tree()
    compare(
        lambda: pu.audit(program, data.X, protected={"status": data.marital_status}),
        lambda: pu.audit(program, data.X, protected={"married": data.married}),
    )


def million_rows() -> None:
    """A million rows, drawn from the others."""
    data = samples.adult(MILLION)
    model, program = samples.tree()
    compare(
        lambda: pu.audit(program, data.X, protected={"married": data.married}),
        lambda: model.predict(data.X),
    )


def memory_of_million_rows() -> None:
    """The most memory that was in use at any time, the data and all libraries included."""
    data = samples.adult(MILLION)
    _, program = samples.tree()
    before = _peak()
    pu.audit(program, data.X, protected={"married": data.married})
    tell(value=_peak(), runs=1, remark=f"{before:.2f} GB before the audit")


def _peak() -> float:
    """Gigabytes; Linux counts in kilobytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


def two_threads() -> None:
    """How many times faster two threads are than one, for the forest and all its variables."""
    data = samples.adult()
    _, program = samples.forest()

    def run(threads: int) -> pu.Audit:
        return pu.audit(
            program, data.X, protected={"married": data.married}, budget=NO_SUBSETS, threads=threads
        )

    compare(lambda: run(1), lambda: run(2))


def two_threads_on_a_million_rows() -> None:
    """The same for a tree and a million rows, which is mostly a matter of memory."""
    data = samples.adult(MILLION)
    _, program = samples.tree()

    def run(threads: int) -> pu.Audit:
        return pu.audit(program, data.X, protected={"married": data.married}, threads=threads)

    compare(lambda: run(1), lambda: run(2))
