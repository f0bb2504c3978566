"""Exact p-values of 2 x 2 tables, over all permutations.

With fixed margins, such a table is determined by one cell a, which follows a hypergeometric
distribution under independence. Mutual information and Cramer's V fall in a up to independence and
rise after it. So the tables that reach an observed one are those up to some a and those from
another a on. Bisection finds both.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from proxyuse.lang.evaluate import Array
from proxyuse.measure.association.measures.cramers_v import CramersV
from proxyuse.measure.association.protocol import Association
from proxyuse.validity.permutations.comparison import (
    Statistic,
    rises_with_information,
    threshold,
)

LEAST = float(np.finfo(float).tiny)  # smaller p-values are rounded up to this


def can_be_exact(measure: Association) -> bool:
    """Whether exact p-values are available for a measure."""
    return rises_with_information(measure) or isinstance(measure, CramersV)


def exact_p_values(tables: Array, measure: Association) -> Array:
    """The probability that a table with the same margins has at least the same association.

    Parameters
    ----------
    tables : integer tables, stacked along the first axis, all with the same total.
    measure : a measure that `can_be_exact`.

    Examples
    --------
    >>> from proxyuse.measure.association.measures.normalized_mutual_information import (
    ...     NormalizedMutualInformation,
    ... )
    >>> tables = np.array([[[3, 0], [0, 3]], [[2, 1], [1, 2]]])
    >>> exact_p_values(tables, NormalizedMutualInformation()).round(6).tolist()
    [0.1, 1.0]
    """
    from scipy.stats import hypergeom

    whole = np.rint(tables).astype(np.int64)
    first, second, total = whole[:, :, 0].sum(1), whole[:, 0].sum(1), int(whole[0].sum())
    low, high = np.maximum(0, first + second - total), np.minimum(first, second)
    statistic = Statistic(measure, total)
    least = threshold(statistic.of(whole))

    def reaches(a: Array) -> Array:
        rows = np.stack([a, first - a], axis=1)
        others = np.stack([second - a, total - first - second + a], axis=1)
        return statistic.of(np.stack([rows, others], axis=1)) >= least

    # Information falls up to the mean, which is between `middle` and `middle + 1`, then rises.
    middle = np.clip((first * (second / total)).astype(np.int64), low, high)
    lower_tail = _last_that(reaches, low, middle)
    upper_tail = -_last_that(lambda a: reaches(-a), -high, -np.minimum(middle + 1, high))
    null = hypergeom(total, first, second)
    p_values = np.clip(null.cdf(lower_tail) + null.sf(upper_tail - 1), LEAST, 1.0)
    return np.where(lower_tail >= upper_tail - 1, 1.0, p_values)


def _last_that(holds: Callable[[Array], Array], low: Array, high: Array) -> Array:
    """The last number up to which a condition holds; ``low - 1`` if it does not hold at `low`."""
    below, above = low - 1, high + 1
    while (active := above - below > 1).any():
        middle = np.where(active, (below + above) // 2, np.clip(below, low, high))
        held = holds(middle)
        below = np.where(active & held, middle, below)
        above = np.where(active & ~held, middle, above)
    return below
