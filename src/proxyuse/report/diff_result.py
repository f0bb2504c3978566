"""The comparison of two results, as it is written to a JSON file; see `report.result`."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from proxyuse.report.result import (
    About,
    Answer,
    Association,
    Ceiling,
    Count,
    Influence,
    Method,
    Thresholds,
    Version,
)
from proxyuse.verdict import Verdict


class Side(Struct, frozen=True):
    """One of two compared results."""

    rows: Annotated[int, Meta(ge=1)]
    result: Answer
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
    verdict: Verdict | None


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


class DiffResult(Struct, frozen=True, kw_only=True):
    """The result of `proxyuse diff`: which witnesses are new, gone, stronger or weaker."""

    format: Literal["proxyuse diff"] = "proxyuse diff"
    version: Literal[1] = 1
    proxyuse: Version
    result: Literal["new witnesses", "no new witnesses", "not settled"]
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
