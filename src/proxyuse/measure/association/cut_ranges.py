"""Where the normalized mutual information of each cut lies, without the table of each cut.

A table of groups and V protected values has 255 cuts, and the tables of all of them have 510 V
cells. From one cut to the next, only the masses of the protected values in one group move to the
other side. So the entropies of all cuts follow from the occupied cells of the table of groups, of
which there are at most as many as rows. These sums are rounded, so they are ranges; the cuts with
the highest ranges are then measured by their tables (`best_cut`).
"""

from __future__ import annotations

import numpy as np

from proxyuse.lang.evaluate import Array

ROUNDING = 4e-15
"""A bound on the rounding error of an entropy, per occupied cell and unit of entropy."""
LEAST_CELLS = 1000


def cut_ranges(groups: Array, missing: Array | None) -> tuple[Array, Array]:
    """Return bounds below and above the normalized mutual information at each cut.

    Parameters
    ----------
    groups : masses by group of numbers and protected value.
    missing : the masses of missing numbers by protected value, which are a part of their own.

    Notes
    -----
    Looks at each cell once; the rest is O(n log n) for n occupied cells.

    Examples
    --------
    >>> low, high = cut_ranges(np.array([[2.0, 0.0], [1.0, 1.0], [0.0, 2.0]]), None)
    >>> low.round(4).tolist(), bool((high - low < 1e-9).all())
    ([0.3147, 0.3147], True)
    """
    size, width = groups.shape
    apart = np.zeros(width) if missing is None else missing
    total = float(groups.sum() + apart.sum())
    if total == 0:
        return np.zeros(size - 1), np.ones(size - 1)
    cells = np.flatnonzero(groups > 0)  # faster than of numbers
    group, column = np.divmod(cells, width)
    order = np.argsort(column, kind="stable")
    group, column, shares = group[order], column[order], groups.ravel()[cells[order]] / total
    columns = np.bincount(column, shares, minlength=width)
    apart = apart / total
    by_group = np.bincount(group, shares, minlength=size)
    below = np.cumsum(by_group)[:-1]
    values = _terms(below) + _terms(columns.sum() - below) + float(_terms(apart.sum()))
    protected = float(_terms(columns + apart).sum())
    start = float(_terms(columns).sum() + _terms(apart).sum())  # all groups are above the cut
    joint = start + np.cumsum(np.bincount(group, _moves(column, shares), minlength=size))[:-1]
    error = ROUNDING * (len(cells) + LEAST_CELLS) * (1 - joint)
    with np.errstate(invalid="ignore", divide="ignore"):
        association = (joint - values - protected) / -joint
        margin = 4 * error / -joint
    known = joint < -error
    low, high = np.where(known, association - margin, 0), np.where(known, association + margin, 1)
    return np.asarray(low), np.asarray(high)


def _moves(column: Array, shares: Array) -> Array:
    """How each cell changes the sum of p log p over both sides when it moves below the cut.

    The cells are in the order of their columns.
    """
    if len(column) == 0:
        return np.zeros(0)
    first = np.append(True, column[1:] != column[:-1])
    starts = np.flatnonzero(first)
    ends = np.append(starts[1:], len(column)) - 1
    running = np.cumsum(shares)
    number = np.cumsum(first) - 1
    below = running - (running - shares)[starts][number]
    above = running[ends][number] - running
    below_before = np.where(first, 0.0, np.append(0.0, below[:-1]))
    above_before = np.where(first, below[ends][number], np.append(0.0, above[:-1]))
    return np.asarray(_terms(below) - _terms(below_before) + _terms(above) - _terms(above_before))


def _terms(shares: Array) -> Array:
    """Return p log p for each share."""
    return np.asarray(shares * np.log(np.where(shares > 0, shares, 1.0)))
