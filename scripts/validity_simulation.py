"""Simulations of the statistics: samples of known populations.

Four experiments, each a function of the number of runs:

`independence`  A protected attribute that is independent of everything. How often does each method
                confirm any computation at all?
`coverage`      Tables with a known association. How often is the lower bound below it, how often
                the raw estimate, and how often does each pass epsilon?
`influences`    Programs with a known influence. How often is the lower bound below it?
`adult`         All of Adult is the population, and a tree is audited on samples of it. How often is
                a computation confirmed that is not a witness in the population, and how many of the
                population's witnesses are confirmed?

``python -m scripts.validity_simulation docs`` writes the tables and figures of the page about them.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import proxyuse as pu
from proxyuse.data.population import Population
from proxyuse.lang.evaluate import Array
from proxyuse.lang.positions import Site
from proxyuse.measure.association.measures.normalized_mutual_information import (
    NormalizedMutualInformation,
)
from proxyuse.measure.engine import Measurement
from proxyuse.measure.sample import Sample as Rows
from proxyuse.validity.association_bounds import information_bounds
from proxyuse.validity.influence_bounds import influence_bounds
from proxyuse.validity.sample import Observed, Sample
from scripts.scatter import Axis, Cloud, scatter

ALPHA = 0.05
RUNS = 500
PAGE = "validity-theory.md"
ALARMS, POWER, BIAS = (f"figures/validity-{name}.svg" for name in ("alarms", "power", "bias"))
TABLES = re.compile(r"(<!-- table: (\w+) -->\n).*?(<!-- end of table -->)", re.DOTALL)

measure = NormalizedMutualInformation()


# Independence


TREE = """
ite(a <= 0.5, ite(b <= 0, ite(c == 'x', 1, 0), ite(d <= 0.3, 0, 1)),
    ite(e <= 0.7, ite(a + b <= 1, 1, 0), ite(c in {'y', 'z'}, ite(b <= 1, 0, 1), 1)))
