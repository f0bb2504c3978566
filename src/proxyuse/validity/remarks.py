"""Remarks on the validity methods: what they guarantee, and what limits them.

A remark holds its numbers, not a text: `report.findings.remarks` writes the sentence.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from proxyuse.methods import Correction
from proxyuse.notes import RowCount


@dataclass(frozen=True, slots=True)
class Hypotheses:
    """How many hypotheses a method tests: pairs of a computation and a protected attribute."""

    computations: int
    attributes: int

    @property
    def pairs(self) -> int:
        """The number of pairs."""
        return self.computations * self.attributes


@dataclass(frozen=True, slots=True)
class ConfirmationLevel:
    """The error probability of confirmation, for all tests together.

    Attributes
    ----------
    operators : the number of operators whose partial sums were searched; these count as well.
    """

    alpha: float
    tests: Hypotheses
    operators: int = 0


@dataclass(frozen=True, slots=True)
class TrainingRows:
    """The model was trained on these rows.

    Attributes
    ----------
    detected : whether this follows from what the model stores about its training data. Otherwise
        the caller said so.
    """

    detected: bool


@dataclass(frozen=True, slots=True)
class AssumedHeldOut:
    """The rows count as held out, although nobody said so."""


@dataclass(frozen=True, slots=True)
class CopiedRows:
    """Some rows are copies of others."""

    rows: RowCount


@dataclass(frozen=True, slots=True)
class Clusters:
    """The rows of each cluster count as one observation."""

    rows: int
    clusters: int


@dataclass(frozen=True, slots=True)
class UnequalWeights:
    """Rows are observations of unequal weight; `size` is the effective sample size."""

    rows: int
    size: float


@dataclass(frozen=True, slots=True)
class WeightsAreCounts:
    """The weights of the rows are numbers of records."""

    rows: int
    records: float


@dataclass(frozen=True, slots=True)
class NoBounds:
    """An influence measure has no confidence bounds."""

    influence: str


@dataclass(frozen=True, slots=True)
class SquaredChangeBounds:
    """What the confidence bounds of squared change assume, and when there are none."""


@dataclass(frozen=True, slots=True)
class PermutationLevel:
    """The number of permutations, and the error rate that the correction controls."""

    tests: Hypotheses
    permutations: int
    seed: int
    correction: Correction
    alpha: float


@dataclass(frozen=True, slots=True)
class ExactPValues:
    """Some p-values are exact; with 0, none could be, although they were requested."""

    number: int


@dataclass(frozen=True, slots=True)
class WeightsKept:
    """Rows kept their weights while protected values were permuted."""


@dataclass(frozen=True, slots=True)
class RecordsPermuted:
    """Protected values were permuted over records. The weight of a row is its number of records."""

    records: float


@dataclass(frozen=True, slots=True)
class IndependenceOnly:
    """A permutation test asks neither for the association threshold nor for influence."""


@dataclass(frozen=True, slots=True)
class TooFewPermutations:
    """Some witnesses are undecided.

    Attributes
    ----------
    tests : the number of tests, if the correction depends on it.
    exact : whether exact p-values were requested.
    """

    permutations: int
    undecided: int
    needed: int
    tests: int | None
    exact: bool


@dataclass(frozen=True, slots=True)
class SplitProcedure:
    """How the rows were split, and in how many splits a witness must pass."""

    splits: int
    share: float
    rows: int
    needed: int


@dataclass(frozen=True, slots=True)
class ValueLacking:
    """In some splits, a part has no row with some value of a protected attribute."""

    attribute: str
    splits: int
    total: int


@dataclass(frozen=True, slots=True)
class SmallPart:
    """The smaller part of a split has few rows."""

    rows: RowCount


@dataclass(frozen=True, slots=True)
class OtherWitnesses:
    """Computations that pass in enough splits, but are not witnesses of the audit.

    Attributes
    ----------
    reason : they are not witnesses on all rows, or the budget of the audit excluded them.
    examples : the terms that pass in most splits, each with its protected attribute.
    """

    reason: Literal["parts only", "budget"]
    number: int
    examples: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class ChosenByRows:
    """The rows determined which computations were measured."""


Remark = (
    ConfirmationLevel
    | TrainingRows
    | AssumedHeldOut
    | CopiedRows
    | Clusters
    | UnequalWeights
    | WeightsAreCounts
    | NoBounds
    | SquaredChangeBounds
    | PermutationLevel
    | ExactPValues
    | WeightsKept
    | RecordsPermuted
    | IndependenceOnly
    | TooFewPermutations
    | SplitProcedure
    | ValueLacking
    | SmallPart
    | OtherWitnesses
    | ChosenByRows
)
"""Any remark."""
