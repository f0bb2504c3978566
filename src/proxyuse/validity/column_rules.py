"""Rules that predict a protected attribute from one column, tested on rows that did not make them.

A rule assigns a value of the attribute to each value of the column, or to each of a few intervals
of numbers. It is fitted on one half of the rows and tested on the other half. The halves are chosen
by a hash of the content of each row, so they do not depend on the order of the rows.

Rules are simple on purpose: a few values or a few cuts, however many rows there are. A rule with a
value for each of hundreds of distinct numbers would remember single people, and would look right
wherever a person appears twice.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from proxyuse.lang.evaluate import Array
from proxyuse.measure.association.support import Support

MOST_VALUES = 32
"""A column with more values needs at least `ROWS_PER_VALUE` rows for each, or cuts."""
ROWS_PER_VALUE = 50
MOST_INTERVALS = 8
_MOST_BOUNDARIES = 1 << 16


@dataclass(frozen=True, slots=True)
class Prediction:
    """How well a rule on one column predicts a protected attribute, on rows that did not make it.

    Attributes
    ----------
    accuracy : the share of rows that it predicts correctly.
    others : the share among the rows without the most common value of the attribute. A rule that
        always predicts the most common value has 0.
    accuracy_low, others_low : lower confidence bounds.
    rows, other_rows : the number of rows that the shares are measured on.
    """

    accuracy: float
    others: float
    accuracy_low: float
    others_low: float
    rows: int
    other_rows: int


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Some rows as observations, for confidence bounds.

    Attributes
    ----------
    fitting : whether each row belongs to the half that a rule is fitted on.
    weights : the weight of each row.
    squares : its contribution to the sum of squared weights.
    alike : whether all weights are equal, or are counts of records.
    """

    fitting: Array
    weights: Array
    squares: Array
    alike: bool


