"""Compile the loops of the engines, so that the test processes find them in the cache.

numba compiles a loop on its first call and keeps the machine code on disk. Without this script,
every test process would compile the same loops at the same time. `make test` runs it on one core
while the checks use another one.
"""

from __future__ import annotations

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

import proxyuse as pu

ROWS = 600


def main() -> None:
    """Audit a forest and a linear model, with and without weights."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(ROWS, 6)).round(2)
    labels = rows[:, 0] + rows[:, 1] + rng.normal(size=ROWS) > 0
    protected = {"z": rows[:, 0] > 0}
    for model in (RandomForestClassifier(n_estimators=20, random_state=0), LogisticRegression()):
        model.fit(rows, labels)
        pu.audit(model, rows, protected, measure="all")
        pu.audit(model, rows, protected, weights=rng.random(ROWS))


if __name__ == "__main__":
    main()
