"""A repair against one audit, both from the model on."""

from __future__ import annotations

from typing import Any

import numba  # noqa: F401

import proxyuse as pu
from benchmarks import samples
from benchmarks.timing import compare

ROWS = 30_000
EPSILON, DELTA = 0.08, 0.01  # which leave 5 violations


def forest() -> None:
    """100 trees of depth 8 on 30,000 rows."""
    from sklearn.ensemble import RandomForestClassifier

    data = samples.adult()
    X, y, married = data.X[:ROWS], data.y[:ROWS], data.married[:ROWS]
    model = RandomForestClassifier(100, max_depth=8, random_state=0, n_jobs=1).fit(X, y)
    protected = {"married": married}
    light: dict[str, Any] = {"budget": samples.NO_SUBSETS}

    def audited() -> pu.Audit:
        return pu.audit(model, X, protected, EPSILON, DELTA, validity=None, **light)

    audit = audited()
    assert 5 <= len(audit.violations()) <= 20

    def repair() -> pu.Repair:
        return pu.repair(
            model,
            X,
            y,
            protected=protected,
            epsilon=EPSILON,
            delta=DELTA,
            methods=("constants",),
            validity=None,
            seconds=None,
            **light,
        )

    compare(repair, audited)
