"""Measures of association beside normalized mutual information, and functions of the user's.

Each is one object behind the interface `Association`. Their numbers mean different things: a
threshold that was chosen for one says nothing for another.
"""

from __future__ import annotations

import functools
import math
import numbers
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from proxyuse.errors import DataError
from proxyuse.lang.evaluate import Array
from proxyuse.measure.association.chance import expected_by_row, expected_information
from proxyuse.measure.association.correlation import SquaredCorrelation
from proxyuse.measure.association.mutual_information import Association, NormalizedMutualInformation
from proxyuse.measure.association.names import ASSOCIATIONS

Normalizer = Literal["joint", "max", "arithmetic", "geometric", "min"]

_BELOW_ONE = float(np.nextafter(1.0, 0.0))
_NOTHING = 1e-12  # a difference of entropies that is rounding alone


class _Tables(NamedTuple):
    """Tables with the same columns, one below the other; all but the first three by table."""

    masses: Array
    starts: Array
    size: Array
    by_row: Array
    by_column: Array
    total: Array
    rows: Array
    columns: Array
    rows_determine: Array
    columns_determine: Array

    @classmethod
    def of(cls, masses: Array, starts: Array) -> _Tables:
        held = masses > 0
        by_row = masses.sum(axis=1)
        by_column = np.add.reduceat(masses, starts)
        return cls(
            masses,
            starts,
            np.diff(np.append(starts, len(masses))),
            by_row,
            by_column,
            by_column.sum(axis=1),
            np.add.reduceat((by_row > 0).astype(np.intp), starts),
            (by_column > 0).sum(axis=1),
            np.maximum.reduceat(held.sum(axis=1), starts) <= 1,
            np.add.reduceat(held.astype(np.intp), starts).max(axis=1) <= 1,
        )

    @property
    def constant(self) -> Array:
        """Whether there is only one row or only one column."""
        return (self.rows < 2) | (self.columns < 2)

    def alone(self) -> Array:
        """The masses that cells would have if rows and columns were independent."""
        columns = np.repeat(self.by_column / self.total[:, None], self.size, axis=0)
        exact = np.repeat(self.by_column, self.size, axis=0) * self.by_row[:, None]
        exact /= np.repeat(self.total, self.size)[:, None]
        # The product of two masses can be too small for a number, where their shares are not.
        return np.where(exact > 0, exact, columns * self.by_row[:, None])

    def summed(self, by_row: Array) -> Array:
        """The sum over the rows of each table."""
        return np.add.reduceat(by_row, self.starts)


