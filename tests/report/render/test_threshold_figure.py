"""The figure of thresholds shows the counts of the table."""

from __future__ import annotations

from matplotlib.figure import Figure

import proxyuse as pu
from proxyuse.report.findings.thresholds import cell_text

DATA = {"x": [1, 1, 0, 0] * 60, "y": [1, 0, 1, 0] * 60, "$z$": [1, 1, 0, 0] * 60}
LINEAR = "ite(2 * x + 0.5 * y + 0.2 * x * y > 1, 1, 0)"


def test_each_cell_shows_its_counts():
    audit = pu.audit(pu.Program.parse("ite(x == 1, y, 2)"), DATA, "$z$", validity="confirm")
    table = audit.threshold_table()
    ax = audit.plot_thresholds(ax=Figure().subplots())
    texts = [text.get_text() for text in ax.texts]
    expected = [
        cell_text(*both)
        for rows in zip(table.witnesses, table.confirmed, strict=True)
        for both in zip(*rows, strict=True)
    ]
    assert texts == expected
    assert ax.get_xlabel() == "epsilon: association with $z$"
    assert [label.get_text() for label in ax.get_yticklabels()] == [f"{d:g}" for d in table.deltas]


def test_what_was_not_measured_is_hatched_and_the_audit_is_outlined():
    audit = pu.audit(pu.Program.parse(LINEAR), DATA, "$z$", validity=None)
    ax = audit.plot_thresholds(ax=Figure().subplots())
    hatched = [patch for patch in ax.patches if patch.get_hatch()]
    unknown = [n for row in audit.threshold_table().witnesses for n in row if n is None]
    assert len(hatched) == len(unknown) > 0
    (outline,) = [patch for patch in ax.patches if patch.get_linewidth() > 1]
    assert outline.get_extents().p0.tolist() == ax.transData.transform((2.5, 1.5)).tolist()


def test_the_same_figure_gives_the_same_bytes(tmp_path):
    audit = pu.audit(pu.Program.parse(LINEAR), DATA, "$z$", validity="confirm")
    files = [
        pu.save_figure(audit.plot_thresholds(ax=Figure().subplots()), tmp_path / name)
        for name in ("a.svg", "b.svg")
    ]
    assert files[0].read_bytes() == files[1].read_bytes()
