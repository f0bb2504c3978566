"""Notes that travel with a result: what was dropped, binned, estimated or not searched.

A result is only honest together with its notes, so every stage passes them on. A note holds its
numbers, not a text: `report.findings.notes` writes the sentence. Numbers of rows have their own
type, `RowCount`, so that a report can withhold small ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, Literal


class NoteKind(StrEnum):
    """What a note is about."""

    UNSETTLED = "unsettled"
    SEARCHED = "searched"
    NOT_LISTED = "not listed"
    BINNED = "binned"
    LONG_SUPPORT = "long support"
    SAMPLED = "sampled"
    DRAWN = "drawn"
    DROPPED = "dropped"
    DERIVED = "derived"
    MISSING = "missing"
    METHOD = "method"
    ROUNDED = "rounded"
    OPAQUE = "opaque"
    TIME_LIMIT = "time limit"
    FILES = "files"


@dataclass(frozen=True, slots=True)
class RowCount:
    """A number of rows, or of cells in different rows.

    Attributes
    ----------
    rows : the number.
    private : whether it is withheld at any size, unless all counts are printed.
    """

    rows: int
    private: bool = False


@dataclass(frozen=True, slots=True)
class ZeroWeight:
    """Rows of weight 0 were dropped.

    Examples
    --------
    >>> ZeroWeight(RowCount(3)).kind.value
    'dropped'
    """

    kind: ClassVar[NoteKind] = NoteKind.DROPPED
    rows: RowCount


@dataclass(frozen=True, slots=True)
class MissingDropped:
    """Rows without a value for some protected attributes were dropped."""

    kind: ClassVar[NoteKind] = NoteKind.DROPPED
    attributes: tuple[str, ...]
    rows: RowCount


@dataclass(frozen=True, slots=True)
class MissingCounted:
    """A protected attribute is missing in some rows, and missing counts as a value."""

    kind: ClassVar[NoteKind] = NoteKind.MISSING
    attribute: str
    rows: RowCount


@dataclass(frozen=True, slots=True)
class DerivedAttribute:
    """A protected attribute was derived from columns by an expression."""

    kind: ClassVar[NoteKind] = NoteKind.DERIVED
    attribute: str
    expression: str
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ProtectedBinned:
    """The values of a protected attribute were binned."""

    kind: ClassVar[NoteKind] = NoteKind.BINNED
    attribute: str
    bins: int | None


@dataclass(frozen=True, slots=True)
class ComputationsBinned:
    """The values of some computations were binned to measure association."""

    kind: ClassVar[NoteKind] = NoteKind.BINNED
    computations: int
    bins: int | None


@dataclass(frozen=True, slots=True)
class ComputationsCut:
    """The association of some computations is that of their best cut."""

    kind: ClassVar[NoteKind] = NoteKind.BINNED
    computations: int
    max_support: int


@dataclass(frozen=True, slots=True)
class LongSupport:
    """Some computations have many distinct values that were not binned."""

    kind: ClassVar[NoteKind] = NoteKind.LONG_SUPPORT
    computations: int
    max_support: int


@dataclass(frozen=True, slots=True)
class PairsSampled:
    """Influence was estimated from sampled pairs of rows, on request."""

    kind: ClassVar[NoteKind] = NoteKind.SAMPLED
    pairs: int
    alpha: float
    beta: float
    decompositions: int


@dataclass(frozen=True, slots=True)
class MethodsUsed:
    """How influence was computed, with the number of sets of positions for each method."""

    kind: ClassVar[NoteKind] = NoteKind.METHOD
    methods: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class InfluencesDrawn:
    """Some influences were estimated from random pairs of rows, with this error at most."""

    kind: ClassVar[NoteKind] = NoteKind.DRAWN
    number: int
    error: float
    beta: float


@dataclass(frozen=True, slots=True)
class VariableDrawn:
    """The influence of one variable was estimated from random pairs of rows."""

    kind: ClassVar[NoteKind] = NoteKind.DRAWN
    term: str
    pairs: int
    influence: float
    error: float
    beta: float


@dataclass(frozen=True, slots=True)
class PositionsSearched:
    """Sets of the positions of some terms were searched but not exhausted.

    Attributes
    ----------
    terms : how many terms there are.
    term, positions, bound : the term with the highest bound on the influence of any set of its
        positions, and the number of these positions.
    """

    kind: ClassVar[NoteKind] = NoteKind.SEARCHED
    terms: int
    term: str
    positions: int
    bound: float


@dataclass(frozen=True, slots=True)
class OperandsSearched:
    """Subsets of the operands of one operator were searched but not exhausted.

    Attributes
    ----------
    operands, number : what the operands are, and how many.
    name : the operator.
    measured, subsets : how many subsets were measured, and how many there are.
    """

    kind: ClassVar[NoteKind] = NoteKind.SEARCHED
    operands: Literal["terms", "factors", "conditions"]
    number: int
    name: str
    measured: int
    subsets: int


@dataclass(frozen=True, slots=True)
class TreesNotCombined:
    """Combinations of the trees of a large forest were not searched."""

    kind: ClassVar[NoteKind] = NoteKind.SEARCHED
    trees: int


@dataclass(frozen=True, slots=True)
class SumsInTestsNotSearched:
    """Partial sums inside the tests of a large forest were not searched."""

    kind: ClassVar[NoteKind] = NoteKind.SEARCHED


@dataclass(frozen=True, slots=True)
class CollectionsNotMeasured:
    """Computations that are associated with an attribute were not taken together.

    Attributes
    ----------
    because : influence is sampled or not a share of pairs; the program is too large; or the time
        limit was reached.
    """

    kind: ClassVar[NoteKind] = NoteKind.SEARCHED
    because: Literal["influence", "size", "time"]


Unmeasured = Literal[
    "computations", "positions", "occurrence sets", "operand subsets", "influences", "variables"
]
"""What an audit can leave unsettled."""


@dataclass(frozen=True, slots=True)
class NotSettled:
    """Decompositions that were not settled and may be witnesses; see `Audit.unsettled`.

    Attributes
    ----------
    what, number : what was not measured, and how many; an influence was estimated, but not
        precisely enough to compare it with delta.
    term : the term that they belong to.
    positions, more : the first positions of the term, and whether there are others.
    """

    kind: ClassVar[NoteKind] = NoteKind.UNSETTLED
    what: Unmeasured
    number: int
    term: str
    positions: tuple[str, ...]
    more: bool


@dataclass(frozen=True, slots=True)
class NotListed:
    """Some decompositions of a term are not listed.

    Attributes
    ----------
    what : occurrence sets, or partial sums.
    number : the number of occurrences that form the sets, or of partial sums.
    """

    kind: ClassVar[NoteKind] = NoteKind.NOT_LISTED
    what: Literal["occurrence sets", "partial sums"]
    term: str
    number: int


@dataclass(frozen=True, slots=True)
class VariablesNotMeasured:
    """Variables were not measured, on request."""

    kind: ClassVar[NoteKind] = NoteKind.NOT_LISTED


@dataclass(frozen=True, slots=True)
class OpaqueSteps:
    """Steps of a pipeline that were not analyzed."""

    kind: ClassVar[NoteKind] = NoteKind.OPAQUE
    steps: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RoundedDecisions:
    """Rows whose decision depends on how the model rounds sums."""

    kind: ClassVar[NoteKind] = NoteKind.ROUNDED
    rows: RowCount
    total: int


@dataclass(frozen=True, slots=True)
class Stopped:
    """A time limit stopped the audit.

    Attributes
    ----------
    missing : what was not measured. Computations below epsilon cannot be witnesses.
    number, total : how many computations, and of how many, if that is known.
    """

    kind: ClassVar[NoteKind] = NoteKind.TIME_LIMIT
    seconds: float
    missing: Literal["computations", "below epsilon", "trees", "combinations"]
    number: int | None = None
    total: int | None = None


# Files


@dataclass(frozen=True, slots=True)
class ConditionHolds:
    """How many rows of a file satisfy a condition."""

    kind: ClassVar[NoteKind] = NoteKind.FILES
    condition: str
    rows: RowCount
    total: int


@dataclass(frozen=True, slots=True)
class ConditionMissing:
    """Rows that were left out because the condition is missing."""

    kind: ClassVar[NoteKind] = NoteKind.FILES
    rows: RowCount


@dataclass(frozen=True, slots=True)
class ConditionReadsMissing:
    """Rows with a missing value that the condition reads, and how many of them were kept."""

    kind: ClassVar[NoteKind] = NoteKind.FILES
    rows: RowCount
    kept: RowCount


@dataclass(frozen=True, slots=True)
class TakenAsMissing:
    """Cells of a column of numbers that were taken as missing."""

    kind: ClassVar[NoteKind] = NoteKind.FILES
    column: str
    cells: RowCount
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TakenFromProtected:
    """A column that is in both files was taken from the protected data."""

    kind: ClassVar[NoteKind] = NoteKind.FILES
    column: str


@dataclass(frozen=True, slots=True)
class UnmatchedProtected:
    """Rows of the protected data without a row of the data."""

    kind: ClassVar[NoteKind] = NoteKind.FILES
    rows: RowCount
    total: int


Note = (
    ZeroWeight
    | MissingDropped
    | MissingCounted
    | DerivedAttribute
    | ProtectedBinned
    | ComputationsBinned
    | ComputationsCut
    | LongSupport
    | PairsSampled
    | MethodsUsed
    | InfluencesDrawn
    | VariableDrawn
    | PositionsSearched
    | OperandsSearched
    | TreesNotCombined
    | SumsInTestsNotSearched
    | CollectionsNotMeasured
    | NotSettled
    | NotListed
    | VariablesNotMeasured
    | OpaqueSteps
    | RoundedDecisions
    | Stopped
    | ConditionHolds
    | ConditionMissing
    | ConditionReadsMissing
    | TakenAsMissing
    | TakenFromProtected
    | UnmatchedProtected
)
"""Any note."""
