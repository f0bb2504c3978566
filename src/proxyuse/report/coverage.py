"""How far the search of an audit went."""

from __future__ import annotations

from proxyuse.notes import (
    CollectionsNotMeasured,
    OperandsSearched,
    PositionsSearched,
    SumsInTestsNotSearched,
    TreesNotCombined,
)
from proxyuse.report.inputs import Audited
from proxyuse.report.result import Coverage, Space


def coverage_of(audit: Audited) -> Coverage:
    """How far the search went."""
    searched: list[Space] = []
    not_searched: list[Space] = []
    for note in audit.notes:
        match note:
            case PositionsSearched():
                searched.append("positions")
            case OperandsSearched(operands):
                searched.append(operands)
            case TreesNotCombined():
                not_searched.append("trees")
            case SumsInTestsNotSearched():
                not_searched.append("terms of tests")
            case CollectionsNotMeasured():
                not_searched.append("collections")
    return Coverage(
        audit.bounded is not None,
        tuple(dict.fromkeys(searched)),
        tuple(dict.fromkeys(not_searched)),
    )
