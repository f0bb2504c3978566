"""The rules of a policy: the format of the file, and when a rule matches a witness.

The types below are the format. msgspec reads them, and the published JSON Schema is generated from
them. A rule that does not mean what its author intended allows what nobody allowed, so unknown
keys, values of the wrong type, empty conditions and ranges, and null are errors.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType
from msgspec.structs import asdict, force_setattr

from proxyuse.detect.collective_witness import Collection
from proxyuse.detect.witnesses import Witness
from proxyuse.errors import DataError, ProxyUseError
from proxyuse.io.typed import shown
from proxyuse.lang.nodes import (
    Add,
    And,
    Argmax,
    Call,
    Compare,
    Ite,
    Lookup,
    Member,
    Mul,
    Not,
    Or,
    Term,
    Var,
    Vector,
    variables,
)
from proxyuse.lang.parse import parse_term

COLLECTION = "collection"
KINDS: dict[str, tuple[type, ...]] = {
    "variable": (Var,),
    "compare": (Compare,),
    "member": (Member,),
    "ite": (Ite,),
    "add": (Add,),
    "mul": (Mul,),
    "and": (And,),
    "or": (Or,),
    "not": (Not,),
    "call": (Call,),
    "table": (Lookup,),
    "vector": (Vector,),
    "argmax": (Argmax,),
    "test": (Compare, Member, And, Or, Not),
    COLLECTION: (),
}
"""The kinds of computations, by outermost operator. A test is true or false.

A collection is many computations, so no operator makes one.
"""

# Line ends and tabs become spaces; other control characters could change what a terminal shows.
_CONTROL = r"\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\ud800-\udfff"

Text = Annotated[
    str, Meta(extra_json_schema={"pattern": r"\S"}, extra={"expected": "text that is not blank"})
]
Sentence = Annotated[
    str,
    Meta(
        extra_json_schema={"pattern": rf"^(?=[\s\S]*\S)[^{_CONTROL}]*$"},
        extra={"expected": "text that is not blank and has no control characters"},
    ),
]
Id = Annotated[
    str,
    Meta(
        extra_json_schema={"pattern": "^[0-9a-f]{16}$"},
        extra={"expected": "the id of a witness (16 characters, 0-9 and a-f)"},
    ),
]
Day = Annotated[date, Meta(extra_json_schema={"pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"})]
Share = Annotated[float, Meta(ge=0, le=1)]
if TYPE_CHECKING:
    KindName = str
else:
    KindName = Literal[tuple(KINDS)]

_SEVERAL = Meta(min_length=1, extra_json_schema={"uniqueItems": True})
Texts = Text | Annotated[tuple[Text, ...], _SEVERAL]
KindNames = KindName | Annotated[tuple[KindName, ...], _SEVERAL]
Ids = Id | Annotated[tuple[Id, ...], _SEVERAL]


class _Conditions(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A mapping with optional keys. At least one of them is set."""

    def __post_init__(self) -> None:
        values = asdict(self)
        if all(value is UNSET for value in values.values()):
            raise ValueError(f"expected at least one of {', '.join(values)}, got an empty mapping")
        for name, value in values.items():
            if isinstance(value, tuple) and len(set(value)) < len(value):
                raise ValueError(f"{name} lists a value twice; remove one")


class Range(_Conditions, frozen=True):
    """A range of numbers."""

    at_least: Share | UnsetType = UNSET
    above: Share | UnsetType = UNSET
    at_most: Share | UnsetType = UNSET
    below: Share | UnsetType = UNSET

    def __post_init__(self) -> None:
        super().__post_init__()
        for one, other in _EXCLUSIVE:
            if getattr(self, one) is not UNSET and getattr(self, other) is not UNSET:
                raise ValueError(f"use either {one} or {other}, not both")
        low = max(value for value in (self.at_least, self.above, 0.0) if value is not UNSET)
        high = min(value for value in (self.at_most, self.below, _HIGHEST) if value is not UNSET)
        if low > high or (low == high and (self.above == low or self.below == high)):
            raise ValueError(_EMPTY_RANGE)

    def __contains__(self, value: float) -> bool:
        return (
            (self.at_least is UNSET or value >= self.at_least)
            and (self.above is UNSET or value > self.above)
            and (self.at_most is UNSET or value <= self.at_most)
            and (self.below is UNSET or value < self.below)
        )


