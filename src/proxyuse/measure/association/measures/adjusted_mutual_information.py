"""Adjusted mutual information: mutual information corrected for chance."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np

from proxyuse.errors import DataError
from proxyuse.lang.evaluate import Array
from proxyuse.measure.association.chance import expected_by_row, expected_information
from proxyuse.measure.association.ragged_tables import BELOW_ONE, RaggedTables, measure_stacked

Normalizer = Literal["joint", "max", "arithmetic", "geometric", "min"]

_ROUNDING = 1e-12  # a smaller difference between entropies is a rounding error


@dataclass(frozen=True, slots=True)
class AdjustedMutualInformation:
    """``(I - E) / (N - E)``: mutual information minus what chance alone would show.

    E is the mean of I over all permutations of the sample. The measure is therefore 0 on average
    for independent variables with any number of values. It is 0 when one side is constant or
    when I is below E. It is 1 when each side determines the other and, except for ``min``, only
    then.

    Parameters
    ----------
    normalizer : the entropy N: the joint entropy, or the maximum, the arithmetic mean, the
        geometric mean or the minimum of the entropies of both sides.
    rows_per_mass : the number of observations per unit of mass. By default masses are numbers of
        observations. In an audit with weights each row is one observation, and Kish's effective
        sample size is used. Pass 1 if a weight is a number of equal records.
    chance : E, if it is known. By default it is computed for each table.

    Notes
    -----
    The joint entropy and the maximum are at least H(Z). Because I <= N, ``(I - E) / (N - E)`` is
    at most ``I / N``, which is at most ``I / H(Z)``. Little mutual information therefore rules out
    witnesses. The other three normalizers can be smaller than H(Z).

    The cost is linear in the size of the table, plus that of `expected_information`.

    Examples
    --------
    >>> adjusted = AdjustedMutualInformation()
    >>> adjusted(np.array([[3.0, 0.0], [0.0, 5.0]])), adjusted(np.eye(6)[:, :2] + 1)
    (1.0, 0.0)
    >>> from proxyuse import NormalizedMutualInformation
    >>> distinct = np.repeat(np.eye(2), 50, axis=0)  # a hundred values, each seen once
    >>> round(NormalizedMutualInformation()(distinct), 2), round(adjusted(distinct), 2)
    (0.15, 0.0)
    """

    normalizer: Normalizer = "joint"
    rows_per_mass: float | None = None
    chance: float | None = None

    def __post_init__(self) -> None:
        if self.normalizer not in get_args(Normalizer):
            raise DataError(
                f"normalizer: expected one of {', '.join(get_args(Normalizer))}, "
                f"got {self.normalizer!r}"
            )
        ratio = self.rows_per_mass
        if ratio is not None and not _is_positive(ratio):
            raise DataError(f"rows_per_mass: expected a number above 0, got {ratio!r}")

    @property
    def name(self) -> str:
        """The name of the measure in results."""
        variant = "" if self.normalizer == "joint" else f" ({self.normalizer})"
        return f"adjusted mutual information{variant}"

    @property
    def information_bound(self) -> bool:
        """Whether the measure never exceeds I(X; Z) / H(Z)."""
        return self.normalizer in ("joint", "max")

    def weighted(self, weights: Array) -> AdjustedMutualInformation:
        """Return the measure for weighted rows; each row is one observation by default."""
        if self.rows_per_mass is not None or (weights == 1).all():
            return self
        scaled = weights / weights.max()
        ratio = float(scaled.sum() / np.dot(scaled, scaled) / weights.max())
        return replace(self, rows_per_mass=ratio)

    def resampled(self, rows: Array, columns: Array) -> AdjustedMutualInformation:
        """Return the measure for random tables of counts; all of them share E."""
        chance = expected_information(rows, columns, float(rows.sum()))
        return replace(self, rows_per_mass=1.0, chance=chance)

    def __call__(self, masses: Array) -> float:
        """Measure one table of masses."""
        return float(self.ragged(masses, np.zeros(1, dtype=np.intp))[0])

    def many(self, masses: Array) -> Array:
        """Measure many tables of one shape, stacked along the first axis."""
        return measure_stacked(self.ragged, masses)

    def ragged(self, masses: Array, starts: Array) -> Array:
        """Measure many tables with the same columns, concatenated along the rows."""
        tables = RaggedTables.of(masses, starts)
        totals = np.repeat(tables.totals, tables.sizes)
        row_entropy = tables.sum_rows(_entropy_terms(tables.by_row / totals))
        column_entropy = _entropy_terms(tables.by_column / tables.totals[:, None]).sum(axis=1)
        joint_entropy = tables.sum_rows(_entropy_terms(masses / totals[:, None]).sum(axis=1))
        positive = masses > 0
        ratio = np.where(positive, masses, 1.0) / np.where(positive, tables.independent(), 1.0)
        information = tables.sum_rows((masses * np.log(ratio)).sum(axis=1)) / tables.totals
        chance = self._chance(tables)
        denominator = self._normalizer(row_entropy, column_entropy, joint_entropy) - chance
        defined = denominator > _ROUNDING
        adjusted = np.where(defined, information - chance, 0.0)
        adjusted = adjusted / np.where(defined, denominator, 1.0)
        result = np.clip(adjusted, 0.0, 1.0 if self.normalizer == "min" else BELOW_ONE)
        result[tables.rows_determine & tables.columns_determine] = 1.0
        result[tables.constant] = 0.0
        return np.asarray(result)

    def _normalizer(self, rows: Array, columns: Array, joint: Array) -> Array:
        """Return N for each table from the entropies of its rows, its columns and both."""
        match self.normalizer:
            case "joint":
                return joint
            case "max":
                return np.maximum(rows, columns)
            case "arithmetic":
                return (rows + columns) / 2
            case "geometric":
                return np.asarray(np.sqrt(rows * columns))
            case "min":
                return np.minimum(rows, columns)

    def _chance(self, tables: RaggedTables) -> Array:
        """Return E for each table."""
        if self.chance is not None:
            return np.full(len(tables.starts), self.chance)
        by_row, by_column = (np.maximum(m, 0.0) for m in (tables.by_row, tables.by_column))
        counts = self.rows_per_mass in (None, 1) and not (tables.masses % 1).any()
        if counts and (by_column == by_column[0]).all():
            return tables.sum_rows(expected_by_row(by_row, by_column[0]))
        observations = tables.totals * (self.rows_per_mass or 1.0)
        parts = zip(np.split(by_row, tables.starts[1:]), by_column, observations, strict=True)
        if counts:
            return np.array([expected_information(a, b) for a, b, _ in parts])
        return np.array([expected_information(a, b, float(n)) for a, b, n in parts])


def _is_positive(value: Any) -> bool:
    return isinstance(value, float | int | np.number) and bool(0 < value < math.inf)


def _entropy_terms(shares: Array) -> Array:
    """Return ``-p log p`` for each share p."""
    return -shares * np.log(np.where(shares > 0, shares, 1.0))


MEASURES = tuple(AdjustedMutualInformation(normalizer) for normalizer in get_args(Normalizer))
