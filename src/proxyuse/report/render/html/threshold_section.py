"""The section of the page that shows how many witnesses there are at other thresholds."""

from __future__ import annotations

from typing import Any

from proxyuse.report.findings.thresholds import OUTLINED, cell_text, table_sentences, table_title
from proxyuse.report.inputs import Audited
from proxyuse.report.leading import leading_attribute
from proxyuse.report.render.html.untrusted_text import PAGE
from proxyuse.report.render.threshold_figure import shown_counts
from proxyuse.report.result import AuditResult
from proxyuse.validity.threshold_tables import ThresholdTable

SHADES = 5


def threshold_section(audit: Audited, result: AuditResult) -> dict[str, Any] | None:
    """The tables, the attribute with the finding first; None if there are none."""
    tables = result.threshold_table or audit.threshold_tables()
    if not tables:
        return None
    leading = leading_attribute(audit)
    ordered = sorted(tables, key=lambda table: table.protected != leading)
    own = result.thresholds.epsilon, result.thresholds.delta
    return {
        "tables": [_table(table, own) for table in ordered],
        "sentences": table_sentences(result, tables, OUTLINED),
    }


def _table(table: ThresholdTable, own: tuple[float, float]) -> dict[str, Any]:
    shown = shown_counts(table)
    most = max((number for row in shown for number in row if number), default=0)
    return {
        "title": table_title(table, PAGE),
        "epsilons": [f"{epsilon:g}" for epsilon in table.epsilons],
        "rows": [
            {
                "delta": f"{delta:g}",
                "cells": [
                    {
                        "text": cell_text(table.witnesses[y][x], table.confirmed[y][x]),
                        "shade": shade(shown[y][x], most),
                        "own": (epsilon, delta) == own,
                    }
                    for x, epsilon in enumerate(table.epsilons)
                ],
            }
            for y, delta in enumerate(table.deltas)
        ],
    }


def shade(number: int | None, most: int) -> str:
    """The style class of a cell: darker for more witnesses, hatched if unknown.

    Examples
    --------
    >>> shade(None, 9), shade(0, 9), shade(1, 9), shade(9, 9)
    ('unknown', 'shade-0', 'shade-2', 'shade-5')
    """
    if number is None:
        return "unknown"
    return f"shade-{round(SHADES * (number / most) ** 0.5) if number else 0}"
