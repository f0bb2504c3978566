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
from proxyuse.lang.nodes import Term
from proxyuse.measure.association.joint_table import JointTable, Labels, labels_of
from proxyuse.measure.association.support import support_of
from proxyuse.program import Frame
from proxyuse.report.disclosure import joined_labels, joined_lines, printed_table
from proxyuse.report.inputs import Audited
from proxyuse.report.reading import shortest_between
from proxyuse.report.result import ProtectedValue, Table


class RowTables:
    """The joint tables of one audit, in counts of rows that may be printed."""

    def __init__(self, audit: Audited, min_cell: int) -> None:
        self._audit = audit
        self._min_cell = min_cell
        self._weights = audit.population.weights
        self._same = bool(self._weights.min() == self._weights.max())
        self._counts: dict[bytes, dict[str, Array]] = {}
        self._sides = {z.name: _Side(z, audit) for z in audit.population.protected}

    @cached_property
    def _frame(self) -> Frame:
        return Frame(self._audit.population.columns[name] for name in self._audit.program.variables)

    def printed(self, term: Term, table: JointTable) -> Table:
        """The table of a computation and a protected attribute."""
        side = self._sides[table.protected]
        labels = Labels(table.support, table.vocabulary)
        rows = bin_labels(labels) if table.binned else labels
        return printed_table(self.counts(term, table), rows, side.labels, self._min_cell)

    def counts(self, term: Term, table: JointTable) -> Array:
        """The number of rows in each cell."""
        if self._same:
            return np.asarray(np.rint(table.masses / self._weights[0]), dtype=np.int64)
        if term.digest not in self._counts:
            codes = self._codes(term, table)
            self._counts[term.digest] = {
                name: _counted(codes, len(table.masses), side) for name, side in self._sides.items()
            }
        return self._counts[term.digest][table.protected]

    def _codes(self, term: Term, table: JointTable) -> Array:
        """The table row of each row of the population."""
        frame, n_rows = self._frame, self._audit.population.n_rows
        with np.errstate(all="ignore"):
            values = evaluate(term, frame.arrays, frame.vocabulary)
        if table.binned:
            return _bins(np.broadcast_to(values, (n_rows,)), table.rows)
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

    def groups(self, protected: str) -> Array:
        """The index in `values` of each row's value of a protected attribute."""
        side = self._sides[protected]
        rows = np.bincount(side.codes, minlength=len(side.labels))
        index = np.empty(len(rows), dtype=np.intp)
        for number, line in enumerate(joined_lines(rows.tolist(), self._min_cell)):
            index[line] = number
        return np.asarray(index[side.codes])


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
        repr(shortest_between(high, high, low)).removesuffix(".0")
        for (_, high), (low, _) in pairwise(ends)
    ]
    if not cuts:
        named = ["any number"] * len(ends)
    else:
        inner = [f"above {a}, at most {b}" for a, b in pairwise(cuts)]
        named = [f"at most {cuts[0]}", *inner, f"above {cuts[-1]}"]
    return (*named, *(label for label in labels if label == "missing"))
