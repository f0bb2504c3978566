"""The protocol of a measure of association, and how the rest of the package calls one.

A measure is a function of a joint table of masses: one row per value (or bin) of the computation,
one column per value of the protected attribute. It knows nothing about programs or people.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, cast

import numpy as np

from proxyuse.lang.evaluate import Array


class Association(Protocol):
    """A measure of association between the rows and the columns of a table of masses.

    A measure may also have any of these optional attributes:

    ``values``
        If true, the measure is called with the values of both sides, as
        ``measure(masses, rows=values, columns=values)``, and the computation is not binned.
    ``many(masses)``
        Measure many tables of one shape at once, stacked along the first axis.
    ``ragged(masses, starts)``
        Measure many tables with the same columns at once, concatenated along the rows. Table i
        begins at row ``starts[i]``.
    ``weighted(weights)``
        Return the measure to use for rows with these weights.
    ``resampled(rows, columns)``
        Return the measure to use for random tables of counts drawn from a table with these
        margins.
    """

    @property
    def name(self) -> str:
        """The name of the measure in results."""
        ...

    @property
    def information_bound(self) -> bool:
        """Whether the measure never exceeds I(X; Z) / H(Z).

        If so, little mutual information rules out a witness before anything else is measured.
        """
        ...

    def __call__(self, masses: Array) -> float:
        """Return the association, from 0 (independent) to 1 (each side determines the other)."""
        ...


AssociationLike = Association | str | Callable[[Array], float]
"""A measure, its name, or a function from a table of masses to a number from 0 to 1."""


def associations_of(measure: Association, masses: Array) -> Array:
    """Measure many tables of one shape, stacked along the first axis."""
    many = getattr(measure, "many", None)
    if many is not None:
        return np.asarray(many(masses))
    return np.array([measure(table[table.sum(axis=1) > 0]) for table in masses])


def associations_below(measure: Association, masses: Array, starts: Array) -> Array:
    """Measure many tables with the same columns, concatenated along the rows."""
    ragged = getattr(measure, "ragged", None)
    if ragged is not None:
        return np.asarray(ragged(masses, starts))
    tables = np.split(masses, starts[1:])
    return np.array([measure(table[table.sum(axis=1) > 0]) for table in tables])


def needs_values(measure: Association) -> bool:
    """Return whether a measure reads values, and not only their masses."""
    return bool(getattr(measure, "values", False))


def association_of_values(
    measure: Association, masses: Array, rows: Array, columns: Array
) -> float:
    """Measure one table, given the values of its rows and columns."""
    return float(cast("Any", measure)(masses, rows=rows, columns=columns))


def for_weights(measure: Association, weights: Array) -> Association:
    """Return the measure to use for rows with these weights."""
    weighted = getattr(measure, "weighted", None)
    return measure if weighted is None else cast("Association", weighted(weights))


def for_resampled(measure: Association, counts: Array) -> Association:
    """Return the measure to use for random tables drawn from a table of counts."""
    resampled = getattr(measure, "resampled", None)
    if resampled is None:
        return measure
    return cast("Association", resampled(counts.sum(axis=1), counts.sum(axis=0)))
