"""The result of a repair, as it is written to a JSON file; see `report.result`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from proxyuse.report.other_findings import AssociationRange
from proxyuse.report.outcome_result import Labels, Output
from proxyuse.report.result import (
    About,
    Association,
    Cell,
    Count,
    Influence,
    MinCell,
    NoteText,
    Rows,
    Thresholds,
    Unsettled,
    Version,
)


class RepairMeasures(Struct, frozen=True):
    """The names of the measures."""

    association: str
    influence: str


class HashedProgram(Struct, frozen=True):
    """A program: its number of nodes and its hash."""

    size: Annotated[int, Meta(ge=1)]
    hash: str


class ProgramChange(Struct, frozen=True):
    """The program before and after a repair."""

    before: HashedProgram
    after: HashedProgram


class Loss(Struct, frozen=True):
    """A utility before and after a repair, on one set of rows."""

    before: float
    after: float
    rows: Rows


class UtilityChange(Struct, frozen=True):
    """The utility of the repair, on the rows used and on rows that trained nothing."""

    name: str
    used: Loss
    selection: Annotated[
        Loss | None, Meta(description="On the rows that compared the candidates; null if none did.")
    ]
    folds: Annotated[
        int | None,
        Meta(description="The number of folds that compared the candidates; null: other rows did."),
    ]


class CandidateResult(Struct, frozen=True):
    """A model that the repair considered, measured on rows that did not train it."""

    methods: Annotated[
        tuple[str, ...], Meta(description="How it was made; empty for the original model.")
    ]
    columns: Annotated[
        tuple[str, ...], Meta(description="The columns that the training was about.")
    ]
    replaced: Annotated[Count, Meta(description="Positions with a constant.")]
    detail: Annotated[
        str,
        Meta(description="What distinguishes it from others with the same methods and columns."),
    ]
    remaining: Annotated[
        Count | None, Meta(description="Violations that are left; null if it was not repaired.")
    ]
    changed: Annotated[
        float | None,
        Meta(description="Share of rows with another prediction; null if it was not repaired."),
    ]
    utility: float | None
    error: Annotated[float | None, Meta(description="Standard error of the utility.")]
    auc: float | None
    log_loss: float | None
    calibration: Annotated[float | None, Meta(description="Expected calibration error.")]
    seconds: float
    chosen: bool
    rejected: Annotated[str, Meta(description="Why it was not chosen; may be empty.")]


class Refusal(Struct, frozen=True):
    """A repair that costs more than a user would expect."""

    kind: Literal["constant", "loss"]
    utility: float
    limit: Annotated[
        float,
        Meta(description="The utility of the best constant prediction, or the largest loss."),
    ]


class Removed(Struct, frozen=True):
    """The violation that a step removes."""

    id: str
    term: str
    reading: Annotated[str, Meta(description="The computation with short numbers.")]
    protected: str
    association: Association
    influence: Influence
    reason: Annotated[str, Meta(description="Why it was judged inappropriate; may be empty.")]
    by: str
    association_range: AssociationRange = None


class Change(Struct, frozen=True):
    """A constant in place of a part of the original program."""

    position: str
    term: str
    reading: Annotated[str, Meta(description="The computation with short numbers.")]
    value: str
    origin: str | None


class Step(Struct, frozen=True):
    """One step of a repair."""

    removed: Removed
    changes: Annotated[tuple[Change, ...], Meta(min_length=1, description="The first fifty.")]
    number_of_changes: Annotated[int, Meta(ge=1)]
    utility: Annotated[float, Meta(description="After the step.")]


class CollectivePoint(Struct, frozen=True):
    """The collection of one level of association, before or after a repair."""

    level: float
    members: Count
    influence: float
    at_least: float
    at_most: float


class CollectionChange(Struct, frozen=True):
    """What a repair did to the weakly associated computations of one protected attribute."""

    protected: str
    kind: Literal["operands", "tests"]
    members: Count
    positions: Count
    replaced_members: Annotated[Count, Meta(description="With a constant at some position.")]
    replaced_positions: Count
    variables: tuple[str, ...]
    before: Annotated[
        tuple[CollectivePoint, ...], Meta(description="From the highest level to epsilon.")
    ]
    after: tuple[CollectivePoint, ...]
    utility: str
    utility_before: float
    utility_after: float


class FigureRange(Struct, frozen=True):
    """A selection rate or a mean output, as far as the printed counts imply it."""

    at_least: Annotated[float | None, Meta(description="Null if it is withheld.")]
    at_most: float | None


class GroupChange(Struct, frozen=True):
    """How the predictions for one group changed."""

    value: Annotated[str, Meta(description="The value of the protected attribute.")]
    rows: Rows
    changed: Annotated[Cell, Meta(description="Rows whose prediction changed.")]
    up: Annotated[
        Cell | None,
        Meta(
            description="Rows that went to the positive decision, or to a larger number; null "
            "without a direction."
        ),
    ]
    down: Annotated[Cell | None, Meta(description="Rows that went the other way.")]
    before: Annotated[
        tuple[FigureRange, ...], Meta(description="One for each of `labels` of the changes.")
    ]
    after: tuple[FigureRange, ...]


class AttributeChanges(Struct, frozen=True):
    """How the predictions for the groups of one protected attribute changed."""

    protected: str
    groups: tuple[GroupChange, ...]


class OutcomeChanges(Struct, frozen=True):
    """Who gains and who loses by a repair."""

    output: Output
    labels: Labels
    attributes: tuple[AttributeChanges, ...]


class FrontierGroup(Struct, frozen=True):
    """What a group gets from the model of one point of a frontier."""

    value: Annotated[str, Meta(description="The value of the protected attribute.")]
    rates: Annotated[
        tuple[FigureRange, ...], Meta(description="One for each of `labels` of the changes.")
    ]


class FrontierAttribute(Struct, frozen=True):
    """What the groups of one protected attribute get."""

    protected: str
    groups: tuple[FrontierGroup, ...]


class FrontierPoint(Struct, frozen=True, kw_only=True):
    """The best known model at one pair of thresholds."""

    epsilon: float
    delta: float
    value: Annotated[str, Meta(description="The threshold that varies, as it was requested.")]
    requested: Annotated[bool, Meta(description="Whether these are the requested thresholds.")]
    targets: Annotated[
        Count, Meta(description="Violations that had to go; 0: the original needs no repair.")
    ]
    taken_over: Annotated[
        str | None, Meta(description="The stricter value that the model was repaired for.")
    ]
    methods: Annotated[
        tuple[str, ...], Meta(description="How it was made; empty for the original model.")
    ]
    columns: Annotated[
        tuple[str, ...], Meta(description="The columns that the training was about.")
    ]
    detail: Annotated[str, Meta(description="What else distinguishes it; may be empty.")]
    replaced: Annotated[Count, Meta(description="Positions with a constant.")]
    changed: Annotated[float, Meta(description="Share of rows with another prediction.")]
    utility: Annotated[float | None, Meta(description="Null if there was no time to measure it.")]
    difference: Annotated[
        float | None, Meta(description="By how much it is above the utility of the original.")
    ]
    error: Annotated[float | None, Meta(description="Standard error of the utility.")]
    auc: float | None
    log_loss: float | None
    rows: Annotated[Count, Meta(description="Rows that the utility was measured on.")]
    refusal: Annotated[
        Literal["constant", "loss"] | None,
        Meta(description="Why the model should not be used; see `refusal` of the result."),
    ]
    complete: bool
    interrupted: bool
    attributes: Annotated[
        tuple[FrontierAttribute, ...],
        Meta(description="Selection rates or mean outputs, on the rows of the repair."),
    ]


class FrontierResult(Struct, frozen=True):
    """What the repair costs at several thresholds, the strictest first."""

    varies: Literal["epsilon", "delta"]
    compared_on: Annotated[
        Literal["validation rows", "folds", "repair rows"],
        Meta(description="The rows on which the utility was measured."),
    ]
    points: Annotated[tuple[FrontierPoint, ...], Meta(min_length=1)]
    original: Annotated[float | None, Meta(description="The utility of the original model.")]
    original_error: float | None
    original_attributes: tuple[FrontierAttribute, ...]
    constant: Annotated[
        float | None, Meta(description="The utility of the best constant prediction.")
    ]
    skipped: Annotated[
        tuple[str, ...], Meta(description="Values that an interrupt left out of the frontier.")
    ]


class RepairResult(Struct, frozen=True, kw_only=True):
    """The result of `proxyuse repair`: what was replaced, why, and what it costs."""

    format: Literal["proxyuse repair"] = "proxyuse repair"
    version: Literal[1] = 1
    proxyuse: Version
    about: About
    result: Literal["repaired", "nothing to repair"]
    complete: bool
    thresholds: Thresholds
    measures: RepairMeasures
    protected: tuple[str, ...]
    rows: Annotated[int, Meta(ge=1)]
    min_cell: MinCell
    violations: Annotated[Count, Meta(description="Before the repair.")]
    targets: Annotated[Count, Meta(description="Violations that had to be repaired.")]
    indistinct: Annotated[
        Count,
        Meta(description="Violations after the repair that cannot be distinguished from chance."),
    ]
    witnesses_left: Annotated[Count, Meta(description="After the repair.")]
    judged_appropriate: Annotated[Count, Meta(description="Witnesses after the repair.")]
    detections: Count
    program: ProgramChange
    utility: UtilityChange
    candidates: Annotated[
        tuple[CandidateResult, ...],
        Meta(description="The original model first. Empty if nothing had to be repaired."),
    ]
    refusal: Annotated[
        Refusal | None, Meta(description="Why the repaired model should not be used.")
    ]
    interrupted: bool
    frontier: Annotated[
        FrontierResult | None,
        Meta(description="What the repair costs at other thresholds; null if not requested."),
    ]
    changed: Annotated[Cell, Meta(description="Rows whose prediction changed.")]
    changes: OutcomeChanges
    steps: tuple[Step, ...]
    collections: tuple[CollectionChange, ...]
    constant: Annotated[
        str | None, Meta(description="The constant that replaced the whole program, if one did.")
    ]
    written: Annotated[dict[str, Any], Meta(description="The files that were written.")]
    notes: tuple[NoteText, ...]
    unsettled: Unsettled

    @property
    def file_notes(self) -> list[str]:
        """Remarks on the files."""
        return [str(note) for note in self.about.get("notes", [])]