_EXCLUSIVE = (("at_least", "above"), ("at_most", "below"))
_HIGHEST = float("inf")  # a squared change can exceed 1
_EMPTY_RANGE = "no number is in this range, so the rule never matches"
_RANGE_SCHEMA: dict[str, Any] = {
    "minProperties": 1,
    "allOf": [{"not": {"required": list(pair)}} for pair in _EXCLUSIVE],
}


class Variables(_Conditions, frozen=True):
    """The variables that a computation reads."""

    only: Annotated[Texts, Meta(description="It reads only these.")] | UnsetType = UNSET
    any: Annotated[Texts, Meta(description="It reads at least one of these.")] | UnsetType = UNSET

    def __post_init__(self) -> None:
        super().__post_init__()
        both = self.only is not UNSET and self.any is not UNSET
        if both and set(_several(self.only)).isdisjoint(_several(self.any)):
            raise ValueError("no variable is in both only and any, so the rule never matches")

    def match(self, read: set[str]) -> bool:
        """Whether the variables that a computation reads match."""
        return (self.only is UNSET or read <= set(_several(self.only))) and (
            self.any is UNSET or not read.isdisjoint(_several(self.any))
        )


ProtectedAttributes = Annotated[Texts, Meta(description="The protected attribute is one of these.")]
ReadVariables = Annotated[
    Variables,
    Meta(
        description="The variables that the computation reads.",
        extra_json_schema={"minProperties": 1},
    ),
]
OperatorKinds = Annotated[
    KindNames,
    Meta(
        description="The outermost operator of the computation. A test is compare, member, and, "
        "or, not. A rule matches a collection of computations only if it names the kind "
        "collection, or the id of the collection."
    ),
]
AssociationRange = Annotated[
    Range,
    Meta(
        description="The association with the protected attribute.",
        extra_json_schema=_RANGE_SCHEMA,
    ),
]
InfluenceRange = Annotated[
    Range, Meta(description="The influence on decisions.", extra_json_schema=_RANGE_SCHEMA)
]
Explicit = Annotated[
    bool, Meta(description="Whether the computation is the protected attribute itself.")
]
Terms = Annotated[Texts, Meta(description="The computation, as an audit prints it.")]
WitnessIds = Annotated[Ids, Meta(description="The id of the witness.")]


class When(_Conditions, frozen=True):
    """The conditions of a rule. All of them must hold for a witness.

    `term` ignores spaces and the order of the operands of ``+ * and or``.
    """

    protected: ProtectedAttributes | UnsetType = UNSET
    variables: ReadVariables | UnsetType = UNSET
    kind: OperatorKinds | UnsetType = UNSET
    association: AssociationRange | UnsetType = UNSET
    influence: InfluenceRange | UnsetType = UNSET
    explicit: Explicit | UnsetType = UNSET
    term: Terms | UnsetType = UNSET
    id: WitnessIds | UnsetType = UNSET

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.association is not UNSET and self.association.above == 1:
            raise ValueError(f"association: {_EMPTY_RANGE}")
        for text in _several(self.term):
            try:
                _parsed(text)
            except ProxyUseError as error:
                raise ValueError(f"term: {shown(text)} is not a term: {error}") from None

    def match(self, witness: Witness | Collection) -> bool:
        """Whether all conditions hold; the cheapest are checked first."""
        if isinstance(witness, Collection):
            return self._match_collection(witness)
        return (
            (self.protected is UNSET or witness.protected in _several(self.protected))
            and (self.explicit is UNSET or witness.explicit is self.explicit)
            and (self.association is UNSET or witness.association in self.association)
            and (self.influence is UNSET or witness.influence in self.influence)
            and (self.id is UNSET or witness.id in _several(self.id))
            and (self.kind is UNSET or _is_kind(witness.expression, _several(self.kind)))
            and (
                self.variables is UNSET or self.variables.match(set(variables(witness.expression)))
            )
            and (self.term is UNSET or _is_term(witness, _several(self.term)))
        )

    def _match_collection(self, collection: Collection) -> bool:
        """Whether the conditions hold for a collection.

        Conditions on single computations say nothing about many of them together, so the rule must
        name collections, or this collection.
        """
        named = self.id is not UNSET and collection.id in _several(self.id)
        kinds = _several(self.kind)
        associations = [member.association for member in collection.members]
        measured = collection.measured
        return (
            (named or (self.id is UNSET and COLLECTION in kinds))
            and (not kinds or COLLECTION in kinds)
            and self.term is UNSET
            and self.explicit in (UNSET, False)
            and (self.protected is UNSET or collection.protected in _several(self.protected))
            and (self.association is UNSET or all(d in self.association for d in associations))
            and (
                self.influence is UNSET
                or (measured.low in self.influence and measured.high in self.influence)
            )
            and (self.variables is UNSET or self.variables.match(set(collection.variables)))
        )


