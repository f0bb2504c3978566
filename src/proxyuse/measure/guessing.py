"""How often a protected value can be guessed right, with a computation and without it.

Guesses are out of sample. The rows are split into ten folds. The guess for a row is the most common
protected value among the rows of the *other* folds with the same value of the computation; if there
are none, it is the most common protected value of the other folds. On the rows it was learned from,
a column without repeated values would guess any coin flip right. The guess with a number that is
measured by its best cut is the most common value on the same side of a cut; the cut is learned from
the other folds, too.

Every fold has the same distribution of the protected attribute, up to rounding. Otherwise a fold
with more of one value would leave fewer of it in the other folds, and guesses of a balanced
attribute would be right for less than half of the rows. Which rows are in which fold follows from
their content (`row_order.content_keys`), so the order of the rows makes no difference.

Rows of one cluster, and copies of a row, are in the same fold. Otherwise a column without repeated
values would guess a coin right for every copied row.

The figures follow from the masses by fold, value and protected value (`rates`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from proxyuse.data.copies import copied_rows
from proxyuse.lang.evaluate import Array
from proxyuse.lang.nodes import Term
from proxyuse.measure.association.best_cut import BestCut
from proxyuse.measure.association.measures.normalized_mutual_information import (
    NormalizedMutualInformation,
)
from proxyuse.measure.association.support import Support
from proxyuse.measure.row_order import cluster_keys, content_keys
from proxyuse.measure.sample import Sample

FOLDS = 10
DENSE = 1 << 12
"""Tables with fewer cells, or fewer than rows, are counted without looking for the empty cells."""


@dataclass(frozen=True, slots=True)
class Guess:
    """The share of rows, by weight, whose protected value is guessed right.

    Attributes
    ----------
    informed : with the value of the computation.
    blind : without it.
    """

    informed: float
    blind: float


def folds(sample: Sample) -> list[Array]:
    """Return the fold of each row, for each protected attribute; O(n log n), once per sample.

    There are ten folds, or fewer if the second most common value has fewer rows. A cluster counts
    as one row, with the most common value of its rows.

    Examples
    --------
    >>> from proxyuse.data.population import Population
    >>> from proxyuse.program import Program
    >>> data = {"x": range(20), "z": [0, 1] * 10}
    >>> (fold,) = folds(Sample(Program.parse("x"), Population.build(data, protected="z")))
    >>> np.bincount(fold[::2]).tolist(), np.bincount(fold[1::2]).tolist()
    ([1, 1, 1, 1, 1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 1, 1, 1, 1, 1, 1])
    """
    return sample.shared(_folds)


def _folds(sample: Sample) -> list[Array]:
    clusters = sample.population.clusters
    if clusters is None:
        clusters = copied_rows(sample.population)
    if clusters is None or int(clusters.max()) == 0:  # one cluster has no others to learn from
        keys = content_keys(sample)
        return [_dealt(attribute.codes, keys) for attribute in sample.attributes]
    keys = cluster_keys(sample, clusters)
    return [
        _dealt(_most_common(attribute, clusters, sample.weights), keys)[clusters]
        for attribute in sample.attributes
    ]


def _most_common(attribute: Support, clusters: Array, weights: Array) -> Array:
    """The most common protected value of each cluster; ties go to the first value."""
    cells, index = np.unique(clusters * len(attribute) + attribute.codes, return_inverse=True)
    clusters, codes = np.divmod(cells, len(attribute))
    order = np.lexsort((codes, -np.bincount(index, weights), clusters))
    first = np.unique(clusters[order], return_index=True)[1]
    return np.asarray(codes[order][first])


def _dealt(codes: Array, keys: Array) -> Array:
    """Deal the rows of each value to the folds in turn; values with few rows are one hand."""
    counts = np.bincount(codes, minlength=2)
    number = min(FOLDS, max(2, int(np.sort(counts)[-2])))
    hand = np.where(counts >= number, np.arange(len(counts)), len(counts))[codes]
    order = np.lexsort((keys, codes, hand))
    first = np.searchsorted(hand[order], np.arange(len(counts) + 1))
    fold = np.empty(len(codes), dtype=np.intp)
    fold[order] = (np.arange(len(codes)) - first[hand[order]]) % number
    return fold


def guesses(sample: Sample, term: Term) -> list[Guess]:
    """Return how often each protected attribute is guessed right with a computation.

    Costs O(n) for n rows if the computation has few values, otherwise O(n log n).

    Examples
    --------
    >>> from proxyuse.data.population import Population
    >>> from proxyuse.program import Program
    >>> program = Program.parse("x <= 5")
    >>> coin = np.random.default_rng(0).integers(0, 2, 200)
    >>> data = {"x": np.arange(200.0), "same": np.arange(200) <= 5, "coin": coin}
    >>> sample = Sample(program, Population.build(data, protected=["same", "coin"]))
    >>> guesses(sample, program.term)[0]
    Guess(informed=1.0, blind=0.97)
    """
    supports = sample.association_supports(term)
    by_cut = sample.best_cut and any(support.binned for support in supports)
    rule = _by_cut if by_cut else _by_value
    total = float(sample.weights.sum())
    return [
        Guess(*(mass / total for mass in rule(supports, attribute, fold, sample.weights)))
        for attribute, fold in zip(sample.attributes, folds(sample), strict=True)
    ]


# By value


def _by_value(
    supports: Sequence[Support], attribute: Support, fold: Array, weights: Array
) -> tuple[float, float]:
    (support,) = supports
    cells, masses = _cells(support.codes * len(attribute) + attribute.codes, fold, weights)
    return rates(*np.divmod(cells, len(attribute)), masses)


def _cells(code: Array, fold: Array, weights: Array) -> tuple[Array, Array]:
    """Return the cells in order, at least all that are not empty, and their masses by fold."""
    size = int(code.max()) + 1
    if size <= max(DENSE, len(code)):
        cells = np.arange(size)
    else:
        cells, code = np.unique(code, return_inverse=True)
    return cells, _masses(code, len(cells), fold, weights)


def _masses(code: Array, size: int, fold: Array, weights: Array) -> Array:
    """Return the mass of each fold (rows) and code (columns)."""
    number = int(fold.max()) + 1
    flat = np.bincount(fold * size + code, weights, minlength=number * size)
    return flat.reshape(number, size)


def rates(values: Array, columns: Array, masses: Array) -> tuple[float, float]:
    """Return the mass that is guessed right with the computation and without it.

    Parameters
    ----------
    values, columns : for each cell, the value of the computation, in ascending order, and the
        protected value.
    masses : of each fold (rows) and cell (columns).

    Examples
    --------
    >>> rates(np.array([0, 1]), np.array([0, 1]), np.array([[3.0, 2.0], [3.0, 2.0]]))
    (10.0, 6.0)
    """
    total = masses.sum(axis=0)
    right = np.array([_right(values, columns, own, total - own) for own in masses])
    informed, blind = right.sum(axis=0).tolist()
    return informed, blind


def _right(values: Array, columns: Array, own: Array, others: Array) -> tuple[float, float]:
    """Return the mass of one fold that is guessed right, as the other folds suggest."""
    starts = np.flatnonzero(np.append(True, values[1:] != values[:-1]))
    group = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(values))))
    overall = np.bincount(columns, others)
    rank = np.empty(len(overall), dtype=np.intp)  # ties go to the first value
    rank[np.lexsort((-np.arange(len(overall)), overall))] = np.arange(len(overall))
    best = np.maximum.reduceat(others, starts)
    candidates = np.where(others == best[group], rank[columns], -1)
    guess = np.where(best > 0, np.maximum.reduceat(candidates, starts), len(overall) - 1)
    informed = own[rank[columns] == guess[group]].sum()
    return float(informed), float(own[rank[columns] == len(overall) - 1].sum())


# By the best cut


def _by_cut(
    supports: Sequence[Support], attribute: Support, fold: Array, weights: Array
) -> tuple[float, float]:
    parts = []
    for support in supports:
        shape = len(support), len(attribute)
        code = support.codes * len(attribute) + attribute.codes
        masses = _masses(code, math.prod(shape), fold, weights)
        parts.append((masses.reshape(-1, *shape), bool(np.isnan(support.values[-1]))))
    return cut_rates(parts)


def cut_rates(parts: Sequence[tuple[Array, bool]]) -> tuple[float, float]:
    """Return the mass that is guessed right with the best cut of a number, and without it.

    The cut of each fold is the one with the largest normalized mutual information in the other
    folds, so choosing it is part of what is learned from them.

    Parameters
    ----------
    parts : the masses by fold, group of numbers and protected value, and whether the last group is
        that of missing numbers. A vector has one part per coordinate.

    Examples
    --------
    >>> fold = np.array([[2.0, 0.0], [2.0, 1.0], [0.0, 3.0]])
    >>> cut_rates([(np.array([fold, fold]), False)])
    (14.0, 8.0)
    """
    right = np.zeros(2)
    rules = [BestCut(NormalizedMutualInformation(), missing) for _, missing in parts]
    totals = [masses.sum(axis=0) for masses, _ in parts]
    for number in range(len(parts[0][0])):
        every = [(masses[number], total - masses[number])
                 for (masses, _), total in zip(parts, totals, strict=True)]  # fmt: skip
        scores = [rule.best(others) for rule, (_, others) in zip(rules, every, strict=True)]
        highest = [float(found.max(initial=-1.0)) for _, found in scores]
        best = highest.index(max(highest))
        own, others = every[best]
        cuts, found = scores[best]
        if len(cuts):
            cut = int(cuts[np.argmax(found)])
            own, others = (rules[best].table(table, cut) for table in (own, others))
        cells = np.divmod(np.arange(own.size), own.shape[1])
        right += _right(*cells, own.ravel(), others.ravel())
    informed, blind = right.tolist()
    return informed, blind
