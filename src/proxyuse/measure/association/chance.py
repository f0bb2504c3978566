"""How much information chance alone shows: the mean over all permutations of a sample.

Two variables that have nothing to do with each other still seem to tell something about each
other in a finite sample, the more so the more values they have. If one of them is permuted, each
cell of their table follows a hypergeometric distribution, so the mean is a sum over cells, and
no permutation is drawn.

A cell with mean ``mu`` adds ``E[x log(x / mu) - x + mu] / n``, because ``E[x] = mu``. Every part
of that sum is at least 0, so nothing cancels. The distribution comes from the ratios of
neighbors and is divided by its sum; large factorials, whose logarithms have few digits left
behind the point, are not needed.
"""

from __future__ import annotations

import math

import numpy as np

from proxyuse.errors import DataError
from proxyuse.lang.evaluate import Array

TAIL = 60.0
"""The counts of a cell that are left out have a chance of at most 2 exp(-60), below 2e-26."""
CHUNK = 1 << 18
"""How many counts are looked at together; a cell with more has a formula instead."""


def expected_information(rows: Array, columns: Array, effective: float | None = None) -> float:
    """The mean mutual information, in nats, of all permutations of a sample with given margins.

    Exact for whole-number margins: what is left out is below 1e-15 for any table of up to
    10 million rows and columns. Equal margins are looked at once, and of a cell only the counts
    near its mean (by Bernstein's inequality): ``O(sqrt(n))`` for each pair of different margins.

    Parameters
    ----------
    rows, columns : the margins of the table; both have the same total.
    effective : the number of observations that the table is worth, where its masses are sums of
        weights. The margins are scaled to it and rounded to whole numbers, so the result is an
        approximation.

    Examples
    --------
    >>> round(expected_information(np.array([1, 1]), np.array([1, 1])), 6)
    0.693147
    >>> round(expected_information(np.array([500, 500]), np.array([500, 500])), 6)
    0.000501
    >>> expected_information(np.array([7]), np.array([3, 4]))
    0.0
    """
    margins = [_whole(np.asarray(given, dtype=np.float64), effective) for given in (rows, columns)]
    total = float(margins[0].sum())
    if not math.isclose(total, margins[1].sum(), rel_tol=1e-12):
        raise DataError(
            f"the rows of the table sum to {total:g} and its columns to {margins[1].sum():g}; pass "
            "the margins of one table"
        )
    if min(len(margins[0]), len(margins[1])) < 2:
        return 0.0
    (a, a_times), (b, b_times) = (np.unique(given, return_counts=True) for given in margins)
    of_row, of_column = (part.ravel() for part in np.meshgrid(a, b, indexing="ij"))
    times = np.outer(a_times, b_times).ravel().astype(np.float64)
    return float(np.dot(times, _cell_means(of_row, of_column, total))) / total


def expected_by_row(of_row: Array, columns: Array) -> Array:
    """What each row of tables with the same columns adds to the mean information of its table.

    For many tables at once: equal rows are looked at once, whichever table they are in. All
    margins are whole numbers.

    Examples
    --------
    >>> margins = np.array([2.0, 2.0, 1.0, 3.0, 0.0])
    >>> parts = expected_by_row(margins, np.array([1.0, 3.0]))
    >>> both = parts[:2].sum(), parts[2:].sum()
    >>> [round(float(mean), 6) for mean in both]
    [0.215762, 0.204296]
    """
    total = float(columns.sum())
    a, place = np.unique(of_row, return_inverse=True)
    b, times = np.unique(columns[columns > 0], return_counts=True)
    found = np.zeros(len(a))
    some = a > 0
    if len(b) and times.sum() > 1:
        rows, others = (part.ravel() for part in np.meshgrid(a[some], b, indexing="ij"))
        means = _cell_means(rows, others, total).reshape(-1, len(b))
        found[some] = means @ times.astype(np.float64) / total
    return np.asarray(found[place])


