"""The curve of a collection as points of a figure: association level and influence together."""

from __future__ import annotations

from proxyuse.report.inputs import Audited
from proxyuse.report.release import Release
from proxyuse.verdict import Verdict


def points_of(audit: Audited, protected: str, release: Release) -> list[tuple[float, float]]:
    """The curve of an attribute if its collection is a collective witness, otherwise nothing.

    The highest level comes first. Levels that would narrow the range of an association are left
    out.
    """
    known = audit.collections.get(protected)
    if known is None or known.verdict is Verdict.NOT_FOUND:
        return []
    points = audit.collective_curve(protected).points
    levels = release.levels(protected, [point.level for point in points])
    return [(p.level, p.influence.influence) for p in points if p.level in levels]
