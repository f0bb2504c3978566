"""The page of the compared repairs: its tables, its sentences and its figure.

Every sentence of the page that states a result is made here, so that it agrees with the tables.
"""

from __future__ import annotations

import json
import re
import textwrap
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import to_builtins

from examples.compared_cases import (
    SECONDS,
    TEST_ROWS,
    Case,
    Measured,
    Results,
    counting,
    keys,
)  # fmt: skip

PAGE, FIGURE, DATA = "repairs-compared.md", "figures/repairs-compared.svg", "repairs-compared.json"


# Tables

METRICS = {"accuracy": "accuracy", "auc": "AUC", "log_loss": "log loss"}
MODELS = {"tree": "decision tree", "forest": "random forest", "logistic": "logistic regression"}
ORIGINAL, CONSTANTS, ALL = range(3)
Row = Sequence[object]


def table(heads: Row, rows: Sequence[Row], names: int = 1) -> str:
    """A Markdown table; the columns after the names are aligned to the right."""
    lines = [heads, ["---"] * names + ["--:"] * (len(heads) - names), *rows]
    return "".join(f"| {' | '.join(map(str, line))} |\n" for line in lines)


def values(results: Sequence[Measured], metric: str) -> Any:
    """A metric of the three models, one row per result."""
    return np.array([getattr(m, metric) for m in results])


def gains(results: Sequence[Measured], metric: str, old: int = CONSTANTS, new: int = ALL) -> Any:
    """How much better one model is than another; differences by rounding only count as none."""
    figures = values(results, metric)
    gain = (figures[:, new] - figures[:, old]) * (-1 if metric == "log_loss" else 1)
    return np.where(np.abs(gain) < 1e-9, 0.0, gain)


def mean_gains(results: Sequence[Measured]) -> list[str]:
    """The mean gain in each metric."""
    return [signed(gains(results, metric).mean()) for metric in METRICS]


def signed(value: float) -> str:
    """A difference as text; only 0 itself has no sign."""
    return f"{value:+.3f}" if abs(value) > 1e-9 else "0.000"


def three(figures: Sequence[float]) -> str:
    """The figures of the three models in one cell."""
    return " / ".join(f"{figure:.3f}" for figure in figures)


def cells(m: Measured) -> str:
    """All metrics of one result."""
    return "; ".join(f"{name} {three(getattr(m, metric))}" for metric, name in METRICS.items())


def name_of(case: Case) -> str:
    """The name of a case on the page."""
    thresholds = f"({case.epsilon:g}, {case.delta:g})"
    return f"{case.data}, {case.protected}, {model_of(case)} {thresholds}"


def model_of(case: Case) -> str:
    """The name of a model on the page."""
    return MODELS.get(case.model, case.model)


def grouped(
    results: Sequence[Measured], key: Callable[[Measured], str]
) -> Mapping[str, list[Measured]]:
    """The results in groups, in the order in which each first occurs."""
    groups = defaultdict(list)
    for m in results:
        groups[key(m)].append(m)
    return groups


def summary_table(results: Sequence[Measured]) -> str:
    """Means of the three models, and what all methods gain over constants alone."""
    every = [gains(results, metric) for metric in METRICS]
    means = np.array([values(results, metric).mean(axis=0) for metric in METRICS])
    rows: list[Row] = [
        (f"mean, {name}", *(f"{mean:.3f}" for mean in means[:, which]))
        for which, name in enumerate(("original", "constants alone", "all methods"))
    ]
    rows += [
        ("mean gain over constants alone", *(signed(gain.mean()) for gain in every)),
        ("median gain", *(signed(float(np.median(gain))) for gain in every)),
        ("smallest and largest gain",
         *(f"{signed(gain.min())} to {signed(gain.max())}" for gain in every)),
        ("runs that are better / equal / worse",
         *(" / ".join(str(int(np.sum(np.sign(gain) == s))) for s in (1, 0, -1)) for gain in every)),
        ("share of runs that are not worse", *(f"{np.mean(gain >= 0):.0%}" for gain in every)),
    ]  # fmt: skip
    return table(["", *METRICS.values()], rows)


