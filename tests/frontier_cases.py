"""Repairs with a frontier, each made once, and a way to make some of its points worse."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import msgspec
import pytest

import proxyuse as pu
from proxyuse.repairing import repair as repairing
from proxyuse.repairing.effort import SearchBudget
from proxyuse.repairing.repair import Order
from tests.portfolio_cases import DATA, OPTIONS, VALIDATION, fitted

EPSILONS = (0.02, 0.1, 0.3, 0.6)
QUICK: dict[str, Any] = {
    **OPTIONS, "methods": ("constants", "drop"), "validation": VALIDATION, "select": "max",
}  # fmt: skip
Changed = Callable[[Order], dict[str, Any]]


def frontier_of(**options: Any) -> pu.Repair:
    """A repair of a tree with a frontier of epsilon."""
    chosen = {**QUICK, "frontier": {"epsilon": EPSILONS}, **options}
    return pu.repair(fitted("tree"), DATA, "paid", **chosen)


def points_of(repair: pu.Repair) -> Any:
    """The points of a repair that has a frontier."""
    assert repair.frontier is not None
    return repair.frontier


@cache
def example() -> pu.Repair:
    """A repair with a frontier."""
    return frontier_of()


def change_runs(monkeypatch: pytest.MonkeyPatch, changed: Changed) -> list[Order]:
    """Change the options of each repair of a frontier; returns the orders as they come in."""
    run, orders = repairing.repaired, []

    def other(order: Order, effort: SearchBudget) -> pu.Repair:
        orders.append(order)
        options = msgspec.structs.replace(order.options, **changed(order))
        return run(replace(order, options=options), effort)

    monkeypatch.setattr(repairing, "repaired", other)
    return orders


@cache
def taken_over() -> pu.Repair:
    """A repair whose requested thresholds take over the model of a stricter point.

    There is no time for a better one than the best constant.
    """
    with pytest.MonkeyPatch.context() as monkeypatch:
        change_runs(
            monkeypatch,
            lambda order: (
                {"seconds": 1e-9, "methods": ("constants",)} if order.options.epsilon == 0.1 else {}
            ),
        )
        return frontier_of()
