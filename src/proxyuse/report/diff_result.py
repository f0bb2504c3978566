"""The comparison of two results, as it is written to a JSON file; see `report.result`."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from proxyuse.report.other_findings import AssociationRange
from proxyuse.report.result import (
    About,
    Association,
    Ceiling,
    Count,
    Influence,
    Method,
    Thresholds,
    Version,
)
from proxyuse.settings import FailOn
from proxyuse.verdict import Verdict


class Side(Struct, frozen=True):
    """One of two compared results."""

    rows: Annotated[int, Meta(ge=1)]
    verdict: Verdict
    undecided: Annotated[
        tuple[str, ...],
        Meta(description="Protected attributes about which nothing can be decided."),
    ]
    complete: bool
    thresholds: Thresholds
    about: About
    witnesses: Count
    validity: tuple[Method, ...]


class ComparedWitness(Struct, frozen=True):
    """A witness of one of two compared results."""

    id: str
    reading: str
    term: str
    operator: str
    variables: tuple[str, ...]
    group: Count
    explicit: bool
    association: Association
    ceiling: Ceiling
    influence: Influence
    verdict: Annotated[Verdict | None, Meta(description="Null if it was not tested.")]
    association_range: AssociationRange = None

    @property
    def confirmed(self) -> bool:
        """Whether it is confirmed."""
        return self.verdict is Verdict.CONFIRMED


class Pair(Struct, frozen=True):
    """A witness of the earlier result, the later one, or both."""

    protected: str
    matched: Annotated[
        Literal["id", "term", "variables"] | None,
        Meta(
            description="How the two were matched: the same computation at the same positions, "
            "the same computation, or one with the same variables and outermost operator."
        ),
    ]
    old: ComparedWitness | None
    new: ComparedWitness | None
    association_change: float | None
    influence_change: float | None

    @property
    def shown(self) -> ComparedWitness:
        """The later witness, or the earlier one if it is gone."""
        witness = self.new or self.old
        assert witness is not None
        return witness


class NewGroup(Struct, frozen=True):
    """A group whose representative reads variables that no earlier witness read."""

    protected: str
    group: Count
    representative: ComparedWitness
    witnesses: Annotated[int, Meta(ge=1)]


class NewExplicitUse(Struct, frozen=True):
    """A column that determines a protected attribute and was not used before."""

    protected: str
    column: str
    how: Literal["declared", "predicts"]
    influence: Influence | None
    verdict: Verdict


class NewCollection(Struct, frozen=True):
    """A collective witness where there was none, or only a weaker one."""

    protected: str
    id: str
    members: Count
    variables: tuple[str, ...]
    influence_low: Influence
    influence_high: Influence
    influence_before: Annotated[
        Influence | None, Meta(description="The highest it could be before; null without one.")
    ]
    verdict: Verdict


class DiffResult(Struct, frozen=True, kw_only=True):
    """The result of `proxyuse diff`: which witnesses are new, gone, stronger or weaker."""

    format: Literal["proxyuse diff"] = "proxyuse diff"
    version: Literal[1] = 1
    proxyuse: Version
    result: Literal["new witnesses", "no new witnesses", "cannot be decided"]
    fail_on: Annotated[FailOn, Meta(description="Which new witnesses give exit code 1.")]
    tolerance: Annotated[float, Meta(ge=0)]
    before: Side
    after: Side
    differences: Annotated[
        tuple[str, ...], Meta(description="How the two audits differ in what they measured.")
    ]
    new_groups: tuple[NewGroup, ...]
    new: tuple[Pair, ...]
    around: Annotated[
        tuple[Pair, ...],
        Meta(description="New, but related to known witnesses and not stronger than these."),
    ]
    gone: tuple[Pair, ...]
    stronger: tuple[Pair, ...]
    weaker: tuple[Pair, ...]
    same: tuple[Pair, ...]
    verdict_changed: tuple[Pair, ...]
    new_explicit: Annotated[
        tuple[NewExplicitUse, ...],
        Meta(description="Columns that determine an attribute and were not used before."),
    ]

    new_collections: Annotated[
        tuple[NewCollection, ...],
        Meta(description="Collective witnesses that are new, or stronger by the tolerance."),
    ] = ()

    @property
    def counted_collections(self) -> tuple[NewCollection, ...]:
        """The new or stronger collections that give exit code 1."""
        if self.fail_on == "possible":
            return self.new_collections
        return tuple(c for c in self.new_collections if c.verdict is Verdict.CONFIRMED)

    @property
    def counted_explicit(self) -> tuple[NewExplicitUse, ...]:
        """The new explicit uses that give exit code 1."""
        if self.fail_on == "possible":
            return self.new_explicit
        return tuple(use for use in self.new_explicit if use.verdict is Verdict.CONFIRMED)

    @property
    def counted(self) -> tuple[Pair, ...]:
        """The new witnesses that give exit code 1."""
        if self.fail_on == "possible":
            return self.new
        return tuple(pair for pair in self.new if pair.shown.confirmed)
