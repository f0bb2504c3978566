"""The typed result of the frontier of a repair; see `report.result`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

from proxyuse.report.inputs import FrontierPoint, Repaired
from proxyuse.report.repair_changes import repair_changes
from proxyuse.report.repair_result import (
    FrontierAttribute,
    FrontierGroup,
    FrontierResult,
    OutcomeChanges,
)
from proxyuse.report.repair_result import FrontierPoint as PointResult


def frontier_result(repair: Repaired, min_cell: int) -> FrontierResult | None:
    """The frontier of a repair; None without one.

    Parameters
    ----------
    repair : the repair.
    min_cell : withhold counts of rows below this; 1 prints all.

    Examples
    --------
    >>> import proxyuse as pu
    >>> pregnant = [1, 1, 0, 0, 0, 0]
    >>> data = {"vitamins": pregnant, "income": [1, 2, 1, 2, 1, 2], "pregnant": pregnant}
    >>> program = pu.Program.parse("ite(vitamins == 1, 'a', ite(income >= 2, 'a', 'b'))")
    >>> options = {"epsilon": 0.5, "delta": 0, "unconfirmed": True}
    >>> repair = pu.repair(program, data, protected="pregnant", frontier="epsilon:0.5,1", **options)
    >>> [(point.value, point.utility) for point in frontier_result(repair, 5).points]
    [('0.5', 0.8333), ('1', 0.8333)]
    """
    if not repair.frontier:
        return None
    first = repair.frontier[0]
    changes = [repair_changes(point.repair, min_cell) for point in repair.frontier]
    varies: Literal["epsilon", "delta"] = "epsilon" if first.varies == "epsilon" else "delta"
    return FrontierResult(
        varies,
        _compared_on(repair.frontier),
        tuple(_point(*known) for known in zip(repair.frontier, changes, strict=True)),
        _rounded(first.original.utility),
        _rounded(first.original.error),
        _attributes(changes[0], before=True),
        _rounded(first.constant),
        tuple(repair.frontier_skipped),
    )


def _compared_on(
    points: Sequence[FrontierPoint],
) -> Literal["validation rows", "folds", "repair rows"]:
    """The rows on which the models of some points were compared."""
    if any(point.repair.folds is not None for point in points):
        return "folds"
    scored = any(point.repair.selection is not None for point in points)
    return "validation rows" if scored else "repair rows"


def _point(point: FrontierPoint, changes: OutcomeChanges) -> PointResult:
    figures, chosen = point.figures, point.chosen
    difference = None
    if figures.utility is not None and point.original.utility is not None:
        difference = figures.utility - point.original.utility
    return PointResult(
        epsilon=point.epsilon,
        delta=point.delta,
        value=point.value,
        requested=point.requested,
        targets=point.targets,
        taken_over=point.taken_over,
        methods=chosen.methods,
        columns=chosen.columns,
        detail=chosen.detail,
        replaced=chosen.replaced,
        changed=round(chosen.changed, 3),
        utility=_rounded(figures.utility),
        difference=_rounded(difference),
        error=_rounded(figures.error),
        auc=_rounded(figures.auc),
        log_loss=_rounded(figures.log_loss),
        rows=figures.rows,
        refusal=None if point.repair.refusal is None else point.repair.refusal.kind,
        complete=point.repair.after.complete,
        interrupted=point.repair.interrupted,
        attributes=_attributes(changes),
    )


def _attributes(changes: OutcomeChanges, *, before: bool = False) -> tuple[FrontierAttribute, ...]:
    """The rates of each group before or after a repair."""
    return tuple(
        FrontierAttribute(
            attribute.protected,
            tuple(
                FrontierGroup(group.value, group.before if before else group.after)
                for group in attribute.groups
            ),
        )
        for attribute in changes.attributes
    )


def _rounded(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else round(value, 4) + 0.0
