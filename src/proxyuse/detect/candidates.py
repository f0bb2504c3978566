"""Which computations a program has, and where each of them stands.

A candidate is a term that is not a constant, with all its positions: program points, and
subsets of the operands of ``+ * and or``. Constants are no candidates; variables are. A subset
that equals a term elsewhere is one more position of that term.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate, combinations

import numpy as np

from proxyuse.detect.occurrences import Arrangement
from proxyuse.lang.nodes import Associative, Const, Term, Var, children
from proxyuse.lang.positions import Points, Spot, operand_choices
from proxyuse.program import Program, kept


@dataclass(slots=True, eq=False)
class Candidate:
    """A computation and every position at which it stands."""

    term: Term
    spots: list[Spot] = field(default_factory=list)
    _arrangement: Arrangement | None = None

    def arrangement(self, points: Points) -> Arrangement:
        """How its positions lie to each other; kept until there are more of them."""
        known = self._arrangement
        if known is None or len(known.spots) != len(self.spots):
            known = self._arrangement = Arrangement.of(points, self.spots)
        return known


class Listing:
    """Candidates laid out in columns.

    Attributes
    ----------
    terms : of the candidates.
    spots, owners : each position of each candidate, and whose it is.
    starts : where the positions of each candidate begin.
    alone : each position as a set of its own.
    apart, entangled : the candidates that stand at several places, by whether these are apart.
    """

    def __init__(self, candidates: Sequence[Candidate], points: Points) -> None:
        self.candidates = candidates
        self.terms = tuple(candidate.term for candidate in candidates)
        self.spots = [spot for candidate in candidates for spot in candidate.spots]
        self.alone = [(spot,) for spot in self.spots]
        counts = [len(candidate.spots) for candidate in candidates]
        self.owners = np.repeat(np.arange(len(counts)), counts)
        self.starts = [0, *accumulate(counts)]
        repeated = [place for place, count in enumerate(counts) if count > 1]
        apart = {place for place in repeated if candidates[place].arrangement(points).apart}
        self.apart = [place for place in repeated if place in apart]
        self.entangled = [place for place in repeated if place not in apart]

    def spots_of(self, place: int) -> slice:
        """Where the positions of a candidate are."""
        return slice(self.starts[place], self.starts[place + 1])


@dataclass(frozen=True, slots=True, eq=False)
class LargeOperator:
    """An operator with more subsets of operands than the budget allows to list.

    Attributes
    ----------
    points : where it stands.
    operands : the steps of its operands that are not constant.
    alone : whether each subset of its operands stands at one place only: neither at another
        operator too, nor twice at this one because two operands are equal.
    """

    term: Term
    points: tuple[int, ...]
    operands: tuple[int, ...]
    alone: bool

    @property
    def subsets(self) -> int:
        """How many subsets of two or more, but not all, operands there are."""
        return subset_count(len(self.operands))


class Candidates:
    """All candidates of a program, found in one pass over its points.

    Linear in the number of points and of listed subsets, of which there are at most `budget`
    for each operator. Without `variables`, these are left out.
    """

    def __init__(self, points: Points, budget: int, variables: bool = True) -> None:
        self.points = points
        self.left_out: list[Candidate] = []
        self.large: list[LargeOperator] = []
        self._by_term: dict[bytes, Candidate] = {}
        operators: dict[bytes, list[int]] = defaultdict(list)
        for point, term in enumerate(points.terms):
            if isinstance(term, Const):
                continue
            self.add(term, Spot(point))
            if isinstance(term, Associative):
                operators[term.digest].append(point)
        for places in operators.values():
            operands = tuple(operand_choices(points, places[0]))
            if subset_count(len(operands)) <= budget:
                for subset in proper_subsets(operands):
                    self.add_subset(places, subset)
            else:
                self._add_large(tuple(places), operands, operators)
        if not variables:
            named = [c for c in self._by_term.values() if isinstance(c.term, Var)]
            self.left_out = [self._by_term.pop(candidate.term.digest) for candidate in named]

    @cached_property
    def listing(self) -> Listing:
        """The candidates in columns."""
        return Listing(list(self), self.points)

    def __iter__(self) -> Iterator[Candidate]:
        return iter(self._by_term.values())

    def __len__(self) -> int:
        return len(self._by_term)

    def add(self, term: Term, spot: Spot) -> Candidate:
        """Note one more position of a term."""
        candidate = self._by_term.setdefault(term.digest, Candidate(term))
        candidate.spots.append(spot)
        return candidate

    def add_subset(self, places: Sequence[int], subset: tuple[int, ...]) -> Candidate:
        """Note a subset of operands at each place where the operator stands."""
        candidate = self.with_subset(places, subset)
        self._by_term[candidate.term.digest] = candidate
        return candidate

    def with_subset(self, places: Sequence[int], subset: tuple[int, ...]) -> Candidate:
        """The candidate that a subset of operands is, with all positions known by now.

        The candidates stay as they are.
        """
        term = self.points.term_at(Spot(places[0], subset))
        known = self._by_term.get(term.digest)
        spots = list(known.spots) if known else []
        more = [Spot(place, subset) for place in places]
        return Candidate(term, spots + [spot for spot in more if spot not in spots])

    def _add_large(
        self, places: tuple[int, ...], operands: tuple[int, ...], operators: dict[bytes, list[int]]
    ) -> None:
        """An operator too large to list; subsets that stand elsewhere as terms are noted."""
        term = self.points.terms[places[0]]
        mine = Counter(child.digest for child in children(term))
        alone = len(places) == 1 and max(mine.values()) == 1
        for others in operators.values():
            other = self.points.terms[others[0]]
            if type(other) is not type(term) or others[0] == places[0]:
                continue
            shared = (mine & Counter(child.digest for child in children(other))).total()
            alone = alone and shared < 2
            if shared == len(children(other)):
                for subset in self._equal_subsets(places[0], operands, other):
                    self.add_subset(places, subset)
        self.large.append(LargeOperator(term, places, operands, alone))

    def _equal_subsets(
        self, place: int, operands: tuple[int, ...], other: Term
    ) -> Iterator[tuple[int, ...]]:
        """The subsets of an operator's operands that together equal another term."""
        term = self.points.terms[place]
        wanted = Counter(child.digest for child in children(other))
        parts = children(term)
        choices: list[tuple[int, ...]] = [()]
        for digest, count in wanted.items():
            equal = [step for step in operands if parts[term._order[step]].digest == digest]
            choices = [old + new for old in choices for new in combinations(equal, count)]
        yield from (tuple(sorted(choice)) for choice in choices)


@kept
def candidates_of(program: Program, budget: int, variables: bool = True) -> Candidates:
    """The candidates of a program; kept, and not to be changed."""
    return Candidates(program.points, budget, variables)


def subset_count(operands: int) -> int:
    """How many subsets have at least two operands and not all.

    Examples
    --------
    >>> [subset_count(m) for m in range(6)]
    [0, 0, 0, 3, 10, 25]
    """
    return max(0, (1 << operands) - operands - 2)


def proper_subsets(operands: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Subsets of at least two operands and not all, smaller ones first."""
    for size in range(2, len(operands)):
        yield from combinations(operands, size)
