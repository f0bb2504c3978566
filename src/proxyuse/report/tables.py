"""Joint tables in counts of rows.

The tables of an audit hold masses. A heavy row must not pass for many people, so the number of rows
determines what may be printed. Labels of bins show the boundaries between bins, not the smallest
and largest value of each bin, because those are values of individual people.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise

import numpy as np

from proxyuse.data.population import Protected
from proxyuse.lang.evaluate import Array, evaluate
from proxyuse.lang.nodes import Term, variables
from proxyuse.measure.association.best_cut import Cut
from proxyuse.measure.association.joint_table import JointTable, Labels, labels_of
from proxyuse.measure.association.support import support_of
from proxyuse.program import Frame
from proxyuse.report.disclosure import index_of, joined_labels, joined_lines, printed_table
from proxyuse.report.inputs import Audited
from proxyuse.report.reading import MOST_DECIMALS, shortest_between
from proxyuse.report.result import ProtectedValue, Table
from proxyuse.words import short_number

MOST_BYTES = 1 << 28
"""The memory for table rows of the population that are kept."""


class RowTables:
    """The joint tables of one audit, in counts of rows that may be printed."""

    def __init__(self, audit: Audited, min_cell: int) -> None:
        self._audit = audit
        self._min_cell = min_cell
        self._weights = audit.population.weights
        self._same = bool(self._weights.min() == self._weights.max())
        self._counts: dict[bytes, dict[str, Array]] = {}
        self._codes: dict[tuple[bytes, str], Array] = {}
        self._bytes = 0
        self._sides = {z.name: _Side(z, audit) for z in audit.population.protected}

    @cached_property
    def _frame(self) -> Frame:
        return Frame(self._audit.population.columns[name] for name in self._audit.program.variables)

    def printed(
        self, term: Term, table: JointTable, possible: tuple[Array, Array] | None = None
    ) -> Table:
        """The table of a computation and a protected attribute.

        `possible` has the least and the largest value of each cell that a reader must consider.
        """
        side = self._sides[table.protected]
        labels = Labels(table.support, table.vocabulary)
        if table.cut is not None and table.divided:
            rows: Sequence[str] = cut_labels(table.cut, len(labels) > 2)
        else:
            rows = bin_labels(labels) if table.binned else labels
        counts = self.counts(term, table)
        return printed_table(counts, rows, side.labels, self._min_cell, possible)

    def counts(self, term: Term, table: JointTable) -> Array:
        """The number of rows in each cell."""
        if self._same:
            return np.asarray(np.rint(table.masses / self._weights[0]), dtype=np.int64)
        if table.divided:  # each attribute has its own cut
            codes = self.codes(term, table)
            return _counted(codes, len(table.masses), self._sides[table.protected])
        if term.digest not in self._counts:
            codes = self.codes(term, table)
            self._counts[term.digest] = {
                name: _counted(codes, len(table.masses), side) for name, side in self._sides.items()
            }
        return self._counts[term.digest][table.protected]

    def codes(self, term: Term, table: JointTable, people: Array | None = None) -> Array:
        """The table row of each row of the population, or of some of its rows."""
        key = term.digest, table.protected if table.divided else ""
        if key in self._codes:
            codes = self._codes[key]
            return codes if people is None else codes[people]
        codes = self._coded(term, table, people)
        if people is None and self._bytes < MOST_BYTES:
            kept = codes.astype(np.int16 if len(table.masses) < 1 << 15 else np.int32)
            self._codes[key] = kept
            self._bytes += kept.nbytes
        return codes

    def _coded(self, term: Term, table: JointTable, people: Array | None) -> Array:
        frame, n_rows = self._frame, self._audit.population.n_rows
        arrays = frame.arrays
        if people is not None:
            arrays = {name: arrays[name][people] for name in variables(term)}
            n_rows = len(people)
        with np.errstate(all="ignore"):
            values = evaluate(term, arrays, frame.vocabulary)
        values = np.broadcast_to(values, (n_rows, *values.shape[1:]))
        if table.cut is not None and table.cut.coordinate is not None:
            values = values[:, table.cut.coordinate]
        if table.binned:
            return _bins(values, table.rows)
        support = support_of(values, n_rows)
        index = {label: row for row, label in enumerate(table.rows)}
        labels = labels_of(support, frame.vocabulary)
        return np.asarray(np.array([index[label] for label in labels])[support.codes])

    def values(self, protected: str) -> tuple[ProtectedValue, ...]:
        """The values of a protected attribute, with the number of rows and the weight of each."""
        side = self._sides[protected]
        size = len(side.labels)
        rows = np.bincount(side.codes, minlength=size)
        masses = np.bincount(side.codes, self._weights, minlength=size)
        lines = joined_lines(rows.tolist(), self._min_cell)
        return tuple(
            ProtectedValue(
                label,
                int(rows[line].sum()),
                round(float(masses[line].sum() / masses.sum()), 4),
            )
            for label, line in zip(joined_labels(side.labels, lines), lines, strict=True)
        )

    def labels(self, protected: str) -> Array:
        """The value of a protected attribute of each row, as the column of a table of masses."""
        return self._sides[protected].codes

    def columns(self, protected: str) -> Array:
        """The index in `values` of each value of a protected attribute."""
        side = self._sides[protected]
        rows = np.bincount(side.codes, minlength=len(side.labels))
        return index_of(joined_lines(rows.tolist(), self._min_cell), len(rows))

    def groups(self, protected: str) -> Array:
        """The index in `values` of each row's value of a protected attribute."""
        return np.asarray(self.columns(protected)[self._sides[protected].codes])