def most_values(n_rows: int) -> int:
    """The largest number of values that a rule tells apart one by one.

    Examples
    --------
    >>> most_values(1000), most_values(48_842)
    (32, 488)
    """
    return max(MOST_VALUES, n_rows // 2 // ROWS_PER_VALUE)


def predict(column: Support, attribute: Support, rows: Rows, level: float) -> Prediction | None:
    """Fit a rule on one half of the rows, and test it on the other half.

    Returns None if no simple rule applies: the attribute has a single value or too many values, or
    the column has too many categories. Costs a pass over the rows and, for a column of numbers, a
    few passes over its distinct values.

    Parameters
    ----------
    column, attribute : the values of each row, not binned.
    level : the probability that a lower bound fails.

    Examples
    --------
    >>> from proxyuse.measure.association.support import support_of
    >>> age = np.arange(4000) % 72 + 18.0
    >>> fitting = np.random.default_rng(0).random(4000) < 0.5
    >>> everyone = Rows(fitting, np.ones(4000), np.ones(4000), True)
    >>> over60 = support_of(age > 60, 4000)
    >>> prediction = predict(support_of(age, 4000), over60, everyone, 0.001)
    >>> prediction.accuracy, round(prediction.accuracy_low, 3), round(prediction.others_low, 3)
    (1.0, 0.996, 0.991)
    """
    n_rows, most = len(column.codes), most_values(len(column.codes))
    numbers = column.values.dtype == np.float64 and column.values.ndim == 1
    if not 2 <= len(attribute) <= most or attribute.binned or column.values.ndim != 1:
        return None
    if len(column) > most and not numbers:
        return None
    fitting, testing = rows.fitting, ~rows.fitting
    if not fitting.any() or not testing.any() or n_rows < 2:
        return None
    table = _table(column, attribute, rows)
    common = int(table.sum(axis=0).argmax())
    if len(column) > most:
        predicted = _by_intervals(column.values, table)
    else:
        predicted = np.where(table.any(axis=1), table.argmax(axis=1), -1)
    actual = attribute.codes[testing]
    right = predicted[column.codes[testing]] == actual
    others = actual != common
    if not others.any():
        return None
    weights, squares = rows.weights[testing], rows.squares[testing]
    accuracy, accuracy_low = _share(right, weights, squares, rows.alike, level)
    share, share_low = _share(right[others], weights[others], squares[others], rows.alike, level)
    return Prediction(accuracy, share, accuracy_low, share_low, len(right), int(others.sum()))


def _table(column: Support, attribute: Support, rows: Rows) -> Array:
    """The masses of the fitting half, by value of the column and value of the attribute."""
    fitting = rows.fitting
    cells = column.codes[fitting] * len(attribute) + attribute.codes[fitting]
    masses = np.bincount(cells, rows.weights[fitting], minlength=len(column) * len(attribute))
    return masses.reshape(len(column), len(attribute))


def _by_intervals(values: Array, table: Array) -> Array:
    """The prediction for each distinct number, by the best of a few intervals.

    Missing numbers are an interval of their own. A number that the fitting half lacks belongs to
    the interval around it.
    """
    predicted = np.full(len(values), -1)
    present = ~np.isnan(values)
    if not present.all():
        predicted[~present] = table[~present].sum(axis=0).argmax()
    seen = np.flatnonzero(table.any(axis=1) & present)
    if len(seen) == 0:
        return predicted
    step = math.ceil(len(seen) / _MOST_BOUNDARIES)
    starts = np.arange(0, len(seen), step)
    cumulative = np.zeros((len(starts) + 1, table.shape[1]))
    np.cumsum(np.add.reduceat(table[seen], starts), axis=0, out=cumulative[1:])
    inner = _boundaries(cumulative)
    # A cut lies halfway between the last number of an interval and the first of the next.
    firsts = seen[starts[inner]]
    lasts = seen[starts[inner] - 1]
    cuts = values[lasts] / 2 + values[firsts] / 2
    edges = [0, *inner, len(starts)]
    majority = np.diff(cumulative[edges], axis=0).argmax(axis=1)
    predicted[present] = majority[np.searchsorted(cuts, values[present], side="left")]
    return predicted


def _boundaries(cumulative: Array) -> list[int]:
    """Where to cut a sequence of groups into intervals that are as pure as possible.

    Splits the interval with the largest gain of purity (Gini) until there are `MOST_INTERVALS`, or
    all are pure. Each split is linear in the number of groups.
    """
    best = {(0, len(cumulative) - 1): _best_split(cumulative, 0, len(cumulative) - 1)}
    while len(best) < MOST_INTERVALS:
        interval = max(best, key=lambda key: best[key][0])
        gain, at = best[interval]
        if gain <= 0:
            break
        del best[interval]
        for start, end in ((interval[0], at), (at, interval[1])):
            best[start, end] = _best_split(cumulative, start, end)
    return sorted(start for start, _ in best if start > 0)


def _best_split(cumulative: Array, start: int, end: int) -> tuple[float, int]:
    """The largest gain of purity by one cut, and its place; 0 if there is none."""
    if end - start < 2:
        return 0.0, start
    left = cumulative[start + 1 : end] - cumulative[start]
    right = cumulative[end] - cumulative[start + 1 : end]
    whole = cumulative[end] - cumulative[start]
    pure = _purity(left) + _purity(right) - float(_purity(whole[None])[0])
    index = int(pure.argmax())
    gain = float(pure[index])
    return (gain if gain > 1e-9 * whole.sum() else 0.0), start + 1 + index


def _purity(masses: Array) -> Array:
    total = masses.sum(axis=1)
    squares = (masses**2).sum(axis=1)
    return np.asarray(np.divide(squares, total, out=np.zeros(len(total)), where=total > 0))


def _share(
    right: Array, weights: Array, squares: Array, alike: bool, level: float
) -> tuple[float, float]:
    """The share of rows that are right, and its lower bound (Clopper and Pearson).

    With unequal weights, the number of trials is the effective sample size, and the heaviest rows
    that the sample could lack count as wrong, as for influences.
    """
    from scipy.special import betaincinv  # slow to import

    total = float(weights.sum())
    share = max(0.0, 1.0 - float(np.dot(~right, weights)) / total)
    trials = total * total / float(squares.sum())
    hits = share * trials
    missed = 0.0 if alike else -math.log(level) / 2 * float(weights.max()) * trials / total
    low = float(betaincinv(hits, trials + missed - hits + 1, level)) if hits > 0 else 0.0
    return share, min(low, share)
