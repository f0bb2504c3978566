"""The models whose repairs are compared, and the results that are stored of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from msgspec import convert

SEEDS = (0, 1, 2)
SECONDS = 60.0


@dataclass(frozen=True)
class Case:
    """A model, a protected attribute, and thresholds."""

    data: str
    protected: str
    model: str
    epsilon: float
    delta: float


@dataclass(frozen=True)
class Measured:
    """Figures of three models on test rows: the original, constants alone, and all methods."""

    case: Case
    seed: int
    targets: int
    accuracy: tuple[float, ...]
    auc: tuple[float, ...]
    log_loss: tuple[float, ...]
    chosen: str
    seconds: tuple[float, float]


CASES = (
    Case("Adult", "sex", "tree", 0.1, 0.05),
    Case("Adult", "sex", "logistic", 0.05, 0.05),
    Case("Adult", "sex", "XGBoost", 0.1, 0.05),
    Case("Adult", "sex", "forest", 0.1, 0.05),
    Case("Adult", "married", "tree", 0.3, 0.05),
    Case("Adult", "married", "tree", 0.03, 0.02),
    Case("Adult", "married", "logistic", 0.1, 0.05),
    Case("Adult", "married", "XGBoost", 0.1, 0.05),
    Case("Adult", "married", "LightGBM", 0.1, 0.05),
    Case("Adult", "married", "forest", 0.05, 0.02),
    Case("Contraception", "religion", "XGBoost", 0.02, 0.02),
    Case("Contraception", "husband's education", "tree", 0.05, 0.05),
    Case("Contraception", "husband's education", "forest", 0.05, 0.05),
    Case("Student", "mother's education", "tree", 0.05, 0.02),
)
ROWS = 10_000
"""The rows of Adult that are used, so that a case takes minutes."""
TEST_ROWS = {"Adult": 2000, "Contraception": 295, "Student": 130}


Results = dict[str, Measured | None]
"""A result for each key of a case and a seed; None if nothing was confirmed."""


def keys() -> dict[str, tuple[Case, int]]:
    """Every case and seed, by its key in a store."""
    return {
        " ".join(map(str, (*asdict(case).values(), seed))): (case, seed)
        for case in CASES
        for seed in SEEDS
    }


def read(stores: Sequence[Path]) -> Results:
    """The results of all stores, in the order of the cases; the first store that has one counts."""
    known: dict[str, Any] = {}
    for store in stores:
        if store.exists():
            known = json.loads(store.read_text("utf-8")) | known
    return {key: convert(known[key], Measured | None) for key in keys() if key in known}


def counting(known: Results) -> list[Measured]:
    """The results in which something was confirmed."""
    return [m for m in known.values() if m is not None]
