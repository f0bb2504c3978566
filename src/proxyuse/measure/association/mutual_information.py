"""How closely a computation and a protected attribute name each other.

The measures look at a joint table of masses, so they know nothing of programs or rows. Others
than the one here stand in `other_associations`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, cast

import numpy as np

from proxyuse.lang.evaluate import Array


class Association(Protocol):
    """A measure of association between the rows and the columns of a table of masses.

    A measure may have more than is listed here. With an attribute ``values`` that is true, it is
    called with the values too, as ``measure(masses, rows=values, columns=values)``, and those of
    the computation are not cut into bins. With ``many(masses)`` it measures stacked tables in
    bulk, and with ``ragged(masses, starts)`` tables of different length. ``weighed(weights)`` is
    the measure to use for rows with such weights, ``resampled(rows, columns)`` for tables of counts
    that are drawn from one with such margins.
    """

    @property
    def name(self) -> str:
        """How results call it."""
        ...

    @property
    def information_bound(self) -> bool:
        """Whether it is at most I(X; Z) / H(Z), so that little information excludes witnesses."""
        ...

    def __call__(self, masses: Array) -> float:
        """The association, between 0 (none) and 1 (each determines the other)."""
        ...


AssociationLike = Association | str | Callable[[Array], float]
"""A measure, its name, or a function from a table of masses to a number from 0 to 1."""


def associations_of(measure: Association, masses: Array) -> Array:
    """The association of each of many stacked tables, in bulk if the measure can."""
    many = getattr(measure, "many", None)
    if many is not None:
        return np.asarray(many(masses))
    return np.array([measure(table[table.sum(axis=1) > 0]) for table in masses])


def associations_below(measure: Association, masses: Array, starts: Array) -> Array:
    """The same for tables that stand one below the other, from their first rows on."""
    ragged = getattr(measure, "ragged", None)
    if ragged is not None:
        return np.asarray(ragged(masses, starts))
    tables = np.split(masses, starts[1:])
    return np.array([measure(table[table.sum(axis=1) > 0]) for table in tables])


def needs_values(measure: Association) -> bool:
    """Whether a measure looks at values, not only at their masses."""
    return bool(getattr(measure, "values", False))


def association_of_values(
    measure: Association, masses: Array, rows: Array, columns: Array
) -> float:
    """The association in one table with the values of its rows and columns."""
    return float(cast("Any", measure)(masses, rows=rows, columns=columns))


def for_weights(measure: Association, weights: Array) -> Association:
    """A measure as it is to be used for rows with weights."""
    weighed = getattr(measure, "weighed", None)
    return measure if weighed is None else cast("Association", weighed(weights))


def for_resampled(measure: Association, counts: Array) -> Association:
    """A measure as it is to be used for tables that are drawn from a table of counts."""
    resampled = getattr(measure, "resampled", None)
    if resampled is None:
        return measure
    return cast("Association", resampled(counts.sum(axis=1), counts.sum(axis=0)))


@dataclass(frozen=True, slots=True)
class NormalizedMutualInformation:
    """``I(X; Z) / H(X, Z)``: 1 minus the share of uncertainty each leaves about the other.

    0 when both are constant; 1 exactly when each determines the other, and only then; exactly 0
    for whole-number masses that are independent. Linear in the size of the table.

    Examples
    --------
    >>> nmi = NormalizedMutualInformation()
    >>> nmi(np.array([[3.0, 0.0], [0.0, 5.0]])), nmi(np.array([[2.0, 4.0], [1.0, 2.0]]))
    (1.0, 0.0)
    >>> round(nmi(np.array([[1.0, 0.0], [1.0, 2.0]])), 4)
    0.2075
    """

    name: str = "normalized mutual information"
    information_bound: bool = True

    def __call__(self, masses: Array) -> float:
        """The association of the rows and the columns of a table of masses."""
        return float(self.many(masses[None])[0])

    def many(self, masses: Array) -> Array:
        """The association of each of many tables of one shape, stacked along the first axis."""
        held = masses > 0
        by_row = masses.sum(axis=2)
        by_column = masses.sum(axis=1)
        total = by_row.sum(axis=1)[:, None, None]
        alone = by_row[:, :, None] * by_column[:, None, :]
        cells = np.where(held, masses, 1.0)
        with np.errstate(invalid="ignore", divide="ignore"):
            information = (masses * np.log(np.where(held, cells * total / alone, 1.0))).sum((1, 2))
            joint_entropy = -(masses * np.log(np.where(held, cells / total, 1.0))).sum((1, 2))
            ratio = information / joint_entropy
        # Only tables in which each determines the other reach 1.
        found = np.clip(ratio, 0.0, np.nextafter(1.0, 0.0))
        one_each = (held.sum(axis=2).max(axis=1) <= 1) & (held.sum(axis=1).max(axis=1) <= 1)
        found[one_each] = 1.0
        constant = ((by_row > 0).sum(axis=1) < 2) | ((by_column > 0).sum(axis=1) < 2)
        found[constant] = 0.0
        return np.asarray(found)

    def ragged(self, masses: Array, starts: Array) -> Array:
        """The association of each of many tables with the same columns, one below the other.

        `starts` are the tables' first rows; none is empty.
        """
        size = np.diff(np.append(starts, len(masses)))
        by_column = np.add.reduceat(masses, starts)
        by_row = masses.sum(axis=1)
        total = by_column.sum(axis=1)
        held = masses > 0
        cells = np.where(held, masses, 1.0)
        alone = np.repeat(by_column, size, axis=0) * by_row[:, None]
        whole = np.repeat(total, size)[:, None]
        with np.errstate(invalid="ignore", divide="ignore"):
            information = masses * np.log(np.where(held, cells * whole / alone, 1.0))
            surprise = -(masses * np.log(np.where(held, cells / whole, 1.0)))
            joint = np.add.reduceat(surprise.sum(axis=1), starts)
            ratio = np.add.reduceat(information.sum(axis=1), starts) / joint
        found = np.clip(ratio, 0.0, np.nextafter(1.0, 0.0))
        in_row = np.maximum.reduceat(held.sum(axis=1), starts)
        in_column = np.add.reduceat(held.astype(np.intp), starts)
        found[(in_row <= 1) & (in_column.max(axis=1) <= 1)] = 1.0
        rows = np.add.reduceat((by_row > 0).astype(np.intp), starts)
        found[(rows < 2) | ((by_column > 0).sum(axis=1) < 2)] = 0.0
        return np.asarray(found)


def entropy(masses: Array) -> float:
    """The entropy, in nats, of a distribution given by masses.

    Examples
    --------
    >>> round(entropy(np.array([2.0, 2.0])), 4), entropy(np.array([3.0]))
    (0.6931, 0.0)
    """
    shares = masses[masses > 0] / masses.sum()
    return max(0.0, float(-np.dot(shares, np.log(shares))))


def mutual_information(masses: Array) -> float:
    """The mutual information, in nats, of the rows and columns of a table of masses."""
    joint = entropy(masses.ravel())
    return max(0.0, entropy(masses.sum(axis=1)) + entropy(masses.sum(axis=0)) - joint)
