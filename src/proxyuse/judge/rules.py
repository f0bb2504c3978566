"""The rules of a policy: what must hold of a witness, and what is decided if it does."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime
from typing import Literal

from proxyuse.detect.witnesses import Witness
from proxyuse.errors import DataError
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
}
"""What a computation can be, by its outermost operator; a test is answered with yes or no."""


@dataclass(frozen=True, slots=True)
class Range:
    """The numbers between two ends, each of which belongs to it or not."""

    at_least: float | None = None
    above: float | None = None
    at_most: float | None = None
    below: float | None = None

    def __contains__(self, value: float) -> bool:
        return (
            (self.at_least is None or value >= self.at_least)
            and (self.above is None or value > self.above)
            and (self.at_most is None or value <= self.at_most)
            and (self.below is None or value < self.below)
        )


@dataclass(frozen=True, slots=True)
class Conditions:
    """What must hold of a witness, all of it; None where nothing is asked.

    Attributes
    ----------
    protected : the protected attribute is one of these.
    explicit : whether the computation is the protected attribute itself.
    association, influence : these lie within a range.
    id : the witness has one of these ids.
    kind : the outermost operator is one of these, of `KINDS`.
    only : the computation reads no other variables.
    any : it reads at least one of these variables.
    term : it is one of these, up to spaces and the order of the operands of ``+ * and or``.
    """

    protected: tuple[str, ...] | None = None
    explicit: bool | None = None
    association: Range | None = None
    influence: Range | None = None
    id: tuple[str, ...] | None = None
    kind: tuple[str, ...] | None = None
    only: tuple[str, ...] | None = None
    any: tuple[str, ...] | None = None
    term: tuple[Term, ...] | None = None

    def hold(self, witness: Witness) -> bool:
        """Whether all hold; what costs little is asked first."""
        return (
            (self.protected is None or witness.protected in self.protected)
            and (self.explicit is None or witness.explicit is self.explicit)
            and (self.association is None or witness.association in self.association)
            and (self.influence is None or witness.influence in self.influence)
            and (self.id is None or witness.id in self.id)
            and (self.kind is None or _is_kind(witness.expression, self.kind))
            and self._read(witness.expression)
            and (self.term is None or _is_term(witness, self.term))
        )

    def _read(self, term: Term) -> bool:
        if self.only is None and self.any is None:
            return True
        read = set(variables(term))
        return (self.only is None or read <= set(self.only)) and (
            self.any is None or not read.isdisjoint(self.any)
        )


def _is_kind(term: Term, kinds: Iterable[str]) -> bool:
    return any(isinstance(term, KINDS[kind]) for kind in kinds)


def _is_term(witness: Witness, terms: Iterable[Term]) -> bool:
    """Whether a witness is one of some terms; its text is made only where the size fits."""
    same_size = [term for term in terms if term.size == witness.size]
    return bool(same_size) and parse_term(witness.term) in same_size


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule of a policy.

    Attributes
    ----------
    number : its place in the policy, from 1.
    name : its name, which no other rule of the policy has.
    decision : "allow" for a use that is appropriate, "deny" for one that is not.
    reason : why.
    when : what must hold of a witness.
    expires : from this day on the rule matches nothing; None if it stays.
    """

    number: int
    name: str
    decision: Literal["allow", "deny"]
    reason: str
    when: Conditions = Conditions()
    expires: date | None = None

    def expired(self, today: date | None = None) -> bool:
        """Whether it no longer matches on a day, by default today."""
        return self.expires is not None and self.expires <= day_of(today)

    def matches(self, witness: Witness, today: date | None = None) -> bool:
        """Whether all conditions hold of a witness and the rule has not expired."""
        return not self.expired(today) and self.when.hold(witness)


def day_of(today: date | None) -> date:
    """A day that was given, or today."""
    if today is None:
        return date.today()
    if isinstance(today, datetime):
        return today.date()
    if not isinstance(today, date):
        raise DataError(f"today is {today!r}; pass a date, or leave it out")
    return today
