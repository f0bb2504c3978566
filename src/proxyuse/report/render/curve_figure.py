"""A figure of the influence of collections over the level of association, drawn with matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from proxyuse.detect.collections import Curve
from proxyuse.report.inputs import Audited
from proxyuse.report.render.figure import REGION, WITNESSES, matplotlib_module
from proxyuse.report.render.figure_labels import FONT_SIZE, cut_lines, drawable

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_curve(audit: Audited, curve: Curve, *, ax: Axes | None = None) -> Axes:
    """Draw a curve; see `Audit.plot_collective_curve`.

    Examples
    --------
    >>> import proxyuse as pu
    >>> from matplotlib.figure import Figure
    >>> data = {"vitamins": [1, 1, 0, 0] * 9, "pregnant": [1, 1, 0, 0] * 9}
    >>> audit = pu.audit(pu.Program.parse("ite(vitamins == 1, 'a', 'b')"), data, "pregnant")
    >>> draw_curve(audit, audit.collective_curve(), ax=Figure().subplots()).get_ylabel()
    'influence, changed together'
    """
    if ax is None:
        _, ax = matplotlib_module("pyplot").subplots(figsize=(6.8, 3.6), layout="constrained")
    assert ax is not None
    levels = [point.level for point in curve.points]
    shares = [point.influence.influence for point in curve.points]
    errors = np.array(
        [
            [point.influence.influence - point.influence.low for point in curve.points],
            [point.influence.high - point.influence.influence for point in curve.points],
        ]
    ).reshape(2, len(levels))
    ax.errorbar(levels, shares, errors, fmt="o-", markersize=4, linewidth=1.2, capsize=2)
    ax.axvline(audit.epsilon, color=WITNESSES, linewidth=1, linestyle="--")
    ax.axhline(audit.delta, color=WITNESSES, linewidth=1, linestyle="--")
    most = max([audit.delta, *(point.influence.high for point in curve.points)])
    ax.set_ylim(0, 1.15 * most)
    highest = max([audit.epsilon, *levels])
    ax.set_xlim(0, 1.08 * highest)
    ax.fill_between(
        [audit.epsilon, 1.08 * highest], audit.delta, 1.15 * most, color=REGION, alpha=0.12,
        linewidth=0,
    )  # fmt: skip
    for point in curve.points:
        ax.annotate(
            f"{point.members:,}", (point.level, point.influence.high), (0, 3),
            textcoords="offset points", ha="center", fontsize=FONT_SIZE - 1,
        )  # fmt: skip
    across = drawable(f"association with {cut_lines(curve.protected, 40, 1)}, at least", ax)
    ax.set_xlabel(across, parse_math=False, usetex=False)
    ax.set_ylabel("influence, changed together")
    ax.set_title("collections, with their numbers of members", fontsize=FONT_SIZE + 1.5, loc="left")
    ax.spines[["top", "right"]].set_visible(False)
    return ax
