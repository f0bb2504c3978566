"""A figure of the utility of a repair over its thresholds, drawn with matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING

from proxyuse.errors import DataError
from proxyuse.report.render.figure import WITNESSES, matplotlib_module
from proxyuse.report.render.figure_labels import FONT_SIZE, cut_lines, drawable
from proxyuse.report.repair_result import RepairResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MODELS, REFERENCES = "C0", "0.45"


def draw_frontier(result: RepairResult, *, ax: Axes | None = None) -> Axes:
    """Draw a frontier; see `Repair.plot_frontier`.

    Examples
    --------
    >>> import proxyuse as pu
    >>> from matplotlib.figure import Figure
    >>> pregnant = [1, 1, 0, 0, 0, 0]
    >>> data = {"vitamins": pregnant, "income": [1, 2, 1, 2, 1, 2], "pregnant": pregnant}
    >>> program = pu.Program.parse("ite(vitamins == 1, 'a', ite(income >= 2, 'a', 'b'))")
    >>> options = {"epsilon": 0.5, "delta": 0, "unconfirmed": True}
    >>> repair = pu.repair(program, data, protected="pregnant", frontier="epsilon", **options)
    >>> ax = repair.plot_frontier(ax=Figure().subplots())
    >>> ax.get_xlabel(), ax.get_ylabel(), [label.get_text() for label in ax.get_xticklabels()]
    ('epsilon', 'agreement', ['0.05', '0.1', '0.2', '0.5', '1'])
    """
    frontier = result.frontier
    if frontier is None:
        raise DataError('the repair has no frontier; pass frontier="epsilon" or frontier="delta"')
    if ax is None:
        _, ax = matplotlib_module("pyplot").subplots(figsize=(6.8, 3.6), layout="constrained")
    assert ax is not None
    last = len(frontier.points) - 1
    for value, text in (
        (frontier.original, "original model"),
        (frontier.constant, "best constant"),
    ):
        if value is not None:
            ax.axhline(value, color=REFERENCES, linewidth=1, linestyle=":")
            ax.annotate(
                text, (last + 0.5, value), (4, 0), textcoords="offset points", va="center",
                fontsize=FONT_SIZE, color=REFERENCES,
            )  # fmt: skip
    known = [(x, p) for x, p in enumerate(frontier.points) if p.utility is not None]
    across = [x for x, _ in known]
    utilities = [float(point.utility or 0.0) for _, point in known]
    ax.step(
        [*across, last + 0.5][: len(across) + bool(known)], [*utilities, *utilities[-1:]],
        where="post", color=MODELS, linewidth=1.2, alpha=0.6,
    )  # fmt: skip
    ax.errorbar(
        across, utilities, [point.error or 0.0 for _, point in known], fmt="o", color=MODELS,
        markersize=5, capsize=2, linewidth=1.2,
    )  # fmt: skip
    requested = next(x for x, point in enumerate(frontier.points) if point.requested)
    ax.axvline(requested, color=WITNESSES, linewidth=1, linestyle="--", zorder=0)
    ax.set_xlim(-0.5, last + 0.5)
    ax.set_xticks(range(last + 1), [point.value for point in frontier.points])
    ax.set_xlabel(frontier.varies)
    down = drawable(cut_lines(result.utility.name, 40, 1), ax)
    ax.set_ylabel(down, parse_math=False, usetex=False)
    ax.set_title(
        "best known model at each threshold (dashed: requested)", fontsize=FONT_SIZE + 1.5,
        loc="left",
    )  # fmt: skip
    ax.spines[["top", "right"]].set_visible(False)
    return ax