def rounded(masses: Array, total: int) -> Array:
    """Whole numbers in proportion to masses, with a given total: the largest remainders go up.

    Examples
    --------
    >>> rounded(np.array([1.0, 1.0, 2.0]), 10)
    array([3., 2., 5.])
    """
    exact = masses * (total / masses.sum())
    found = np.floor(exact)
    short = total - int(found.sum())
    found[np.argsort(found - exact, kind="stable")[:short]] += 1
    return np.asarray(found)


def _whole(masses: Array, effective: float | None) -> Array:
    """Margins as whole numbers, without those that are 0."""
    if masses.ndim != 1 or not np.isfinite(masses).all() or (masses < 0).any():
        raise DataError("a margin of a table must be a list of finite masses of 0 or more")
    if effective is not None:
        if not np.isfinite(effective) or effective <= 0:
            raise DataError(f"effective is {effective}; pass a number of observations above 0")
        masses = rounded(masses, max(1, round(effective))) if masses.any() else masses
    elif (masses != np.floor(masses)).any():
        raise DataError(
            "the margins of the table are no whole numbers; pass as effective how many "
            "observations it is worth"
        )
    return np.asarray(masses[masses > 0])


def _cell_means(a: Array, b: Array, n: float) -> Array:
    """For cells with margins a and b the mean of ``x log(x / mu) - x + mu`` over their counts x."""
    found = np.empty(len(a))
    low, width = _looked_at(a, b, n)
    wide = width > CHUNK
    found[wide] = _wide_means(a[wide], b[wide], n)
    for cells in _alike(width, np.flatnonzero(~wide)):
        found[cells] = _means(a[cells], b[cells], n, low[cells], width[cells])
    return found


def _looked_at(a: Array, b: Array, n: float) -> tuple[Array, Array]:
    """The first count of each cell that is looked at, and how many are.

    Bernstein's inequality holds for draws without replacement as it does for those with it.
    """
    mean = a * b / n
    variance = mean * (1 - np.maximum(a, b) / n)
    away = TAIL / 3 + np.sqrt(TAIL * TAIL / 9 + 2 * TAIL * variance)
    low = np.maximum(np.maximum(0, a + b - n), np.floor(mean - away))
    high = np.minimum(np.minimum(a, b), np.ceil(mean + away))
    return low, high - low + 1


def _alike(width: Array, cells: Array) -> list[Array]:
    """Cells in parts of which none is large and all have about as many counts."""
    parts: list[Array] = []
    if len(cells) == 0:
        return parts
    order = cells[np.argsort(width[cells], kind="stable")]
    powers = np.ceil(np.log2(width[order]))
    for cells in np.split(order, np.flatnonzero(np.diff(powers)) + 1):
        at_once = max(1, CHUNK // int(width[cells[-1]]))
        parts += [cells[i : i + at_once] for i in range(0, len(cells), at_once)]
    return parts


def _wide_means(a: Array, b: Array, n: float) -> Array:
    """The mean of a cell where means are above 100 million: half of variance over mean.

    What that leaves out is smaller by the order of the mean.
    """
    return np.asarray((1 - a / n) * (1 - b / n) / (2 * (1 - 1 / n)))


def _means(a: Array, b: Array, n: float, low: Array, width: Array) -> Array:
    """The means of cells, from the counts that are looked at."""
    a, b = a[:, None], b[:, None]
    step = np.arange(int(width.max()))
    x = low[:, None] + step
    there = step < width[:, None]
    before = np.where(there, x, low[:, None])[:, 1:]  # a count that has one below it
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = (a - before + 1) * (b - before + 1) / (before * (n - a - b + before))
        logs = np.cumsum(np.log(np.where(there[:, 1:], ratio, 1.0)), axis=1)
    logs = np.concatenate([np.zeros((len(x), 1)), logs], axis=1)
    chances = np.where(there, np.exp(logs - logs.max(axis=1, keepdims=True)), 0.0)
    mu = a * b / n
    off = (x - mu) / mu
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = np.where(x > 0, mu * ((1 + off) * np.log1p(off) - off), mu)
    return np.asarray((chances * parts).sum(axis=1) / chances.sum(axis=1))
