"""Repairs by constants alone, with a small and fixed effort."""

from __future__ import annotations

from typing import Any

import proxyuse as pu
from proxyuse.repairing.effort import SearchBudget
from proxyuse.repairing.repair import Order, repaired
from proxyuse.settings import RepairOptions

QUICK = SearchBudget(orders=1, programs=0, branches=1, undo=0, checks=16, costly=4)


def by_constants(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    protected: Any,
    oracle: Any = None,
    utility: Any = None,
    validation: Any = None,
    effort: SearchBudget = QUICK,
    **options: Any,
) -> pu.Repair:
    """Repair a model by constants; `effort` limits the search, and its time is not limited."""
    chosen = RepairOptions(methods=("constants",), seconds=None, **options)
    return repaired(Order(model, X, y, protected, oracle, utility, validation, chosen), effort)