@dataclass(frozen=True, slots=True)
class AdjustedMutualInformation:
    """``(I - E) / (N - E)``: mutual information without what chance alone would show.

    E is the mean of I over all permutations of the sample, so that the measure is 0 on average
    where there is nothing, however many values there are. 0 when one of both is constant or when
    there is less than chance shows; 1 when each determines the other, and (but for ``min``) only
    then.

    Parameters
    ----------
    normalizer : what N is: the joint entropy, or the larger, the mean, the geometric mean or
        the smaller of both entropies.
    rows_per_mass : how many observations a unit of mass stands for. By default, masses are
        numbers of observations; in an audit with weights, each row is one observation, and
        Kish's effective sample size is taken. Pass 1 where weights are numbers of equal records.
    chance : what E is, where that is known; by default it is found for each table.

    Notes
    -----
    The joint and the larger entropy are at least H(Z). As I <= N, ``(I - E) / (N - E)`` is at
    most ``I / N``, and that at most ``I / H(Z)``: so little information excludes witnesses. For
    the other three, N can be smaller than H(Z).

    Examples
    --------
    >>> adjusted = AdjustedMutualInformation()
    >>> adjusted(np.array([[3.0, 0.0], [0.0, 5.0]])), adjusted(np.eye(6)[:, :2] + 1)
    (1.0, 0.0)
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
                f"normalizer is {self.normalizer!r}; pass one of {', '.join(get_args(Normalizer))}"
            )
        given = self.rows_per_mass
        if given is not None and not _is_positive(given):
            raise DataError(f"rows_per_mass is {given!r}; pass a number above 0")

    @property
    def name(self) -> str:
        """How results call it."""
        how = "" if self.normalizer == "joint" else f" ({self.normalizer})"
        return f"adjusted mutual information{how}"

    @property
    def information_bound(self) -> bool:
        """Whether it is at most I(X; Z) / H(Z)."""
        return self.normalizer in ("joint", "max")

    def weighed(self, weights: Array) -> AdjustedMutualInformation:
        """The measure for rows with weights: each is one observation, unless it was told."""
        if self.rows_per_mass is not None or (weights == 1).all():
            return self
        scaled = weights / weights.max()
        ratio = float(scaled.sum() / np.dot(scaled, scaled) / weights.max())
        return replace(self, rows_per_mass=ratio)

    def resampled(self, rows: Array, columns: Array) -> AdjustedMutualInformation:
        """The measure for tables of counts drawn from one with such margins, E being the same."""
        chance = expected_information(rows, columns, float(rows.sum()))
        return replace(self, rows_per_mass=1.0, chance=chance)

    def __call__(self, masses: Array) -> float:
        """The association of the rows and the columns of a table of masses."""
        return float(self.ragged(masses, np.zeros(1, dtype=np.intp))[0])

    def many(self, masses: Array) -> Array:
        """The association of each of many tables of one shape, stacked along the first axis."""
        return _stacked(self.ragged, masses)

    def ragged(self, masses: Array, starts: Array) -> Array:
        """The association of each of many tables with the same columns, one below the other."""
        tables = _Tables.of(masses, starts)
        whole = np.repeat(tables.total, tables.size)
        of_rows = tables.summed(_surprise(tables.by_row / whole))
        of_columns = _surprise(tables.by_column / tables.total[:, None]).sum(axis=1)
        joint = tables.summed(_surprise(masses / whole[:, None]).sum(axis=1))
        held = masses > 0
        ratio = np.where(held, masses, 1.0) / np.where(held, tables.alone(), 1.0)
        information = tables.summed((masses * np.log(ratio)).sum(axis=1)) / tables.total
        chance = self._chance(tables)
        normal = self._normal(of_rows, of_columns, joint)
        room = normal - chance
        enough = room > _NOTHING
        adjusted = np.where(enough, information - chance, 0.0) / np.where(enough, room, 1.0)
        found = np.clip(adjusted, 0.0, 1.0 if self.normalizer == "min" else _BELOW_ONE)
        found[tables.rows_determine & tables.columns_determine] = 1.0
        found[tables.constant] = 0.0
        return np.asarray(found)

    def _normal(self, of_rows: Array, of_columns: Array, joint: Array) -> Array:
        match self.normalizer:
            case "joint":
                return joint
            case "max":
                return np.maximum(of_rows, of_columns)
            case "arithmetic":
                return (of_rows + of_columns) / 2
            case "geometric":
                return np.asarray(np.sqrt(of_rows * of_columns))
            case "min":
                return np.minimum(of_rows, of_columns)

    def _chance(self, tables: _Tables) -> Array:
        """The mean information of permutations of each table."""
        if self.chance is not None:
            return np.full(len(tables.starts), self.chance)
        by_row, by_column = (np.maximum(m, 0.0) for m in (tables.by_row, tables.by_column))
        counts = self.rows_per_mass in (None, 1) and not (tables.masses % 1).any()
        if counts and (by_column == by_column[0]).all():
            return tables.summed(expected_by_row(by_row, by_column[0]))
        worth = tables.total * (self.rows_per_mass or 1.0)
        parts = zip(np.split(by_row, tables.starts[1:]), by_column, worth, strict=True)
        if counts:
            return np.array([expected_information(a, b) for a, b, _ in parts])
        return np.array([expected_information(a, b, float(n)) for a, b, n in parts])


@dataclass(frozen=True, slots=True)
class CramersV:
    """Cramer's V: the root of chi squared over its largest value for a table of this shape.

    Not corrected for chance. 0 when both are independent or one of them is constant, 1 when the
    one with more values determines the other, even if not the other way round.

    Examples
    --------
    >>> cramer = CramersV()
    >>> cramer(np.array([[3.0, 0.0], [0.0, 5.0]])), cramer(np.array([[2.0, 4.0], [1.0, 2.0]]))
    (1.0, 0.0)
    >>> round(cramer(np.array([[1.0, 0.0], [1.0, 2.0]])), 4)
    0.5774
    """

    @property
    def name(self) -> str:
        """How results call it."""
        return "Cramer's V"

    @property
    def information_bound(self) -> bool:
        """Whether it is at most I(X; Z) / H(Z): it is not."""
        return False

    def __call__(self, masses: Array) -> float:
        """The association of the rows and the columns of a table of masses."""
        return float(self.ragged(masses, np.zeros(1, dtype=np.intp))[0])

    def many(self, masses: Array) -> Array:
        """The association of each of many tables of one shape, stacked along the first axis."""
        return _stacked(self.ragged, masses)

    def ragged(self, masses: Array, starts: Array) -> Array:
        """The association of each of many tables with the same columns, one below the other."""
        tables = _Tables.of(masses, starts)
        alone = tables.alone()
        off = (masses - alone) / np.where(alone > 0, alone, 1.0)
        squared = tables.summed((off * off * alone).sum(axis=1)) / tables.total
        fewer = np.maximum(np.minimum(tables.rows, tables.columns) - 1, 1)
        found = np.clip(np.sqrt(squared / fewer), 0.0, _BELOW_ONE)
        found[tables.rows_determine & (tables.rows >= tables.columns)] = 1.0
        found[tables.columns_determine & (tables.columns >= tables.rows)] = 1.0
        found[tables.constant] = 0.0
        return np.asarray(found)


def _stacked(ragged: Callable[[Array, Array], Array], masses: Array) -> Array:
    tables, rows, columns = masses.shape
    return ragged(masses.reshape(tables * rows, columns), np.arange(tables) * rows)


def _is_positive(value: Any) -> bool:
    return isinstance(value, float | int | np.number) and bool(0 < value < math.inf)


def _surprise(shares: Array) -> Array:
    return -shares * np.log(np.where(shares > 0, shares, 1.0))


@dataclass(frozen=True, slots=True)
class FunctionAssociation:
    """A function of the user's from a table of masses to a number from 0 to 1.

    The rows of the table are the values of a computation, or bins of them, its columns those of
    the protected attribute; no row is empty.

    Examples
    --------
    >>> def largest_share(masses):
    ...     return masses.max() / masses.sum()
    >>> measure = FunctionAssociation(largest_share)
    >>> measure.name, measure(np.array([[3.0, 0.0], [0.0, 1.0]]))
    ('largest_share', 0.75)
    """

    function: Callable[[Array], Any]

    @property
    def name(self) -> str:
        """What the function is called."""
        inner = self.function
        while isinstance(inner, functools.partial):
            inner = inner.func
        return str(getattr(inner, "__name__", type(inner).__name__))

    @property
    def information_bound(self) -> bool:
        """Nothing is known of it."""
        return False

    def __call__(self, masses: Array) -> float:
        """What the function says, checked."""
        found = self.function(masses.copy())
        number = isinstance(found, numbers.Real) and not isinstance(found, bool)
        if not number or not 0 <= found <= 1:
            rows, columns = masses.shape
            raise DataError(
                f"the association {self.name!r} returned {found!r} for a table of {rows} rows and "
                f"{columns} columns; it must return a number from 0 to 1"
            )
        return float(found)


def association_from(given: object) -> Association:
    """The measure that is asked for: none for the default, a name, an object, or a function.

    Examples
    --------
    >>> association_from("cramers-v").name
    "Cramer's V"
    """
    if given is None:
        return NormalizedMutualInformation()
    if isinstance(given, str) and given in NAMED:
        return NAMED[given]()
    parts = ("name", "information_bound")
    if callable(given) and not isinstance(given, type):
        if all(hasattr(given, part) for part in parts):
            return given  # type: ignore[return-value]
        if not any(hasattr(given, part) for part in parts):
            return FunctionAssociation(given)
    raise DataError(
        f"association is {given!r}; pass one of {', '.join(NAMED)}, or an instance, such as "
        "NormalizedMutualInformation(), or a function of a table of masses"
    )


_MEASURES: tuple[Callable[[], Association], ...] = (
    NormalizedMutualInformation,
    AdjustedMutualInformation,
    CramersV,
    SquaredCorrelation,
)
NAMED = dict(zip(ASSOCIATIONS, _MEASURES, strict=True))


def own_association(name: str) -> Association | None:
    """The measure of this package that results call so, if there is one.

    Examples
    --------
    >>> own_association("adjusted mutual information (max)").normalizer
    'max'
    """
    own = [make() for make in NAMED.values()]
    own += [AdjustedMutualInformation(normalizer) for normalizer in get_args(Normalizer)]
    return next((measure for measure in own if measure.name == name), None)