def cases_table(results: Sequence[Measured]) -> str:
    """Each case: means over its seeds."""
    rows = []
    for name, group in grouped(results, lambda m: name_of(m.case)).items():
        means = (three(values(group, metric).mean(axis=0)) for metric in METRICS)
        rows.append(
            (name, len(group),
             *(f"{mean} ({gain})" for mean, gain in zip(means, mean_gains(group), strict=True)))
        )  # fmt: skip
    heads = ["case (epsilon, delta)", "runs", *METRICS.values()]
    return table(heads, rows)


def groups_table(results: Sequence[Measured], head: str, key: Callable[[Measured], str]) -> str:
    """Mean gains in groups of runs."""
    groups = grouped(results, key)
    heads = [head, "runs", *(f"gain in {name}" for name in METRICS.values()), "runs less accurate"]
    rows = [
        (name, len(groups[name]), *mean_gains(groups[name]),
         int(np.sum(gains(groups[name], "accuracy") < 0)))
        for name in sorted(groups, key=lambda name: (-len(groups[name]), name))
    ]  # fmt: skip
    return table(heads, rows)


def worse_table(results: Sequence[Measured]) -> str:
    """The runs in which constants alone have a better accuracy or a better area under the curve."""
    rows = []
    for m in results:
        each = [gains([m], metric)[0] for metric in METRICS]
        if min(each[:2]) < 0:
            count = TEST_ROWS[m.case.data]
            difference = round(each[0] * count)
            correct = f"{difference:+d} of {count:,}" if difference else f"0 of {count:,}"
            rows.append((name_of(m.case), m.seed, m.chosen, correct, *map(signed, each)))
    heads = ["case (epsilon, delta)", "seed", "chosen", "correct test rows"]
    return table([*heads, *(f"gain in {name}" for name in METRICS.values())], rows, names=3)


def runs_table(results: Sequence[Measured]) -> str:
    """Every run."""
    heads = ["case (epsilon, delta)", "seed", "chosen", *METRICS.values(), "seconds"]
    rows = [
        (name_of(m.case), m.seed, m.chosen, *(three(getattr(m, metric)) for metric in METRICS),
         " / ".join(f"{s:.0f}" for s in m.seconds))
        for m in results
    ]  # fmt: skip
    return table(heads, rows, names=3)


# Sentences


def points(value: float) -> str:
    """A difference in accuracy, as percentage points; it agrees with the tables."""
    return f"{100 * abs(round(value, 3)):.1f} percentage points"


def direction(value: float, up: str, down: str) -> str:
    """The word for the sign of a mean."""
    return up if value >= 0 else down


def counted(which: Any) -> str:
    """How many runs there are of some kind."""
    return f"{int(np.sum(which))} of {len(which)} runs"


def answer(results: Sequence[Measured]) -> str:
    """The main result."""
    accuracy, auc, loss = every = [gains(results, metric) for metric in METRICS]
    ends = [f"{100 * round(value, 3):+.1f}" for value in (accuracy.min(), accuracy.max())]
    median = float(np.median(loss))
    kept = [f"{np.sum(gain >= 0)} ({np.mean(gain >= 0):.0%})" for gain in every]
    first, then = (
        [gains(results, metric, ORIGINAL, new).mean() for metric in ("accuracy", "auc")]
        for new in (CONSTANTS, ALL)
    )
    return (
        f"**With all methods, the repaired model is on average {points(accuracy.mean())} "
        f"{direction(accuracy.mean(), 'more', 'less')} accurate than with constants alone.** In "
        f"single runs, the difference is between {ends[0]} and {ends[1]} points. The area under "
        f"the ROC curve (AUC) is on average {abs(auc.mean()):.3f} "
        f"{direction(auc.mean(), 'higher', 'lower')}. The log loss is on average "
        f"{abs(loss.mean()):.3f} {direction(loss.mean(), 'smaller', 'larger')} (median: "
        f"{abs(median):.3f} {direction(median, 'smaller', 'larger')}).\n\n"
        f"Of {len(results)} runs, all methods are at least as accurate as constants alone in "
        f"{kept[0]}. Their AUC is at least as high in {kept[1]}, and their log loss is at least as "
        f"small in {kept[2]}.\n\n"
        f"Compared with the original model, constants alone {direction(first[0], 'gain', 'lose')} "
        f"{points(first[0])} of accuracy on average, and all methods "
        f"{direction(then[0], 'gain', 'lose')} {points(then[0])}. The AUC "
        f"{direction(first[1], 'rises', 'falls')} by {abs(first[1]):.3f} with constants alone, and "
        f"it {direction(then[1], 'rises', 'falls')} by {abs(then[1]):.3f} with all methods."
    )


