"""Noise as a protected attribute: how often is anything confirmed?

A grid of simulations: kinds of noise, models, and numbers of rows. Each cell audits a model with
the default options on rows that the simulation draws, and counts the runs in which any computation
is confirmed. Every confirmation is false, and at most 5% of the runs may have one.

``python -m scripts.noise_simulation docs`` writes the table of the page about statistics. Finished
cells are kept in a file, so an interrupted simulation continues where it stopped.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from proxyuse.auditing import examine
from proxyuse.data.columns import as_column
from proxyuse.data.population import Protected
from proxyuse.lang.evaluate import Array
from proxyuse.methods import Confirmation
from proxyuse.request import Request, request_for
from proxyuse.settings import AuditOptions
from proxyuse.verdict import Verdict
from scripts.validity_simulation import PAGE, TABLES, table

ALPHA = 0.05
RUNS = 200
SIZES = (100, 300, 1000, 5000)
DRAWS = 20
"""In how many parts the runs of a cell are divided. Each part has its own rows."""
TOGETHER = 5000
"""The most rows times attributes of one audit: a longer search costs more than it shares."""
PER_PERSON = 10
"""Copies of each person, for clusters."""


# Models


def _tree() -> Any:
    from sklearn.tree import DecisionTreeClassifier

    return DecisionTreeClassifier(max_depth=8, random_state=0)


def _forest() -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(20, max_depth=6, random_state=0)


def _booster() -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(max_iter=10, max_leaf_nodes=4, random_state=0)


def _logistic() -> Any:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), LogisticRegression())


MODELS: dict[str, Callable[[], Any]] = {
    "tree": _tree,
    "forest": _forest,
    "booster": _booster,
    "logistic pipeline": _logistic,
}
COLUMNS = tuple("abcdef")


def drawn_features(n: int, rng: np.random.Generator) -> Array:
    """Rows with continuous, discrete and binary columns. The first one is binary."""
    continuous = rng.normal(size=(n, 3))
    discrete = np.floor(np.abs(rng.normal(size=(n, 2))) * 4)
    return np.column_stack([rng.integers(0, 2, n), continuous, discrete])


def outcomes(X: Array, rng: np.random.Generator) -> Array:
    """Labels that depend on several columns."""
    score = 1.5 * X[:, 0] + X[:, 1] - 0.5 * X[:, 2] + 0.2 * X[:, 4] - 1
    labels: Array = (score + rng.normal(size=len(X)) > 0).astype(int)
    return labels


def as_frame(X: Array) -> Any:
    """The rows as a data frame."""
    import pandas as pd

    return pd.DataFrame(X, columns=list(COLUMNS))


# Kinds of noise


@dataclass(frozen=True, slots=True)
class Noise:
    """A kind of noise.

    Attributes
    ----------
    draw : draws the protected attribute of some rows.
    epsilon : the threshold; None for the default.
    per_person : how many copies of each row there are.
    weighted : whether the rows have unequal weights.
    training : whether the model is fitted on the audited rows, with labels that follow the
        protected attribute.
    """

    draw: Callable[[Array, np.random.Generator], Array]
    epsilon: float | None = None
    per_person: int = 1
    weighted: bool = False
    training: bool = False


def _coin(share: float) -> Callable[[Array, np.random.Generator], Array]:
    return lambda X, rng: (rng.random(len(X)) < share).astype(float)


def _die(X: Array, rng: np.random.Generator) -> Array:
    return rng.integers(0, 20, len(X)).astype(str)


def _ids(X: Array, rng: np.random.Generator) -> Array:
    return np.array([f"id {number}" for number in rng.permutation(len(X))])


def _tail(levels: int) -> Noise:
    """Half of the rows have the value of the first column, the others one of many levels.

    Epsilon is the association of the first column in the population.
    """

    def draw(X: Array, rng: np.random.Generator) -> Array:
        others = 2 + rng.integers(0, levels, len(X))
        return np.where(rng.random(len(X)) < 0.5, X[:, 0], others).astype(int).astype(str)

    entropy = 0.5 * math.log(4) + 0.5 * math.log(4 * levels)
    return Noise(draw, epsilon=0.5 * math.log(2) / entropy)


NOISE: dict[str, Noise] = {
    "fair coin": Noise(_coin(0.5)),
    "biased coin": Noise(_coin(0.1)),
    "20-sided die": Noise(_die),
    "id": Noise(_ids),
    "tail of 5,000 levels": _tail(5000),
    "tail of 40,000 levels": _tail(40_000),
    "ten copies of each row": Noise(_coin(0.5), per_person=PER_PERSON),
    "unequal weights": Noise(_coin(0.5), weighted=True),
    "training rows": Noise(_coin(0.5), training=True),
}


# Runs


@dataclass(frozen=True, slots=True)
class Cell:
    """A kind of noise, a model and a number of rows."""

    noise: str
    model: str
    rows: int


@dataclass(frozen=True, slots=True)
class Seen:
    """The result of a cell: in how many runs something was confirmed, or nothing can be decided."""

    runs: int
    confirmed: int
    undecided: int


def simulate(cell: Cell, runs: int = RUNS) -> Seen:
    """Audit a model on noise, many times."""
    verdicts = list(_verdicts(cell, runs))
    return Seen(runs, verdicts.count(Verdict.CONFIRMED), verdicts.count(Verdict.UNDECIDED))


def _verdicts(cell: Cell, runs: int) -> Iterator[Verdict]:
    """The verdict of each run."""
    noise, seed = NOISE[cell.noise], [len(cell.noise), len(cell.model), cell.rows]
    people = cell.rows // noise.per_person
    if noise.training:
        for run in range(runs):
            rng = np.random.default_rng([*seed, run])
            X = drawn_features(people, rng)
            z = noise.draw(X, rng)
            y = np.where(rng.random(people) < 0.9, z, 1 - z).astype(int)
            model = MODELS[cell.model]().fit(as_frame(X), y)
            yield from _verdicts_on(_request(model, X, z, noise, rng), [z])
        return
    rng = np.random.default_rng(seed)
    past = drawn_features(2000, rng)
    model = MODELS[cell.model]().fit(as_frame(past), outcomes(past, rng))
    for part in range(DRAWS):
        X = drawn_features(people, rng)
        copies = np.repeat(np.arange(people), noise.per_person)
        request = _request(model, X[copies], noise.draw(X, rng)[copies], noise, rng)
        number = len(range(part, runs, DRAWS))
        if number:
            attributes = [noise.draw(X, rng)[copies] for _ in range(number)]
            together = max(1, TOGETHER // cell.rows)
            for first in range(0, number, together):
                yield from _verdicts_on(request, attributes[first : first + together])


def _request(model: Any, X: Array, z: Array, noise: Noise, rng: np.random.Generator) -> Request:
    options = AuditOptions() if noise.epsilon is None else AuditOptions(epsilon=noise.epsilon)
    if noise.weighted:
        options = AuditOptions(weights=rng.exponential(size=len(X)) + 0.1)
    return request_for(model, as_frame(X), {"z": z}, options)


def _verdicts_on(request: Request, attributes: Sequence[Array]) -> list[Verdict]:
    """The verdict of a default audit of the same model and rows for each protected attribute.

    One audit shares the work. Its attributes share its level, so k attributes at k times the level
    are k audits. The model was compared with its program once. With `known`, the influence of a
    computation is only measured if an association reaches epsilon; the others count as tests too.
    """
    protected = tuple(
        Protected(name, as_column(name, z), None)
        for name, z in ((f"z{number}", z) for number, z in enumerate(attributes))
    )
    request = replace(request, population=replace(request.population, protected=protected))
    audit = examine(request, request.subject.program, known={})
    level = Confirmation(alpha=ALPHA * len(attributes))
    return [known.verdict for known in audit.validated(level).verdicts.values()]


# The page


def grid() -> Iterator[Cell]:
    """All cells, smaller ones first."""
    for rows in SIZES:
        for noise in NOISE:
            for model in MODELS:
                yield Cell(noise, model, rows)


def too_many(confirmed: int, runs: int) -> bool:
    """Whether so many runs with a confirmation have a probability below 1% at a rate of alpha."""
    from scipy.stats import binom

    return bool(binom.sf(confirmed - 1, runs, ALPHA) < 0.01)


def run_grid(path: Path, runs: int, hours: float) -> dict[str, dict[str, int]]:
    """Simulate the cells that a file does not have yet, and add them to it."""
    known = json.loads(path.read_text()) if path.exists() else {}
    deadline = time.monotonic() + 3600 * hours
    for cell in grid():
        key = f"{cell.noise} | {cell.model} | {cell.rows}"
        if key in known or time.monotonic() > deadline:
            continue
        started = time.monotonic()
        seen = simulate(cell, runs)
        known[key] = {
            "runs": seen.runs,
            "confirmed": seen.confirmed,
            "undecided": seen.undecided,
        }
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(known, indent=1) + "\n")
        print(f"{key}: {known[key]} in {time.monotonic() - started:.0f} s", flush=True)
    return known


def noise_table(known: dict[str, dict[str, int]]) -> str:
    """The share of runs with a confirmation, by kind of noise, model and number of rows.

    A cell that was not simulated is a dash.
    """
    header = ["noise", "model", *(f"{rows:,} rows" for rows in SIZES)]
    lines: list[Sequence[object]] = []
    for noise in NOISE:
        for model in MODELS:
            cells = [known.get(f"{noise} | {model} | {rows}") for rows in SIZES]
            if any(cells):
                lines.append([noise, model, *map(_cell_text, cells)])
    return table(header, lines)


def _cell_text(seen: dict[str, int] | None) -> str:
    """The share with its standard error; an asterisk if most runs cannot be decided."""
    if seen is None:
        return "-"
    share = seen["confirmed"] / seen["runs"]
    error = math.sqrt(share * (1 - share) / seen["runs"])
    mark = "\\*" if 2 * seen["undecided"] > seen["runs"] else ""
    spread = f" ± {100 * error:.1f}" if error else ""
    return f"{100 * share:.1f}%{spread}{mark}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("docs", type=Path, help="the folder of the documentation")
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--hours", type=float, default=math.inf, help="stop after this time")
    parser.add_argument("--results", type=Path, default=Path("build/noise.json"))
    options = parser.parse_args()
    results = noise_table(run_grid(options.results, options.runs, options.hours))
    page = options.docs / PAGE
    text = page.read_text()
    page.write_text(TABLES.sub(lambda m: m[1] + results + m[3] if m[2] == "noise" else m[0], text))
