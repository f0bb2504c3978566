"""XGBoost: audits against one call of `predict`, and translation against the model's JSON dump."""

from __future__ import annotations

import resource
from typing import Any

import numba  # noqa: F401

import proxyuse as pu
from benchmarks import samples
from benchmarks.timing import compare, tell
from benchmarks.trees import NO_SUBSETS


def model(trees: int) -> Any:
    """Trees of depth 6, trained on all rows."""
    from xgboost import XGBClassifier

    data = samples.adult()
    return XGBClassifier(n_estimators=trees, max_depth=6, random_state=0, n_jobs=1).fit(
        data.X, data.y
    )


def audit_of_300() -> None:
    """Guards and subtrees of 300 trees."""
    data = samples.adult()
    fitted = model(300)
    program = pu.translate(fitted, data.names)
    compare(
        lambda: pu.audit(
            program,
            data.X,
            protected={"married": data.married},
            budget=NO_SUBSETS,
            variables=False,
        ),
        lambda: fitted.predict(data.X),
    )


def translation_of_1000() -> None:
    """1,000 trees become a program."""
    fitted = model(1000)
    booster = fitted.get_booster()
    names = samples.adult().names
    compare(
        lambda: pu.translate(fitted, names),
        lambda: booster.get_dump(dump_format="json"),
    )


def memory_of_1000() -> None:
    """The most memory that was in use at any time, the data and all libraries included."""
    data = samples.adult()
    program = pu.translate(model(1000), data.names)
    before = _peak()
    pu.audit(
        program, data.X, protected={"married": data.married}, budget=NO_SUBSETS, variables=False
    )
    tell(value=_peak(), runs=1, remark=f"{before:.2f} GB before the audit")


def _peak() -> float:
    """Gigabytes; Linux counts in kilobytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
