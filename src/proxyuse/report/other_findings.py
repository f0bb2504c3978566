"""The parts of a result about what is found beside witnesses; see `report.result`.

Explicit use: columns that determine a protected attribute. Collections: computations that are
associated with it, changed together.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from proxyuse.report.outcome_result import Direction, Share
from proxyuse.verdict import Verdict

Count = Annotated[int, Meta(ge=0)]
Influence = Annotated[float, Meta(ge=0, description="The influence on decisions, four decimals.")]
Association = Annotated[
    float, Meta(ge=0, le=1, description="With the protected attribute, four decimals.")
]
Range = tuple[Share, Share]
AssociationRange = Annotated[
    Range | None,
    Meta(
        description="The range of the association, if its four decimals would reveal a withheld "
        "count; the association is then the middle of the range. Null if it is exact."
    ),
]


class Judgment(Struct, frozen=True):
    """Whether someone judged the use appropriate."""

    appropriate: bool
    reason: str
    by: Annotated[str, Meta(description="A rule, a person or a function.")]


class ClosestTest(Struct, frozen=True):
    """A test in the model that reads a column."""

    id: str
    reading: str
    association: Association
    influence: Annotated[Influence | None, Meta(description="Null if it was not measured.")]
    association_range: AssociationRange = None


class ExplicitUse(Struct, frozen=True, kw_only=True):
    """A column that the model reads and that determines a protected attribute."""

    column: str
    how: Annotated[
        Literal["declared", "predicts"],
        Meta(
            description="Whether the attribute was declared to be this column or derived from it, "
            "or a rule on the column predicts it on held-out rows."
        ),
    ]
    verdict: Annotated[
        Verdict, Meta(description='"not found" if the influence is not above delta.')
    ]
    id: Annotated[
        str | None,
        Meta(description="Of the column at all its positions; a judgment refers to it."),
    ]
    occurrences: Count
    influence: Annotated[Influence | None, Meta(description="Null if it was not measured.")]
    influence_low: float | None
    influence_high: float | None
    accuracy: Annotated[
        Share | None,
        Meta(description="The share of held-out rows that the rule predicts; null if declared."),
    ]
    accuracy_low: Share | None
    others: Annotated[
        Share | None, Meta(description="The same for rows without the most common value.")
    ]
    others_low: Share | None
    repeats_witness: Annotated[
        bool,
        Meta(
            description="Whether the column is a witness with a verdict that is as strong, so that "
            "reports show it only there."
        ),
    ]
    tests: Annotated[
        tuple[ClosestTest, ...],
        Meta(description="The tests on the column that come closest to the attribute."),
    ]
    judgment: Judgment | None

    @property
    def appropriate(self) -> bool:
        """Whether it was judged appropriate."""
        return self.judgment is not None and self.judgment.appropriate

    @property
    def confirmed(self) -> bool:
        """Whether it is confirmed."""
        return self.verdict is Verdict.CONFIRMED

    @property
    def counts(self) -> bool:
        """Whether it is a violation, confirmed or possible."""
        return self.verdict in (Verdict.CONFIRMED, Verdict.POSSIBLE) and not self.appropriate


class CollectionMember(Struct, frozen=True):
    """A computation of a collection."""

    reading: str
    association: Association
    positions: Annotated[int, Meta(ge=1, description="How many positions it has.")]
    origins: Annotated[
        tuple[str, ...], Meta(description="The parts of the model of its first positions.")
    ]
    association_range: AssociationRange = None


class CollectionVariable(Struct, frozen=True):
    """The members of a collection that read one variable."""

    variable: str
    members: Annotated[int, Meta(ge=1)]
    influence_low: Annotated[Influence, Meta(description="Of these members together.")]
    influence_high: Influence


class Collection(Struct, frozen=True, kw_only=True):
    """Computations that are associated with a protected attribute, changed together."""

    id: Annotated[str, Meta(description="A hash of the members; a judgment refers to it.")]
    kind: Annotated[
        Literal["tests", "operands"],
        Meta(description="Tests of the model, or terms of the sums of a linear model."),
    ]
    verdict: Annotated[
        Verdict, Meta(description='"not found" if the influence is not above delta.')
    ]
    members: Annotated[int, Meta(ge=2, description="Each has an association of at least epsilon.")]
    judged_members: Annotated[
        Count,
        Meta(description="Computations that are left out, because they were judged appropriate."),
    ]
    variables: Annotated[tuple[str, ...], Meta(description="The columns that the members read.")]
    trees: Annotated[Count, Meta(description="In how many trees they are; 0 without trees.")]
    positions: Annotated[int, Meta(ge=2)]
    association_low: Annotated[Association, Meta(description="The lowest of a member.")]
    association_high: Annotated[Association, Meta(description="The highest of a member.")]
    influence_low: Annotated[
        Influence, Meta(description="Of all members together; equal to influence_high if exact.")
    ]
    influence_high: Influence
    exact: Annotated[
        bool, Meta(description="Whether all pairs were counted; otherwise, pairs were drawn.")
    ]
    largest_single: Annotated[
        Influence, Meta(description="No member has more influence by itself.")
    ]
    distributed: Annotated[
        bool, Meta(description="Whether no member has an influence above delta by itself.")
    ]
    bound: Annotated[
        Share, Meta(description="No part of the collection has more influence than this.")
    ]
    confirmed_members: Annotated[
        Count | None,
        Meta(
            description="How many members have an association of at least epsilon in the "
            "population; null if this was not tested."
        ),
    ]
    confirmed_influence: Annotated[
        Share | None,
        Meta(description="A lower bound on the influence of these members in the population."),
    ]
    by_variable: Annotated[
        tuple[CollectionVariable, ...], Meta(description="The largest influence first.")
    ]
    strongest: Annotated[
        tuple[CollectionMember, ...], Meta(description="The members with the highest association.")
    ]
    direction: Annotated[
        Direction | None, Meta(description="Who gains and who loses; null for numeric outputs.")
    ]
    repeats_witness: Annotated[
        bool,
        Meta(
            description="Whether a member is a witness with a verdict that is as strong, so that "
            "reports show it only there."
        ),
    ]
    protected: str
    judgment: Judgment | None

    @property
    def appropriate(self) -> bool:
        """Whether it was judged appropriate."""
        return self.judgment is not None and self.judgment.appropriate

    @property
    def confirmed(self) -> bool:
        """Whether it is confirmed."""
        return self.verdict is Verdict.CONFIRMED

    @property
    def counts(self) -> bool:
        """Whether it is a violation of its own, confirmed or possible."""
        return self.shown and not self.appropriate

    @property
    def shown(self) -> bool:
        """Whether reports show it: a collective witness that no single witness repeats."""
        return self.verdict is not Verdict.NOT_FOUND and not self.repeats_witness
