"""A figure of the number of witnesses at each pair of thresholds, drawn with matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING

from proxyuse.report.findings.thresholds import cell_text
from proxyuse.report.inputs import Audited
from proxyuse.report.render.figure import REGION, WITNESSES, matplotlib_module
from proxyuse.report.render.figure_labels import FONT_SIZE, cut_lines, drawable
from proxyuse.validity.threshold_tables import ThresholdTable

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_thresholds(audit: Audited, table: ThresholdTable, *, ax: Axes | None = None) -> Axes:
    """Draw a table of thresholds; see `Audit.plot_thresholds`.

    Examples
    --------
    >>> import proxyuse as pu
    >>> from matplotlib.figure import Figure
    >>> data = {"vitamins": [1, 1, 0, 0] * 9, "pregnant": [1, 1, 0, 0] * 9}
    >>> audit = pu.audit(pu.Program.parse("ite(vitamins == 1, 'a', 'b')"), data, "pregnant")
    >>> ax = draw_thresholds(audit, audit.threshold_table(), ax=Figure().subplots())
    >>> ax.get_xlabel()
    'epsilon: association with pregnant'
    """
    from matplotlib.patches import Rectangle

    if ax is None:
        _, ax = matplotlib_module("pyplot").subplots(figsize=(6.8, 3.6), layout="constrained")
    assert ax is not None
    shown = [number for row in shown_counts(table) for number in row if number is not None]
    most = max(shown, default=0)
    for y, (delta, numbers) in enumerate(zip(table.deltas, shown_counts(table), strict=True)):
        for x, (epsilon, number) in enumerate(zip(table.epsilons, numbers, strict=True)):
            box = Rectangle((x - 0.5, y - 0.5), 1, 1, linewidth=0)
            if number is None:
                box.set(fill=False, hatch="////", alpha=0.25)
            else:
                box.set(facecolor=REGION, alpha=0.55 * (number / most) ** 0.5 if most else 0)
            ax.add_patch(box)
            ax.text(
                x, y, cell_text(table.witnesses[y][x], table.confirmed[y][x]),
                ha="center", va="center", fontsize=FONT_SIZE,
            )  # fmt: skip
            if (epsilon, delta) == (audit.epsilon, audit.delta):
                ax.add_patch(
                    Rectangle((x - 0.5, y - 0.5), 1, 1, fill=False, edgecolor=WITNESSES, zorder=3,
                              linewidth=1.6)
                )  # fmt: skip
    ax.set_xlim(-0.5, len(table.epsilons) - 0.5)
    ax.set_ylim(-0.5, len(table.deltas) - 0.5)
    ax.set_xticks(range(len(table.epsilons)), [f"{value:g}" for value in table.epsilons])
    ax.set_yticks(range(len(table.deltas)), [f"{value:g}" for value in table.deltas])
    ax.tick_params(length=0)
    across = drawable(f"epsilon: association with {cut_lines(table.protected, 40, 1)}", ax)
    ax.set_xlabel(across, parse_math=False, usetex=False)
    ax.set_ylabel("delta: influence")
    tested = any(number is not None for row in table.confirmed for number in row)
    title = "confirmed witnesses of all witnesses" if tested else "witnesses"
    ax.set_title(f"{title} (outlined: this audit)", fontsize=FONT_SIZE + 1.5, loc="left")
    ax.spines[:].set_visible(False)
    return ax


def shown_counts(table: ThresholdTable) -> tuple[tuple[int | None, ...], ...]:
    """The counts that the shading shows: confirmed witnesses, or all if none were tested."""
    tested = any(number is not None for row in table.confirmed for number in row)
    return table.confirmed if tested else table.witnesses
