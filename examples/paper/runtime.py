"""Runtime: how the time of an audit grows with rows and with the model.

Influence is defined over all pairs of rows, and the number of computations grows with the model.
How does the time of an audit grow with the number of rows, and with the number of decompositions?
Both are measured for a decision tree, a forest of three trees and a logistic regression that
predict income from Adult. The protected attribute is marital status, which is not one of their
columns.

**Rows.** Three models of 33 to 38 decompositions each, about as many as the authors timed, are
audited on 100 to 1,000,000 rows (the authors: 100 to 1,000). Adult has 48,842. The rows are drawn
from it with replacement, and each number is multiplied by a random factor near 1 (typically within
1%; 0 stays 0), so that rows are not copies of each other. This applies at every size, so that all
points of a line are comparable. It adds work rather than saving it, because numbers that never
repeat have to be sorted.

**Decompositions.** Models of increasing size, trained on all of Adult, are audited on 1,000 rows of
it. A tree grows by leaves, a forest by depth, a logistic regression by columns. Each set of the
terms of a sum is a computation, so a logistic regression with $k$ columns has $2^k + k + 1$
decompositions: all non-empty sets of terms, $k$ variables, the comparison and the whole program.
All of them are measured, up to 14 columns (13 of Adult and the square of age).

By default, an audit does less. It lists the smallest sums that are witnesses, and in a large tree
or forest it measures only what a bound cannot exclude. Here every computation of every model is
measured (`measure="all"`), and every sum of a regression's terms (`all_sets=True`), so that times
can be compared with the number of decompositions.

The growth exponent is the slope of the best-fitting line through the logarithms: 1 is linear, 2
means four times the time for twice the size. Fixed costs, such as reading the model, would make the
slope too small. So the line is fitted only through points that take at least four times as long as
the fastest, where fixed costs are at most a quarter. With fewer than three such points, it is
fitted through the three largest, and the table says so; such a slope may be too small. Only
complete audits are fitted.

Times are CPU times of one thread, the best of a few runs. All three grow about linearly with the
number of rows, or slightly faster where long columns are sorted: the pairs of rows are never
enumerated. With the number of decompositions, the time of a logistic regression also grows about
linearly, so it about doubles with each column; that of a tree grows more slowly. Sets of the
occurrences of a variable or a test, most often of age, are searched where there are too many to
measure all.

**The authors' program.** Its two times in the table are not from the paper: they were measured with
the program that the authors published, on another machine. It was run at thresholds of (0, 0); here
they are (0.05, 0.05). For models of this size this hardly matters, as the table shows: every
computation is measured either way, except sums of two of the forest's trees. Larger trees and
forests took up to twice as long at (0, 0) as at (0.05, 0.05), larger logistic regressions equally
long. The authors' runs by rows had 100 to 1,000 rows. Their runs by model size had 2,000 rows; here
there are 1,000.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numba  # noqa: F401 - so that no measured time includes loading it
import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

import proxyuse as pu
from examples.paper.experiment import Picture, Reproduced, Table
from proxyuse.datasets import load_adult

Array = npt.NDArray[Any]

ROWS = (100, 300, 1_000, 4_000, 16_000, 64_000, 250_000, 1_000_000)  # the authors: 100 to 1,000
SMALL = {"tree": 12, "forest": 2, "logistic": 5}  # leaves, depth, columns: 33 to 38 decompositions
LARGER = {
    "tree": (4, 12, 40, 120, 400, 1_200, 4_000),
    "forest": (1, 2, 4, 5, 6, 8, 10, 12, 14, 17, 20),
    "logistic": (3, 4, 6, 8, 10, 12, 14),
}
SAMPLE = 1_000
NAMES = {"tree": "tree", "forest": "forest of 3", "logistic": "logistic regression"}
UNITS = {"tree": "leaves", "forest": "depth", "logistic": "columns"}
NUMBERS = ["age", "fnlwgt", "education_num", "capital_gain", "capital_loss", "hours_per_week"]
USED_FIRST = ["age", "education_num", "hours_per_week", "capital_gain", "relationship"]
RUNS, PATIENCE = 5, 2.0  # no further run is begun after so many seconds
FIXED = 4  # points count for the exponent if they take so many times the time of the fastest
COLOURS = {"tree": "#0072b2", "forest": "#d55e00", "logistic": "#009e73"}
MARKERS = {"tree": "o", "forest": "^", "logistic": "s"}
GREY = "#8a94a0"


@dataclass(frozen=True)
class Run:
    """One audit."""

    rows: int
    size: int
    decompositions: int
    complete: bool
    seconds: float


@dataclass(frozen=True)
class Fit:
    """A power law: its exponent, the points that it was fitted to, and whether they are slow.

    If not, too few points took long enough, and the three largest had to do.
    """

    exponent: float
    used: Array
    slow: bool


@dataclass(frozen=True)
class People:
    """Columns that a model may use, marital status, and who earns more than 50,000 dollars."""

    X: pd.DataFrame
    marital: Array
    income: Array


def adult() -> People:
    """Adult in random order; words are numbered in sorted order."""
    frame = load_adult().sample(frac=1, random_state=0)
    codes = frame.apply(lambda c: c if c.dtype.kind in "if" else pd.factorize(c, sort=True)[0])
    X = codes.drop(columns=["marital_status", "income"]).astype(float)
    order = [*USED_FIRST, *X.columns.drop(USED_FIRST)]
    X = X[order].assign(age_squared=X["age"] ** 2)
    return People(X, codes["marital_status"].to_numpy(), codes["income"].to_numpy())


def drawn(people: People, rows: int) -> People:
    """As many rows as wanted, drawn with replacement, with noise in the numbers."""
    rng = np.random.default_rng(0)
    chosen = rng.integers(0, len(people.X), rows)
    X = people.X.iloc[chosen].reset_index(drop=True)
    X[NUMBERS] *= 1 + 0.01 * rng.standard_normal((rows, len(NUMBERS)))
    X["age_squared"] = X["age"] ** 2
    return People(X, people.marital[chosen], people.income[chosen])


def trained(kind: str, size: int, people: People) -> Any:
    """A model of some size: leaves of the tree, depth of the forest, columns of the regression."""
    model: Any
    if kind == "tree":
        model = DecisionTreeClassifier(max_leaf_nodes=size, random_state=0)
    elif kind == "forest":
        model = RandomForestClassifier(3, max_depth=size, random_state=0)
    else:
        model = make_pipeline(StandardScaler(), LogisticRegression())
    return model.fit(people.X.iloc[:, : size if kind == "logistic" else 13], people.income)


def audited(model: Any, people: People, threshold: float = 0.05) -> pu.Audit:
    """The audit that is timed, with one threshold for association and influence.

    It measures everything, and every sum of a regression's terms.
    """
    X = people.X[list(model.feature_names_in_)]
    return pu.audit(
        model, X, {"marital status": people.marital}, threshold, threshold,
        measure="all", all_sets=isinstance(model, Pipeline), validity=None,
    )  # fmt: skip


def timed(model: Any, size: int, people: People, threshold: float = 0.05) -> Run:
    """The best of a few audits."""
    times: list[float] = []
    with threadpool_limits(1):  # threads of BLAS that wait for each other take time of their own
        while not times or (len(times) < RUNS and sum(times) < PATIENCE):
            start = time.process_time()
            audit = audited(model, people, threshold)
            times.append(time.process_time() - start)
    return Run(len(people.X), size, len(audit.decompositions), audit.complete, min(times))


def by_rows(people: People, rows: Iterable[int]) -> dict[str, list[Run]]:
    """The three small models on more and more rows."""
    models = {kind: trained(kind, size, people) for kind, size in SMALL.items()}
    runs: dict[str, list[Run]] = {kind: [] for kind in models}
    for number in rows:
        sample = drawn(people, number)
        for kind, model in models.items():
            runs[kind].append(timed(model, SMALL[kind], sample))
    return runs


def by_size(
    people: People, sizes: dict[str, tuple[int, ...]], rows: int = SAMPLE
) -> dict[str, list[Run]]:
    """Larger and larger models on the same rows of Adult."""
    sample = People(people.X[:rows], people.marital[:rows], people.income[:rows])
    return {
        kind: [timed(trained(kind, size, people), size, sample) for size in some]
        for kind, some in sizes.items()
    }


def at_zero(people: People) -> dict[str, Run]:
    """The three small models as in `by_rows`, at thresholds of 0, which are the authors'."""
    sample = drawn(people, SAMPLE)
    return {
        kind: timed(trained(kind, size, people), size, sample, threshold=0.0)
        for kind, size in SMALL.items()
    }


