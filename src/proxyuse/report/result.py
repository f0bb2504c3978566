"""The results of an audit, a repair and a comparison, as they are written to JSON files.

Every format is rendered from these types, so it can be rendered again from a file. The published
schemas in `docs/schema` are generated from them (`make schemas`). Readers may rely on every field
and should ignore fields that they do not know. A result holds no rows of data, no timestamps and no
folders of the machine: the same audit gives the same bytes.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from proxyuse.verdict import Verdict, VerdictCounts

MIN_CELL = 5
"""By default, smaller counts of rows are withheld."""

Count = Annotated[int, Meta(ge=0)]
Rows = Annotated[int, Meta(ge=0, description="A number of rows, regardless of their weights.")]
Share = Annotated[float, Meta(ge=0, le=1)]
Influence = Annotated[float, Meta(ge=0, description="The influence on decisions, four decimals.")]
Association = Annotated[
    float, Meta(ge=0, le=1, description="With the protected attribute, four decimals.")
]
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
Answer = Literal["proxy use", "judged appropriate", "none found", "not settled"]


class Thresholds(Struct, frozen=True):
    """A witness has an association of at least epsilon and an influence above delta."""

    epsilon: Share
    delta: Annotated[float, Meta(ge=0)]


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
    confirmed_only: Annotated[
        bool, Meta(description="Whether only confirmed violations count for the exit code.")
    ]


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


class Guess(Struct, frozen=True):
    """How often the protected value can be guessed, with the computation and without it."""

    informed: Share
    blind: Share


class Judgment(Struct, frozen=True):
    """Whether someone judged the use appropriate."""

    appropriate: bool
    reason: str
    by: Annotated[str, Meta(description="A rule, a person or a function.")]


class Commonest(Struct, frozen=True):
    """The most common column of a row of a table, as far as the printed cells show it."""

    column: str
    at_least: Share
    at_most: Share


class Table(Struct, frozen=True):
    """Numbers of rows by value of a computation and value of a protected attribute."""

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
    ceiling: Ceiling
    reach: Reach


class Witness(Computation, frozen=True, kw_only=True):
    """A computation with association and influence above the thresholds."""

    influence: Influence
    explicit: Annotated[bool, Meta(description="Whether it is the protected attribute itself.")]
    group: Annotated[Count, Meta(description="Its group among those of the attribute.")]
    guess: Guess
    validity: WitnessValidity | None
    judgment: Judgment | None
    table: Table

    @property
    def key(self) -> tuple[str, str]:
        """The protected attribute and the id: no two witnesses of a result share both."""
        return self.protected, self.id

    @property
    def appropriate(self) -> bool:
        """Whether it was judged appropriate; otherwise it is a violation."""
        return self.judgment is not None and self.judgment.appropriate

    @property
    def verdict(self) -> Verdict | None:
        """The statistical verdict; None if it was not tested."""
        return None if self.validity is None else self.validity.verdict


class Near(Computation, frozen=True, kw_only=True):
    """A computation that comes close to being a witness."""

    influence: Influence | None
    association_short_by: Share
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


class NoteText(Struct, frozen=True):
    """A remark: what was dropped, binned, estimated or not searched."""

    kind: str
    text: str


Space = Literal["positions", "terms", "factors", "conditions", "trees", "terms of tests"]


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


class AuditResult(Struct, frozen=True, kw_only=True):
    """The result of `proxyuse audit`: which computations are proxies and used."""

    format: Literal["proxyuse audit"] = "proxyuse audit"
    version: Literal[1] = 1
    proxyuse: Version
    about: About
    result: Annotated[
        Answer,
        Meta(
            description="Whether there are violations; if not, whether there are witnesses, and "
            "whether everything was settled."
        ),
    ]
    violations: Annotated[Count, Meta(description="Witnesses not judged appropriate.")]
    complete: Annotated[
        bool,
        Meta(
            description="Whether every computation written in the program is settled: measured, "
            "or excluded by a bound."
        ),
    ]
    coverage: Coverage
    thresholds: Thresholds
    measures: Measures
    min_cell: MinCell
    rows: Annotated[int, Meta(ge=1)]
    total_weight: Count | Annotated[float, Meta(ge=0)]
    weighted: Annotated[bool, Meta(description="Whether weights other than 1 were used.")]
    program: ProgramSize
    decompositions: Annotated[Count, Meta(description="How many were measured.")]
    validity: ValiditySummary | None
    protected: Annotated[tuple[Protected, ...], Meta(min_length=1)]
    groups: tuple[Group, ...]
    witnesses: tuple[Witness, ...]
    references: tuple[Reference, ...]
    nearest: Annotated[
        tuple[Near, ...], Meta(description="For attributes without witnesses, the closest.")
    ]
    notes: tuple[NoteText, ...]
    unsettled: Unsettled

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


def answer_of(violations: int, witnesses: int, complete: bool) -> Answer:
    """The result in two words."""
    if violations:
        return "proxy use"
    if witnesses:
        return "judged appropriate"
    return "none found" if complete else "not settled"
