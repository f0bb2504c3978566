"""A collection: several computations that are associated with a protected attribute, together.

`detect.collections` defines which computations belong to it, and `validity.collections` measures
it. A collection at epsilon is a *collective witness* if its influence is above delta.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from proxyuse.detect.witnesses import Witness
from proxyuse.lang.nodes import Term
from proxyuse.lang.positions import Site
from proxyuse.measure.collective import CollectiveInfluence
from proxyuse.verdict import Verdict
from proxyuse.words import count, listed

Kind = Literal["operands", "tests"]
NOUNS: dict[Kind, tuple[str, str]] = {
    "tests": ("test", "tests"),
    "operands": ("term of a sum", "terms of sums"),
}
MOST_VARIABLES = 6


@dataclass(frozen=True, slots=True, eq=False)
class CollectionMember:
    """A computation of a collection.

    Attributes
    ----------
    expression : the computation as a term.
    term : its text.
    association : with the protected attribute, on these rows.
    sites : where it takes the value of the other row.
    number : its number among the candidates of the program.
    """

    expression: Term
    term: str
    association: float
    sites: Sequence[Site] = field(repr=False)
    number: int = field(repr=False)

    @property
    def positions(self) -> int:
        """At how many positions of the program it takes the value of the other row."""
        return len(self.sites)


class VariableShare(NamedTuple):
    """The members that read one variable.

    Attributes
    ----------
    variable : the variable.
    members : how many members read it.
    influence : how many decisions change if only these members take the values of another row.
    """

    variable: str
    members: int
    influence: CollectiveInfluence


class Single(NamedTuple):
    """The largest influence of a single member of a collection.

    Attributes
    ----------
    influence : the largest one that was measured.
    bound : no member has more; equal to `influence` if that is known to be the largest.
    """

    influence: float
    bound: float


class ConfirmedCollection(NamedTuple):
    """What holds in the population.

    Attributes
    ----------
    members : how many members have an association of at least epsilon.
    influence : a lower bound on the influence of these members together.
    rows : the number of rows of each half.
    """

    members: int
    influence: float
    rows: tuple[int, int]


@dataclass(frozen=True, slots=True, eq=False)
class Collection:
    """The computations that are associated with a protected attribute, taken together.

    It has at least two members.

    Attributes
    ----------
    protected : the attribute.
    kind : "tests" or "operands".
    epsilon, delta : the thresholds.
    members : every candidate with an association of at least epsilon, the strongest first; or at
        least a higher level, if only then their influence is above delta.
    variables : the variables that the members read.
    trees : in how many trees the members are; 0 without trees.
    measured : how many decisions change if all members take the values of another row.
    by_variable : the same for the members that read one variable, the largest first; empty if the
        collection is not a witness.
    single : the largest influence of a single member.
    bound : no part of the collection has more influence, even if each position took the value of a
        different row.
    verdict : confirmed if the statistics confirm it; possible if it may be a collective witness on
        these rows; otherwise not found.
    confirmed : what holds in the population; None if that was not tested.
    id : a hash of the members, the same on every machine.
    """

    protected: str
    kind: Kind
    epsilon: float
    delta: float
    members: tuple[CollectionMember, ...]
    variables: tuple[str, ...]
    trees: int
    measured: CollectiveInfluence
    by_variable: tuple[VariableShare, ...]
    single: Single
    bound: float
    verdict: Verdict
    confirmed: ConfirmedCollection | None
    id: str

    @property
    def influence(self) -> float:
        """The share of decisions that change; an estimate if `measured` is not exact."""
        return self.measured.influence

    @property
    def association(self) -> float:
        """The lowest association of a member."""
        return self.members[-1].association

    @property
    def positions(self) -> int:
        """The number of positions of all members."""
        return sum(member.positions for member in self.members)

    @property
    def distributed(self) -> bool:
        """Whether no member has an influence above delta by itself."""
        return self.single.bound <= self.delta

    @property
    def explicit(self) -> bool:
        """False: a collection is not the protected attribute itself."""
        return False

    @property
    def term(self) -> str:
        """What it consists of, with its id: equal for equal members."""
        members = count(len(self.members), *NOUNS[self.kind])
        return f"collection {self.id}: {members} on {on_variables(self.variables)}"

    @property
    def key(self) -> tuple[str, str]:
        """The protected attribute and the id: no two collections of an audit share both."""
        return self.protected, self.id

    def __repr__(self) -> str:
        return (
            f"<Collection {self.id} of {self.protected}: {len(self.members):,} {self.kind}, "
            f"influence {self.influence:.4f}, {self.verdict}>"
        )


def repeats_witness(collection: Collection, witnesses: Iterable[Witness]) -> bool:
    """Return whether a member is a witness with a verdict that is as strong.

    The witness then stands for the collection, until it is judged appropriate and no longer belongs
    to it.
    """
    members = {member.expression.digest for member in collection.members}
    own = [
        w.verdict
        for w in witnesses
        if w.protected == collection.protected and w.expression.digest in members
    ]
    confirmed = collection.verdict is Verdict.CONFIRMED
    return Verdict.CONFIRMED in own or (bool(own) and not confirmed)


def on_variables(names: Sequence[str], most: int = MOST_VARIABLES) -> str:
    """Return the names of variables as a list, the first ones if there are many.

    Examples
    --------
    >>> on_variables(["age", "sex"]), on_variables(["a", "b", "c"], 1)
    ('age and sex', 'a and 2 other variables')
    """
    others = len(names) - most
    shown = [*names[:most], *([count(others, "other variable")] if others > 0 else [])]
    return listed(shown)
