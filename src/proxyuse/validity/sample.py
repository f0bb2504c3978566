"""A joint table as a sample: its effective size and the variance of each cell.

Rows are independent draws. A row of twice the weight is not two rows, so with unequal weights the
effective sample size is ``(sum w)^2 / sum w^2`` (Kish), and the variance of a cell follows from the
sum of its squared weights.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from proxyuse.detect.witnesses import Witness
from proxyuse.errors import DataError
from proxyuse.lang.evaluate import Array
from proxyuse.measure.association.joint_table import joint_masses
from proxyuse.settings import Weights
from proxyuse.validity.evidence import Evidence


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """A table in units of observations.

    Attributes
    ----------
    counts : by value of the computation and of the protected attribute; they sum to the effective
        sample size.
    variances : the Poisson variances of the counts; equal to the counts if weights are equal.
    heaviest : the heaviest row, in observations.

    Examples
    --------
    >>> table = Sample.of(np.array([[2.0, 2.0]]), np.array([[4.0, 2.0]]), heaviest=2.0)
    >>> table.counts.round(3).tolist(), table.variances.round(3).tolist(), round(table.heaviest, 3)
    ([[1.333, 1.333]], [[1.778, 0.889]], 1.333)
    """

    counts: Array
    variances: Array
    heaviest: float = 1.0

    @classmethod
    def of(cls, masses: Array, squares: Array, heaviest: float) -> Sample:
        """From the sums of the weights and of their squares, and the largest weight."""
        scale = float(masses.sum() / squares.sum())
        return cls(masses * scale, squares * scale * scale, heaviest * scale)

    @property
    def size(self) -> float:
        """The effective sample size."""
        return float(self.counts.sum())


@dataclass(frozen=True, slots=True, eq=False)
class Observed:
    """The rows of a population as observations.

    Attributes
    ----------
    alike : whether all weights are equal, or are counts of records.
    squares : the contribution of each row to the sum of squared weights.
    """

    alike: bool
    weights: Array
    squares: Array

    @classmethod
    def of(cls, evidence: Evidence, meaning: Weights) -> Observed:
        """The observations of a population, given the meaning of its weights."""
        weights = evidence.population.weights
        if meaning == "counts":
            if not evidence.population.whole_weights:
                raise DataError(
                    'weights="counts" needs integer weights, the number of records per row; use '
                    'weights="sampling" for other weights'
                )
            return cls(True, weights, weights)
        same = bool(weights.min() == weights.max())
        return cls(same, weights, weights * weights)

    @property
    def size(self) -> float:
        """The effective sample size of all rows."""
        return float(self.weights.sum()) ** 2 / float(self.squares.sum())

    def counts_of(self, masses: Array) -> Array:
        """Masses in observations; integers if `alike`."""
        counts = masses * (self.size / float(self.weights.sum()))
        return np.rint(counts) if self.alike else counts

    @property
    def heaviest(self) -> float:
        """The heaviest row, in observations."""
        if self.alike:
            return 1.0
        return float(self.weights.max() * self.weights.sum() / self.squares.sum())


def sample_of(evidence: Evidence, witness: Witness, observed: Observed) -> Sample:
    """The joint table of a witness and its protected attribute, as used for the association."""
    if observed.alike:
        counts = observed.counts_of(witness.table.masses)
        return Sample(counts, counts)
    rows = evidence.engine.sample
    support = rows.association_support(witness.expression)
    attribute = rows.protected[rows.protected_names.index(witness.protected)][1]
    masses, squares = (
        joint_masses(support, [attribute], by_row)[0]
        for by_row in (observed.weights, observed.squares)
    )
    return Sample.of(masses, squares, float(observed.weights.max()))


def spread(observed: Observed, effects: Array) -> float:
    """The variance of the weighted mean of a value per row."""
    total = float(observed.weights.sum())
    centered = effects - float(np.dot(effects, observed.weights)) / total
    return float(np.dot(observed.squares, centered * centered)) / (total * total)
