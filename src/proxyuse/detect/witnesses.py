"""Witnesses of proxy use among measured decompositions, their order and their groups."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from proxyuse.detect.decompositions import Decomposition, Decompositions
from proxyuse.lang.nodes import Term, Var
from proxyuse.lang.positions import Points, Position, Site
from proxyuse.measure.association.best_cut import Cut
from proxyuse.measure.association.joint_table import JointTable
from proxyuse.measure.guessing import Guess
from proxyuse.verdict import Validity, Verdict
from proxyuse.words import shortened

Strength = tuple[float, float, int, str, str]
ROUNDING_DECIMALS = 9
ROUNDING = 10.0**-ROUNDING_DECIMALS
"""Associations that differ by less are equal up to rounding."""


@dataclass(frozen=True, eq=False)
class Witness:
    """A decomposition with association and influence above the thresholds.

    Attributes
    ----------
    protected : the protected attribute.
    explicit : whether the computation is the protected attribute itself, read by the program.
    group : the number of its group of nested witnesses; see `groups_of`.
    validity : whether it is real or chance; None if validity was not requested.
    """

    decomposition: Decomposition
    protected: str
    explicit: bool
    group: int
    validity: Validity | None = None

    @property
    def verdict(self) -> Verdict:
        """Whether it is confirmed; possible if validity was not tested."""
        return Verdict.POSSIBLE if self.validity is None else self.validity.verdict

    @property
    def confirmed(self) -> bool:
        """Whether it is confirmed."""
        return self.verdict is Verdict.CONFIRMED

    @property
    def term(self) -> str:
        """The computation as text."""
        return self.decomposition.term

    @property
    def expression(self) -> Term:
        """The computation as a term."""
        return self.decomposition.expression

    @property
    def positions(self) -> tuple[Position, ...]:
        """The positions of the computation."""
        return self.decomposition.positions

    @property
    def occurrences(self) -> int:
        """The number of positions."""
        return self.decomposition.occurrences

    @property
    def association(self) -> float:
        """The association with the protected attribute."""
        return self.decomposition.associations[self.protected]

    @property
    def influence(self) -> float:
        """The influence on the decisions."""
        influence = self.decomposition.influence
        assert influence is not None
        return influence

    @property
    def reach(self) -> float:
        """The share of rows that evaluate it."""
        return self.decomposition.reach

    @property
    def size(self) -> int:
        """The number of nodes."""
        return self.decomposition.size

    @property
    def table(self) -> JointTable:
        """The joint table with the protected attribute."""
        return self.decomposition.tables[self.protected]

    @property
    def guess(self) -> Guess:
        """How often the protected value is guessed right, with the computation and without it."""
        return self.decomposition.guesses[self.protected]

    @property
    def cut(self) -> Cut | None:
        """The best cut of a number with more than two values.

        It determines the association if there are many values; see `JointTable.divided`.
        """
        return self.table.cut

    @property
    def id(self) -> str:
        """A hash of the computation and its positions."""
        return self.decomposition.id

    @property
    def key(self) -> tuple[str, str]:
        """The protected attribute and the id: no two witnesses of an audit share both."""
        return self.protected, self.id

    def __repr__(self) -> str:
        return (
            f"<Witness {self.id} of {self.protected}: {shortened(self.term)}, "
            f"association {self.association:.4f}, influence {self.influence:.4f}>"
        )


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """Nested witnesses of one protected attribute.

    Attributes
    ----------
    witnesses : the representative first, then the others, strongest first.
    order : the order of witnesses, such as `strength`.
    """

    witnesses: tuple[Witness, ...]
    order: Callable[[Witness], Strength]

    @property
    def protected(self) -> str:
        """The protected attribute."""
        return self.representative.protected

    @property
    def number(self) -> int:
        """The number of the group within its protected attribute."""
        return self.representative.group

    @property
    def representative(self) -> Witness:
        """The witness with no other witness inside it."""
        return self.witnesses[0]

    @property
    def leading(self) -> Witness:
        """The witness to show first: the smallest confirmed one, or else the representative."""
        confirmed = (witness for witness in self.witnesses if witness.confirmed)
        if self.representative.confirmed:
            return self.representative
        return min(confirmed, key=lambda w: w.size, default=self.representative)

    @property
    def strongest(self) -> Witness:
        """The smallest of the witnesses with the largest association, up to rounding."""
        ordered = sorted(self.witnesses, key=self.order)
        closest = self.order(ordered[0])[0] + ROUNDING
        return min((w for w in ordered if self.order(w)[0] < closest), key=lambda w: w.size)


def strength(witness: Witness) -> Strength:
    """The order of witnesses: association, then influence, then smaller size, then id.

    Equal associations are computed in different ways, so they are compared up to rounding.
    """
    association = round(witness.association, ROUNDING_DECIMALS)
    return -association, -witness.influence, witness.size, witness.id, witness.protected


def groups_of(
    witnesses: Iterable[Witness], order: Callable[[Witness], Strength] = strength
) -> list[Group]:
    """Groups of nested witnesses, the group of the strongest witness first."""
    members_of: dict[tuple[str, int], list[Witness]] = defaultdict(list)
    for witness in sorted(witnesses, key=order):
        members_of[witness.protected, witness.group].append(witness)
    groups = []
    for members in members_of.values():  # in order of their strongest member
        representative = min(members, key=lambda w: w.size)  # all others contain its term
        others = (witness for witness in members if witness is not representative)
        groups.append(Group((representative, *others), order))
    return groups


def in_order(witnesses: Iterable[Witness]) -> list[Witness]:
    """The witnesses in order of their groups; see `groups_of`."""
    return [witness for group in groups_of(witnesses) for witness in group.witnesses]


def find_witnesses(
    decompositions: Decompositions,
    sources: Mapping[str, str | None],
    *,
    epsilon: float,
    delta: float,
) -> list[Witness]:
    """The witnesses of all protected attributes, in the order of `groups_of`.

    A witness has ``association >= epsilon and influence > delta``. `sources` has the column of
    each protected attribute, or None if it is not a column.
    """
    witnesses: list[Witness] = []

    @cache
    def shared(index: int) -> Decomposition:
        """One object for all attributes, whose tables are counted together."""
        return decompositions[index]

    for protected, source in sources.items():
        associations = decompositions.associations[:, decompositions.protected.index(protected)]
        above = (associations >= epsilon) & (decompositions.influences > delta)
        passing = [shared(int(index)) for index in np.flatnonzero(above)]
        ungrouped = [
            Witness(d, protected, isinstance(d.expression, Var) and d.expression.name == source, 0)
            for d in passing
        ]
        ungrouped.sort(key=strength)
        numbers = _group_numbers([witness.decomposition for witness in ungrouped])
        pairs = zip(ungrouped, numbers, strict=True)
        witnesses += [replace(witness, group=number) for witness, number in pairs]
    return in_order(witnesses)


def _group_numbers(ordered: Sequence[Decomposition]) -> list[int]:
    """Number the groups of nested witnesses, in order of the strongest member.

    A term with no other witness inside it starts a group. Any other term joins the group of the
    strongest innermost term inside it. All sets of occurrences of a term share its group. Terms are
    processed by size, so the innermost terms come first.
    """
    rank: dict[bytes, int] = {}
    sites: dict[bytes, set[Site]] = defaultdict(set)
    for index, decomposition in enumerate(ordered):
        digest = decomposition.expression.digest
        rank.setdefault(digest, index)
        sites[digest].update(decomposition.sites)
    leader: dict[bytes, int] = {}
    leaders = _Leaders(ordered[0].program.points) if ordered else None
    for digest in sorted(rank, key=lambda key: (ordered[rank[key]].size, rank[key])):
        assert leaders is not None
        inner = leaders.inside(sites[digest], ordered[rank[digest]].expression.points)
        leader[digest] = rank[digest] if inner is None else inner
        if inner is None:
            leaders.add(sites[digest], rank[digest])
    number: dict[int, int] = {}
    return [
        number.setdefault(leader[decomposition.expression.digest], len(number))
        for decomposition in ordered
    ]


class _Leaders:
    """The sites of innermost witnesses, by program point, with their rank."""

    def __init__(self, points: Points) -> None:
        self._points = points
        self._sorted: list[tuple[int, int]] = []
        self._subsets: dict[int, list[tuple[set[int], int]]] = defaultdict(list)

    def add(self, sites: Iterable[Site], rank: int) -> None:
        for site in sites:
            insort(self._sorted, (site.point, rank))
            if site.operands:
                self._subsets[site.point].append((set(site.operands), rank))

    def inside(self, sites: Iterable[Site], size: int) -> int | None:
        """The best rank of a leader inside one of the sites; each site spans `size` points."""
        ranks: list[int] = []
        if not self._sorted:
            return None
        for site in sites:
            whole = [(site.point, site.point + size)]
            for start, end in self._points.covers(site) if site.operands else whole:
                first = bisect_left(self._sorted, (start, -1))
                last = bisect_left(self._sorted, (end, -1))
                ranks.extend(rank for _, rank in self._sorted[first:last])
            if site.operands:
                operands = set(site.operands)
                ranks.extend(r for inner, r in self._subsets[site.point] if inner <= operands)
        return min(ranks, default=None)
