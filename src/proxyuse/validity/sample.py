"""A joint table as a sample: its effective size and the variance of each cell.

Rows are independent draws. A row of twice the weight is not two rows, so with unequal weights the
effective sample size is ``(sum w)^2 / sum w^2`` (Kish), and the variance of a cell follows from the
sum of its squared weights.

Rows of one cluster are not independent: rows of the same person, or copies of a row (see `copies`).
A cluster is one observation, and its weight is the sum of the weights of its rows. Variances are
those of sums over clusters.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from proxyuse.data.copies import copied_rows
from proxyuse.errors import DataError
from proxyuse.lang.evaluate import Array
from proxyuse.lang.nodes import Term
from proxyuse.measure.association.joint_table import JointTable, joint_masses
from proxyuse.measure.association.support import Support
from proxyuse.measure.engine import Measurement
from proxyuse.measure.row_order import first_half
from proxyuse.methods import Weights
from proxyuse.validity.evidence import Evidence


class Parts(NamedTuple):
    """The part of each cluster in each cell: parallel arrays, with masses in observations."""

    clusters: Array
    rows: Array
    columns: Array
    masses: Array

    def variance(self, gradient: Array) -> float:
        """The variance of the sum over clusters of a number per cell."""
        sums = np.bincount(self.clusters, self.masses * gradient[self.rows, self.columns])
        return float(np.dot(sums, sums))


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """A table in units of observations.

    Attributes
    ----------
    counts : by value of the computation and of the protected attribute; they sum to the effective
        sample size.
    variances : the Poisson variances of the counts; equal to the counts if weights are equal.
    heaviest : the heaviest observation, as a multiple of an average one.
    once : for each side, the values that only one observation has; None if the counts are numbers
        of observations.
    parts : the part of each cluster in each cell; None if rows are independent.

    Examples
    --------
    >>> table = Sample.of(np.array([[2.0, 2.0]]), np.array([[4.0, 2.0]]), heaviest=2.0)
    >>> table.counts.round(3).tolist(), table.variances.round(3).tolist(), round(table.heaviest, 3)
    ([[1.333, 1.333]], [[1.778, 0.889]], 1.333)
    >>> long_tail = np.array([[5.0, 0, 1, 0], [0, 5, 0, 1]])
    >>> Sample(long_tail, long_tail).rare_mass
    2.0
    >>> Sample(long_tail, long_tail).merged().counts.tolist()
    [[5.0, 0.0, 1.0], [0.0, 5.0, 1.0]]
    """

    counts: Array
    variances: Array
    heaviest: float = 1.0
    once: tuple[Array, Array] | None = None
    parts: Parts | None = None

    @classmethod
    def of(cls, masses: Array, squares: Array, heaviest: float) -> Sample:
        """From the sums of the weights and of their squares, and the largest weight."""
        scale = float(masses.sum() / squares.sum())
        return cls(masses * scale, squares * scale * scale, heaviest * scale)

    @property
    def size(self) -> float:
        """The effective sample size."""
        return float(self.counts.sum())

    @property
    def margins(self) -> tuple[Array, Array]:
        """The counts of each value of the computation, and of the protected attribute."""
        return self.counts.sum(axis=1), self.counts.sum(axis=0)

    @property
    def values_seen_once(self) -> tuple[Array, Array]:
        """For each side, a mask of the values that only one observation has."""
        if self.once is not None:
            return self.once
        rows, columns = ((margin > 0) & (margin < 1.5) for margin in self.margins)
        return rows, columns

    @property
    def rare_mass(self) -> float:
        """The observations with a value, of either side, that no other observation has."""
        rows, columns = self.values_seen_once
        return float(self.counts[rows].sum() + self.counts[~rows][:, columns].sum())

    def merged(self) -> Sample:
        """The table with all values that were seen once merged into one, on each side."""
        codes = [_merged_codes(once) for once in self.values_seen_once]
        counts, variances = (_summed(table, *codes) for table in (self.counts, self.variances))
        parts = self.parts
        if parts is not None:
            parts = parts._replace(rows=codes[0][parts.rows], columns=codes[1][parts.columns])
        return Sample(counts, variances, self.heaviest, parts=parts)

    def deviation(self, gradient: Array, added: Array | float = 0.0) -> float:
        """The standard deviation of a sum over observations of a number per cell.

        The number has mean 0. `added` is a further variance of each count.
        """
        if self.parts is None:
            return float(np.sqrt(((self.variances + added) * gradient * gradient).sum()))
        return math.sqrt(self.parts.variance(gradient) + float((added * gradient * gradient).sum()))


def _merged_codes(once: Array) -> Array:
    """A new number for each value; those seen once share the last one."""
    codes: Array = np.cumsum(~once) - 1
    codes[once] = np.count_nonzero(~once)
    return codes


def _summed(table: Array, rows: Array, columns: Array) -> Array:
    """Add up the rows and the columns of a table that share a number."""
    summed = np.zeros((int(rows.max()) + 1, table.shape[1]))
    np.add.at(summed, rows, table)
    result = np.zeros((len(summed), int(columns.max()) + 1))
    np.add.at(result.T, columns, summed.T)
    return result


@dataclass(frozen=True, slots=True, eq=False)
class Observed:
    """The rows of a population as observations.

    Attributes
    ----------
    alike : whether all rows are independent and have equal weights, or weights are counts of
        records.
    squares : the contribution of each row to the sum of squared weights.
    clusters : the number of each row's cluster, from 0; None if rows are independent.
    """

    alike: bool
    weights: Array
    squares: Array
    clusters: Array | None = None

    @classmethod
    def of(cls, evidence: Evidence, meaning: Weights) -> Observed:
        """The observations of a population, given the meaning of its weights. Linear in the rows.

        Copied rows are clusters, unless the caller named the clusters, or weights are counts of
        identical records.
        """
        population = evidence.population
        weights, clusters = population.weights, population.clusters
        if meaning == "counts":
            if not population.whole_weights:
                raise DataError(
                    'weights="counts" needs integer weights, the number of records per row; use '
                    'weights="sampling" for other weights'
                )
            if clusters is None:
                return cls(True, weights, weights)
        elif clusters is None:
            clusters = copied_rows(population)
        if clusters is not None and int(clusters.max()) + 1 == len(clusters):
            clusters = None
        same = bool(weights.min() == weights.max())
        if clusters is None:
            return cls(same, weights, weights * weights)
        totals = np.bincount(clusters, weights)
        return cls(False, weights, weights * totals[clusters], clusters)

    def taking(self, rows: Array) -> Observed:
        """The observations of the rows of a mask, which must not separate a cluster."""
        clusters = None
        if self.clusters is not None:
            clusters = np.unique(self.clusters[rows], return_inverse=True)[1]
        return Observed(self.alike, self.weights[rows], self.squares[rows], clusters)

    @property
    def size(self) -> float:
        """The effective sample size of all rows."""
        return float(self.weights.sum()) ** 2 / float(self.squares.sum())

    @property
    def observations(self) -> int:
        """The number of independent observations: rows or clusters."""
        return len(self.weights) if self.clusters is None else int(self.clusters.max()) + 1

    def counts_of(self, masses: Array) -> Array:
        """Masses in observations; integers if `alike`."""
        counts = masses * (self.size / float(self.weights.sum()))
        return np.rint(counts) if self.alike else counts

    @property
    def heaviest(self) -> float:
        """The heaviest observation, as a multiple of an average one."""
        if self.alike:
            return 1.0
        totals = self.weights
        if self.clusters is not None:
            totals = np.bincount(self.clusters, self.weights)
        return float(totals.max() * self.weights.sum() / self.squares.sum())

    def sample(self, rows: Support, columns: Support) -> Sample:
        """The joint table of two columns of values, in observations. Linear in the rows."""
        scale = self.size / float(self.weights.sum())
        (masses,) = joint_masses(rows, [columns], self.weights)
        counts = masses * scale
        if self.clusters is None:
            (squares,) = joint_masses(rows, [columns], self.squares)
            observers = np.arange(len(self.weights))
            parts = None
        else:
            parts = self._parts(rows, columns, scale)
            squares = np.zeros(masses.shape)
            np.add.at(squares, (parts.rows, parts.columns), (parts.masses / scale) ** 2)
            observers = self.clusters
        once = _seen_once(rows, observers), _seen_once(columns, observers)
        return Sample(counts, squares * scale * scale, self.heaviest, once, parts)

    def _parts(self, rows: Support, columns: Support, scale: float) -> Parts:
        """The mass of each cluster in each cell where it has any."""
        assert self.clusters is not None
        cells = rows.codes * len(columns) + columns.codes
        order = np.lexsort((cells, self.clusters))
        changes = (np.diff(cells[order]) != 0) | (np.diff(self.clusters[order]) != 0)
        starts = np.concatenate([[0], np.flatnonzero(changes) + 1])
        first = order[starts]
        masses = np.add.reduceat(self.weights[order], starts) * scale
        return Parts(self.clusters[first], rows.codes[first], columns.codes[first], masses)


def _seen_once(support: Support, observers: Array) -> Array:
    """A mask of the values that exactly one observer has."""
    least = np.full(len(support), np.iinfo(np.intp).max)
    most = np.full(len(support), -1)
    np.minimum.at(least, support.codes, observers)
    np.maximum.at(most, support.codes, observers)
    once: Array = least == most
    return once


def sample_of(engine: Measurement, term: Term, table: JointTable, observed: Observed) -> Sample:
    """The joint table of a computation and a protected attribute, in observations."""
    if observed.alike:
        counts = observed.counts_of(table.masses)
        return Sample(counts, counts)
    rows = engine.sample
    support = engine.joint.support_in(term, table)
    attribute = rows.protected[rows.protected_names.index(table.protected)][1]
    return observed.sample(support, attribute)


def spread(observed: Observed, effects: Array) -> float:
    """The variance of the weighted mean of a value per row."""
    total = float(observed.weights.sum())
    centered = effects - float(np.dot(effects, observed.weights)) / total
    if observed.clusters is None:
        return float(np.dot(observed.squares, centered * centered)) / (total * total)
    sums = np.bincount(observed.clusters, observed.weights * centered)
    return float(np.dot(sums, sums)) / (total * total)


def halves(evidence: Evidence, observed: Observed) -> Array:
    """Return which rows are in the first half; see `first_half`."""
    return first_half(evidence.engine.sample, observed.clusters)