"""
METHODS: dict[str, Any] = {
    "no correction": pu.Permutation(999, "none"),
    "Bonferroni": pu.Permutation(999, "bonferroni"),
    "Holm": pu.Permutation(999, "holm"),
    "Benjamini-Hochberg": pu.Permutation(999, "benjamini-hochberg"),
    "Westfall-Young": pu.Permutation(999, "westfall-young"),
    "bounds": pu.Confirmation(),
    "10 of 10 splits": pu.CrossValidation(),
}
SELDOM = 5  # splits take as long as all other methods, so only every fifth run has them


def features(n: int, rng: np.random.Generator) -> dict[str, Array]:
    """Columns of several types, with typical correlations."""
    a = rng.random(n)
    return {
        "a": a,
        "b": rng.normal(size=n) + a,
        "c": rng.choice(np.array(["x", "y", "z", "w"]), size=n),
        "d": np.round(rng.random(n), 1),
        "e": rng.random(n) < 0.5 + 0.3 * (a > 0.5),
    }


def independence(
    runs: int, names: Sequence[str] = tuple(METHODS), n: int = 300
) -> dict[str, float]:
    """The share of runs in which each method confirms anything; the raw estimate comes first.

    Permutation tests cover all computations, the other methods use epsilon = 0.01.
    """
    program = pu.Program.parse(TREE)
    alarms: dict[str, list[bool]] = {name: [] for name in ("raw estimate", *names)}
    for run in range(runs):
        rng = np.random.default_rng([1, run])
        data = features(n, rng) | {"z": rng.random(n) < 0.4}
        everything = pu.audit(program, data, "z", epsilon=0, delta=0, validity=None)
        some = pu.audit(program, data, "z", epsilon=0.01, delta=0, validity=None)
        alarms["raw estimate"].append(bool(some.witnesses))
        for name in names:
            method = METHODS[name]
            audit = everything if isinstance(method, pu.Permutation) else some
            if not isinstance(method, pu.CrossValidation) or run % SELDOM == 0:
                alarms[name].append(any(confirmed(audit.validated(method))))
    return {name: float(np.mean(alarm)) for name, alarm in alarms.items()}


def confirmed(audit: pu.Audit) -> Iterator[str]:
    """The ids of the witnesses that are confirmed."""
    for witness in audit.witnesses:
        if witness.validity is not None and witness.validity.confirmed:
            yield witness.id


# Coverage of the bounds for association


@dataclass(frozen=True, slots=True, eq=False)
class Kind:
    """Mixtures of an independent table and one in which the rows determine the columns."""

    name: str
    determined: Array

    def with_association(self, association: float) -> Array:
        """The mixture with a given association, by bisection."""
        independent = np.outer(self.determined.sum(axis=1), self.determined.sum(axis=0))
        low, high = 0.0, 1.0
        for _ in range(60):
            middle = (low + high) / 2
            mixed = measure((1 - middle) * independent + middle * self.determined)
            low, high = (middle, high) if mixed < association else (low, middle)
        return (1 - low) * independent + low * self.determined


def _determined(values: Array, of: Sequence[int]) -> Array:
    """A table in which each row has one column."""
    table = np.zeros((len(values), max(of) + 1))
    table[np.arange(len(values)), of] = values / values.sum()
    return table


KINDS = (
    Kind("2 x 2", np.diag([0.5, 0.5])),
    Kind("2 x 2, 3% of each", np.diag([0.97, 0.03])),
    Kind("16 x 2", _determined(np.ones(16), [0] * 8 + [1] * 8)),
    Kind("16 x 7", _determined(np.ones(16), [0] * 6 + [1] * 3 + [2] * 2 + [3] * 2 + [4, 5, 6])),
    Kind("64 x 2", _determined(1 / np.arange(1, 65) ** 0.7, [0, 1] * 32)),
    Kind("256 x 7", _determined(1 / np.arange(1, 257) ** 0.7, [i % 7 for i in range(256)])),
)
EPSILON = 0.1
BELOW_AT_ABOVE = (0.07, EPSILON, 0.15)
SIZES = (200, 1000, 5000)


@dataclass(frozen=True, slots=True)
class Covered:
    """The results for one population and one number of rows.

    Attributes
    ----------
    bound, raw : the share of samples in which the lower bound, or the raw estimate, is at most
        the association of the population.
    confirmed, passing : the share of samples in which each passes epsilon.
    mean, corrected : the mean of the raw estimate, and of the bias-corrected one.
    """

    kind: str
    association: float
    n: int
    bound: float
    raw: float
    confirmed: float
    passing: float
    mean: float
    corrected: float


def coverage(runs: int, sizes: Sequence[int] = SIZES) -> Iterator[Covered]:
    """Every kind of population, below, at and above epsilon, at every size."""
    for number, kind in enumerate(KINDS):
        for association in BELOW_AT_ABOVE:
            shares = kind.with_association(association)
            for n in sizes:
                rng = np.random.default_rng([2, number, round(1000 * association), n])
                drawn = rng.multinomial(n, shares.ravel(), size=runs).reshape(-1, *shares.shape)
                tables = [table[table.sum(axis=1) > 0].astype(float) for table in drawn]
                raw = np.array([measure(table) for table in tables])
                bounds = [information_bounds(Sample(table, table), ALPHA) for table in tables]
                lower = np.array([bound.lower for bound in bounds])
                truth = measure(shares) + 1e-12
                yield Covered(
                    kind.name,
                    association,
                    n,
                    bound=float(np.mean(lower <= truth)),
                    raw=float(np.mean(raw <= truth)),
                    confirmed=float(np.mean(lower >= EPSILON)),
                    passing=float(np.mean(raw >= EPSILON)),
                    mean=float(raw.mean()),
                    corrected=float(np.mean([bound.corrected for bound in bounds])),
                )


# Coverage of the bounds for influence

TARGETS: dict[str, tuple[str, str | list[Site]]] = {
    "a guard": (TREE, [Site(1)]),
    "a branch": (TREE, [Site(3)]),
    "the whole program": (TREE, [Site(0)]),
    "a rare guard": ("ite(b <= 2.2, 0, 1)", [Site(1)]),
    "a variable in two places": ("ite(a <= 0.5, ite(b <= 0, 0, 1), ite(b <= 1, 0, 1))", "b"),
    "one of three summands": ("ite(a + b + 2 * d <= 2, 0, 1)", "b"),
}


def influences(runs: int, sizes: Sequence[int] = (100, 1000)) -> dict[tuple[str, int], float]:
    """For each position and size, the share of samples whose lower bound is at most the truth."""
    people = features(20_000, np.random.default_rng(3))
    coverage = {}
    for number, (name, (text, target)) in enumerate(TARGETS.items()):
        program = pu.Program.parse(text)
        sites = target if isinstance(target, list) else _read(program, target)
        truth = _engine(program, people).influence(sites)
        for n in sizes:
            covered = 0
            for run in range(runs):
                rows = np.random.default_rng([4, number, n, run]).integers(20_000, size=n)
                engine = _engine(program, {key: values[rows] for key, values in people.items()})
                observed = Observed(True, engine.sample.weights, engine.sample.weights)
                bounds = influence_bounds(
                    engine.influence(sites), engine.effects(sites), observed, ALPHA
                )
                covered += bounds[0] <= truth
            coverage[name, n] = covered / runs
    return coverage


def _read(program: pu.Program, name: str) -> list[Site]:
    terms = program.points.terms
    return [Site(point) for point, term in enumerate(terms) if str(program.text_of(term)) == name]


def _engine(program: pu.Program, columns: dict[str, Array]) -> Measurement:
    n = len(columns["a"])
    data = columns | {"z": np.arange(n) % 2}
    population = Population.build(data, protected="z", variables=program.variables)
    return Measurement(Rows(program, population))


# Adult as the population

ADULT_EPSILON = ADULT_DELTA = 0.05
ADULT_SIZES = (250, 1000, 4000, 16_000)


@dataclass(frozen=True, slots=True)
class Power:
    """The results for samples of one size.

    Attributes
    ----------
    alarms, raw_alarms : the share of samples with any confirmed computation, or any witness of
        the sample, that is not a witness in the population.
    found, raw_found : the mean share of the witnesses of the population that are confirmed, or
        witnesses of the sample.
    """

    n: int
    alarms: float
    raw_alarms: float
    found: float
    raw_found: float


@cache
def _adult() -> tuple[pu.Program, Any, Any]:
    import pandas as pd
    from sklearn.tree import DecisionTreeClassifier

    from proxyuse.datasets import load_adult

    people = load_adult().dropna().drop(columns="fnlwgt").reset_index(drop=True)
    numbers = people.apply(lambda c: c if c.dtype.kind in "if" else pd.factorize(c, sort=True)[0])
    X, y = numbers.drop(columns=["income", "marital_status"]), numbers["income"]
    model = DecisionTreeClassifier(max_depth=5, random_state=0).fit(X, y)
    return pu.translate(model), X, people["marital_status"]


def adult(runs: int, sizes: Sequence[int] = ADULT_SIZES) -> Iterator[Power]:
    """Samples with replacement, audited at (0.05, 0.05)."""
    program, X, marital = _adult()
    whole = pu.audit(program, X, {"marital": marital}, ADULT_EPSILON, ADULT_DELTA, all_sets=True)
    true = {w.id for w in whole.witnesses}
    usual = pu.audit(program, X, {"marital": marital}, ADULT_EPSILON, ADULT_DELTA)
    known = {w.id for w in usual.witnesses}  # without sets of occurrences that are not listed
    for n in sizes:
        seen = []
        for run in range(runs):
            rows = np.random.default_rng([5, n, run]).integers(len(X), size=n)
            audit = pu.audit(
                program,
                X.iloc[rows],
                {"marital": marital.iloc[rows]},
                ADULT_EPSILON,
                ADULT_DELTA,
                validity="confirm",
            )
            raw, sure = {w.id for w in audit.witnesses}, set(confirmed(audit))
            shares = [len(some & known) / len(known) for some in (sure, raw)]
            seen.append((bool(sure - true), bool(raw - true), *shares))
        yield Power(n, *(float(share) for share in np.mean(np.array(seen, dtype=float), axis=0)))


# The page


def percent(share: float) -> str:
    """A share as text."""
    return f"{100 * share:.1f}%"


def table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A Markdown table with right-aligned numbers."""
    lines = [header, ["---", *["--:"] * (len(header) - 1)], *rows]
    return "".join(f"| {' | '.join(map(str, line))} |\n" for line in lines)


