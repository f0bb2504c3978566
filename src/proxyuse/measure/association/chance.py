"""Mutual information expected by chance: the mean over all permutations of a sample.

In a finite sample even independent variables share some mutual information, and more of it the more
values they have. If one variable is permuted at random, each cell of the joint table follows a
hypergeometric distribution. The mean over all permutations is therefore a sum over cells, and no
permutation is drawn.

A cell with mean ``mu`` adds ``E[x log(x / mu) - x + mu] / n``, because ``E[x] = mu``. Every term is
at least 0, so nothing cancels. The distribution is computed from the ratios of neighboring
probabilities and normalized by its sum. This avoids the logarithms of large factorials, which lose
precision.
"""

from __future__ import annotations

import math

import numpy as np

from proxyuse.errors import DataError
from proxyuse.lang.evaluate import Array

TAIL = 60.0
"""Counts of a cell are skipped if their total probability is at most 2 exp(-60) < 2e-26."""
CHUNK = 1 << 18
"""The number of counts processed at once; a wider cell uses an approximation."""


def expected_information(rows: Array, columns: Array, effective: float | None = None) -> float:
    """Return the mean mutual information, in nats, over all permutations of a sample.

    Exact for whole-number margins: the error is below 1e-15 for any table with up to 10 million
    rows and columns. Equal margins are computed once, and only counts near the mean of a cell are
    summed (by Bernstein's inequality). The cost is ``O(sqrt(n))`` per pair of distinct margins.

    Parameters
    ----------
    rows, columns : the margins of the table; both have the same total.
    effective : the effective number of observations, if the masses are sums of weights. The
        margins are scaled to it and rounded to integers, so the result is approximate.

    Examples
    --------
    >>> round(expected_information(np.array([1, 1]), np.array([1, 1])), 6)
    0.693147
    >>> round(expected_information(np.array([500, 500]), np.array([500, 500])), 6)
    0.000501
    >>> expected_information(np.array([7]), np.array([3, 4]))
    0.0
    """
    margins = [
        _whole(np.asarray(margin, dtype=np.float64), effective) for margin in (rows, columns)
    ]
    total = float(margins[0].sum())
    if not math.isclose(total, margins[1].sum(), rel_tol=1e-12):
        raise DataError(
            f"the rows of the table sum to {total:g} and its columns to {margins[1].sum():g}; pass "
            "the margins of one table"
        )
    if min(len(margins[0]), len(margins[1])) < 2:
        return 0.0
    (a, a_times), (b, b_times) = (np.unique(margin, return_counts=True) for margin in margins)
    of_row, of_column = (part.ravel() for part in np.meshgrid(a, b, indexing="ij"))
    times = np.outer(a_times, b_times).ravel().astype(np.float64)
    return float(np.dot(times, _cell_means(of_row, of_column, total))) / total


def expected_by_row(of_row: Array, columns: Array) -> Array:
    """Return the contribution of each row of a table to the mean information.

    Measures many tables at once: equal rows are computed once, even in different tables. All
    margins are integers.

    Examples
    --------
    >>> margins = np.array([2.0, 2.0, 1.0, 3.0, 0.0])
    >>> parts = expected_by_row(margins, np.array([1.0, 3.0]))
    >>> both = parts[:2].sum(), parts[2:].sum()
    >>> [round(float(mean), 6) for mean in both]
    [0.215762, 0.204296]
    """
    total = float(columns.sum())
    a, index = np.unique(of_row, return_inverse=True)
    b, times = np.unique(columns[columns > 0], return_counts=True)
    result = np.zeros(len(a))
    some = a > 0
    if len(b) and times.sum() > 1:
        rows, others = (part.ravel() for part in np.meshgrid(a[some], b, indexing="ij"))
        means = _cell_means(rows, others, total).reshape(-1, len(b))
        result[some] = means @ times.astype(np.float64) / total
    return np.asarray(result[index])


def rounded(masses: Array, total: int) -> Array:
    """Round masses to integers with a given total; the largest remainders round up.

    Examples
    --------
    >>> rounded(np.array([1.0, 1.0, 2.0]), 10)
    array([3., 2., 5.])
    """
    exact = masses * (total / masses.sum())
    result = np.floor(exact)
    short = total - int(result.sum())
    result[np.argsort(result - exact, kind="stable")[:short]] += 1
    return np.asarray(result)


def _whole(masses: Array, effective: float | None) -> Array:
    """Return the positive margins as integers."""
    if masses.ndim != 1 or not np.isfinite(masses).all() or (masses < 0).any():
        raise DataError("a margin of a table must be a list of finite, nonnegative masses")
    if effective is not None:
        if not np.isfinite(effective) or effective <= 0:
            raise DataError(
                f"effective: expected a number of observations above 0, got {effective}"
            )
        masses = rounded(masses, max(1, round(effective))) if masses.any() else masses
    elif (masses != np.floor(masses)).any():
        raise DataError(
            "the margins of the table are not integers; pass the number of observations as "
            "effective"
        )
    return np.asarray(masses[masses > 0])


def _cell_means(a: Array, b: Array, n: float) -> Array:
    """Return the mean of ``x log(x / mu) - x + mu`` over the counts x of each cell."""
    result = np.empty(len(a))
    low, width = _selected_counts(a, b, n)
    wide = width > CHUNK
    result[wide] = _wide_means(a[wide], b[wide], n)
    for cells in _batches(width, np.flatnonzero(~wide)):
        result[cells] = _means(a[cells], b[cells], n, low[cells], width[cells])
    return result


def _selected_counts(a: Array, b: Array, n: float) -> tuple[Array, Array]:
    """Return the first count of each cell that is summed, and the number of such counts.

    Bernstein's inequality holds for draws with and without replacement.
    """
    mean = a * b / n
    variance = mean * (1 - np.maximum(a, b) / n)
    distance = TAIL / 3 + np.sqrt(TAIL * TAIL / 9 + 2 * TAIL * variance)
    low = np.maximum(np.maximum(0, a + b - n), np.floor(mean - distance))
    high = np.minimum(np.minimum(a, b), np.ceil(mean + distance))
    return low, high - low + 1


def _batches(width: Array, cells: Array) -> list[Array]:
    """Split cells into small batches of cells with similar numbers of counts."""
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
    """Approximate the mean for cells with more than 100 million expected observations.

    The first term, half of variance over mean, is enough: the next one is smaller by a factor of
    the mean.
    """
    return np.asarray((1 - a / n) * (1 - b / n) / (2 * (1 - 1 / n)))


def _means(a: Array, b: Array, n: float, low: Array, width: Array) -> Array:
    """Sum over the selected counts of each cell."""
    a, b = a[:, None], b[:, None]
    step = np.arange(int(width.max()))
    x = low[:, None] + step
    valid = step < width[:, None]
    before = np.where(valid, x, low[:, None])[:, 1:]  # counts with a predecessor
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = (a - before + 1) * (b - before + 1) / (before * (n - a - b + before))
        logs = np.cumsum(np.log(np.where(valid[:, 1:], ratio, 1.0)), axis=1)
    logs = np.concatenate([np.zeros((len(x), 1)), logs], axis=1)
    weights = np.where(valid, np.exp(logs - logs.max(axis=1, keepdims=True)), 0.0)
    mu = a * b / n
    deviation = (x - mu) / mu
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = np.where(x > 0, mu * ((1 + deviation) * np.log1p(deviation) - deviation), mu)
    return np.asarray((weights * parts).sum(axis=1) / weights.sum(axis=1))
