"""Where the paper is wrong or silent, with the evidence.

An implementation has to define everything. In six places the paper does not, or states one thing
where it must mean another. None of them affects its main point. For each, this page shows what the
paper says, what proxyuse does instead, and why.

**The p-value.** *The paper has* a permutation test for whether an association is more than chance,
and the inequality in the formula of its p-value is reversed: it counts the permutations of the
protected attribute with a weaker association than the observed one. *Here* the permutations with an
association at least as strong are counted, including the observed one. *Why*: a small p-value has
to mean that chance alone seldom produces such an association. Under independence, both versions
call 5% of all samples significant at 0.05, so tests on noise do not reveal the error. With the
printed inequality, a true proxy gets a p-value near 1 and is hardly ever significant, and the
stronger it is, the less often.

**`p` for `p1`.** *The paper has*, in the quantitative definition of proxy use, the association of
`p` with the protected attribute in one place where it must mean `p1`. *Here* it is the association
of the intermediate computation `p1`. *Why*: with the output of the whole program, the paper's own
masked example has no proxy use at any threshold above 0, because its output is independent of
pregnancy. Yet this example is meant to show why the analysis must look inside. Conversely, if the
output is associated with pregnancy, every computation with some influence would be a witness, even
one that is independent of it.

**Thresholds.** *The paper has* strict inequalities in one place and not in another. *Here* a
decomposition is a witness if its association is at least epsilon and its influence is above delta,
and a repair ends when no decomposition passes this test. *Why*: only with these two inequalities is
the qualitative definition, a perfect proxy with any influence, the case (1, 0) of the quantitative
one. If association had to exceed epsilon, nothing could exceed 1, and the perfect proxy of the
masked example would not be one. If influence only had to reach delta, a perfect proxy without
influence would be a violation at delta 0, and no program that contains one could pass. And if
detection and repair treated a decomposition exactly at a threshold differently, one would report a
violation that the other leaves in place.

**Termination.** *The paper has* the argument that repair terminates because every step makes the
program smaller. *Here* each step removes at least one occurrence of a variable and adds none, and
the program does not get larger. *Why*: a variable and a constant have the same size. If `vitamins +
age <= 1` becomes `0.5 + age <= 1`, the size stays the same, but there are fewer variable
occurrences. Their number cannot fall forever, so repair terminates.

**Long supports.** *The paper is silent* on what mutual information, estimated from a sample, means
for a computation with as many values as rows. *Here* a number with many distinct values is measured
at its best cut, the threshold with the highest association, and the result says so; `bins=16` puts
its values into bins of equal mass instead, and `bins=None` keeps the raw values. *Why*: if all n
values differ, each row's value "determines" its protected attribute, and the estimate is
H(Z) / log n whatever the data. Pure noise then has a higher association than many real proxies at
any realistic sample size, and shuffling does not change it. With a best cut, as with bins, the
estimate converges to 0, as it should. Bins cap the association of a number at 0.25 for a balanced
binary attribute; a best cut does not.

**The program and the model.** *The paper is silent* on whether the analyzed program makes the same
decisions as the model. The authors' published program writes a forest as a vote of its trees,
although the forest adds up probabilities. It drops the intercept of a lasso, but keeps that of a
logistic regression. *Here* a model is translated exactly, and an audit compares program and model
on every row. It fails if a row differs by more than rounding. If a decision depends on the last
digits of a sum (usually a billionth of its size), a note counts the row instead, and a number may
be off in these digits. *Why*: the figures of the two differ. The evidence is on [the page about
three models](models.md).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

import proxyuse as pu
from examples.paper.experiment import PAPER, Picture, Reproduced, Table
from proxyuse.lang.nodes import Const, Var
from proxyuse.lang.positions import Site

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ALPHA, SAMPLES, ROWS, PERMUTATIONS = 0.05, 200, 100, 199
STRENGTHS = (0.0, 0.15, 0.3, 0.45, 0.6)
SIZES = (100, 1_000, 10_000, 100_000)
OURS, PRINTED, GREY = "#0f766e", "#c2410c", "#5b6b7d"

PEOPLE = {"vitamins": [1, 1, 0, 0], "engaged": [1, 0, 1, 0]}
PREGNANT = {"pregnant": [1, 1, 0, 0]}
MASKED = "ite(vitamins == 1, ite(engaged == 1, 'A', 'B'), ite(engaged == 1, 'B', 'A'))"
OPEN = "ite(vitamins == 1, 'A', ite(engaged == 1, 'A', 'B'))"
IDLE = "ite(vitamins == 1, 'A', 'A')"
TWO_STEPS = (
    "ite(vitamins + age <= 1, 'A', "
    "ite(lotion == 1, ite(engaged == 1, 'B', 'C'), ite(engaged == 1, 'C', 'B')))"
)


# The p-value


def p_values(strength: float, seed: int) -> tuple[float, float]:
    """Of a sample with a proxy of some strength: as it is counted here, and as printed."""
    draw = np.random.default_rng(seed)
    x = draw.integers(0, 8, ROWS)
    z = np.where(draw.random(ROWS) < strength, x >= 4, draw.random(ROWS) < 0.5)
    test = pu.Permutation(permutations=PERMUTATIONS, correction="none", seed=seed)
    audit = pu.audit(pu.Program.parse("x"), {"x": x}, {"z": z}, epsilon=0, delta=0, validity=test)
    (witness,) = audit.witnesses
    assert witness.validity is not None
    assert witness.validity.p_value is not None
    chance = [np.bincount(2 * x + draw.permutation(z), minlength=16) for _ in range(PERMUTATIONS)]
    shown = pu.NormalizedMutualInformation().many(np.reshape(chance, (-1, 8, 2)).astype(float))
    weaker = shown < witness.association
    return witness.validity.p_value, float(weaker.mean())


def significant() -> list[tuple[float, float, float]]:
    """For each strength, the share of samples called significant, here and as printed."""
    shares = []
    for strength in STRENGTHS:
        values = np.array([p_values(strength, seed) for seed in range(SAMPLES)])
        here, printed = np.mean(values <= ALPHA, axis=0)
        shares.append((strength, float(here), float(printed)))
    return shares


# p for p1


def meanings() -> Table:
    """Who is a witness by the association of `p1`, and by that of `p`."""
    rows = []
    for name, text in (("masked", MASKED), ("open", OPEN)):
        audit = pu.audit(pu.Program.parse(text), PEOPLE, PREGNANT, epsilon=0.1, delta=0)
        (whole,) = (d for d in audit.decompositions if str(d.positions[0]) == "root")
        for term in ("vitamins == 1", "engaged == 1"):
            one = max(
                (d for d in audit.decompositions if d.term == term), key=lambda d: d.influence or 0
            )
            of_p1, of_p = (d.associations["pregnant"] for d in (one, whole))
            passes = [
                "yes" if d >= 0.1 and (one.influence or 0) > 0 else "no" for d in (of_p1, of_p)
            ]
            rows.append(
                (name, f"`{term}`", f"{one.influence:g}", f"{of_p1:.3g}", passes[0],
                 f"{of_p:.3g}", passes[1])
            )  # fmt: skip
    return Table(
        f"Witnesses at (0.1, 0) in the masked example and in `{OPEN}`",
        ("program", "p1", "influence", "association of p1", "witness", "association of p",
         "witness by p"),
        tuple(rows),
    )  # fmt: skip


# Thresholds


def signs() -> Table:
    """Guards exactly at the thresholds, by each reading of these and as audited here."""
    rows = []
    for text, epsilon, delta in (
        (MASKED, 1.0, 0.0), (MASKED, 1.0, 0.5), (MASKED, 0.5, 0.5), (IDLE, 1.0, 0.0),
    ):  # fmt: skip
        audit = pu.audit(pu.Program.parse(text), PEOPLE, PREGNANT, epsilon=epsilon, delta=delta)
        (guard,) = (d for d in audit.decompositions if d.term == "vitamins == 1")
        d, i = guard.associations["pregnant"], guard.influence or 0.0
        readings = (
            d >= epsilon and i > delta, d > epsilon and i > delta,
            d >= epsilon and i >= delta, d > epsilon and i >= delta,
        )  # fmt: skip
        here = any(w.term == "vitamins == 1" for w in audit.witnesses)
        rows.append((
            "masked" if text is MASKED else f"`{IDLE}`", f"({epsilon:g}, {delta:g})",
            f"{d:g}", f"{i:g}", *("yes" if holds else "no" for holds in (*readings, here)),
        ))  # fmt: skip
    return Table(
        "Is the guard `vitamins == 1` a witness?",
        ("program", "thresholds", "association", "influence", "d ≥ ε, i > δ",
         "d > ε, i > δ", "d ≥ ε, i ≥ δ", "d > ε, i ≥ δ", "here"),
        tuple(rows),
    )  # fmt: skip


# Termination


def steps() -> list[tuple[str, int, int, str]]:
    """A repair step by step: what was done, size, variable occurrences, the program."""
    kinds = list(product((0, 1), (0, 1), (0, 1, 2)))
    X = {
        "vitamins": [bought for bought, _, _ in kinds],
        "lotion": [bought for bought, _, _ in kinds],
        "engaged": [engaged for _, engaged, _ in kinds],
        "age": [age for _, _, age in kinds],
    }
    repair = pu.repair(
        pu.Program.parse(TWO_STEPS),
        X,
        protected={"pregnant": X["vitamins"]},
        epsilon=1,
        delta=0,
        **PAPER,
    )
    trace = [_traced("as it was", repair.original)]
    new: dict[Site, Const] = {}
    for step in repair.steps:
        for change in step.changes:
            constant = pu.Program.parse(change.value).term
            assert isinstance(constant, Const)
            new[repair.original.points.site(change.position)] = constant
        changes = ", ".join(f"`{change.term}` becomes {change.value}" for change in step.changes)
        trace.append(_traced(changes, repair.original.replaced_points(new)[0]))
    assert trace[-1] == _traced(trace[-1][0], repair.program)
    return trace


def _traced(changes: str, program: pu.Program) -> tuple[str, int, int, str]:
    occurrences = sum(isinstance(term, Var) for term in program.points.terms)
    text = " ".join(str(pu.Program(program.term)).split())
    return changes, program.size, occurrences, text.replace("( ", "(").replace(" )", ")")


# Long supports


def noise(rows: int, bins: int | None) -> float:
    """The association of noise with a coin."""
    draw = np.random.default_rng(rows)
    X, z = {"x": draw.normal(size=rows)}, draw.integers(0, 2, rows)
    audit = pu.audit(pu.Program.parse("x"), X, {"z": z}, max_support=50, bins=bins)
    return audit.decompositions[0].associations["z"]


def formula(rows: int) -> float:
    """H(Z) / log n for the same coin."""
    draw = np.random.default_rng(rows)
    draw.normal(size=rows)
    share = float(np.mean(draw.integers(0, 2, rows)))
    return -sum(p * math.log(p) for p in (share, 1 - share)) / math.log(rows)


# Pictures


def _axes(across: str, up: str) -> Axes:
    ax = Figure(figsize=(6.8, 3.8), layout="constrained").subplots()
    ax.set_xlabel(across)
    ax.set_ylabel(up)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def draw_significant(shares: Sequence[tuple[float, float, float]]) -> Axes:
    """The share of samples called significant by the strength of the proxy."""
    ax = _axes(
        "strength of the proxy (share of rows in which it decides)", "share with p \u2264 0.05"
    )
    x, here, printed = zip(*shares, strict=True)
    ax.axhline(ALPHA, color=GREY, linewidth=1, linestyle=(0, (4, 3)))
    ax.annotate("0.05", (x[-1], ALPHA), xytext=(0, 4), textcoords="offset points", ha="right",
                fontsize=8, color=GREY)  # fmt: skip
    ax.plot(x, here, color=OURS, marker="s", linewidth=1.4)
    ax.plot(x, printed, color=PRINTED, marker="o", linewidth=1.4, clip_on=False)
    ax.annotate("at least as strong: as counted here", (x[2], here[2]), xytext=(10, -4),
                textcoords="offset points", color=OURS, fontsize=9, va="top")  # fmt: skip
    ax.annotate("weaker: as printed", (x[2], printed[2]), xytext=(0, 22),
                textcoords="offset points", color=PRINTED, fontsize=9, ha="center")  # fmt: skip
    ax.set_ylim(0, 1.04)
    return ax


def draw_noise(noise: Sequence[tuple[int, float, float, float]]) -> Axes:
    """The association of noise by the number of rows."""
    ax = _axes("rows, each with another value", "association of noise with a coin")
    rows, raw, binned, exact = zip(*noise, strict=True)
    ax.plot(rows, exact, color=GREY, linewidth=5, alpha=0.25, solid_capstyle="round")
    ax.plot(rows, raw, color=PRINTED, marker="o", linewidth=1.4)
    ax.plot(rows, binned, color=OURS, marker="s", linewidth=1.4, clip_on=False)
    ax.annotate("raw values: H(Z) / log n", (rows[1], raw[1]), xytext=(6, 8),
                textcoords="offset points", color=PRINTED, fontsize=9)  # fmt: skip
    ax.annotate("16 bins", (rows[1], binned[1]), xytext=(6, 8), textcoords="offset points",
                color=OURS, fontsize=9)  # fmt: skip
    ax.set_xscale("log")
    ax.set_xticks(rows, [f"{count:,}" for count in rows])
    ax.minorticks_off()
    ax.set_ylim(0, 0.17)
    return ax


def reproduce() -> Reproduced:
    """Compute the evidence."""
    shares = significant()
    supports = [(n, noise(n, None), noise(n, 16), formula(n)) for n in SIZES]
    return Reproduced(
        tables=[
            Table(
                f"Share of {SAMPLES} samples of {ROWS} rows with p at most {ALPHA:g}",
                ("strength of the proxy", "at least as strong (here)", "weaker (as printed)"),
                tuple((f"{at:g}", f"{here:.3f}", f"{printed:.3f}") for at, here, printed in shares),
            ),
            meanings(),
            signs(),
            Table(
                "A repair step by step, at the thresholds (1, 0); `lotion` is bought with "
                "`vitamins`",
                ("step", "size", "variable occurrences", "program"),
                tuple((change, str(size), str(count), f"`{text}`")
                      for change, size, count, text in steps()),
            ),
            Table(
                "Association of noise with a coin; so that 100 rows have bins too, these are made "
                "from 51 distinct values on",
                ("rows, each with another value", "raw values", "H(Z) / log n", "16 bins"),
                tuple((f"{n:,}", f"{raw:.5f}", f"{exact:.5f}", f"{binned:.5f}")
                      for n, raw, binned, exact in supports),
            ),
        ],
        pictures=[
            Picture("errata-p-value", draw_significant(shares),
                    "How often a proxy is called significant, by the inequality of the p-value"),
            Picture("errata-supports", draw_noise(supports),
                    "What mutual information says of noise, by the number of rows"),
        ],
        remarks=["The paper is told here in other words, not quoted."],
    )  # fmt: skip
