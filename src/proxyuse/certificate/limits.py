"""How much work the settings of a certificate may request.

A certificate can come from a stranger, and `verify` repeats the audit with its settings.
"""

from __future__ import annotations

import msgspec

from proxyuse.io.typed import InvalidValue
from proxyuse.settings import Settings

MAX_BUDGET = 1 << 24
MAX_BINS = 1 << 20
MIN_ALPHA, MIN_BETA = 2e-4, 1e-30  # of sampling: about 900 million pairs
MAX_SEED = (1 << 32) - 1
"""The largest seed of sampling. Verification allows for an author who tried them all."""


def check_cost(settings: Settings) -> None:
    """Raise an `InvalidValue` if an audit with these settings can take too long.

    Examples
    --------
    >>> check_cost(Settings(bins=MAX_BINS + 1))
    Traceback (most recent call last):
        ...
    proxyuse.io.typed.InvalidValue: expected at most 1,048,576, got 1,048,577
    """
    for name, value in msgspec.structs.asdict(settings.budget).items():
        _at_most(MAX_BUDGET, value, "budget", name)
    if isinstance(settings.bins, int):
        _at_most(MAX_BINS, settings.bins, "bins")
    if settings.sampling is not None:
        _at_least(MIN_ALPHA, settings.sampling.alpha, "sampling", "alpha")
        _at_least(MIN_BETA, settings.sampling.beta, "sampling", "beta")
        _at_most(MAX_SEED, settings.sampling.seed, "sampling", "seed")


def _at_most(limit: int, value: int, *path: str) -> None:
    if value > limit:
        raise InvalidValue(("settings", *path), f"expected at most {limit:,}, got {value:,}")


def _at_least(limit: float, value: float, *path: str) -> None:
    if value < limit:
        raise InvalidValue(("settings", *path), f"expected at least {limit:g}, got {value:g}")
