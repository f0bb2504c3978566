"""How the time of an audit grows, with rows and with decompositions, as figures for the docs.

``python -m benchmarks.scaling docs/figures`` writes them and prints the fitted exponents.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from statistics import median
from typing import Any

import numba  # noqa: F401

import proxyuse as pu
from benchmarks import samples
from benchmarks.figure import Curve, log_log
from benchmarks.timing import seconds

ROWS = (3_000, 10_000, 30_000, 100_000, 300_000)
LEAVES = (30, 100, 300, 1_000, 3_000)
TREES = (3, 10, 30, 100)
RUNS = 3


def audit_seconds(program: pu.Program, data: samples.Adult) -> tuple[float, int]:
    """The median time of some audits after a first one, and how many decompositions they have."""

    def run() -> pu.Audit:
        protected = {"married": data.married}
        return pu.audit(program, data.X, protected, budget=samples.NO_SUBSETS, validity=None)

    count = len(run().decompositions)
    return median(seconds(run) for _ in range(RUNS)), count


def by_rows() -> list[Curve]:
    """A tree of 500 leaves, a forest of 20 trees of depth 6, and one linear classifier."""
    curves = []
    for name, program in (
        ("tree, 500 leaves", samples.tree()[1]),
        ("forest, 20 trees", _forest(20, 6)),
    ):
        times = [audit_seconds(program, samples.adult(rows))[0] for rows in ROWS]
        curves.append(Curve(name, ROWS, tuple(times)))
    times = [_linear_seconds(rows) for rows in ROWS]
    curves.append(Curve("8 linear terms", ROWS, tuple(times)))
    return curves


def _linear_seconds(rows: int) -> float:
    program, X, z = samples.linear(8, rows)

    def run() -> pu.Audit:
        return pu.audit(program, X, {"z": z}, budget=samples.NO_SUBSETS, validity=None)

    run()
    return median(seconds(run) for _ in range(RUNS))


def by_decompositions() -> list[Curve]:
    """Trees of more and more leaves, and forests of more and more trees, on 48,842 rows."""
    from sklearn.tree import DecisionTreeClassifier

    data = samples.adult()
    timings = []
    for leaves in LEAVES:
        model = DecisionTreeClassifier(max_leaf_nodes=leaves, random_state=0).fit(data.X, data.y)
        timings.append(audit_seconds(pu.translate(model, data.names), data))
    tree = Curve(
        "one tree", tuple(count for _, count in timings), tuple(time for time, _ in timings)
    )
    timings = [audit_seconds(_forest(trees, 6), data) for trees in TREES]
    forest = Curve(
        "forests", tuple(count for _, count in timings), tuple(time for time, _ in timings)
    )
    return [tree, forest]


def _forest(trees: int, depth: int) -> pu.Program:
    from sklearn.ensemble import RandomForestClassifier

    data = samples.adult()
    model: Any = RandomForestClassifier(trees, max_depth=depth, random_state=0, n_jobs=1)
    return pu.translate(model.fit(data.X, data.y), data.names)


def main() -> None:
    """Measure, write the figures, print the exponents."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scaling", description=__doc__)
    parser.add_argument("folder", type=Path, help="where the figures go")
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    for name, title, across, curves in (
        ("rows", "Time of an audit by rows", "rows", by_rows()),
        ("decompositions", "Time of an audit by decompositions", "decompositions",
         by_decompositions()),
    ):  # fmt: skip
        (folder / f"{name}.svg").write_text(log_log(title, across, curves), encoding="utf-8")
        for curve in curves:
            times = ", ".join(f"{t:.3g}" for t in curve.seconds)
            print(f"{name}: {curve.name}: exponent {curve.exponent:.2f} ({times} s)")


if __name__ == "__main__":
    main()
