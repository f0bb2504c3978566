"""Normalized mutual information, the default measure of association."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from proxyuse.lang.evaluate import Array
from proxyuse.measure.association.ragged_tables import BELOW_ONE


@dataclass(frozen=True, slots=True)
class NormalizedMutualInformation:
    """``I(X; Z) / H(X, Z)``: the share of the joint information that both sides have in common.

    It is 0 when both sides are constant, 1 when each side determines the other, and below 1
    otherwise. It is exactly 0 for independent whole-number masses. The cost is linear in the size
    of the table.

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
        """Measure one table of masses."""
        return float(self.many(masses[None])[0])

    def many(self, masses: Array) -> Array:
        """Measure many tables of one shape, stacked along the first axis."""
        positive = masses > 0
        by_row = masses.sum(axis=2)
        by_column = masses.sum(axis=1)
        total = by_row.sum(axis=1)[:, None, None]
        product = by_row[:, :, None] * by_column[:, None, :]
        cells = np.where(positive, masses, 1.0)
        with np.errstate(invalid="ignore", divide="ignore"):
            logs = np.log(np.where(positive, cells * total / product, 1.0))
            information = (masses * logs).sum((1, 2))
            joint = -(masses * np.log(np.where(positive, cells / total, 1.0))).sum((1, 2))
            ratio = information / joint
        result = np.clip(ratio, 0.0, BELOW_ONE)
        in_row, in_column = positive.sum(axis=2), positive.sum(axis=1)
        result[(in_row.max(axis=1) <= 1) & (in_column.max(axis=1) <= 1)] = 1.0
        result[((by_row > 0).sum(axis=1) < 2) | ((by_column > 0).sum(axis=1) < 2)] = 0.0
        return np.asarray(result)

    def ragged(self, masses: Array, starts: Array) -> Array:
        """Measure many tables with the same columns, concatenated along the rows.

        `starts` holds the first row of each table. No table is empty.
        """
        sizes = np.diff(np.append(starts, len(masses)))
        by_column = np.add.reduceat(masses, starts)
        by_row = masses.sum(axis=1)
        totals = by_column.sum(axis=1)
        positive = masses > 0
        cells = np.where(positive, masses, 1.0)
        product = np.repeat(by_column, sizes, axis=0) * by_row[:, None]
        total = np.repeat(totals, sizes)[:, None]
        with np.errstate(invalid="ignore", divide="ignore"):
            information = masses * np.log(np.where(positive, cells * total / product, 1.0))
            surprise = -(masses * np.log(np.where(positive, cells / total, 1.0)))
            joint = np.add.reduceat(surprise.sum(axis=1), starts)
            ratio = np.add.reduceat(information.sum(axis=1), starts) / joint
        result = np.clip(ratio, 0.0, BELOW_ONE)
        in_row = np.maximum.reduceat(positive.sum(axis=1), starts)
        in_column = np.add.reduceat(positive.astype(np.intp), starts)
        result[(in_row <= 1) & (in_column.max(axis=1) <= 1)] = 1.0
        rows = np.add.reduceat((by_row > 0).astype(np.intp), starts)
        result[(rows < 2) | ((by_column > 0).sum(axis=1) < 2)] = 0.0
        return np.asarray(result)


MEASURES = (NormalizedMutualInformation(),)