def _several(values: str | tuple[str, ...] | UnsetType) -> tuple[str, ...]:
    """Return one or more values as a tuple."""
    if isinstance(values, tuple):
        return values
    return () if isinstance(values, UnsetType) else (values,)


def _is_kind(term: Term, kinds: Iterable[str]) -> bool:
    return any(isinstance(term, KINDS[kind]) for kind in kinds)


def _is_term(witness: Witness, texts: Iterable[str]) -> bool:
    """Whether a witness is one of some terms; its text is made only if the size fits."""
    same_size = [term for term in map(_parsed, texts) if term.size == witness.size]
    return bool(same_size) and parse_term(witness.term) in same_size


_parsed = lru_cache(maxsize=1024)(parse_term)  # each rule sees many witnesses


class Rule(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A rule of a policy."""

    name: Annotated[Sentence, Meta(description="A name that no other rule has.")]
    decision: Annotated[
        Literal["allow", "deny"],
        Meta(description="allow: the use is appropriate. deny: it is not."),
    ]
    reason: Annotated[Sentence, Meta(description="Why. Printed with every judgment.")]
    expires: (
        Annotated[Day, Meta(description="From this day on, the rule matches nothing.")] | UnsetType
    ) = UNSET
    when: (
        Annotated[
            When,
            Meta(
                description="All of these must hold. A rule without conditions matches everything.",
                extra_json_schema={"minProperties": 1},
            ),
        ]
        | UnsetType
    ) = UNSET

    def __post_init__(self) -> None:
        for name in ("name", "reason"):
            force_setattr(self, name, " ".join(getattr(self, name).split()))

    @property
    def matches_everything(self) -> bool:
        """Whether no later rule can match."""
        return self.when is UNSET and self.expires is UNSET

    def expired(self, today: date | None = None) -> bool:
        """Whether the rule no longer matches on a day (default: today)."""
        return self.expires is not UNSET and self.expires <= day_of(today)

    def matches(self, witness: Witness | Collection, today: date | None = None) -> bool:
        """Whether all conditions hold for a witness or collection and the rule has not expired."""
        return not self.expired(today) and (self.when is UNSET or self.when.match(witness))


class PolicyFile(Struct, frozen=True, forbid_unknown_fields=True):
    """Rules that judge witnesses of proxy use. The first rule that matches a witness decides."""

    version: Annotated[
        Literal[1],
        Meta(
            description="The version of this format.",
            extra={"expected": "1, the only version that this proxyuse reads"},
        ),
    ]
    rules: Annotated[
        tuple[Rule, ...],
        Meta(min_length=1, description="In order. The first rule that matches decides."),
    ]


def day_of(today: date | None) -> date:
    """Return a day as a date; None is today."""
    if today is None:
        return date.today()
    if isinstance(today, datetime):
        return today.date()
    if not isinstance(today, date):
        raise DataError(f"today: expected a date, got {today!r}; pass a date, or omit it")
    return today
