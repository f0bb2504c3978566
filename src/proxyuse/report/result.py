"""The results of an audit, a repair and a comparison, as they are written to JSON files.

Every format is rendered from these types, so it can be rendered again from a file. The published
schemas in `docs/schema` are generated from them (`make schemas`). Readers may rely on every field
and should ignore fields that they do not know. A result holds no rows of data, no timestamps and no
folders of the machine: the same audit gives the same bytes.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from proxyuse.measure.association.noisy_copy import NoisyCopy
from proxyuse.report.other_findings import Association as Association
from proxyuse.report.other_findings import AssociationRange, Collection, ExplicitUse, Range
from proxyuse.report.other_findings import Count as Count
from proxyuse.report.other_findings import Influence as Influence
from proxyuse.report.other_findings import Judgment as Judgment
from proxyuse.report.outcome_result import Direction, Outcomes
from proxyuse.report.outcome_result import Rows as Rows
from proxyuse.report.outcome_result import Share as Share
from proxyuse.settings import FailOn
from proxyuse.validity.threshold_tables import ThresholdTable
from proxyuse.verdict import Reason, Verdict, VerdictCounts

MIN_CELL = 5
"""By default, smaller counts of rows are withheld."""

Ceiling = Annotated[
    Share | None,
    Meta(
        description="The highest association that the distribution of the values allows; null if "
        "that is unknown for the measure."
    ),
]
Reach = Annotated[
    Share,
    Meta(description="The share of rows that evaluate the computation, rounded to min_cell rows."),
]
Cell = Annotated[
    int | str,
    Meta(
        description='A number of rows; "<5" (with the min_cell of the result) for a smaller '
        'number, zero included; "withheld" for one that would reveal a smaller number.'
    ),
]
MinCell = Annotated[int, Meta(ge=1, description="Counts of rows below this are withheld.")]
Version = Annotated[str, Meta(description="The version of proxyuse that wrote the result.")]
About = Annotated[
    dict[str, Any],
    Meta(description="What the caller knows about model and data; `notes` is a list of texts."),
]
Option = bool | int | float | str | None


class Thresholds(Struct, frozen=True):
    """A witness has an association of at least epsilon and an influence above delta."""

    epsilon: Share
    delta: Annotated[float, Meta(ge=0)]
    requested_epsilon: Annotated[
        str | None,
        Meta(
            description="The percentage that epsilon was computed from, as a share of the highest "
            "association that a two-valued computation can have; null if it was a number."
        ),
    ] = None


class Measures(Struct, frozen=True):
    """The names of the measures, and whether influence was estimated from sampled pairs."""

    association: str
    influence: str
    sampled: bool = False


class ProgramSize(Struct, frozen=True):
    """The program that was audited."""

    size: Annotated[int, Meta(ge=1, description="The number of nodes.")]
    variables: tuple[str, ...]


class Method(Struct, frozen=True):
    """A statistical method and its options."""

    name: str
    tested: Annotated[
        int | None, Meta(description="How many tests its correction accounts for, if it has one.")
    ]
    options: dict[str, Option]


class ValiditySummary(Struct, frozen=True):
    """How the witnesses were tested, and how many got which verdict."""

    methods: tuple[Method, ...]
    verdicts: VerdictCounts
    violations: Annotated[
        VerdictCounts, Meta(description="The verdicts of witnesses not judged appropriate.")
    ]
    remarks: tuple[str, ...]


class WitnessValidity(Struct, frozen=True):
    """The statistical verdict on one witness; null where a method was not requested."""

    verdict: Verdict
    by_method: dict[str, Verdict]
    p_value: float | None = None
    adjusted_p_value: float | None = None
    association_low: float | None = None
    association_high: float | None = None
    influence_low: float | None = None
    influence_high: float | None = None
    corrected_association: float | None = None
    confirmations: int | None = None
    splits: int | None = None


class ProtectedValue(Struct, frozen=True):
    """A value of a protected attribute; rare values are taken together."""

    value: str
    rows: Rows
    share: Annotated[Share, Meta(description="By weight.")]


class Protected(Struct, frozen=True):
    """A protected attribute."""

    name: str
    read_by_model: bool
    witnesses: Count
    groups: Count
    values: tuple[ProtectedValue, ...]
    verdict: Annotated[
        Verdict, Meta(description="Witnesses that were judged appropriate do not count.")
    ]
    reasons: Annotated[tuple[Reason, ...], Meta(description="Why the verdict is what it is.")]
    violations: Annotated[
        VerdictCounts, Meta(description="The verdicts of witnesses not judged appropriate.")
    ]
    derived_from: Annotated[
        tuple[str, ...], Meta(description="The columns that it is derived from, if it is derived.")
    ]
    expression: Annotated[str | None, Meta(description="The expression that derives it.")]
    explicit: Annotated[
        tuple[ExplicitUse, ...],
        Meta(description="Columns that the model reads and that determine the attribute."),
    ]
    at_epsilon: Annotated[
        NoisyCopy | None,
        Meta(description="Null if epsilon is 0 or the measure is not normalized information."),
    ] = None
    collection: Annotated[
        Collection | None,
        Meta(
            description="All tests, or terms of sums, with an association of at least epsilon, "
            "changed together; null if there are fewer than two, or they were not measured."
        ),
    ] = None

    @property
    def explicit_violations(self) -> int:
        """How many explicit uses count, confirmed or possible."""
        return sum(use.counts for use in self.explicit)

    @property
    def collective_violations(self) -> int:
        """1 if the collection counts, confirmed or possible."""
        return int(self.collection is not None and self.collection.counts)


class Group(Struct, frozen=True):
    """A group of nested witnesses."""

    protected: str
    group: Annotated[Count, Meta(description="Its number among the groups of the attribute.")]
    representative: Annotated[
        str, Meta(description="The id of the witness with no other witness inside it.")
    ]
    strongest: Annotated[
        str, Meta(description="The id of the witness with the highest association.")
    ]
    witnesses: Annotated[int, Meta(ge=1)]
    verdicts: Annotated[
        VerdictCounts | None, Meta(description="The verdicts of its witnesses, if tested.")
    ]
    leading: Annotated[
        str, Meta(description="The id of its smallest confirmed witness, or the representative.")
    ]


class Guess(Struct, frozen=True):
    """The share of rows whose protected value is guessed right, learned from other rows."""

    informed: Annotated[Share, Meta(description="With the value of the computation.")]
    blind: Annotated[Share, Meta(description="Without it.")]
    informed_range: Annotated[
        Range | None,
        Meta(
            description="The range of `informed`, if its four decimals would reveal a withheld "
            "count; null if it is exact."
        ),
    ] = None


class Cut(Struct, frozen=True):
    """The best cut of a number: the threshold that tells the protected attribute best."""

    threshold: Annotated[
        float, Meta(description="A short number that divides the audited rows in the same way.")
    ]
    association: Annotated[
        Association | None,
        Meta(
            description="Of the two sides; null if the measure needs the values themselves, or if "
            "it would reveal a withheld count."
        ),
    ]
    measured: Annotated[
        bool, Meta(description="Whether the association of the witness is that of this cut.")
    ]
    candidates: Annotated[int, Meta(ge=1, description="How many cuts it was chosen from.")]
    score: Annotated[
        int | None, Meta(description="Which score is cut, counted from 1, if there are several.")
    ]


class Commonest(Struct, frozen=True):
    """The most common column of a row of a table, as far as the printed cells show it."""

    column: str
    at_least: Share
    at_most: Share


class Table(Struct, frozen=True):
    """Numbers of rows by value of a computation and value of a protected attribute.

    A table without rows is withheld.
    """

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: tuple[tuple[Cell, ...], ...]
    row_totals: tuple[Rows, ...]
    column_totals: tuple[Rows, ...]
    commonest: tuple[Commonest | None, ...]


class Computation(Struct, frozen=True, kw_only=True):
    """A computation inside the program, for one protected attribute."""

    id: Annotated[str, Meta(description="A hash of the computation and its positions.")]
    protected: str
    reading: Annotated[
        str, Meta(description="The computation with thresholds in short numbers, on one line.")
    ]
    rounded: Annotated[bool, Meta(description="Whether the reading rounds weights.")]
    term: Annotated[str, Meta(description="The exact text, at most 4000 characters.")]
    term_cut: Annotated[bool, Meta(description="Whether the exact text is longer.")]
    operator: Annotated[
        str,
        Meta(
            description="The outermost operator: var, compare, in, not, and, or, +, *, ite, "
            "vector, argmax, table, call."
        ),
    ]
    variables: Annotated[tuple[str, ...], Meta(description="The columns it reads, sorted.")]
    size: Annotated[int, Meta(ge=1, description="The number of nodes.")]
    occurrences: Annotated[int, Meta(ge=1, description="How many positions it has.")]
    positions: Annotated[tuple[str, ...], Meta(description="The first fifty positions.")]
    origins: Annotated[
        tuple[str, ...], Meta(description="The parts of the model they come from, where known.")
    ]
    association: Association
    association_range: AssociationRange = None
    ceiling: Ceiling
    reach: Reach


class Witness(Computation, frozen=True, kw_only=True):
    """A computation with association and influence above the thresholds."""

    influence: Influence
    explicit: Annotated[bool, Meta(description="Whether it is the protected attribute itself.")]
    group: Annotated[Count, Meta(description="Its group among those of the attribute.")]
    guess: Guess
    cut: Annotated[
        Cut | None, Meta(description="The best cut of a number with more than two values.")
    ] = None
    validity: WitnessValidity | None
    judgment: Judgment | None
    table: Table
    direction: Annotated[
        Direction | None,
        Meta(description="Who gains and who loses; null beyond the first fifty witnesses."),
    ]

    @property
    def key(self) -> tuple[str, str]:
        """The protected attribute and the id: no two witnesses of a result share both."""
        return self.protected, self.id

    @property
    def appropriate(self) -> bool:
        """Whether it was judged appropriate; otherwise it is a violation."""
        return self.judgment is not None and self.judgment.appropriate

    @property
    def verdict(self) -> Verdict:
        """The statistical verdict; possible if it was not tested."""
        return Verdict.POSSIBLE if self.validity is None else self.validity.verdict


class Near(Computation, frozen=True, kw_only=True):
    """A computation that comes close to being a witness."""

    influence: Influence | None
    association_short_by: Annotated[
        Share, Meta(description="At most, if only the range of the association is stated.")
    ]
    influence_short_by: Influence | None


class Reference(Struct, frozen=True):
    """A variable at all its positions, or the whole output, for comparison."""

    protected: str
    kind: Literal["variable", "output"]
    name: Annotated[str | None, Meta(description="The variable.")]
    id: Annotated[str | None, Meta(description="Null if it was not measured.")]
    witness: bool
    occurrences: Count
    association: Association | None
    ceiling: Ceiling
    influence: Influence | None
    reach: Reach | None
    association_range: AssociationRange = None


class NoteText(Struct, frozen=True):
    """A remark: what was dropped, binned, estimated or not searched."""

    kind: str
    text: str


Space = Literal[
    "positions", "terms", "factors", "conditions", "trees", "terms of tests", "collections"
]


class Coverage(Struct, frozen=True):
    """How far the search went; `complete` says whether every single computation is settled."""

    bounded: Annotated[
        bool, Meta(description="Whether a bound excluded some computations, without a measurement.")
    ]
    searched: Annotated[
        tuple[Space, ...], Meta(description="Combinations of these were searched in part.")
    ]
    not_searched: Annotated[
        tuple[Space, ...], Meta(description="Combinations of these were not searched.")
    ]


class Unsettled(Struct, frozen=True):
    """What was not measured and may be a witness."""

    count: Count
    listed: Annotated[tuple[str, ...], Meta(description="The first hundred.")]


class Precision(Struct, frozen=True):
    """What figures about one protected attribute lost, so that withheld counts stay withheld."""

    protected: str
    tables: Annotated[Count, Meta(description="Tables that have withheld counts.")]
    withheld: Annotated[Count, Meta(description="Tables that are withheld as a whole.")]
    values: Annotated[
        int | None,
        Meta(
            description="Each withheld count of the other tables has at least this many values "
            "that agree with everything in the result. Null if there are none."
        ),
    ]
    association_within: Annotated[
        Share, Meta(description="The width of the widest range of an association.")
    ]


class AuditResult(Struct, frozen=True, kw_only=True):
    """The result of `proxyuse audit`: which computations are proxies and used."""

    format: Literal["proxyuse audit"] = "proxyuse audit"
    version: Literal[1] = 1
    proxyuse: Version
    about: About
    verdict: Annotated[Verdict, Meta(description="The worst verdict on a protected attribute.")]
    fail_on: Annotated[FailOn, Meta(description="Which violations give exit code 1.")]
    violations: Annotated[Count, Meta(description="Witnesses not judged appropriate.")]
    complete: Annotated[
        bool,
        Meta(
            description="Whether every computation written in the program is settled: measured, "
            "or excluded by a bound. With strict, every other space must be exhausted as well."
        ),
    ]
    strict: bool
    coverage: Coverage
    thresholds: Thresholds
    measures: Measures
    min_cell: MinCell
    precision: Annotated[
        tuple[Precision, ...],
        Meta(description="For each attribute with withheld counts, what its figures lost."),
    ] = ()
    rows: Annotated[int, Meta(ge=1)]
    total_weight: Count | Annotated[float, Meta(ge=0)]
    weighted: Annotated[bool, Meta(description="Whether weights other than 1 were used.")]
    program: ProgramSize
    decompositions: Annotated[Count, Meta(description="How many were measured.")]
    validity: ValiditySummary | None
    protected: Annotated[tuple[Protected, ...], Meta(min_length=1)]
    outcomes: Outcomes
    groups: tuple[Group, ...]
    witnesses: tuple[Witness, ...]
    references: tuple[Reference, ...]
    nearest: Annotated[
        tuple[Near, ...], Meta(description="For attributes without witnesses, the closest.")
    ]
    notes: tuple[NoteText, ...]
    unsettled: Unsettled
    threshold_table: Annotated[
        tuple[ThresholdTable, ...],
        Meta(description="For each attribute, if requested: witnesses at other thresholds."),
    ] = ()

    @property
    def explicit_violations(self) -> int:
        """How many explicit uses count, confirmed or possible."""
        return sum(z.explicit_violations for z in self.protected)

    @property
    def collections(self) -> list[Collection]:
        """The collections that reports show, those that count first."""
        known = [z.collection for z in self.protected if z.collection is not None]
        shown = [collection for collection in known if collection.shown]
        return sorted(shown, key=lambda known: (not known.counts, not known.confirmed))

    @property
    def beyond_witnesses(self) -> int:
        """How many explicit uses and collections count, confirmed or possible."""
        return sum(z.explicit_violations + z.collective_violations for z in self.protected)

    @property
    def found(self) -> int:
        """How many witnesses there are, including those that are not listed."""
        return sum(z.witnesses for z in self.protected)

    @property
    def file_notes(self) -> list[str]:
        """Remarks on the files."""
        notes = self.about.get("notes", [])
        return [str(note) for note in notes] if isinstance(notes, list) else []

    def by_key(self) -> dict[tuple[str, str], Witness]:
        """The witnesses by protected attribute and id."""
        return {witness.key: witness for witness in self.witnesses}

    def members(self) -> dict[tuple[str, int], list[Witness]]:
        """The witnesses of each group, by protected attribute and number of the group."""
        groups: dict[tuple[str, int], list[Witness]] = {}
        for witness in self.witnesses:
            groups.setdefault((witness.protected, witness.group), []).append(witness)
        return groups