def coverage(known: Results) -> str:
    """Which runs count."""
    wanted, results = keys(), counting(known)
    text = (
        f"The results are from {len(results)} runs of "
        f"{len(grouped(results, lambda m: name_of(m.case)))} cases. "
    )
    nothing = defaultdict(list)
    for key, result in known.items():
        if result is None:
            case, seed = wanted[key]
            nothing[name_of(case)].append(str(seed))
    if nothing:
        total = sum(map(len, nothing.values()))
        names = "; ".join(
            f"{name}, seed{'s' * (len(seeds) > 1)} {', '.join(seeds)}"
            for name, seeds in nothing.items()
        )
        text += f"Nothing was confirmed in {total} of the others, which do not count: {names}. "
    if len(known) < len(wanted):
        text += f"Runs that are not measured yet: {len(wanted) - len(known)}. "
    minutes = sum(sum(m.seconds) for m in results) / 60
    return f"{text}The repairs took {minutes:.0f} minutes in total."


def worse(gain: Any, size: Callable[[float], str] = lambda loss: f"{-loss:.3f}") -> str:
    """How often a gain is negative, and how much."""
    return counted(gain < 0) + (f", by {size(gain.min())} at most" if gain.min() < 0 else "")


def not_better(results: Sequence[Measured]) -> str:
    """How often and how much all methods are worse."""
    accuracy, auc, loss = every = [gains(results, metric) for metric in METRICS]
    sentences = [
        f"All methods are less accurate than constants alone in {worse(accuracy, points)}.",
        f"Their AUC is lower in {worse(auc)}.",
        f"Their log loss is larger in {worse(loss)}.",
    ]
    sentences.append(f"All three are worse in {counted(np.max(every, axis=0) < 0)}.")
    if (lower := accuracy < 0).any():
        sentences.append(
            f"Where the accuracy is lower, the log loss is smaller in {counted(loss[lower] > 0)}."
        )
    return " ".join(sentences)


def no_gain(results: Sequence[Measured]) -> str:
    """How often nothing else is chosen, and how much of the time is used."""
    same = np.array([m.chosen == "constants" for m in results])
    seconds = np.array([m.seconds for m in results])
    before, after = np.median(seconds, axis=0)
    nearly = 0.95 * SECONDS
    short = [counted(seconds[:, which] >= nearly) for which in (0, 1)]
    return (
        f"With all methods, the repair chooses constants in {counted(same)}. The median time of a "
        f"repair is {before:.0f} seconds with constants alone and {after:.0f} seconds with all "
        f"methods. Constants alone take at least {nearly:.0f} of the {SECONDS:.0f} seconds in "
        f"{short[0]}, and all methods in {short[1]}."
    )


# The page

BLOCK = re.compile(r"(<!-- results: ([a-z ]+) -->\n).*?(<!-- end of results -->)", re.DOTALL)


def blocks(known: Results) -> dict[str, str]:
    """Every generated part of the page, by its name."""
    results = counting(known)
    sentences = {
        "answer": answer(results),
        "coverage": coverage(known),
        "not better": not_better(results),
        "no gain": no_gain(results),
    }
    return {name: wrapped(text) for name, text in sentences.items()} | {
        "summary": summary_table(results),
        "cases": cases_table(results),
        "models": groups_table(results, "model", lambda m: model_of(m.case)),
        "methods": groups_table(results, "chosen", lambda m: m.chosen.partition(" (")[0]),
        "worse": worse_table(results),
        "runs": runs_table(results),
    }


