"""P-values of tables of two rows and two columns, over all permutations.

With both margins given, such a table is one number a, which follows a hypergeometric distribution
if the two sides are independent. Mutual information is convex in a and lowest where the table is
nearest to independence, and so is Cramer's V. So the tables that reach an observed one are those
up to some a and those from another a on. Both ends are found by bisection. A tail is summed from
its end outwards by the ratios of neighbouring chances, which fall ever faster: of n rows, some ten
standard deviations, O(sqrt(n)), are enough for any tail.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from proxyuse.lang.evaluate import Array
from proxyuse.measure.association import Association
from proxyuse.measure.other_associations import CramersV
from proxyuse.validity.information import Products, compared, reached, rises_with_information

DEVIATIONS, MORE = 10.0, 80.0  # beyond them a tail adds less than 1e-17 of itself
CHUNK = 1 << 20
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
    >>> from proxyuse.measure.association import NormalizedMutualInformation
    >>> tables = np.array([[[3, 0], [0, 3]], [[2, 1], [1, 2]]])
    >>> exact_p_values(tables, NormalizedMutualInformation()).round(6).tolist()
    [0.1, 1.0]
    """
    whole = np.rint(tables).astype(np.int64)
    first, second, total = whole[:, :, 0].sum(1), whole[:, 0].sum(1), int(whole[0].sum())
    low, high = np.maximum(0, first + second - total), np.minimum(first, second)
    products = Products(total)

    def reaches(a: Array) -> Array:
        rows = np.stack([a, first - a], axis=1)
        others = np.stack([second - a, total - first - second + a], axis=1)
        return compared(measure, np.stack([rows, others], axis=1), products) >= least

    least = reached(compared(measure, whole, products))
    middle = np.clip((first * (second / total)).astype(np.int64), low, high)
    # Information falls up to the mean, which lies from `middle` to one more, and rises after it.
    left = _last_that(reaches, low, middle)
    after = np.minimum(middle + 1, high)
    right = -_last_that(lambda a: reaches(-a), -high, -after)
    found = np.zeros(len(whole))
    for end, step, stop in ((left, -1, low), (right, 1, high)):
        there = step * (stop - end) >= 0
        beyond = _tail(np.where(there, end, stop), step, first, second, total)
        found += np.where(there, beyond, 0.0)
    everything = left >= right - 1
    return np.where(everything, 1.0, np.clip(found, LEAST, 1.0))


def _last_that(holds: Callable[[Array], Array], low: Array, high: Array) -> Array:
    """The last number up to which something holds, one below `low` if it does not even there."""
    below, above = low - 1, high + 1
    while (open_ := above - below > 1).any():
        middle = np.where(open_, (below + above) // 2, np.clip(below, low, high))
        held = holds(middle)
        below = np.where(open_ & held, middle, below)
        above = np.where(open_ & ~held, middle, above)
    return below


def _tail(start: Array, step: int, first: Array, second: Array, total: int) -> Array:
    """The chance of a number and all beyond it."""
    from scipy.special import gammaln

    share = second / total
    deviation = np.sqrt(first * share * (1 - share))
    lengths = np.ceil(DEVIATIONS * deviation + MORE).astype(np.int64)
    found = np.empty(len(start))
    order = np.argsort(lengths, kind="stable")
    done = 0
    while done < len(order):
        most = max(1, CHUNK // int(lengths[order[done]]))
        some = order[done : done + most]
        done += len(some)
        a = start[some, None] + step * np.arange(lengths[some[-1]])
        found[some] = _relative(a, step, first[some, None], second[some, None], total)
    one, two = first.astype(float), second.astype(float)
    a, n = start.astype(float), float(total)

    def chosen(many: Array | float, few: Array) -> Array:
        return np.asarray(gammaln(many + 1.0) - gammaln(few + 1.0) - gammaln(many - few + 1.0))

    chance = chosen(two, a) + chosen(n - two, one - a) - chosen(n, one)
    return np.asarray(np.exp(chance) * found)


def _relative(a: Array, step: int, first: Array, second: Array, total: int) -> Array:
    """The sum of the chances from each row's first number on, over that of the first."""
    four = (first - a) * 1.0, (second - a) * 1.0, a * 1.0, (total - first - second + a) * 1.0
    if step > 0:
        over, under = four[0] * four[1], (four[2] + 1) * (four[3] + 1)
    else:
        over, under = four[2] * four[3], (four[0] + 1) * (four[1] + 1)
    inside = over > 0  # beyond the last possible number all chances are 0
    possible = np.logical_and.accumulate(inside, axis=1)
    ratios = np.where(possible, over / np.where(possible, under, 1.0), 0.0)
    return np.asarray(1.0 + np.cumprod(ratios, axis=1).sum(axis=1))
