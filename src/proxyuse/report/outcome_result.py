"""The parts of a result about direction and outcomes by group; see `report.result`."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

Rows = Annotated[int, Meta(ge=0, description="A number of rows, regardless of their weights.")]
Share = Annotated[float, Meta(ge=0, le=1)]
Labels = Annotated[
    tuple[str, ...],
    Meta(
        description="The decisions whose shares are listed. For numeric outputs, the only entry is "
        "the mean."
    ),
]


class Output(Struct, frozen=True):
    """What the model decides, and which way is up."""

    kind: Annotated[
        Literal["class", "number", "classes", "none"],
        Meta(
            description='"class": one of two decisions is positive; "number": larger numbers are '
            'up; "classes": several classes without a direction; "none": a vector.'
        ),
    ]
    positive: Annotated[str | None, Meta(description="The positive decision, if there is one.")]
    negative: Annotated[str | None, Meta(description="The other decision.")]


class GroupDirection(Struct, frozen=True):
    """What happens to the decisions of one group if the value comes from another person."""

    value: Annotated[str, Meta(description="The value of the protected attribute.")]
    rows: Rows
    changed: Annotated[
        Share | None, Meta(description="The share of decisions that change; null if withheld.")
    ]
    up: Annotated[
        Share | None,
        Meta(
            description="The share that goes to the positive decision, or to a larger number; null "
            "if withheld or without a direction."
        ),
    ]
    down: Annotated[Share | None, Meta(description="The share that goes the other way.")]
    mean_change: Annotated[float | None, Meta(description="For numeric outputs.")]
    step: Annotated[
        Share,
        Meta(
            description="The shares are rounded to multiples of this, at least min_cell rows of "
            "the group; 0 if they have four decimals."
        ),
    ]


class Direction(Struct, frozen=True):
    """Who gains and who loses by a computation."""

    groups: tuple[GroupDirection, ...]
    pairs: Annotated[
        int | None,
        Meta(description="For an estimate, the random pairs per group; null if exact."),
    ]
    within: Annotated[
        float | None, Meta(description="The error of each share, with probability 0.95.")
    ]
    mean_within: Annotated[
        float | None, Meta(description="The error of each mean change, with probability 0.95.")
    ]


class OutcomeFigure(Struct, frozen=True):
    """A selection rate or a mean output; null where it is withheld."""

    at_least: Annotated[
        float | None,
        Meta(description="The figure; less than at_most if min_cell allows only a range."),
    ]
    at_most: float | None
    low: Annotated[float | None, Meta(description="The lower confidence bound.")]
    high: Annotated[float | None, Meta(description="The upper confidence bound.")]


class GroupOutcome(Struct, frozen=True):
    """What one group gets."""

    value: Annotated[str, Meta(description="The value of the protected attribute.")]
    rows: Rows
    figures: Annotated[
        tuple[OutcomeFigure, ...], Meta(description="One for each of `labels` of the outcomes.")
    ]


class AttributeOutcomes(Struct, frozen=True):
    """What the groups of one protected attribute get."""

    protected: str
    groups: tuple[GroupOutcome, ...]


class Outcomes(Struct, frozen=True):
    """Selection rates or mean outputs by group: context, not the verdict."""

    output: Output
    labels: Labels
    confidence: Annotated[Share, Meta(description="Of the bounds of all groups at once.")]
    attributes: tuple[AttributeOutcomes, ...]
