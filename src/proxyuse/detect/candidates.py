"""Which computations a program has, and where each of them stands.

A candidate is a term that is not a constant, with all its positions: program points, and
subsets of the operands of ``+ * and or`` that equal a term elsewhere. Constants are no candidates;
variables are. Other subsets of operands are the business of `partial_sums`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate, combinations

import numpy as np

from proxyuse.detect.occurrences import Arrangement
from proxyuse.detect.operators import Operator
from proxyuse.lang.nodes import Add, And, Const, Mul, Or, Term, Var, children
from proxyuse.lang.positions import Points, Site, operand_choices
from proxyuse.program import Program, cached_per_program


@dataclass(slots=True, eq=False)
class Candidate:
    """A computation and every position at which it stands."""

    term: Term
    sites: list[Site] = field(default_factory=list)
    _arrangement: Arrangement | None = None

    def arrangement(self, points: Points) -> Arrangement:
        """How its positions lie to each other; kept until there are more of them."""
        known = self._arrangement
        if known is None or len(known.sites) != len(self.sites):
            known = self._arrangement = Arrangement.of(points, self.sites)
        return known


class Listing:
    """Candidates laid out in columns.

    Attributes
    ----------
    terms : of the candidates.
    sites, owners : each position of each candidate, and whose it is.
    starts : where the positions of each candidate begin.
    alone : each position as a set of its own.
    apart, entangled : the candidates that stand at several places, by whether these are apart.
    """

    def __init__(self, candidates: Sequence[Candidate], points: Points) -> None:
        self.candidates = candidates
        self.terms = tuple(candidate.term for candidate in candidates)
        self.sites = [site for candidate in candidates for site in candidate.sites]
        self.alone = [(site,) for site in self.sites]
        counts = [len(candidate.sites) for candidate in candidates]
        self.owners = np.repeat(np.arange(len(counts)), counts)
        self.starts = [0, *accumulate(counts)]
        repeated = [place for place, count in enumerate(counts) if count > 1]
        apart = {place for place in repeated if candidates[place].arrangement(points).apart}
        self.apart = [place for place in repeated if place in apart]
        self.entangled = [place for place in repeated if place not in apart]

    def sites_of(self, place: int) -> slice:
        """Where the positions of a candidate are."""
        return slice(self.starts[place], self.starts[place + 1])


class Candidates:
    """All candidates of a program, found in one pass over its points.

    Linear in the number of points, and in the operands that operators share. Without
    `variables`, these are left out. All subsets of the operands of an operator are candidates if
    it has at most `subsets` of them.
    """

    def __init__(self, points: Points, variables: bool = True, subsets: int = 0) -> None:
        self.points = points
        self.left_out: list[Candidate] = []
        self._by_term: dict[bytes, Candidate] = {}
        self._operators: dict[bytes, list[int]] = defaultdict(list)
        for point, term in enumerate(points.terms):
            if isinstance(term, Const):
                continue
            self.add(term, Site(point))
            if isinstance(term, Add | Mul | And | Or):
                self._operators[term.digest].append(point)
        for places in self._operators.values():
            term = points.terms[places[0]]
            for site in self._inside_others(term):
                self.add(term, site)
        for operator in self.operators:
            if operator.subsets <= subsets:
                self._add_subsets(operator)
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

    def add(self, term: Term, site: Site) -> Candidate:
        """Note one more position of a term."""
        candidate = self._by_term.setdefault(term.digest, Candidate(term))
        candidate.sites.append(site)
        return candidate

    def _add_subsets(self, operator: Operator) -> None:
        for size in range(2, len(operator.steps)):
            for subset in combinations(operator.steps, size):
                sites = [Site(point, subset) for point in operator.points]
                term = self.points.term_at(sites[0])
                known = self._by_term.get(term.digest)
                for site in sites:
                    if known is None or site not in known.sites:
                        self.add(term, site)

    def positions(self, term: Term) -> list[Site]:
        """Where a term stands, as a term or as a subset of operands.

        Sets of operands of one operator are disjoint, also where equal operands allow more.
        """
        known = self._by_term.get(term.digest)
        return list(known.sites) if known else self._inside_others(term)

    @cached_property
    def operators(self) -> list[Operator]:
        """The operators with at least three operands that are not constants."""
        found = []
        for places in self._operators.values():
            term = self.points.terms[places[0]]
            assert isinstance(term, Add | Mul | And | Or)
            steps = tuple(operand_choices(self.points, places[0]))
            if len(steps) > 2:
                alone = len(places) == 1 and self._shares_no_subset(term)
                found.append(Operator(term, tuple(places), steps, alone))
        return found

    @cached_property
    def _users(self) -> dict[tuple[type, bytes], list[bytes]]:
        """By kind of operator and operand, the operators that have such an operand."""
        users: dict[tuple[type, bytes], list[bytes]] = defaultdict(list)
        for digest, places in self._operators.items():
            term = self.points.terms[places[0]]
            for operand in {part.digest for part in children(term)}:
                users[type(term), operand].append(digest)
        return users

    def _shares_no_subset(self, term: Term) -> bool:
        """Whether no two operands are equal, and no two stand together at another operator."""
        parts = [part.digest for part in children(term)]
        users = (self._users[type(term), part] for part in parts)
        together = Counter(user for some in users for user in some if user != term.digest)
        return len(set(parts)) == len(parts) and max(together.values(), default=0) < 2

    def _inside_others(self, term: Term) -> list[Site]:
        """The sets of operands of other operators that equal an operator."""
        wanted = Counter(part.digest for part in children(term))
        rarest = min(wanted, key=lambda part: len(self._users.get((type(term), part), ())))
        found = []
        for digest in self._users.get((type(term), rarest), ()):
            places = self._operators[digest]
            if digest != term.digest:
                subsets = self._equal_sets(places[0], wanted)
                found += [Site(place, subset) for place in places for subset in subsets]
        return found

    def _equal_sets(self, place: int, wanted: Counter[bytes]) -> list[tuple[int, ...]]:
        """Disjoint sets of an operator's operands that have the wanted operands."""
        term = self.points.terms[place]
        parts, order = children(term), term._order
        copies: dict[bytes, list[int]] = {digest: [] for digest in wanted}
        for step in operand_choices(self.points, place):
            if (digest := parts[order[step]].digest) in copies:
                copies[digest].append(step)
        times = min(len(copies[digest]) // count for digest, count in wanted.items())
        return [
            tuple(
                sorted(
                    step
                    for digest, count in wanted.items()
                    for step in copies[digest][turn * count : (turn + 1) * count]
                )
            )
            for turn in range(times)
        ]


@cached_per_program
def candidates_of(program: Program, variables: bool = True, subsets: int = 0) -> Candidates:
    """The candidates of a program; kept, and not to be changed."""
    return Candidates(program.points, variables, subsets)


def listing_of(points: Points, chosen: Iterable[int]) -> Listing:
    """The computations at some points of a program, equal ones together."""
    chosen = list(chosen)
    sizes = Counter(points.end(point) - point for point in chosen)
    candidates: dict[object, Candidate] = {}
    for point in chosen:
        # The digest of a term with trees inside takes long; terms of other sizes are not equal.
        alone = sizes[points.end(point) - point] == 1
        key = point if alone else points.terms[point].digest
        candidate = candidates.setdefault(key, Candidate(points.terms[point], []))
        candidate.sites.append(Site(point))
    return Listing(list(candidates.values()), points)
