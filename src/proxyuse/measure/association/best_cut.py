"""The best cut of a number: the test ``value <= t`` that is most associated with an attribute.

The plug-in estimate of an association rises with the number of distinct values, whatever the data,
so a number with many values is measured by its best cut instead. Its values are put into groups of
equal mass (`support.cut`). Each boundary between two groups is a candidate. A candidate turns the
table of groups into a table with two rows, or three if numbers are missing: at most t, above t,
missing. The association is the largest value of the measure over the candidates.

If the attribute has many values, bounds from one pass over the occupied cells exclude most
candidates (`cut_ranges`), and only the others are measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import NamedTuple

import numpy as np

from proxyuse.lang.evaluate import Array
from proxyuse.measure.association.cut_ranges import cut_ranges
from proxyuse.measure.association.measures.normalized_mutual_information import (
    NormalizedMutualInformation,
)
from proxyuse.measure.association.protocol import Association, associations_of, needs_values
from proxyuse.measure.association.support import Support, bins_of
from proxyuse.settings import CUT_GROUPS

TIES = 1e-9
"""Candidates this close to the best are equally good; the smallest of them is the cut.

The cut must not depend on how weights are rounded.
"""

CHUNK = 1 << 14
"""The number of tables measured at once."""

WIDE = 64
"""Protected values from which on bounds exclude candidates before they are measured."""
MEASURED_AT_ONCE = 16


@dataclass(frozen=True, slots=True)
class BestCut:
    """A measure of tables of groups: the largest value of another measure over the cuts.

    Attributes
    ----------
    measure : measures the table of each cut.
    missing : whether the last row of a table is for missing numbers.

    Examples
    --------
    >>> from proxyuse.measure.association.measures.normalized_mutual_information import (
    ...     NormalizedMutualInformation,
    ... )
    >>> table = np.array([[2.0, 0.0], [1.0, 1.0], [0.0, 2.0]])
    >>> best = BestCut(NormalizedMutualInformation(), missing=False)
    >>> best.each(table[None]).round(4).tolist(), round(best(table), 4)
    ([[0.3147, 0.3147]], 0.3147)
    """

    measure: Association
    missing: bool

    @property
    def name(self) -> str:
        """The name of the measure in results."""
        return self.measure.name

    @property
    def information_bound(self) -> bool:
        """Whether the measure never exceeds I(X; Z) / H(Z): a cut tells no more than X."""
        return self.measure.information_bound

    def __call__(self, masses: Array) -> float:
        """Return the association at the best cut of one table of groups."""
        return float(self.many(masses[None])[0])

    def many(self, masses: Array) -> Array:
        """Return the association at the best cut of each of many tables of one shape."""
        if self._bounded(masses):
            return np.array([self.best(table)[1].max(initial=0.0) for table in masses])
        return np.asarray(self.each(masses).max(axis=1, initial=0.0))

    def best(self, masses: Array) -> tuple[Array, Array]:
        """Return the cuts of one table that may be the best, in order, and their associations.

        All cuts whose association is within `TIES` of the highest are among them. Takes a pass over
        the table, and a few more for each of these cuts, if there are bounds; otherwise, all cuts
        are measured.
        """
        if not self._bounded(masses):
            found = self.each(masses[None])[0]
            return np.arange(len(found)), found
        last = len(masses) - self.missing
        low, high = cut_ranges(masses[:last], masses[last] if self.missing else None)
        cuts = np.flatnonzero(high >= low.max(initial=0.0) - 2 * TIES)
        parts = [np.zeros(0)]
        for start in range(0, len(cuts), MEASURED_AT_ONCE):
            some = cuts[start : start + MEASURED_AT_ONCE]
            parts.append(
                associations_of(self.measure, np.stack([self.table(masses, cut) for cut in some]))
            )
        return cuts, np.concatenate(parts)

    def _bounded(self, masses: Array) -> bool:
        return masses.shape[-1] >= WIDE and isinstance(self.measure, NormalizedMutualInformation)

    def count(self, masses: Array) -> int:
        """Return the number of cuts of one table."""
        return max(0, len(masses) - 1 - self.missing)

    def each(self, masses: Array) -> Array:
        """Return the association at each cut, by table and cut."""
        cuts = masses.shape[1] - 1 - self.missing
        if cuts < 1:
            return np.zeros((len(masses), 0))
        step = max(1, CHUNK // cuts)
        parts = []
        for start in range(0, len(masses), step):
            tables = self.tables(masses[start : start + step])
            flat = associations_of(self.measure, tables.reshape(-1, *tables.shape[2:]))
            parts.append(flat.reshape(-1, cuts))
        return np.concatenate(parts)

    def tables(self, masses: Array) -> Array:
        """Return the table of each cut, by table, cut, row and column."""
        groups = masses[:, : masses.shape[1] - self.missing]
        below = np.cumsum(groups, axis=1)[:, :-1]
        # Not the difference from the total: a sum of no masses must be exactly 0.
        above = np.cumsum(groups[:, ::-1], axis=1)[:, ::-1][:, 1:]
        rows = [below, above]
        if self.missing:
            rows.append(np.broadcast_to(masses[:, -1:], below.shape))
        return np.stack(rows, axis=2).astype(np.float64, copy=False)

    def table(self, masses: Array, cut: int) -> Array:
        """Return the table of one cut: the same sums as those of `tables`, in the same order."""
        groups = masses[: len(masses) - self.missing]
        rows = [reduce(np.add, groups[: cut + 1]), reduce(np.add, groups[:cut:-1])]
        if self.missing:
            rows.append(masses[-1])
        return np.stack(rows).astype(np.float64, copy=False)


class Cut(NamedTuple):
    """The best cut of a computation for one protected attribute.

    Attributes
    ----------
    threshold : the largest number on the lower side.
    above : the smallest number on the upper side.
    association : the association of this cut.
    candidates : the number of cuts it was chosen from.
    coordinate : the coordinate that is cut, if the computation is a vector.
    """

    threshold: float
    above: float
    association: float
    candidates: int
    coordinate: int | None = None


def best_measure(measure: Association, groups: Support) -> BestCut:
    """Return the measure of tables whose rows are groups of numbers."""
    return BestCut(measure, missing=bool(np.isnan(groups.values[-1])))


def cut_at(
    measure: Association, parts: Sequence[tuple[Support, Array]]
) -> tuple[Cut, Array, Support] | None:
    """Return the best cut with the table and the values of its rows; None if nothing can be cut.

    Parameters
    ----------
    parts : the groups and their table; for a vector, those of each coordinate.
    """
    rules = [best_measure(measure, groups) for groups, _ in parts]
    candidates = sum(rule.count(table) for rule, (_, table) in zip(rules, parts, strict=True))
    if candidates == 0:
        return None
    each = [rule.best(table) for rule, (_, table) in zip(rules, parts, strict=True)]
    highest = [float(found.max(initial=0.0)) for _, found in each]
    best = max(highest)
    coordinate = next(i for i, found in enumerate(highest) if found >= best - TIES)
    cuts, found = each[coordinate]
    index = int(cuts[np.argmax(found >= best - TIES)])
    groups, table = parts[coordinate]
    assert groups.upper is not None
    rule = rules[coordinate]
    last = len(groups) - 1 - rule.missing
    ends = [0, index + 1, *([last + 1] if rule.missing else [])]
    tops = [index, last, *([last + 1] if rule.missing else [])]
    cut = Cut(
        float(groups.upper[index]) + 0.0,
        float(groups.values[index + 1]) + 0.0,
        best,
        candidates,
        coordinate if len(parts) > 1 else None,
    )
    rows = Support(np.empty(0, dtype=np.intp), groups.values[ends], groups.upper[tops])
    return cut, rule.table(table, index), rows


def cut_of_few(measure: Association, support: Support, table: Array) -> Cut | None:
    """Return the best cut of a number with few values, to show it beside its association.

    None for numbers with fewer than three values, for other values, and for measures that read
    values.
    """
    values = support.values
    if support.binned or values.dtype != np.float64 or values.ndim == 2 or needs_values(measure):
        return None
    if np.count_nonzero(~np.isnan(values)) < 3:
        return None
    group_of = bins_of(values, table.sum(axis=1), CUT_GROUPS, 0)
    assert group_of is not None
    first = np.flatnonzero(np.diff(group_of, prepend=-1))
    last = np.append(first[1:], len(values)) - 1
    groups = Support(support.codes, values[first], values[last])
    found = cut_at(measure, [(groups, np.add.reduceat(table, first))])
    return None if found is None else found[0]
