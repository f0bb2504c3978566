"""A figure of an audit for papers: every computation by association and influence.

It is drawn with matplotlib, which is imported only here. Coordinates are rounded like the numbers
of a report, so a figure discloses no more. Names are untrusted: they are never parsed as formulas,
and characters that the font lacks are drawn as a question mark.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from proxyuse.detect.decompositions import Decomposition
from proxyuse.detect.witnesses import Witness, groups_of, strength
from proxyuse.errors import DataError
from proxyuse.io.writing import written
from proxyuse.lang.evaluate import Array
from proxyuse.lang.positions import Site
from proxyuse.report.collective_points import points_of
from proxyuse.report.inputs import Audited
from proxyuse.report.leading import chosen_attribute
from proxyuse.report.reading import shown_text
from proxyuse.report.release import DECIMALS, figure, release_of
from proxyuse.report.render.figure_labels import FONT_SIZE, Label, cut_lines, draw_labels, drawable
from proxyuse.report.result import MIN_CELL
from proxyuse.validity.content import figures

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_LABELS = 5
MOST_ARROWS = 40
MOST_VECTORS = 2_000  # more points are rasterized within an SVG or PDF
SIZES = (1, 10, 100)
OTHERS, WITNESSES, AFTER, REGION = "#5b6b7d", "#c2410c", "#0f766e", "#f97316"
_NO_DATE: dict[str, dict[str, Any]] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}


def draw(
    audit: Audited,
    protected: str | None = None,
    *,
    ax: Axes | None = None,
    repaired: Audited | None = None,
) -> Axes:
    """Draw an audit; the parameters of `Audit.plot`.

    Examples
    --------
    >>> import proxyuse as pu
    >>> from matplotlib.figure import Figure
    >>> data = {"vitamins": [1, 1, 0, 0] * 9, "pregnant": [1, 1, 0, 0] * 9}
    >>> audit = pu.audit(pu.Program.parse("ite(vitamins == 1, 'a', 'b')"), data, "pregnant")
    >>> ax = draw(audit, ax=Figure().subplots())
    >>> ax.get_xlabel(), [text.get_text() for text in ax.texts][-1]
    ('association with pregnant', 'vitamins')
    """
    plotting = matplotlib_module("pyplot")
    name = chosen_attribute(audit, protected)
    if repaired is not None and name not in repaired.decompositions.protected:
        raise DataError(
            f"the repaired audit has no {name!r}; audit it with the same protected attributes"
        )
    if ax is None:
        _, ax = plotting.subplots(figsize=(6.8, 4.6), layout="constrained")
    assert ax is not None
    clouds = [_cloud(found, name) for found in (audit, repaired) if found is not None]
    witnesses = [witness for witness in audit.witnesses if witness.protected == name]
    curves = [
        points_of(found, name, release_of(found, MIN_CELL))
        for found in (audit, repaired)
        if found is not None
    ]
    _draw_frame(ax, audit, name, clouds, [up for curve in curves for _, up in curve])
    _draw_cloud(ax, clouds[0].below, OTHERS, alpha=_alpha(len(clouds[0])), label="computation")
    _draw_witnesses(ax, audit, witnesses)
    _draw_curve(ax, curves[0], WITNESSES)
    if repaired is not None:
        _draw_cloud(
            ax, clouds[1], "none", edgecolors=AFTER, linewidths=0.9, zorder=3.5,
            alpha=0.9 if len(clouds[1]) < 500 else 0.4, label="after the repair",
        )  # fmt: skip
        _draw_curve(ax, curves[1], AFTER)
        _draw_moves(ax, audit, witnesses, repaired, name)
    named = _named(witnesses)
    _draw_bounds(ax, audit, named)
    _draw_legends(ax)
    taken = [np.column_stack([cloud.x, cloud.y]) for cloud in clouds]
    _draw_labels(ax, audit, named, taken)
    return ax


def _draw_curve(ax: Axes, points: Sequence[tuple[float, float]], color: str) -> None:
    """Draw the influence of all computations above each association, changed together."""
    if points:
        across, up = zip(*points, strict=True)
        ax.plot(across, up, "-", color=color, linewidth=1.2, zorder=2.5, label="changed together")


def save_figure(ax: Axes, path: str | Path, *, dpi: int = 200) -> Path:
    """Write the figure of an axes object; the same figure gives the same bytes.

    Parameters
    ----------
    ax : returned by `Audit.plot` or `Repair.plot`.
    path : its extension selects the format: ``.svg``, ``.pdf``, ``.png`` or another one that
        matplotlib supports.
    dpi : dots per inch of an image, and of images within an SVG or PDF.

    Returns
    -------
    Path
        The file. It is written atomically.
    """
    matplotlib = import_module("matplotlib")
    path = Path(path)
    form = path.suffix[1:].lower()
    canvas = ax.figure.canvas
    known = canvas.get_supported_filetypes()
    if form not in known:
        raise DataError(f"{path}: unknown format; use one of {', '.join(sorted(known))}")
    content = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "proxyuse"}):
        canvas.figure.savefig(content, format=form, dpi=dpi, metadata=_NO_DATE.get(form))
    return written(path, content.getvalue())


def matplotlib_module(module: str) -> ModuleType:
    """Import a module of matplotlib, or say how to install it."""
    try:
        return import_module(f"matplotlib.{module}")
    except ImportError:
        raise DataError(
            "Figures need matplotlib, which is not installed. Run: pip install 'proxyuse[plot]'"
        ) from None


@dataclass(frozen=True)
class _Cloud:
    """Computations with a known influence, and a mask of those that are not witnesses."""

    x: Array
    y: Array
    sizes: Array
    not_witnesses: Array

    def __len__(self) -> int:
        return len(self.x)

    @property
    def below(self) -> _Cloud:
        those = self.not_witnesses
        return _Cloud(self.x[those], self.y[those], self.sizes[those], those[those])


def _cloud(audit: Audited, protected: str) -> _Cloud:
    measured = audit.decompositions
    known = ~np.isnan(measured.influences)
    exact = measured.associations[known, measured.protected.index(protected)]
    x = release_of(audit, MIN_CELL).associations(protected)[known]
    y = measured.influences[known]
    sizes = np.array([decomposition.size for decomposition in measured], dtype=float)[known]
    below = (exact < audit.epsilon) | (y <= audit.delta)
    return _Cloud(x.round(DECIMALS), y.round(DECIMALS), sizes, below)


def _area(size: Array | float) -> Any:
    """The area of a marker: it grows with the size of the computation, up to a limit."""
    return 14 + 26 * np.log10(np.clip(size, 1, 2000))


def _alpha(number: int) -> float:
    return 0.75 if number < 200 else 0.5 if number < 2_000 else 0.3


def _draw_cloud(ax: Axes, cloud: _Cloud, color: Any, **options: Any) -> None:
    options.setdefault("linewidths", 0)
    ax.scatter(
        cloud.x, cloud.y, s=_area(cloud.sizes), c=color, rasterized=len(cloud) > MOST_VECTORS,
        **options,
    )  # fmt: skip


def _draw_frame(
    ax: Axes,
    audit: Audited,
    protected: str,
    clouds: Sequence[_Cloud],
    influences: Sequence[float],
) -> None:
    """The axes and the region of proxy use, which includes its left but not its lower edge."""
    from matplotlib.patches import Rectangle

    corner = audit.epsilon, audit.delta
    furthest = max(cloud.x.max(initial=0) for cloud in clouds)
    highest = max([*(cloud.y.max(initial=0) for cloud in clouds), *influences])
    right = min(1.06, 1.12 * max(furthest, 1.15 * corner[0], 0.02))
    top = 1.15 * max(highest, 1.15 * corner[1], 0.02)
    ax.set_xlim(-0.02 * right, right)
    ax.set_ylim(-0.03 * top, top)
    ax.add_patch(Rectangle(corner, right, top, color=REGION, alpha=0.1, linewidth=0, zorder=0.5))
    ax.plot([corner[0]] * 2, [corner[1], top], color=WITNESSES, linewidth=1, zorder=0.6)
    dashed: Any = (0, (4, 3))
    ax.plot(
        [corner[0], right], [corner[1]] * 2,
        color=WITNESSES, linewidth=1, linestyle=dashed, zorder=0.6,
    )  # fmt: skip
    ax.annotate(
        f"proxy use: association \u2265 {corner[0]:g}, influence > {corner[1]:g}",
        (1, 1), xycoords="axes fraction", xytext=(-5, -5), textcoords="offset points",
        ha="right", va="top", fontsize=FONT_SIZE, color=WITNESSES,
    )  # fmt: skip
    across = drawable(f"association with {cut_lines(protected, 40, 1)}", ax)
    ax.set_xlabel(across, parse_math=False, usetex=False)
    ax.set_ylabel("influence on decisions")
    ax.spines[["top", "right"]].set_visible(False)


def _draw_witnesses(ax: Axes, audit: Audited, witnesses: Sequence[Witness]) -> None:
    """Witnesses; those that the statistics do not confirm are hollow."""
    tested = any(w.validity is not None for w in witnesses)
    for sure in (True, False):
        those = [w for w in witnesses if (w.validity is None or w.validity.confirmed) is sure]
        if not those:
            continue
        ax.scatter(
            *_coordinates(audit, those),
            s=_area(np.array([w.size for w in those], dtype=float)),
            c=WITNESSES if sure else [ax.get_facecolor()],
            edgecolors=[ax.get_facecolor()] if sure else WITNESSES,
            linewidths=0.5 if sure else 1.1,
            zorder=3,
            label="witness" + (f", {'' if sure else 'not '}confirmed" if tested else ""),
        )


def _coordinates(audit: Audited, witnesses: Sequence[Witness]) -> tuple[Array, Array]:
    points = [_at(audit, witness) for witness in witnesses]
    return np.array([x for x, _ in points]), np.array([y for _, y in points])


def _at(audit: Audited, witness: Witness) -> tuple[float, float]:
    """The coordinates of a witness, as a report has them."""
    x = _association(audit, witness.decomposition, witness.protected)
    return x, figure(witness.influence)


def _association(audit: Audited, decomposition: Decomposition, protected: str) -> float:
    exact, release = decomposition.associations[protected], release_of(audit, MIN_CELL)
    return release.association(decomposition.expression, protected, exact).value


def _named(witnesses: Sequence[Witness]) -> list[Witness]:
    """The witnesses to label: representatives, then the strongest, then the most influential."""
    groups = groups_of(witnesses)
    wanted = [
        *(group.representative for group in groups),
        *(min(group.witnesses, key=strength) for group in groups),
        *(max(group.witnesses, key=lambda w: w.influence) for group in groups),
    ]
    terms: dict[bytes, Witness] = {}
    for witness in wanted:
        terms.setdefault(witness.expression.digest, witness)
    return list(terms.values())[:MOST_LABELS]


def _bounds(audit: Audited, witness: Witness) -> list[tuple[Array, Array]]:
    """The confidence bounds of association and of influence as lines, where they are known."""
    known = None if witness.validity is None else figures(witness.validity)
    bounds = {} if known is None else release_of(audit, MIN_CELL).validity(known, witness)
    at = _at(audit, witness)
    lines = []
    for axis, name in enumerate(("association", "influence")):
        low, high = bounds.get(f"{name}_low"), bounds.get(f"{name}_high")
        if low is not None and high is not None:
            ends = [np.full(2, at[0]), np.full(2, at[1])]
            ends[axis] = np.array([low, high])
            lines.append((ends[0], ends[1]))
    return lines


def _draw_bounds(ax: Axes, audit: Audited, witnesses: Sequence[Witness]) -> None:
    for witness in witnesses:
        for x, y in _bounds(audit, witness):
            ax.plot(
                x, y, marker="|" if y[0] == y[1] else "_", markersize=5, color=WITNESSES,
                linewidth=0.9, alpha=0.6, zorder=2.5,
            )  # fmt: skip


def _draw_moves(
    ax: Axes, audit: Audited, witnesses: Sequence[Witness], repaired: Audited, protected: str
) -> None:
    """The effect of the repair: an arrow to the same computation, or a cross if it was removed."""
    later: dict[bytes, Decomposition] = {}
    for decomposition in repaired.decompositions:
        known = later.get(_key(decomposition))
        if known is None or known.occurrences < decomposition.occurrences:
            later[_key(decomposition)] = decomposition
    removed = [w for w in witnesses if _key(w.decomposition) not in later]
    if removed:
        ax.scatter(
            *_coordinates(audit, removed), s=26, c=_ink(), marker="x", linewidths=0.9, zorder=4,
            label="removed by the repair",
        )  # fmt: skip
    arrow = {"arrowstyle": "-|>", "color": AFTER, "linewidth": 0.9, "mutation_scale": 9}
    remaining = [w for w in witnesses if _key(w.decomposition) in later]
    for witness in remaining[:MOST_ARROWS]:
        now = later[_key(witness.decomposition)]
        if now.influence is not None:
            start = _at(audit, witness)
            end = _association(repaired, now, protected), figure(now.influence)
            ax.annotate("", end, start, arrowprops={**arrow, "shrinkA": 3}, zorder=3.2)


def _key(decomposition: Decomposition) -> bytes:
    """Identifies a computation before and after a repair: its term, or the whole program."""
    return b"" if Site(0) in decomposition.sites else decomposition.expression.digest


def _ink() -> str:
    """The color of text, light on a dark background."""
    return str(import_module("matplotlib").rcParams["text.color"])


def _draw_legends(ax: Axes) -> None:
    """The legends of markers and sizes, above the axes."""
    style: dict[str, Any] = {
        "frameon": False, "fontsize": FONT_SIZE, "handletextpad": 0.2, "columnspacing": 1.0,
        "borderpad": 0.2, "borderaxespad": 0.0,
    }  # fmt: skip
    handles, labels = ax.get_legend_handles_labels()
    entries = dict(zip(labels, handles, strict=True))
    legend = ax.legend(
        entries.values(),
        entries.keys(),
        loc="lower left",
        bbox_to_anchor=(0, 1.0),
        ncols=3,
        **style,
    )
    for handle, label in zip(legend.legend_handles, entries, strict=True):
        if handle is not None and label in ("computation", "after the repair"):
            handle.set_alpha(0.8)
    legend.set_clip_on(False)  # otherwise the layout reserves no space for it
    ax.add_artist(legend)
    sizes = [
        ax.scatter([], [], s=_area(size), c="none", edgecolors=OTHERS, linewidths=0.8)
        for size in SIZES
    ]
    names = [f"{size}{' nodes' * (size == SIZES[-1])}" for size in SIZES]
    ax.legend(sizes, names, loc="lower right", bbox_to_anchor=(1, 1.0), ncols=len(SIZES), **style)


def _draw_labels(
    ax: Axes, audit: Audited, named: Sequence[Witness], taken: Sequence[Array]
) -> None:
    """Label witnesses beside their points, without overlaps."""
    labels = []
    for witness in named:
        words, _ = shown_text(witness.expression, audit.population.columns)
        if Site(0) in witness.decomposition.sites:
            words = "the whole program"
        at = _at(audit, witness)
        labels.append(Label(drawable(cut_lines(words, 34, 2), ax), at))
    lines = [np.array(line).T for witness in named for line in _bounds(audit, witness)]
    corner = audit.epsilon, audit.delta
    lines += [np.array([corner, (corner[0], ax.get_ylim()[1])]),
              np.array([corner, (ax.get_xlim()[1], corner[1])])]  # fmt: skip
    along = [np.linspace(start, end, 60) for start, end in lines]
    draw_labels(ax, labels, np.concatenate([*taken, *along]), _ink())
