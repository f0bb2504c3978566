"""The result of a repair, as it is written to a JSON file; see `report.result`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

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
    """The utility of the repair, on the rows used and on the hold-out set."""

    name: str
    used: Loss
    holdout: Loss | None


class Removed(Struct, frozen=True):
    """The violation that a step removes."""

    id: str
    term: str
    protected: str
    association: Association
    influence: Influence
    reason: Annotated[str, Meta(description="Why it was judged inappropriate; may be empty.")]
    by: str


class Change(Struct, frozen=True):
    """A constant in place of a part of the original program."""

    position: str
    term: str
    value: str
    origin: str | None


class Step(Struct, frozen=True):
    """One step of a repair."""

    removed: Removed
    changes: Annotated[tuple[Change, ...], Meta(min_length=1, description="The first fifty.")]
    number_of_changes: Annotated[int, Meta(ge=1)]
    utility: Annotated[float, Meta(description="After the step.")]


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
    witnesses_left: Annotated[Count, Meta(description="After it, all judged appropriate.")]
    detections: Count
    program: ProgramChange
    utility: UtilityChange
    changed: Annotated[Cell, Meta(description="Rows whose prediction changed.")]
    steps: tuple[Step, ...]
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