def _independence_table(shares: dict[str, float]) -> str:
    return table(["", "any confirmed"], [[name, percent(v)] for name, v in shares.items()])


def _coverage_table(covered: Sequence[Covered]) -> str:
    header = ["population", "true d", "rows", "bound below d", "raw below d"]
    header += ["confirmed at 0.1", "raw passes 0.1", "raw mean", "corrected mean"]
    return table(header, [_covered_row(c) for c in covered])


def _covered_row(c: Covered) -> list[object]:
    shares = map(percent, (c.bound, c.raw, c.confirmed, c.passing))
    return [c.kind, c.association, f"{c.n:,}", *shares, f"{c.mean:.3f}", f"{c.corrected:.3f}"]


def _influences_table(shares: dict[tuple[str, int], float]) -> str:
    sizes = sorted({n for _, n in shares})
    header = ["influence of", *(f"{n:,} rows" for n in sizes)]
    return table(header, [[name, *(percent(shares[name, n]) for n in sizes)] for name in TARGETS])


def _adult_table(found: Sequence[Power]) -> str:
    header = ["rows", "any false, confirmed", "any false, raw", "found, confirmed", "found, raw"]
    rows = [
        [f"{p.n:,}", *map(percent, (p.alarms, p.raw_alarms, p.found, p.raw_found))] for p in found
    ]
    return table(header, rows)