def warm_up(people: People) -> None:
    """Audit each kind before it is timed: small, smallest and large, on few rows."""
    few = drawn(people, ROWS[0])
    for kind, small in SMALL.items():
        large = 6 if kind == "logistic" else LARGER[kind][-1]
        for size in (small, LARGER[kind][0], large):
            audited(trained(kind, size, people), few)


def growth(sizes: Sequence[float] | Array, seconds: Sequence[float] | Array) -> Fit:
    """The power law that fits the slow points best, or else the three largest."""
    x, y = np.log(np.array(sizes, dtype=float)), np.log(np.array(seconds, dtype=float))
    used = y >= y.min() + np.log(FIXED)
    slow = bool(used.sum() >= 3)
    if not slow:
        used = x >= np.sort(x)[-3:][0]
    return Fit(float(np.polyfit(x[used], y[used], 1)[0]), used, slow)


def fitted(runs: Sequence[Run], across: str) -> Fit:
    """The growth of the complete ones of some runs with their rows or decompositions."""
    complete = np.array([run.complete for run in runs])
    sizes = np.array([getattr(run, across) for run in runs])
    fit = growth(sizes[complete], np.array([run.seconds for run in runs])[complete])
    used = complete.copy()
    used[complete] = fit.used
    return Fit(fit.exponent, used, fit.slow)


