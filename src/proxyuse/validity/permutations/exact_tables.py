"""P-values of tables of two rows and two columns, over all permutations.

With both margins given, such a table is one number a, which follows a hypergeometric distribution
if the two sides are independent. Mutual information is convex in a and lowest where the table is
nearest to independence, and so is Cramer's V. So the tables that reach an observed one are those
up to some a and those from another a on. Both ends are found by bisection.
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

LEAST = float(np.finfo(float).tiny)  # what smaller p-values are rounded up to


def can_be_exact(measure: Association) -> bool:
    """Whether a measure falls and rises with a as above."""
    return rises_with_information(measure) or isinstance(measure, CramersV)


def exact_p_values(tables: Array, measure: Association) -> Array:
    """The chance that a table with the same margins has at least the same association.

    Parameters
    ----------
    tables : of whole numbers, stacked along the first axis, all with the same total.
    measure : one that `can_be_exact`.

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

    # Information falls up to the mean, which lies from `middle` to one more, and rises after it.
    middle = np.clip((first * (second / total)).astype(np.int64), low, high)
    left = _last_that(reaches, low, middle)
    right = -_last_that(lambda a: reaches(-a), -high, -np.minimum(middle + 1, high))
    chances = hypergeom(total, first, second)
    found = np.clip(chances.cdf(left) + chances.sf(right - 1), LEAST, 1.0)
    return np.where(left >= right - 1, 1.0, found)


def _last_that(holds: Callable[[Array], Array], low: Array, high: Array) -> Array:
    """The last number up to which something holds, one below `low` if it does not even there."""
    below, above = low - 1, high + 1
    while (open_ := above - below > 1).any():
        middle = np.where(open_, (below + above) // 2, np.clip(below, low, high))
        held = holds(middle)
        below = np.where(open_ & held, middle, below)
        above = np.where(open_ & ~held, middle, above)
    return below
