"""Protected attributes about which the rows can say nothing.

One rule: even a perfect copy of the attribute that decides every case could not be confirmed on
these rows, at this epsilon and level. This covers a constant attribute, a handful of rows, and an
attribute with nearly as many values as rows. Thresholds that no number of rows could confirm, such
as epsilon = 1, say nothing about the rows.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from proxyuse.lang.evaluate import Array
from proxyuse.measure.association.protocol import needs_values
from proxyuse.measure.association.support import Support
from proxyuse.validity.association_bounds import Values, association_bounds
from proxyuse.validity.evidence import Evidence
from proxyuse.validity.sample import Observed, Sample
from proxyuse.verdict import ConstantAttribute, NearlyUnique, TooFewRows, Undecidable

MOST_COPIED = 300
"""The most values of a copy; rarer ones are merged, because its table is a square."""
MOST_ROWS = 1e8
"""The largest number of rows that is considered."""
COIN = np.diag([0.5, 0.5])
"""The table of a fair coin and its copy."""


def undecidable_attributes(
    evidence: Evidence, observed: Observed, level: float, seed: int
) -> dict[str, Undecidable]:
    """The attributes that cannot be decided, by name, with the reason.

    Takes one table per attribute, and some forty for an attribute that cannot be decided.
    """
    rows = evidence.engine.sample
    reasons = {}
    for name, (_, support) in zip(rows.protected_names, rows.protected, strict=True):
        if reason := _reason(evidence, observed, support, level, seed):
            reasons[name] = reason
    return reasons


def _reason(
    evidence: Evidence, observed: Observed, support: Support, level: float, seed: int
) -> Undecidable | None:
    rows = evidence.population.n_rows
    if len(support) < 2:
        return ConstantAttribute(rows)
    copy = _copy_of(support, observed)

    def confirms(times: float, table: Sample = copy) -> bool:
        """Whether a copy would be confirmed if there were this many times as many rows."""
        more = replace(table, counts=table.counts * times, variances=table.variances * times)
        # All decisions change; see `influence_bounds` with half as many trials as observations.
        if level ** (2 / more.size) <= evidence.delta:
            return False
        rng, numbers = np.random.default_rng(seed), np.arange(len(more.counts), dtype=np.float64)
        values = Values(numbers, numbers) if needs_values(evidence.association) else None
        bounds = association_bounds(evidence.association, more, level, rng, values)
        return bounds.lower >= evidence.epsilon

    if confirms(1.0):
        return None
    if not confirms(MOST_ROWS, Sample(COIN, COIN)):
        return None
    if len(support) == 2:  # with more rows, no row is the only one with its value
        seen = np.zeros(2, dtype=np.bool_)
        copy = replace(observed.sample(support, support), once=(seen, seen), parts=None)
    elif 2 * np.count_nonzero(_once(support, observed)) >= rows:
        return NearlyUnique(len(support), rows)
    high = 2.0
    while not confirms(high, copy):
        high *= 2
        if high * copy.size > MOST_ROWS:
            return TooFewRows(rows, None)
    low = high / 2
    while high / low > 1.01:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if confirms(middle, copy) else (middle, high)
    return TooFewRows(rows, math.ceil(high * rows))


def _once(support: Support, observed: Observed) -> Array:
    observers = observed.clusters
    counts = np.bincount(support.codes, minlength=len(support))
    if observers is not None:
        pairs = np.unique(support.codes * (int(observers.max()) + 1) + observers)
        counts = np.bincount(pairs // (int(observers.max()) + 1), minlength=len(support))
    once: Array = counts == 1
    return once


def _copy_of(support: Support, observed: Observed) -> Sample:
    """The table of an attribute with itself, in observations. Rare values are merged."""
    once = _once(support, observed)
    masses = support.masses(observed.weights)
    kept = np.flatnonzero(~once)
    kept = kept[np.argsort(-masses[kept], kind="stable")][:MOST_COPIED]
    codes = np.full(len(support), len(kept))
    codes[kept] = np.arange(len(kept))
    numbers = len(kept) + (len(kept) < len(support))
    merged = Support(codes[support.codes], np.arange(numbers))
    table = observed.sample(merged, merged)
    rare = np.zeros(numbers, dtype=np.bool_)
    rare[len(kept) :] = once.any()
    return replace(table, once=(rare, rare), parts=None)