def reproduce() -> Reproduced:
    """Time audits of three kinds of models, and fit how the time grows."""
    people = adult()
    warm_up(people)
    rows, sizes = by_rows(people, ROWS), by_size(people, LARGER)
    return Reproduced(
        tables=[
            exponents_table({"rows": rows, "decompositions": sizes}),
            authors_table(rows, at_zero(people), sizes["logistic"][-1]),
            rows_table(rows),
            sizes_table(sizes),
        ],
        pictures=[
            Picture(
                "runtime",
                draw(rows, sizes),
                "Time of an audit against rows (left) and against decompositions (right); at each "
                "line's end its growth exponent. Filled points are those it was fitted to; hollow "
                "ones take too little time for that, or are of audits that are not complete. The "
                "star is the authors' program, run elsewhere",
            )
        ],
        remarks=["Times differ from machine to machine and from run to run."],
    )


def exponents_table(runs: dict[str, dict[str, list[Run]]]) -> Table:
    """The fitted growth of each kind of model, with rows and with decompositions."""
    lines = []
    for across, kinds in runs.items():
        for kind, some in kinds.items():
            fit = fitted(some, across)
            points = f"{fit.used.sum()} of {len(some)}"
            chosen = f"at least {FIXED} times the fastest" if fit.slow else "the three largest"
            lines.append((NAMES[kind], across, f"{fit.exponent:.2f}", points, chosen))
    return Table(
        "Growth exponents, fitted to complete audits",
        ("model", "grows with", "exponent", "points fitted", "which are"), tuple(lines),
    )  # fmt: skip


def authors_table(rows: dict[str, list[Run]], zero: dict[str, Run], large: Run) -> Table:
    """What the authors' program takes, as far as it was timed, beside this one."""
    here = {kind: next(run for run in runs if run.rows == SAMPLE) for kind, runs in rows.items()}

    def each(runs: dict[str, Run]) -> str:
        return ", ".join(f"{NAMES[kind]} {run.seconds:.2g}" for kind, run in runs.items())

    small, other = (runs["logistic"] for runs in (here, zero))
    columns = f"with {small.size} columns"
    return Table(
        "Seconds, of the program that the authors published and of this one",
        ("", "their program, run elsewhere, at (0, 0)", "this one, at (0.05, 0.05)",
         "this one, at (0, 0)"),
        (
            ("38 decompositions on 1,000 rows", "3.6", each(here), each(zero)),
            ("a small logistic model", "over 250",
             f"{small.seconds:.2g} {columns}, {large.seconds:.2g} with {large.size}",
             f"{other.seconds:.2g} {columns}"),
        ),
    )  # fmt: skip


