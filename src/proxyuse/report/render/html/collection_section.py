"""The part of the page about collections: the sentences, and the curve of each as a table."""

from __future__ import annotations

from typing import Any

from proxyuse.report.findings import collections
from proxyuse.report.inputs import Audited
from proxyuse.report.release import Release, figure, release_of
from proxyuse.report.render.html.untrusted_text import PAGE
from proxyuse.report.result import AuditResult


def collection_section(audit: Audited, result: AuditResult) -> dict[str, Any] | None:
    """The collective witnesses with their curves; None if there are none."""
    if not result.collections:
        return None
    release = release_of(audit, result.min_cell)
    return {
        "title": collections.TITLE,
        "counts": collections.WHAT_COUNTS,
        "listed": [
            {
                "id": known.id,
                "answer": " ".join(collections.what_it_is(known, PAGE)),
                "details": collections.details(result, known, PAGE),
                "curve": _curve(audit, known.protected, release),
            }
            for known in result.collections
        ],
        "curve_title": collections.CURVE_TITLE,
        "curve_heads": collections.CURVE_HEADS,
    }


def _curve(audit: Audited, protected: str, release: Release) -> list[dict[str, Any]]:
    """One line per level, without levels that would narrow the range of an association."""
    points = audit.collective_curve(protected).points
    levels = release.levels(protected, [point.level for point in points])
    most = max((point.influence.high for point in points), default=0.0) or 1.0
    return [
        {
            "level": f"{point.level:g}",
            "members": f"{point.members:,}",
            "influence": collections.interval(
                figure(point.influence.low), figure(point.influence.high)
            ),
            "width": f"{100 * point.influence.influence / most:.0f}",
            "own": point.level == audit.epsilon,
        }
        for point in points
        if point.level in levels
    ]
