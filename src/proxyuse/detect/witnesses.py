"""Witnesses of proxy use among measured decompositions, their order and their groups."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from proxyuse.detect.measured import Decomposition, Decompositions
from proxyuse.lang.nodes import Term, Var
from proxyuse.lang.positions import Points, Position, Spot
from proxyuse.lang.text import shortened
from proxyuse.measure.tables import JointTable
from proxyuse.verdict import Validity


@dataclass(frozen=True, eq=False)
class Witness:
    """A decomposition with association and influence above the thresholds.

    Attributes
    ----------
    protected : the protected attribute.
    explicit : whether the computation is the protected attribute itself, read by the program.
    group : the number of its group of nested witnesses; the first of a group has no witness
        inside it.
    validity : whether it would be there in the population too; None if that was not asked.
    """

    decomposition: Decomposition
    protected: str
    explicit: bool
    group: int
    validity: Validity | None = None

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
        """Where it stands."""
        return self.decomposition.positions

    @property
    def occurrences(self) -> int:
        """At how many positions."""
        return self.decomposition.occurrences

    @property
    def association(self) -> float:
        """With the protected attribute."""
        return self.decomposition.associations[self.protected]

    @property
    def influence(self) -> float:
        """On the decisions."""
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


def find_witnesses(
    decompositions: Decompositions,
    protected: str,
    source: str | None,
    *,
    epsilon: float,
    delta: float,
) -> list[Witness]:
    """The witnesses of one protected attribute, strongest first, in groups of nested ones.

    A witness has ``association >= epsilon and influence > delta``. `source` is the column the
    protected attribute was taken from, if it was.
    """
    associations = decompositions.associations[:, decompositions.protected.index(protected)]
    above = (associations >= epsilon) & (decompositions.influences > delta)
    passing = [decompositions[int(place)] for place in np.flatnonzero(above)]
    passing.sort(key=lambda d: (-d.associations[protected], -(d.influence or 0), d.size, d.id))
    groups = _groups(passing)
    return [
        Witness(d, protected, isinstance(d.expression, Var) and d.expression.name == source, group)
        for d, group in zip(passing, groups, strict=True)
    ]


def _groups(ordered: Sequence[Decomposition]) -> list[int]:
    """Number the groups of nested witnesses, in order of the strongest innermost one.

    A term with no other witness inside it starts a group; any other joins the group of the
    strongest innermost term inside it. All sets of occurrences of a term share its group.
    Terms are taken by size, so a term's innermost ones are known before it.
    """
    rank: dict[bytes, int] = {}
    spots: dict[bytes, set[Spot]] = defaultdict(set)
    for place, decomposition in enumerate(ordered):
        digest = decomposition.expression.digest
        rank.setdefault(digest, place)
        spots[digest].update(decomposition.spots)
    leader: dict[bytes, int] = {}
    leaders = _Leaders(ordered[0].program.points) if ordered else None
    for digest in sorted(rank, key=lambda key: (ordered[rank[key]].size, rank[key])):
        assert leaders is not None
        found = leaders.inside(spots[digest], ordered[rank[digest]].expression.points)
        leader[digest] = rank[digest] if found is None else found
        if found is None:
            leaders.add(spots[digest], rank[digest])
    number = {place: i for i, place in enumerate(sorted(set(leader.values())))}
    return [number[leader[d.expression.digest]] for d in ordered]


class _Leaders:
    """The spots of innermost witnesses, by program point, with their rank."""

    def __init__(self, points: Points) -> None:
        self._points = points
        self._sorted: list[tuple[int, int]] = []
        self._subsets: dict[int, list[tuple[set[int], int]]] = defaultdict(list)

    def add(self, spots: Iterable[Spot], rank: int) -> None:
        for spot in spots:
            insort(self._sorted, (spot.point, rank))
            if spot.operands:
                self._subsets[spot.point].append((set(spot.operands), rank))

    def inside(self, spots: Iterable[Spot], size: int) -> int | None:
        """The best rank of a leader inside one of the spots, each of so many points."""
        ranks: list[int] = []
        if not self._sorted:
            return None
        for spot in spots:
            whole = [(spot.point, spot.point + size)]
            for start, end in self._points.covers(spot) if spot.operands else whole:
                first = bisect_left(self._sorted, (start, -1))
                last = bisect_left(self._sorted, (end, -1))
                ranks.extend(rank for _, rank in self._sorted[first:last])
            if spot.operands:
                operands = set(spot.operands)
                ranks.extend(r for inner, r in self._subsets[spot.point] if inner <= operands)
        return min(ranks, default=None)