class _Side:
    """The values of a protected attribute, grouped as in the tables of the audit."""

    def __init__(self, protected: Protected, audit: Audited) -> None:
        frame = Frame([protected.column])
        (values,) = frame.arrays.values()
        support = support_of(values, audit.population.n_rows)
        known = self._columns(protected.name, audit)
        if known is None or len(known) == len(support):
            self.codes, self.labels = support.codes, labels_of(support, frame.vocabulary)
        else:
            self.codes, self.labels = _bins(values, known), bin_labels(known)

    @staticmethod
    def _columns(name: str, audit: Audited) -> tuple[str, ...] | None:
        """The column labels of the audit's tables; None if it has no table."""
        decompositions = audit.decompositions
        return decompositions[0].tables[name].columns if len(decompositions) else None


def _counted(codes: Array, height: int, side: _Side) -> Array:
    width = len(side.labels)
    flat = np.bincount(codes * width + side.codes, minlength=height * width)
    return flat.reshape(height, width)


def _ends(label: str) -> tuple[float, float]:
    """The smallest and largest number of a bin; NaN for the bin of missing values."""
    if label == "missing":
        return math.nan, math.nan
    low, _, high = label.partition(" to ")
    return float(low), float(high or low)


def _bins(values: Array, labels: Sequence[str]) -> Array:
    """The bin of each number. Missing values are in the last bin."""
    lows = np.array([_ends(label)[0] for label in labels])
    bins = np.searchsorted(lows[~np.isnan(lows)], values, side="right") - 1
    return np.where(np.isnan(values), len(lows) - 1, bins)


def bin_labels(labels: Sequence[str]) -> tuple[str, ...]:
    """Label bins by the boundaries between them.

    Examples
    --------
    >>> bin_labels(["17 to 22", "23.25 to 30", "31 to 90", "missing"])
    ('at most 22', 'above 22, at most 30', 'above 30', 'missing')
    """
    ends = [_ends(label) for label in labels if label != "missing"]
    cuts = [
        short_number(shortest_between(high, high, low)) for (_, high), (low, _) in pairwise(ends)
    ]
    if not cuts:
        named = ["any number"] * len(ends)
    else:
        inner = [f"above {a}, at most {b}" for a, b in pairwise(cuts)]
        named = [f"at most {cuts[0]}", *inner, f"above {cuts[-1]}"]
    return (*named, *(label for label in labels if label == "missing"))


def cut_labels(cut: Cut, missing: bool) -> tuple[str, ...]:
    """Label the two sides of a cut, and missing values if there are any."""
    threshold = short_number(short_threshold(cut))
    return (f"at most {threshold}", f"above {threshold}", *(["missing"] if missing else []))


def short_threshold(cut: Cut) -> float:
    """The number with the fewest digits that divides the audited rows like the cut.

    Examples
    --------
    >>> short_threshold(Cut(41299.7, 41300.2, 0.2, 255)), short_threshold(Cut(0.12, 0.1234, 0.2, 9))
    (41300.0, 0.12)
    >>> short_threshold(Cut(-0.7, 12.0, 0.2, 255)), short_threshold(Cut(2.0, 3.0, 0.2, 255))
    (0.0, 2.0)
    >>> short_threshold(Cut(-math.inf, -5.5, 0.2, 255))
    -7.0
    """
    low, high = cut.threshold, cut.above
    if low <= 0 < high:
        return 0.0
    if math.isinf(low):
        return min(math.floor(high) - 1.0, math.nextafter(high, low))
    if math.isinf(high):
        return low
    largest = math.floor(math.log10(max(abs(low), abs(high))))
    for decimals in range(-largest, MOST_DECIMALS + 1):
        step = 10.0**-decimals
        number = round(math.ceil(low / step) * step, decimals)
        if low <= number < high:
            return number
    return low
