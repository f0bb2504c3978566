"""Influence row by row: how often a row changes, and how often its value changes others.

Influence is the mean of a loss ``h(x, x')`` over all pairs of rows, divided by a scale. By default,
h is 1 if the value of row x' changes the output of row x, and the scale is 1. Confidence bounds
need the means of h over one of the two rows: `changed` is the mean over all x' for a row x, and
`changing` is the mean over all x for a row x'. The mean of either over the rows is the influence
times the scale.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from proxyuse.lang.evaluate import Array


class RowEffects(NamedTuple):
    """The influence broken down by row, before it is divided by its scale.

    Attributes
    ----------
    changed : the share of values, by mass, that change the row's output; for other losses than a
        change, the mean loss.
    changing : the share of rows, by mass, whose output the row's value changes, or the mean loss.
    """

    changed: Array
    changing: Array


@dataclass(frozen=True, slots=True, eq=False)
class TriedValues:
    """The losses of trying one value of each class. `losses` is an iterator: use it once.

    Attributes
    ----------
    rows : the rows whose output can change.
    classes : the class of every row's value.
    masses : the mass of each class.
    losses : for each class, the loss in each of `rows`.

    Examples
    --------
    >>> losses = np.array([[False, True], [True, False]])  # by class and row
    >>> def tried():
    ...     return TriedValues(np.arange(2), np.array([0, 1]), np.ones(2), iter(losses))
    >>> tried().pairs(np.ones(2)), tried().effects(np.ones(2), 2.0).changed.tolist()
    (2.0, [0.5, 0.5])
    """

    rows: Array
    classes: Array
    masses: Array
    losses: Iterator[Array]

    def pairs(self, weights: Array) -> float:
        """Return the mass of pairs of rows that change the output."""
        own = weights[self.rows]
        pairs = zip(self.masses.tolist(), self.losses, strict=True)
        return float(sum(mass * float(np.dot(losses, own)) for mass, losses in pairs))

    def effects(self, weights: Array, total: float) -> RowEffects:
        """Return the influence row by row, for weights with this total."""
        own = weights[self.rows]
        of_rows, by_class = np.zeros(len(own)), []
        for mass, losses in zip(self.masses.tolist(), self.losses, strict=True):
            of_rows += mass * losses
            by_class.append(float(np.dot(losses, own)))
        changed = np.zeros(len(weights))
        changed[self.rows] = of_rows
        changing = np.array(by_class)[self.classes]
        return RowEffects(changed / total, changing / total)
