"""Training on rows in which values of a column are merged so that no test on it is a proxy.

A number x: the test ``x <= t`` is forbidden if its association with a protected attribute reaches
epsilon. Neighboring forbidden cuts form an interval. There are two ways to merge its values:

- each is replaced by one of the two ends of the interval at random. Nothing can be learned from
  where in the interval a value lies, and thresholds below and above it are where they would be
  without the replacement. A deep tree may still learn noise, and cut between the two ends.
- values above the lower end are replaced by it (or values below the upper end). No cut is left
  inside or above the interval (or below it).

If the interval reaches the smallest or largest value, there is one end.

A category c: the test ``x == c`` is forbidden if its association reaches epsilon. The category is
merged with others until no test of a merged category is forbidden. Each row of a merged category
gets one of its members at random, in proportion to their masses.

The new model is applied to the values as they are, and the audit decides.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from proxyuse.data.columns import Column, Kind, as_column
from proxyuse.errors import DataError
from proxyuse.lang.evaluate import Array
from proxyuse.measure.association.protocol import (
    Association,
    association_of_values,
    associations_of,
    needs_values,
)
from proxyuse.measure.association.support import Support, cut, support_of
from proxyuse.repairing.recipes.fitting import column_values, constant, with_column
from proxyuse.repairing.recipes.groups import joint_masses, support
from proxyuse.repairing.recipes.training import CannotFit, Training
from proxyuse.settings import PROTECTED_BINS, PROTECTED_VALUES

DRAWS = 8
"""How often values are drawn at most. By chance, a draw may leave a test that reaches epsilon."""

Keep = Literal["both", "below", "above"]
DETAILS: dict[Keep, str] = {"both": "", "below": "high values merged", "above": "low values merged"}


class OneValue(CannotFit):
    """All values of a column would be merged."""


@dataclass(frozen=True, slots=True)
class Coarsen:
    """Train on rows in which values of some columns are merged.

    A column all of whose values would be merged becomes constant. A column without a forbidden test
    stays as it is.

    Attributes
    ----------
    columns : the raw columns.
    attributes : the protected attributes.
    epsilon : the association that no test of a column may reach.
    association : the measure.
    keep : which cuts of a number to keep: those on both sides of a forbidden interval, or those
        below the first one, or those above the last one.
    """

    columns: tuple[str, ...]
    attributes: tuple[str, ...]
    epsilon: float
    association: Association
    keep: Keep = "both"

    @property
    def method(self) -> str:
        """The name of the method."""
        return "coarsen"

    @property
    def detail(self) -> str:
        """Which values are merged, if not only those between forbidden cuts."""
        return DETAILS[self.keep]

    def variants(self, training: Training) -> Iterator[Training]:
        """Yield the training with merged values."""
        missing = [name for name in self.columns if name not in training.names]
        if missing:
            raise CannotFit(f"the rows have no column {missing[0]!r}")
        missing = [name for name in self.attributes if name not in training.protected]
        if missing or not self.attributes:
            raise CannotFit(f"the values of {', '.join(missing)} are not known")
        weights = np.ones(len(training.X)) if training.weights is None else training.weights
        groups = tuple(
            cut(support(name, training.protected[name]), weights, PROTECTED_BINS, PROTECTED_VALUES)
            for name in self.attributes
        )
        forbidden = Forbidden(self.association, self.epsilon, groups, weights)
        X, coarser = training.X, False
        for name in self.columns:
            index = training.names.index(name)
            values = column_values(training.X, index)
            try:
                merged = self._merged(name, values, forbidden)
            except OneValue:
                merged = constant(values)
            else:
                coarser = coarser or merged is not None
            if merged is not None:
                X = with_column(X, index, merged)
        if not coarser:
            raise CannotFit(f"no value of {', '.join(self.columns)} can be merged with another")
        yield replace(training, X=X)

    def _merged(self, name: str, values: Any, forbidden: Forbidden) -> Any:
        """The values of a column after merging; None if no test is forbidden."""
        try:
            column = as_column(name, values)
        except DataError as error:
            raise CannotFit(str(error)) from error
        if not forbidden.tests(column).any():
            return None
        for seed in range(DRAWS):
            random = np.random.default_rng(seed)
            if column.kind is Kind.CATEGORY:
                new = replace(column, values=merged_categories(column, forbidden, random))
            elif column.kind is Kind.NUMBER:
                new = replace(column, values=merged_numbers(column, forbidden, random, self.keep))
            else:
                raise OneValue
            if not forbidden.tests(new).any():
                decoded = np.array(new.decode(), dtype=object)
                return decoded if column.kind is Kind.CATEGORY else new.values
        raise CannotFit(f"some test of {name!r} still reaches epsilon")

    def check(self, fitted: Any, training: Training) -> None:
        """Check nothing: the audit decides."""


@dataclass(frozen=True, slots=True, eq=False)
class Forbidden:
    """Which tests of a column reach epsilon.

    Attributes
    ----------
    association, epsilon : the measure and the threshold.
    groups : the groups of rows by each protected attribute.
    weights : the weights of the rows.
    """

    association: Association
    epsilon: float
    groups: tuple[Support, ...]
    weights: Array

    def reached(self, tables: list[Array]) -> Array:
        """Whether each two-valued test reaches epsilon.

        `tables` has an array by protected attribute: the mass of each test, and of each group in
        which it is true.
        """
        answers = np.zeros(len(tables[0]) if tables else 0, dtype=np.bool_)
        for attribute, true in zip(self.groups, tables, strict=True):
            total = attribute.masses(self.weights)
            both = np.stack([np.maximum(total - true, 0.0), true], axis=1)
            answers |= self._associations(both, attribute) >= self.epsilon
        return answers

    def _associations(self, tables: Array, attribute: Support) -> Array:
        measure = self.association
        if not needs_values(measure):
            return associations_of(measure, tables)
        truth, values = np.array([0.0, 1.0]), attribute.middles
        return np.array([association_of_values(measure, t, truth, values) for t in tables])

    def masses(self, codes: Array) -> list[Array]:
        """The mass of each value of a column and each group, by protected attribute."""
        return [joint_masses(codes, attribute.codes, self.weights) for attribute in self.groups]

    def tests(self, column: Column) -> Array:
        """Whether each test of a column reaches epsilon: cuts of a number, or categories."""
        numbers = column.values if column.kind is not Kind.BOOLEAN else column.values.astype(float)
        present = support_of(numbers, len(column))
        masses = self.masses(present.codes)
        if column.kind is Kind.CATEGORY:
            return self.reached(masses)
        return self.cuts(present, masses)

    def cuts(self, present: Support, masses: list[Array]) -> Array:
        """Whether each cut between neighboring numbers reaches epsilon.

        Missing numbers are on either side.
        """
        missing = bool(len(present) and np.isnan(present.values[-1]))
        last = len(present) - missing - 1
        below = [np.cumsum(table, axis=0)[:last] for table in masses]
        reached = self.reached(below)
        if missing:
            reached |= self.reached(
                [low + table[-1] for low, table in zip(below, masses, strict=True)]
            )
        return reached


def merged_numbers(
    column: Column, forbidden: Forbidden, random: np.random.Generator, keep: Keep = "both"
) -> Array:
    """The numbers, with those inside forbidden intervals replaced by one of its ends.

    Examples
    --------
    >>> from proxyuse.measure.association.registry import association_from
    >>> z = support_of(np.repeat([0.0, 1.0], 6), 12)
    >>> forbidden = Forbidden(association_from(None), 0.3, (z,), np.ones(12))
    >>> column = as_column("x", [1, 2, 2, 3, 4, 4, 5, 5, 6, 7, 8, 9])
    >>> merged_numbers(column, forbidden, np.random.default_rng(0)).tolist()
    [1.0, 2.0, 2.0, 6.0, 6.0, 6.0, 3.0, 3.0, 3.0, 7.0, 8.0, 9.0]
    >>> merged_numbers(column, forbidden, np.random.default_rng(0), "below").tolist()
    [1.0, 2.0, 2.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0]
    """
    present = support_of(column.values, len(column))
    reached = forbidden.cuts(present, forbidden.masses(present.codes))
    values, codes = column.values.copy(), present.codes
    last = len(reached)  # of the numbers; a missing one comes after it
    for first, end in _intervals(reached, keep):
        within = (codes >= first) & (codes <= end)
        low, high = present.values[first], present.values[end]
        if first == 0 and end == last:
            raise OneValue(f"all values of {column.name!r} would be merged")
        if first == 0 or end == last:
            values[within] = high if first == 0 else low
        else:
            values[within] = random.choice([low, high], size=int(within.sum()))
    return values


def _intervals(reached: Array, keep: Keep) -> list[tuple[int, int]]:
    """The first and the last value of each interval to merge, by their indices."""
    intervals = runs(reached)  # the cuts first to end - 1 are between the values first to end
    if not intervals or keep == "both":
        return intervals
    if keep == "below":
        return [(intervals[0][0], len(reached))]
    return [(0, intervals[-1][1])]


def runs(flags: Array) -> list[tuple[int, int]]:
    """The beginning and end of each run of true flags.

    Examples
    --------
    >>> runs(np.array([True, False, True, True]))
    [(0, 1), (2, 4)]
    """
    edges = np.diff(np.concatenate([[0], flags.astype(np.int8), [0]]))
    pairs = zip(np.flatnonzero(edges > 0), np.flatnonzero(edges < 0), strict=True)
    return [(int(first), int(end)) for first, end in pairs]


def merged_categories(column: Column, forbidden: Forbidden, random: np.random.Generator) -> Array:
    """The codes, with those of merged categories drawn in proportion to their masses."""
    present = support_of(column.values, len(column))
    masses = np.bincount(present.codes, forbidden.weights)
    codes = column.values.copy()
    for group in merged_groups(forbidden.masses(present.codes), forbidden):
        if len(group) == len(present):
            raise OneValue(f"all values of {column.name!r} would be merged")
        if len(group) > 1:
            within = np.isin(present.codes, group)
            drawn = random.choice(
                present.values[group],
                size=int(within.sum()),
                p=masses[group] / masses[group].sum(),
            )
            codes[within] = drawn
    return codes


def merged_groups(masses: list[Array], forbidden: Forbidden) -> list[list[int]]:
    """Groups of values such that no test of a value reaches epsilon, if the groups are mixed.

    As long as a test reaches epsilon, the group of its value is merged with the lightest group
    that prevents this, or with the lightest of all.
    """
    groups = [[value] for value in range(len(masses[0]) if masses else 0)]

    def reaches(group: list[int]) -> bool:
        total = sum(float(table[group].sum()) for table in masses)
        tables = []
        for table in masses:
            mixed = table[group].sum(axis=0)
            shares = np.array([sum(float(t[value].sum()) for t in masses) for value in group])
            tables.append(shares[:, None] / max(total, 1e-300) * mixed)
        return bool(forbidden.reached(tables).any())

    while len(groups) > 1:
        group = next((group for group in groups if reaches(group)), None)
        if group is None:
            break
        others = sorted(
            (other for other in groups if other is not group),
            key=lambda other: float(masses[0][other].sum()),
        )
        partner = next((other for other in others if not reaches(group + other)), others[0])
        groups = [g for g in groups if g is not group and g is not partner]
        groups.append(sorted(group + partner))
    return groups
