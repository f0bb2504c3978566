"""A joint table as a sample: how many observations it is worth, cell by cell.

Rows are independent draws. Where weights differ, a row of twice the weight is no two rows: a
table is then worth ``(sum w)^2 / sum w^2`` observations (Kish), and a cell's share varies as the
sum of its squared weights says.
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
    counts : by value of the computation and of the protected attribute; they sum to what the
        table is worth.
    variances : of the counts, taken as Poisson; equal to them where all rows count alike.
    heaviest : what the heaviest row is worth.

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
        """How many observations it is worth."""
        return float(self.counts.sum())


@dataclass(frozen=True, slots=True, eq=False)
class Observed:
    """What each row of a population is worth as an observation.

    Attributes
    ----------
    alike : whether all rows are worth the same, or stand for as many records as they weigh.
    squares : what a row adds to the sum of squared weights.
    """

    alike: bool
    weights: Array
    squares: Array

    @classmethod
    def of(cls, evidence: Evidence, meaning: Weights) -> Observed:
        """By what weights mean."""
        weights = evidence.population.weights
        if meaning == "counts":
            if not evidence.population.whole_weights:
                raise DataError(
                    'weights="counts" needs whole numbers, for each says how many records a row '
                    'stands for; pass weights="sampling" for these'
                )
            return cls(True, weights, weights)
        same = bool(weights.min() == weights.max())
        return cls(same, weights, weights * weights)

    @property
    def size(self) -> float:
        """How many observations all rows are worth."""
        return float(self.weights.sum()) ** 2 / float(self.squares.sum())

    def counts_of(self, masses: Array) -> Array:
        """Masses in observations, whole numbers where all rows are worth the same."""
        counts = masses * (self.size / float(self.weights.sum()))
        return np.rint(counts) if self.alike else counts

    @property
    def heaviest(self) -> float:
        """How many observations the heaviest row is worth."""
        if self.alike:
            return 1.0
        return float(self.weights.max() * self.weights.sum() / self.squares.sum())


def sample_of(evidence: Evidence, witness: Witness, observed: Observed) -> Sample:
    """The joint table of a witness and its protected attribute, as association saw it."""
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
    """The variance of the weighted mean of something that each row has."""
    total = float(observed.weights.sum())
    centerd = effects - float(np.dot(effects, observed.weights)) / total
    return float(np.dot(observed.squares, centerd * centerd)) / (total * total)