def wrapped(text: str) -> str:
    """Paragraphs with lines as long as those of the page."""
    paragraphs = (
        textwrap.fill(paragraph, 105, break_long_words=False, break_on_hyphens=False)
        for paragraph in text.split("\n\n")
    )
    return "\n\n".join(paragraphs) + "\n"


def replaced(page: str, known: Results) -> str:
    """The page with all generated parts replaced."""
    parts = blocks(known)
    missing = parts.keys() - {m[2] for m in BLOCK.finditer(page)}
    if missing:
        raise SystemExit(f"the page lacks <!-- results: {min(missing)} -->")
    return BLOCK.sub(lambda m: f"{m[1]}\n{parts[m[2]]}\n{m[3]}", page)


def label(name: str) -> str:
    """The name of a case, on two lines."""
    data, protected, rest = name.replace("'", "\N{RIGHT SINGLE QUOTATION MARK}").split(", ", 2)
    return f"{data}, {protected},\n{rest}"


def draw(results: Sequence[Measured], path: Path) -> None:
    """Draw one line per run, from constants alone to all methods; the original is a tick."""
    import matplotlib as mpl
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    better, worse, grey = "#0072b2", "#d55e00", "#555555"  # distinct for everyone
    cases = list(grouped(results, lambda m: name_of(m.case)).items())
    height = 1.1 + 0.15 * len(results) + 0.12 * len(cases)
    figure = Figure(figsize=(9.6, height), layout="constrained")
    axes = figure.subplots(1, 2, sharey=True)
    for ax, metric in zip(axes, ("accuracy", "auc"), strict=True):
        y, middles = 0.0, []
        for number, (_, group) in enumerate(cases):
            if number % 2 == 0:
                ax.axhspan(y - 0.9, y + len(group) - 0.1, color="#f1f3f5", linewidth=0)
            middles.append(y + (len(group) - 1) / 2)
            for m in group:
                original, old, new = getattr(m, metric)
                lower = new < old - 1e-9
                color, style, mark = (worse, ":", "D") if lower else (better, "-", "o")
                ax.plot([old, new], [y, y], color=color, linestyle=style, linewidth=1.6)
                ax.plot(original, y, "|", color=grey, markersize=8, markeredgewidth=1.6)
                ax.plot(old, y, "o", color=grey, markerfacecolor="white", markersize=5.5)
                ax.plot(new, y, mark, color=color, markersize=4)
                y += 1
            y += 0.8
        ax.set_yticks(middles, [label(name) for name, _ in cases], fontsize=8)
        ax.set_ylim(y - 0.7, -1)
        ax.set_xlabel(f"{METRICS[metric]} on test rows")
        ax.tick_params(axis="y", length=0)
        ax.spines[["top", "right", "left"]].set_visible(False)
    shared: Any = {"linestyle": "", "color": grey}
    marks = [
        Line2D([], [], marker="|", markersize=8, markeredgewidth=1.6, label="original", **shared),
        Line2D([], [], marker="o", markerfacecolor="white", label="constants alone", **shared),
        Line2D([], [], marker="o", markersize=4, color=better, label="all methods, not lower"),
        Line2D([], [], marker="D", markersize=4, color=worse, linestyle=":",
               label="all methods, lower"),
    ]  # fmt: skip
    figure.legend(handles=marks, loc="outside upper center", ncols=4, frameon=False)
    with mpl.rc_context({"svg.hashsalt": "proxyuse"}):
        figure.savefig(path, format="svg", metadata={"Date": None})


def write(docs: Path, known: Results) -> None:
    """Write the tables and sentences of the page, its figure, and the results as JSON."""
    page = docs / PAGE
    page.write_text(replaced(page.read_text("utf-8"), known), "utf-8")
    (docs / DATA).write_text(json.dumps(to_builtins(known), indent=1) + "\n", "utf-8")
    draw(counting(known), docs / FIGURE)