def rows_table(runs: dict[str, list[Run]]) -> Table:
    """A line for each number of rows."""
    heads = [f"{NAMES[kind]} ({told(some)})" for kind, some in runs.items()]
    lines = zip(*runs.values(), strict=True)
    return Table(
        "Seconds against rows (decompositions in brackets)",
        ("rows", *heads, "all complete"),
        tuple(
            (
                f"{line[0].rows:,}",
                *(f"{run.seconds:.3g}" for run in line),
                "yes" if all(run.complete for run in line) else "no",
            )
            for line in lines
        ),
    )


def told(runs: Sequence[Run]) -> str:
    """How many decompositions there are in some runs."""
    counts = sorted({run.decompositions for run in runs})
    return f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"


def sizes_table(runs: dict[str, list[Run]]) -> Table:
    """A line for each model."""
    return Table(
        "Seconds against decompositions, on 1,000 rows",
        ("model", "size", "decompositions", "seconds", "complete"),
        tuple(
            (
                NAMES[kind],
                f"{run.size:,} {UNITS[kind]}" if kind != "forest" else f"depth {run.size}",
                f"{run.decompositions:,}",
                f"{run.seconds:.3g}",
                "yes" if run.complete else "no",
            )
            for kind, some in runs.items()
            for run in some
        ),
    )


def draw(rows: dict[str, list[Run]], sizes: dict[str, list[Run]]) -> Axes:
    """Two panels with one scale of time."""
    by_rows: Axes
    right: Axes
    by_rows, right = Figure(figsize=(9.2, 4.2), layout="constrained").subplots(1, 2, sharey=True)
    for ax, runs, across, title in (
        (by_rows, rows, "rows", "33 to 38 decompositions, more and more rows"),
        (right, sizes, "decompositions", f"{SAMPLE:,} rows, larger and larger models"),
    ):
        for kind, some in runs.items():
            line(ax, kind, some, across)
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set_xlabel(across)
        ax.xaxis.set_major_formatter("{x:,.0f}")
        ax.yaxis.set_major_formatter("{x:g}")
        ax.set_title(title, fontsize=9, loc="left", color="#3b4652")
        ax.spines[["top", "right"]].set_visible(False)
        ax.tick_params(which="minor", length=0)
    by_rows.set_ylabel("seconds")
    for ax, at in ((by_rows, SAMPLE), (right, 38)):
        ax.plot([at], [3.6], "*", color="#20262d", markersize=10, zorder=4)
        ax.annotate(
            "their program,\nrun elsewhere:\n38 decompositions,\n1,000 rows", (at, 3.6), (0, 8),
            textcoords="offset points", fontsize=7.5, ha="center",
        )  # fmt: skip
        low, high = ax.get_xlim()
        ax.set_xlim(low, high * 2.2)
        guides(ax)
    by_rows.legend(frameon=False, fontsize=8, loc="lower right")
    return by_rows


def line(ax: Axes, kind: str, runs: Sequence[Run], across: str) -> None:
    """One kind of model, with the exponent at its end."""
    x = np.array([getattr(run, across) for run in runs])
    y = np.array([run.seconds for run in runs])
    fit = fitted(runs, across)
    marked: Any = {"marker": MARKERS[kind], "color": COLOURS[kind], "linewidth": 0}
    ax.plot(x, y, color=COLOURS[kind], linewidth=1.3, zorder=2)
    ax.plot(x, y, markerfacecolor="white", markersize=5, zorder=3, **marked)
    ax.plot(x[fit.used], y[fit.used], markersize=5, zorder=3, label=NAMES[kind], **marked)
    ax.annotate(
        f"{fit.exponent:.2f}", (x[-1], y[-1]), (7, 2 if kind == "logistic" else -6),
        textcoords="offset points", color=COLOURS[kind], fontsize=8.5, va="center",
    )  # fmt: skip


def guides(ax: Axes) -> None:
    """Grey lines of slope 1 and 2."""
    low, high = ax.get_xlim()
    bottom, top = ax.get_ylim()
    for slope in (1, 2):
        start = low * 4
        end = min(high / 3, start * (top / bottom / 4) ** (1 / slope))
        y = bottom * 1.5 * (np.array([start, end]) / start) ** slope
        ax.plot([start, end], y, color=GREY, linewidth=0.9, linestyle=(0, (4, 3)), zorder=1)
        ax.annotate(f"slope {slope}", (end, y[1]), (3, 0), textcoords="offset points",
                    fontsize=7.5, color=GREY, va="center")  # fmt: skip