def _figures(covered: Sequence[Covered], powers: Sequence[Power]) -> dict[str, str]:
    rows = Axis("rows", tuple(map(float, ADULT_SIZES)), logarithmic=True)
    share = Axis("share", (0.0, 0.25, 0.5, 0.75, 1.0))
    level = ((ADULT_SIZES[0], ALPHA), (ADULT_SIZES[-1], ALPHA))
    whole = ((ADULT_SIZES[0], 1.0), (ADULT_SIZES[-1], 1.0))
    some = [c for c in covered if c.kind == "16 x 7" and c.association == EPSILON]
    sizes = Axis("rows", tuple(float(c.n) for c in some), logarithmic=True)
    truth = ((some[0].n, EPSILON), (some[-1].n, EPSILON))

    def curve(name: str, points: Sequence[tuple[float, float]]) -> Cloud:
        return Cloud(name, tuple(points), joined=True)

    return {
        ALARMS: scatter(
            "Samples of Adult with any false finding", rows, share,
            [curve("confirmed", [(p.n, p.alarms) for p in powers]),
             curve("raw estimate", [(p.n, p.raw_alarms) for p in powers])],
            ("alpha = 0.05", level), names_above=0.7,
        ),
        POWER: scatter(
            "Witnesses of the population that are found", rows, share,
            [curve("confirmed", [(p.n, p.found) for p in powers]),
             curve("raw estimate", [(p.n, p.raw_found) for p in powers])],
            ("all", whole),
        ),
        BIAS: scatter(
            "Mean estimate, 16 x 7 values", sizes, Axis("association", (0.0, 0.05, 0.1, 0.15, 0.2)),
            [curve("corrected", [(c.n, c.corrected) for c in some]),
             curve("raw estimate", [(c.n, c.mean) for c in some])],
            ("true association", truth),
        ),
    }  # fmt: skip


def write(docs: Path, runs: int) -> None:
    """Write the tables and the figures."""
    covered, powers = list(coverage(4 * runs)), list(adult(runs))
    tables = {
        "independence": _independence_table(independence(runs)),
        "coverage": _coverage_table(covered),
        "influences": _influences_table(influences(2 * runs)),
        "adult": _adult_table(powers),
    }
    page = docs / PAGE
    text = TABLES.sub(
        lambda m: m[1] + tables[m[2]] + m[3] if m[2] in tables else m[0], page.read_text()
    )
    page.write_text(text)
    for name, figure in _figures(covered, powers).items():
        (docs / name).write_text(figure)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("docs", type=Path, help="the folder of the documentation")
    parser.add_argument("--runs", type=int, default=RUNS)
    options = parser.parse_args()
    write(options.docs, options.runs)
